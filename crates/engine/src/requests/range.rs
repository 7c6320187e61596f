//! Percentile ranges of latency: what they are, which ranks they hold, and what lies inside one.

use super::Until;
use pathlight_base::statistics::{LogHistogram, Percentiles, Weight, Weights};
use pathlight_trace::Coverage;
use serde::{Deserialize, Serialize};

/// A range of latency percentiles in thousandths of a percent: `[lo, hi)`, or `[lo, hi]` if `closed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PercentileRange {
    /// Lower end, 0 to 100,000.
    pub lo: u32,
    /// Upper end, 0 to 100,000.
    pub hi: u32,
    /// Whether a request exactly at `hi` belongs to the percentile range: the cumulative reading.
    pub closed: bool,
    /// The least requests that it holds, if that many are among the slower half; 0 unless it is [`PercentileRange::TAIL`].
    pub at_least: u32,
}

impl Default for PercentileRange {
    fn default() -> Self {
        PercentileRange::ALL
    }
}

impl PercentileRange {
    /// Returns the range from one percentile to below another, in thousandths of a percent.
    pub const fn open(lo: u32, hi: u32) -> PercentileRange {
        PercentileRange { lo, hi, closed: false, at_least: 0 }
    }

    /// Returns all up to a percentile, in thousandths of a percent, and what is exactly there.
    pub const fn up_to(hi: u32) -> PercentileRange {
        PercentileRange { lo: 0, hi, closed: true, at_least: 0 }
    }

    /// Every request.
    pub const ALL: PercentileRange = PercentileRange::up_to(100_000);

    /// The slowest tenth, at least five, but never one of the faster half.
    pub const TAIL: PercentileRange =
        PercentileRange { at_least: 5, ..PercentileRange::open(90_000, 100_000) };

    /// The ranges that are offered: parts of the distribution, then all of it up to a percentile.
    pub const PRESETS: [PercentileRange; 8] = [
        PercentileRange::ALL,
        PercentileRange::open(0, 50_000),
        PercentileRange::open(50_000, 95_000),
        PercentileRange::open(95_000, 99_000),
        PercentileRange::open(99_000, 100_000),
        PercentileRange::up_to(50_000),
        PercentileRange::up_to(95_000),
        PercentileRange::up_to(99_000),
    ];

    /// Returns whether this is every request.
    pub fn is_all(&self) -> bool {
        self.lo == 0 && self.hi >= 100_000
    }

    /// Returns the percentile range of the requests with these ranks of `n`: exact up to 100,000 requests, beyond as
    /// near as thousandths of a percent allow, and never empty.
    pub fn of_ranks(ranks: std::ops::Range<u64>, n: u64) -> PercentileRange {
        let n = u128::from(n.max(1));
        let percent = |rank: u64| ((u128::from(rank) * 100_000 + n / 2) / n).min(100_000) as u32;
        let (lo, hi) = (percent(ranks.start), percent(ranks.end));
        if lo == 0 && hi >= 100_000 {
            return PercentileRange::ALL;
        }
        let lo = lo.min(99_999);
        PercentileRange::open(lo, hi.max(lo + 1))
    }

    /// Returns the ranks of a percentile range, and of one in which no request lies that of the request nearest to it:
    /// no range of some requests is empty.
    pub fn some_ranks(&self, n: u64) -> std::ops::Range<u64> {
        some_of(self.ranks(n), n)
    }

