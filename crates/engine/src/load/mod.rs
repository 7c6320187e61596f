//! The load planner: what is to be read next, by whom, and whether what was read is right.
//!
//! A load is a list of input files and some readers (the workers of a page, the threads of the binary). The planner does
//! no I/O: whoever has readers asks it for the [`next`](LoadPlanner::next_step) step, does it and tells what came of it.
//!
//! | command ([`LoadStep`]) | what the caller does | event it tells |
//! |---|---|---|
//! | [`Split`](LoadStep::Split) | looks for split points in a large file ([`SplitSearch`]) | [`split`](LoadPlanner::split) |
//! | [`Read`](LoadStep::Read) | lets every free reader [`take`](LoadPlanner::take) one batch of files after the other | [`complete`](LoadPlanner::complete), file by file |
//! | [`Restart`](LoadStep::Restart) | throws away everything that was read | - |
//! | [`Done`](LoadStep::Done) | everything is read and right | - |
//!
//! A large file becomes chunks, which are files of their own here. Split points are guesses, so chunks are verified: if a
//! reader did not arrive at the end of its chunk as the reader of the next one began, or the chunks do not give a whole
//! account, the file is marked to be read in one piece and everything is read again (`Restart`): the traces of its
//! chunks cannot be distinguished from those of other files.
//!
//! A reader can be lost with all it has read: [`lose`](LoadPlanner::lose) makes its files wait again. A file over which
//! readers were lost is read alone, and not more than [`MOST_CRASHES`] times.

mod batches;
mod forecast;
mod meter;
mod reserve;
mod split_search;

use batches::batches;
pub use forecast::{MemoryForecast, MemoryUse};
pub use meter::Meter;
pub use reserve::Reserve;
pub use split_search::SplitSearch;

use pathlight_ingest::{
    Ended, FileReport, KeptTraces, ReadOptions, Reader, SplitPoint, places_to_share, places_to_split,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::path::Path;

/// Readers that may be lost over one file before it is left out.
pub const MOST_CRASHES: u32 = 2;

/// Files of this many bytes or more are read by several readers, in chunks of half that at least.
pub const LARGE_FILE_BYTES: u64 = 32 << 20;
/// Packed files of this many bytes or more are shared by several readers. Their text is about ten times as long.
pub const LARGE_PACKED_BYTES: u64 = 1 << 20;

/// What became of a file that a reader was to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadResult {
    /// It was read to its end, or to where reading was stopped.
    Read {
        /// What the reader says of the file.
        report: FileReport,
        /// Bytes read.
        bytes: u64,
    },
    /// It could not be read, for this reason: it is gone, was changed, or may not be read.
    Unreadable(String),
    /// Memory ended; what came before is kept.
    Full {
        /// What the reader says of the part read.
        report: FileReport,
        /// Bytes read.
        bytes: u64,
    },
    /// It was not begun, because reading was stopped or memory ended before.
    Untouched,
}

impl ReadResult {
    /// Returns what was found, if the file was begun.
    pub fn report(&mut self) -> Option<&mut FileReport> {
        match self {
            ReadResult::Read { report, .. } | ReadResult::Full { report, .. } => Some(report),
            ReadResult::Unreadable(_) | ReadResult::Untouched => None,
        }
    }
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadStep {
    /// Look for split points in this file, one after each of these byte offsets; then call [`LoadPlanner::split`].
    Split {
        /// The file, by index.
        file: usize,
        /// Byte offsets, ascending.
        places: Vec<u64>,
        /// Size of the file if it is packed.
        packed: Option<u64>,
    },
    /// Read: there are so many batches to [`take`](LoadPlanner::take).
    Read {
        /// Number of batches.
        batches: usize,
    },
    /// Throw away everything that was read. All files wait again.
    Restart,
    /// Nothing is left to be read, and what was read is right.
    Done,
}

/// Where an input file is on its way into a trace set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Waits to be read.
    Waiting,
    /// This reader has it in a batch.
    Dispatched(usize),
    /// This reader has read it and holds its spans.
    Read(usize),
    /// It was split into chunks, which are files of their own.
    Split,
    /// It is not wanted, or cannot be read.
    Dropped,
}

/// A part of a split file. `None` is the start or the end of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// The file, by index.
    pub file: usize,
    /// Split point at which the chunk starts; `None`: the start of the file.
    pub from: Option<SplitPoint>,
    /// Split point at which the next chunk starts; `None`: the end of the file.
    pub until: Option<SplitPoint>,
    /// Size of the file if it is packed: then its reader is fed all bytes from the first on.
    pub packed: Option<u64>,
}

