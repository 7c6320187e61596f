//! Which queries the view in sight needs.

use crate::page::{Focus, Page};
use crate::shell::search;
use pathlight_engine::flow::paper::FlowSettings;
use pathlight_engine::queries::{self, SpanKey};
use pathlight_engine::requests::search::SpanSearch;
use pathlight_engine::requests::{RootEndpoint, Selection};
use pathlight_view::address::Address;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::requests_list::LISTED;
use pathlight_view::views::View;

/// Columns of the heat map at most; more requests are put together.
const COLUMNS: u32 = 10_000;

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
pub fn ask(page: Page) {
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
            let [a, b] = ComparedSide::BOTH.map(|side| address.rolled_up(address.side(side)));
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
            let (selection, baseline) = page.of_findings();
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
            queries.bottom_up.want(page, queries::Impact { selection: places });
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
                queries.requests.want(page, queries::Requests { selection, limit: LISTED });
            }
            want_trace(page);
        }
        View::Trend => queries.trend.want(page, queries::Trend { group: selection.group }),
        View::Requests => {
            queries.requests.want(page, queries::Requests { selection, limit: LISTED });
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
