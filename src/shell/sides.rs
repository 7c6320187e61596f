//! The two sides of a comparison: which requests each is, and of which the views speak that do not compare.

use crate::dom::{self, El, Listeners, button, div, el, icon, span};
use crate::page::{Page, PagePart};

use crate::widgets::frame;
use pathlight_base::format;
use pathlight_engine::requests::PercentileRange;
use pathlight_view::address::comparing::{Against, ComparedSide, Comparison};
use pathlight_view::address::{Address, parse_range, range_name};
use pathlight_view::anomalies;
use pathlight_view::anomalies::settings::JudgedAgainst;
use pathlight_view::say::selection::range_words;
use pathlight_view::views::View;
use web_sys::HtmlSelectElement;

/// The bar of both sides.
pub struct Sides {
    element: El,
    cards: [Card; 2],
    speak: El,
    speaks_of: El,
    speakers: [El; 2],
    shown: Option<(Comparison, [PercentileRange; 2], u64, bool, usize)>,
    _keep: Listeners,
}

struct Card {
    element: El,
    what: El,
    range: El,
    facts: El,
}

impl Sides {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> Sides {
        let keep = Listeners::default();
        let cards = ComparedSide::BOTH.map(|side| card(page, &keep, side));
        let swap = button("")
            .class("quiet square")
            .label("Swap sides")
            .test("swap-sides")
            .node(&icon("M3 5.5h9M9.5 3 12 5.5 9.5 8M13 10.5H4M6.5 8 4 10.5 6.5 13"))
            .on_click(&keep, move || page.change(Address::swap_sides));
        let speakers = ComparedSide::BOTH.map(|side| {
            button(side.name())
                .attr("title", &format!("This view shows side {}", side.name()))
                .test(&format!("side-{}", side.name()))
                .on_click(&keep, move || page.change(|address| address.speak_of(side)))
        });
        let group = div("segments").attr("role", "group").attr("aria-label", "Side").children(&speakers);
        let speaks_of = span("muted", "");
        let speak = div("speaks").child(&speaks_of).child(&group);
        let stop =
            button("Stop comparing").test("stop-comparing").on_click(&keep, move || page.stop_comparing());
        let [a, b] = &cards;
        let element = div("sides").attr("role", "region").attr("aria-label", "Sides of the comparison");
        let element =
            element.test("sides").children([&a.element, &swap, &b.element, &div("grow"), &speak, &stop]);
        Sides { element, cards, speak, speaks_of, speakers, shown: None, _keep: keep }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }
}

fn card(page: Page, keep: &Listeners, side: ComparedSide) -> Card {
    let what = span("muted", "").test(&format!("what-{}", side.name()));
    let range = el("select")
        .attr("aria-label", &format!("Percentile range of side {}", side.name()))
        .test(&format!("range-of-{}", side.name()));
    let chosen = range.clone();
    keep.add(dom::listen(range.html(), "change", dom::How::default(), move |_| {
        let key = chosen.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value).unwrap_or_default();
        page.change(|address| address.set_range(side, parse_range(&key).unwrap_or(PercentileRange::ALL)));
    }));
    let facts = span("side-facts muted", "").test(&format!("facts-{}", side.name()));
    let element = div(&format!("side side-{}", side.name().to_lowercase()))
        .child(&span("side-name", side.name()))
        .child(&what)
        .child(&range)
        .child(&facts);
    Card { element, what, range, facts }
}

impl Card {
    fn offer(&self, chosen: PercentileRange) {
        self.range.clear();
        let key = |range: PercentileRange| if range.is_all() { String::new() } else { range_name(range) };
        // The tail is what a comparison begins with.
        let presets = PercentileRange::PRESETS.into_iter().chain([PercentileRange::TAIL]);
        let is_preset = presets.clone().any(|range| key(range) == key(chosen));
        for range in presets.chain((!is_preset).then_some(chosen)) {
            let name = if range.is_all() { "All".to_owned() } else { range_words(range) };
            self.range.add(&el("option").attr("value", &key(range)).text(&name));
        }
        if let Some(select) = self.range.as_kind::<HtmlSelectElement>() {
            select.set_value(&key(chosen));
        }
    }
}

impl PagePart for Sides {
    fn update(&mut self, page: Page) {
        let has_data = frame::has_traces(page);
        let comparison = page.address().compared().filter(|_| has_data);
        self.element.show(comparison.is_some());
        if let Some(root) = dom::root() {
            let _ = root.toggle_attribute_with_force("data-comparing", comparison.is_some());
        }
        let Some(comparison) = comparison else { return };
        let is_here = page.address().view == View::Compare;
        // Anomalies judge one set by the other, and findings compare the two, whichever side is chosen.
        let judges_b = page.address().view == View::Anomalies
            && anomalies::normal(&page.address()) == JudgedAgainst::SetA;
        self.speak.show(!is_here && !judges_b);
        let is_findings = page.address().view == View::Findings && comparison.against == Against::Set;
        self.speaks_of.set_text(if is_findings {
            "Findings compare both sides; tables show"
        } else {
            "This view shows"
        });
        for (side, button) in ComparedSide::BOTH.iter().zip(&self.speakers) {
            button.set_flag("aria-pressed", *side == comparison.side);
        }
        let report = page.queries().compare.fresh().filter(|_| is_here);
        let ranges = ComparedSide::BOTH.map(|side| page.address().side(side).range);
        let now = Some((
            comparison,
            ranges,
            page.queries().compare.revision(),
            report.is_some(),
            page.loading().inputs.len(),
        ));
        if self.shown == now {
            return;
        }
        self.shown = now;
        for (at, (side, card)) in ComparedSide::BOTH.into_iter().zip(&self.cards).enumerate() {
            card.offer(ranges[at]);
            let what = match comparison.against {
                Against::Range => String::new(),
                Against::Set => page.side_name(side),
            };
            card.what.set_text(&what);
            card.what.set("title", &what);
            let facts = report.as_ref().map(|report| match side {
                ComparedSide::A => &report.a.facts,
                ComparedSide::B => &report.b.facts,
            });
            card.facts.set_text(&facts.map_or(String::new(), |facts| {
                format!(
                    "{}, mean {}, p99 {}",
                    format::sample(facts.requests),
                    format::duration(facts.latency_us.mean),
                    format::duration(facts.latency_us.p99)
                )
            }));
            card.facts.set("data-value", &facts.map_or(String::new(), |facts| facts.requests.to_string()));
        }
    }
}
