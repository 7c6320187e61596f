//! Diagnosis: what is slow, where in its span, and whether only in the tail, as sentences with their evidence; what
//! makes the tail slow; and what changed between two sets.

mod instrument;
pub mod trace;
pub mod tree;

use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::{Focus, Page};
use crate::shell::banners::copy_text;
use crate::shell::jump::Jump;
use crate::shell::redaction_dialog;
use crate::views::compare::services::ChangedServices;
use crate::views::diagnosis::instrument::InstrumentPanel;
use crate::views::diagnosis::trace::{AggregateSpans, SharedSpans};
use crate::views::diagnosis::tree::DiagnosisTree;
use crate::views::timeline::chart::{TimelineChart, TraceOverview};
use crate::views::view::{PageView, SearchResult};
use crate::widgets::chart_canvas::ChartCanvas;
use crate::widgets::companion::{AnyTable as _, CompanionTable};
use crate::widgets::controls::{self, Segments};
use crate::widgets::frame::ViewFrame;
use crate::widgets::zoom::{self, ZoomTools, svg_format};
use crate::widgets::{export, service_legend};
use pathlight_engine::diagnosis::{AggregateTrace, Aggregates, SetsReport, to_jaeger};
use pathlight_engine::findings::FindingsReport;
use pathlight_engine::queries;
use pathlight_engine::requests::{GroupBy, RequestRef};
use pathlight_trace::Endpoint;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::address::{Address, TraceChoice};
use pathlight_view::diagnosis::choice::DiagnosisList;
use pathlight_view::diagnosis::tables::{LayerRow, TypePlaceRow};
use pathlight_view::diagnosis::words::{markdown, sets_markdown};
use pathlight_view::diagnosis::{self, Evidence};
use pathlight_view::export::redacted::{self, ShareKind};
use pathlight_view::export::saved::ExportRedaction;
use pathlight_view::keys::KeyCommand;
use pathlight_view::say::request_types;
use pathlight_view::search::finder::Finder;
use pathlight_view::views::{View, WORKING};
use pathlight_view::{compare, json, summaries};
use std::rc::Rc;

/// Asks for the aggregate trace of a line, which is built when somebody looks at it.
fn want_aggregate(page: Page, number: Option<u32>) {
    let Some(number) = number else { return };
    let (selection, settings) = {
        let address = page.address();
        (address.selection(), address.choices.diagnosis.settings.clone())
    };
    let wanted = Aggregates::Drawn(number);
    page.queries().aggregate.want(page, queries::AggregateTraces { selection, settings, wanted });
}

/// The view.
pub struct DiagnosisView {
    frame: ViewFrame,
    chart: ChartCanvas<TimelineChart>,
    spans: SharedSpans,
    title: El,
    badge: El,
    examples: [El; 2],
    request_types: El,
    tail: El,
    progress: [El; 2],
    lists: Segments,
    note: El,
    left_out: El,
    tree: DiagnosisTree,
    places: [CompanionTable<TypePlaceRow>; 2],
    verdict: El,
    services: ChangedServices,
    /// Layers 1 and 2, layers 3 and 4.
    layers: [CompanionTable<LayerRow>; 2],
    instrument: InstrumentPanel,
    none: El,
    /// Revision of what is loaded, and the settings, that are offered.
    offered: Option<(u64, GroupBy, u32)>,
    /// The endpoint to go to once there is a report.
    wanted: Option<Endpoint>,
}

