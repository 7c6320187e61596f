//! From a percentile range to keys that every worker can compare with, in one or two passes; the cuts that are known,
//! and what else plans over the same data share.

use super::EngineError;
use super::pass::Pass;
use super::summaries::Joined;
use super::workers::Workers;
use pathlight_analysis::critical_path::unpack_sorted;
use pathlight_analysis::requests::{
    Cut, Ends, PercentileRange, RangeFacts, RangeMark, Reading, RequestKey, RequestType, Selection, TypeFacts,
};
use pathlight_model::sort::CompactSort as _;
use pathlight_model::stats::{LogHistogram, Summary};
use pathlight_model::trace::{Coverage, PlaceFacts};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Bins of the latency histogram.
const HISTOGRAM_BINS: u32 = 96;
/// Cuts that are kept: those of both sides of a comparison, and of some ranges and filters looked at before.
const CUTS_KEPT: usize = 16;

/// A cut, and what lies inside.
type Known = (Cut, RangeFacts);

/// What decides over request types, by reading.
type TypesKnown = Vec<(Reading, Arc<TypeFacts>)>;

/// The cuts that are known of some data, and what its places are called, shared by all plans over it. A new state of the
/// data needs new ones: [`Cuts::default`].
#[derive(Clone, Default)]
pub struct Cuts {
    list: Arc<Mutex<Vec<(Selection, State)>>>,
    /// What decides over the names of places, once it is known.
    places: Arc<OnceLock<PlaceFacts>>,
    /// What decides over request types, by reading, since names of calls are part of it.
    types: Arc<Mutex<TypesKnown>>,
    /// The summaries of all workers, once they are joined.
    summaries: Arc<OnceLock<Arc<Joined>>>,
    /// Whether any worker may have one.
    pub(super) has_summaries: bool,
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
    Ours(ClaimedCut),
    /// Wait: another plan is computing it.
    Others,
}

/// The place of a cut that a plan is computing. It becomes free if the plan ends before.
pub(super) struct ClaimedCut {
    cuts: Cuts,
    selection: Selection,
}

impl Cuts {
    fn list(&self) -> MutexGuard<'_, Vec<(Selection, State)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what decides over the names of places, if a plan has found it out.
    pub(super) fn places(&self) -> Option<&PlaceFacts> {
        self.places.get()
    }

    /// Keeps what decides over the names of places; of several plans that have found it out, all have found the same.
    pub(super) fn keep_places(&self, facts: PlaceFacts) -> &PlaceFacts {
        self.places.get_or_init(|| facts)
    }

    /// Creates cuts of which nothing is known yet, of data among which are summaries or not.
    pub(super) fn of_data(has_summaries: bool) -> Cuts {
        Cuts { has_summaries, ..Cuts::default() }
    }

    /// Returns the summaries of all workers, if a plan has joined them.
    pub(super) fn summaries(&self) -> Option<Arc<Joined>> {
        self.summaries.get().cloned()
    }

    /// Keeps the summaries of all workers; of several plans that have joined them, all have the same.
    pub(super) fn keep_summaries(&self, joined: Joined) -> Arc<Joined> {
        Arc::clone(self.summaries.get_or_init(|| Arc::new(joined)))
    }

    /// Returns what decides over request types under a reading, if a plan has found it out.
    pub(super) fn types(&self, reading: Reading) -> Option<Arc<TypeFacts>> {
        let known = self.types.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(of, _)| *of == reading).map(|(_, facts)| Arc::clone(facts))
    }

    /// Keeps what decides over request types.
    pub(super) fn keep_types(&self, reading: Reading, facts: TypeFacts) -> Arc<TypeFacts> {
        let facts = Arc::new(facts);
        self.types.lock().unwrap_or_else(PoisonError::into_inner).push((reading, Arc::clone(&facts)));
        facts
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
        if known >= CUTS_KEPT
            && let Some(oldest) = list.iter().position(|(_, state)| matches!(state, State::Known(_)))
        {
            list.remove(oldest);
        }
        list.push((selection.clone(), State::Claimed));
        Claim::Ours(ClaimedCut { cuts: self.clone(), selection: selection.clone() })
    }
}

impl ClaimedCut {
    /// Keeps the cut for other plans.
    pub fn keep(self, known: Known) {
        let mut list = self.cuts.list();
        if let Some((_, state)) = list.iter_mut().find(|(key, _)| *key == self.selection) {
            *state = State::Known(Box::new(known));
        }
    }
}

impl Drop for ClaimedCut {
    fn drop(&mut self) {
        self.cuts.list().retain(|(key, state)| *key != self.selection || matches!(state, State::Known(_)));
    }
}

/// By request type; all of one without a name if the range is cut out of all requests together.
pub(super) type ByType<T> = BTreeMap<RequestType, T>;

/// Sorted latencies of the requests of a selection.
struct Latencies {
    types: ByType<Vec<u64>>,
    /// Whether the range is cut out of each type; else all are taken together.
    is_by_type: bool,
    /// How the requests cover their traces.
    coverage: Coverage,
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
            latency_us: Summary::of_sorted(inside),
            latency_sum_us: inside.iter().map(|&us| u128::from(us)).sum(),
            all_latency_us: Summary::of_sorted(&all),
            histogram: LogHistogram::of_sorted(&all, HISTOGRAM_BINS),
            range_us: (least_us.0, most_us.1),
            marks: PercentileRange::PRESETS.map(|preset| self.mark(preset, &all)).to_vec(),
            types: self.types.len() as u64,
            coverage: self.coverage,
        }
    }
}

impl Workers {
    /// Collects latencies from all workers, then the keys at the ends of the range.
    pub(super) async fn find_cut(&self, selection: &Selection) -> Result<Known, EngineError> {
        let all = selection.at_any_latency();
        let mut is_by_type = !selection.over_all;
        let mut types: ByType<Vec<u64>> = BTreeMap::new();
        let pass = Pass::Latencies { selection: all.clone(), is_by_type };
        let mut coverage = Coverage::default();
        for (part, of_part) in self.partials::<(ByType<Vec<u64>>, Coverage)>(pass).await? {
            coverage.merge(&of_part);
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
        let latencies = Latencies { types, is_by_type, coverage };
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
        // Only requests as slow as the first one inside or the first one past the end can be in doubt.
        let at_ends = types.iter().map(|(name, sorted)| {
            let ranks = latencies.ranks(range, sorted);
            let ends = [ranks.start, ranks.end];
            let mut latencies_us: Vec<u64> =
                ends.iter().filter_map(|&r| sorted.get(r as usize).copied()).collect();
            latencies_us.dedup();
            (name.clone(), latencies_us)
        });
        let latencies_us = at_ends.collect();
        let pass = Pass::Ties { selection: selection.clone(), latencies_us, is_by_type: *is_by_type };
        let mut ties: ByType<Vec<RequestKey>> = BTreeMap::new();
        for part in self.partials::<ByType<Vec<RequestKey>>>(pass).await? {
            for (name, keys) in part {
                ties.entry(name).or_default().extend(keys);
            }
        }
        ties.values_mut().for_each(|keys| keys.compact_sort());
        let mut cut: ByType<Ends> = BTreeMap::new();
        for (name, sorted) in types {
            let ranks = latencies.ranks(range, sorted);
            let key_at = |rank: u64| -> Option<RequestKey> {
                let latency = *sorted.get(rank as usize)?;
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

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
