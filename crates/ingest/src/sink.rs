//! Where formats put what they read: counts, problems, the trace under construction.

use crate::building::{Building, UnknownProcesses};
use crate::clock::{Clock, Unit};
use crate::formats::{FORMATS, Format};
use crate::json::node::{Bad, Node, Number};
use crate::keep::KeptTraces;
use crate::report::{ProblemKind, Problems};
use hashbrown::HashTable;
use pathlight_trace::{Flags, ProcessId, RawSpan, SetFull, TagSetId, TraceId, TraceSet, is_in_calendar};

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

/// Everything about one input but its text.
#[derive(Default)]
pub(crate) struct Sink {
    pub problems: Problems,
    pub spans: u64,
    pub traces: u64,
    trace_hashes: HashTable<u64>,
    pub formats: u64,
    /// Names of the kinds of archive around.
    packings: Vec<&'static str>,
    /// Whether a container of traces was seen, even an empty one.
    pub is_known: bool,
    /// Offset and sentence about JSON that is no traces.
    pub other: Option<(u64, String)>,
    /// What a server said instead of traces.
    pub server_error: Option<(u64, String)>,
    pub building: Building,
    /// Which traces are kept, and how many times one was left out for that.
    pub keep: KeptTraces,
    pub left_out: u64,
    /// Of a chunk: whether one reader would have come to its start in another state than this one began in.
    pub has_false_start: bool,
    /// The unit of all times, if it is not that of the format.
    pub unit: Option<Unit>,
}

/// Memory for the next input.
#[derive(Default)]
pub(crate) struct SinkMemory {
    building: Building,
    trace_hashes: HashTable<u64>,
}

impl Sink {
    /// Returns the sink of an input of which these traces are kept.
    pub fn keeping(keep: KeptTraces) -> Sink {
        Sink { keep, ..Sink::default() }
    }

    /// Takes over the memory that an earlier input has left.
    pub fn reuse(&mut self, memory: SinkMemory) {
        (self.building, self.trace_hashes) = (memory.building, memory.trace_hashes);
    }

    /// Returns the memory that the next input may use; nothing in it is of this one.
    pub fn leave(&mut self) -> SinkMemory {
        let mut building = std::mem::take(&mut self.building);
        building.begin(0);
        let mut trace_hashes = std::mem::take(&mut self.trace_hashes);
        if trace_hashes.capacity() > 1 << 16 {
            trace_hashes = HashTable::new();
        }
        trace_hashes.clear();
        SinkMemory { building, trace_hashes }
    }

    /// Takes note of a format.
    pub fn saw(&mut self, format: Format) {
        self.saw_number(format as u8);
    }

    /// Takes note of a format by its number.
    pub fn saw_number(&mut self, format: u8) {
        self.is_known = true;
        self.formats |= 1 << format;
    }

    /// Counts what a summary sums.
    pub fn count_summary(&mut self, traces: u64, spans: u64) {
        self.saw(Format::Summary);
        self.traces += traces;
        self.spans += spans;
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

    /// Returns whether a trace of this id is to be read; one that is not is counted.
    pub fn wants(&mut self, id: TraceId, set: &TraceSet) -> bool {
        let wants = self.keep.takes_id(id, set);
        self.left_out += u64::from(!wants);
        wants
    }

    /// Returns whether a whole trace is to be read; one that is not is counted.
    pub fn wants_trace(&mut self, id: TraceId, spans: &[RawSpan], set: &TraceSet) -> bool {
        if !self.wants(id, set) {
            return false;
        }
        let wants = self.keep.takes_spans(spans, set);
        self.left_out += u64::from(!wants);
        wants
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
        let mut building = std::mem::take(&mut self.building);
        let added = self.add_built(set, &mut building);
        building.begin(0);
        self.building = building;
        added
    }

    fn add_built(&mut self, set: &mut TraceSet, building: &mut Building) -> Result<(), SetFull> {
        self.saw(if building.has_inline_process { Format::JaegerUi } else { Format::Jaeger });
        if building.is_bad || building.spans.is_empty() {
            return Ok(());
        }
        if let Some(UnknownProcesses { uses, first_at, name }) = building.unknown_processes() {
            self.problems.note_many(ProblemKind::UnknownProcess, uses, first_at, || match &*name {
                "" => "a span names no process".into(),
                name => format!("a span names process {name:?}, which its trace does not have"),
            });
            let nobody = set.process("", "", TagSetId::EMPTY);
            building.define_unknown_processes(nobody);
        }
        building.place_processes();
        let id = building.trace_id().unwrap_or_else(|| {
            self.problems.note(ProblemKind::MissingTraceId, building.at, || {
                "a trace without an id; one is made up from its place".into()
            });
            TraceId::parse(&format!("trace-at-byte-{}", building.at), &mut set.id_texts)
        });
        building.drain_links(id).try_for_each(|link| set.add_link(link))?;
        if !building.is_of_one_trace(id) {
            return building.drain(id).try_for_each(|(own, span)| self.stage(set, own, span));
        }
        if self.wants_trace(id, &building.spans, set) {
            let spans = building.spans.len() as u64;
            set.add_trace(id, &mut building.spans)?;
            self.count(set, id, spans);
        }
        Ok(())
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

    /// Returns the power of ten by which numbers of a clock are too small for the unit of their format.
    pub fn power_of(&self, clock: Clock) -> i32 {
        self.unit.filter(|unit| unit.clock == clock).map_or(0, |unit| unit.power)
    }

    /// Returns a number of a clock in the unit of its format.
    pub fn in_unit(&self, clock: Clock, number: Option<Number>) -> Option<Number> {
        let power = self.power_of(clock);
        number.map(|number| number.times_ten_to(power))
    }

    /// Takes note of JSON that is no trace.
    pub fn note_other(&mut self, at: u64, text: impl FnOnce() -> String) {
        let Sink { problems, other, .. } = self;
        problems.note(ProblemKind::NotTraces, at, || {
            let text = text();
            *other = Some((at, text.clone()));
            text
        });
    }
}
