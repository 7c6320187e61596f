//! The flame graph of the critical path, with its companion table of calling contexts; and what any flame graph is made of.

use crate::flame::chart::waiting_label;
use crate::flame::chart::{FlameTree, FlameWords, Frame};
use crate::flame::tree::{self, Calls};
use crate::say::tip::TipLine;
use crate::table::{
    Attributes, Column, Number, PER_REQUEST, Table, WHEN_PRESENT, Width, endpoint_attributes,
};
use pathlight_base::format;
use pathlight_engine::flame::{ContextNode, CriticalPathReport, Waiting};
use pathlight_engine::ids::NodeId;
use pathlight_engine::queries::most_time;
use pathlight_engine::requests::RangeFacts;
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// Of fewer requests than this, words say how few they are.
const FEW: u64 = 30;

/// Callees that are named.
const CALLEES: usize = 3;

/// A tree of calling contexts that can be drawn as a flame graph.
pub trait FlameSource: Calls + 'static {
    /// Returns the tree; its nodes are those of [`Calls`].
    fn tree(&self) -> FlameTree;

    /// Returns what stands upside down where callers are asked for; `None` if that means nothing.
    fn callers(&self) -> Option<&CriticalPathReport> {
        None
    }

    /// Returns the words of an exported chart of this title.
    fn words<'a>(&'a self, tree: &'a FlameTree, title: &str) -> FlameWords<'a> {
        FlameWords::of_times(tree, title)
    }
}

impl FlameSource for CriticalPathReport {
    fn tree(&self) -> FlameTree {
        FlameTree::of_report(self)
    }

    fn callers(&self) -> Option<&CriticalPathReport> {
        Some(self)
    }
}

/// Returns the title of the view; `label` says which requests it speaks of.
pub fn title(label: &str, facts: &RangeFacts) -> String {
    let few =
        if facts.requests < FEW { format!(" ({})", format::sample(facts.requests)) } else { String::new() };
    let mean = format::duration(facts.mean_us());
    format!("{label}: mean critical path {mean} per request{few}")
}

/// Returns what the tip says of a node, below its name.
pub fn tip(report: &CriticalPathReport, node: NodeId) -> Vec<TipLine> {
    let Some(found) = report.nodes.get(node.index()) else { return Vec::new() };
    let requests = report.facts.requests;
    let (own, total) = (&found.exclusive_us, &found.inclusive_us);
    let mut lines = vec![
        TipLine::Text(format!(
            "{} self, {} in total per request; {} of the latency",
            format::duration(own.mean),
            format::duration(total.mean),
            format::share_of(found.subtree_us, report.facts.latency_sum_us)
        )),
        TipLine::Muted(format!(
            "self p50 {}, p95 {}, p99 {} in the {} that have it",
            format::duration(own.p50),
            format::duration(own.p95),
            format::duration(own.p99),
            if found.requests < requests {
                format!("{} of {}", format::count(found.requests), format::counted(requests, "request"))
            } else {
                format::counted(requests, "request")
            }
        )),
    ];
    // One more line at most: a tip is read at a glance, the rest is beside the chart once the frame is clicked.
    let callees = callees_words(report, node);
    if !found.waiting.is_empty() {
        let waiting = waiting_words(&found.waiting, requests);
        lines.push(TipLine::Muted(format!("of its self time, waiting per request: {waiting}")));
    } else if !callees.is_empty() {
        lines.push(TipLine::Muted(format!("calls {callees}")));
    }
    lines
}

/// Returns what the tip says of time that a call waits for a service: what its frame is called, its time and its share of
/// all latency, and what it may be.
pub fn waiting_tip(frame: &Frame, us: u128, share: f64) -> [TipLine; 2] {
    let what = if frame.may_be_caller { "Network, queue or work of the caller" } else { "Network or queue" };
    [
        TipLine::Strong(format!(
            "{}: {} in all, {} of the latency",
            frame.label,
            format::duration_us(us),
            format::share(share)
        )),
        TipLine::Muted(format!("{what}: before that service starts, and after it ends.")),
    ]
}

