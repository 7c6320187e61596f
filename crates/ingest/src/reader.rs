//! The incremental reader of one input.

use crate::bytes::Masks;
use crate::bytes::nested::Nested as _;
use crate::bytes::sniff::{HTML, quote};
use crate::bytes::source::Source;
use crate::context::{Context, How, Scratch, Stop, WalkEnd};
use crate::guess::{Guess, Mapping};
use crate::json::walk::split::SplitPoint;
use crate::judge::Refusal;
use crate::keep::KeptTraces;
use crate::report::{
    ACCEPTED, ChunkEnd, Ended, ErrorKind, FileReport, IngestError, ProblemKind, ReadProgress,
};
use crate::sink::Sink;
use crate::summaries::TakeSummaries;
use crate::target::{ReadTarget, ReaderMemory, TargetParts};
use pathlight_trace::TraceSet;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What people have said of their traces, by which every input is read, whichever it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadRules {
    /// What rows are that no format is known of; the first that fits counts.
    pub maps: Vec<Mapping>,
    /// The tag that says the weight of a trace, before all that are known
    /// ([`choose_weight_key`](TraceSet::choose_weight_key)).
    pub weight_key: Option<String>,
}

/// How an input is read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Reads by the slow reference way only. Both ways give the same; tests compare them.
    pub reference: bool,
    /// How the shape of the text is looked at by the fast way; for tests, which compare.
    pub masks: Masks,
    /// The traces that are kept.
    pub keep: KeptTraces,
    /// What people have said of their traces.
    pub rules: ReadRules,
}

/// Reads one input (a file, an archive, pasted text) into a [`TraceSet`].
///
/// Call [`feed`](Self::feed) with the bytes in order, always with the same set, then [`finish`](Self::finish). When
/// all inputs of a load are read, call [`TraceSet::seal`]: it joins traces that are spread over inputs. Who reads many of them
/// has [`ManyInputs`](crate::ManyInputs) in place of a set.
///
/// ```
/// use pathlight_ingest::{ReadOptions, Reader};
/// use pathlight_trace::TraceSet;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let json = br#"[{"traceId": "1", "id": "a", "name": "checkout", "timestamp": 1000, "duration": 100,
///     "localEndpoint": {"serviceName": "shop"}}]"#;
/// let mut set = TraceSet::new();
/// let mut reader = Reader::new("zipkin.json", ReadOptions::default());
/// // Parts may end anywhere.
/// for part in json.chunks(7) {
///     reader.feed(part, &mut set)?;
/// }
/// let report = reader.finish(&mut set);
/// set.seal()?;
///
/// assert_eq!((report.spans, set.spans()), (1, 1));
/// assert_eq!(set.endpoint_name(set.endpoint(0)), ("shop", "checkout"));
/// # Ok(())
/// # }
/// ```
pub struct Reader {
    name: String,
    options: ReadOptions,
    source: Source,
    sink: Sink,
    scratch: Scratch,
    how: How,
    /// Offset of the first byte.
    start: u64,
    /// Whether it reads a chunk, and where that ends; `None` is the end of the input.
    chunk: Option<Option<SplitPoint>>,
    bytes: u64,
    /// The bytes that count as its own: of a packed input others are fed to it too.
    share: Range<u64>,
    head: Vec<u8>,
    /// Bytes on their way from [`Reader::feed_by`] to [`Reader::feed`].
    rest: Vec<u8>,
    failed: Option<IngestError>,
    /// What an input may be that is not recognised.
    guess: Option<Box<Guess>>,
}

impl Reader {
    /// Returns a reader of an input of this name.
    pub fn new(name: &str, options: ReadOptions) -> Reader {
        Reader {
            name: name.to_owned(),
            source: Source::default(),
            sink: Sink::keeping(options.keep.clone()),
            scratch: Scratch::default(),
            how: How { reference: options.reference, masks: options.masks, is_recognised: false },
            options,
            start: 0,
            chunk: None,
            bytes: 0,
            share: 0..u64::MAX,
            head: Vec::new(),
            rest: Vec::new(),
            failed: None,
            guess: None,
        }
    }

    /// Returns a reader of a chunk of an input: of the bytes from one split point (or the start) to another (or the end). Of a
    /// packed input it is fed all bytes from the first on, until its chunk [is over](Self::is_over).
    /// Offsets in its report are those of the whole input, and [`FileReport::chunk`] says whether the chunk ended at a true
    /// split point.
    pub fn of_chunk(
        name: &str,
        options: ReadOptions,
        from: Option<&SplitPoint>,
        until: Option<SplitPoint>,
    ) -> Reader {
        let mut reader = Reader::new(name, options);
        let in_packed = |point: Option<&SplitPoint>| point.and_then(|point| point.in_packed.clone());
        let places = [in_packed(from), in_packed(until.as_ref())];
        if places.iter().any(Option::is_some) {
            let [begin, end] = places.each_ref().map(Option::as_deref);
            reader.source = Source::of_share(begin, end);
            reader.sink.saw_packing("gzip");
            reader.chunk = Some(None);
            reader.how.is_recognised = true;
            let at = |point: &SplitPoint| point.at;
            reader.share = from.map_or(0, at)..until.as_ref().map_or(u64::MAX, at);
            return reader;
        }
        if let Some(point) = from {
            reader.source = Source::from_split_point(point, reader.how);
            reader.start = point.at;
        }
        reader.how.is_recognised = from.is_some() || until.is_some();
        reader.chunk = Some(until);
        reader
    }

