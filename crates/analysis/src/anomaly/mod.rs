//! Is this request abnormal, and why (CRISP, paper sections 6.3 and 7.3).
//!
//! [`Features`] are the vectors of requests; [`Rule`] is the default detector, [`vae`] the paper's; [`inject`] and
//! [`Accuracy`] serve the evaluation.

mod accuracy;
mod features;
mod inject;
mod model;
mod report;
mod rule;
mod sets;
mod usual;
pub mod vae;

pub use accuracy::{Accuracy, Judged, compare_ranks};
pub use features::{Cell, Encoding, FeaturePart, Features, RowFacts, StvObserver};
pub use inject::{Injection, inject, is_held_out};
pub use model::{Model, ModelError};
pub use report::ReasonNames;
pub use report::{
    AnomalyReport, AnomalyRow, AnomalySettings, Detector, EvaluationRow, EvaluationTable, ReasonKind,
    ReasonRow,
};
pub use rule::{Explanation, Judge, Lookup, Reason, Rule, RuleTraining, Scores, Verdict};