impl DiagnosisView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners, jump: &Jump) -> DiagnosisView {
        let spans: SharedSpans = Rc::new(AggregateSpans::default());
        let chosen = spans.clone();
        let chart = ChartCanvas::new(
            TimelineChart::new(page, &TraceOverview::new(), move |at| chosen.choose(page, at))
                .of(spans.clone()),
            "aggregate-trace",
            "Timeline of the aggregate trace; the lines below say the same",
        );
        let zooms = ZoomTools::new(page, keep, chart, "-aggregate");
        let title = span("title", "").test("aggregate-title");
        let [varies, hint] = diagnosis::ORDER_VARIES;
        let badge = span("chip fixed", varies).attr("title", hint).test("order-varies");
        let examples = [("Nearest real trace", "open-nearest", 0), ("Slowest", "open-slowest", 1)].map(
            |(name, test, at)| {
                let trace = spans.clone();
                button(name).test(test).on_click(keep, move || {
                    let chosen = trace.trace().exemplars.get(at).cloned();
                    chosen.iter().for_each(|request| open(page, request));
                })
            },
        );
        let exports = formats(page, chart, &spans);
        let of_trace = {
            let shown = spans.clone();
            move || diagnosis::services(&shown.trace())
        };
        let legend = service_legend::exported(of_trace.clone());
        let exports = export::menu(page, keep, "diagnosis", legend, exports);
        let legend = service_legend::legend(page, keep, of_trace);
        let tools = div("tools")
            .child(&title)
            .child(&badge)
            .child(&legend)
            .child(&div("grow"))
            .children(&examples)
            .child(&zooms.zoom)
            .child(&zooms.all)
            .child(&exports);
        let tree = tree_of(page, jump);
        let places = [diagnosis::tables::slow_tail(), diagnosis::tables::changed_places()].map(|table| {
            CompanionTable::new(page, table).on_select(move |row| {
                let place = &row.place;
                // A gap lies between its caller and the called endpoint.
                let service = place.gap_to.as_ref().unwrap_or(&place.service);
                page.set_focus(Focus::endpoint((service, &place.operation)));
            })
        });
        let verdict = div("verdict").test("diagnosis-verdict");
        let services = ChangedServices::new(page, keep);
        let layers = [diagnosis::tables::layers(), diagnosis::tables::positions()].map(|table| {
            CompanionTable::new(page, table)
                .on_select(move |row| page.set_focus(Focus::Endpoint(row.endpoint.clone())))
        });
        let instrument = InstrumentPanel::new(page, keep);
        let (request_types, tail) = selects(page, keep);
        let mut lists = Segments::new("List");
        for list in DiagnosisList::ALL {
            let (name, what) = diagnosis::list_words(list);
            lists = lists.button(keep, (name, what, &format!("list-{}", list.key())), move || {
                page.change(|address| address.choices.diagnosis.list = list);
            });
        }
        let cancel = button("Cancel").test("diagnosis-cancel").on_click(keep, move || {
            page.change(|address| address.view = View::Findings);
        });
        let progress = [span("muted fixed", "").attr("role", "status").test("diagnosis-progress"), cancel];
        let label = |text: &str, of: &El| el("label").class("labelled").child(&span("muted", text)).child(of);
        let note = span("muted title", "").test("diagnosis-note");
        let left_out = div("note-line muted").test("diagnosis-left-out");
        let none = div("empty").test("diagnosis-none");
        let settings = div("tools")
            .child(&label("Request type", &request_types))
            .child(&label("Tail", &tail))
            .child(&note)
            .child(&div("grow"))
            .children(&progress);
        let companion = div("companion")
            .child(&div("tools").child(lists.element()).child(&div("grow")).child(&copy_button(page, keep)))
            .child(&settings)
            .child(&left_out)
            .child(&none)
            .child(tree.element())
            .child(places[0].element())
            .child(places[1].element())
            .child(&verdict)
            .children(services.elements())
            .child(layers[0].element())
            .child(layers[1].element())
            .child(instrument.element());
        let frame = ViewFrame::new(View::Diagnosis, "diagnosis", chart, companion).with(&tools);
        let frame = frame.with(chart.element()).table(places[0]).table(places[1]);
        let frame = services.keep_up_in(frame).table(layers[0]).table(layers[1]);
        let frame = frame.table(instrument.table());
        DiagnosisView {
            frame: frame.zooms(chart, zooms),
            chart,
            spans,
            title,
            badge,
            examples,
            request_types,
            tail,
            progress,
            lists,
            note,
            left_out,
            tree,
            places,
            verdict,
            services,
            layers,
            instrument,
            none,
            offered: None,
            wanted: None,
        }
    }

    /// Offers what tells request types apart, and where the tail may begin.
    fn offer(&mut self, page: Page) {
        let (by, tail_permille) = {
            let address = page.address();
            (address.by.clone(), address.choices.diagnosis.settings.tail_permille)
        };
        let now = Some((page.overview_revision(), by.clone(), tail_permille));
        let Some(overview) = page.overview_in_sight().filter(|_| self.offered != now) else { return };
        self.offered = now;
        controls::offer(&self.request_types, &request_types::choices(&overview, &by), &by.key());
        controls::offer(&self.tail, &diagnosis::tails(tail_permille), &tail_permille.to_string());
    }

    /// Shows the list of the address.
    fn show_list(&mut self, page: Page) {
        let (list, queries) = (page.address().choices.diagnosis.list, page.queries());
        self.lists.press(list as usize);
        let (overview, sets) = (queries.overview.get(), queries.compare_diagnoses.get());
        let why = match list.is_of_sides() {
            true if page.has_summary() => summaries::NO_CHANGED_PLACES,
            true => diagnosis::why_no_sides(&page.address(), overview.as_deref(), sets.as_deref()),
            false if list == DiagnosisList::Instrument && page.has_summary() => summaries::NO_STRETCHES,
            false => "",
        };
        self.none.set_text(why);
        self.none.show(!why.is_empty());
        let shows = |of| list == of && why.is_empty();
        self.tree.element().show(shows(DiagnosisList::Report));
        let words = match (list, queries.diagnosis.get(), &sets) {
            (DiagnosisList::Places, _, Some(sets)) => diagnosis::words::left_out(&sets.places, true),
            (DiagnosisList::Tail, Some(report), _) => diagnosis::words::tail_notes(&report.tail),
            (DiagnosisList::Report, Some(report), _) if !report.report.is_empty() => {
                vec![diagnosis::words::RANKED_BY.to_owned()]
            }
            (DiagnosisList::Layers, Some(report), _) => {
                diagnosis::words::types_left_out(&report).into_iter().collect()
            }
            _ => Vec::new(),
        };
        let of_summary = match queries.diagnosis.get() {
            Some(report) if !list.is_of_sides() => diagnosis::words::of_summary(&report),
            _ => Vec::new(),
        };
        let words = [of_summary, words].concat();
        self.left_out.set_text(&words.join(" "));
        self.left_out.show(!words.is_empty());
        self.note.show(!list.is_of_sides());
        self.places[0].show(shows(DiagnosisList::Tail));
        self.places[1].show(shows(DiagnosisList::Places));
        let is_of_services = shows(DiagnosisList::Services);
        self.services.show(is_of_services, sets.as_deref().map(|sets| &sets.culprit));
        self.verdict.show(is_of_services && !self.services.is_opened());
        self.layers[0].show(shows(DiagnosisList::Layers));
        self.layers[1].show(shows(DiagnosisList::Positions));
        let is_instrument = shows(DiagnosisList::Instrument);
        self.instrument.update(page, is_instrument);
        // These wait for another report than the chart.
        let is_stale = queries.compare_diagnoses.is_waiting();
        self.places[1].set_stale(is_stale);
        self.services.services.set_stale(is_stale);
        self.services.places.set_stale(is_stale);
        self.tree.element().class_if("stale", queries.diagnosis.is_waiting());
    }

    /// Shows what is said of the aggregate trace beside its chart, and how far the queries are.
    fn show_title(&self, page: Page) {
        let trace = self.spans.trace();
        let is_there = !trace.spans.is_empty();
        self.title.set_text(&diagnosis::title(&trace));
        self.badge.show(is_there && trace.order_varies);
        for (button, request) in self.examples.iter().zip([trace.exemplars.first(), trace.exemplars.get(1)]) {
            button.show(request.is_some());
            if let Some(request) = request {
                button.set("title", &diagnosis::open_words(request));
                button.set("data-trace", &request.trace_id);
            }
        }
        let queries = page.queries();
        let progress = queries.diagnosis.progress().or_else(|| queries.compare_diagnoses.progress());
        let progress = progress.or_else(|| queries.aggregate.progress());
        self.progress.iter().for_each(|part| part.show(progress.is_some()));
        if let Some(progress) = progress {
            self.progress[0].set_text(&diagnosis::progress_words(progress.done, progress.of));
        }
    }
}

