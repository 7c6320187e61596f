//! The columns: every span of a worker, grouped by trace, each trace a forest in pre-order.

use super::links::Links;
use super::normalise::Normaliser;
use super::numbers::{Numbers, keep as keep_rows};
use super::parents::references;
use super::places::Places;
use super::{
    Endpoint, Flags, Interner, ProcessId, RawSpan, Sealing, SpanId, SpanKind, Symbol, TagSetId, TagTable,
    TraceId, TraceShape,
};
use hashbrown::{HashMap, HashTable};
use pathlight_base::statistics::Weight;
use pathlight_base::steps::BLOCK;
use rustc_hash::FxBuildHasher;
use std::hash::Hasher as _;
use std::ops::Range;

/// "No row": the parent of a root.
pub const NO_ROW: u32 = u32::MAX;
/// Service of spans whose process is missing.
pub const UNKNOWN_SERVICE: &str = "unknown-service";

/// A row of the endpoint table (service + operation), valid for the set that made it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct EndpointId(pub u32);

/// Origin of spans: service, host, and the tags of the process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Process {
    /// Service name.
    pub service: Symbol,
    /// Host name, or [`Symbol::NONE`].
    pub host: Symbol,
    /// Process tags (OTLP: resource attributes).
    pub tags: TagSetId,
}

/// A set cannot hold more: memory or row numbers ended. What it holds stays valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("memory for spans ended; what is loaded is kept")]
pub struct SetFull;

/// Facts of one trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceRow {
    /// Id of the trace.
    pub id: TraceId,
    /// Its first row; also its trace root.
    pub first: u32,
    /// End of its rows, exclusive.
    pub end: u32,
    /// Number of roots and what is odd about them.
    pub shape: TraceShape,
}

impl TraceRow {
    /// Returns the number of spans.
    pub fn len(&self) -> usize {
        (self.end - self.first) as usize
    }

    /// Returns its rows.
    pub fn rows(&self) -> Range<u32> {
        self.first..self.end
    }

    /// Returns whether it has no span; no trace of a set is empty.
    pub fn is_empty(&self) -> bool {
        self.end == self.first
    }
}

/// The columnar trace set.
///
/// Rows of one trace are contiguous and in pre-order: the trace root first, children by (start, longer first, id), other
/// roots after it. A row costs 38 bytes besides tags, and 2 more while places are [named otherwise](Self::name_places);
/// of more than 65,536 endpoints or processes each costs 2 more. Row numbers change in [`seal`](Self::seal) only.
#[derive(Default)]
pub struct TraceSet {
    /// Service, operation and host names.
    pub names: Interner,
    /// By template: how many operations of it are in `names`; see [`operation`](Self::operation).
    pub(super) templates: HashMap<Symbol, u32, FxBuildHasher>,
    /// Ids that are not hexadecimal.
    pub id_texts: Interner,
    /// Tags of spans and processes.
    pub tags: TagTable,
    /// The group of what is added from now on: 0 is the set looked at (A), 1 the one it is compared with (B). The same
    /// trace id in both is two traces.
    pub loading_group: u8,
    pub(super) columns: Columns,
    pub(super) traces: Vec<TraceRow>,
    /// By trace; empty if each stands for itself.
    pub(super) weights: Vec<Weight>,
    pub(super) endpoints: Table<(Symbol, Symbol)>,
    pub(super) processes: Table<Process>,
    pub(super) places: Places,
    trace_table: HashTable<u32>,
    /// Traces with a second fragment, to be joined by `seal`.
    pub(super) split: Vec<TraceId>,
    pub(super) staged: Vec<(TraceId, RawSpan)>,
    /// Duplicate spans dropped in favour of another of the same id; kept for the next fragment of their trace.
    pub(super) duplicates: Vec<(TraceId, RawSpan)>,
    pub(super) links: Links,
    /// Identical copies removed so far.
    pub(super) copies: u64,
    /// Log records (OTLP: events) seen.
    pub logs: u64,
    normaliser: Normaliser,
    pub(super) max_bytes: Option<usize>,
}

