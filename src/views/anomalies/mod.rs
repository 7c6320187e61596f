//! Abnormal requests in the page: how anomalous requests are over time, groups of reasons, the chosen one beside the normal
//! one most like it, a table with reasons, the detector's own report card; see [`anomalies`].

pub mod network;
pub mod pair;
pub mod strip;
pub mod tools;

use self::network::{Network, TrainingRow};
use self::pair::Pair;
use self::strip::Strip;
use self::tools::AnomaliesTools;
use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::{Focus, Page};
use crate::views::view::{PageView, SearchResult};
use crate::widgets::chart_canvas::ChartCanvas;
use crate::widgets::companion::CompanionTable;
use crate::widgets::export;
use crate::widgets::frame::ViewFrame;
use crate::widgets::plot_chart::{self, ScrolledPlot};
use pathlight_base::format::counted;
use pathlight_engine::anomalies::{AnomalyReport, AnomalySettings, Detector, EvaluationTable, SPLITS};
use pathlight_engine::queries;
use pathlight_engine::requests::{Filter, RequestRef};
use pathlight_engine::verdict::SubjectHits;
use pathlight_view::address::Address;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::anomalies::{self, AnomalyLine};
use pathlight_view::keys::KeyCommand;
use pathlight_view::search::finder::Finder;
use pathlight_view::views::View;
use std::rc::Rc;

/// The seed of the evaluation.
const SEED: u64 = 1;

/// Returns the place of the request that has the focus.
fn place(page: Page, report: &AnomalyReport) -> Option<usize> {
    match &*page.focus() {
        Focus::Request(chosen) => anomalies::place(report, chosen),
        _ => None,
    }
}

/// Opens the timeline of a request, of the set it belongs to.
fn open(page: Page, request: &RequestRef, group: u8) {
    page.change(|address| {
        let side = ComparedSide::BOTH.into_iter().find(|&side| address.side(side).group == group);
        if let Some(side) = side.filter(|_| address.group() != group) {
            address.speak_of(side);
        }
        (address.view, address.trace) = (View::Trace, Some(request.into()));
    });
}

/// Returns the buttons that say of a request whether it is normal; none where the auto-encoder judges, which learns nothing from
/// that.
fn label_buttons(page: Page, keep: &Listeners, report: &AnomalyReport, request: &RequestRef) -> Vec<El> {
    if matches!(report.detector, Detector::Vae(_)) {
        return Vec::new();
    }
    let label = page.address().anomaly.label(request);
    let button = |(words, hint, test, is_normal)| {
        let request = request.clone();
        let button = button(words)
            .attr("title", hint)
            .test(test)
            .on_click(keep, move || page.change(|address| address.anomaly.toggle_label(&request, is_normal)));
        button.set_flag("aria-pressed", label == Some(is_normal));
        button
    };
    anomalies::LABELS.map(button).into()
}

/// The view.
pub struct AnomaliesView {
    frame: ViewFrame,
    chart: ChartCanvas<ScrolledPlot<Strip>>,
    scroller: El,
    pair: Pair,
    title: El,
    tools: AnomaliesTools,
    network: Network,
    progress: TrainingRow,
    figures: El,
    groups: El,
    group_links: Listeners,
    reasons: El,
    table: CompanionTable<AnomalyLine>,
    /// The revision of the evaluation that is shown.
    evaluated: Option<u64>,
    /// The focus that reasons are shown for, and the revisions of both reports.
    explained: Option<(Focus, u64, Option<u64>)>,
    links: Listeners,
}

