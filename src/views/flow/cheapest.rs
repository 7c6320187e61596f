//! Which of the changes of a what-if reach the target for the least: their prices, and the answer; see
//! [`cheapest`](pathlight_view::flow::cheapest).

use super::what_if;
use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::Page;
use pathlight_view::flow::cheapest;
use pathlight_view::flow::price::{parse_price, price_text};
use pathlight_view::views::WORKING;
use web_sys::HtmlInputElement;

/// The list.
pub struct CheapestList {
    element: El,
    list: El,
    sentence: El,
    /// Names and prices that are listed.
    shown: Vec<(String, u64)>,
    keep: Listeners,
}

impl CheapestList {
    /// Builds the elements.
    pub fn new() -> CheapestList {
        let list = el("ul").class("cheapest-list").test("cheapest-list");
        let sentence = el("p").class("target-sentence").test("cheapest-sentence");
        let element = div("cheapest").test("cheapest").child(&list).child(&sentence);
        element.show(false);
        CheapestList { element, list, sentence, shown: Vec::new(), keep: Listeners::default() }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows address and reports.
    pub fn update(&mut self, page: Page) {
        let choice = page.address().choices.flow.clone();
        self.element.show(choice.target.is_some());
        let options = cheapest::priced(&choice.changes, &choice.prices);
        let now: Vec<(String, u64)> = options.into_iter().map(|of| (of.name, of.cost_thousandths)).collect();
        if self.shown != now {
            self.list(page, &now);
            self.shown = now;
        }
        let slot = &page.queries().cheapest;
        self.sentence.class_if("stale", slot.is_waiting());
        let words = match (self.shown.is_empty(), slot.get()) {
            (true, _) => cheapest::NO_CHANGES.to_owned(),
            (false, Some(report)) => cheapest::sentence(&report),
            (false, None) => WORKING.to_owned(),
        };
        self.sentence.set_text(&words);
    }

    fn list(&self, page: Page, options: &[(String, u64)]) {
        self.keep.clear();
        self.list.clear();
        self.list.show(!options.is_empty());
        for (at, (name, price)) in options.iter().enumerate() {
            let input = el("input")
                .class("price")
                .attr("type", "number")
                .attr("min", "0")
                .attr("step", "any")
                .attr("value", &price_text(*price))
                .attr("aria-label", &format!("Price of {name}"))
                .test("cheapest-price");
            let (field, all) = (input.clone(), options.iter().map(|of| of.1).collect::<Vec<_>>());
            let input = input.on(&self.keep, "change", move |_| {
                let text =
                    field.as_kind::<HtmlInputElement>().map(HtmlInputElement::value).unwrap_or_default();
                let mut prices = all.clone();
                if let Some(price) = parse_price(&text) {
                    prices[at] = price;
                }
                page.change(|address| address.choices.flow.prices = prices);
                page.refresh();
            });
            let label = el("label").child(&span("", name)).child(&span("muted", " costs ")).child(&input);
            self.list.add(&el("li").child(&label));
        }
        if !options.is_empty() {
            let open = button("Change them in What if").class("link").test("cheapest-changes");
            let open = open.on_click(&self.keep, move || what_if::open(page, |_| ()));
            self.list.add(&el("li").child(&open));
        }
    }
}
