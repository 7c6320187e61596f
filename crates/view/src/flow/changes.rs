//! What-if: some calls or subjects faster, slower, gone, or side by side: the changes in words, and the requests before and
//! after.

use super::choice::{parse_queue, queue_text};
use super::timeout::{selected_call, target_words};
use crate::draw::curves::{Axis, CurvesView, Legend, NamedCurve};
use crate::draw::{Shade, Theme};
use crate::say::subject::subject_words;
use crate::say::tip::Numbers;
use crate::table::{Column, csv};
use pathlight_base::format::{DASH, change, count, duration, duration_us, printable, share};
use pathlight_engine::flow::{
    CallTarget, CallTimeout, CallsBetween, ChangeOf, Changes, FlowNode, FlowReport, LatencyChange, Move,
    NodeName, Parallel, QueueName, QueueTimeChange, SubjectChange, SubjectTime, WaitChange, WaitTime,
    WhatIfReport,
};
use pathlight_engine::ids::NodeId;
use pathlight_engine::queues::QueueEdge;
use pathlight_engine::requests::Until;
use pathlight_engine::verdict::{ServicePart, Subject};
use pathlight_trace::Endpoint;

/// Begins the value of a queue among what can be changed.
pub(super) const QUEUE: &str = "queue:";

/// Stands for the network between all services there.
const NETWORK: &str = "network";

/// Returns what the time of calls between all services outside of what answers is called.
pub fn network_words() -> String {
    between_words(&CallsBetween::default())
}

/// Endpoints listed of those whose share changed, and of those that may take less than they do.
pub const LISTED: usize = 12;

fn is_of(change: &LatencyChange, endpoint: &Endpoint) -> bool {
    change.service == endpoint.service && change.operation == endpoint.operation
}

/// Amount of a change of an endpoint: the time changed, a share in percent, and microseconds that are added.
pub type Amount = (ChangeOf, i64, i64);

/// Returns the change of an endpoint's latency.
pub fn latency_change(changes: &Changes, endpoint: &Endpoint) -> Amount {
    let change = changes.latencies.iter().find(|change| is_of(change, endpoint));
    change.map_or_else(Amount::default, |change| (change.of, change.share_ppm / 10_000, change.add_us))
}

/// Makes one latency change of an endpoint; one that changes nothing takes it away.
pub fn set_latency(changes: &mut Changes, endpoint: &Endpoint, (of, percent, add_us): Amount) {
    let at = changes.latencies.iter().position(|change| is_of(change, endpoint));
    let Endpoint { service, operation } = endpoint.clone();
    let change = LatencyChange { service, operation, of, share_ppm: percent * 10_000, add_us };
    match (at, percent == 0 && add_us == 0) {
        (Some(at), true) => {
            changes.latencies.remove(at);
        }
        (Some(at), false) => changes.latencies[at] = change,
        (None, true) => {}
        (None, false) => changes.latencies.push(change),
    }
}

/// An endpoint or a subject that a what-if changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeTarget {
    /// All spans of an endpoint.
    Endpoint(Endpoint),
    /// All spans of a subject.
    Subject(Subject),
    /// All messages in a queue.
    Queue(QueueName),
    /// What calls between services, whichever they are, spend outside of what answers.
    Network,
}

/// A change of an endpoint or a subject as a person makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// More or less time; of a subject the time that changes is always its own.
    By(Amount),
    /// What a subject usually takes.
    Usual,
}

impl ChangeTarget {
    /// Reads what [`subject_options`] offers: a subject or a queue; `None` for the selected call.
    pub fn parse(text: &str) -> Option<ChangeTarget> {
        let queue = || Some(ChangeTarget::Queue(parse_queue(text.strip_prefix(QUEUE)?)?));
        let network = || (text == NETWORK).then_some(ChangeTarget::Network);
        network().or_else(queue).or_else(|| Subject::parse(text).map(ChangeTarget::Subject))
    }

    /// Returns its value in that list; empty of an endpoint, which is chosen elsewhere.
    pub fn value(&self) -> String {
        match self {
            ChangeTarget::Endpoint(_) => String::new(),
            ChangeTarget::Subject(subject) => subject.to_string(),
            ChangeTarget::Queue(queue) => format!("{QUEUE}{}", queue_text(queue)),
            ChangeTarget::Network => NETWORK.to_owned(),
        }
    }

