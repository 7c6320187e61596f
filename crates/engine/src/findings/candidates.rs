//! Candidates for findings: each kind with its stake, the interval of it, and its test.

use super::part::TailSums;
use super::structure::{Durations, value_at};
use super::tags::GroupSums;
use super::{
    ErrorsFacts, Finding, FindingFacts, FindingPlace, FindingsPart, NotInstrumentedFacts, RedundantFacts,
    RetriesFacts, SharedTag, SinceWhenFacts, SlowTailFacts, TagsPart, TimeoutFacts, WhoFacts,
};
use crate::requests::{PercentileRange, TimedRequest, TypeCut, TypeLatencies};
use crate::verdict::ServicesPartial;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{
    Interval, Percentiles, Sample, Weight, Weights, change_point, false_discovery, fisher_p,
    log_bin_middle_us, sort_weighted, welch, welch_p,
};
use pathlight_trace::Endpoint;
use std::collections::BTreeMap;

/// Least share of an endpoint's time without a recorded child for its time to be reported as unrecorded.
const UNRECORDED: f64 = 0.9;
/// Least share of all latency that this time must have.
const UNRECORDED_SHARE: f64 = 0.3;
/// How much slower, or faster, a type must be for a change in time or a tag to be worth a word.
const WORTH_RATIO: f64 = 1.25;
/// Fewer moments at which requests start tell neither a change nor a burst from chance.
pub(super) const MIN_STARTS: usize = 20;
/// The least requests on each side of a tag.
const MIN_WITH_TAG: u64 = 5;
/// Only what takes this long is looked at for a timeout: 50 ms, less a bin.
const MIN_TIMEOUT_US: f64 = 49_500.0;
/// A tag is shared if this part of the slow requests has it.
const SHARED: f64 = 0.8;

/// What all candidates are made from.
pub(super) struct Sums<'a> {
    pub types: &'a TypeLatencies,
    pub cuts: &'a [TypeCut],
    pub part: &'a FindingsPart,
    pub times: &'a ServicesPartial,
}

fn scaled(interval: Interval, by: f64) -> Interval {
    Interval { low: interval.low * by, high: interval.high * by }
}

/// Returns a finding without a test, a stake or an example.
pub(super) fn untested_finding(place: FindingPlace, n: u64, of: u64, facts: FindingFacts) -> Finding {
    Finding {
        place,
        stake_us: 0.0,
        interval: None,
        n,
        of,
        facts,
        p: None,
        example: None,
        also: Vec::new(),
        explains: Vec::new(),
        is_as_before: false,
        hit: None,
        mended: None,
        points: Vec::new(),
    }
}

/// How much more time the tail of a type spends in an endpoint than its faster half.
struct Excess<'a> {
    endpoint: &'a Endpoint,
    sums: &'a TailSums,
    /// Whether no request of the faster half waits for it: then only those of the tail that do count.
    is_only_in_tail: bool,
    n: Weights,
    us: f64,
    interval: Option<Interval>,
    /// The lower end of the interval, over the whole tail.
    least_us: f64,
    /// By chance: more time, or more requests that have it at all.
    p: f64,
}

impl<'a> Excess<'a> {
    fn of(endpoint: &'a Endpoint, sums: &'a TailSums, cut: &TypeCut) -> Excess<'a> {
        let is_only_in_tail = sums.fast.n() == 0 && sums.tail.n() > 1;
        let n = if is_only_in_tail { sums.tail.weights() } else { cut.tail };
        let (fast, tail) = (sums.fast.among(&cut.fast), sums.tail.among(&n));
        let interval = welch(fast, tail);
        let longer = welch_p(fast, sums.tail.among(&cut.tail)).unwrap_or(1.0);
        let [(has_tail, of_tail), (has_fast, of_fast)] = [(&cut.tail, &sums.tail), (&cut.fast, &sums.fast)]
            .map(|(all, has)| all.effective_counts(&has.weights()));
        let more = fisher_p(has_tail, of_tail, has_fast, of_fast);
        Excess {
            endpoint,
            sums,
            is_only_in_tail,
            n,
            us: tail.mean - fast.mean,
            interval,
            least_us: interval
                .map_or(0.0, |interval| interval.low * n.requests() / cut.tail.requests().max(1.0)),
            // Two tests of one place.
            p: (2.0 * longer.min(more)).min(1.0),
        }
    }
}

