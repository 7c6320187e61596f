//! Where formats put what they read: counts, problems, the trace under construction.

use super::bytes::window::Window;
use super::formats::jaeger_fast::Fast;
use super::formats::otlp;
use super::json::node::{Bad, Node, Number};
use super::judge::{Clock, Judge, Unit};
use super::report::Problems;
use super::{KeptTraces, PartEnd, ProblemKind, Unpack};
use hashbrown::HashTable;
use pathlight_trace::{
    Flags, Interner, LoadedSummary, ProcessId, RawSpan, SetFull, SpanId, SpanReference, TagSetId, TraceId,
    TracePart, TraceSet, hash_bytes, is_in_calendar, several_parents,
};

/// Why a value was not taken.
#[derive(Debug)]
pub(crate) enum Fail {
    Bad(Bad),
    Full(SetFull),
}

impl From<Bad> for Fail {
    fn from(bad: Bad) -> Fail {
        Fail::Bad(bad)
    }
}

impl From<SetFull> for Fail {
    fn from(full: SetFull) -> Fail {
        Fail::Full(full)
    }
}

/// Formats, by the bit of [`State::formats`].
pub(crate) const FORMATS: [&str; 14] = [
    "jaeger",
    "jaeger-ui",
    "jaeger-spans",
    "elasticsearch",
    "otlp",
    "zipkin-v2",
    "zipkin-v1",
    "otel-stdout",
    "pathlight",
    "otlp-protobuf",
    "jaeger-protobuf",
    "jaeger-cassandra",
    "next-trace",
    "summary",
];

/// A format that was recognised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Format {
    /// Whole traces with a process table.
    Jaeger = 0,
    /// Whole traces, a process in every span.
    JaegerUi = 1,
    /// Single Jaeger spans with their process (the anonymizer's).
    JaegerSpans = 2,
    /// Single Jaeger spans as Elasticsearch keeps them.
    Elasticsearch = 3,
    /// OpenTelemetry protocol.
    Otlp = 4,
    /// Zipkin.
    Zipkin2 = 5,
    /// Old Zipkin.
    Zipkin1 = 6,
    /// What OpenTelemetry SDKs print.
    OtelStdout = 7,
    /// Columns of a saved report.
    Columns = 8,
    /// OpenTelemetry protocol in its binary form.
    OtlpProtobuf = 9,
    /// Jaeger's protobuf model as JSON.
    JaegerProtobuf = 10,
    /// Rows of Jaeger's tables in Cassandra.
    JaegerCassandra = 11,
    /// What Next.js writes into `.next/trace`.
    NextTrace = 12,
    /// A summary of traces.
    Summary = 13,
}

/// Marks a [`ProcessId`] that is a number of the trace's own list still.
const LOCAL: u32 = 1 << 31;

/// A Jaeger trace whose spans come one by one.
#[derive(Default)]
pub(crate) struct Building {
    pub id: Option<TraceId>,
    /// Offset of its object.
    pub at: u64,
    /// The split point inside the trace at which reading began, if it did.
    from: Option<u64>,
    /// Trace id of the first span that has one.
    first_own: Option<TraceId>,
    spans: Vec<RawSpan>,
    /// Spans that name another trace than the first, or none.
    strangers: Vec<(u32, TraceId)>,
    /// Texts of process ids, one after the other, with ends, what they turned out to be, and first uses.
    names: Vec<u8>,
    ends: Vec<u32>,
    found: Vec<Option<ProcessId>>,
    used: Vec<(u64, u64)>,
    last: u32,
    table: HashTable<u32>,
    /// Whether it is left out.
    pub is_bad: bool,
    pub has_inline_process: bool,
}

