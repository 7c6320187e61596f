//! Summaries over time in the page: what changed and since when, a panel for each number, and the table; see [`trend`].

pub mod time_columns;

use crate::canvas::PlotBackend;
use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::{Focus, Page};
use crate::shell::selection_bar::look_at;
use crate::views::view::{PageView, SearchResult};
use crate::widgets::companion::CompanionTable;
use crate::widgets::controls::Segments;
use crate::widgets::frame::ViewFrame;
use crate::widgets::panels::{self, DrawPanels, PanelChart};
use crate::widgets::{export, plot_chart};
use pathlight_engine::queries;
use pathlight_engine::requests::RootEndpoint;
use pathlight_engine::trend::TrendAxis;
use pathlight_view::address::Address;
use pathlight_view::draw::Theme;
use pathlight_view::draw::plot::{ChartError, ChartSize};
use pathlight_view::json;
use pathlight_view::keys::KeyCommand;
use pathlight_view::say::tip::TipLine;
use pathlight_view::search::finder::Finder;
use pathlight_view::trend::chart::TrendPanels;
use pathlight_view::trend::{self, TrendRow, chart as drawing};
use pathlight_view::views::View;

/// Size of an exported chart.
const EXPORT_PX: (i32, i32) = (1500, 600);

impl DrawPanels for TrendPanels {
    fn panels(&self) -> usize {
        self.panels.len()
    }

    fn draw(
        &self,
        backend: PlotBackend<'_>,
        enlarged: Option<usize>,
        size: ChartSize,
        theme: &Theme,
    ) -> Result<(), ChartError> {
        drawing::draw(backend, self, enlarged, size, theme)
    }

    fn tip(&self, panel: usize, is_enlarged: bool) -> Vec<TipLine> {
        trend::tip(self, panel, is_enlarged)
    }
}

type Chart = PanelChart<TrendPanels>;

/// The view.
pub struct TrendView {
    frame: ViewFrame,
    chart: Chart,
    title: El,
    all: El,
    axes: Segments,
    changes: El,
    changes_keep: Listeners,
    table: CompanionTable<TrendRow>,
}

impl TrendView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> TrendView {
        let label = "Latencies and self times over time; the table below says the same";
        let (chart, scroller, all) = panels::chart(page, keep, TrendPanels::default(), "trend", label);
        let title = span("title muted", "").test("trend-title");
        let exports = export::menu(page, keep, "trend", None, formats(page, chart));
        let axis = move |axis| page.step(|address| address.choices.trend = axis);
        let hours =
            ("Hours of the day", "Summaries of an hour each, by the hour of the day (UTC)", "trend-hours");
        let axes = Segments::new("Over")
            .button(
                keep,
                ("Time", "One point for each summary, or folder of them", "trend-days"),
                move || axis(TrendAxis::Days),
            )
            .button(keep, hours, move || axis(TrendAxis::HourOfDay));
        let tools =
            div("tools").child(axes.element()).child(&title).child(&div("grow")).child(&all).child(&exports);
        let table = CompanionTable::new(page, trend::table()).on_select(move |row: &TrendRow| {
            page.set_focus(Focus::Endpoint(row.endpoint().clone()));
        });
        let changes = el("ul").class("trend-changes").test("trend-changes");
        let below = div("companion").test("trend-table").child(&changes).child(table.element());
        let frame =
            ViewFrame::new(View::Trend, "trend", chart, below).with(&tools).with(&scroller).table(table);
        let changes_keep = Listeners::default();
        TrendView { frame: frame.fits(chart), chart, title, all, axes, changes, changes_keep, table }
    }
}

fn formats(page: Page, chart: Chart) -> Vec<export::Format> {
    let report = move || page.queries().trend.get();
    vec![
        plot_chart::svg_format(chart, EXPORT_PX, |plot, size, theme| {
            drawing::export_svg(&plot.of, plot.enlarged, size, theme, "Latencies and self times over time")
                .ok()
        }),
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

impl PageView for TrendView {
    /// Report, and whose requests.
    type Content = (u64, RootEndpoint);

    fn ask(page: Page, address: &Address) {
        page.queries()
            .trend
            .want(page, queries::Trend { group: address.group(), axis: address.choices.trend });
    }

    fn frame(&self) -> &ViewFrame {
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
        let mut rows = TrendRow::of(&report, root);
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
            let words = span("", &format!("{} {}", change.change, change.explanation)).test("trend-change");
            el("li").child(&words).text(" ").child(&only)
        });
        self.changes.fill(&changes.collect::<Vec<El>>());
        self.chart.renew(|chart| {
            chart.plot.enlarged = None;
            chart.plot.of = of;
        });
        self.table.set_rows(rows, why);
    }

    fn show_choices(&mut self, page: Page) {
        self.axes.press(page.address().choices.trend as usize);
        panels::show_choices(self.chart, &self.all);
    }

    fn search(&mut self, _: Page, finder: &Finder) -> SearchResult {
        let (table, chart) = (self.table, self.chart);
        let hits = table.look(|table| table.find(finder).hits);
        table.look(|table| {
            chart.with(|chart| trend::dim(&mut chart.plot.of, table.rows(), hits.as_deref()));
        });
        SearchResult::in_table(self.table, finder, |page, row| {
            page.set_focus(Focus::Endpoint(row.endpoint().clone()));
        })
    }

    fn follow(&mut self, page: Page) {
        let focus = page.focus().clone();
        self.table.select(|row| matches!(&focus, Focus::Endpoint(endpoint) if endpoint == row.endpoint()));
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        panels::command(page, self.chart, command)
    }
}
