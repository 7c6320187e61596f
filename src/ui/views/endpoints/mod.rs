//! Endpoints over all root endpoints at once: how large requests are, and which endpoint is worth improving.

pub mod affected;
pub mod table;

use crate::canvas::PlotBackend;
use crate::ui::dom::{El, Keep, button, div, span};
use crate::ui::page::{Focus, Page, Part};
use crate::ui::shell::keys::Command;
use crate::ui::shell::range_bar as range;
use crate::ui::shell::search::{Last, Search, fits};
use crate::ui::views::endpoints::table as endpoints_table;
use crate::ui::views::endpoints::table::ImpactLine;
use crate::ui::widgets::chart_canvas::ChartCanvas;
use crate::ui::widgets::export;
use crate::ui::widgets::frame::{Frame, WORKING};
use crate::ui::widgets::plot_chart;
use crate::ui::widgets::plot_chart::{Plot, ScrolledPlot};
use crate::ui::widgets::table::Table;
use pathlight_analysis::flow::FASTER_PERCENT;
use pathlight_chart::multiples;
use pathlight_chart::multiples::Grid;
use pathlight_chart::plot::{ChartError, ChartSize};
use pathlight_chart::{Metrics, Theme};
use pathlight_query::{BottomUpReport, HistogramsReport};
use pathlight_text::format;
use pathlight_text::format::counted;
use pathlight_view::address::View;
use pathlight_view::json;
use std::cell::Cell;
use std::rc::Rc;

/// Size of an exported picture.
const EXPORT_PX: (i32, i32) = (1500, 400);

/// The histograms as a chart: all of them, or one enlarged.
struct Sizes {
    page: Page,
    report: Option<Rc<HistogramsReport>>,
    enlarged: Option<usize>,
}

impl Sizes {
    fn panels(&self) -> usize {
        self.report.as_ref().map_or(0, |report| report.distributions.len())
    }
}

impl Plot for Sizes {
    fn height(&self, room: ChartSize) -> i32 {
        if self.enlarged.is_some() { room.height } else { Grid::new(self.panels(), room).height() }
    }

    fn draw(&self, backend: PlotBackend<'_>, size: ChartSize, theme: &Theme) -> Result<(), ChartError> {
        let empty = HistogramsReport::default();
        multiples::draw(backend, self.report.as_deref().unwrap_or(&empty), self.enlarged, size, theme)
    }

    fn part_at(&self, at: (i32, i32), size: ChartSize) -> Option<usize> {
        self.enlarged.or_else(|| Grid::new(self.panels(), size).at(at))
    }

    fn tip(&self, part: usize) -> Vec<El> {
        let Some((quantity, of)) = self.report.as_ref().and_then(|report| report.distributions.get(part))
        else {
            return Vec::new();
        };
        let hint = if self.enlarged.is_some() { "Click to see all" } else { "Click to enlarge" };
        vec![
            div("strong").text(quantity.title()),
            div("").text(&multiples::figures(*quantity, of)),
            div("muted small").text(hint),
        ]
    }

    fn click(&mut self, part: usize) {
        self.enlarged = if self.enlarged.is_some() { None } else { Some(part) };
        self.page.refresh();
    }
}

/// The view.
pub struct Endpoints {
    frame: Frame,
    chart: ChartCanvas<ScrolledPlot<Sizes>>,
    title: El,
    all: El,
    ranking: El,
    levels: Vec<El>,
    level: Rc<Cell<usize>>,
    table: Table<ImpactLine>,
    search: Search,
    /// Histograms, ranking, savings, level.
    shown: (u64, u64, u64, usize),
    searched: Last<(u64, u64, u64, usize)>,
    _keep: Keep,
}

impl Endpoints {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, search: &Search) -> Endpoints {
        let keep = Keep::default();
        let sizes = Sizes { page, report: None, enlarged: None };
        let label = "Histograms of the sizes of requests; their figures stand in the JSON export";
        let (chart, scroller) = plot_chart::scrolled(sizes, "sizes", label);
        let title = span("title muted", "").test("sizes-title");
        let all = button("Show all").test("sizes-all").on_click(&keep, move || {
            chart.with(|chart| chart.plot.enlarged = None);
            page.refresh();
        });
        let exports = export::menu(page, &keep, "sizes", Some(chart.canvas().clone()), size_formats(chart));
        let tools = div("tools").child(&title).child(&div("grow")).child(&all).child(&exports);
        let above = tools;

