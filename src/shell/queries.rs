//! The queries of the page, and which of them the view in sight needs.

use crate::page::{Focus, Page};
use crate::shell::search;
use crate::shell::slot::{Slot, Slots};
use pathlight_engine::flow::paper::FlowSettings;
use pathlight_engine::queries;
use pathlight_engine::queries::SpanKey;
use pathlight_engine::requests::search::SpanSearch;
use pathlight_engine::requests::{RootEndpoint, Selection};
use pathlight_view::address::Address;
use pathlight_view::address::comparing::Side;
use pathlight_view::views::View;
use std::cell::Cell;

/// Requests listed at most; more are reached by narrowing the percentile range.
pub const REQUESTS_LISTED: u32 = pathlight_view::requests_list::LISTED;

/// Columns of the heat map at most; more requests are put together.
pub const COLUMNS: u32 = 10_000;

/// The queries of the page: a slot for each that may be wanted at the same time as others.
#[derive(Default)]
pub struct Queries {
    /// All of them that were ever wanted.
    pub slots: Slots,
    /// What is loaded.
    pub overview: Slot<queries::Overview>,
    /// Of which state of the data the services with the most time have their colours.
    led: Cell<Option<u64>>,
    /// What the percentile range holds.
    pub range: Slot<queries::Range>,
    /// The critical path of the percentile range.
    pub path: Slot<queries::CriticalPath>,
    /// The values of the tag that a filter is being made of.
    pub tag_values: Slot<queries::TagValues>,
    /// What a search by tags finds, of the side that views speak of or of A.
    pub search: Slot<queries::Search>,
    /// The same of B, where both sides are shown.
    pub search_b: Slot<queries::Search>,
    /// What it finds in the trace of the timeline.
    pub found_spans: Slot<queries::FindSpans>,
    /// Two sides against each other.
    pub compare: Slot<queries::Compare>,
    /// Endpoints against requests.
    pub heatmap: Slot<queries::Heatmap>,
    /// What is slow, where, why and for whom.
    pub findings: Slot<queries::Findings>,
    /// What joins the findings later.
    pub late_findings: Slot<queries::LateFindingsQuery>,
    /// Which tags tell slow requests from the others.
    pub tags: Slot<queries::Tags>,
    /// Times by endpoint.
    pub endpoints: Slot<queries::Endpoints>,
    /// Endpoints over all root endpoints.
    pub bottom_up: Slot<queries::BottomUp>,
    /// Sizes of requests.
    pub histograms: Slot<queries::Histograms>,
    /// What faster endpoints would save.
    pub savings: Slot<queries::Savings>,
    /// Times by the values of a tag.
    pub split: Slot<queries::Split>,
    /// The tags whose values differ most.
    pub proposals: Slot<queries::Proposals>,
    /// Errors of the percentile range.
    pub errors: Slot<queries::Errors>,
    /// Endpoints of the requests at percentiles of their latency.
    pub at_latencies: Slot<queries::AtLatencies>,
    /// The diagnosis.
    pub diagnosis: Slot<queries::Diagnosis>,
    /// The aggregate trace of the line of the diagnosis that is looked at.
    pub aggregate: Slot<queries::AggregateTraces>,
    /// Services and places by what changed between two sides.
    pub compare_diagnoses: Slot<queries::CompareDiagnoses>,
    /// Requests by how anomalous they are.
    pub anomaly: Slot<queries::Anomalies>,
    /// How well anomalous requests are found.
    pub anomaly_evaluation: Slot<queries::AnomalyEvaluation>,
    /// The trace of the chosen anomalous request.
    pub anomalous_trace: Slot<queries::Trace>,
    /// That of the normal request most like it.
    pub normal_trace: Slot<queries::Trace>,
    /// The slowest requests of the percentile range.
    pub requests: Slot<queries::Requests>,
    /// Which endpoints have a flow.
    pub flow_parents: Slot<queries::FlowParents>,
    /// The flow of the parent shown.
    pub flow: Slot<queries::Flow>,
    /// Latencies before and after the changes.
    pub what_if: Slot<queries::WhatIf>,
    /// What would bring a percentile of the latency down to a target.
    pub target: Slot<queries::Target>,
    /// What a timeout of a call would cut.
    pub timeout: Slot<queries::Timeout>,
    /// How well the model of what-ifs does on held-out invocations.
    pub back_test: Slot<queries::FlowEvaluation>,
    /// The predictors compared.
    pub evaluation: Slot<queries::FlowEvaluation>,
    /// The trace of the timeline.
    pub trace: Slot<queries::Trace>,
    /// Drag and slack of its spans, asked once it is shown.
    pub pressures: Slot<queries::Pressures>,
    /// Summaries over time.
    pub trend: Slot<queries::Trend>,
    /// The selected span.
    pub span: Slot<queries::Span>,
}