impl PageView for DiagnosisView {
    /// Revisions of the report, of the comparison and of the aggregate trace, and the list.
    type Content = (u64, u64, u64, DiagnosisList);

    fn ask(page: Page, address: &Address) {
        let queries = page.queries();
        let settings = address.choices.diagnosis.settings.clone();
        let is_of_sides = address.choices.diagnosis.list.is_of_sides() && !page.has_summary();
        if is_of_sides && address.comparison.is_some() {
            let [a, b] = ComparedSide::BOTH.map(|side| address.side(side));
            queries.compare_diagnoses.want(page, queries::CompareDiagnoses { a, b });
        }
        queries.diagnosis.want(page, queries::Diagnosis { selection: address.selection(), settings });
        if address.choices.diagnosis.list == DiagnosisList::Instrument && !page.has_summary() {
            queries.instrument.want(page, queries::Instrument { selection: address.selection() });
        }
        // It is wanted when somebody looks at a line.
        queries.aggregate.keep(page);
    }

    fn frame(&self) -> &ViewFrame {
        &self.frame
    }

    fn enter(&mut self, page: Page) {
        self.wanted = match &*page.focus() {
            Focus::Endpoint(endpoint) => Some(endpoint.clone()),
            _ => None,
        };
    }

    fn content(&self, page: Page) -> Option<Self::Content> {
        let (queries, list) = (page.queries(), page.address().choices.diagnosis.list);
        let revisions = (queries.diagnosis.revision(), queries.compare_diagnoses.revision());
        Some((revisions.0, revisions.1, queries.aggregate.revision(), list))
    }

