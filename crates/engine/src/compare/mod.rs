//! Two sides against each other: frames of the differential flame graph ([`CompareReport`], paper Fig. 12), with the
//! services that explain the difference ([`verdict`](crate::verdict)).

mod frames;
pub(crate) mod query;
mod report;
pub(crate) mod summed;

pub use frames::ComparePart;
pub use query::ranges;
pub use report::{
    Basis, Change, CompareNode, CompareReport, CompareSide, FrameSums, MeasuredTime, Presence, RankedChange,
};
pub use summed::compare;
