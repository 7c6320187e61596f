//! The two sides of a comparison: of which of them views speak, and which requests each is.

use crate::dom::{self, El, Listeners, button, div, el, icon, span};
use crate::page::{Page, PagePart};
use crate::widgets::frame;
use crate::widgets::popover::Popover;
use pathlight_base::format;
use pathlight_engine::requests::PercentileRange;
use pathlight_view::address::comparing::{Against, ComparedSide};
use pathlight_view::address::{Address, parse_range, range_name};
use pathlight_view::say::selection::range_title;
use web_sys::HtmlSelectElement;

/// The switch between both sides, with the menu of what they are.
pub struct Sides {
    element: El,
    sides: [Side; 2],
    swap: El,
    _keep: Listeners,
}

/// The elements of a side.
struct Side {
    button: El,
    what: El,
    requests: El,
    range: El,
    offered: Option<PercentileRange>,
}

impl Sides {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> Sides {
        let keep = Listeners::default();
        let sides = ComparedSide::BOTH.map(|side| Side::new(page, &keep, side));
        let switch = div("segments").attr("role", "group").attr("aria-label", "Side that views show");
        let switch = switch.children([&sides[0].button, &sides[1].button]);
        let swap =
            button("Swap sides").test("swap-sides").on_click(&keep, move || page.change(Address::swap_sides));
        let stop =
            button("Stop comparing").test("stop-comparing").on_click(&keep, move || page.stop_comparing());
        let panel =
            div("popover sides-menu").attr("role", "dialog").attr("aria-label", "Sides of the comparison");
        for (side, of) in ComparedSide::BOTH.iter().zip(&sides) {
            let name = span("form-name", side.name());
            panel.add(&el("label").class("form-row").child(&name).child(&of.range));
        }
        panel.add(&div("buttons").child(&swap).child(&stop));
        let open = button("")
            .class("quiet square")
            .label("Sides of the comparison")
            .node(&icon("M3 8h.1M8 8h.1M13 8h.1"))
            .test("sides-menu");
        let menu = Popover::new(&keep, open, panel, || ());
        let closed = menu.clone();
        for done in [&swap, &stop] {
            let closed = closed.clone();
            keep.add(dom::listen(done.html(), "click", dom::How::default(), move |_| closed.close()));
        }
        let element = div("sides").test("sides").child(&switch).child(menu.element());
        element.show(false);
        Sides { element, sides, swap, _keep: keep }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }
}

impl Side {
    fn new(page: Page, keep: &Listeners, side: ComparedSide) -> Side {
        let what = span("side-what", "").test(&format!("what-{}", side.name()));
        let requests = span("small number", "").test(&format!("facts-{}", side.name()));
        let button = button(side.name())
            .class(&format!("side-{}", side.name().to_lowercase()))
            .attr("aria-pressed", "false")
            .test(&format!("side-{}", side.name()))
            .child(&what)
            .child(&requests)
            .on_click(keep, move || page.change(|address| address.speak_of(side)));
        let range = el("select")
            .attr("aria-label", &format!("Percentile range of side {}", side.name()))
            .test(&format!("range-of-{}", side.name()));
        let chosen = range.clone();
        keep.add(dom::listen(range.html(), "change", dom::How::default(), move |_| {
            let chosen = chosen.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value);
            let range = parse_range(&chosen.unwrap_or_default()).unwrap_or(PercentileRange::ALL);
            page.change(|address| address.set_range(side, range));
        }));
        Side { button, what, requests, range, offered: None }
    }

    fn offer(&mut self, chosen: PercentileRange) {
        if self.offered.replace(chosen) == Some(chosen) {
            return;
        }
        self.range.clear();
        let key = |range: PercentileRange| if range.is_all() { String::new() } else { range_name(range) };
        // The tail is what a comparison begins with.
        let presets = PercentileRange::PRESETS.into_iter().chain([PercentileRange::TAIL]);
        let is_preset = presets.clone().any(|range| key(range) == key(chosen));
        for range in presets.chain((!is_preset).then_some(chosen)) {
            self.range.add(&el("option").attr("value", &key(range)).text(&range_title(range)));
        }
        if let Some(select) = self.range.as_kind::<HtmlSelectElement>() {
            select.set_value(&key(chosen));
        }
    }
}

impl PagePart for Sides {
    fn update(&mut self, page: Page) {
        let comparison = page.address().compared().filter(|_| frame::has_traces(page));
        self.element.show(comparison.is_some());
        let Some(comparison) = comparison else { return };
        // Before stays before.
        self.swap.show(!matches!(comparison.against, Against::Time(_)));
        // The view that compares without having been asked to shows a side of nothing.
        let is_begun = page.address().comparison.is_some();
        for (side, of) in ComparedSide::BOTH.into_iter().zip(&mut self.sides) {
            of.button.set_flag("aria-pressed", is_begun && side == comparison.side);
            of.offer(page.address().side(side).range);
            let what = page.side_name(side);
            of.what.set_text(&what);
            let requests = page.slot_of_side(side).fresh().map(|report| report.facts.requests);
            let words = requests.map_or(String::new(), format::count);
            of.requests.set_text(&words);
            of.requests.set("data-value", &requests.map_or(String::new(), |n| n.to_string()));
            let set = match comparison.against {
                Against::Range => "the range ",
                Against::Set => "the set ",
                Against::Time(_) => "requests ",
            };
            of.button.set("title", &format!("Show side {}: {set}{what}", side.name()));
        }
    }
}
