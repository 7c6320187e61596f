//! Looking for messages in the requests of a worker, and the accumulator of what was found.

use super::links::{SpanAddress, rows_of_targets};
use super::report::{QueueEdge, QueueExample, QueuesReport};
use crate::flame::{Observer, PathTable, pack_sorted, unpack_sorted};
use crate::flow::QueueName;
use crate::requests::{PercentileRange, RangeFacts};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Moments, Percentiles};
use pathlight_trace::{Endpoint, Flags, Interner, Link, NO_ROW, Role, SpanKind, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

/// Tags that name a queue or topic, the first that a span has; the second is that of earlier conventions.
const DESTINATION_KEYS: [&str; 2] = ["messaging.destination.name", "messaging.destination"];

/// A span that received a message, of any worker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Receiver {
    endpoint: Endpoint,
    trace_id: String,
    span_id: String,
    start_us: u64,
    /// Empty if its tags name none.
    destination: String,
    fan_in: u32,
}

/// Consumers of a worker and the spans that they link to.
pub(crate) struct Receivers {
    /// By row of the sender: the row of the receiver. Sorted.
    pub here: Vec<(u32, u32)>,
    /// Senders that are not in this worker, with the rows of their receivers.
    elsewhere: Vec<(Link, u32)>,
}

impl Receivers {
    /// Returns the consumers of a group that have links.
    pub fn of(set: &TraceSet, group: u8) -> Receivers {
        let rows = rows_of_targets(set);
        let mut out = Receivers { here: Vec::new(), elsewhere: Vec::new() };
        let is_receiver =
            |link: &Link| link.trace.group == group && set.kind(link.from) == SpanKind::Consumer;
        for link in set.links().filter(is_receiver) {
            match rows.get(&(link.trace, link.span)) {
                Some(&sender) => out.here.push((sender, link.from)),
                None => out.elsewhere.push((link, link.from)),
            }
        }
        out.here.compact_sort();
        out
    }

    /// Returns those whose senders are not here, for the workers that hold these. `set` must be named as in the report.
    pub fn elsewhere(&self, set: &TraceSet) -> Vec<(SpanAddress, Receiver)> {
        let trace_of = |row: u32| set.traces().partition_point(|trace| trace.end <= row) as u32;
        let of = |&(link, row): &(Link, u32)| {
            let receiver = Receiver {
                endpoint: set.owned_endpoint(set.endpoint(row)),
                trace_id: set.trace_id_text(trace_of(row)),
                span_id: set.span_id_text(row),
                start_us: set.start_us(row),
                destination: destination(set, row).to_owned(),
                fan_in: fan_in(set, row),
            };
            (SpanAddress::of_target(set, &link), receiver)
        };
        self.elsewhere.iter().map(of).collect()
    }
}

/// Returns how many messages a consumer received at once: its links, and its parent if that has sent one of them.
pub(crate) fn fan_in(set: &TraceSet, row: u32) -> u32 {
    set.links_of(row..row + 1).count() as u32 + u32::from(is_parent_sender(set, row))
}

/// Returns whether the parent of a consumer has sent it a message, and is not what it was received in.
fn is_parent_sender(set: &TraceSet, row: u32) -> bool {
    let parent = set.parent(row);
    let is_sent = || set.flags(row).has(Flags::FOLLOWS_FROM) || set.kind(parent) == SpanKind::Producer;
    parent != NO_ROW && is_sent()
}

/// Returns the queue that a span names; empty if none.
pub(crate) fn destination(set: &TraceSet, row: u32) -> &str {
    DESTINATION_KEYS.iter().find_map(|key| set.tags.value(set.tag_set(row), key)).unwrap_or("")
}

/// Returns the name of the queue between two spans, which the receiver says, else the sender; empty if none does.
pub(crate) fn queue_between(set: &TraceSet, sender: u32, receiver: u32) -> &str {
    match destination(set, receiver) {
        "" => destination(set, sender),
        named => named,
    }
}

/// An edge by numbers that hold within an observer.
pub(super) type EdgeKey = (u32, u32, u32);

/// Whoever received a message that is being observed.
#[derive(Clone, Copy)]
pub(super) enum ReceivedBy {
    /// A row of the set.
    Row(u32),
    /// A place among the receivers of other workers.
    Other(u32),
}

/// Messages of one edge, by rows.
#[derive(Default)]
struct Messages {
    waits_us: Vec<u64>,
    early: u64,
    /// Messages by how many were received at once.
    fan_in: BTreeMap<u32, u64>,
    /// The longest wait, with the rows of sender and receiver.
    longest: Option<(u64, u32, ReceivedBy)>,
    /// Messages that a consumer has received.
    consumed: u64,
    /// Requests that send, and their latencies together.
    requests: u64,
    latency_sum_us: u128,
    /// The last of these requests.
    last: Option<u32>,
}

