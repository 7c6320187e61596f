//! Latencies of all requests of a selection by type, sorted, and what a percentile range holds of them.

use crate::flame::unpack_sorted;
use crate::requests::{
    PercentileRange, RangeFacts, RangeMark, RequestKey, RequestType, Selection, Until, WeightedFacts, some_of,
};
use pathlight_base::statistics::{
    LogHistogram, Percentiles, Weight, Weights, sort_weighted, weighted_sum_us,
};
use pathlight_trace::Coverage;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Bins of the latency histogram.
const HISTOGRAM_BINS: u32 = 96;

/// By request type; all of one without a name if the range is cut out of all requests together.
pub(super) type ByType<T> = BTreeMap<RequestType, T>;

/// What a worker tells of the requests of a selection: sorted latencies, weights in the same order if some are not 1, how
/// the requests cover their traces, and how many lead to more than was followed.
pub(super) type LatenciesPart = (ByType<Vec<u64>>, Option<ByType<Vec<Weight>>>, Coverage, u64);

/// Latencies of some requests, sorted, with their weights.
#[derive(Clone, Default)]
pub(crate) struct Sorted {
    pub us: Vec<u64>,
    /// In the same order; empty if each request counts once.
    weights: Vec<Weight>,
}

impl Sorted {
    /// Returns requests by latency; of equal ones the greatest weight comes first.
    fn of(us: Vec<u64>, weights: Vec<Weight>) -> Sorted {
        if weights.is_empty() {
            let mut us = us;
            // A stable sort joins runs.
            us.sort();
            return Sorted { us, weights };
        }
        let mut pairs: Vec<(u64, Weight)> = us.into_iter().zip(weights).collect();
        sort_weighted(&mut pairs);
        let (us, weights) = pairs.into_iter().unzip();
        Sorted { us, weights }
    }

    /// Returns the ranks of a range.
    pub fn ranks(&self, range: PercentileRange) -> Range<u64> {
        match self.weights.as_slice() {
            [] => range.ranks(self.us.len() as u64),
            weights => range.ranks_by_weight(weights),
        }
    }

    /// Returns the places of all requests as slow as the one at a rank; `None` if that is alone, or not there.
    fn alike(&self, rank: u64) -> Option<Range<usize>> {
        let us = *self.us.get(rank as usize)?;
        let alike = self.us.partition_point(|&v| v < us)..self.us.partition_point(|&v| v <= us);
        (alike.len() > 1).then_some(alike)
    }

    /// Returns the latencies among which a range may begin or end, so that their keys decide.
    pub fn in_doubt(&self, ranks: &Range<u64>) -> Vec<u64> {
        let ends = [ranks.start, ranks.end];
        let mut latencies_us: Vec<u64> = if self.weights.is_empty() {
            ends.into_iter().filter_map(|rank| self.is_among(rank)).collect()
        } else {
            // Where weights differ, the order of equal latencies moves the end, by less than all of them.
            let near = ends.into_iter().flat_map(|rank| [rank.checked_sub(1), Some(rank)]).flatten();
            near.filter_map(|rank| Some(self.us[self.alike(rank)?.start])).collect()
        };
        latencies_us.dedup();
        latencies_us
    }

    /// Returns the latency of the request at a rank if that before is as slow.
    pub fn is_among(&self, rank: u64) -> Option<u64> {
        let at = |rank: usize| self.us.get(rank).copied();
        (rank as usize).checked_sub(1).and_then(at).filter(|&before| at(rank as usize) == Some(before))
    }

    /// Puts weights of requests of equal latency into the order of their keys.
    pub fn order_by(&mut self, ties: &[(RequestKey, Weight)]) {
        for alike in ties.chunk_by(|a, b| a.0.latency_us == b.0.latency_us) {
            let first = self.us.partition_point(|&v| v < alike[0].0.latency_us);
            let places = self.weights.iter_mut().skip(first);
            places.zip(alike).for_each(|(place, (_, weight))| *place = *weight);
        }
    }
}

