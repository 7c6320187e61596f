//! The critical calling contexts of all requests of a worker, one row per (request, context).

use super::done::{DonePath, QueueNames};
use super::waits::{WaitFinder, join_waits};
use super::{PathFinder, WaitEntry};
use crate::requests::{RequestEntry, RootEndpoint};
use pathlight_base::steps::in_blocks;
use pathlight_trace::{
    Coverage, EndpointId, Flags, NO_ROW, PathSettings, ReadingRule, RequestRoots, Role, TraceSet, Tree,
};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// Times of one request in one calling context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContextEntry {
    /// Context number.
    pub context: u32,
    /// Spans of the context on the path.
    pub spans: u32,
    /// Errors among them.
    pub errors: u32,
    /// Row of its span with the greatest exclusive time (ties: the latest).
    pub row: u32,
    /// Exclusive time on the path in microseconds.
    pub exclusive_us: u64,
    /// Sanitised duration in microseconds.
    pub inclusive_us: u64,
}

/// Coverage of each trace by its requests. Of most traces there is no more to say than how long their spans take.
#[derive(Default)]
struct Coverages {
    /// 0 of those whose spans take longer than this holds, which are among the others.
    span_us: Vec<u64>,
    /// Those of which there is, by trace.
    others: Vec<(u32, Coverage)>,
}

impl Coverages {
    /// Adds the coverage of the next trace.
    fn push(&mut self, coverage: Coverage) {
        let span_us = u64::try_from(coverage.span_us).unwrap_or(0);
        if coverage != Coverage::of_plain(span_us) {
            self.others.push((self.span_us.len() as u32, coverage));
        }
        self.span_us.push(span_us);
    }

    fn of(&self, trace: u32) -> Coverage {
        match self.others.binary_search_by_key(&trace, |other| other.0) {
            Ok(at) => self.others[at].1,
            Err(_) => Coverage::of_plain(self.span_us[trace as usize]),
        }
    }
}

/// All requests of a root endpoint with their critical calling context trees (`docs/definitions/critical-path.md` section 4).
///
/// A context is a path of endpoints from a request's root; contexts form a forest, numbered parents first.
#[derive(Default)]
pub struct PathTable {
    /// Requests in the order of traces.
    pub requests: Vec<RequestEntry>,
    /// The roots for which trees are to be loaded.
    pub roots: RequestRoots,
    coverage: Coverages,
    entries: Vec<ContextEntry>,
    waits: Vec<WaitEntry>,
    /// Returns the (parent context or [`NO_ROW`], endpoint) of each context.
    contexts: Vec<(u32, EndpointId)>,
    /// Their numbers.
    index: FxHashMap<(u32, EndpointId), u32>,
}

impl PathTable {
    /// Builds the table of a set at once, with the requests whose caller is not recorded.
    pub fn build(set: &TraceSet, root: &RootEndpoint, settings: PathSettings) -> PathTable {
        let mut builder = TableBuilder::new(root.of(set, true), settings);
        while !builder.step(set, &mut || false) {}
        builder.record.table
    }

    /// Returns the contexts of a request.
    pub fn entries(&self, request: u32) -> &[ContextEntry] {
        let r = request as usize;
        let from = if r == 0 { 0 } else { self.requests[r - 1].entries_end as usize };
        &self.entries[from..self.requests[r].entries_end as usize]
    }

    /// Returns what a request waits for outside of spans, by context and service.
    pub fn waits(&self, request: u32) -> &[WaitEntry] {
        let r = request as usize;
        let from = if r == 0 { 0 } else { self.requests[r - 1].waits_end as usize };
        &self.waits[from..self.requests[r].waits_end as usize]
    }

    /// Returns how some requests, in the order of the table, cover their traces; with the number of those of their group that
    /// are left out since their caller is not recorded.
    pub fn coverage(&self, set: &TraceSet, group: u8, requests: &[u32]) -> Coverage {
        let mut sum = Coverage::default();
        let mut last = NO_ROW;
        for &request in requests {
            let trace = self.requests[request as usize].trace;
            if trace != std::mem::replace(&mut last, trace) {
                sum.merge(&self.coverage.of(trace));
            }
        }
        for (trace, other) in &self.coverage.others {
            sum.left_out += if set.traces()[*trace as usize].id.group == group { other.left_out } else { 0 };
        }
        sum
    }

