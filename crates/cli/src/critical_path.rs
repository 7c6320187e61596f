//! `pathlight critical-path`: the aggregate critical calling contexts of many traces.

use super::Failure;
use super::common::{self, Common, PlacesOption};
use super::output::stacks;
use super::table::TextColumn::{Left, Right};
use super::table::{TextTable, more};
use pathlight_base::format::{count, counted, duration, endpoint, share_of};
use pathlight_engine::flame::CriticalPathReport;
use pathlight_engine::ids::NodeId;
use pathlight_engine::queries;
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
        "folded" => args.common.print(&stacks(&report.to_folded()?)),
        _ => args.common.print_text(&to_text(&report, args.common.rows())),
    }
}

/// Levels that are shown by their indentation; below them the level stands as a number.
const MOST_INDENTED: usize = 20;
/// Callers without a choice among them that are listed at each end of a chain; those between are counted.
const CHAIN_ENDS: usize = 3;

/// Returns the largest calling contexts by self time with their callers, as an indented table; the endpoint first that
/// holds most.
fn to_text(report: &CriticalPathReport, rows: usize) -> String {
    let facts = &report.facts;
    let mut largest: Vec<NodeId> = (0..report.nodes.len() as u32).map(NodeId).collect();
    // Stable: equal ones stay in the order of the tree.
    largest.sort_by_key(|id| std::cmp::Reverse(report.nodes[id.index()].exclusive_us.sum));
    let shown = shown(report, &largest[..rows.min(largest.len())]);
    let mut table = TextTable::new([
        Right("self mean"),
        Right("share"),
        Right("self p99"),
        Right("requests"),
        Left("call path"),
    ]);
    let mut depth: Vec<usize> = Vec::with_capacity(report.nodes.len());
    let (mut listed, mut left_out) = (0, 0);
    for (id, node) in (0..).map(NodeId).zip(&report.nodes) {
        let level = node.parent.map_or(0, |parent| depth[parent.index()] + 1);
        depth.push(level);
        let indent = 2 * level.min(MOST_INDENTED);
        match shown[id.index()] {
            What::Nothing => continue,
            What::LeftOut => {
                left_out += 1;
                continue;
            }
            What::Row => {}
        }
        // A chain is left out whole before the next row.
        if left_out > 0 {
            table.remark(&format!("{:indent$}… {} …", "", counted(left_out, "level")));
            left_out = 0;
        }
        listed += 1;
        let (service, operation) = report.name(node.endpoint);
        let number =
            if level > MOST_INDENTED { format!("level {}: ", count(level as u64)) } else { String::new() };
        table.row([
            duration(node.exclusive_us.mean),
            share_of(node.exclusive_us.sum, facts.latency_sum_us),
            duration(node.exclusive_us.p99),
            count(node.requests),
            format!("{:indent$}{number}[{service}] {operation}", "").trim_end().to_owned(),
        ]);
    }
    let latency = common::latency(facts.requests, &facts.latency_us);
    let most = largest.first().map(|id| &report.nodes[id.index()]).map(|node| {
        let (service, operation) = report.name(node.endpoint);
        let share = share_of(node.exclusive_us.sum, facts.latency_sum_us);
        format!(
            "The largest call path, {}, has {share} of the latency as self time.\n",
            endpoint(service, operation)
        )
    });
    let left = more(report.nodes.len(), listed, "call path");
    format!("{}{latency}\n\n{table}{left}", most.unwrap_or_default())
}

/// Treatment of a calling context in the table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Nothing,
    /// It is counted, with those before and after it.
    LeftOut,
    Row,
}

/// Returns what becomes of each calling context: these are listed with their callers, but of long chains only the ends.
fn shown(report: &CriticalPathReport, chosen: &[NodeId]) -> Vec<What> {
    let mut of = vec![What::Nothing; report.nodes.len()];
    let mut calls = vec![0_u32; report.nodes.len()];
    for &node in chosen {
        let mut next = Some(node);
        while let Some(id) = next.filter(|id| of[id.index()] == What::Nothing) {
            of[id.index()] = What::Row;
            next = report.nodes[id.index()].parent;
            if let Some(parent) = next {
                calls[parent.index()] += 1;
            }
        }
    }
    let mut is_end = vec![false; report.nodes.len()];
    chosen.iter().for_each(|id| is_end[id.index()] = true);
    is_end.iter_mut().zip(&calls).for_each(|(is_end, &calls)| *is_end |= calls > 1);
    // From the end: a chain ends at a node that is chosen or calls several of those shown, and goes up to the next.
    for end in (0..report.nodes.len()).rev().filter(|&node| is_end[node]) {
        let parent = |&node: &NodeId| report.nodes[node.index()].parent;
        let first = parent(&NodeId(end as u32)).filter(|id| !is_end[id.index()]);
        let chain: Vec<NodeId> =
            std::iter::successors(first, |id| parent(id).filter(|id| !is_end[id.index()])).collect();
        // A row says what is left out, so one level gains nothing.
        if chain.len() > 2 * CHAIN_ENDS + 1 {
            chain[CHAIN_ENDS..chain.len() - CHAIN_ENDS].iter().for_each(|id| of[id.index()] = What::LeftOut);
        }
    }
    of
}
