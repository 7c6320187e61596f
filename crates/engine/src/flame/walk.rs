//! Looking at the whole trees of requests, not only at their paths, in resumable steps.

use super::PathTable;
use pathlight_trace::{PathSettings, TraceSet, Tree};
use serde::Serialize;

/// Spans handled between two looks at the clock.
const CHUNK: usize = 8192;

/// Sees requests one by one and becomes a partial result.
pub trait Observer {
    /// Partial result that it becomes; merges with others of its kind.
    type Part: Serialize;

    /// Takes note of a request of `table`; `tree` is that of its trace.
    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32);

    /// Returns the partial result after the last request; `set` holds what was observed.
    fn finish(self, set: &TraceSet) -> Self::Part;
}

/// An observer that can begin anew, without a look at what it has not touched.
pub trait Reusable: Observer {
    /// Returns the partial result of what it has observed since it began, and begins anew.
    fn take(&mut self, set: &TraceSet) -> Self::Part;
}

impl<A: Reusable, B: Reusable> Reusable for (A, B) {
    fn take(&mut self, set: &TraceSet) -> Self::Part {
        (self.0.take(set), self.1.take(set))
    }
}

/// Two that look at the same requests.
impl<A: Observer, B: Observer> Observer for (A, B) {
    type Part = (A::Part, B::Part);

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        self.0.observe(set, table, tree, request);
        self.1.observe(set, table, tree, request);
    }

    fn finish(self, set: &TraceSet) -> Self::Part {
        (self.0.finish(set), self.1.finish(set))
    }
}

/// Shows requests with their trees to an observer.
pub struct Walk<O> {
    observer: O,
    requests: Vec<u32>,
    next: usize,
    tree: Tree,
    settings: PathSettings,
    is_loading: bool,
}

impl<O: Observer> Walk<O> {
    /// Returns a walk over some requests of a worker's table, which was built with the same settings.
    pub fn new(observer: O, settings: PathSettings, requests: Vec<u32>) -> Walk<O> {
        let requests = in_order(requests);
        Walk { observer, requests, next: 0, tree: Tree::default(), settings, is_loading: false }
    }

    /// Returns the requests done and requests in all.
    pub fn progress(&self) -> (u64, u64) {
        (self.next as u64, self.requests.len() as u64)
    }

    /// Works until done (true) or until `time_is_up`.
    pub fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        let mut left = CHUNK;
        while let Some(&request) = self.requests.get(self.next) {
            if left == 0 {
                if time_is_up() {
                    return false;
                }
                left = CHUNK;
            }
            let facts = &table.requests[request as usize];
            if self.is_loading || self.tree.is_empty() || self.tree.trace != facts.trace {
                if !self.is_loading {
                    self.tree.begin(set, facts.trace, self.settings, table.roots);
                }
                let before = self.tree.len();
                self.is_loading = !self.tree.step(set, left);
                left = left.saturating_sub(self.tree.len() - before);
                if self.is_loading {
                    continue;
                }
            }
            self.observer.observe(set, table, &self.tree, request);
            left = left.saturating_sub(facts.spans.max(1) as usize);
            self.next += 1;
        }
        true
    }

    /// Returns what the observer became.
    pub fn finish(self, set: &TraceSet) -> O::Part {
        self.observer.finish(set)
    }
}

impl<O: Reusable> Walk<O> {
    /// Walks over other requests of the same table, and returns what their observer became.
    pub fn over(&mut self, requests: Vec<u32>, set: &TraceSet, table: &PathTable) -> O::Part {
        (self.requests, self.next) = (in_order(requests), 0);
        while !self.step(set, table, &mut || false) {}
        self.observer.take(set)
    }
}

/// Returns requests in the order of traces, so that a tree is loaded once.
fn in_order(mut requests: Vec<u32>) -> Vec<u32> {
    requests.sort_unstable();
    requests
}
