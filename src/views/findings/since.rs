//! The offer to compare the requests before a change with those since then; see [`since`].

use crate::dom::{El, Listeners, button, div};
use crate::page::Page;
use crate::widgets::names;
use pathlight_view::findings::since::{self, ChangePoint};
use std::cell::Cell;
use std::rc::Rc;

/// The offer.
pub struct SinceOffer {
    element: El,
    words: El,
    /// The change that is offered.
    at_us: Rc<Cell<Option<u64>>>,
    /// State of the data that is to stay one set.
    refused: Rc<Cell<Option<u64>>>,
    shown: Option<ChangePoint>,
    keep: Listeners,
}

impl SinceOffer {
    /// Builds the elements and their listeners, out of sight.
    pub fn new(page: Page, keep: &Listeners) -> SinceOffer {
        let (at_us, refused) = (Rc::<Cell<Option<u64>>>::default(), Rc::<Cell<Option<u64>>>::default());
        let [pair, one] = since::CHOICES;
        let offered = at_us.clone();
        let pair = button(pair).class("primary").test("since-pair").on_click(keep, move || {
            if let Some(at_us) = offered.get() {
                page.step(|address| address.compare_since(at_us));
            }
        });
        let asked = refused.clone();
        let one = button(one).test("since-one").on_click(keep, move || {
            asked.set(Some(page.generation()));
            page.refresh();
        });
        let words = div("since-words").test("since-words");
        let element = div("since-offer").test("since-offer").child(&words).child(&pair).child(&one);
        element.show(false);
        SinceOffer { element, words, at_us, refused, shown: None, keep: Listeners::default() }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the findings: nothing is offered while they are worked out, and of summaries, which hold no single requests.
    pub fn update(&mut self, page: Page) {
        let is_refused = self.refused.get() == Some(page.generation());
        let report = page.queries().all_findings().filter(|_| !is_refused && !page.is_summary());
        let found = report.and_then(|(report, _)| since::change_point(&report, &page.address()));
        self.element.show(found.is_some());
        self.at_us.set(found.as_ref().map(|found| found.at_us));
        if self.shown != found {
            self.keep.clear();
            let said = found.as_ref().map(|found| found.sentence.clone());
            self.words.fill(&names::sentence(page, &self.keep, said.unwrap_or_default()));
            self.shown = found;
        }
    }
}
