//! Whether calls are slow because of their caller or of what answers (section 3 of `docs/definitions/verdict.md`).

use super::baselines::Compared;
use super::cells::CellKey;
use super::excess::Sum;
use pathlight_base::sort::CompactSort as _;
use std::collections::BTreeMap;

/// Own work or replies of the callee that are slower by this share of what the calls are slower by make it the callee's.
pub(super) const CALLEES: f64 = 0.25;

/// All calls of one service by another.
#[derive(Default)]
pub(super) struct Pair {
    pub sum: Sum,
    reply: Sum,
    /// Calls, by weight.
    pub calls: f64,
    /// The caller's share of the excess, 0 to 1.
    pub caller_share: f64,
    /// Nobody else calls, and the caller calls nobody else.
    pub is_alone: bool,
}

/// Returns the element floor((m - 1) / 2) of the sorted values; 0 without any.
pub(super) fn lower_median(mut values: Vec<f64>) -> f64 {
    values.compact_sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// Returns the caller's share of what calls take longer, from what those of each pair do: by caller and callee.
///
/// `per_call_us` is positive only where calls take longer. Of one caller and one callee `is_callees` says whether the
/// callee explains it.
pub(super) fn caller_shares<'a>(
    per_call_us: &BTreeMap<(&'a str, &'a str), f64>,
    is_callees: impl Fn(&'a str, &'a str) -> bool,
) -> BTreeMap<(&'a str, &'a str), (f64, bool)> {
    let mut by_caller: BTreeMap<&str, Vec<(&str, f64)>> = BTreeMap::new();
    let mut by_callee: BTreeMap<&str, Vec<(&str, f64)>> = BTreeMap::new();
    for (&(caller, callee), &us) in per_call_us {
        by_caller.entry(caller).or_default().push((callee, us));
        by_callee.entry(callee).or_default().push((caller, us));
    }
    let others = |all: &[(&str, f64)], but: &str| -> Vec<f64> {
        all.iter().filter(|(name, _)| *name != but).map(|(_, us)| *us).collect()
    };
    let share = |(&(caller, callee), &d): (&(&'a str, &'a str), &f64)| {
        let calls = others(&by_caller[caller], callee);
        let callers = others(&by_callee[callee], caller);
        let is_alone = calls.is_empty() && callers.is_empty();
        let of = |others: Vec<f64>| lower_median(others).clamp(0.0, d) / d;
        let share = if d <= 0.0 {
            0.0
        } else if !calls.is_empty() {
            of(calls)
        } else if !callers.is_empty() {
            1.0 - of(callers)
        } else if is_callees(caller, callee) {
            0.0
        } else {
            1.0
        };
        ((caller, callee), (share, is_alone))
    };
    per_call_us.iter().map(share).collect()
}

/// Returns the excess of every pair of services, with the caller's share of it. Without reply sides (`is_coarse`) a call of
/// one caller and one callee is the callee's.
pub(super) fn attribute<'a>(
    compared: &[Compared<'a>],
    requests: f64,
    is_coarse: bool,
) -> BTreeMap<(&'a str, &'a str), Pair> {
    let mut pairs: BTreeMap<(&str, &str), Pair> = BTreeMap::new();
    let mut work: BTreeMap<&str, (Sum, f64)> = BTreeMap::new();
    for one in compared {
        let Some(measured) = &one.measured else { continue };
        let calls = one.cell.us.weights().requests();
        match one.key {
            CellKey::Edge { caller, callee } => {
                let pair = pairs.entry((caller, &callee.service)).or_default();
                pair.sum.add(measured.sum);
                pair.reply.add(measured.reply);
                pair.calls += calls;
            }
            CellKey::Own { entry, .. } => {
                let (sum, visits) = work.entry(&entry.service).or_default();
                sum.add(measured.sum);
                *visits += calls;
            }
        }
    }
    let per_call_us: BTreeMap<(&str, &str), f64> =
        pairs.iter().map(|(&key, pair)| (key, pair.sum.excess_us * requests / pair.calls)).collect();
    // The most that a value may have changed by, on average.
    let most_us = |sum: Sum, values: f64| {
        let excess = sum.excess();
        (excess.excess_us.abs() + excess.uncertainty_us) * requests / values
    };
    let is_callees = |caller: &'a str, callee: &'a str| {
        let pair = &pairs[&(caller, callee)];
        let work_us = work.get(callee).map_or(0.0, |&(sum, visits)| most_us(sum, visits));
        let d = per_call_us[&(caller, callee)];
        is_coarse || work_us.max(most_us(pair.reply, pair.calls)) >= CALLEES * d
    };
    let shares = caller_shares(&per_call_us, is_callees);
    for (key, pair) in &mut pairs {
        (pair.caller_share, pair.is_alone) = shares[key];
    }
    pairs
}
