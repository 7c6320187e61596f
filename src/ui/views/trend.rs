//! Summaries over time in the page: what changed and since when, a panel for each number, and the table; see [`trend`].

use crate::canvas::PlotBackend;
use crate::ui::dom::{El, Keep, button, div, el, span};
use crate::ui::page::{Focus, Page};
use crate::ui::shell::keys::Command;
use crate::ui::shell::selection_bar::look_at;
use crate::ui::view::{PageView, SearchResult};
use crate::ui::widgets::chart_canvas::ChartCanvas;
use crate::ui::widgets::companion::CompanionTable;
use crate::ui::widgets::export;
use crate::ui::widgets::frame::Frame;
use crate::ui::widgets::plot_chart;
use crate::ui::widgets::plot_chart::{Plot, ScrolledPlot};
use crate::ui::widgets::tip;
use pathlight_chart::multiples::Grid;
use pathlight_chart::plot::{ChartError, ChartSize};
use pathlight_chart::trend as panels;
use pathlight_chart::trend::TrendPanels;
use pathlight_chart::{Metrics, Theme};
use pathlight_query::RootEndpoint;
use pathlight_view::address::View;
use pathlight_view::finder::Finder;
use pathlight_view::json;
use pathlight_view::trend;
use pathlight_view::trend::Row;

/// Size of an exported chart.
const EXPORT_PX: (i32, i32) = (1500, 600);

struct Panels {
    page: Page,
    of: TrendPanels,
    enlarged: Option<usize>,
}

impl Plot for Panels {
    fn height(&self, room: ChartSize) -> i32 {
        if self.enlarged.is_some() { room.height } else { Grid::new(self.of.panels.len(), room).height() }
    }

    fn draw(&self, backend: PlotBackend<'_>, size: ChartSize, theme: &Theme) -> Result<(), ChartError> {
        panels::draw(backend, &self.of, self.enlarged, size, theme)
    }

    fn part_at(&self, at: (i32, i32), size: ChartSize) -> Option<usize> {
        self.enlarged.or_else(|| Grid::new(self.of.panels.len(), size).at(at))
    }

    fn tip(&self, part: usize) -> Vec<El> {
        tip::elements(&trend::tip(&self.of, part, self.enlarged.is_some()))
    }

    fn click(&mut self, part: usize) {
        self.enlarged = if self.enlarged.is_some() { None } else { Some(part) };
        self.page.refresh();
    }
}

type Chart = ChartCanvas<ScrolledPlot<Panels>>;

/// The view.
pub struct Trend {
    frame: Frame,
    chart: Chart,
    title: El,
    all: El,
    changes: El,
    changes_keep: Keep,
    table: CompanionTable<Row>,
}

impl Trend {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Keep) -> Trend {
        let plot = Panels { page, of: TrendPanels::default(), enlarged: None };
        let label = "Latencies and self times over time; the table below says the same";
        let (chart, scroller) = plot_chart::scrolled(plot, "trend", label);
        let title = span("title muted", "").test("trend-title");
        let all = button("Show all").test("trend-all").on_click(keep, move || {
            chart.with(|chart| chart.plot.enlarged = None);
            page.refresh();
        });
        let exports = export::menu(page, keep, "trend", Some(chart.canvas().clone()), formats(page, chart));
        let tools = div("tools").child(&title).child(&div("grow")).child(&all).child(&exports);
        let table = CompanionTable::new(page, trend::table()).on_select(move |row: &Row| {
            page.set_focus(Focus::Endpoint(row.endpoint().clone()));
        });
        let changes = el("ul").class("trend-changes").test("trend-changes");
        let below = div("companion").test("trend-table").child(&changes).child(table.element());
        let frame = Frame::new(View::Trend, "trend", chart, below).with(&tools).with(&scroller).table(table);
        let changes_keep = Keep::default();
        Trend { frame: frame.fits(chart), chart, title, all, changes, changes_keep, table }
    }
}