    /// Orders two requests by (trace id, root span id).
    pub fn compare_ids(&self, set: &TraceSet, a: u32, b: u32) -> Ordering {
        let (a, b) = (&self.requests[a as usize], &self.requests[b as usize]);
        let trace = |t: u32| set.traces()[t as usize].id;
        trace(a.trace)
            .compare(trace(b.trace), &set.id_texts)
            .then_with(|| set.span_id(a.row).compare(set.span_id(b.row), &set.id_texts))
    }

    /// Returns the (parent context or [`NO_ROW`], endpoint) of each context.
    pub fn contexts(&self) -> &[(u32, EndpointId)] {
        &self.contexts
    }

    /// Returns the context of an endpoint below a context or [`NO_ROW`]; [`NO_ROW`] if no path has it. Of places that are
    /// services, what a service calls in itself is in the context above.
    pub fn find_context(&self, parent: u32, endpoint: EndpointId) -> u32 {
        let is_same = || self.contexts.get(parent as usize).is_some_and(|above| above.1 == endpoint);
        match self.own_context(parent, endpoint, NO_ROW) {
            NO_ROW if is_same() => parent,
            found => found,
        }
    }

    /// Returns the context of just this endpoint below a context or [`NO_ROW`]; [`NO_ROW`] if no path has it. `guess` is
    /// looked at first: those of one request mostly stand in a row, and looking one up is a jump through memory.
    pub(crate) fn own_context(&self, parent: u32, endpoint: EndpointId, guess: u32) -> u32 {
        if self.contexts.get(guess as usize) == Some(&(parent, endpoint)) {
            return guess;
        }
        self.index.get(&(parent, endpoint)).copied().unwrap_or(NO_ROW)
    }

    /// Gives contexts of queues the endpoints that they are shown as.
    fn name_queues(&mut self, named: &[EndpointId]) {
        for (_, endpoint) in &mut self.contexts {
            if let Some(place) = QueueNames::place(*endpoint) {
                *endpoint = named[place];
            }
        }
        self.index.clear();
        for (&context, number) in self.contexts.iter().zip(0..) {
            self.index.entry(context).or_insert(number);
        }
    }

    /// Returns the context of just this endpoint below a context, new if no path has it; `guess` is looked at first.
    fn context(&mut self, parent: u32, endpoint: EndpointId, guess: u32) -> u32 {
        let known = self.own_context(parent, endpoint, guess);
        if known != NO_ROW {
            return known;
        }
        let new = self.contexts.len() as u32;
        self.contexts.push((parent, endpoint));
        self.index.insert((parent, endpoint), new);
        new
    }
}

/// Spans handled between two looks at the clock.
const CHUNK: usize = 8192;

enum Phase {
    NextTrace,
    Sanitise,
    /// Next request of the tree to start.
    NextRequest(usize),
    Path(usize),
}

/// By context: its place in the current request's entries, valid if the stamp is the request's.
#[derive(Clone, Copy, Default)]
struct Slot {
    stamp: u32,
    place: u32,
    /// Greatest exclusive time of one span so far.
    best_us: u64,
}

/// Builds a [`PathTable`] in resumable steps.
pub struct TableBuilder {
    record: Recorder,
    /// `None`: no request.
    request_roots: Option<RequestRoots>,
    settings: PathSettings,
    tree: Tree,
    roots: Vec<u32>,
    finder: PathFinder,
    /// If paths are those until everything is done, what finds them.
    done: Option<Box<DonePath>>,
    trace: u32,
    phase: Phase,
}

impl TableBuilder {
    /// Returns a builder for the traces that a set holds now, which must not change until it is done; `None`: for no request.
    pub fn new(request_roots: Option<RequestRoots>, settings: PathSettings) -> TableBuilder {
        let table = PathTable { roots: request_roots.unwrap_or_default(), ..PathTable::default() };
        TableBuilder {
            record: Recorder { table, settings, ..Recorder::default() },
            request_roots,
            settings,
            tree: Tree::default(),
            roots: Vec::new(),
            finder: PathFinder::default(),
            done: None,
            trace: 0,
            phase: Phase::NextTrace,
        }
    }

