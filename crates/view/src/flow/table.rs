//! The execution flow of a parent endpoint: whose flow is shown, its title, its tips, and the table of its calls.

use crate::address::Address;
use crate::flow::chart::{DagHit, DagItem, DagLayout};
use crate::flow::choice::FlowPanel;
use crate::say::tip::{Numbers, TipLine};
use crate::search::finder::Finder;
use crate::table::{Column, Number, Table};
use crate::views::WORKING;
use pathlight_base::format::{self, count, counted, duration, printable, share};
use pathlight_base::statistics::Percentiles;
use pathlight_engine::flow::{FlowNode, FlowParent, FlowReport};
use pathlight_engine::ids::NodeId;
use pathlight_engine::queries::most_time;
use pathlight_engine::requests::RootEndpoint;
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// Parents offered at most; others are reached through the root endpoint.
const OFFERED: usize = 500;

/// Name of the node that the rarest callees share.
const OTHERS: &str = "All rarer calls";

/// Returns the services whose calls take most time, with their shares of that of all calls (ties: by name).
pub fn services(report: &FlowReport) -> Vec<(String, f64)> {
    let calls = report.nodes.iter().filter(|node| !node.service.is_empty());
    most_time(calls.map(|node| {
        let us = node.latency_us.mean * node.invocations as f64;
        (node.service.as_str(), us as u64)
    }))
}

/// Returns the name of a panel, and what is said of it beside the pointer.
pub fn panel_words(panel: FlowPanel) -> (&'static str, &'static str) {
    match panel {
        FlowPanel::Calls => ("Calls", "Every call with its latency and wait"),
        FlowPanel::Variants => (
            "Variants",
            "Which calls its invocations make: hits, misses, errors side by side, and what decides which",
        ),
        FlowPanel::WhatIf => {
            ("What if", "The whole request, were some calls faster, slower, gone or side by side")
        }
        FlowPanel::Target => ("Target", "How much faster which endpoints have to be for a latency"),
        FlowPanel::Headroom => (
            "Headroom",
            "How much slower services and calls may become, and where to add capacity and take it",
        ),
        FlowPanel::Timeout => {
            ("Timeout", "What giving up the selected call would cut, and spare the requests")
        }
        FlowPanel::Prediction => ("How well it predicts", "Six ways to predict held-out invocations"),
        FlowPanel::Savings => ("Savings", "What every endpoint would save, ranked"),
        FlowPanel::Parallelise => (
            "Parallelise",
            "Calls that run one after the other without need, and what side by side would save",
        ),
        FlowPanel::Deployments => (
            "Deployments",
            "Versions, zones, hosts and other places that are slower than the others in the same minutes",
        ),
        FlowPanel::Queues => ("Queues", "How long messages wait between who sends and who receives them"),
    }
}

/// Returns the endpoint of a node; `None` for the rarest callees, which share one.
pub fn endpoint_of(node: &FlowNode) -> Option<Endpoint> {
    (!node.service.is_empty() || !node.operation.is_empty())
        .then(|| Endpoint::new(&node.service, &node.operation))
}

/// Returns the endpoint whose flow a node leads to; `None` for a node that calls nothing.
pub fn opens(node: &FlowNode) -> Option<Endpoint> {
    Some(node).filter(|node| node.has_calls).and_then(endpoint_of)
}

/// Returns whose flow is shown: the one gone to, else the root endpoint's, else the one whose flow tells most
/// ([`FlowParent::by_worth`]); `None` where nothing is known of parents yet.
pub fn shown_parent(address: &Address, parents: Option<&[FlowParent]>) -> Option<Endpoint> {
    if let Some(parent) = address.choices.flow.parents.last() {
        return Some(parent.clone());
    }
    if let RootEndpoint::Endpoint(endpoint) = &address.root {
        return Some(endpoint.clone());
    }
    FlowParent::most_worth(parents?)
}

fn is_of(parent: &FlowParent, endpoint: &Endpoint) -> bool {
    parent.service == endpoint.service && parent.operation == endpoint.operation
}

fn name_of(Endpoint { service, operation }: &Endpoint) -> String {
    printable(&format::endpoint(service, operation))
}

