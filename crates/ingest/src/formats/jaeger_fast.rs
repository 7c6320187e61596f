//! Jaeger spans the fast way: read in one go, without looking for their end first; keys are recognised by one word, known tags
//! by their text alone. It takes only what it fully understands; anything else is a surprise and goes the reference way,
//! so both give the same.

use super::{ParentChoice, jaeger};
use crate::json::keys::Key;
use crate::json::lists::{KnownTag, Lists};
use crate::json::memo::{self, Memo};
use crate::json::node::{Bad, Node, decode, parse_number};
use crate::json::view::{View, hex, plain, same, trace_hex};
use crate::needs::Times;
use crate::sink::Sink;
use memchr::memmem::Finder;
use pathlight_trace::{
    Flags, ProcessId, RawLink, RawSpan, SpanFacts, SpanId, Symbol, TagSetId, TagTable, TraceId, TraceSet,
    is_in_calendar,
};

/// Reads spans and processes the fast way, and remembers what it has met; valid for one trace set.
pub(crate) struct FastReader {
    tags: Memo<KnownTag>,
    lists: Lists,
    /// The tags of the span being read as far as they are a list that is known; those after it.
    list: u32,
    found: Vec<Found>,
    /// Keys of tags without a stored value.
    unstored: Vec<u32>,
    operations: Memo<Symbol>,
    processes: Memo<KnownProcess>,
    /// Numbers of tag keys of remembered processes.
    process_keys: Vec<u32>,
    /// Numbers of the tag keys of the process being read.
    read_keys: Vec<u32>,
    /// The last trace id as text, and what it is.
    trace_text: Vec<u8>,
    trace: TraceId,
    decoded: String,
    /// What the span being read names in other traces.
    links: Vec<(TraceId, SpanId)>,
    exception: Finder<'static>,
    error: Finder<'static>,
}

impl Default for FastReader {
    fn default() -> FastReader {
        FastReader {
            tags: Memo::default(),
            lists: Lists::default(),
            list: 0,
            found: Vec::new(),
            unstored: Vec::new(),
            operations: Memo::default(),
            processes: Memo::default(),
            process_keys: Vec::new(),
            read_keys: Vec::new(),
            trace_text: Vec::new(),
            trace: TraceId::NONE,
            decoded: String::new(),
            links: Vec::new(),
            exception: Finder::new(jaeger::ERROR_WORDS[0]),
            error: Finder::new(jaeger::ERROR_WORDS[1]),
        }
    }
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
    /// Number in `FastReader::tags`.
    Known(u32),
    New(NewTag),
}

/// A tag whose text is new.
#[derive(Clone, Copy)]
struct NewTag {
    hash: u64,
    raw: (usize, usize),
    key: (usize, usize),
    value: Value,
    /// Where its value begins, if nothing follows that.
    value_at: Option<usize>,
}

#[derive(Clone, Copy)]
enum Value {
    /// A range of the text, as it stands there.
    Plain(usize, usize),
    /// A range of `FastReader::decoded`.
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
    /// What the operation is, if that is known.
    symbol: Option<Symbol>,
    process: Process<'a>,
    logs: u64,
    /// Offset of its end, exclusive.
    end: usize,
}

#[derive(Clone, Copy)]
enum Process<'a> {
    Named(&'a [u8]),
    Inline(usize, usize),
}

impl FastReader {
    /// Takes note of another trace id.
    fn trace_id(&mut self, text: &[u8]) -> Option<()> {
        self.trace = trace_hex(text)?;
        self.trace_text.clear();
        self.trace_text.extend_from_slice(text);
        Some(())
    }

