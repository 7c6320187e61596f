//! Messages that are received later, on demand. `events` are received below the span that sends, by several or by nobody;
//! `orders` in batches and `audit` by two consumers each, in other traces that only link to the span that sends. Some are
//! received very late, some are lost, and some consumers link to a span that was never written. How long each message waits
//! is known.

use super::build::{About, Beginning};
use super::topology::Role;
use super::{BuiltReference, GenerateOptions, GeneratedProcess, GeneratedSpan, GeneratedTrace};
use pathlight_base::statistics::{Random, mix};
use pathlight_trace::SpanKind;

/// Traces whose messages are received together.
const BATCH: u64 = 6;
/// One message of so many is lost.
const LOST: u64 = 13;
/// The longest wait of a message that is not late.
const LONGEST_US: u64 = 300_000;
/// One receiver of so many is late: by at least this time, and at most twice that.
const LATE: u64 = 9;
const LATE_US: u64 = 60_000_000;
/// A message of `audit` is received in the traces that come so many later.
const AUDIT_LATER: [u64; 2] = [1, 2];
/// One consumer of so many links to one span more, of a trace that was not written.
const NOT_WRITTEN: u64 = 11;

/// Numbers of the queues whose messages other traces receive.
const ORDERS: u64 = 0x5e4d;
const AUDIT: u64 = 0xa0d1;

/// A message that was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GeneratedMessage {
    /// Operation of the span that sends.
    pub sender: &'static str,
    /// Operation of the span that receives.
    pub receiver: &'static str,
    /// Time in the queue in microseconds (`docs/definitions/queues.md` section 2).
    pub wait_us: u64,
    /// Messages that are received at once.
    pub fan_in: u32,
}

impl GeneratedMessage {
    /// The queues.
    pub const QUEUES: [&str; 3] = ["events", "orders", "audit"];
}

/// Returns what is left of a time in the queue to which an operation belongs.
fn changed_us(options: &GenerateOptions, operation: &str, wait_us: u64) -> u64 {
    let changes = options
        .queues
        .iter()
        .filter(|of| operation.strip_prefix(&*of.queue).is_some_and(|rest| rest.starts_with(' ')));
    changes.fold(wait_us, |us, of| {
        let factor = (1_000_000 + i128::from(of.share_ppm)).max(0);
        u64::try_from((i128::from(us) * factor + 500_000) / 1_000_000).unwrap_or(us)
    })
}

/// Returns the time until a message is received.
fn wait_us(random: &mut Random) -> u64 {
    if random.below(LATE) == 0 { LATE_US + random.below(LATE_US) } else { random.below(LONGEST_US) }
}

/// The message that a trace sends to others.
struct Sent {
    trace_id: u64,
    span_id: u64,
    start_us: u64,
    duration_us: u64,
}

impl Sent {
    /// Returns that of a trace, which need not be made for it; `queue` tells those of one trace apart.
    fn of(options: &GenerateOptions, index: u64, queue: u64) -> Sent {
        let Beginning { base, trace_id, root_start_us } = Beginning::of(options, index);
        let chance = mix(base ^ queue);
        Sent {
            trace_id,
            span_id: mix(chance).max(1),
            start_us: root_start_us + 1 + chance % 50,
            duration_us: 5 + (chance >> 32) % 200,
        }
    }

    fn end_us(&self) -> u64 {
        self.start_us + self.duration_us
    }

    fn is_lost(&self) -> bool {
        self.span_id.is_multiple_of(LOST)
    }
}