    /// Returns what changes of it.
    pub fn wanted(&self, changes: &Changes) -> Wanted {
        match self {
            ChangeTarget::Endpoint(endpoint) => Wanted::By(latency_change(changes, endpoint)),
            ChangeTarget::Subject(subject) => {
                let change = changes.subjects.iter().find(|change| change.subject == *subject);
                wanted_of(change.map(|change| &change.time))
            }
            ChangeTarget::Queue(queue) => {
                let change = changes.queues.iter().find(|change| change.queue == *queue);
                wanted_of(change.map(|change| &change.time))
            }
            ChangeTarget::Network => {
                let all = changes.waits.iter().find(|change| change.calls == CallsBetween::default());
                let by = all.and_then(|change| match change.time {
                    WaitTime::By { share_ppm, add_us } => Some((share_ppm / 10_000, add_us)),
                    WaitTime::Within | WaitTime::Levels(_) => None,
                });
                let (percent, add_us) = by.unwrap_or_default();
                Wanted::By((ChangeOf::OwnWork, percent, add_us))
            }
        }
    }

    /// Makes one change of it; one that changes nothing takes it away. Nothing is known of what endpoints and the network usually
    /// take.
    pub fn set(&self, changes: &mut Changes, wanted: Wanted) {
        match (self, wanted) {
            (ChangeTarget::Endpoint(endpoint), Wanted::By(amount)) => set_latency(changes, endpoint, amount),
            (ChangeTarget::Endpoint(_) | ChangeTarget::Network, Wanted::Usual) => {}
            (ChangeTarget::Network, Wanted::By((_, percent, add_us))) => {
                set_network(changes, percent, add_us)
            }
            (ChangeTarget::Subject(subject), _) => set_subject(changes, subject, subject_time(wanted)),
            (ChangeTarget::Queue(queue), _) => set_queue(changes, queue, subject_time(wanted)),
        }
    }

    /// Returns what is said of a change of it while it is made.
    pub fn words(&self, wanted: Wanted) -> String {
        match (self, wanted) {
            (ChangeTarget::Subject(subject), _) => {
                subject_time_words(per(subject.part), &subject_time(wanted))
            }
            (ChangeTarget::Queue(_), _) => subject_time_words("message", &subject_time(wanted)),
            (ChangeTarget::Endpoint(_), Wanted::By(amount)) => amount_words(amount),
            (ChangeTarget::Network, Wanted::By((_, percent, add_us))) => {
                time_words("call", percent * 10_000, add_us)
            }
            (ChangeTarget::Endpoint(_) | ChangeTarget::Network, Wanted::Usual) => String::new(),
        }
    }
}

fn wanted_of(time: Option<&SubjectTime>) -> Wanted {
    match time {
        None => Wanted::By(Amount::default()),
        Some(SubjectTime::By { share_ppm, add_us }) => {
            Wanted::By((ChangeOf::OwnWork, share_ppm / 10_000, *add_us))
        }
        Some(_) => Wanted::Usual,
    }
}

fn subject_time(wanted: Wanted) -> SubjectTime {
    match wanted {
        Wanted::By((_, percent, add_us)) => SubjectTime::By { share_ppm: percent * 10_000, add_us },
        Wanted::Usual => SubjectTime::Usual,
    }
}

fn set_subject(changes: &mut Changes, subject: &Subject, time: SubjectTime) {
    let at = changes.subjects.iter().position(|change| change.subject == *subject);
    let is_nothing = time == SubjectTime::By { share_ppm: 0, add_us: 0 };
    let change = SubjectChange { subject: subject.clone(), time };
    match (at, is_nothing) {
        (Some(at), true) => drop(changes.subjects.remove(at)),
        (Some(at), false) => changes.subjects[at] = change,
        (None, true) => {}
        (None, false) => changes.subjects.push(change),
    }
}

/// Makes one change of the network between all services; one that changes nothing takes it away.
fn set_network(changes: &mut Changes, percent: i64, add_us: i64) {
    changes.waits.retain(|change| change.calls != CallsBetween::default());
    if (percent, add_us) != (0, 0) {
        let time = WaitTime::By { share_ppm: percent * 10_000, add_us };
        changes.waits.push(WaitChange { calls: CallsBetween::default(), time });
    }
}

