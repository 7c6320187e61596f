//! Asking a Jaeger query service for traces: what is asked, what its answers mean, and what to do when they mean trouble.
//!
//! Nothing here opens a connection. A [`FetchPlan`] says which address to ask next and takes the [`ServerAnswer`]; whoever drives it
//! (the page's `fetch`, a test) brings one to the other. Jaeger has no pagination, so a plan for many traces cuts the
//! time range into slices, halves a slice whose answer reached its limit, and asks for several at once. Jaeger speaks
//! two dialects, see [`Dialect`]; which one is found out by asking.

mod answer;
mod caller;
mod fields;
pub mod growth;
mod listing;
mod plan;
mod request;
pub mod source;
mod trouble;

pub use answer::{Reply, Scan, ServerAnswer, retry_after_s};
pub use caller::{Caller, TENANT_HEADERS, Tenant, is_tenant_header};
pub use fields::{go_duration_ns, logfmt_of_tags, tags_of_logfmt};
pub use listing::{Listing, ServerListing};
pub use plan::{FetchPlan, FetchProgress, FetchStep, Outcome, trace_name};
pub use request::{Dialect, trace_link, traces_link};
pub use trouble::{Connection, FetchTrouble, Lost, Trouble};
