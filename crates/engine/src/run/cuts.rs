//! What plans over the same data share: cuts, and what else one of them has found out.

use super::apart::Connections;
use super::latencies::Latencies;
use crate::requests::{Cut, GroupBy, RangeFacts, Selection, TypeFacts, TypeNames};
use crate::summaries::joined::Joined;
use crate::verdict::Subject;
use crate::verdict::hit::Limits;
use pathlight_base::encoding::Packed;
use pathlight_trace::{PlaceFacts, PlaceNames, Reading};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Cuts that are kept: those of both sides of a comparison, and of some ranges and filters looked at before.
pub(crate) const CUTS_KEPT: usize = 16;

/// Selections whose latencies are kept: both sides of a comparison and one more.
pub(crate) const LATENCIES_KEPT: usize = 3;

/// A cut, and what lies inside.
pub(crate) type Known = (Cut, RangeFacts);

/// What was found out for each key, most recently used last; `None` while a plan is finding it out.
type FoundList<K, V> = Vec<(K, Option<V>)>;

/// What plans have found out; the last `MOST`. While one is finding something out, the others wait for it
/// ([`once`](super::workers::Workers::once)).
pub(crate) struct Found<K, V, const MOST: usize = CUTS_KEPT>(Arc<Mutex<FoundList<K, V>>>);

/// What a plan may do that needs something.
pub(crate) enum Claim<K: PartialEq, V, const MOST: usize> {
    /// Use it.
    Known(V),
    /// Find it out.
    Ours(Claimed<K, V, MOST>),
    /// Wait: another plan is finding it out.
    Others,
}

/// The place of what a plan is finding out. It becomes free if the plan ends before.
pub(crate) struct Claimed<K: PartialEq, V, const MOST: usize> {
    found: Found<K, V, MOST>,
    key: K,
}

impl<K, V, const MOST: usize> Default for Found<K, V, MOST> {
    fn default() -> Self {
        Found(Arc::default())
    }
}

impl<K, V, const MOST: usize> Clone for Found<K, V, MOST> {
    fn clone(&self) -> Self {
        Found(Arc::clone(&self.0))
    }
}

impl<K, V, const MOST: usize> Found<K, V, MOST> {
    pub(crate) fn list(&self) -> MutexGuard<'_, FoundList<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: PartialEq + Clone, V: Clone, const MOST: usize> Found<K, V, MOST> {
    /// Looks something up, or claims its place.
    pub(crate) fn claim(&self, key: &K) -> Claim<K, V, MOST> {
        let mut list = self.list();
        if let Some(at) = list.iter().position(|(known, _)| known == key) {
            let found = list.remove(at);
            let claim = found.1.clone().map_or(Claim::Others, Claim::Known);
            list.push(found);
            return claim;
        }
        let known = list.iter().filter(|(_, value)| value.is_some()).count();
        if known >= MOST
            && let Some(oldest) = list.iter().position(|(_, value)| value.is_some())
        {
            list.remove(oldest);
        }
        list.push((key.clone(), None));
        Claim::Ours(Claimed { found: self.clone(), key: key.clone() })
    }
}

impl<K: PartialEq, V, const MOST: usize> Claimed<K, V, MOST> {
    /// Keeps what was found for other plans.
    pub fn keep(self, value: V) {
        if let Some((_, found)) = self.found.list().iter_mut().find(|(key, _)| *key == self.key) {
            *found = Some(value);
        }
    }
}

impl<K: PartialEq, V, const MOST: usize> Drop for Claimed<K, V, MOST> {
    fn drop(&mut self) {
        self.found.list().retain(|(key, value)| *key != self.key || value.is_some());
    }
}

/// What is known of some data, shared by all plans over it. A new state of the data needs a new one: [`Cuts::default`].
#[derive(Clone, Default)]
pub struct Cuts {
    /// Percentile ranges, and what lies inside.
    pub(crate) ranges: Found<Selection, Known>,
    /// Latencies by type, for any percentile range.
    pub(crate) latencies: Found<Selection, Arc<Latencies>, LATENCIES_KEPT>,
    /// What decides over the names of places.
    pub(crate) places: Found<(), Arc<PlaceFacts>>,
    /// Facts about links.
    pub(crate) connections: Found<(), Arc<Connections>>,
    /// What places are called.
    pub(crate) place_names: Found<Reading, Arc<Packed<PlaceNames>>>,
    /// What decides over request types: names of calls are part of it.
    pub(crate) type_facts: Found<Reading, Arc<TypeFacts>>,
    /// How requests are grouped into types.
    pub(crate) type_names: Found<(Reading, GroupBy), Arc<Packed<TypeNames>>>,
    /// How long subjects usually take, by the requests that say so.
    pub(crate) limits: Found<(Subject, Selection), Limits>,
    /// The summaries of all workers, joined.
    pub(crate) summaries: Found<(), Arc<Joined>>,
    /// Whether any worker may have one.
    pub(crate) has_summaries: bool,
}

impl Cuts {
    /// Creates cuts of which nothing is known yet, of data among which are summaries or not.
    pub(crate) fn of_data(has_summaries: bool) -> Cuts {
        Cuts { has_summaries, ..Cuts::default() }
    }
}
