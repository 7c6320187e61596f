//! Splitting a large text into chunks, so that several readers share it.
//!
//! A reader can begin in the middle of a text if it knows which containers are open there. A [`SplitFinder`] learns from
//! the first bytes of a text how its units of traces are wrapped, and finds starts of units elsewhere: a [`SplitPoint`] is
//! such a start. It is a guess, because a string may hold anything, but every guess is checked. The reader of the chunk
//! before must arrive at the split point, having read everything up to it, in the very state in which the next reader has
//! begun. If it does, both have read what one reader would have read. A unit is read by one reader, however large it is.

use super::{Expect, Frame, Step, Walker};
use crate::bytes::sniff::{self, Kind};
use crate::bytes::trial::is_plain;
use crate::bytes::window::Window;
use crate::context::{Context, How, Scratch};
use crate::report::ProblemKind;
use crate::sink::Sink;
use pathlight_trace::TraceSet;
use serde::{Deserialize, Serialize};

/// Bytes that one search for a split point covers at most.
pub const SEARCH_BYTES: u64 = 8 << 20;
/// Bytes that the first look from a place covers: the next trace is near, unless traces are large.
pub const FIRST_LOOK_BYTES: u64 = SEARCH_BYTES / 16;
/// Chunks per reader: several, so that no reader waits long for the last one.
const CHUNKS_PER_READER: u64 = 4;
/// Text that a walk on trial takes at a time: most are over soon.
const TRIAL_BYTES: usize = 2 << 10;
/// Objects that are looked at in one search for a split point.
const MOST_TRIED: usize = 4096;

/// A place in a text where a reader may begin: before the first byte of a document or of an OTLP resource.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SplitPoint {
    /// Byte offset in the input.
    pub at: u64,
    /// Of a packed input: those who read on either side look for the split point themselves, after a place in the text. Its
    /// byte offset is a guess.
    pub(crate) in_packed: Option<Box<PackedPlace>>,
    context: WalkContext,
    /// Whether a line break stands right before it.
    begins_line: bool,
}

impl SplitPoint {
    /// Returns the split point after a place in the text of a packed input, which is at about this byte offset of the input;
    /// `finder` has seen the first bytes of the text.
    pub fn in_packed(at: u64, place: u64, finder: &SplitFinder) -> SplitPoint {
        let in_packed = PackedPlace { place, finder: finder.clone() };
        SplitPoint {
            at,
            in_packed: Some(Box::new(in_packed)),
            context: WalkContext::default(),
            begins_line: false,
        }
    }
}

/// A place in the text of a packed input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct PackedPlace {
    /// Byte offset in the text.
    pub place: u64,
    /// Finds the split point after it.
    pub finder: SplitFinder,
}

/// What a walker must know to go on.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct WalkContext {
    /// Open containers; the innermost is an array, or there is none.
    frames: Vec<Frame>,
    /// Whether the first document at the top is being read.
    is_first: bool,
    /// See [`Walker::one_line`], which leaves out the line break of [`SplitPoint::begins_line`]; it matters for the first
    /// document only.
    one_line: bool,
}

/// What is read as one: a trace, a resource with its spans, a single span.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Unit {
    around: Vec<Frame>,
    /// `None` is a single span.
    frame: Option<Frame>,
}

/// Finds split points in a text of which it has seen the first bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SplitFinder {
    context: WalkContext,
    unit: Unit,
    /// The first keys of a unit with their quotes, if a split point stands right before it: they rule out most objects.
    keys: Keys,
}

impl SplitFinder {
    /// Learns from the first bytes of an input, [`HEAD_BYTES`](crate::HEAD_BYTES) of them: more tell no more, and with fewer it may take
    /// for recognised what one reader would refuse. Returns `None` if they show no unit, as in archives.
    pub fn of(head: &[u8]) -> Option<SplitFinder> {
        let Kind::Text(skip) = sniff::sniff(head) else { return None };
        // What is refused, or read in another unit, is read in one piece.
        if !is_plain(head) {
            return None;
        }
        let mut probe = Probe::new(Walker::new(skip as u64), skip as u64);
        let unit = probe.first_unit(&head[skip..])?;
        let keys = match unit.frame {
            // The spans of a Jaeger trace often begin with the same key as the trace.
            Some(frame) => Keys::of(head.get(probe.walker.pos as usize..)?, frame == Frame::Trace),
            None => Keys::default(),
        };
        probe.run(&head[probe.window.end() as usize..]);
        let level = unit.around.iter().rposition(|frame| frame.is_array()).map_or(0, |place| place + 1);
        let is_first = probe.walker.documents <= 1 && level > 0;
        let frames = if is_first { unit.around[..level].to_vec() } else { Vec::new() };
        let keys = if frames == unit.around { keys } else { Keys::default() };
        let one_line = is_first && probe.walker.one_line && probe.walker.line.is_none();
        Some(SplitFinder { context: WalkContext { frames, is_first, one_line }, unit, keys })
    }

