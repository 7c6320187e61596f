//! `pathlight summarise`, `merge` and `show`: files of what the analyses sum, without the traces.

use super::common::{OutputOptions, RootOption, SummaryOptions};
use super::output::{self, Inputs};
use super::stream::{self, SumOptions};
use super::summary_files::load;
use super::table::{TextTable, more};
use super::{Failure, critical_path, input, parse};
use pathlight_base::format::{self, counted, harmless};
use pathlight_engine::queries::OverviewReport;
use pathlight_engine::requests::PercentileRange;
use pathlight_engine::summaries::{Choice, DAY_US, FileError, MOST_ROOTS, Merger, Summary, read, write};
use pathlight_ingest::KeptTraces;
use pathlight_trace::Endpoint;
use pathlight_view::findings::{self, Cost, TypeLine};
use pathlight_view::summaries::{Selected, lacking, together};
use pathlight_view::{errors, json};
use std::borrow::Borrow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The options of `summarise`.
#[derive(Debug, clap::Args)]
pub struct SummariseArgs {
    /// Files, folders (recursive) or `-`, of any size
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The summary to write; `-` is standard output
    #[arg(long, short = 'o', required = true)]
    out: PathBuf,
    #[command(flatten)]
    reading: SummaryOptions,
    /// Write a folder: all.pathlight, and DAY.pathlight for each day in UTC, by the first root span of a trace
    #[arg(long)]
    per_day: bool,
    /// Write a folder: all.pathlight (with --per-day one a day), and one summary for each root endpoint in a folder of
    /// that name
    #[arg(long)]
    per_root: bool,
    /// Spans of one trace may lie anywhere in the input: hold all of it in memory, about 50 bytes a span
    #[arg(long)]
    scattered: bool,
    /// Read only one of N traces, chosen by id: the same ones every time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
}

/// The options of `merge`.
#[derive(Debug, clap::Args)]
pub struct MergeArgs {
    /// Summaries of different traces, or folders with them
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The summary to write; `-` is standard output
    #[arg(long, short = 'o', required = true)]
    out: PathBuf,
    /// Write a folder: all.pathlight, and in its folder `all` a summary for each root endpoint
    #[arg(long)]
    per_root: bool,
}

/// The options of `show`.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// Summaries, read as one
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    root: RootOption,
    /// Percentiles of latency: `95-99` for a range of them; the nearest one that the latency bins of a summary allow is taken
    #[arg(long, visible_alias = "band", value_parser = parse::range)]
    range: Option<PercentileRange>,
    #[command(flatten)]
    output: OutputOptions,
}

/// Runs `summarise`.
///
/// # Errors
/// [`Failure::NoTrace`], [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn summarise(args: &SummariseArgs) -> Result<(), Failure> {
    let inputs = Inputs::of(&input::list(&args.files)?);
    inputs.refuse(&args.out)?;
    let (per_day, threads) = (args.per_day, args.reading.threads);
    let keep = args.sample.map_or(KeptTraces::All, KeptTraces::Sample);
    let wanted = SumOptions { settings: &args.reading.settings(), per_day, threads, keep: &keep };
    let days = if args.scattered {
        stream::by_days_at_once(&args.files, wanted)?
    } else {
        stream::by_days(&args.files, wanted)?
    };
    if !args.per_day {
        let sum = days.into_values().next().ok_or(Failure::NoTrace)?;
        return if args.per_root {
            save_in(&args.out, ALL, &sum, &inputs, true)
        } else {
            save(&args.out, sum)
        };
    }
    let mut all = Merger::default();
    for (day, sum) in days {
        let name: String = format::moment(day * DAY_US).chars().take(DAY_CHARS).collect();
        save_in(&args.out, &name, &sum, &inputs, args.per_root)?;
        all.add(sum).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let all = with_most_roots(all.finish().map_err(|error| Failure::Usage(error.to_string()))?)?;
    save_in(&args.out, ALL, &all, &inputs, false)
}

