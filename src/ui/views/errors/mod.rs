//! Errors: in words, as the flame graph of the paths that lead to them, and by endpoint.

pub mod table;

use super::findings::why_empty;
use crate::ui::dom::{El, Keep, div, el, span};
use crate::ui::page::{Focus, Page, Part};
use crate::ui::shell::keys::Command;
use crate::ui::shell::search::{Last, Search};
use crate::ui::views::errors::table as error_table;
use crate::ui::views::errors::table::ErrorLine;
use crate::ui::views::flame::chart::{FlameChart, Words};
use crate::ui::widgets::chart_canvas::ChartCanvas;
use crate::ui::widgets::export;
use crate::ui::widgets::frame::Frame;
use crate::ui::widgets::table::Table;
use crate::ui::widgets::zoom;
use crate::ui::widgets::zoom::{ZoomTools, ZoomableChart as _, svg_format};
use pathlight_query::{CriticalPathReport, ErrorsReport};
use pathlight_text::format;
use pathlight_view::address::View;
use pathlight_view::{error_words, json};
use std::cell::RefCell;
use std::rc::Rc;

type Shown = Rc<RefCell<Option<Rc<ErrorsReport>>>>;

/// The view.
pub struct ErrorPaths {
    frame: Frame,
    chart: ChartCanvas<FlameChart>,
    title: El,
    words: El,
    zooms: ZoomTools,
    table: Table<ErrorLine>,
    search: Search,
    report: Shown,
    shown: u64,
    searched: Last<u64>,
    _keep: Keep,
}

impl ErrorPaths {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, search: &Search) -> ErrorPaths {
        let keep = Keep::default();
        let report = Shown::default();
        let told = report.clone();
        let tip = move |_: &CriticalPathReport, node: u32| {
            told.borrow().as_ref().map_or_else(Vec::new, |report| tip(report, node))
        };
        let chart = FlameChart::new(page, Words { what: "error paths", tip: Box::new(tip) });
        let chart = ChartCanvas::new(
            chart,
            "error-flame",
            "Flame graph of the call paths that lead to errors; the table below says where they start and stop",
        );
        let zooms = ZoomTools::new(page, &keep, chart, "-errors");
        let title = span("title muted", "").test("errors-title");
        let exports =
            export::menu(page, &keep, "errors", Some(chart.canvas().clone()), formats(chart, &report));
        let tools = div("tools")
            .child(&title)
            .child(&div("grow"))
            .child(&zooms.zoom)
            .child(&zooms.all)
            .child(&exports);
        let words = el("p").class("errors-words").test("errors-words");
        let table = error_table::table(page);
        let below = div("companion").child(table.element());
        let frame = Frame::new(View::Errors, "errors", chart, below);
        let frame = frame.with(&tools).with(&words).with(chart.element());
        ErrorPaths {
            frame,
            chart,
            title,
            words,
            zooms,
            table,
            search: search.clone(),
            report,
            shown: 0,
            searched: Last::default(),
            _keep: keep,
        }
    }

    /// Where it stands.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    fn take(&mut self, page: Page) {
        let queries = page.queries();
        let Some(report) = queries.errors.get() else {
            return self.frame.wait(queries.errors.is_waiting());
        };
        if self.shown == queries.errors.revision() {
            return;
        }
        self.shown = queries.errors.revision();
        let paths = Rc::new(report.paths());
        self.frame.set_text(&why_nothing(page, &report, &paths));
        let sentences =
            if report.totals.requests == 0 { Vec::new() } else { error_words::sentences(&report) };
        self.words.set_text(&sentences.join(" "));
        self.words.show(!sentences.is_empty());
        self.title.set_text(&format!(
            "{}: {} on critical paths in erroring spans",
            page.selection_label(),
            format::duration_us(report.nodes.iter().map(|node| node.error_us).sum())
        ));
        self.table.set_rows(Rc::new(ErrorLine::of(&report)));
        self.table.set_empty(&no_errors(&report));
        self.report.replace(Some(report));
        let query = queries.errors.query_of_report();
        self.chart.renew(|chart| chart.take(paths, query, false, &page.address().focus));
    }

    fn take_search(&mut self, page: Page) {
        let text = page.address().search.clone();
        if !self.searched.is_new(&text, self.shown) {
            return;
        }
        let (found, share) = self.chart.with(|chart| chart.search(&text));
        self.table.mark(&text, |line| line.fits(&text));
        let chart = self.chart;
        self.search.publish(found, share, move |page, forward| chart.with(|chart| chart.step(page, forward)));
    }

    /// The line of what is selected: the endpoint itself, or that at the end of the path.
    fn selected_line(&self, page: Page) -> Option<usize> {
        let focus = page.focus();
        let (service, operation) = match &*focus {
            Focus::Endpoint(endpoint) => endpoint,
            Focus::Path(path) => path.last()?,
            _ => return None,
        };
        self.table.rows().iter().position(|line| line.name() == (service.as_str(), operation.as_str()))
    }
}

