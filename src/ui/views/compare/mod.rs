//! Two sides against each other: the differential flame graph, the largest changes, and the services that changed.

pub mod detail;
pub mod source;
pub mod tables;

use crate::ui::dom;
use crate::ui::dom::{El, Keep, button, div, el, span};
use crate::ui::page::{Focus, Page, Part};
use crate::ui::shell::keys::Command;
use crate::ui::shell::search::{Last, Search, fits};
use crate::ui::views::compare::source::DiffSource;
use crate::ui::views::compare::tables as compare_tables;
use crate::ui::views::compare::tables::ChangeRow;
use crate::ui::views::flame::chart::{FlameChart, Words};
use crate::ui::widgets::chart_canvas::ChartCanvas;
use crate::ui::widgets::export;
use crate::ui::widgets::frame::Frame;
use crate::ui::widgets::table::Table;
use crate::ui::widgets::tree;
use crate::ui::widgets::zoom;
use crate::ui::widgets::zoom::{ZoomTools, ZoomableChart as _, svg_format};
use pathlight_chart::flame::DiffWidth;
use pathlight_chart::{Shade, Theme};
use pathlight_query::{Basis, DiffReport, Measure, ServiceChange};
use pathlight_text::format;
use pathlight_view::address::{Address, View};
use pathlight_view::choices::Choices;
use pathlight_view::json;
use std::cell::Cell;
use std::rc::Rc;
use web_sys::HtmlSelectElement;

/// Smallest changes that are coloured, in millionths of side A's mean latency.
const LEAST: [(u32, &str); 5] =
    [(0, "none"), (1_000, "0.1 %"), (5_000, "0.5 %"), (10_000, "1 %"), (50_000, "5 %")];

/// A switch between two ways, and which of them an address means.
struct Switch {
    group: El,
    buttons: [El; 2],
    second: fn(&Choices) -> bool,
}

/// The view.
pub struct Compare {
    frame: Frame,
    chart: ChartCanvas<FlameChart<DiffSource>>,
    zooms: ZoomTools,
    source: Option<Rc<DiffSource>>,
    switches: [Switch; 3],
    least: El,
    legend: Legend,
    changes: Table<ChangeRow>,
    services: Table<ServiceChange>,
    tabs: [El; 2],
    shows_services: Rc<Cell<bool>>,
    search: Search,
    shown: Option<(u64, Choices)>,
    searched: Last<(u64, Choices)>,
    _keep: Keep,
}

struct Legend {
    element: El,
    bar: El,
    ends: [El; 2],
    words: El,
}