impl AnomaliesView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> AnomaliesView {
        let label = "How anomalous requests are over time; the table below says the same";
        let strip = Strip { page, report: Rc::default(), found: None };
        let (chart, scroller) = plot_chart::scrolled(strip, "anomaly-strip", label);
        let pair = Pair::new(page, keep);
        let table = CompanionTable::new(page, anomalies::table())
            .on_select(move |line| page.set_focus(Focus::Request((&line.row().request).into())))
            .on_open(move |line| {
                let (_, test) = anomalies::sides(&page.address());
                open(page, &line.row().request, test.group);
            });
        let formats = strip::formats(page, chart, table);
        let exports = export::menu(page, keep, "anomalies", None, formats);
        let tools = AnomaliesTools::new(page, keep, &exports);
        let network = Network::new(page, keep);
        let progress = TrainingRow::new(page, keep);
        let title = div("note-line muted").test("anomaly-title");
        let reasons = div("reasons").test("anomaly-reasons");
        reasons.show(false);
        let figures = div("evaluation-box")
            .test("anomaly-figures")
            .attr("tabindex", "0")
            .attr("role", "region")
            .attr("aria-label", "Figures of the evaluation");
        let groups = el("ul").class("reasons").test("anomaly-groups");
        let notes = div("anomaly-notes").child(&reasons).child(&groups);
        let below = div("companion").child(&figures).child(&notes).child(table.element());
        let frame = ViewFrame::new(View::Anomalies, "anomaly", chart, below)
            .with(tools.element())
            .with(network.element())
            .with(&title)
            .with(progress.element())
            .with(&scroller)
            .with(pair.element())
            .table(table)
            .fits(chart);
        AnomaliesView {
            frame: pair.charts().into_iter().fold(frame, ViewFrame::also),
            chart,
            scroller,
            pair,
            title,
            tools,
            network,
            progress,
            figures,
            groups,
            group_links: Listeners::default(),
            reasons,
            table,
            evaluated: None,
            explained: None,
            links: Listeners::default(),
        }
    }

    fn take_evaluation(&mut self, page: Page) {
        let slot = &page.queries().anomaly_evaluation;
        let is_wanted = page.address().anomaly.evaluate;
        self.figures.show(is_wanted);
        if !is_wanted || self.evaluated.replace(slot.revision()) == Some(slot.revision()) {
            return;
        }
        match slot.get() {
            Some(table) => self.figures.fill(&evaluation(&table)),
            None => self.figures.fill([&span("muted", "Evaluating\u{2026}")]),
        }
    }

    /// Lists how many requests have which verdict, how many of them the subject of the verdict on both sets hits, and the
    /// requests by their first reason; each group can be opened. A click on a verdict, or below a group, keeps these requests
    /// in all views.
    fn list_groups(&mut self, page: Page, report: &Rc<AnomalyReport>, hits: Option<&SubjectHits>) {
        self.group_links.clear();
        self.groups.clear();
        let groups = anomalies::groups(report);
        self.groups.show(!groups.is_empty() || report.taught.is_some());
        let (_, test) = anomalies::sides(&page.address());
        let only = |words: &str, name: &str, rows: Vec<usize>| {
            let report = report.clone();
            button(words).test(name).attr("title", anomalies::ONLY_HINT).on_click(
                &self.group_links,
                move || {
                    page.change(|address| anomalies::keep_only(address, &report, &rows, test.group));
                },
            )
        };
        let verdicts = anomalies::verdict_lines(report);
        if !verdicts.is_empty() {
            let links = div("verdicts");
            for line in verdicts {
                links.add(&only(&line.words, "anomaly-verdict", line.rows));
            }
            self.groups.add(&el("li").child(&links));
        }
        if let Some(found) = hits.and_then(|hits| anomalies::hits::comparable(report, Some(hits))) {
            let words = div("").test("anomaly-hits").text(&anomalies::hits::summary(report, found));
            let links = div("verdicts");
            for line in anomalies::hits::lines(report, found) {
                links.add(&only(&line.words, "anomaly-hit", line.rows));
            }
            self.groups.add(&el("li").child(&words).child(&links));
        }
        for group in groups {
            let words = format!("{}: {}", counted(group.requests, "request"), group.words);
            let head = el("summary").test("anomaly-group").text(&words);
            let requests = el("ul");
            for &row in group.rows.iter().take(anomalies::LISTED) {
                let chosen = Focus::Request((&report.rows[row].request).into());
                let link = button(&anomalies::request_words(report, row))
                    .class("link")
                    .test("anomaly-of-group")
                    .on_click(&self.group_links, move || page.set_focus(chosen.clone()));
                requests.add(&el("li").child(&link));
            }
            let typical = &report.rows[report.typical(&group.rows)].request;
            let labels = label_buttons(page, &self.group_links, report, typical);
            let keep = only(anomalies::ONLY, "anomaly-only", group.rows);
            let buttons = div("links").child(&keep).children(&labels);
            let details = el("details").child(&head).child(&requests).child(&buttons);
            self.groups.add(&el("li").child(&details));
        }
        let more = anomalies::more_groups(report);
        if !more.is_empty() {
            self.groups.add(&el("li").class("muted").test("anomaly-more-groups").text(&more));
        }
        if report.taught.is_some() {
            let forget = button("Forget all labels").class("link").test("anomaly-forget-labels");
            let forget = forget.on_click(&self.group_links, move || {
                page.change(|address| address.anomaly.labels.clear());
            });
            self.groups.add(&el("li").child(&forget));
        }
        if let Some((words, explain)) = anomalies::unexplained(report, page.address().anomaly.explain) {
            let next =
                button(&words).class("link").test("anomaly-explain").on_click(&self.group_links, move || {
                    page.change(|address| address.anomaly.explain = explain);
                });
            self.groups.add(&el("li").child(&next));
        }
    }

    fn explain(&self, page: Page, report: &AnomalyReport, at: usize) {
        let row = &report.rows[at];
        let list = el("ul");
        for reason in anomalies::reasons(report, row) {
            list.add(&el("li").text(&reason));
        }
        let hits = hits(page);
        let found = hits.as_deref().and_then(|hits| anomalies::hits::comparable(report, hits.as_ref()));
        if let Some(words) = found.and_then(|found| anomalies::hits::words(report, found, row)) {
            list.add(&el("li").test("anomaly-hit-words").text(&words));
        }
        let (train, test) = anomalies::sides(&page.address());
        let link = |text: &str, test: &str, request: &RequestRef, group: u8| {
            let request = request.clone();
            button(text).test(test).on_click(&self.links, move || open(page, &request, group))
        };
        let links = div("links").child(&link("Timeline", "anomaly-open", &row.request, test.group));
        if let Some(nearest) = &row.nearest {
            let words = "Most similar normal request";
            links.add(&link(words, "anomaly-nearest", nearest, train.group));
        }
        let links = links.children(&label_buttons(page, &self.links, report, &row.request));
        self.reasons.fill([&list, &links]);
    }
}