        let level = Rc::new(Cell::new(1));
        let levels: Vec<El> = FASTER_PERCENT
            .iter()
            .enumerate()
            .map(|(at, percent)| {
                let level = level.clone();
                button(&format!("{percent}{}%", format::THIN))
                    .attr("title", &format!("What is saved if an endpoint takes {percent} % less time"))
                    .test(&format!("faster-{percent}"))
                    .on_click(&keep, move || {
                        level.set(at);
                        page.refresh();
                    })
            })
            .collect();
        let segments =
            div("segments").attr("role", "group").attr("aria-label", "How much faster").children(&levels);
        let ranking = span("title muted", "").test("ranking-title");
        let exports = export::menu(page, &keep, "bottom-up", None, ranking_formats(page, &level));
        let tools = div("tools")
            .child(&ranking)
            .child(&div("grow"))
            .child(&span("muted fixed", "Faster by"))
            .child(&segments)
            .child(&exports);
        let table = endpoints_table::table(page);
        let below = div("companion").test("ranking-view").child(&tools).child(table.element());
        let frame = Frame::new(View::Endpoints, "sizes", chart, below).with(&above).with(&scroller);
        Endpoints {
            frame,
            chart,
            title,
            all,
            ranking,
            levels,
            level,
            table,
            search: search.clone(),
            shown: (0, 0, 0, 0),
            searched: Last::default(),
            _keep: keep,
        }
    }

    /// Where it stands.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    fn take_sizes(&mut self, page: Page) {
        let queries = page.queries();
        let report = queries.histograms.get();
        let words = match &report {
            None => WORKING.to_owned(),
            Some(report) if report.facts.requests == 0 => why_empty(page, report.facts.all_requests),
            Some(_) => String::new(),
        };
        self.frame.set_text(&words);
        self.chart.element().class_if("stale", queries.histograms.is_waiting());
        let Some(report) = report.filter(|_| self.shown.0 != queries.histograms.revision()) else { return };
        self.shown.0 = queries.histograms.revision();
        self.title.set_text(&format!(
            "Sizes of {}: {}",
            selection_label(page),
            counted(report.facts.requests, "request")
        ));
        self.chart.with(|chart| chart.plot.report = Some(report));
    }

    fn take_ranking(&mut self, page: Page) {
        let queries = page.queries();
        let level = self.level.get();
        for (at, button) in self.levels.iter().enumerate() {
            button.set_flag("aria-pressed", at == level);
        }
        self.table.set_stale(queries.bottom_up.is_waiting());
        self.table.set_sort(page.address().sort.as_ref());
        let Some(report) = queries.bottom_up.get() else {
            self.ranking.set_text(WORKING);
            return;
        };
        let savings = queries.savings.fresh().filter(|_| page.address().range.is_all());
        let known = if savings.is_some() { queries.savings.revision() + 1 } else { 0 };
        let now = (self.shown.0, queries.bottom_up.revision(), known, level);
        let what_if = if !page.address().range.is_all() {
            "what-if speaks of all requests, so not of a percentile range"
        } else if queries.savings.is_waiting() || savings.is_none() {
            "what-if follows\u{2026}"
        } else {
            ""
        };
        let rows = report.rows.iter().filter(|row| row.is_interior).count() as u64;
        let over = counted(report.roots.len() as u64, "root endpoint");
        let words = format!("{} below {over}, {}", counted(rows, "endpoint"), selection_label(page));
        let joined = if what_if.is_empty() { words } else { format!("{words}; {what_if}") };
        self.ranking.set_text(&joined);
        self.frame.below().set_flag("data-what-if", savings.is_some());
        if self.shown == now {
            return;
        }
        self.shown = now;
        self.table.set_empty(&why_no_endpoint(page, &report));
        self.table.set_rows(Rc::new(endpoints_table::lines(&report, savings.as_deref(), level)));
    }

    fn take_search(&mut self, page: Page) {
        let text = page.address().search.clone();
        if !self.searched.is_new(&text, self.shown) {
            return;
        }
        let lines = self.table.rows();
        let hits: Vec<bool> =
            lines.iter().map(|line| fits(&text, &[&line.endpoint.0, &line.endpoint.1])).collect();
        let found = || lines.iter().zip(&hits).filter(|(_, hit)| **hit).map(|(line, _)| line.share);
        let (matches, share) = (found().count() as u64, found().sum());
        self.table.set_hits((!text.is_empty()).then(|| Rc::new(hits)));
        let table = self.table.clone();
        self.search.publish(matches, Some(share), move |page, forward| {
            let line = table.neighbour(forward);
            if let Some(endpoint) = line.and_then(|at| Some(table.rows().get(at)?.endpoint.clone())) {
                page.set_focus(Focus::Endpoint(endpoint));
            }
        });
    }
}

