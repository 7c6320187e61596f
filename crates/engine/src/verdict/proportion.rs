//! Whether nearly all services became slower alike, so that no single one explains it (section 6 of
//! `docs/definitions/verdict.md`).

use super::ServiceChange;
use super::attribute::lower_median;
use super::excess::{Scale, Sum};
use super::rank::{Ranking, sure};
use super::report::InProportion;

/// A service counts if it has at least this share of the time.
const LEAST_SHARE: f64 = 0.01;
/// Services are slower in proportion if all together are by at least this share of their time,
const LEAST_GROWTH: f64 = 0.05;
/// if at least so many are,
const LEAST_SERVICES: usize = 3;
/// if these hold at least this share of the time,
const SHARE: f64 = 0.8;
/// and if what a single one is beyond that is less than this share of the whole.
const LEADS: f64 = 0.25;

/// Returns how services are slower in proportion; `None` if they are not. `again` ranks with A's values scaled.
pub(super) fn in_proportion(
    ranking: &Ranking,
    again: impl FnOnce(Scale) -> Vec<ServiceChange>,
) -> Option<InProportion> {
    let sums = || ranking.sums.values();
    let expected_us: f64 = sums().map(|sum| sum.expected_us).sum();
    let excess_us: f64 = sums().map(|sum| sum.excess_us).sum();
    if expected_us <= 0.0 || excess_us < LEAST_GROWTH * expected_us {
        return None;
    }
    let counted: Vec<&Sum> =
        sums().filter(|sum| sum.expected_us > 0.0 && sum.expected_us >= LEAST_SHARE * expected_us).collect();
    let growth = |sum: &Sum| sum.excess_us / sum.expected_us;
    let typical = lower_median(counted.iter().map(|sum| growth(sum)).collect());
    let slower: Vec<&Sum> = counted.iter().copied().filter(|sum| sum.has_grown()).collect();
    let of_slower_us: f64 = slower.iter().map(|sum| sum.expected_us).sum();
    if slower.len() < LEAST_SERVICES || of_slower_us < SHARE * expected_us || typical <= 0.0 {
        return None;
    }
    let rows = again(Scale::grown_by(typical));
    if sure(&rows).is_some_and(|first| first.score_us >= LEADS * excess_us) {
        return None;
    }
    let growths = || slower.iter().map(|sum| growth(sum));
    Some(InProportion {
        slower: slower.len() as u64,
        services: counted.len() as u64,
        growth: typical,
        least: growths().fold(f64::INFINITY, f64::min),
        most: growths().fold(f64::NEG_INFINITY, f64::max),
    })
}
