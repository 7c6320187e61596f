//! The choice among the root endpoint's requests: percentile ranges of the latency distribution, and filters, each removable.

use super::filters::{self, FilterForm};
use crate::app::moved;
use crate::dom::{self, El, Listeners, button, div, icon, span};
use crate::page::{Page, PagePart};
use crate::settings::{self, Store};
use crate::widgets::controls::Segments;
use crate::widgets::distribution::DistributionChart;
use crate::widgets::frame;
use pathlight_engine::requests::{Filter, PercentileRange};
use pathlight_view::address::range_name;
use pathlight_view::say::selection::{holds_hint, holds_words, range_words};

/// Windows less wide than this are narrow, as in the style sheet.
const NARROW_PX: f64 = 720.0;

/// Of each of [`PercentileRange::PRESETS`] what is said beside the pointer.
const HINTS: [&str; 8] = [
    "Every request",
    "The faster half",
    "Slower than half, not yet the tail",
    "The tail",
    "The slowest hundredth",
    "Everything at or below the median (cumulative)",
    "Everything at or below the 95th percentile (cumulative)",
    "Everything at or below the 99th percentile (cumulative)",
];

/// The bar of percentile ranges and filters.
pub struct RangeBar {
    element: El,
    distribution: DistributionChart,
    buttons: Vec<El>,
    /// Words of each button about its range.
    holds: Vec<El>,
    scope: Segments,
    chips: El,
    form: FilterForm,
    chips_keep: Listeners,
    shown: Option<(PercentileRange, Vec<Filter>)>,
    /// Revision of the report whose marks the buttons say.
    marked: u64,
    _keep: Listeners,
}

impl RangeBar {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> RangeBar {
        let keep = Listeners::default();
        let (mut buttons, mut holds) = (Vec::new(), Vec::new());
        for (range, what) in PercentileRange::PRESETS.into_iter().zip(HINTS) {
            let name = if range.is_all() { "all".to_owned() } else { range_name(range) };
            let words = if range.is_all() { "All".to_owned() } else { range_words(range) };
            let said = span("range-holds", "");
            buttons.push(
                button("")
                    .child(&span("", &words))
                    .child(&said)
                    .attr("title", what)
                    .attr("aria-pressed", "false")
                    .test(&format!("range-{name}"))
                    .on_click(&keep, move || page.change(|address| address.range = range)),
            );
            holds.push(said);
        }
        let within = move |over_all: bool| page.change(|address| address.over_all = over_all);
        let scope = Segments::new("What percentiles are of")
            .button(
                &keep,
                ("Per type", "Percentiles of each request type by itself", "percentiles-type"),
                move || within(false),
            )
            .button(
                &keep,
                ("Over all", "Percentiles of all these requests together", "percentiles-all"),
                move || within(true),
            );
        let parts = div("segments")
            .attr("role", "group")
            .attr("aria-label", "Part of the distribution")
            .children(&buttons[..5]);
        let sums = div("segments")
            .attr("role", "group")
            .attr("aria-label", "Up to a percentile")
            .children(&buttons[5..]);
        let chips = div("chips").test("chips");
        let distribution = DistributionChart::new(page);
        let form = FilterForm::new(page);
        let conditions = div("conditions").child(form.element()).child(&chips);
        let fold = button("")
            .class("quiet square fold")
            .label("Histogram")
            .test("fold-histogram")
            .node(&icon("M4 6l4 4 4-4"));
        let element =
            div("range-bar").attr("role", "region").attr("aria-label", "Percentile range and filters");
        let set = {
            let (element, fold) = (element.clone(), fold.clone());
            move |folded: bool| {
                element.class_if("folded", folded);
                fold.set_flag("aria-expanded", !folded);
                moved();
            }
        };
        let is_narrow = || dom::window().inner_width().ok().and_then(|px| px.as_f64()) < Some(NARROW_PX);
        set(settings::get(Store::Browser, settings::FOLDED).map_or_else(is_narrow, |chosen| chosen == "1"));
        let pressed = fold.clone();
        let fold = fold.on_click(&keep, move || {
            let folded = pressed.html().get_attribute("aria-expanded").as_deref() == Some("true");
            settings::put(Store::Browser, settings::FOLDED, if folded { "1" } else { "0" });
            set(folded);
        });
        let element = element.child(&fold).child(distribution.element()).child(
            &div("range-side")
                .child(&div("range-buttons").child(&parts).child(&sums).child(scope.element()))
                .child(&conditions),
        );
        RangeBar {
            element,
            distribution,
            buttons,
            holds,
            scope,
            chips,
            form,
            chips_keep: Listeners::default(),
            shown: None,
            marked: 0,
            _keep: keep,
        }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }
}

impl RangeBar {
    /// Says on each button which latencies its range has and of how many requests, and what percentiles are of.
    fn mark(&mut self, page: Page) {
        let slot = &page.queries().range;
        self.scope.press(usize::from(page.address().over_all));
        let Some(report) = slot.get().filter(|_| self.marked != slot.revision()) else { return };
        self.marked = slot.revision();
        let facts = &report.facts;
        let presets = PercentileRange::PRESETS.iter().zip(&facts.marks).zip(HINTS);
        for (((preset, mark), what), (button, said)) in presets.zip(self.buttons.iter().zip(&self.holds)) {
            said.set_text(&holds_words(*preset, mark, facts));
            button.set("title", &holds_hint(what, *preset, mark));
        }
    }
}

impl PagePart for RangeBar {
    fn update(&mut self, page: Page) {
        let shown = frame::has_traces(page);
        self.element.show(shown);
        self.form.element().show(!page.is_summary());
        if !shown {
            return;
        }
        self.distribution.update(page);
        self.form.update(page);
        self.mark(page);
        let (range, filters) = (page.address().range, page.address().filters.clone());
        if self.shown.as_ref() == Some(&(range, filters.clone())) {
            return;
        }
        let mut is_preset = false;
        for (preset, button) in PercentileRange::PRESETS.iter().zip(&self.buttons) {
            let on = *preset == range || preset.is_all() && range.is_all();
            is_preset |= on;
            button.set_flag("aria-pressed", on);
        }
        self.chips_keep.clear();
        self.chips.clear();
        if !range.is_all() {
            let chip = filters::chip(page, &self.chips_keep, &range_words(range), "range-chip", |page| {
                page.change(|address| address.cut_over_all(PercentileRange::ALL));
            });
            chip.class_if("brushed", !is_preset);
            self.chips.add(&chip);
        }
        filters::chips(page, &self.chips_keep).iter().for_each(|chip| self.chips.add(chip));
        self.shown = Some((range, filters));
    }

    fn fit(&mut self, page: Page) {
        if frame::has_traces(page) {
            self.distribution.fit(page);
        }
    }
}
