//! From the times of two sets to the ranking.

use super::cells::{Cell, CellKey};
use super::failing::failing;
use super::{
    Excess, Lead, ServiceChange, ServicePart, ServicePlace, ServicesPartial, ServicesReport, Vanished,
};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Moments, exp, fisher_p};
use pathlight_trace::Endpoint;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A standard deviation of a cell's mean below which no clock can be trusted: 0.05 ms, in microseconds.
const LEAST_DEVIATION_US: f64 = 50.0;
/// How far the mean of a cell drifts between two windows in which nothing changed, as a share of itself.
const DRIFT: f64 = 0.5;
/// A score below this share of the latency of the requests that use the service is weak.
const WEAK: f64 = 0.05;
/// What the services it calls may score together, as a share of the excess, and still count as unchanged.
const UNCHANGED: f64 = 0.1;
/// Fewer calls than this on a side are few: then their order is tested too.
pub(super) const FEW: u64 = 10;
/// How often chance may name a service, over all services.
const ERROR: f64 = 0.05;
/// A service has vanished if at most this part of the share of requests that used it still does, and chance seldom does that.
const GONE: f64 = 0.5;
const GONE_CHANCE: f64 = 0.001;
/// At most so many places are listed for a service.
const PLACES: usize = 10;

/// An excess before the root of its variance is taken, so that excesses add.
#[derive(Clone, Copy, Default)]
struct Sum {
    excess_us: f64,
    variance: f64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.excess_us += other.excess_us;
        self.variance += other.variance;
    }

    /// Returns this share of the sum.
    fn part(self, share: f64) -> Sum {
        Sum { excess_us: self.excess_us * share, variance: self.variance * share * share }
    }

    fn excess(self) -> Excess {
        Excess { excess_us: self.excess_us, uncertainty_us: 2.0 * self.variance.sqrt() }
    }
}

/// Values of side A that cells of side B are compared with.
#[derive(Clone, Copy, Default)]
struct Baseline {
    n: u64,
    us: Moments,
}

impl Baseline {
    fn add(&mut self, cell: &Cell) {
        self.n += cell.n;
        self.us.merge(cell.us);
    }

    fn mean_us(self) -> f64 {
        self.us.mean(self.n)
    }

    /// Returns the excess of a cell of B, and its variance if nothing had changed (sections 4 and 5 of the definition).
    fn excess_of(self, cell: &Cell, requests: u64) -> Sum {
        let (n, k) = (self.n as f64, cell.n as f64);
        let weight = k / requests as f64;
        let mean_us = self.mean_us();
        let spread = self.us.variance(self.n) * (n - 1.0).max(0.0);
        let variance = ((spread + mean_us * mean_us) / n).max(LEAST_DEVIATION_US * LEAST_DEVIATION_US);
        Sum {
            excess_us: weight * (cell.us.mean(cell.n) - mean_us),
            variance: weight * weight * (variance * (1.0 / n + 1.0 / k) + (DRIFT * mean_us).powi(2)),
        }
    }
}

/// What side A has of calls and visits, and of what stands in for those it does not have.
#[derive(Default)]
struct Baselines<'a> {
    exact: BTreeMap<&'a CellKey, Baseline>,
    pairs: BTreeMap<(&'a str, &'a str), Baseline>,
    entries: BTreeMap<&'a Endpoint, Baseline>,
    services: BTreeMap<&'a str, Baseline>,
}

impl<'a> Baselines<'a> {
    fn of(part: &'a ServicesPartial) -> Baselines<'a> {
        let mut out = Baselines::default();
        for (key, cell) in &part.cells {
            out.exact.entry(key).or_default().add(cell);
            match key {
                CellKey::Edge { caller, callee } => {
                    out.pairs.entry((caller, &callee.service)).or_default().add(cell);
                }
                CellKey::Own { entry, .. } => {
                    out.entries.entry(entry).or_default().add(cell);
                    out.services.entry(&entry.service).or_default().add(cell);
                }
            }
        }
        out
    }

    /// Returns the cell itself, else what is most like it.
    fn find(&self, key: &CellKey) -> Option<Baseline> {
        let like = || match key {
            CellKey::Edge { caller, callee } => self.pairs.get(&(caller.as_str(), callee.service.as_str())),
            CellKey::Own { entry, .. } => {
                self.entries.get(entry).or_else(|| self.services.get(entry.service.as_str()))
            }
        };
        self.exact.get(key).or_else(like).copied()
    }
}

/// A cell of B with what it is compared with.
struct Compared<'a> {
    key: &'a CellKey,
    cell: &'a Cell,
    /// The same cell of side A.
    before: Option<&'a Cell>,
    /// `None`: A has nothing like it.
    baseline: Option<(Baseline, Sum)>,
}

