//! Which of the spans that a span names is its parent.

use pathlight_trace::{Flags, Interner, SpanId, SpanReference, several_parents};

/// The spans of its trace that a span names (`docs/definitions/critical-path.md` section 1).
#[derive(Default)]
pub(crate) struct ParentChoice {
    child_of: Option<SpanId>,
    named: Option<SpanId>,
    follows: Option<SpanId>,
    /// Further references.
    more: Vec<SpanReference>,
}

impl ParentChoice {
    /// Adds a reference within the trace.
    pub fn reference(&mut self, id: SpanId, follows_from: bool) {
        let slot = if follows_from { &mut self.follows } else { &mut self.child_of };
        match slot {
            _ if id.is_none() => {}
            None => *slot = Some(id),
            Some(first) if *first == id => {}
            Some(_) => self.more.push(SpanReference { id, follows_from }),
        }
    }

    /// Takes the id of a field that names the parent.
    pub fn named(&mut self, id: SpanId) {
        self.named = Some(id).filter(|id| !id.is_none());
    }

    /// Returns whether several spans are named, so that the parent is known once the trace is whole.
    pub fn is_several(&self) -> bool {
        let child_of = self.child_of.or(self.named);
        let is_other = |id: Option<SpanId>| id.is_some() && id != child_of;
        !self.more.is_empty() || is_other(self.named) || child_of.is_some() && is_other(self.follows)
    }

    /// Returns the references that say `FOLLOWS_FROM` of a span that names several: all but one of them are links.
    pub fn other_follows(&self) -> impl Iterator<Item = SpanId> + '_ {
        let more = self.more.iter().filter(|of| of.follows_from).map(|of| of.id);
        self.follows.into_iter().chain(more).filter(|_| self.is_several())
    }

    /// Returns the parent, absent for a root; sets the flags that go with it.
    pub fn choose(self, flags: &mut Flags, texts: &mut Interner) -> SpanId {
        if self.is_several() {
            flags.set(Flags::SEVERAL_PARENTS, true);
            return several_parents(&self.in_order(), texts);
        }
        match (self.child_of.or(self.named), self.follows) {
            (Some(parent), _) => parent,
            (None, Some(parent)) => {
                flags.set(Flags::FOLLOWS_FROM, true);
                parent
            }
            (None, None) => SpanId::NONE,
        }
    }

    /// Returns all references in the order in which they count: those that say `FOLLOWS_FROM` come last.
    fn in_order(self) -> Vec<SpanReference> {
        let first = |id: Option<SpanId>, follows_from| id.map(|id| SpanReference { id, follows_from });
        let more = |follows_from| self.more.iter().copied().filter(move |of| of.follows_from == follows_from);
        let child_of = first(self.child_of, false).into_iter().chain(more(false));
        let follows = first(self.follows, true).into_iter().chain(more(true));
        let mut all: Vec<SpanReference> = Vec::new();
        for reference in child_of.chain(first(self.named, false)).chain(follows) {
            if all.iter().all(|known| known.id != reference.id) {
                all.push(reference);
            }
        }
        all
    }
}
