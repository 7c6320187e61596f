//! Queues: how long messages wait between whoever sends them and whoever receives them, by edge
//! (`docs/definitions/queues.md`).

pub(crate) mod links;
mod observe;
pub(crate) mod query;
mod report;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

pub use links::LinkCounts;
pub use report::{QueueEdge, QueueExample, QueuesReport};