/// All calls of one service by another.
#[derive(Default)]
struct Pair {
    sum: Sum,
    calls: u64,
    /// The caller's share of the excess, 0 to 1.
    caller_share: f64,
    /// Nobody else calls, and the caller calls nobody else.
    is_alone: bool,
}

/// One service while its cells are added up.
#[derive(Default)]
struct Parts {
    sums: [Sum; 3],
    /// Places, each with the number of its cell among those compared.
    places: Vec<(ServicePlace, usize)>,
    callees: BTreeSet<String>,
    only_caller: Option<String>,
}

/// Returns the element floor((m - 1) / 2) of the sorted values; 0 without any.
fn lower_median(mut values: Vec<f64>) -> f64 {
    values.compact_sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// Returns the caller's share of the excess of every pair (section 6 of the definition).
fn attribute<'a>(compared: &[Compared<'a>], requests: u64) -> BTreeMap<(&'a str, &'a str), Pair> {
    let mut pairs: BTreeMap<(&str, &str), Pair> = BTreeMap::new();
    for one in compared {
        let (CellKey::Edge { caller, callee }, Some((_, sum))) = (one.key, one.baseline) else { continue };
        let pair = pairs.entry((caller, &callee.service)).or_default();
        pair.sum.add(sum);
        pair.calls += one.cell.n;
    }
    // Microseconds more per call, by who calls and by who answers; each with the name of the other side.
    let mut by_caller: BTreeMap<&str, Vec<(&str, f64)>> = BTreeMap::new();
    let mut by_callee: BTreeMap<&str, Vec<(&str, f64)>> = BTreeMap::new();
    for (&(caller, callee), pair) in &pairs {
        let per_call_us = pair.sum.excess_us * requests as f64 / pair.calls as f64;
        by_caller.entry(caller).or_default().push((callee, per_call_us));
        by_callee.entry(callee).or_default().push((caller, per_call_us));
    }
    let others = |all: &[(&str, f64)], but: &str| -> Vec<f64> {
        all.iter().filter(|(name, _)| *name != but).map(|(_, us)| *us).collect()
    };
    for (&(caller, callee), pair) in &mut pairs {
        let d = pair.sum.excess_us * requests as f64 / pair.calls as f64;
        let calls = others(&by_caller[caller], callee);
        let callers = others(&by_callee[callee], caller);
        let share = |others: Vec<f64>| lower_median(others).clamp(0.0, d) / d;
        pair.is_alone = calls.is_empty() && callers.is_empty();
        pair.caller_share = if d <= 0.0 {
            0.0
        } else if !calls.is_empty() {
            share(calls)
        } else if !callers.is_empty() {
            1.0 - share(callers)
        } else {
            0.0
        };
    }
    pairs
}

impl ServicesReport {
    /// Compares the times of two sets: B with its baseline A.
    pub fn of(a: &ServicesPartial, b: &ServicesPartial) -> ServicesReport {
        let baselines = Baselines::of(a);
        let compared: Vec<Compared> = b
            .cells
            .iter()
            .map(|(key, cell)| {
                let baseline = baselines.find(key);
                let baseline = baseline.map(|found| (found, found.excess_of(cell, b.requests)));
                Compared { key, cell, before: a.cells.get(key), baseline }
            })
            .collect();
        let pairs = attribute(&compared, b.requests);
        let mut parts: BTreeMap<&str, Parts> = BTreeMap::new();
        let mut explained_us = 0.0;
        for (number, one) in compared.iter().enumerate() {
            explained_us += one.baseline.map_or(0.0, |(_, sum)| sum.excess_us);
            match one.key {
                CellKey::Own { entry, .. } => {
                    let parts = parts.entry(&entry.service).or_default();
                    parts.add(ServicePart::Own, None, &entry.operation, number, one, 1.0);
                }
                CellKey::Edge { caller, callee } => {
                    let pair = pairs.get(&(caller.as_str(), callee.service.as_str()));
                    let share = pair.map_or(0.0, |pair| pair.caller_share);
                    let calling = parts.entry(caller).or_default();
                    calling.callees.insert(callee.service.clone());
                    if share > 0.0 {
                        let to = Some(callee.service.clone());
                        calling.add(ServicePart::Out, to, &callee.operation, number, one, share);
                    }
                    let called = parts.entry(&callee.service).or_default();
                    if pair.is_some_and(|pair| pair.is_alone) {
                        called.only_caller = Some(caller.clone());
                    }
                    if share < 1.0 {
                        let from = Some(caller.clone());
                        called.add(ServicePart::In, from, &callee.operation, number, one, 1.0 - share);
                    }
                }
            }
        }
        let services = ranked(parts, a, b, &compared);
        let mean_us = [a.mean_us(), b.mean_us()];
        ServicesReport {
            is_of_one_set: false,
            requests: [a.requests, b.requests],
            mean_us,
            mix_us: mean_us[1] - mean_us[0] - explained_us,
            services,
            vanished: vanished(a, b),
            failing: failing(a, b),
        }
    }
}