impl Sums<'_> {
    pub fn total_us(&self) -> f64 {
        self.part.latency.sum() as f64
    }

    /// Returns the number of requests seen.
    pub fn requests(&self) -> u64 {
        self.part.latency.n()
    }

    /// Returns the weights of all requests.
    pub fn all(&self) -> Weights {
        self.part.latency.weights()
    }

    /// Returns the mean over all requests of values of which some are absent, with its 95 % interval.
    pub fn mean(&self, values: &Sample) -> (f64, Option<Interval>) {
        let spread = values.among(&self.all());
        (spread.mean, spread.interval())
    }

    /// Returns the time that an endpoint which calls others spends between the calls, waits for other services apart, if that
    /// is most of its own work, and much of all latency; in microseconds.
    pub fn unrecorded_us(&self, endpoint: &Endpoint) -> Option<u128> {
        let sums = self.part.endpoints.get(endpoint)?;
        let waits_us = self.waits_us(endpoint);
        let [between_us, own_us] =
            [sums.between_us.rounded(), sums.time.sum()].map(|us| us.saturating_sub(waits_us));
        let is_much = between_us as f64 >= UNRECORDED_SHARE * self.total_us().max(1.0);
        (is_much && between_us as f64 >= UNRECORDED * own_us as f64).then_some(between_us)
    }

    /// Returns the endpoints that call others and yet have most of their time between the calls.
    pub fn not_instrumented(&self) -> Vec<Finding> {
        let found = self.part.endpoints.iter().filter_map(|(endpoint, sums)| {
            let share = self.unrecorded_us(endpoint)? as f64 / self.total_us().max(1.0);
            let facts =
                FindingFacts::NotInstrumented(NotInstrumentedFacts { share, gap: self.gap(endpoint) });
            let place = FindingPlace::Endpoint(endpoint.clone());
            Some(untested_finding(place, sums.time.n(), self.requests(), facts))
        });
        found.collect()
    }

    /// Returns for each type the endpoint in which its tail spends most more than its faster half; and apart the others
    /// in which it surely spends more.
    pub fn slow_tails(&self) -> (Vec<Finding>, Vec<Finding>) {
        let (mut most, mut others) = (Vec::new(), Vec::new());
        for (number, cut) in self.cuts.iter().enumerate() {
            let mut of_type = self.slow_tails_of(number as u32, cut).into_iter();
            most.extend(of_type.next());
            others.extend(of_type);
        }
        (most, others)
    }

    /// Returns the endpoints in which the tail of a type surely spends more, the one with most first.
    fn slow_tails_of(&self, number: u32, cut: &TypeCut) -> Vec<Finding> {
        let Some(ranges) = cut.ranges() else { return Vec::new() };
        let of_cut = (number, Endpoint::default())..(number + 1, Endpoint::default());
        let rows: Vec<Excess> = self
            .part
            .tails
            .range(of_cut)
            .map(|((_, endpoint), sums)| Excess::of(endpoint, sums, cut))
            .collect();
        let p: Vec<f64> = rows.iter().map(|row| row.p).collect();
        let mut rows: Vec<Excess> = (rows.into_iter().zip(false_discovery(&p, 0.05)))
            .filter(|(row, is_certain)| *is_certain && row.least_us > 0.0)
            .map(|(row, _)| row)
            .collect();
        // Stable: equal ones stay by name.
        rows.compact_sort_by(|a, b| b.least_us.total_cmp(&a.least_us));
        rows.iter().filter_map(|row| self.slow_tail((number, cut), ranges, row)).collect()
    }

    fn slow_tail(
        &self,
        (number, cut): (u32, &TypeCut),
        ranges: (PercentileRange, PercentileRange),
        best: &Excess,
    ) -> Option<Finding> {
        let all = self.part.tails.get(&(number, cut.name.root.clone())).cloned().unwrap_or_default();
        let about = if best.is_only_in_tail { best.sums } else { &all };
        let (n, interval) = (best.n, best.interval?);
        let share = self.all().share(&n);
        let facts = FindingFacts::SlowTail(SlowTailFacts {
            root: cut.name.clone(),
            latency_us: about.latency_us,
            p50_us: cut.fast_to_us,
            ranges,
            is_only_in_tail: best.is_only_in_tail,
            excess_us: best.us,
            excess_interval: interval,
            latency_excess_us: about.latencies_us.among(&n).mean - cut.fast_to_us as f64,
            tail_p50_us: cut.tail_p50_us,
            other_types: 0,
            waits_for: self.waits_for(best.endpoint).map(str::to_owned),
            share: None,
            tag: None,
            p99_us: None,
        });
        Some(Finding {
            stake_us: best.us * share,
            interval: Some(scaled(interval, share)),
            p: Some(best.p),
            example: self.part.slowest.get(&number).cloned(),
            ..untested_finding(
                FindingPlace::Endpoint(best.endpoint.clone()),
                n.seen,
                cut.requests.seen,
                facts,
            )
        })
    }

    /// Finds calls made again after an error.
    pub fn retries(&self) -> Vec<Finding> {
        let found = self.part.retries.iter().map(|(endpoint, sums)| {
            let (stake_us, interval) = self.mean(&sums.cost);
            let facts = FindingFacts::Retries(RetriesFacts {
                calls: sums.calls.seen,
                cost_us: sums.cost.sum() as f64 / sums.calls.requests().max(1.0),
            });
            let example = self.part.failing.get(endpoint).cloned();
            let place = FindingPlace::Endpoint(endpoint.clone());
            Finding {
                stake_us,
                interval,
                example,
                ..untested_finding(place, sums.cost.n(), self.requests(), facts)
            }
        });
        found.collect()
    }

    /// Finds calls that repeat what was asked before.
    pub fn redundant_calls(&self) -> Vec<Finding> {
        let found = self.part.redundant.iter().map(|(endpoint, sums)| {
            let (stake_us, interval) = self.mean(&sums.cost);
            let facts = FindingFacts::RedundantCalls(RedundantFacts {
                repeats: sums.repeats.seen,
                by_same_caller: sums.by_same_caller,
                cost_us: sums.cost.sum() as f64 / sums.repeats.requests().max(1.0),
            });
            let example = self.part.repeating.get(endpoint).cloned();
            let place = FindingPlace::Endpoint(endpoint.clone());
            Finding {
                stake_us,
                interval,
                example,
                ..untested_finding(place, sums.cost.n(), self.requests(), facts)
            }
        });
        found.collect()
    }

    /// Returns the endpoints of which many calls take one and the same long time.
    pub fn timeouts(&self) -> Vec<Finding> {
        // Each bin of each endpoint could have been the fullest.
        let (whole, stretches) = (&self.part.durations, &self.part.stretches);
        let tries = whole.values().chain(stretches.values()).map(|of| of.bins.len()).sum();
        let mut found: BTreeMap<&Endpoint, Finding> = BTreeMap::new();
        for (of, is_stretch) in [(stretches, true), (whole, false)] {
            // Of an endpoint of which both stand out, the calls.
            let of = of.iter().filter_map(|(endpoint, durations)| {
                Some((endpoint, self.timeout(endpoint, durations, tries, is_stretch)?))
            });
            of.for_each(|(endpoint, finding)| {
                found.insert(endpoint, finding);
            });
        }
        found.into_values().collect()
    }

    fn timeout(
        &self,
        endpoint: &Endpoint,
        durations: &Durations,
        tries: usize,
        is_stretch: bool,
    ) -> Option<Finding> {
        let (spans, bins) = (durations.spans, &durations.bins);
        // A mode is three bins of 1.1 % each.
        let count = |from: u32, to: u32| bins.range(from..to).map(|(_, spans)| spans.seen).sum::<u64>();
        let mode = |bin: u32| count(bin - 1, bin + 2);
        let (&bin, _) =
            bins.iter().reduce(|best, next| if mode(*next.0) > mode(*best.0) { next } else { best })?;
        let n = mode(bin);
        let around = count(bin.saturating_sub(7), bin - 1) + count(bin + 2, bin + 8);
        let duration_us = log_bin_middle_us(bin);
        // Spans that wait for one child are neither short nor counted: the median is that of the others.
        let units = || bins.iter().map(|(&bin, spans)| (bin, spans.units));
        let short = durations.short.units;
        let counted = short + units().map(|(_, units)| units).sum::<u128>();
        let p50_us = if short * 2 >= counted {
            // Near enough to tell what is three times as long.
            durations.short_us.rounded() as f64 / durations.short.requests().max(1.0)
        } else {
            value_at(units(), counted.div_ceil(2) - short)
        };
        let is_round = is_round(duration_us);
        let is_repeated = !is_stretch && self.part.retries.contains_key(endpoint);
        // Four times as dense as the twelve bins around it, and not by chance: a long tail is smooth. A call hits three
        // of fifteen bins in 3,000 of 15,000 cases.
        let is_peak = n > around && fisher_p(n, n + around, 3000, 15_000) * (tries as f64) < 0.05;
        let is_long = duration_us >= MIN_TIMEOUT_US.max(3.0 * p50_us);
        if n < 5 || n * 50 < spans || !is_long || !is_peak || !(is_round || is_repeated) {
            return None;
        }
        let each = (duration_us - p50_us) / self.all().requests().max(1.0);
        let mut such = Weights::default();
        bins.range(bin - 1..bin + 2).for_each(|(_, spans)| such.merge(spans));
        // As of numbers that are Poisson distributed, each by its weight.
        let reach = 1.96 * (such.squares as f64).sqrt() / f64::from(Weight::UNITS);
        let interval = Interval { low: (such.requests() - reach).max(0.0), high: such.requests() + reach };
        let stopped = durations.stopped;
        let facts =
            FindingFacts::Timeout(TimeoutFacts { duration_us, p50_us, is_round, is_stretch, stopped });
        Some(Finding {
            stake_us: such.requests() * each,
            interval: Some(scaled(interval, each)),
            ..untested_finding(FindingPlace::Endpoint(endpoint.clone()), n, spans, facts)
        })
    }

    /// Returns the endpoint in which most errors begin.
    pub fn errors(&self) -> Vec<Finding> {
        let n: u64 = self.part.errors.values().map(|sums| sums.latency.n()).sum();
        let failing = self.part.endpoints.iter().filter(|(_, sums)| sums.failing.seen > 0);
        let most = failing
            .reduce(|best, next| if next.1.failing.units > best.1.failing.units { next } else { best });
        let Some((endpoint, sums)) = most else { return Vec::new() };
        // Each type against itself: requests that fail may be of slower types.
        let (mut excess_us, mut variance, mut expected_us, mut taken_us) = (0.0, 0.0, 0.0, 0.0);
        let mut lost = Sample::default();
        for sums in self.part.errors.values() {
            lost.merge(&sums.of_failed_root);
            if sums.latency.n() == 0 || sums.without.n() == 0 {
                continue;
            }
            let without = sums.without.spread();
            expected_us += sums.latency.weights().requests() * without.mean;
            taken_us += sums.latency.sum() as f64;
            // Of what fails as a whole all time is lost, below.
            let latency = sums.with_root_that_did_not_fail();
            if latency.n() == 0 {
                continue;
            }
            let (with, share) = (latency.spread(), self.all().share(&latency.weights()));
            excess_us += share * (with.mean - without.mean);
            variance += share * share * (with.squared_error() + without.squared_error());
        }
        let lost = lost.among(&self.all());
        excess_us += lost.mean;
        variance += lost.squared_error();
        let reach = 1.96 * variance.sqrt();
        let facts = FindingFacts::Errors(ErrorsFacts {
            requests: n,
            ratio: (expected_us > 0.0).then(|| taken_us / expected_us),
            saved: None,
        });
        vec![Finding {
            stake_us: excess_us.max(0.0),
            interval: Some(Interval {
                low: (excess_us - reach).max(0.0),
                high: (excess_us + reach).max(0.0),
            }),
            example: self.part.failing.get(endpoint).cloned(),
            ..untested_finding(
                FindingPlace::Endpoint(endpoint.clone()),
                sums.failing.seen,
                self.requests(),
                facts,
            )
        }]
    }

    /// Finds types whose latency changes at some time.
    pub fn since_when(&self) -> Vec<Finding> {
        self.cuts.iter().filter_map(|cut| self.change(cut)).collect()
    }

    fn change(&self, cut: &TypeCut) -> Option<Finding> {
        let times = self.types.times(&cut.name);
        // What starts together has no order, so a change lies between two starts.
        let is_first = |at: usize| times[at - 1].0 < times[at].0;
        if times.is_empty() || 1 + (1..times.len()).filter(|&at| is_first(at)).count() < MIN_STARTS {
            return None;
        }
        let latencies: Vec<u64> = times.iter().map(|time| time.1).collect();
        let change = change_point(&latencies, is_first)?;
        let (before, after) = times.split_at(change.before);
        let median = |of: &[TimedRequest]| {
            let mut sorted: Vec<(u64, Weight)> = of.iter().map(|time| (time.1, time.2)).collect();
            sort_weighted(&mut sorted);
            Percentiles::of_weighted(&sorted).p50
        };
        let p50_us = (median(before), median(after));
        let is_worth = p50_us.1 >= WORTH_RATIO * p50_us.0 && before.len() >= 5 && after.len() >= 5;
        if !is_worth {
            return None;
        }
        let sample = |of: &[TimedRequest]| {
            let mut sample = Sample::default();
            of.iter().for_each(|&(_, us, weight)| sample.add(us, weight));
            sample
        };
        let (before, after) = (sample(before), sample(after));
        let (a, b) = (before.spread(), after.spread());
        let share = self.all().share(&after.weights());
        let facts = FindingFacts::SinceWhen(SinceWhenFacts {
            release: None,
            from_us: times[change.before].0,
            p50_us,
            requests: (before.n(), after.n()),
            longer: None,
        });
        Some(Finding {
            stake_us: (b.mean - a.mean) * share,
            interval: welch(a, b).map(|interval| scaled(interval, share)),
            p: Some(change.p),
            ..untested_finding(
                FindingPlace::RequestType(cut.name.clone()),
                after.n(),
                cut.requests.seen,
                facts,
            )
        })
    }

    /// Finds tags whose requests are slower than those of their type with other values.
    pub fn who(&self, groups: &[super::TagGroup], tags: &TagsPart) -> Vec<Finding> {
        let mut found = Vec::new();
        for (number, group) in &tags.groups {
            let Some(known) = groups.get(*number as usize) else { continue };
            let keys = group.keys.iter().filter_map(|(key, values)| Some((key, values.as_ref()?)));
            for (key, values) in keys.filter(|(_, values)| values.len() > 1) {
                let mut all = super::tags::ValueSums::default();
                values.values().for_each(|sums| all.merge(sums));
                for (value, sums) in values {
                    let others = all.requests - sums.requests;
                    // Requests with several values of the key would be on both sides.
                    if sums.requests < MIN_WITH_TAG || others < MIN_WITH_TAG || all.requests > group.requests
                    {
                        continue;
                    }
                    let (a, b) = (all.latency.without(&sums.latency).spread(), sums.latency.spread());
                    let Some((interval, p)) = welch(a, b).zip(welch_p(a, b)) else { continue };
                    if a.mean <= 0.0 || b.mean < WORTH_RATIO * a.mean {
                        continue;
                    }
                    let share = self.all().share(&sums.latency.weights());
                    let ratio = |us: f64| 1.0 + us / a.mean;
                    let facts = FindingFacts::Who(WhoFacts {
                        root: known.root.clone(),
                        ratio: b.mean / a.mean,
                        ratio_interval: Interval { low: ratio(interval.low), high: ratio(interval.high) },
                        means_us: (b.mean, a.mean),
                        only_with: None,
                        longer: None,
                    });
                    let place = FindingPlace::Tag { key: key.clone(), value: value.clone() };
                    found.push(Finding {
                        stake_us: (b.mean - a.mean) * share,
                        interval: Some(scaled(interval, share)),
                        p: Some(p),
                        ..untested_finding(place, sums.requests, group.requests, facts)
                    });
                }
            }
        }
        found
    }
}

