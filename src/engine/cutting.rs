//! From a band of latency to keys that every worker can compare with, in one or two passes.

use super::EngineError;
use super::chain::{Next, Pass, ask, read};
use crate::arrange::Arrange;
use crate::critical_path::{Band, BandFacts, Cut, RequestKey, Scope, unpack_sorted};
use crate::stats::{LogHistogram, Summary};

/// Bins of the latency histogram.
const HISTOGRAM_BINS: u32 = 96;

/// Cuts a band out of the requests of a scope.
pub(super) struct Cutter {
    scope: Scope,
    band: Band,
    ties: Option<(Vec<u64>, std::ops::Range<u64>)>,
}

/// What cutting comes to.
pub(super) enum Cutting {
    /// This pass comes next.
    Ask(Next),
    /// The cut and what lies inside.
    Done(Cut, Box<BandFacts>),
}

impl Cutter {
    /// A cutter, and the pass to begin with.
    pub fn start(scope: Scope, band: Band) -> Result<(Cutter, Next), EngineError> {
        let first = ask(&Pass::Latencies { scope: scope.clone() })?;
        Ok((Cutter { scope, band, ties: None }, first))
    }

    /// The next step, with the partials of the pass asked for last.
    pub fn next(&mut self, partials: &[Vec<u8>]) -> Result<Cutting, EngineError> {
        let Some((sorted, ranks)) = self.ties.take() else {
            let mut sorted: Vec<u64> =
                read::<Vec<u64>>(partials)?.into_iter().flat_map(unpack_sorted).collect();
            sorted.sort();
            let ranks = self.band.ranks(sorted.len() as u64);
            if ranks.start == 0 && ranks.end == sorted.len() as u64 {
                return Ok(Cutting::Done(Cut::default(), facts(&sorted, &ranks)));
            }
            // Only requests as slow as the first one inside or the first one past the end can be in doubt.
            let mut edges: Vec<u64> =
                [ranks.start, ranks.end].iter().filter_map(|&r| sorted.get(r as usize).copied()).collect();
            edges.dedup();
            self.ties = Some((sorted, ranks));
            return Ok(Cutting::Ask(ask(&Pass::Ties { scope: self.scope.clone(), latencies_us: edges })?));
        };
        let mut ties: Vec<RequestKey> = read::<Vec<RequestKey>>(partials)?.into_iter().flatten().collect();
        ties.arrange();
        let key_at = |rank: u64| -> Option<RequestKey> {
            let latency = *sorted.get(rank as usize)?;
            let first = sorted.partition_point(|&v| v < latency);
            ties.iter().filter(|key| key.latency_us == latency).nth(rank as usize - first).cloned()
        };
        let cut = Cut {
            from: if ranks.start == 0 { None } else { key_at(ranks.start) },
            to: key_at(ranks.end),
            is_empty: ranks.is_empty(),
        };
        Ok(Cutting::Done(cut, facts(&sorted, &ranks)))
    }
}

fn facts(sorted: &[u64], ranks: &std::ops::Range<u64>) -> Box<BandFacts> {
    let inside = &sorted[ranks.start as usize..ranks.end as usize];
    Box::new(BandFacts {
        scope_requests: sorted.len() as u64,
        requests: inside.len() as u64,
        latency_us: Summary::of_sorted(inside),
        latency_sum_us: inside.iter().fold(0, |sum: u64, &v| sum.saturating_add(v)),
        scope_latency_us: Summary::of_sorted(sorted),
        histogram: LogHistogram::of_sorted(sorted, HISTOGRAM_BINS),
        band_us: (inside.first().copied().unwrap_or(0), inside.last().copied().unwrap_or(0)),
    })
}
