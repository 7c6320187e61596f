//! Two sides against each other in the page; see [`compare`].

pub mod detail;
pub mod services;

use crate::dom::{El, Listeners, div, el, span};
use crate::page::{Focus, Page};
use crate::views::compare::services::ChangedServices;
use crate::views::findings;
use crate::views::flame::chart::{self, FlameChart, FrameWords};
use crate::views::view::{PageView, SearchResult};
use crate::widgets::chart_canvas::ChartCanvas;
use crate::widgets::companion::CompanionTable;
use crate::widgets::controls::{self, Segments};
use crate::widgets::export;
use crate::widgets::frame::ViewFrame;
use crate::widgets::places::Places;
use crate::widgets::zoom::{self, ZoomTools, svg_format};
use pathlight_engine::compare::{Basis, MeasuredTime};
use pathlight_engine::queries;
use pathlight_view::address::Address;
use pathlight_view::address::choices::Choices;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::compare::{self, ChangeRow, DiffSource};
use pathlight_view::draw::{Shade, Theme};
use pathlight_view::flame::chart::DiffWidth;
use pathlight_view::flame::tree;
use pathlight_view::json;
use pathlight_view::keys::KeyCommand;
use pathlight_view::search::finder::Finder;
use pathlight_view::views::View;
use std::cell::Cell;
use std::rc::Rc;

/// The view.
pub struct CompareView {
    frame: ViewFrame,
    chart: ChartCanvas<FlameChart<DiffSource>>,
    source: Option<Rc<DiffSource>>,
    bases: Segments,
    measures: Segments,
    widths: Segments,
    least: El,
    /// Copies what is found of two sets.
    note: El,
    legend: Legend,
    changes: CompanionTable<ChangeRow>,
    verdict: El,
    services: ChangedServices,
    tabs: Segments,
    tab: Rc<Cell<Tab>>,
}

/// The table that is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tab {
    Services,
    Changes,
}

struct Legend {
    element: El,
    bar: El,
    ends: [El; 2],
    words: El,
}

impl CompareView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> CompareView {
        let words = FrameWords { what: "A against B", tip: Box::new(DiffSource::tip) };
        let label = "Differential flame graph; the table below says the same";
        let chart = ChartCanvas::new(FlameChart::new(page, words), "diff", label);
        let zooms = ZoomTools::new(page, keep, chart, "-diff");
        let change = move |set: fn(&mut Choices)| page.change(|address| set(&mut address.choices));
        let bases = Segments::new("Unit")
            .button(keep, ("Mean", "Mean time per request", "diff-mean"), move || {
                change(|choices| choices.diff.basis = Basis::Mean);
            })
            .button(keep, ("Share", "Part of each side's whole latency", "diff-share"), move || {
                change(|choices| choices.diff.basis = Basis::Share);
            });
        let of_all = ("Total", "Colour by the time of a frame and all it calls", "diff-whole");
        let measures = Segments::new("Time")
            .button(keep, of_all, move || change(|choices| choices.diff.measure = MeasuredTime::Subtree))
            .button(keep, ("Self", "Colour by the frame's self time", "diff-own"), move || {
                change(|choices| choices.diff.measure = MeasuredTime::Exclusive);
            });
        let larger = "Frames are as wide as on the side where they take longer";
        let widths = Segments::new("Width")
            .button(keep, ("Larger side", larger, "diff-larger-side"), move || {
                change(|choices| choices.diff.width = DiffWidth::Larger);
            })
            .button(keep, ("Side B", "Frames are as wide as on side B", "diff-side-b"), move || {
                change(|choices| choices.diff.width = DiffWidth::B);
            });
        let least = controls::select(keep, "least", move |value| {
            page.change(|address| address.choices.diff.least_ppm = value.parse().unwrap_or(0));
        });
        least.set("title", "Changes below this part of side A's latency are grey");
        for (ppm, name) in compare::LEAST {
            least.add(&controls::option(&ppm.to_string(), name));
        }
        let least_label = el("label").class("labelled").child(&span("muted", "Grey below")).child(&least);
        let changes = CompanionTable::new(page, compare::changes())
            .on_select(move |row| page.set_focus(Focus::Path(row.path())))
            .on_open(move |row| page.zoom_here(row.path()));
        let tab = Rc::new(Cell::new(Tab::Services));
        let services = ChangedServices::new(page, keep);
        let colours: export::LegendOf = Box::new(move |theme| {
            let colour = |change| Some(theme.fill(Shade::Change(change)));
            let legend = chart.look(|chart| chart.report().map(DiffSource::legend));
            legend.map_or_else(Vec::new, |([faster, slower], words)| {
                vec![(colour(-100), faster), (colour(100), slower), (None, words)]
            })
        });
        let exports = export::menu(page, keep, "compare", Some(colours), formats(chart, changes));
        let places = Places::new(page, keep);
        let note = findings::note(page, keep, "copy-compare");
        let tools = div("tools")
            .children([bases.element(), places.element(), measures.element(), widths.element()])
            .child(&least_label)
            .child(&div("grow"))
            .children([&zooms.zoom, &zooms.all, &note])
            .child(&exports);
        let legend = Legend::new();
        let show = |chosen: Tab| {
            let tab = tab.clone();
            move || {
                tab.set(chosen);
                page.refresh();
            }
        };
        let tabs = Segments::new("Table")
            .button(
                keep,
                ("Services", "Which service explains the difference", "tab-services"),
                show(Tab::Services),
            )
            .button(keep, ("Largest changes", "Frame by frame", "tab-changes"), show(Tab::Changes));
        let below = div("companion")
            .child(&div("tools").child(tabs.element()))
            .children(services.elements())
            .child(changes.element());
        let verdict = div("verdict").test("verdict");
        let frame = ViewFrame::new(View::Compare, "compare", chart, below).with(&verdict).with(&tools);
        let frame = frame.with(&legend.element).with(chart.element());
        let frame = services.keep_up_in(frame).table(changes).zooms(chart, zooms).places(page, places);
        CompareView {
            frame,
            chart,
            source: None,
            bases,
            measures,
            widths,
            least,
            note,
            legend,
            changes,
            verdict,
            services,
            tabs,
            tab,
        }
    }
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
        let (ends, words) = source.legend();
        self.ends.iter().zip(ends).for_each(|(end, words)| end.set_text(&words));
        // Where nothing changed, no colour stands for anything.
        let has_colours = source.has_changes();
        self.ends.iter().chain([&self.bar]).for_each(|part| part.show(has_colours));
        self.words.set_text(&words);
    }
}

