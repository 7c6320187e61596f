//! Which of the subject's requests: bands of the latency distribution, and filters, each removable.

use super::filters::{self, FilterForm};
use crate::ui::dom::{El, Keep, button, div};
use crate::ui::page::{Page, Part};
use crate::ui::widgets::distribution::Distribution;
use crate::ui::widgets::frame as view;
use pathlight_query::{Band, Filter};
use pathlight_view::address::band_name;

const fn band(lo: u32, hi: u32) -> Band {
    Band { lo, hi, closed: false }
}

const fn up_to(hi: u32) -> Band {
    Band { lo: 0, hi, closed: true }
}

/// The bands one click away: a part of the distribution, or all of it up to a percentile.
pub const BANDS: [(Band, &str, &str); 8] = [
    (Band::ALL, "All", "Every request"),
    (band(0, 50_000), "P0\u{2013}50", "The faster half"),
    (band(50_000, 95_000), "P50\u{2013}95", "Slower than half, not yet the tail"),
    (band(95_000, 99_000), "P95\u{2013}99", "The tail"),
    (band(99_000, 100_000), "P99\u{2013}100", "The slowest hundredth"),
    (up_to(50_000), "\u{2264} P50", "Everything at or below the median (cumulative)"),
    (up_to(95_000), "\u{2264} P95", "Everything at or below the 95th percentile (cumulative)"),
    (up_to(99_000), "\u{2264} P99", "Everything at or below the 99th percentile (cumulative)"),
];

/// The bar of bands and filters.
pub struct BandBar {
    element: El,
    distribution: Distribution,
    buttons: Vec<El>,
    chips: El,
    form: FilterForm,
    chips_keep: Keep,
    shown: Option<(Band, Vec<Filter>)>,
    _keep: Keep,
}

impl BandBar {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> BandBar {
        let keep = Keep::default();
        let mut buttons = Vec::new();
        for (band, name, what) in BANDS {
            buttons.push(
                button(name)
                    .attr("title", what)
                    .attr("aria-pressed", "false")
                    .test(&format!("band-{}", if band.is_all() { "all".to_owned() } else { band_name(band) }))
                    .on_click(&keep, move || page.change(|address| address.band = band)),
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
        let element = div("band").child(distribution.element()).child(
            &div("band-side").child(&div("band-buttons").child(&parts).child(&sums)).child(&conditions),
        );
        BandBar {
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

    /// Its element.
    pub fn element(&self) -> &El {
        &self.element
    }
}

/// A band in words: `P50–95`, or `≤ P95`.
pub fn words(band: Band) -> String {
    let name = band_name(band);
    if band.closed && band.lo == 0 { format!("\u{2264} {name}") } else { name.replace('-', "\u{2013}") }
}

impl Part for BandBar {
    fn update(&mut self, page: Page) {
        let shown = view::has_traces(page);
        self.element.show(shown);
        if !shown {
            return;
        }
        self.distribution.update(page);
        self.form.update(page);
        let (band, filters) = (page.address().band, page.address().filters.clone());
        if self.shown.as_ref() == Some(&(band, filters.clone())) {
            return;
        }
        let mut is_preset = false;
        for ((preset, ..), button) in BANDS.iter().zip(&self.buttons) {
            let on = *preset == band || preset.is_all() && band.is_all();
            is_preset |= on;
            button.set_flag("aria-pressed", on);
        }
        self.chips_keep.clear();
        self.chips.clear();
        if !band.is_all() {
            let chip = filters::chip(page, &self.chips_keep, &words(band), "band-chip", |page| {
                page.change(|address| address.band = Band::ALL);
            });
            chip.class_if("brushed", !is_preset);
            self.chips.add(&chip);
        }
        filters::chips(page, &self.chips_keep).iter().for_each(|chip| self.chips.add(chip));
        self.shown = Some((band, filters));
    }
}
