//! Two sides against each other: the differential flame graph, the largest changes, and the services that changed.

pub(crate) mod json;
pub mod services;
pub(crate) mod services_json;
mod table;

pub use table::{
    ChangeRow, Changed, DESCRIPTIVE, DiffSource, INTERVAL_OF_SETS, INTERVAL_OF_TAIL, LEAST, change_columns,
    changes, first_sentence, found_places, found_services, one_sided, summary, why_empty,
};
