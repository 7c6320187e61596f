//! The heat map: endpoints against requests, with its companion table.

use crate::endpoints::on_paths;
use crate::flame;
use crate::flame::table::{waiting_column, waiting_us};
use crate::heatmap::chart::{HeatModel, heat_of_share};
use crate::say::tip::TipLine;
use crate::table::{Column, Number, PER_REQUEST, Table, WHEN_PRESENT, csv, endpoint_attributes};
use pathlight_base::format::{self, counted};
use pathlight_engine::endpoints::{EndpointTotals, RowStat, RowTime};
use pathlight_engine::heatmap::HeatmapReport;
use pathlight_engine::ids::ReportEndpoint;
use pathlight_trace::Endpoint;
use std::ops::Range;
use std::rc::Rc;

/// Shares named in the legend, in millionths.
const NAMED: [u32; 4] = [10_000, 100_000, 500_000, 1_000_000];
/// Call chains in a tip.
const CHAINS: usize = 5;
/// Endpoints of a chain in a tip; its end tells more than its beginning.
const CHAIN_END: usize = 6;

/// An endpoint on the critical path.
pub struct HeatmapRow {
    at: ReportEndpoint,
    report: Rc<HeatmapReport>,
}

impl HeatmapRow {
    /// Returns the rows of a report, in its order.
    pub fn of(report: &Rc<HeatmapReport>) -> Vec<HeatmapRow> {
        (0..report.rows.rows.len() as u32)
            .map(|at| HeatmapRow { at: ReportEndpoint(at), report: report.clone() })
            .collect()
    }

    fn row(&self) -> &EndpointTotals {
        &self.report.rows.rows[self.at.index()]
    }

    /// Returns service and operation.
    pub fn name(&self) -> (&str, &str) {
        self.report.rows.name(self.at)
    }

    fn share(&self) -> f64 {
        self.row().exclusive_us.sum as f64 / self.report.rows.facts.latency_sum_us.max(1) as f64
    }
}

/// Returns the companion table.
pub fn table() -> Table<HeatmapRow> {
    let columns = vec![
        Column::endpoint("Endpoint", "On the critical path of some request", |row: &HeatmapRow| row.name()),
        Column::share(
            "share",
            "Self share",
            "Self time on the critical path, of all latency",
            |row: &HeatmapRow| row.share().into(),
        )
        .group(PER_REQUEST),
        Column::duration(
            "mean",
            "Self mean",
            "Self time on the critical path, mean over all requests",
            |row: &HeatmapRow| row.row().exclusive_us.mean.into(),
        )
        .group(PER_REQUEST),
        Column::duration("p50", "Self p50", "Median over the requests that have it", |row: &HeatmapRow| {
            row.row().exclusive_us.p50.into()
        })
        .group(WHEN_PRESENT)
        .low(2),
        Column::duration(
            "p95",
            "Self p95",
            "95th percentile over the requests that have it",
            |row: &HeatmapRow| row.row().exclusive_us.p95.into(),
        )
        .group(WHEN_PRESENT)
        .low(2),
        Column::duration(
            "p99",
            "Self p99",
            "99th percentile over the requests that have it",
            |row: &HeatmapRow| row.row().exclusive_us.p99.into(),
        )
        .group(WHEN_PRESENT)
        .low(2),
        Column::duration(
            "whole",
            "Total",
            "Summed durations of its spans on the path, nested ones counted too; mean over all requests",
            |row: &HeatmapRow| row.row().inclusive_us.mean.into(),
        )
        .group(PER_REQUEST)
        .low(3),
        Column::duration("whole-p99", "Total p99", "99th percentile of the same", |row: &HeatmapRow| {
            row.row().inclusive_us.p99.into()
        })
        .group(WHEN_PRESENT)
        .low(3),
        waiting_column(|row: &HeatmapRow| {
            waiting_us(&row.row().waiting, row.report.rows.facts.summed_over())
        }),
        Column::count(
            "requests",
            "In",
            "Requests that have it on their critical path",
            |row: &HeatmapRow| row.row().requests.into(),
        )
        .low(2)
        .tiny(),
    ];
    Table::new("heat-table", "Endpoints on the critical path", ("share", true), columns)
        .with_attributes(|row| endpoint_attributes("heat-row", row.name(), row.row().exclusive_us.sum))
        .search(|row, finder| finder.fits_endpoint(row.name()))
        .share(HeatmapRow::share)
}

/// Returns the title of the view; `label` says which requests it speaks of, `loaded` how many endpoints are loaded.
pub fn title(label: &str, report: &HeatmapReport, loaded: Option<u64>) -> String {
    let (rows, columns) = (report.rows.rows.len() as u64, report.column_requests.len() as u64);
    let requests = report.rows.facts.requests;
    let put = if requests > columns { format!(" in {}", counted(columns, "column")) } else { String::new() };
    format!("{label}: {}, {}{put}", on_paths(rows, loaded, "endpoint"), counted(requests, "request"))
}

/// Returns the marks of the legend: how far from its left end, in percent, and the share that the colour there stands for.
pub fn legend() -> [(f64, String); 4] {
    NAMED.map(|ppm| (f64::from(heat_of_share(ppm)) / 10.0, format!("{}\u{202f}%", ppm / 10_000)))
}

