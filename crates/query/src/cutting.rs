//! From a percentile range of latency to keys that every worker can compare with, in one or two passes.

use super::EngineError;
use super::chain::Pass;
use super::workers::{Inside, Workers};
use pathlight_analysis::critical_path::unpack_sorted;
use pathlight_analysis::requests::{Cut, RangeFacts, RequestKey, Selection};
use pathlight_model::sort::Arrange;
use pathlight_model::stats::{LogHistogram, Summary};
use std::ops::Range;

/// Bins of the latency histogram.
const HISTOGRAM_BINS: u32 = 96;

impl Workers {
    /// Cuts a percentile range out of the requests of a selection, and says what lies inside.
    pub async fn cut(&self, selection: &Selection) -> Result<(Inside<'_>, RangeFacts), EngineError> {
        let all = selection.at_any_latency();
        let parts: Vec<Vec<u64>> = self.ask(&Pass::Latencies { selection: all.clone() }).await?;
        let mut sorted: Vec<u64> = parts.into_iter().flat_map(unpack_sorted).collect();
        sorted.sort();
        let ranks = selection.range.ranks(sorted.len() as u64);
        let is_all = ranks.start == 0 && ranks.end == sorted.len() as u64;
        let cut = if is_all { Cut::default() } else { self.keys(&all, &sorted, &ranks).await? };
        Ok((Inside { workers: self, selection: all, cut }, facts(&sorted, &ranks)))
    }

    /// The requests at the ends of some ranks.
    async fn keys(
        &self,
        selection: &Selection,
        sorted: &[u64],
        ranks: &Range<u64>,
    ) -> Result<Cut, EngineError> {
        // Only requests as slow as the first one inside or the first one past the end can be in doubt.
        let mut latencies_us: Vec<u64> =
            [ranks.start, ranks.end].iter().filter_map(|&r| sorted.get(r as usize).copied()).collect();
        latencies_us.dedup();
        let parts: Vec<Vec<RequestKey>> =
            self.ask(&Pass::Ties { selection: selection.clone(), latencies_us }).await?;
        let mut ties = parts.concat();
        ties.arrange();
        let key_at = |rank: u64| -> Option<RequestKey> {
            let latency = *sorted.get(rank as usize)?;
            let first = sorted.partition_point(|&v| v < latency);
            ties.iter().filter(|key| key.latency_us == latency).nth(rank as usize - first).cloned()
        };
        Ok(Cut {
            from: if ranks.start == 0 { None } else { key_at(ranks.start) },
            to: key_at(ranks.end),
            is_empty: ranks.is_empty(),
        })
    }
}

fn facts(sorted: &[u64], ranks: &Range<u64>) -> RangeFacts {
    let inside = &sorted[ranks.start as usize..ranks.end as usize];
    RangeFacts {
        all_requests: sorted.len() as u64,
        requests: inside.len() as u64,
        latency_us: Summary::of_sorted(inside),
        latency_sum_us: inside.iter().fold(0, |sum: u64, &v| sum.saturating_add(v)),
        all_latency_us: Summary::of_sorted(sorted),
        histogram: LogHistogram::of_sorted(sorted, HISTOGRAM_BINS),
        range_us: (inside.first().copied().unwrap_or(0), inside.last().copied().unwrap_or(0)),
    }
}