/// Makes one change of a queue; one that changes nothing takes it away.
pub fn set_queue(changes: &mut Changes, queue: &QueueName, time: SubjectTime) {
    changes.queues.retain(|change| change.queue != *queue);
    if time != (SubjectTime::By { share_ppm: 0, add_us: 0 }) {
        changes.queues.push(QueueTimeChange { queue: queue.clone(), time });
    }
}

/// Returns what a queue is called where it is changed: `Messages in orders, send to handle`.
pub fn queue_words(queue: &QueueName) -> String {
    let [sender, receiver] = [&queue.sender, &queue.receiver].map(|end| printable(&end.operation));
    match queue.destination.as_str() {
        "" => format!("Messages from {sender} to {receiver}"),
        destination => format!("Messages in {}, {sender} to {receiver}", printable(destination)),
    }
}

/// Returns what is said where queues are changed in requests that end with their answer; empty if nothing is to be said.
pub fn no_answer_waits(changes: &Changes, until: Until) -> &'static str {
    match until {
        Until::Answer if !changes.queues.is_empty() => {
            "No answer waits for a message: queues change requests only until everything is done."
        }
        _ => "",
    }
}

/// Returns what the time of a part of a service is of.
fn per(part: ServicePart) -> &'static str {
    if part == ServicePart::Own { "span" } else { "call" }
}

/// Returns the time of a subject in a what-if: `50 % less, +2 ms per call`.
fn subject_time_words(each: &str, time: &SubjectTime) -> String {
    match *time {
        SubjectTime::By { share_ppm, add_us } => time_words(each, share_ppm, add_us),
        SubjectTime::Usual | SubjectTime::Levels(_) => "as usual".to_owned(),
    }
}

fn time_words(each: &str, share_ppm: i64, add_us: i64) -> String {
    if share_ppm <= -1_000_000 && add_us > 0 {
        return format!("{} per {each}", duration(add_us as f64));
    }
    let by = match share_ppm {
        0 => None,
        ppm if ppm <= -1_000_000 => Some("gone".to_owned()),
        ppm => {
            let by = share((ppm as f64 / 1e6).abs());
            Some(if ppm < 0 { format!("{by} less") } else { format!("{by} more") })
        }
    };
    let add = (add_us != 0).then(|| format!("{} per {each}", change(add_us as f64)));
    let words = [by, add].into_iter().flatten().collect::<Vec<_>>().join(", ");
    if words.is_empty() { "as it is".to_owned() } else { words }
}

/// Returns what a what-if offers to change: the selected call, which is an empty value, the subjects of these services, the
/// network, and the queues, as [`ChangeTarget::parse`] reads them; values and words, the same subject of all services together.
pub fn subject_options(services: &[String], edges: &[QueueEdge]) -> Vec<(String, String)> {
    let queues = edges.iter().map(|edge| {
        let queue = queue_of(edge);
        let words = queue_words(&queue);
        (ChangeTarget::Queue(queue).value(), words)
    });
    let of_part = |part: ServicePart| {
        services.iter().map(move |service| {
            let subject = Subject { service: service.clone(), part };
            (subject.to_string(), subject_words(&subject))
        })
    };
    let subjects = of_part(ServicePart::In).chain(of_part(ServicePart::Own));
    let network = (NETWORK.to_owned(), network_words());
    [selected_call()].into_iter().chain(subjects).chain([network]).chain(queues).collect()
}

/// Returns the queue of an edge.
pub fn queue_of(edge: &QueueEdge) -> QueueName {
    let QueueEdge { destination, sender, receiver, .. } = edge.clone();
    QueueName { destination, sender, receiver }
}

/// Returns what is said of a change of a latency while it is made.
pub fn amount_words((of, percent, add_us): Amount) -> String {
    let words = amount(of, percent * 10_000, add_us);
    if words.is_empty() { "as it is".to_owned() } else { words }
}

/// Changes that a what-if can make to an endpoint: the change, its name, its hint and its key.
pub const CHANGE_CHOICES: [(ChangeOf, &str, &str, &str); 2] = [
    (
        ChangeOf::OwnWork,
        "Own work",
        "The self time of the endpoint, wherever it is called. Its calls take what they took, and what waits for it moves along",
        "own",
    ),
    (
        ChangeOf::WholeCall,
        "Whole call",
        "The total time of the call: all that happens in it, as if all below were that much faster or slower",
        "whole",
    ),
];

