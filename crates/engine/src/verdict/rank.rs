//! From the times of two sets to the ranking.

use super::attribute::attribute;
use super::baselines::{Compared, compare};
use super::cells::{Cell, CellKey};
use super::excess::{FEW, Scale, Sum, greatest_sum, is_whole};
use super::failing::failing;
use super::proportion::in_proportion;
use super::stops::stops;
use super::{
    Excess, Lead, ServiceChange, ServicePart, ServicePlace, ServicesPartial, ServicesReport, Vanished,
};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Weight, Weights, exp, fisher_p};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A score below this share of the latency of the requests that use the service is weak; below the second one, if the
/// part that leads moved as a whole.
const WEAK: f64 = 0.05;
const WEAK_WHOLE: f64 = 0.01;
/// What the services it calls may score together, as a share of the excess, and still count as unchanged.
const UNCHANGED: f64 = 0.1;
/// How often chance may name a service, over all services.
const ERROR: f64 = 0.05;
/// A service has vanished if at most this part of the share of requests that used it still does, and chance seldom does that.
const GONE: f64 = 0.5;
const GONE_CHANCE: f64 = 0.001;
/// At most so many places are listed for a service.
const PLACES: usize = 10;

/// One service while its cells are added up.
#[derive(Default)]
struct Parts {
    sums: [Sum; 3],
    /// Places, each with the number of its cell among those compared.
    places: Vec<(ServicePlace, usize)>,
    callees: BTreeSet<String>,
    only_caller: Option<String>,
    only_callee: Option<String>,
    /// A has the same cell as B, or a similar one.
    is_known: bool,
}

/// The services of B, ranked.
pub(super) struct Ranking<'a> {
    pub services: Vec<ServiceChange>,
    /// What each service takes and takes more, in all its parts.
    pub sums: BTreeMap<&'a str, Sum>,
    /// What all cells take more than their baselines, microseconds per request.
    explained_us: f64,
}

/// Returns the first service that surely got slower.
pub(super) fn sure(services: &[ServiceChange]) -> Option<&ServiceChange> {
    services.iter().find(|row| row.is_sure())
}

impl<'a> Ranking<'a> {
    /// Ranks the services of B; the values of A are scaled.
    fn of((a, scale): (&'a ServicesPartial, Scale), b: &'a ServicesPartial) -> Ranking<'a> {
        let compared = compare((a, scale), b);
        let pairs = attribute(&compared, b.requests.requests(), a.is_coarse || b.is_coarse);
        let mut parts: BTreeMap<&str, Parts> = BTreeMap::new();
        let mut explained_us = 0.0;
        for (number, one) in compared.iter().enumerate() {
            explained_us += one.measured.as_ref().map_or(0.0, |measured| measured.sum.excess_us);
            let is_known = one.is_known();
            match one.key {
                CellKey::Own { entry, .. } => {
                    let parts = parts.entry(&entry.service).or_default();
                    parts.is_known |= is_known;
                    parts.add(ServicePart::Own, None, &entry.operation, number, one, 1.0);
                }
                CellKey::Edge { caller, callee } => {
                    let pair = pairs.get(&(caller.as_str(), callee.service.as_str()));
                    let share = pair.map_or(0.0, |pair| pair.caller_share);
                    let is_alone = pair.is_some_and(|pair| pair.is_alone);
                    let calling = parts.entry(caller).or_default();
                    calling.is_known |= is_known;
                    calling.callees.insert(callee.service.clone());
                    if share > 0.0 {
                        if is_alone {
                            calling.only_callee = Some(callee.service.clone());
                        }
                        let to = Some(callee.service.clone());
                        calling.add(ServicePart::Out, to, &callee.operation, number, one, share);
                    }
                    let called = parts.entry(&callee.service).or_default();
                    called.is_known |= is_known;
                    if is_alone {
                        called.only_caller = Some(caller.clone());
                    }
                    if share < 1.0 {
                        let from = Some(caller.clone());
                        called.add(ServicePart::In, from, &callee.operation, number, one, 1.0 - share);
                    }
                }
            }
        }
        let whole = |parts: &Parts| {
            let mut whole = Sum::default();
            parts.sums.iter().for_each(|sum| whole.add(*sum));
            whole
        };
        let sums = parts.iter().map(|(&service, parts)| (service, whole(parts))).collect();
        Ranking { services: ranked(parts, b, (&compared, scale)), sums, explained_us }
    }
}