#[derive(Default)]
pub(super) struct Columns {
    pub start_us: Vec<u64>,
    pub duration_us: Vec<u64>,
    pub span_id: Vec<u64>,
    pub parent: Vec<u32>,
    pub endpoint: Numbers,
    pub process: Numbers,
    pub tag_set: Vec<u32>,
    pub flags: Vec<u16>,
    /// Parent ids that the parent column cannot say (missing, cut, shared, several), by row.
    pub odd_parents: Vec<(u32, SpanId)>,
}

/// A table of distinct small values.
#[derive(Clone)]
pub(super) struct Table<T> {
    pub rows: Vec<T>,
    index: HashTable<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { rows: Vec::new(), index: HashTable::new() }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Table<T> {
    fn hash(value: &T) -> u64 {
        let mut hasher = rustc_hash::FxHasher::default();
        value.hash(&mut hasher);
        hasher.finish()
    }

    pub fn insert(&mut self, value: T) -> u32 {
        let rows = &mut self.rows;
        let hash = Self::hash(&value);
        if let Some(&found) = self.index.find(hash, |&i| rows[i as usize] == value) {
            return found;
        }
        let row = rows.len() as u32;
        rows.push(value);
        self.index.insert_unique(hash, row, |&i| Self::hash(&rows[i as usize]));
        row
    }
}

impl Columns {
    fn try_reserve(&mut self, more: usize) -> Result<(), SetFull> {
        let len = self.start_us.len();
        if len + more >= NO_ROW as usize {
            return Err(SetFull);
        }
        if self.start_us.capacity() - len >= more {
            return Ok(());
        }
        // A factor of 1.5 keeps the peak while a column moves well below that of doubling.
        let extra = more.max(len / 2).max(1024);
        let full = |_| SetFull;
        self.start_us.try_reserve_exact(extra).map_err(full)?;
        self.duration_us.try_reserve_exact(extra).map_err(full)?;
        self.span_id.try_reserve_exact(extra).map_err(full)?;
        self.parent.try_reserve_exact(extra).map_err(full)?;
        self.endpoint.try_reserve_exact(extra)?;
        self.process.try_reserve_exact(extra)?;
        self.tag_set.try_reserve_exact(extra).map_err(full)?;
        self.flags.try_reserve_exact(extra).map_err(full)
    }

    pub fn push(&mut self, span: &RawSpan, parent: u32, endpoint: u32) {
        self.start_us.push(span.start_us);
        self.duration_us.push(span.duration_us);
        self.span_id.push(span.id.bits);
        self.parent.push(parent);
        self.endpoint.push(endpoint);
        self.process.push(span.process.0);
        self.tag_set.push(span.tags.0);
        self.flags.push(span.flags.0);
    }

    /// Gives back most of what growing has reserved ahead.
    pub fn shrink(&mut self) {
        let len = with_slack(self.start_us.len());
        self.start_us.shrink_to(len);
        self.duration_us.shrink_to(len);
        self.span_id.shrink_to(len);
        self.parent.shrink_to(len);
        self.endpoint.shrink_to(len);
        self.process.shrink_to(len);
        self.tag_set.shrink_to(len);
        self.flags.shrink_to(len);
    }

    fn heap_bytes(&self) -> usize {
        (self.start_us.capacity() + self.duration_us.capacity() + self.span_id.capacity()) * 8
            + (self.parent.capacity() + self.tag_set.capacity()) * 4
            + self.endpoint.heap_bytes()
            + self.process.heap_bytes()
            + self.flags.capacity() * 2
            + self.odd_parents.capacity() * size_of::<(u32, SpanId)>()
    }
}

/// Returns what a list of so many items may reserve once nothing more is expected. Growing doubles it, so little slack
/// costs no time.
pub(super) fn with_slack(len: usize) -> usize {
    len + len / 64
}

impl TraceSet {
    /// Returns an empty set.
    pub fn new() -> TraceSet {
        TraceSet::default()
    }

    /// Returns an empty set that refuses to grow beyond about `bytes` of heap.
    pub fn with_limit(bytes: usize) -> TraceSet {
        TraceSet { max_bytes: Some(bytes), ..TraceSet::default() }
    }

