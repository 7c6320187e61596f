//! The map of services in the page: chart, table, search, selection; see [`map`].

use crate::canvas::Surface;
use crate::dom::{self, El, Listeners, button, div, el, span};
use crate::page::{Focus, Page};
use crate::views::view::SearchResult;
use crate::widgets::chart_canvas::{CanvasChart, ChartCanvas, Pointed};
use crate::widgets::companion::{AnyTable as _, CompanionTable};
use crate::widgets::controls;
use crate::widgets::zoom::{self, ZoomableChart, svg_format};
use crate::widgets::{export, service_legend, tip};
use pathlight_engine::ids::NodeId;
use pathlight_engine::queries;
use pathlight_engine::verdict::service_map::ServiceMapReport;
use pathlight_trace::Endpoint;
use pathlight_view::address::Address;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::draw::{Theme, Viewport};
use pathlight_view::flow::chart::{DagHit, DagItem, DagViewport};
use pathlight_view::flow::map::chart::{MapLayout, MapView, export_svg, scene, tip as tip_of};
use pathlight_view::flow::map::{self, MapLine};
use pathlight_view::json;
use pathlight_view::keys::KeyCommand;
use pathlight_view::search::finder::Finder;
use pathlight_view::table::neighbour;
use pathlight_view::views::View;
use std::rc::Rc;

/// Greatest distance of a pointer from a line that it points at, in CSS pixels.
const NEAR_PX: f64 = 7.0;

/// Wants the map of the selection; of two sets that of B, against A.
pub fn want(page: Page, address: &Address) {
    let selection = address.selection();
    let baseline = address.has_baseline().then(|| address.side(ComparedSide::A));
    let baseline = baseline.filter(|_| !address.is_of_baseline());
    page.queries().service_map.want(page, queries::ServiceMap { selection, baseline });
}

/// Returns whether the map is shown: summaries have none.
pub fn is_shown(page: Page) -> bool {
    page.address().choices.flow.map && !page.is_summary()
}

/// Returns the service of an endpoint that stands for all of it.
fn all_of(service: &str) -> Endpoint {
    Endpoint::new(service, "")
}

/// Finds a service in all views.
fn find(page: Page, service: &str) {
    page.step(|address| address.search = service.to_owned());
}

/// Returns what the map in sight says of a selected service, for the detail panel; `None` in other views or if it is none.
pub fn facts(page: Page, endpoint: &Endpoint, keep: &Listeners) -> Option<El> {
    if page.address().view != View::Flow || !is_shown(page) {
        return None;
    }
    let facts = map::facts(&*page.queries().service_map.get()?, endpoint)?;
    let list = el("dl").class("pairs").test("map-facts");
    for (name, value) in &facts.pairs {
        list.add(&el("dt").text(name));
        list.add(&el("dd").text(value));
    }
    let service = endpoint.service.clone();
    let all = button("Find it in all views").class("primary").test("map-find");
    let buttons = div("buttons").child(&all.on_click(keep, move || find(page, &service)));
    Some(div("flow-facts").child(&list).child(&buttons))
}

/// The chart.
pub struct MapChart {
    page: Page,
    report: Rc<ServiceMapReport>,
    layout: MapLayout,
    viewport: DagViewport,
    selected: Option<u32>,
    hovered: Option<DagHit>,
    found: Option<Vec<bool>>,
    /// Names are measured on the canvas, so a report is laid out when it is painted.
    is_laid_out: bool,
    /// Whether what is in sight stays when it is laid out anew.
    keeps: bool,
}

impl MapChart {
    fn new(page: Page) -> MapChart {
        MapChart {
            page,
            report: Rc::default(),
            layout: MapLayout::default(),
            viewport: DagViewport::default(),
            selected: None,
            hovered: None,
            found: None,
            is_laid_out: false,
            keeps: false,
        }
    }

    /// Takes a report; one of the same services keeps what is looked at.
    fn take(&mut self, report: Rc<ServiceMapReport>) {
        let names = |report: &ServiceMapReport| {
            let mut names: Vec<String> = report.services.iter().map(|one| one.service.clone()).collect();
            names.sort_unstable();
            names
        };
        let same = names(&report) == names(&self.report);
        self.report = report;
        (self.selected, self.hovered, self.found) = (None, None, None);
        (self.is_laid_out, self.keeps) = (false, same && self.keeps);
    }

    fn follow(&mut self, page: Page) {
        let at = match &*page.focus() {
            Focus::Endpoint(of) if of.operation.is_empty() => {
                self.report.services.iter().position(|one| one.service == of.service)
            }
            _ => None,
        };
        let before = std::mem::replace(&mut self.selected, at.map(|at| at as u32));
        if let Some(service) = self.selected.filter(|_| self.selected != before) {
            self.viewport.reveal(DagItem::Node(NodeId(service)));
        }
    }