/// Returns the services that at most half as large a share of the requests of B use, by no chance; the greatest fall
/// first.
fn vanished(a: &ServicesPartial, b: &ServicesPartial) -> Vec<Vanished> {
    let mut found = Vec::new();
    for (service, before) in &a.services {
        let after = b.services.get(service).map_or(0, |counts| counts.requests);
        let share = |requests: u64, of: u64| requests as f64 / of.max(1) as f64;
        let [was, is] = [share(before.requests, a.requests), share(after, b.requests)];
        let chance = fisher_p(before.requests, a.requests, after, b.requests);
        if b.requests > 0 && is <= was * GONE && chance < GONE_CHANCE {
            found.push((was - is, Vanished { service: service.clone(), requests: [before.requests, after] }));
        }
    }
    // Stable: equal ones stay by name.
    found.compact_sort_by(|x, y| y.0.total_cmp(&x.0));
    found.into_iter().map(|(_, vanished)| vanished).collect()
}

impl Parts {
    fn add(
        &mut self,
        part: ServicePart,
        other: Option<String>,
        operation: &str,
        number: usize,
        one: &Compared,
        share: f64,
    ) {
        let sum = one.baseline.map(|(_, sum)| sum.part(share));
        if let Some(sum) = sum {
            self.sums[part as usize].add(sum);
        }
        let place = ServicePlace {
            part,
            other,
            operation: operation.to_owned(),
            calls: one.cell.n,
            excess: sum.map(Sum::excess),
            exemplar: one.cell.exemplar.clone(),
        };
        self.places.push((place, number));
    }
}

/// Orders by what is explained: scores above 0, then what is not significant by how near it comes, then what got faster.
fn by_excess(x: (f64, Option<f64>), y: (f64, Option<f64>)) -> Ordering {
    let ratio =
        |(score, ratio): (f64, Option<f64>)| if score == 0.0 { ratio.unwrap_or(f64::MIN) } else { 0.0 };
    y.0.total_cmp(&x.0).then_with(|| ratio(y).total_cmp(&ratio(x)))
}

/// Returns the greatest ratio of excess to uncertainty among parts.
fn best_ratio(parts: impl IntoIterator<Item = Excess>) -> Option<f64> {
    parts.into_iter().filter_map(Excess::ratio).max_by(f64::total_cmp)
}

