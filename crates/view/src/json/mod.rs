//! Public JSON: what `pathlight COMMAND --json` prints and what the page exports. `docs/report-schema.md` lists the keys;
//! a test writes it from the doc comments here and in the reports.
//!
//! A report whose fields are the public keys is written as it is. Every other report has one struct here that says, key by
//! key, what it means and how it follows from the report.

pub(crate) mod blamed;
pub(crate) mod parts;
pub mod records;
#[cfg(feature = "schema")]
pub mod schema;

pub use crate::anomalies::json::{anomaly, anomaly_evaluation, labelled_faults, vectors};
pub use crate::compare::json::compare;
pub use crate::deployments::json::deployments;
pub use crate::diagnosis::json::{aggregate_trace, diagnosis, diagnosis_sets};
pub use crate::endpoints::json::{endpoints, histograms, tag_sums};
pub use crate::errors::json::errors;
pub use crate::findings::json::findings;
pub use crate::flame::json::{critical_path, per_request};
pub use crate::flow::json::{
    flow, flow_capacity, flow_cheapest, flow_evaluation, flow_headroom, flow_parents, flow_target,
    flow_timeout, flow_variants, parallelise, savings, service_map, what_if,
};
pub use crate::heatmap::json::{heatmap, summary};
pub use crate::instrument::json::instrument;
pub use crate::queues::json::queues;
pub use crate::reading::json::inspect;
pub use crate::split::json::{proposals, split};
pub use crate::summaries::check::{Checked, check};
pub use crate::summaries::json::show;
pub use crate::trend::json::trend;
