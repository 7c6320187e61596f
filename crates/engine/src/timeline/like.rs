//! How slow every span of a trace is among those like it: the spans of the same endpoint in the same set of traces
//! (`docs/definitions/critical-path.md` section 11).

use super::query::Trace;
use crate::EngineError;
use crate::flame::TraceReport;
use crate::run::query::Query;
use crate::run::set_pass::{OverSet, RunningSetPass, SetPass};
use crate::run::workers::Workers;
use pathlight_base::encoding;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, EndpointId, PathSettings, TraceSet};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Spans between two looks at the clock.
const BLOCK: u32 = 4096;

/// Reports how slow every span of a trace is among those like it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AmongLike {
    /// The trace.
    pub of: Trace,
}

/// How slow a span is among those like it, itself among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LikeRank {
    /// Spans of its endpoint that are loaded.
    pub like: u64,
    /// Those of them that take less time.
    pub shorter: u64,
    /// Those that take more.
    pub longer: u64,
}

impl LikeRank {
    /// Returns the percentile it is at: the whole percent of the others that take less time. `None` without others.
    pub fn percentile(self) -> Option<u64> {
        let others = self.like.checked_sub(1).filter(|others| *others > 0)?;
        Some(self.shorter * 100 / others)
    }
}

impl Query for AmongLike {
    /// By index as in [`TraceReport`]; `None` if no such trace is loaded.
    type Report = Option<Vec<LikeRank>>;

    async fn run(self, workers: Workers) -> Result<Option<Vec<LikeRank>>, EngineError> {
        let (settings, group) = (self.of.settings, self.of.group);
        let bytes = workers.only_partial(self.of).await?;
        let Some(report) = encoding::read::<Option<TraceReport>>(&bytes)? else { return Ok(None) };
        let mut durations_us: Vec<Vec<u64>> = vec![Vec::new(); report.endpoints.len()];
        for (endpoint, us) in report.endpoint.iter().zip(&report.duration_us) {
            durations_us[*endpoint as usize].push(*us);
        }
        for of_endpoint in &mut durations_us {
            of_endpoint.compact_sort();
            of_endpoint.dedup();
        }
        let endpoints = report.endpoints.clone();
        let pass = LikePass { endpoints, durations_us: durations_us.clone(), settings, group };
        let mut counts: Vec<Vec<u64>> = durations_us.iter().map(|of| vec![0; 2 * of.len() + 1]).collect();
        for part in workers.partials(pass).await? {
            for (sums, of_part) in counts.iter_mut().zip(part) {
                sums.iter_mut().zip(of_part).for_each(|(sum, count)| *sum += count);
            }
        }
        // Of each endpoint, the spans up to a place.
        let upto = |counts: &Vec<u64>| -> Vec<u64> {
            let mut before = Vec::with_capacity(counts.len());
            let mut sum = 0;
            for count in counts {
                before.push(sum);
                sum += count;
            }
            before
        };
        let before: Vec<Vec<u64>> = counts.iter().map(upto).collect();
        let all: Vec<u64> = counts.iter().map(|counts| counts.iter().sum()).collect();
        let rank = |(endpoint, us): (&u32, &u64)| {
            let endpoint = *endpoint as usize;
            let at = place(&durations_us[endpoint], *us);
            let (shorter, equal) = (before[endpoint][at], counts[endpoint][at]);
            LikeRank { like: all[endpoint], shorter, longer: all[endpoint] - shorter - equal }
        };
        Ok(Some(report.endpoint.iter().zip(&report.duration_us).map(rank).collect()))
    }
}

/// Returns where a duration is counted among ascending ones: odd places are those themselves, even places lie between them.
fn place(durations_us: &[u64], us: u64) -> usize {
    match durations_us.binary_search(&us) {
        Ok(at) => 2 * at + 1,
        Err(at) => 2 * at,
    }
}

/// Counts the spans of some endpoints by their durations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LikePass {
    endpoints: Vec<Endpoint>,
    /// Of each endpoint, ascending and different.
    durations_us: Vec<Vec<u64>>,
    settings: PathSettings,
    group: u8,
}

