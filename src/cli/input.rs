//! Reading the files of a command line.

use super::Failure;
use crate::ingest::{Ended, Options, Reader};
use crate::trace::TraceSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Bytes read at a time.
const CHUNK: usize = 1 << 20;

/// Loads files, folders (recursive) and `-`, dealt to threads; one set a thread. A bad file among good ones is a warning
/// on standard error. What the first of several lists names becomes group 0 (A), the second group 1 (B).
///
/// # Errors
/// [`Failure::Usage`] if a path cannot be read at all.
pub fn load(groups: &[&[PathBuf]], threads: Option<usize>) -> Result<Vec<TraceSet>, Failure> {
    let mut files = Vec::new();
    for (group, paths) in groups.iter().enumerate() {
        files.extend(list(paths)?.into_iter().map(|file| (group as u8, file)));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or(cores).clamp(1, files.len().max(1));
    let next = Mutex::new(files.iter());
    let work = || {
        let mut set = TraceSet::new();
        loop {
            let file = match next.lock() {
                Ok(mut files) => files.next(),
                Err(_) => None,
            };
            let Some((group, file)) = file else { return set };
            set.loading_group = *group;
            if let Err(problem) = read(file, &mut set) {
                eprintln!("pathlight: {}: {problem}", file.display());
            }
        }
    };
    if threads == 1 {
        return Ok(vec![work()]);
    }
    Ok(std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).collect()
    }))
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

fn read(path: &Path, set: &mut TraceSet) -> Result<(), String> {
    let mut file: Box<dyn std::io::Read> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).map_err(|error| error.to_string())?)
    };
    let mut reader = Reader::new(&path.to_string_lossy(), Options::default());
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
                broken = Some(error.to_string());
                break;
            }
        }
    }
    let report = reader.finish(set);
    match (broken, report.ended) {
        (Some(error), _) => Err(error),
        (None, Ended::Failed(error)) => Err(error.to_string()),
        (None, _) => Ok(()),
    }
}