/// Collects the messages that the requests of one worker send.
pub(super) struct QueuesObserver {
    receivers: Receivers,
    /// Receivers of other workers whose senders may be here.
    others: Vec<Receiver>,
    /// By row of the sender: its place among `others`. Sorted.
    from_others: Vec<(u32, u32)>,
    /// Numbers of the endpoints of `others`: those of the set, then further ones.
    other_endpoints: Vec<u32>,
    further: Vec<Endpoint>,
    destinations: Interner,
    edges: FxHashMap<EdgeKey, Messages>,
    /// The request at hand, and its latency.
    request: (u32, u64),
}

impl QueuesObserver {
    /// Returns an observer of requests of a group of this set; `others` are what other workers received without knowing from
    /// whom.
    pub fn new(set: &TraceSet, group: u8, others: Vec<(SpanAddress, Receiver)>) -> QueuesObserver {
        let (addresses, others): (Vec<SpanAddress>, Vec<Receiver>) = others.into_iter().unzip();
        let rows = SpanAddress::find(&addresses, set);
        let mut from_others: Vec<(u32, u32)> =
            rows.into_iter().zip(0..).filter_map(|(row, place)| Some((row?, place))).collect();
        from_others.compact_sort();
        let known = set.endpoints().len() as u32;
        let mut numbers: BTreeMap<&Endpoint, u32> = BTreeMap::new();
        let mut further = Vec::new();
        let mut number = |endpoint| {
            *numbers.entry(endpoint).or_insert_with(|| {
                match set.find_endpoint(&endpoint.service, &endpoint.operation) {
                    Some(id) => id.0,
                    None => {
                        further.push(endpoint.clone());
                        known + further.len() as u32 - 1
                    }
                }
            })
        };
        let other_endpoints = others.iter().map(|receiver| number(&receiver.endpoint)).collect();
        QueuesObserver {
            receivers: Receivers::of(set, group),
            others,
            from_others,
            other_endpoints,
            further,
            destinations: Interner::default(),
            edges: FxHashMap::default(),
            request: (0, 0),
        }
    }

    /// Takes note of a message from span `sender` of a tree.
    fn message(
        &mut self,
        set: &TraceSet,
        tree: &Tree,
        sender: u32,
        by: ReceivedBy,
        start_us: u64,
        fan_in: u32,
    ) {
        let row = tree.row(sender);
        let sent_us = tree.raw_start_us(set, sender);
        let end_us = sent_us.saturating_add(set.duration_us(row));
        let since_us = since_us(sent_us, end_us, start_us);
        let wait_us = start_us.saturating_sub(since_us);
        let (receiver, named) = match by {
            ReceivedBy::Row(row) => (set.endpoint(row).0, destination(set, row)),
            ReceivedBy::Other(place) => {
                (self.other_endpoints[place as usize], self.others[place as usize].destination.as_str())
            }
        };
        let named = if named.is_empty() { destination(set, row) } else { named };
        let destination = self.destinations.intern(named).0;
        let messages = self.edges.entry((set.endpoint(row).0, receiver, destination)).or_default();
        messages.waits_us.push(wait_us);
        messages.early += u64::from(start_us < since_us);
        messages.consumed += u64::from(match by {
            ReceivedBy::Row(row) => set.kind(row) == SpanKind::Consumer,
            ReceivedBy::Other(_) => true,
        });
        let (request, latency_us) = self.request;
        if messages.last.replace(request) != Some(request) {
            messages.requests += 1;
            messages.latency_sum_us += u128::from(latency_us);
        }
        *messages.fan_in.entry(fan_in).or_default() += 1;
        let found = (wait_us, row, by);
        let is_longer = messages.longest.is_none_or(|kept| is_longer(set, &self.others, found, kept));
        if is_longer {
            messages.longest = Some(found);
        }
    }
}

/// Returns since when a message waits that a span over an interval has sent and another one receives at `received_us`: who goes
/// on while the message is handled has sent it at some time since its start.
pub(crate) fn since_us(start_us: u64, end_us: u64, received_us: u64) -> u64 {
    if end_us > received_us { start_us } else { end_us }
}

/// Returns the part of a list sorted by rows that lies in some of them.
fn within(list: &[(u32, u32)], from: u32, to: u32) -> std::ops::Range<usize> {
    list.partition_point(|of| of.0 < from)..list.partition_point(|of| of.0 < to)
}

