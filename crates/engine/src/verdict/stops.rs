//! Visits that end before calls they made in A: calls that vanish look like speed (section 7 of
//! `docs/definitions/verdict.md`).

use super::ServicesPartial;
use super::cells::EntryCounts;
use super::report::StoppedVisits;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Weights, fisher_p};
use pathlight_trace::Endpoint;
use std::collections::BTreeMap;

/// Visits stop if the share of those that end after one call grew by at least this,
const STOP: f64 = 0.4;
/// and that of some call fell by at least this part of it.
const FALL: f64 = 0.5;
/// The call after which they stop is to blame if the share of another caller's visits that end there grew by at least this.
const ALSO: f64 = 0.1;
/// How often chance may say so.
const ERROR: f64 = 0.05;

/// The visits of one entry on both sides.
#[derive(Clone, Copy)]
struct Both<'a> {
    a: &'a EntryCounts,
    b: &'a EntryCounts,
}

impl Both<'_> {
    fn shares(&self, before: &Weights, after: &Weights) -> [f64; 2] {
        [self.a.visits.share(before), self.b.visits.share(after)]
    }

    /// Returns how likely chance makes some visits as many in B, if so many of A are such.
    fn chance(&self, before: &Weights, after: &Weights) -> f64 {
        let [a, b] = [self.a.visits.effective_counts(before), self.b.visits.effective_counts(after)];
        fisher_p(b.0, b.1, a.0, a.1)
    }

    /// Returns how many visits of A and of B end with a call.
    fn ending(&self, call: &Option<Endpoint>) -> [Weights; 2] {
        [self.a, self.b].map(|side| side.last_calls.get(call).copied().unwrap_or_default())
    }

    /// Returns by how much the share of visits that end with a call grew, and how likely chance makes it grow as much.
    fn growth(&self, call: &Option<Endpoint>) -> (f64, f64) {
        let [before, after] = self.ending(call);
        let [was, is] = self.shares(&before, &after);
        (is - was, self.chance(&before, &after))
    }

    /// Returns whether the share of visits that make some call fell by at least this.
    fn misses_a_call(&self, least: f64, most_p: f64) -> bool {
        self.a.calling.iter().any(|(call, before)| {
            let after = self.b.calling.get(call).copied().unwrap_or_default();
            let [was, is] = self.shares(before, &after);
            let without = [self.a.visits.without(before), self.b.visits.without(&after)];
            was - is >= least && self.chance(&without[0], &without[1]) < most_p
        })
    }

    /// Returns the call after which visits stop, with the growth of their share; `None` within if they make no call.
    fn stops(&self, tests: usize) -> Option<(&Option<Endpoint>, f64)> {
        let most_p = ERROR / tests as f64;
        let calls = self.b.last_calls.len() as f64;
        let mut found: Option<(&Option<Endpoint>, f64)> = None;
        for call in self.b.last_calls.keys() {
            let (growth, p) = self.growth(call);
            let is_greatest = found.is_none_or(|(_, known)| growth > known);
            let is_stop =
                || growth >= STOP && p < most_p / calls && self.misses_a_call(FALL * growth, most_p);
            if is_greatest && is_stop() {
                found = Some((call, growth));
            }
        }
        found
    }
}

