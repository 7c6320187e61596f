//! `pathlight critical-path`: the aggregate critical calling contexts of many traces.

use super::Failure;
use super::common::{self, Common, PlacesOption};
use super::table::{TextTable, more};
use pathlight_base::format::{endpoint, share_of};
use pathlight_engine::flame::CriticalPathReport;
use pathlight_engine::queries;
use pathlight_view::flame::{self, FlameRow};
use pathlight_view::json;
use std::rc::Rc;

/// The options of `critical-path`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    places: PlacesOption,
    /// Print the critical path of every single request (with --json)
    #[arg(long)]
    per_trace: bool,
    /// `folded`: one line per calling context with all its callers, as flame graph tools read it (refused above 256 MB)
    #[arg(long, value_parser = ["text", "json", "folded"], conflicts_with = "json")]
    format: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut pool = args.common.load()?;
    let selection = args.places.of(args.common.selection());
    let format = match (&args.format, args.common.json) {
        (Some(format), _) => format.as_str(),
        (None, true) => "json",
        (None, false) => "text",
    };
    if args.per_trace {
        let report = pool.run(queries::PerRequest { selection })?;
        return args.common.print(&(json::per_request(&report)? + "\n"));
    }
    let report = pool.run(queries::CriticalPath { selection })?;
    match format {
        "json" => args.common.print(&(json::critical_path(&report)? + "\n")),
        "folded" => args.common.print(&report.to_folded()?),
        _ => args.common.print_text(&to_text(&Rc::new(report), args.common.rows())),
    }
}

/// Returns the calling contexts with the most self time, after a sentence on the largest.
fn to_text(report: &Rc<CriticalPathReport>, rows: usize) -> String {
    let facts = &report.facts;
    let most = report.nodes.iter().max_by_key(|node| node.exclusive_us.sum).map(|node| {
        let (service, operation) = report.name(node.endpoint);
        let share = share_of(node.exclusive_us.sum, facts.latency_sum_us);
        format!(
            "The largest call path, {}, has {share} of the latency as self time.\n",
            endpoint(service, operation)
        )
    });
    let latency = common::latency(facts.requests, &facts.latency_us);
    format!("{}{latency}\n\n{}", most.unwrap_or_default(), paths(report, rows))
}

/// Returns the table of calling contexts, those with the most self time first.
pub fn paths(report: &Rc<CriticalPathReport>, rows: usize) -> String {
    let table = flame::table().filled(FlameRow::of(report));
    format!("{}{}", TextTable::of(&table, 2, rows), more(table.rows().len(), rows, "call path"))
}