fn no_errors(report: &ErrorsReport) -> String {
    format!("No errors among {} requests", format::count(report.facts.requests))
}

/// Why there is no picture; empty if there is one.
fn why_nothing(page: Page, report: &ErrorsReport, paths: &CriticalPathReport) -> String {
    if report.facts.requests == 0 {
        why_empty(page, &paths.facts)
    } else if report.totals.requests == 0 {
        no_errors(report)
    } else if report.nodes.is_empty() {
        "No error lies on a critical path: requests wait for something else.".to_owned()
    } else if report.nodes.iter().all(|node| node.error_us == 0) {
        "Erroring spans on critical paths take no time of their own.".to_owned()
    } else {
        String::new()
    }
}

/// What is said of a node of the error paths.
fn tip(report: &ErrorsReport, node: u32) -> Vec<El> {
    let Some(node) = report.nodes.get(node as usize) else { return Vec::new() };
    let lines = [
        format!(
            "{} on critical paths in erroring spans here and below, {} of all latency; {} here",
            format::duration_us(node.subtree_us),
            format::share_of(node.subtree_us, report.facts.latency_sum_us),
            format::duration_us(node.error_us)
        ),
        format!(
            "errors that start here: {}; passed on: {}; stopped: {}",
            format::count(node.own),
            format::count(node.propagated),
            format::count(node.stopped)
        ),
        format!(
            "{} of {} requests lead through it to an error",
            format::count(node.requests),
            format::count(report.facts.requests)
        ),
    ];
    lines.iter().map(|line| div("").text(line)).collect()
}

fn formats(chart: ChartCanvas<FlameChart>, report: &Shown) -> Vec<export::Format> {
    let (csv, json, folded) = (report.clone(), report.clone(), report.clone());
    vec![
        svg_format(chart),
        ("CSV table", "csv", Box::new(move || csv.borrow().as_deref().map(error_table::csv))),
        ("JSON report", "json", Box::new(move || json::errors(json.borrow().as_ref()?).ok())),
        ("Folded stacks", "folded", Box::new(move || Some(folded.borrow().as_ref()?.to_folded()))),
    ]
}

impl Part for ErrorPaths {
    fn update(&mut self, page: Page) {
        if !self.frame.update(page) {
            self.chart.leave();
            return;
        }
        self.chart.follow_theme();
        self.take(page);
        let stale = page.queries().errors.is_waiting();
        self.chart.element().class_if("stale", stale);
        self.table.set_stale(stale);
        self.table.set_sort(page.address().sort.as_ref());
        self.chart.with(|chart| chart.follow(page));
        self.take_search(page);
        self.table.select(self.selected_line(page));
        self.zooms.update(self.chart);
        self.chart.canvas().set("data-nodes", &self.chart.look(FlameChart::len).to_string());
    }

    fn command(&mut self, page: Page, command: Command) -> bool {
        if !self.frame.is_chosen(page) || self.report.borrow().is_none() {
            return false;
        }
        zoom::command(self.chart, page, command)
    }
}