    /// Refuses to grow beyond about `bytes` of heap from now on.
    pub fn set_limit(&mut self, bytes: usize) {
        self.max_bytes = Some(bytes);
    }

    /// Returns a set without traces that shares the numbers of this one's names, tags and processes: spans that
    /// [`raw`](Self::raw) gave can be added to it as they are.
    pub fn without_traces(&self) -> TraceSet {
        TraceSet {
            names: self.names.clone(),
            id_texts: self.id_texts.clone(),
            tags: self.tags.clone(),
            endpoints: self.endpoints.clone(),
            processes: self.processes.clone(),
            max_bytes: self.max_bytes,
            ..TraceSet::default()
        }
    }

    // ---- filling ----

    /// Returns the process of (service, host, process tags); an empty service is [`UNKNOWN_SERVICE`], an empty host is
    /// none.
    pub fn process(&mut self, service: &str, host: &str, tags: TagSetId) -> ProcessId {
        let service = if service.is_empty() { UNKNOWN_SERVICE } else { service };
        let service = self.names.intern(service);
        let host = if host.is_empty() { Symbol::NONE } else { self.names.intern(host) };
        ProcessId(self.processes.insert(Process { service, host, tags }))
    }

    /// Adds a whole trace, or one fragment of it, to the [`loading_group`](Self::loading_group); `spans` is left empty.
    /// Nothing is added on error.
    ///
    /// # Errors
    /// [`SetFull`] when memory ends.
    pub fn add_trace(&mut self, id: TraceId, spans: &mut Vec<RawSpan>) -> Result<(), SetFull> {
        self.add_grouped(id.in_group(self.loading_group), spans)
    }

    /// Adds spans as [`add_trace`](Self::add_trace) does, to the group that the id says.
    pub(super) fn add_grouped(&mut self, id: TraceId, spans: &mut Vec<RawSpan>) -> Result<(), SetFull> {
        if spans.is_empty() {
            return Ok(());
        }
        self.columns.try_reserve(spans.len())?;
        if self.traces.len().is_multiple_of(64) && self.is_over_limit() {
            return Err(SetFull);
        }
        let mut normaliser = std::mem::take(&mut self.normaliser);
        let shape = normaliser.run(self, id, spans);
        let first = self.traces.last().map_or(0, |t| t.end);
        for block in normaliser.order.chunks(BLOCK) {
            self.push_rows(&normaliser.spans, block, first);
        }
        self.normaliser = normaliser;
        let end = self.columns.start_us.len() as u32;
        let number = self.traces.len() as u32;
        self.traces.push(TraceRow { id, first, end, shape });
        if self.tags.may_say_weights() {
            self.add_weight();
        }
        let traces = &self.traces;
        let hash = Table::hash(&id);
        match self.trace_table.find(hash, |&t| traces[t as usize].id == id) {
            Some(_) => self.split.push(id),
            None => {
                self.trace_table.insert_unique(hash, number, |&t| Table::hash(&traces[t as usize].id));
            }
        }
        spans.clear();
        Ok(())
    }

    /// Adds spans of the trace that begins at row `first`, given as index into `spans` and place of the parent in the trace.
    #[inline(never)]
    fn push_rows(&mut self, spans: &[RawSpan], order: &[(u32, u32)], first: u32) {
        let columns = &mut self.columns;
        for &(row, parent) in order {
            let span = &spans[row as usize];
            let service = self.processes.rows[span.process.0 as usize].service;
            let endpoint = self.endpoints.insert((service, span.operation));
            let parent_row = if parent == NO_ROW { NO_ROW } else { first + parent };
            let here = columns.start_us.len() as u32;
            let is_root_with_parent = parent == NO_ROW && !span.parent.is_none();
            if is_root_with_parent || span.flags.has(Flags::SHARED | Flags::SEVERAL_PARENTS) {
                columns.odd_parents.push((here, span.parent));
            }
            columns.push(span, parent_row, endpoint);
        }
    }

