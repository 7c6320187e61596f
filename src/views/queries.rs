//! The queries that the page wants: those of every view, and those of the view in sight.

use super::asks;
use crate::page::{Focus, Page};
use crate::shell::{fetch_row, search, verdict_strip};
use pathlight_engine::queries;
use pathlight_engine::requests::search::SpanSearch;
use pathlight_view::address::Address;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::views::View;

/// Wants what the page needs to know now; what it does not want any more is stopped.
pub fn ask(page: Page) {
    if page.has_data() {
        let address = page.address().clone();
        page.queries().slots.ask(|| want_all(page, &address));
    }
}

fn want_all(page: Page, address: &Address) {
    let queries = page.queries();
    let (settings, by) = (address.settings(), address.grouping().clone());
    let (incomplete, unweighted) = (address.incomplete, address.unweighted);
    let overview = queries::Overview { group: 0, settings, by, incomplete, unweighted };
    queries.overview.want(page, overview.clone());
    if queries.overview.get().is_some_and(|overview| overview.traces == 0) {
        return;
    }
    lead_services(page);
    let selection = address.selection();
    queries.range.want(page, queries::Range { selection: selection.clone() });
    if address.compared().is_some() {
        for (side, slot) in ComparedSide::BOTH.into_iter().zip(&queries.sides) {
            let of_side = address.side(side);
            if of_side != selection {
                slot.want(page, queries::Range { selection: of_side });
            }
        }
    }
    let lacks = page.lacks(address.view).is_some();
    // What stands in for a view that summaries cannot show, and the detail of a place, come from it.
    if lacks || matches!(*page.focus(), Focus::Path(_) | Focus::Endpoint(_)) {
        queries.want_path(page, address);
    }
    want_search(page, address);
    let key = page.suggested_key();
    let known = queries.overview.get().map(|overview| overview.tag_keys.iter().any(|known| known.key == key));
    if known == Some(true) {
        queries.tag_values.want(page, queries::TagValues { selection, key });
    }
    if !lacks {
        asks(address.view)(page, address);
    }
    let is_other = address.group() == 1;
    if is_other && !queries.slots.is_waiting_besides(&queries.overview_b) {
        queries.overview_b.want(page, queries::Overview { group: 1, ..overview });
    }
    // Once a fetch has ended, it can go on with the traces that spans link to.
    if fetch_row::may_fetch_linked(page) && !queries.slots.is_waiting_besides(&queries.missing_traces) {
        queries.missing_traces.want(page, queries::MissingTraces { group: address.group() });
    }
    // The line above the view comes after what the view itself shows.
    if verdict_strip::is_wanted(page) && !queries.slots.is_waiting_besides(&queries.findings) {
        queries.want_findings(page, page.of_findings());
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

/// Asks the workers for a search by tags; names are searched in the page.
fn want_search(page: Page, address: &Address) {
    let queries = page.queries();
    let search = SpanSearch::parse(&address.search);
    let has_tags = search.has_tags();
    let sides = search::sides(address);
    for (slot, selection) in [&queries.search, &queries.search_b].into_iter().zip(sides) {
        if let Some(selection) = selection.filter(|_| has_tags) {
            slot.want(page, queries::Search { selection, search: search.clone() });
        }
    }
    if let Some(trace) = page.shown_trace().filter(|_| has_tags && address.view == View::Trace) {
        let (settings, group) = (address.settings(), address.group());
        let query = queries::FindSpans { trace_id: trace.trace_id, settings, group, search };
        queries.found_spans.want(page, query);
    }
}
