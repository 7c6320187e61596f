//! Critical paths of many traces (CRISP).
//!
//! [`PathFinder`] walks one request (paper section 5.1); [`PathTable`] holds the calling contexts of all requests of a
//! worker; [`Aggregate`] sums them over a percentile range, merges with others of its kind and finishes into a report.

mod aggregate;
mod bottom_up;
mod collapse;
mod contexts;
mod diff;
mod diff_report;
mod endpoints;
mod exemplars;
mod folded;
mod heatmap;
mod histograms;
mod path;
mod proposals;
mod report;
mod shares;
mod split;
mod table;
mod tag_values;
mod wait_sums;
mod waits;
mod walk;

pub use aggregate::{Aggregate, pack_sorted, unpack_sorted};
pub use bottom_up::{Affected, BottomUpPart, BottomUpReport, ImpactRow, RootRow};
pub use collapse::{Collapser, EndpointEntry};
pub use contexts::{Context, Contexts};
pub use diff::DiffPart;
pub use diff_report::{
    Basis, Change, DiffNode, DiffReport, DiffSide, FrameSums, Measure, Presence, RankedChange,
};
pub use endpoints::{
    CHAINS, CallChain, EndpointPart, EndpointRow, EndpointsReport, RowStat, RowTime, top_chains,
};
pub use exemplars::{ExemplarCandidates, ExemplarTargets};
pub use folded::{TooDeep, fold};
pub use heatmap::{
    ColumnEdge, ColumnOrder, Columns, HeatPart, HeatmapReport, sorted_column_keys, tied_column_keys,
};
pub use histograms::{HistogramsObserver, HistogramsPart, HistogramsReport, Quantity};
pub use path::{PathEntry, PathFinder, Segment};
pub use proposals::{
    NotProposed, ProposalsObserver, ProposalsPart, ProposalsReport, ProposedValue, TagProposal,
};
pub use report::*;
pub use split::{Ratio, SplitObserver, SplitOf, SplitPart, SplitReport, SplitValue};
pub use table::{PathTable, TableBuilder};
pub use tag_values::{TagValueCount, TagValuesObserver, TagValuesPart, TagValuesReport};
pub use waits::{WaitEntry, waits_of};
pub use walk::{Observer, Walk};
