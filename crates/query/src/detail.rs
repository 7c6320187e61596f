//! Single requests, traces and spans.

use super::{SpanKey, SpanReport};
use pathlight_analysis::critical_path::{
    PathFinder, PathSegment, PathTable, RequestNode, RequestPath, RequestRow, TraceReport,
};
use pathlight_analysis::flow::RequestPressure;
use pathlight_analysis::requests::Overlap;
use pathlight_model::sort::Arrange;
use pathlight_model::trace::{Flags, NO_ROW, Role, TagSetId, TraceId, TraceSet, Tree};
use std::collections::BTreeMap;

pub(super) fn request_row(set: &TraceSet, table: &PathTable, request: u32) -> RequestRow {
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
    }
}

pub(super) fn per_request(set: &TraceSet, table: &PathTable, request: u32, overlap: Overlap) -> RequestPath {
    let facts = &table.requests[request as usize];
    let mut tree = Tree::default();
    tree.load(set, facts.trace);
    let mut finder = PathFinder::default();
    finder.find(set, &tree, facts.row - tree.first, overlap);
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
        segments: finder
            .segments()
            .map(|s| PathSegment {
                span_id: set.span_id_text(tree.row(s.span)),
                start_us: s.start_us,
                end_us: s.end_us,
            })
            .collect(),
        nodes,
    }
}

/// The number of the trace with this canonical id in a group.
pub(super) fn find_trace(set: &TraceSet, trace_id: &str, group: u8) -> Option<u32> {
    set.find_trace(TraceId::find(trace_id, &set.id_texts)?.in_group(group))
}

pub(super) fn trace(
    set: &TraceSet,
    number: u32,
    root_span_id: Option<&str>,
    overlap: Overlap,
) -> TraceReport {
    let mut tree = Tree::default();
    tree.load(set, number);
    let n = tree.len() as u32;
    let root = match root_span_id {
        Some(id) => (0..n).find(|&i| set.span_id_text(tree.row(i)) == id).unwrap_or(0),
        None => 0,
    };
    let mut finder = PathFinder::default();
    if tree.role[root as usize] != Role::Dropped {
        finder.find(set, &tree, root, overlap);
    }
    // A clipped or moved span stays within its root, so the raw intervals and the path span all there is to show.
    let rows = tree.first..tree.first + n;
    let origin = rows.clone().map(|row| set.start_us(row)).min().unwrap_or(0);
    let end_us = rows.clone().map(|row| set.start_us(row) + set.duration_us(row)).max().unwrap_or(0) - origin;
    let mut names: BTreeMap<u32, u32> = BTreeMap::new();
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
            let (service, operation) = set.endpoint_name(endpoint);
            report.endpoints.push((service.to_owned(), operation.to_owned()));
            report.endpoints.len() as u32 - 1
        });
        report.endpoint.push(name);
        let (start, duration) = (set.start_us(row), set.duration_us(row));
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
        mark(TraceReport::ORPHAN, flags.has(Flags::ORPHAN | Flags::CYCLE));
        mark(TraceReport::CLIPPED, role == Role::Sync && tree.duration_us(i) != duration);
        report.bits.push(bits);
    }
    for entry in finder.entries() {
        report.bits[entry.span as usize] |= TraceReport::ON_PATH;
    }
    for segment in finder.segments() {
        report.segment_span.push(segment.span);
        report.segment_start_us.push(segment.start_us - origin);
        report.segment_end_us.push(segment.end_us - origin);
    }
    let pressure = RequestPressure::of(&tree, root, overlap, &finder);
    (report.drag_us, report.slack_us) = (pressure.drag_us, pressure.slack_us);
    report
}

pub(super) fn span(set: &TraceSet, number: u32, key: &SpanKey) -> Option<SpanReport> {
    let trace = set.traces()[number as usize];
    let row = match key {
        SpanKey::Index(index) => trace.first.checked_add(*index).filter(|&row| row < trace.end)?,
        SpanKey::Id(id) => (trace.first..trace.end).find(|&row| set.span_id_text(row) == *id)?,
    };
    let process = set.process_of(row);
    let (service, operation) = set.endpoint_name(set.endpoint(row));
    let tags = |tags: TagSetId| {
        let mut tags: Vec<(String, String)> =
            set.tags.get(tags).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        tags.arrange();
        tags
    };
    Some(SpanReport {
        trace_id: set.trace_id_text(number),
        index: row - trace.first,
        span_id: set.span_id_text(row),
        service: service.to_owned(),
        operation: operation.to_owned(),
        kind: set.kind(row).name().to_owned(),
        host: set.names.get(process.host).to_owned(),
        start_us: set.start_us(row),
        duration_us: set.duration_us(row),
        tags: tags(set.tag_set(row)),
        process_tags: tags(process.tags),
    })
}
