//! `pathlight deployments`: versions, zones, hosts and other places that are slower than the others in the same minutes.

use super::Failure;
use super::common::Common;
use super::table::{TextTable, more};
use pathlight_engine::deployments::DeploymentsReport;
use pathlight_engine::queries;
use pathlight_view::deployments::{self, DeploymentLine};
use pathlight_view::json;
use std::fmt::Write as _;
use std::rc::Rc;

/// The options of `deployments`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// Compare by this tag of processes, such as a node pool; without it by all that are known to say where something runs:
    /// service.version, deployment.environment, cloud.availability_zone, host.name, feature flags and the like
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// json, text, or csv for every row
    #[arg(long, value_name = "FORMAT", value_parser = ["json", "text", "csv"], conflicts_with = "json")]
    format: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut pool = args.common.load()?;
    let selection = args.common.selection();
    let report = Rc::new(pool.run(queries::Deployments { selection, key: args.key.clone() })?);
    match args.common.format(args.format.as_deref()) {
        "json" => args.common.print(&(json::deployments(&report)? + "\n")),
        "csv" => args.common.print(&deployments::table().filled(DeploymentLine::of(&report)).csv()),
        _ => args.common.print_text(&to_text(&report, args.common.rows())),
    }
}

fn to_text(report: &Rc<DeploymentsReport>, rows: usize) -> String {
    let mut out = deployments::headline(report).to_text() + "\n";
    if !report.rows.is_empty() {
        let table = deployments::table().filled(DeploymentLine::of(report));
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "\n{}{}\n{}",
            TextTable::of(&table, 2, rows),
            more(report.rows.len(), rows, "row"),
            deployments::LIMITS
        );
    }
    for first in report.firsts.iter().take(rows) {
        let _ = writeln!(out, "{}", deployments::release(first).to_text());
    }
    out
}
