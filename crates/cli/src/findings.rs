//! `pathlight findings`: what is slow, where, why and for whom, in sentences.

use super::common::{Common, RedactionOptions};
use super::config::ConfigOption;
use super::{Failure, sarif};
use pathlight_engine::findings::{FindingsReport, TagsReport, ask_findings};
use pathlight_engine::queries;
use pathlight_engine::requests::Selection;
use pathlight_engine::run::native::NativePool;
use pathlight_trace::Redaction;
use pathlight_view::export::redacted;
use pathlight_view::export::sarif::Alert;
use pathlight_view::findings::{self, tag_rows};
use pathlight_view::json;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The options of `findings`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    redaction: RedactionOptions,
    /// Files or folders to compare with: before, or normal
    #[arg(long, num_args = 1.., value_name = "FILE")]
    baseline: Vec<PathBuf>,
    /// `markdown` for an incident note, `sarif` for a code host (with thresholds and accepted findings of `.pathlight.toml`)
    #[arg(long, value_parser = ["text", "json", "markdown", "sarif"])]
    format: Option<String>,
    #[command(flatten)]
    config: ConfigOption,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut selection = args.common.selection();
    let range = selection.range;
    let (mut pool, baseline) = if args.baseline.is_empty() {
        (args.common.load()?, None)
    } else {
        let (baseline, of_files) = selection.as_baseline_of(Selection { group: 1, ..selection.clone() });
        selection = of_files;
        (args.common.settings.load_groups(&[&args.baseline, &args.common.files])?, Some(baseline))
    };
    let report = ask_findings(&mut pool, selection.clone(), baseline)?;
    let tags = pool.run(queries::Tags { selection })?;
    let (redaction, pseudonyms) = args.redaction.export_redaction(&mut pool)?;
    let report = redacted::findings(&report, redaction, &pseudonyms);
    let tags = redacted::tags(&tags, redaction);
    let is_of_range = !range.is_all();
    let format = args.common.format(args.format.as_deref());
    if format == "sarif" {
        return args.common.print(&sarif_log(args, &pool, &report, redaction)?);
    }
    let of_tags = |write: fn(&TagsReport, bool) -> String| {
        if redaction.tags { String::new() } else { write(&tags, is_of_range) }
    };
    let text = match format {
        "json" => json::findings(&report, &tags, range)? + "\n",
        "markdown" => {
            let loaded = if redaction.names { String::new() } else { loaded(args) };
            findings::words::to_markdown(&report, &loaded, None) + &of_tags(tag_rows::to_markdown)
        }
        _ => {
            let text = findings::words::to_text(&report) + &of_tags(tag_rows::to_text);
            return args.common.print_text(&text);
        }
    };
    args.common.print(&text)
}

/// Returns the findings that are to be reported as a log of results.
fn sarif_log(
    args: &Args,
    pool: &NativePool,
    report: &FindingsReport,
    redaction: Redaction,
) -> Result<String, Failure> {
    let config = args.config.read()?;
    let reported = report.findings.iter().filter(|finding| config.reports(finding));
    let alerts: Vec<Alert> = reported
        .map(|finding| {
            let alert = Alert::of(finding, None);
            let accepted = sarif::accepted(config.knows(finding), &alert.text);
            Alert { accepted, ..alert }
        })
        .collect();
    // Where code is, tags say, and files are names.
    let code = match redaction.is_nothing() {
        true => sarif::code_places(pool, alerts.iter().filter_map(|alert| alert.code_of.as_ref())),
        false => BTreeMap::new(),
    };
    sarif::write(&alerts, &code, &config)
}

/// Returns the files, and those they are compared with.
fn loaded(args: &Args) -> String {
    let names = |paths: &[PathBuf]| {
        let names: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
        findings::words::files(&names.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    };
    let files = names(&args.common.files);
    match args.baseline.as_slice() {
        [] => files,
        baseline => format!("A: {}; B: {files}", names(baseline)),
    }
}
