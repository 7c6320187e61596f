//! Errors: in words, as the flame graph of the paths that lead to them, and by endpoint.

pub(crate) mod json;
mod table;

pub use table::{
    ANY_LATENCY, ErrorEndpointRow, facts, messages, no_errors, other_messages, sentences, table, tip, title,
    why_no_graph,
};
