//! Is this request abnormal, and why (CRISP, paper sections 6.3 and 7.3).
//!
//! [`Features`] are the vectors of requests; [`Rule`] is the default detector, [`vae`] the paper's; [`inject`] and
//! [`Accuracy`] serve the evaluation.

mod accuracy;
mod examples;
mod features;
mod inject;
mod model;
mod report;
mod rule;
mod sets;
mod usual;
pub mod vae;
pub mod whole;

pub use accuracy::{Accuracy, Judged, compare_ranks};
pub use features::{Cell, Encoding, FeaturePart, Features, RowFacts, StvObserver};
pub use inject::{Injected, Injection, Victims, inject, is_held_out};
pub use model::{Model, ModelError};
pub use report::ReasonNames;
pub use report::{
    AnomalyReport, AnomalyRow, AnomalySettings, Detector, EvaluationRow, EvaluationTable, ReasonKind,
    ReasonRow,
};
pub use rule::{Explanation, Judge, Lookup, Reason, Rule, RuleTraining, Scores, Verdict};
