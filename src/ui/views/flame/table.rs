//! The companion table of the flame graph: every calling context with its numbers.

use crate::ui::page::{Focus, Page};
use crate::ui::widgets::export::csv_line;
use crate::ui::widgets::names;
use crate::ui::widgets::table::{Column, Table, What, by_number};
use crate::ui::widgets::tree;
use pathlight_query::{ContextNode, CriticalPathReport};
use pathlight_text::format;
use std::cmp::Ordering;
use std::rc::Rc;

/// A calling context.
pub struct FrameRow {
    /// Index of the node.
    pub at: u32,
    /// Its report.
    pub report: Rc<CriticalPathReport>,
}

static NOBODY: (String, String) = (String::new(), String::new());

impl FrameRow {
    fn node(&self) -> Option<&ContextNode> {
        self.report.nodes.get(self.at as usize)
    }

    fn name_of(&self, node: Option<&ContextNode>) -> &(String, String) {
        node.and_then(|node| self.report.endpoints.get(node.endpoint as usize)).unwrap_or(&NOBODY)
    }

    fn name(&self) -> &(String, String) {
        self.name_of(self.node())
    }

    fn caller(&self) -> &(String, String) {
        self.name_of(
            self.node().and_then(|node| node.parent).and_then(|at| self.report.nodes.get(at as usize)),
        )
    }

    fn number<T: Default>(&self, of: impl Fn(&ContextNode) -> T) -> T {
        self.node().map(of).unwrap_or_default()
    }

    fn share(&self) -> f64 {
        self.number(|node| node.exclusive_us.sum) as f64 / self.report.facts.latency_sum_us.max(1) as f64
    }

    /// Whether a search finds it: all words in the name of the frame.
    pub fn fits(&self, text: &str) -> bool {
        let (service, operation) = self.name();
        crate::ui::shell::search::fits(text, &[&format::endpoint(service, operation)])
    }
}

fn duration(
    key: &'static str,
    title: &'static str,
    hint: &'static str,
    priority: u8,
    of: fn(&ContextNode) -> f64,
    order: fn(&FrameRow, &FrameRow) -> Ordering,
) -> Column<FrameRow> {
    Column {
        key,
        title,
        hint,
        class: "num",
        priority,
        order: Some(order),
        cell: Box::new(move |row: &FrameRow| {
            let us = row.number(of);
            What::Number(format::duration(us), us.to_string())
        }),
    }
}

fn count(
    key: &'static str,
    title: &'static str,
    hint: &'static str,
    priority: u8,
    of: fn(&ContextNode) -> u64,
    order: fn(&FrameRow, &FrameRow) -> Ordering,
) -> Column<FrameRow> {
    Column {
        key,
        title,
        hint,
        class: "num tiny",
        priority,
        order: Some(order),
        cell: Box::new(move |row: &FrameRow| {
            let value = row.number(of);
            What::Number(format::count(value), value.to_string())
        }),
    }
}

/// The order of two rows by a number of their nodes.
macro_rules! by {
    ($($part:tt)+) => {
        |a: &FrameRow, b: &FrameRow| by_number(a.number(|n| n.$($part)+ as f64), b.number(|n| n.$($part)+ as f64))
    };
}

