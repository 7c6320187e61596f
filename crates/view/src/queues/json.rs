//! Messages that wait, as JSON.

use crate::json::parts::{Text, percent, pretty, public_json};
use pathlight_base::statistics::Percentiles;
use pathlight_engine::queues::{QueueEdge, QueueExample, QueuesReport};

public_json! {
    /// Messages that requests send, and how long they wait until they are received. A message is a pair of spans: an
    /// asynchronous span and its parent, or a consumer and a span that it links to.
    Queues<'a>(report: &'a QueuesReport) {
        /// Number of requests in the percentile range.
        requests: u64 = report.facts.requests,
        /// The percentile range as `[from, to]`, in percent.
        band: [f64; 2] = percent(Some(report.range)),
        /// Number of messages.
        messages: u64 = report.messages(),
        /// Time of all messages in queues.
        sum_us: u128 = report.sum_us(),
        /// Messages that were received before they were sent, by clocks that were set; they count as 0.
        early: u64 = report.early(),
        /// Links of consumers, of any request, to a span that is not loaded.
        lost_senders: u64 = report.lost_senders,
        /// By sender, receiver and queue: most time in the queue first, then by names.
        edges: Vec<Edge<'a>> = report.edges.iter().map(Edge::of).collect(),
    }
}

public_json! {
    /// Messages from one endpoint to another.
    Edge<'a>(edge: &'a QueueEdge) {
        /// Service that sends.
        sender_service: &'a str = &edge.sender.service,
        /// Operation that sends.
        sender_operation: &'a str = &edge.sender.operation,
        /// Service that receives.
        receiver_service: &'a str = &edge.receiver.service,
        /// Operation that receives.
        receiver_operation: &'a str = &edge.receiver.operation,
        /// Name of the queue or topic; empty if none was recorded.
        destination: &'a str = &edge.destination,
        /// Requests that send.
        requests: u64 = edge.requests,
        /// Number of messages.
        messages: u64 = edge.messages,
        /// Time in the queue of each message.
        wait_us: Percentiles = edge.wait_us,
        /// Time of all messages in the queue.
        sum_us: u128 = edge.sum_us,
        /// Messages that were received before they were sent, by clocks that were set; they count as 0.
        early: u64 = edge.early,
        /// Mean number of messages that are received at once.
        fan_in: f64 = edge.fan_in,
        /// Greatest number of messages that are received at once.
        most_fan_in: u32 = edge.most_fan_in,
        /// The message that waited longest.
        longest: &'a QueueExample = &edge.longest,
    }
}

/// Returns the JSON of `queues`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn queues(report: &QueuesReport) -> Text {
    pretty(&Queues::of(report))
}
