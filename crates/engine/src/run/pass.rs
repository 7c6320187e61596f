//! A pass: what every worker does once for a plan.

use super::request_pass::RequestPass;
use crate::flow::query::FlowPass;
use crate::requests::search::SpanSearch;
use crate::requests::{Cut, Filter, GroupBy, RequestType, RootEndpoint, Selection, TypeNames};
use crate::timeline::query::Trace;
use crate::timeline::span::SpanKey;
use pathlight_trace::PathSettings;
use pathlight_trace::PlaceNames;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One look at the traces of a worker. Selections are at any latency: the percentile range is in the cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Pass {
    /// Names with values, and what calls call.
    Places,
    /// All names.
    Names,
    /// Summaries, joined by group.
    Summaries,
    /// The summaries of a group one by one.
    NamedSummaries {
        group: u8,
    },
    /// The facts that tell request types apart.
    Types {
        settings: PathSettings,
    },
    Overview {
        settings: PathSettings,
        by: GroupBy,
        incomplete: bool,
    },
    /// Sorted latencies of the selection, by type or of all as one.
    Latencies {
        selection: Selection,
        is_by_type: bool,
    },
    /// Keys of the requests with one of these latencies.
    Ties {
        selection: Selection,
        latencies_us: BTreeMap<RequestType, Vec<u64>>,
        is_by_type: bool,
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
    Trace(Trace),
    Pressures(Trace),
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
    /// Returns how traces are read; `None` where that does not matter.
    pub fn settings(&self) -> Option<PathSettings> {
        match self {
            Pass::Places
            | Pass::Names
            | Pass::Summaries
            | Pass::NamedSummaries { .. }
            | Pass::Span { .. } => None,
            Pass::Types { settings } | Pass::Overview { settings, .. } | Pass::FindSpans { settings, .. } => {
                Some(*settings)
            }
            Pass::Trace(of) | Pass::Pressures(of) => Some(of.settings),
            Pass::Latencies { selection, .. }
            | Pass::Ties { selection, .. }
            | Pass::Requests { selection, .. }
            | Pass::Flow { selection, .. } => Some(selection.settings()),
        }
    }

    /// Returns whether requests whose caller is not recorded were asked for; `None` where they do not matter.
    pub fn incomplete(&self) -> Option<bool> {
        match self {
            Pass::Overview { incomplete, .. } => Some(*incomplete),
            Pass::Latencies { selection, .. }
            | Pass::Ties { selection, .. }
            | Pass::Requests { selection, .. }
            | Pass::Flow { selection, .. } => {
                (selection.root == RootEndpoint::TraceRoots).then_some(selection.incomplete)
            }
            _ => None,
        }
    }

    /// Returns how requests are grouped; `None` where their types do not matter.
    pub fn by(&self) -> Option<&GroupBy> {
        let filters_by_type =
            |selection: &Selection| selection.filters.iter().any(|filter| matches!(filter, Filter::Type(_)));
        match self {
            Pass::Overview { by, .. } => Some(by),
            Pass::Latencies { selection, is_by_type } | Pass::Ties { selection, is_by_type, .. } => {
                (*is_by_type || filters_by_type(selection)).then_some(&selection.by)
            }
            Pass::Requests { selection, cut, pass } => {
                let is_cut = matches!(cut, Cut::ByType(_));
                (is_cut || pass.is_by_type() || filters_by_type(selection)).then_some(&selection.by)
            }
            Pass::Flow { selection, cut, .. } => {
                let is_cut = matches!(cut, Some(Cut::ByType(_)));
                (is_cut || filters_by_type(selection)).then_some(&selection.by)
            }
            Pass::Places
            | Pass::Names
            | Pass::Summaries
            | Pass::NamedSummaries { .. }
            | Pass::Types { .. }
            | Pass::Trace(_)
            | Pass::Pressures(_)
            | Pass::Span { .. }
            | Pass::FindSpans { .. } => None,
        }
    }
}

/// A pass with what places are called in it, decided over all workers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NamedPass {
    pub names: Option<PlaceNames>,
    /// How requests are grouped; none if that does not matter.
    pub types: Option<TypeNames>,
    /// Whether requests whose caller is not recorded count among those of all traces.
    pub incomplete: bool,
    pub pass: Pass,
}