    /// Reads the span that begins at the first byte without changing anything but scratch; `None` is a surprise. Without
    /// `stored`, what is stored of tags, these are passed over.
    fn parse<'a>(&mut self, view: View<'a>, stored: Option<&TagTable>) -> Option<Parsed<'a>> {
        const ALL: u32 = 0b111_1111;
        let (mut trace, mut id) = (TraceId::NONE, SpanId::NONE);
        let mut choice = ParentChoice::default();
        let (mut start_us, mut duration_us, mut logs) = (0, 0, 0);
        let (mut operation, mut symbol) = (&view.text[..0], None);
        let mut process = Process::Named(operation);
        self.list = 0;
        self.found.clear();
        self.unstored.clear();
        self.decoded.clear();
        self.links.clear();
        let mut seen = 0u32;
        let mut at = view.space(1)?;
        let end = loop {
            let (key, value) = Key::read(view, at)?;
            let bit = 1 << key as u32;
            if seen & bit != 0 && key != Key::Other {
                return None;
            }
            seen |= bit;
            at = match key {
                Key::Trace => {
                    let after = self.same_trace(view.text, value);
                    let at = match after {
                        Some(at) => at,
                        None => {
                            let (text, at) = view.string(value)?;
                            self.trace_id(text)?;
                            at
                        }
                    };
                    trace = self.trace;
                    at
                }
                Key::Span => {
                    let (number, at) = view.hex_string(value)?;
                    id = SpanId::hex(number);
                    at
                }
                Key::Operation => {
                    let (text, at) = view.string(value)?;
                    operation = text;
                    let known = self.operations.number(memo::hash(text), text);
                    if seen & (1 << Key::Tags as u32) == 0 {
                        self.list = known.map_or(0, |number| self.lists.start(number));
                    }
                    symbol = known.map(|number| self.operations.value(number));
                    at
                }
                Key::Start => {
                    let (number, at) = view.integer(value)?;
                    start_us = number;
                    at
                }
                Key::Duration => {
                    let (number, at) = view.integer(value)?;
                    duration_us = number;
                    at
                }
                Key::ProcessId => {
                    let (text, at) = view.string(value)?;
                    let is_short = text.len() <= 8 && text.iter().all(u8::is_ascii_alphanumeric);
                    (is_short || plain(text).is_some()).then_some(())?;
                    if let Process::Named(_) = process {
                        process = Process::Named(text);
                    }
                    at
                }
                Key::Tags => match stored {
                    Some(stored) => self.tags(view, value, stored)?,
                    None => {
                        (*view.text.get(value)? == b'[').then_some(())?;
                        view.skip_brackets(value)?.0
                    }
                },
                Key::References => {
                    if *view.text.get(value)? == b'[' && *view.text.get(value + 1)? == b']' {
                        value + 2
                    } else {
                        (!trace.is_none()).then_some(())?;
                        match self.reference(view.text, value) {
                            Some((parent, at)) => {
                                choice.reference(parent, false);
                                at
                            }
                            None => self.references(view, value, trace, &mut choice)?,
                        }
                    }
                }
                Key::Logs if *view.text.get(value)? == b'[' => {
                    let (at, objects) = view.skip_brackets(value)?;
                    let text = &view.text[value..at];
                    if text.len() > 2
                        && (self.exception.find(text).is_some() || self.error.find(text).is_some())
                    {
                        return None;
                    }
                    logs = objects;
                    at
                }
                Key::Process => {
                    (*view.text.get(value)? == b'{').then_some(())?;
                    let (at, _) = view.skip_brackets(value)?;
                    process = Process::Inline(value, at);
                    at
                }
                Key::Parent => {
                    let (number, at) = view.hex_string(value)?;
                    choice.named(SpanId::hex(number));
                    at
                }
                Key::Logs | Key::Other => view.skip_value(value)?,
            };
            match view.next(at, b'}')? {
                Ok(next) => at = next,
                Err(after) => break after,
            }
        };
        if let Process::Inline(..) = process {
            seen |= 1 << Key::ProcessId as u32;
        }
        let is_complete = seen & ALL == ALL && !trace.is_none() && start_us != 0;
        let is_in_time = is_in_calendar(start_us, duration_us);
        (is_complete && is_in_time && !choice.is_several()).then_some(Parsed {
            trace,
            id,
            choice,
            start_us,
            duration_us,
            operation,
            symbol,
            process,
            logs,
            end,
        })
    }

    /// Returns the place after a string that says the same trace id as the last one.
    #[inline]
    fn same_trace(&self, text: &[u8], at: usize) -> Option<usize> {
        let end = at + 1 + self.trace_text.len();
        let is_same = !self.trace.is_none()
            && *text.get(at)? == b'"'
            && *text.get(end)? == b'"'
            && same(&self.trace_text, &text[at + 1..end]);
        is_same.then_some(end + 1)
    }

    /// Returns the parent and the place after it, of a single reference within the trace as exporters write it.
    #[inline]
    fn reference(&self, text: &[u8], at: usize) -> Option<(SpanId, usize)> {
        const HEAD: &[u8; 34] = b"[{\"refType\":\"CHILD_OF\",\"traceID\":\"";
        const MIDDLE: &[u8; 12] = b"\",\"spanID\":\"";
        let (head, rest) = text.get(at..)?.split_first_chunk::<34>()?;
        let (trace, rest) = rest.split_at_checked(self.trace_text.len())?;
        let (middle, rest) = rest.split_first_chunk::<12>()?;
        let (id, rest) = rest.split_first_chunk::<16>()?;
        let is_so = same(head, HEAD) && same(trace, &self.trace_text) && same(middle, MIDDLE);
        if !is_so || rest.first_chunk() != Some(b"\"}]") {
            return None;
        }
        Some((SpanId::hex(hex(id)?), at + HEAD.len() + trace.len() + MIDDLE.len() + id.len() + 3))
    }

    fn references(
        &mut self,
        view: View<'_>,
        from: usize,
        own: TraceId,
        choice: &mut ParentChoice,
    ) -> Option<usize> {
        (*view.text.get(from)? == b'[').then_some(())?;
        let mut at = view.space(from + 1)?;
        if view.text[at] == b']' {
            return Some(at + 1);
        }
        loop {
            (view.text[at] == b'{').then_some(())?;
            at = view.space(at + 1)?;
            let (mut follows, mut span, mut other) = (false, SpanId::NONE, None);
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
                        if !same(&self.trace_text, text) {
                            other = Some(trace_hex(text)?).filter(|other| !other.is_none() && *other != own);
                        }
                        at
                    }
                    b"spanID" => {
                        see(2)?;
                        let (number, at) = view.hex_string(value)?;
                        span = SpanId::hex(number);
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
            match other {
                Some(_) if span.is_none() => {}
                Some(other) => self.links.push((other, span)),
                None => choice.reference(span, follows),
            }
            match view.next(at, b']')? {
                Ok(next) => at = next,
                Err(after) => return Some(after),
            }
        }
    }

    /// Finds the tags of a list.
    fn tags(&mut self, view: View<'_>, from: usize, stored: &TagTable) -> Option<usize> {
        (*view.text.get(from)? == b'[').then_some(())?;
        let mut at = view.space(from + 1)?;
        if view.text[at] == b']' {
            return Some(at + 1);
        }
        loop {
            let is_known = self.found.is_empty();
            let after = if is_known
                && let Some((list, after)) = self.lists.guess(self.list, &self.tags, view.text, at)
            {
                self.list = list;
                after
            } else if is_known && let Some((key, after)) = self.lists.guess_unstored(self.list, view, at) {
                self.unstored.push(key);
                after
            } else {
                self.tag(view, at, stored)?
            };
            match view.next(after, b']')? {
                Ok(next) => at = next,
                Err(after) => return Some(after),
            }
        }
    }

    /// Finds a tag that was not guessed; the place after it.
    fn tag(&mut self, view: View<'_>, at: usize, stored: &TagTable) -> Option<usize> {
        (view.text[at] == b'{').then_some(())?;
        let is_known = self.found.is_empty();
        let guess = if is_known { self.lists.guess_end(self.list, &self.tags, view, at) } else { None };
        let after = match guess {
            Some(after) => after,
            None => view.skip_flat(at)?,
        };
        let raw = &view.text[at..after];
        let hash = memo::hash(raw);
        if let Some(tag) = self.tags.number(hash, raw) {
            let KnownTag { pair, facts, .. } = self.tags.value(tag);
            let key = stored.key_of_pair(pair);
            if stored.is_skipped(key) && facts.is_none() {
                self.unstored.push(key);
            } else if is_known && let Some(list) = self.lists.child(self.list, tag) {
                self.list = list;
            } else {
                self.found.push(Found::Known(tag));
            }
            return Some(after);
        }
        let new = self.new_tag(view, at, after, hash)?;
        // Both ends were found to be UTF-8.
        let key = std::str::from_utf8(&view.text[new.key.0..new.key.1]).unwrap_or_default();
        match stored.find_key(key).filter(|&key| stored.is_skipped(key)) {
            Some(number) if !SpanFacts::wants(key) => {
                self.unstored.push(number);
                if let Some(value_at) = new.value_at.filter(|_| is_known) {
                    self.lists.note_unstored(self.list, &view.text[at..value_at], number);
                }
            }
            _ => self.found.push(Found::New(new)),
        }
        Some(after)
    }

    /// Reads a tag whose text is new.
    fn new_tag(&mut self, view: View<'_>, start: usize, end: usize, hash: u64) -> Option<NewTag> {
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
                    (value.replace((read, from, at)).is_none()).then_some(())?;
                    at
                }
                _ if memchr::memchr(b'\\', name).is_some() => return None,
                _ => view.skip_value(from)?,
            };
            match view.next(at, b'}')? {
                Ok(next) => at = next,
                Err(after) => {
                    (after == end).then_some(())?;
                    let (value, from, to) = value?;
                    let value_at = Some(from).filter(|_| to + 1 == end);
                    return Some(NewTag { hash, raw: (start, end), key: key?, value, value_at });
                }
            }
        }
    }

    /// Returns a tag's value as text, and the place after it.
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

    /// Interns the tags found; what they say, and their set.
    fn take_tags(&mut self, view: View<'_>, set: &mut TraceSet) -> (SpanFacts, TagSetId) {
        for &key in &self.unstored {
            set.tags.count_key(key);
        }
        let mut facts = self.lists.facts(self.list);
        if self.found.is_empty() {
            return (facts, self.lists.set(self.list, set));
        }
        set.tags.begin();
        self.lists.add_pairs(self.list, set);
        let mut grows = Some(self.list);
        for found in &self.found {
            let mut is_new = false;
            let tag = match *found {
                Found::Known(tag) => {
                    let known = self.tags.value(tag);
                    set.tags.add_pair(known.pair);
                    if let Some(said) = &known.facts {
                        facts.merge(said);
                    }
                    Some(tag)
                }
                Found::New(NewTag { hash, raw, key, value, value_at }) => {
                    is_new = true;
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
                    // Of a key with too many values none comes again soon.
                    is_simple &= !set.tags.is_high_cardinality(number);
                    pair.filter(|_| is_simple).and_then(|pair| {
                        let text = &view.text[raw.0..raw.1];
                        let value_at = value_at.map_or(0, |at| (at - raw.0) as u32);
                        self.tags.try_insert(hash, text, KnownTag { pair, facts: said, value_at })
                    })
                }
            };
            // What comes again is soon known as a whole; what never does, costs no more than this.
            grows = match (grows, tag) {
                (Some(list), Some(tag)) => self.lists.add(list, tag, &self.tags).filter(|_| !is_new),
                _ => None,
            };
        }
        let is_full = self.tags.is_full() || self.operations.is_full();
        if is_full || self.lists.is_full() {
            self.flush(set);
            self.lists = Lists::default();
        }
        // Lists refer to tags and operations, and not the other way round: they may be forgotten alone. A key of hundreds
        // of values fills them long before the tags.
        if is_full {
            self.tags.clear();
            self.operations.clear();
        }
        (facts, set.tags.finish())
    }

    /// Counts the keys of tags that were only noted.
    pub fn flush(&mut self, set: &mut TraceSet) {
        self.lists.flush(set);
    }

    /// Interns an operation that is not known yet.
    fn operation(&mut self, text: &[u8], set: &mut TraceSet) -> Option<Symbol> {
        let symbol = set.operation(plain(text)?);
        self.operations.try_insert(memo::hash(text), text, symbol);
        Some(symbol)
    }

    /// Reads no more than the times of the span that begins at the first byte of a text, which may go on after it; `at` is its
    /// offset. Returns its length with them. `None` is a surprise.
    pub fn times(&mut self, text: &[u8], at: u64) -> Option<(usize, Times)> {
        let parsed = self.parse(View { text }, None)?;
        let (start_us, duration_us) = (Some(parsed.start_us as f64), Some(parsed.duration_us as f64));
        Some((parsed.end, Times { at, clock: jaeger::NEEDS.clock, start_us, duration_us }))
    }

    /// Reads the span of the trace under construction that begins at the first byte of a text, which may go on after it; `at`
    /// is its offset. Returns the length of the span, and whether its process was bad. `None` is a surprise, and then nothing
    /// has changed.
    pub fn span_of_trace(
        &mut self,
        sink: &mut Sink,
        set: &mut TraceSet,
        text: &[u8],
        at: u64,
    ) -> Option<(usize, Result<(), Bad>)> {
        let view = View { text };
        let parsed = self.parse(view, Some(&set.tags))?;
        let operation = match parsed.symbol {
            Some(symbol) => symbol,
            None => self.operation(parsed.operation, set)?,
        };
        let (facts, tags) = self.take_tags(view, set);
        set.logs += parsed.logs;
        let mut flags: Flags = facts.flags();
        let parent = parsed.choice.choose(&mut flags, &mut set.id_texts);
        let process = match parsed.process {
            Process::Named(name) => sink.building.process(name, at),
            Process::Inline(from, to) => {
                sink.building.has_inline_process = true;
                match self.process(sink, set, Node { text: &text[from..to], at: at + from as u64 }) {
                    Ok(process) => process,
                    Err(bad) => return Some((parsed.end, Err(bad))),
                }
            }
        };
        let links = self.links.iter().map(|&(to_trace, to_span)| RawLink {
            trace: parsed.trace,
            span: parsed.id,
            to_trace,
            to_span,
        });
        sink.building.links.extend(links);
        sink.building.push(
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
        Some((parsed.end, Ok(())))
    }

    /// Returns a process, remembered by its text.
    pub fn process(&mut self, sink: &mut Sink, set: &mut TraceSet, node: Node<'_>) -> Result<ProcessId, Bad> {
        let hash = memo::hash(node.text);
        if let Some(known) = self.processes.find(hash, node.text) {
            let keys = &self.process_keys[known.keys.0 as usize..known.keys.1 as usize];
            let high = unstored(keys, &set.tags);
            // Once a key stops storing values, the same text means another set of tags.
            if high == known.high {
                keys.iter().for_each(|&key| set.tags.count_key(key));
                return Ok(known.process);
            }
            return jaeger::process(sink, set, node);
        }
        let problems = sink.problems.total();
        let keys = &mut self.read_keys;
        keys.clear();
        let process = jaeger::process_and_keys(sink, set, node, &mut |key| keys.push(key))?;
        if sink.problems.total() == problems && node.text.len() < 4096 {
            if self.process_keys.len() > 1 << 16 {
                self.processes = Memo::default();
                self.process_keys.clear();
            }
            let start = self.process_keys.len() as u32;
            self.process_keys.extend_from_slice(&self.read_keys);
            let keys = (start, self.process_keys.len() as u32);
            let high = unstored(&self.read_keys, &set.tags);
            self.processes.insert(hash, node.text, KnownProcess { process, keys, high });
        }
        Ok(process)
    }
}

/// Returns a number that grows whenever keys store less than before: first no values, then nothing at all.
fn unstored(keys: &[u32], tags: &TagTable) -> u32 {
    let of = |&key: &u32| u32::from(tags.is_high_cardinality(key)) + u32::from(tags.stores_nothing(key));
    keys.iter().map(of).sum()
}