fn ranked(
    parts: BTreeMap<&str, Parts>,
    a: &ServicesPartial,
    b: &ServicesPartial,
    compared: &[Compared],
) -> Vec<ServiceChange> {
    let mut rows: Vec<(ServiceChange, Parts)> = parts
        .into_iter()
        .map(|(service, mut parts)| {
            let counts = b.services.get(service).copied().unwrap_or_default();
            let [own, incoming, outgoing] = parts.sums.map(Sum::excess);
            let score_us: f64 = [own, incoming, outgoing].map(Excess::score_us).iter().sum();
            let in_all_us = score_us * b.requests as f64;
            let mean_us = b.mean_us();
            parts.places.compact_sort_by(|(x, _), (y, _)| {
                let key = |excess: Option<Excess>| {
                    excess.map_or((f64::NEG_INFINITY, None), |e| (e.score_us(), e.ratio()))
                };
                by_excess(key(x.excess), key(y.excess))
            });
            let row = ServiceChange {
                service: service.to_owned(),
                // Filled in below, where there is a baseline.
                rank: None,
                score_us,
                share: if mean_us > 0.0 { score_us / mean_us } else { 0.0 },
                own,
                incoming,
                outgoing,
                requests: counts.requests,
                is_weak: score_us > 0.0 && in_all_us < WEAK * counts.latency_sum_us as f64,
                may_be_chance: false,
                has_bare_calls: counts.bare_calls > 0,
                lead: None,
                places: parts.places.iter().take(PLACES).map(|(place, _)| place.clone()).collect(),
                places_in_all: parts.places.len() as u64,
            };
            (row, parts)
        })
        .collect();
    let has_baseline = |row: &ServiceChange| a.services.contains_key(&row.service);
    let key = |row: &ServiceChange| (row.score_us, best_ratio(row.parts().map(|(_, part)| part)));
    // Stable: equal ones stay by name.
    rows.compact_sort_by(|(x, _), (y, _)| {
        has_baseline(y).cmp(&has_baseline(x)).then_with(|| by_excess(key(x), key(y)))
    });
    let grown: BTreeMap<String, f64> = rows
        .iter()
        .filter(|(row, _)| row.score_us > 0.0)
        .map(|(row, _)| (row.service.clone(), row.score_us))
        .collect();
    let tests = rows.iter().filter(|(row, _)| has_baseline(row)).count();
    (1..)
        .zip(rows)
        .map(|(place, (mut row, parts))| {
            if has_baseline(&row) {
                row.rank = Some(place);
                row.lead = lead(&row, parts, &grown, compared);
                row.may_be_chance =
                    row.score_us > 0.0 && row.lead.as_ref().is_some_and(|lead| lead.may_be_chance(tests));
            }
            row
        })
        .collect()
}

impl Lead {
    /// Returns whether there are few calls on a side, and as many of as many are as much slower by chance too often:
    /// Smirnov's limit of the one-sided Kolmogorov test, at 5 % over all services.
    fn may_be_chance(&self, services: usize) -> bool {
        let [before, after] = self.calls.map(|calls| calls as f64);
        let Some(slower) = self.slower else { return true };
        let size = before * after / (before + after);
        self.calls.iter().any(|&calls| calls < FEW)
            && exp(-2.0 * slower * slower * size) > ERROR / services.max(1) as f64
    }
}

/// Returns what the sentence of a service says: of the part that explains most, or of the largest suspicion.
fn lead(
    row: &ServiceChange,
    parts: Parts,
    grown: &BTreeMap<String, f64>,
    compared: &[Compared],
) -> Option<Lead> {
    let measured = row.parts().into_iter().filter(|(_, part)| part.uncertainty_us > 0.0);
    // Of equal ones the first, in the order of the parts; what got faster explains by its size.
    let key = |part: Excess| (part.score_us().abs(), part.ratio());
    let (part, excess) = measured.min_by(|x, y| by_excess(key(x.1), key(y.1)))?;
    let cells = parts.places.iter().filter(|(place, _)| place.part == part).map(|&(_, cell)| &compared[cell]);
    let mut cells: Vec<&Compared> = cells.filter(|one| one.baseline.is_some()).collect();
    let has_both = cells.iter().any(|one| one.before.is_some());
    cells.retain(|one| !has_both || one.before.is_some());
    let calls: u64 = cells.iter().map(|one| one.cell.n).sum();
    let calls_before = cells.iter().map(|one| one.before.map_or(0, |cell| cell.n)).sum();
    let before_us =
        |one: &&Compared| one.baseline.map_or(0.0, |(found, _)| found.mean_us() * one.cell.n as f64);
    let before_us: f64 = cells.iter().map(before_us).sum();
    let after_us: f64 = cells.iter().map(|one| one.cell.us.sum as f64).sum();
    let called: f64 = parts.callees.iter().filter_map(|callee| grown.get(callee)).sum();
    let slower = if called < UNCHANGED * excess.excess_us.abs() {
        Vec::new()
    } else {
        parts.callees.iter().filter(|callee| grown.contains_key(*callee)).cloned().collect()
    };
    Some(Lead {
        part,
        excess,
        per_call_us: [before_us, after_us].map(|us| us / calls.max(1) as f64),
        calls: [calls_before, calls],
        slower: has_both.then(|| slower_share(&cells)),
        slower_callees: (!parts.callees.is_empty()).then_some(slower),
        only_caller: parts.only_caller.filter(|_| part == ServicePart::In),
    })
}

