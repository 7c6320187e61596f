//! The detectors of the CRISP paper (sections 6.3 and 7.3), their vectors of requests, and what evaluates them.

mod accuracy;
mod features;
pub(crate) mod inject;
pub(crate) mod path_baseline;
mod rule;
pub mod vae;
mod vectors;

pub use accuracy::{Accuracy, Judged, compare_ranks};
pub use features::{FeatureCell, FeatureEncoding, FeaturePart, Features, RowFacts, StvObserver};
pub use inject::{Injected, Injection, Victims, inject, is_held_out};
pub use rule::{Judge, Lookup, RuleTraining, RuleVerdict, Scores, TrainedRule};
pub use vectors::{VectorRow, VectorsReport};
