//! Which requests are abnormal, and why: a strip of how odd they are over time, the chosen one beside the normal one
//! most like it, a table with reasons, the detector's own report card.

pub mod network;
pub mod pair;
pub mod strip;
pub mod table;
pub mod tools;

use self::network::{Network, Progress};
use self::pair::Pair;
use self::strip::Strip;
use self::table::AnomalyLine;
use self::tools::Tools;
use crate::ui::dom::{El, Keep, button, div, el, span};
use crate::ui::page::{Focus, Page, Part};
use crate::ui::shell::keys::Command;
use crate::ui::shell::search::{Last, Search, fits};
use crate::ui::view::AnyView;
use crate::ui::widgets::chart_canvas::ChartCanvas;
use crate::ui::widgets::export;
use crate::ui::widgets::frame::{Frame, WORKING};
use crate::ui::widgets::plot_chart;
use crate::ui::widgets::plot_chart::ScrolledPlot;
use crate::ui::widgets::table::Table;
use pathlight_query::{
    AnomalyReport, AnomalyRow, AnomalySettings, Detector, Filter, RequestRef, Selection, queries,
};
use pathlight_text::format;
use pathlight_view::address::{Normal, TraceChoice, View};
use pathlight_view::comparing::Side;
use std::rc::Rc;

/// The seed of the evaluation.
const SEED: u64 = 1;

/// Which requests are learned from and which are judged.
fn sides(page: Page) -> (Selection, Selection) {
    let address = page.address();
    let selection = address.selection();
    match address.anomaly.normal {
        Normal::Others => (selection.clone(), selection),
        Normal::SetA => (Selection { group: 0, ..selection.clone() }, Selection { group: 1, ..selection }),
        Normal::Before(us) => {
            let (mut before, mut after) = (selection.clone(), selection);
            before.filters.push(Filter::Time { from_us: 0, to_us: us });
            after.filters.push(Filter::Time { from_us: us, to_us: u64::MAX });
            (before, after)
        }
    }
}

fn settings(page: Page) -> AnomalySettings {
    let choice = page.address().anomaly.clone();
    let detector = if choice.vae { Detector::Vae(choice.network) } else { Detector::Rule };
    // The auto-encoder has a threshold of its own: another rate must not train it again.
    let alpha_ppm = if choice.vae { AnomalySettings::default().alpha_ppm } else { choice.alpha_ppm };
    AnomalySettings { alpha_ppm, detector, model: page.model(), ..AnomalySettings::default() }
}

/// Asks what the view needs to know.
pub fn query(page: Page) {
    let queries = page.queries();
    let (train, test) = sides(page);
    let groups = (train.group, test.group);
    let request = queries::Anomalies { train, test, settings: settings(page) };
    queries.anomaly.want(page, request);
    let Some(report) = queries.anomaly.fresh() else { return };
    if let Some(at) = selected(page, &report.rows, |row| row) {
        pair::query(page, &report.rows[at], groups);
    }
    // What takes long comes last.
    if page.address().anomaly.evaluate {
        let settings = AnomalySettings { model: None, ..settings(page) };
        let (selection, _) = sides(page);
        queries.anomaly_check.want(page, queries::AnomalyEvaluation { selection, seed: SEED, settings });
    }
}

/// The trace of a request.
fn choice(request: &RequestRef) -> TraceChoice {
    TraceChoice {
        trace_id: request.trace_id.clone(),
        root_span_id: Some(request.root_span_id.clone()).filter(|id| !id.is_empty()),
        span_id: None,
    }
}

/// Where among rows the selected request stands. Another view may have chosen a trace without saying which request.
fn selected<T>(page: Page, rows: &[T], row: impl Fn(&T) -> &AnomalyRow) -> Option<usize> {
    let Focus::Request(chosen) = &*page.focus() else { return None };
    rows.iter().position(|line| {
        let request = &row(line).request;
        let is_root = |id: &String| *id == request.root_span_id;
        request.trace_id == chosen.trace_id && chosen.root_span_id.as_ref().is_none_or(is_root)
    })
}