/// Returns whether a message waited longer than another, or as long and its ids come first.
fn is_longer(
    set: &TraceSet,
    others: &[Receiver],
    a: (u64, u32, ReceivedBy),
    b: (u64, u32, ReceivedBy),
) -> bool {
    let ids = |row: u32| {
        let trace = set.traces().partition_point(|trace| trace.end <= row);
        (set.traces()[trace].id, set.span_id(row))
    };
    let order = a.0.cmp(&b.0).then_with(|| {
        let ((trace, span), (other_trace, other_span)) = (ids(b.1), ids(a.1));
        trace.compare(other_trace, &set.id_texts).then_with(|| span.compare(other_span, &set.id_texts))
    });
    let receiver = |by: ReceivedBy| example(set, others, (0, a.1, by));
    order.then_with(|| receiver(b.2).cmp(&receiver(a.2))) == Ordering::Greater
}

pub(super) fn example(
    set: &TraceSet,
    others: &[Receiver],
    (wait_us, sender, by): (u64, u32, ReceivedBy),
) -> QueueExample {
    let ids = |row: u32| {
        let trace = set.traces().partition_point(|trace| trace.end <= row) as u32;
        (set.trace_id_text(trace), set.span_id_text(row))
    };
    let (sender_trace_id, sender_span_id) = ids(sender);
    let (receiver_trace_id, receiver_span_id) = match by {
        ReceivedBy::Row(row) => ids(row),
        ReceivedBy::Other(place) => {
            let receiver = &others[place as usize];
            (receiver.trace_id.clone(), receiver.span_id.clone())
        }
    };
    QueueExample { sender_trace_id, sender_span_id, receiver_trace_id, receiver_span_id, wait_us }
}

impl Observer for QueuesObserver {
    type Part = QueuesPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let entry = &table.requests[request as usize];
        let root = entry.row - tree.first;
        self.request = (request, entry.latency_us);
        let end = tree.subtree_end[root as usize];
        for i in root + 1..end {
            if tree.role[i as usize] == Role::Async
                && let Some(sender) = tree.parent_of(i)
            {
                let (row, start_us) = (tree.row(i), tree.raw_start_us(set, i));
                let is_of_batch = set.kind(row) == SpanKind::Consumer && is_parent_sender(set, row);
                let fan_in = if is_of_batch { fan_in(set, row) } else { 1 };
                self.message(set, tree, sender, ReceivedBy::Row(row), start_us, fan_in);
            }
        }
        let (first, end) = (tree.row(root), tree.row(end));
        for at in within(&self.receivers.here, first, end) {
            let (sender, row) = self.receivers.here[at];
            let by = ReceivedBy::Row(row);
            self.message(set, tree, sender - tree.first, by, set.start_us(row), fan_in(set, row));
        }
        for at in within(&self.from_others, first, end) {
            let (sender, place) = self.from_others[at];
            let Receiver { start_us, fan_in, .. } = self.others[place as usize];
            self.message(set, tree, sender - tree.first, ReceivedBy::Other(place), start_us, fan_in);
        }
    }

    fn finish(self, set: &TraceSet) -> QueuesPart {
        let QueuesObserver { others, further, destinations, edges, .. } = self;
        let known = set.endpoints().len() as u32;
        let endpoint = |number: u32| match number.checked_sub(known) {
            Some(place) => further[place as usize].clone(),
            None => set.owned_endpoint(pathlight_trace::EndpointId(number)),
        };
        let mut part = QueuesPart::default();
        for ((sender, receiver, name), messages) in edges {
            let Some(longest) = messages.longest else { continue };
            let name = destinations.get(pathlight_trace::Symbol(name)).to_owned();
            let mut waits_us = messages.waits_us;
            waits_us.sort_unstable();
            let edge = EdgePart {
                waits_us: pack_sorted(waits_us),
                path_us: Vec::new(),
                by_request: Moments::default(),
                early: messages.early,
                fan_in: messages.fan_in,
                consumed: messages.consumed,
                requests: messages.requests,
                latency_sum_us: messages.latency_sum_us,
                longest: example(set, &others, longest),
            };
            part.edges.insert((endpoint(sender), endpoint(receiver), name), edge);
        }
        part
    }
}

/// The messages of one edge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct EdgePart {
    /// Sorted and packed.
    pub waits_us: Vec<u64>,
    /// Of requests until everything is done: what each message takes of the way to the end, sorted and packed; else empty.
    pub path_us: Vec<u64>,
    /// That of all messages of a request, over requests that have some.
    pub by_request: Moments,
    pub early: u64,
    pub fan_in: BTreeMap<u32, u64>,
    /// Messages that a consumer has received.
    pub consumed: u64,
    /// Requests that send.
    pub requests: u64,
    /// The latencies of these together, in microseconds.
    pub latency_sum_us: u128,
    /// The message that waited longest.
    pub longest: QueueExample,
}