fn amount(of: ChangeOf, share_ppm: i64, add_us: i64) -> String {
    if share_ppm <= -1_000_000 && add_us > 0 {
        let what = if of == ChangeOf::OwnWork { "own work" } else { "whole call" };
        return format!("{what} takes {}", duration(add_us as f64));
    }
    let of_latency = share((share_ppm as f64 / 10_000.0).abs() / 100.0);
    let faster = match share_ppm {
        0 => None,
        ppm if ppm <= -1_000_000 => Some("gone".to_owned()),
        ppm if ppm < 0 => Some(format!("{of_latency} faster")),
        _ => Some(format!("{of_latency} slower")),
    };
    let add = (add_us != 0).then(|| change(add_us as f64));
    let words = [faster, add].into_iter().flatten().collect::<Vec<_>>().join(", ");
    match of {
        ChangeOf::OwnWork if !words.is_empty() => format!("own work {words}"),
        ChangeOf::WholeCall if share_ppm > -1_000_000 && !words.is_empty() => format!("whole call {words}"),
        _ => words,
    }
}

/// One of some changes, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeAt {
    /// A change of a latency.
    Latency(usize),
    /// A change that runs calls side by side.
    Parallel(usize),
    /// A group of calls that runs side by side.
    Beside(usize),
    /// A timeout.
    Timeout(usize),
    /// A change of a subject.
    Subject(usize),
    /// A change of a queue.
    Queue(usize),
    /// A service that runs elsewhere.
    Move(usize),
    /// Calls that take another time outside of what answers.
    Wait(usize),
}

impl ChangeAt {
    /// Removes the change at this place from `changes`.
    pub fn remove(self, changes: &mut Changes) {
        match self {
            ChangeAt::Latency(at) => drop(changes.latencies.remove(at)),
            ChangeAt::Parallel(at) => drop(changes.parallel.remove(at)),
            ChangeAt::Beside(at) => drop(changes.beside.remove(at)),
            ChangeAt::Timeout(at) => drop(changes.timeouts.remove(at)),
            ChangeAt::Subject(at) => drop(changes.subjects.remove(at)),
            ChangeAt::Queue(at) => drop(changes.queues.remove(at)),
            ChangeAt::Move(at) => drop(changes.moves.remove(at)),
            ChangeAt::Wait(at) => drop(changes.waits.remove(at)),
        }
    }

    /// Returns the change at this place alone.
    pub fn only(self, changes: &Changes) -> Changes {
        fn one<T: Clone>(all: &[T], at: usize) -> Vec<T> {
            all.get(at).cloned().into_iter().collect()
        }
        let none = Changes::default();
        match self {
            ChangeAt::Latency(at) => Changes { latencies: one(&changes.latencies, at), ..none },
            ChangeAt::Parallel(at) => Changes { parallel: one(&changes.parallel, at), ..none },
            ChangeAt::Beside(at) => Changes { beside: one(&changes.beside, at), ..none },
            ChangeAt::Timeout(at) => Changes { timeouts: one(&changes.timeouts, at), ..none },
            ChangeAt::Subject(at) => Changes { subjects: one(&changes.subjects, at), ..none },
            ChangeAt::Queue(at) => Changes { queues: one(&changes.queues, at), ..none },
            ChangeAt::Move(at) => Changes { moves: one(&changes.moves, at), ..none },
            ChangeAt::Wait(at) => Changes { waits: one(&changes.waits, at), ..none },
        }
    }
}

