//! Reading the files of a command line: the load planner, carried out by threads.

use super::{Failure, globs, output};
use pathlight_base::format::harmless;
use pathlight_engine::load::{Chunk, InputFile, LoadPlanner, LoadStep, OwnBytes, ReadResult, SplitSearch};
use pathlight_engine::run::native::NativePool;
use pathlight_ingest::{
    Ended, FileReport, KeptTraces, ManyInputs, Mapping, ReadOptions, ReadRules, Reader, SplitPoint,
};
use pathlight_trace::TraceSet;
use pathlight_view::sampling;
use std::collections::{BTreeMap, HashSet};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

/// Bytes read at a time.
const BLOCK: usize = 1 << 20;
/// Bytes of a line of the processor's cache.
const CACHE_LINE: usize = 64;

/// Result of reading the inputs.
pub struct Loaded {
    /// All traces, each whole.
    pub pool: NativePool,
    /// One a file that could be opened, in the order given.
    pub files: Vec<FileReport>,
}

/// Loads files, folders (recursive) and `-` with several threads, large files in chunks. A bad file among good ones is a
/// warning on standard error. What the first of several lists names becomes group 0 (A), the second group 1 (B). Which traces
/// are kept is decided file by file. `out` will be written.
///
/// # Errors
/// [`Failure::Usage`] if a path cannot be read at all, is the one to write, or memory ends.
pub fn load(
    groups: &[&[PathBuf]],
    threads: Option<usize>,
    keep: &KeptTraces,
    out: Option<&Path>,
) -> Result<Loaded, Failure> {
    load_watched(groups, threads, keep, out, &|_, _| {})
}

/// Hears of bytes that were read just now, and of how many all files have.
pub type WatchBytes<'a> = dyn Fn(u64, u64) + Sync + 'a;

/// Loads like [`load`]; `watch` hears how far it is.
///
/// # Errors
/// As [`load`].
pub fn load_watched(
    groups: &[&[PathBuf]],
    threads: Option<usize>,
    keep: &KeptTraces,
    out: Option<&Path>,
    watch: &WatchBytes,
) -> Result<Loaded, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut planner = LoadPlanner::new(threads.unwrap_or(cores).max(1));
    let mut paths = Vec::new();
    let mut total = 0;
    for (group, named) in groups.iter().enumerate() {
        for path in list(named)? {
            // Standard input has no size, so it is never split.
            let bytes =
                std::fs::metadata(&path).map_or(0, |data| if data.is_file() { data.len() } else { 0 });
            total += bytes;
            planner.add(path.to_string_lossy().into_owned(), bytes, group as u8);
            paths.push(path);
        }
    }
    if let Some(out) = out {
        output::refuse_inputs(out, &paths)?;
    }
    let before: Vec<Option<Version>> = paths.iter().map(|path| Version::of(path)).collect();
    planner.keep_only(keep);
    let (mut sets, mut problems) = (Vec::new(), BTreeMap::new());
    loop {
        match planner.next_step() {
            // A file that cannot be read here cannot be read by a thread either, which then says why.
            LoadStep::Split { file, places, packed } => {
                let points = split_points(&paths[file], places, packed);
                planner.split(file, points.unwrap_or_default());
            }
            LoadStep::Read { batches } => {
                let threads = planner.readers.min(batches);
                sets.extend(read_all(&paths, &mut planner, threads, &mut problems, &|bytes| {
                    watch(bytes, total);
                }));
            }
            LoadStep::Restart => {
                sets.clear();
                problems.clear();
            }
            LoadStep::Done => break,
        }
    }
    let mut files = Vec::new();
    for (file, path) in paths.iter().enumerate() {
        let report = if problems.contains_key(&file) { None } else { planner.report(file) };
        if let Some(FileReport { ended: Ended::Failed(error), .. }) = &report {
            problems.insert(file, format!("{} (byte {}). {}", error.reason, error.offset, error.next));
        }
        match problems.get(&file) {
            Some(problem) => warn(path, problem),
            None if Version::is_other(before[file].as_ref(), path) => {
                warn(
                    path,
                    "it changed while it was read, so its traces may be of both states. Read it again.",
                );
            }
            None => {}
        }
        files.extend(report);
    }
    if let Some(key) = rules().weight_key
        && !sets.iter().flat_map(|set| set.tags.keys()).any(|(of, facts)| of == key && facts.occurrences > 0)
    {
        eprintln!("pathlight: {}", harmless(&sampling::words::no_such_tag(&key)));
    }
    Ok(Loaded { pool: NativePool::of(sets)?, files })
}