/// Opens the timeline of a request, of the set it belongs to.
fn open(page: Page, request: &RequestRef, group: u8) {
    page.change(|address| {
        let side = Side::BOTH.into_iter().find(|&side| address.side(side).group == group);
        if let Some(side) = side.filter(|_| address.group() != group) {
            address.speak_of(side);
        }
        (address.view, address.trace) = (View::Trace, Some(choice(request)));
    });
}

/// The view.
pub struct Anomalies {
    frame: Frame,
    chart: ChartCanvas<ScrolledPlot<Strip>>,
    scroller: El,
    pair: Pair,
    title: El,
    tools: Tools,
    network: Network,
    progress: Progress,
    figures: El,
    reasons: El,
    table: Table<AnomalyLine>,
    search: Search,
    shown: u64,
    evaluated: u64,
    explained: Option<(Focus, u64)>,
    searched: Last<u64>,
    links: Keep,
    _keep: Keep,
}

impl Anomalies {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, search: &Search) -> Anomalies {
        let keep = Keep::default();
        let label = "How odd requests are over time; the table below says the same";
        let (chart, scroller) = plot_chart::scrolled(Strip::new(page), "anomaly-strip", label);
        let pair = Pair::new(page);
        let formats = strip::formats(chart);
        let exports = export::menu(page, &keep, "anomalies", Some(chart.canvas().clone()), formats);
        let tools = Tools::new(page, &keep, &exports);
        let network = Network::new(page, &keep);
        let progress = Progress::new(page);
        let title = div("note-line muted").test("anomaly-title");
        let table = table::table(page);
        let reasons = div("reasons").test("anomaly-reasons");
        reasons.show(false);
        let figures = div("evaluation-box").test("anomaly-figures");
        figures.show(false);
        let below = div("companion").child(&figures).child(&reasons).child(table.element());
        let frame = Frame::new(View::Anomalies, "anomaly", chart, below)
            .with(tools.element())
            .with(network.element())
            .with(&title)
            .with(progress.element())
            .with(&scroller)
            .with(pair.element());
        Anomalies {
            frame,
            chart,
            scroller,
            pair,
            title,
            tools,
            network,
            progress,
            figures,
            reasons,
            table,
            search: search.clone(),
            shown: 0,
            evaluated: 0,
            explained: None,
            searched: Last::default(),
            links: Keep::default(),
            _keep: keep,
        }
    }

    fn take_report(&mut self, page: Page) {
        let queries = page.queries();
        let report = queries.anomaly.get();
        let words = match &report {
            None => WORKING.to_owned(),
            Some(report) => why_empty(page, report),
        };
        self.frame.set_text(&words);
        self.chart.element().class_if("stale", queries.anomaly.is_waiting());
        self.table.set_stale(queries.anomaly.is_waiting());
        self.table.set_sort(page.address().sort.as_ref());
        let revision = queries.anomaly.revision();
        let Some(report) = report.filter(|_| self.shown != revision) else { return };
        self.shown = revision;
        self.title.set_text(&title(&report));
        self.table.set_empty(&words);
        self.table.set_rows(Rc::new(table::lines(&report)));
        let canvas = self.chart.canvas();
        canvas.set("data-abnormal", &report.abnormal().to_string());
        canvas.set("data-requests", &report.rows.len().to_string());
        self.chart.with(|chart| chart.plot.report = Some(report));
    }

    fn take_evaluation(&mut self, page: Page) {
        let queries = page.queries();
        let is_wanted = page.address().anomaly.evaluate;
        self.figures.show(is_wanted);
        let revision = queries.anomaly_check.revision();
        if !is_wanted || self.evaluated == revision && self.figures.html().has_child_nodes() {
            return;
        }
        self.evaluated = revision;
        self.figures.clear();
        let Some(table) = queries.anomaly_check.get() else {
            self.figures.add(&span("muted", "Evaluating\u{2026}"));
            return;
        };
        let words = format!(
            "Trained on {} requests; {} held out are judged as they are and made abnormal. Where spans are dropped, {} of all are.",
            format::count(table.trained),
            format::count(table.held_out),
            format::share(table.dropped_share)
        );
        self.figures.add(&div("muted").text(&words));
        self.figures.add(&table::evaluation(&table));
    }

    /// The selected request beside the normal one most like it, its reasons, and where to look.
    fn take_selection(&mut self, page: Page) {
        let rows = self.table.rows();
        let selected = selected(page, &rows, |line| &line.row);
        self.table.select(selected);
        let report = page.queries().anomaly.get();
        let chosen = report.as_deref().zip(selected.and_then(|at| rows.get(at)));
        let is_paired = self.pair.take(page, chosen.map(|(report, line)| (report, &line.row)));
        self.scroller.show(!is_paired);
        let now = Some((page.focus().clone(), self.shown));
        if self.explained == now {
            return;
        }
        self.explained = now;
        self.links.clear();
        self.reasons.clear();
        self.reasons.show(chosen.is_some());
        let Some((report, line)) = chosen else { return };
        let list = el("ul");
        for reason in &line.row.reasons {
            list.add(&el("li").text(&format::printable(&report.words(reason, format::duration))));
        }
        if line.row.reasons.is_empty() {
            list.add(&el("li").text("Nothing about it is odd."));
        }
        let (train, test) = sides(page);
        let link = |text: &str, test: &str, request: &RequestRef, group: u8| {
            let request = request.clone();
            button(text).test(test).on_click(&self.links, move || open(page, &request, group))
        };
        let links = div("links").child(&link("Timeline", "anomaly-open", &line.row.request, test.group));
        if let Some(nearest) = &line.row.nearest {
            let words = "Most similar normal request";
            links.add(&link(words, "anomaly-nearest", nearest, train.group));
        }
        self.reasons.add(&list);
        self.reasons.add(&links);
    }

    fn take_search(&mut self, page: Page) {
        let text = page.address().search.clone();
        if !self.searched.is_new(&text, self.shown) {
            return;
        }
        let matches = self.table.mark(&text, |line| fits(&text, &[&line.why, &line.row.request.trace_id]));
        let table = self.table.clone();
        self.search.publish(matches, None, move |_, forward| table.select(table.neighbour(forward)));
    }
}

