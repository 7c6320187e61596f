//! `pathlight endpoints`: interior endpoints ranked by what they cost all root endpoints together.

use super::common::{Common, PlacesOption};
use super::table::TextColumn::{Left, Right};
use super::table::{TextTable, more};
use super::{Failure, parse};
use pathlight_base::format::{count, counted, duration, duration_us, share_of};
use pathlight_engine::endpoints::ImpactReport;
use pathlight_engine::queries;
use pathlight_view::endpoints::share_range;
use pathlight_view::json;
use std::fmt::Write as _;

/// The options of `endpoints`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    places: PlacesOption,
    /// How much faster an endpoint could become, in percent, for the upper bound of what that would save
    #[arg(long, default_value_t = 10.0, value_name = "PERCENT", value_parser = parse::percent)]
    faster: f64,
    /// How many endpoints the text lists (default: 15)
    #[arg(long)]
    top: Option<usize>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut pool = args.common.load()?;
    let selection = args.places.of(args.common.selection());
    let report = pool.run(queries::Impact { selection })?;
    args.common.print_report(|| json::endpoints(&report, args.faster), |rows| to_text(&report, args, rows))
}

fn to_text(report: &ImpactReport, args: &Args, rows: usize) -> String {
    let total = report.facts.latency_sum_us;
    let top = args.top.unwrap_or(rows);
    // Writing to a String cannot fail.
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} of {}, {} in all\n",
        counted(report.facts.requests, "request"),
        counted(report.roots.len() as u64, "root endpoint"),
        duration_us(total),
    );
    let saves = format!("-{}% saves <", args.faster);
    let mut table = TextTable::new([
        Right("impact"),
        Right("share"),
        Right("95 %"),
        Right("requests"),
        Right("roots"),
        Right(&saves),
        Left("endpoint"),
    ]);
    for row in report.rows.iter().filter(|row| row.is_interior).take(top) {
        let (service, operation) = report.name(row.endpoint);
        table.row([
            duration_us(row.exclusive_us),
            share_of(row.exclusive_us, total),
            row.share_interval.map(share_range).unwrap_or_default(),
            count(row.requests),
            row.affected.len().to_string(),
            duration(report.saving_at_most_us(row, args.faster)),
            format!("[{service}] {operation}").trim_end().to_owned(),
        ]);
        for affected in row.affected.iter().take(3) {
            let root = report.roots[affected.root as usize];
            let (service, operation) = report.name(root.endpoint);
            let share = share_of(affected.exclusive_us, root.latency_us);
            table.remark(&format!("{share:>8} of [{service}] {operation}"));
        }
        match row.affected.len().saturating_sub(3) {
            0 => {}
            left => table.remark(&format!("{:>8} and {}", "", counted(left as u64, "more root endpoint"))),
        }
    }
    let all = report.rows.iter().filter(|row| row.is_interior).count();
    out + &table.to_string() + &more(all, top, "endpoint")
}