/// State of a file before it was read. A large file is read in several places, each opened for itself.
struct Version {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Tells a file from one that has taken its place; zero where the system gives no number.
    number: u64,
}

impl Version {
    /// Returns the state of a file; `None` if it is a pipe or a device, or not there.
    fn of(path: &Path) -> Option<Version> {
        let data = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&data);
        #[cfg(not(unix))]
        let number = 0;
        Some(Version { bytes: data.len(), modified: data.modified().ok(), number })
    }

    /// Returns whether a file is no longer what it was. One that has only grown is: what was read of it stands.
    fn is_other(before: Option<&Version>, path: &Path) -> bool {
        let Some(before) = before else { return false };
        Version::of(path).is_none_or(|now| {
            now.number != before.number
                || now.bytes < before.bytes
                || now.bytes == before.bytes && now.modified != before.modified
        })
    }
}

/// Returns where a file can be split, looking after each of these byte offsets.
fn split_points(path: &Path, places: Vec<u64>, packed: Option<u64>) -> std::io::Result<Vec<SplitPoint>> {
    let mut file = std::fs::File::open(path)?;
    let mut search = SplitSearch::new(places, packed);
    let mut bytes = Vec::new();
    while let Some(wanted) = search.wanted() {
        bytes.clear();
        file.seek(SeekFrom::Start(wanted.start))?;
        (&mut file).take(wanted.end - wanted.start).read_to_end(&mut bytes)?;
        search.show(&bytes);
    }
    Ok(search.finish())
}