/// Returns whether a time is a round number of seconds or milliseconds, or a little more, as timeouts are.
fn is_round(us: f64) -> bool {
    let mut unit = 1.0;
    while us / unit >= 9.9 {
        unit *= 10.0;
    }
    let is_near = |round: f64| (-0.006..=0.03).contains(&(us / round - 1.0));
    [1.0, 1.5, 2.0, 2.5, 3.0, 5.0].iter().any(|round| is_near(round * unit)) || is_near(6e7)
}

/// Returns the tag that tells the slow requests of a group best from the others (ties by key and value).
pub(super) fn shared_tag(group: &GroupSums) -> Option<SharedTag> {
    let others = group.requests - group.slow;
    let mut rows = Vec::new();
    for (key, values) in &group.keys {
        // A key that few of the others have at all belongs to the slow place itself and explains nothing.
        let has_key: u64 = values.iter().flatten().map(|(_, sums)| sums.requests - sums.slow).sum();
        // And where requests have many values at once, as one host for each service, none tells them apart.
        let of_all: u64 = values.iter().flatten().map(|(_, sums)| sums.requests).sum();
        if 2 * has_key < others || 2 * of_all > 3 * group.requests {
            continue;
        }
        for (value, sums) in values.iter().flatten() {
            let with_others = sums.requests - sums.slow;
            if sums.slow as f64 >= SHARED * group.slow as f64 {
                let p = fisher_p(sums.slow, group.slow, with_others, others);
                rows.push((
                    p,
                    SharedTag {
                        key: key.clone(),
                        value: value.clone(),
                        at: None,
                        slow: sums.slow,
                        others: with_others,
                        of_others: others,
                    },
                ));
            }
        }
    }
    let p: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let certain = false_discovery(&p, 0.05);
    (rows.into_iter().zip(certain))
        .filter(|(_, is_certain)| *is_certain)
        .map(|(row, _)| row)
        .reduce(|best, row| if row.0 < best.0 { row } else { best })
        .map(|row| row.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_round() {
        for (us, expected) in [
            (2_000_000.0, true),
            (2_015_000.0, true),
            (503_000.0, true),
            (730_000.0, false),
            (9_990_000.0, true),
        ] {
            assert_eq!(is_round(us), expected, "{us}");
        }
    }
}
