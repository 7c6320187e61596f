//! Summaries of traces: what the analyses sum, without the traces (`docs/definitions/summary.md`).
//!
//! A [`Summary`] observes whole traces ([`Summary::observe`]), merges with others in any order ([`Merger`]) and answers
//! what needs no spans: latencies, calling contexts, services and calls, errors. It is written to a small file by [`write()`]
//! and read by [`read`]. Two of them compare as two sets of traces do ([`compare`]).
//!
//! Sums and counts are exact. Percentiles are exact up to [`EXACT`] values and within [`RELATIVE_ERROR`] beyond.

mod compare;
mod diagnose;
mod diagnosis;
mod file;
mod flow;
mod gate;
mod latency_bin;
mod maps;
mod merge;
mod names;
mod normal;
mod observe;
mod packed;
mod part;
mod reports;
mod sketch;
mod split;
mod statistic;
mod trend;

pub use compare::compare;
pub use diagnose::NoDiagnosis;
pub use diagnosis::{DiagnosisSums, MOST_PLACES};
pub use file::{is_summary, read, write};
pub use flow::{FlowSums, MOST_NODES, NoFlow, REPEATS};
pub use gate::{Measured, Rule, Verdict, check};
pub use latency_bin::{LatencyBin, LatencyBinRange};
pub use merge::{Merger, OtherSettings};
pub use normal::{MOST_NORMAL, Normal};
pub use packed::FileError;
pub use part::{EndpointPart, ErrorSums, NodePart, RootPart, Settings, Summary};
pub use reports::Choice;
pub use sketch::{EXACT, RELATIVE_ERROR, Sketch};
pub use split::{DAY_US, by_day};
pub use statistic::{Estimate, Statistic};
pub use trend::{DayChange, Moved, Series, Trend};
