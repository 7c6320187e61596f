//! Looking for errors in the requests of a worker.

use super::part::ContextSums;
use super::{ErrorRow, ErrorTotals, ErrorsPart, Untried, Without};
use crate::flame::TimeColumn;
use crate::flame::{Contexts, Observer, PathFinder, PathTable, Reusable};
use crate::requests::{RequestEntry, RequestRef, Weighing};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::touched::Touched;
use pathlight_trace::{EndpointId, Flags, NO_ROW, Overlap, Role, TraceSet, Tree};
use std::cmp::Reverse;
use std::mem::take;

/// Endpoints of a request whose errors are taken out each for itself: those with the most time on the path. A bound,
/// since each is another look at the request.
const MOST_TRIALS: usize = 64;

/// Relation of a span to errors.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Kind {
    #[default]
    None,
    Own,
    Propagated,
    Stopped,
}

impl Kind {
    fn is_error(self) -> bool {
        matches!(self, Kind::Own | Kind::Propagated)
    }
}

/// A span of the request looked at, by its local index.
#[derive(Clone, Copy, Default)]
struct SpanFacts {
    kind: Kind,
    has_error_below: bool,
    is_waited_for: bool,
}

/// Sums the errors of the requests of one worker.
pub struct ErrorsObserver {
    overlap: Overlap,
    weighing: Weighing,
    /// Weight of the request at hand in units of 1/256: numbers and times count so often.
    units: u64,
    totals: ErrorTotals,
    without_us: TimeColumn,
    /// By endpoint.
    endpoints: Touched<ErrorRow>,
    /// By endpoint: the request that counted it last, from 1 on.
    counted: Vec<u64>,
    /// By context of the table; on the way to errors only.
    contexts: Touched<ContextSums>,
    /// The forest of the table, for the names at the end.
    forest: Vec<(u32, EndpointId)>,
    spans: Vec<SpanFacts>,
    finder: PathFinder,
    without: Without,
    /// By entry of the path: its context, and whether an error is in it or below.
    entries: Vec<(u32, bool)>,
    /// (endpoint, span) of the erroring spans that are waited for.
    gone: Vec<(u32, u32)>,
    taken: Vec<u32>,
    number: u64,
    /// Requests with more than [`MOST_TRIALS`] endpoints to try, and by endpoint those in which it was not tried.
    untried_requests: u64,
    untried: Touched<u64>,
}

impl ErrorsObserver {
    /// Returns an observer of requests of this set.
    pub fn new(set: &TraceSet, overlap: Overlap) -> ErrorsObserver {
        ErrorsObserver {
            overlap,
            weighing: Weighing::default(),
            units: 0,
            totals: ErrorTotals::default(),
            without_us: TimeColumn::default(),
            endpoints: Touched::default(),
            counted: vec![0; set.endpoints().len()],
            untried_requests: 0,
            untried: Touched::default(),
            contexts: Touched::default(),
            forest: Vec::new(),
            spans: Vec::new(),
            finder: PathFinder::default(),
            without: Without::default(),
            entries: Vec::new(),
            gone: Vec::new(),
            taken: Vec::new(),
            number: 0,
        }
    }

    /// Returns an observer of the same requests, each counted as this says.
    pub(crate) fn by(self, weighing: Weighing) -> ErrorsObserver {
        ErrorsObserver { weighing, ..self }
    }

    /// Returns a time of the request at hand, by weight.
    fn by_weight(&self, us: u64) -> u128 {
        u128::from(us) * u128::from(self.units)
    }