    fn choose(&mut self, page: Page, service: u32) {
        if let Some(one) = self.report.services.get(service as usize) {
            page.set_focus(Focus::Endpoint(all_of(&one.service)));
            self.viewport.reveal(DagItem::Node(NodeId(service)));
        }
        page.refresh();
    }

    fn search(&mut self, finder: &Finder) {
        self.found = map::found(&self.report, finder);
    }

    /// Selects what stands beside the selected service.
    fn choose_beside(&mut self, page: Page, command: KeyCommand) {
        let boxes = &self.layout.dag.boxes;
        let here = self.selected.and_then(|at| boxes.iter().find(|b| b.item == DagItem::Node(NodeId(at))));
        let to = match here.copied() {
            None => boxes.iter().min_by_key(|b| (b.x, b.y)),
            Some(here) => boxes
                .iter()
                .filter(|b| match command {
                    KeyCommand::Left => b.x + b.w <= here.x,
                    KeyCommand::Right => b.x >= here.x + here.w,
                    // The boxes of a column have one middle.
                    KeyCommand::Up => (2 * b.x + b.w - 2 * here.x - here.w).abs() < 2 && b.y < here.y,
                    _ => (2 * b.x + b.w - 2 * here.x - here.w).abs() < 2 && b.y > here.y,
                })
                .min_by_key(|b| ((b.x - here.x).abs(), (b.y - here.y).abs(), b.y)),
        };
        if let Some(DagItem::Node(service)) = to.map(|b| b.item) {
            self.choose(page, service.0);
        }
    }
}

impl CanvasChart for MapChart {
    type Hit = DagHit;

    fn paint(&mut self, surface: &Surface, theme: &Theme) {
        let (room, metrics) = (surface.size(), surface.metrics());
        let mut label = surface.measure(metrics.font_px(), false);
        let mut small = surface.measure(metrics.px(11.0), false);
        if !self.is_laid_out || metrics != self.viewport.metrics() {
            self.layout = MapLayout::new(&self.report, metrics, [&mut label, &mut small]);
            self.viewport.take(self.layout.dag.clone(), self.keeps);
            (self.is_laid_out, self.keeps) = (true, true);
            // Its height is known now.
            dom::moved();
        }
        let window = self.viewport.place(room, metrics);
        let view = MapView {
            report: &self.report,
            window,
            selected: self.selected,
            hovered: self.hovered,
            found: self.found.as_deref(),
        };
        surface.paint(&scene(&self.layout, &view, room, metrics, theme, [&mut label, &mut small]));
    }

    fn viewport(&mut self) -> &mut dyn Viewport {
        &mut self.viewport
    }

    fn needs(&self) -> Option<f64> {
        Some(self.viewport.needs_px())
    }

    fn hit(&self, at: (i32, i32)) -> Option<DagHit> {
        self.viewport.hit(at, f64::from(self.viewport.metrics().px(NEAR_PX)))
    }

    fn tip(&self, hit: &DagHit) -> Vec<El> {
        tip::elements(&tip_of(&self.report, &self.layout, *hit))
    }

    fn hover(&mut self, hit: Option<&DagHit>) -> bool {
        let changed = self.hovered.as_ref() != hit;
        self.hovered = hit.copied();
        changed
    }

    fn click(&mut self, pointed: Pointed) -> bool {
        let page = self.page;
        match self.hit(pointed.at) {
            Some(DagHit::Box(DagItem::Node(_))) if pointed.count == 2 => self.zoom_to_selected(page),
            Some(DagHit::Box(DagItem::Node(service))) => self.choose(page, service.0),
            Some(DagHit::Line(line)) => {
                if let Some(call) = self.layout.calls_of(&self.report, line) {
                    self.choose(page, call.service);
                }
            }
            _ => page.set_focus(Focus::Nothing),
        }
        page.refresh();
        false
    }

    fn fit(&mut self) {
        if !matches!(self.hovered, Some(DagHit::Box(_))) {
            self.viewport.fit();
            self.page.refresh();
        }
    }
}

impl ZoomableChart for MapChart {
    fn has_focus(&self) -> bool {
        self.selected.is_some()
    }

    fn middle(&self) -> (f64, f64) {
        self.viewport.middle_px()
    }

    /// Finds the selected service in all views.
    fn zoom_to_selected(&mut self, page: Page) {
        if let Some(one) = self.selected.and_then(|at| self.report.services.get(at as usize)) {
            find(page, &one.service);
        }
    }

    fn step(&mut self, page: Page, forward: bool) {
        let Some(found) = &self.found else { return };
        let found: Vec<u32> = (0..found.len() as u32).filter(|at| found[*at as usize]).collect();
        if let Some(service) = neighbour(&found, self.selected, forward) {
            self.choose(page, service);
        }
    }

