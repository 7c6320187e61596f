//! Edges of one set, or of two side by side.

use crate::say::tip::{Numbers, TipLine};
use crate::table::{Column, Number, Table};
use pathlight_base::format;
use pathlight_base::statistics::Percentiles;
use pathlight_engine::queues::{QueueEdge, QueuesReport};
use std::cmp::Reverse;

/// An edge with its messages in one set, or in A and B.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueRow {
    /// The edge of B, else of A.
    edge: QueueEdge,
    /// Messages of A; `None` without two sets, and of an edge that A has not.
    pub a: Option<QueueEdge>,
    /// Messages of the set, or of B; `None` if only A has the edge.
    pub b: Option<QueueEdge>,
    /// Whether two sets are compared.
    pub is_of_two: bool,
}

impl QueueRow {
    /// Returns the edges of a report, most time in the queue first; with those of A beside them, and behind them those that
    /// only A has.
    pub fn of(before: Option<&QueuesReport>, report: &QueuesReport) -> Vec<QueueRow> {
        let is_of_two = before.is_some();
        let mut left: Vec<&QueueEdge> = before.iter().flat_map(|report| &report.edges).collect();
        let mut rows = Vec::new();
        for edge in &report.edges {
            let at = left.iter().position(|other| name(other) == name(edge));
            let a = at.map(|at| left.remove(at).clone());
            rows.push(QueueRow { edge: edge.clone(), a, b: Some(edge.clone()), is_of_two });
        }
        let only =
            |edge: &QueueEdge| QueueRow { edge: edge.clone(), a: Some(edge.clone()), b: None, is_of_two };
        rows.extend(left.into_iter().map(only));
        // Stable.
        rows.sort_by_key(|row| Reverse(row.b.as_ref().map(|edge| edge.sum_us)));
        rows
    }

    /// Returns the edge: of B if it is there.
    pub fn edge(&self) -> &QueueEdge {
        &self.edge
    }

    /// Returns what is drawn: the name of each side that is there, with its times. Of one set the name is empty.
    pub(crate) fn sides(&self) -> Vec<(&'static str, &QueueEdge)> {
        let names = if self.is_of_two { ["A", "B"] } else { ["", ""] };
        let sides = names.into_iter().zip([&self.a, &self.b]);
        sides.filter_map(|(name, edge)| Some((name, edge.as_ref()?))).collect()
    }

    fn wait_us(&self, is_b: bool) -> Option<Percentiles> {
        let edge = if is_b { &self.b } else { &self.a };
        edge.as_ref().map(|edge| edge.wait_us)
    }
}

fn name(edge: &QueueEdge) -> (&str, &str, &str, &str, &str) {
    let QueueEdge { sender, receiver, destination, .. } = edge;
    (destination, &sender.service, &sender.operation, &receiver.service, &receiver.operation)
}

fn time(us: Option<f64>) -> Number {
    us.map_or(Number::None, Number::from)
}

/// Returns the table of edges of two sets, most time in queues of B first.
pub fn sides_table() -> Table<QueueRow> {
    macro_rules! side {
        ($key:literal, $title:literal, $hint:literal, $csv:literal, $group:literal, $is_b:literal, $of:expr) => {
            Column::duration($key, $title, $hint, |row: &QueueRow| time(row.wait_us($is_b).map($of)))
                .group($group)
                .csv(&[$csv])
        };
    }
    let columns = vec![
        Column::text(
            "queue",
            "Queue",
            "Name of the queue or topic, if one was recorded",
            |row: &QueueRow| format::printable(&row.edge().destination).into(),
        )
        .csv_as(&["destination"], |row| vec![row.edge().destination.clone()]),
        Column::count("messages_a", "Messages", "Messages of A", |row: &QueueRow| count(&row.a))
            .group("A")
            .csv(&["a_messages"]),
        side!("mean_a", "Mean", "Mean time in the queue, A", "a_mean_us", "A", false, |us| us.mean),
        side!("p50_a", "p50", "Median time in the queue, A", "a_p50_us", "A", false, |us| us.p50).low(2),
        side!("p95_a", "p95", "95th percentile, A", "a_p95_us", "A", false, |us| us.p95),
        side!("p99_a", "p99", "99th percentile, A", "a_p99_us", "A", false, |us| us.p99).low(3),
        Column::count("messages", "Messages", "Messages of B", |row: &QueueRow| count(&row.b))
            .group("B")
            .csv(&["b_messages"]),
        side!("mean", "Mean", "Mean time in the queue, B", "b_mean_us", "B", true, |us| us.mean),
        side!("p50", "p50", "Median time in the queue, B", "b_p50_us", "B", true, |us| us.p50).low(2),
        side!("p95", "p95", "95th percentile, B", "b_p95_us", "B", true, |us| us.p95),
        side!("p99", "p99", "99th percentile, B", "b_p99_us", "B", true, |us| us.p99).low(3),
        side!("longest", "Longest", "Longest time in the queue, B", "b_max_us", "B", true, |us| us.max
            as f64)
        .low(2),
        Column::said(
            "fan_in",
            "Fan-in",
            "Messages of B that are received at once, in the mean",
            |row: &QueueRow| row.b.as_ref().map_or(Number::None, |edge| edge.fan_in.into()),
            |row| format!("{:.1}", row.edge().fan_in),
        )
        .low(3)
        .tiny()
        .group("B")
        .csv(&["b_fan_in"]),
        Column::endpoint("From", "Endpoint that sends", |row: &QueueRow| {
            (&row.edge().sender.service, &row.edge().sender.operation)
        })
        .key("sender")
        .csv(&["sender_service", "sender_operation"]),
        Column::endpoint("To", "Endpoint that receives", |row: &QueueRow| {
            (&row.edge().receiver.service, &row.edge().receiver.operation)
        })
        .key("receiver")
        .csv(&["receiver_service", "receiver_operation"]),
    ];
    Table::new("queue-sides", "Messages of A and B by edge", ("mean", true), columns)
        .with_attributes(|row| {
            vec![("data-test", "queue-edge".to_owned()), ("data-name", row.edge().destination.clone())]
        })
        .search(|row, finder| {
            let (destination, sender, sends, receiver, receives) = name(row.edge());
            finder.fits(&[destination, sender, sends, receiver, receives])
        })
}

fn count(edge: &Option<QueueEdge>) -> Number {
    edge.as_ref().map_or(Number::None, |edge| edge.messages.into())
}

/// Returns the tip of an edge in the chart: who sends to whom, and how long messages wait.
pub fn tip(row: &QueueRow) -> Vec<TipLine> {
    let edge = row.edge();
    let mut lines = vec![TipLine::Strong(super::short_name(edge)), TipLine::Muted(super::edge(edge))];
    let heads = ["n", "mean", "p50", "p95", "p99", "longest"].map(str::to_owned).to_vec();
    let rows = row.sides().into_iter().map(|(side, edge)| {
        let Percentiles { mean, p50, p95, p99, max } = edge.wait_us;
        let times = [mean, p50, p95, p99, max as f64].map(|us| (format::duration(us), us.to_string()));
        let n = (format::count(edge.messages), edge.messages.to_string());
        (side.to_owned(), std::iter::once(n).chain(times).collect())
    });
    lines.push(TipLine::Numbers(Numbers { heads, rows: rows.collect() }));
    lines
}