impl Chunk {
    /// Returns a reader of a file of this name, or of a chunk of it.
    pub fn reader(chunk: Option<&Chunk>, name: &str, options: ReadOptions) -> Reader {
        match chunk {
            Some(Chunk { from, until, .. }) => Reader::of_chunk(name, options, from.as_ref(), until.clone()),
            None => Reader::new(name, options),
        }
    }

    /// Returns the byte offset of its start in the whole file.
    fn start(&self) -> u64 {
        self.from.as_ref().map_or(0, |point| point.at)
    }
}

/// Counts the bytes that are a reader's own among those it is fed: what comes before its share of a packed file counts for
/// others.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnBytes {
    before: u64,
}

impl OwnBytes {
    /// Begins with a file, or a chunk of one.
    pub fn of(chunk: Option<&Chunk>) -> OwnBytes {
        let shared = chunk.filter(|chunk| chunk.packed.is_some());
        OwnBytes { before: shared.map_or(0, Chunk::start) }
    }

    /// Returns how many of the next bytes are its own.
    pub fn count(&mut self, bytes: u64) -> u64 {
        let others = bytes.min(self.before);
        self.before -= others;
        bytes - others
    }
}

/// A file to be loaded, or a chunk of one.
#[derive(Clone, Debug)]
pub struct InputFile {
    /// Name to show.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Which set of traces it belongs to: 0 or 1.
    pub group: u8,
    /// The load that brought it, by number.
    pub load: u64,
    /// State of the file.
    pub state: FileState,
    /// What is known of its content, once it was read.
    pub report: Option<FileReport>,
    /// Which of its traces are kept.
    pub keep: KeptTraces,
    /// Number of the whole file in the order in which files were added, from 0.
    pub source: usize,
    /// The part of a file that it is, if it is not a whole one.
    pub chunk: Option<Chunk>,
    /// Only so many of its bytes were and will be read: the user stopped there, or memory ended.
    pub read_limit: Option<u64>,
    /// Its group was taken away since it came.
    is_unloaded: bool,
    /// Readers that were lost over it.
    crash_count: u32,
    /// It must not be split: it was tried, or there is no split point.
    is_indivisible: bool,
    /// The last load that has read it, by number.
    last_load: u64,
}

impl InputFile {
    fn new(name: String, bytes: u64, group: u8, load: u64) -> InputFile {
        InputFile {
            name,
            bytes,
            group,
            load,
            state: FileState::Waiting,
            report: None,
            keep: KeptTraces::All,
            source: 0,
            chunk: None,
            read_limit: None,
            is_unloaded: false,
            crash_count: 0,
            is_indivisible: false,
            last_load: load,
        }
    }

    /// Returns the number of bytes that are read of it.
    pub fn bytes_to_read(&self) -> u64 {
        self.read_limit.unwrap_or(self.bytes)
    }

    /// Returns the byte offset of its start in the whole file.
    pub fn start(&self) -> u64 {
        self.chunk.as_ref().map_or(0, Chunk::start)
    }

    /// Returns which bytes of the whole file are read for it.
    pub fn range(&self) -> Range<u64> {
        let until = self.start() + self.bytes_to_read();
        match self.chunk.as_ref().and_then(|chunk| chunk.packed) {
            // Where it ends in the text, its reader sees.
            Some(packed) => 0..if self.read_limit.is_some() { until } else { packed },
            None => self.start()..until,
        }
    }

    /// Returns its size if it is packed, by its name: a look into it tells for sure.
    fn packed(&self) -> Option<u64> {
        let end = Path::new(&self.name).extension()?;
        end.eq_ignore_ascii_case("gz").then_some(self.bytes)
    }

    fn is_chunk_of(&self, file: usize) -> bool {
        self.chunk.as_ref().is_some_and(|chunk| chunk.file == file)
    }
}

/// What a lost reader leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// It had files, read or in a batch: they wait again.
    pub had_files: bool,
    /// It had files that it had read to their end.
    pub had_read: bool,
    /// Files, by index, that are left out now, because readers were lost over them too often.
    pub left_out: Vec<usize>,
    /// Files, by index, of which only a part is read from now on, for the same reason.
    pub cut_short: Vec<usize>,
}

/// The planner; see the [module](self).
#[derive(Clone, Debug)]
pub struct LoadPlanner {
    /// Readers at most.
    pub readers: usize,
    /// Files of this many bytes or more are split.
    pub large_file: u64,
    /// The same of packed files.
    pub large_packed: u64,
    files: Vec<InputFile>,
    /// Number of whole files among them.
    sources: usize,
    /// Batches to be taken.
    queue: VecDeque<Vec<usize>>,
    /// Everything must be read again.
    must_restart: bool,
    /// The load under way, by number.
    load: u64,
}

