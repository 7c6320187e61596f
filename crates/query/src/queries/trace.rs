//! One trace with the critical path of a request.

use super::Query;
use crate::EngineError;
use crate::pass::Pass;
use crate::workers::Workers;
use pathlight_analysis::critical_path::{PathFinder, TraceReport, waits_of};
use pathlight_analysis::flow::RequestPressure;
use pathlight_analysis::requests::PathSettings;
use pathlight_model::ordered::OrderedMap;
use pathlight_model::trace::calls::caller_stopped;
use pathlight_model::trace::{Flags, NO_ROW, Role, Rule, TraceId, TraceSet, Tree};
use serde::{Deserialize, Serialize};

/// Reports one trace with its critical path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Canonical trace id.
    pub trace_id: String,
    /// Canonical id of the request's root span; `None`: the trace root.
    pub root_span_id: Option<String>,
    /// Settings with which the trace is read.
    pub settings: PathSettings,
    /// Which set of traces, see [`Selection::group`](pathlight_analysis::requests::Selection::group).
    pub group: u8,
}

impl Query for Trace {
    /// `None` if no such trace is loaded.
    type Report = Option<TraceReport>;

    async fn run(self, workers: Workers) -> Result<Option<TraceReport>, EngineError> {
        let Trace { trace_id, root_span_id, settings, group } = self;
        let pass = Pass::Trace { trace_id, root_span_id, settings, group };
        Ok(workers.partials::<Option<_>>(pass).await?.into_iter().flatten().next())
    }
}

/// Returns the number of the trace with this canonical id in a group.
pub(super) fn find_trace(set: &TraceSet, trace_id: &str, group: u8) -> Option<u32> {
    set.find_trace(TraceId::find(trace_id, &set.id_texts)?.in_group(group))
}

/// Returns what a worker tells of a trace; `None` if it has none such.
pub(crate) fn trace(
    set: &TraceSet,
    trace_id: &str,
    root_span_id: Option<&str>,
    settings: PathSettings,
    group: u8,
) -> Option<TraceReport> {
    let number = find_trace(set, trace_id, group)?;
    let mut tree = Tree::default();
    tree.load(set, number, settings);
    let n = tree.len() as u32;
    let root = match root_span_id {
        Some(id) => (0..n).find(|&i| set.span_id_text(tree.row(i)) == id).unwrap_or(0),
        None => 0,
    };
    let mut finder = PathFinder::default();
    if tree.role[root as usize] != Role::Dropped {
        finder.find(set, &tree, root, settings.overlap);
    }
    // A clipped or moved span stays within its root, so the raw intervals and the path span all there is to show.
    let rows = tree.first..tree.first + n;
    let starts = || (0..n).map(|i| tree.raw_start_us(set, i));
    let origin = starts().min().unwrap_or(0);
    let end_us =
        starts().zip(rows).map(|(start, row)| start + set.duration_us(row)).max().unwrap_or(0) - origin;
    let mut names: OrderedMap<u32, u32> = OrderedMap::new();
    let mut report = TraceReport {
        trace_id: set.trace_id_text(number),
        request_root: root,
        start_us: origin,
        end_us,
        parent: tree.parent.clone(),
        ..TraceReport::default()
    };
    for i in 0..n {
        let row = tree.row(i);
        let endpoint = set.endpoint(row);
        let name = *names.entry(endpoint.0).or_insert_with(|| {
            report.endpoints.push(set.owned_endpoint(endpoint));
            report.endpoints.len() as u32 - 1
        });
        report.endpoint.push(name);
        let (start, duration) = (tree.raw_start_us(set, i), set.duration_us(row));
        report.span_start_us.push(start - origin);
        report.duration_us.push(duration);
        let parent = tree.parent[i as usize];
        report.depth.push(if parent == NO_ROW { 0 } else { report.depth[parent as usize] + 1 });
        let flags = set.flags(row);
        let role = tree.role[i as usize];
        let mut bits = 0;
        let mut mark = |bit: u8, on: bool| bits |= if on { bit } else { 0 };
        mark(TraceReport::ERROR, flags.has(Flags::ERROR));
        mark(TraceReport::ASYNC, role == Role::Async);
        mark(TraceReport::DROPPED, role == Role::Dropped);
        mark(TraceReport::OVERLAY, role == Role::Overlay);
        mark(TraceReport::MOVED, tree.clock_shift_us(i) != 0);
        mark(TraceReport::ORPHAN, flags.has(Flags::ORPHAN | Flags::CYCLE));
        mark(TraceReport::CLIPPED, role == Role::Sync && tree.duration_us(i) != duration);
        report.bits.push(bits);
        if caller_stopped(set, &tree, i) {
            report.caller_stopped.push(i);
        }
    }
    for entry in finder.entries() {
        report.bits[entry.span as usize] |= TraceReport::ON_PATH;
    }
    for segment in finder.segments() {
        report.segment_span.push(segment.span);
        report.segment_start_us.push(segment.start_us - origin);
        report.segment_end_us.push(segment.end_us - origin);
    }
    if settings.reading.has(Rule::Waiting) {
        report.waiting = waits_of(set, &tree, &finder);
    }
    let pressure = RequestPressure::of(&tree, root, settings.overlap, &finder);
    (report.drag_us, report.slack_us) = (pressure.drag_us, pressure.slack_us);
    Some(report)
}