/// Returns the parents to choose from, those whose flows tell most first: value of the choice (its place among
/// `parents`) and words; then the value of the one that is shown, which is offered whether it has a flow or not.
pub fn parent_options(parents: &[FlowParent], shown: Option<&Endpoint>) -> (Vec<(String, String)>, String) {
    let is_shown = |parent: &FlowParent| shown.is_some_and(|shown| is_of(parent, shown));
    let mut order = FlowParent::by_worth(parents);
    order.truncate(OFFERED);
    let known = parents.iter().position(is_shown);
    order.extend(known.filter(|at| !order.contains(at)));
    let without_flow = shown.filter(|_| known.is_none()).map(|shown| (String::new(), name_of(shown)));
    let offered = order.into_iter().map(|at| {
        let FlowParent { service, operation, nodes, .. } = &parents[at];
        let name = printable(&format::endpoint(service, operation));
        (at.to_string(), format!("{name} ({})", counted((*nodes).into(), "call")))
    });
    (without_flow.into_iter().chain(offered).collect(), known.map_or_else(String::new, |at| at.to_string()))
}

/// Returns how many invocations are not root spans, in brackets; empty if all are or none is. Where an endpoint begins requests
/// and is also called, as a client and a server of one name are, it has more invocations than requests.
fn called_words(report: &FlowReport) -> String {
    match report.called {
        0 => String::new(),
        all if all == report.invocations => String::new(),
        1 => " (1 is not a root span)".to_owned(),
        some => format!(" ({} are not root spans)", count(some)),
    }
}

/// Returns the title of the view. `parents` say what of the time of its calls is recoverable.
pub fn title(report: &FlowReport, parents: &[FlowParent]) -> String {
    let few = match report.invocations {
        few if few < FlowParent::FEW => format!(" ({})", format::sample(few)),
        _ => String::new(),
    };
    let mut words = format!(
        "{}{}, {}, mean {}{few}",
        counted(report.invocations, "invocation"),
        called_words(report),
        counted(report.nodes.len() as u64, "call"),
        duration(report.latency_us.mean),
    );
    let worth = parents.iter().find(|parent| is_of(parent, &report.parent));
    if let Some(of) = worth.filter(|of| of.recoverable_us > 0) {
        let each_us = of.recoverable_us as f64 / of.invocations.max(1) as f64;
        words.push_str(&format!("; up to {} less if its calls ran side by side", duration(each_us)));
    }
    if let Some(kept) = report.repeats_kept {
        words.push_str(&format!("; repeats above #{kept} folded"));
    }
    if report.has_others {
        words.push_str("; the rarest calls share one node");
    }
    words
}

/// Returns the title of an exported chart.
pub fn chart_title(report: &FlowReport) -> String {
    let Endpoint { service, operation } = &report.parent;
    format!("Execution flow of {}", format::endpoint(service, operation))
}

/// Returns why no flow is drawn; empty if one is. `is_waiting`: the report of the parent is being waited for, or without a
/// parent that of all parents.
pub fn why_empty(
    address: &Address,
    parent: Option<&Endpoint>,
    report: Option<&FlowReport>,
    is_waiting: bool,
) -> String {
    match (parent, report) {
        (Some(_), Some(report)) if !report.nodes.is_empty() => String::new(),
        (Some(parent), Some(_)) if !is_waiting => format!(
            "{} waits for no call{}. Choose another parent above.",
            name_of(parent),
            if address.selection() == address.selection().of_all_requests() {
                ""
            } else {
                " in the selected requests"
            }
        ),
        (None, _) if !is_waiting => "No endpoint here waits for any call.".to_owned(),
        _ => WORKING.to_owned(),
    }
}

/// Returns which nodes a search finds; `None` if nothing is searched for.
pub fn found(report: &FlowReport, finder: &Finder) -> Option<Vec<bool>> {
    let is_found = |node: &FlowNode| {
        let name = format::endpoint(&node.service, &node.operation);
        finder.fits_place(&name, &[&node.label, &name])
    };
    (!finder.is_empty()).then(|| report.nodes.iter().map(is_found).collect())
}

fn durations(us: &Percentiles) -> [f64; 4] {
    [us.mean, us.p50, us.p95, us.p99]
}

