//! The cuts that are known, and what else plans over the same data share.

use super::apart::Connections;
use super::pass::Packed;
use crate::requests::{Cut, GroupBy, RangeFacts, Selection, TypeFacts, TypeNames};
use crate::summaries::joined::Joined;
use crate::verdict::Subject;
use crate::verdict::hit::Limits;
use pathlight_trace::{PlaceFacts, PlaceNames, Reading};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Cuts that are kept: those of both sides of a comparison, and of some ranges and filters looked at before.
pub(crate) const CUTS_KEPT: usize = 16;

/// A cut, and what lies inside.
pub(crate) type Known = (Cut, RangeFacts);

/// What plans have found out, by what it was found for; the last [`CUTS_KEPT`]. Of several plans that have found it out, all
/// have found the same.
pub(crate) struct Found<K, V>(Arc<Mutex<Vec<(K, V)>>>);

impl<K, V> Default for Found<K, V> {
    fn default() -> Found<K, V> {
        Found(Arc::default())
    }
}

impl<K, V> Clone for Found<K, V> {
    fn clone(&self) -> Found<K, V> {
        Found(Arc::clone(&self.0))
    }
}

impl<K: PartialEq, V: Clone> Found<K, V> {
    /// Returns what was found, if a plan has.
    pub fn get(&self, key: &K) -> Option<V> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.iter().find(|(of, _)| of == key).map(|(_, value)| value.clone())
    }

    /// Keeps it for other plans.
    pub fn keep(&self, key: K, value: V) -> V {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.retain(|(of, _)| *of != key);
        if found.len() >= CUTS_KEPT {
            found.remove(0);
        }
        found.push((key, value.clone()));
        value
    }
}

/// The cuts that are known of some data, and what its places are called, shared by all plans over it. A new state of the
/// data needs new ones: [`Cuts::default`].
#[derive(Clone, Default)]
pub struct Cuts {
    list: Arc<Mutex<Vec<(Selection, State)>>>,
    /// What decides over the names of places, once it is known.
    places: Arc<OnceLock<PlaceFacts>>,
    /// Facts about links, once they are known.
    connections: Arc<OnceLock<Connections>>,
    /// What places are called.
    pub(crate) place_names: Found<Reading, Arc<Packed<PlaceNames>>>,
    /// What decides over request types: names of calls are part of it.
    pub(crate) type_facts: Found<Reading, Arc<TypeFacts>>,
    /// How requests are grouped into types.
    pub(crate) type_names: Found<(Reading, GroupBy), Arc<Packed<TypeNames>>>,
    /// How long subjects usually take, by the requests that say so.
    pub(crate) limits: Found<(Subject, Selection), Limits>,
    /// The summaries of all workers, once they are joined.
    summaries: Arc<OnceLock<Arc<Joined>>>,
    /// Whether any worker may have one.
    pub(crate) has_summaries: bool,
}

pub(crate) enum State {
    /// A plan is computing it.
    Claimed,
    Known(Box<Known>),
}

/// What a plan may do that needs a cut.
pub(crate) enum Claim {
    /// Use it.
    Known(Box<Known>),
    /// Compute it.
    Ours(Box<ClaimedCut>),
    /// Wait: another plan is computing it.
    Others,
}

/// The place of a cut that a plan is computing. It becomes free if the plan ends before.
pub(crate) struct ClaimedCut {
    cuts: Cuts,
    selection: Selection,
}

impl Cuts {
    pub(crate) fn list(&self) -> MutexGuard<'_, Vec<(Selection, State)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what decides over the names of places, if a plan has found it out.
    pub(crate) fn places(&self) -> Option<&PlaceFacts> {
        self.places.get()
    }

    /// Keeps what decides over the names of places; of several plans that have found it out, all have found the same.
    pub(crate) fn keep_places(&self, facts: PlaceFacts) -> &PlaceFacts {
        self.places.get_or_init(|| facts)
    }

    /// Returns facts about links, if a plan has found them.
    pub(crate) fn connections(&self) -> Option<&Connections> {
        self.connections.get()
    }

    /// Keeps facts about links; of several plans that have found them, all have found the same.
    pub(crate) fn keep_connections(&self, connections: Connections) -> &Connections {
        self.connections.get_or_init(|| connections)
    }

    /// Creates cuts of which nothing is known yet, of data among which are summaries or not.
    pub(crate) fn of_data(has_summaries: bool) -> Cuts {
        Cuts { has_summaries, ..Cuts::default() }
    }

    /// Returns the summaries of all workers, if a plan has joined them.
    pub(crate) fn summaries(&self) -> Option<Arc<Joined>> {
        self.summaries.get().cloned()
    }

    /// Keeps the summaries of all workers; of several plans that have joined them, all have the same.
    pub(crate) fn keep_summaries(&self, joined: Joined) -> Arc<Joined> {
        Arc::clone(self.summaries.get_or_init(|| Arc::new(joined)))
    }

    /// Looks a cut up, or claims its place.
    pub(crate) fn claim(&self, selection: &Selection) -> Claim {
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
        Claim::Ours(Box::new(ClaimedCut { cuts: self.clone(), selection: selection.clone() }))
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