fn formats(page: Page, chart: Chart) -> Vec<export::Format> {
    let report = move || page.queries().trend.get();
    vec![
        (
            "SVG picture",
            "svg",
            Box::new(move || {
                let (width, height) = EXPORT_PX;
                let size = ChartSize { width, height, metrics: Metrics::default() };
                let theme = chart.plain_theme();
                chart.look(|chart| {
                    let Panels { of, enlarged, .. } = &chart.plot;
                    panels::export_svg(of, *enlarged, size, &theme, "Trend").ok()
                })
            }),
        ),
        ("CSV table", "csv", Box::new(move || Some(trend::to_csv(&report()?, &page.address().root)))),
        (
            "JSON report",
            "json",
            Box::new(move || {
                let report = report()?;
                json::trend(&report.trend, &trend::day_names(&report)).ok()
            }),
        ),
    ]
}

impl PageView for Trend {
    /// Report, and whose requests.
    type Content = (u64, RootEndpoint);

    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn content(&self, page: Page) -> Option<Self::Content> {
        let slot = &page.queries().trend;
        slot.get().map(|_| (slot.revision(), page.address().root.clone()))
    }

    fn is_stale(&self, page: Page) -> bool {
        page.queries().trend.is_waiting()
    }

    fn take(&mut self, page: Page, (_, root): &Self::Content, _: Option<&Self::Content>) {
        let Some(report) = page.queries().trend.get() else { return };
        let mut rows = Row::of(&report, root);
        let of = trend::panels(&report, &mut rows);
        let why = "No day has enough requests for a number: 30 for a mean, 200 for p95, 1,000 for p99.";
        self.frame.set_text(if rows.is_empty() { why } else { "" });
        self.title.set_text(&trend::note(&report, root));
        self.changes_keep.clear();
        let changes = trend::changes(&report, root).into_iter().map(|change| {
            let root = RootEndpoint::Endpoint(change.root);
            let only = button("Only these requests")
                .class("link")
                .test("trend-root")
                .on_click(&self.changes_keep, move || look_at(page, root.clone()));
            let words = span("", &format!("{} {}", change.change, change.culprit)).test("trend-change");
            el("li").child(&words).text(" ").child(&only)
        });
        self.changes.fill(&changes.collect::<Vec<El>>());
        self.chart.renew(|chart| {
            chart.plot.enlarged = None;
            chart.plot.of = of;
        });
        self.table.set_rows(rows, why);
    }

    fn show_choices(&mut self, _: Page) {
        let (enlarged, panels) = self.chart.look(|chart| (chart.plot.enlarged, chart.plot.of.panels.len()));
        self.all.show(enlarged.is_some());
        self.chart.canvas().set("data-enlarged", &enlarged.map_or_else(String::new, |at| at.to_string()));
        self.chart.canvas().set("data-panels", &panels.to_string());
    }

    fn search(&mut self, _: Page, finder: &Finder) -> SearchResult {
        let (table, (count, share)) = (self.table, self.table.search(finder));
        let choose = |page: Page, row: &Row| page.set_focus(Focus::Endpoint(row.endpoint().clone()));
        SearchResult {
            count,
            share,
            step: Box::new(move |page, forward| table.step(forward, |row| choose(page, row))),
        }
    }

    fn follow(&mut self, page: Page) {
        let focus = page.focus().clone();
        self.table.select(|row| matches!(&focus, Focus::Endpoint(endpoint) if endpoint == row.endpoint()));
    }

    fn command(&mut self, page: Page, command: Command) -> bool {
        let is_enlarged = self.chart.look(|chart| chart.plot.enlarged.is_some());
        if !is_enlarged
            || !matches!(command, Command::Fit | Command::Leave)
            || *page.focus() != Focus::Nothing
        {
            return false;
        }
        self.chart.with(|chart| chart.plot.enlarged = None);
        page.refresh();
        true
    }
}