    fn walk(&mut self, page: Page, command: KeyCommand) -> bool {
        let is_walk =
            matches!(command, KeyCommand::Up | KeyCommand::Down | KeyCommand::Left | KeyCommand::Right);
        if is_walk {
            self.choose_beside(page, command);
        }
        is_walk
    }

    fn svg(&mut self, _width: i32, theme: &Theme) -> String {
        export_svg(&self.report, theme)
    }
}

/// Chart, tools and table of the map.
pub struct MapPanel {
    chart: ChartCanvas<MapChart>,
    tools: El,
    title: El,
    all: El,
    empty: El,
    table: CompanionTable<MapLine>,
}

impl MapPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> MapPanel {
        let label = "Map of services, callers left of what they call; the table below says the same";
        let chart = ChartCanvas::new(MapChart::new(page), "service-map", label);
        chart.on_zoom(move || page.refresh());
        let table = CompanionTable::new(page, map::table())
            .on_select(move |line| {
                let service = line.call().service;
                chart.with(|chart| chart.choose(page, service));
            })
            .on_open(move |line| {
                let service = line.call().service;
                chart.with(|chart| {
                    chart.choose(page, service);
                    chart.zoom_to_selected(page);
                });
            });
        let title = span("title muted", "").test("map-title");
        let all = button("Show all")
            .attr("title", "F, or double-click beside the services")
            .test("fit-map")
            .on_click(keep, move || chart.with(CanvasChart::fit));
        let services =
            move || page.queries().service_map.get().map_or_else(Vec::new, |report| map::services(&report));
        let formats = vec![
            svg_format(chart),
            ("CSV table", "csv", Box::new(move || table.csv()) as Box<dyn Fn() -> Option<String>>),
            (
                "JSON report",
                "json",
                Box::new(move || chart.look(|chart| json::service_map(&chart.report).ok())),
            ),
        ];
        let legend = service_legend::exported(services);
        let exports = export::menu(page, keep, "service-map", legend, formats);
        let tools =
            div("tools-part").test("map-tools").child(&title).child(&div("grow")).child(&all).child(&exports);
        let empty = div("canvas-empty").test("map-empty");
        empty.show(false);
        chart.element().add(&empty);
        MapPanel { chart, tools, title, all, empty, table }
    }

    /// Returns its tools.
    pub fn tools(&self) -> &El {
        &self.tools
    }

    /// Returns its chart.
    pub fn chart(&self) -> ChartCanvas<MapChart> {
        self.chart
    }

    /// Returns its table.
    pub fn table(&self) -> CompanionTable<MapLine> {
        self.table
    }

    /// Shows or hides all of it.
    pub fn show(&self, shown: bool) {
        self.tools.show(shown);
        self.chart.element().show(shown);
        self.table.show(shown);
    }

    /// Takes the report.
    pub fn take(&self, page: Page) {
        let Some(report) = page.queries().service_map.get() else { return };
        self.table.set_rows(MapLine::of(&report), "No service calls another one.");
        self.title.set_text(&map::title(&report));
        self.title.set("title", &map::title(&report));
        let canvas = self.chart.canvas();
        canvas.set("data-services", &report.services.len().to_string());
        canvas.set("data-calls", &report.calls.len().to_string());
        self.chart.renew(|chart| chart.take(report));
    }

    /// Follows reports and focus.
    pub fn update(&self, page: Page) {
        let slot = &page.queries().service_map;
        let why = slot
            .failure()
            .unwrap_or_else(|| map::why_empty(slot.get().as_deref(), slot.is_waiting()).to_owned());
        self.empty.set_text(&why);
        self.empty.show(!why.is_empty());
        self.table.set_stale(slot.is_waiting());
        self.table.set_sort(page.address().sort.as_ref());
        self.chart.with(|chart| chart.follow(page));
        let selected = self.chart.look(|chart| chart.selected);
        let is_chosen = self
            .table
            .look(|table| table.rows().iter().position(|line| Some(line.call().service) == selected));
        self.table.select_at(is_chosen);
        controls::enable(&self.all, self.chart.is_zoomed());
    }

    /// Searches; a step goes through the services that are found.
    pub fn search(&self, finder: &Finder) -> SearchResult {
        let (chart, table) = (self.chart, self.table);
        chart.with(|chart| chart.search(finder));
        table.search(finder);
        let count = chart.look(|chart| {
            chart.found.as_ref().map_or(0, |found| found.iter().filter(|hit| **hit).count() as u64)
        });
        let step = move |page: Page, forward| chart.with(|chart| chart.step(page, forward));
        SearchResult { count, share: None, step: Box::new(step) }
    }

    /// Follows a command of the keyboard. Returns false if it is none for charts.
    pub fn command(&self, page: Page, command: KeyCommand) -> bool {
        zoom::command(self.chart, page, command)
    }
}