impl LoadPlanner {
    /// Returns a planner without files, for at most so many readers.
    pub fn new(readers: usize) -> LoadPlanner {
        LoadPlanner {
            readers,
            large_file: LARGE_FILE_BYTES,
            large_packed: LARGE_PACKED_BYTES,
            files: Vec::new(),
            sources: 0,
            queue: VecDeque::new(),
            must_restart: false,
            load: 0,
        }
    }

    /// Returns all files, chunks among them.
    pub fn files(&self) -> &[InputFile] {
        &self.files
    }

    /// Returns whether any file was a summary of traces, as far as they were read.
    pub fn has_summaries(&self) -> bool {
        let reports = self.files.iter().filter_map(|file| file.report.as_ref());
        reports.map(|report| report.format.as_str()).any(|format| format.split('+').any(|of| of == "summary"))
    }

    /// Begins a load: files that are [added](Self::add) from now on belong to it.
    pub fn begin_load(&mut self) {
        self.load += 1;
    }

    /// Adds a file to the load under way; returns its index.
    pub fn add(&mut self, name: String, bytes: u64, group: u8) -> usize {
        let source = self.sources;
        self.sources += 1;
        self.files.push(InputFile { source, ..InputFile::new(name, bytes, group, self.load) });
        self.files.len() - 1
    }

    /// Forgets all files.
    pub fn clear(&mut self) {
        self.files.clear();
        self.sources = 0;
        self.queue.clear();
        self.must_restart = false;
    }

    /// Returns what is to be done next. No batch may be under way; those of an earlier step that were not taken are void.
    pub fn next_step(&mut self) -> LoadStep {
        self.queue.clear();
        if self.must_restart || !self.verify() {
            self.restart();
            return LoadStep::Restart;
        }
        if let Some(file) = self.file_to_split() {
            let packed = self.files[file].packed();
            let places = match packed {
                Some(bytes) => places_to_share(bytes, self.readers, self.large_packed / 4),
                None => places_to_split(self.files[file].bytes, self.readers, self.large_file / 2),
            };
            return LoadStep::Split { file, places, packed };
        }
        let (mut sizes, mut shared, mut alone) = (Vec::new(), Vec::new(), Vec::new());
        let load = self.load;
        for (index, file) in self.files.iter_mut().enumerate() {
            if file.state != FileState::Waiting {
                continue;
            }
            file.last_load = load;
            // One over which a reader was lost must not take others along.
            if file.crash_count > 0 {
                alone.push(vec![index]);
            } else {
                shared.push(index);
                sizes.push(file.bytes_to_read());
            }
        }
        let batches = batches(&sizes, self.readers).into_iter();
        let batches = batches.map(|batch| batch.into_iter().map(|at| shared[at]).collect());
        self.queue = batches.chain(alone).collect();
        if self.queue.is_empty() { LoadStep::Done } else { LoadStep::Read { batches: self.queue.len() } }
    }

    /// Tells where a file of [`LoadStep::Split`] can be split: its chunks wait instead of it. Without split points it is read
    /// in one piece.
    pub fn split(&mut self, file: usize, points: Vec<SplitPoint>) {
        let Some(whole) = self.files.get_mut(file) else { return };
        if points.is_empty() || whole.state != FileState::Waiting {
            whole.is_indivisible = true;
            return;
        }
        whole.state = FileState::Split;
        whole.last_load = self.load;
        let whole = whole.clone();
        let packed = whole.packed();
        let starts = std::iter::once(None).chain(points.iter().cloned().map(Some));
        let ends = points.iter().cloned().map(Some).chain([None]);
        for (from, until) in starts.zip(ends) {
            let start = from.as_ref().map_or(0, |point| point.at);
            let end = until.as_ref().map_or(whole.bytes, |point| point.at);
            self.files.push(InputFile {
                bytes: end.saturating_sub(start),
                is_unloaded: whole.is_unloaded,
                keep: whole.keep.clone(),
                source: whole.source,
                chunk: Some(Chunk { file, from, until, packed }),
                last_load: self.load,
                ..InputFile::new(whole.name.clone(), 0, whole.group, whole.load)
            });
        }
    }

