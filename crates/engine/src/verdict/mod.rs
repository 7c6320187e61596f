//! The service that explains why one set of requests is slower than another (`docs/definitions/culprit.md`).
//!
//! [`ServicesObserver`] fills a [`ServicesPartial`] with times on critical paths: one value per call between two services, and
//! one per visit of a service. Parts merge in any order; [`ServicesReport::of`] compares those of two sets.

mod cells;
mod failing;
mod observe;
pub(crate) mod query;
mod rank;
mod report;
pub(crate) mod summed;

pub use cells::{CallSums, ServiceSums, ServicesPartial};
pub use observe::ServicesObserver;
pub use report::{
    Excess, FailingService, Lead, ServiceChange, ServiceExemplar, ServicePart, ServicePlace, ServicesReport,
    Vanished,
};
