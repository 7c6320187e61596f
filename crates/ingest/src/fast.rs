//! Jaeger spans the fast way: fields are found by the masks of the window and read in place, known tags are told by
//! their text alone. It takes only what it fully understands; anything else is a surprise and goes the reference way, so
//! both give the same.

use super::jaeger;
use super::memo::{self, Memo};
use super::node::{Bad, Node, decode, parse_number};
use super::state::{ParentChoice, State};
use super::view::{View, hex, plain, trace_hex};
use memchr::memmem::Finder;
use pathlight_model::trace::{Flags, ProcessId, RawSpan, SpanFacts, SpanId, Symbol, TraceId, TraceSet};

/// What the fast way remembers; valid for one trace set.
pub(super) struct Fast {
    tags: Memo<KnownTag>,
    operations: Memo<Symbol>,
    processes: Memo<KnownProcess>,
    /// Numbers of tag keys of remembered processes.
    process_keys: Vec<u32>,
    /// The last trace id as text, and what it is.
    trace_text: Vec<u8>,
    trace: TraceId,
    found: Vec<Found>,
    decoded: String,
    exception: Finder<'static>,
    error: Finder<'static>,
}

impl Default for Fast {
    fn default() -> Fast {
        Fast {
            tags: Memo::default(),
            operations: Memo::default(),
            processes: Memo::default(),
            process_keys: Vec::new(),
            trace_text: Vec::new(),
            trace: TraceId::NONE,
            found: Vec::new(),
            decoded: String::new(),
            exception: Finder::new(jaeger::ERROR_WORDS[0]),
            error: Finder::new(jaeger::ERROR_WORDS[1]),
        }
    }
}

/// A tag by its text.
#[derive(Clone, Copy)]
struct KnownTag {
    pair: u32,
    facts: Option<SpanFacts>,
}

/// A process by its text.
#[derive(Clone, Copy)]
struct KnownProcess {
    process: ProcessId,
    /// Range of `process_keys`.
    keys: (u32, u32),
    /// How many of its keys were of high cardinality.
    high: u32,
}

/// A tag of the span being read; ranges are places in the view.
#[derive(Clone, Copy)]
enum Found {
    Known(KnownTag),
    New { hash: u64, raw: (usize, usize), key: (usize, usize), value: Value },
}

#[derive(Clone, Copy)]
enum Value {
    /// As it stands there.
    Plain(usize, usize),
    /// Of `Fast::decoded`.
    Decoded(usize, usize),
}

/// A span before anything of it is interned.
struct Parsed<'a> {
    trace: TraceId,
    id: SpanId,
    choice: ParentChoice,
    start_us: u64,
    duration_us: u64,
    operation: &'a [u8],
    process: Process<'a>,
    logs: u64,
}

#[derive(Clone, Copy)]
enum Process<'a> {
    Named(&'a [u8]),
    Inline(usize, usize),
}

impl Fast {
    #[inline]
    fn trace_id(&mut self, text: &[u8]) -> Option<TraceId> {
        if self.trace_text != text || self.trace.is_none() {
            self.trace = trace_hex(text)?;
            self.trace_text.clear();
            self.trace_text.extend_from_slice(text);
        }
        Some(self.trace)
    }

