//! From a percentile range to keys that every worker can compare with, in one or two passes; and passes over the requests
//! inside.

use super::cuts::{Claim, Known};
use super::partials::parts;
use super::pass::Pass;
use super::request_pass::{PackedRequestPass, RequestPass};
use super::workers::Workers;
use crate::EngineError;
use crate::flame::unpack_sorted;
use crate::requests::{
    Cut, Ends, PercentileRange, RangeFacts, RangeMark, RequestKey, RequestType, Selection, Until,
};
use futures_util::future::try_join;
use pathlight_base::encoding;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{LogHistogram, Percentiles};
use pathlight_trace::Coverage;
use std::collections::BTreeMap;
use std::ops::Range;

/// Bins of the latency histogram.
const HISTOGRAM_BINS: u32 = 96;

/// By request type; all of one without a name if the range is cut out of all requests together.
type ByType<T> = BTreeMap<RequestType, T>;

/// Sorted latencies of the requests of a selection.
struct Latencies {
    types: ByType<Vec<u64>>,
    /// Whether the range is cut out of each type; else all are taken together.
    is_by_type: bool,
    /// How the requests cover their traces.
    coverage: Coverage,
    /// When the requests end, and how many lead to more than was followed.
    until: Until,
    cut: u64,
}

impl Latencies {
    /// Returns the ranks of a range in the latencies of one type. No range of requests that are taken together is
    /// empty.
    fn ranks(&self, range: PercentileRange, sorted: &[u64]) -> Range<u64> {
        let n = sorted.len() as u64;
        if self.is_by_type { range.ranks(n) } else { range.some_ranks(n) }
    }

    /// Returns what a range holds of each type, sorted.
    fn inside(&self, range: PercentileRange) -> impl Iterator<Item = &[u64]> {
        self.types.values().map(move |sorted| {
            let ranks = self.ranks(range, sorted);
            &sorted[ranks.start as usize..ranks.end as usize]
        })
    }

    /// Returns all that a range holds, sorted.
    fn joined(&self, range: PercentileRange) -> Vec<u64> {
        let mut joined = self.inside(range).collect::<Vec<_>>().concat();
        // A stable sort joins the runs of the types.
        joined.sort();
        joined
    }

    /// Returns what is said of an offered range; `all` are the latencies of all types, sorted.
    fn mark(&self, range: PercentileRange, all: &[u64]) -> RangeMark {
        let held = |sorted: &[u64]| match (sorted.first(), sorted.last()) {
            (Some(&least), Some(&most)) => (sorted.len() as u64, least, most),
            _ => (0, 0, 0),
        };
        let mark = RangeMark::of(self.inside(range).map(held));
        if mark.requests > 0 {
            return mark;
        }
        // Of too few requests of each type it is cut out of all together.
        let ranks = range.some_ranks(all.len() as u64);
        RangeMark::of(std::iter::once(held(&all[ranks.start as usize..ranks.end as usize])))
    }

    fn facts(&self, range: PercentileRange) -> RangeFacts {
        let all = self.joined(PercentileRange::ALL);
        let part = if range.is_all() { None } else { Some(self.joined(range)) };
        let inside = part.as_ref().unwrap_or(&all);
        let RangeMark { requests, least_us, most_us } = self.mark(range, &all);
        RangeFacts {
            all_requests: all.len() as u64,
            requests,
            latency_us: Percentiles::of_sorted(inside),
            latency_sum_us: inside.iter().map(|&us| u128::from(us)).sum(),
            all_latency_us: Percentiles::of_sorted(&all),
            histogram: LogHistogram::of_sorted(&all, HISTOGRAM_BINS),
            range_us: (least_us.0, most_us.1),
            marks: PercentileRange::PRESETS.map(|preset| self.mark(preset, &all)).to_vec(),
            types: self.types.len() as u64,
            coverage: self.coverage,
            until: self.until,
            cut: self.cut,
        }
    }
}

impl Workers {
    /// Cuts a percentile range out of the requests of a selection, and tells what lies inside. Plans over the same data
    /// share the cut: only one of them computes it.
    pub(crate) async fn cut(
        &self,
        selection: &Selection,
    ) -> Result<(RangeRequests<'_>, RangeFacts), EngineError> {
        let (cut, facts) = loop {
            match self.cuts().claim(selection) {
                Claim::Known(known) => break *known,
                Claim::Others => self.wait().await,
                Claim::Ours(claimed) => {
                    let known = self.find_cut(selection).await?;
                    claimed.keep(known.clone());
                    break known;
                }
            }
        };
        Ok((RangeRequests { workers: self, selection: selection.at_any_latency(), cut }, facts))
    }

    /// Returns the partials of one pass over the requests of a selection, and what its percentile range holds.
    pub(crate) async fn request_partials<P: RequestPass>(
        &self,
        selection: &Selection,
        pass: P,
    ) -> Result<(Vec<P::Part>, RangeFacts), EngineError> {
        let (requests, facts) = self.cut(selection).await?;
        Ok((requests.partials(pass).await?, facts))
    }