impl Compare {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, search: &Search) -> Compare {
        let keep = Keep::default();
        let words = Words { what: "A against B", tip: Box::new(DiffSource::tip) };
        let label = "Differential flame graph; the table below says the same";
        let chart = ChartCanvas::new(FlameChart::new(page, words), "diff", label);
        let zooms = ZoomTools::new(page, &keep, chart, "-diff");
        let switches = [
            switch(
                page,
                &keep,
                "Unit",
                ["Mean", "Share"],
                ["Mean time per request", "Part of each side's whole latency"],
                |choices| choices.diff.basis == Basis::Share,
                |choices, second| choices.diff.basis = if second { Basis::Share } else { Basis::Mean },
            ),
            switch(
                page,
                &keep,
                "Time",
                ["Whole", "Own"],
                ["Colour by the time of a frame and all it calls", "Colour by the frame's own time"],
                |choices| choices.diff.measure == Measure::Exclusive,
                |choices, second| {
                    choices.diff.measure = if second { Measure::Exclusive } else { Measure::Subtree };
                },
            ),
            switch(
                page,
                &keep,
                "Width",
                ["Larger side", "Side B"],
                [
                    "Frames are as wide as on the side where they take longer",
                    "Frames are as wide as on side B",
                ],
                |choices| choices.diff.width == DiffWidth::B,
                |choices, second| {
                    choices.diff.width = if second { DiffWidth::B } else { DiffWidth::Larger };
                },
            ),
        ];
        let least = least_select(page, &keep);
        let least_label = el("label").class("labelled").child(&span("muted", "Grey below")).child(&least);
        let exports = export::menu(page, &keep, "compare", Some(chart.canvas().clone()), formats(chart));
        let tools = div("tools")
            .children(switches.iter().map(|switch| &switch.group))
            .child(&least_label)
            .child(&div("grow"))
            .children([&zooms.zoom, &zooms.all])
            .child(&exports);
        let legend = Legend::new();
        let (changes, services) = (compare_tables::changes(page), compare_tables::services(page));
        let shows_services = Rc::new(Cell::new(false));
        let tabs = [("Largest changes", "tab-changes"), ("Services", "tab-services")];
        let tabs = [false, true].map(|second| {
            let (name, test) = tabs[usize::from(second)];
            let shows = shows_services.clone();
            button(name).test(test).on_click(&keep, move || {
                shows.set(second);
                page.refresh();
            })
        });
        let group = div("segments").attr("role", "group").attr("aria-label", "Table").children(&tabs);
        let below = div("companion")
            .child(&div("tools").child(&group))
            .child(changes.element())
            .child(services.element());
        let frame = Frame::new(View::Compare, "compare", chart, below);
        let frame = frame.with(&tools).with(&legend.element).with(chart.element());
        Compare {
            frame,
            chart,
            zooms,
            source: None,
            switches,
            least,
            legend,
            changes,
            services,
            tabs,
            shows_services,
            search: search.clone(),
            shown: None,
            searched: Last::default(),
            _keep: keep,
        }
    }

    /// Where it stands.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    fn take_report(&mut self, page: Page) {
        let queries = page.queries();
        let Some(report) = queries.compare.get() else {
            return self.frame.wait(queries.compare.is_waiting());
        };
        let now = Some((queries.compare.revision(), page.address().choices.clone()));
        if self.shown == now {
            return;
        }
        let is_new = self.shown.as_ref().map(|shown| shown.0) != now.as_ref().map(|now| now.0);
        self.shown = now;
        let empty = why_empty(page, &report);
        // Everything would be gone, or new, beside a side without requests.
        let report = if empty.is_some() { Rc::default() } else { report };
        let source = Rc::new(DiffSource::new(report.clone(), &page.address().choices));
        self.frame.set_text(empty.as_deref().unwrap_or_default());
        let (query, focus) = (queries.compare.query_of_report(), page.address().focus.clone());
        self.chart.renew(|chart| chart.take(source.clone(), query, false, &focus));
        self.changes.set_rows(Rc::new(ChangeRow::of(&source)));
        self.changes.set_empty(empty.as_deref().unwrap_or("No frame on either side."));
        if is_new {
            self.services.set_rows(Rc::new(report.services.clone()));
            self.services.set_empty(empty.as_deref().unwrap_or("No service spent any time."));
        }
        self.legend.show(&source);
        self.source = Some(source);
    }

    fn take_search(&mut self, page: Page) {
        let text = page.address().search.clone();
        let Some(shown) = self.shown.clone() else { return };
        if !self.searched.is_new(&text, shown) {
            return;
        }
        let (found, share) = self.chart.with(|chart| chart.search(&text));
        self.changes.mark(&text, |row| row.fits(&text));
        self.services.mark(&text, |row| fits(&text, &[&row.service]));
        let chart = self.chart;
        self.search.publish(found, share, move |page, forward| chart.with(|chart| chart.step(page, forward)));
    }
}

fn switch(
    page: Page,
    keep: &Keep,
    label: &str,
    names: [&str; 2],
    hints: [&str; 2],
    second: fn(&Choices) -> bool,
    set: fn(&mut Choices, bool),
) -> Switch {
    let buttons = [false, true].map(|is_second| {
        let at = usize::from(is_second);
        let test = names[at].to_lowercase().replace(' ', "-");
        button(names[at])
            .attr("title", hints[at])
            .test(&format!("diff-{test}"))
            .on_click(keep, move || page.change(|address| set(&mut address.choices, is_second)))
    });
    let group = div("segments").attr("role", "group").attr("aria-label", label).children(&buttons);
    Switch { group, buttons, second }
}

fn least_select(page: Page, keep: &Keep) -> El {
    let select =
        el("select").attr("title", "Changes below this part of side A's latency are grey").test("least");
    for (ppm, name) in LEAST {
        select.add(&el("option").attr("value", &ppm.to_string()).text(name));
    }
    let chosen = select.clone();
    keep.add(dom::listen(select.html(), "change", dom::How::default(), move |_| {
        let value = chosen.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value).unwrap_or_default();
        page.change(|address| address.choices.diff.least_ppm = value.parse().unwrap_or(0));
    }));
    select
}

impl Legend {
    fn new() -> Legend {
        let bar = div("legend-bar");
        let ends = [span("num", ""), span("num", "")];
        let words = span("muted", "").test("diff-legend");
        let element = div("legend").child(&ends[0]).child(&bar).child(&ends[1]).child(&words);
        Legend { element, bar, ends, words }
    }