    /// Returns the ranks of a percentile range of requests with weights, by latency: one belongs to percentile 100 (c + w / 2) /
    /// W, with w its weight, c the weight of those before it and W that of all. Of equal weights these are the ranks of
    /// their number.
    pub fn ranks_by_weight(&self, weights: &[Weight]) -> std::ops::Range<u64> {
        let n = weights.len() as u64;
        if self.is_all() {
            return 0..n;
        }
        let whole: u128 = weights.iter().map(|weight| u128::from(weight.units())).sum();
        let (mut from, mut to, mut twice) = (n, n, 0u128);
        for (rank, weight) in (0..).zip(weights) {
            let units = u128::from(weight.units());
            let place = 100_000 * (twice + units);
            twice += 2 * units;
            let is_at = |bound: u32, past_equal: bool| {
                let bound = u128::from(bound) * 2 * whole;
                place > bound || !past_equal && place == bound
            };
            if from == n && is_at(self.lo, false) {
                from = rank;
            }
            if to == n && is_at(self.hi, self.closed) {
                to = rank;
            }
        }
        self.widened(from, to.max(from), n)
    }

    /// Returns ranks with as many requests as there must be.
    fn widened(&self, from: u64, to: u64, n: u64) -> std::ops::Range<u64> {
        from.min(to - u64::from(self.at_least).min(n / 2).min(to))..to
    }

    /// Returns the ranks of a percentile range: request i of n belongs to percentile 100 (i + 0.5) / n, compared in
    /// integers.
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
        let to = first_at(self.hi, self.closed).max(from);
        self.widened(from, to, n)
    }
}

/// Returns some ranks of `n` requests, and of none those of the request nearest to them.
pub(crate) fn some_of(ranks: std::ops::Range<u64>, n: u64) -> std::ops::Range<u64> {
    if n == 0 || !ranks.is_empty() {
        return ranks;
    }
    let at = ranks.start.min(n - 1);
    at..at + 1
}

/// What sampled requests stand for, and their latency by weight (`docs/definitions/sampling.md`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WeightedFacts {
    /// Weights of all requests of the selection.
    pub all: Weights,
    /// Weights of those in the percentile range.
    pub inside: Weights,
    /// Latency of the percentile range, by weight.
    pub latency_us: Percentiles,
    /// Sum of the percentile range's latencies times weights in microseconds, rounded.
    pub latency_sum_us: u128,
    /// Latency of the whole selection, by weight.
    pub all_latency_us: Percentiles,
    /// Histogram of the whole selection in requests that it stands for, rounded.
    pub histogram: LogHistogram,
    /// Latency of the percentile range if each request counts once.
    pub counted_us: Percentiles,
    /// Latency of the whole selection if each request counts once.
    pub all_counted_us: Percentiles,
    /// Whether each request is to count once all the same.
    pub is_off: bool,
    /// Whether that is so as they are summed: a summary knows only some numbers by weight.
    pub is_summed: bool,
    /// Whether the latencies beside these facts are by weight.
    pub is_applied: bool,
}

impl RangeFacts {
    /// Returns whether numbers by weight differ from those that count each request once.
    pub fn counts_weights(&self) -> bool {
        self.weighted.as_ref().is_some_and(|weighted| !weighted.is_off)
    }

    /// Returns how many requests each of the percentile range counts as.
    pub fn weights(&self) -> Weights {
        match &self.weighted {
            Some(weighted) if !weighted.is_off => weighted.inside,
            _ => Weights::of_ones(self.requests),
        }
    }

    /// Returns the number of requests that sums beside these facts are over: by weight where they are by weight.
    pub fn summed_over(&self) -> u64 {
        let is_applied = self.weighted.as_ref().is_some_and(|weighted| weighted.is_applied);
        if is_applied { self.weights().rounded() } else { self.requests }
    }

    /// Returns the mean latency of the percentile range in microseconds, as its sum goes.
    pub fn mean_us(&self) -> f64 {
        match &self.weighted {
            Some(weighted) if weighted.is_applied => self.latency_us.mean,
            _ => self.latency_sum_us as f64 / self.requests.max(1) as f64,
        }
    }

    /// Returns the latency of the percentile range as it is said of a selection: by weight where weights count.
    pub fn said_us(&self) -> &Percentiles {
        match &self.weighted {
            Some(weighted) if !weighted.is_off => &weighted.latency_us,
            _ => &self.latency_us,
        }
    }