    fn take(&mut self, page: Page, now: &Self::Content, before: Option<&Self::Content>) {
        let (queries, mut is_empty) = (page.queries(), false);
        if let Some(report) = queries.diagnosis.get()
            && before.is_none_or(|before| before.0 != now.0)
        {
            let number = self.tree.take(&report).and_then(|at| self.tree.line(at)?.1);
            want_aggregate(page, number);
            is_empty = number.is_none();
            if report.summary.is_some() {
                show_trace(None, self.chart, &self.spans);
            }
            self.places[0].set_rows(TypePlaceRow::of(&report.tail), diagnosis::why_no_tail(&report));
            let none = "There is no trace to look at.";
            self.layers[0].set_rows(LayerRow::of(&report), none);
            let none = if report.summary.is_some() { summaries::NO_POSITIONS } else { none };
            self.layers[1].set_rows(LayerRow::positions(&report), none);
            self.note.set_text(&diagnosis::note(&page.selection_label(), &report));
        }
        // That of a line which another report has again is there already.
        if let Some(traces) = queries.aggregate.fresh()
            && before.is_none_or(|before| (before.0, before.2) != (now.0, now.2))
        {
            show_trace(traces.first().filter(|_| !is_empty), self.chart, &self.spans);
        }
        if let Some(report) = queries.compare_diagnoses.get()
            && before.is_none_or(|before| before.1 != now.1)
        {
            let [no_place, no_service] = diagnosis::WHY_NO_CHANGE;
            self.places[1].set_rows(TypePlaceRow::of(&report.places), no_place);
            self.services.take(&report.culprit, no_service);
            self.verdict.set_text(&compare::services::summary(&report.culprit));
        }
    }

    fn is_stale(&self, page: Page) -> bool {
        page.queries().diagnosis.is_waiting() || page.queries().aggregate.is_waiting()
    }

    fn show_choices(&mut self, page: Page) {
        let slot = &page.queries().diagnosis;
        let why = match (slot.failure(), slot.get()) {
            (Some(failure), _) => failure,
            (None, None) => WORKING.to_owned(),
            (None, Some(report)) => match diagnosis::why_empty(&report, page.why_empty()) {
                why if why.is_empty() && report.summary.is_some() => summaries::NO_AGGREGATE.to_owned(),
                why => why,
            },
        };
        self.frame.set_text(&why);
        self.offer(page);
        self.show_list(page);
    }

