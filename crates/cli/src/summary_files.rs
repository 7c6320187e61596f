//! Reading summaries, alone and where inputs may be traces.

use super::stream::{self, SumOptions};
use super::{Failure, input};
use pathlight_base::format::{counted, harmless};
use pathlight_engine::summaries::{FileError, Merger, Summary, SummarySettings, read};
use pathlight_ingest::KeptTraces;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Reads summaries and joins them, with all cores. Says on standard error what some of them have and the whole lacks.
///
/// # Errors
/// [`Failure::Usage`] if one cannot be read, or was made with other settings; [`Failure::NoTrace`] if all are empty.
pub fn load(files: &[PathBuf]) -> Result<Summary, Failure> {
    let paths = input::list(files)?;
    let count = paths.len();
    let left = Mutex::new(paths.into_iter());
    let lacking: Mutex<BTreeMap<&str, BTreeSet<PathBuf>>> = Mutex::default();
    let run = || -> Result<Summary, Failure> {
        let mut sum = Merger::default();
        loop {
            let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(path) = next else { break };
            let fail = |error: String| Failure::Usage(format!("{}: {error}", path.display()));
            let summary = read_file(&path)?;
            for lacks in summary.lacks() {
                let mut lacking = lacking.lock().unwrap_or_else(PoisonError::into_inner);
                lacking.entry(lacks.words()).or_default().insert(path.clone());
            }
            sum.add(summary).map_err(|error| fail(error.to_string()))?;
        }
        sum.finish().map_err(|error| Failure::Usage(error.to_string()))
    };
    let mut sum = Merger::default();
    for part in stream::on_threads(None, run)? {
        sum.add(part).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let sum = sum.finish().map_err(|error| Failure::Usage(error.to_string()))?;
    if sum.traces == 0 {
        return Err(Failure::NoTrace);
    }
    for (words, of) in lacking.into_inner().unwrap_or_else(PoisonError::into_inner) {
        if let Some(first) = of.first().filter(|_| of.len() < count) {
            let who = match of.len() - 1 {
                0 => format!("{} lacks", first.display()),
                more => format!("{} and {} lack", first.display(), counted(more as u64, "other file")),
            };
            say(&format!("{who} {words}, so the sum of all {count} files does too"));
        }
    }
    if !sum.unknown.is_empty() {
        let names = sum.unknown.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        say(&format!("the summaries also have sections of a newer Pathlight, which are left out: {names}"));
    }
    Ok(sum)
}

fn say(text: &str) {
    eprintln!("pathlight: {}", harmless(text));
}

/// Returns whether a file is a summary, by its first bytes. A pipe can be read only once, so it is taken for traces.
pub fn is_summary(path: &Path) -> bool {
    if path.as_os_str() == "-" || !path.is_file() {
        return false;
    }
    let mut head = Vec::new();
    // What cannot be read is no summary; the reader of traces then says why.
    let read = std::fs::File::open(path).and_then(|file| file.take(32).read_to_end(&mut head));
    read.is_ok() && pathlight_engine::summaries::is_summary(&head)
}

/// Loads one side of a comparison: summaries, and what else there is as traces, read with the settings of the summaries or
/// else these.
///
/// # Errors
/// As [`load`] and [`stream::summarise`].
pub fn load_any(
    files: &[PathBuf],
    settings: &SummarySettings,
    threads: Option<usize>,
) -> Result<Summary, Failure> {
    let (summaries, traces): (Vec<PathBuf>, Vec<PathBuf>) =
        input::list(files)?.into_iter().partition(|path| is_summary(path));
    let wanted = SumOptions { settings, per_day: false, threads, keep: &KeptTraces::All };
    if summaries.is_empty() {
        return stream::summarise(&traces, wanted);
    }
    let sum = load(&summaries)?;
    if traces.is_empty() {
        return Ok(sum);
    }
    let more = stream::summarise(&traces, SumOptions { settings: &sum.settings, ..wanted })?;
    Summary::merge(sum, more).map_err(|error| Failure::Usage(error.to_string()))
}

/// Reads one summary, `-` from standard input.
///
/// # Errors
/// [`Failure::Usage`] if it cannot be read or is no summary.
pub fn read_file(path: &Path) -> Result<Summary, Failure> {
    let fail = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", path.display()));
    let bytes = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = bytes.map_err(|error| fail(&error))?;
    read(&bytes).map_err(|error: FileError| fail(&error))
}
