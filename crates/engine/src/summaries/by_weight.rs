//! Times by weight, beside those that count each request once: of root endpoints with requests that stand for several
//! (`docs/definitions/summary.md` section 2).

use super::maps::join_maps;
use super::reports::HISTOGRAM_BINS;
use super::section::{ByRoot, Kind, Renaming};
use super::sketch::MOST;
use super::{RELATIVE_ERROR, RootPart, Sketch, Summary};
use crate::endpoints::SummedEndpoint;
use crate::endpoints::summed::SummedEndpoints;
use crate::flame::PathTable;
use crate::requests::{Weighing, WeightedFacts};
use pathlight_base::statistics::{
    LogHistogram, Moments, Percentiles, Sample, Weight, Weights, grouped_percentile, log_bin,
    log_bin_middle_us,
};
use pathlight_base::touched::Touched;
use pathlight_trace::{Endpoint, EndpointId, TraceSet};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The section of times by weight. A file has none where all requests stand for themselves.
pub(crate) const WEIGHTS: Kind = Kind { name: "weights", version: 1, words: "times by weight" };

/// Times of requests with weights, in the bins of sketches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WeightedTimes {
    /// By number of the bin the weights of the requests whose time lies in it.
    bins: BTreeMap<u32, Weights>,
    /// The least and the greatest time in microseconds.
    range_us: Option<(u64, u64)>,
    /// Exact sums.
    sums: Sample,
}

/// The requests of one root endpoint by weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RootWeights {
    /// Latencies.
    latency: WeightedTimes,
    /// Weights of the requests in which some span is an error.
    failed: Weights,
    /// Self time on the critical path by endpoint, of each request that has it there.
    endpoints: BTreeMap<Endpoint, WeightedTimes>,
}

impl WeightedTimes {
    fn add(&mut self, us: u64, weight: Weight) {
        self.bins.entry(log_bin(us)).or_default().add(weight);
        self.widen((us, us));
        self.sums.add(us, weight);
    }

    fn widen(&mut self, (least, most): (u64, u64)) {
        let range = self.range_us.get_or_insert((least, most));
        *range = (range.0.min(least), range.1.max(most));
    }

    /// Returns times of requests that stand for themselves.
    fn of_ones(sketch: &Sketch, sums: Moments) -> WeightedTimes {
        WeightedTimes::of_sample(sketch, Sample::counted(sketch.n(), sums))
    }

    fn of_sample(sketch: &Sketch, sums: Sample) -> WeightedTimes {
        let bins = sketch.bins().into_iter().map(|(bin, n)| (bin, Weights::of_ones(n)));
        WeightedTimes {
            bins: bins.collect(),
            range_us: (sketch.n() > 0).then(|| (sketch.min_us(), sketch.max_us())),
            sums,
        }
    }

    fn merge(&mut self, other: &WeightedTimes) {
        for (bin, weights) in &other.bins {
            self.bins.entry(*bin).or_default().merge(weights);
        }
        other.range_us.into_iter().for_each(|range| self.widen(range));
        self.sums.merge(&other.sums);
    }

    fn join(parts: Vec<WeightedTimes>) -> WeightedTimes {
        let mut sum = WeightedTimes::default();
        parts.iter().for_each(|part| sum.merge(part));
        sum
    }

    /// Returns the times in order, those of a bin as its middle, with the weights of the requests that have them.
    fn groups(&self) -> Vec<(u64, Weights)> {
        let (least, most) = self.range_us.unwrap_or_default();
        let middle = |bin: u32| (log_bin_middle_us(bin) as u64).clamp(least, most);
        self.bins.iter().map(|(&bin, weights)| (middle(bin), *weights)).collect()
    }

    /// Returns how many of the effective number of each of two lie above the `p`-quantile of both together, and that number;
    /// rounded, for tests of counts.
    fn above(sides: [&WeightedTimes; 2], p: f64) -> [(u64, u64); 2] {
        let mut both = sides[0].clone();
        both.merge(sides[1]);
        let groups = both.groups();
        let (limit_us, _) = grouped_percentile(&groups, p);
        let bins = both.bins.keys().zip(groups).filter(|(_, (middle_us, _))| *middle_us as f64 > limit_us);
        let above: Vec<u32> = bins.map(|(bin, _)| *bin).collect();
        sides.map(|side| {
            let mut beyond = Weights::default();
            above.iter().filter_map(|bin| side.bins.get(bin)).for_each(|of| beyond.merge(of));
            side.sums.weights().effective_counts(&beyond)
        })
    }

