//! From a percentile range to keys that every worker can compare with, in one or two passes; and passes over the requests
//! inside.

use super::cuts::Known;
use super::partials::parts;
use super::pass::Pass;
use super::request_pass::{PackedRequestPass, RequestPass};
use super::workers::Workers;
use crate::EngineError;
use crate::flame::unpack_sorted;
use crate::requests::{
    Cut, Ends, PercentileRange, RangeFacts, RangeMark, RequestKey, RequestType, Selection, Until,
    WeightedFacts, some_of,
};
use futures_util::future::try_join;
use pathlight_base::encoding;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{
    LogHistogram, Percentiles, Weight, Weights, sort_weighted, weighted_sum_us,
};
use pathlight_trace::Coverage;
use std::collections::BTreeMap;
use std::ops::Range;

/// Bins of the latency histogram.
const HISTOGRAM_BINS: u32 = 96;

/// By request type; all of one without a name if the range is cut out of all requests together.
type ByType<T> = BTreeMap<RequestType, T>;

/// Weights of requests of equal latency, with the keys that order them.
type Ties = ByType<Vec<(RequestKey, Weight)>>;

/// What a worker tells of the requests of a selection: sorted latencies, weights in the same order if some are not 1, how
/// the requests cover their traces, and how many lead to more than was followed.
type LatenciesPart = (ByType<Vec<u64>>, Option<ByType<Vec<Weight>>>, Coverage, u64);

/// Latencies of some requests, sorted, with their weights.
#[derive(Default)]
struct Sorted {
    us: Vec<u64>,
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

