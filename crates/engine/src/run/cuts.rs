//! The cuts that are known, and what else plans over the same data share.

use super::apart::Connections;
use crate::requests::{Cut, RangeFacts, Selection, TypeFacts};
use crate::summaries::joined::Joined;
use crate::verdict::Subject;
use crate::verdict::hit::Limits;
use pathlight_trace::{PlaceFacts, Reading};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Cuts that are kept: those of both sides of a comparison, and of some ranges and filters looked at before.
pub(crate) const CUTS_KEPT: usize = 16;

/// A cut, and what lies inside.
pub(crate) type Known = (Cut, RangeFacts);

/// What decides over request types, by reading.
type TypesKnown = Vec<(Reading, Arc<TypeFacts>)>;

/// How long a subject usually takes, in some requests.
type LimitsKnown = Vec<((Subject, Selection), Limits)>;

/// The cuts that are known of some data, and what its places are called, shared by all plans over it. A new state of the
/// data needs new ones: [`Cuts::default`].
#[derive(Clone, Default)]
pub struct Cuts {
    list: Arc<Mutex<Vec<(Selection, State)>>>,
    /// What decides over the names of places, once it is known.
    places: Arc<OnceLock<PlaceFacts>>,
    /// Facts about links, once they are known.
    connections: Arc<OnceLock<Connections>>,
    /// What decides over request types, by reading, since names of calls are part of it.
    types: Arc<Mutex<TypesKnown>>,
    /// How long subjects usually take, by the requests that say so.
    limits: Arc<Mutex<LimitsKnown>>,
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
    Ours(ClaimedCut),
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

    /// Returns what decides over request types under a reading, if a plan has found it out.
    pub(crate) fn types(&self, reading: Reading) -> Option<Arc<TypeFacts>> {
        let known = self.types.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(of, _)| *of == reading).map(|(_, facts)| Arc::clone(facts))
    }

    /// Keeps what decides over request types; of several that have found it out, all have found the same.
    pub(crate) fn keep_types(&self, reading: Reading, facts: TypeFacts) -> Arc<TypeFacts> {
        let mut known = self.types.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, facts)) = known.iter().find(|(of, _)| *of == reading) {
            return Arc::clone(facts);
        }
        let facts = Arc::new(facts);
        known.push((reading, Arc::clone(&facts)));
        facts
    }

    /// Returns how long a subject usually takes in some requests, if a plan has found it out.
    pub(crate) fn limits(&self, of: &(Subject, Selection)) -> Option<Limits> {
        let known = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(key, _)| key == of).map(|(_, limits)| limits.clone())
    }

    /// Keeps how long a subject usually takes; of several plans that have found it out, all have found the same.
    pub(crate) fn keep_limits(&self, of: (Subject, Selection), limits: Limits) -> Limits {
        let mut known = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= CUTS_KEPT {
            known.remove(0);
        }
        known.push((of, limits.clone()));
        limits
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
