//! Reading the files of a command line.

use super::Failure;
use pathlight_ingest::{
    Ended, FileReport, HEAD_BYTES, Keep, Options, Reader, SEARCH_BYTES, SplitFinder, SplitPoint,
    places_to_split,
};
use pathlight_model::trace::TraceSet;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Bytes read at a time.
const CHUNK: usize = 1 << 20;

/// Files of this many bytes or more are read by several threads, in slices of half that at least.
const LARGE: u64 = 32 << 20;

/// What reading a file or a slice gave; else why it could not be read.
type Outcome = Result<FileReport, String>;

/// A file, or a slice of one, for one thread to read.
struct Work {
    /// Which file.
    file: usize,
    group: u8,
    /// Its start and end if it is a slice; `None` within is that of the file.
    slice: Option<(Option<SplitPoint>, Option<SplitPoint>)>,
}

/// What was read.
pub struct Loaded {
    /// One a thread.
    pub sets: Vec<TraceSet>,
    /// One a file that could be opened, in the order given.
    pub files: Vec<FileReport>,
}

/// Loads files, folders (recursive) and `-`, dealt to threads, large ones in slices; one set a thread. A bad file among
/// good ones is a warning on standard error. What the first of several lists names becomes group 0 (A), the second group
/// 1 (B). Which traces are kept is decided file by file.
///
/// # Errors
/// [`Failure::Usage`] if a path cannot be read at all.
pub fn load(groups: &[&[PathBuf]], threads: Option<usize>, keep: &Keep) -> Result<Loaded, Failure> {
    let mut files = Vec::new();
    for (group, paths) in groups.iter().enumerate() {
        files.extend(list(paths)?.into_iter().map(|file| (group as u8, file)));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or(cores).max(1);
    // Files that are no good in slices.
    let mut uncut: BTreeSet<usize> = BTreeSet::new();
    loop {
        let work = deal(&files, threads, &uncut);
        let (sets, mut read) = read_all(&files, &work, threads, keep);
        read.sort_by_key(|(number, _)| *number);
        let mut reports: BTreeMap<usize, Vec<Outcome>> = BTreeMap::new();
        for (number, report) in read {
            reports.entry(work[number].file).or_default().push(report);
        }
        let cut_before = uncut.len();
        let mut said = Vec::new();
        for (file, reports) in reports {
            let reports: Result<Vec<FileReport>, String> = reports.into_iter().collect();
            let report = match reports {
                Ok(reports) if reports.iter().any(|report| report.chunk.is_some()) => {
                    FileReport::of_chunks(reports).ok_or_else(|| {
                        uncut.insert(file);
                        String::new()
                    })
                }
                Ok(reports) => reports.into_iter().next().ok_or_else(String::new),
                Err(error) => Err(error),
            };
            said.push((file, report));
        }
        if uncut.len() > cut_before {
            continue;
        }
        let mut loaded = Loaded { sets, files: Vec::new() };
        for (file, report) in said {
            let problem = match &report {
                Err(problem) => Some(problem.clone()),
                Ok(FileReport { ended: Ended::Failed(error), .. }) => {
                    Some(format!("{} (byte {}). {}", error.reason, error.offset, error.next))
                }
                Ok(_) => None,
            };
            if let Some(problem) = problem {
                eprintln!("pathlight: {}: {problem}", files[file].1.display());
            }
            loaded.files.extend(report);
        }
        return Ok(loaded);
    }
}

/// What is to be read, in order; large files in slices.
fn deal(files: &[(u8, PathBuf)], threads: usize, uncut: &BTreeSet<usize>) -> Vec<Work> {
    let mut work = Vec::new();
    for (file, (group, path)) in files.iter().enumerate() {
        let split_points =
            if uncut.contains(&file) { Vec::new() } else { split_points(path, threads).unwrap_or_default() };
        if split_points.is_empty() {
            work.push(Work { file, group: *group, slice: None });
            continue;
        }
        let starts = std::iter::once(None).chain(split_points.iter().cloned().map(Some));
        let ends = split_points.iter().cloned().map(Some).chain([None]);
        work.extend(starts.zip(ends).map(|slice| Work { file, group: *group, slice: Some(slice) }));
    }
    work
}

/// Where a file is cut for so many threads; nowhere if it is not worth it, or not known how.
fn split_points(path: &Path, threads: usize) -> std::io::Result<Vec<SplitPoint>> {
    let size = std::fs::metadata(path)?.len();
    if threads < 2 || size < LARGE || !path.is_file() {
        return Ok(Vec::new());
    }
    let mut file = std::fs::File::open(path)?;
    let mut part = |from: u64, bytes: u64| -> std::io::Result<Vec<u8>> {
        let mut text = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        (&mut file).take(bytes).read_to_end(&mut text)?;
        Ok(text)
    };
    let Some(finder) = SplitFinder::of(&part(0, HEAD_BYTES)?) else { return Ok(Vec::new()) };
    let mut split_points: Vec<SplitPoint> = Vec::new();
    for place in places_to_split(size, threads, LARGE / 2) {
        if split_points.last().is_some_and(|point| point.at >= place) {
            continue;
        }
        // A split point is near as a rule; only where traces are large it is not.
        for bytes in [SEARCH_BYTES / 16, SEARCH_BYTES] {
            if let Some(point) = finder.find(&part(place, bytes)?, place) {
                split_points.push(point);
                break;
            }
        }
    }
    Ok(split_points)
}

/// Lets threads take one piece of work after the other; the sets, and what was read by the number of the work.
fn read_all(
    files: &[(u8, PathBuf)],
    work: &[Work],
    threads: usize,
    keep: &Keep,
) -> (Vec<TraceSet>, Vec<(usize, Outcome)>) {
    let next = Mutex::new(work.iter().enumerate());
    let run = || {
        let (mut set, mut reports) = (TraceSet::new(), Vec::new());
        loop {
            let Some((number, work)) = next.lock().ok().and_then(|mut work| work.next()) else {
                return (set, reports);
            };
            set.loading_group = work.group;
            let options = Options { keep: keep.clone(), ..Options::default() };
            reports.push((number, read(&files[work.file].1, work.slice.clone(), options, &mut set)));
        }
    };
    let threads = threads.min(work.len()).max(1);
    if threads == 1 {
        let (set, reports) = run();
        return (vec![set], reports);
    }
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let (sets, reports): (Vec<_>, Vec<_>) =
            running.into_iter().filter_map(|thread| thread.join().ok()).unzip();
        (sets, reports.into_iter().flatten().collect())
    })
}

