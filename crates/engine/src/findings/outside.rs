//! Work that no request waits for: what runs asynchronously, and what hangs below spans that are missing
//! (`docs/definitions/real-traces.md` sections 10 and 11).

use super::candidates::{Sums, untested_finding};
use super::{Finding, FindingFacts, FindingPlace, OutsideRequestsFacts};
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Coverage, Endpoint, EndpointId, NO_ROW, Role, SpanId, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// From this share on it speaks first: the requests are the smaller part of what was recorded.
pub(super) const MOST_OF_IT: f64 = 0.5;

/// Spans of an endpoint at which work outside requests begins, and all below them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tops {
    /// The spans at which it begins.
    pub spans: u64,
    /// Their duration as recorded, in microseconds.
    pub us: u128,
    /// The duration of these and of all spans below them, but for what begins again below, in microseconds.
    pub span_us: u128,
}

impl Tops {
    fn merge(&mut self, other: Tops) {
        self.spans += other.spans;
        self.us += other.us;
        self.span_us += other.span_us;
    }
}

/// Looks at what lies outside requests, trace by trace.
#[derive(Default)]
pub struct Outside {
    /// Whether what is asynchronous below requests is part of them.
    is_until_done: bool,
    requests: Vec<u32>,
    missing: Vec<SpanId>,
    /// By span of the trace at hand: the span at which what it is part of begins, [`NO_ROW`] inside requests.
    top_of: Vec<u32>,
    tops: FxHashMap<(bool, u32), Tops>,
    coverage: Coverage,
    missing_spans: u64,
}

/// What lies outside requests; an accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsidePart {
    /// By whether it is asynchronous, else it is unattached; and by endpoint.
    pub tops: BTreeMap<(bool, Endpoint), Tops>,
    /// How requests cover their traces.
    pub coverage: Coverage,
    /// Missing spans below which it is unattached.
    pub missing: u64,
}

impl Outside {
    /// Returns what looks at traces whose requests end with their answer, or when everything is done.
    pub fn new(is_until_done: bool) -> Outside {
        Outside { is_until_done, ..Outside::default() }
    }

    /// Takes note of a trace.
    pub fn look(&mut self, set: &TraceSet, tree: &Tree) {
        tree.requests(set, &mut self.requests);
        let coverage = match self.is_until_done {
            false => Coverage::of(set, tree, &self.requests),
            true => Coverage::until_done(set, tree, &self.requests),
        };
        self.coverage.merge(&coverage);
        if coverage.async_spans == 0 && coverage.unattached_spans == 0 {
            return;
        }
        self.missing.clear();
        self.top_of.clear();
        for i in 0..tree.len() as u32 {
            let row = tree.row(i);
            let above = tree.parent_of(i).map_or(NO_ROW, |parent| self.top_of[parent as usize]);
            let is_unattached = above != NO_ROW && tree.role[above as usize] == Role::Root;
            let top = match tree.role[i as usize] {
                _ if self.requests.binary_search(&i).is_ok() => NO_ROW,
                Role::Dropped => NO_ROW,
                Role::Async if !is_unattached => i,
                Role::Root if tree.is_orphan(set, i) => {
                    self.missing.push(set.parent_id(row));
                    i
                }
                _ => above,
            };
            self.top_of.push(top);
            if top == NO_ROW {
                continue;
            }
            let key = (tree.role[top as usize] == Role::Async, set.endpoint(tree.row(top)).0);
            let us = u128::from(set.duration_us(row));
            let begins = if top == i { (1, us) } else { (0, 0) };
            let tops = Tops { spans: begins.0, us: begins.1, span_us: us };
            self.tops.entry(key).or_default().merge(tops);
        }
        self.missing.sort_unstable();
        self.missing.dedup();
        self.missing_spans += self.missing.len() as u64;
    }

    /// Returns what was found.
    pub fn finish(self, set: &TraceSet) -> OutsidePart {
        let named = self.tops.into_iter();
        let tops = named.map(|((is_async, of), tops)| ((is_async, set.owned_endpoint(EndpointId(of))), tops));
        OutsidePart { tops: tops.collect(), coverage: self.coverage, missing: self.missing_spans }
    }
}

impl OutsidePart {
    /// Adds what other traces have.
    pub fn merge(&mut self, other: OutsidePart) {
        for (key, tops) in other.tops {
            self.tops.entry(key).or_default().merge(tops);
        }
        self.coverage.merge(&other.coverage);
        self.missing += other.missing;
    }

    /// Returns the endpoints at which it begins, those with most time first (ties: by name).
    pub fn by_time(&self, is_async: bool) -> Vec<(&Endpoint, Tops)> {
        let of_kind = self.tops.iter().filter(|((kind, _), _)| *kind == is_async);
        let mut rows: Vec<_> = of_kind.map(|((_, endpoint), tops)| (endpoint, *tops)).collect();
        rows.compact_sort_by_key(|(_, tops)| Reverse(tops.span_us));
        rows
    }
}

impl Sums<'_> {
    /// Returns what much of the recorded time is spent in, and no request waits for.
    pub fn outside_requests(&self) -> Vec<Finding> {
        let outside = &self.part.outside;
        let coverage = &outside.coverage;
        let find = |is_async: bool| {
            let us = if is_async { coverage.async_us } else { coverage.unattached_us };
            let spans = if is_async { coverage.async_spans } else { coverage.unattached_spans };
            let share = coverage.share(us);
            let (endpoint, largest) =
                *outside.by_time(is_async).first().filter(|_| share > Coverage::MUCH)?;
            let facts = FindingFacts::OutsideRequests(OutsideRequestsFacts {
                share,
                us,
                missing: (!is_async).then_some(outside.missing),
                tops: largest.spans,
                mean_us: largest.us as f64 / largest.spans.max(1) as f64,
            });
            Some(untested_finding(FindingPlace::Endpoint(endpoint.clone()), spans, self.part.spans, facts))
        };
        [true, false].into_iter().filter_map(find).collect()
    }
}
