//! Facts of the whole tree of each request, collected by a worker (`docs/definitions/anomaly.md` section 1).

use super::super::PartOfRequest;
use super::facts::{CellKey, Dictionary, KINDS, push_fact};
use super::{FactKind, FactPart, FactRow};
use crate::anomalies::paper::RowFacts;
use crate::flame::{Context, Contexts, Observer, PathFinder, PathTable};
use crate::requests::RequestRef;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{EndpointId, Flags, NO_ROW, Overlap, Role, TraceSet, Tree};
use rustc_hash::FxHashMap;

/// The greatest overlap that still counts as one call after the other, in microseconds.
const TOLERANCE_US: u64 = 1_000;

/// Facts of a span of the request looked at, by its local index below the root.
#[derive(Clone, Copy, Default)]
struct SpanFacts {
    context: u32,
    is_on_path: bool,
    has_error_below: bool,
    /// A sibling lies wholly inside it.
    covers: bool,
}

/// A child of the span looked at.
#[derive(Clone, Copy)]
struct Call {
    span: u32,
    endpoint: u32,
    start_us: u64,
    end_us: u64,
}

/// Collects the facts of the requests of one worker.
pub struct FactObserver {
    overlap: Overlap,
    finder: PathFinder,
    contexts: Vec<(u32, EndpointId)>,
    context_index: FxHashMap<(u32, u32), u32>,
    sets: Vec<Vec<u32>>,
    set_index: FxHashMap<Vec<u32>, u32>,
    cells: Vec<CellKey>,
    /// By context and kind the first cell, [`NO_ROW`] before there is one. Most have no other.
    first_cells: Vec<[u32; KINDS]>,
    /// The other cells.
    cell_index: FxHashMap<CellKey, u32>,
    part: FactPart,
    spans: Vec<SpanFacts>,
    calls: Vec<Call>,
    by_end: Vec<Call>,
    called: Vec<u32>,
}

impl FactObserver {
    /// Returns an observer without requests; `overlap` is what critical paths tolerate.
    pub fn new(overlap: Overlap) -> FactObserver {
        FactObserver {
            overlap,
            finder: PathFinder::default(),
            contexts: Vec::new(),
            context_index: FxHashMap::default(),
            sets: Vec::new(),
            set_index: FxHashMap::default(),
            cells: Vec::new(),
            first_cells: Vec::new(),
            cell_index: FxHashMap::default(),
            part: FactPart::default(),
            spans: Vec::new(),
            calls: Vec::new(),
            by_end: Vec::new(),
            called: Vec::new(),
        }
    }

    fn context(&mut self, parent: u32, endpoint: EndpointId) -> u32 {
        let (contexts, first_cells) = (&mut self.contexts, &mut self.first_cells);
        *self.context_index.entry((parent, endpoint.0)).or_insert_with(|| {
            contexts.push((parent, endpoint));
            first_cells.push([NO_ROW; KINDS]);
            contexts.len() as u32 - 1
        })
    }

    /// Returns the number of the set of the endpoints in `called`.
    fn set_of_calls(&mut self) -> u32 {
        if let Some(&known) = self.set_index.get(&self.called) {
            return known;
        }
        let new = self.sets.len() as u32;
        self.sets.push(self.called.clone());
        self.set_index.insert(self.called.clone(), new);
        new
    }

    fn fact(&mut self, kind: FactKind, context: u32, condition: u32, value: Option<u64>) {
        let key = CellKey { kind, context, condition };
        let new = self.cells.len() as u32;
        let first = &mut self.first_cells[context as usize][kind as usize];
        if *first == NO_ROW {
            *first = new;
        }
        let cell = match *first {
            first if first == new || self.cells[first as usize].condition == condition => first,
            _ => *self.cell_index.entry(key).or_insert(new),
        };
        if cell == new {
            self.cells.push(key);
        }
        push_fact(&mut self.part.bytes, cell, value);
    }