/// Returns what the tip says of a box or line of the drawn flow.
pub fn tip(report: &FlowReport, layout: &DagLayout, hit: DagHit) -> Vec<TipLine> {
    match hit {
        DagHit::Box(DagItem::Node(node)) => {
            report.nodes.get(node.index()).map(|node| node_tip(report, node)).unwrap_or_default()
        }
        DagHit::Box(DagItem::Start) => vec![TipLine::Text("Its start".to_owned())],
        DagHit::Box(DagItem::Return) => vec![
            TipLine::Text("Its return".to_owned()),
            TipLine::Muted(format!("{} after the last call, on average", duration(report.return_us.mean))),
            TipLine::Muted(format!("That is {}", wait_words(report))),
        ],
        DagHit::Box(DagItem::Sync(_)) => {
            let words = "Synchronisation: all on its right wait for all on its left";
            vec![TipLine::Text(words.to_owned())]
        }
        DagHit::Line(line) => line_tip(report, layout, line),
    }
}

/// Returns the subjects whose time passes before and after the calls of a parent, in words. A parent whose only call is of
/// another service may be the calling half, whose time is waiting for that service.
fn wait_words(report: &FlowReport) -> String {
    let caller = printable(&report.parent.service);
    match report.nodes.as_slice() {
        [only] if only.index == 1 && only.service != report.parent.service && !only.service.is_empty() => {
            format!("waiting for {}, or own work of {caller}", printable(&only.service))
        }
        _ => format!("own work of {caller}"),
    }
}

fn node_tip(report: &FlowReport, node: &FlowNode) -> Vec<TipLine> {
    let head = match endpoint_of(node) {
        Some(endpoint) => TipLine::Endpoint(endpoint),
        None => TipLine::Strong(OTHERS.to_owned()),
    };
    let numbers = [("latency", durations(&node.latency_us)), ("wait", durations(&node.wait_us))];
    let mut lines = vec![
        head,
        TipLine::Spark(node.histogram.clone()),
        TipLine::Numbers(Numbers::of_durations(&numbers)),
        TipLine::Text(format!(
            "On the critical path in {} of {} invocations",
            share(node.critical_share()),
            count(node.invocations)
        )),
    ];
    lines.push(TipLine::Muted(format!("The wait before it is {}", wait_words(report))));
    lines.extend(node.has_calls.then(|| TipLine::Hint("Double click: its own flow".to_owned())));
    lines
}

fn line_tip(report: &FlowReport, layout: &DagLayout, line: usize) -> Vec<TipLine> {
    let Some(line) = layout.lines.get(line) else { return Vec::new() };
    let name = |item: DagItem| match item {
        DagItem::Start => "start".to_owned(),
        DagItem::Return => "return".to_owned(),
        DagItem::Sync(_) => "synchronisation".to_owned(),
        DagItem::Node(node) => printable(report.label(node)),
    };
    let binds = share((line.binding as f64 / line.both.max(1) as f64).min(1.0));
    vec![
        TipLine::Text(format!("{} waits for {}", name(line.to), name(line.from))),
        TipLine::Muted(format!("Binds in {binds} of {} invocations", count(line.both))),
        TipLine::Muted(format!("What passes between is {}", wait_words(report))),
    ]
}

