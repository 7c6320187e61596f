//! Queues: how long messages wait between whoever sends them and whoever receives them, by edge
//! (`docs/definitions/queues.md`).

mod changes;
pub(crate) mod links;
pub(crate) mod missing;
mod observe;
mod on_path;
pub(crate) mod query;
mod report;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

pub use changes::QueueChange;
pub(crate) use changes::{GreatestQueue, changes, costliest, greatest, path_times};
pub use links::LinkCounts;
pub use missing::{MOST_NAMED, MissingTracesReport, missing_of};
pub use observe::QueuesPart;
pub(crate) use observe::{Receivers, fan_in, queue_between, since_us};
pub use report::{QueueEdge, QueueExample, QueuesReport};
