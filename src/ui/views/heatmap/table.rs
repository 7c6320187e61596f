//! The companion table of the heat map: every endpoint with its times, and its cells as lines of a file.

use crate::ui::page::{Focus, Page};
use crate::ui::widgets::export::csv_line;
use crate::ui::widgets::table::{Column, Table, What, endpoint, number};
use pathlight_query::{EndpointRow, HeatmapReport};
use pathlight_text::format;
use std::rc::Rc;

/// An endpoint.
pub struct HeatTableRow {
    /// Its row in the report.
    pub at: u32,
    /// The report.
    pub report: Rc<HeatmapReport>,
}

impl HeatTableRow {
    fn row(&self) -> &EndpointRow {
        &self.report.rows.rows[self.at as usize]
    }

    fn name(&self) -> (&str, &str) {
        self.report.rows.name(self.at)
    }

    fn share(&self) -> f64 {
        self.row().exclusive_us.sum as f64 / self.report.rows.facts.latency_sum_us.max(1) as f64
    }

    /// Whether a search finds it.
    pub fn fits(&self, text: &str) -> bool {
        let (service, operation) = self.name();
        crate::ui::shell::search::fits(text, &[&format::endpoint(service, operation)])
    }
}

/// The table.
pub fn table(page: Page) -> Table<HeatTableRow> {
    let columns = vec![
        endpoint!("Endpoint", "On the critical path of some request", |row: &HeatTableRow| row.name()),
        Column {
            key: "share",
            title: "Own share",
            hint: "Own time on the critical path, of all latency",
            class: "bar",
            priority: 1,
            order: Some(|a, b| a.row().exclusive_us.sum.cmp(&b.row().exclusive_us.sum)),
            cell: Box::new(|row: &HeatTableRow| What::Bar(row.share(), format::share(row.share()))),
        },
        number!(
            "mean",
            "Own mean",
            "Own time on the critical path, mean over all requests",
            "num" 1,
            |row: &HeatTableRow| row.row().exclusive_us.mean,
            format::duration
        ),
        number!(
            "p50",
            "Own p50",
            "Median over the requests that have it",
            "num" 2,
            |row: &HeatTableRow| row.row().exclusive_us.p50,
            format::duration
        ),
        number!(
            "p95",
            "Own p95",
            "95th percentile over the requests that have it",
            "num" 2,
            |row: &HeatTableRow| row.row().exclusive_us.p95,
            format::duration
        ),
        number!(
            "p99",
            "Own p99",
            "99th percentile over the requests that have it",
            "num" 2,
            |row: &HeatTableRow| row.row().exclusive_us.p99,
            format::duration
        ),
        number!(
            "whole",
            "Whole",
            "Duration of its spans on the path, mean over all requests",
            "num" 3,
            |row: &HeatTableRow| row.row().inclusive_us.mean,
            format::duration
        ),
        number!(
            "whole-p99",
            "Whole p99",
            "99th percentile of the same",
            "num" 3,
            |row: &HeatTableRow| row.row().inclusive_us.p99,
            format::duration
        ),
        number!(
            "requests",
            "In",
            "Requests that have it on their critical path",
            "num tiny" 2,
            |row: &HeatTableRow| row.row().requests,
            format::count
        ),
    ];
    let table = Table::new(
        "heat-table",
        "Endpoints on the critical path",
        ("share", true),
        columns,
        |row: &HeatTableRow| {
            let (service, operation) = row.name();
            vec![
                ("data-test", "heat-row".to_owned()),
                ("data-service", service.to_owned()),
                ("data-operation", operation.to_owned()),
                ("data-value", row.row().exclusive_us.sum.to_string()),
            ]
        },
        move |sort| page.change(|address| address.sort = Some(sort)),
    );
    let rows = table.clone();
    table.on_select(move |at| {
        if let Some(row) = rows.rows().get(at) {
            let (service, operation) = row.name();
            page.set_focus(Focus::Endpoint((service.to_owned(), operation.to_owned())));
        }
    })
}

/// Every cell as comma-separated values, column by column.
pub fn cells_csv(report: &HeatmapReport) -> String {
    let heads = [
        "column",
        "requests",
        "latency_us",
        "start_us",
        "trace_id",
        "root_span_id",
        "service",
        "operation",
        "exclusive_us",
        "share",
    ];
    let mut out = csv_line(&heads.map(str::to_owned));
    for column in 0..report.column_requests.len() {
        let example = &report.column_example[column];
        for cell in report.cells(column) {
            let (service, operation) = report.rows.name(report.cell_row[cell]);
            out.push_str(&csv_line(&[
                column.to_string(),
                report.column_requests[column].to_string(),
                report.column_latency_us[column].to_string(),
                report.column_start_us[column].to_string(),
                example.trace_id.clone(),
                example.root_span_id.clone(),
                service.to_owned(),
                operation.to_owned(),
                report.cell_us[cell].to_string(),
                (f64::from(report.cell_share_ppm[cell]) / 1e6).to_string(),
            ]));
        }
    }
    out
}