    fn ranks(&self, range: PercentileRange) -> Range<u64> {
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
    fn in_doubt(&self, ranks: &Range<u64>) -> Vec<u64> {
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
    fn is_among(&self, rank: u64) -> Option<u64> {
        let at = |rank: usize| self.us.get(rank).copied();
        (rank as usize).checked_sub(1).and_then(at).filter(|&before| at(rank as usize) == Some(before))
    }

    /// Puts weights of requests of equal latency into the order of their keys.
    fn order_by(&mut self, ties: &[(RequestKey, Weight)]) {
        for alike in ties.chunk_by(|a, b| a.0.latency_us == b.0.latency_us) {
            let first = self.us.partition_point(|&v| v < alike[0].0.latency_us);
            let places = self.weights.iter_mut().skip(first);
            places.zip(alike).for_each(|(place, (_, weight))| *place = *weight);
        }
    }
}

/// Sorted latencies of the requests of a selection.
struct Latencies {
    types: ByType<Sorted>,
    /// Whether the range is cut out of each type; else all are taken together.
    is_by_type: bool,
    /// How the requests cover their traces.
    coverage: Coverage,
    /// When the requests end, and how many lead to more than was followed.
    until: Until,
    cut: u64,
    /// All latencies with their weights, sorted, where some weight is not 1.
    weighted: Option<Vec<(u64, Weight)>>,
    /// Whether weights are not to count.
    unweighted: bool,
}

impl Latencies {
    /// Returns the ranks of a range in the latencies of one type. No range of requests that are taken together is
    /// empty.
    fn ranks(&self, range: PercentileRange, sorted: &Sorted) -> Range<u64> {
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

    fn facts(&self, range: PercentileRange) -> RangeFacts {
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

impl Workers {
    /// Cuts a percentile range out of the requests of a selection, and tells what lies inside. Plans over the same data
    /// share the cut: only one of them computes it.
    pub(crate) async fn cut(
        &self,
        selection: &Selection,
    ) -> Result<(RangeRequests<'_>, RangeFacts), EngineError> {
        let ranges = &self.cuts().ranges;
        let (cut, facts) =
            self.once(ranges, selection.clone(), async || self.find_cut(selection).await).await?;
        Ok((RangeRequests { workers: self, selection: selection.at_any_latency(), cut }, facts))
    }

    /// Returns the requests of a selection. Of all of them nothing has to be cut out.
    pub(crate) async fn requests(&self, selection: &Selection) -> Result<RangeRequests<'_>, EngineError> {
        if !selection.range.is_all() {
            return Ok(self.cut(selection).await?.0);
        }
        Ok(RangeRequests { workers: self, selection: selection.clone(), cut: Cut::default() })
    }

    /// Returns the partials of one pass over the requests of a selection, and what its percentile range holds.
    pub(crate) async fn request_partials<P: RequestPass>(
        &self,
        selection: &Selection,
        pass: P,
    ) -> Result<(Vec<P::Part>, RangeFacts), EngineError> {
        self.over_requests(selection, async |requests| requests.partials(pass).await).await
    }

    /// Runs passes over the requests of a selection; returns what they found, and what its percentile range holds. If that is
    /// every request, the passes travel in one message with that of the latencies.
    pub(crate) async fn over_requests<T>(
        &self,
        selection: &Selection,
        passes: impl AsyncFnOnce(&RangeRequests<'_>) -> Result<T, EngineError>,
    ) -> Result<(T, RangeFacts), EngineError> {
        let requests = self.requests(selection).await?;
        let ((_, facts), found) = try_join(self.cut(selection), passes(&requests)).await?;
        Ok((found, facts))
    }

    /// Collects latencies from all workers, then the keys at the ends of the range.
    async fn find_cut(&self, selection: &Selection) -> Result<Known, EngineError> {
        let all = selection.at_any_latency();
        let mut is_by_type = !selection.over_all;
        let pass = Pass::Latencies { selection: all.clone(), is_by_type };
        let (mut coverage, mut cut) = (Coverage::default(), 0);
        let mut types: ByType<(Vec<u64>, Vec<Weight>)> = BTreeMap::new();
        let parts = self.read::<LatenciesPart>(pass).await?;
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
        let unweighted = selection.unweighted;
        let counts = has_weights && !unweighted;
        let sorted = |(us, weights)| Sorted::of(us, if counts { weights } else { Vec::new() });
        let mut types: ByType<Sorted> = types.into_iter().map(|(name, of)| (name, sorted(of))).collect();
        let range = selection.range;
        let holds = |sorted: &Sorted| !sorted.ranks(range).is_empty();
        if !types.values().any(holds) || types.len() == 1 {
            // Of one type, or with too few of each: no range of some requests is empty.
            let (mut us, mut weights) = (Vec::new(), Vec::new());
            for of_type in std::mem::take(&mut types).into_values() {
                us.extend(of_type.us);
                weights.extend(of_type.weights);
            }
            types.insert(RequestType::default(), Sorted::of(us, weights));
            is_by_type = false;
        }
        let until = selection.until;
        let mut latencies = Latencies { types, is_by_type, coverage, until, cut, weighted, unweighted };
        let cut =
            if range.is_all() { Cut::default() } else { self.keys(&all, range, &mut latencies).await? };
        Ok((cut, latencies.facts(range)))
    }

    /// Returns the requests at the ends of a range of each type; puts those of equal latency there into their order.
    async fn keys(
        &self,
        selection: &Selection,
        range: PercentileRange,
        latencies: &mut Latencies,
    ) -> Result<Cut, EngineError> {
        let is_by_type = latencies.is_by_type;
        // Only where the range begins or ends among requests of one latency are these in doubt.
        let at_ends = latencies.types.iter().map(|(name, sorted)| {
            let ranks = latencies.ranks(range, sorted);
            (name.clone(), sorted.in_doubt(&ranks))
        });
        let latencies_us: ByType<Vec<u64>> = at_ends.filter(|(_, of)| !of.is_empty()).collect();
        let mut ties: Ties = BTreeMap::new();
        if !latencies_us.is_empty() {
            let pass = Pass::Ties { selection: selection.clone(), latencies_us, is_by_type };
            for part in self.read::<Ties>(pass).await? {
                for (name, keys) in part {
                    ties.entry(name).or_default().extend(keys);
                }
            }
            ties.values_mut().for_each(|keys| keys.compact_sort());
        }
        for (name, sorted) in &mut latencies.types {
            if let Some(ties) = ties.get(name) {
                sorted.order_by(ties);
            }
        }
        let mut cut: ByType<Ends> = BTreeMap::new();
        for (name, sorted) in &latencies.types {
            let ranks = latencies.ranks(range, sorted);
            let key_at = |rank: u64| -> Option<RequestKey> {
                let latency = *sorted.us.get(rank as usize)?;
                if sorted.is_among(rank).is_none() {
                    return Some(RequestKey::least(latency));
                }
                let first = sorted.us.partition_point(|&v| v < latency);
                let mut keys = ties.get(name)?.iter().filter(|(key, _)| key.latency_us == latency);
                keys.nth(rank as usize - first).map(|(key, _)| key.clone())
            };
            let ends = Ends {
                from: if ranks.start == 0 { None } else { key_at(ranks.start) },
                to: key_at(ranks.end),
                is_empty: ranks.is_empty(),
            };
            cut.insert(name.clone(), ends);
        }
        Ok(match is_by_type {
            true => Cut::ByType(cut),
            false => Cut::OverAll(cut.into_values().next().unwrap_or_default()),
        })
    }
}

/// The requests of a percentile range, cut out, for passes over them.
pub(crate) struct RangeRequests<'a> {
    workers: &'a Workers,
    /// At any latency: the range is in the cut.
    selection: Selection,
    /// Where the range begins and ends.
    pub cut: Cut,
}

impl RangeRequests<'_> {
    /// Returns the workers that hold them.
    pub fn workers(&self) -> &Workers {
        self.workers
    }

    /// Returns their selection, at any latency.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Returns the partials of a pass as bytes, each in its [`parts`].
    pub async fn run<P: RequestPass>(&self, pass: P) -> Result<Vec<Vec<u8>>, EngineError> {
        let (selection, cut) = (self.selection.clone(), self.cut.clone());
        let pass = PackedRequestPass::of(&pass);
        self.workers.run(Pass::Requests { selection, cut, pass }).await
    }

    /// Returns what the parts of all partials of a pass hold.
    pub async fn partials<P: RequestPass>(&self, pass: P) -> Result<Vec<P::Part>, EngineError> {
        let partials = self.run(pass).await?;
        parts(&partials)?.into_iter().map(|part| encoding::read(part).map_err(EngineError::from)).collect()
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
