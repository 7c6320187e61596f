//! The choice among the root endpoint's requests: percentile ranges of the latency distribution, and filters, each removable.

use super::filters::{self, FilterForm};
use crate::dom::{El, Listeners, button, div, icon, span};
use crate::page::{Focus, Page, PagePart};
use crate::widgets::distribution::DistributionChart;
use crate::widgets::frame;
use crate::widgets::popover::Popover;
use pathlight_engine::requests::{Filter, PercentileRange, Until};
use pathlight_view::address::range_name;
use pathlight_view::say::selection::{holds_hint, holds_words, range_title, range_title_of};

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

/// Two entries of the menu, of which one is chosen.
struct Choice([El; 2]);

impl Choice {
    /// Builds the entries below a rule: words and name for tests of each; `choose` hears whether it is the second.
    fn new(keep: &Listeners, entries: [(&str, &str); 2], choose: impl Fn(bool) + Copy + 'static) -> Choice {
        let [first, second] = [0, 1].map(|at| {
            let (words, test) = entries[at];
            entry(test).text(words).on_click(keep, move || choose(at == 1))
        });
        Choice([first.class("menu-rule"), second])
    }

    /// Shows both, or neither, and which one is chosen.
    fn follow(&self, is_offered: bool, is_second: bool) {
        for (at, entry) in self.0.iter().enumerate() {
            entry.show(is_offered);
            entry.set_flag("aria-checked", (at == 1) == is_second);
        }
    }
}

/// Returns an entry of the menu that can be chosen.
fn entry(test: &str) -> El {
    button("").attr("role", "menuitemradio").attr("aria-checked", "false").test(test)
}

/// The histogram, the menu of percentile ranges, and filters.
pub struct RangeBar {
    distribution: DistributionChart,
    menu: Popover,
    /// Says which range is chosen.
    chosen: El,
    buttons: Vec<El>,
    /// Words of each button about its range.
    holds: Vec<El>,
    scope: Choice,
    /// When requests end.
    until: Choice,
    /// What a sampled trace counts as.
    weights: Choice,
    conditions: El,
    chips: El,
    form: FilterForm,
    chips_keep: Listeners,
    shown: Option<(PercentileRange, [bool; 2], Vec<Filter>)>,
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
            let said = span("range-holds muted small", "");
            buttons.push(
                entry(&format!("range-{name}"))
                    .child(&span("", &range_title(range)))
                    .child(&said)
                    .attr("title", what)
                    .on_click(&keep, move || {
                        page.change(|address| {
                            address.range = range;
                            address.over_all &= !range.is_all();
                        });
                    }),
            );
            holds.push(said);
        }
        let entries = [
            ("Percentiles of each request type by itself", "percentiles-type"),
            ("Percentiles of all these requests together", "percentiles-all"),
        ];
        let scope = Choice::new(&keep, entries, move |over_all| page.change(|of| of.over_all = over_all));
        let entries = [
            ("Requests end with their answer", "until-answer"),
            ("Requests end when all is done that they lead to", "until-done"),
        ];
        let until = Choice::new(&keep, entries, move |is_done| {
            page.set_focus(Focus::Nothing);
            page.change(|address| {
                address.until = if is_done { Until::Done } else { Until::Answer };
                address.focus.clear();
            });
        });
        let entries = [
            ("A trace counts as the requests that it stands for", "weights-on"),
            ("Each trace counts once, however it was sampled", "weights-off"),
        ];
        let weights = Choice::new(&keep, entries, move |is_off| page.change(|of| of.unweighted = is_off));
        let chosen = span("", "");
        let open = button("")
            .child(&chosen)
            .node(&icon("M4 6l4 4 4-4"))
            .attr("title", "Only requests in a part of the distribution of latency")
            .test("range-menu");
        let panel = div("popover menu left range-list").test("range-list");
        let items = buttons.iter().chain(&scope.0).chain(&until.0).chain(&weights.0);
        let items: Vec<El> = items.cloned().collect();
        let menu = Popover::menu(&keep, open, panel, &items);
        let chips = div("chips").test("chips");
        let distribution = DistributionChart::new(page);
        let form = FilterForm::new(page);
        let conditions = div("conditions").child(form.element()).child(&chips);
        RangeBar {
            distribution,
            menu,
            chosen,
            buttons,
            holds,
            scope,
            until,
            weights,
            conditions,
            chips,
            form,
            chips_keep: Listeners::default(),
            shown: None,
            marked: 0,
            _keep: keep,
        }
    }

    /// Returns the histogram.
    pub fn histogram(&self) -> &El {
        self.distribution.element()
    }

    /// Returns the menu of percentile ranges, and the filters.
    pub fn choices(&self) -> [&El; 2] {
        [self.menu.element(), &self.conditions]
    }
}

impl RangeBar {
    /// Says on each button which latencies its range has and of how many requests, and what percentiles are of.
    fn mark(&mut self, page: Page) {
        let slot = &page.queries().range;
        let over_all = page.address().over_all;
        self.scope.follow(true, over_all);
        self.until.follow(has_end_to_choose(page), page.address().until == Until::Done);
        let is_weighted = slot.get().is_some_and(|report| report.facts.weighted.is_some());
        // What a summary counts by weight was decided when it was made.
        self.weights.follow(is_weighted && !page.is_summary(), page.address().unweighted);
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

/// Returns whether requests of the view in sight may go on after their answer.
fn has_end_to_choose(page: Page) -> bool {
    let address = page.address();
    let goes_on =
        page.overview_in_sight().is_some_and(|of| of.quality.async_spans > 0 || of.links.resolved > 0);
    let is_chosen = address.until == Until::Done;
    address.follows_messages() && (is_chosen || goes_on && !page.is_summary())
}

impl PagePart for RangeBar {
    fn update(&mut self, page: Page) {
        if !frame::has_traces(page) {
            return;
        }
        self.form.element().show(!page.is_summary());
        self.distribution.update(page);
        self.form.update(page);
        self.mark(page);
        let (range, [over_all, is_done], filters) = {
            let address = page.address();
            let is_done = address.until == Until::Done && address.follows_messages();
            (address.range, [address.over_all, is_done], address.filters.clone())
        };
        if self.shown.as_ref() == Some(&(range, [over_all, is_done], filters.clone())) {
            return;
        }
        for (preset, button) in PercentileRange::PRESETS.iter().zip(&self.buttons) {
            let on = *preset == range || preset.is_all() && range.is_all();
            button.set_flag("aria-checked", on);
        }
        let until = if is_done { ", until done" } else { "" };
        self.chosen.set_text(&format!("{}{until}", range_title_of(range, over_all)));
        self.menu.element().class_if("on", !range.is_all() || is_done);
        self.chips_keep.clear();
        self.chips.clear();
        filters::chips(page, &self.chips_keep).iter().for_each(|chip| self.chips.add(chip));
        self.shown = Some((range, [over_all, is_done], filters));
    }

    fn fit(&mut self, page: Page) {
        if frame::has_traces(page) {
            self.distribution.fit(page);
        }
    }
}
