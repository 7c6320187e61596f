//! Is this request abnormal, and why (CRISP, paper sections 6.3 and 7.3).
//!
//! [`call_tree`] is the default detector; [`paper::Features`] are the vectors of requests that the paper judges by, with [`paper::TrainedRule`]
//! and [`paper::vae`]; [`paper::inject()`] and [`paper::Accuracy`] serve the evaluation.

pub mod call_tree;
mod evaluated;
mod examples;
mod model;
pub mod paper;
pub(crate) mod query;
mod report;
mod sets;
pub(crate) mod summed;
mod words;

pub use call_tree::{PartOfRequest, ReasonKind};
pub use evaluated::{AlarmShare, EvaluationRow, EvaluationTable, FalseAlarmRow, SPLITS};
pub use model::{AnomalyBaseline, ModelError};
pub use query::{FaultDetector, LabelledReport, RequestLabel, Taught};
pub use report::{
    Abnormal, AnomalyReport, AnomalyRow, AnomalySettings, Detector, EXPLAINED, EXPLAINED_P, ReasonGroup,
    ReasonNames, ReasonRow, Thresholds, VerdictCounts,
};
pub use summed::MOST_NORMAL;