    /// Keeps a single span of the [`loading_group`](Self::loading_group) until [`seal`](Self::seal) gathers its trace:
    /// for formats that scatter traces.
    ///
    /// # Errors
    /// [`SetFull`] when memory ends.
    pub fn stage(&mut self, id: TraceId, span: RawSpan) -> Result<(), SetFull> {
        if self.staged.len() == self.staged.capacity() {
            self.staged.try_reserve(1).map_err(|_| SetFull)?;
            if self.is_over_limit() {
                return Err(SetFull);
            }
        }
        self.staged.push((id.in_group(self.loading_group), span));
        Ok(())
    }

    /// Turns staged spans into traces, and joins fragments of one trace. Call it when a load ends; row and trace numbers are
    /// valid until the next call. In small steps: [`Sealing`].
    ///
    /// # Errors
    /// [`SetFull`] when memory ends.
    pub fn seal(&mut self) -> Result<(), SetFull> {
        let mut sealing = Sealing::begin(self);
        while !sealing.step(self, &mut || false)? {}
        Ok(())
    }

    /// Puts all traces into a group, those that are added from now on too.
    pub fn regroup(&mut self, group: u8) {
        self.loading_group = group;
        self.trace_table.clear();
        self.traces.iter_mut().for_each(|trace| trace.id = trace.id.in_group(group));
        let hash = |number: &u32| Table::hash(&self.traces[*number as usize].id);
        for number in 0..self.traces.len() as u32 {
            self.trace_table.insert_unique(hash(&number), number, hash);
        }
        for (id, _) in self.staged.iter_mut().chain(&mut self.duplicates) {
            *id = id.in_group(group);
        }
        for id in &mut self.split {
            *id = id.in_group(group);
        }
        self.links.regroup(group);
    }

    /// Drops every trace that `keep` refuses; names and tags stay.
    pub fn retain(&mut self, keep: impl Fn(&TraceRow) -> bool) {
        self.places.forget_rows();
        let mut old = std::mem::take(&mut self.columns);
        let traces = std::mem::take(&mut self.traces);
        let mut weights = std::mem::take(&mut self.weights).into_iter();
        self.trace_table.clear();
        let mut odd = old.odd_parents.iter().peekable();
        let mut kept: Vec<Range<usize>> = Vec::new();
        let mut end = 0u32;
        for mut trace in traces {
            let stays = keep(&trace);
            self.weights.extend(weights.next().filter(|_| stays));
            let first = end;
            while let Some(&&(row, id)) = odd.peek() {
                if row >= trace.end {
                    break;
                }
                if stays {
                    self.columns.odd_parents.push((first + row - trace.first, id));
                }
                odd.next();
            }
            if !stays {
                continue;
            }
            kept.push(trace.first as usize..trace.end as usize);
            end += trace.len() as u32;
            (trace.first, trace.end) = (first, end);
            let number = self.traces.len() as u32;
            self.traces.push(trace);
            let traces = &self.traces;
            self.trace_table
                .insert_unique(Table::hash(&trace.id), number, |&t| Table::hash(&traces[t as usize].id));
        }
        if self.weights.iter().all(|weight| *weight == Weight::ONE) {
            self.weights = Vec::new();
        }
        self.links.keep(&kept);
        keep_rows(&mut old.parent, &kept);
        let mut first = 0u32;
        for range in &kept {
            let moved = range.start as u32 - first;
            for p in &mut old.parent[first as usize..first as usize + range.len()] {
                if *p != NO_ROW {
                    *p -= moved;
                }
            }
            first += range.len() as u32;
        }
        keep_rows(&mut old.start_us, &kept);
        keep_rows(&mut old.duration_us, &kept);
        keep_rows(&mut old.span_id, &kept);
        old.endpoint.keep(&kept);
        old.process.keep(&kept);
        keep_rows(&mut old.tag_set, &kept);
        keep_rows(&mut old.flags, &kept);
        self.columns = Columns { odd_parents: std::mem::take(&mut self.columns.odd_parents), ..old };
    }

