//! Typed queries over one algebra.
//!
//! A [`Query`] is a plain struct that names its report. Its [`Plan`] asks every worker for one pass after the other; a
//! pass is run over the worker's own traces (a [`Task`], resumable in small steps) and gives a compact partial; the
//! plan merges the partials in any order and goes on, until it has the report. A browser's pool of workers, native
//! threads and a single test use just this.

pub mod clock;
mod cuts;
pub mod load;
mod moves;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;
mod pass;
mod plan;
pub mod pool;
pub mod queries;
mod reports;
mod request_pass;
mod requests;
mod session;
mod workers;

pub use cuts::Cuts;
pub use moves::{Moves, plan_moves};
pub use plan::{Next, Plan};
pub use queries::{
    EndpointCount, OverviewReport, PerRequestReport, Query, RequestType, SpanKey, SpanReport, TagKey,
};
pub use reports::*;
pub use session::{Session, Task};

/// Why there is no report.
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
    /// The query has its report already, or its worker ended.
    #[error("the worker that should answer has ended; ask again")]
    Ended,
}
