//! The critical path of a request until everything is done: from what ends last back to what sent it, and so on to the
//! request.

use super::follow::{Follower, Unit};
use crate::flame::PathFinder;
use pathlight_trace::{PathSettings, Role, TraceSet, Tree};

/// A message on the path: the time from the end of what sent it to the start of what received it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct QueuedMessage {
    /// Row of the span that sent it.
    pub sender: u32,
    /// Row of the span that received it.
    pub receiver: u32,
    /// Start in microseconds: when it was sent.
    pub start_us: u64,
    /// End in microseconds: when it was received.
    pub end_us: u64,
    /// Index of the entry of the sender on the part of the path before; if it is not on that, of the span around it.
    pub entry: u32,
}

/// Spans that wait for each other, on the path or not.
pub(crate) struct PathUnit<'a> {
    /// The tree of its spans.
    pub tree: &'a Tree,
    /// The span that waits for all others.
    pub top: u32,
    /// The span that has sent what it does, with its tree; `None` for the request itself.
    pub sent_by: Option<(&'a Tree, u32)>,
    /// What has found the part of the path in it, if there is one.
    pub finder: Option<&'a PathFinder>,
}

/// A part of the path within the spans that wait for each other.
pub(crate) struct PathPart<'a> {
    /// The tree of its spans.
    pub tree: &'a Tree,
    /// What has found it.
    pub finder: &'a PathFinder,
    /// The message that it began with; `None` for the request itself.
    pub message: Option<QueuedMessage>,
}

/// A part of the path before it is walked.
struct Stretch {
    unit: u32,
    /// The innermost span where it ends.
    last: u32,
    end_us: u64,
    message: Option<QueuedMessage>,
}

/// Finds the paths of requests until everything is done; keeps its memory from request to request.
pub(crate) struct DonePath {
    follower: Follower,
    settings: PathSettings,
    /// In order of time.
    stretches: Vec<Stretch>,
    /// One for each of them, and some from before.
    finders: Vec<PathFinder>,
    end_us: u64,
}

impl DonePath {
    /// Returns a finder for requests of this set; `apart` are traces, ascending, out of which and into which no link is
    /// followed.
    pub fn new(set: &TraceSet, settings: PathSettings, apart: Vec<u32>) -> DonePath {
        DonePath {
            follower: Follower::new(set, settings, apart),
            settings,
            stretches: Vec::new(),
            finders: Vec::new(),
            end_us: 0,
        }
    }

    /// Returns when everything that the request leads to is done, in microseconds since the epoch.
    pub fn end_us(&self) -> u64 {
        self.end_us
    }

    /// Returns whether not all that it leads to was followed.
    pub fn is_cut(&self) -> bool {
        self.follower.is_cut()
    }

    /// Finds the path of the request at `root` of a tree.
    pub fn find(&mut self, set: &TraceSet, own: &Tree, root: u32) {
        self.follower.follow(set, own, root);
        let units = self.follower.units();
        let end = |unit: usize| self.follower.tree(own, &units[unit]).end_us[units[unit].top as usize];
        // Of equal ends the first, which is the request if it is one of them.
        let mut last = 0;
        (1..units.len()).for_each(|unit| last = if end(unit) > end(last) { unit } else { last });
        self.end_us = end(last);
        self.stretches.clear();
        let least_us = own.start_us[root as usize];
        let (mut unit, mut span, mut end_us) = (last as u32, units[last].top, self.end_us);
        loop {
            let of = units[unit as usize];
            self.stretches.push(Stretch { unit, last: span, end_us, message: None });
            let Some((before, sender)) = of.sender else { break };
            let tree = self.follower.tree(own, &of);
            let received_us = tree.start_us[of.top as usize].clamp(least_us, end_us.max(least_us));
            let above = units[before as usize];
            let sending = self.follower.tree(own, &above);
            span = around(sending, above.top, sender, received_us);
            end_us = sending.end_us[span as usize].min(received_us).max(least_us);
            if let Some(stretch) = self.stretches.last_mut() {
                stretch.message = Some(QueuedMessage {
                    sender: sending.row(sender),
                    receiver: tree.row(of.top),
                    start_us: end_us,
                    end_us: received_us,
                    entry: 0,
                });
            }
            unit = before;
        }
        self.stretches.reverse();
        self.finders.resize_with(self.finders.len().max(self.stretches.len()), PathFinder::default);
        if let [_] = self.stretches.as_slice() {
            self.finders[0].find(set, own, root, self.settings.overlap);
            return;
        }
        let mut chain = Vec::new();
        let mut entry = 0;
        for (stretch, finder) in self.stretches.iter_mut().zip(&mut self.finders) {
            if let Some(message) = &mut stretch.message {
                message.entry = entry;
            }
            let of = units[stretch.unit as usize];
            let tree = self.follower.tree(own, &of);
            chain.clear();
            let mut at = stretch.last;
            while at != of.top {
                chain.push(at);
                at = tree.parent[at as usize];
            }
            chain.push(of.top);
            chain.reverse();
            // The entries of the chain come first.
            entry = chain.len() as u32 - 1;
            finder.find_within(set, tree, &chain, (least_us, stretch.end_us), self.settings.overlap);
        }
    }

    /// Returns all that the request leads to, itself first, as far as it was followed.
    pub fn units<'a>(&'a self, own: &'a Tree) -> impl Iterator<Item = PathUnit<'a>> {
        self.follower.units().iter().zip(0..).map(move |(unit, number)| {
            // A unit comes after what sent it, so they ascend.
            let stretch = self.stretches.binary_search_by_key(&number, |stretch| stretch.unit);
            let finder = stretch.ok().map(|place| &self.finders[place]);
            let tree = |of: &Unit| self.follower.tree(own, of);
            let units = self.follower.units();
            let sent_by = unit.sender.map(|(from, sender)| (tree(&units[from as usize]), sender));
            PathUnit { tree: tree(unit), top: unit.top, sent_by, finder }
        })
    }

    /// Returns the parts of the path that was found last, in order of time; `own` is the tree of the request.
    pub fn parts<'a>(&'a self, own: &'a Tree) -> impl Iterator<Item = PathPart<'a>> {
        let units = self.follower.units();
        self.stretches.iter().zip(&self.finders).map(move |(stretch, finder)| PathPart {
            tree: self.follower.tree(own, &units[stretch.unit as usize]),
            finder,
            message: stretch.message,
        })
    }
}

/// Returns the span around one that sends, or itself: the nearest that is waited for and had begun at a time; if none had, the
/// top.
pub(crate) fn around(tree: &Tree, top: u32, mut span: u32, at_us: u64) -> u32 {
    let is_part = |span: u32| {
        !matches!(tree.role[span as usize], Role::Dropped | Role::Overlay)
            && tree.start_us[span as usize] <= at_us
    };
    while span != top && !is_part(span) {
        span = tree.parent[span as usize];
    }
    span
}