    /// Reads a span without changing anything but scratch; `None` is a surprise.
    fn parse<'a>(&mut self, view: View<'a>, start: usize, end: usize) -> Option<Parsed<'a>> {
        const ALL: u32 = 0b111_1111;
        let (mut trace, mut id) = (TraceId::NONE, SpanId::NONE);
        let mut choice = ParentChoice::default();
        let (mut start_us, mut duration_us, mut logs) = (0, 0, 0);
        let mut operation = &view.text[..0];
        let mut process = Process::Named(operation);
        self.found.clear();
        self.decoded.clear();
        let mut seen = 0u32;
        let mut see = |bit: u32| {
            let is_new = seen & (1 << bit) == 0;
            seen |= 1 << bit;
            is_new.then_some(())
        };
        let mut at = view.space(start + 1)?;
        loop {
            let (key, value) = view.key(at)?;
            at = match key {
                b"traceID" => {
                    see(0)?;
                    let (text, at) = view.string(value)?;
                    trace = self.trace_id(text)?;
                    at
                }
                b"spanID" => {
                    see(1)?;
                    let (text, at) = view.string(value)?;
                    id = SpanId::hex(hex(text)?);
                    at
                }
                b"operationName" => {
                    see(2)?;
                    let (text, at) = view.string(value)?;
                    operation = text;
                    at
                }
                b"startTime" => {
                    see(3)?;
                    let (number, at) = view.integer(value)?;
                    start_us = number;
                    at
                }
                b"duration" => {
                    see(4)?;
                    let (number, at) = view.integer(value)?;
                    duration_us = number;
                    at
                }
                b"processID" => {
                    see(5)?;
                    let (text, at) = view.string(value)?;
                    plain(text)?;
                    if let Process::Named(_) = process {
                        process = Process::Named(text);
                    }
                    at
                }
                b"tags" => {
                    see(6)?;
                    self.tags(view, value)?
                }
                b"references" => {
                    see(7)?;
                    if view.text[value] == b'[' && *view.text.get(value + 1)? == b']' {
                        value + 2
                    } else {
                        (!trace.is_none()).then_some(())?;
                        self.references(view, value, trace, &mut choice)?
                    }
                }
                b"logs" => {
                    see(8)?;
                    if *view.text.get(value)? == b'[' {
                        let (at, objects) = view.skip_brackets(value)?;
                        let text = &view.text[value..at];
                        if text.len() > 2
                            && (self.exception.find(text).is_some() || self.error.find(text).is_some())
                        {
                            return None;
                        }
                        logs = objects;
                        at
                    } else {
                        view.skip_value(value)?
                    }
                }
                b"process" => {
                    see(9)?;
                    (view.text[value] == b'{').then_some(())?;
                    let (at, _) = view.skip_brackets(value)?;
                    process = Process::Inline(value, at);
                    at
                }
                b"parentSpanID" => {
                    see(10)?;
                    let (text, at) = view.string(value)?;
                    choice.named(SpanId::hex(hex(text)?));
                    at
                }
                b"flags" | b"warnings" => view.skip_value(value)?,
                b"tag" => return None,
                _ if memchr::memchr(b'\\', key).is_some() => return None,
                _ => view.skip_value(value)?,
            };
            match view.next(at, b'}')? {
                Ok(next) => at = next,
                Err(after) if after == end => break,
                Err(_) => return None,
            }
        }
        if let Process::Inline(..) = process {
            see(5);
        }
        const LIMIT: u64 = 1 << 63;
        let is_complete = seen & ALL == ALL && !trace.is_none() && start_us != 0;
        let is_in_time = duration_us < LIMIT && start_us.checked_add(duration_us)? < LIMIT;
        (is_complete && is_in_time).then_some(Parsed {
            trace,
            id,
            choice,
            start_us,
            duration_us,
            operation,
            process,
            logs,
        })
    }

    fn references(
        &mut self,
        view: View<'_>,
        from: usize,
        own: TraceId,
        choice: &mut ParentChoice,
    ) -> Option<usize> {
        (view.text[from] == b'[').then_some(())?;
        let mut at = view.space(from + 1)?;
        if view.text[at] == b']' {
            return Some(at + 1);
        }
        loop {
            (view.text[at] == b'{').then_some(())?;
            at = view.space(at + 1)?;
            let (mut follows, mut in_trace, mut span) = (false, true, SpanId::NONE);
            let mut seen = [false; 3];
            let mut see = |i: usize| (!std::mem::replace(&mut seen[i], true)).then_some(());
            at = loop {
                let (key, value) = view.key(at)?;
                let after = match key {
                    b"refType" => {
                        see(0)?;
                        let (text, at) = view.string(value)?;
                        follows = match text {
                            b"CHILD_OF" => false,
                            b"FOLLOWS_FROM" => true,
                            _ => return None,
                        };
                        at
                    }
                    b"traceID" => {
                        see(1)?;
                        let (text, at) = view.string(value)?;
                        if self.trace_text != text {
                            let other = trace_hex(text)?;
                            in_trace = other.is_none() || other == own;
                        }
                        at
                    }
                    b"spanID" => {
                        see(2)?;
                        let (text, at) = view.string(value)?;
                        span = SpanId::hex(hex(text)?);
                        at
                    }
                    _ if memchr::memchr(b'\\', key).is_some() => return None,
                    _ => view.skip_value(value)?,
                };
                match view.next(after, b'}')? {
                    Ok(next) => at = next,
                    Err(after) => break after,
                }
            };
            if in_trace {
                choice.reference(span, follows);
            }
            match view.next(at, b']')? {
                Ok(next) => at = next,
                Err(after) => return Some(after),
            }
        }
    }

    /// Finds the tags of a list.
    fn tags(&mut self, view: View<'_>, from: usize) -> Option<usize> {
        (view.text[from] == b'[').then_some(())?;
        let mut at = view.space(from + 1)?;
        if view.text[at] == b']' {
            return Some(at + 1);
        }
        loop {
            (view.text[at] == b'{').then_some(())?;
            let close = view.bracket(at + 1)?;
            (view.text[close] == b'}').then_some(())?;
            let raw = &view.text[at..close + 1];
            let hash = memo::hash(raw);
            let found = match self.tags.find(hash, raw) {
                Some(known) => Found::Known(known),
                None => self.new_tag(view, at, close + 1, hash)?,
            };
            self.found.push(found);
            match view.next(close + 1, b']')? {
                Ok(next) => at = next,
                Err(after) => return Some(after),
            }
        }
    }

    /// Reads a tag whose text is new.
    fn new_tag(&mut self, view: View<'_>, start: usize, end: usize, hash: u64) -> Option<Found> {
        let mut at = view.space(start + 1)?;
        let (mut key, mut value) = (None, None);
        loop {
            let (name, from) = view.key(at)?;
            at = match name {
                b"key" => {
                    let (text, at) = view.string(from)?;
                    plain(text)?;
                    (key.replace((from + 1, at - 1)).is_none()).then_some(())?;
                    at
                }
                b"value" => {
                    let (read, at) = self.value(view, from)?;
                    (value.replace(read).is_none()).then_some(())?;
                    at
                }
                _ if memchr::memchr(b'\\', name).is_some() => return None,
                _ => view.skip_value(from)?,
            };
            match view.next(at, b'}')? {
                Ok(next) => at = next,
                Err(after) => {
                    (after == end).then_some(())?;
                    return Some(Found::New { hash, raw: (start, end), key: key?, value: value? });
                }
            }
        }
    }

    /// A tag's value as text, and the place after it.
    fn value(&mut self, view: View<'_>, at: usize) -> Option<(Value, usize)> {
        if let Some((text, after)) = view.string(at) {
            if plain(text).is_some() {
                return Some((Value::Plain(at + 1, after - 1), after));
            }
            let text = decode(&view.text[at..after]).filter(|t| !t.is_lossy)?;
            let start = self.decoded.len();
            self.decoded.push_str(&text.text);
            return Some((Value::Decoded(start, self.decoded.len()), after));
        }
        let after = view.skip_scalar(at)?;
        let text = &view.text[at..after];
        match text {
            b"true" | b"false" => {}
            b"null" => return Some((Value::Plain(at, at), after)),
            [b'-' | b'0'..=b'9', ..] => {
                parse_number(text)?;
            }
            _ => return None,
        }
        Some((Value::Plain(at, after), after))
    }

    /// Interns the tags found; the facts they say.
    fn take_tags(&mut self, view: View<'_>, set: &mut TraceSet) -> SpanFacts {
        let mut facts = SpanFacts::default();
        set.tags.begin();
        for found in &self.found {
            match *found {
                Found::Known(known) => {
                    set.tags.add_pair(known.pair);
                    if let Some(said) = &known.facts {
                        facts.merge(said);
                    }
                }
                Found::New { hash, raw, key, value } => {
                    // Both were found to be UTF-8.
                    let text = |(start, end)| std::str::from_utf8(&view.text[start..end]).unwrap_or_default();
                    let key = text(key);
                    let value = match value {
                        Value::Plain(start, end) => text((start, end)),
                        Value::Decoded(start, end) => &self.decoded[start..end],
                    };
                    let number = set.tags.key(key);
                    let pair = set.tags.add_value(number, value);
                    let mut said = None;
                    let mut is_simple = true;
                    if SpanFacts::wants(key) {
                        facts.observe(key, value);
                        let mut alone = SpanFacts::default();
                        alone.observe(key, value);
                        // A kind that says "unspecified" takes back an earlier one; merging would not.
                        is_simple = key != "span.kind" || alone != SpanFacts::default();
                        said = Some(alone);
                    }
                    if let Some(pair) = pair.filter(|_| is_simple) {
                        self.tags.insert(hash, &view.text[raw.0..raw.1], KnownTag { pair, facts: said });
                    }
                }
            }
        }
        facts
    }

    fn operation(&mut self, text: &[u8], set: &mut TraceSet) -> Option<Symbol> {
        let hash = memo::hash(text);
        if let Some(symbol) = self.operations.find(hash, text) {
            return Some(symbol);
        }
        let symbol = set.names.intern(plain(text)?);
        self.operations.insert(hash, text, symbol);
        Some(symbol)
    }
}

