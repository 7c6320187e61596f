//! The menu *Sum of* of Endpoints and Split: the tags whose values are numbers, such as tokens or bytes.

use super::controls;
use crate::dom::{El, Listeners, span};
use crate::page::Page;
use pathlight_base::format::printable;
use pathlight_engine::endpoints::TagSumsReport;
use pathlight_view::endpoints::{sum_keys, sums_note};
use std::cell::RefCell;

/// The menu; it is shown where a tag has numbers.
pub struct SumMenu {
    element: El,
    select: El,
    note: El,
    /// The tags that are offered, and the one that is chosen.
    offered: RefCell<Option<(Vec<String>, Option<String>)>>,
}

impl SumMenu {
    /// Builds it.
    pub fn new(page: Page, keep: &Listeners) -> SumMenu {
        let select = controls::select(keep, "sum-key", move |key| {
            page.change(|address| address.sum = Some(key).filter(|key| !key.is_empty()));
        })
        .label("Tag whose numbers are summed");
        let note = span("muted", "").test("sum-note");
        let element = span("sum-menu", "").child(&span("muted fixed", "Sum of")).child(&select).child(&note);
        SumMenu { element, select, note, offered: RefCell::default() }
    }

    /// Returns its element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Says what there is to say of the sums.
    pub fn say(&self, sums: Option<&TagSumsReport>) {
        self.note.set_text(&sums.map(sums_note).unwrap_or_default());
    }

    /// Offers the tags of what is loaded.
    pub fn update(&self, page: Page) {
        let chosen = page.address().sum.clone();
        let overview = page.queries().overview.get().filter(|_| !page.is_summary());
        let keys = overview.map(|overview| sum_keys(&overview, chosen.as_deref())).unwrap_or_default();
        self.element.show(!keys.is_empty());
        let now = (keys, chosen);
        if self.offered.borrow().as_ref() == Some(&now) {
            return;
        }
        self.select.clear();
        self.select.add(&controls::option("", "nothing"));
        now.0.iter().for_each(|key| self.select.add(&controls::option(key, &printable(key))));
        controls::choose(&self.select, now.1.as_deref().unwrap_or_default());
        self.offered.replace(Some(now));
    }
}
