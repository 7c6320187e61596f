//! Whose flow is shown: the list of parents, and the way that led here.

use crate::ui::dom::{El, Keep, button, el, span};
use crate::ui::page::Page;
use crate::ui::views::flow::chart::endpoint_of;
use crate::ui::views::flow::queries::shown_parent;
use pathlight_analysis::flow::FlowNode;
use pathlight_model::sort::Arrange;
use pathlight_query::{Endpoint, FlowParent};
use pathlight_text::format;
use pathlight_text::format::counted;
use std::cmp::Reverse;
use web_sys::HtmlSelectElement;

/// Parents offered at most; others are reached through the root endpoint.
const OFFERED: usize = 500;

/// The list and the way.
pub struct ParentBar {
    list: El,
    crumbs: El,
    /// Answer, parent and way that are shown.
    shown: Option<(u64, Option<Endpoint>, Vec<Endpoint>)>,
    keep: Keep,
    own: Keep,
}

impl ParentBar {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> ParentBar {
        let own = Keep::default();
        let list = el("select").class("flow-parent").attr("aria-label", "Flow of").test("flow-parent");
        let chosen = list.clone();
        let list = list.on(&own, "change", move |_| {
            let text =
                chosen.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value).unwrap_or_default();
            let parents = page.queries().flow_parents.get().unwrap_or_default();
            if let Some(parent) = text.parse().ok().and_then(|at: usize| parents.get(at)) {
                let endpoint = Endpoint::new(&parent.service, &parent.operation);
                page.change(|address| address.choices.flow.parents = vec![endpoint]);
            }
        });
        let crumbs = el("ol").class("flow-crumbs").attr("aria-label", "The way here").test("flow-crumbs");
        ParentBar { list, crumbs, shown: None, keep: Keep::default(), own }
    }

    /// The list.
    pub fn list(&self) -> &El {
        &self.list
    }

    /// The way.
    pub fn crumbs(&self) -> &El {
        &self.crumbs
    }

    /// A button that goes to the selected call's own flow.
    pub fn own_flow(&self, run: impl FnMut() + 'static) -> El {
        button("Its own flow")
            .attr("title", "Enter, or double-click the call")
            .test("own-flow")
            .on_click(&self.own, run)
    }

    /// Follows answers and address.
    pub fn update(&mut self, page: Page) {
        let slot = &page.queries().flow_parents;
        let shown = shown_parent(page);
        let way = page.address().choices.flow.parents.clone();
        let now = Some((slot.revision(), shown.clone(), way.clone()));
        if self.shown == now {
            return;
        }
        self.shown = now;
        self.list_parents(&slot.get().unwrap_or_default(), shown.as_ref());
        self.crumbs.clear();
        self.keep.clear();
        let before = way.len().saturating_sub(1);
        for (level, Endpoint { service, operation }) in way.iter().take(before).enumerate() {
            let up = way[..=level].to_vec();
            let link = button(&format::printable(operation))
                .class("link")
                .attr("title", &format::endpoint(service, operation))
                .test("flow-crumb")
                .on_click(&self.keep, move || {
                    page.change(|address| address.choices.flow.parents.clone_from(&up))
                });
            self.crumbs.add(&el("li").child(&link).child(&span("muted", "\u{203a}")));
        }
        self.crumbs.show(before > 0);
    }

    fn list_parents(&self, parents: &[FlowParent], shown: Option<&Endpoint>) {
        self.list.clear();
        let is_shown = |p: &FlowParent| {
            shown.is_some_and(|Endpoint { service: s, operation: o }| *s == p.service && *o == p.operation)
        };
        let mut order: Vec<usize> = (0..parents.len()).collect();
        order.arrange_by_key(|at| (Reverse(parents[*at].nodes), Reverse(parents[*at].invocations)));
        order.truncate(OFFERED);
        // What is shown is offered, flow or not.
        let hidden = parents.iter().position(is_shown).filter(|at| !order.contains(at));
        order.extend(hidden);
        if let Some(Endpoint { service, operation }) = shown.filter(|_| !parents.iter().any(is_shown)) {
            let name = format::printable(&format::endpoint(service, operation));
            self.list.add(&el("option").attr("value", "").text(&name));
        }
        let mut chosen = String::new();
        for at in order {
            let parent = &parents[at];
            let name = format::printable(&format::endpoint(&parent.service, &parent.operation));
            let words = format!("{name} ({})", counted(parent.nodes.into(), "call"));
            self.list.add(&el("option").attr("value", &at.to_string()).text(&words));
            if is_shown(parent) {
                chosen = at.to_string();
            }
        }
        if let Some(select) = self.list.as_kind::<HtmlSelectElement>() {
            select.set_value(&chosen);
        }
    }
}

/// Whether a node has a flow of its own to go to.
pub fn opens(node: &FlowNode) -> bool {
    node.has_calls && endpoint_of(node).is_some()
}