    /// Returns the first split point in `part`, which stands at byte offset `at` of the text, or `None`. The work is about
    /// proportional to the part.
    pub fn find(&self, part: &[u8], at: u64) -> Option<SplitPoint> {
        let mut tried = 0;
        for place in memchr::memchr_iter(b'{', part) {
            let Some(line_breaks) = self.context.may_follow(&part[..place]) else { continue };
            if !self.keys.may_begin(&part[place + 1..]) {
                continue;
            }
            tried += 1;
            if tried > MOST_TRIED {
                return None;
            }
            let begins_line = part[..place].ends_with(b"\n");
            let mut context = self.context.clone();
            context.one_line &= line_breaks == usize::from(begins_line);
            let point = SplitPoint { at: at + place as u64, in_packed: None, context, begins_line };
            let mut probe = Probe::new(Walker::from_split_point(&point), point.at);
            if probe.first_unit(&part[place..]).as_ref() == Some(&self.unit) {
                return Some(point);
            }
        }
        None
    }
}

impl WalkContext {
    /// Returns whether a unit may stand after this text, and then how many line breaks lie between it and what came
    /// before.
    fn may_follow(&self, before: &[u8]) -> Option<usize> {
        if self.frames.is_empty() {
            return before.ends_with(b"\n").then_some(1);
        }
        let trimmed = before.trim_ascii_end();
        trimmed.ends_with(b",").then(|| memchr::memchr_iter(b'\n', &before[trimmed.len()..]).count())
    }
}

/// Returns the byte offsets at which to look for split points in an input of `bytes` bytes for so many readers, in
/// ascending order. Chunks are `least` bytes long at least.
pub fn places_to_split(bytes: u64, readers: usize, least: u64) -> Vec<u64> {
    let chunks = if readers < 2 { 1 } else { (bytes / least.max(1)).min(readers as u64 * CHUNKS_PER_READER) };
    (1..chunks).map(|number| (u128::from(bytes) * u128::from(number) / u128::from(chunks)) as u64).collect()
}

/// Returns the byte offsets at which the shares of a packed input of `bytes` bytes begin, without the first, for so many
/// readers. A share is about 0.6 of the one before: to read takes half as long again as to unpack, and each reader unpacks
/// all that comes before its share, so all are ready at about the same time. None has less than `least` bytes.
pub fn places_to_share(bytes: u64, readers: usize, least: u64) -> Vec<u64> {
    let shares = |number: usize| -> Vec<f64> {
        let sizes: Vec<f64> = (0..number as i32).map(|at| 0.6f64.powi(at)).collect();
        let all: f64 = sizes.iter().sum();
        sizes.iter().map(|size| size / all * bytes as f64).collect()
    };
    let is_enough = |number: &usize| shares(*number).last().is_some_and(|last| *last >= least as f64);
    let Some(number) = (2..=readers).rev().find(is_enough) else { return Vec::new() };
    let mut at = 0.0;
    let ends = shares(number).into_iter().map(|size| {
        at += size;
        at as u64
    });
    ends.take(number - 1).collect()
}

/// The first key of an object and, where it is looked at, the second; empty: any.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Keys {
    first: Vec<u8>,
    second: Vec<u8>,
}

impl Keys {
    /// Returns the keys of an object, whose text is given without the opening bracket.
    fn of(text: &[u8], has_second: bool) -> Keys {
        let second = if has_second { after_first(text).map(first_key) } else { None };
        Keys { first: first_key(text), second: second.unwrap_or_default() }
    }

    /// Returns whether an object with these keys may begin so; the opening bracket is not given.
    fn may_begin(&self, text: &[u8]) -> bool {
        text.trim_ascii_start().starts_with(&self.first)
            && (self.second.is_empty() || after_first(text).is_none_or(|text| text.starts_with(&self.second)))
    }
}

/// Returns the text from the second key of an object on, if the first value is a short string.
fn after_first(text: &[u8]) -> Option<&[u8]> {
    let text = &text[..text.len().min(TRIAL_BYTES)];
    let value = text[memchr::memchr(b':', text)? + 1..].trim_ascii_start().strip_prefix(b"\"")?;
    let rest = value[memchr::memchr(b'"', value)? + 1..].trim_ascii_start();
    Some(rest.strip_prefix(b",")?.trim_ascii_start())
}