/// Returns which requests findings are about, and with which they are compared: of two sets the second is asked about,
/// and the first is what it should be like.
pub fn of_findings(page: Page) -> (Selection, Option<Selection>) {
    let address = page.address();
    match page.compares_sets() {
        true => (address.side(Side::B), Some(address.side(Side::A))),
        false => (address.selection(), None),
    }
}

/// Gives the services with the most time their colours. They keep them until something else is loaded, however the traces
/// are read meanwhile.
fn lead_services(page: Page) {
    let queries = page.queries();
    if queries.led.get() == Some(page.generation()) {
        return;
    }
    if let Some(overview) = queries.overview.fresh() {
        queries.led.set(Some(page.generation()));
        crate::dom::lead_services(&overview.most_time);
    }
}

/// Asks what the view in sight needs to know.
pub fn query(page: Page) {
    if !page.has_data() {
        return;
    }
    let address = page.address().clone();
    let queries = page.queries();
    let (settings, by) = (address.settings(), address.grouping().clone());
    let incomplete = address.incomplete;
    queries.overview.want(page, queries::Overview { settings, by, incomplete });
    if queries.overview.get().is_some_and(|overview| overview.traces == 0) {
        return;
    }
    lead_services(page);
    let selection = address.selection();
    queries.range.want(page, queries::Range { selection: selection.clone() });
    let lacks = page.lacks(address.view).is_some();
    // As large as there are calling contexts, a million in one deep trace: only for whoever shows some of them.
    if lacks || address.view == View::Flame || matches!(*page.focus(), Focus::Path(_) | Focus::Endpoint(_)) {
        queries.path.want(page, queries::CriticalPath { selection: address.rolled_up(selection.clone()) });
    } else {
        queries.path.stop();
    }
    if address.view != View::Endpoints && address.view != View::Flow {
        // It reads every trace several times: nothing that should go on when nobody looks.
        queries.savings.stop();
    }
    if address.view != View::Flow {
        queries.target.stop();
        queries.timeout.stop();
    }
    if address.view != View::Findings {
        queries.tags.stop();
        queries.late_findings.stop();
    }
    if address.view != View::Diagnosis {
        queries.diagnosis.stop();
        queries.aggregate.stop();
        queries.compare_diagnoses.stop();
    }
    if address.view != View::Trace {
        queries.pressures.stop();
    }
    if address.view != View::Anomalies {
        queries.anomaly.stop();
    }
    if address.view != View::Anomalies || !address.anomaly.evaluate {
        queries.anomaly_evaluation.stop();
    }
    want_search(page, &address);
    let key = page.suggested_key();
    let known = queries.overview.get().map(|overview| overview.tag_keys.iter().any(|known| known.key == key));
    if known == Some(true) {
        queries.tag_values.want(page, queries::TagValues { selection: selection.clone(), key });
    }
    if lacks {
        return;
    }
    match address.view {
        View::Anomalies => crate::views::anomalies::query(page),
        View::Compare => {
            let [a, b] = Side::BOTH.map(|side| address.rolled_up(address.side(side)));
            queries.compare.want(page, queries::Compare { a, b });
        }
        View::Heatmap => {
            let (selection, order) = (address.rolled_up(selection), address.choices.columns);
            queries.heatmap.want(page, queries::Heatmap { selection, columns: COLUMNS, order });
        }
        View::Findings => {
            let places = address.rolled_up(selection.clone());
            queries.endpoints.want(page, queries::Endpoints { selection: places.clone() });
            queries.at_latencies.want(page, queries::AtLatencies { selection: places });
            if page.is_summary() {
                return queries.findings.stop();
            }
            let (selection, baseline) = of_findings(page);
            let query = queries::Findings { selection: selection.clone(), baseline: baseline.clone() };
            queries.findings.want(page, query);
            // What takes longer comes later, one after the other.
            match queries.findings.fresh() {
                Some(report) => {
                    queries.tags.want(page, queries::Tags { selection: selection.clone() });
                    if queries.tags.fresh().is_some() || queries.tags.failure().is_some() {
                        let query = queries::LateFindingsQuery::of(selection, baseline, &report);
                        queries.late_findings.want(page, query);
                    }
                }
                None => {
                    queries.tags.stop();
                    queries.late_findings.stop();
                }
            }
        }
        View::Endpoints => {
            let selection = Selection { root: RootEndpoint::TraceRoots, ..selection };
            let places = address.rolled_up(selection.clone());
            queries.bottom_up.want(page, queries::BottomUp { selection: places });
            queries.histograms.want(page, queries::Histograms { selection: selection.clone() });
            // What takes long comes last.
            if !address.by_service
                && !page.is_summary()
                && queries.bottom_up.fresh().is_some()
                && queries.histograms.fresh().is_some()
            {
                queries.savings.want(page, queries::Savings { selection, settings: FlowSettings::default() });
            }
        }
        View::Split => {
            let of = address.split.of.clone();
            queries.proposals.want(page, queries::Proposals { selection: selection.clone(), of });
            if let Some(key) = crate::views::split::key(page) {
                queries.split.want(page, queries::Split { selection, of: address.split.of, key });
            }
        }
        View::Errors => {
            queries.errors.want(page, queries::Errors { selection: address.rolled_up(selection) });
        }
        View::Flow => crate::views::flow::query(page, &address),
        View::Diagnosis => crate::views::diagnosis::query(page, &address),
        View::Trace => {
            if address.trace.is_none() {
                queries.requests.want(page, queries::Requests { selection, limit: REQUESTS_LISTED });
            }
            want_trace(page);
        }
        View::Trend => queries.trend.want(page, queries::Trend { group: selection.group }),
        View::Requests => {
            queries.requests.want(page, queries::Requests { selection, limit: REQUESTS_LISTED });
        }
        _ => {}
    }
}

