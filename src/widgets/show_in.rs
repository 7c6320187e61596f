//! "Show in": the other views that say more of the endpoint that is selected.

use crate::dom::{El, Listeners, button, div, span};
use crate::page::{Focus, Page};
use pathlight_engine::split::SplitOf;
use pathlight_trace::Endpoint;
use pathlight_view::views::View;

/// Views that follow a selected endpoint.
const VIEWS: [View; 7] =
    [View::Flame, View::Heatmap, View::Endpoints, View::Split, View::Flow, View::Diagnosis, View::Errors];

/// Returns a link for each view but the one in sight. `path` is the call path to mark in the flame graph.
pub fn links(page: Page, keep: &Listeners, endpoint: &Endpoint, path: Option<&[Endpoint]>) -> El {
    let row = div("show-in small").child(&span("muted", "Show in:"));
    let now = page.address().view;
    for view in VIEWS.into_iter().filter(|view| *view != now) {
        let (endpoint, path) = (endpoint.clone(), path.map(<[Endpoint]>::to_vec));
        let link = button(&view.name().to_lowercase()).class("link").test(&format!("show-in-{}", view.key()));
        row.add(&link.on_click(keep, move || show(page, view, &endpoint, path.as_deref())));
    }
    row
}

fn show(page: Page, view: View, endpoint: &Endpoint, path: Option<&[Endpoint]>) {
    let focus = match (view, path) {
        (View::Flame, Some(path)) => Focus::Path(path.to_vec()),
        _ => Focus::Endpoint(endpoint.clone()),
    };
    page.set_focus(focus);
    page.change(|address| {
        address.view = view;
        match view {
            View::Split => address.split.of = SplitOf::Calls(endpoint.clone()),
            View::Flow => {
                address.choices.flow.map = false;
                address.choices.flow.parents = vec![endpoint.clone()];
            }
            _ => {}
        }
    });
}