/// Returns the first key that a text inside an object begins with; empty if there is none.
fn first_key(text: &[u8]) -> Vec<u8> {
    let text = text.trim_ascii_start();
    let end = memchr::memchr(b':', text).unwrap_or(0);
    text[..end].trim_ascii_end().to_vec()
}

/// A walk on trial.
struct Probe {
    walker: Walker,
    window: Window,
    sink: Sink,
    set: TraceSet,
    scratch: Scratch,
}

impl Probe {
    fn new(mut walker: Walker, at: u64) -> Probe {
        walker.is_probe = true;
        let mut window = Window::default();
        window.reset(at);
        Probe { walker, window, sink: Sink::default(), set: TraceSet::new(), scratch: Scratch::default() }
    }

    /// Returns the walk, its text, and what it takes to walk on.
    fn parts(&mut self) -> (&mut Walker, &mut Window, Context<'_>) {
        let Probe { walker, window, sink, set, scratch } = self;
        (walker, window, Context::new(sink, set, scratch, How::default()))
    }

    /// Takes a step; `None` if memory ends.
    fn step(&mut self) -> Option<Step> {
        let (walker, window, mut cx) = self.parts();
        walker.step(window, &mut cx).ok()
    }

    /// Walks until a unit has begun; `None` if something else comes, or the text ends before it is clear.
    fn first_unit(&mut self, text: &[u8]) -> Option<Unit> {
        for piece in text.chunks(TRIAL_BYTES) {
            self.window.push(piece).then_some(())?;
            loop {
                let step = self.step()?;
                let is_lost = |kind| matches!(kind, ProblemKind::BadSyntax | ProblemKind::NotTraces);
                if self.walker.dead.is_some() || self.sink.problems.list.iter().any(|p| is_lost(p.kind)) {
                    return None;
                }
                if let Some((frame @ (Frame::Trace | Frame::Resource), around)) =
                    self.walker.frames.split_last()
                {
                    return Some(Unit { around: around.to_vec(), frame: Some(*frame) });
                }
                if self.sink.spans > 0 {
                    return Some(Unit { around: self.walker.frames.clone(), frame: None });
                }
                if let Step::Starved = step {
                    break;
                }
            }
        }
        None
    }

    /// Walks over the rest of what is there.
    fn run(&mut self, text: &[u8]) {
        for piece in std::iter::once(&[][..]).chain(text.chunks(TRIAL_BYTES)) {
            let (walker, window, mut cx) = self.parts();
            if !window.push(piece) || walker.run(window, &mut cx).is_err() {
                return;
            }
        }
    }
}

impl Walker {
    /// Returns a walker that begins at a split point.
    pub fn from_split_point(point: &SplitPoint) -> Walker {
        let WalkContext { frames, is_first, one_line } = point.context.clone();
        let mut walker = Walker::new(point.at);
        walker.expect = (!frames.is_empty()).then_some(Expect::Another);
        // At the top the next document is the second at least.
        walker.documents = if is_first || frames.is_empty() { 1 } else { 2 };
        walker.frames = frames;
        walker.one_line = one_line;
        walker.line = point.begins_line.then_some(point.at);
        walker
    }