/// Asks the workers for a search by tags; names are searched in the page.
fn want_search(page: Page, address: &Address) {
    let queries = page.queries();
    let search = SpanSearch::parse(&address.search);
    let has_tags = search.has_tags();
    let sides = search::sides(address);
    for (slot, selection) in [&queries.search, &queries.search_b].into_iter().zip(sides) {
        match selection.filter(|_| has_tags) {
            Some(selection) => slot.want(page, queries::Search { selection, search: search.clone() }),
            None => slot.stop(),
        }
    }
    match page.shown_trace().filter(|_| has_tags && address.view == View::Trace) {
        Some(trace) => {
            let (settings, group) = (address.settings(), address.group());
            let query = queries::FindSpans { trace_id: trace.trace_id, settings, group, search };
            queries.found_spans.want(page, query);
        }
        None => queries.found_spans.stop(),
    }
}

fn want_trace(page: Page) {
    let Some(trace) = page.shown_trace() else { return };
    let queries = page.queries();
    let (settings, group) = (page.address().settings(), page.address().group());
    let trace_id = trace.trace_id;
    let root_span_id = trace.root_span_id;
    let (has_pressures, id) = (false, trace_id.clone());
    let of = queries::Trace { trace_id: id, root_span_id, settings, group, has_pressures };
    queries.trace.want(page, of.clone());
    let is_shown = queries.trace.fresh().is_some_and(|report| report.is_some());
    let selected = match *page.focus() {
        Focus::Span(index) => Some(SpanKey::Index(index)),
        // A link to a span: its index is in the report.
        Focus::Nothing => trace.span_id.map(SpanKey::Id),
        _ => None,
    };
    if let Some(span) = selected {
        queries.span.want(page, queries::Span { trace_id, span, group });
    }
    match is_shown {
        true => queries.pressures.want(page, queries::Pressures { of }),
        false => queries.pressures.stop(),
    }
}