    fn time(&mut self, kind: FactKind, context: u32, condition: u32, us: u64, of: SpanFacts) {
        let part = match (of.is_on_path, of.covers) {
            (true, _) => PartOfRequest::OnPath,
            (false, true) => PartOfRequest::Covering,
            (false, false) => PartOfRequest::OffPath,
        };
        self.fact(kind, context, condition, Some(part.mark(us)));
    }

    /// Says of each span of the request its context, whether it is on the path, and whether an error is below it.
    fn look(&mut self, set: &TraceSet, tree: &Tree, root: u32) {
        let end = tree.subtree_end[root as usize];
        self.spans.clear();
        for span in root..end {
            let parent = match span == root {
                true => NO_ROW,
                false => self.spans[(tree.parent[span as usize] - root) as usize].context,
            };
            let context = self.context(parent, set.endpoint(tree.row(span)));
            self.spans.push(SpanFacts { context, ..SpanFacts::default() });
        }
        self.finder.find(set, tree, root, self.overlap);
        for entry in self.finder.entries() {
            self.spans[(entry.span - root) as usize].is_on_path = true;
        }
        for span in (root + 1..end).rev() {
            if set.flags(tree.row(span)).has(Flags::ERROR) {
                self.spans[(tree.parent[span as usize] - root) as usize].has_error_below = true;
            }
        }
    }

    /// Adds the facts of a span and of the calls it makes.
    fn span(&mut self, set: &TraceSet, tree: &Tree, root: u32, span: u32) {
        let row = tree.row(span);
        let (start_us, length_us) = (set.start_us(row), set.duration_us(row));
        let end_us = start_us + length_us;
        let facts = self.spans[(span - root) as usize];
        self.calls.clear();
        let (mut covered_us, mut until_us, mut outside_us, mut has_waited_for) = (0, start_us, 0, false);
        for child in tree.children(span) {
            let row = tree.row(child);
            let call = Call {
                span: child,
                endpoint: set.endpoint(row).0,
                start_us: set.start_us(row),
                end_us: set.start_us(row) + set.duration_us(row),
            };
            self.calls.push(call);
            if matches!(tree.role[child as usize], Role::Sync | Role::Dropped) {
                has_waited_for = true;
                let beyond_us =
                    start_us.saturating_sub(call.start_us).max(call.end_us.saturating_sub(end_us));
                outside_us = beyond_us.max(outside_us);
                let (from, to) = (call.start_us.max(until_us), call.end_us.min(end_us));
                covered_us += to.saturating_sub(from);
                until_us = until_us.max(to);
            }
        }
        self.called.clear();
        self.called.extend(self.calls.iter().map(|call| call.endpoint));
        // By name, not by number: facts stand in the same order whatever set the request is in.
        let name = |endpoint: &u32| set.endpoint_name(EndpointId(*endpoint));
        self.called.compact_sort_by(|a, b| name(a).cmp(&name(b)));
        let set_with_repeats = self.called.clone();
        self.called.dedup();
        let calls = self.set_of_calls();
        self.fact(FactKind::Calls, facts.context, calls, None);
        for same in set_with_repeats.chunk_by(|a, b| a == b) {
            let called = self.context(facts.context, EndpointId(same[0]));
            self.fact(
                FactKind::Count,
                called,
                NO_ROW,
                Some(PartOfRequest::Structure.mark(same.len() as u64)),
            );
        }
        let is_error = set.flags(row).has(Flags::ERROR);
        if !(is_error && facts.has_error_below) {
            self.fact(FactKind::Error, facts.context, u32::from(is_error), None);
        }
        self.time(FactKind::SelfTime, facts.context, calls, length_us - covered_us, facts);
        if span == root {
            self.time(FactKind::Latency, facts.context, calls, length_us, facts);
        } else if !self.calls.is_empty() {
            self.time(FactKind::TotalTime, facts.context, calls, length_us, facts);
        }
        if has_waited_for {
            self.time(FactKind::Outside, facts.context, NO_ROW, outside_us + length_us / 100, facts);
        }
        self.calls_made(set, tree, root, span);
    }

