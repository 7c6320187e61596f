//! Summarising inputs of any size in bounded memory, with all cores, also from a pipe.
//!
//! One thread at a time cuts the next chunk of text off the input; all threads read chunks. In the order of the chunks each
//! thread then has its turn: it checks that its chunk ended where the next one begins, keeps back traces that may go on in
//! the next chunk, and drops traces that were counted before. What is left is summarised and forgotten, and the threads'
//! summaries are joined at the end; traces of rare root endpoints stand packed till then. Only ids of traces are remembered
//! (eight bytes each).

use super::{Failure, input};
use flate2::read::MultiGzDecoder;
use pathlight_base::format::counted;
use pathlight_engine::summaries::{Gatherer, GathererPart, Summary, SummarySettings, by_day};
use pathlight_ingest::{Ended, FileReport, HEAD_BYTES, KeptTraces, Reader, SplitFinder, SplitPoint};
use pathlight_trace::{Portable, TraceSet};
use pathlight_view::sampling;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Display;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes of text that a thread reads at a time, about.
const CHUNK: usize = 16 << 20;
/// Bytes after the end of a chunk in which the next trace has to begin; else the rest of the input is read in one piece.
const SEARCH: usize = 64 << 20;
/// Bytes that are looked through at first.
const STEP: usize = 1 << 20;

type Input = Box<dyn Read + Send>;

/// A part of an input.
struct Chunk {
    number: u64,
    name: String,
    text: Vec<u8>,
    from: Option<SplitPoint>,
    until: Option<SplitPoint>,
    /// Input after the text, if it cannot be split.
    rest: Option<Input>,
}

/// The input that is being cut.
struct Open {
    name: String,
    input: Input,
    finder: Option<SplitFinder>,
    from: Option<SplitPoint>,
    text: Vec<u8>,
    /// Byte offset of the text.
    at: u64,
}

/// Cuts inputs into chunks.
struct Cutter {
    paths: std::vec::IntoIter<PathBuf>,
    open: Option<Open>,
    number: u64,
}

impl Cutter {
    fn next(&mut self) -> Option<Chunk> {
        loop {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => {
                    let path = self.paths.next()?;
                    match Open::new(&path) {
                        Ok(open) => open,
                        Err(error) => {
                            input::warn(&path, &error.to_string());
                            continue;
                        }
                    }
                }
            };
            let (mut chunk, is_over) = match open.cut() {
                Ok(cut) => cut,
                Err(error) => {
                    input::warn(Path::new(&open.name), &error.to_string());
                    (open.take(None), true)
                }
            };
            if chunk.until.is_none() && !is_over {
                chunk.rest = Some(open.input);
            } else if !is_over {
                self.open = Some(open);
            }
            chunk.number = self.number;
            self.number += 1;
            return Some(chunk);
        }
    }
}

impl Open {
    fn new(path: &Path) -> std::io::Result<Open> {
        let mut input: Input = if path.as_os_str() == "-" {
            Box::new(std::io::stdin())
        } else {
            Box::new(std::fs::File::open(path)?)
        };
        let mut head = Vec::new();
        (&mut input).take(32).read_to_end(&mut head)?;
        if pathlight_engine::summaries::is_summary(&head) {
            let text =
                "it is a summary, which is not read from a pipe here; write it to a file and name that";
            return Err(std::io::Error::other(text));
        }
        let is_gzip = head.starts_with(&[0x1f, 0x8b]);
        input = Box::new(Cursor::new(head).chain(input));
        if is_gzip {
            input = Box::new(MultiGzDecoder::new(input));
        }
        let name = path.to_string_lossy().into_owned();
        Ok(Open { name, input, finder: None, from: None, text: Vec::new(), at: 0 })
    }

    /// Reads until so much text is there; false if the input ended before.
    fn fill(&mut self, bytes: usize) -> std::io::Result<bool> {
        let more = bytes.saturating_sub(self.text.len());
        (&mut self.input).take(more as u64).read_to_end(&mut self.text)?;
        Ok(self.text.len() >= bytes)
    }

