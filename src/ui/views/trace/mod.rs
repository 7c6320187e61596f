//! The timeline of one trace: its spans from start to end, the critical path marked.

pub mod chart;
pub mod source;
pub mod table;

use crate::ui::dom::{El, Keep, button, div, el, span};
use crate::ui::page::{Focus, Page, Part};
use crate::ui::shell::keys::Command;
use crate::ui::shell::search::{Last, Search};
use crate::ui::view::AnyView;
use crate::ui::views::trace::chart::{Overview, OverviewChart, TimelineChart};
use crate::ui::views::trace::table as timeline_table;
use crate::ui::views::trace::table::{SpanRow, TraceRows};
use crate::ui::widgets::chart_canvas::ChartCanvas;
use crate::ui::widgets::export;
use crate::ui::widgets::frame::{Frame, WORKING};
use crate::ui::widgets::links;
use crate::ui::widgets::names;
use crate::ui::widgets::table::Table;
use crate::ui::widgets::zoom;
use crate::ui::widgets::zoom::{ZoomTools, ZoomableChart as _, svg_format};
use pathlight_query::Endpoint;
use pathlight_text::format;
use pathlight_text::format::counted;
use pathlight_view::address::View;
use std::cell::RefCell;
use std::rc::Rc;

/// Rows below this depth are folded away by "Fold".
const FOLD_DEPTH: u32 = 1;

type Shown = Rc<RefCell<Option<Rc<TraceRows>>>>;

/// The view.
pub struct TimelineView {
    frame: Frame,
    chart: ChartCanvas<TimelineChart>,
    overview: ChartCanvas<OverviewChart>,
    title: El,
    path_only: El,
    zooms: ZoomTools,
    table: Table<SpanRow>,
    search: Search,
    trace: Shown,
    shown: u64,
    searched: Last<u64>,
    _keep: Keep,
}

impl TimelineView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, search: &Search) -> TimelineView {
        let keep = Keep::default();
        let shared = Overview::new();
        let overview = ChartCanvas::new(
            OverviewChart::new(&shared),
            "minimap",
            "How many spans run at each moment of the trace",
        );
        overview.element().class_if("minimap", true);
        let chosen = move |at: Option<u32>| page.set_focus(at.map_or(Focus::Nothing, Focus::Span));
        let chart = ChartCanvas::new(
            TimelineChart::new(page, &shared, chosen),
            "timeline",
            "Timeline of the trace with its critical path; the table below says the same",
        );
        let paint = chart;
        shared.repaint_timeline.replace(Some(Box::new(move || paint.paint())));
        let paint = overview;
        shared.repaint_overview.replace(Some(Box::new(move || paint.paint())));

