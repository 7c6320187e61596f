//! `pathlight critical-path`: the aggregate critical calling contexts of many traces.

use super::Failure;
use super::common::{self, Common, PlacesOption, in_ms};
use super::table::Column::{Left, Right};
use super::table::Table;
use pathlight_query::{CriticalPathReport, queries};
use pathlight_view::json;

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
    /// `folded`: one line per calling context, as flame graph tools read it
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
    let text = match format {
        "json" => json::critical_path(&report)? + "\n",
        "folded" => report.to_folded(),
        _ => to_text(&report),
    };
    args.common.print(&text)
}

/// Contexts as an indented table, those below a thousandth of the percentile range's latency left out.
fn to_text(report: &CriticalPathReport) -> String {
    let facts = &report.facts;
    let mut table = Table::new([
        Right("excl. mean"),
        Right("share"),
        Right("excl. p99"),
        Right("requests"),
        Left("calling context"),
    ]);
    let mut depth: Vec<usize> = Vec::with_capacity(report.nodes.len());
    for node in &report.nodes {
        let level = node.parent.map_or(0, |parent| depth[parent.index()] + 1);
        depth.push(level);
        if u128::from(node.subtree_us) * 1000 < u128::from(facts.latency_sum_us) {
            continue;
        }
        let share = if facts.latency_sum_us == 0 {
            "–".to_owned()
        } else {
            format!("{:.1}%", 100.0 * node.exclusive_us.sum as f64 / facts.latency_sum_us as f64)
        };
        let (service, operation) = report.name(node.endpoint);
        table.row([
            in_ms(node.exclusive_us.mean),
            share,
            in_ms(node.exclusive_us.p99),
            node.requests.to_string(),
            format!("{:indent$}[{service}] {operation}", "", indent = 2 * level).trim_end().to_owned(),
        ]);
    }
    format!("{}\n\n{table}", common::latency(facts.requests, &facts.latency_us))
}