/// Returns all changes with what is said of them.
pub fn chips(changes: &Changes) -> Vec<(ChangeAt, String)> {
    let latencies = changes.latencies.iter().enumerate().map(|(at, change)| {
        let words = amount(change.of, change.share_ppm, change.add_us);
        (ChangeAt::Latency(at), format!("{}: {words}", printable(&change.operation)))
    });
    let parallel = changes.parallel.iter().enumerate().map(|(at, change)| {
        let [a, b] = [&change.first, &change.second].map(|node| printable(&node.operation));
        (ChangeAt::Parallel(at), format!("{a} beside {b}"))
    });
    let beside = changes.beside.iter().enumerate().map(|(at, change)| {
        let names: Vec<String> = change.callees.iter().map(|callee| printable(&callee.operation)).collect();
        (ChangeAt::Beside(at), format!("all calls of {} side by side", names.join(", ")))
    });
    let timeouts = changes.timeouts.iter().enumerate().map(|(at, change)| {
        let n = change.retry_us.len() as u128;
        let mean_us = change.retry_us.iter().map(|&us| u128::from(us)).sum::<u128>() / n.max(1);
        let retry = (n > 0).then(|| format!(", retried once ({})", duration_us(mean_us)));
        let (calls, after) = (target_words(&change.of), duration_us(change.after_us));
        (ChangeAt::Timeout(at), format!("{calls}: given up after {after}{}", retry.unwrap_or_default()))
    });
    let subjects = changes.subjects.iter().enumerate().map(|(at, SubjectChange { subject, time })| {
        let words = subject_time_words(per(subject.part), time);
        (ChangeAt::Subject(at), format!("{}: {words}", subject_words(subject)))
    });
    let queues = changes.queues.iter().enumerate().map(|(at, QueueTimeChange { queue, time })| {
        let words = subject_time_words("message", time);
        (ChangeAt::Queue(at), format!("{}: {words}", queue_words(queue)))
    });
    let moves = changes.moves.iter().enumerate().map(|(at, Move { service, key, value, levels: _ })| {
        let service = service.as_deref().map_or_else(|| "All services".to_owned(), printable);
        (ChangeAt::Move(at), format!("{service}: all with {} {}", printable(key), printable(value)))
    });
    let waits = changes.waits.iter().enumerate().map(|(at, WaitChange { calls, time })| {
        let words = match *time {
            WaitTime::By { share_ppm, add_us } => time_words("call", share_ppm, add_us),
            WaitTime::Within | WaitTime::Levels(_) => "as within one".to_owned(),
        };
        (ChangeAt::Wait(at), format!("{}: {words}", between_words(calls)))
    });
    let placed = moves.chain(waits);
    let times = queues.chain(subjects).chain(placed).chain(latencies);
    times.chain(parallel).chain(beside).chain(timeouts).collect()
}

/// Returns the time of calls outside of what answers, by whose calls they are.
fn between_words(CallsBetween { caller, callee, across }: &CallsBetween) -> String {
    let ends = match (caller, callee) {
        (None, None) => "between all services".to_owned(),
        (Some(caller), None) => format!("from {}", printable(caller)),
        (None, Some(callee)) => format!("to {}", printable(callee)),
        (Some(caller), Some(callee)) => format!("from {} to {}", printable(caller), printable(callee)),
    };
    match across {
        None => format!("Network {ends}"),
        Some(key) => format!("Network {ends} across {}", printable(key)),
    }
}

/// Makes one timeout of a target.
pub fn set_timeout(changes: &mut Changes, timeout: CallTimeout) {
    changes.timeouts.retain(|other| other.of != timeout.of);
    changes.timeouts.push(timeout);
}

/// Returns, for each node of a flow, whether a what-if changes it; changes of subjects and services are of no single node.
pub fn changed_nodes(report: &FlowReport, changes: &Changes) -> Vec<bool> {
    let Endpoint { service, operation } = &report.parent;
    let here: Vec<&Parallel> =
        changes.parallel.iter().filter(|p| p.service == *service && p.operation == *operation).collect();
    let is_timed_out = |node: &FlowNode, of: &CallTarget| match of {
        CallTarget::Endpoint(of) => of.service == node.service && of.operation == node.operation,
        CallTarget::Service(_) => false,
    };
    let is_changed = |node: &FlowNode| {
        let is_node = |name: &NodeName| {
            (&name.service, &name.operation, name.index) == (&node.service, &node.operation, node.index)
        };
        changes.latencies.iter().any(|c| c.service == node.service && c.operation == node.operation)
            || changes.timeouts.iter().any(|c| is_timed_out(node, &c.of))
            || (changes.beside.iter().filter(|calls| calls.parent == report.parent))
                .flat_map(|calls| &calls.callees)
                .any(|callee| callee.service == node.service && callee.operation == node.operation)
            || here.iter().any(|parallel| is_node(&parallel.first) || is_node(&parallel.second))
    };
    report.nodes.iter().map(is_changed).collect()
}

