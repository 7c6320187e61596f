//! `pathlight histograms`: how large, deep and parallel the traces are.

use super::Failure;
use super::common::Common;
use super::table::TextColumn::{Left, Right};
use super::table::TextTable;
use pathlight_base::format::{count, duration};
use pathlight_base::statistics::Distribution;
use pathlight_engine::flame::{HistogramsReport, Quantity};
use pathlight_engine::queries;
use pathlight_view::json;
use std::fmt::Write as _;

/// The options of `histograms`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut pool = args.common.load()?;
    let selection = args.common.selection();
    let report = pool.run(queries::Histograms { selection })?;
    args.common.print_report(|| json::histograms(&report), |rows| to_text(&report, rows))
}

/// Returns a histogram of at most so many rows for each quantity: neighbouring bins share one.
fn to_text(report: &HistogramsReport, rows: usize) -> String {
    /// Width of the longest bar.
    const BAR: u64 = 50;
    let mut out = String::new();
    for (quantity, of) in &report.distributions {
        let Distribution { n, mean, median, max, is_log, edges, counts, .. } = of;
        let say = |value: f64| match quantity {
            Quantity::Latency | Quantity::Work => duration(value),
            _ if value == value.trunc() => count(value as u64),
            _ => format!("{value:.1}"),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{} (n {}, mean {}, median {}, max {}{})",
            quantity.title(),
            count(*n),
            say(*mean),
            say(*median),
            say(*max as f64),
            if *is_log { ", bins on a logarithmic axis" } else { "" }
        );
        let bins = counts.len().div_ceil(rows).max(1);
        let values: Vec<u64> = counts.chunks(bins).map(|bins| bins.iter().sum()).collect();
        let most = values.iter().max().copied().unwrap_or(0).max(1);
        let mut table = TextTable::new([Right("from"), Right("requests"), Left("")]);
        for (edge, &values) in edges.iter().step_by(bins).zip(&values) {
            let bar = "#".repeat((u128::from(values) * u128::from(BAR)).div_ceil(u128::from(most)) as usize);
            table.row([say(*edge as f64), count(values), bar]);
        }
        let _ = writeln!(out, "{table}");
    }
    out
}
