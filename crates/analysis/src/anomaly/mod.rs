//! Is this request abnormal, and why (CRISP, paper sections 6.3 and 7.3).
//!
//! [`call_tree`] is the default detector; [`Features`] are the vectors of requests that the paper judges by, with [`Rule`]
//! and [`vae`]; [`inject`] and [`Accuracy`] serve the evaluation.

mod accuracy;
pub mod call_tree;
mod examples;
mod features;
mod inject;
mod model;
mod path_baseline;
mod report;
mod rule;
mod sets;
pub mod vae;
mod vectors;

pub use accuracy::{Accuracy, Judged, compare_ranks};
pub use call_tree::{Part, ReasonKind};
pub use features::{Cell, Encoding, FeaturePart, Features, RowFacts, StvObserver};
pub use inject::{Injected, Injection, Victims, inject, is_held_out};
pub use model::{Model, ModelError};
pub use report::{
    AnomalyReport, AnomalyRow, AnomalySettings, Detector, EXPLAINED, EXPLAINED_P, EvaluationRow,
    EvaluationTable, FalseAlarmRow, ReasonGroup, ReasonNames, ReasonRow, SPLITS, Thresholds,
};
pub use rule::{Judge, Lookup, Rule, RuleTraining, Scores, Verdict};
pub use vectors::{VectorRow, VectorsReport};