/// Facts of a flow about one of its calls, for the detail panel.
pub struct CallFacts {
    /// A heading that names the caller.
    pub head: String,
    /// Names and values.
    pub pairs: [(&'static str, String); 5],
    /// Whether it has a flow of its own.
    pub opens: bool,
}

/// Returns what a flow says of an endpoint; `None` if it is none of its calls. Of several calls in an invocation it is the
/// first.
pub fn facts(report: &FlowReport, endpoint: &Endpoint) -> Option<CallFacts> {
    let is_it = |node: &&FlowNode| node.service == endpoint.service && node.operation == endpoint.operation;
    let node = report.nodes.iter().find(is_it)?;
    Some(CallFacts {
        head: format!("As a call of {}", name_of(&report.parent)),
        pairs: [
            ("Latency, mean", duration(node.latency_us.mean)),
            ("p95", duration(node.latency_us.p95)),
            ("Wait before it, mean", duration(node.wait_us.mean)),
            ("Critical in", share(node.critical_share())),
            ("Seen in", format!("{} of {}", count(node.invocations), count(report.invocations))),
        ],
        opens: opens(node).is_some(),
    })
}

/// A call of a flow.
pub struct CallLine {
    at: NodeId,
    report: Rc<FlowReport>,
}

impl CallLine {
    /// Returns the calls of a flow, by node.
    pub fn of(report: &Rc<FlowReport>) -> Vec<CallLine> {
        (0..report.nodes.len() as u32).map(|at| CallLine { at: NodeId(at), report: report.clone() }).collect()
    }

    /// Returns which node it is.
    pub fn at(&self) -> NodeId {
        self.at
    }

    /// Returns its node.
    pub fn node(&self) -> &FlowNode {
        &self.report.nodes[self.at.index()]
    }

    /// Returns its endpoint, or what the node is called that has none; and which call of the endpoint it is where that is not
    /// the first.
    fn name(&self) -> (Option<(&str, &str)>, String) {
        let node = self.node();
        if endpoint_of(node).is_none() {
            return (None, OTHERS.to_owned());
        }
        let repeat = node.label.rsplit_once('#').filter(|_| node.index != 1);
        let repeat = repeat.map_or_else(String::new, |(_, repeat)| format!("call {repeat}"));
        (Some((&node.service, &node.operation)), repeat)
    }

    fn waits_for(&self) -> String {
        let edges = self.report.edges.iter();
        let calls: Vec<String> = edges
            .filter(|edge| edge.to == Some(self.at))
            .filter_map(|edge| edge.from)
            .map(|from| match self.report.nodes.get(from.index()) {
                Some(node) if !node.operation.is_empty() => printable(&node.operation),
                _ => self.report.label(from).to_owned(),
            })
            .collect();
        if calls.is_empty() { "start".to_owned() } else { calls.join(", ") }
    }
}

/// Returns the table of calls.
pub fn table() -> Table<CallLine> {
    fn latency(line: &CallLine) -> &Percentiles {
        &line.node().latency_us
    }
    fn wait(line: &CallLine) -> &Percentiles {
        &line.node().wait_us
    }
    let columns = vec![
        Column::call("Call", "The callee; call 2 is the second call of it in an invocation", CallLine::name)
            .by(|a, b| a.node().label.cmp(&b.node().label))
            .csv_as(&["call", "service", "operation"], |line| {
                let node = line.node();
                vec![node.label.clone(), node.service.clone(), node.operation.clone()]
            }),
        Column::text(
            "waits",
            "Waits for",
            "The calls it waits for that no other of them waits for",
            |line: &CallLine| line.waits_for().into(),
        )
        .width(crate::table::Width::Caller)
        .low(3)
        .unsorted(),
        Column::count(
            "invocations",
            "Seen in",
            "Invocations of the parent that have it",
            |line: &CallLine| line.node().invocations.into(),
        )
        .low(2)
        .csv(&["invocations"]),
        Column::share(
            "critical",
            "Critical",
            "Share of these in which it is on the parent's critical path",
            |line: &CallLine| line.node().critical_share().into(),
        )
        .csv(&["critical_share"]),
        Column::duration("mean", "Latency", "Its mean latency", |line| latency(line).mean.into())
            .csv(&["latency_mean_us"]),
        Column::field("latency_p50_us", |line| latency(line).p50.into()),
        Column::duration("p95", "p95", "95th percentile of its latency", |line| latency(line).p95.into())
            .low(2)
            .csv(&["latency_p95_us"]),
        Column::duration("p99", "p99", "99th percentile of its latency", |line| latency(line).p99.into())
            .low(3)
            .csv(&["latency_p99_us"]),
        Column::duration(
            "wait",
            "Wait",
            "From the latest end before its start to its start, on average",
            |line| wait(line).mean.into(),
        )
        .low(2)
        .csv(&["wait_mean_us"]),
        Column::field("wait_p50_us", |line| wait(line).p50.into()),
        Column::field("wait_p95_us", |line| wait(line).p95.into()),
        Column::field("wait_p99_us", |line| wait(line).p99.into()),
        Column::text_field("waits_for", |line: &CallLine| line.waits_for().into()),
        Column::spark("Distribution", "Histogram of its latency, each on its own axis", |line: &CallLine| {
            Some(&line.node().histogram)
        }),
    ];
    Table::new("call-table", "Calls of the flow", ("critical", true), columns).with_attributes(|line| {
        vec![
            ("data-test", "call".to_owned()),
            ("data-label", line.node().label.clone()),
            ("data-value", Number::from(line.node().latency_us.mean).digits()),
        ]
    })
}
