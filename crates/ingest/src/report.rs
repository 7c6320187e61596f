//! The report on an input: its format, what was odd in it, how it ended.

use crate::formats::FORMATS;
use crate::guess::Guess;
use crate::keep::KeptTraces;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

/// What can be read, for messages.
pub(crate) const ACCEPTED: &str = "Accepted are traces as JSON (Jaeger with its documents in Elasticsearch and Cassandra, OTLP, \
                        Zipkin, OpenTelemetry SDK output, Next.js, rows of about twenty other tools), one document or \
                        many (NDJSON), tables of spans (CSV), OTLP as protobuf, saved reports (.html) and summaries of \
                        traces (.pathlight); also as .gz, .zst or .zip";

/// What was odd in an input. Nothing of this stops a load.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// A span whose process is unknown; its service reads `unknown-service`.
    UnknownProcess,
    /// A span without a duration; it counts as 0.
    MissingDuration,
    /// A negative duration, or one of 2^63 us or more (a wrapped negative); it counts as 0.
    NegativeDuration,
    /// A span without a start, or with one of 0 or below; it takes its parent's. A 0 stays where its trace stands at 0.
    MissingStart,
    /// A span that is longer than 10 years, or ends after the start of 2100; it is left out.
    TimeOutOfRange,
    /// A string that is no UTF-8; replacement characters stand in.
    InvalidUtf8,
    /// A value of the wrong type; its trace is left out (in formats of single spans: its span).
    WrongType,
    /// Bad syntax; what follows in the document is not read, in NDJSON the line is left out.
    BadSyntax,
    /// Nesting deeper than 128; the trace is left out.
    TooDeep,
    /// A string above 64 MiB, or one span above 256 MiB; the trace is left out.
    TooLong,
    /// The text ends in the middle; every complete trace (in formats of single spans: span) is kept.
    Truncated,
    /// A span without a trace id; it is left out. A trace without one is kept under an id made up for it.
    MissingTraceId,
    /// JSON objects that are no traces; they are passed over.
    NotTraces,
    /// A member of an archive that cannot be read; it is passed over.
    BadMember,
    /// Times that are not in the unit of their format; they are read in the one that fits.
    OtherUnit,
}

impl ProblemKind {
    /// Returns what it is and what was done, for the data-quality panel.
    pub fn explain(self) -> &'static str {
        match self {
            ProblemKind::UnknownProcess => "spans of an unknown process: their service reads unknown-service",
            ProblemKind::MissingDuration => "spans without a duration: read as 0",
            ProblemKind::NegativeDuration => "spans whose duration is negative or no number: read as 0",
            ProblemKind::MissingStart => "spans without a start, or with one of 0: placed at their parent's",
            ProblemKind::TimeOutOfRange => {
                "spans longer than 10 years, or that end after the start of 2100: left out"
            }
            ProblemKind::InvalidUtf8 => "texts that are not UTF-8: shown with replacement characters",
            ProblemKind::WrongType => "traces with a value of the wrong type: left out",
            ProblemKind::BadSyntax => {
                "places that are not JSON: read up to there, in NDJSON the line left out"
            }
            ProblemKind::TooDeep => "traces nested deeper than 128: left out",
            ProblemKind::TooLong => "traces with a text above 64 MiB: left out",
            ProblemKind::Truncated => "the file ends in the middle: everything complete is kept",
            ProblemKind::MissingTraceId => "spans without a trace id: left out",
            ProblemKind::NotTraces => "JSON objects that are no traces: passed over",
            ProblemKind::BadMember => "archive members that cannot be read: passed over",
            ProblemKind::OtherUnit => {
                "inputs with times in another unit than their format's: read in that unit"
            }
        }
    }
}

/// One kind of oddity, counted, with its first example.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadProblem {
    /// The kind of problem.
    pub kind: ProblemKind,
    /// How often it was met.
    pub count: u64,
    /// The place where it was met first.
    pub example: Example,
}

/// A place in an input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Example {
    /// Byte offset in the text (of an archive: in the unpacked member).
    pub offset: u64,
    /// What stands there and what was done.
    pub text: String,
}

/// Problems by kind, in the order of first sight.
#[derive(Clone, Default, Debug)]
pub(crate) struct Problems {
    pub list: Vec<ReadProblem>,
    /// Name of the archive member being read.
    pub member: Option<String>,
}

impl Problems {
    /// Returns how many there are.
    pub fn total(&self) -> u64 {
        self.list.iter().map(|p| p.count).sum()
    }

    pub fn note(&mut self, kind: ProblemKind, offset: u64, text: impl FnOnce() -> String) {
        self.note_many(kind, 1, offset, text);
    }