/// Returns the endpoints of other services that a calling context calls, as they are called in most time first; at most
/// `CALLEES`, with how many more there are.
pub fn callees(report: &CriticalPathReport, node: NodeId) -> (Vec<&Endpoint>, usize) {
    let name = |node: &ContextNode| report.endpoints.get(node.endpoint.index());
    let Some(caller) = report.nodes.get(node.index()).and_then(name) else { return Default::default() };
    let below = report.nodes.iter().filter(|below| below.parent == Some(node));
    let mut callees: Vec<(u128, &Endpoint)> = below
        .filter_map(|below| Some((below.subtree_us, name(below)?)))
        .filter(|(_, endpoint)| endpoint.service != caller.service)
        .collect();
    callees.sort_by_key(|(us, _)| std::cmp::Reverse(*us));
    let more = callees.len().saturating_sub(CALLEES);
    (callees.into_iter().take(CALLEES).map(|(_, endpoint)| endpoint).collect(), more)
}

/// Returns what a calling context calls, in words; empty if it calls no other service.
pub fn callees_words(report: &CriticalPathReport, node: NodeId) -> String {
    let (callees, more) = callees(report, node);
    let names = callees.iter().map(|Endpoint { service, operation }| format::endpoint(service, operation));
    let names = names.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{names} and {}", format::counted(more as u64, "other")) } else { names }
}