fn title(report: &AnomalyReport) -> String {
    let mut words = format!(
        "{} of {} abnormal; learned from {} ({} call paths)",
        format::count(report.abnormal() as u64),
        format::count(report.rows.len() as u64),
        format::count(report.trained),
        format::count(report.features)
    );
    if report.detector == Detector::Rule && report.alpha > report.asked_alpha {
        words.push_str(&format!(
            "; with so few, the rate is raised to {} so that an alarm is possible",
            format::share(report.alpha)
        ));
    }
    words
}

fn why_empty(page: Page, report: &AnomalyReport) -> String {
    if report.trained == 0 {
        let normal = page.address().anomaly.normal;
        return match normal {
            Normal::Before(_) => "No request began in the earlier half; choose what is normal.".to_owned(),
            _ => "There is no normal request to learn from; change the root endpoint, the percentile range or the filters."
                .to_owned(),
        };
    }
    if report.rows.is_empty() { "There is no request to judge.".to_owned() } else { String::new() }
}

impl Part for Anomalies {
    fn update(&mut self, page: Page) {
        if !self.frame.update(page) {
            self.chart.leave();
            self.pair.leave();
            return;
        }
        self.chart.follow_theme();
        self.tools.update(page);
        self.network.update(page);
        self.progress.update(page);
        self.take_report(page);
        self.take_evaluation(page);
        self.take_selection(page);
        plot_chart::fit(self.chart);
        self.take_search(page);
    }

    fn command(&mut self, page: Page, command: Command) -> bool {
        self.frame.is_chosen(page) && self.pair.command(page, command)
    }
}

impl AnyView for Anomalies {
    fn frame(&self) -> &Frame {
        &self.frame
    }
}