    /// Returns whether this walk, over all text before a split point, has come to the state in which a walk from there
    /// begins.
    pub fn meets(&self, point: &SplitPoint) -> bool {
        let WalkContext { frames, is_first, one_line } = &point.context;
        if self.resync.is_some() {
            // The line break is there, and the split point begins the line that is looked for.
            return self.dead.is_none() && frames.is_empty() && self.pos + 1 == point.at;
        }
        let is_between = self.dead.is_none() && self.unit.is_none() && self.undecided.is_none();
        if !is_between || self.pos != point.at || self.frames != *frames {
            return false;
        }
        if frames.is_empty() {
            return self.documents > 0;
        }
        let begins_line = self.line == Some(self.pos);
        let is_one_line = self.one_line && (self.line.is_none() || begins_line);
        self.expect == Some(Expect::Another)
            && begins_line == point.begins_line
            && (self.documents <= 1) == *is_first
            && (!is_first || is_one_line == *one_line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two traces of Jaeger in an answer, with brackets in a string that are none.
    const ANSWER: &str = r#"{"data":[{"traceID":"a1","spans":[{"traceID":"a1","spanID":"b","operationName":",{\"traceID\":","startTime":1000,"duration":5,"processID":"p"}],"processes":{"p":{"serviceName":"s"}}},
{"traceID":"a2","spans":[{"traceID":"a2","spanID":"c","operationName":"o","startTime":1000,"duration":5,"processID":"p"}],"processes":{"p":{"serviceName":"s"}}}]}"#;
    /// Two exports of OTLP, a line each.
    const LINES: &str = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"a1","spanId":"b","name":"o","startTimeUnixNano":"1000","endTimeUnixNano":"3000"}]}]}]}
{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"a1","spanId":"c","name":"o","startTimeUnixNano":"1000","endTimeUnixNano":"3000"}]}]}]}
"#;

    /// Returns the split point that is found from an offset on by who knows the first bytes, and checks that a walk to it arrives in its state, and in none
    /// elsewhere.
    fn found(text: &str, head: usize, from: usize) -> Option<u64> {
        let finder = SplitFinder::of(&text.as_bytes()[..head]).unwrap();
        let point = finder.find(&text.as_bytes()[from..], from as u64)?;
        let meets = |end: usize, point: &SplitPoint| {
            let mut probe = Probe::new(Walker::new(0), 0);
            probe.walker.is_probe = false;
            probe.run(&text.as_bytes()[..end]);
            probe.walker.meets(point)
        };
        let at = point.at as usize;
        assert!(meets(at, &point), "the walk to {at}");
        let other = SplitPoint { begins_line: !point.begins_line, ..point.clone() };
        assert!(!meets(at - 3, &point) && !meets(at - 1, &point));
        assert!(point.context.frames.is_empty() || !meets(at, &other));
        Some(point.at)
    }

    #[test]
    fn a_text_is_split_where_a_trace_or_a_line_begins() {
        let head = ANSWER.find("\n").unwrap();
        let second = head + 1;
        assert_eq!(found(ANSWER, head, 0), Some(second as u64), "the first stands after no comma");
        assert_eq!(found(ANSWER, head, 20), Some(second as u64), "the bracket in a string begins no trace");
        assert_eq!(found(ANSWER, head, second), None, "of what came before nothing is known");
        assert_eq!(found(ANSWER, head, second + 5), None);
        let second = LINES.find("\n").unwrap() + 1;
        assert_eq!(found(LINES, LINES.len(), 0), Some(second as u64));
        assert_eq!(found(LINES, LINES.len(), second), None);
        assert!(SplitFinder::of(b"no traces").is_none() && SplitFinder::of(b"{\"data\":[").is_none());
    }

    #[test]
    fn of_what_is_read_only_the_last_byte_is_kept() {
        let kept = |length: usize| {
            let mut probe = Probe::new(Walker::new(0), 0);
            probe.run(&LINES.as_bytes()[..length]);
            probe.walker.keep_from()
        };
        let first = LINES.find("\n").unwrap();
        assert_eq!((kept(0), kept(first)), (0, first as u64 - 1));
        // In the middle of a span all of it is kept, and the byte before it.
        let span = LINES.find("{\"traceId").unwrap();
        assert_eq!(kept(span + 30), span as u64 - 1);
    }

    #[test]
    fn keys_rule_out_what_begins_otherwise() {
        let keys = Keys::of(br#" "a" : "x" , "b":1}"#, true);
        assert_eq!((keys.first.as_slice(), keys.second.as_slice()), (&br#""a""#[..], &br#""b""#[..]));
        assert!(keys.may_begin(br#""a":"y","b":2"#) && keys.may_begin(br#" "a":7"#));
        assert!(!keys.may_begin(br#""b":1"#) && !keys.may_begin(br#""a":"y","c":2"#));
        assert!(Keys::of(br#""a":"x","b":1"#, false).second.is_empty());
    }

    #[test]
    fn chunks_are_four_a_reader_and_no_shorter_than_the_least() {
        assert_eq!(places_to_split(1000, 2, 100), [125, 250, 375, 500, 625, 750, 875]);
        assert_eq!(places_to_split(1000, 2, 300), [333, 666]);
        assert!(places_to_split(1000, 1, 1).is_empty());
        // Each unpacks what comes before and reads 1.5 times as long as it unpacks: 625 + 1.5 * 625 = 1000 + 1.5 * 375.
        assert_eq!(places_to_share(1000, 2, 1), [625]);
        assert_eq!(places_to_share(1000, 8, 100), [510, 816]);
        assert!(places_to_share(1000, 1, 1).is_empty() && places_to_share(1000, 8, 501).is_empty());
        assert_eq!(places_to_split(1000, 2, 0).len(), 7);
        assert_eq!(places_to_split(u64::MAX, 2, 1)[3], u64::MAX / 2);
    }
}