    /// Returns the next chunk, and whether the input has ended. A chunk without an end in an input that goes on cannot
    /// be split.
    fn cut(&mut self) -> std::io::Result<(Chunk, bool)> {
        let mut searched = CHUNK;
        while self.fill(searched + STEP)? {
            if self.finder.is_none() {
                self.finder = SplitFinder::of(&self.text[..self.text.len().min(HEAD_BYTES as usize)]);
            }
            let Some(finder) = &self.finder else { return Ok((self.take(None), false)) };
            // A search that begins anew inside what was searched finds what stands across its end.
            let from = searched.saturating_sub(STEP / 2).max(CHUNK);
            if let Some(point) = finder.find(&self.text[from..], self.at + from as u64) {
                return Ok((self.take(Some(point)), false));
            }
            searched = self.text.len();
            if searched > CHUNK + SEARCH {
                return Ok((self.take(None), false));
            }
        }
        Ok((self.take(None), true))
    }

    /// Takes the text up to a split point, or all of it.
    fn take(&mut self, until: Option<SplitPoint>) -> Chunk {
        let end = until.as_ref().map_or(self.text.len(), |point| (point.at - self.at) as usize);
        let rest = self.text.split_off(end);
        let text = std::mem::replace(&mut self.text, rest);
        self.at += end as u64;
        let from = std::mem::replace(&mut self.from, until.clone());
        Chunk { number: 0, name: self.name.clone(), text, from, until, rest: None }
    }
}

impl Chunk {
    /// Reads it into a set of its own.
    fn read(&mut self, keep: &KeptTraces) -> (TraceSet, FileReport) {
        let mut set = TraceSet::new();
        let options = input::read_options(keep);
        let is_part = self.from.is_some() || self.until.is_some();
        let mut reader = if is_part {
            Reader::of_chunk(&self.name, options, self.from.as_ref(), self.until.clone())
        } else {
            Reader::new(&self.name, options)
        };
        // Errors stand in the report.
        let mut is_open = reader.feed(&self.text, &mut set).is_ok();
        if let Some(mut rest) = self.rest.take() {
            self.text = Vec::new();
            let mut block = vec![0; STEP];
            while is_open {
                match rest.read(&mut block) {
                    Ok(0) => break,
                    Ok(n) => is_open = reader.feed(&block[..n], &mut set).is_ok(),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        input::warn(Path::new(&self.name), &error.to_string());
                        break;
                    }
                }
            }
        }
        let report = reader.finish(&mut set);
        (set, report)
    }

    /// Puts a chunk that was cut at a wrong place before this one.
    fn after(self, mut before: Chunk) -> Chunk {
        before.text.extend_from_slice(&self.text);
        Chunk { text: before.text, from: before.from, ..self }
    }
}

/// Work that chunks do one after the other.
#[derive(Default)]
struct Turn {
    number: u64,
    /// The chunk before, if it was cut at a wrong place.
    unread: Option<Chunk>,
    /// Traces of formats that scatter spans, which may go on.
    open: Option<Portable>,
    /// Number of spans of each of them.
    open_spans: HashMap<u64, usize>,
    seen: HashSet<u64>,
    repeated: u64,
}

impl Turn {
    /// Seals a set and leaves what can be summarised: whole traces that were not counted before.
    fn seal_new(&mut self, set: &mut TraceSet) -> Result<(), Failure> {
        let is_scattered = set.staged_spans() > 0 || self.open.is_some();
        if let Some(open) = self.open.take() {
            open.add_to(set).map_err(failed)?;
        }
        set.seal().map_err(failed)?;
        let before = std::mem::take(&mut self.open_spans);
        let hash = |set: &TraceSet, number: u32| {
            let id = set.traces()[number as usize].id;
            id.content_hash(&set.id_texts)
        };
        let mut keep = vec![true; set.traces().len()];
        if is_scattered {
            let mut grown = Vec::new();
            for (number, trace) in (0u32..).zip(set.traces()) {
                let hash = hash(set, number);
                if before.get(&hash) != Some(&trace.len()) {
                    self.open_spans.insert(hash, trace.len());
                    grown.push(number);
                    keep[number as usize] = false;
                }
            }
            self.open = (!grown.is_empty()).then(|| Portable::copy(set, grown.into_iter()));
        }
        for number in 0..set.traces().len() as u32 {
            if keep[number as usize] && !self.seen.insert(hash(set, number)) {
                keep[number as usize] = false;
                self.repeated += 1;
            }
        }
        let mut keep = keep.into_iter();
        // Traces are asked in their order.
        let keep: HashSet<_> =
            set.traces().iter().filter(|_| keep.next() == Some(true)).map(|t| t.id).collect();
        set.retain(|trace| keep.contains(&trace.id));
        Ok(())
    }
}

