//! Critical paths of many traces (CRISP).
//!
//! [`PathFinder`] walks one request (paper section 5.1); [`PathTable`] holds the calling contexts of all requests of a
//! worker; [`Aggregate`] sums them over a percentile range, merges with others of its kind and finishes into a report.

mod aggregate;
mod collapse;
mod column;
mod contexts;
mod critical_path;
pub(crate) mod done;
mod exemplars;
mod folded;
mod histograms;
pub(crate) mod histograms_query;
pub(crate) mod query;
mod report;
pub(crate) mod shares;
pub(crate) mod summed;
mod table;
pub(crate) mod wait_sums;
mod waits;
mod walk;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod weighted_tests;

pub use aggregate::{Aggregate, pack_sorted, unpack_sorted};
pub use collapse::{Collapser, EndpointEntry, topmost};
pub use column::TimeColumn;
pub(crate) use contexts::Placed;
pub use contexts::{Context, Contexts};
pub use critical_path::{PathEntry, PathFinder, Segment};
pub use exemplars::{ExemplarCandidates, ExemplarTargets};
pub use folded::{TooDeep, fold};
pub use histograms::{EndpointCalls, HistogramsObserver, HistogramsPart, HistogramsReport, Quantity};
pub use report::{
    ContextNode, CriticalPathReport, Exemplar, Exemplars, PathSegment, RequestNode, RequestPath, RequestRow,
    RequestsReport, SpanName, SpanWaiting, TraceReport, Waiting, Weight,
};
pub use summed::NodePart;
pub use table::{PathTable, TableBuilder};
pub use waits::{WaitEntry, waits_of};
pub use walk::{Observer, Reusable, Walk};