/// Returns the calls that a call waits for or that wait for it, which could run beside it, with their labels.
pub fn neighbours(report: &FlowReport, node: NodeId) -> Vec<(NodeId, String)> {
    let edges = report.edges.iter();
    let mut near: Vec<NodeId> = edges
        .filter_map(|edge| match (edge.from == Some(node), edge.to == Some(node)) {
            (true, _) => edge.to,
            (_, true) => edge.from,
            _ => None,
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().map(|node| (node, printable(report.label(node)))).collect()
}

/// Lets two calls of a flow run side by side, unless they do already.
pub fn set_parallel(changes: &mut Changes, report: &FlowReport, nodes: [NodeId; 2]) {
    let name = |node: NodeId| {
        let FlowNode { service, operation, index, .. } = report.nodes.get(node.index())?;
        Some(NodeName { service: service.clone(), operation: operation.clone(), index: *index })
    };
    let [Some(first), Some(second)] = nodes.map(name) else { return };
    let Endpoint { service, operation } = report.parent.clone();
    let parallel = Parallel { service, operation, first, second };
    if !changes.parallel.contains(&parallel) {
        changes.parallel.push(parallel);
    }
}

/// Returns the percentiles and mean of the latency with their names: before, after.
fn figures(report: &WhatIfReport) -> [(&'static str, f64, f64); 4] {
    let (a, b) = (&report.before_us, &report.after_us);
    [("p50", a.p50, b.p50), ("p95", a.p95, b.p95), ("p99", a.p99, b.p99), ("mean", a.mean, b.mean)]
}

/// Returns the latency before and after as a table.
pub fn numbers(report: &WhatIfReport) -> Numbers {
    let rows = figures(report).map(|(name, before, after)| {
        let by = if before == after { DASH.to_owned() } else { change(after - before) };
        let [before_us, after_us] = [before, after].map(|us| (duration(us), us.to_string()));
        (name.to_owned(), vec![before_us, after_us, (by, (after - before).to_string())])
    });
    Numbers { heads: ["before", "after", "change"].map(str::to_owned).to_vec(), rows: rows.to_vec() }
}

/// Returns how many requests change, and that they end when everything is done.
pub fn changed_words(report: &WhatIfReport, until: Until) -> String {
    let until = match until {
        Until::Answer => "",
        Until::Done => ", each until everything is done",
    };
    format!("{} of {} requests change{until}.", count(report.changed), count(report.requests))
}

/// Returns the endpoints whose share of the latency changes most, so many of them, with the share before and after.
pub fn shares(report: &WhatIfReport, listed: usize) -> Vec<(Endpoint, String)> {
    let changed = report.endpoints.iter().filter(|row| row.before_us != row.after_us);
    let words = changed.map(|row| {
        let words = format!("{} \u{2192} {}", share(row.before_share), share(row.after_share));
        (Endpoint::new(&row.service, &row.operation), words)
    });
    words.take(listed).collect()
}

/// Returns the latency before and after as comma-separated values.
pub fn what_if_csv(report: &WhatIfReport) -> String {
    type Row = (&'static str, f64, f64);
    let columns = [
        Column::text_field("quantile", |row: &Row| row.0.into()),
        Column::field("before_us", |row| row.1.into()),
        Column::field("after_us", |row| row.2.into()),
    ];
    csv(&columns, &figures(report))
}

/// Returns both curves: latency, and the share of the requests that take at most so long.
pub fn curves(report: &WhatIfReport, theme: &Theme) -> CurvesView<'static> {
    let curve = |name, color, strong, us: &[f64]| {
        let last = us.len().saturating_sub(1).max(1) as f64;
        let points = us.iter().enumerate().map(|(at, us)| (*us, at as f64 / last)).collect();
        NamedCurve { name, color, strong, points }
    };
    let ends = || [&report.before_curve_us, &report.after_curve_us].into_iter().flatten().copied();
    let from_us = ends().fold(f64::INFINITY, f64::min);
    let to_us = ends().fold(0.0, f64::max);
    let from_us = if from_us.is_finite() { from_us as u64 } else { 0 };
    CurvesView {
        x: (Axis::Latency { from_us, to_us: (to_us as u64).max(from_us + 1) }, "latency of the request"),
        y: (Axis::Share, "share of requests"),
        curves: vec![
            curve("before", theme.muted, false, &report.before_curve_us),
            curve("after", theme.fill(Shade::Change(100)), true, &report.after_curve_us),
        ],
        rule: None,
        legend: Legend::TopLeft,
    }
}
