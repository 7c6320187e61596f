//! The queries of the flow view.

use crate::ui::page::Page;
use pathlight_query::{Endpoint, RootEndpoint, Selection, queries};
use pathlight_view::address::Address;
use pathlight_view::flow_choice::FlowPanel;

/// Asks what the view shows.
pub fn query(page: Page, address: &Address) {
    let queries = page.queries();
    let whole = Selection { overlap: address.overlap, ..Selection::default() };
    queries.flow_parents.want(page, queries::FlowParents { selection: whole.clone() });
    let choice = &address.choices.flow;
    let settings = choice.settings();
    let parent = shown_parent(page).map(|parent| {
        let root = RootEndpoint::Endpoint(parent);
        Selection { root, ..address.selection().at_any_latency() }
    });
    if let Some(selection) = &parent {
        queries.flow.want(page, queries::Flow { selection: selection.clone(), settings });
    }
    let (selection, min_children) = (address.selection().at_any_latency(), choice.least_children());
    match choice.panel {
        FlowPanel::Calls => {}
        FlowPanel::WhatIf => {
            queries
                .what_if
                .want(page, queries::WhatIf { selection, settings, changes: choice.changes.clone() });
        }
        FlowPanel::Savings => queries.savings.want(page, queries::Savings { selection, settings }),
        FlowPanel::Prediction => {
            let selection = if choice.pooled { Some(whole.clone()) } else { parent };
            if let Some(selection) = selection {
                queries.evaluation.want(page, queries::FlowEvaluation { selection, settings, min_children });
            }
        }
    }
    if matches!(choice.panel, FlowPanel::WhatIf | FlowPanel::Savings) {
        let min_children = if choice.paper { 5 } else { 2 };
        queries.back_test.want(page, queries::FlowEvaluation { selection: whole, settings, min_children });
    }
    if choice.panel != FlowPanel::Savings {
        queries.savings.stop();
    }
}

/// Whose flow is shown: the one gone to, else the root endpoint's, else that of the request type with the most time.
pub fn shown_parent(page: Page) -> Option<Endpoint> {
    let address = page.address();
    if let Some(parent) = address.choices.flow.parents.last() {
        return Some(parent.clone());
    }
    if let RootEndpoint::Endpoint(endpoint) = &address.root {
        return Some(endpoint.clone());
    }
    let parents = page.queries().flow_parents.get()?;
    let overview = page.queries().overview.get()?;
    let has_flow = |service: &str, operation: &str| {
        parents.iter().any(|p| p.service == service && p.operation == operation)
    };
    let types = &overview.request_types;
    let first = types.iter().find(|kind| has_flow(&kind.service, &kind.operation));
    let first = first.map(|kind| Endpoint::new(&kind.service, &kind.operation));
    first.or_else(|| {
        let most = parents.iter().max_by_key(|parent| parent.invocations)?;
        Some(Endpoint::new(&most.service, &most.operation))
    })
}