    /// Returns a builder of the paths until everything is done. `apart` are the traces, ascending, that links connect with too
    /// many others.
    pub(crate) fn until_done(
        set: &TraceSet,
        request_roots: Option<RequestRoots>,
        settings: PathSettings,
        apart: Vec<u32>,
    ) -> TableBuilder {
        let done = Some(Box::new(DonePath::new(set, settings, apart)));
        TableBuilder { done, ..TableBuilder::new(request_roots, settings) }
    }

    /// Returns the traces done and traces in all.
    pub fn progress(&self, set: &TraceSet) -> (u64, u64) {
        (u64::from(self.trace), set.traces().len() as u64)
    }

    /// Returns the finished table.
    pub fn finish(self) -> PathTable {
        self.record.table
    }

    /// Returns the finished table of paths that may have queues; the set then knows the endpoints that stand for these.
    pub(crate) fn finish_named(self, set: &mut TraceSet) -> PathTable {
        let Recorder { mut table, queues, .. } = self.record;
        let named = queues.named(set);
        if !named.is_empty() {
            table.name_queues(&named);
        }
        table
    }

    /// Works until done (true) or until `time_is_up` says so.
    pub fn step(&mut self, set: &TraceSet, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        let Some(request_roots) = self.request_roots else { return true };
        let mut left = CHUNK;
        loop {
            match self.phase {
                Phase::NextTrace => {
                    if self.trace as usize == set.traces().len() {
                        return true;
                    }
                    self.tree.begin(set, self.trace, self.settings, request_roots);
                    self.phase = Phase::Sanitise;
                }
                Phase::Sanitise => {
                    let before = self.tree.len();
                    if self.tree.step(set, left) {
                        self.tree.requests(set, &mut self.roots);
                        let coverage = match self.done {
                            None => Coverage::of(set, &self.tree, &self.roots),
                            Some(_) => Coverage::until_done(set, &self.tree, &self.roots),
                        };
                        self.record.table.coverage.push(coverage);
                        self.phase = Phase::NextRequest(0);
                    }
                    left = left.saturating_sub(self.tree.len() - before);
                }
                Phase::NextRequest(number) => match (self.roots.get(number), &mut self.done) {
                    (Some(&root), None) => {
                        self.finder.begin(set, &self.tree, root, self.settings.overlap);
                        self.phase = Phase::Path(number);
                    }
                    // All at once: what is followed is limited.
                    (Some(&root), Some(done)) => {
                        done.find(set, &self.tree, root);
                        let spans = self.record.path_until_done(set, &self.tree, root, done);
                        left = left.saturating_sub(spans.max(1));
                        self.phase = Phase::NextRequest(number + 1);
                    }
                    (None, _) => {
                        self.trace += 1;
                        self.phase = Phase::NextTrace;
                    }
                },
                Phase::Path(number) => {
                    let before = self.finder.entries().len();
                    if self.finder.step(set, &self.tree, left) {
                        self.record.path(set, &self.tree, self.roots[number], &self.finder);
                        self.phase = Phase::NextRequest(number + 1);
                    }
                    left = left.saturating_sub(self.finder.entries().len().saturating_sub(before).max(1));
                }
            }
            if left == 0 {
                if time_is_up() {
                    return false;
                }
                left = CHUNK;
            }
        }
    }
}

/// Sums the paths of requests by context, one request after the other.
#[derive(Default)]
struct Recorder {
    table: PathTable,
    settings: PathSettings,
    /// Context of each path entry of the current request, or of the current part of its path.
    context_of: Vec<u32>,
    waits: WaitFinder,
    slots: Vec<Slot>,
    stamp: u32,
    queues: QueueNames,
}

impl Recorder {
    /// Adds a request with its path.
    fn path(&mut self, set: &TraceSet, tree: &Tree, root: u32, finder: &PathFinder) {
        self.stamp += 1;
        self.entries(set, tree, finder, NO_ROW);
        let latency_us = tree.duration_us(root);
        self.request(set, tree, root, (latency_us, finder.entries().len() as u32, false));
    }