    /// Forgets spans put aside for these traces (sorted ids): they live elsewhere now.
    pub fn forget_duplicates(&mut self, sorted: &[TraceId]) {
        self.duplicates.retain(|(id, _)| sorted.binary_search(id).is_err());
    }

    /// Returns the span of a row as ingest handed it over.
    pub fn raw(&self, row: u32) -> RawSpan {
        let columns = &self.columns;
        let r = row as usize;
        let flags = self.flags(row);
        let parent = match columns.odd_parents.binary_search_by_key(&row, |&(at, _)| at) {
            Ok(at) => columns.odd_parents[at].1,
            Err(_) if columns.parent[r] == NO_ROW => SpanId::NONE,
            Err(_) => self.span_id(columns.parent[r]),
        };
        let mut raw_flags = flags;
        raw_flags.set(Flags::ORPHAN | Flags::CYCLE | Flags::SHARED, false);
        if flags.has(Flags::SEVERAL_PARENTS) {
            // Chosen anew once the trace is whole.
            raw_flags.set(Flags::FOLLOWS_FROM, false);
        }
        RawSpan {
            id: self.span_id(row),
            parent,
            start_us: if flags.has(Flags::START_MISSING) { 0 } else { columns.start_us[r] },
            duration_us: columns.duration_us[r],
            operation: self.endpoints.rows[columns.endpoint.at(row) as usize].1,
            process: ProcessId(columns.process.at(row)),
            tags: TagSetId(columns.tag_set[r]),
            flags: raw_flags,
        }
    }

    // ---- reading ----

    /// Returns the id of the parent of a row, even if that is missing; absent for a root without a parent. Of several that
    /// are missing, the first.
    pub fn parent_id(&self, row: u32) -> SpanId {
        let raw = self.raw(row);
        match self.parent(row) {
            parent if parent != NO_ROW => self.span_id(parent),
            _ if !raw.flags.has(Flags::SEVERAL_PARENTS) => raw.parent,
            _ => {
                let mut ids = references(raw.parent, &self.id_texts).filter_map(|reference| reference.0);
                ids.find(|&id| id != raw.id).unwrap_or(SpanId::NONE)
            }
        }
    }

    /// Returns the number of spans in traces (staged ones not counted).
    pub fn spans(&self) -> usize {
        self.columns.start_us.len()
    }

    /// Returns the number of spans that wait for [`seal`](Self::seal).
    pub fn staged_spans(&self) -> usize {
        self.staged.len()
    }

    /// Returns all traces of all groups; after [`seal`](Self::seal) one per id.
    pub fn traces(&self) -> &[TraceRow] {
        &self.traces
    }

    /// Returns the number of the trace with an id; the id says its group.
    pub fn find_trace(&self, id: TraceId) -> Option<u32> {
        self.trace_table.find(Table::hash(&id), |&t| self.traces[t as usize].id == id).copied()
    }

    /// Returns the endpoints, by [`EndpointId`], as (service, operation).
    pub fn endpoints(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.endpoints.rows.iter().map(|&(s, o)| (self.names.get(s), self.names.get(o)))
    }

    /// Returns the service and operation of an endpoint.
    pub fn endpoint_name(&self, endpoint: EndpointId) -> (&str, &str) {
        let (service, operation) = self.endpoints.rows[endpoint.0 as usize];
        (self.names.get(service), self.names.get(operation))
    }

    /// Returns, by endpoint, a number of its service, and the names of services by number.
    pub fn service_numbers(&self) -> (Vec<u32>, Vec<String>) {
        let mut numbers: HashMap<Symbol, u32, FxBuildHasher> = HashMap::default();
        let mut names = Vec::new();
        let number = |&(service, _): &(Symbol, Symbol)| {
            *numbers.entry(service).or_insert_with(|| {
                names.push(self.names.get(service).to_owned());
                names.len() as u32 - 1
            })
        };
        (self.endpoints.rows.iter().map(number).collect(), names)
    }

    /// Returns an endpoint by its names, which mean the same in every worker.
    pub fn owned_endpoint(&self, endpoint: EndpointId) -> Endpoint {
        let (service, operation) = self.endpoint_name(endpoint);
        Endpoint::new(service, operation)
    }