    /// Takes note of something that was met `count` times.
    pub fn note_many(&mut self, kind: ProblemKind, count: u64, offset: u64, text: impl FnOnce() -> String) {
        match self.list.iter_mut().find(|p| p.kind == kind) {
            _ if count == 0 => {}
            Some(problem) => problem.count += count,
            None => {
                let mut text = text();
                if let Some(member) = &self.member {
                    text = format!("{member}: {text}");
                }
                self.list.push(ReadProblem { kind, count, example: Example { offset, text } });
            }
        }
    }
}

/// Why an input gives nothing, or nothing more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// No bytes, or only space.
    Empty,
    /// A known format without any trace.
    NoTraces,
    /// Traces, but every one of them had to be left out.
    NothingReadable,
    /// The error answer of a server.
    ServerError,
    /// JSON, but not of traces.
    OtherJson,
    /// A known kind of file of another tool, which is not read.
    Foreign,
    /// Not JSON.
    NotRecognised,
    /// An archive that cannot be opened.
    BadArchive,
    /// Memory ended.
    Memory,
}

/// A typed error with its sentence: what, where, why, and what to do next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("{file}: {reason} (byte {offset}). {next}")]
pub struct IngestError {
    /// The kind of error.
    pub kind: ErrorKind,
    /// Name of the input.
    pub file: String,
    /// Byte offset.
    pub offset: u64,
    /// What is wrong, as the end of a sentence.
    pub reason: String,
    /// What to do, in one sentence.
    pub next: String,
}

/// How an input ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// At its end.
    Whole,
    /// In the middle, or at bad syntax: nothing after this offset was read.
    Cut {
        /// Byte offset in the text.
        offset: u64,
    },
    /// The caller stopped.
    Stopped,
    /// It gave nothing, or memory ended.
    Failed(IngestError),
}

/// The account of one input.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileReport {
    /// Name of the file as given.
    pub name: String,
    /// Format, recognised by content: `jaeger`, `jaeger-ui`, `jaeger-spans`, `elasticsearch`, `otlp`, `zipkin-v2`, `zipkin-v1`,
    /// `otel-stdout`, `pathlight`, `otlp-protobuf`, `jaeger-protobuf`, `jaeger-cassandra`, `next-trace`, `summary`, or
    /// one that a table describes (`docs/definitions/ingest.md` section 1), joined by `+` where a file holds several, with `gzip`, `zip` and `utf-16`; empty if
    /// unknown.
    pub format: String,
    /// Size of the file as it is, packed.
    pub bytes: u64,
    /// Distinct trace ids of this file.
    pub traces: u64,
    /// Spans of this file; those that stand twice count twice.
    pub spans: u64,
    /// What was odd, in the order of first sight.
    pub problems: Vec<ReadProblem>,
    /// How reading ended.
    pub ended: Ended,
    /// Which traces were kept (`--sample`, `--keep-service`); counts are of those. Missing if all were.
    #[serde(default)]
    pub keep: KeptTraces,
    /// What an input may be that is not recognised, if it may be rows.
    #[serde(default)]
    pub guess: Option<Box<Guess>>,
    /// What only the report of a chunk of an input holds.
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub chunk: Option<ChunkEnd>,
}

/// Text leaves out what says nothing; bytes have every field.
impl Serialize for FileReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let has_all = !serializer.is_human_readable();
        let mut out = serializer.serialize_struct("FileReport", 10)?;
        out.serialize_field("name", &self.name)?;
        out.serialize_field("format", &self.format)?;
        out.serialize_field("bytes", &self.bytes)?;
        out.serialize_field("traces", &self.traces)?;
        out.serialize_field("spans", &self.spans)?;
        out.serialize_field("problems", &self.problems)?;
        out.serialize_field("ended", &self.ended)?;
        if has_all || !self.keep.is_all() {
            out.serialize_field("keep", &self.keep)?;
        }
        if has_all || self.guess.is_some() {
            out.serialize_field("guess", &self.guess)?;
        }
        if has_all || self.chunk.is_some() {
            out.serialize_field("chunk", &self.chunk)?;
        }
        out.end()
    }
}

/// What the report of a chunk says beside the rest, for [`FileReport::of_chunks`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChunkEnd {
    /// Whether the reader stood at the next chunk's start in the state in which that one began. If not, the input was split
    /// at a wrong place: whatever its chunks gave is void, and it must be read in one piece.
    pub agrees: bool,
    /// Hashes of its trace ids, in no particular order: a trace may lie in several chunks.
    pub traces: Vec<u64>,
}

