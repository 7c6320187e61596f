//! The parent whose flow is shown: the list of parents, and the way that led here.

use super::queries::shown_parent;
use crate::dom::{El, Listeners, button, el, span};
use crate::page::Page;
use crate::widgets::controls;
use pathlight_base::format;
use pathlight_engine::flow::FlowParent;
use pathlight_trace::Endpoint;
use pathlight_view::flow;

/// The list and the way.
pub struct ParentBar {
    list: El,
    crumbs: El,
    /// Revision of the parents, parent and way that are shown.
    shown: Option<(u64, Option<Endpoint>, Vec<Endpoint>)>,
    keep: Listeners,
}

impl ParentBar {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> ParentBar {
        let list = controls::select(keep, "flow-parent", move |value| {
            let parents = page.queries().flow_parents.get().unwrap_or_default();
            if let Some(parent) = value.parse().ok().and_then(|at: usize| parents.get(at)) {
                let endpoint = Endpoint::new(&parent.service, &parent.operation);
                page.change(|address| address.choices.flow.parents = vec![endpoint]);
            }
        });
        let list = list.class("flow-parent").attr("aria-label", "Flow of");
        let crumbs = el("ol").class("flow-crumbs").attr("aria-label", "The way here").test("flow-crumbs");
        ParentBar { list, crumbs, shown: None, keep: Listeners::default() }
    }

    /// Returns the list.
    pub fn list(&self) -> &El {
        &self.list
    }

    /// Returns the way.
    pub fn crumbs(&self) -> &El {
        &self.crumbs
    }

    /// Follows reports and address.
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
        let (options, chosen) = flow::parent_options(parents, shown);
        controls::offer(&self.list, &options, &chosen);
    }
}