    /// Returns the endpoint of these names, new if no span has it: for what is shown like one.
    pub fn add_endpoint(&mut self, service: &str, operation: &str) -> EndpointId {
        let pair = (self.names.intern(service), self.names.intern(operation));
        EndpointId(self.endpoints.insert(pair))
    }

    /// Gives the spans of an endpoint in some rows another one of the same service.
    pub fn rename(&mut self, rows: Range<u32>, from: EndpointId, to: EndpointId) {
        for row in rows {
            if self.columns.endpoint.at(row) == from.0 {
                self.columns.endpoint.set(row, to.0);
            }
        }
    }

    /// Returns the endpoint of these names.
    pub fn find_endpoint(&self, service: &str, operation: &str) -> Option<EndpointId> {
        let pair = (self.names.find(service)?, self.names.find(operation)?);
        let rows = &self.endpoints.rows;
        self.endpoints.index.find(Table::hash(&pair), |&i| rows[i as usize] == pair).copied().map(EndpointId)
    }

    /// Returns the service of a process.
    pub fn service_of(&self, process: ProcessId) -> &str {
        self.processes.rows.get(process.0 as usize).map_or("", |process| self.names.get(process.service))
    }

    /// Returns the process of a row.
    pub fn process_of(&self, row: u32) -> Process {
        self.processes.rows[self.columns.process.at(row) as usize]
    }

    /// Returns the start of a row in microseconds since the epoch, before sanitising.
    pub fn start_us(&self, row: u32) -> u64 {
        self.columns.start_us[row as usize]
    }

    /// Returns the duration of a row in microseconds, before sanitising.
    pub fn duration_us(&self, row: u32) -> u64 {
        self.columns.duration_us[row as usize]
    }

    /// Returns the parent row, [`NO_ROW`] for a root.
    pub fn parent(&self, row: u32) -> u32 {
        self.columns.parent[row as usize]
    }

    /// Returns the flags of a row.
    pub fn flags(&self, row: u32) -> Flags {
        Flags(self.columns.flags[row as usize])
    }

    /// Returns the kind of a row.
    pub fn kind(&self, row: u32) -> SpanKind {
        self.flags(row).kind()
    }

    /// Returns the own tags of a row.
    pub fn tag_set(&self, row: u32) -> TagSetId {
        TagSetId(self.columns.tag_set[row as usize])
    }

    /// Returns the span id of a row.
    pub fn span_id(&self, row: u32) -> SpanId {
        SpanId { bits: self.columns.span_id[row as usize], text: self.flags(row).has(Flags::TEXT_ID) }
    }

    /// Returns the span id of a row as canonical text.
    pub fn span_id_text(&self, row: u32) -> String {
        self.span_id(row).to_text(&self.id_texts)
    }

    /// Returns the trace id of a trace as canonical text.
    pub fn trace_id_text(&self, trace: u32) -> String {
        self.traces[trace as usize].id.to_text(&self.id_texts)
    }

    /// Gives back most of what growing has reserved ahead.
    pub(super) fn shrink(&mut self) {
        self.columns.shrink();
        self.traces.shrink_to(with_slack(self.traces.len()));
        self.weights.shrink_to(with_slack(self.weights.len()));
        self.tags.shrink();
    }

    /// Returns whether it holds more than it is to grow to.
    pub fn is_over_limit(&self) -> bool {
        self.max_bytes.is_some_and(|limit| self.heap_bytes() > limit)
    }

    /// Returns the bytes of heap held by columns, names and tags.
    pub fn heap_bytes(&self) -> usize {
        self.columns.heap_bytes()
            + self.places.heap_bytes()
            + self.names.heap_bytes()
            + self.id_texts.heap_bytes()
            + self.tags.heap_bytes()
            + self.links.heap_bytes()
            + self.traces.capacity() * size_of::<TraceRow>()
            + self.weights.capacity() * size_of::<Weight>()
            + self.trace_table.capacity() * 5
            + (self.staged.capacity() + self.duplicates.capacity()) * size_of::<(TraceId, RawSpan)>()
    }
}
