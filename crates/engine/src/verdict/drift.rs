//! How far means of a service may drift, learned from how those of the others changed (section 2 of
//! `docs/definitions/verdict.md`).

use super::ServicesPartial;
use super::cells::{Cell, CellKey};
use super::excess::{FEW, Likeness, Scale, Sum, excess_of};
use std::collections::BTreeMap;

/// How far the mean of a cell drifts between two windows in which nothing changed, as a share of itself: at most, and at
/// least.
const MOST: f64 = 0.5;
const LEAST: f64 = 0.1;
/// The drift of what moved as a whole: what is left if it is not chance.
pub(super) const OF_THE_WHOLE: f64 = 0.05;
/// The greatest drift counts as so many services.
const PRIOR: f64 = 2.0;

/// The changes of services from which drift is learned.
pub(super) struct Drifts<'a> {
    /// Squared change of each service that is well enough known, as a share of its time.
    changes: BTreeMap<&'a str, f64>,
    sum: f64,
}

impl<'a> Drifts<'a> {
    /// Returns the changes of cells that both sides have, with at least ten values each.
    pub fn of((a, scale): (&ServicesPartial, Scale), b: &'a ServicesPartial) -> Drifts<'a> {
        let mut services: BTreeMap<&str, Sum> = BTreeMap::new();
        for (key, after) in &b.cells {
            let effective = |cell: &Cell| cell.us.weights().effective();
            let is_enough = |before: &&Cell| effective(before).min(effective(after)) >= FEW;
            let Some(before) = a.cells.get(key).map(Box::as_ref).filter(is_enough) else { continue };
            let sum = excess_of((&before.us, scale), &after.us, Likeness::Same, 0.0, &b.requests);
            services.entry(key.service()).or_default().add(sum);
        }
        let is_known =
            |sum: &Sum| sum.expected_us > 0.0 && sum.spread < (MOST / 2.0 * sum.expected_us).powi(2);
        let change = |sum: Sum| {
            let squared = sum.excess_us * sum.excess_us - sum.spread;
            (squared / (sum.expected_us * sum.expected_us)).clamp(0.0, MOST * MOST)
        };
        let changes: BTreeMap<&str, f64> = services
            .into_iter()
            .filter(|(_, sum)| is_known(sum))
            .map(|(service, sum)| (service, change(sum)))
            .collect();
        Drifts { sum: changes.values().sum(), changes }
    }

    /// Returns how far the means of a service may drift, as a share of themselves.
    pub fn of_service(&self, service: &str) -> f64 {
        let own = self.changes.get(service);
        let others = self.changes.len() - usize::from(own.is_some());
        let squared = PRIOR * MOST * MOST + self.sum - own.copied().unwrap_or(0.0);
        (squared / (PRIOR + others as f64)).max(0.0).sqrt().max(LEAST)
    }
}

impl CellKey {
    /// Returns the service that a cell is of: of a call, the one that answers.
    pub fn service(&self) -> &str {
        match self {
            CellKey::Edge { callee, .. } => &callee.service,
            CellKey::Own { entry, .. } => &entry.service,
        }
    }
}
