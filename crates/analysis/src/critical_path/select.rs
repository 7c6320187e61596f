//! Cutting a band out of the requests of a scope: filters, then ranks of latency.

use super::scope::{Band, Filter, Scope};
use super::table::{PathTable, RequestEntry};
use pathlight_model::trace::{EndpointId, Role, TagSetId, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// What requests are ordered by (definitions section 4): latency, then trace id, then root span id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestKey {
    /// Latency in microseconds.
    pub latency_us: u64,
    /// Canonical trace id.
    pub trace_id: String,
    /// Canonical id of the request's root span.
    pub root_span_id: String,
}

impl RequestKey {
    /// The key of a request.
    pub fn of(set: &TraceSet, request: &RequestEntry) -> RequestKey {
        RequestKey {
            latency_us: request.latency_us,
            trace_id: set.trace_id_text(request.trace),
            root_span_id: set.span_id_text(request.row),
        }
    }
}

/// A band as keys: from `from` (inclusive) to `to` (exclusive); `None` is open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// First key inside.
    pub from: Option<RequestKey>,
    /// First key past the end.
    pub to: Option<RequestKey>,
    /// Nothing is inside.
    pub is_empty: bool,
}

impl Band {
    /// The band of the requests with these ranks of `n`: exact up to 100,000 requests, beyond as near as thousandths of a
    /// percent allow, and never empty.
    pub fn of_ranks(ranks: std::ops::Range<u64>, n: u64) -> Band {
        let n = u128::from(n.max(1));
        let percent = |rank: u64| ((u128::from(rank) * 100_000 + n / 2) / n).min(100_000) as u32;
        let (lo, hi) = (percent(ranks.start), percent(ranks.end));
        if lo == 0 && hi >= 100_000 {
            return Band::ALL;
        }
        let lo = lo.min(99_999);
        Band { lo, hi: hi.max(lo + 1), closed: false }
    }

    /// The ranks of a band: request i of n belongs to percentile 100 (i + 0.5) / n, compared in integers.
    pub fn ranks(&self, n: u64) -> std::ops::Range<u64> {
        if self.is_all() {
            return 0..n;
        }
        // 100,000 (2i + 1) / 2n against lo and hi, without division: first i at or above a bound.
        let first_at = |bound: u32, past_equal: bool| {
            let bound = u128::from(bound) * 2 * u128::from(n);
            let (mut low, mut high) = (0, n);
            while low < high {
                let middle = low + (high - low) / 2;
                let place = 100_000 * (2 * u128::from(middle) + 1);
                if place < bound || past_equal && place == bound { low = middle + 1 } else { high = middle }
            }
            low
        };
        let from = first_at(self.lo, false);
        from..first_at(self.hi, self.closed).max(from)
    }
}

impl Cut {
    /// Whether a request lies inside.
    pub fn contains(&self, set: &TraceSet, request: &RequestEntry) -> bool {
        let against = |key: &RequestKey| {
            request.latency_us.cmp(&key.latency_us).then_with(|| {
                let own = RequestKey::of(set, request);
                (&own.trace_id, &own.root_span_id).cmp(&(&key.trace_id, &key.root_span_id))
            })
        };
        !self.is_empty
            && self.from.as_ref().is_none_or(|key| against(key) != Ordering::Less)
            && self.to.as_ref().is_none_or(|key| against(key) == Ordering::Less)
    }
}

/// The requests of a [`PathTable`] that pass the filters, fastest first.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Request numbers, by latency; of equal ones in the order of the table.
    pub requests: Vec<u32>,
}

impl Selection {
    /// Chooses from a table the requests of the scope's group that pass its filters.
    pub fn new(set: &TraceSet, table: &PathTable, scope: &Scope) -> Selection {
        let matchers: Vec<Matcher> = scope.filters.iter().map(|filter| Matcher::new(set, filter)).collect();
        let mut tree = Tree::default();
        let mut loaded = None;
        let mut passes = |request: &RequestEntry| {
            set.traces()[request.trace as usize].id.group == scope.group
                && matchers.iter().all(|matcher| {
                    if matcher.needs_tree() && loaded != Some(request.trace) {
                        tree.load(set, request.trace);
                        loaded = Some(request.trace);
                    }
                    matcher.matches(set, &tree, request)
                })
        };
        let mut requests: Vec<u32> =
            (0..table.requests.len() as u32).filter(|&r| passes(&table.requests[r as usize])).collect();
        requests.sort_by_key(|&r| table.requests[r as usize].latency_us);
        Selection { requests }
    }

