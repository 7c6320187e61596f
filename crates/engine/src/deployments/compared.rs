//! One place beside the others: like with like, in the same slots of time (`docs/definitions/deployments.md` section 2).

use super::observe::{Cell, Seen};
use pathlight_base::statistics::{Interval, MeanError, Sample, student_p, t_975};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Widths of slots that are tried, in minutes.
const WIDTHS: [u64; 7] = [1, 2, 5, 10, 20, 30, 60];
/// Requests that each side must have beside the other.
const FEWEST: f64 = 20.0;

/// Times in one place beside those in others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beside {
    /// Requests there that are compared.
    pub requests: u64,
    /// Requests elsewhere that are compared with them.
    pub other_requests: u64,
    /// Mean there, in microseconds per visit or call.
    pub mean_us: f64,
    /// Mean elsewhere.
    pub other_mean_us: f64,
    /// The 95 % interval of the difference of the means.
    pub longer_us: Option<Interval>,
    /// What a request there takes longer on the critical path, in microseconds.
    pub path_us: f64,
    /// How likely such a difference is by chance alone.
    pub p: f64,
    /// Width of the slots of time in which they are compared, in minutes.
    pub slot_minutes: u64,
}

impl Beside {
    /// Returns how many times as long as elsewhere it takes there; `None` if it takes no time elsewhere.
    pub fn times(&self) -> Option<f64> {
        (self.other_mean_us > 0.0).then(|| self.mean_us / self.other_mean_us)
    }
}

/// Both sides by root endpoint and slot.
type Slots = BTreeMap<(u64, u64), (Cell, Cell)>;

/// A weighted mean of differences with its variance.
#[derive(Default)]
struct Sum {
    weight: f64,
    mean: f64,
    other_mean: f64,
    variance: f64,
}

impl Sum {
    fn per_weight(&self) -> Sum {
        let Sum { weight, mean, other_mean, variance } = *self;
        Sum {
            weight,
            mean: mean / weight,
            other_mean: other_mean / weight,
            variance: variance / (weight * weight),
        }
    }
}

/// Compares one place with others; `None` if there are too few requests in the same slots of time.
pub(super) fn compare(here: &Seen, others: &[&Seen]) -> Option<Beside> {
    for slot_minutes in WIDTHS {
        let slots = slots(here, others, slot_minutes);
        let n = |sample: &Sample| sample.weights().effective();
        let all =
            slots.values().fold((0.0, 0.0), |all, (here, there)| (all.0 + n(&here.us), all.1 + n(&there.us)));
        let both = slots.values().filter(|(here, there)| here.us.n() > 0 && there.us.n() > 0);
        let both = both.fold((0.0, 0.0), |both, (here, there)| (both.0 + n(&here.us), both.1 + n(&there.us)));
        let is_half = if all.0 <= all.1 { both.0 >= 0.5 * all.0 } else { both.1 >= 0.5 * all.1 };
        let are_enough = both.0 >= FEWEST && both.1 >= FEWEST;
        if is_half
            && are_enough
            && let Some(beside) = difference(&slots, slot_minutes)
        {
            return Some(beside);
        }
    }
    None
}

fn slots(here: &Seen, others: &[&Seen], slot_minutes: u64) -> Slots {
    let mut slots = Slots::new();
    for (&(root, minute), cell) in &here.cells {
        slots.entry((root, minute / slot_minutes)).or_default().0.merge(cell);
    }
    for (&(root, minute), cell) in others.iter().flat_map(|other| &other.cells) {
        slots.entry((root, minute / slot_minutes)).or_default().1.merge(cell);
    }
    slots
}

fn difference(slots: &Slots, slot_minutes: u64) -> Option<Beside> {
    let (mut us, mut path_us) = (Sum::default(), Sum::default());
    let (mut freedom, mut requests, mut other_requests) = ((0.0, 0.0), 0, 0);
    let both: Vec<_> =
        slots.iter().filter(|(_, (here, there))| here.us.n() > 0 && there.us.n() > 0).collect();
    // Of one root endpoint all slots are thought to vary alike.
    for alike in both.chunk_by(|a, b| a.0.0 == b.0.0) {
        let sides = |of: fn(&Cell) -> &Sample| -> Vec<(MeanError, MeanError)> {
            alike.iter().map(|(_, (here, there))| (of(here).spread(), of(there).spread())).collect()
        };
        let Some(free) = add(&mut us, &sides(|cell| &cell.us)) else { continue };
        add(&mut path_us, &sides(|cell| &cell.path_us));
        freedom = (freedom.0 + free.0, freedom.1 + free.1);
        for (_, (here, there)) in alike {
            (requests, other_requests) = (requests + here.us.n(), other_requests + there.us.n());
        }
    }
    let freedom = freedom.0.min(freedom.1);
    if us.weight <= 0.0 || freedom + 1.0 < FEWEST {
        return None;
    }
    let (us, path_us) = (us.per_weight(), path_us.per_weight());
    let (longer, error) = (us.mean - us.other_mean, us.variance.sqrt());
    let interval = Interval { low: longer - t_975(freedom) * error, high: longer + t_975(freedom) * error };
    Some(Beside {
        requests,
        other_requests,
        mean_us: us.mean,
        other_mean_us: us.other_mean,
        longer_us: (error > 0.0).then_some(interval),
        path_us: path_us.mean - path_us.other_mean,
        p: if error > 0.0 { student_p(longer / error, freedom) } else { 1.0 },
        slot_minutes,
    })
}