/// Adds the messages of a trace, and what they are known by.
pub(super) fn add(trace: &mut GeneratedTrace, options: &GenerateOptions, index: u64, random: &mut Random) {
    let Some(root) = trace.spans.first().cloned() else { return };
    let worker = trace.processes.len() as u32;
    let around = root.process.and_then(|process| trace.processes.get(process as usize));
    trace.processes.push(GeneratedProcess {
        service: "message-worker",
        host: "message-worker-1".to_owned(),
        ip: "10.99.0.1".to_owned(),
        region: around.map_or("eu-west-1", |process| process.region),
        version: "1.0.0",
        zone: around.and_then(|process| process.zone),
    });
    let below = |id: u64| Some(BuiltReference { span_id: id, follows_from: false });
    let span = |operation, kind, span_id, start_us, duration_us| GeneratedSpan {
        span_id,
        parent: below(root.span_id),
        process: if kind == SpanKind::Consumer { Some(worker) } else { root.process },
        operation,
        kind,
        start_us,
        duration_us,
        error: false,
        about: About {
            role: if kind == SpanKind::Consumer { Role::Consumer } else { Role::Producer },
            peer: "",
            statement: "",
            own_error: false,
            hit: None,
            retry: false,
            passed: None,
            early: false,
            salt: mix(span_id),
        },
        ..root.clone()
    };
    // Received below the span that sends: by several, or by none.
    let publish = span("events publish", SpanKind::Producer, random.number().max(1), root.start_us, 40);
    let receivers = if random.below(LOST) == 0 { 0 } else { 1 + random.below(3) };
    for _ in 0..receivers {
        // Some begin while the sender still runs.
        let wait_us = if random.below(4) == 0 { random.below(40) } else { wait_us(random) };
        let is_early = wait_us < publish.duration_us && random.below(2) == 0;
        let since_us = if is_early { publish.start_us } else { publish.start_us + publish.duration_us };
        let wait_us = changed_us(options, "events handle", wait_us);
        let start_us = since_us + wait_us;
        let duration_us = 100 + random.below(5000);
        let id = random.number().max(1);
        let mut handle = span("events handle", SpanKind::Consumer, id, start_us, duration_us);
        handle.parent = below(publish.span_id);
        trace.spans.push(handle);
        trace.messages.push(GeneratedMessage {
            sender: "events publish",
            receiver: "events handle",
            wait_us,
            fan_in: 1,
        });
    }
    trace.spans.push(publish);
    // Received in other traces, by spans without a parent.
    for (operation, queue) in [("orders publish", ORDERS), ("audit publish", AUDIT)] {
        let sent = Sent::of(options, index, queue);
        let (start_us, duration_us) = (sent.start_us, sent.duration_us);
        trace.spans.push(span(operation, SpanKind::Producer, sent.span_id, start_us, duration_us));
    }
    // What this trace receives: of each queue the messages, and who receives them.
    let mut received: Vec<(&'static str, &'static str, Vec<Sent>)> = Vec::new();
    if index > 0 && index.is_multiple_of(BATCH) {
        let batch = (index - BATCH..index).map(|index| Sent::of(options, index, ORDERS)).collect();
        received.push(("orders publish", "orders handle", batch));
    }
    for later in AUDIT_LATER {
        let sent = index.checked_sub(later).map(|index| Sent::of(options, index, AUDIT));
        received.extend(sent.map(|sent| ("audit publish", "audit store", vec![sent])));
    }
    for (sender, receiver, mut sent) in received {
        sent.retain(|sent| !sent.is_lost());
        let is_not_written = random.below(NOT_WRITTEN) == 0;
        if sent.is_empty() && !is_not_written {
            continue;
        }
        let last_us = sent.iter().map(Sent::end_us).chain([root.start_us + root.duration_us]).max();
        let (mut start_us, id) = (last_us.unwrap_or(0) + 1 + wait_us(random), random.number().max(1));
        if let Some(sent_us) = sent.iter().map(Sent::end_us).max() {
            start_us = sent_us + changed_us(options, receiver, start_us - sent_us);
        }
        let mut handle = span(receiver, SpanKind::Consumer, id, start_us, 1000 + random.below(20_000));
        handle.parent = None;
        handle.links = sent.iter().map(|sent| (sent.trace_id, sent.span_id)).collect();
        if is_not_written {
            handle.links.push((random.number().max(1), random.number().max(1)));
            trace.lost_senders += 1;
        }
        let fan_in = handle.links.len() as u32;
        trace.messages.extend(sent.iter().map(|sent| {
            let wait_us = start_us - sent.end_us();
            GeneratedMessage { sender, receiver, wait_us, fan_in }
        }));
        trace.spans.push(handle);
    }
}
