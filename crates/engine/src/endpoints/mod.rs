//! Times by endpoint, whatever the call path, and endpoints ranked by what improving them is worth
//! (`docs/definitions/critical-path.md` sections 5, 6 and 10).

mod impact;
pub(crate) mod impact_query;
mod observe;
pub(crate) mod query;
pub(crate) mod summed;
mod tag_sums;
pub(crate) mod tag_sums_query;

pub use impact::{Affected, ImpactPart, ImpactReport, ImpactRow, RootRow};
pub use observe::{
    CHAINS, CallChain, EndpointPart, EndpointTotals, EndpointsReport, RowStat, RowTime, top_chains,
};
pub use summed::SummedEndpoint;
pub use tag_sums::{SumPlace, TagSum, TagSumsObserver, TagSumsPart, TagSumsReport};