    fn search(&mut self, page: Page, finder: &Finder) -> SearchResult {
        let places = self.places.map(|table| table.search(finder).0);
        let services = self.services.services.search(finder).0;
        let layers = self.layers.map(|table| table.search(finder).0);
        let lines = self.tree.search(finder);
        let spans = self.spans.found(finder);
        self.chart.with(|chart| chart.search(finder, Some(&spans)));
        let (count, step): (u64, Box<dyn Fn(Page, bool)>) = match page.address().choices.diagnosis.list {
            DiagnosisList::Report => {
                let tree = self.tree.clone();
                (lines, Box::new(move |_, forward| tree.choose_found(forward)))
            }
            DiagnosisList::Instrument => return self.instrument.search(finder),
            DiagnosisList::Services => {
                let table = self.services.services;
                (services, Box::new(move |_, forward| table.select_beside(forward)))
            }
            list @ (DiagnosisList::Layers | DiagnosisList::Positions) => {
                let at = usize::from(list == DiagnosisList::Positions);
                let table = self.layers[at];
                (layers[at], Box::new(move |_, forward| table.select_beside(forward)))
            }
            list => {
                let at = usize::from(list == DiagnosisList::Places);
                let table = self.places[at];
                (places[at], Box::new(move |_, forward| table.select_beside(forward)))
            }
        };
        SearchResult { count, share: None, step }
    }

    /// Goes to the endpoint that was selected when the view came into sight. Later ones are selected in the view itself.
    fn follow(&mut self, page: Page) {
        if page.queries().diagnosis.fresh().is_some() {
            let at = self.wanted.take().and_then(|endpoint| self.tree.follow(&endpoint));
            if let Some((_, aggregate)) = at.and_then(|at| self.tree.line(at)) {
                want_aggregate(page, aggregate);
            }
        }
        self.show_title(page);
        self.chart.with(|chart| chart.follow(page));
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        let is_there = !self.spans.trace().spans.is_empty();
        is_there && zoom::command(self.chart, page, command)
    }
}

/// Returns the findings about the requests in sight, whose first stands above the view.
fn findings_in_sight(page: Page) -> Option<Rc<FindingsReport>> {
    page.queries().findings.fresh()?;
    page.queries().all_findings().map(|(report, _)| report)
}

/// Returns the button that copies the list in sight.
fn copy_button(page: Page, keep: &Listeners) -> El {
    let copy = button("Copy as Markdown\u{2026}")
        .attr("title", "The list in sight, for a ticket")
        .test("copy-diagnosis");
    copy.on_click(keep, move || {
        let act = move |(redaction, pseudonyms): ExportRedaction, pressed: &El| {
            let text = match (sets_in_sight(page), page.queries().diagnosis.get()) {
                (Some(sets), _) => sets_markdown(&redacted::sets(&sets, redaction, &pseudonyms)),
                (None, Some(report)) => {
                    let report = redacted::diagnosis(&report, redaction, &pseudonyms);
                    let findings = findings_in_sight(page);
                    let findings = findings.map(|of| redacted::findings(&of, redaction, &pseudonyms));
                    page.with_scope(&markdown(&report, findings.as_ref()))
                }
                _ => return,
            };
            copy_text(&text, pressed);
        };
        redaction_dialog::open(page, "Diagnosis", ShareKind::List, ("Copy as Markdown", "redact-list"), act);
    })
}