        let path_only = button("Critical path only").attr("aria-pressed", "false").test("path-only");
        let pressed = path_only.clone();
        let path_only = path_only.on_click(&keep, move || {
            let only = pressed.html().get_attribute("aria-pressed").as_deref() != Some("true");
            pressed.set_flag("aria-pressed", only);
            chart.with(|chart| chart.set_path_only(only));
            page.refresh();
        });
        let slack = button("Slack")
            .attr("aria-pressed", "false")
            .attr("title", "Draw how much longer each span may take before the request ends later")
            .test("slack");
        let pressed = slack.clone();
        let slack = slack.on_click(&keep, move || {
            let shown = pressed.html().get_attribute("aria-pressed").as_deref() != Some("true");
            pressed.set_flag("aria-pressed", shown);
            chart.with(|chart| chart.set_slack(shown));
        });
        let fold = button("Fold")
            .attr("title", "Fold everything below the root's children")
            .test("fold")
            .on_click(&keep, move || chart.with(|chart| chart.open_to(Some(FOLD_DEPTH))));
        let unfold = button("Unfold")
            .attr("title", "Show every span")
            .test("unfold")
            .on_click(&keep, move || chart.with(|chart| chart.open_to(None)));
        let folds =
            div("segments").attr("role", "group").attr("aria-label", "Rows").children([&fold, &unfold]);
        let zooms = ZoomTools::new(page, &keep, chart, "-trace");
        let title = div("title trace-title").test("trace-title");
        let trace: Shown = Rc::default();
        let exports =
            export::menu(page, &keep, "timeline", Some(chart.canvas().clone()), formats(chart, &trace));
        let tools = div("tools")
            .child(&title)
            .child(&div("grow"))
            .child(&path_only)
            .child(&slack)
            .child(&folds)
            .child(&zooms.zoom)
            .child(&zooms.all)
            .child(&exports);
        let table = timeline_table::table(page);
        let below = div("companion").child(table.element());
        let frame = Frame::new(View::Trace, "timeline", chart, below);
        let frame = frame.with(&tools).with(overview.element()).with(chart.element());
        TimelineView {
            frame,
            chart,
            overview,
            title,
            path_only,
            zooms,
            table,
            search: search.clone(),
            trace,
            shown: 0,
            searched: Last::default(),
            _keep: keep,
        }
    }

    fn take(&mut self, page: Page) {
        let queries = page.queries();
        let revision = queries.trace.revision();
        let Some(report) = queries.trace.get().filter(|_| self.shown != revision) else { return };
        self.shown = revision;
        self.title.clear();
        let Some(report) = &*report else {
            self.trace.replace(None);
            self.table.set_rows(Rc::default());
            self.chart.renew(|chart| chart.take(pathlight_query::TraceReport::default()));
            return;
        };
        let same = self.trace.borrow().as_ref().is_some_and(|before| *before.report == *report);
        if !same {
            let report = Rc::new(report.clone());
            let rows = Rc::new(TraceRows::new(report.clone()));
            self.chart.renew(|chart| chart.take(report.clone()));
            let only = self.path_only.html().get_attribute("aria-pressed").as_deref() == Some("true");
            self.chart.with(|chart| chart.set_path_only(only));
            let list = (0..report.endpoint.len() as u32).map(|at| SpanRow { at, trace: rows.clone() });
            self.table.set_rows(Rc::new(list.collect()));
            self.table.set_empty("No span has this name.");
            self.trace.replace(Some(rows));
            self.searched.forget();
        }
        let root = report.request_root as usize;
        let endpoint = report.endpoint.get(root).and_then(|at| report.endpoints.get(*at as usize));
        if let Some(Endpoint { service, operation }) = endpoint {
            self.title.add(&names::endpoint(service, operation));
        }
        let latency = report.duration_us.get(root).copied().unwrap_or(0);
        let words =
            format!("{}, {}", format::duration_us(latency), counted(report.endpoint.len() as u64, "span"));
        self.title
            .add(&span("strong", &words).test("trace-latency").attr("data-value", &latency.to_string()));
        let id = el("span")
            .class("mono muted")
            .test("trace-id")
            .attr("title", &format!("Trace {}, {} UTC", report.trace_id, format::moment(report.start_us)))
            .text(report.trace_id.trim_start_matches('0'));
        self.title.add(&id);
        if let Some(link) = links::trace(page, &report.trace_id, None) {
            self.title.add(&link);
        }
    }

    /// Why there is nothing to be seen.
    fn why_empty(&self, page: Page) -> &'static str {
        if self.trace.borrow().is_some() {
            ""
        } else if page.shown_trace().is_none() {
            if page.queries().requests.is_waiting() {
                WORKING
            } else {
                "No request to show: the percentile range is empty."
            }
        } else if page.queries().trace.is_waiting() {
            WORKING
        } else {
            "No trace with this id is loaded."
        }
    }
}

fn formats(chart: ChartCanvas<TimelineChart>, trace: &Shown) -> Vec<export::Format> {
    let (csv, json) = (trace.clone(), trace.clone());
    vec![
        svg_format(chart),
        ("CSV table", "csv", Box::new(move || csv.borrow().as_ref().map(timeline_table::csv))),
        (
            "JSON report",
            "json",
            Box::new(move || serde_json::to_string_pretty(&*json.borrow().as_ref()?.report).ok()),
        ),
    ]
}

impl Part for TimelineView {
    fn update(&mut self, page: Page) {
        if !self.frame.update(page) {
            return;
        }
        self.chart.follow_theme();
        self.overview.follow_theme();
        self.take(page);
        self.frame.set_text(self.why_empty(page));
        let stale = page.queries().trace.is_waiting();
        self.chart.element().class_if("stale", stale);
        self.table.set_stale(stale);
        self.table.set_sort(page.address().sort.as_ref());
        self.chart.with(|chart| chart.follow(page));
        self.overview.paint();
        let text = page.address().search.clone();
        if self.searched.is_new(&text, self.shown) {
            let found = self.chart.with(|chart| chart.search(&text));
            self.table.set_hits(self.chart.look(TimelineChart::hits).map(Rc::new));
            let chart = self.chart;
            self.search
                .publish(found, None, move |page, forward| chart.with(|chart| chart.step(page, forward)));
        }
        let selected = match *page.focus() {
            Focus::Span(at) => Some(at as usize),
            _ => None,
        };
        self.table.select(selected);
        self.zooms.update(self.chart);
        self.chart.canvas().set("data-spans", &self.chart.look(|chart| chart.timeline().len()).to_string());
    }

    fn command(&mut self, page: Page, command: Command) -> bool {
        if !self.frame.is_chosen(page) || self.trace.borrow().is_none() {
            return false;
        }
        zoom::command(self.chart, page, command)
    }
}

impl AnyView for TimelineView {
    fn frame(&self) -> &Frame {
        &self.frame
    }
}
