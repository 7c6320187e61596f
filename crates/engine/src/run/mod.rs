//! Running a query over one or many trace sets: the traces of a worker ([`Session`]), a pass over them, the plan that asks
//! for passes and merges their partials ([`Plan`]), and native threads.

pub(crate) mod apart;
mod ask;
pub mod clock;
mod connected;
mod cuts;
mod latencies;
mod moves;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;
pub(crate) mod partials;
pub(crate) mod pass;
mod plan;
pub(crate) mod query;
pub(crate) mod range_requests;
pub(crate) mod request_pass;
mod session;
pub(crate) mod set_pass;
mod task;
pub(crate) mod workers;

pub use ask::{Ask, Together};
pub use cuts::Cuts;
pub use moves::{JoinPlan, Moves, plan_joining};
pub use plan::{Plan, PlanStep};
pub use session::Session;
pub use task::Task;
