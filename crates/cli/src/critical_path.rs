//! `pathlight critical-path`: the aggregate critical calling contexts of many traces.

use super::Failure;
use super::common::{self, Common, PlacesOption};
use super::table::Column::{Left, Right};
use super::table::{Table, more};
use pathlight_query::{CriticalPathReport, NodeId, queries};
use pathlight_text::format::{count, duration, endpoint, share_of};
use pathlight_view::json;
use std::collections::BTreeSet;

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
    match format {
        "json" => args.common.print(&(json::critical_path(&report)? + "\n")),
        "folded" => args.common.print(&report.to_folded()),
        _ => args.common.print_text(&to_text(&report, args.common.rows())),
    }
}

/// The largest calling contexts by self time with their callers, as an indented table; the endpoint first that holds most.
fn to_text(report: &CriticalPathReport, rows: usize) -> String {
    let facts = &report.facts;
    let mut largest: Vec<NodeId> = (0..report.nodes.len() as u32).map(NodeId).collect();
    // Stable: equal ones stay in the order of the tree.
    largest.sort_by_key(|id| std::cmp::Reverse(report.nodes[id.index()].exclusive_us.sum));
    let shown: BTreeSet<NodeId> = largest.iter().take(rows).flat_map(|&id| callers(report, id)).collect();
    let mut table = Table::new([
        Right("self mean"),
        Right("share"),
        Right("self p99"),
        Right("requests"),
        Left("calling context"),
    ]);
    let mut depth: Vec<usize> = Vec::with_capacity(report.nodes.len());
    for (id, node) in (0..).map(NodeId).zip(&report.nodes) {
        let level = node.parent.map_or(0, |parent| depth[parent.index()] + 1);
        depth.push(level);
        if !shown.contains(&id) {
            continue;
        }
        let (service, operation) = report.name(node.endpoint);
        table.row([
            duration(node.exclusive_us.mean),
            share_of(node.exclusive_us.sum, facts.latency_sum_us),
            duration(node.exclusive_us.p99),
            count(node.requests),
            format!("{:indent$}[{service}] {operation}", "", indent = 2 * level).trim_end().to_owned(),
        ]);
    }
    let latency = common::latency(facts.requests, &facts.latency_us);
    let most = largest.first().map(|id| &report.nodes[id.index()]).map(|node| {
        let (service, operation) = report.name(node.endpoint);
        let share = share_of(node.exclusive_us.sum, facts.latency_sum_us);
        format!(
            "The largest calling context, {}, has {share} of the latency as self time.\n",
            endpoint(service, operation)
        )
    });
    let left = more(report.nodes.len(), shown.len(), "calling contexts");
    format!("{}{latency}\n\n{table}{left}", most.unwrap_or_default())
}

/// A calling context and its callers.
fn callers(report: &CriticalPathReport, node: NodeId) -> impl Iterator<Item = NodeId> {
    std::iter::successors(Some(node), |id| report.nodes[id.index()].parent)
}