    /// Adds the facts of the calls that a span makes: what each came after, and how long it waited.
    fn calls_made(&mut self, set: &TraceSet, tree: &Tree, root: u32, span: u32) {
        let row = tree.row(span);
        let parent = self.spans[(span - root) as usize];
        let calls = std::mem::take(&mut self.calls);
        let mut by_end = std::mem::take(&mut self.by_end);
        by_end.clear();
        by_end.extend_from_slice(&calls);
        // Children are numbered in an order of names and times, so ties are the same in every worker.
        by_end.sort_unstable_by_key(|call| (call.end_us, call.span));
        let mut least_end_us = u64::MAX;
        for call in calls.iter().rev() {
            self.spans[(call.span - root) as usize].covers = least_end_us <= call.end_us;
            least_end_us = least_end_us.min(call.end_us);
        }
        let service = |row: u32| set.process_of(row).service;
        for call in &calls {
            let length_us = call.end_us - call.start_us;
            let tolerance_us = TOLERANCE_US.min(set.duration_us(row) / 100).min(length_us / 2);
            let ended = by_end.partition_point(|other| other.end_us <= call.start_us + tolerance_us);
            let last = by_end[..ended].iter().rev().find(|other| other.span != call.span);
            let facts = self.spans[(call.span - root) as usize];
            let (after, from_us, before) = match last {
                Some(last) => (last.endpoint, last.end_us, tree.row(last.span)),
                None => (NO_ROW, set.start_us(row), row),
            };
            self.fact(FactKind::After, facts.context, after, None);
            if parent.is_on_path {
                self.fact(FactKind::Critical, facts.context, u32::from(facts.is_on_path), None);
            }
            // Clocks of two services differ.
            if service(before) == service(tree.row(call.span)) {
                let waited_us = call.start_us.saturating_sub(from_us);
                self.time(FactKind::Wait, facts.context, after, waited_us, facts);
            }
        }
        (self.calls, self.by_end) = (calls, by_end);
    }
}

impl Observer for FactObserver {
    type Part = FactPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let entry = &table.requests[request as usize];
        let root = entry.row - tree.first;
        self.look(set, tree, root);
        let mut ticks = [0; 4];
        for span in root..tree.subtree_end[root as usize] {
            let us = set.duration_us(tree.row(span));
            if us > 0 {
                let divides = [1, 10, 100, 1000].map(|tick| us.is_multiple_of(tick));
                ticks.iter_mut().zip(divides).for_each(|(sum, is)| *sum += u32::from(is));
            }
            self.span(set, tree, root, span);
        }
        self.part.rows.push(FactRow {
            facts: RowFacts { request: RequestRef::of(set, entry), start_us: entry.start_us },
            root: self.spans[0].context,
            ticks,
            end: self.part.bytes.len() as u64,
            injected: None,
        });
    }

    fn finish(self, set: &TraceSet) -> FactPart {
        let mut names: FxHashMap<u32, u32> = FxHashMap::default();
        let mut paths = Contexts { endpoints: Vec::new(), nodes: Vec::with_capacity(self.contexts.len()) };
        for (parent, endpoint) in self.contexts {
            let name = *names.entry(endpoint.0).or_insert_with(|| {
                paths.endpoints.push(set.owned_endpoint(endpoint));
                paths.endpoints.len() as u32 - 1
            });
            paths.nodes.push(Context { parent, endpoint: name, value: () });
        }
        // Whatever is called has a context, so its endpoint has a name.
        let named = |endpoint: &u32| names.get(endpoint).copied().unwrap_or(NO_ROW);
        let sets = self.sets.iter().map(|set| set.iter().map(named).collect()).collect();
        let cells = self.cells.into_iter().map(|cell| match cell.kind {
            FactKind::After | FactKind::Wait => CellKey { condition: named(&cell.condition), ..cell },
            _ => cell,
        });
        FactPart { dictionary: Dictionary { paths, sets, cells: cells.collect() }, ..self.part }
    }
}
