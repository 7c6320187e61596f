//! `pathlight diagnosis`: layers and diagnosis of a set, aggregate traces on demand; what changed, between two.

use super::common::{AnalysisOptions, Sets};
use super::table::{TextTable, more};
use super::{Failure, parse};
use pathlight_engine::diagnosis::{Aggregates, DiagnosisReport, DiagnosisSettings, to_jaeger};
use pathlight_engine::queries;
use pathlight_engine::requests::{GroupBy, Selection};
use pathlight_view::diagnosis::tables::{self, LayerRow};
use pathlight_view::diagnosis::words::{markdown, sets_markdown};
use pathlight_view::{json, summaries};

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
    /// Print the times of a layer as a table instead, 1 to 4: of endpoints over all traces, by request type, of positions in
    /// traces of one shape, and of one order of calls
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=4),
        conflicts_with_all = ["aggregate", "format", "json"]
    )]
    layer: Option<u32>,
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
    if two_sets && args.layer.is_some() {
        return Err(Failure::Usage(
            "two sets have no layers; leave out -a and -b to diagnose one set".to_owned(),
        ));
    }
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
        match (format, args.layer) {
            ("json", _) => json::diagnosis(&report)? + "\n",
            (_, Some(layer)) => {
                return args.settings.print_text(&of_layer(&report, layer, args.settings.rows()));
            }
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

/// Returns the times of a layer as a table.
fn of_layer(report: &DiagnosisReport, layer: u32, rows: usize) -> String {
    let table = if layer <= 2 { tables::layers() } else { tables::positions() };
    let table = table.filled(LayerRow::of_layers(report, layer..=layer));
    let all = table.rows().len();
    let none = report.summary.filter(|_| all == 0).map(|_| format!("{}\n", summaries::NO_POSITIONS));
    none.unwrap_or_else(|| format!("{}{}", TextTable::of(&table, 3, rows), more(all, rows, "row")))
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
