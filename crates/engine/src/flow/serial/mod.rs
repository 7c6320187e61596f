//! Calls of a parent that always run one after the other though nothing in the traces says that they must, and what running
//! them side by side would save (`docs/definitions/execution-flow.md` section 7).

mod arguments;
mod candidates;
mod observe;
mod report;

pub use arguments::{ArgumentRun, ArgumentSums};
pub use candidates::{CallPair, Candidates};
pub use observe::{SerialRun, SerialSums};
pub use report::{ParalleliseReport, SerialGroup};