    /// Returns the latency of the percentile range if each request counts once, for what stands beside numbers that do.
    pub fn counted_us(&self) -> &Percentiles {
        self.weighted.as_ref().map_or(&self.latency_us, |weighted| &weighted.counted_us)
    }

    /// Returns the facts [`by_weight`](Self::by_weight) for a report whose parts, rounded to microseconds, have this sum: it is
    /// the whole that shares are of.
    #[must_use]
    pub fn by_weight_with_sum(self, latency_sum_us: u128) -> RangeFacts {
        let mut facts = self.by_weight();
        if facts.weighted.as_ref().is_some_and(|weighted| weighted.is_applied) {
            facts.latency_sum_us = latency_sum_us;
        }
        facts
    }

    /// Returns the facts for a report whose numbers are by weight: its latencies are too.
    #[must_use]
    pub fn by_weight(mut self) -> RangeFacts {
        if let Some(weighted) = self.weighted.as_mut().filter(|weighted| !weighted.is_off) {
            weighted.is_applied = true;
            self.latency_us = weighted.latency_us;
            self.latency_sum_us = weighted.latency_sum_us;
            self.all_latency_us = weighted.all_latency_us;
            self.histogram = weighted.histogram.clone();
        }
        self
    }
}

/// The requests of a selection, and the percentile range cut out of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RangeFacts {
    /// Requests in the selection.
    pub all_requests: u64,
    /// Requests in the percentile range.
    pub requests: u64,
    /// Latency of the percentile range.
    pub latency_us: Percentiles,
    /// Sum of the percentile range's latencies in microseconds.
    pub latency_sum_us: u128,
    /// Latency of the whole selection.
    pub all_latency_us: Percentiles,
    /// Histogram of the whole selection.
    pub histogram: LogHistogram,
    /// Smallest and greatest latency in the percentile range.
    pub range_us: (u64, u64),
    /// Requests and latencies of each of [`PercentileRange::PRESETS`].
    pub marks: Vec<RangeMark>,
    /// Request types that the range is cut out of, each by itself; 1 if it is cut out of all requests together.
    pub types: u64,
    /// Coverage of their traces by the requests of the selection; nothing is known of summaries.
    pub coverage: Coverage,
    /// When the requests end.
    pub until: Until,
    /// Requests of the selection that lead to more than was followed, if they end when everything is done.
    pub cut: u64,
    /// What the requests stand for, if some stand for more than themselves. All the rest of a report, but for the percentile
    /// range, is by weight only where this says so.
    pub weighted: Option<WeightedFacts>,
}

/// Content of an offered percentile range, where it is cut out of each request type by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeMark {
    /// Requests.
    pub requests: u64,
    /// The least latency in it: of the type where that is least, and of the one where it is greatest.
    pub least_us: (u64, u64),
    /// The greatest latency in it, alike.
    pub most_us: (u64, u64),
}

impl RangeMark {
    /// Returns what is held of all request types: of each, requests, least and greatest latency.
    pub fn of(types: impl Iterator<Item = (u64, u64, u64)>) -> RangeMark {
        let wider = |(low, high): (u64, u64), us: u64| (low.min(us), high.max(us));
        let held = types.filter(|of_type| of_type.0 > 0).fold(None, |mark, (requests, least, most)| {
            let RangeMark { requests: before, least_us, most_us } =
                mark.unwrap_or(RangeMark { requests: 0, least_us: (least, least), most_us: (most, most) });
            let requests = before + requests;
            Some(RangeMark { requests, least_us: wider(least_us, least), most_us: wider(most_us, most) })
        });
        held.unwrap_or_default()
    }
}