    /// Returns the next batch for a reader, as indices of files, or `None` if there is none for it: nothing is left, or
    /// everything is to be read again.
    pub fn take(&mut self, reader: usize) -> Option<Vec<usize>> {
        while !self.must_restart {
            let mut batch = self.queue.pop_front()?;
            // Some may not be wanted any more.
            batch.retain(|&file| self.files[file].state == FileState::Waiting);
            for &file in &batch {
                self.files[file].state = FileState::Dispatched(reader);
            }
            if !batch.is_empty() {
                return Some(batch);
            }
        }
        None
    }

    /// Tells what became of a file of a batch. For a file that was taken away or lost in the meantime the result is void.
    pub fn complete(&mut self, reader: usize, file: usize, mut result: ReadResult) {
        let input = &mut self.files[file];
        let agrees = |report: &FileReport| report.chunk.as_ref().is_some_and(|end| end.agrees);
        if let (Some(report), Some(chunk)) = (result.report(), &input.chunk)
            && !agrees(report)
        {
            let whole = chunk.file;
            return self.make_indivisible(whole);
        }
        if input.state != FileState::Dispatched(reader) {
            return;
        }
        input.state = match result {
            ReadResult::Read { report, bytes } => {
                let is_stopped = report.ended == Ended::Stopped;
                input.report = Some(report);
                // Read again later, it must end at the same place.
                if is_stopped && bytes < input.bytes_to_read() {
                    input.read_limit = Some(bytes);
                }
                FileState::Read(reader)
            }
            ReadResult::Full { report, bytes } => {
                input.report = Some(report);
                input.read_limit = Some(bytes);
                FileState::Read(reader)
            }
            ReadResult::Unreadable(_) => FileState::Dropped,
            ReadResult::Untouched => FileState::Waiting,
        };
    }

    /// Tells that a reader was lost with all it has read. `guilty` are the files it was reading, if it was lost over them,
    /// and `bytes` what it had read of them as last heard. Of a file alone that has cost too many readers, three quarters
    /// of that are read once more: memory may have ended without a word.
    pub fn lose(&mut self, reader: usize, guilty: &[usize], bytes: u64) -> Loss {
        let mut loss = Loss::default();
        for (index, file) in self.files.iter_mut().enumerate() {
            match file.state {
                FileState::Read(at) if at == reader => loss.had_read = true,
                FileState::Dispatched(at) if at == reader => {}
                _ => continue,
            }
            loss.had_files = true;
            file.state = FileState::Waiting;
            if guilty.contains(&index) {
                file.crash_count += 1;
                let rest = bytes / 4 * 3;
                if file.crash_count == MOST_CRASHES && guilty.len() == 1 && rest > 0 {
                    file.read_limit = Some(rest.min(file.bytes_to_read()));
                    loss.cut_short.push(index);
                } else if file.crash_count >= MOST_CRASHES {
                    file.state = FileState::Dropped;
                    loss.left_out.push(index);
                }
            }
        }
        loss
    }

    /// Makes everything wait again at the [next](Self::next_step) step, which is [`LoadStep::Restart`].
    pub fn demand_restart(&mut self) {
        self.must_restart = true;
    }

    /// Returns whether the [next](Self::next_step) step is [`LoadStep::Restart`].
    pub fn must_restart(&self) -> bool {
        self.must_restart
    }

    /// Makes everything wait again now; what was read must be thrown away. Returns whether there is anything to read.
    pub fn restart(&mut self) -> bool {
        self.must_restart = false;
        self.queue.clear();
        let mut is_left = false;
        for file in &mut self.files {
            if !matches!(file.state, FileState::Dropped | FileState::Split) {
                file.state = FileState::Waiting;
                is_left = true;
            }
        }
        is_left
    }

    /// Drops every file that waits.
    pub fn drop_waiting(&mut self) {
        for file in self.files.iter_mut().filter(|file| file.state == FileState::Waiting) {
            file.state = FileState::Dropped;
        }
    }

    /// Drops every file of the load under way.
    pub fn drop_load(&mut self) {
        for file in self.files.iter_mut().filter(|file| file.load == self.load) {
            file.state = FileState::Dropped;
            file.report = None;
        }
    }

    /// Lets the load under way begin anew, keeping only these of its traces.
    pub fn keep_only(&mut self, keep: &KeptTraces) {
        for file in self.files.iter_mut().filter(|file| file.load == self.load) {
            file.keep = keep.clone();
            file.read_limit = None;
            file.report = None;
        }
    }

    /// Begins to take a group away: those of its files that wait are dropped.
    pub fn begin_unload(&mut self, group: u8) {
        for file in self.files.iter_mut().filter(|file| file.group == group) {
            file.is_unloaded = true;
            if file.state == FileState::Waiting {
                file.state = FileState::Dropped;
            }
        }
    }

