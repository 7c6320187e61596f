//! Summaries of traces: what the analyses sum, without the traces (`docs/definitions/summary.md`).
//!
//! A [`Summary`] observes whole traces ([`Summary::observe`]), merges with others in any order ([`Merger`]) and answers
//! what needs no spans: latencies, calling contexts, services and calls, errors. It is written to a small file by [`write()`]
//! and read by [`read`]. Two of them compare as two sets of traces do ([`compare`](crate::compare::compare)).
//!
//! Sums and counts are exact. Percentiles are exact up to [`EXACT`] values and within [`RELATIVE_ERROR`] beyond.

mod before;
pub(crate) mod by_weight;
mod days;
pub(crate) mod fewer;
mod file;
mod gate;
mod gather;
pub(crate) mod joined;
mod latency_bin;
pub(crate) mod loaded;
mod loaded_list;
pub(crate) mod maps;
mod merge;
pub(crate) mod names;
mod observe;
pub(crate) mod packed;
mod part;
mod reports;
pub(crate) mod section;
pub(crate) mod sections;
pub(crate) mod sketch;
mod statistic;

pub use days::{DAY_US, by_day};
pub use fewer::LesserRoot;
pub use file::{is_summary, read, write};
pub use gate::{GateResult, GateRule, Measured, check};
pub use gather::{GatherError, Gatherer, GathererPart};
pub use latency_bin::{LatencyBin, LatencyBinRange};
pub use loaded_list::{LoadedSummaries, LoadedSummary};
pub use merge::{Merger, OtherSettings};
pub use packed::FileError;
pub use part::{RootPart, Summary, SummarySettings};
pub use reports::Choice;
pub use section::{Lacks, MOST_ROOTS, OTHERS};
pub use sketch::{EXACT, RELATIVE_ERROR, Sketch};
pub use statistic::{Estimate, Statistic};