/// Sums of all threads: by day (from 1970), or all under 0.
#[derive(Default)]
struct Days(Mutex<BTreeMap<u64, Arc<Gatherer>>>);

/// What a thread has observed, by day likewise.
#[derive(Default)]
struct Sums {
    days: BTreeMap<u64, GathererPart>,
    /// Whether traces stand for several requests.
    has_weights: bool,
}

/// Contents of the sums, and the settings for them.
#[derive(Clone, Copy)]
pub struct SumOptions<'a> {
    /// Settings by which requests are read.
    pub settings: &'a SummarySettings,
    /// Whether each day (UTC) has a summary of its own.
    pub per_day: bool,
    /// Threads, one a core unless given.
    pub threads: Option<usize>,
    /// The traces that are kept.
    pub keep: &'a KeptTraces,
}

fn failed(error: impl Display) -> Failure {
    Failure::Usage(error.to_string())
}

impl Days {
    fn of(&self, day: u64, settings: &SummarySettings) -> Arc<Gatherer> {
        let new = || Arc::new(Gatherer::new(settings.clone(), tempfile::tempfile));
        Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(day).or_insert_with(new))
    }

    /// Adds what a thread has observed; returns whether traces stand for several requests.
    fn end(&self, sums: Sums, settings: &SummarySettings) -> Result<bool, Failure> {
        sums.days.into_iter().try_for_each(|(day, part)| self.of(day, settings).end(part)).map_err(failed)?;
        Ok(sums.has_weights)
    }

    /// Returns the summaries that have a trace, by day.
    fn finish(&self, has_weights: bool, threads: usize) -> Result<BTreeMap<u64, Summary>, Failure> {
        if has_weights {
            eprintln!("pathlight: {}", sampling::words::summed());
        }
        let days = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let days = days.into_iter().map(|(day, sum)| Ok((day, sum.finish(threads).map_err(failed)?)));
        let mut days = days.collect::<Result<BTreeMap<_, _>, Failure>>()?;
        days.retain(|_, sum| sum.traces > 0);
        if days.is_empty() { Err(Failure::NoTrace) } else { Ok(days) }
    }
}

impl Sums {
    fn observe(&mut self, set: TraceSet, options: SumOptions<'_>, into: &Days) -> Result<(), Failure> {
        self.has_weights |= set.has_weights();
        let sets = if options.per_day { by_day(set).map_err(failed)? } else { BTreeMap::from([(0, set)]) };
        let add = |(day, set)| into.of(day, options.settings).observe(self.days.entry(day).or_default(), set);
        sets.into_iter().try_for_each(add).map_err(failed)
    }
}

/// State that all threads share.
struct Shared<'a> {
    options: SumOptions<'a>,
    cutter: Mutex<Cutter>,
    turn: Mutex<Turn>,
    next: Condvar,
    days: Days,
}

impl Shared<'_> {
    fn wait_for(&self, number: u64) -> MutexGuard<'_, Turn> {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        while turn.number < number {
            turn = self.next.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        turn
    }

    /// Reads and sums chunks until none is left: the work of one thread. Returns whether traces stand for several requests.
    fn run(&self) -> Result<bool, Failure> {
        let mut sums = Sums::default();
        // A thread that fails goes on taking turns, so that no other one waits for ever.
        let mut failure = None;
        loop {
            let chunk = self.cutter.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(mut chunk) = chunk else { break };
            let number = chunk.number;
            let _guard = TurnGuard { shared: self, number };
            let early = if chunk.rest.is_none() { Some(chunk.read(self.options.keep)) } else { None };
            let mut turn = self.wait_for(number);
            let (mut set, report) = match (turn.unread.take(), early) {
                (None, Some(early)) => early,
                (before, _) => {
                    if let Some(before) = before {
                        chunk = chunk.after(before);
                    }
                    chunk.read(self.options.keep)
                }
            };
            turn.number += 1;
            if report.chunk.as_ref().is_some_and(|end| !end.agrees) {
                turn.unread = Some(chunk);
                self.next.notify_all();
                continue;
            }
            let sealed = turn.seal_new(&mut set);
            self.next.notify_all();
            drop(turn);
            if let Ended::Failed(error) = &report.ended {
                let text = format!("{} (byte {}). {}", error.reason, error.offset, error.next);
                input::warn(Path::new(&chunk.name), &text);
            }
            drop(chunk);
            if let Err(error) = sealed.and_then(|()| sums.observe(set, self.options, &self.days)) {
                failure.get_or_insert(error);
            }
        }
        match failure {
            Some(failure) => Err(failure),
            None => self.days.end(sums, self.options.settings),
        }
    }
}