    /// Adds a request with its path until everything is done; returns how many spans were looked at.
    fn path_until_done(&mut self, set: &TraceSet, tree: &Tree, root: u32, done: &DonePath) -> usize {
        self.stamp += 1;
        let first_wait = self.table.waits.len();
        let (mut spans, mut parts) = (0, 0);
        for part in done.parts(tree) {
            let above = part.message.map_or(NO_ROW, |message| self.context_of[message.entry as usize]);
            if let Some(message) = part.message.filter(|message| message.start_us < message.end_us) {
                let endpoint = self.queues.number(set, &message);
                let context = self.table.context(above, endpoint, NO_ROW);
                let us = message.end_us - message.start_us;
                self.add(context, message.sender, us, us);
            }
            self.entries(set, part.tree, part.finder, above);
            spans += part.finder.entries().len();
            parts += 1;
        }
        if parts > 1 {
            join_waits(&mut self.table.waits, first_wait);
        }
        let latency_us = done.end_us() - tree.start_us[root as usize];
        self.request(set, tree, root, (latency_us, spans as u32, done.is_cut()));
        spans
    }

    /// Adds what a path has of a context, measured at a row of it.
    #[inline]
    fn add(&mut self, context: u32, row: u32, exclusive_us: u64, inclusive_us: u64) -> &mut ContextEntry {
        if self.slots.len() <= context as usize {
            self.slots.resize(self.table.contexts.len(), Slot::default());
        }
        let slot = &mut self.slots[context as usize];
        if slot.stamp != self.stamp {
            *slot = Slot { stamp: self.stamp, place: self.table.entries.len() as u32, best_us: 0 };
            self.table.entries.push(ContextEntry {
                context,
                spans: 0,
                errors: 0,
                row: NO_ROW,
                exclusive_us: 0,
                inclusive_us: 0,
            });
        }
        let sum = &mut self.table.entries[slot.place as usize];
        if sum.row == NO_ROW || exclusive_us > slot.best_us {
            (sum.row, slot.best_us) = (row, exclusive_us);
        }
        sum.exclusive_us += exclusive_us;
        sum.inclusive_us = sum.inclusive_us.saturating_add(inclusive_us);
        sum
    }

    /// Adds the entries of a path, the first of them below a context.
    fn entries(&mut self, set: &TraceSet, tree: &Tree, finder: &PathFinder, above: u32) {
        self.context_of.clear();
        let mut guess = 0;
        in_blocks(finder.entries().len(), &mut |block| {
            for &entry in &finder.entries()[block] {
                let row = tree.row(entry.span);
                let parent =
                    if entry.parent == NO_ROW { above } else { self.context_of[entry.parent as usize] };
                let endpoint = set.endpoint(row);
                // Places that are services: what a service calls in itself is no context of its own.
                let is_within = self.settings.by_service
                    && parent != NO_ROW
                    && self.table.contexts[parent as usize].1 == endpoint;
                let context = if is_within { parent } else { self.table.context(parent, endpoint, guess) };
                guess = context + 1;
                self.context_of.push(context);
                let inclusive_us = if is_within { 0 } else { tree.duration_us(entry.span) };
                let sum = self.add(context, row, entry.exclusive_us, inclusive_us);
                sum.spans += 1;
                sum.errors += u32::from(set.flags(row).has(Flags::ERROR));
            }
        });
        if self.settings.reading.has(ReadingRule::Waiting) {
            self.waits.find(set, tree, finder, &self.context_of, &mut self.table.waits);
        }
    }

    /// Adds a request, whose path is added, with its latency in microseconds, the spans on its path, and whether it leads to
    /// more than was followed.
    fn request(
        &mut self,
        set: &TraceSet,
        tree: &Tree,
        root: u32,
        (latency_us, path_spans, is_cut): (u64, u32, bool),
    ) {
        let (mut spans, mut errors) = (0, 0);
        in_blocks((tree.subtree_end[root as usize] - root) as usize, &mut |block| {
            for i in block.map(|i| root + i as u32).filter(|&i| tree.role[i as usize] != Role::Dropped) {
                spans += 1;
                errors += u32::from(set.flags(tree.row(i)).has(Flags::ERROR));
            }
        });
        self.table.requests.push(RequestEntry {
            trace: tree.trace,
            row: tree.row(root),
            latency_us,
            start_us: tree.start_us[root as usize],
            spans,
            errors,
            path_spans,
            is_cut,
            entries_end: self.table.entries.len() as u32,
            waits_end: self.table.waits.len() as u32,
        });
    }
}
