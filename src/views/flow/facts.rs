//! The facts about the selected endpoint in the flow in sight, for the detail panel.

use super::{go_to, what_if};
use crate::dom::{El, Listeners, button, div, el};
use crate::page::Page;
use pathlight_trace::Endpoint;
use pathlight_view::flow;
use pathlight_view::views::View;

/// Returns its latency, wait and share of being critical as the flow in sight has them, and ways on; `None` in other views
/// or if it is no call of that flow.
pub fn facts(page: Page, endpoint: &Endpoint, keep: &Listeners) -> Option<El> {
    if page.address().view != View::Flow {
        return None;
    }
    let facts = flow::facts(&*page.queries().flow.get()?, endpoint)?;
    let list = el("dl").class("pairs");
    for (name, value) in &facts.pairs {
        list.add(&el("dt").text(name));
        list.add(&el("dd").text(value));
    }
    let buttons = div("buttons");
    buttons.add(&button("What if\u{2026}").class("primary").test("to-whatif").on_click(keep, move || {
        what_if::open(page, |_| ());
    }));
    if facts.opens {
        let endpoint = endpoint.clone();
        let open = button("Its own flow").test("to-own-flow");
        buttons.add(&open.on_click(keep, move || go_to(page, endpoint.clone())));
    }
    Some(div("flow-facts").child(&el("h3").text(&facts.head)).child(&list).child(&buttons))
}