    fn is_sound(&self) -> bool {
        let most = u128::from(u32::MAX);
        let is_bin = |(bin, of): (&u32, &Weights)| {
            let seen = u128::from(of.seen);
            *bin <= log_bin(u64::MAX)
                && of.seen <= MOST
                && of.units <= seen * most
                && of.squares <= seen * most * most
        };
        // Sums of what is sound do not overflow.
        if !self.bins.iter().all(is_bin) {
            return false;
        }
        let mut all = Weights::default();
        self.bins.values().for_each(|of| all.merge(of));
        let (least, most) = self.range_us.unwrap_or_default();
        let most_sum = (u128::from(most) + 1).saturating_mul(u128::from(all.rounded()) + 1);
        least <= most && all == self.sums.weights() && self.sums.sum() <= most_sum
    }
}

impl RootWeights {
    /// Returns requests that stand for themselves.
    pub fn of_ones(part: &RootPart, endpoints: Option<&SummedEndpoints>) -> RootWeights {
        let times = |(name, of): (&Endpoint, &SummedEndpoint)| {
            (name.clone(), WeightedTimes::of_ones(&of.self_time, of.self_us))
        };
        RootWeights {
            latency: WeightedTimes::of_ones(&part.latency, part.latency_us),
            failed: Weights::of_ones(part.failed),
            endpoints: endpoints.into_iter().flatten().map(times).collect(),
        }
    }

    /// Returns the same requests, whose root endpoint has another name.
    pub fn renamed(mut self, renaming: Renaming<'_>) -> RootWeights {
        renaming.key(&mut self.endpoints, |known, times| known.merge(&times));
        self
    }

    /// Returns the requests without the endpoints on their paths.
    pub fn without_endpoints(&self) -> RootWeights {
        let RootWeights { latency, failed, .. } = self.clone();
        RootWeights { latency, failed, endpoints: BTreeMap::new() }
    }

    pub fn join(parts: Vec<RootWeights>) -> RootWeights {
        let mut out = RootWeights::default();
        let mut endpoints = Vec::new();
        for part in parts {
            out.latency.merge(&part.latency);
            out.failed.merge(&part.failed);
            endpoints.push(part.endpoints);
        }
        out.endpoints = join_maps(endpoints.into_iter(), WeightedTimes::join);
        out
    }

    /// Returns the weights of the requests.
    pub fn weights(&self) -> Weights {
        self.latency.sums.weights()
    }

    /// Returns whether it can be joined and asked, beside what counts the same requests once.
    pub fn is_sound(&self, part: &RootPart) -> bool {
        let of_all = self.weights();
        // A request that calls what its root is called without values counts with both, once they have one name.
        let is_endpoint = |of: &WeightedTimes| {
            let mut twice = of_all;
            twice.merge(&of_all);
            of.is_sound() && of.sums.weights().may_be_among(&twice)
        };
        self.latency.is_sound()
            && of_all.seen == part.requests()
            && self.failed.seen == part.failed
            && self.failed.may_be_among(&of_all)
            && self.endpoints.values().all(is_endpoint)
    }
}

/// Times of the requests of a summary: by weight where they stand for several.
#[derive(Clone)]
pub(crate) struct Times<'a> {
    counted: &'a Sketch,
    weighted: Option<&'a WeightedTimes>,
    sums: Sample,
}

impl<'a> Times<'a> {
    fn new(counted: &'a Sketch, sums: Moments, weighted: Option<&'a WeightedTimes>) -> Times<'a> {
        let counted_sums = || Sample::counted(counted.n(), sums);
        Times { counted, weighted, sums: weighted.map_or_else(counted_sums, |of| of.sums.clone()) }
    }

    /// Returns the weights of the requests that have a time.
    pub fn weights(&self) -> Weights {
        self.sums.weights()
    }

    /// Returns their sums.
    pub fn sums(&self) -> &Sample {
        &self.sums
    }

    /// Returns the sketch that percentiles come from where it makes no difference whether requests count by weight.
    fn alike(&self) -> Option<&'a Sketch> {
        self.weights().are_equal().then_some(self.counted)
    }

    /// Returns the `p`-quantile in microseconds, and its standard error.
    pub fn quantile(&self, p: f64) -> (f64, f64) {
        let (value, error, least) = match (self.alike(), self.weighted) {
            (None, Some(times)) => {
                let (value, error) = grouped_percentile(&times.groups(), p);
                (value, error, RELATIVE_ERROR)
            }
            _ => (self.counted.quantiles([p])[0], self.counted.quantile_error(p), self.counted.error()),
        };
        // Bins hide differences smaller than themselves. Of many equal values the quantile has no spread, but it is no surer than
        // the clock ticks.
        (value, error.max(least * value).max(self.counted.tick_us() as f64 / 2.0))
    }

    /// Returns how many of each side lie above the `p`-quantile of both together, and how many there are; by weight of the
    /// effective number.
    pub fn above([a, b]: [&Times<'_>; 2], p: f64) -> [(u64, u64); 2] {
        if let (Some(a), Some(b)) = (a.alike(), b.alike()) {
            let above = Sketch::above(a, b, p);
            return [(above[0], a.n()), (above[1], b.n())];
        }
        let of_ones = [a, b].map(|of| match of.weighted {
            Some(times) => Cow::Borrowed(times),
            None => Cow::Owned(WeightedTimes::of_sample(of.counted, of.sums.clone())),
        });
        WeightedTimes::above([&of_ones[0], &of_ones[1]], p)
    }
}

