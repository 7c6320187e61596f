//! `pathlight split`: latency, or the time of one endpoint, by the values of a tag.

use super::Failure;
use super::common::{self, Common, endpoint};
use crate::engine::words::{DASH, count, duration};
use crate::engine::{Report, Request, SplitOf, SplitReport};
use std::fmt::Write as _;

/// What `split` may be told.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// The tag or process tag
    #[arg(long, value_name = "KEY")]
    tag: String,
    /// Split the exclusive time of this endpoint on the critical path instead of the latency
    #[arg(long, value_name = "SERVICE:OPERATION")]
    endpoint: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let of = match &args.endpoint {
        None => SplitOf::Latency,
        Some(text) => {
            let (service, operation) = endpoint(text)?;
            SplitOf::Endpoint { service, operation }
        }
    };
    let mut pool = args.common.load()?;
    let (scope, band) = (args.common.scope()?, args.common.band()?);
    let report = common::ask(&mut pool, Request::Split { scope, band, of, key: args.tag.clone() })?;
    let Report::Split(report) = report else { return Err(Failure::wrong_report()) };
    let text = if args.common.json { report.to_json()? + "\n" } else { to_text(&report) };
    args.common.print(&text)
}

fn to_text(report: &SplitReport) -> String {
    // Writing to a String cannot fail.
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:>10} {:>10} {:>10} {:>10}  {:>8} {:>20}  {}",
        "n", "p50", "p95", "p99", "p50 x", "95 % interval", report.key
    );
    for value in &report.values {
        let [median, ..] = value.ratios;
        let ratio = median.ratio.map_or(DASH.to_owned(), |r| format!("{r:.3}"));
        let interval = median.interval.map_or(DASH.to_owned(), |i| format!("{:.3} .. {:.3}", i.low, i.high));
        let _ = writeln!(
            out,
            "{:>10} {:>10} {:>10} {:>10}  {ratio:>8} {interval:>20}  {}",
            count(value.n),
            duration(value.us.p50),
            duration(value.us.p95),
            duration(value.us.p99),
            value.value,
        );
    }
    let _ = writeln!(out, "{:>10} without the tag", count(report.missing));
    if report.others.0 > 0 {
        let _ = writeln!(out, "{:>10} of {} rarer values", count(report.others.1), report.others.0);
    }
    out
}
