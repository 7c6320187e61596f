//! Errors in the page: sentences, the flame graph of the paths that lead to errors, and a table; see [`errors`].

use super::trend::time_columns::TimeColumns;
use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::{Focus, Page};
use crate::shell::filters;
use crate::views::flame::chart::{self, FlameChart, FrameWords};
use crate::views::view::{PageView, SearchResult};
use crate::widgets::chart_canvas::ChartCanvas;
use crate::widgets::companion::CompanionTable;
use crate::widgets::frame::ViewFrame;
use crate::widgets::places::Places;
use crate::widgets::zoom::{self, ZoomTools, svg_format};
use crate::widgets::{export, service_legend};
use pathlight_engine::errors::ErrorsReport;
use pathlight_engine::flame::CriticalPathReport;
use pathlight_engine::ids::NodeId;
use pathlight_engine::queries;
use pathlight_view::address::{Address, TraceChoice};
use pathlight_view::errors::{self, ErrorEndpointRow};
use pathlight_view::keys::KeyCommand;
use pathlight_view::search::finder::Finder;
use pathlight_view::views::View;
use pathlight_view::{flame, json};
use std::rc::Rc;

/// The view.
pub struct ErrorsView {
    frame: ViewFrame,
    chart: ChartCanvas<FlameChart>,
    title: El,
    words: El,
    times: TimeColumns,
    /// Revision of the findings whose times are shown.
    timed: u64,
    messages: El,
    keep: Listeners,
    table: CompanionTable<ErrorEndpointRow>,
}

impl ErrorsView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> ErrorsView {
        let tip = move |_: &CriticalPathReport, node: NodeId| {
            page.queries().errors.get().map_or_else(Vec::new, |report| errors::tip(&report, node))
        };
        let chart = ChartCanvas::new(
            FlameChart::new(page, FrameWords { what: "error paths", tip: Box::new(tip) }),
            "error-flame",
            "Flame graph of the call paths that lead to errors; the table below says where they start and stop",
        );
        let zooms = ZoomTools::new(page, keep, chart, "-errors");
        let title = span("title muted", "").test("errors-title");
        let table = CompanionTable::new(page, errors::table())
            .on_select(move |line| page.set_focus(Focus::endpoint(line.name())))
            .on_open(move |line| {
                line.row().example.iter().for_each(|example| page.open_trace(TraceChoice::from(example)));
            });
        let of_paths = move || {
            page.queries().errors.get().map_or_else(Vec::new, |report| flame::services(&report.paths()))
        };
        let legend = service_legend::exported(of_paths);
        let exports = export::menu(page, keep, "errors", legend, formats(page, chart, table));
        let services = service_legend::legend(page, keep, of_paths);
        let places = Places::new(page, keep);
        let tools = div("tools")
            .child(places.element())
            .child(&title)
            .child(&services)
            .child(&div("grow"))
            .child(&zooms.zoom)
            .child(&zooms.all)
            .child(&exports);
        let words = el("p").class("errors-words").test("errors-words").attr("tabindex", "0");
        let (times, messages) = (TimeColumns::new(), div("error-messages").test("error-messages"));
        let told = div("errors-told").child(times.element()).child(&messages);
        let below = div("companion").child(table.element());
        let frame =
            ViewFrame::new(View::Errors, "errors", chart, below).with(&tools).with(&words).with(&told);
        let frame = frame.with(chart.element()).table(table).zooms(chart, zooms).places(page, places);
        let keep = Listeners::default();
        ErrorsView { frame, chart, title, words, times, timed: 0, messages, keep, table }
    }
}

impl ErrorsView {
    /// Lists what errors say; a click keeps the requests with such an error.
    fn show_messages(&mut self, page: Page, report: &ErrorsReport) {
        self.keep.clear();
        let lines: Vec<El> = errors::messages(report)
            .into_iter()
            .map(|line| {
                let filter = line.filter;
                button("")
                    .class("error-message")
                    .attr("title", "Keep the requests that have it")
                    .test("error-message")
                    .child(&span("number", &line.errors))
                    .child(&span("error-text", &line.text))
                    .child(&span("muted small", &line.origin))
                    .on_click(&self.keep, move || filters::add(page, filter.clone()))
            })
            .collect();
        self.messages.clear();
        self.messages.show(!lines.is_empty());
        if !lines.is_empty() {
            self.messages.add(&el("h2").class("section-title").text("What errors say"));
            lines.iter().for_each(|line| self.messages.add(line));
            self.messages.add(&span("muted small", &errors::other_messages(report)));
        }
    }
}