/// Returns the figures of the evaluation.
fn evaluation(table: &EvaluationTable) -> [El; 3] {
    let (words, lines) = anomalies::evaluation(table);
    let cell = |tag: &str, is_number: bool| el(tag).class(if is_number { "num" } else { "" });
    let head = anomalies::EVALUATION.map(|(name, is)| cell("th", is).attr("scope", "col").text(name));
    let body = lines.iter().map(|line| {
        let cells = line.iter().zip(anomalies::EVALUATION);
        cells.fold(el("tr").test("evaluation-row"), |row, (text, (_, is))| {
            row.child(&cell("td", is).text(text))
        })
    });
    let body = body.fold(el("tbody"), |body, row| body.child(&row));
    let head = el("thead").child(&el("tr").children(&head));
    let grid = el("table").class("evaluation").child(&head).child(&body);
    let lines = anomalies::false_alarms(table);
    let alarms = lines.iter().map(|line| div("muted").test("evaluation-alarms").text(line));
    let alarms = alarms.fold(div(""), |all, line| all.child(&line));
    // Keys scroll what has the focus.
    let scroll = div("evaluation-scroll")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", "Detectors and what was made abnormal");
    [div("muted").text(&words), alarms, scroll.child(&grid)]
}

/// Returns the report at the chosen rate of false alarms.
fn judged(page: Page) -> Option<Rc<AnomalyReport>> {
    let report = page.queries().anomaly.get()?;
    Some(anomalies::chosen(&report, &page.address().anomaly))
}

/// Returns the same about the requests that are kept in all views.
fn shown(page: Page) -> Option<Rc<AnomalyReport>> {
    Some(anomalies::kept(judged(page)?, &page.address()))
}

