//! Which of the root endpoint's requests: percentile ranges of the latency distribution, and filters, each removable.

use super::filters::{self, FilterForm};
use crate::ui::dom::{El, Keep, button, div, icon};
use crate::ui::moved;
use crate::ui::page::{Page, Part};
use crate::ui::settings;
use crate::ui::settings::Store;
use crate::ui::widgets::distribution::Distribution;
use crate::ui::widgets::frame;
use pathlight_query::{Filter, PercentileRange};
use pathlight_view::address::range_name;
use pathlight_view::selection_words::range_words;

const fn range(lo: u32, hi: u32) -> PercentileRange {
    PercentileRange { lo, hi, closed: false }
}

const fn up_to(hi: u32) -> PercentileRange {
    PercentileRange { lo: 0, hi, closed: true }
}

/// The percentile ranges one click away: a part of the distribution, or all of it up to a percentile.
pub const PRESETS: [(PercentileRange, &str, &str); 8] = [
    (PercentileRange::ALL, "All", "Every request"),
    (range(0, 50_000), "P0\u{2013}50", "The faster half"),
    (range(50_000, 95_000), "P50\u{2013}95", "Slower than half, not yet the tail"),
    (range(95_000, 99_000), "P95\u{2013}99", "The tail"),
    (range(99_000, 100_000), "P99\u{2013}100", "The slowest hundredth"),
    (up_to(50_000), "\u{2264} P50", "Everything at or below the median (cumulative)"),
    (up_to(95_000), "\u{2264} P95", "Everything at or below the 95th percentile (cumulative)"),
    (up_to(99_000), "\u{2264} P99", "Everything at or below the 99th percentile (cumulative)"),
];

/// The bar of percentile ranges and filters.
pub struct RangeBar {
    element: El,
    distribution: Distribution,
    buttons: Vec<El>,
    chips: El,
    form: FilterForm,
    chips_keep: Keep,
    shown: Option<(PercentileRange, Vec<Filter>)>,
    _keep: Keep,
}

impl RangeBar {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> RangeBar {
        let keep = Keep::default();
        let mut buttons = Vec::new();
        for (range, name, what) in PRESETS {
            buttons.push(
                button(name)
                    .attr("title", what)
                    .attr("aria-pressed", "false")
                    .test(&format!(
                        "range-{}",
                        if range.is_all() { "all".to_owned() } else { range_name(range) }
                    ))
                    .on_click(&keep, move || page.change(|address| address.range = range)),
            );
        }
        let parts = div("segments")
            .attr("role", "group")
            .attr("aria-label", "Part of the distribution")
            .children(&buttons[..5]);
        let sums = div("segments")
            .attr("role", "group")
            .attr("aria-label", "Up to a percentile")
            .children(&buttons[5..]);
        let chips = div("chips").test("chips");
        let distribution = Distribution::new(page);
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
        set(settings::get(Store::Browser, settings::FOLDED).is_some());
        let pressed = fold.clone();
        let fold = fold.on_click(&keep, move || {
            let folded = pressed.html().get_attribute("aria-expanded").as_deref() == Some("true");
            settings::put(Store::Browser, settings::FOLDED, if folded { "1" } else { "" });
            set(folded);
        });
        let element = element.child(&fold).child(distribution.element()).child(
            &div("range-side").child(&div("range-buttons").child(&parts).child(&sums)).child(&conditions),
        );
        RangeBar {
            element,
            distribution,
            buttons,
            chips,
            form,
            chips_keep: Keep::default(),
            shown: None,
            _keep: keep,
        }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }
}

impl Part for RangeBar {
    fn update(&mut self, page: Page) {
        let shown = frame::has_traces(page);
        self.element.show(shown);
        if !shown {
            return;
        }
        self.distribution.update(page);
        self.form.update(page);
        let (range, filters) = (page.address().range, page.address().filters.clone());
        if self.shown.as_ref() == Some(&(range, filters.clone())) {
            return;
        }
        let mut is_preset = false;
        for ((preset, ..), button) in PRESETS.iter().zip(&self.buttons) {
            let on = *preset == range || preset.is_all() && range.is_all();
            is_preset |= on;
            button.set_flag("aria-pressed", on);
        }
        self.chips_keep.clear();
        self.chips.clear();
        if !range.is_all() {
            let chip = filters::chip(page, &self.chips_keep, &range_words(range), "range-chip", |page| {
                page.change(|address| address.range = PercentileRange::ALL);
            });
            chip.class_if("brushed", !is_preset);
            self.chips.add(&chip);
        }
        filters::chips(page, &self.chips_keep).iter().for_each(|chip| self.chips.add(chip));
        self.shown = Some((range, filters));
    }
}