    /// Runs passes over the requests of a selection; returns what they found, and what its percentile range holds. If that is
    /// every request, nothing has to be cut out: the passes travel in one message with that of the latencies.
    pub(crate) async fn over_requests<T>(
        &self,
        selection: &Selection,
        passes: impl AsyncFnOnce(&RangeRequests<'_>) -> Result<T, EngineError>,
    ) -> Result<(T, RangeFacts), EngineError> {
        if !selection.range.is_all() {
            let (requests, facts) = self.cut(selection).await?;
            return Ok((passes(&requests).await?, facts));
        }
        let requests = RangeRequests { workers: self, selection: selection.clone(), cut: Cut::default() };
        let ((_, facts), found) = try_join(self.cut(selection), passes(&requests)).await?;
        Ok((found, facts))
    }

    /// Collects latencies from all workers, then the keys at the ends of the range.
    async fn find_cut(&self, selection: &Selection) -> Result<Known, EngineError> {
        let all = selection.at_any_latency();
        let mut is_by_type = !selection.over_all;
        let mut types: ByType<Vec<u64>> = BTreeMap::new();
        let pass = Pass::Latencies { selection: all.clone(), is_by_type };
        let (mut coverage, mut cut) = (Coverage::default(), 0);
        for (part, of_part, cut_in_part) in self.read::<(ByType<Vec<u64>>, Coverage, u64)>(pass).await? {
            coverage.merge(&of_part);
            cut += cut_in_part;
            for (name, packed) in part {
                types.entry(name).or_default().extend(unpack_sorted(packed));
            }
        }
        types.values_mut().for_each(|latencies| latencies.sort());
        let range = selection.range;
        let holds = |sorted: &Vec<u64>| !range.ranks(sorted.len() as u64).is_empty();
        if !types.values().any(holds) || types.len() == 1 {
            // Of one type, or with too few of each: no range of some requests is empty.
            let mut sorted: Vec<u64> = std::mem::take(&mut types).into_values().flatten().collect();
            sorted.sort();
            types.insert(RequestType::default(), sorted);
            is_by_type = false;
        }
        let latencies = Latencies { types, is_by_type, coverage, until: selection.until, cut };
        let cut = if range.is_all() { Cut::default() } else { self.keys(&all, range, &latencies).await? };
        Ok((cut, latencies.facts(range)))
    }

    /// Returns the requests at the ends of a range of each type.
    async fn keys(
        &self,
        selection: &Selection,
        range: PercentileRange,
        latencies: &Latencies,
    ) -> Result<Cut, EngineError> {
        let Latencies { types, is_by_type, .. } = latencies;
        // Only where the range begins or ends among requests of one latency are these in doubt.
        let is_among = |sorted: &[u64], rank: u64| {
            let at = |rank: usize| sorted.get(rank).copied();
            (rank as usize).checked_sub(1).and_then(at).filter(|&before| at(rank as usize) == Some(before))
        };
        let at_ends = types.iter().filter_map(|(name, sorted)| {
            let ranks = latencies.ranks(range, sorted);
            let mut latencies_us: Vec<u64> =
                [ranks.start, ranks.end].into_iter().filter_map(|rank| is_among(sorted, rank)).collect();
            latencies_us.dedup();
            (!latencies_us.is_empty()).then(|| (name.clone(), latencies_us))
        });
        let latencies_us: ByType<Vec<u64>> = at_ends.collect();
        let mut ties: ByType<Vec<RequestKey>> = BTreeMap::new();
        if !latencies_us.is_empty() {
            let pass = Pass::Ties { selection: selection.clone(), latencies_us, is_by_type: *is_by_type };
            for part in self.read::<ByType<Vec<RequestKey>>>(pass).await? {
                for (name, keys) in part {
                    ties.entry(name).or_default().extend(keys);
                }
            }
            ties.values_mut().for_each(|keys| keys.compact_sort());
        }
        let mut cut: ByType<Ends> = BTreeMap::new();
        for (name, sorted) in types {
            let ranks = latencies.ranks(range, sorted);
            let key_at = |rank: u64| -> Option<RequestKey> {
                let latency = *sorted.get(rank as usize)?;
                if is_among(sorted, rank).is_none() {
                    return Some(RequestKey::least(latency));
                }
                let first = sorted.partition_point(|&v| v < latency);
                let mut keys = ties.get(name)?.iter().filter(|key| key.latency_us == latency);
                keys.nth(rank as usize - first).cloned()
            };
            let ends = Ends {
                from: if ranks.start == 0 { None } else { key_at(ranks.start) },
                to: key_at(ranks.end),
                is_empty: ranks.is_empty(),
            };
            cut.insert(name.clone(), ends);
        }
        Ok(match is_by_type {
            true => Cut::ByType(cut),
            false => Cut::OverAll(cut.into_values().next().unwrap_or_default()),
        })
    }
}

/// The requests of a percentile range, cut out, for passes over them.
pub(crate) struct RangeRequests<'a> {
    workers: &'a Workers,
    /// At any latency: the range is in the cut.
    selection: Selection,
    /// Where the range begins and ends.
    pub cut: Cut,
}

impl RangeRequests<'_> {
    /// Returns the workers that hold them.
    pub fn workers(&self) -> &Workers {
        self.workers
    }

    /// Returns their selection, at any latency.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Returns the partials of a pass as bytes, each in its [`parts`].
    pub async fn run<P: RequestPass>(&self, pass: P) -> Result<Vec<Vec<u8>>, EngineError> {
        let (selection, cut) = (self.selection.clone(), self.cut.clone());
        let pass = PackedRequestPass::of(&pass);
        self.workers.run(Pass::Requests { selection, cut, pass }).await
    }

    /// Returns what the parts of all partials of a pass hold.
    pub async fn partials<P: RequestPass>(&self, pass: P) -> Result<Vec<P::Part>, EngineError> {
        let partials = self.run(pass).await?;
        parts(&partials)?.into_iter().map(|part| encoding::read(part).map_err(EngineError::from)).collect()
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