    /// Counts the spans of a request by what they have to do with errors.
    fn classify(&mut self, set: &TraceSet, tree: &Tree, root: u32, request: &RequestEntry) {
        let (end, units) = (tree.subtree_end[root as usize], self.units);
        self.spans.resize(self.spans.len().max(tree.len()), SpanFacts::default());
        for i in root..end {
            let is_waited_for = i == root
                || tree.role[i as usize] == Role::Sync
                    && self.spans[tree.parent[i as usize] as usize].is_waited_for;
            self.spans[i as usize] = SpanFacts { is_waited_for, ..SpanFacts::default() };
        }
        self.gone.clear();
        // Children come after their parents, so this order decides them first.
        for i in (root..end).rev() {
            if tree.role[i as usize] == Role::Dropped {
                continue;
            }
            let endpoint = set.endpoint(tree.row(i)).0;
            let is_error = set.flags(tree.row(i)).has(Flags::ERROR);
            let facts = &mut self.spans[i as usize];
            facts.kind = match (is_error, facts.has_error_below) {
                (true, false) => Kind::Own,
                (true, true) => Kind::Propagated,
                (false, true) => Kind::Stopped,
                (false, false) => Kind::None,
            };
            let facts = *facts;
            let sums = self.endpoints.at(endpoint);
            sums.spans += units;
            self.totals.spans += units;
            let by_weight_us = u128::from(tree.duration_us(i)) * u128::from(units);
            if facts.is_waited_for {
                self.totals.work_us += by_weight_us;
            }
            match facts.kind {
                Kind::None => continue,
                Kind::Own => (sums.own, self.totals.own) = (sums.own + units, self.totals.own + units),
                Kind::Propagated => {
                    (sums.propagated, self.totals.propagated) =
                        (sums.propagated + units, self.totals.propagated + units);
                }
                Kind::Stopped => {
                    (sums.stopped, self.totals.stopped) = (sums.stopped + units, self.totals.stopped + units);
                    continue;
                }
            }
            if self.counted[endpoint as usize] != self.number {
                self.counted[endpoint as usize] = self.number;
                sums.requests += units;
            }
            if facts.kind == Kind::Own
                && sums.example.as_ref().is_none_or(|kept| kept.latency_us <= request.latency_us)
            {
                sums.offer(RequestRef::of(set, request));
            }
            if facts.is_waited_for {
                self.totals.work_saved_us += by_weight_us;
                self.gone.push((endpoint, i));
            }
            if i != root {
                self.spans[tree.parent[i as usize] as usize].has_error_below = true;
            }
        }
    }

    /// Sums the path of a request with errors.
    fn observe_path(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, root: u32) {
        self.finder.find(set, tree, root, self.overlap);
        self.entries.clear();
        // Whether an entry lies in an erroring span or below one; parents come first.
        let mut inside: Vec<bool> = Vec::with_capacity(self.finder.entries().len());
        for entry in self.finder.entries() {
            let endpoint = set.endpoint(tree.row(entry.span));
            let is_error = self.spans[entry.span as usize].kind.is_error();
            let (mut context, mut is_inside) = (NO_ROW, is_error);
            if entry.parent != NO_ROW {
                context = self.entries[entry.parent as usize].0;
                is_inside |= inside[entry.parent as usize];
            }
            inside.push(is_inside);
            self.entries.push((table.find_context(context, endpoint), is_error));
            let sums = self.endpoints.at(endpoint.0);
            let by_weight_us = u128::from(entry.exclusive_us) * u128::from(self.units);
            sums.path_spans += self.units;
            sums.path_us += by_weight_us;
            if is_error {
                sums.path_errors += self.units;
                sums.path_error_us += by_weight_us;
            }
            if is_inside {
                self.totals.inside_us += by_weight_us;
            }
        }
        // Which entries lead to errors: children before their parents.
        for (i, entry) in self.finder.entries().iter().enumerate().rev() {
            if self.entries[i].1 && entry.parent != NO_ROW {
                self.entries[entry.parent as usize].1 = true;
            }
        }
        if self.entries.first().is_some_and(|entry| entry.1) {
            self.totals.path_requests += self.units;
        }
        let mut seen = Vec::new();
        for (entry, &(context, leads_to_error)) in self.finder.entries().iter().zip(&self.entries) {
            if !leads_to_error || context == NO_ROW {
                continue;
            }
            let sums = self.contexts.at(context);
            match self.spans[entry.span as usize].kind {
                Kind::None => {}
                Kind::Own => sums.own += self.units,
                Kind::Propagated => sums.propagated += self.units,
                Kind::Stopped => sums.stopped += self.units,
            }
            if self.spans[entry.span as usize].kind.is_error() {
                sums.error_us += u128::from(entry.exclusive_us) * u128::from(self.units);
            }
            seen.push(context);
        }
        seen.sort_unstable();
        seen.dedup();
        for context in seen {
            self.contexts.at(context).requests += self.units;
        }
    }

