//! The flame graph of the critical path in the page; see [`flame`].

pub mod bands;
pub mod chart;

use crate::dom::{El, Listeners, div, span};
use crate::page::{Focus, Page};
use crate::views::flame::bands::BandsPanel;
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
    /// All requests, or those near percentiles.
    modes: Segments,
    bands: BandsPanel,
    /// Tools of one graph.
    tools: El,
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
        let mode = move |bands| page.step(|address| address.choices.flame_bands = bands);
        let bands_hint = "Three graphs: of the requests near the median, the 95th and the 99th percentile";
        let modes = Segments::new("Which requests")
            .button(keep, ("All", "One graph of all selected requests", "flame-all"), move || mode(false))
            .button(keep, ("p50 | p95 | p99", bands_hint, "flame-bands"), move || mode(true));
        let bands = BandsPanel::new(page, keep);
        let one = div("tools-part")
            .child(&title)
            .child(&div("grow"))
            .child(&zooms.zoom)
            .child(&zooms.all)
            .child(&exports);
        let tools = div("tools")
            .child(modes.element())
            .child(ways.element())
            .child(places.element())
            .child(&services)
            .child(&one)
            .child(bands.tools());
        let below = div("companion").child(table.element()).child(bands.table().element());
        let frame = ViewFrame::new(View::Flame, "flame", chart, below).with(&tools).with(chart.element());
        let frame = bands.charts().into_iter().fold(frame.with(bands.element()), ViewFrame::also);
        Flame {
            frame: frame.table(table).zooms(chart, zooms).places(page, places),
            modes,
            bands,
            tools: one,
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
    /// Report, direction, and whether it is that of requests near percentiles.
    type Content = (u64, bool, bool);

    fn ask(page: Page, address: &Address) {
        if address.choices.flame_bands {
            return bands::want(page, address);
        }
        page.queries().want_path(page, address);
    }

    fn frame(&self) -> &ViewFrame {
        &self.frame
    }

    fn content(&self, page: Page) -> Option<(u64, bool, bool)> {
        if page.address().choices.flame_bands {
            let slot = &page.queries().paths_at;
            return slot.get().map(|_| (slot.revision(), false, true));
        }
        let slot = &page.queries().path;
        slot.get().map(|_| (slot.revision(), page.address().inverted, false))
    }

    fn is_stale(&self, page: Page) -> bool {
        let queries = page.queries();
        let is_bands = page.address().choices.flame_bands;
        if is_bands { queries.paths_at.is_waiting() } else { queries.path.is_waiting() }
    }

    fn take(&mut self, page: Page, now: &(u64, bool, bool), before: Option<&(u64, bool, bool)>) {
        if now.2 {
            return self.bands.take(page);
        }
        let slot = &page.queries().path;
        let Some(report) = slot.get() else { return };
        let why = page.address().why_empty(&report.facts);
        self.frame.set_text(if report.facts.latency_sum_us == 0 { &why } else { "" });
        let (query, focus) = (slot.query_of_report(), page.address().focus.clone());
        self.chart.renew(|chart| chart.take(report.clone(), query, now.1, &focus));
        if before.is_none_or(|before| (before.0, before.2) != (now.0, now.2)) {
            self.table.set_rows(FlameRow::of(&report), &why);
        }
        self.title.set_text(&flame::title(&page.selection_label(), &report.facts));
    }

    fn show_choices(&mut self, page: Page) {
        let is_bands = page.address().choices.flame_bands;
        self.modes.press(usize::from(is_bands));
        self.bands.show(is_bands);
        self.tools.show(!is_bands);
        // Callers of three graphs would not stand at one place.
        self.ways.element().show(!is_bands);
        self.table.show(!is_bands);
        self.chart.element().show(!is_bands);
        if is_bands {
            return self.bands.update(page);
        }
        self.ways.press(usize::from(page.address().inverted));
        self.chart.with(|chart| chart.follow(page));
    }

    /// Callers that come into sight are frames too.
    fn search_again(&self) -> u64 {
        self.chart.look(|chart| if chart.is_inverted() { chart.len() as u64 } else { 0 })
    }

    fn search(&mut self, page: Page, finder: &Finder) -> SearchResult {
        if page.address().choices.flame_bands {
            return self.bands.search(finder);
        }
        self.table.search(finder);
        chart::search(self.chart, finder)
    }

    fn follow(&mut self, page: Page) {
        if page.address().choices.flame_bands {
            return;
        }
        let row = match &*page.focus() {
            Focus::Path(path) => self.chart.look(|chart| tree::find(chart.report()?, path)),
            _ => None,
        };
        self.table.select_at(row.map(NodeId::index));
        // Only while it shows what was asked last: `cargo xtask bench` takes the time by it.
        match page.queries().path.fresh() {
            Some(_) => self.chart.canvas().set("data-nodes", &self.chart.look(FlameChart::len).to_string()),
            None => self.chart.canvas().unset("data-nodes"),
        }
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        if page.address().choices.flame_bands {
            return self.bands.command(page, command);
        }
        if command == KeyCommand::Invert {
            page.change(|address| address.inverted = !address.inverted);
            return true;
        }
        zoom::command(self.chart, page, command)
    }
}