fn formats(
    chart: ChartCanvas<FlameChart<DiffSource>>,
    changes: CompanionTable<ChangeRow>,
) -> Vec<export::Format> {
    vec![
        svg_format(chart),
        ("CSV table", "csv", Box::new(move || changes.csv())),
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
            Box::new(move || chart.look(|chart| chart.report()?.report.to_folded().ok())),
        ),
    ]
}

impl PageView for CompareView {
    /// Report, switches.
    type Content = (u64, Choices);

    fn ask(page: Page, address: &Address) {
        let [a, b] = ComparedSide::BOTH.map(|side| address.rolled_up(address.side(side)));
        page.queries().compare.want(page, queries::Compare { a, b });
    }

    fn frame(&self) -> &ViewFrame {
        &self.frame
    }

    fn new_theme(&mut self, _: Page) {
        self.legend.colour(&self.chart.theme());
    }

    fn content(&self, page: Page) -> Option<(u64, Choices)> {
        let slot = &page.queries().compare;
        slot.get().map(|_| (slot.revision(), page.address().choices.clone()))
    }

    fn is_stale(&self, page: Page) -> bool {
        page.queries().compare.is_waiting()
    }

    fn take(&mut self, page: Page, now: &(u64, Choices), before: Option<&(u64, Choices)>) {
        let queries = page.queries();
        let Some(report) = queries.compare.get() else { return };
        let others = queries.overview.get().map(|overview| overview.other_traces);
        let empty = compare::why_empty(&report, page.loading().running, others);
        // Everything would be gone, or new, beside a side without requests.
        let report = if empty.is_some() { Rc::default() } else { report };
        let source = Rc::new(DiffSource::new(report.clone(), &now.1));
        self.frame.set_text(empty.as_deref().unwrap_or_default());
        let (query, focus) = (queries.compare.query_of_report(), page.address().focus.clone());
        self.chart.renew(|chart| chart.take(source.clone(), query, false, &focus));
        self.changes.set_rows(ChangeRow::of(&source), empty.as_deref().unwrap_or("No frame on either side."));
        if before.is_none_or(|before| before.0 != now.0) {
            let why = empty.as_deref().unwrap_or("Side B has no request.");
            self.services.take(&report.culprit, why);
            let words = if empty.is_some() { String::new() } else { compare::summary(&report) };
            let (first, rest) = compare::first_sentence(&words);
            self.verdict.clear();
            if !words.is_empty() {
                self.verdict.fill(&[el("strong").text(first), span("muted", rest)]);
            }
        }
        self.legend.show(&source);
        self.source = Some(source);
    }

    fn show_choices(&mut self, page: Page) {
        let choices = page.address().choices.diff;
        self.bases.press(usize::from(choices.basis == Basis::Share));
        self.measures.press(usize::from(choices.measure == MeasuredTime::Exclusive));
        self.widths.press(usize::from(choices.width == DiffWidth::B));
        controls::choose(&self.least, &choices.least_ppm.to_string());
        self.note.show(page.address().has_baseline());
        let tab = self.tab.get();
        self.tabs.press(tab as usize);
        let report = self.source.as_ref().map(|source| &source.report.culprit);
        self.services.show(tab == Tab::Services, report);
        self.changes.show(tab == Tab::Changes);
        self.chart.with(|chart| chart.follow(page));
    }

    fn search_again(&self) -> u64 {
        self.services.revision()
    }

    fn search(&mut self, _: Page, finder: &Finder) -> SearchResult {
        self.changes.search(finder);
        // Few rows that say which service it is: the others are compared with, so they stay.
        let ChangedServices { services, places, .. } = self.services;
        services.dim_others(services.look(|table| compare::found_services(table.rows(), finder)));
        places.dim_others(places.look(|table| compare::found_places(table.rows(), finder)));
        chart::search(self.chart, finder)
    }

    fn follow(&mut self, page: Page) {
        let node = match (&*page.focus(), &self.source) {
            (Focus::Path(path), Some(source)) => tree::find(source, path),
            _ => None,
        };
        self.changes.select(|row| Some(row.row.node) == node);
        self.chart.canvas().set("data-nodes", &self.chart.look(FlameChart::len).to_string());
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        zoom::command(self.chart, page, command)
    }
}