/// The table.
pub fn table(page: Page) -> Table<FrameRow> {
    let columns = vec![
        Column {
            key: "endpoint",
            title: "Frame",
            hint: "The endpoint of the frame; the tip of a row has all of its path",
            class: "wide",
            priority: 1,
            order: Some(|a: &FrameRow, b: &FrameRow| {
                let ((sa, oa), (sb, ob)) = (a.name(), b.name());
                (oa, sa, a.at).cmp(&(ob, sb, b.at))
            }),
            cell: Box::new(|row: &FrameRow| {
                let (service, operation) = row.name();
                let cell = names::endpoint(service, operation);
                cell.set("title", &tree::lines_of(&row.report, row.at));
                What::Element(cell)
            }),
        },
        Column {
            key: "caller",
            title: "Called by",
            hint: "The endpoint above it",
            class: "caller muted",
            priority: 3,
            order: Some(|a, b| (&a.caller().1, &a.caller().0).cmp(&(&b.caller().1, &b.caller().0))),
            cell: Box::new(|row| {
                let caller = format::printable(&row.caller().1);
                What::Text(if caller.is_empty() { format::DASH.to_owned() } else { caller })
            }),
        },
        Column {
            key: "share",
            title: "Own share",
            hint: "Own time on the critical path, of all latency",
            class: "bar",
            priority: 1,
            order: Some(by!(exclusive_us.sum)),
            cell: Box::new(|row| What::Bar(row.share(), format::share(row.share()))),
        },
        duration(
            "mean",
            "Own mean",
            "Own time on the critical path, mean over all requests",
            1,
            |n| n.exclusive_us.mean,
            by!(exclusive_us.mean),
        ),
        duration(
            "p50",
            "Own p50",
            "Median over the requests that contain it",
            3,
            |n| n.exclusive_us.p50,
            by!(exclusive_us.p50),
        ),
        duration(
            "p95",
            "Own p95",
            "95th percentile over the requests that contain it",
            2,
            |n| n.exclusive_us.p95,
            by!(exclusive_us.p95),
        ),
        duration(
            "p99",
            "Own p99",
            "99th percentile over the requests that contain it",
            2,
            |n| n.exclusive_us.p99,
            by!(exclusive_us.p99),
        ),
        duration(
            "whole",
            "Whole",
            "Duration of its spans, mean over all requests",
            2,
            |n| n.inclusive_us.mean,
            by!(inclusive_us.mean),
        ),
        count("requests", "In", "Requests that contain it", 2, |n| n.requests, by!(requests)),
        count("spans", "Spans", "Its spans", 3, |n| n.spans, by!(spans)),
        count("errors", "Errors", "Error spans among them", 3, |n| n.errors, by!(errors)),
    ];
    let table = Table::new(
        "flame-table",
        "Calling contexts on the critical path",
        ("share", true),
        columns,
        |row: &FrameRow| {
            let (service, operation) = row.name().clone();
            let parent = row.number(|node| node.parent).map_or_else(String::new, |at| at.to_string());
            vec![
                ("data-test", "frame".to_owned()),
                ("data-node", row.at.to_string()),
                ("data-parent", parent),
                ("data-service", service),
                ("data-operation", operation),
                ("data-value", row.number(|node| node.exclusive_us.sum).to_string()),
            ]
        },
        move |sort| page.change(|address| address.sort = Some(sort)),
    );
    let (rows, again) = (table.clone(), table.clone());
    table
        .on_select(move |at| {
            if let Some(row) = rows.rows().get(at) {
                page.set_focus(Focus::Path(tree::path_of(&row.report, row.at)));
            }
        })
        .on_open(move |at| {
            if let Some(row) = again.rows().get(at) {
                let path = tree::path_of(&row.report, row.at);
                page.zoom_to(path);
            }
        })
}

/// The report as comma-separated values, one line a calling context in the order of the tree.
pub fn csv(report: &CriticalPathReport) -> String {
    let mut out = csv_line(
        &[
            "node",
            "parent",
            "service",
            "operation",
            "exclusive_us",
            "exclusive_share",
            "exclusive_mean_us",
            "exclusive_p50_us",
            "exclusive_p95_us",
            "exclusive_p99_us",
            "inclusive_us",
            "inclusive_mean_us",
            "inclusive_p50_us",
            "inclusive_p95_us",
            "inclusive_p99_us",
            "subtree_us",
            "requests",
            "spans",
            "errors",
        ]
        .map(str::to_owned),
    );
    let whole = report.facts.latency_sum_us.max(1) as f64;
    for (at, node) in report.nodes.iter().enumerate() {
        let (service, operation) = report.endpoints.get(node.endpoint as usize).unwrap_or(&NOBODY);
        let (own, all) = (&node.exclusive_us, &node.inclusive_us);
        let mut cells = vec![
            at.to_string(),
            node.parent.map_or_else(String::new, |parent| parent.to_string()),
            service.clone(),
            operation.clone(),
            own.sum.to_string(),
            (own.sum as f64 / whole).to_string(),
        ];
        cells.extend([own.mean, own.p50, own.p95, own.p99].map(|us| us.to_string()));
        cells.push(all.sum.to_string());
        cells.extend([all.mean, all.p50, all.p95, all.p99].map(|us| us.to_string()));
        cells.extend([node.subtree_us, node.requests, node.spans, node.errors].map(|n| n.to_string()));
        out.push_str(&csv_line(&cells));
    }
    out
}