    /// Feeds the next bytes. However the same bytes are divided, the result is the same; the work is proportional to them.
    ///
    /// # Errors
    /// When the input is nothing known, or memory ends. What was read before stays in the set; the reader takes nothing
    /// more, and [`finish`](Self::finish) reports the same error.
    pub fn feed(&mut self, bytes: &[u8], into: &mut dyn ReadTarget) -> Result<(), IngestError> {
        let want = 16usize.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..want]);
        let fed = self.take(bytes.len(), into, |source, cx| source.feed(bytes, cx));
        self.scratch.fast.flush(into.parts().set);
        fed
    }

    /// Feeds the next bytes, `bytes` of them, which `fill` writes; it may be called several times, each time with the
    /// memory for the bytes that follow. Of text, this memory is that from which it is read, which spares a copy.
    ///
    /// # Errors
    /// As [`feed`](Self::feed).
    pub fn feed_by(
        &mut self,
        mut bytes: usize,
        into: &mut dyn ReadTarget,
        mut fill: impl FnMut(&mut [u8]),
    ) -> Result<(), IngestError> {
        let mut fed = Ok(());
        while bytes > 0 && fed.is_ok() {
            // The first bytes are quoted where they are not understood.
            let room = if self.head.len() < 16 { None } else { self.source.room(bytes) };
            if let Some(room) = room {
                fill(room);
                let took = room.len();
                bytes -= took;
                fed = self.take(took, into, |source, cx| source.commit(took, cx));
            } else {
                let mut rest = std::mem::take(&mut self.rest);
                rest.resize(bytes, 0);
                fill(&mut rest);
                fed = self.feed(&rest, into);
                self.rest = rest;
                bytes = 0;
            }
        }
        self.scratch.fast.flush(into.parts().set);
        fed
    }

    /// Returns the source, and what it needs to read into a set.
    fn reading<'a>(
        &'a mut self,
        set: &'a mut TraceSet,
        summaries: Option<&'a mut dyn TakeSummaries>,
    ) -> (&'a mut Source, Context<'a>) {
        let Reader { source, sink, scratch, name, how, options, .. } = self;
        (
            source,
            Context { summaries, name, maps: &options.rules.maps, ..Context::new(sink, set, scratch, *how) },
        )
    }

    fn take(
        &mut self,
        bytes: usize,
        into: &mut dyn ReadTarget,
        take: impl FnOnce(&mut Source, &mut Context<'_>) -> Result<(), Stop>,
    ) -> Result<(), IngestError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let TargetParts { set, memory, summaries } = into.parts();
        if self.bytes == 0 {
            if let Some(ReaderMemory { sink, scratch }) = memory.map(std::mem::take) {
                self.sink.reuse(sink);
                self.scratch = scratch;
            }
            if let Some(key) = &self.options.rules.weight_key {
                set.choose_weight_key(key);
            }
        }
        self.bytes += bytes as u64;
        let (source, mut cx) = self.reading(set, summaries);
        match take(source, &mut cx) {
            Ok(()) => Ok(()),
            Err(stop) => {
                let error = self.stopped(stop);
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Returns whether it takes nothing more, since its chunk of a packed input has ended.
    pub fn is_over(&self) -> bool {
        self.source.is_over()
    }

    /// Returns how far the reader is.
    pub fn progress(&self) -> ReadProgress {
        ReadProgress { bytes: self.bytes, traces: self.sink.traces, spans: self.sink.spans }
    }

    /// Ends the input and gives the account of it. Whole traces are in the set now; spans of formats that scatter traces
    /// wait for [`TraceSet::seal`].
    pub fn finish(mut self, into: &mut dyn ReadTarget) -> FileReport {
        let mut agrees = true;
        let mut ended = match (self.failed.take(), &self.chunk) {
            (Some(error), _) => Ended::Failed(error),
            (None, Some(Some(point))) => {
                agrees = self.source.meets(point);
                Ended::Whole
            }
            (None, _) => {
                let TargetParts { set, summaries, .. } = into.parts();
                let (source, mut cx) = self.reading(set, summaries);
                let end = source.finish(&mut cx);
                agrees = source.agrees();
                match end {
                    Ok(WalkEnd::Whole) => Ended::Whole,
                    Ok(WalkEnd::Cut(offset)) => Ended::Cut { offset },
                    Err(stop) => Ended::Failed(self.stopped(stop)),
                }
            }
        };
        agrees &= !self.sink.has_false_start;
        let chunk = self.chunk_end(agrees);
        let TargetParts { set, memory, .. } = into.parts();
        self.scratch.fast.flush(set);
        if let Some(memory) = memory.filter(|_| self.bytes > 0) {
            *memory = ReaderMemory { sink: self.sink.leave(), scratch: std::mem::take(&mut self.scratch) };
        }
        // A chunk without a trace, or a file without one of those to be kept, is nothing to complain about.
        let is_complete = self.chunk.is_none() && self.sink.left_out == 0;
        if self.sink.spans == 0 && !matches!(ended, Ended::Failed(_)) && is_complete {
            ended = Ended::Failed(self.nothing());
        }
        self.report(ended, chunk)
    }

    /// Gives up the rest of the input and gives the account of it. The set keeps what it has, and gets what was held back
    /// until the format was sure.
    pub fn stop(mut self, into: &mut dyn ReadTarget) -> FileReport {
        if self.bytes > 0 && self.take(0, into, Source::stop).is_ok() {
            self.scratch.fast.flush(into.parts().set);
        }
        let ended = self.failed.take().map_or(Ended::Stopped, Ended::Failed);
        let chunk = self.chunk_end(true);
        self.report(ended, chunk)
    }

    fn chunk_end(&self, agrees: bool) -> Option<ChunkEnd> {
        self.chunk.is_some().then(|| ChunkEnd { agrees, traces: self.sink.trace_hashes() })
    }

    fn report(self, ended: Ended, chunk: Option<ChunkEnd>) -> FileReport {
        FileReport {
            name: self.name,
            format: self.sink.format_names(),
            bytes: self.bytes.clamp(self.share.start, self.share.end) - self.share.start,
            traces: self.sink.traces,
            spans: self.sink.spans,
            problems: self.sink.problems.list,
            ended,
            keep: self.options.keep,
            guess: self.guess,
            chunk,
        }
    }

    fn error(&self, kind: ErrorKind, offset: u64, reason: String, next: &str) -> IngestError {
        IngestError { kind, file: self.name.clone(), offset, reason, next: next.to_owned() }
    }

    fn stopped(&mut self, stop: Stop) -> IngestError {
        match stop {
            Stop::Summary(reason) => self.error(
                ErrorKind::NothingReadable,
                0,
                format!("it is a summary of traces, but {reason}"),
                "Make it again with pathlight summarise.",
            ),
            Stop::Full(full) => self.error(
                ErrorKind::Memory,
                self.start + self.bytes,
                full.to_string(),
                "Load fewer files, or keep a sample of the traces.",
            ),
            Stop::Refused(Refusal { kind, offset, reason, next, guess, .. }) => {
                self.guess = guess;
                self.error(kind, offset, reason, &next)
            }
            Stop::Unknown(head, what) => {
                let seen = match what {
                    "" => "its content is not recognised".to_owned(),
                    _ => format!("it looks like {what}"),
                };
                let reason = format!("{seen}; it begins with {}", quote(&head));
                let next = match what {
                    HTML => {
                        "If a server gave it, log in there in this browser, then open it again.".to_owned()
                    }
                    _ => format!("{ACCEPTED}."),
                };
                self.error(ErrorKind::NotRecognised, 0, reason, &next)
            }
        }
    }

    /// Returns why an input that was read to its end gave no span.
    fn nothing(&self) -> IngestError {
        let sink = &self.sink;
        let is_reason = |kind| !matches!(kind, ProblemKind::NotTraces | ProblemKind::OtherUnit);
        let left_out = sink.problems.list.iter().find(|p| is_reason(p.kind));
        if let Some((at, message)) = &sink.server_error {
            return self.error(
                ErrorKind::ServerError,
                *at,
                format!("it is a server's error answer and holds no traces: {message}"),
                "Ask the server again with another query, and save the answer once it has traces.",
            );
        }
        if let Some((at, what)) = &sink.other {
            return self.error(
                ErrorKind::OtherJson,
                *at,
                format!("it is JSON but holds no traces: {what}"),
                &format!("{ACCEPTED}."),
            );
        }
        match left_out {
            Some(problem) if sink.is_known => self.error(
                ErrorKind::NothingReadable,
                problem.example.offset,
                format!("nothing of it could be read: {}", problem.example.text),
                "Export the traces again, or mend the file at this place.",
            ),
            Some(problem) => self.error(
                ErrorKind::NotRecognised,
                problem.example.offset,
                format!("{}; it begins with {}", problem.example.text, quote(&self.head)),
                &format!("{ACCEPTED}."),
            ),
            None if sink.is_known => self.error(
                ErrorKind::NoTraces,
                0,
                "it is a trace export, but an empty one: it holds no spans".to_owned(),
                "Widen the search (time range, limit, service) and export again.",
            ),
            None => self.error(
                ErrorKind::Empty,
                0,
                if self.bytes == 0 { "the file is empty" } else { "there is nothing but white space in it" }
                    .to_owned(),
                "Export the traces again.",
            ),
        }
    }
}
