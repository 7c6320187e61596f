//! The flame graph of the critical path in the page; see [`flame`].

pub mod chart;

use crate::dom::{El, Listeners, div, span};
use crate::page::{Focus, Page};
use crate::views::flame::chart::{FlameChart, FrameWords};
use crate::views::view::{PageView, SearchResult};
use crate::widgets::chart_canvas::ChartCanvas;
use crate::widgets::companion::CompanionTable;
use crate::widgets::controls::Segments;
use crate::widgets::frame::ViewFrame;
use crate::widgets::places::Places;
use crate::widgets::zoom::{self, ZoomTools, svg_format};
use crate::widgets::{export, service_legend};
use pathlight_engine::ids::NodeId;
use pathlight_view::address::Address;
use pathlight_view::flame::{self, FlameRow, tree};
use pathlight_view::json;
use pathlight_view::keys::KeyCommand;
use pathlight_view::search::finder::Finder;
use pathlight_view::views::View;

/// The view.
pub struct Flame {
    frame: ViewFrame,
    chart: ChartCanvas<FlameChart>,
    title: El,
    ways: Segments,
    table: CompanionTable<FlameRow>,
}

impl Flame {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> Flame {
        let chart = ChartCanvas::new(
            FlameChart::new(page, FrameWords { what: "critical path", tip: Box::new(flame::tip) }),
            "flame",
            "Flame graph of the critical path; the table below says the same",
        );
        let way = move |inverted| page.change(|address| address.inverted = inverted);
        let callers = ("Callers", "From each endpoint's self time up to who called it (I)", "inverted");
        let ways = Segments::new("Direction")
            .button(keep, ("Callees", "From the root of the request down", "top-down"), move || way(false))
            .button(keep, callers, move || way(true));
        let zooms = ZoomTools::new(page, keep, chart, "");
        let title = span("title muted", "").test("flame-title");
        let table = CompanionTable::new(page, flame::table())
            .on_select(move |row| page.set_focus(Focus::Path(row.path())))
            .on_open(move |row| page.zoom_to(row.path()));
        let services =
            move || page.queries().path.get().map_or_else(Vec::new, |report| flame::services(&report));
        let legend = service_legend::exported(services);
        let exports = export::menu(page, keep, "flame-graph", legend, formats(chart, table));
        let services = service_legend::legend(page, keep, services);
        let places = Places::new(page, keep);
        let tools = div("tools")
            .child(ways.element())
            .child(places.element())
            .child(&services)
            .child(&title)
            .child(&div("grow"))
            .child(&zooms.zoom)
            .child(&zooms.all)
            .child(&exports);
        let below = div("companion").child(table.element());
        let frame = ViewFrame::new(View::Flame, "flame", chart, below).with(&tools).with(chart.element());
        Flame {
            frame: frame.table(table).zooms(chart, zooms).places(page, places),
            chart,
            title,
            ways,
            table,
        }
    }
}

fn formats(chart: ChartCanvas<FlameChart>, table: CompanionTable<FlameRow>) -> Vec<export::Format> {
    vec![
        svg_format(chart),
        ("CSV table", "csv", Box::new(move || table.csv())),
        (
            "JSON report",
            "json",
            Box::new(move || chart.look(|chart| json::critical_path(chart.report()?).ok())),
        ),
        ("Folded stacks", "folded", Box::new(move || chart.look(|chart| chart.report()?.to_folded().ok()))),
    ]
}

impl PageView for Flame {
    /// Report, direction.
    type Content = (u64, bool);

    fn ask(page: Page, address: &Address) {
        page.queries().want_path(page, address);
    }

    fn frame(&self) -> &ViewFrame {
        &self.frame
    }

    fn content(&self, page: Page) -> Option<(u64, bool)> {
        let slot = &page.queries().path;
        slot.get().map(|_| (slot.revision(), page.address().inverted))
    }

    fn is_stale(&self, page: Page) -> bool {
        page.queries().path.is_waiting()
    }

    fn take(&mut self, page: Page, now: &(u64, bool), before: Option<&(u64, bool)>) {
        let slot = &page.queries().path;
        let Some(report) = slot.get() else { return };
        let why = page.address().why_empty(&report.facts);
        self.frame.set_text(if report.facts.latency_sum_us == 0 { &why } else { "" });
        let (query, focus) = (slot.query_of_report(), page.address().focus.clone());
        self.chart.renew(|chart| chart.take(report.clone(), query, now.1, &focus));
        if before.is_none_or(|before| before.0 != now.0) {
            self.table.set_rows(FlameRow::of(&report), &why);
        }
        self.title.set_text(&flame::title(&page.selection_label(), &report.facts));
    }

    fn show_choices(&mut self, page: Page) {
        self.ways.press(usize::from(page.address().inverted));
        self.chart.with(|chart| chart.follow(page));
    }

    /// Callers that come into sight are frames too.
    fn search_again(&self) -> u64 {
        self.chart.look(|chart| if chart.is_inverted() { chart.len() as u64 } else { 0 })
    }

    fn search(&mut self, _: Page, finder: &Finder) -> SearchResult {
        self.table.search(finder);
        chart::search(self.chart, finder)
    }

    fn follow(&mut self, page: Page) {
        let row = match &*page.focus() {
            Focus::Path(path) => self.chart.look(|chart| tree::find(chart.report()?, path)),
            _ => None,
        };
        self.table.select_at(row.map(NodeId::index));
        self.chart.canvas().set("data-nodes", &self.chart.look(FlameChart::len).to_string());
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        if command == KeyCommand::Invert {
            page.change(|address| address.inverted = !address.inverted);
            return true;
        }
        zoom::command(self.chart, page, command)
    }
}
