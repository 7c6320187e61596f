//! Two sides against each other: frames of the differential flame graph ([`DiffReport`], paper Fig. 12), and the services
//! that explain the difference ([`services`]).

mod frames;
pub(crate) mod query;
mod report;
pub mod services;
mod summed;

pub use frames::DiffPart;
pub use report::{Basis, Change, DiffNode, DiffReport, DiffSide, FrameSums, Measure, Presence, RankedChange};
pub use summed::compare;
