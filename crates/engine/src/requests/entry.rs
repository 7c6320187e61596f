//! One request: its facts in a worker, and its names in a report.

use pathlight_trace::TraceSet;
use serde::{Deserialize, Serialize};

/// A request of one worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestEntry {
    /// Trace number in the set.
    pub trace: u32,
    /// Row of its root span in the set.
    pub row: u32,
    /// Latency in microseconds: the sanitised duration of its root, or the time until everything is done.
    pub latency_us: u64,
    /// Sanitised start of its root.
    pub start_us: u64,
    /// Spans below and including its root, dropped ones not counted.
    pub spans: u32,
    /// Error spans among them.
    pub errors: u32,
    /// Spans on its critical path.
    pub path_spans: u32,
    /// Whether it leads to more than was followed, if its path is that until everything is done.
    pub is_cut: bool,
    /// One past its last row among the entries of its [`PathTable`](crate::flame::PathTable); its first is the end
    /// of the request before.
    pub(crate) entries_end: u32,
    /// The same among what it waits for.
    pub(crate) waits_end: u32,
}

/// Sort key of requests (`docs/definitions/critical-path.md` section 4): latency, then trace id, then root span id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestKey {
    /// Latency in microseconds.
    pub latency_us: u64,
    /// Canonical trace id.
    pub trace_id: String,
    /// Canonical id of the request's root span.
    pub root_span_id: String,
}

impl RequestKey {
    /// Returns the key before those of all requests of a latency.
    pub fn least(latency_us: u64) -> RequestKey {
        RequestKey { latency_us, trace_id: String::new(), root_span_id: String::new() }
    }

    /// Returns the key of a request.
    pub fn of(set: &TraceSet, request: &RequestEntry) -> RequestKey {
        RequestKey {
            latency_us: request.latency_us,
            trace_id: set.trace_id_text(request.trace),
            root_span_id: set.span_id_text(request.row),
        }
    }
}

/// A request by its ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestRef {
    /// Canonical trace id.
    pub trace_id: String,
    /// Canonical id of the request's root span.
    pub root_span_id: String,
    /// Latency in microseconds.
    pub latency_us: u64,
}

impl RequestRef {
    /// Returns the ids of a request.
    pub fn of(set: &TraceSet, request: &RequestEntry) -> RequestRef {
        RequestRef {
            trace_id: set.trace_id_text(request.trace),
            root_span_id: set.span_id_text(request.row),
            latency_us: request.latency_us,
        }
    }
}
