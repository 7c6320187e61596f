//! `pathlight partition`: traces as columns, in files by trace id, for an engine that brings together what belongs together.

use super::output::{Inputs, OutputFile};
use super::{Failure, input, parse};
use pathlight_ingest::KeptTraces;
use pathlight_ingest::formats::columns;
use pathlight_trace::{Portable, TraceSet};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

/// The options of `partition`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files, folders (recursive) or `-`
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The folder to write to: one file for each number from 0 that has a trace
    #[arg(long, short = 'o', required = true)]
    out: PathBuf,
    /// Number of files at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    into: u32,
    /// Threads that read traces (default: one per core)
    #[arg(long, value_parser = parse::threads)]
    threads: Option<usize>,
    /// Keep only one of N traces, chosen by id: the same ones every time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`], [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let inputs = Inputs::of(&input::list(&args.files)?);
    (0..args.into).try_for_each(|number| inputs.refuse(&args.out.join(number.to_string())))?;
    let keep = args.sample.map_or(KeptTraces::All, KeptTraces::Sample);
    let sets = input::load(&[&args.files], args.threads, &keep, None)?.pool.into_sets();
    if sets.iter().all(|set| set.traces().is_empty()) {
        return Err(Failure::NoTrace);
    }
    std::fs::create_dir_all(&args.out)?;
    // One file after the other, as there may be more of them than may be open at once.
    let mut files: BTreeMap<u32, Vec<(&TraceSet, Vec<u32>)>> = BTreeMap::new();
    for set in &sets {
        for (number, traces) in by_number(set, args.into) {
            files.entry(number).or_default().push((set, traces));
        }
    }
    for (number, parts) in files {
        let mut file = OutputFile::create(&args.out.join(number.to_string()))?;
        file.write_all(columns::MAGIC)?;
        for (set, traces) in parts {
            // One record a part: a task's share of an input fits into memory.
            let mut bytes = Vec::new();
            columns::write(&Portable::copy(set, traces.into_iter()), &mut bytes);
            file.write_all(&bytes)?;
        }
        file.finish()?;
    }
    Ok(())
}

/// Returns the traces of each file, by its number. The number depends on the id alone.
fn by_number(set: &TraceSet, files: u32) -> BTreeMap<u32, Vec<u32>> {
    let mut out: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (number, trace) in (0u32..).zip(set.traces()) {
        // The upper half chooses samples.
        let hash = trace.id.content_hash(&set.id_texts) as u32;
        out.entry(hash % files).or_default().push(number);
    }
    out
}