/// Returns what is written of a summary: of very many root endpoints, all sums of those with the most time.
fn with_most_roots(summary: Summary) -> Result<Summary, Failure> {
    summary.with_roots(MOST_ROOTS).map_err(|error| Failure::Usage(error.to_string()))
}

/// Runs `merge`.
///
/// # Errors
/// As [`load`]; [`Failure::Io`].
pub fn merge(args: &MergeArgs) -> Result<(), Failure> {
    let inputs = Inputs::of(&input::list(&args.files)?);
    inputs.refuse(&args.out)?;
    let sum = with_most_roots(load(&args.files)?)?;
    if args.per_root { save_in(&args.out, ALL, &sum, &inputs, true) } else { save(&args.out, sum) }
}

/// The name of the summary over all days.
const ALL: &str = "all";
/// Characters of a moment that are its day.
const DAY_CHARS: usize = 10;
/// Characters of an endpoint that stand in the name of a file.
const NAME_CHARS: usize = 80;

/// Writes a summary into a folder, and if asked one for each of its root endpoints into a folder of its name.
fn save_in(
    folder: &Path,
    stem: &str,
    summary: &Summary,
    inputs: &Inputs,
    per_root: bool,
) -> Result<(), Failure> {
    let make = |folder: &Path| {
        let fail = |error| Failure::Usage(format!("cannot make the folder {}: {error}", folder.display()));
        std::fs::create_dir_all(folder).map_err(fail)
    };
    make(folder)?;
    let save = |file: &Path, summary: &Summary| {
        inputs.refuse(file)?;
        save(file, summary)
    };
    save(&folder.join(format!("{stem}.pathlight")), summary)?;
    if !per_root {
        return Ok(());
    }
    let roots = folder.join(stem);
    make(&roots)?;
    for (root, part) in summary.clone().into_roots() {
        save(&roots.join(format!("{}.pathlight", file_name(&root))), &part)?;
    }
    Ok(())
}

/// Returns a file name for an endpoint that every file system takes: what of its text is harmless, and a checksum of
/// all.
fn file_name(root: &Endpoint) -> String {
    let mut checksum = flate2::Crc::new();
    checksum.update(root.service.as_bytes());
    checksum.update(&[0]);
    checksum.update(root.operation.as_bytes());
    let text = format!("{}-{}", root.service, root.operation);
    let harmless = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { ' ' };
    let words: String = text.chars().take(NAME_CHARS).map(harmless).collect();
    let words: Vec<&str> = words.split_whitespace().collect();
    format!("{}-{:08x}", words.join("-"), checksum.sum())
}

/// Runs `show`.
///
/// # Errors
/// As [`load`]; [`Failure::NoMatch`] if no request has the root endpoint.
pub fn show(args: &ShowArgs) -> Result<(), Failure> {
    let summary = load(&args.files)?;
    let range = args.range.unwrap_or(PercentileRange::ALL);
    let root = args.root.named();
    let selected = Selected::of(&summary, root.as_ref(), range);
    let selected = selected.ok_or_else(|| no_such_root(&summary, root.as_ref()))?;
    args.output.print_report(|| json::show(&summary, &selected), |rows| to_text(&summary, &selected, rows))
}

/// Says that a summary has no requests of a root endpoint.
pub fn no_such_root(summary: &Summary, root: Option<&Endpoint>) -> Failure {
    let Some(root) = root else { return Failure::NoTrace };
    let most = summary.roots.iter().max_by_key(|(_, part)| part.requests());
    let such_as = most.map_or(String::new(), |(known, _)| format!(", such as {}", name(known)));
    let others = counted(summary.root_endpoints(), "other");
    let text = format!("No request has the root endpoint {}; the summary has {others}{such_as}.", name(root));
    Failure::NoMatch(text)
}

