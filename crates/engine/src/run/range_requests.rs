//! From a percentile range to keys that every worker can compare with, in one or two passes; and passes over the requests
//! inside.

use super::cuts::Known;
use super::latencies::{ByType, Latencies};
use super::partials::parts;
use super::pass::Pass;
use super::request_pass::{PackedRequestPass, RequestPass};
use super::workers::Workers;
use crate::EngineError;
use crate::requests::{Cut, Ends, PercentileRange, RangeFacts, RequestKey, Selection};
use futures_util::future::try_join;
use pathlight_base::encoding::{self, Packed};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::Weight;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Weights of requests of equal latency, with the keys that order them.
type Ties = ByType<Vec<(RequestKey, Weight)>>;

impl Workers {
    /// Cuts a percentile range out of the requests of a selection, and tells what lies inside. Plans over the same data
    /// share the cut: only one of them computes it.
    pub(crate) async fn cut(
        &self,
        selection: &Selection,
    ) -> Result<(RangeRequests<'_>, RangeFacts), EngineError> {
        let ranges = &self.cuts().ranges;
        let (cut, facts) =
            self.once(ranges, selection.clone(), async || self.find_cut(selection).await).await?;
        Ok((RangeRequests { workers: self, selection: selection.at_any_latency(), cut }, facts))
    }

    /// Returns the requests of a selection. Of all of them nothing has to be cut out.
    pub(crate) async fn requests(&self, selection: &Selection) -> Result<RangeRequests<'_>, EngineError> {
        if !selection.range.is_all() {
            return Ok(self.cut(selection).await?.0);
        }
        Ok(RangeRequests { workers: self, selection: selection.clone(), cut: Cut::default() })
    }

    /// Returns the partials of one pass over the requests of a selection, and what its percentile range holds.
    pub(crate) async fn request_partials<P: RequestPass>(
        &self,
        selection: &Selection,
        pass: P,
    ) -> Result<(Vec<P::Part>, RangeFacts), EngineError> {
        self.over_requests(selection, async |requests| requests.partials(pass).await).await
    }

    /// Runs passes over the requests of a selection; returns what they found, and what its percentile range holds. If that is
    /// every request, the passes travel in one message with that of the latencies.
    pub(crate) async fn over_requests<T>(
        &self,
        selection: &Selection,
        passes: impl AsyncFnOnce(&RangeRequests<'_>) -> Result<T, EngineError>,
    ) -> Result<(T, RangeFacts), EngineError> {
        let requests = self.requests(selection).await?;
        let ((_, facts), found) = try_join(self.cut(selection), passes(&requests)).await?;
        Ok((found, facts))
    }

    /// Finds the keys at the ends of the range.
    async fn find_cut(&self, selection: &Selection) -> Result<Known, EngineError> {
        let (all, range) = (selection.at_any_latency(), selection.range);
        let known = &self.cuts().latencies;
        let found = self.once(known, all.clone(), async || self.latencies(&all).await.map(Arc::new)).await?;
        let mut latencies = found.for_range(range);
        let cut =
            if range.is_all() { Cut::default() } else { self.keys(&all, range, &mut latencies).await? };
        Ok((cut, latencies.facts(range)))
    }

    /// Collects latencies from all workers.
    async fn latencies(&self, selection: &Selection) -> Result<Latencies, EngineError> {
        let pass = Pass::Latencies { selection: selection.clone() };
        Ok(Latencies::of(self.read(pass).await?, selection))
    }

    /// Returns the requests at the ends of a range of each type; puts those of equal latency there into their order.
    async fn keys(
        &self,
        selection: &Selection,
        range: PercentileRange,
        latencies: &mut Cow<'_, Latencies>,
    ) -> Result<Cut, EngineError> {
        let is_by_type = latencies.is_by_type;
        // Only where the range begins or ends among requests of one latency are these in doubt.
        let at_ends = latencies.types.iter().map(|(name, sorted)| {
            let ranks = latencies.ranks(range, sorted);
            (name.clone(), sorted.in_doubt(&ranks))
        });
        let latencies_us: ByType<Vec<u64>> = at_ends.filter(|(_, of)| !of.is_empty()).collect();
        let mut ties: Ties = BTreeMap::new();
        if !latencies_us.is_empty() {
            let pass = Pass::Ties { selection: selection.clone(), latencies_us, is_by_type };
            for part in self.read::<Ties>(pass).await? {
                for (name, keys) in part {
                    ties.entry(name).or_default().extend(keys);
                }
            }
            ties.values_mut().for_each(|keys| keys.compact_sort());
        }
        if latencies.weighted.is_some() {
            for (name, sorted) in &mut latencies.to_mut().types {
                if let Some(ties) = ties.get(name) {
                    sorted.order_by(ties);
                }
            }
        }
        let mut cut: ByType<Ends> = BTreeMap::new();
        for (name, sorted) in &latencies.types {
            let ranks = latencies.ranks(range, sorted);
            let key_at = |rank: u64| -> Option<RequestKey> {
                let latency = *sorted.us.get(rank as usize)?;
                if sorted.is_among(rank).is_none() {
                    return Some(RequestKey::least(latency));
                }
                let first = sorted.us.partition_point(|&v| v < latency);
                let mut keys = ties.get(name)?.iter().filter(|(key, _)| key.latency_us == latency);
                keys.nth(rank as usize - first).map(|(key, _)| key.clone())
            };
            let ends = Ends {
                from: if ranks.start == 0 { None } else { key_at(ranks.start) },
                to: key_at(ranks.end),
                is_empty: ranks.is_empty(),
            };
            cut.insert(name.clone(), ends);
        }
        Ok(match is_by_type {
            true => Cut::ByType(Arc::new(Packed::of(&cut))),
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
