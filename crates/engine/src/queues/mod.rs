//! Queues: how long messages wait between whoever sends them and whoever receives them, by edge
//! (`docs/definitions/queues.md`).

mod changes;
pub(crate) mod links;
mod observe;
pub(crate) mod query;
mod report;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

pub use changes::QueueChange;
pub(crate) use changes::{GreatestQueue, changes, greatest};
pub use links::LinkCounts;
pub use observe::QueuesPart;
pub(crate) use observe::since_us;
pub use report::{QueueEdge, QueueExample, QueuesReport};