    /// Ends taking a group away: no reader holds traces of it any more. Files that came into it after
    /// [`begin_unload`](Self::begin_unload) are read again.
    pub fn end_unload(&mut self, group: u8) {
        for file in self.files.iter_mut().filter(|file| file.group == group) {
            if file.is_unloaded {
                file.state = FileState::Dropped;
                file.report = None;
            } else if let FileState::Read(_) = file.state {
                file.state = FileState::Waiting;
            }
        }
    }

    /// Returns whether a file waits.
    pub fn is_waiting(&self) -> bool {
        self.files.iter().any(|file| file.state == FileState::Waiting)
    }

    /// Returns the indices of the files that the load under way has brought or read again, chunks among them.
    pub fn files_of_load(&self) -> impl Iterator<Item = usize> {
        (0..self.files.len()).filter(|&index| self.files[index].last_load == self.load)
    }

    /// Returns what the bytes of this load are counted by: the chunks of files that are split, and the other files.
    pub fn parts_of_load(&self) -> impl Iterator<Item = &InputFile> {
        let is_split = |file: usize| self.files[file].state == FileState::Split;
        self.files_of_load().map(|file| &self.files[file]).filter(move |input| {
            // A file that is read whole again after all leaves its chunks behind.
            input.state != FileState::Split && input.chunk.as_ref().is_none_or(|chunk| is_split(chunk.file))
        })
    }

    /// Returns the account of a file that was given; `None` of a chunk, and of what was not read.
    pub fn report(&self, file: usize) -> Option<FileReport> {
        let whole = &self.files[file];
        if whole.state != FileState::Split {
            return whole.report.clone().filter(|_| whole.chunk.is_none());
        }
        let chunks = self.files.iter().filter(|input| input.is_chunk_of(file));
        let reports: Vec<Option<FileReport>> = chunks.map(|chunk| chunk.report.clone()).collect();
        let is_whole = reports.iter().all(Option::is_some);
        let mut report = FileReport::of_chunks(reports.into_iter().flatten())?;
        if !is_whole && report.ended == Ended::Whole {
            report.ended = Ended::Stopped;
        }
        Some(report)
    }

    /// Returns the first waiting file that would keep one reader busy while the others have nothing left.
    fn file_to_split(&self) -> Option<usize> {
        if self.readers < 2 {
            return None;
        }
        let waiting = self.files.iter().filter(|file| file.state == FileState::Waiting);
        let share = waiting.map(|file| file.bytes).sum::<u64>() / self.readers as u64;
        self.files.iter().position(|file| {
            let is_divisible = file.state == FileState::Waiting
                && file.chunk.is_none()
                && !file.is_indivisible
                && file.read_limit.is_none()
                && file.crash_count == 0;
            // A packed file is unpacked by each who shares it.
            let is_large = match file.packed() {
                Some(bytes) => bytes >= self.large_packed && bytes > share,
                None => file.bytes >= self.large_file && file.bytes > share / 2,
            };
            is_divisible && is_large
        })
    }

    /// Marks a file that was split where it cannot be: everything is read again, this file in one piece.
    fn make_indivisible(&mut self, file: usize) {
        for chunk in self.files.iter_mut().filter(|input| input.is_chunk_of(file)) {
            chunk.state = FileState::Dropped;
            chunk.report = None;
        }
        let whole = &mut self.files[file];
        whole.is_indivisible = true;
        if whole.state == FileState::Split {
            whole.state = FileState::Waiting;
            self.must_restart = true;
        }
    }

    /// Returns whether the chunks of every split file give the whole of it, as far as they are read.
    fn verify(&mut self) -> bool {
        let mut chunks: BTreeMap<usize, Vec<&InputFile>> = BTreeMap::new();
        for file in &self.files {
            if let Some(chunk) = &file.chunk {
                chunks.entry(chunk.file).or_default().push(file);
            }
        }
        chunks.retain(|&file, chunks| {
            let is_read =
                |chunk: &&InputFile| matches!(chunk.state, FileState::Read(_)) && chunk.read_limit.is_none();
            let reports = || chunks.iter().map(|chunk| chunk.report.clone()).collect::<Option<Vec<_>>>();
            self.files[file].state == FileState::Split
                && chunks.iter().all(is_read)
                && reports().and_then(FileReport::of_chunks).is_none()
        });
        let wrong: Vec<usize> = chunks.into_keys().collect();
        wrong.iter().for_each(|&file| self.make_indivisible(file));
        wrong.is_empty()
    }
}

#[cfg(test)]
pub(crate) mod tests;