/// The requests of one root endpoint of a summary: by weight where they stand for several.
#[derive(Clone, Copy)]
pub(crate) struct RootTimes<'a> {
    part: &'a RootPart,
    weights: Option<&'a RootWeights>,
}

impl<'a> RootTimes<'a> {
    /// Returns the weights of the requests.
    pub fn weights(&self) -> Weights {
        self.weights.map_or_else(|| Weights::of_ones(self.part.requests()), RootWeights::weights)
    }

    /// Returns the weights of the requests in which some span is an error.
    pub fn failed(&self) -> Weights {
        self.weights.map_or_else(|| Weights::of_ones(self.part.failed), |of| of.failed)
    }

    /// Returns the latencies.
    pub fn latency(&self) -> Times<'a> {
        Times::new(&self.part.latency, self.part.latency_us, self.weights.map(|of| &of.latency))
    }

    /// Returns the self time of an endpoint, of the requests that have it on their critical path.
    pub fn self_time(&self, name: &Endpoint, of: &'a SummedEndpoint) -> Times<'a> {
        Times::new(&of.self_time, of.self_us, self.weights.and_then(|of| of.endpoints.get(name)))
    }
}

impl Summary {
    /// Returns the requests of a root endpoint; `None` if there are none.
    pub(crate) fn times(&self, root: &Endpoint) -> Option<RootTimes<'_>> {
        Some(RootTimes { part: self.part(root)?, weights: self.weights_of(root) })
    }

    fn weights_of(&self, root: &Endpoint) -> Option<&RootWeights> {
        self.by_weight.get(root).or_else(|| self.lesser.get(root)?.weights.as_ref())
    }

    /// Returns the weights of all requests.
    pub fn weights(&self) -> Weights {
        let mut all = Weights::default();
        self.roots.keys().filter_map(|root| self.times(root)).for_each(|of| all.merge(&of.weights()));
        all
    }

    /// Returns what the requests of one root endpoint, or of all, stand for; `None` if each stands for itself. The numbers
    /// beside it count each once.
    pub(super) fn weighted_facts(&self, root: Option<&Endpoint>) -> Option<WeightedFacts> {
        let is_weighted = match root {
            Some(root) => self.weights_of(root).is_some(),
            None => !self.by_weight.is_empty(),
        };
        if !is_weighted {
            return None;
        }
        let part = self.root(root)?;
        let mut latency = WeightedTimes::default();
        let all = || self.roots.keys();
        for RootTimes { part, weights } in root
            .map_or_else(|| all().collect(), |root| vec![root])
            .into_iter()
            .filter_map(|root| self.times(root))
        {
            let of_ones = || Cow::Owned(WeightedTimes::of_ones(&part.latency, part.latency_us));
            latency.merge(&weights.map_or_else(of_ones, |weights| Cow::Borrowed(&weights.latency)));
        }
        let times = Times::new(&part.latency, part.latency_us, Some(&latency));
        let [p50, p95, p99] = [0.50, 0.95, 0.99].map(|p| times.quantile(p).0);
        let by_weight = Percentiles { mean: times.sums().mean(), p50, p95, p99, max: part.latency.max_us() };
        let counts: Vec<(u64, u64)> =
            latency.groups().into_iter().map(|(us, weights)| (us, weights.rounded())).collect();
        Some(WeightedFacts {
            all: times.weights(),
            inside: times.weights(),
            latency_us: by_weight,
            latency_sum_us: times.sums().sum(),
            all_latency_us: by_weight,
            histogram: LogHistogram::of_counts(&counts, HISTOGRAM_BINS),
            counted_us: part.percentiles(),
            all_counted_us: part.percentiles(),
            is_off: true,
            is_summed: true,
            is_applied: false,
        })
    }
}