impl SetPass for LikePass {
    /// Of each endpoint, spans by [`place`].
    type Part = Vec<Vec<u64>>;

    fn settings(&self) -> Option<PathSettings> {
        Some(self.settings)
    }

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        let counts = self.durations_us.iter().map(|of| vec![0; 2 * of.len() + 1]).collect();
        let by_name = (0..).zip(&self.endpoints).map(|(at, endpoint)| (endpoint.clone(), at)).collect();
        Box::new(Counting { pass: self, by_name, of_id: FxHashMap::default(), counts, next: (0, 0) })
    }
}

struct Counting {
    pass: LikePass,
    by_name: BTreeMap<Endpoint, usize>,
    /// Places in the list of endpoints, by ids of the worker's set.
    of_id: FxHashMap<EndpointId, Option<usize>>,
    counts: Vec<Vec<u64>>,
    /// Trace and row to go on with.
    next: (usize, u32),
}

impl Counting {
    fn count(&mut self, set: &TraceSet, row: u32) {
        let id = set.endpoint(row);
        let by_name = &self.by_name;
        let known = self.of_id.entry(id).or_insert_with(|| by_name.get(&set.owned_endpoint(id)).copied());
        if let Some(at) = *known {
            self.counts[at][place(&self.pass.durations_us[at], set.duration_us(row))] += 1;
        }
    }
}

impl RunningSetPass for Counting {
    fn step(&mut self, set: &TraceSet, time_is_up: &mut dyn FnMut() -> bool) -> Option<Vec<u8>> {
        while let Some(trace) = set.traces().get(self.next.0) {
            let first = self.next.1.max(trace.first);
            let end = trace.end.min(first.saturating_add(BLOCK));
            if trace.id.group == self.pass.group {
                (first..end).for_each(|row| self.count(set, row));
            }
            self.next = if end < trace.end { (self.next.0, end) } else { (self.next.0 + 1, 0) };
            if time_is_up() {
                return None;
            }
        }
        Some(encoding::write(&self.counts))
    }

    fn progress(&self, set: &TraceSet) -> (u64, u64) {
        (self.next.0 as u64, set.traces().len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_spans::{Span, pool, span, trace_of};
    use pathlight_trace::SpanKind::{Client, Server};

    /// Traces 1 to 5, in which GET takes 100 times the number, and two queries 10 and 20; trace 6 has only another endpoint.
    fn spans() -> Vec<Span> {
        let of = |trace: u128| {
            let (first, us) = (10 * trace as u64, 100 * trace as u64);
            [
                span(trace, first + 1, 0, Server, (0, us), "GET"),
                span(trace, first + 2, first + 1, Client, (0, 10), "query"),
                span(trace, first + 3, first + 1, Client, (20, 40), "query"),
            ]
        };
        let mut spans: Vec<Span> = (1..=5).flat_map(of).collect();
        spans.push(span(6, 99, 0, Server, (0, 7), "other"));
        spans
    }

    fn ranks(trace: u64, workers: usize) -> Option<Vec<(u64, u64, u64)>> {
        let of = trace_of(trace);
        let ranks = pool(&spans(), workers).run(AmongLike { of }).unwrap()?;
        Some(ranks.iter().map(|rank| (rank.like, rank.shorter, rank.longer)).collect())
    }

    #[test]
    fn a_span_stands_among_those_of_its_endpoint() {
        for workers in [1, 2, 3] {
            assert_eq!(ranks(4, workers), Some(vec![(5, 3, 1), (10, 0, 5), (10, 5, 0)]), "{workers}");
            assert_eq!(ranks(6, workers), Some(vec![(1, 0, 0)]));
            assert_eq!(ranks(7, workers), None);
        }
    }

    #[test]
    fn a_percentile_is_the_share_of_the_others_that_take_less() {
        let of = |like, shorter| LikeRank { like, shorter, longer: 0 }.percentile();
        assert_eq!((of(312, 311), of(312, 302), of(312, 0)), (Some(100), Some(97), Some(0)));
        assert_eq!((of(1, 0), of(0, 0)), (None, None));
    }
}
