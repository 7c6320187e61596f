//! The default detector: facts of the whole tree, in three parts, with two tests (`docs/definitions/anomaly.md` sections 1
//! to 5).

mod categories;
mod delay;
mod facts;
mod merge;
mod model;
mod observe;
mod reasons;
mod sample;
mod tables;
mod tails;
mod views;

pub use facts::{Fact, FactKind, FactPart, FactRow, PartOfRequest, RequestFacts};
pub use merge::{Calibrated, FACTS_KEPT};
pub use model::{Trained, TreeModel};
pub use observe::FactObserver;
pub use reasons::{Explainer, ReasonKind, TreeReason};
pub use tables::{Located, Scratch, Tables};
pub use views::{TestResult, TreeVerdict, one_p};
