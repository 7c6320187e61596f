//! Summaries of a part: of one day's traces, or of one root endpoint's requests.

use super::Summary;
use super::fewer::{self, kept_as};
use pathlight_trace::{Endpoint, Portable, SetFull, TraceSet};
use std::collections::BTreeMap;

/// Microseconds of a day.
pub const DAY_US: u64 = 86_400_000_000;

/// Takes a sealed set apart by day; days count from 1970 in UTC, and a trace is of the day on which its first root span
/// begins.
///
/// # Errors
/// [`SetFull`] when memory ends.
pub fn by_day(set: TraceSet) -> Result<BTreeMap<u64, TraceSet>, SetFull> {
    let mut days: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for (number, trace) in (0u32..).zip(set.traces()) {
        days.entry(set.start_us(trace.first) / DAY_US).or_default().push(number);
    }
    if days.len() < 2 {
        return Ok(days.into_keys().zip([set]).collect());
    }
    let of_day = |(day, traces): (u64, Vec<u32>)| {
        let mut part = TraceSet::new();
        Portable::copy(&set, traces.into_iter()).add_to(&mut part)?;
        part.seal()?;
        Ok((day, part))
    };
    days.into_iter().map(of_day).collect()
}

impl Summary {
    /// Returns what it holds of the requests of each root endpoint. Each request counts as a trace, since a summary
    /// does not know which requests share one; the range of times is that of all requests. In linear time, however
    /// many roots there are.
    pub fn into_roots(self) -> impl Iterator<Item = (Endpoint, Summary)> {
        let Summary { settings, start_us, roots, sections, unknown, mut by_weight, mut lesser, .. } = self;
        let mut sections = sections.into_roots(&|root| kept_as(&roots, root));
        roots.into_iter().map(move |(root, part)| {
            let summary = Summary {
                settings: settings.clone(),
                traces: part.requests(),
                spans: part.spans,
                start_us,
                sections: sections(&root),
                by_weight: by_weight.remove_entry(&root).into_iter().collect(),
                roots: [(root.clone(), part)].into(),
                // Those that stand under the others of a service go with these.
                lesser: fewer::of_others(&mut lesser, &root),
                unknown: unknown.clone(),
            };
            (root, summary)
        })
    }
}
