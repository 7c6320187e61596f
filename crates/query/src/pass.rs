//! What every worker does once for a plan.

use super::queries::{FlowPass, SpanKey};
use super::request_pass::RequestPass;
use pathlight_analysis::requests::{Cut, PathSettings, Selection};
use serde::{Deserialize, Serialize};

/// One look at the traces of a worker. Selections are at any latency: the percentile range is in the cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Pass {
    Overview {
        settings: PathSettings,
    },
    /// Sorted latencies of the selection.
    Latencies {
        selection: Selection,
    },
    /// Keys of the requests with one of these latencies.
    Ties {
        selection: Selection,
        latencies_us: Vec<u64>,
    },
    /// One look at the requests inside a cut.
    Requests {
        selection: Selection,
        cut: Cut,
        pass: RequestPass,
    },
    /// One look at invocations.
    Flow {
        selection: Selection,
        pass: Box<FlowPass>,
    },
    Trace {
        trace_id: String,
        root_span_id: Option<String>,
        settings: PathSettings,
        group: u8,
    },
    Span {
        trace_id: String,
        span: SpanKey,
        group: u8,
    },
}
