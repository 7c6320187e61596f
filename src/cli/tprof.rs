//! `pathlight tprof`: layers, diagnosis and aggregate traces.

use super::Failure;
use super::common::{self, Common};
use crate::engine::{Report, Request, TprofSettings};

/// What `tprof` may be told.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// Request types are the values of this tag (default: the root's endpoints)
    #[arg(long, value_name = "KEY")]
    tag: Option<String>,
    /// Percent of the traces that are normal; the slowest rest is the tail
    #[arg(long, default_value_t = 90.0)]
    tail: f64,
    /// `jaeger`: the aggregate traces as Jaeger JSON
    #[arg(long, value_parser = ["text", "json", "jaeger"])]
    format: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    if !(0.0..=100.0).contains(&args.tail) {
        return Err(Failure::Usage("--tail takes a number from 0 to 100".to_owned()));
    }
    let (scope, band) = (args.common.scope()?, args.common.band()?);
    let settings = TprofSettings {
        tag: args.tag.clone(),
        tail_permille: (args.tail * 10.0).round() as u32,
        ..TprofSettings::default()
    };
    let mut pool = args.common.load()?;
    let report = common::ask(&mut pool, Request::Tprof { scope, band, settings })?;
    let Report::Tprof(report) = report else { return Err(Failure::wrong_report()) };
    let text = match args.format.as_deref().unwrap_or(if args.common.json { "json" } else { "text" }) {
        "json" => report.to_json()? + "\n",
        "jaeger" => report.to_jaeger()? + "\n",
        _ => report.to_markdown(),
    };
    args.common.print(&text)
}