impl ServicesReport {
    /// Compares the times of two sets: B with its baseline A.
    pub fn of(a: &ServicesPartial, b: &ServicesPartial) -> ServicesReport {
        let ranking = Ranking::of((a, Scale::ONE), b);
        let mean_us = [a.mean_us(), b.mean_us()];
        ServicesReport {
            is_of_one_set: false,
            requests: [a.requests.seen, b.requests.seen],
            mean_us,
            change_us: a.change_us(b),
            mix_us: mean_us[1] - mean_us[0] - ranking.explained_us,
            in_proportion: in_proportion(&ranking, |scale| Ranking::of((a, scale), b).services),
            vanished: vanished(a, b),
            failing: failing(a, b),
            stops: stops(a, b),
            queues: Vec::new(),
            services: ranking.services,
        }
    }
}

/// Returns the services that at most half as large a share of the requests of B use, by no chance; the greatest fall
/// first.
fn vanished(a: &ServicesPartial, b: &ServicesPartial) -> Vec<Vanished> {
    let mut found = Vec::new();
    for (service, before) in &a.services {
        let before = before.latency_us.weights();
        let after = b.services.get(service).map_or(Weights::default(), |counts| counts.latency_us.weights());
        let [was, is] = [a.requests.share(&before), b.requests.share(&after)];
        let [of_a, of_b] = [a.requests.effective_counts(&before), b.requests.effective_counts(&after)];
        let chance = fisher_p(of_a.0, of_a.1, of_b.0, of_b.1);
        if b.requests.seen > 0 && is <= was * GONE && chance < GONE_CHANCE {
            let requests = [before.seen, after.seen];
            found.push((was - is, Vanished { service: service.clone(), requests }));
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
        let sum = one.measured.as_ref().map(|measured| measured.sum.part(share));
        if let Some(sum) = sum {
            self.sums[part as usize].add(sum);
        }
        let place = ServicePlace {
            part,
            other,
            operation: operation.to_owned(),
            calls: one.cell.n(),
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
    b: &ServicesPartial,
    compared: (&[Compared], Scale),
) -> Vec<ServiceChange> {
    let mut rows: Vec<(ServiceChange, Parts)> = parts
        .into_iter()
        .map(|(service, mut parts)| {
            let counts = b.services.get(service).cloned().unwrap_or_default();
            let [own, incoming, outgoing] = parts.sums.map(Sum::excess);
            let score_us: f64 = [own, incoming, outgoing].map(Excess::score_us).iter().sum();
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
                requests: counts.latency_us.n(),
                // Filled in below, with what leads.
                is_weak: false,
                may_be_chance: false,
                has_bare_calls: counts.bare_calls > 0,
                lead: None,
                places: parts.places.iter().take(PLACES).map(|(place, _)| place.clone()).collect(),
                places_in_all: parts.places.len() as u64,
            };
            (row, parts)
        })
        .collect();
    // What A has nothing to compare with is new, unless calls by others say that it got slower.
    let is_new = |row: &ServiceChange, parts: &Parts| !parts.is_known && row.score_us <= 0.0;
    let key = |row: &ServiceChange| (row.score_us, best_ratio(row.parts().map(|(_, part)| part)));
    // Stable: equal ones stay by name.
    rows.compact_sort_by(|(x, of_x), (y, of_y)| {
        is_new(x, of_x).cmp(&is_new(y, of_y)).then_with(|| by_excess(key(x), key(y)))
    });
    let grown: BTreeMap<String, f64> = rows
        .iter()
        .filter(|(row, _)| row.score_us > 0.0)
        .map(|(row, _)| (row.service.clone(), row.score_us))
        .collect();
    let tests = rows.iter().filter(|(row, parts)| !is_new(row, parts)).count();
    (1..)
        .zip(rows)
        .map(|(place, (mut row, parts))| {
            if !is_new(&row, &parts) {
                row.rank = Some(place);
                let (lead, effective) = lead(&row, parts, &grown, compared).unzip();
                row.lead = lead;
                let lead = row.lead.as_ref().filter(|_| row.score_us > 0.0);
                let weak = weak_share(lead.is_some_and(|lead| lead.is_whole));
                let latency_us = b.services.get(&row.service).map_or(0.0, |of| of.latency_us.sum() as f64);
                row.is_weak = row.score_us > 0.0 && row.score_us * b.requests.requests() < weak * latency_us;
                let calls = effective.unwrap_or_default();
                row.may_be_chance = lead.is_some_and(|lead| may_be_chance(calls, lead.slower, tests));
            }
            row
        })
        .collect()
}

/// Returns the share of the latency below which a score is weak.
pub(super) fn weak_share(is_whole: bool) -> f64 {
    if is_whole { WEAK_WHOLE } else { WEAK }
}

/// Returns whether there are few calls on a side (of sampled ones the effective number), and as many of as many are as much slower by chance too often: Smirnov's
/// limit of the one-sided Kolmogorov test, at 5 % over all that is compared.
pub(super) fn may_be_chance(calls: [f64; 2], slower: Option<f64>, tests: usize) -> bool {
    let [before, after] = calls;
    let Some(slower) = slower else { return true };
    let size = before * after / (before + after);
    calls.iter().any(|&calls| calls < FEW) && exp(-2.0 * slower * slower * size) > ERROR / tests.max(1) as f64
}

/// Returns what the sentence of a service says: of the part that explains most, or of the largest suspicion; with the effective
/// numbers of its calls.
fn lead(
    row: &ServiceChange,
    parts: Parts,
    grown: &BTreeMap<String, f64>,
    (compared, scale): (&[Compared], Scale),
) -> Option<(Lead, [f64; 2])> {
    let measured = row.parts().into_iter().filter(|(_, part)| part.uncertainty_us > 0.0);
    // Of equal ones the first, in the order of the parts; what got faster explains by its size.
    let sign = if row.score_us < 0.0 { -1.0 } else { 1.0 };
    let key = |part: Excess| (sign * part.score_us(), part.ratio());
    let (part, excess) = measured.min_by(|x, y| by_excess(key(x.1), key(y.1)))?;
    let cells = parts.places.iter().filter(|(place, _)| place.part == part).map(|&(_, cell)| &compared[cell]);
    let mut cells: Vec<&Compared> = cells.filter(|one| one.measured.is_some()).collect();
    let has_both = cells.iter().any(|one| one.before.is_some());
    cells.retain(|one| !has_both || one.before.is_some());
    let mut calls = [Weights::default(); 2];
    for one in &cells {
        one.before.iter().for_each(|cell| calls[0].merge(&cell.us.weights()));
        calls[1].merge(&one.cell.us.weights());
    }
    let before_us = |one: &&Compared| {
        let mean_us = one.measured.as_ref().map_or(0.0, |measured| measured.baseline.us.mean());
        mean_us * one.cell.us.weights().requests()
    };
    let before_us: f64 = cells.iter().map(before_us).sum();
    let after_us: f64 = cells.iter().map(|one| one.cell.us.sum() as f64).sum();
    let called: f64 = parts.callees.iter().filter_map(|callee| grown.get(callee)).sum();
    let slower_callees = if called < UNCHANGED * excess.excess_us.abs() {
        Vec::new()
    } else {
        parts.callees.iter().filter(|callee| grown.contains_key(*callee)).cloned().collect()
    };
    let slower = has_both.then(|| slower_share(&cells, scale));
    let effective = calls.map(|calls| calls.effective());
    let is_whole = slower.is_some_and(|share| is_whole(share, effective.into(), compared.len()));
    let lead = Lead {
        part,
        excess,
        per_call_us: [before_us, after_us].map(|us| us / calls[1].requests().max(1.0)),
        calls: calls.map(|calls| calls.seen),
        slower,
        is_whole,
        slower_callees: (!parts.callees.is_empty()).then_some(slower_callees),
        only_caller: parts.only_caller.filter(|_| part == ServicePart::In),
        only_callee: parts.only_callee.filter(|_| part == ServicePart::Out),
    };
    Some((lead, effective))
}

/// Returns a lower bound on the share of B that is slower: at least this share of the values of B is greater than they
/// would be in A, if A had B's mix of cells: the greatest amount by which A's cumulative histogram is above B's.
pub(super) fn slower_share(cells: &[&Compared], scale: Scale) -> f64 {
    let mut bins: BTreeMap<u16, f64> = BTreeMap::new();
    let mut add = |cell: &Cell, scale: Scale, weight: f64| {
        for (&bin, &units) in &cell.histogram {
            *bins.entry(scale.bin(bin)).or_default() += units as f64 / f64::from(Weight::UNITS) * weight;
        }
    };
    let mut calls = 0.0;
    for one in cells {
        let (Some(before), now) = (one.before, one.cell) else { continue };
        let [all_before, all_now] = [before, now].map(|cell| cell.us.weights().requests());
        add(before, scale, all_now / all_before);
        add(now, Scale::ONE, -1.0);
        calls += all_now;
    }
    if calls > 0.0 { greatest_sum(bins.into_values()) / calls } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_calls_are_a_suspicion_only_unless_chance_can_hardly_order_them_so() {
        let is_chance = |calls, slower, tests| may_be_chance(calls, Some(slower), tests);
        // Of ten services: exp(-2 * 2.5) = 0.0067 and exp(-2 * 3.5) = 0.0009 against 0.005.
        assert!(is_chance([5.0; 2], 1.0, 10) && !is_chance([7.0; 2], 1.0, 10));
        assert!(is_chance([7.0; 2], 0.8, 10) && !is_chance([5.0; 2], 1.0, 7));
        assert!(is_chance([1000.0, 1.0], 1.0, 10) && !is_chance([10.0; 2], 0.1, 10));
    }
}