/// Adds the slots of one root endpoint; returns the degrees of freedom of both sides. `None`, and nothing is added, if a
/// side has no two requests in one slot: then nobody knows how it varies.
fn add(sum: &mut Sum, sides: &[(MeanError, MeanError)]) -> Option<(f64, f64)> {
    let pooled = |side: fn(&(MeanError, MeanError)) -> &MeanError| {
        let several = sides.iter().map(side).filter(|side| side.n > 1.0);
        let (free, squares) = several
            .fold((0.0, 0.0), |sum, side| (sum.0 + side.n - 1.0, sum.1 + (side.n - 1.0) * side.variance));
        (free > 0.0).then_some((free, squares / free))
    };
    let ((free, variance), (other_free, other_variance)) =
        (pooled(|sides| &sides.0)?, pooled(|sides| &sides.1)?);
    for (here, there) in sides {
        let weight = here.n * there.n / (here.n + there.n);
        sum.weight += weight;
        sum.mean += weight * here.mean;
        sum.other_mean += weight * there.mean;
        sum.variance += weight * weight * (variance / here.n + other_variance / there.n);
    }
    Some((free, other_free))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::{Random, Weight};

    /// Returns requests of one root endpoint: a minute and a time each.
    fn seen(requests: impl IntoIterator<Item = (u64, u64)>) -> Seen {
        let mut seen = Seen::default();
        for (minute, us) in requests {
            let cell = seen.cells.entry((0, minute)).or_default();
            cell.us.add(us, Weight::ONE);
            cell.path_us.add(us / 2, Weight::ONE);
        }
        seen
    }

    #[test]
    fn each_slot_is_compared_with_itself() {
        // In the second minute all takes ten times as long, and most requests of one place are there.
        let here = seen((0..40).map(|at| if at < 10 { (0, 110 + at % 2) } else { (1, 1_100 + at % 2) }));
        let there = seen((0..40).map(|at| if at < 30 { (0, 100 + at % 2) } else { (1, 1_000 + at % 2) }));
        let beside = compare(&here, &[&there]).unwrap();
        // Both minutes weigh 10 * 30 / 40.
        assert_eq!((beside.mean_us, beside.other_mean_us), (605.5, 550.5));
        assert_eq!((beside.requests, beside.other_requests, beside.slot_minutes), (40, 40, 1));
        assert!(beside.p < 1e-9 && (beside.times().unwrap() - 1.1).abs() < 1e-3);
        assert!((beside.path_us - 27.5).abs() <= 0.5, "{beside:?}");
    }

    #[test]
    fn what_was_never_there_at_the_same_time_is_not_compared() {
        let (before, after) = (seen((0..60).map(|at| (at, 100))), seen((60..120).map(|at| (at, 200))));
        assert_eq!(compare(&after, &[&before]), None);
        // Nor is what both have too little of.
        let (few, many) = (seen((0..12).map(|at| (0, 90 + at))), seen((0..500).map(|at| (0, 100 + at % 9))));
        assert_eq!(compare(&few, &[&many]), None);
    }

    #[test]
    fn equal_places_differ_as_often_as_chance_has_it() {
        let mut p: Vec<f64> = Vec::new();
        for seed in 0..400 {
            let mut random = Random::new(9, seed, 0);
            let mut side = |n: u64| {
                let requests: Vec<_> =
                    (0..n).map(|_| (random.below(6), random.log_normal_us(3e4, 0.8))).collect();
                seen(requests)
            };
            let (here, there) = (side(60), side(240));
            p.push(compare(&here, &[&there]).unwrap().p);
        }
        let below = |limit: f64| p.iter().filter(|p| **p < limit).count();
        assert!(below(0.05) <= 32 && below(0.5) > 150, "{} {}", below(0.05), below(0.5));
    }
}
