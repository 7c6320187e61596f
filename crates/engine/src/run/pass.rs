//! A pass: what every worker does once for a plan. Most are declared beside the queries that want them; here are those that
//! every plan may need.

use super::request_pass::PackedRequestPass;
use super::set_pass::PackedSetPass;
use crate::flow::passes::FlowPass;
use crate::requests::{Cut, GroupBy, RequestType, RootEndpoint, Selection, TypeNames, Until};
use pathlight_base::encoding::Packed;
use pathlight_trace::{PathSettings, PlaceNames};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What every worker does once, with its own traces.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Pass {
    /// What decides over the names of places.
    Places,
    /// What decides over request types.
    Types { settings: PathSettings },
    /// Sorted latencies of the requests of a selection, by type unless its ranges are cut out of all together, and how they
    /// cover their traces.
    Latencies { selection: Selection },
    /// Keys of the requests with one of these latencies, by type.
    Ties { selection: Selection, latencies_us: BTreeMap<RequestType, Vec<u64>>, is_by_type: bool },
    /// A pass of a query over the requests of a selection inside a cut.
    Requests { selection: Selection, cut: Cut, pass: PackedRequestPass },
    /// A pass of an execution flow; without a cut over all requests of a selection.
    Flow { selection: Selection, cut: Option<Cut>, pass: Box<FlowPass> },
    /// A pass of a query over all traces.
    Set(PackedSetPass),
}

impl Pass {
    /// Returns how spans are read; `None`: as they were recorded, whatever they are called.
    pub fn settings(&self) -> Option<PathSettings> {
        match self {
            Pass::Places => None,
            Pass::Types { settings } => Some(*settings),
            Pass::Set(pass) => pass.settings,
            Pass::Latencies { selection, .. }
            | Pass::Ties { selection, .. }
            | Pass::Requests { selection, .. }
            | Pass::Flow { selection, .. } => Some(selection.settings()),
        }
    }

    /// Returns whether the requests of all traces include those whose caller is not recorded, although enough traces have
    /// their root; `None`: it does not matter.
    pub fn incomplete(&self) -> Option<bool> {
        match self {
            Pass::Set(pass) => pass.incomplete,
            Pass::Latencies { selection, .. }
            | Pass::Ties { selection, .. }
            | Pass::Requests { selection, .. }
            | Pass::Flow { selection, .. } => {
                (selection.root == RootEndpoint::TraceRoots).then_some(selection.incomplete)
            }
            Pass::Places | Pass::Types { .. } => None,
        }
    }

    /// Returns when the requests that it is about end.
    pub fn until(&mut self) -> Until {
        self.selection().map_or(Until::Answer, |selection| selection.until)
    }

    /// Returns the requests it is about; `None`: all.
    pub fn selection(&mut self) -> Option<&mut Selection> {
        match self {
            Pass::Latencies { selection, .. }
            | Pass::Ties { selection, .. }
            | Pass::Requests { selection, .. }
            | Pass::Flow { selection, .. } => Some(selection),
            Pass::Places | Pass::Types { .. } | Pass::Set(_) => None,
        }
    }

    /// Returns how requests are grouped into types; `None`: types do not matter.
    pub fn by(&self) -> Option<&GroupBy> {
        match self {
            Pass::Set(pass) => pass.by.as_ref(),
            Pass::Latencies { selection } => {
                (!selection.over_all || selection.filters_by_type()).then_some(&selection.by)
            }
            Pass::Ties { selection, is_by_type, .. } => {
                (*is_by_type || selection.filters_by_type()).then_some(&selection.by)
            }
            Pass::Requests { selection, cut, pass } => {
                let is_cut = matches!(cut, Cut::ByType(_));
                // Chosen once, for these and for the latencies by type, whichever comes first.
                let is_typed = !selection.over_all || is_cut || pass.is_by_type;
                (is_typed || selection.filters_by_type()).then_some(&selection.by)
            }
            Pass::Flow { selection, cut, .. } => {
                let is_cut = matches!(cut, Some(Cut::ByType(_)));
                (is_cut || selection.filters_by_type()).then_some(&selection.by)
            }
            Pass::Places | Pass::Types { .. } => None,
        }
    }
}

/// A pass with what was found out before about the names of places and types, as it travels to workers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NamedPass {
    /// What places are called, if they are not called as they were recorded.
    pub names: Option<Arc<Packed<PlaceNames>>>,
    /// How requests are grouped into types, if they are.
    pub types: Option<Arc<Packed<TypeNames>>>,
    /// Whether requests whose caller is not recorded count among those of all traces.
    pub incomplete: bool,
    /// Hashes of the traces out of which and into which no link is followed, where links are; ascending.
    pub apart: Vec<u64>,
    /// The pass.
    pub pass: Pass,
}