/// Reads a span of the trace under construction; false is a surprise, and then nothing has changed.
pub(super) fn span_of_trace(
    state: &mut State,
    set: &mut TraceSet,
    view: View<'_>,
    (start, end): (usize, usize),
    at: u64,
) -> Result<bool, Bad> {
    let Some(parsed) = state.fast.parse(view, start, end) else { return Ok(false) };
    let Some(operation) = state.fast.operation(parsed.operation, set) else { return Ok(false) };
    let facts = state.fast.take_tags(view, set);
    let tags = set.tags.finish();
    set.logs += parsed.logs;
    let mut flags: Flags = facts.flags();
    let parent = parsed.choice.choose(&mut flags);
    let process = match parsed.process {
        Process::Named(name) => state.building.process(name, at),
        Process::Inline(from, to) => {
            state.building.has_inline_process = true;
            let node = Node { text: &view.text[from..to], at: at + (from - start) as u64 };
            process(state, set, node)?
        }
    };
    state.building.push(
        parsed.trace,
        RawSpan {
            id: parsed.id,
            parent,
            start_us: parsed.start_us,
            duration_us: parsed.duration_us,
            operation,
            process,
            tags,
            flags,
        },
    );
    Ok(true)
}

/// A process, remembered by its text.
pub(super) fn process(state: &mut State, set: &mut TraceSet, node: Node<'_>) -> Result<ProcessId, Bad> {
    let hash = memo::hash(node.text);
    if let Some(known) = state.fast.processes.find(hash, node.text) {
        let keys = &state.fast.process_keys[known.keys.0 as usize..known.keys.1 as usize];
        let high = keys.iter().filter(|&&key| set.tags.is_high_cardinality(key)).count();
        // Once a key stops storing values, the same text means another set of tags.
        if high == known.high as usize {
            keys.iter().for_each(|&key| set.tags.count_key(key));
            return Ok(known.process);
        }
        return jaeger::process(state, set, node);
    }
    let problems = state.problems.total();
    let process = jaeger::process(state, set, node)?;
    if state.problems.total() == problems && node.text.len() < 4096 {
        let fast = &mut state.fast;
        if fast.process_keys.len() > 1 << 16 {
            fast.processes = Memo::default();
            fast.process_keys.clear();
        }
        let start = fast.process_keys.len() as u32;
        fast.process_keys.extend_from_slice(&state.tag_keys);
        let keys = (start, fast.process_keys.len() as u32);
        let high = state.tag_keys.iter().filter(|&&key| set.tags.is_high_cardinality(key)).count() as u32;
        fast.processes.insert(hash, node.text, KnownProcess { process, keys, high });
    }
    Ok(process)
}