/// Returns which judged requests the subject of the verdict hits, once that is known; `None` where no set A is normal.
fn hits(page: Page) -> Option<Rc<Option<SubjectHits>>> {
    anomalies::hits::query(&page.address(), page.has_model())?;
    page.queries().verdict_hits.fresh()
}

impl PageView for AnomaliesView {
    /// Report, the accepted rate of false alarms, the report on requests that are hit, and the filters.
    type Content = (u64, u32, Option<u64>, Vec<Filter>);

    fn ask(page: Page, address: &Address) {
        let queries = page.queries();
        let (train, test) = anomalies::sides(address);
        let groups = (train.group, test.group);
        let settings = anomalies::settings(&address.anomaly, page.model());
        let selection = train.clone();
        queries.anomaly.want(page, queries::Anomalies { train, test, settings: settings.clone() });
        let Some(report) = queries.anomaly.fresh() else { return };
        if let Some(at) = place(page, &report) {
            pair::query(page, &report.rows[at], groups);
        }
        if let Some(query) = anomalies::hits::query(address, page.has_model()) {
            queries.verdict_hits.want(page, query);
        }
        // What takes long comes last.
        if address.anomaly.evaluate {
            let settings = AnomalySettings { model: None, ..settings };
            queries
                .anomaly_evaluation
                .want(page, queries::AnomalyEvaluation { selection, seed: SEED, splits: SPLITS, settings });
        }
    }

    fn frame(&self) -> &ViewFrame {
        &self.frame
    }

    fn content(&self, page: Page) -> Option<Self::Content> {
        let slot = &page.queries().anomaly;
        let hits = hits(page).map(|_| page.queries().verdict_hits.revision());
        let address = page.address();
        slot.get().map(|_| (slot.revision(), address.anomaly.alpha_ppm, hits, address.filters.clone()))
    }

    fn is_stale(&self, page: Page) -> bool {
        page.queries().anomaly.is_waiting()
    }

    fn take(&mut self, page: Page, _: &Self::Content, _: Option<&Self::Content>) {
        let Some(judged) = judged(page) else { return };
        let report = anomalies::kept(judged.clone(), &page.address());
        let why = anomalies::why_empty(anomalies::normal(&page.address()), &report);
        let hits = hits(page);
        let hits = hits.as_deref().and_then(Option::as_ref);
        self.list_groups(page, &report, hits);
        self.frame.set_text(why);
        self.title.set_text(&anomalies::title(&judged));
        self.table.set_rows(AnomalyLine::of(&report, hits), why);
        let canvas = self.chart.canvas();
        canvas.set("data-abnormal", &report.abnormal().to_string());
        canvas.set("data-requests", &report.rows.len().to_string());
        self.chart.with(|chart| chart.plot.report = report);
    }

    fn show_choices(&mut self, page: Page) {
        self.tools.update(page);
        self.network.update(page);
        self.progress.update(page);
        self.take_evaluation(page);
    }

    fn search(&mut self, _: Page, finder: &Finder) -> SearchResult {
        self.pair.search(finder);
        let found = self.table.look(|table| table.find(finder).hits);
        self.chart.with(|chart| chart.plot.found = found);
        let (table, (count, share)) = (self.table, self.table.search(finder));
        SearchResult { count, share, step: Box::new(move |_, forward| table.select_beside(forward)) }
    }

    /// Shows the selected request beside the normal one most like it, its reasons, and where to look.
    fn follow(&mut self, page: Page) {
        let slot = &page.queries().anomaly;
        let report = shown(page).unwrap_or_default();
        let at = place(page, &report);
        self.table.select_at(at);
        let is_paired = self.pair.take(page, at.map(|at| (&*report, &report.rows[at])));
        self.scroller.show(!is_paired);
        let hits = hits(page).map(|_| page.queries().verdict_hits.revision());
        let now = Some((page.focus().clone(), slot.revision(), hits));
        if self.explained == now {
            return;
        }
        self.explained = now;
        self.links.clear();
        self.reasons.show(at.is_some());
        match at {
            Some(at) => self.explain(page, &report, at),
            None => self.reasons.clear(),
        }
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        self.pair.command(page, command)
    }
}
