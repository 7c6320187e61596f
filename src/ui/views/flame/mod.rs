//! The flame graph of the critical path: what is asked, searched and selected, on its canvas and in its table.

pub mod chart;
pub mod source;
pub mod table;

use super::findings::why_empty;
use crate::ui::dom::{El, Keep, button, div, span};
use crate::ui::page::{Focus, Page, Part};
use crate::ui::shell::keys::Command;
use crate::ui::shell::search::{Last, Search};
use crate::ui::views::flame::chart::{FlameChart, Words, context_tip};
use crate::ui::views::flame::table as flame_table;
use crate::ui::views::flame::table::FrameRow;
use crate::ui::widgets::chart_canvas::ChartCanvas;
use crate::ui::widgets::export;
use crate::ui::widgets::frame::Frame;
use crate::ui::widgets::table::Table;
use crate::ui::widgets::tree;
use crate::ui::widgets::zoom;
use crate::ui::widgets::zoom::{ZoomTools, ZoomableChart as _, svg_format};
use pathlight_text::format;
use pathlight_view::address::View;
use pathlight_view::json;
use std::rc::Rc;

/// The view.
pub struct Flame {
    frame: Frame,
    chart: ChartCanvas<FlameChart>,
    title: El,
    ways: [El; 2],
    zooms: ZoomTools,
    table: Table<FrameRow>,
    search: Search,
    shown: Option<(u64, bool)>,
    /// Answer, direction, frames that are open.
    searched: Last<(u64, bool, usize)>,
    marked: Last<u64>,
    _keep: Keep,
}

impl Flame {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, search: &Search) -> Flame {
        let keep = Keep::default();
        let chart = ChartCanvas::new(
            FlameChart::new(page, Words { what: "critical path", tip: Box::new(context_tip) }),
            "flame",
            "Flame graph of the critical path; the table below says the same",
        );
        let way = |text: &str, what: &str, test: &str, inverted: bool| {
            button(text)
                .attr("title", what)
                .test(test)
                .on_click(&keep, move || page.change(|address| address.inverted = inverted))
        };
        let ways = [
            way("Callees", "From the root of the request down", "top-down", false),
            way("Callers", "From each endpoint's own time up to who called it (I)", "inverted", true),
        ];
        let segments = div("segments").attr("role", "group").attr("aria-label", "Direction").children(&ways);
        let zooms = ZoomTools::new(page, &keep, chart, "");
        let title = span("title muted", "").test("flame-title");
        let exports = export::menu(page, &keep, "flame-graph", Some(chart.canvas().clone()), formats(chart));
        let tools = div("tools")
            .child(&segments)
            .child(&title)
            .child(&div("grow"))
            .child(&zooms.zoom)
            .child(&zooms.all)
            .child(&exports);
        let table = flame_table::table(page);
        let below = div("companion").child(table.element());
        let frame = Frame::new(View::Flame, "flame", chart, below).with(&tools).with(chart.element());
        Flame {
            frame,
            chart,
            title,
            ways,
            zooms,
            table,
            search: search.clone(),
            shown: None,
            searched: Last::default(),
            marked: Last::default(),
            _keep: keep,
        }
    }

    /// Where it stands.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    fn take_report(&mut self, page: Page) {
        let queries = page.queries();
        let Some(report) = queries.path.get() else {
            return self.frame.wait(queries.path.is_waiting());
        };
        let inverted = page.address().inverted;
        let now = Some((queries.path.revision(), inverted));
        if self.shown == now {
            return;
        }
        let is_new = self.shown.map(|(revision, _)| revision) != Some(queries.path.revision());
        self.shown = now;
        let is_empty = report.facts.latency_sum_us == 0;
        self.frame.set_text(&if is_empty { why_empty(page, &report.facts) } else { String::new() });
        let query = queries.path.query_of_report();
        self.chart.renew(|chart| chart.take(report.clone(), query, inverted, &page.address().focus));
        if is_new {
            let rows = (0..report.nodes.len() as u32).map(|at| FrameRow { at, report: report.clone() });
            self.table.set_rows(Rc::new(rows.collect()));
            self.table.set_empty(&why_empty(page, &report.facts));
        }
        let facts = &report.facts;
        let few = if facts.requests < 30 {
            format!(" ({})", format::sample(facts.requests))
        } else {
            String::new()
        };
        self.title.set_text(&format!(
            "{}: {} critical path a request in the mean{few}",
            page.selection_label(),
            format::duration(facts.latency_sum_us as f64 / facts.requests.max(1) as f64)
        ));
    }

    fn take_search(&mut self, page: Page) {
        let text = page.address().search.clone();
        let nodes = self.chart.look(FlameChart::len);
        let (revision, inverted) = self.shown.unwrap_or_default();
        if !self.searched.is_new(&text, (revision, inverted, if inverted { nodes } else { 0 })) {
            return;
        }
        let (found, share) = self.chart.with(|chart| chart.search(&text));
        if self.marked.is_new(&text, revision) {
            self.table.mark(&text, |row| row.fits(&text));
        }
        let chart = self.chart;
        self.search.publish(found, share, move |page, forward| chart.with(|chart| chart.step(page, forward)));
    }
}

fn formats(chart: ChartCanvas<FlameChart>) -> Vec<export::Format> {
    vec![
        svg_format(chart),
        ("CSV table", "csv", Box::new(move || chart.look(|chart| chart.report().map(flame_table::csv)))),
        (
            "JSON report",
            "json",
            Box::new(move || chart.look(|chart| json::critical_path(chart.report()?).ok())),
        ),
        ("Folded stacks", "folded", Box::new(move || chart.look(|chart| Some(chart.report()?.to_folded())))),
    ]
}

impl Part for Flame {
    fn update(&mut self, page: Page) {
        if !self.frame.update(page) {
            self.chart.leave();
            return;
        }
        self.chart.follow_theme();
        self.take_report(page);
        let stale = page.queries().path.is_waiting();
        self.chart.element().class_if("stale", stale);
        self.table.set_stale(stale);
        self.table.set_sort(page.address().sort.as_ref());
        let inverted = page.address().inverted;
        for (way, on) in self.ways.iter().zip([!inverted, inverted]) {
            way.set_flag("aria-pressed", on);
        }
        self.chart.with(|chart| chart.follow(page));
        self.take_search(page);
        let row = match &*page.focus() {
            Focus::Path(path) => self.chart.look(|chart| tree::find(chart.report()?, path)),
            _ => None,
        };
        self.table.select(row.map(|row| row as usize));
        self.zooms.update(self.chart);
        self.chart.canvas().set("data-nodes", &self.chart.look(FlameChart::len).to_string());
    }

    fn command(&mut self, page: Page, command: Command) -> bool {
        if !self.frame.is_chosen(page) || self.shown.is_none() {
            return false;
        }
        if command == Command::Invert {
            page.change(|address| address.inverted = !address.inverted);
            return true;
        }
        zoom::command(self.chart, page, command)
    }
}
