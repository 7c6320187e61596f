//! From a percentile range to keys that every worker can compare with, in one or two passes; the cuts that are known,
//! and what else plans over the same data share.

use super::EngineError;
use super::pass::Pass;
use super::workers::Workers;
use pathlight_analysis::critical_path::unpack_sorted;
use pathlight_analysis::requests::{Cut, RangeFacts, RequestKey, Selection};
use pathlight_model::sort::Arrange;
use pathlight_model::stats::{LogHistogram, Summary};
use pathlight_model::trace::PlaceFacts;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Bins of the latency histogram.
const HISTOGRAM_BINS: u32 = 96;
/// Cuts that are kept: those of both sides of a comparison, and of some ranges and filters looked at before.
const KEPT: usize = 16;

/// A cut, and what lies inside.
type Known = (Cut, RangeFacts);

/// The cuts that are known of some data, and what its places are called, shared by all plans over it. A new state of the
/// data needs new ones: [`Cuts::default`].
#[derive(Clone, Default)]
pub struct Cuts {
    list: Arc<Mutex<Vec<(Selection, State)>>>,
    /// What decides over the names of places, once it is known.
    places: Arc<OnceLock<PlaceFacts>>,
}

enum State {
    /// A plan is computing it.
    Claimed,
    Known(Box<Known>),
}

/// What a plan may do that needs a cut.
pub(super) enum Claim {
    /// Use it.
    Known(Box<Known>),
    /// Compute it.
    Ours(Place),
    /// Wait: another plan is computing it.
    Others,
}

/// The place of a cut that a plan is computing. It becomes free if the plan ends before.
pub(super) struct Place {
    cuts: Cuts,
    selection: Selection,
}

impl Cuts {
    fn list(&self) -> MutexGuard<'_, Vec<(Selection, State)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What decides over the names of places, if a plan has found it out.
    pub(super) fn places(&self) -> Option<&PlaceFacts> {
        self.places.get()
    }

    /// Keeps what decides over the names of places; of several plans that have found it out, all have found the same.
    pub(super) fn keep_places(&self, facts: PlaceFacts) -> &PlaceFacts {
        self.places.get_or_init(|| facts)
    }

    /// Looks a cut up, or claims its place.
    pub(super) fn claim(&self, selection: &Selection) -> Claim {
        let mut list = self.list();
        if let Some(at) = list.iter().position(|(key, _)| key == selection) {
            // Most recently used last.
            let found = list.remove(at);
            let claim = match &found.1 {
                State::Claimed => Claim::Others,
                State::Known(known) => Claim::Known(known.clone()),
            };
            list.push(found);
            return claim;
        }
        let known = list.iter().filter(|(_, state)| matches!(state, State::Known(_))).count();
        if known >= KEPT
            && let Some(oldest) = list.iter().position(|(_, state)| matches!(state, State::Known(_)))
        {
            list.remove(oldest);
        }
        list.push((selection.clone(), State::Claimed));
        Claim::Ours(Place { cuts: self.clone(), selection: selection.clone() })
    }
}

impl Place {
    /// Keeps the cut for other plans.
    pub fn keep(self, known: Known) {
        let mut list = self.cuts.list();
        if let Some((_, state)) = list.iter_mut().find(|(key, _)| *key == self.selection) {
            *state = State::Known(Box::new(known));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.cuts.list().retain(|(key, state)| *key != self.selection || matches!(state, State::Known(_)));
    }
}

impl Workers {
    /// Collects latencies from all workers, then the keys at the ends of the range.
    pub(super) async fn find_cut(&self, selection: &Selection) -> Result<Known, EngineError> {
        let all = selection.at_any_latency();
        let parts: Vec<Vec<u64>> = self.partials(Pass::Latencies { selection: all.clone() }).await?;
        let mut sorted: Vec<u64> = parts.into_iter().flat_map(unpack_sorted).collect();
        sorted.sort();
        let ranks = selection.range.ranks(sorted.len() as u64);
        let is_all = ranks.start == 0 && ranks.end == sorted.len() as u64;
        let cut = if is_all { Cut::default() } else { self.keys(&all, &sorted, &ranks).await? };
        Ok((cut, facts(&sorted, &ranks)))
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
            self.partials(Pass::Ties { selection: selection.clone(), latencies_us }).await?;
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

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