    /// Returns the request without its erroring spans, all of them and those of one endpoint at a time.
    fn take_out(&mut self, set: &TraceSet, tree: &Tree, root: u32, latency_us: u64) -> u64 {
        self.gone.compact_sort();
        self.taken.clear();
        self.taken.extend(self.gone.iter().map(|&(_, span)| span));
        let without_us = self.without.take_out(tree, root, self.overlap, &self.taken);
        // What is off the path costs nothing: only endpoints with errors on it are tried.
        let mut tried: Vec<(Reverse<u64>, u32)> = Vec::new();
        for entry in self.finder.entries() {
            if self.spans[entry.span as usize].kind.is_error() {
                tried.push((Reverse(entry.exclusive_us), set.endpoint(tree.row(entry.span)).0));
            }
        }
        tried.compact_sort_by_key(|&(_, endpoint)| endpoint);
        tried.dedup_by(|from, into| {
            let is_same = from.1 == into.1;
            into.0.0 += if is_same { from.0.0 } else { 0 };
            is_same
        });
        tried.compact_sort_by(|a, b| {
            let name = |endpoint| set.endpoint_name(EndpointId(endpoint));
            a.0.cmp(&b.0).then_with(|| name(a.1).cmp(&name(b.1)))
        });
        self.untried_requests += u64::from(tried.len() > MOST_TRIALS);
        for (_, endpoint) in tried.drain(tried.len().min(MOST_TRIALS)..) {
            *self.untried.at(endpoint) += 1;
        }
        let path = self.without.moved(tree, root);
        if path.role[root as usize] != Role::Dropped {
            self.finder.find(set, path, root, self.overlap);
            for entry in self.finder.entries() {
                let endpoint = set.endpoint(tree.row(entry.span)).0;
                self.endpoints.at(endpoint).without_path_us +=
                    u128::from(entry.exclusive_us) * u128::from(self.units);
            }
        }
        for (_, endpoint) in tried {
            let from = self.gone.partition_point(|&(e, _)| e < endpoint);
            let to = self.gone.partition_point(|&(e, _)| e <= endpoint);
            let alone_us = if to - from == self.gone.len() {
                without_us
            } else {
                self.without.take_out(tree, root, self.overlap, &self.taken[from..to])
            };
            let saved_us = self.by_weight(latency_us - alone_us.min(latency_us));
            self.endpoints.at(endpoint).saved_us += saved_us;
        }
        without_us.min(latency_us)
    }
}

impl Observer for ErrorsObserver {
    /// The errors that summaries keep, in units of 1/256; the endpoints that were not tried; and latencies without the spans in
    /// error.
    type Part = (ErrorsPart, Untried, TimeColumn);

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let facts = &table.requests[request as usize];
        let root = facts.row - tree.first;
        self.number += 1;
        let weight = self.weighing.weight(set, facts);
        self.units = weight.units().into();
        self.classify(set, tree, root, facts);
        let mut without_us = facts.latency_us;
        if facts.errors == 0 {
            for entry in table.entries(request) {
                let endpoint = table.contexts()[entry.context as usize].1.0;
                let sums = self.endpoints.at(endpoint);
                let by_weight_us = u128::from(entry.exclusive_us) * u128::from(self.units);
                sums.path_spans += u64::from(entry.spans) * self.units;
                sums.path_us += by_weight_us;
                sums.without_path_us += by_weight_us;
            }
        } else {
            self.totals.requests += self.units;
            self.observe_path(set, table, tree, root);
            without_us = self.take_out(set, tree, root, facts.latency_us);
            if self.spans[root as usize].kind.is_error() {
                self.totals.failed_requests += self.units;
                self.totals.failed_us += self.by_weight(facts.latency_us);
            }
        }
        self.totals.saved_us += self.by_weight(facts.latency_us - without_us);
        self.without_us.push(without_us, weight);
        if self.forest.len() < table.contexts().len() {
            self.forest = table.contexts().to_vec();
        }
    }

    fn finish(mut self, set: &TraceSet) -> Self::Part {
        self.take(set)
    }
}

impl Reusable for ErrorsObserver {
    fn take(&mut self, set: &TraceSet) -> Self::Part {
        let name = |endpoint: u32| set.owned_endpoint(EndpointId(endpoint));
        let untried = self.untried.take().into_iter().map(|(of, requests)| (name(of), requests));
        let untried = Untried { requests: take(&mut self.untried_requests), endpoints: untried.collect() };
        let endpoints = self.endpoints.take().into_iter().filter(|(_, sums)| sums.spans > 0);
        let part = ErrorsPart {
            totals: take(&mut self.totals),
            endpoints: endpoints.map(|(of, sums)| (name(of), sums)).collect(),
            contexts: Contexts::of_forest(set, &self.forest, self.contexts.take()),
        };
        (part, untried, take(&mut self.without_us).packed())
    }
}