/// Returns a lower bound on the share of B that is slower: at least this share of the values of B is greater than they
/// would be in A, if A had B's mix of cells: the greatest amount by which A's cumulative histogram is above B's.
fn slower_share(cells: &[&Compared]) -> f64 {
    let mut bins: BTreeMap<u16, f64> = BTreeMap::new();
    let mut add = |cell: &Cell, weight: f64| {
        for (&bin, &count) in &cell.histogram {
            *bins.entry(bin).or_default() += count as f64 * weight;
        }
    };
    let mut calls = 0.0;
    for one in cells {
        let (Some(before), now) = (one.before, one.cell) else { continue };
        add(before, now.n as f64 / before.n as f64);
        add(now, -1.0);
        calls += now.n as f64;
    }
    let (mut above, mut most) = (0.0, 0.0f64);
    for weight in bins.into_values() {
        above += weight;
        most = most.max(above);
    }
    if calls > 0.0 { most / calls } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns ten requests, each a visit of `f` of 5 ms that calls others; times in milliseconds.
    fn set(calls: &[(&str, u64)]) -> ServicesPartial {
        let mut part = ServicesPartial { requests: 10, ..ServicesPartial::default() };
        let mut add = |key: CellKey, us: u64| {
            let cell = part.cells.entry(key).or_default();
            (0..10).for_each(|_| cell.add(us));
            part.latency_sum_us += u128::from(10 * us);
        };
        add(CellKey::Own { entry: Endpoint::new("f", "root"), makes_calls: true }, 5000);
        for &(callee, ms) in calls {
            let callee = Endpoint::new(callee, "ask");
            add(CellKey::Edge { caller: "f".to_owned(), callee: callee.clone() }, ms * 1000);
            add(CellKey::Own { entry: callee, makes_calls: false }, 0);
        }
        let latency_sum_us = part.latency_sum_us;
        let counts = |_| super::super::cells::ServiceCounts {
            requests: 10,
            latency_sum_us,
            visits: 10,
            ..Default::default()
        };
        let names = ["f"].into_iter().chain(calls.iter().map(|(callee, _)| *callee));
        part.services = names.map(|name| (name.to_owned(), counts(name))).collect();
        part
    }

    fn find<'a>(report: &'a ServicesReport, service: &str) -> &'a ServiceChange {
        report.services.iter().find(|row| row.service == service).unwrap()
    }

    fn is_near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 0.01 * expected.abs().max(1.0), "{found} instead of {expected}");
    }

    /// The worked example of the definition.
    #[test]
    fn one_slow_call_is_the_callees_and_all_slow_calls_are_the_callers() {
        let a = set(&[("cart", 2), ("pay", 2)]);
        let report = ServicesReport::of(&a, &set(&[("cart", 52), ("pay", 2)]));
        let cart = report.culprit().unwrap();
        assert_eq!((cart.service.as_str(), cart.rank, cart.is_weak), ("cart", Some(1), false));
        is_near(cart.incoming.excess_us, 50_000.0);
        is_near(cart.incoming.uncertainty_us, 2078.0);
        is_near(cart.score_us, 49_913.6);
        assert_eq!((find(&report, "pay").score_us, find(&report, "f").score_us), (0.0, 0.0));
        is_near(report.mean_us[1] - report.mean_us[0], 50_000.0);
        is_near(report.mix_us, 0.0);
        let lead = cart.lead.as_ref().unwrap();
        assert_eq!(
            (lead.part, lead.per_call_us, lead.calls),
            (ServicePart::In, [2000.0, 52_000.0], [10, 10])
        );
        assert_eq!((lead.slower, &lead.slower_callees, &lead.only_caller), (Some(1.0), &None, &None));
        assert_eq!((cart.places[0].other.as_deref(), cart.places[0].operation.as_str()), (Some("f"), "ask"));

        let report = ServicesReport::of(&a, &set(&[("cart", 52), ("pay", 52)]));
        let first = report.culprit().unwrap();
        assert_eq!(first.service, "f");
        is_near(first.outgoing.excess_us, 100_000.0);
        is_near(first.outgoing.uncertainty_us, 2939.4);
        is_near(first.score_us, 99_913.6);
        assert_eq!((find(&report, "cart").score_us, find(&report, "pay").score_us), (0.0, 0.0));
        assert_eq!(first.lead.as_ref().unwrap().slower_callees, Some(Vec::new()));
    }

    #[test]
    fn ten_places_are_listed_and_all_are_counted() {
        let slow = |ms: u64| {
            let mut part = set(&[]);
            for operation in 0..12 {
                let entry = Endpoint::new("f", format!("work {operation}"));
                let cell = part.cells.entry(CellKey::Own { entry, makes_calls: false }).or_default();
                (0..10).for_each(|_| cell.add(ms * 1000));
            }
            part
        };
        let report = ServicesReport::of(&slow(2), &slow(50));
        let first = &report.services[0];
        // Those twelve and where the service is entered.
        assert_eq!((first.places.len(), first.places_in_all), (10, 13));
    }

    #[test]
    fn one_caller_and_one_callee_cannot_be_told_apart() {
        let report = ServicesReport::of(&set(&[("pay", 2)]), &set(&[("pay", 52)]));
        let first = report.culprit().unwrap();
        assert_eq!(first.service, "pay");
        assert_eq!(first.lead.as_ref().unwrap().only_caller.as_deref(), Some("f"));
    }

    #[test]
    fn few_calls_are_a_suspicion_only_unless_chance_can_hardly_order_them_so() {
        let lead = |calls, slower| Lead {
            part: ServicePart::Own,
            excess: Excess::default(),
            per_call_us: [0.0, 0.0],
            calls,
            slower: Some(slower),
            slower_callees: None,
            only_caller: None,
        };
        // Of ten services: exp(-2 * 2.5) = 0.0067 and exp(-2 * 3.5) = 0.0009 against 0.005.
        assert!(lead([5, 5], 1.0).may_be_chance(10) && !lead([7, 7], 1.0).may_be_chance(10));
        assert!(lead([7, 7], 0.8).may_be_chance(10) && !lead([5, 5], 1.0).may_be_chance(7));
        assert!(lead([1000, 1], 1.0).may_be_chance(10) && !lead([10, 10], 0.1).may_be_chance(10));
    }

    #[test]
    fn what_did_not_change_is_below_what_did_and_above_what_got_faster() {
        let a = set(&[("faster", 60), ("same", 3), ("slower", 4)]);
        let report = ServicesReport::of(&a, &set(&[("faster", 2), ("same", 4), ("slower", 54), ("new", 90)]));
        let order: Vec<(&str, Option<u32>)> =
            report.services.iter().map(|row| (row.service.as_str(), row.rank)).collect();
        // Of what is not significant, `same` is nearest to it.
        assert_eq!(
            order,
            [("slower", Some(1)), ("same", Some(2)), ("f", Some(3)), ("faster", Some(4)), ("new", None)]
        );
        is_near(report.mix_us, 90_000.0);
        let same = ServicesReport::of(&a, &a);
        assert!(same.culprit().is_none() && same.services.iter().all(|row| row.score_us == 0.0));
    }

    #[test]
    fn what_a_does_not_have_is_compared_with_what_is_most_like_it() {
        let own =
            |operation: &str, makes_calls| CellKey::Own { entry: Endpoint::new("s", operation), makes_calls };
        let edge =
            |operation: &str| CellKey::Edge { caller: "s".to_owned(), callee: Endpoint::new("t", operation) };
        let part = |cells: &[(CellKey, u64)]| {
            let mut part = ServicesPartial { requests: 1, ..ServicesPartial::default() };
            cells.iter().for_each(|(key, us)| part.cells.entry(key.clone()).or_default().add(*us));
            part
        };
        let a = part(&[(own("x", true), 100), (own("y", true), 300), (edge("x"), 700)]);
        let found = Baselines::of(&a);
        let mean = |key: &CellKey| found.find(key).map(Baseline::mean_us);
        let none = CellKey::Own { entry: Endpoint::new("u", "x"), makes_calls: false };
        assert_eq!(
            [own("x", true), own("y", false), own("z", false), edge("y"), none].map(|key| mean(&key)),
            [Some(100.0), Some(300.0), Some(200.0), Some(700.0), None]
        );
    }
}