/// A percentile range with what it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RangeReport {
    /// The percentile range of the report.
    pub range: PercentileRange,
    /// Requests and latencies of the range.
    pub facts: RangeFacts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_range_of_ranks_holds_these_ranks() {
        for n in [1, 2, 3, 7, 100, 997, 50_000] {
            for (from, to) in [(0, 1), (0, n), (n / 3, n / 2 + 1), (n - 1, n), (n / 2, n)] {
                assert_eq!(PercentileRange::of_ranks(from..to, n).ranks(n), from..to, "{n}");
            }
        }
        assert_eq!(PercentileRange::of_ranks(0..9, 9), PercentileRange::ALL);
        assert_eq!(PercentileRange::of_ranks(5..5, 1_000_000), PercentileRange::open(1, 2));
        assert_eq!(PercentileRange::of_ranks(0..0, 0), PercentileRange::open(0, 1));
    }

    #[test]
    fn ranks_by_weight_are_those_of_so_many_requests() {
        use pathlight_base::statistics::Random;
        let mut random = Random::new(8, 0, 0);
        let weight = |requests: u64| Weight::of_count(requests as f64).unwrap_or_default();
        for _ in 0..300 {
            let n = 1 + random.below(30);
            let equal = vec![weight(1 + random.below(9)); n as usize];
            let uneven: Vec<Weight> = (0..n).map(|_| weight(1 + random.below(9))).collect();
            let (a, b) = (random.below(100_001) as u32, random.below(100_001) as u32);
            for range in [
                PercentileRange::open(a.min(b), a.max(b)),
                PercentileRange::up_to(a),
                PercentileRange::TAIL,
                PercentileRange::ALL,
                PercentileRange::open(50_000, 100_000),
            ] {
                assert_eq!(range.ranks_by_weight(&equal), range.ranks(n), "{range:?} of {n}");
            }
            // Neighbouring ranges share no request and leave none out.
            let [low, high] = [(0, a), (a, 100_000)].map(|(lo, hi)| PercentileRange::open(lo, hi));
            let [low, high] = [low, high].map(|range| range.ranks_by_weight(&uneven));
            assert_eq!((low.start, low.end, high.end), (0, high.start, n), "{a}");
        }
        // Weights 1, 1, 8: the middles of the requests are at 5 %, 15 % and 60 %.
        let weights = [1, 1, 8].map(weight);
        let of = |lo, hi| PercentileRange::open(lo, hi).ranks_by_weight(&weights);
        assert_eq!(
            [of(0, 50_000), of(50_000, 100_000), of(0, 5_000), of(5_000, 5_001)],
            [0..2, 2..3, 0..0, 0..1]
        );
    }

    #[test]
    fn the_tail_is_a_tenth_or_five_and_none_of_the_faster_half() {
        let half = PercentileRange::open(0, 50_000);
        for (n, tail) in [(1, 0), (2, 1), (3, 1), (9, 4), (10, 5), (37, 5), (50, 5), (60, 6), (1000, 100)] {
            let ranks = PercentileRange::TAIL.ranks(n);
            assert_eq!(ranks, n - tail..n, "{n}");
            assert!(half.ranks(n).end <= ranks.start, "{n}");
            assert!(!PercentileRange::TAIL.some_ranks(n).is_empty());
        }
        assert_eq!(PercentileRange::TAIL.some_ranks(0), 0..0);
    }

    #[test]
    fn ranges_partition_and_cumulative_ones_include_the_median() {
        for n in [0, 1, 2, 3, 10, 99, 100, 1000] {
            let edges = [0, 50_000, 95_000, 99_000, 100_000];
            let mut at = 0;
            for pair in edges.windows(2) {
                let ranks = PercentileRange::open(pair[0], pair[1]).ranks(n);
                assert_eq!(ranks.start, at, "n = {n}");
                at = ranks.end;
            }
            assert_eq!(at, n);
        }
        assert_eq!(PercentileRange::up_to(50_000).ranks(3), 0..2);
        assert_eq!(PercentileRange::open(0, 50_000).ranks(3), 0..1);
        assert_eq!(PercentileRange::open(99_000, 100_000).ranks(200), 198..200);
    }
}
