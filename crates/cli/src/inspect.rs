//! `pathlight inspect`: what the files hold, their formats, and what was wrong with them.

use super::input::{self, Loaded};
use super::table::TextColumn::{Left, Right};
use super::table::TextTable;
use super::{Failure, common, output, parse};
use pathlight_base::format::{agreeing, bytes, count, counted, duration_us, printable, share};
use pathlight_engine::queries::{self, OverviewReport};
use pathlight_engine::requests::GroupBy;
use pathlight_ingest::{Ended, FileReport, KeptTraces};
use pathlight_trace::{Overlap, PathSettings};
use pathlight_view::reading::words::SequenceNote;
use pathlight_view::{guess, json, reading, sampling};
use std::fmt::Write as _;
use std::path::PathBuf;

/// The options of `inspect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files, folders (recursive) or `-`
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write to this file instead of standard output
    #[arg(long, short = 'o')]
    out: Option<PathBuf>,
    /// Print what the fields of rows nobody knows may be, as a mapping for `--map`
    #[arg(long, conflicts_with = "json")]
    guess: bool,
    #[command(flatten)]
    reading: common::ReadingOption,
    /// Threads (default: one per core)
    #[arg(long, value_parser = parse::threads)]
    threads: Option<usize>,
}

/// Endpoints named one by one at which work that no request holds begins.
const OUTSIDE: usize = 5;

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`], after the account is printed, if there is none; [`Failure::Usage`] and [`Failure::Io`] as they
/// say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let Loaded { mut pool, files } =
        input::load(&[&args.files], args.threads, &KeptTraces::All, args.out.as_deref())?;
    if args.guess {
        let guesses: Vec<String> = files.iter().filter_map(guess::text).collect();
        if guesses.is_empty() {
            return Err(Failure::NoMatch(
                "there is nothing to guess: no file holds rows that are not known".into(),
            ));
        }
        return output::print(args.out.as_deref(), guesses.join("\n"));
    }
    let overlap = Overlap::default();
    let settings = PathSettings { overlap, reading: args.reading.over(overlap), by_service: false };
    let overview =
        pool.run(queries::Overview { settings, by: GroupBy::Root, ..queries::Overview::default() })?;
    let text = if args.json { json::inspect(&overview, &files)? + "\n" } else { to_text(&overview, &files) };
    output::print(args.out.as_deref(), &text)?;
    if overview.traces == 0 { Err(Failure::NoTrace) } else { Ok(()) }
}

fn to_text(overview: &OverviewReport, files: &[FileReport]) -> String {
    // Writing to a String cannot fail.
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}, {}, {}, {} in {} ({})\n",
        counted(overview.traces, "trace"),
        counted(overview.spans, "span"),
        counted(overview.services, "service"),
        counted(overview.endpoints.len() as u64, "endpoint"),
        counted(files.len() as u64, "file"),
        bytes(files.iter().map(|file| file.bytes).sum()),
    );
    let mut table =
        TextTable::new([Right("traces"), Right("spans"), Right("size"), Left("format"), Left("file")]);
    for file in files {
        let name = file.name.to_string();
        table.row([count(file.traces), count(file.spans), bytes(file.bytes), file.format.to_string(), name]);
        for problem in &file.problems {
            let example = &problem.example;
            table.remark(&format!("{} {}", count(problem.count), problem.kind.explain()));
            table.remark(&format!("  at byte {}: {}", example.offset, example.text));
        }
        match &file.ended {
            Ended::Whole => {}
            Ended::Cut { offset } => table.remark(&format!("it ends in the middle, at byte {offset}")),
            Ended::Stopped => table.remark("reading was stopped"),
            Ended::Failed(error) => table.remark(&format!("{}. {}", error.reason, error.next)),
        }
    }
    let _ = write!(out, "{table}");
    let quality = &overview.quality;
    let _ = writeln!(
        out,
        "\nData quality: {} clipped ({} of all span time), {} dropped, {} asynchronous;\n\
         {}, {}, {} of repeated ids, {}, {}",
        counted(quality.clipped_spans, "span"),
        share(quality.clipped_share()),
        count(quality.dropped_spans),
        count(quality.async_spans),
        counted(quality.orphan_roots, "orphan root"),
        counted(quality.cycles, "cycle"),
        counted(quality.duplicate_spans, "span"),
        counted(quality.multi_root_traces, "trace") + " with several roots",
        counted(quality.incomplete_traces, "incomplete trace"),
    );
    if let Some(words) = reading::words::left_out(quality) {
        let lack = agreeing(quality.orphan_roots, "lacks its parent", "lack their parent");
        let _ = writeln!(out, "Warning: {words}: {} {lack}.", counted(quality.orphan_roots, "span"));
    }
    let requests = overview.request_types.iter().map(|row| row.requests).sum();
    if requests > 0 || overview.outside.coverage.left_out > 0 {
        let scope = reading::words::scope(&overview.outside.coverage, requests);
        let _ = writeln!(out, "All requests: {} {scope}.", count(requests));
        for (is_async, words) in [(true, "asynchronous"), (false, "unattached")] {
            for (endpoint, tops) in overview.outside.by_time(is_async).into_iter().take(OUTSIDE) {
                let spans = counted(tops.spans, "span");
                let name = printable(&format!("{} @ {}", endpoint.operation, endpoint.service));
                let _ =
                    writeln!(out, "  {words}: {name}, {spans}, {} with all below", duration_us(tops.span_us));
            }
        }
    }
    for SequenceNote { calls, what, words, bins, .. } in reading::words::sequences(overview) {
        let _ = writeln!(out, "{} {what}. {words}", counted(calls, "call"));
        for (range, number) in bins {
            let _ = writeln!(out, "{:>12}  {range}", count(number));
        }
    }
    let links = Some(reading::words::links(overview.links)).filter(|links| links.count > 0);
    let notes = [reading::words::notes(&overview.reading), sampling::words::notes(&overview.sampling)];
    let chosen = sampling::words::chosen(&overview.chosen);
    for note in links.into_iter().chain(notes.into_iter().flatten()).chain(chosen) {
        let _ = write!(out, "{} {}. {}", count(note.count), note.what, note.meaning);
        let _ = match note.example.as_str() {
            "" => writeln!(out),
            example => writeln!(out, " For example trace {example}."),
        };
    }
    out
}
