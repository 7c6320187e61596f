//! The ranking of endpoints over all root endpoints, as a table and as comma-separated values.

use crate::ui::page::{Endpoint, Focus, Page};
use crate::ui::widgets::export::csv_line;
use crate::ui::widgets::table::{Column, Table, What, by_number, endpoint, number};
use pathlight_analysis::flow::FASTER_PERCENT;
use pathlight_query::{BottomUpReport, ImpactRow, SavingsReport};
use pathlight_text::format;
use std::collections::BTreeMap;

/// An endpoint with what it costs all root endpoints together.
pub struct ImpactLine {
    /// Service and operation.
    pub endpoint: Endpoint,
    /// Its row of the report.
    pub row: ImpactRow,
    /// Part of all latency, 0 to 1.
    pub share: f64,
    /// What its own time would be less if it were faster, in microseconds a request: an upper bound.
    pub at_most_us: f64,
    /// What-if: by how much the mean latency would fall, in microseconds; `None` where that is not known.
    pub saved_us: Option<f64>,
}

/// The lines of a ranking, with what is saved at one of [`FASTER_PERCENT`]; interior endpoints only.
pub fn lines(report: &BottomUpReport, savings: Option<&SavingsReport>, level: usize) -> Vec<ImpactLine> {
    let saved: BTreeMap<(&str, &str), f64> = savings
        .iter()
        .flat_map(|savings| &savings.endpoints)
        .map(|saving| {
            ((saving.service.as_str(), saving.operation.as_str()), saving.saved_us.levels()[level].mean)
        })
        .collect();
    let requests = report.facts.requests.max(1) as f64;
    let percent = f64::from(FASTER_PERCENT[level]);
    let rows = report.rows.iter().filter(|row| row.is_interior);
    rows.map(|row| {
        let (service, operation) = report.name(row.endpoint);
        ImpactLine {
            endpoint: (service.to_owned(), operation.to_owned()),
            row: row.clone(),
            share: report.share(row),
            at_most_us: report.saving_at_most_us(row, percent) / requests,
            saved_us: saved.get(&(service, operation)).copied(),
        }
    })
    .collect()
}

/// The table.
pub fn table(page: Page) -> Table<ImpactLine> {
    let columns = vec![
        endpoint!(
            "Endpoint",
            "Operation and service, below the root of some request",
            |line: &ImpactLine| (&line.endpoint.0, &line.endpoint.1)
        ),
        number!(
            "impact",
            "Impact",
            "Its own time on the critical paths of all requests",
            "num" 1,
            |line: &ImpactLine| line.row.exclusive_us,
            format::duration_us
        ),
        Column {
            key: "share",
            title: "Share",
            hint: "Part of the latency of all requests",
            class: "bar",
            priority: 2,
            order: Some(|a: &ImpactLine, b: &ImpactLine| a.row.exclusive_us.cmp(&b.row.exclusive_us)),
            cell: Box::new(|line: &ImpactLine| What::Bar(line.share, format::share(line.share))),
        },
        number!(
            "roots",
            "Roots",
            "Root endpoints whose requests it takes time of",
            "num tiny" 1,
            |line: &ImpactLine| line.row.affected.len() as u64,
            format::count
        ),
        number!(
            "requests",
            "Requests",
            "Requests that have it on their critical path",
            "num" 3,
            |line: &ImpactLine| line.row.requests,
            format::count
        ),
        number!(
            "most",
            "At most",
            "Upper bound by its own time: what a request saves in the mean if nothing else then becomes the last to finish",
            "num" 3,
            |line: &ImpactLine| line.at_most_us,
            format::duration
        ),
        Column {
            key: "saved",
            title: "What-if",
            hint: "By how much the mean latency falls if its spans, with all they wait for, took that much less: from the flows of all traces",
            class: "num",
            priority: 2,
            order: Some(|a, b| by_number(a.saved_us.unwrap_or(-1.0), b.saved_us.unwrap_or(-1.0))),
            cell: Box::new(|line| match line.saved_us {
                Some(us) => What::Number(format::duration(us), us.to_string()),
                None => What::Text(format::DASH.to_owned()),
            }),
        },
    ];
    let table = Table::new(
        "impact-table",
        "Endpoints by impact over all root endpoints",
        ("impact", true),
        columns,
        |line: &ImpactLine| {
            vec![
                ("data-test", "impact".to_owned()),
                ("data-service", line.endpoint.0.clone()),
                ("data-operation", line.endpoint.1.clone()),
                ("data-value", line.row.exclusive_us.to_string()),
            ]
        },
        move |sort| page.change(|address| address.sort = Some(sort)),
    );
    let rows = table.clone();
    table.on_select(move |at| {
        if let Some(line) = rows.rows().get(at) {
            page.set_focus(Focus::Endpoint(line.endpoint.clone()));
        }
    })
}

/// The ranking as comma-separated values: a line for each root endpoint that an endpoint affects.
pub fn csv(report: &BottomUpReport, savings: Option<&SavingsReport>, level: usize) -> String {
    let heads = [
        "service",
        "operation",
        "impact_us",
        "share",
        "requests",
        "faster_percent",
        "saving_at_most_us",
        "what_if_saving_us",
        "root_service",
        "root_operation",
        "root_exclusive_us",
        "root_share",
        "root_requests",
    ];
    let mut out = csv_line(&heads.map(str::to_owned));
    for line in lines(report, savings, level) {
        for affected in &line.row.affected {
            let root = report.roots[affected.root as usize];
            let (root_service, root_operation) = report.name(root.endpoint);
            out.push_str(&csv_line(&[
                line.endpoint.0.clone(),
                line.endpoint.1.clone(),
                line.row.exclusive_us.to_string(),
                line.share.to_string(),
                line.row.requests.to_string(),
                FASTER_PERCENT[level].to_string(),
                line.at_most_us.to_string(),
                line.saved_us.map_or_else(String::new, |us| us.to_string()),
                root_service.to_owned(),
                root_operation.to_owned(),
                affected.exclusive_us.to_string(),
                report.share_in(affected).to_string(),
                affected.requests.to_string(),
            ]));
        }
    }
    out
}
