//! The report of queues.

use crate::requests::{PercentileRange, RangeFacts};
use pathlight_base::statistics::Percentiles;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};

/// Messages that the selected requests send, by edge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueuesReport {
    /// The percentile range of the requests.
    pub range: PercentileRange,
    /// Facts about it.
    pub facts: RangeFacts,
    /// The edges, most time in the queue first, then by names.
    pub edges: Vec<QueueEdge>,
    /// Links of consumers, of any request, to a sender that is not loaded.
    pub lost_senders: u64,
}

impl QueuesReport {
    /// Returns the number of messages over all edges.
    pub fn messages(&self) -> u64 {
        self.edges.iter().map(|edge| edge.messages).sum()
    }

    /// Returns the time of all messages in queues, in microseconds.
    pub fn sum_us(&self) -> u128 {
        self.edges.iter().map(|edge| edge.sum_us).sum()
    }

    /// Returns how many messages came before they were sent.
    pub fn early(&self) -> u64 {
        self.edges.iter().map(|edge| edge.early).sum()
    }
}

/// Messages from one endpoint to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueEdge {
    /// The endpoint that sends.
    pub sender: Endpoint,
    /// The endpoint that receives.
    pub receiver: Endpoint,
    /// Name of the queue or topic; empty if none was recorded.
    pub destination: String,
    /// Requests that send.
    pub requests: u64,
    /// Number of messages: pairs of a sender and a receiver.
    pub messages: u64,
    /// Time in the queue of each message, in microseconds.
    pub wait_us: Percentiles,
    /// Time of all messages in the queue, in microseconds.
    pub sum_us: u128,
    /// Messages that were received before they were sent, by clocks that were set; they count as 0.
    pub early: u64,
    /// Mean number of messages that are received at once.
    pub fan_in: f64,
    /// Greatest number of messages that are received at once.
    pub most_fan_in: u32,
    /// The message that waited longest.
    pub longest: QueueExample,
}

/// A message, by its spans.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueExample {
    /// Canonical id of the trace of the span that sent.
    pub sender_trace_id: String,
    /// Canonical id of that span.
    pub sender_span_id: String,
    /// Canonical id of the trace of the span that received.
    pub receiver_trace_id: String,
    /// Canonical id of that span.
    pub receiver_span_id: String,
    /// Time in the queue in microseconds.
    pub wait_us: u64,
}
