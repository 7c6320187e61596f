//! What is to blame for one set of requests being slower than another (`docs/definitions/verdict.md`).
//!
//! [`ServicesObserver`] fills a [`ServicesPartial`] with times on critical paths: one value per call between two services, and
//! one per visit of a service. Parts merge in any order; [`ServicesReport::of`] compares those of two sets.

mod attribute;
mod baselines;
mod cells;
mod drift;
mod excess;
mod failing;
pub(crate) mod hit;
pub(crate) mod hits_query;
mod observe;
pub mod one_set;
mod proportion;
pub(crate) mod query;
mod rank;
mod report;
pub mod service_map;
pub(crate) mod service_map_query;
mod stops;
pub(crate) mod subject;
pub(crate) mod summed;
#[cfg(test)]
mod tests;
mod times;

pub use cells::{CallSums, ServiceSums, ServicesPartial};
pub use hit::HitRequests;
pub(crate) use hit::hit_limit_us;
pub use hits_query::{SubjectHits, SubjectRow};
pub use observe::ServicesObserver;
pub(crate) use observe::answer_of_other_service;
pub use report::{
    Certainty, Excess, FailingService, Headline, InProportion, Lead, ServiceChange, ServiceExemplar,
    ServicePart, ServicePlace, ServicesReport, StoppedVisits, Vanished,
};
pub(crate) use subject::{ServiceCalls, SubjectSpans};
pub use subject::{Subject, TimedSubject};
pub(crate) use times::excesses;