/// Sorted latencies of the requests of a selection.
#[derive(Clone)]
pub(crate) struct Latencies {
    pub types: ByType<Sorted>,
    /// Whether the range is cut out of each type; else all are taken together.
    pub is_by_type: bool,
    /// How the requests cover their traces.
    coverage: Coverage,
    /// When the requests end, and how many lead to more than was followed.
    until: Until,
    cut: u64,
    /// All latencies with their weights, sorted, where some weight is not 1.
    pub weighted: Option<Vec<(u64, Weight)>>,
    /// Whether weights are not to count.
    unweighted: bool,
}

impl Latencies {
    /// Joins those that all workers have of a selection, at any latency.
    pub fn of(parts: Vec<LatenciesPart>, selection: &Selection) -> Latencies {
        let (mut coverage, mut cut) = (Coverage::default(), 0);
        let mut types: ByType<(Vec<u64>, Vec<Weight>)> = BTreeMap::new();
        let has_weights = parts.iter().any(|(_, weights, ..)| weights.is_some());
        for (part, weights, of_part, cut_in_part) in parts {
            coverage.merge(&of_part);
            cut += cut_in_part;
            let mut weights = weights.unwrap_or_default();
            for (name, packed) in part {
                let of_type = weights.remove(&name).unwrap_or_default();
                let into = types.entry(name).or_default();
                into.0.extend(unpack_sorted(packed));
                if has_weights {
                    into.1.extend(of_type);
                    // Those of a worker whose requests all stand for themselves.
                    into.1.resize(into.0.len(), Weight::ONE);
                }
            }
        }
        let has_weights = types.values().any(|of| of.1.iter().any(|weight| *weight != Weight::ONE));
        let weighted = has_weights.then(|| {
            let mut all: Vec<(u64, Weight)> = types
                .values()
                .flat_map(|(us, weights)| us.iter().copied().zip(weights.iter().copied()))
                .collect();
            sort_weighted(&mut all);
            all
        });
        let Selection { until, unweighted, over_all, .. } = *selection;
        let counts = has_weights && !unweighted;
        let sorted = |(us, weights)| Sorted::of(us, if counts { weights } else { Vec::new() });
        let types = types.into_iter().map(|(name, of)| (name, sorted(of))).collect();
        Latencies { types, is_by_type: !over_all, coverage, until, cut, weighted, unweighted }
    }