/// The requests the view speaks of: of all root endpoints, in the percentile range.
fn selection_label(page: Page) -> String {
    let range = page.address().range;
    if range.is_all() { "all requests".to_owned() } else { format!("requests in {}", range::words(range)) }
}

fn why_empty(page: Page, all_requests: u64) -> String {
    if all_requests > 0 {
        format!("No request lies in {}.", range::words(page.address().range))
    } else {
        "No request passes the filters.".to_owned()
    }
}

fn why_no_endpoint(page: Page, report: &BottomUpReport) -> String {
    if report.facts.requests == 0 {
        return why_empty(page, report.facts.all_requests);
    }
    "No request waits for another endpoint: all its time is spent at its root.".to_owned()
}

fn size_formats(chart: ChartCanvas<ScrolledPlot<Sizes>>) -> Vec<export::Format> {
    let report = |chart: ChartCanvas<ScrolledPlot<Sizes>>| chart.look(|chart| chart.plot.report.clone());
    vec![
        (
            "SVG picture",
            "svg",
            Box::new(move || {
                let theme = chart.plain_theme();
                let (width, height) = EXPORT_PX;
                let size = ChartSize { width, height, metrics: Metrics::default() };
                let enlarged = chart.look(|chart| chart.plot.enlarged);
                let report = report(chart)?;
                multiples::export_svg(&report, enlarged, size, &theme, "Sizes of requests").ok()
            }),
        ),
        ("CSV table", "csv", Box::new(move || report(chart).map(|report| sizes_csv(&report)))),
        ("JSON report", "json", Box::new(move || json::histograms(&*report(chart)?).ok())),
    ]
}

fn ranking_formats(page: Page, level: &Rc<Cell<usize>>) -> Vec<export::Format> {
    let (csv_level, json_level) = (level.clone(), level.clone());
    vec![
        (
            "CSV table",
            "csv",
            Box::new(move || {
                let queries = page.queries();
                let savings = queries.savings.get().filter(|_| page.address().range.is_all());
                let report = queries.bottom_up.get()?;
                Some(endpoints_table::csv(&report, savings.as_deref(), csv_level.get()))
            }),
        ),
        (
            "JSON report",
            "json",
            Box::new(move || {
                let percent = f64::from(FASTER_PERCENT[json_level.get()]);
                json::endpoints(&*page.queries().bottom_up.get()?, percent).ok()
            }),
        ),
    ]
}

/// Every bin of every histogram as comma-separated values.
fn sizes_csv(report: &HistogramsReport) -> String {
    let mut out = export::csv_line(&["quantity", "from", "to", "count"].map(str::to_owned));
    for (quantity, of) in &report.distributions {
        for (edges, count) in of.edges.windows(2).zip(&of.counts) {
            let cells = [edges[0], edges[1], *count].map(|number| number.to_string());
            let [from, to, count] = cells;
            out.push_str(&export::csv_line(&[quantity.key().to_owned(), from, to, count]));
        }
    }
    out
}

impl Part for Endpoints {
    fn update(&mut self, page: Page) {
        if !self.frame.update(page) {
            self.chart.leave();
            return;
        }
        self.chart.follow_theme();
        self.take_sizes(page);
        let enlarged = self.chart.look(|chart| chart.plot.enlarged);
        self.all.show(enlarged.is_some());
        self.chart.canvas().set("data-enlarged", &enlarged.map_or_else(String::new, |at| at.to_string()));
        plot_chart::fit(self.chart);
        self.take_ranking(page);
        self.take_search(page);
        let rows = self.table.rows();
        self.table.select(match &*page.focus() {
            Focus::Endpoint(endpoint) => rows.iter().position(|line| line.endpoint == *endpoint),
            _ => None,
        });
    }

    fn command(&mut self, page: Page, command: Command) -> bool {
        let is_enlarged = self.chart.look(|chart| chart.plot.enlarged.is_some());
        if !self.frame.is_chosen(page) || !is_enlarged {
            return false;
        }
        if !matches!(command, Command::Fit | Command::Leave) || *page.focus() != Focus::Nothing {
            return false;
        }
        self.chart.with(|chart| chart.plot.enlarged = None);
        page.refresh();
        true
    }
}