/// Lets threads take one batch after the other; returns their sets, and in `problems` what could not be read, by file.
fn read_all(
    paths: &[PathBuf],
    planner: &mut LoadPlanner,
    threads: usize,
    problems: &mut BTreeMap<usize, String>,
    watch: &(dyn Fn(u64) + Sync),
) -> Vec<TraceSet> {
    let shared = Mutex::new((planner, problems));
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    let run = |thread: usize| {
        let mut inputs = ManyInputs::default();
        loop {
            let batch: Vec<(usize, InputFile)> = {
                let (planner, _) = &mut *lock();
                let Some(batch) = planner.take(thread) else { return inputs.set };
                batch.into_iter().map(|file| (file, planner.files()[file].clone())).collect()
            };
            for (file, input) in batch {
                let result = read(&paths[input.source], &input, &mut inputs, watch);
                let (planner, problems) = &mut *lock();
                if let ReadResult::Unreadable(reason) = &result {
                    problems.insert(input.source, reason.clone());
                }
                planner.complete(thread, file, result);
            }
        }
    };
    if threads == 1 {
        return vec![run(0)];
    }
    let run = &run;
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

/// Says on standard error what is wrong with an input.
pub fn warn(path: &Path, problem: &str) {
    eprintln!("pathlight: {}", harmless(&format!("{}: {problem}", path.display())));
}

/// Returns all files named, those of folders and of patterns sorted. A pattern (`*`, `?`, `**`) is for shells that leave them
/// to the program; a file of that name goes first. A folder is looked through once, however many links lead to it. A
/// named input may be a pipe; one found in a folder is a file, since nobody may ever write into a pipe found there.
pub fn list(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let fail = |path: &Path, error: std::io::Error| {
        Failure::Usage(format!("cannot read {}: {error}", path.display()))
    };
    let mut named = Vec::new();
    for path in paths {
        if globs::is_pattern(path) && std::fs::symlink_metadata(path).is_err() {
            let fitting = globs::expand(path);
            if fitting.is_empty() {
                return Err(Failure::Usage(format!("no file fits {}", path.display())));
            }
            named.extend(fitting);
        } else {
            named.push(path.clone());
        }
    }
    for path in &named {
        let is_file =
            path.as_os_str() == "-" || !std::fs::metadata(path).map_err(|error| fail(path, error))?.is_dir();
        if is_file {
            files.push(path.clone());
            continue;
        }
        let (mut folders, mut seen) = (vec![path.clone()], HashSet::new());
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            if !seen.insert(folder.canonicalize().map_err(|error| fail(&folder, error))?) {
                continue;
            }
            let entries = std::fs::read_dir(&folder).map_err(|error| fail(&folder, error))?;
            let entries: Result<Vec<PathBuf>, _> = entries.map(|entry| Ok(entry?.path())).collect();
            let mut entries = entries.map_err(|error| fail(&folder, error))?;
            // Backwards, as the last one is looked into first.
            entries.sort_unstable_by(|a, b| b.cmp(a));
            for path in entries {
                match std::fs::metadata(&path) {
                    Ok(data) if data.is_dir() => folders.push(path),
                    Ok(data) if data.is_file() => found.push(path),
                    Ok(_) => warn(&path, "neither file nor folder, so it is left out"),
                    Err(error) => warn(&path, &error.to_string()),
                }
            }
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

/// What the command line says of all traces. Every command reads by it, so it is not handed from one to the next.
static RULES: OnceLock<ReadRules> = OnceLock::new();

/// Takes the mappings that are in these files, and the tag that says weights.
///
/// # Errors
/// [`Failure::Usage`] if a mapping cannot be read or is none.
pub fn take_rules(files: &[PathBuf], weight_key: Option<String>) -> Result<(), Failure> {
    let read = |file: &PathBuf| {
        let fail = |why: String| Failure::Usage(format!("cannot use the mapping {}: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| fail(error.to_string()))?;
        text.parse::<Mapping>().map_err(fail)
    };
    let maps = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let _ = RULES.set(ReadRules { maps, weight_key });
    Ok(())
}

/// Returns what the command line says of all traces.
pub fn rules() -> ReadRules {
    RULES.get().cloned().unwrap_or_default()
}

/// Returns how inputs are read of which these traces are kept.
pub fn read_options(keep: &KeptTraces) -> ReadOptions {
    ReadOptions { keep: keep.clone(), rules: rules(), ..ReadOptions::default() }
}

/// Reads a file, or the part of it that a chunk is, into a set.
fn read(path: &Path, input: &InputFile, into: &mut ManyInputs, watch: &(dyn Fn(u64) + Sync)) -> ReadResult {
    into.set.loading_group = input.group;
    let options = read_options(&input.keep);
    let mut reader = Chunk::reader(input.chunk.as_ref(), &input.name, options);
    let mut own = OwnBytes::of(input.chunk.as_ref());
    let mut watch_own = |bytes: u64| watch(own.count(bytes));
    let result = match open(path, input) {
        Ok(mut file) => feed(&mut *file, input.bytes, &mut reader, into, &mut watch_own),
        Err(error) => Err(error),
    };
    let report = reader.finish(into);
    match result {
        Ok(()) => ReadResult::Read { report, bytes: input.bytes },
        Err(error) => ReadResult::Unreadable(error.to_string()),
    }
}

fn open(path: &Path, input: &InputFile) -> std::io::Result<Box<dyn std::io::Read>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let mut file = std::fs::File::open(path)?;
    if input.chunk.is_none() {
        return Ok(Box::new(file));
    }
    let range = input.range();
    file.seek(SeekFrom::Start(range.start))?;
    Ok(Box::new(file.take(range.end - range.start)))
}

/// Feeds a reader until the file ends, which should have so many bytes, or until it wants no more.
fn feed(
    file: &mut dyn std::io::Read,
    size: u64,
    reader: &mut Reader,
    into: &mut ManyInputs,
    watch: &mut dyn FnMut(u64),
) -> std::io::Result<()> {
    // The system copies four times as fast to the beginning of a cache line as to another place.
    // Clearing a whole block would take a tenth of the time of a file of 70 kB. Pipes say that they have no bytes.
    let length = if size == 0 { BLOCK } else { BLOCK.min(usize::try_from(size).unwrap_or(BLOCK)) };
    let mut space = vec![0; length + CACHE_LINE];
    let begin = space.as_ptr().align_offset(CACHE_LINE).min(CACHE_LINE);
    let block = &mut space[begin..begin + length];
    loop {
        match file.read(block) {
            Ok(0) => return Ok(()),
            Ok(n) => {
                watch(n as u64);
                if reader.feed(&block[..n], into).is_err() || reader.is_over() {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
