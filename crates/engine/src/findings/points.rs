//! Some requests of a finding as points, for its picture.

use super::{BurstsFacts, Finding, FindingFacts, FindingPlace, FindingPoint, SinceWhenFacts, SlowTailFacts};
use crate::requests::{TimedRequest, TypeLatencies};
use pathlight_base::sort::CompactSort as _;

/// Points of the requests that a finding is about, and of the others.
const MOST: usize = 40;

/// Returns points of a finding that is about some requests of others by their latency or start; none of another.
pub(super) fn points(finding: &Finding, types: &TypeLatencies) -> Vec<FindingPoint> {
    match (&finding.facts, &finding.place) {
        (FindingFacts::SlowTail(SlowTailFacts { root, latency_us, .. }), _) => {
            let (least, most) = *latency_us;
            some(types.times(root).iter(), |_, us| (least..=most).contains(&us))
        }
        (FindingFacts::SinceWhen(SinceWhenFacts { from_us, .. }), FindingPlace::RequestType(kind)) => {
            some(types.times(kind).iter(), |start, _| start >= *from_us)
        }
        (FindingFacts::Bursts(BurstsFacts { bursts, .. }), _) => some(types.all(), |start, _| {
            bursts.iter().any(|burst| (burst.from_us..burst.to_us).contains(&start))
        }),
        _ => Vec::new(),
    }
}

/// Returns some requests of both kinds by start, the fastest and the slowest among them.
fn some<'a>(
    all: impl Iterator<Item = &'a TimedRequest>,
    is_meant: impl Fn(u64, u64) -> bool,
) -> Vec<FindingPoint> {
    let point = |&(start_us, latency_us, _): &TimedRequest| FindingPoint {
        start_us,
        latency_us,
        is_meant: is_meant(start_us, latency_us),
    };
    let (meant, others): (Vec<FindingPoint>, Vec<FindingPoint>) =
        all.map(point).partition(|point| point.is_meant);
    let mut out = Vec::new();
    for mut of in [meant, others] {
        of.compact_sort_by_key(|point| (point.latency_us, point.start_us));
        let last = of.len().saturating_sub(1);
        let kept = of.len().min(MOST);
        // Evenly by rank.
        out.extend((0..kept).map(|i| of[i * last / (kept - 1).max(1)]));
    }
    out.compact_sort_by_key(|point| (point.start_us, point.latency_us));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::Weight;

    #[test]
    fn some_requests_of_both_kinds_are_kept_with_the_fastest_and_the_slowest() {
        let all: Vec<TimedRequest> = (0..1000).map(|i| (i, 1 + (i * 7919) % 1000, Weight::ONE)).collect();
        let points = some(all.iter(), |_, us| us > 900);
        let meant: Vec<u64> = points.iter().filter(|p| p.is_meant).map(|p| p.latency_us).collect();
        assert_eq!((points.len(), meant.len()), (80, 40));
        assert_eq!((meant.iter().min(), meant.iter().max()), (Some(&901), Some(&1000)));
        assert!(points.is_sorted_by_key(|point| point.start_us));
        assert_eq!(some(all[..3].iter(), |start, _| start == 1).len(), 3);
        assert_eq!(some([].iter(), |_, _| true), []);
    }
}
