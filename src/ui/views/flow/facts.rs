//! What the flow in sight says of the selected endpoint, for the detail panel.

use super::parent::opens;
use crate::ui::dom::{El, Keep, button, div, el};
use crate::ui::page::Page;
use crate::ui::views::flow::chart::go_to;
use pathlight_query::Endpoint;
use pathlight_text::format;
use pathlight_view::address::View;
use pathlight_view::flow_choice::FlowPanel;

/// Its latency, wait and share of being critical as the flow in sight has them, and ways on; `None` in other views or if
/// it is no call of that flow. Of several calls in an invocation, the first.
pub fn facts(page: Page, endpoint: &Endpoint, keep: &Keep) -> Option<El> {
    if page.address().view != View::Flow {
        return None;
    }
    let report = page.queries().flow.get()?;
    let node =
        report.nodes.iter().find(|n| n.service == endpoint.service && n.operation == endpoint.operation)?;
    let list = el("dl").class("pairs");
    let seen = format!("{} of {}", format::count(node.invocations), format::count(report.invocations));
    for (name, value) in [
        ("Latency, mean", format::duration(node.latency_us.mean)),
        ("p95", format::duration(node.latency_us.p95)),
        ("Wait before it, mean", format::duration(node.wait_us.mean)),
        ("Critical in", format::share(node.critical_share())),
        ("Seen in", seen),
    ] {
        list.add(&el("dt").text(name));
        list.add(&el("dd").text(&value));
    }
    let buttons = div("buttons");
    buttons.add(&button("What if\u{2026}").class("primary").test("to-whatif").on_click(keep, move || {
        page.change(|address| address.choices.flow.panel = FlowPanel::WhatIf);
    }));
    if opens(node) {
        let endpoint = endpoint.clone();
        let open = button("Its own flow").test("to-own-flow");
        buttons.add(&open.on_click(keep, move || go_to(page, endpoint.clone())));
    }
    let Endpoint { service, operation } = &report.parent;
    let head = format!("As a call of {}", format::printable(&format::endpoint(service, operation)));
    Some(div("flow-facts").child(&el("h3").text(&head)).child(&list).child(&buttons))
}
