//! The service that explains why one set of requests is slower than another (`docs/definitions/culprit.md`).
//!
//! [`CulpritObserver`] fills a [`CulpritPart`] with times on critical paths: one value per call between two services, and
//! one per visit of a service. Parts merge in any order; [`CulpritReport::of`] compares those of two sets.

mod cells;
mod failing;
mod observe;
pub(crate) mod query;
mod rank;
mod report;
mod summed;

pub use cells::{CallSums, CulpritPart, ServiceSums};
pub use observe::CulpritObserver;
pub use report::{
    CulpritExemplar, CulpritPlace, CulpritReport, CulpritService, Excess, FailingService, Lead, ServicePart,
    Vanished,
};
