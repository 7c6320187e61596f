//! Summaries of traces: what the analyses sum, without the traces (`docs/definitions/summary.md`).
//!
//! A [`Summary`] observes whole traces ([`Summary::observe`]), merges with others in any order ([`Merger`]) and answers
//! what needs no spans: latencies, calling contexts, services and calls, errors. It is written to a small file by [`write()`]
//! and read by [`read`]. Two of them compare as two sets of traces do ([`compare`]).
//!
//! Sums and counts are exact. Percentiles are exact up to [`EXACT`] values and within [`RELATIVE_ERROR`] beyond.

mod before;
mod compare;
mod diagnose;
mod diagnosis;
mod endpoints;
mod errors;
mod file;
mod flame;
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
mod sections;
mod services;
mod sketch;
mod split;
mod statistic;
mod trend;

pub use compare::compare;
pub use diagnosis::MOST_PLACES;
pub use endpoints::EndpointPart;
pub use file::{is_summary, read, write};
pub use flame::NodePart;
pub use flow::{MOST_NODES, NoFlow, REPEATS};
pub use gate::{Measured, Rule, Verdict, check};
pub use latency_bin::{LatencyBin, LatencyBinRange};
pub use merge::{Merger, OtherSettings};
pub use normal::MOST_NORMAL;
pub use packed::FileError;
pub use part::{RootPart, Settings, Summary};
pub use reports::Choice;
pub use sections::Lacks;
pub use sketch::{EXACT, RELATIVE_ERROR, Sketch};
pub use split::{DAY_US, by_day};
pub use statistic::{Estimate, Statistic};
pub use trend::{DayChange, Moved, NoTrend, Series, Trend};