fn formats(
    page: Page,
    chart: ChartCanvas<FlameChart>,
    table: CompanionTable<ErrorEndpointRow>,
) -> Vec<export::Format> {
    let report = move || page.queries().errors.get();
    vec![
        svg_format(chart),
        ("CSV table", "csv", Box::new(move || table.csv())),
        ("JSON report", "json", Box::new(move || json::errors(&*report()?).ok())),
        ("Folded stacks", "folded", Box::new(move || report()?.to_folded().ok())),
    ]
}

impl PageView for ErrorsView {
    /// Report.
    type Content = u64;

    fn ask(page: Page, address: &Address) {
        let selection = address.rolled_up(address.selection());
        page.queries().errors.want(page, queries::Errors { selection });
    }

    fn frame(&self) -> &ViewFrame {
        &self.frame
    }

    fn content(&self, page: Page) -> Option<u64> {
        let slot = &page.queries().errors;
        slot.get().map(|_| slot.revision())
    }

    fn is_stale(&self, page: Page) -> bool {
        page.queries().errors.is_waiting()
    }

    fn take(&mut self, page: Page, _: &u64, _: Option<&u64>) {
        let slot = &page.queries().errors;
        let Some(report) = slot.get() else { return };
        let paths = Rc::new(report.paths());
        self.frame.set_text(&if report.facts.requests == 0 {
            page.address().why_empty(&paths.facts)
        } else {
            errors::why_no_graph(&report)
        });
        let sentences = if report.totals.requests == 0 { Vec::new() } else { errors::sentences(&report) };
        self.words.set_text(&sentences.join(" "));
        self.words.show(!sentences.is_empty());
        self.show_messages(page, &report);
        // Summaries have errors of requests of any latency.
        let is_of_range = report.range == Some(page.address().range);
        let label = if is_of_range { page.selection_label() } else { errors::ANY_LATENCY.to_owned() };
        self.title.set_text(&errors::title(&label, &report));
        self.table.set_rows(ErrorEndpointRow::of(&report), &errors::no_errors(&report));
        let (query, focus) = (slot.query_of_report(), page.address().focus.clone());
        self.chart.renew(|chart| chart.take(paths, query, false, &focus));
    }

    fn show_choices(&mut self, page: Page) {
        self.chart.with(|chart| chart.follow(page));
        let slot = &page.queries().findings;
        // Findings may be of the other set, or of what was chosen before.
        let findings = slot.fresh().filter(|_| page.of_findings().0 == page.address().selection());
        self.times.element().show(findings.is_some());
        if let Some(findings) = findings.filter(|_| self.timed != slot.revision()) {
            self.timed = slot.revision();
            self.times.set(page, &findings);
        }
    }

    fn search(&mut self, _: Page, finder: &Finder) -> SearchResult {
        let choose = |page: Page, line: &ErrorEndpointRow| page.set_focus(Focus::endpoint(line.name()));
        let in_table = SearchResult::in_table(self.table, finder, choose);
        let in_chart = chart::search(self.chart, finder);
        // The chart has what is on critical paths; errors begin elsewhere, too.
        if in_chart.count > 0 { in_chart } else { SearchResult { share: None, ..in_table } }
    }

    /// Follows the endpoint that has the focus, or that at the end of the path.
    fn follow(&mut self, page: Page) {
        let endpoint = match &*page.focus() {
            Focus::Endpoint(endpoint) => Some(endpoint.clone()),
            Focus::Path(path) => path.last().cloned(),
            _ => None,
        };
        self.table.select(|line| endpoint.as_ref().is_some_and(|endpoint| line.name() == endpoint.names()));
        self.chart.canvas().set("data-nodes", &self.chart.look(FlameChart::len).to_string());
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        zoom::command(self.chart, page, command)
    }
}
