//! Several traces as one, with the messages between their spans.

use super::linked::Followed;
use crate::flame::{SpanWaiting, TraceReport};
use crate::queues::since_us;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Several traces on one axis.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedTraces {
    /// Their spans, one trace after the other, those that start first in front. Path and request are those of the trace
    /// that was asked for, whose id it has.
    pub trace: TraceReport,
    /// The traces, in this order.
    pub traces: Vec<JoinedTrace>,
    /// Messages between the spans, by receiver.
    pub messages: Vec<SpanMessage>,
    /// Traces that messages lead to and that are not here, since they are too many or too large.
    pub left_out: u64,
    /// Traces that messages lead to and that are not loaded.
    pub not_loaded: u64,
}

/// A trace among others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedTrace {
    /// Canonical id.
    pub trace_id: String,
    /// Index of its first span.
    pub first: u32,
}

/// A message between two spans, by their indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SpanMessage {
    /// The span that received.
    pub receiver: u32,
    /// The span that sent.
    pub sender: u32,
    /// When it was sent at the latest, or, if the sender went on, at the earliest; microseconds from the start of the axis.
    pub sent_us: u64,
    /// Time in the queue in microseconds.
    pub wait_us: u64,
}

impl JoinedTraces {
    /// Returns the index of a span of a trace; `None` if the trace is not here.
    pub fn index_of(&self, trace_id: &str, span: u32) -> Option<u32> {
        let trace = self.traces.iter().find(|trace| trace.trace_id == trace_id)?;
        Some(trace.first + span)
    }

    /// Returns the trace of a span, and the index of the span in it.
    pub fn place_of(&self, span: u32) -> Option<(&str, u32)> {
        let at = self.traces.partition_point(|trace| trace.first <= span).checked_sub(1)?;
        let trace = &self.traces[at];
        Some((&trace.trace_id, span - trace.first))
    }
}

/// Joins traces; `first` is the one that was asked for.
pub(super) fn join(
    first: &str,
    traces: BTreeMap<String, Followed>,
    left_out: BTreeSet<String>,
    not_loaded: u64,
) -> JoinedTraces {
    let mut traces: Vec<Followed> = traces.into_values().collect();
    // Stable: equal ones stay by id.
    traces.compact_sort_by_key(|trace| trace.report.start_us);
    let start_us = traces.first().map_or(0, |trace| trace.report.start_us);
    let mut out = JoinedTraces { left_out: left_out.len() as u64, not_loaded, ..JoinedTraces::default() };
    out.trace.trace_id = first.to_owned();
    out.trace.start_us = start_us;
    let mut endpoints: BTreeMap<Endpoint, u32> = BTreeMap::new();
    for Followed { found, report, .. } in &traces {
        let at = out.trace.parent.len() as u32;
        out.traces.push(JoinedTrace { trace_id: found.trace_id.clone(), first: at });
        let later_us = report.start_us - start_us;
        append(&mut out.trace, report, (at, later_us), &mut endpoints);
        if found.trace_id == first {
            append_path(&mut out.trace, report, (at, later_us));
        } else {
            out.trace.bits[at as usize..].iter_mut().for_each(|bits| *bits &= !TraceReport::ON_PATH);
        }
    }
    let place: BTreeMap<&str, usize> =
        traces.iter().enumerate().map(|(at, trace)| (trace.found.trace_id.as_str(), at)).collect();
    let index = |(trace, span): &(String, String)| {
        let at = *place.get(trace.as_str())?;
        Some(out.traces[at].first + *traces[at].index.get(span)?)
    };
    let mut pairs: BTreeSet<(u32, u32)> = BTreeSet::new();
    for link in traces.iter().flat_map(|trace| &trace.found.links) {
        pairs.extend(index(&link.from).zip(index(&link.to)));
    }
    for (span, bits) in (0..).zip(&out.trace.bits) {
        let parent = out.trace.parent[span as usize];
        if bits & TraceReport::ASYNC != 0 && parent < span {
            pairs.insert((span, parent));
        }
    }
    let message = |(receiver, sender): (u32, u32)| {
        let (receives, sends) = (receiver as usize, sender as usize);
        let start_us = out.trace.span_start_us[receives];
        let sent_us = out.trace.span_start_us[sends];
        let sent_us = since_us(sent_us, sent_us.saturating_add(out.trace.duration_us[sends]), start_us);
        SpanMessage { receiver, sender, sent_us, wait_us: start_us.saturating_sub(sent_us) }
    };
    out.messages = pairs.into_iter().map(message).collect();
    out
}