/// Returns the tree, whose lines lead to their evidence.
fn tree_of(page: Page, jump: &Jump) -> DiagnosisTree {
    let lines: Rc<std::cell::OnceCell<DiagnosisTree>> = Rc::default();
    let (jump, known) = (jump.clone(), lines.clone());
    let on_choose = move |at: usize, evidence: Evidence| {
        let line = known.get().and_then(|tree: &DiagnosisTree| tree.line(at));
        let (Some((endpoint, aggregate)), Some(report)) = (line, page.queries().diagnosis.get()) else {
            return;
        };
        want_aggregate(page, aggregate);
        page.set_focus(Focus::Endpoint(endpoint.clone()));
        let group = aggregate.and_then(|number| report.group(number));
        let example = |at: usize| group.and_then(|group| group.exemplars.get(at).or(group.exemplars.first()));
        match evidence {
            Evidence::Aggregate => page.refresh(),
            Evidence::Nearest => example(0).iter().for_each(|request| open(page, request)),
            Evidence::Slowest => example(1).iter().for_each(|request| open(page, request)),
            Evidence::Flame => {
                let root = page.address().root.clone();
                jump.to(page, root, endpoint);
            }
            Evidence::Flow => page.change(|address| {
                address.view = View::Flow;
                address.choices.flow.parents = vec![endpoint];
            }),
        }
    };
    let tree = DiagnosisTree::new(on_choose, move |level| {
        page.change(|address| address.choices.diagnosis.show_more(level));
    });
    let _ = lines.set(tree.clone());
    tree
}

/// Puts an aggregate trace on the canvas; nothing without one.
fn show_trace(trace: Option<&AggregateTrace>, chart: ChartCanvas<TimelineChart>, spans: &SharedSpans) {
    let number = trace.map_or(String::new(), |trace| trace.number.to_string());
    let timeline = spans.take(trace.unwrap_or(&AggregateTrace::default()));
    let problem = timeline.rows().iter().position(|row| timeline.problem_of(row.span).is_some());
    let canvas = chart.canvas();
    canvas.set("data-spans", &timeline.len().to_string());
    canvas.set("data-aggregate", &number);
    chart.renew(|chart| {
        chart.take_timeline(timeline);
        problem.iter().for_each(|&row| chart.show_row(row));
    });
}

fn open(page: Page, request: &RequestRef) {
    page.open_trace(TraceChoice {
        trace_id: request.trace_id.clone(),
        root_span_id: Some(request.root_span_id.clone()).filter(|id| !id.is_empty()),
        ..TraceChoice::default()
    });
}

/// Returns the lists to choose from: what tells request types apart, and where the tail begins.
fn selects(page: Page, keep: &Listeners) -> (El, El) {
    let request_types = controls::select(keep, "diagnosis-types", move |value| {
        page.change(|address| address.group_by(GroupBy::parse(&value).unwrap_or_default()));
    });
    let tail = controls::select(keep, "diagnosis-tail", move |value| {
        if let Ok(permille) = value.parse() {
            page.change(|address| address.choices.diagnosis.settings.tail_permille = permille);
        }
    });
    let request_types = request_types.attr("title", "What tells request types apart");
    (request_types, tail.attr("title", "Which traces of a group are its tail"))
}

/// Returns the comparison, if a list of it is in sight.
fn sets_in_sight(page: Page) -> Option<Rc<SetsReport>> {
    page.queries().compare_diagnoses.get().filter(|_| page.address().choices.diagnosis.list.is_of_sides())
}

fn formats(page: Page, chart: ChartCanvas<TimelineChart>, spans: &SharedSpans) -> Vec<export::Format> {
    let shown = spans.clone();
    vec![
        svg_format(chart),
        (
            "CSV table",
            "csv",
            Box::new(move || {
                let list = page.address().choices.diagnosis.list;
                let report = page.queries().diagnosis.get();
                let instrument = page.queries().instrument.get();
                let (sets, instrument) = (sets_in_sight(page), instrument.as_ref());
                diagnosis::list_csv(list, report.as_deref(), sets.as_deref(), instrument)
            }),
        ),
        (
            "JSON report",
            "json",
            Box::new(move || match sets_in_sight(page) {
                Some(sets) => json::diagnosis_sets(&sets).ok(),
                None => json::diagnosis(&*page.queries().diagnosis.get()?).ok(),
            }),
        ),
        (
            "Markdown",
            "md",
            Box::new(move || {
                page.queries()
                    .diagnosis
                    .get()
                    .map(|report| markdown(&report, findings_in_sight(page).as_deref()))
            }),
        ),
        (
            "Aggregate trace for Jaeger UI",
            "jaeger.json",
            Box::new(move || {
                let trace = shown.trace();
                if trace.spans.is_empty() { None } else { to_jaeger(std::slice::from_ref(&*trace)).ok() }
            }),
        ),
    ]
}
