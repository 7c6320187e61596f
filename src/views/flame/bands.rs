//! Three flame graphs side by side, of the requests near p50, p95 and p99; see [`bands`].

use super::chart::{FlameChart, FrameWords, search};
use crate::dom::{self, El, Listeners, button, div};
use crate::page::{Focus, Page};
use crate::views::view::SearchResult;
use crate::widgets::chart_canvas::{CanvasChart, ChartCanvas};
use crate::widgets::companion::{AnyTable as _, CompanionTable};
use crate::widgets::{controls, export, zoom};
use pathlight_engine::queries;
use pathlight_trace::Endpoint;
use pathlight_view::address::Address;
use pathlight_view::flame;
use pathlight_view::flame::bands::{self, BANDS, BandRow};
use pathlight_view::keys::KeyCommand;
use pathlight_view::search::finder::Finder;
use pathlight_view::views::WORKING;
use std::rc::Rc;

/// Wants the graphs of the selection.
pub fn want(page: Page, address: &Address) {
    let selection = address.rolled_up(address.selection());
    page.queries().paths_at.want(page, queries::PathsAtLatencies { selection });
}

/// The charts with their heads, tools and table.
pub struct BandsPanel {
    element: El,
    tools: El,
    all: El,
    heads: Vec<El>,
    charts: Vec<ChartCanvas<FlameChart>>,
    table: CompanionTable<BandRow>,
}

/// Returns the call path of a row of the table.
fn path_of(table: CompanionTable<BandRow>, row: &BandRow) -> Vec<Endpoint> {
    table.look(|table| row.path(table.rows()))
}

impl BandsPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> BandsPanel {
        let element = div("flame-bands").test("flame-bands-view");
        let chart = |band: usize| {
            let words = FrameWords { what: "critical path", tip: Box::new(flame::tip) };
            let label = format!(
                "Flame graph of the requests near {}; the table below says the same",
                bands::name(band)
            );
            ChartCanvas::new(FlameChart::new(page, words), &format!("flame-{}", bands::name(band)), &label)
        };
        let charts: Vec<ChartCanvas<FlameChart>> = (0..BANDS).map(chart).collect();
        let mut heads = Vec::with_capacity(BANDS);
        for (band, chart) in charts.iter().enumerate() {
            chart.on_zoom(move || page.refresh());
            let others: Vec<ChartCanvas<FlameChart>> =
                (0..BANDS).filter(|other| *other != band).map(|other| charts[other]).collect();
            let mark = move |path: &[Endpoint]| {
                for other in &others {
                    other.with(|chart| chart.mark(path));
                    let is_marked = other.look(FlameChart::is_marked);
                    other.canvas().set_flag("data-marked", is_marked);
                }
            };
            chart.with(|chart| chart.on_hover(mark));
            let head = div("band-head").test(&format!("band-{}", bands::name(band)));
            element.add(&div("band").child(&head).child(chart.element()));
            heads.push(head);
        }
        let table = CompanionTable::new(page, bands::table());
        let table = table
            .on_select(move |row| page.set_focus(Focus::Path(path_of(table, row))))
            .on_open(move |row| page.zoom_to(path_of(table, row)));
        let first = charts[0];
        let all = button("Show all").attr("title", "F, or double-click").test("fit-bands");
        let all = all.on_click(keep, move || first.with(CanvasChart::fit));
        let formats: Vec<export::Format> = vec![("CSV table", "csv", Box::new(move || table.csv()))];
        let exports = export::menu(page, keep, "flame-graphs", None, formats);
        let tools = div("tools-part").child(&div("grow")).child(&all).child(&exports);
        BandsPanel { element, tools, all, heads, charts, table }
    }

    /// Returns the element with the charts.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Returns its tools.
    pub fn tools(&self) -> &El {
        &self.tools
    }

    /// Returns its charts.
    pub fn charts(&self) -> Vec<ChartCanvas<FlameChart>> {
        self.charts.clone()
    }

    /// Returns its table.
    pub fn table(&self) -> CompanionTable<BandRow> {
        self.table
    }

    /// Shows or hides all of it.
    pub fn show(&self, shown: bool) {
        self.element.show(shown);
        self.tools.show(shown);
        self.table.show(shown);
    }

    /// Takes the reports.
    pub fn take(&self, page: Page) {
        let slot = &page.queries().paths_at;
        let Some(reports) = slot.get() else { return };
        let (query, focus) = (slot.query_of_report(), page.address().focus.clone());
        for (chart, report) in self.charts.iter().zip(reports.iter()) {
            let report = Rc::new(report.clone());
            chart.renew(|chart| chart.take(report, query.clone(), false, &focus));
            chart.canvas().set("data-nodes", &chart.look(FlameChart::len).to_string());
        }
        self.table.set_rows(BandRow::of(&reports), &page.why_empty());
    }

    /// Follows reports and focus.
    pub fn update(&self, page: Page) {
        let slot = &page.queries().paths_at;
        let failure = slot.failure();
        let reports = slot.get();
        for (band, head) in self.heads.iter().enumerate() {
            let report = reports.as_ref().and_then(|reports| reports.get(band));
            let words = report.map(|report| bands::head(band, &report.facts));
            head.set_text(&words.or_else(|| failure.clone()).unwrap_or_else(|| WORKING.to_owned()));
        }
        self.table.set_stale(slot.is_waiting());
        self.table.set_sort(page.address().sort.as_ref());
        self.charts.iter().for_each(|chart| chart.with(|chart| chart.follow(page)));
        let row = match &*page.focus() {
            Focus::Path(path) => self.table.look(|table| {
                let rows = table.rows();
                let is_it = |row: &BandRow| path.last() == Some(&row.endpoint) && row.path(rows) == *path;
                rows.iter().position(is_it)
            }),
            _ => None,
        };
        self.table.select_at(row);
        controls::enable(&self.all, self.charts.iter().any(|chart| chart.is_zoomed()));
    }

    /// Searches all graphs and the table; a step goes through the graph of the slowest.
    pub fn search(&self, finder: &Finder) -> SearchResult {
        let mut results: Vec<SearchResult> = self.charts.iter().map(|chart| search(*chart, finder)).collect();
        let (count, share) = self.table.search(finder);
        let nothing = || SearchResult { count: 0, share: None, step: Box::new(|_, _| {}) };
        let last = results.pop().unwrap_or_else(nothing);
        SearchResult { count, share, step: last.step }
    }

    /// Follows a command of the keyboard, in the graph that has the focus of the keyboard, else the first. Returns false if it
    /// is none for charts.
    pub fn command(&self, page: Page, command: KeyCommand) -> bool {
        let active = dom::document().active_element();
        let is_active = |chart: &&ChartCanvas<FlameChart>| {
            active.as_ref().is_some_and(|active| active.is_same_node(Some(chart.canvas().html())))
        };
        let chart = self.charts.iter().find(is_active).or(self.charts.first());
        chart.is_some_and(|chart| zoom::command(*chart, page, command))
    }
}
