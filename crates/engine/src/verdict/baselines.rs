//! The values of A that each cell of B is compared with.

use super::ServicesPartial;
use super::cells::{Cell, CellKey};
use super::drift::{Drifts, OF_THE_WHOLE};
use super::excess::{Likeness, Scale, Sum, excess_of, moved_as_a_whole};
use pathlight_base::statistics::Sample;
use pathlight_trace::Endpoint;
use std::collections::BTreeMap;

/// Values of side A that a cell of side B is compared with.
#[derive(Clone, Default)]
pub(super) struct Baseline {
    pub us: Sample,
    /// The reply sides of calls.
    reply_us: Sample,
}

impl Baseline {
    fn add(&mut self, cell: &Cell) {
        self.us.merge(&cell.us);
        self.reply_us.merge(&cell.reply_us);
    }
}

/// What side A has of calls and visits, and of what stands in for those it does not have.
#[derive(Default)]
struct Baselines<'a> {
    exact: BTreeMap<&'a CellKey, Baseline>,
    pairs: BTreeMap<(&'a str, &'a str), Baseline>,
    callees: BTreeMap<&'a str, Baseline>,
    calls: Option<Baseline>,
    entries: BTreeMap<&'a Endpoint, Baseline>,
    services: BTreeMap<&'a str, Baseline>,
}

impl<'a> Baselines<'a> {
    fn of(part: &'a ServicesPartial) -> Baselines<'a> {
        let mut out = Baselines::default();
        for (key, cell) in part.cells.iter().filter(|(_, cell)| cell.n() > 0) {
            out.exact.entry(key).or_default().add(cell);
            match key {
                CellKey::Edge { caller, callee } => {
                    out.pairs.entry((caller, &callee.service)).or_default().add(cell);
                    out.callees.entry(&callee.service).or_default().add(cell);
                    out.calls.get_or_insert_default().add(cell);
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
    fn find(&self, key: &CellKey) -> Option<(Baseline, Likeness)> {
        if let Some(same) = self.exact.get(key) {
            return Some((same.clone(), Likeness::Same));
        }
        let with = |likeness| move |found: &Baseline| (found.clone(), likeness);
        match key {
            CellKey::Edge { caller, callee } => {
                let service = callee.service.as_str();
                let similar = self.pairs.get(&(caller.as_str(), service));
                let any = || self.callees.get(service).or(self.calls.as_ref());
                similar.map(with(Likeness::Similar)).or_else(|| any().map(with(Likeness::Any)))
            }
            CellKey::Own { entry, .. } => {
                let similar = self.entries.get(entry).or_else(|| self.services.get(entry.service.as_str()));
                similar.map(with(Likeness::Similar))
            }
        }
    }
}

/// What a cell of B has more than its baseline.
pub(super) struct Measured {
    pub baseline: Baseline,
    pub likeness: Likeness,
    pub sum: Sum,
    /// The same of the reply side alone; 0 for visits.
    pub reply: Sum,
}

/// A cell of B with what it is compared with.
pub(super) struct Compared<'a> {
    pub key: &'a CellKey,
    pub cell: &'a Cell,
    /// The same cell of side A.
    pub before: Option<&'a Cell>,
    /// `None`: A has nothing to compare with.
    pub measured: Option<Measured>,
}

impl Compared<'_> {
    /// Returns whether A has the same cell or a similar one.
    pub fn is_known(&self) -> bool {
        self.measured.as_ref().is_some_and(|measured| measured.likeness != Likeness::Any)
    }
}

/// Compares all cells of B with A, its values scaled.
pub(super) fn compare<'a>(
    (a, scale): (&'a ServicesPartial, Scale),
    b: &'a ServicesPartial,
) -> Vec<Compared<'a>> {
    let baselines = Baselines::of(a);
    let drifts = Drifts::of((a, scale), b);
    let measure = |key: &CellKey, cell: &Cell| {
        let (baseline, likeness) = baselines.find(key)?;
        let usual = drifts.of_service(key.service());
        let is_whole =
            a.cells.get(key).is_some_and(|before| moved_as_a_whole((before, scale), cell, b.cells.len()));
        let drift = if is_whole { OF_THE_WHOLE } else { usual };
        let excess = |before: &Sample, us: &Sample, drift: f64| {
            excess_of((before, scale), us, likeness, drift, &b.requests)
        };
        let reply = match key {
            CellKey::Edge { .. } => excess(&baseline.reply_us, &cell.reply_us, usual),
            CellKey::Own { .. } => Sum::default(),
        };
        let sum = excess(&baseline.us, &cell.us, drift);
        Some(Measured { baseline, likeness, sum, reply })
    };
    let compared = |key: &'a CellKey, cell: &'a Cell| Compared {
        key,
        cell,
        before: a.cells.get(key).map(Box::as_ref).filter(|before| before.n() > 0),
        measured: measure(key, cell),
    };
    b.cells
        .iter()
        .filter(|(_, cell)| cell.n() > 0 && b.requests.seen > 0)
        .map(|(key, cell)| compared(key, cell))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::{Weight, Weights};

    #[test]
    fn what_a_does_not_have_is_compared_with_what_is_most_like_it() {
        let own =
            |operation: &str, makes_calls| CellKey::Own { entry: Endpoint::new("s", operation), makes_calls };
        let edge = |caller: &str, service: &str, operation: &str| CellKey::Edge {
            caller: caller.to_owned(),
            callee: Endpoint::new(service, operation),
        };
        let mut a = ServicesPartial { requests: Weights::of_ones(1), ..ServicesPartial::default() };
        let cells = [
            (own("x", true), 100),
            (own("y", true), 300),
            (edge("s", "t", "x"), 700),
            (edge("r", "q", "x"), 500),
        ];
        cells.into_iter().for_each(|(key, us)| a.cells.entry(key).or_default().add(us, Weight::ONE));
        let found = Baselines::of(&a);
        let mean = |key: CellKey| found.find(&key).map(|(found, like)| (found.us.mean(), like as u8));
        let none = CellKey::Own { entry: Endpoint::new("u", "x"), makes_calls: false };
        assert_eq!(
            [own("x", true), own("y", false), own("z", false), none].map(mean),
            [Some((100.0, 0)), Some((300.0, 1)), Some((200.0, 1)), None]
        );
        // The same pair, then calls of the callee by others, then all calls.
        let edges = [edge("s", "t", "y"), edge("v", "q", "x"), edge("v", "w", "x")].map(mean);
        assert_eq!(edges, [Some((700.0, 1)), Some((500.0, 2)), Some((600.0, 2))]);
    }
}