    fn colour(&self, theme: &Theme) {
        let stops: Vec<String> = (-4..=4).map(|at| theme.fill(Shade::Change(at * 25)).css()).collect();
        self.bar.style("background", &format!("linear-gradient(to right, {})", stops.join(", ")));
    }

    fn show(&self, source: &DiffSource) {
        let scale = source.flame.scale;
        self.ends[0].set_text(&format!("faster {}", source.change(-scale)));
        self.ends[1].set_text(&format!("{} slower", source.change(scale)));
        self.words.set_text(&format!(
            "{} of {} frames changed; grey: noise{}. New and gone frames say so.",
            format::count(source.flame.changed.into()),
            format::count(u64::from(source.flame.changed + source.flame.grey)),
            if source.choices.diff.least_ppm > 0 { " or small" } else { "" },
        ));
    }
}

/// Why there is nothing to compare.
fn why_empty(page: Page, report: &DiffReport) -> Option<String> {
    let sides = [("A", &report.a.facts), ("B", &report.b.facts)];
    let (name, facts) = sides.into_iter().find(|(_, facts)| facts.requests == 0)?;
    if page.loading().running {
        return Some(format!("Reading\u{2026} side {name} comes with it."));
    }
    let is_other_set = report.a.selection.group != report.b.selection.group;
    Some(if facts.all_requests > 0 {
        format!(
            "No request lies in the percentile range of side {name}: there are {} in all.",
            format::count(facts.all_requests)
        )
    } else if is_other_set && page.queries().overview.get().is_some_and(|overview| overview.other_traces == 0)
    {
        "The second set is not loaded. Drop its files on the right half of the page, or choose Compare with\u{2026}, \
         Files\u{2026}"
            .to_owned()
    } else {
        format!("Side {name} has no such request: choose another root endpoint, or remove filters.")
    })
}

fn formats(chart: ChartCanvas<FlameChart<DiffSource>>) -> Vec<export::Format> {
    vec![
        svg_format(chart),
        ("CSV table", "csv", Box::new(move || chart.look(|chart| chart.report().map(compare_tables::csv)))),
        (
            "JSON report",
            "json",
            Box::new(move || {
                chart.look(|chart| {
                    let DiffSource { report, choices, .. } = chart.report()?;
                    json::compare(report, choices.diff.basis, choices.diff.measure).ok()
                })
            }),
        ),
        (
            "Folded stacks of both sides",
            "folded",
            Box::new(move || chart.look(|chart| Some(chart.report()?.report.to_folded()))),
        ),
    ]
}

impl Part for Compare {
    fn update(&mut self, page: Page) {
        if !self.frame.update(page) {
            self.chart.leave();
            return;
        }
        let stale = page.queries().compare.is_waiting();
        self.take_report(page);
        let Address { choices, sort, .. } = page.address().clone();
        for switch in &self.switches {
            let second = (switch.second)(&choices);
            switch.buttons[0].set_flag("aria-pressed", !second);
            switch.buttons[1].set_flag("aria-pressed", second);
        }
        if let Some(select) = self.least.as_kind::<HtmlSelectElement>() {
            select.set_value(&choices.diff.least_ppm.to_string());
        }
        let services = self.shows_services.get();
        let is_other_tab = self.services.element().html().hidden() == services;
        for (tab, on) in self.tabs.iter().zip([!services, services]) {
            tab.set_flag("aria-pressed", on);
        }
        self.changes.element().show(!services);
        self.services.element().show(services);
        if is_other_tab {
            // A table out of sight has no room for columns.
            self.changes.paint(true);
            self.services.paint(true);
        }
        self.changes.set_stale(stale);
        self.services.set_stale(stale);
        self.changes.set_sort(sort.as_ref());
        self.services.set_sort(sort.as_ref());
        if self.chart.follow_theme() {
            self.legend.colour(&self.chart.theme());
        }
        self.chart.element().class_if("stale", stale);
        self.chart.with(|chart| chart.follow(page));
        self.zooms.update(self.chart);
        self.chart.canvas().set("data-nodes", &self.chart.look(FlameChart::len).to_string());
        self.take_search(page);
        let row = match (&*page.focus(), &self.source) {
            (Focus::Path(path), Some(source)) => tree::find(source, path)
                .and_then(|node| self.changes.rows().iter().position(|row| row.row.node == node)),
            _ => None,
        };
        self.changes.select(row);
    }

    fn command(&mut self, page: Page, command: Command) -> bool {
        if !self.frame.is_chosen(page) || self.source.is_none() {
            return false;
        }
        zoom::command(self.chart, page, command)
    }
}