/// Everything about one input but its text.
#[derive(Default)]
pub(crate) struct State {
    pub problems: Problems,
    pub spans: u64,
    pub traces: u64,
    trace_hashes: HashTable<u64>,
    pub formats: u16,
    /// Names of the kinds of archive around.
    packings: Vec<&'static str>,
    /// Whether a container of traces was seen, even an empty one.
    pub is_known: bool,
    /// Offset and sentence about JSON that is no traces.
    pub other: Option<(u64, String)>,
    /// What a server said instead of traces.
    pub server_error: Option<(u64, String)>,
    pub building: Building,
    pub fast: Fast,
    /// Windows not in use.
    pub windows: Vec<Window>,
    /// Numbers of the tag keys read since the last span or process began.
    pub tag_keys: Vec<u32>,
    /// Resource and scope of the OTLP spans being read.
    pub around: otlp::Around,
    /// Which traces are kept, and how many times one was left out for that.
    pub keep: KeptTraces,
    pub left_out: u64,
    /// The function that unpacks summaries; `None`: they are refused.
    pub unpack: Option<Unpack>,
    /// Of a chunk: the number of the input.
    pub file: u32,
    /// Of a chunk: the traces that it shares with others, and whether one of them cannot be shared.
    pub parts: Vec<PartEnd>,
    pub has_odd_part: bool,
    /// Looks at the records in place of reading them, if somebody asks what they are.
    pub judge: Option<Judge>,
    /// Whether somebody has looked at the first records before.
    pub is_recognised: bool,
    /// The unit of all times, if it is not that of the format.
    pub unit: Option<Unit>,
    /// The summaries found, named after their archive member.
    pub summaries: Vec<LoadedSummary>,
}

impl Building {
    /// Starts over for a trace object at an offset.
    pub fn begin(&mut self, at: u64) {
        self.id = None;
        self.at = at;
        self.from = None;
        self.first_own = None;
        self.spans.clear();
        if self.spans.capacity() > 1 << 16 {
            self.spans = Vec::new();
        }
        self.strangers.clear();
        self.names.clear();
        self.ends.clear();
        self.found.clear();
        self.used.clear();
        self.last = 0;
        self.table.clear();
        self.is_bad = false;
        self.has_inline_process = false;
    }

    /// Starts over at a split point inside a trace.
    pub fn begin_inside(&mut self, trace: TraceId, at: u64) {
        self.begin(at);
        self.from = Some(at);
        (self.id, self.first_own) = (Some(trace), Some(trace));
    }

    /// Returns the trace that all spans so far are of, if readers can share it: nothing about it is odd.
    pub fn shared_trace(&self) -> Option<TraceId> {
        let is_odd = self.is_bad || self.has_inline_process || !self.strangers.is_empty();
        let first = self.first_own.filter(|id| !is_odd && !id.text)?;
        self.id.is_none_or(|id| id == first).then_some(first)
    }

    /// Returns the spans as a part of a trace; `None` if a process has a name that is no text.
    fn take_part(&mut self, trace: TraceId, file: u32, until: Option<u64>) -> Option<TracePart> {
        let process = |number: u32| {
            let name = &self.names[Self::name(&self.names, &self.ends, number)];
            Some((std::str::from_utf8(name).ok()?.to_owned(), self.found[number as usize]))
        };
        let processes = (0..self.ends.len() as u32).map(process).collect::<Option<_>>()?;
        let mut spans = std::mem::take(&mut self.spans);
        for span in &mut spans {
            span.process.0 &= !LOCAL;
        }
        Some(TracePart { trace, file, from: self.from, until, spans, processes })
    }

    fn name(names: &[u8], ends: &[u32], i: u32) -> std::ops::Range<usize> {
        let start = if i == 0 { 0 } else { ends[i as usize - 1] as usize };
        debug_assert!(ends[i as usize] as usize <= names.len());
        start..ends[i as usize] as usize
    }

    /// Returns the number of a process id in this trace.
    fn local(&mut self, name: &[u8]) -> u32 {
        let Building { names, ends, table, .. } = self;
        if (self.last as usize) < ends.len() && names[Self::name(names, ends, self.last)] == *name {
            return self.last;
        }
        let hash = hash_bytes(name);
        let found = table.find(hash, |&i| names[Self::name(names, ends, i)] == *name).copied();
        let number = found.unwrap_or_else(|| {
            let number = ends.len() as u32;
            names.extend_from_slice(name);
            ends.push(names.len() as u32);
            self.found.push(None);
            self.used.push((0, 0));
            table.insert_unique(hash, number, |&i| hash_bytes(&names[Self::name(names, ends, i)]));
            number
        });
        self.last = number;
        number
    }

    /// Returns the process of an id, known or not yet, for a span at an offset.
    pub fn process(&mut self, name: &[u8], at: u64) -> ProcessId {
        let number = self.local(name);
        let (uses, first) = &mut self.used[number as usize];
        if *uses == 0 {
            *first = at;
        }
        *uses += 1;
        ProcessId(LOCAL | number)
    }