/// Returns what calls wait for, in words: `12 ms for a, 3 ms for b`; empty where they wait for nothing. Times are means
/// per request.
pub(crate) fn waiting_words(waiting: &[Waiting], requests: u64) -> String {
    let words = waiting.iter().map(|wait| {
        let mean = format::duration(wait.us as f64 / requests.max(1) as f64);
        format!("{mean} for {}", format::printable(&wait.callee))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Returns the column that says what calls wait for.
pub(crate) fn waiting_column<R>(us: fn(&R) -> Number) -> Column<R> {
    let hint = "Part of its self time: network or queue on the way to the services it calls, or work of the caller where \
                spans have no kind; mean over all requests";
    Column::duration("waiting", "Waiting", hint, us).group(PER_REQUEST).low(3)
}

/// Returns what calls wait for, per request, in microseconds; none where they wait for nothing.
pub(crate) fn waiting_us(waiting: &[Waiting], requests: u64) -> Number {
    let sum: u128 = waiting.iter().map(|wait| wait.us).sum();
    (sum > 0).then_some(sum as f64 / requests.max(1) as f64).into()
}

/// Returns what the tip says of a frame of the inverted graph, below its name: its share of all latency, its time, and the
/// endpoint whose time it is, of its callers.
pub fn inverted_tip(share: f64, us: u128, callee: Option<&Endpoint>) -> TipLine {
    let share = format::share(share);
    TipLine::Muted(match callee {
        None => format!("{share} of all latency is its self time: {}", format::duration_us(us)),
        Some(Endpoint { service, operation }) => {
            let callee = format::operation(service, operation);
            format!("{share} of all latency: self time of {callee} called through it")
        }
    })
}

/// A calling context.
pub struct FlameRow {
    /// Number of the node.
    pub at: NodeId,
    /// The report that has the node.
    pub report: Rc<CriticalPathReport>,
}

impl FlameRow {
    /// Returns the rows of a report, in the order of the tree.
    pub fn of(report: &Rc<CriticalPathReport>) -> Vec<FlameRow> {
        (0..report.nodes.len() as u32).map(|at| FlameRow { at: NodeId(at), report: report.clone() }).collect()
    }

    fn node(&self) -> &ContextNode {
        &self.report.nodes[self.at.index()]
    }

    fn name_of(&self, node: Option<&ContextNode>) -> (&str, &str) {
        node.map_or(("", ""), |node| self.report.name(node.endpoint))
    }

    /// Returns service and operation.
    pub fn name(&self) -> (&str, &str) {
        self.name_of(Some(self.node()))
    }

    fn caller(&self) -> (&str, &str) {
        self.name_of(self.node().parent.and_then(|at| self.report.nodes.get(at.index())))
    }

    fn share(&self) -> f64 {
        self.node().exclusive_us.sum as f64 / self.report.facts.latency_sum_us.max(1) as f64
    }

    /// Returns the call path that leads here.
    pub fn path(&self) -> Vec<Endpoint> {
        tree::path_of(&*self.report, self.at)
    }

    fn attributes(&self) -> Attributes {
        let parent = self.node().parent.map_or_else(String::new, |at| at.0.to_string());
        let mut all = endpoint_attributes("frame", self.name(), self.node().exclusive_us.sum);
        all.extend([("data-node", self.at.0.to_string()), ("data-parent", parent)]);
        all
    }
}

/// Returns the name of a caller as it is shown; a dash at the root.
pub(crate) fn caller_words((service, operation): (&str, &str)) -> String {
    if service.is_empty() { format::DASH.to_owned() } else { format::operation(service, operation) }
}

/// Returns the services with the most self time on critical paths, with their shares of it (ties: by name).
pub fn services(report: &CriticalPathReport) -> Vec<(String, f64)> {
    let own = report.nodes.iter().filter_map(|node| {
        let endpoint = report.endpoints.get(node.endpoint.index())?;
        Some((endpoint.service.as_str(), node.exclusive_us.sum))
    });
    most_time(own)
}

/// Returns the companion table. Files have a line for every calling context, in the order of the tree.
pub fn table() -> Table<FlameRow> {
    let columns = vec![
        Column::field("node", |row: &FlameRow| row.at.0.into()),
        Column::field("parent", |row: &FlameRow| row.node().parent.map(|at| at.0).into()),
        Column::endpoint(
            "Frame",
            "The endpoint of the frame; the tip of a row has all of its path",
            |row: &FlameRow| row.name(),
        )
        .tip(|row: &FlameRow| (tree::lines_of(&*row.report, row.at), 0))
        .csv(&["service", "operation"]),
        Column::text("caller", "Called by", "The endpoint above it", |row: &FlameRow| {
            caller_words(row.caller()).into()
        })
        .by(|a, b| {
            let ((sa, oa), (sb, ob)) = (a.caller(), b.caller());
            (oa, sa).cmp(&(ob, sb))
        })
        .low(3)
        .width(Width::Caller),
        Column::field("exclusive_us", |row: &FlameRow| row.node().exclusive_us.sum.into()),
        Column::share(
            "share",
            "Self share",
            "Self time on the critical path, of all latency",
            |row: &FlameRow| row.share().into(),
        )
        .group(PER_REQUEST)
        .csv(&["exclusive_share"]),
        Column::duration(
            "mean",
            "Self mean",
            "Self time on the critical path, mean over all requests",
            |row: &FlameRow| row.node().exclusive_us.mean.into(),
        )
        .group(PER_REQUEST)
        .csv(&["exclusive_mean_us"]),
        Column::duration("p50", "Self p50", "Median over the requests that contain it", |row: &FlameRow| {
            row.node().exclusive_us.p50.into()
        })
        .group(WHEN_PRESENT)
        .low(3)
        .csv(&["exclusive_p50_us"]),
        Column::duration(
            "p95",
            "Self p95",
            "95th percentile over the requests that contain it",
            |row: &FlameRow| row.node().exclusive_us.p95.into(),
        )
        .group(WHEN_PRESENT)
        .low(2)
        .csv(&["exclusive_p95_us"]),
        Column::duration(
            "p99",
            "Self p99",
            "99th percentile over the requests that contain it",
            |row: &FlameRow| row.node().exclusive_us.p99.into(),
        )
        .group(WHEN_PRESENT)
        .low(2)
        .csv(&["exclusive_p99_us"]),
        waiting_column(|row: &FlameRow| waiting_us(&row.node().waiting, row.report.facts.summed_over()))
            .csv_as(&["waiting_mean_us", "waiting_for"], |row| {
                let requests = row.report.facts.summed_over();
                let mean = waiting_us(&row.node().waiting, requests).digits();
                vec![mean, waiting_words(&row.node().waiting, requests)]
            }),
        Column::field("inclusive_us", |row: &FlameRow| row.node().inclusive_us.sum.into()),
        Column::duration(
            "whole",
            "Total",
            "Duration of its spans, mean over all requests",
            |row: &FlameRow| row.node().inclusive_us.mean.into(),
        )
        .group(PER_REQUEST)
        .low(2)
        .csv(&["inclusive_mean_us"]),
        Column::field("inclusive_p50_us", |row: &FlameRow| row.node().inclusive_us.p50.into()),
        Column::field("inclusive_p95_us", |row: &FlameRow| row.node().inclusive_us.p95.into()),
        Column::field("inclusive_p99_us", |row: &FlameRow| row.node().inclusive_us.p99.into()),
        Column::field("subtree_us", |row: &FlameRow| row.node().subtree_us.into()),
        Column::count("requests", "In", "Requests that contain it", |row: &FlameRow| {
            row.node().requests.into()
        })
        .low(2)
        .tiny()
        .csv(&["requests"]),
        Column::count("spans", "Spans", "Its spans", |row: &FlameRow| row.node().spans.into())
            .low(3)
            .tiny()
            .csv(&["spans"]),
        Column::count("errors", "Errors", "Error spans among them", |row: &FlameRow| {
            row.node().errors.into()
        })
        .low(3)
        .tiny()
        .csv(&["errors"]),
    ];
    Table::new("flame-table", "Calling contexts on the critical path", ("share", true), columns)
        .with_attributes(FlameRow::attributes)
        .search(|row, finder| {
            let waits = &row.node().waiting;
            if waits.is_empty() {
                return finder.fits_endpoint(row.name());
            }
            // What it waits for is a frame of its own in the chart.
            let (service, operation) = row.name();
            let label = format::endpoint(service, operation);
            let waits = waits.iter().map(|wait| waiting_label(&wait.callee, wait.is_certain));
            let names: Vec<String> = std::iter::once(label.clone()).chain(waits).collect();
            finder.fits_place(&label, &names.iter().map(String::as_str).collect::<Vec<_>>())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::flame::Weight;
    use pathlight_engine::ids::ReportEndpoint;

    fn report(endpoints: &[(&str, &str)], nodes: &[(Option<u32>, u32, u64)]) -> CriticalPathReport {
        let node = |&(parent, endpoint, subtree_us): &(Option<u32>, u32, u64)| ContextNode {
            parent: parent.map(NodeId),
            endpoint: ReportEndpoint(endpoint),
            subtree_us: subtree_us.into(),
            exclusive_us: Weight::default(),
            inclusive_us: Weight::default(),
            requests: 1,
            spans: 1,
            errors: 0,
            waiting: Vec::new(),
            exemplars: Vec::new(),
        };
        CriticalPathReport {
            endpoints: endpoints.iter().map(|(service, name)| Endpoint::new(*service, *name)).collect(),
            nodes: nodes.iter().map(node).collect(),
            ..CriticalPathReport::default()
        }
    }

    #[test]
    fn a_call_says_what_it_calls() {
        let endpoints = [
            ("shop", "GET"),
            ("order", "GET /orders"),
            ("pay", "POST"),
            ("a", "x"),
            ("b", "y"),
            ("shop", "own"),
        ];
        let nodes = [(None, 0, 90), (Some(0), 1, 20), (Some(0), 2, 30), (Some(1), 3, 5), (Some(0), 5, 40)];
        let report = report(&endpoints, &nodes);
        assert_eq!(callees_words(&report, NodeId(0)), "POST @ pay, GET /orders @ order");
        assert_eq!(callees_words(&report, NodeId(1)), "x @ a");
        assert_eq!(callees_words(&report, NodeId(4)), "");
        assert!(tip(&report, NodeId(1)).contains(&TipLine::Muted("calls x @ a".to_owned())));
        let many = [nodes.as_slice(), &[(Some(0), 3, 9), (Some(0), 4, 8)]].concat();
        let many = self::report(&endpoints, &many);
        assert_eq!(callees_words(&many, NodeId(0)), "POST @ pay, GET /orders @ order, x @ a and 1 other");
    }

    #[test]
    fn waiting_is_said_to_be_network_or_queue_only_where_spans_say_their_kind() {
        let mut report = report(&[("a", "call")], &[(None, 0, 50)]);
        let wait =
            |callee: &str, is_certain| Waiting { callee: callee.to_owned(), us: 5, requests: 1, is_certain };
        report.nodes[0].waiting = vec![wait("b", true), wait("c", false)];
        let tree = FlameTree::of_report(&report);
        let said = |node| match waiting_tip(tree.frame(node).unwrap(), 5, 0.1) {
            [TipLine::Strong(name), TipLine::Muted(words)] => (name, words),
            other => panic!("{other:?}"),
        };
        let (name, words) = said(1);
        assert!(
            name.starts_with("waiting for b:") && words.starts_with("Network or queue: before"),
            "{name} {words}"
        );
        let (name, words) = said(2);
        assert!(name.starts_with("waiting for c, or work of the caller:"), "{name}");
        assert!(words.starts_with("Network, queue or work of the caller: before"), "{words}");
    }
}
