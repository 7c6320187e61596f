//! Latency, or the time of one endpoint, by the values of a tag.

pub(crate) mod json;
pub(crate) mod table;

pub use table::{NO_TAG, Offer, endpoint_choices, key, offers, table, tip, title, value_name, why_empty};