    /// Says what an id is.
    pub fn define_process(&mut self, name: &[u8], process: ProcessId) {
        let number = self.local(name) as usize;
        self.found[number] = Some(process);
    }

    pub fn push(&mut self, own: TraceId, span: RawSpan) {
        let is_first = self.first_own.is_none() && !own.is_none();
        if is_first {
            self.first_own = Some(own);
        }
        if self.first_own != Some(own) {
            self.strangers.push((self.spans.len() as u32, own));
        }
        self.spans.push(span);
    }

    pub fn first_span(&self) -> Option<&RawSpan> {
        self.spans.first()
    }

    /// Gives up what is held.
    pub fn discard(&mut self) {
        self.is_bad = true;
        self.spans = Vec::new();
        self.strangers = Vec::new();
    }
}

/// What is kept between the inputs of one set: what was learned, and memory.
#[derive(Default)]
struct Memory {
    building: Building,
    fast: Fast,
    windows: Vec<Window>,
    trace_hashes: HashTable<u64>,
}

impl State {
    /// Creates the state for an input of which these traces are kept, and whose summaries somebody unpacks.
    pub fn keeping(keep: KeptTraces, unpack: Option<Unpack>) -> State {
        State { keep, unpack, ..State::default() }
    }

    /// Creates the state for a look at the records of an input.
    pub fn judging() -> State {
        State { judge: Some(Judge::default()), ..State::default() }
    }

    /// Takes over what earlier inputs of the set have left.
    pub fn remember(&mut self, set: &mut TraceSet) {
        if let Some(memory) = set.memory.take()
            && let Ok(memory) = memory.downcast::<Memory>()
        {
            let Memory { building, fast, windows, trace_hashes } = *memory;
            (self.building, self.fast, self.windows, self.trace_hashes) =
                (building, fast, windows, trace_hashes);
        }
    }

    /// Leaves it to the next input.
    pub fn leave(&mut self, set: &mut TraceSet) {
        self.fast.flush(set);
        let mut memory = Memory {
            building: std::mem::take(&mut self.building),
            fast: std::mem::take(&mut self.fast),
            windows: std::mem::take(&mut self.windows),
            trace_hashes: std::mem::take(&mut self.trace_hashes),
        };
        memory.building.begin(0);
        if memory.trace_hashes.capacity() > 1 << 16 {
            memory.trace_hashes = HashTable::new();
        }
        memory.trace_hashes.clear();
        set.memory = Some(Box::new(memory));
    }

    pub fn saw(&mut self, format: Format) {
        self.is_known = true;
        self.formats |= 1 << format as u8;
    }

    /// Takes a summary in.
    pub fn add_summary(&mut self, summary: LoadedSummary, group: u8) {
        self.saw(Format::Summary);
        self.traces += summary.traces;
        self.spans += summary.spans;
        let name = self.problems.member.clone().unwrap_or_default();
        self.summaries.push(LoadedSummary { name, group, ..summary });
    }

    /// Takes note of an archive.
    pub fn saw_packing(&mut self, name: &'static str) {
        if !self.packings.contains(&name) {
            self.packings.push(name);
        }
    }

    /// Returns the names of the formats and archives seen, joined by `+`.
    pub fn format_names(&self) -> String {
        let names: Vec<&str> = FORMATS
            .iter()
            .enumerate()
            .filter(|(i, _)| self.formats & (1 << i) != 0)
            .map(|(_, name)| *name)
            .chain(self.packings.iter().copied())
            .collect();
        names.join("+")
    }

    /// Returns the hashes of the ids of all traces, in no particular order.
    pub fn trace_hashes(&self) -> Vec<u64> {
        self.trace_hashes.iter().copied().collect()
    }

    /// Counts spans of a trace that may have been counted before.
    pub fn count(&mut self, set: &TraceSet, id: TraceId, spans: u64) {
        let hash = id.content_hash(&set.id_texts);
        self.spans += spans;
        if self.trace_hashes.find(hash, |&h| h == hash).is_none() {
            self.trace_hashes.insert_unique(hash, hash, |&h| h);
            self.traces += 1;
        }
    }

