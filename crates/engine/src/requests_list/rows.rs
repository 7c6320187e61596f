//! Single requests, as a worker reports them.

use crate::flame::done::{DonePath, queue_endpoint};
use crate::flame::{PathFinder, PathSegment, PathTable, RequestNode, RequestPath, RequestRow, Segment};
use pathlight_trace::{NO_ROW, PathSettings, RequestWork, TraceSet, Tree};
use std::collections::BTreeMap;

/// Returns the slowest of some requests that come by latency, fastest first. Ties at the end of the list are decided
/// by id when the partials are merged: all of them are kept.
pub(crate) fn slowest(set: &TraceSet, table: &PathTable, requests: &[u32], limit: u32) -> Vec<RequestRow> {
    let from = requests.len().saturating_sub(limit as usize);
    let last = requests.get(from).map(|&r| table.requests[r as usize].latency_us);
    let tied = requests[..from]
        .iter()
        .rev()
        .take_while(|&&r| Some(table.requests[r as usize].latency_us) == last)
        .count();
    requests[from - tied..].iter().map(|&r| row_of(set, table, r)).collect()
}

fn row_of(set: &TraceSet, table: &PathTable, request: u32) -> RequestRow {
    let request = &table.requests[request as usize];
    let (service, operation) = set.endpoint_name(set.endpoint(request.row));
    RequestRow {
        trace_id: set.trace_id_text(request.trace),
        root_span_id: set.span_id_text(request.row),
        service: service.to_owned(),
        operation: operation.to_owned(),
        start_us: request.start_us,
        latency_us: request.latency_us,
        spans: request.spans,
        errors: request.errors,
        path_spans: request.path_spans,
        is_incomplete: set.flags(request.row).is_orphan(),
    }
}

/// Returns the critical path of one request.
pub(crate) fn path_of(
    set: &TraceSet,
    table: &PathTable,
    request: u32,
    settings: PathSettings,
    done: Option<&mut DonePath>,
) -> RequestPath {
    let facts = &table.requests[request as usize];
    let mut tree = Tree::default();
    tree.load_for(set, facts.trace, settings, table.roots);
    let root = facts.row - tree.first;
    let work = RequestWork::of(&tree, root, &mut Vec::new());
    let mut segments = Vec::new();
    if let Some(done) = done {
        done.find(set, &tree, root);
        for part in done.parts(&tree) {
            if let Some(message) = part.message.filter(|message| message.start_us < message.end_us) {
                segments.push(PathSegment {
                    queue: Some(queue_endpoint(set, &message)),
                    ..segment(set, facts.trace, message.sender, (message.start_us, message.end_us))
                });
            }
            segments.extend(
                part.finder
                    .segments()
                    .map(|s| segment(set, facts.trace, part.tree.row(s.span), (s.start_us, s.end_us))),
            );
        }
    } else {
        let mut finder = PathFinder::default();
        finder.find(set, &tree, root, settings.overlap);
        let of = |s: Segment| segment(set, facts.trace, tree.row(s.span), (s.start_us, s.end_us));
        segments.extend(finder.segments().map(of));
    }
    // Children by (parent, name): in sorted order they are the siblings by name.
    let mut sorted: BTreeMap<(u32, (&str, &str)), u32> = BTreeMap::new();
    let mut by_context = BTreeMap::new();
    for entry in table.entries(request) {
        by_context.insert(entry.context, entry);
    }
    let mut root = NO_ROW;
    for &context in by_context.keys() {
        let (parent, endpoint) = table.contexts()[context as usize];
        if parent == NO_ROW {
            root = context;
        } else {
            sorted.insert((parent, set.endpoint_name(endpoint)), context);
        }
    }
    let mut nodes: Vec<RequestNode> = Vec::with_capacity(by_context.len());
    let mut stack = vec![(root, None)];
    while let Some((context, parent)) = stack.pop() {
        let Some(entry) = by_context.get(&context) else { continue };
        let (service, operation) = set.endpoint_name(table.contexts()[context as usize].1);
        let id = nodes.len() as u32;
        nodes.push(RequestNode {
            id,
            parent,
            service: service.to_owned(),
            operation: operation.to_owned(),
            exclusive_us: entry.exclusive_us,
            inclusive_us: entry.inclusive_us,
            spans: entry.spans,
        });
        let children = sorted.range((context, ("", ""))..(context + 1, ("", "")));
        stack.extend(children.rev().map(|(_, &child)| (child, Some(id))));
    }
    RequestPath {
        trace_id: set.trace_id_text(facts.trace),
        root_span_id: set.span_id_text(facts.row),
        latency_us: facts.latency_us,
        work,
        segments,
        nodes,
    }
}

/// Returns the segment of a span over an interval, on the path of a request of a trace.
fn segment(set: &TraceSet, trace: u32, row: u32, (start_us, end_us): (u64, u64)) -> PathSegment {
    let of = set.traces().partition_point(|trace| trace.end <= row) as u32;
    PathSegment {
        span_id: set.span_id_text(row),
        trace_id: (of != trace).then(|| set.trace_id_text(of)),
        queue: None,
        start_us,
        end_us,
    }
}
