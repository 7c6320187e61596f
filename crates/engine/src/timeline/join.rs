//! Several traces as one, with the messages between their spans.

use super::linked::Followed;
use crate::flame::TraceReport;
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
        append(
            &mut out.trace,
            report,
            (at, report.start_us - start_us, found.trace_id == first),
            &mut endpoints,
        );
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

/// Appends the spans of a trace that starts so much later; `is_first` if it is the one that was asked for.
fn append(
    out: &mut TraceReport,
    report: &TraceReport,
    (at, later_us, is_first): (u32, u64, bool),
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
    let path = if is_first { 0 } else { TraceReport::ON_PATH };
    out.bits.extend(report.bits.iter().map(|bits| bits & !path));
    out.end_us = out.end_us.max(report.end_us.saturating_add(later_us));
    let further = |spans: &[u32]| spans.iter().map(|span| span + at).collect::<Vec<u32>>();
    out.caller_stopped.extend(further(&report.caller_stopped));
    out.outlives_parent.extend(further(&report.outlives_parent));
    out.caller_gave_up.extend(further(&report.caller_gave_up));
    if !is_first {
        return;
    }
    out.request_root = report.request_root + at;
    out.segment_span = further(&report.segment_span);
    out.segment_start_us = report.segment_start_us.iter().map(|us| us + later_us).collect();
    out.segment_end_us = report.segment_end_us.iter().map(|us| us + later_us).collect();
    out.waiting.clone_from(&report.waiting);
    out.waiting.iter_mut().for_each(|wait| wait.span += at);
    out.largest.clone_from(&report.largest);
}