/// Returns the visits that stop early in B, those that concern most requests first (ties: by name).
pub(super) fn stops(a: &ServicesPartial, b: &ServicesPartial) -> Vec<StoppedVisits> {
    if a.is_coarse || b.is_coarse {
        return Vec::new();
    }
    let both: BTreeMap<&Endpoint, Both> = b
        .entries
        .iter()
        .filter_map(|(entry, b)| Some((entry, Both { a: a.entries.get(entry)?, b })))
        .collect();
    let makes_calls = |both: &Both| !both.a.calling.is_empty() || !both.b.calling.is_empty();
    let tests = both.values().filter(|both| makes_calls(both)).count().max(1);
    let found: Vec<(&Endpoint, &Option<Endpoint>, f64)> = both
        .iter()
        .filter(|(_, both)| makes_calls(both))
        .filter_map(|(entry, both)| both.stops(tests).map(|(call, growth)| (*entry, call, growth)))
        .collect();
    // What answers the last call is to blame if it stops early itself, or others stop after it too.
    let named = |entry: &Endpoint, call: &Option<Endpoint>| {
        let Some(last) = call else { return entry.service.clone() };
        let stops_itself = found.iter().any(|(entry, ..)| entry.service == last.service);
        let stops_others = || {
            both.iter().any(|(other, both)| {
                let (growth, p) = both.growth(call);
                other.service != entry.service && growth >= ALSO && p < ERROR
            })
        };
        if stops_itself || stops_others() { last.service.clone() } else { entry.service.clone() }
    };
    let mut rows: Vec<StoppedVisits> = found
        .iter()
        .map(|&(entry, call, growth)| {
            let of = both[entry];
            StoppedVisits {
                service: named(entry, call),
                entry: entry.clone(),
                last_call: call.clone(),
                visits: [of.a.visits, of.b.visits].map(|visits| visits.rounded()),
                stopped: of.ending(call).map(|visits| visits.rounded()),
                growth,
                impact: growth * b.requests.share(&of.b.requests),
            }
        })
        .collect();
    rows.compact_sort_by(|x, y| {
        y.impact.total_cmp(&x.impact).then_with(|| (&x.service, &x.entry).cmp(&(&y.service, &y.entry)))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds 20 visits, one per request, that call two endpoints; the first `early` only one.
    fn add(part: &mut ServicesPartial, entry: (&str, &str), calls: [(&str, &str); 2], early: u64) {
        let [first, second] = calls.map(|(service, operation)| Endpoint::new(service, operation));
        let counts = part.entries.entry(Endpoint::new(entry.0, entry.1)).or_default();
        let n = Weights::of_ones;
        (counts.requests, counts.visits) = (n(20), n(20));
        counts.calling = [(first.clone(), n(20)), (second.clone(), n(20 - early))].into();
        counts.last_calls = [(Some(second), n(20 - early))].into();
        if early > 0 {
            counts.last_calls.insert(Some(first), n(early));
        }
        part.requests.merge(&n(20));
    }

    fn found(rows: &[StoppedVisits]) -> Vec<(&str, &str, f64)> {
        rows.iter().map(|row| (row.service.as_str(), row.entry.service.as_str(), row.growth)).collect()
    }

    #[test]
    fn visits_that_end_early_are_the_callers_or_of_what_they_end_after() {
        let of = |early: u64, of_app: Option<u64>| {
            let mut part = ServicesPartial::default();
            add(&mut part, ("shop", "buy"), [("cart", "get"), ("pay", "charge")], early);
            if let Some(early) = of_app {
                add(&mut part, ("app", "x"), [("cart", "get"), ("ads", "get")], early);
            }
            part
        };
        let rows = stops(&of(0, None), &of(12, None));
        assert_eq!(found(&rows), [("shop", "shop", 0.6)]);
        assert_eq!((rows[0].visits, rows[0].stopped, rows[0].impact), ([20, 20], [0, 12], 0.6));
        assert_eq!(rows[0].last_call, Some(Endpoint::new("cart", "get")));
        // Another caller of cart stops after it too.
        let rows = stops(&of(0, Some(0)), &of(12, Some(8)));
        assert_eq!(found(&rows), [("cart", "shop", 0.6), ("cart", "app", 0.4)]);
        assert_eq!(rows[0].impact, 0.3);
        // A third of the visits is too few.
        assert!(stops(&of(0, None), &of(7, None)).is_empty());
        assert!(stops(&of(12, None), &of(0, None)).is_empty(), "fewer stop early than before");
        let coarse = ServicesPartial { is_coarse: true, ..of(0, None) };
        assert!(stops(&coarse, &of(12, None)).is_empty());
    }

    #[test]
    fn visits_may_end_without_a_call() {
        let mut a = ServicesPartial::default();
        add(&mut a, ("shop", "buy"), [("cart", "get"), ("pay", "charge")], 0);
        let mut b = ServicesPartial { requests: Weights::of_ones(20), ..ServicesPartial::default() };
        let counts = b.entries.entry(Endpoint::new("shop", "buy")).or_default();
        (counts.requests, counts.visits) = (b.requests, b.requests);
        counts.last_calls = [(None, b.requests)].into();
        let rows = stops(&a, &b);
        assert_eq!((found(&rows), &rows[0].last_call), (vec![("shop", "shop", 1.0)], &None));
    }
}
