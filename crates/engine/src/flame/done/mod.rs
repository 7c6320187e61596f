//! What requests lead to after their answer, and the critical path until all of it is done
//! (`docs/definitions/critical-path.md` section 9).

mod follow;
mod path;
mod queue_names;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

pub(crate) use follow::{Follower, Unit};
pub(crate) use path::{DonePath, QueuedMessage, around};
pub(super) use queue_names::QueueNames;
pub(crate) use queue_names::{queue_endpoint, queue_service};