    /// Stages a span of a format of single spans.
    pub fn stage(&mut self, set: &mut TraceSet, id: TraceId, span: RawSpan) -> Result<(), SetFull> {
        if self.wants(id, set) {
            set.stage(id, span)?;
            self.count(set, id, 1);
        }
        Ok(())
    }

    /// Stages a span as [`stage`](Self::stage) does; one without a trace id is left out.
    pub fn stage_or_leave(
        &mut self,
        set: &mut TraceSet,
        at: u64,
        id: TraceId,
        span: RawSpan,
    ) -> Result<(), SetFull> {
        if id.is_none() {
            self.problems.note(ProblemKind::MissingTraceId, at, || "a span without a trace id".into());
            return Ok(());
        }
        self.stage(set, id, span)
    }

    /// Returns the process of a span that names none.
    pub fn unknown_process(&mut self, set: &mut TraceSet, at: u64) -> ProcessId {
        self.problems.note(ProblemKind::UnknownProcess, at, || "a span names no process".into());
        set.process("", "", TagSetId::EMPTY)
    }

    /// Ends the trace under construction and adds it.
    pub fn finish_trace(&mut self, set: &mut TraceSet) -> Result<(), SetFull> {
        self.finish_building(|state, building| state.add_built(set, building))
    }

    /// Ends the part of the trace under construction that this reader has, at a split point.
    pub fn finish_part(&mut self, set: &mut TraceSet, until: u64) {
        self.finish_building(|state, building| state.add_part(set, building, Some(until)));
    }

    /// Lets `add` take what is under construction, and starts over.
    fn finish_building<T>(&mut self, add: impl FnOnce(&mut State, &mut Building) -> T) -> T {
        let mut building = std::mem::take(&mut self.building);
        let added = add(self, &mut building);
        building.begin(0);
        self.building = building;
        added
    }

    fn add_part(&mut self, set: &mut TraceSet, building: &mut Building, until: Option<u64>) {
        self.saw(Format::Jaeger);
        let trace = building.shared_trace().filter(|_| self.keep.is_all());
        let Some(part) = trace.and_then(|trace| building.take_part(trace, self.file, until)) else {
            self.has_odd_part = true;
            return;
        };
        let processes = part.processes.iter().map(|(name, process)| (name.clone(), process.is_some()));
        self.parts.push(PartEnd {
            trace: part.trace.content_hash(&set.id_texts),
            spans: part.spans.len() as u64,
            from: part.from,
            until,
            processes: processes.collect(),
        });
        set.add_part(part);
    }

    fn add_built(&mut self, set: &mut TraceSet, building: &mut Building) -> Result<(), SetFull> {
        if building.from.is_some() {
            self.add_part(set, building, None);
            return Ok(());
        }
        self.saw(if building.has_inline_process { Format::JaegerUi } else { Format::Jaeger });
        if building.is_bad || building.spans.is_empty() {
            return Ok(());
        }
        let mut unknown = (0, u64::MAX, 0u32);
        for (number, (uses, first)) in building.used.iter().enumerate() {
            if *uses > 0 && building.found[number].is_none() {
                unknown.0 += uses;
                if *first < unknown.1 {
                    (unknown.1, unknown.2) = (*first, number as u32);
                }
            }
        }
        if unknown.0 > 0 {
            let name = &building.names[Building::name(&building.names, &building.ends, unknown.2)];
            let name = String::from_utf8_lossy(name);
            self.problems.note(ProblemKind::UnknownProcess, unknown.1, || {
                if name.is_empty() {
                    "a span names no process".into()
                } else {
                    format!("a span names process {name:?}, which its trace does not have")
                }
            });
            self.add_count(ProblemKind::UnknownProcess, unknown.0 - 1);
            let nobody = set.process("", "", TagSetId::EMPTY);
            building.found.iter_mut().for_each(|p| *p = Some(p.unwrap_or(nobody)));
        }
        for span in &mut building.spans {
            if span.process.0 & LOCAL != 0
                && let Some(Some(process)) = building.found.get((span.process.0 & !LOCAL) as usize)
            {
                span.process = *process;
            }
        }
        let id = match building.id.filter(|id| !id.is_none()).or(building.first_own) {
            Some(id) => id,
            None => {
                self.problems.note(ProblemKind::MissingTraceId, building.at, || {
                    "a trace without an id; one is made up from its place".into()
                });
                TraceId::parse(&format!("trace-at-byte-{}", building.at), &mut set.id_texts)
            }
        };
        // Spans without a trace id belong to the object they stand in, the others to the trace they name.
        let first = building.first_own.unwrap_or(id);
        if first == id && building.strangers.iter().all(|(_, own)| own.is_none()) {
            if !self.wants_trace(id, &building.spans, set) {
                return Ok(());
            }
            let spans = building.spans.len() as u64;
            set.add_trace(id, &mut building.spans)?;
            self.count(set, id, spans);
            return Ok(());
        }
        let mut strangers = building.strangers.iter().peekable();
        for (i, span) in building.spans.drain(..).enumerate() {
            let own = match strangers.peek() {
                Some(&&(at, own)) if at as usize == i => {
                    strangers.next();
                    if own.is_none() { id } else { own }
                }
                _ => first,
            };
            self.stage(set, own, span)?;
        }
        Ok(())
    }