/// Returns what the tip says of a row, and of some of its cells.
pub fn tip(
    report: &HeatmapReport,
    model: &HeatModel,
    row: ReportEndpoint,
    columns: Option<&Range<u32>>,
) -> Vec<TipLine> {
    let (service, operation) = report.rows.name(row);
    let mut lines = vec![TipLine::Endpoint(Endpoint::new(service, operation))];
    if let Some(columns) = columns {
        lines.extend(cell_lines(report, model, row, columns));
    }
    let whole = &report.rows.rows[row.index()];
    lines.push(TipLine::Muted(format!(
        "{} of all latency; mean {}, p99 {}",
        format::share_of(whole.exclusive_us.sum, report.rows.facts.latency_sum_us),
        format::duration(whole.exclusive_us.mean),
        format::duration(whole.exclusive_us.p99)
    )));
    let chains = whole.chains.iter().take(CHAINS).map(|chain| {
        let share = format::share_of(chain.exclusive_us, whole.exclusive_us.sum);
        let path: Vec<String> =
            chain.path.iter().map(|&at| format::printable(report.rows.name(at).1)).collect();
        let from = path.len().saturating_sub(CHAIN_END);
        let cut = if from > 0 { "\u{2026} \u{2192} " } else { "" };
        format!("{share}  {cut}{}", path[from..].join(" \u{2192} "))
    });
    lines.push(TipLine::List(chains.collect()));
    lines
}

fn cell_lines(
    report: &HeatmapReport,
    model: &HeatModel,
    row: ReportEndpoint,
    columns: &Range<u32>,
) -> [TipLine; 2] {
    let (mut us, mut weight) = (0, 0);
    for column in columns.clone() {
        let requests = u64::from(report.column_requests[column as usize]);
        for cell in report.cells(column as usize).filter(|&cell| report.cell_row[cell] == row.0) {
            us += report.cell_us[cell];
            weight += u64::from(report.cell_share_ppm[cell]) * requests;
        }
    }
    let requests = model.requests_before(columns.end) - model.requests_before(columns.start);
    let share = format::share(weight as f64 / 1e6 / requests.max(1) as f64);
    let latency = format::duration(model.latency_us(columns));
    if requests == 1 {
        let start = report.column_start_us.get(columns.start as usize).copied().unwrap_or(0);
        let words =
            format!("{}, {share} of {latency}, at {} UTC", format::duration_us(us), format::moment(start));
        return [TipLine::Text(words), TipLine::Hint("Click to open the trace".to_owned())];
    }
    let mean = format::duration(us as f64 / requests.max(1) as f64);
    let words = format!("{mean}, {share} of {latency}: means of {} requests", format::count(requests));
    [TipLine::Text(words), TipLine::Hint("Click to open the slowest trace".to_owned())]
}

/// Returns what the tip says of columns, above the cells.
pub fn head_tip(model: &HeatModel, columns: &Range<u32>) -> Vec<TipLine> {
    vec![
        TipLine::Text(format!("latency {}", format::duration(model.latency_us(columns)))),
        TipLine::Hint("Drag across columns to look at them alone".to_owned()),
    ]
}

/// Returns every endpoint as comma-separated values.
pub fn endpoints_csv(report: &HeatmapReport) -> String {
    flame::note::to_csv(&report.rows, &[], None)
}

/// Returns every cell as comma-separated values, column by column.
pub fn cells_csv(report: &HeatmapReport) -> String {
    struct CellRow<'a> {
        report: &'a HeatmapReport,
        column: usize,
        cell: usize,
    }
    let number = |head, of: fn(&CellRow) -> Number| Column::field(head, of);
    let columns = [
        number("column", |row| row.column.into()),
        number("requests", |row| row.report.column_requests[row.column].into()),
        number("latency_us", |row| row.report.column_latency_us[row.column].into()),
        number("start_us", |row| row.report.column_start_us[row.column].into()),
        Column::text_field("trace_id", |row: &CellRow| {
            row.report.column_example[row.column].trace_id.as_str().into()
        }),
        Column::text_field("root_span_id", |row: &CellRow| {
            row.report.column_example[row.column].root_span_id.as_str().into()
        }),
        Column::endpoint("", "", |row: &CellRow| {
            row.report.rows.name(ReportEndpoint(row.report.cell_row[row.cell]))
        })
        .csv(&["service", "operation"]),
        number("exclusive_us", |row| row.report.cell_us[row.cell].into()),
        number("share", |row| (f64::from(row.report.cell_share_ppm[row.cell]) / 1e6).into()),
    ];
    let cells = |column| report.cells(column).map(move |cell| CellRow { report, column, cell });
    let rows: Vec<CellRow> = (0..report.column_requests.len()).flat_map(cells).collect();
    csv(&columns, &rows)
}

/// Returns the report as public JSON.
pub fn json(report: &HeatmapReport, time: RowTime, stat: RowStat) -> Option<String> {
    super::json::heatmap(report, time, stat).ok()
}