impl FileReport {
    /// Returns the account of an input from those of its chunks, in order: what one reader would have said. `None` if
    /// a chunk does not agree with the next, or nothing was found (then only one reader can say why).
    pub fn of_chunks(chunks: impl IntoIterator<Item = FileReport>) -> Option<FileReport> {
        let mut whole: Option<FileReport> = None;
        let mut traces: Vec<u64> = Vec::new();
        for mut chunk in chunks {
            let end = chunk.chunk.take().filter(|end| end.agrees)?;
            traces.extend(end.traces);
            match &mut whole {
                None => whole = Some(chunk),
                Some(whole) => whole.append(chunk),
            }
        }
        let mut whole = whole.filter(|whole| whole.spans > 0 || !whole.keep.is_all())?;
        traces.sort_unstable();
        traces.dedup();
        whole.traces = traces.len() as u64;
        Some(whole)
    }

    fn append(&mut self, next: FileReport) {
        self.format = joined_names(&self.format, &next.format);
        self.bytes += next.bytes;
        self.spans += next.spans;
        for problem in next.problems {
            match self.problems.iter_mut().find(|known| known.kind == problem.kind) {
                Some(known) => known.count += problem.count,
                None => self.problems.push(problem),
            }
        }
        if self.ended == Ended::Whole {
            self.ended = next.ended;
        }
    }
}

/// The accounts of inputs of which there may be no end, as while a page follows: the first ones by themselves, all later
/// ones added up. Summaries stay by themselves: each is a day of its own.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    list: Vec<FileReport>,
    /// How many are added up, the name of the first of them, and the place of the sum.
    joined: Option<(u64, String, usize)>,
}

impl Accounts {
    /// So many are listed by themselves.
    pub const LISTED: usize = 200;

    /// Adds an account.
    pub fn add(&mut self, report: FileReport) {
        let is_summary = report.format.split('+').any(|format| format == "summary");
        if self.list.len() < Self::LISTED || is_summary {
            return self.list.push(report);
        }
        let Some((count, first, place)) = &mut self.joined else {
            self.joined = Some((1, report.name.clone(), self.list.len()));
            return self.list.push(report);
        };
        *count += 1;
        let sum = &mut self.list[*place];
        sum.name = if *first == report.name {
            format!("{count} pieces of {first}")
        } else {
            format!("{count} inputs, {first} to {}", report.name)
        };
        sum.traces += report.traces;
        sum.append(report);
    }

    /// Takes away the account of an input that was not read and is read again.
    pub fn forget_unread(&mut self, name: &str) {
        let is_unread = |report: &FileReport| report.name == name && matches!(report.ended, Ended::Failed(_));
        if self.joined.is_none() {
            self.list.retain(|report| !is_unread(report));
        }
    }

    /// Returns the accounts in the order in which they came.
    pub fn list(&self) -> &[FileReport] {
        &self.list
    }
}

/// Returns the names of the formats and archives of two parts of an input, formats first, in the order of [`FORMATS`].
fn joined_names(a: &str, b: &str) -> String {
    let parts = || a.split('+').chain(b.split('+'));
    let mut names: Vec<&str> = FORMATS.into_iter().filter(|name| parts().any(|part| part == *name)).collect();
    for part in parts().filter(|part| !part.is_empty()) {
        if !names.contains(&part) {
            names.push(part);
        }
    }
    names.join("+")
}

/// Progress of a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ReadProgress {
    /// Bytes taken, as they came (packed).
    pub bytes: u64,
    /// Distinct trace ids so far.
    pub traces: u64,
    /// Spans so far.
    pub spans: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str, format: &str) -> FileReport {
        FileReport {
            name: name.to_owned(),
            format: format.to_owned(),
            bytes: 10,
            traces: 2,
            spans: 7,
            problems: Vec::new(),
            ended: Ended::Whole,
            keep: KeptTraces::All,
            guess: None,
            chunk: None,
        }
    }

    #[test]
    fn accounts_without_end_become_one_that_says_what_it_is_of() {
        let mut accounts = Accounts::default();
        (0..Accounts::LISTED + 300).for_each(|n| accounts.add(account(&format!("look {n}"), "jaeger")));
        accounts.add(account("a.pathlight", "summary"));
        accounts.add(account("last", "otlp"));
        let list = accounts.list();
        assert_eq!(list.len(), Accounts::LISTED + 2);
        let sum = &list[Accounts::LISTED];
        assert_eq!((sum.name.as_str(), sum.format.as_str()), ("301 inputs, look 200 to last", "jaeger+otlp"));
        assert_eq!((sum.bytes, sum.traces, sum.spans), (3_010, 602, 2_107));
        assert_eq!(list[Accounts::LISTED + 1].name, "a.pathlight");
        let mut pieces = Accounts::default();
        (0..Accounts::LISTED + 5).for_each(|_| pieces.add(account("traces.json", "jaeger")));
        assert_eq!(pieces.list()[Accounts::LISTED].name, "5 pieces of traces.json");
    }
}
