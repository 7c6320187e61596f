//! The companion table of a flow: every call with its numbers.

use crate::ui::dom::{div, span};
use crate::ui::page::Page;
use crate::ui::views::flow::chart::{endpoint_of, go_to};
use crate::ui::widgets::export::csv_line;
use crate::ui::widgets::names;
use crate::ui::widgets::table::{Column, Table, What, by_number, number};
use pathlight_analysis::flow::FlowNode;
use pathlight_query::{Endpoint, FlowReport};
use pathlight_text::format;
use std::rc::Rc;

/// A call.
pub struct CallRow {
    /// Number of the node.
    pub at: u32,
    /// Its report.
    pub report: Rc<FlowReport>,
}

impl CallRow {
    fn number<T: Default>(&self, of: impl Fn(&FlowNode) -> T) -> T {
        self.report.nodes.get(self.at as usize).map(of).unwrap_or_default()
    }

    fn waits_for(&self) -> String {
        let calls: Vec<String> = (self.report.edges.iter())
            .filter(|edge| edge.to == self.at && edge.from != FlowReport::START)
            .map(|edge| match self.report.nodes.get(edge.from as usize) {
                Some(node) if !node.operation.is_empty() => format::printable(&node.operation),
                _ => self.report.label(edge.from).to_owned(),
            })
            .collect();
        if calls.is_empty() { "start".to_owned() } else { calls.join(", ") }
    }
}

/// The table; `choose` hears of the node that is selected.
pub fn table(page: Page, choose: impl Fn(u32) + 'static) -> Table<CallRow> {
    let columns = vec![
        Column {
            key: "call",
            title: "Call",
            hint: "The callee; #2 is the second call of it in an invocation",
            class: "wide",
            priority: 1,
            order: Some(|a: &CallRow, b: &CallRow| {
                a.number(|n| n.label.clone()).cmp(&b.number(|n| n.label.clone()))
            }),
            cell: Box::new(|row: &CallRow| {
                let cell = div("indented");
                let Some(node) = row.report.nodes.get(row.at as usize) else { return What::Element(cell) };
                match endpoint_of(node) {
                    Some(Endpoint { service, operation }) => cell.add(&names::endpoint(&service, &operation)),
                    None => cell.add(&span("", "All rarer calls")),
                }
                if let Some((_, repeat)) = node.label.rsplit_once('#').filter(|_| node.index != 1) {
                    cell.add(&span("muted", &format!("#{repeat}")));
                }
                What::Element(cell)
            }),
        },
        Column {
            key: "waits",
            title: "Waits for",
            hint: "The calls it waits for that no other of them waits for",
            class: "caller muted",
            priority: 3,
            order: None,
            cell: Box::new(|row| What::Text(row.waits_for())),
        },
        number!(
            "invocations",
            "Seen in",
            "Invocations of the parent that have it",
            "num" 2,
            |row: &CallRow| row.number(|n| n.invocations),
            format::count
        ),
        Column {
            key: "critical",
            title: "Critical",
            hint: "Share of these in which it is on the parent's critical path",
            class: "bar",
            priority: 1,
            order: Some(|a, b| {
                by_number(a.number(FlowNode::critical_share), b.number(FlowNode::critical_share))
            }),
            cell: Box::new(|row| {
                let share = row.number(FlowNode::critical_share);
                What::Bar(share, format::share(share))
            }),
        },
        number!(
            "mean",
            "Latency",
            "Its latency, in the mean",
            "num" 1,
            |row: &CallRow| row.number(|n| n.latency_us.mean),
            format::duration
        ),
        number!(
            "p95",
            "p95",
            "95th percentile of its latency",
            "num" 2,
            |row: &CallRow| row.number(|n| n.latency_us.p95),
            format::duration
        ),
        number!(
            "p99",
            "p99",
            "99th percentile of its latency",
            "num" 3,
            |row: &CallRow| row.number(|n| n.latency_us.p99),
            format::duration
        ),
        number!(
            "wait",
            "Wait",
            "From the latest end before its start to its start, in the mean",
            "num" 2,
            |row: &CallRow| row.number(|n| n.wait_us.mean),
            format::duration
        ),
        Column {
            key: "spark",
            title: "Distribution",
            hint: "Histogram of its latency, each on its own axis",
            class: "spark-cell",
            priority: 3,
            order: None,
            cell: Box::new(|row| {
                let node = row.report.nodes.get(row.at as usize);
                What::Element(node.map_or_else(|| div(""), |node| names::spark(&node.histogram)))
            }),
        },
    ];
    let table = Table::new(
        "call-table",
        "Calls of the flow",
        ("critical", true),
        columns,
        |row: &CallRow| {
            vec![
                ("data-test", "call".to_owned()),
                ("data-label", row.number(|n| n.label.clone())),
                ("data-value", row.number(|n| n.latency_us.mean).to_string()),
            ]
        },
        move |sort| page.change(|address| address.sort = Some(sort)),
    );
    let (rows, again) = (table.clone(), table.clone());
    table
        .on_select(move |at| {
            if let Some(row) = rows.rows().get(at) {
                choose(row.at);
            }
        })
        .on_open(move |at| {
            let rows = again.rows();
            let node = rows.get(at).and_then(|row| row.report.nodes.get(row.at as usize));
            if let Some(endpoint) = node.filter(|node| node.has_calls).and_then(endpoint_of) {
                go_to(page, endpoint);
            }
        })
}

/// The calls as comma-separated values.
pub fn csv(report: &Rc<FlowReport>) -> String {
    let head = [
        "call",
        "service",
        "operation",
        "invocations",
        "critical_share",
        "latency_mean_us",
        "latency_p50_us",
        "latency_p95_us",
        "latency_p99_us",
        "wait_mean_us",
        "wait_p50_us",
        "wait_p95_us",
        "wait_p99_us",
        "waits_for",
    ];
    let mut out = csv_line(&head.map(str::to_owned));
    for (at, node) in report.nodes.iter().enumerate() {
        let row = CallRow { at: at as u32, report: report.clone() };
        let mut cells = vec![
            node.label.clone(),
            node.service.clone(),
            node.operation.clone(),
            node.invocations.to_string(),
            node.critical_share().to_string(),
        ];
        for summary in [&node.latency_us, &node.wait_us] {
            cells.extend([summary.mean, summary.p50, summary.p95, summary.p99].map(|us| us.to_string()));
        }
        cells.push(row.waits_for());
        out.push_str(&csv_line(&cells));
    }
    out
}