/// A chunk that a thread works on. If the thread panics, its turn passes, so that no other one waits for ever.
struct TurnGuard<'a> {
    shared: &'a Shared<'a>,
    number: u64,
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut turn = self.shared.wait_for(self.number);
            turn.number = turn.number.max(self.number + 1);
            drop(turn);
            self.shared.next.notify_all();
        }
    }
}

/// Returns how many threads work: one a core unless their number is given.
fn number_of(threads: Option<usize>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    threads.unwrap_or_else(cores).max(1)
}

/// Runs the same work on threads, one a core unless their number is given; returns what they return.
///
/// # Errors
/// The first failure of a thread.
pub fn on_threads<T: Send>(
    threads: Option<usize>,
    work: impl Fn() -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..number_of(threads)).map(|_| scope.spawn(&work)).collect();
        let ended = || Err(Failure::Usage("a thread has ended early".to_owned()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| ended())).collect()
    })
}

/// Summarises files, folders and `-` as one.
///
/// # Errors
/// As [`by_days`].
pub fn summarise(files: &[PathBuf], options: SumOptions<'_>) -> Result<Summary, Failure> {
    by_days(files, SumOptions { per_day: false, ..options })?.into_values().next().ok_or(Failure::NoTrace)
}

/// Summarises files, folders and `-` held in memory as columns, so that spans of a trace may lie anywhere in them; at least
/// one summary.
///
/// # Errors
/// As [`by_days`].
pub fn by_days_at_once(
    files: &[PathBuf],
    options: SumOptions<'_>,
) -> Result<BTreeMap<u64, Summary>, Failure> {
    let loaded = input::load(&[files], options.threads, options.keep, None)?;
    let left = Mutex::new(loaded.pool.into_sets().into_iter());
    let days = Days::default();
    let run = || {
        let mut sums = Sums::default();
        loop {
            let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(set) = next else { return days.end(sums, options.settings) };
            sums.observe(set, options, &days)?;
        }
    };
    let weighted = on_threads(options.threads, run)?;
    days.finish(weighted.contains(&true), number_of(options.threads))
}

/// Summarises files, folders and `-`; at least one summary. A trace that stands in several places is counted once, by what
/// comes first; spans of one trace may lie about a chunk (16 MB) apart, also in files read one after the other.
///
/// # Errors
/// [`Failure::Usage`] if a path cannot be read at all or memory ends; [`Failure::NoTrace`].
pub fn by_days(files: &[PathBuf], options: SumOptions<'_>) -> Result<BTreeMap<u64, Summary>, Failure> {
    let paths = input::list(files)?;
    let shared = Shared {
        options,
        cutter: Mutex::new(Cutter { paths: paths.into_iter(), open: None, number: 0 }),
        turn: Mutex::default(),
        next: Condvar::new(),
        days: Days::default(),
    };
    let weighted = on_threads(options.threads, || shared.run())?;
    // Nothing comes after what was kept back.
    let mut turn = shared.turn.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut last, mut sums) = (TraceSet::new(), Sums::default());
    turn.seal_new(&mut last)?;
    sums.observe(last, options, &shared.days)?;
    let is_last_weighted = shared.days.end(sums, options.settings)?;
    if turn.repeated > 0 {
        eprintln!(
            "pathlight: {} came again after being counted (copies, or spans far from the others of their trace): \
             what came later is left out",
            counted(turn.repeated, "trace")
        );
    }
    shared.days.finish(is_last_weighted || weighted.contains(&true), number_of(options.threads))
}