    fn add_count(&mut self, kind: ProblemKind, more: u64) {
        if let Some(problem) = self.problems.list.iter_mut().find(|p| p.kind == kind) {
            problem.count += more;
        }
    }

    /// Returns the start and duration in microseconds under the rules for dirty input; `None` leaves the span out.
    pub fn times(
        &mut self,
        at: u64,
        start: Option<Number>,
        duration: Option<Number>,
        flags: &mut Flags,
    ) -> Option<(u64, u64)> {
        // From here on a number is a wrapped negative.
        const WRAPPED: u64 = 1 << 63;
        let duration_us = match duration.map(Number::rounded) {
            None => {
                self.problems.note(ProblemKind::MissingDuration, at, || "a span without a duration".into());
                0
            }
            Some(Number::Whole(us)) if us < WRAPPED => us,
            Some(number) => {
                self.problems.note(ProblemKind::NegativeDuration, at, || match number {
                    Number::Whole(us) => format!("duration {us} us is a wrapped {}", us as i64),
                    Number::Negative => "a duration below 0".into(),
                    _ => "a duration of 2^63 us or more, or no number".into(),
                });
                0
            }
        };
        let start_us = match start.map(Number::rounded) {
            Some(Number::Whole(us)) => {
                if us == 0 {
                    self.problems.note(ProblemKind::MissingStart, at, || "a start of 0".into());
                }
                Some(us)
            }
            None | Some(Number::Negative) => {
                flags.set(Flags::START_MISSING, true);
                self.problems.note(ProblemKind::MissingStart, at, || {
                    if start.is_none() { "a span without a start" } else { "a start below 0" }.into()
                });
                Some(0)
            }
            Some(_) => None,
        };
        let times = start_us.map(|start_us| (start_us, duration_us));
        if let Some((start_us, duration_us)) = times
            && is_in_calendar(start_us, duration_us)
        {
            return times;
        }
        self.problems.note(ProblemKind::TimeOutOfRange, at, || {
            let start = start_us.map_or("2^64".to_owned(), |us| us.to_string());
            format!("a span that begins at {start} us and lasts {duration_us} us")
        });
        None
    }

    /// Takes note of a decoded text with replacement characters.
    pub fn lossy(&mut self, node: Node<'_>) {
        self.problems.note(ProblemKind::InvalidUtf8, node.at, || {
            format!("{} is not UTF-8", String::from_utf8_lossy(&node.text[..node.text.len().min(80)]))
        });
    }

    /// Returns a number of a clock in the unit of its format.
    pub fn in_unit(&self, clock: Clock, number: Option<Number>) -> Option<Number> {
        let power = self.unit.filter(|unit| unit.clock == clock).map_or(0, |unit| unit.power);
        number.map(|number| number.times_ten_to(power))
    }

    /// Takes note of JSON that is no trace.
    pub fn note_other(&mut self, at: u64, text: impl FnOnce() -> String) {
        if let Some(judge) = &mut self.judge {
            return judge.other(at, text);
        }
        let State { problems, other, .. } = self;
        problems.note(ProblemKind::NotTraces, at, || {
            let text = text();
            *other = Some((at, text.clone()));
            text
        });
    }
}

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