impl EdgePart {
    /// Returns the time in the queue of each message, sorted, in microseconds.
    pub fn waits_us(&self) -> Vec<u64> {
        unpack_sorted(self.waits_us.clone())
    }

    /// Returns what counts of each message: its time in the queue, or of requests until everything is done what that takes of
    /// the way to the end. Sorted, in microseconds.
    pub fn counted_us(&self) -> Vec<u64> {
        if self.is_on_path() { unpack_sorted(self.path_us.clone()) } else { self.waits_us() }
    }

    /// Returns whether requests end when everything is done.
    pub fn is_on_path(&self) -> bool {
        !self.path_us.is_empty()
    }

    fn merge(&mut self, other: EdgePart) {
        self.waits_us = joined(std::mem::take(&mut self.waits_us), other.waits_us);
        self.path_us = joined(std::mem::take(&mut self.path_us), other.path_us);
        self.by_request.merge(other.by_request);
        self.early += other.early;
        self.consumed += other.consumed;
        self.requests += other.requests;
        self.latency_sum_us += other.latency_sum_us;
        for (fan_in, messages) in other.fan_in {
            *self.fan_in.entry(fan_in).or_default() += messages;
        }
        let key = |example: &QueueExample| Reverse(example.wait_us);
        if (key(&other.longest), &other.longest) < (key(&self.longest), &self.longest) {
            self.longest = other.longest;
        }
    }
}

/// Joins sorted and packed times.
fn joined(a: Vec<u64>, b: Vec<u64>) -> Vec<u64> {
    let mut all = unpack_sorted(a);
    all.append(&mut unpack_sorted(b));
    // A stable sort joins the runs.
    all.sort();
    pack_sorted(all)
}

/// Sender, receiver, and the name of the queue.
pub(super) type EdgeName = (Endpoint, Endpoint, String);

/// Messages that the requests of one worker send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueuesPart {
    pub(super) edges: BTreeMap<EdgeName, EdgePart>,
}

impl QueuesPart {
    /// Returns whether requests end when everything is done, and lead to messages.
    pub fn is_on_path(&self) -> bool {
        self.edges.values().any(EdgePart::is_on_path)
    }

    /// Returns the time in a queue of each of its messages, sorted, in microseconds.
    pub fn waits_us(&self, queue: &QueueName) -> Vec<u64> {
        let QueueName { destination, sender, receiver } = queue.clone();
        self.edges.get(&(sender, receiver, destination)).map_or_else(Vec::new, EdgePart::waits_us)
    }

    /// Merges the parts of all workers.
    pub fn merge(parts: Vec<QueuesPart>) -> QueuesPart {
        let mut sum = QueuesPart::default();
        for (edge, part) in parts.into_iter().flat_map(|part| part.edges) {
            match sum.edges.get_mut(&edge) {
                Some(known) => known.merge(part),
                None => {
                    sum.edges.insert(edge, part);
                }
            }
        }
        sum
    }

    /// Makes the report of merged parts.
    pub fn finish(self, range: PercentileRange, facts: RangeFacts, lost_senders: u64) -> QueuesReport {
        let mut edges: Vec<QueueEdge> = self.edges.into_iter().map(edge).collect();
        // Stable: of equal sums by names.
        edges.compact_sort_by_key(|edge| Reverse(edge.sum_us));
        QueuesReport { range, facts, edges, lost_senders }
    }
}

fn edge(((sender, receiver, destination), part): (EdgeName, EdgePart)) -> QueueEdge {
    let waits_us = unpack_sorted(part.waits_us);
    // Each of n messages that are received at once is the n-th part of what receives them.
    let receivers: f64 =
        part.fan_in.iter().map(|(&n, &messages)| messages as f64 / f64::from(n.max(1))).sum();
    QueueEdge {
        sender,
        receiver,
        destination,
        requests: part.requests,
        messages: waits_us.len() as u64,
        wait_us: Percentiles::of_sorted(&waits_us),
        sum_us: waits_us.iter().map(|&us| u128::from(us)).sum(),
        early: part.early,
        fan_in: if receivers > 0.0 { waits_us.len() as f64 / receivers } else { 0.0 },
        most_fan_in: part.fan_in.keys().next_back().copied().unwrap_or(0),
        longest: part.longest,
    }
}
