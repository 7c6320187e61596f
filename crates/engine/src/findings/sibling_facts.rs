//! Facts that siblings and the data itself add to findings: what runs beside a hot spot, where nothing is recorded, what the number
//! of calls grows with, what to read with care.

use super::candidates::{Sums, untested_finding};
use super::siblings::{Together, TogetherKey};
use super::{
    BesideCall, Finding, FindingFacts, FindingPlace, Gap, GrowingCalls, GrowsWith, ReadWithCareFacts,
};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Weight, false_discovery};
use pathlight_trace::Endpoint;

/// The least share of the data that is worth a warning.
const CARE_SHARE: f64 = 0.05;
/// Calls that run beside others are named from this share of the longest time on.
const BESIDE_SHARE: f64 = 0.25;
/// Calls named.
const MOST_BESIDE: usize = 3;
/// What explains at least this part of the variance of a number of calls is what it grows with.
const EXPLAINED: f64 = 0.5;

impl Sums<'_> {
    /// Returns what the calls of an endpoint run beside, by when it begins; nothing that is short against its time on
    /// the path.
    pub(super) fn beside(&self, endpoint: &Endpoint, path_us: u128) -> Vec<BesideCall> {
        let rows = self.part.siblings.beside.iter().filter(|((call, _), _)| call == endpoint);
        let mut rows: Vec<_> = rows.map(|((_, other), sums)| (other, *sums)).collect();
        // Stable: equal ones stay by name.
        rows.compact_sort_by_key(|row| std::cmp::Reverse(row.1.us));
        let longest = rows.first().map_or(0, |row| row.1.us);
        rows.retain(|row| row.1.us as f64 >= BESIDE_SHARE * longest as f64);
        rows.truncate(MOST_BESIDE);
        if 2 * rows.iter().map(|row| row.1.us).sum::<u128>() < path_us * u128::from(Weight::UNITS) {
            return Vec::new();
        }
        let mean = |us: u128, calls: u128| us as f64 / calls.max(1) as f64;
        rows.compact_sort_by(|a, b| mean(a.1.from_us, a.1.calls).total_cmp(&mean(b.1.from_us, b.1.calls)));
        let mut ended_us = f64::INFINITY;
        let calls = rows.into_iter().map(|(endpoint, sums)| {
            let is_after = mean(sums.from_us, sums.calls) >= ended_us;
            ended_us = mean(sums.to_us, sums.calls);
            BesideCall { endpoint: endpoint.clone(), is_after }
        });
        calls.collect()
    }

    /// Returns between which of its calls an endpoint is longest alone: the two neighbours with most time.
    pub(super) fn gap(&self, endpoint: &Endpoint) -> Option<Gap> {
        let rows = self.part.siblings.gaps.iter().filter(|((span, _, _), _)| span == endpoint);
        let ((_, before, after), sums) =
            rows.reduce(|best, next| if next.1.us > best.1.us { next } else { best })?;
        let named = |of: &Endpoint| (*of != Endpoint::default()).then(|| of.clone());
        // No gap is longer than a span, and so no mean of gaps.
        let mean_us = (sums.us / u128::from(sums.spans.max(1))) as u64;
        (mean_us > 0).then(|| Gap { between: [named(before), named(after)], mean_us, spans: sums.spans })
    }

    /// Returns what numbers of calls grow with: of tags and duration of the call right before them that which explains most of
    /// their variance.
    pub(super) fn growing(&self) -> Vec<GrowingCalls> {
        let rows: Vec<_> = self.part.siblings.together.iter().collect();
        let calls = rows.chunk_by(|a, b| (&a.0.0, &a.0.1) == (&b.0.0, &b.0.1));
        calls.filter_map(grows_with).collect()
    }

    /// Returns what the data lacks, and clocks that could not be set.
    pub fn read_with_care(&self) -> Vec<Finding> {
        let part = self.part;
        let share = |(n, of): (u64, u64)| n as f64 / of.max(1) as f64;
        let skewed: u64 = part.skewed.values().sum();
        let worst = part.skewed.iter().reduce(|best, next| if next.1 > best.1 { next } else { best });
        let of_spans = [part.orphans, part.dropped, part.clipped, skewed].map(|n| (n, part.spans));
        let all = std::iter::once((part.rootless, part.traces)).chain(of_spans);
        let most = all.reduce(|best, next| if share(next) > share(best) { next } else { best });
        let Some((n, of)) = most.filter(|most| share(*most) >= CARE_SHARE && most.0 > 0) else {
            return Vec::new();
        };
        let facts = FindingFacts::ReadWithCare(ReadWithCareFacts {
            orphans: part.orphans,
            dropped: part.dropped,
            clipped: part.clipped,
            spans: part.spans,
            rootless: (part.rootless, part.traces),
            skew: worst.map(|((caller, callee), spans)| (skewed, [caller.clone(), callee.clone()], *spans)),
        });
        vec![untested_finding(FindingPlace::Data, n, of, facts)]
    }
}

/// Returns what the number of calls of one endpoint by one caller grows with, if anything.
fn grows_with(rows: &[(&TogetherKey, &Together)]) -> Option<GrowingCalls> {
    let rows: Vec<_> = rows.iter().filter_map(|(key, sums)| Some((*key, sums.correlation()?))).collect();
    let p: Vec<f64> = rows.iter().map(|(_, (_, p))| *p).collect();
    let certain = rows.into_iter().zip(false_discovery(&p, 0.05)).filter(|(_, is_certain)| *is_certain);
    let ((key, (r, _)), _) =
        certain.reduce(|best, next| if next.0.1.0 > best.0.1.0 { next } else { best })?;
    let (caller, callee, endpoint, tag) = key.clone();
    let tag = Some(tag).filter(|tag| !tag.is_empty());
    let with = GrowsWith { endpoint, tag, correlation: r };
    (r * r >= EXPLAINED).then_some(GrowingCalls { caller, callee, with })
}