/// Joins traces whose requests begin at the same time on one axis, the one that was asked for first, each with its path.
pub(super) fn side_by_side(traces: Vec<TraceReport>) -> JoinedTraces {
    let before_request =
        |report: &TraceReport| report.span_start_us.get(report.request_root as usize).copied().unwrap_or(0);
    let request_at_us = traces.iter().map(before_request).max().unwrap_or(0);
    let mut out = JoinedTraces::default();
    let mut endpoints: BTreeMap<Endpoint, u32> = BTreeMap::new();
    for report in &traces {
        let place = (out.trace.parent.len() as u32, request_at_us - before_request(report));
        out.traces.push(JoinedTrace { trace_id: report.trace_id.clone(), first: place.0 });
        append(&mut out.trace, report, place, &mut endpoints);
        append_path(&mut out.trace, report, place);
    }
    if let Some(first) = traces.first() {
        let later_us = request_at_us - before_request(first);
        out.trace.trace_id.clone_from(&first.trace_id);
        out.trace.start_us = first.start_us.saturating_sub(later_us);
        out.trace.request_root = first.request_root;
        out.trace.largest.clone_from(&first.largest);
    }
    out
}

/// Appends the spans of a trace that starts so much later, at this place.
fn append(
    out: &mut TraceReport,
    report: &TraceReport,
    (at, later_us): (u32, u64),
    endpoints: &mut BTreeMap<Endpoint, u32>,
) {
    let names: Vec<u32> = (report.endpoints.iter())
        .map(|endpoint| {
            *endpoints.entry(endpoint.clone()).or_insert_with(|| {
                out.endpoints.push(endpoint.clone());
                out.endpoints.len() as u32 - 1
            })
        })
        .collect();
    out.parent
        .extend(report.parent.iter().map(|&parent| if parent == u32::MAX { parent } else { parent + at }));
    out.endpoint.extend(report.endpoint.iter().map(|&endpoint| names[endpoint as usize]));
    out.span_start_us.extend(report.span_start_us.iter().map(|us| us + later_us));
    out.duration_us.extend(&report.duration_us);
    out.depth.extend(&report.depth);
    out.bits.extend(&report.bits);
    out.end_us = out.end_us.max(report.end_us.saturating_add(later_us));
    let further = |spans: &[u32]| spans.iter().map(|span| span + at).collect::<Vec<u32>>();
    out.caller_stopped.extend(further(&report.caller_stopped));
    out.outlives_parent.extend(further(&report.outlives_parent));
    out.caller_gave_up.extend(further(&report.caller_gave_up));
}

/// Appends the critical path of a trace that was appended at this place, whose request is that of the whole then.
fn append_path(out: &mut TraceReport, report: &TraceReport, (at, later_us): (u32, u64)) {
    out.request_root = report.request_root + at;
    out.segment_span.extend(report.segment_span.iter().map(|span| span + at));
    out.segment_start_us.extend(report.segment_start_us.iter().map(|us| us + later_us));
    out.segment_end_us.extend(report.segment_end_us.iter().map(|us| us + later_us));
    let moved = |wait: &SpanWaiting| SpanWaiting { span: wait.span + at, ..wait.clone() };
    out.waiting.extend(report.waiting.iter().map(moved));
    out.largest.clone_from(&report.largest);
}