/// Sums the requests of a set by weight, of root endpoints with requests that stand for several.
pub(crate) fn observe(set: &TraceSet, table: &PathTable, weighing: Weighing) -> ByRoot<RootWeights> {
    if !set.has_weights() {
        return ByRoot::new();
    }
    #[derive(Default)]
    struct Times {
        latency: WeightedTimes,
        failed: Weights,
        endpoints: FxHashMap<u32, WeightedTimes>,
    }
    let mut roots: FxHashMap<u32, Times> = FxHashMap::default();
    let mut in_request: Touched<u64> = Touched::default();
    for (number, request) in (0u32..).zip(&table.requests) {
        let weight = weighing.weight(set, request);
        let root = roots.entry(set.endpoint(request.row).0).or_default();
        root.latency.add(request.latency_us, weight);
        if request.errors > 0 {
            root.failed.add(weight);
        }
        for entry in table.entries(number) {
            let endpoint = table.contexts()[entry.context as usize].1.0;
            *in_request.at(endpoint) += entry.exclusive_us;
        }
        for (endpoint, us) in in_request.take() {
            root.endpoints.entry(endpoint).or_default().add(us, weight);
        }
    }
    let name = |endpoint: u32| set.owned_endpoint(EndpointId(endpoint));
    let stand_for_several = roots.into_iter().filter(|(_, of)| !of.latency.sums.weights().are_ones());
    stand_for_several
        .map(|(root, Times { latency, failed, endpoints })| {
            let endpoints = endpoints.into_iter().map(|(endpoint, times)| (name(endpoint), times)).collect();
            (name(root), RootWeights { latency, failed, endpoints })
        })
        .collect()
}

/// Joins the times by weight of summaries. Requests of a summary without them stand for themselves.
pub(crate) fn join(parts: &[Summary]) -> ByRoot<RootWeights> {
    let roots: BTreeSet<&Endpoint> = parts.iter().flat_map(|part| part.by_weight.keys()).collect();
    let of_root = |root: &Endpoint| {
        let of_part = |part: &Summary| match part.by_weight.get(root) {
            Some(weights) => Some(weights.clone()),
            None => {
                let endpoints = part.sections.endpoints.get().ok().and_then(|all| all.get(root));
                Some(RootWeights::of_ones(part.roots.get(root)?, endpoints))
            }
        };
        (root.clone(), RootWeights::join(parts.iter().filter_map(of_part).collect()))
    };
    roots.into_iter().map(of_root).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summaries::Statistic;

    fn times(values: &[(u64, f64)]) -> (Sketch, Moments, WeightedTimes) {
        let (mut sums, mut weighted) = (Moments::default(), WeightedTimes::default());
        for &(us, requests) in values {
            sums.add(us);
            weighted.add(us, Weight::of_count(requests).unwrap_or_default());
        }
        (Sketch::of(values.iter().map(|(us, _)| *us).collect()), sums, weighted)
    }

    /// The example of the definition: 10, 20, 30 ms of weights 1, 1, 8.
    #[test]
    fn statistics_are_those_of_all_requests_with_the_effective_number() {
        let (sketch, sums, weighted) = times(&[(10_000, 1.0), (20_000, 1.0), (30_000, 8.0)]);
        let of = Times::new(&sketch, sums, Some(&weighted));
        let [mean, median] = [Statistic::Mean, Statistic::P50].map(|statistic| statistic.of(&of));
        assert_eq!((mean.n, mean.value, median.value), (3, 27_000.0, 30_000.0));
        assert!((mean.effective - 100.0 / 66.0).abs() < 1e-9 && median.effective == mean.effective);
        // Each once, and by equal weights, it is the middle one.
        assert_eq!(Times::new(&sketch, sums, None).quantile(0.5).0, 20_000.0);
        let (_, _, equal) = times(&[(10_000, 7.0), (20_000, 7.0), (30_000, 7.0)]);
        let equal = Times::new(&sketch, sums, Some(&equal));
        assert_eq!((equal.quantile(0.5).0, equal.weights().effective()), (20_000.0, 3.0));
    }

    #[test]
    fn a_common_percentile_divides_each_side_by_weight() {
        let fast: Vec<(u64, f64)> = (0..200).map(|i| (1000 + i, 1.0)).collect();
        // One of ten of the fast ones is kept, and all of twenty slow ones.
        let kept = (0..200).step_by(10).map(|i| (1000 + i, 10.0)).chain((0..20).map(|_| (9000, 1.0)));
        let (a, b) = (times(&fast), times(&kept.collect::<Vec<_>>()));
        let [a, b] = [(&a, None), (&b, Some(&b.2))].map(|(of, weighted)| Times::new(&of.0, of.1, weighted));
        let [(above_a, of_a), (above_b, of_b)] = Times::above([&a, &b], 0.95);
        // 20 of 420 requests are slow: those of weight 1, a share of 20 / 220 of an effective 24.
        assert_eq!((above_a, of_a, above_b, of_b), (0, 200, 2, 24));
        let swapped = Times::above([&b, &a], 0.95);
        assert_eq!(swapped, [(2, 24), (0, 200)]);
    }
}