/// All files named, those of folders sorted.
fn list(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let fail = |path: &Path, error: std::io::Error| {
        Failure::Usage(format!("cannot read {}: {error}", path.display()))
    };
    for path in paths {
        if path.as_os_str() == "-" || path.is_file() {
            files.push(path.clone());
            continue;
        }
        let mut folders = vec![path.clone()];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).map_err(|error| fail(&folder, error))? {
                let path = entry.map_err(|error| fail(&folder, error))?.path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

fn read(
    path: &Path,
    slice: Option<(Option<SplitPoint>, Option<SplitPoint>)>,
    options: Options,
    set: &mut TraceSet,
) -> Outcome {
    let words = |error: std::io::Error| error.to_string();
    let name = path.to_string_lossy();
    let mut reader;
    let mut file: Box<dyn std::io::Read>;
    if path.as_os_str() == "-" {
        file = Box::new(std::io::stdin().lock());
        reader = Reader::new(&name, options);
    } else if let Some((from, until)) = slice {
        let mut whole = std::fs::File::open(path).map_err(words)?;
        let start = from.as_ref().map_or(0, |point| point.at);
        let length = until.as_ref().map_or(u64::MAX, |point| point.at - start);
        whole.seek(SeekFrom::Start(start)).map_err(words)?;
        file = Box::new(whole.take(length));
        reader = Reader::of_chunk(&name, options, from.as_ref(), until);
    } else {
        file = Box::new(std::fs::File::open(path).map_err(words)?);
        reader = Reader::new(&name, options);
    }
    let mut chunk = vec![0; CHUNK];
    let mut broken = None;
    loop {
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => {
                if reader.feed(&chunk[..n], set).is_err() {
                    break;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                broken = Some(words(error));
                break;
            }
        }
    }
    let report = reader.finish(set);
    broken.map_or(Ok(report), Err)
}