    /// Returns those that a range is cut out of: where there is only one type, or each has too few requests for it, all are
    /// taken together. So no range of some requests is empty.
    pub fn for_range(&self, range: PercentileRange) -> Cow<'_, Latencies> {
        let holds = |sorted: &Sorted| !sorted.ranks(range).is_empty();
        if self.types.len() != 1 && self.types.values().any(holds) {
            return Cow::Borrowed(self);
        }
        let (mut us, mut weights) = (Vec::new(), Vec::new());
        for of_type in self.types.values() {
            us.extend(&of_type.us);
            weights.extend(&of_type.weights);
        }
        let types = BTreeMap::from([(RequestType::default(), Sorted::of(us, weights))]);
        Cow::Owned(Latencies { types, is_by_type: false, weighted: self.weighted.clone(), ..*self })
    }

    /// Returns the ranks of a range in the latencies of one type. No range of requests that are taken together is
    /// empty.
    pub fn ranks(&self, range: PercentileRange, sorted: &Sorted) -> Range<u64> {
        let ranks = sorted.ranks(range);
        if self.is_by_type { ranks } else { some_of(ranks, sorted.us.len() as u64) }
    }

    /// Returns what a range holds of each type, sorted.
    fn inside(&self, range: PercentileRange) -> impl Iterator<Item = &[u64]> {
        self.types.values().map(move |sorted| {
            let ranks = self.ranks(range, sorted);
            &sorted.us[ranks.start as usize..ranks.end as usize]
        })
    }

    /// Returns all that a range holds, sorted.
    fn joined(&self, range: PercentileRange) -> Vec<u64> {
        let mut joined = self.inside(range).collect::<Vec<_>>().concat();
        // A stable sort joins the runs of the types.
        joined.sort();
        joined
    }

    /// Returns the weights of all that a range holds, with the latencies, sorted.
    fn joined_by_weight(&self, range: PercentileRange) -> Vec<(u64, Weight)> {
        let mut joined: Vec<(u64, Weight)> = Vec::new();
        for sorted in self.types.values() {
            let ranks = self.ranks(range, sorted);
            let inside = ranks.start as usize..ranks.end as usize;
            joined.extend(
                sorted.us[inside.clone()].iter().copied().zip(sorted.weights[inside].iter().copied()),
            );
        }
        sort_weighted(&mut joined);
        joined
    }

    /// Returns what is said of an offered range; `all` are the latencies of all types, sorted.
    fn mark(&self, range: PercentileRange, all: &[u64]) -> RangeMark {
        let held = |sorted: &[u64]| match (sorted.first(), sorted.last()) {
            (Some(&least), Some(&most)) => (sorted.len() as u64, least, most),
            _ => (0, 0, 0),
        };
        let mark = RangeMark::of(self.inside(range).map(held));
        if mark.requests > 0 {
            return mark;
        }
        // Of too few requests of each type it is cut out of all together.
        let ranks = range.some_ranks(all.len() as u64);
        RangeMark::of(std::iter::once(held(&all[ranks.start as usize..ranks.end as usize])))
    }

    /// Returns what a range holds, and what all ranges do.
    pub fn facts(&self, range: PercentileRange) -> RangeFacts {
        let all = self.joined(PercentileRange::ALL);
        let part = if range.is_all() { None } else { Some(self.joined(range)) };
        let inside = part.as_ref().unwrap_or(&all);
        let RangeMark { requests, least_us, most_us } = self.mark(range, &all);
        let [latency_us, all_latency_us] = [inside, &all].map(|sorted| Percentiles::of_sorted(sorted));
        RangeFacts {
            all_requests: all.len() as u64,
            requests,
            latency_us,
            latency_sum_us: inside.iter().map(|&us| u128::from(us)).sum(),
            all_latency_us,
            histogram: LogHistogram::of_sorted(&all, HISTOGRAM_BINS),
            range_us: (least_us.0, most_us.1),
            marks: PercentileRange::PRESETS.map(|preset| self.mark(preset, &all)).to_vec(),
            types: self.types.len() as u64,
            coverage: self.coverage,
            until: self.until,
            cut: self.cut,
            weighted: self.weighted.as_ref().map(|all| WeightedFacts {
                counted_us: latency_us,
                all_counted_us: all_latency_us,
                ..self.weighted_facts(range, all)
            }),
        }
    }

    fn weighted_facts(&self, range: PercentileRange, all: &[(u64, Weight)]) -> WeightedFacts {
        // Where weights do not count, the range is cut out without them, and nobody asks for what is inside.
        let part = if range.is_all() || self.unweighted { None } else { Some(self.joined_by_weight(range)) };
        let inside = part.as_deref().unwrap_or(all);
        let weights = |of: &[(u64, Weight)]| Weights::of(of.iter().map(|(_, weight)| *weight));
        let units = u128::from(Weight::UNITS);
        WeightedFacts {
            all: weights(all),
            inside: weights(inside),
            latency_us: Percentiles::of_weighted(inside),
            latency_sum_us: weighted_sum_us(inside).saturating_add(units / 2) / units,
            all_latency_us: Percentiles::of_weighted(all),
            histogram: LogHistogram::of_weighted(all, HISTOGRAM_BINS),
            is_off: self.unweighted,
            ..WeightedFacts::default()
        }
    }
}