/// Writes a summary, if it can be read again.
fn save(out: &Path, summary: impl Borrow<Summary>) -> Result<(), Failure> {
    let check = |bytes: &[u8]| {
        let Err(error) = read(bytes) else { return Ok(()) };
        let why = match error {
            FileError::Damaged(why) => why,
            other => other.to_string(),
        };
        let words = "what was summed cannot be read again, so it is not written";
        let next = "summarise fewer traces at a time, and please report this with the traces";
        Err(Failure::Usage(format!("{}: {words} ({why}); {next}", out.display())))
    };
    let bytes = write(summary.borrow()).map_err(|error| Failure::Usage(error.to_string()))?;
    // Of many root endpoints it is large, and is read again below.
    drop(summary);
    if out.as_os_str() == "-" {
        check(&bytes)?;
        return Ok(std::io::stdout().lock().write_all(&bytes)?);
    }
    output::write_checked(out, &bytes, check)
}

/// Returns an endpoint as `operation @ service`, with nothing in it that a terminal would obey.
pub fn name(endpoint: &Endpoint) -> String {
    format::endpoint(&endpoint.service, &endpoint.operation)
}

fn to_text(summary: &Summary, selected: &Selected, rows: usize) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let latency = selected.part.percentiles();
    let [p50, p95, p99] = [latency.p50, latency.p95, latency.p99].map(format::duration);
    let about = selected.error_words();
    let _ = writeln!(
        out,
        "{}, {}, {}\n{}, latency mean {}, p50 {p50}, p95 {p95}, p99 {p99}{about}",
        counted(summary.traces, "trace"),
        counted(summary.spans, "span"),
        counted(summary.root_endpoints(), "root endpoint"),
        counted(selected.part.requests(), "request"),
        format::duration(latency.mean),
    );
    let choice = Choice { root: selected.root.cloned(), ..Choice::default() };
    if let (Ok(flows), Ok(normal)) = (summary.flow_parents(&choice, None), summary.normal(selected.root)) {
        let _ = writeln!(
            out,
            "execution flows of {} (pathlight flow), {} kept to judge others against (pathlight anomaly --baseline)",
            counted(flows.len() as u64, "endpoint"),
            counted(normal.rows.len() as u64, "request"),
        );
    }
    if let Some(sentence) = together(summary.lesser_share()) {
        let _ = writeln!(out, "{sentence}");
    }
    let lacks: Vec<String> = summary.lacks().iter().map(ToString::to_string).collect();
    for sentence in lacking(&lacks, &summary.unknown.iter().cloned().collect::<Vec<_>>()) {
        let _ = writeln!(out, "{}", harmless(&sentence));
    }
    if let Some(cut) = selected.cut_words() {
        let _ = writeln!(out, "{cut}");
    }
    if selected.root.is_none() {
        let mut overview = OverviewReport::default();
        overview.take_summary(summary, 1);
        let roots = findings::types().filled(TypeLine::of(&overview));
        let left = more(roots.rows().len(), rows, "root endpoint");
        let _ = write!(out, "\n{}{left}", TextTable::of(&roots, 3, rows));
    }
    if let Some(errors) = &selected.errors {
        let _ = writeln!(out, "\n{}", errors::sentences(errors).join(" "));
    }
    // Of what the summary lacks there is no table.
    if let Ok(report) = summary.endpoints(&choice) {
        let endpoints = findings::top().filled(Cost::of(&report));
        let left = more(endpoints.rows().len(), rows, "endpoint");
        let _ = write!(out, "\n{}{left}", TextTable::of(&endpoints, 3, rows));
    }
    let choice = Choice { range: selected.cut.range(), over_all: true, ..choice };
    if let Ok(report) = summary.critical_path(&choice) {
        let _ = write!(out, "\n{}", critical_path::paths(&Rc::new(report), rows));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_that_cannot_be_read_again_is_not_written() {
        let path = std::env::temp_dir().join(format!("pathlight-save-{}.pathlight", std::process::id()));
        let mut summary = Summary::default();
        save(&path, &summary).unwrap();
        let good = std::fs::read(&path).unwrap();
        summary.traces = u64::MAX;
        let error = save(&path, &summary).unwrap_err().to_string();
        assert!(error.contains("cannot be read again") && error.contains("section latencies"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), good);
        std::fs::remove_file(&path).unwrap();
    }
}
