//! The queries of the flow view.

use super::{capacity, map, queues, timeout};
use crate::page::Page;
use pathlight_engine::queries;
use pathlight_engine::requests::{RootEndpoint, Selection};
use pathlight_trace::Endpoint;
use pathlight_view::address::Address;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::flow;
use pathlight_view::flow::cheapest;
use pathlight_view::flow::choice::FlowPanel;

/// Asks what the view shows.
pub fn want(page: Page, address: &Address) {
    if map::is_shown(page) {
        return map::want(page, address);
    }
    let queries = page.queries();
    let selection = address.selection();
    let whole = selection.of_all_requests();
    queries.flow_parents.want(page, queries::FlowParents { selection: whole.clone() });
    let choice = &address.choices.flow;
    let settings = choice.settings();
    let parent = shown_parent(page);
    if parent.is_some() {
        let (selection, parent) = (selection.clone(), parent.clone());
        queries.flow.want(page, queries::Flow { selection, parent, settings });
    }
    let min_children = choice.least_children();
    let panel = panel(page);
    let baseline = address.has_baseline().then(|| address.side(ComparedSide::A));
    match panel {
        FlowPanel::Calls => {}
        FlowPanel::Variants => {
            if parent.is_some() {
                queries.variants.want(page, queries::FlowVariants { selection, parent, settings });
            }
        }
        FlowPanel::WhatIf => {
            let changes = choice.changes.clone();
            queries.what_if.want(page, queries::WhatIf { selection, baseline, settings, changes });
        }
        FlowPanel::Target => {
            if let Some((quantile, target_us)) = choice.target {
                let options = cheapest::priced(&choice.changes, &choice.prices);
                if !options.is_empty() {
                    let (selection, baseline) = (selection.clone(), baseline.clone());
                    let query =
                        queries::Cheapest { selection, baseline, settings, quantile, target_us, options };
                    queries.cheapest.want(page, query);
                }
                queries
                    .target
                    .want(page, queries::Target { selection, baseline, settings, quantile, target_us });
            }
        }
        FlowPanel::Headroom if choice.capacity => capacity::want(page, selection, settings),
        FlowPanel::Headroom => {
            if let Some((quantile, limit_us)) = choice.headroom {
                queries.headroom.want(page, queries::Headroom { selection, settings, quantile, limit_us });
            }
        }
        FlowPanel::Timeout => {
            if let Some(of) = timeout::target(page) {
                let timeout_us = choice.timeout_us(Some(&of));
                queries
                    .timeout
                    .want(page, queries::Timeout { selection, baseline, settings, of, timeout_us });
            }
        }
        FlowPanel::Queues => queues::want(page, address),
        FlowPanel::Savings => queries.savings.want(page, queries::Savings { selection, settings }),
        FlowPanel::Parallelise => {
            queries.parallelise.want(page, queries::Parallelise { selection, settings });
        }
        FlowPanel::Deployments => {
            let key = choice.place_key.clone();
            queries.deployments.want(page, queries::Deployments { selection, key });
        }
        FlowPanel::Prediction => {
            // All invocations: a model is tested on what it was not made for.
            let of_parent =
                parent.map(|parent| Selection { root: RootEndpoint::Endpoint(parent), ..whole.clone() });
            if let Some(selection) = if choice.pooled { Some(whole.clone()) } else { of_parent } {
                queries.evaluation.want(page, queries::FlowEvaluation { selection, settings, min_children });
            }
        }
    }
    let is_modelled = !matches!(
        panel,
        FlowPanel::Calls
            | FlowPanel::Variants
            | FlowPanel::Prediction
            | FlowPanel::Deployments
            | FlowPanel::Queues
    );
    if is_modelled {
        let min_children = if choice.paper { 5 } else { 2 };
        queries.back_test.want(page, queries::FlowEvaluation { selection: whole, settings, min_children });
    }
    // Whether there are queues is found out last.
    if panel != FlowPanel::Queues && !page.is_summary() && is_flow_there(page) {
        queues::want(page, address);
    }
}

/// Returns whether the flow is there, so that whether there are queues may be found out.
fn is_flow_there(page: Page) -> bool {
    page.queries().flow.fresh().is_some()
}

/// Returns the panel below the chart: that of calls where only a summary is loaded.
pub fn panel(page: Page) -> FlowPanel {
    if page.is_summary() { FlowPanel::Calls } else { page.address().choices.flow.panel }
}

/// Returns whose flow is shown; see [`flow::shown_parent`].
pub fn shown_parent(page: Page) -> Option<Endpoint> {
    let parents = page.queries().flow_parents.get();
    flow::shown_parent(&page.address(), parents.as_ref().map(|parents| parents.as_slice()))
}
