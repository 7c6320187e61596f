//! Messages that are received later, on demand: some by spans below the one that sends, some by spans of other traces that
//! only link to it. How long each waits is known.

use super::build::{About, Beginning};
use super::topology::Role;
use super::{BuiltReference, GenerateOptions, GeneratedProcess, GeneratedSpan, GeneratedTrace};
use pathlight_base::statistics::{Random, mix};
use pathlight_trace::SpanKind;

/// Traces whose messages are received together.
const BATCH: u64 = 6;
/// One message of so many is lost.
const LOST: u64 = 13;
/// The longest wait of a message that no other trace receives.
const LONGEST_US: u64 = 300_000;

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

/// The message that a trace sends to another one.
struct Sent {
    trace_id: u64,
    span_id: u64,
    start_us: u64,
    duration_us: u64,
}

impl Sent {
    /// Returns that of a trace, which need not be made for it.
    fn of(options: &GenerateOptions, index: u64) -> Sent {
        let Beginning { base, trace_id, root_start_us } = Beginning::of(options, index);
        let chance = mix(base ^ 0x5e4d);
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
        let wait_us = if random.below(4) == 0 { random.below(40) } else { random.below(LONGEST_US) };
        let is_early = wait_us < publish.duration_us && random.below(2) == 0;
        let since_us = if is_early { publish.start_us } else { publish.start_us + publish.duration_us };
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
    // Received in the trace after those of the batch, by a span without a parent.
    let sent = Sent::of(options, index);
    trace.spans.push(span(
        "orders publish",
        SpanKind::Producer,
        sent.span_id,
        sent.start_us,
        sent.duration_us,
    ));
    if index == 0 || !index.is_multiple_of(BATCH) {
        return;
    }
    let mut batch: Vec<Sent> = (index - BATCH..index).map(|index| Sent::of(options, index)).collect();
    batch.retain(|sent| !sent.is_lost());
    let last_us = batch.iter().map(Sent::end_us).chain([root.start_us + root.duration_us]).max();
    let (start_us, id) = (last_us.unwrap_or(0) + 1 + random.below(LONGEST_US), random.number().max(1));
    let duration_us = 1000 + random.below(20_000);
    let mut handle = span("orders handle", SpanKind::Consumer, id, start_us, duration_us);
    handle.parent = None;
    handle.links = batch.iter().map(|sent| (sent.trace_id, sent.span_id)).collect();
    trace.messages.extend(batch.iter().map(|sent| GeneratedMessage {
        sender: "orders publish",
        receiver: "orders handle",
        wait_us: start_us - sent.end_us(),
        fan_in: batch.len() as u32,
    }));
    trace.spans.push(handle);
}
