//! One trace with sanitised intervals (`docs/definitions/critical-path.md` section 2; paper section 5.2).

use super::quality::Quality;
use super::set::{EndpointId, NO_ROW, TraceSet};
use super::span::{Flags, SpanKind};

/// What a span is to its parent after sanitising.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// No parent in the trace.
    #[default]
    Root,
    /// The parent waits for it; its interval lies inside the parent's.
    Sync,
    /// The parent does not wait (`FOLLOWS_FROM`, or a consumer below its producer); its interval is its own.
    Async,
    /// Wholly outside its parent, or below such a span: part of nothing.
    Dropped,
}

/// A sanitised trace. Indices are local: span `i` is row `first + i` of the set, in pre-order, so the subtree of `i` is
/// `i..subtree_end[i]`.
#[derive(Default, Clone, Debug)]
pub struct Tree {
    /// The trace's number in its set.
    pub trace: u32,
    /// Row of span 0.
    pub first: u32,
    /// Local index of the parent, [`NO_ROW`] for a root.
    pub parent: Vec<u32>,
    /// One past the last span of the subtree.
    pub subtree_end: Vec<u32>,
    /// Sanitised start in microseconds.
    pub start_us: Vec<u64>,
    /// Sanitised end in microseconds.
    pub end_us: Vec<u64>,
    /// Role of every span.
    pub role: Vec<Role>,
}

impl Tree {
    /// Sanitises a trace of `set`, reusing this tree's memory.
    pub fn load(&mut self, set: &TraceSet, trace: u32) {
        self.begin(set, trace);
        while !self.step(set, usize::MAX, &mut |_| {}) {}
    }

    /// Like [`load`](Self::load), adding what was found to `quality`.
    pub fn load_counting(&mut self, set: &TraceSet, trace: u32, quality: &mut Quality) {
        self.begin(set, trace);
        while !self.step(set, usize::MAX, &mut |event| quality.observe(event)) {}
        quality.observe_trace(set, self);
    }

    /// Starts a resumable load; call [`step`](Self::step) until it returns true.
    pub fn begin(&mut self, set: &TraceSet, trace: u32) {
        let row = set.traces()[trace as usize];
        self.trace = trace;
        self.first = row.first;
        self.parent.clear();
        self.subtree_end.clear();
        self.start_us.clear();
        self.end_us.clear();
        self.role.clear();
        let n = row.len();
        self.parent.reserve(n);
        self.subtree_end.reserve(n);
        self.start_us.reserve(n);
        self.end_us.reserve(n);
        self.role.reserve(n);
    }

    /// Sanitises up to `spans` more spans; true when all are done.
    pub fn step(&mut self, set: &TraceSet, spans: usize, on: &mut impl FnMut(Event)) -> bool {
        let n = set.traces()[self.trace as usize].len();
        let from = self.parent.len();
        let to = n.min(from.saturating_add(spans));
        for i in from..to {
            self.push(set, i, on);
        }
        if to < n {
            return false;
        }
        // Pre-order: a subtree ends where that of its last child ends; children come after their parent.
        for i in (0..n).rev() {
            let parent = self.parent[i];
            if parent != NO_ROW {
                let parent = parent as usize;
                self.subtree_end[parent] = self.subtree_end[parent].max(self.subtree_end[i]);
            }
        }
        true
    }

    fn push(&mut self, set: &TraceSet, i: usize, on: &mut impl FnMut(Event)) {
        let row = self.first + i as u32;
        let (mut start, duration) = (set.start_us(row), set.duration_us(row));
        let mut end = start + duration;
        let parent_row = set.parent(row);
        self.subtree_end.push(i as u32 + 1);
        let role = if parent_row == NO_ROW {
            self.parent.push(NO_ROW);
            Role::Root
        } else {
            let parent = (parent_row - self.first) as usize;
            self.parent.push(parent as u32);
            let (ps, pe) = (self.start_us[parent], self.end_us[parent]);
            let flags = set.flags(row);
            if self.role[parent] == Role::Dropped {
                on(Event::Dropped { is_top: false });
                Role::Dropped
            } else if flags.has(Flags::FOLLOWS_FROM)
                || flags.kind() == SpanKind::Consumer && set.kind(parent_row) == SpanKind::Producer
            {
                on(Event::Async);
                Role::Async
            } else if (end <= ps || start >= pe) && !(start == end && (start == ps || start == pe)) {
                on(Event::Dropped { is_top: true });
                Role::Dropped
            } else {
                if start < ps || end > pe {
                    let clipped_us = ps.saturating_sub(start) + end.saturating_sub(pe);
                    (start, end) = (start.max(ps), end.min(pe));
                    on(Event::Clipped { clipped_us });
                }
                Role::Sync
            }
        };
        self.start_us.push(start);
        self.end_us.push(end);
        self.role.push(role);
    }

    /// Number of spans, dropped ones included.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether nothing is loaded.
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// Row of a span in the set.
    pub fn row(&self, i: u32) -> u32 {
        self.first + i
    }

    /// The parent of a span; `None` for a root.
    pub fn parent_of(&self, i: u32) -> Option<u32> {
        let parent = self.parent[i as usize];
        (parent != NO_ROW).then_some(parent)
    }

    /// Sanitised duration in microseconds.
    pub fn duration_us(&self, i: u32) -> u64 {
        self.end_us[i as usize] - self.start_us[i as usize]
    }

    /// All children of a span, whatever their role, by raw start.
    pub fn children(&self, i: u32) -> impl Iterator<Item = u32> {
        let end = self.subtree_end[i as usize];
        let mut at = i + 1;
        std::iter::from_fn(move || {
            let child = (at < end).then_some(at)?;
            at = self.subtree_end[child as usize];
            Some(child)
        })
    }

    /// The children a span waits for.
    pub fn sync_children(&self, i: u32) -> impl Iterator<Item = u32> {
        self.children(i).filter(|&c| self.role[c as usize] == Role::Sync)
    }

    /// The requests of the trace: its trace root, or with an endpoint every topmost span of it (dropped ones have none).
    pub fn requests(&self, set: &TraceSet, endpoint: Option<EndpointId>, out: &mut Vec<u32>) {
        out.clear();
        let Some(endpoint) = endpoint else {
            out.extend((!self.is_empty()).then_some(0));
            return;
        };
        let mut i = 0;
        while (i as usize) < self.len() {
            if self.role[i as usize] == Role::Dropped {
                i = self.subtree_end[i as usize];
            } else if set.endpoint(self.row(i)) == endpoint {
                out.push(i);
                i = self.subtree_end[i as usize];
            } else {
                i += 1;
            }
        }
    }
}

/// What sanitising did to one span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Cut to its parent.
    Clipped {
        /// Microseconds cut off.
        clipped_us: u64,
    },
    /// Left out, as the top of its subtree or within one.
    Dropped {
        /// Whether the subtree starts here.
        is_top: bool,
    },
    /// Found to be asynchronous.
    Async,
}
