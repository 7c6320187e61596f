//! `pathlight diagnosis`: layers and diagnosis of a set, aggregate traces on demand; what changed, between two.

use super::common::{AnalysisOptions, Sets};
use super::table::more;
use super::{Failure, parse};
use pathlight_engine::diagnosis::{Aggregates, DiagnosisSettings, to_jaeger};
use pathlight_engine::queries;
use pathlight_engine::requests::{GroupBy, Selection};
use pathlight_view::diagnosis::words::{markdown, sets_markdown};
use pathlight_view::json;

/// The options of `diagnosis`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    sets: Sets,
    #[command(flatten)]
    settings: AnalysisOptions,
    /// Request types are the values of this tag: the same as `--by tag=KEY`
    #[arg(long, value_name = "KEY", conflicts_with = "by")]
    tag: Option<String>,
    /// Percentage of the traces that counts as normal; the others, the slowest, are the tail
    #[arg(long, default_value_t = 90.0, value_parser = parse::percent)]
    tail: f64,
    /// Print the aggregate trace of the group with this `aggregate_trace` instead, as JSON
    #[arg(long, value_name = "N")]
    aggregate: Option<u32>,
    /// `jaeger` prints the aggregate traces as Jaeger JSON, or with `--aggregate` that one
    #[arg(long, value_parser = ["text", "json", "jaeger"], conflicts_with = "json")]
    format: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.settings.needs_answers()?;
    let two_sets = args.sets.are_two("diagnosis")?;
    let mut selection = args.settings.selection();
    if let Some(key) = &args.tag {
        selection.by = GroupBy::Tag(key.clone());
    }
    let settings = DiagnosisSettings {
        tail_permille: (args.tail * 10.0).round() as u32,
        ..DiagnosisSettings::default()
    };
    let format = args.settings.format(args.format.as_deref());
    let is_of_aggregates = args.aggregate.is_some() || format == "jaeger";
    if two_sets && is_of_aggregates {
        return Err(Failure::Usage(
            "two sets have no aggregate traces; leave out -a and -b to diagnose one set".to_owned(),
        ));
    }
    let mut pool = if two_sets {
        args.sets.load(&args.settings)?
    } else {
        args.sets.load_or_summaries(&args.settings)?
    };
    let text = if two_sets {
        let (a, b) = selection.as_baseline_of(Selection { group: 1, ..selection.clone() });
        let query = queries::CompareDiagnoses { a, b };
        let report = pool.run(query)?;
        match format {
            "json" => json::diagnosis_sets(&report)? + "\n",
            _ => return args.settings.print_text(&listed(&sets_markdown(&report), args.settings.rows())),
        }
    } else if is_of_aggregates {
        let wanted = args.aggregate.map_or(Aggregates::All, Aggregates::One);
        let traces = pool.run(queries::AggregateTraces { selection, settings, wanted })?;
        match (traces.first(), args.aggregate) {
            (None, Some(number)) => {
                return Err(Failure::Usage(format!("the diagnosis has no aggregate trace {number}")));
            }
            (Some(trace), Some(_)) if format != "jaeger" => json::aggregate_trace(trace)? + "\n",
            _ => to_jaeger(&traces)? + "\n",
        }
    } else {
        let report = pool.run(queries::Diagnosis { selection: selection.clone(), settings })?;
        match format {
            "json" => json::diagnosis(&report)? + "\n",
            _ => {
                // Findings need the spans of single requests.
                let findings = match report.summary {
                    None => Some(pool.run(queries::Findings { selection, baseline: None })?),
                    Some(_) => None,
                };
                let text = markdown(&report, findings.as_ref());
                return args.settings.print_text(&listed(&text, args.settings.rows()));
            }
        }
    };
    args.settings.print(&text)
}

/// Returns the first so many lines of each list, with a word on those that are left out.
fn listed(markdown: &str, rows: usize) -> String {
    let mut out = String::new();
    let (mut lines, mut left) = (0, 0);
    for line in markdown.lines() {
        let start = line.trim_start();
        let is_item =
            start.starts_with("- ") || start.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok());
        if !is_item && left > 0 {
            out.push_str(&more(lines, rows, "line"));
            left = 0;
        }
        lines = if is_item { lines + 1 } else { 0 };
        if lines > rows {
            left += 1;
        } else {
            out.push_str(line);
            out.push('\n');
        }
    }
    out + &if left > 0 { more(lines, rows, "line") } else { String::new() }
}
