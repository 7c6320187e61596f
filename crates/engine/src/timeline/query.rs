//! One trace with the critical path of a request.

use crate::EngineError;
use crate::flame::{PathFinder, TraceReport, waits_of};
use crate::flow::RequestPressure;
use crate::run::query::Query;
use crate::run::set_pass::{OverSet, RunningSetPass, SetPass, at_once};
use crate::run::workers::Workers;
use crate::verdict::TimedSubject;
use pathlight_base::encoding;
use pathlight_base::steps::in_blocks;
use pathlight_trace::calls::{Unawaited, caller_stopped, unawaited};
use pathlight_trace::{
    Flags, NO_ROW, PathSettings, ReadingRule, RequestRoots, RequestWork, Role, TraceId, TraceSet, Tree,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Reports one trace with its critical path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Canonical trace id.
    pub trace_id: String,
    /// Canonical id of the request's root span; `None`: the trace root.
    pub root_span_id: Option<String>,
    /// Settings with which the trace is read.
    pub settings: PathSettings,
    /// The set of traces, see [`Selection::group`](crate::requests::Selection::group).
    pub group: u8,
    /// Whether the report has drag and slack; without, both columns are empty.
    pub has_pressures: bool,
}

impl Query for Trace {
    /// `None` if no such trace is loaded.
    type Report = Option<TraceReport>;

    async fn run(self, workers: Workers) -> Result<Option<TraceReport>, EngineError> {
        Ok(encoding::read(&self.run_to_bytes(workers).await?)?)
    }

    async fn run_to_bytes(self, workers: Workers) -> Result<Vec<u8>, EngineError> {
        workers.only_partial(self).await
    }
}

/// Reports drag and slack of the spans of a trace. They are not needed to draw it, and in a trace of a million spans they
/// take a while: so the page asks for them once it shows the trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressures {
    /// The trace and its request.
    pub of: Trace,
}

impl Query for Pressures {
    /// `None` if no such trace is loaded.
    type Report = Option<RequestPressure>;

    async fn run(self, workers: Workers) -> Result<Option<RequestPressure>, EngineError> {
        Ok(encoding::read(&self.run_to_bytes(workers).await?)?)
    }

    async fn run_to_bytes(self, workers: Workers) -> Result<Vec<u8>, EngineError> {
        workers.only_partial(self).await
    }
}

impl SetPass for Trace {
    type Part = Option<TraceReport>;

    fn settings(&self) -> Option<PathSettings> {
        Some(self.settings)
    }

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        at_once(move |set| {
            let report = trace(set, &self);
            let room = report.as_ref().map_or(0, TraceReport::room);
            encoding::write_after(Vec::with_capacity(room), &report)
        })
    }
}

impl SetPass for Pressures {
    type Part = Option<RequestPressure>;

    fn settings(&self) -> Option<PathSettings> {
        Some(self.of.settings)
    }

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        at_once(move |set| encoding::write(&pressures(set, &self.of)))
    }
}

/// The request of a query with its critical path.
struct Request {
    trace: u32,
    tree: Tree,
    root: u32,
    finder: PathFinder,
}

impl Request {
    /// Finds the path of the request; `None` if there is no such trace.
    fn find(set: &TraceSet, query: &Trace) -> Option<Request> {
        let trace = find_trace(set, &query.trace_id, query.group)?;
        let rows = set.traces()[trace as usize];
        let root_row = query
            .root_span_id
            .as_deref()
            .and_then(|id| (rows.first..rows.end).find(|&row| set.span_id_text(row) == id))
            .unwrap_or(rows.first);
        let mut tree = Tree::default();
        tree.load_for(set, trace, query.settings, RequestRoots::Row(root_row));
        let root = root_row - rows.first;
        let mut finder = PathFinder::default();
        finder.find(set, &tree, root, query.settings.overlap);
        Some(Request { trace, tree, root, finder })
    }

    fn pressures(&self, settings: PathSettings) -> RequestPressure {
        RequestPressure::of(&self.tree, self.root, settings.overlap, &self.finder)
    }
}

/// Returns the drags and slacks that a worker tells of a trace; `None` if it has none such.
fn pressures(set: &TraceSet, query: &Trace) -> Option<RequestPressure> {
    Some(Request::find(set, query)?.pressures(query.settings))
}

/// Returns the number of the trace with this canonical id in a group.
pub(crate) fn find_trace(set: &TraceSet, trace_id: &str, group: u8) -> Option<u32> {
    set.find_trace(TraceId::find(trace_id, &set.id_texts)?.in_group(group))
}

/// Returns what a worker tells of a trace; `None` if it has none such.
pub(super) fn trace(set: &TraceSet, query: &Trace) -> Option<TraceReport> {
    let request = Request::find(set, query)?;
    let Request { trace: number, tree, root, finder } = &request;
    let (number, root, n) = (*number, *root, tree.len() as u32);
    // A clipped or moved span stays within its root, so the raw intervals and the path span all there is to show.
    let (mut origin, mut last_us) = (u64::MAX, 0);
    in_blocks(n as usize, &mut |block| {
        for i in block.map(|i| i as u32) {
            let start = tree.raw_start_us(set, i);
            origin = origin.min(start);
            last_us = last_us.max(start + set.duration_us(tree.row(i)));
        }
    });
    // Without spans both are 0.
    origin = origin.min(last_us);
    let mut names: BTreeMap<u32, u32> = BTreeMap::new();
    let mut report = TraceReport {
        trace_id: set.trace_id_text(number),
        request_root: root,
        start_us: origin,
        end_us: last_us - origin,
        work: RequestWork::of(tree, root, &mut Vec::new()),
        parent: tree.parent.clone(),
        ..TraceReport::default()
    };
    in_blocks(n as usize, &mut |block| {
        for i in block.map(|i| i as u32) {
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
            mark(TraceReport::ORPHAN, flags.is_orphan());
            mark(TraceReport::CLIPPED, role == Role::Sync && tree.duration_us(i) != duration);
            report.bits.push(bits);
            if caller_stopped(set, tree, i) {
                report.caller_stopped.push(i);
            }
            match unawaited(set, tree, i) {
                Some(Unawaited::OutlivesParent) => report.outlives_parent.push(i),
                Some(Unawaited::CallerGaveUp) => report.caller_gave_up.push(i),
                None => {}
            }
        }
    });
    in_blocks(finder.entries().len(), &mut |block| {
        for entry in &finder.entries()[block] {
            report.bits[entry.span as usize] |= TraceReport::ON_PATH;
        }
    });
    let mut segments = finder.segments();
    in_blocks(segments.len(), &mut |block| {
        for segment in segments.by_ref().take(block.len()) {
            report.segment_span.push(segment.span);
            report.segment_start_us.push(segment.start_us - origin);
            report.segment_end_us.push(segment.end_us - origin);
        }
    });
    if query.settings.reading.has(ReadingRule::Waiting) {
        report.waiting = waits_of(set, tree, finder);
    }
    report.largest = TimedSubject::largest(set, tree, finder);
    if query.has_pressures {
        let pressures = request.pressures(query.settings);
        (report.drag_us, report.slack_us) = (pressures.drag_us, pressures.slack_us);
    }
    Some(report)
}