    /// Those inside a cut.
    pub fn inside<'a>(
        &'a self,
        set: &'a TraceSet,
        table: &'a PathTable,
        cut: &'a Cut,
    ) -> impl Iterator<Item = u32> + 'a {
        self.requests.iter().copied().filter(move |&r| cut.contains(set, &table.requests[r as usize]))
    }
}

enum Matcher {
    /// By tag set: whether it has the tag.
    Tag(Vec<bool>),
    Time(u64, u64),
    HasError,
    Contains(Option<EndpointId>),
}

impl Matcher {
    fn new(set: &TraceSet, filter: &Filter) -> Matcher {
        match filter {
            Filter::Tag { key, value } => {
                let sets = 0..set.tags.sets() as u32;
                Matcher::Tag(sets.map(|s| set.tags.contains(TagSetId(s), key, value)).collect())
            }
            Filter::Time { from_us, to_us } => Matcher::Time(*from_us, *to_us),
            Filter::HasError => Matcher::HasError,
            Filter::Contains { service, operation } => {
                Matcher::Contains(set.find_endpoint(service, operation))
            }
        }
    }

    fn needs_tree(&self) -> bool {
        matches!(self, Matcher::Tag(_) | Matcher::Contains(Some(_)))
    }

    fn matches(&self, set: &TraceSet, tree: &Tree, request: &RequestEntry) -> bool {
        let any = |test: &dyn Fn(u32) -> bool| {
            let root = request.row - tree.first;
            (root..tree.subtree_end[root as usize])
                .any(|i| tree.role[i as usize] != Role::Dropped && test(tree.row(i)))
        };
        match self {
            Matcher::Tag(has) => {
                any(&|row| has[set.tag_set(row).0 as usize] || has[set.process_of(row).tags.0 as usize])
            }
            Matcher::Time(from_us, to_us) => (*from_us..*to_us).contains(&request.start_us),
            Matcher::HasError => request.errors > 0,
            Matcher::Contains(None) => false,
            Matcher::Contains(Some(endpoint)) => any(&|row| set.endpoint(row) == *endpoint),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_of_ranks_holds_these_ranks() {
        for n in [1, 2, 3, 7, 100, 997, 50_000] {
            for (from, to) in [(0, 1), (0, n), (n / 3, n / 2 + 1), (n - 1, n), (n / 2, n)] {
                assert_eq!(Band::of_ranks(from..to, n).ranks(n), from..to, "{n}");
            }
        }
        assert_eq!(Band::of_ranks(0..9, 9), Band::ALL);
        assert_eq!(Band::of_ranks(5..5, 1_000_000), Band { lo: 1, hi: 2, closed: false });
        assert_eq!(Band::of_ranks(0..0, 0), Band { lo: 0, hi: 1, closed: false });
    }

    #[test]
    fn bands_partition_and_cumulative_ones_include_the_median() {
        for n in [0, 1, 2, 3, 10, 99, 100, 1000] {
            let edges = [0, 50_000, 95_000, 99_000, 100_000];
            let mut at = 0;
            for pair in edges.windows(2) {
                let ranks = Band { lo: pair[0], hi: pair[1], closed: false }.ranks(n);
                assert_eq!(ranks.start, at, "n = {n}");
                at = ranks.end;
            }
            assert_eq!(at, n);
        }
        assert_eq!(Band { lo: 0, hi: 50_000, closed: true }.ranks(3), 0..2);
        assert_eq!(Band { lo: 0, hi: 50_000, closed: false }.ranks(3), 0..1);
        assert_eq!(Band { lo: 99_000, hi: 100_000, closed: false }.ranks(200), 198..200);
    }
}
