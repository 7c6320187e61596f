//! What every worker does once for a plan.

use super::queries::{FlowPass, SpanKey};
use super::request_pass::RequestPass;
use pathlight_analysis::requests::{Cut, PathSettings, Selection};
use pathlight_analysis::search::SpanSearch;
use pathlight_model::trace::PlaceNames;
use serde::{Deserialize, Serialize};

/// One look at the traces of a worker. Selections are at any latency: the percentile range is in the cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Pass {
    /// Names with values, and what calls call.
    Places,
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
    /// One look at the invocations within the requests inside a cut; `None`: at any latency.
    Flow {
        selection: Selection,
        cut: Option<Cut>,
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
    /// Spans of a trace that a search finds.
    FindSpans {
        trace_id: String,
        group: u8,
        settings: PathSettings,
        search: SpanSearch,
    },
}

impl Pass {
    /// How traces are read; `None` where that does not matter.
    pub fn settings(&self) -> Option<PathSettings> {
        match self {
            Pass::Places | Pass::Span { .. } => None,
            Pass::Overview { settings } | Pass::Trace { settings, .. } | Pass::FindSpans { settings, .. } => {
                Some(*settings)
            }
            Pass::Latencies { selection }
            | Pass::Ties { selection, .. }
            | Pass::Requests { selection, .. }
            | Pass::Flow { selection, .. } => Some(selection.settings()),
        }
    }
}

/// A pass with what places are called in it, decided over all workers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NamedPass {
    pub names: Option<PlaceNames>,
    pub pass: Pass,
}
