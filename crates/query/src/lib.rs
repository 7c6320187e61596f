//! One request and response protocol over the one algebra.
//!
//! A [`Request`] becomes a [`Chain`] of passes. Each pass is run by every worker over its own traces (a [`Task`],
//! resumable in small steps) and gives a compact partial; the chain merges the partials in any order and asks for the
//! next pass or gives the [`Report`]. A browser's pool of workers, native threads and a single test use just this.

mod anomaly;
mod answer;
mod chain;
pub mod clock;
mod compare;
mod cutting;
mod detail;
mod flow;
mod heatmap;
pub mod load;
mod moves;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;
mod overview;
mod paths;
mod protocol;
mod session;
mod study;
mod tprof;
mod workers;

pub use chain::{Chain, Next};
pub use moves::{Moves, plan_moves};
pub use protocol::*;
pub use session::{Session, Task};

/// Why the engine cannot answer.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A message between workers is not what it should be.
    #[error("a message between workers is damaged ({0}); load the files again")]
    Message(#[from] postcard::Error),
    /// A file that is no model of a detector.
    #[error(transparent)]
    Model(#[from] pathlight_analysis::anomaly::ModelError),
    /// Memory ended.
    #[error(transparent)]
    Full(#[from] pathlight_model::trace::SetFull),
    /// The request was answered already, or its worker ended.
    #[error("the worker that should answer has ended; ask again")]
    Ended,
}
