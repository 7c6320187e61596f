//! The excess of times that are no part of a service, such as those of messages in queues: measured as those of services are
//! (section 2 of `docs/definitions/verdict.md`).

use super::baselines::compare;
use super::cells::{Cell, CellKey};
use super::excess::{Scale, is_whole};
use super::rank::{may_be_chance, slower_share, weak_share};
use super::{Excess, ServicesPartial};
use pathlight_base::statistics::{Weight, Weights};
use pathlight_trace::Endpoint;

/// By how much longer some times are than those they are compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimesExcess {
    /// B minus A, microseconds per request of B.
    pub excess: Excess,
    /// The times moved as a whole.
    pub is_whole: bool,
    /// They are so few that their order may be chance.
    pub may_be_chance: bool,
}

impl TimesExcess {
    /// Returns the share of the latency below which the excess is weak.
    pub fn least_share(&self) -> f64 {
        weak_share(self.is_whole)
    }
}

/// Returns by how much the second times of each pair are longer than the first; drift is learned from the other pairs.
/// Neither list of a pair is empty. `requests` are those that have the second times.
pub(crate) fn excesses(times_us: &[[Vec<u64>; 2]], requests: u64) -> Vec<TimesExcess> {
    // Each is as a service that does nothing but its own work.
    let key =
        |number: usize| CellKey::Own { entry: Endpoint::new(number.to_string(), ""), makes_calls: false };
    let side = |side: usize| {
        let cell = |pair: &[Vec<u64>; 2]| {
            let mut cell = Cell::default();
            pair[side].iter().for_each(|&us| cell.add(us, Weight::ONE));
            cell
        };
        let cells = times_us.iter().enumerate().map(|(number, pair)| (key(number), Box::new(cell(pair))));
        let requests = Weights::of_ones(requests);
        ServicesPartial { requests, cells: cells.collect(), ..ServicesPartial::default() }
    };
    let (a, b) = (side(0), side(1));
    let compared = compare((&a, Scale::ONE), &b);
    let of = |number: usize| {
        let key = key(number);
        let one = compared.iter().find(|one| *one.key == key);
        let excess = one
            .and_then(|one| one.measured.as_ref())
            .map_or(Excess::default(), |measured| measured.sum.excess());
        let calls = [0, 1].map(|side: usize| times_us[number][side].len() as f64);
        let slower = one.map_or(0.0, |one| slower_share(&[one], Scale::ONE));
        TimesExcess {
            excess,
            is_whole: is_whole(slower, calls.into(), times_us.len()),
            may_be_chance: may_be_chance(calls, Some(slower), times_us.len()),
        }
    };
    (0..times_us.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example 3 of section 3 of the definition, as times of no service, with another one that is as before.
    #[test]
    fn times_are_measured_as_own_work_is() {
        let values = |ms: f64| {
            (0..1000).map(|i| (1000.0 * ms * (1.0 + 0.02 * (f64::from(i % 5) - 2.0))) as u64).collect()
        };
        let found = excesses(&[[values(30.0), values(42.0)], [values(7.0), values(7.0)]], 1000);
        assert!((found[0].excess.excess_us - 12_000.0).abs() < 1.0, "{:?}", found[0]);
        assert!((found[0].excess.score_us() - 11_250.0).abs() < 10.0, "{:?}", found[0]);
        assert!(found[0].is_whole && !found[0].may_be_chance);
        assert_eq!(found[1].excess.score_us(), 0.0);
    }
}
