//! `pathlight heatmap`: endpoints on the critical path against requests.

use super::common::{Common, PlacesOption};
use super::table::TextColumn::Left;
use super::table::{TextTable, more};
use super::{Failure, parse, terminal};
use pathlight_base::format::endpoint;
use pathlight_engine::endpoints::{RowStat, RowTime};
use pathlight_engine::heatmap::{ColumnOrder, HeatmapReport};
use pathlight_engine::queries;
use pathlight_view::heatmap::{self, HeatmapRow};
use pathlight_view::json;
use std::rc::Rc;

/// The options of `heatmap`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    places: PlacesOption,
    /// At most this many columns; if there are more requests, several share a column (default: 60 as text, fewer in a narrow terminal, else 10000)
    #[arg(long)]
    columns: Option<u32>,
    /// Order of columns: `latency`, `start`, or the self time of an endpoint
    #[arg(long, default_value = "latency", value_name = "latency|start|SERVICE:OPERATION", value_parser = parse::column_order)]
    sort_columns: ColumnOrder,
    /// Order of rows
    #[arg(long, default_value = "total", value_name = "p50|p95|p99|mean|total", value_parser = parse::row_stat)]
    sort_rows: RowStat,
    /// Order rows by total time instead of self time
    #[arg(long)]
    inclusive: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let order = args.sort_columns.clone();
    let mut pool = args.common.load()?;
    let selection = args.places.of(args.common.selection());
    // As text the names need the rest of a line.
    let room = terminal::columns().saturating_sub(60).clamp(20, 60) as u32;
    let columns = args.columns.unwrap_or(if args.common.json { 10_000 } else { room });
    let report = Rc::new(pool.run(queries::Heatmap { selection, columns, order })?);
    let stat = args.sort_rows;
    let time = if args.inclusive { RowTime::Inclusive } else { RowTime::Exclusive };
    args.common.print_report(|| json::heatmap(&report, time, stat), |rows| to_text(&report, time, stat, rows))
}

/// Returns the rows as lines of shades, darker for a greater share of the request's latency, and their times.
fn to_text(report: &Rc<HeatmapReport>, time: RowTime, stat: RowStat, rows: usize) -> String {
    const SHADES: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '#', '@'];
    let columns = report.column_requests.len();
    let mut cells = vec![vec![0u32; columns]; report.rows.rows.len()];
    for (column, cell) in (0..columns).flat_map(|c| report.cells(c).map(move |cell| (c, cell))) {
        cells[report.cell_row[cell] as usize][column] = report.cell_share_ppm[cell];
    }
    let mut chart = TextTable::new([Left("share of each request"), Left("endpoint")]);
    for row in report.rows.order(time, stat).into_iter().take(rows) {
        let shades: String = cells[row.index()]
            .iter()
            .map(|&ppm| SHADES[(ppm as usize * (SHADES.len() - 1)).div_ceil(1_000_000).min(SHADES.len() - 1)])
            .collect();
        let (service, operation) = report.rows.name(row);
        chart.row([format!("|{shades}|"), endpoint(service, operation)]);
    }
    let table = heatmap::table().filled(HeatmapRow::of(report));
    let left = more(table.rows().len(), rows, "endpoint");
    format!("{chart}\n{}{left}", TextTable::of(&table, 2, rows))
}
