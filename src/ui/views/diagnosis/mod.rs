//! Diagnosis: what is slow, where in its span, and whether only in the tail, as sentences with their evidence; what
//! makes the tail slow; and what changed between two sets.

pub mod trace;
pub mod tree;

use crate::ui::dom::{El, Keep, button, div, el, span};
use crate::ui::page::{Focus, Page, Part};
use crate::ui::shell::banners::copy_text;
use crate::ui::shell::jump::Jump;
use crate::ui::shell::keys::Command;
use crate::ui::shell::search::{Last, Search};
use crate::ui::view::AnyView;
use crate::ui::views::diagnosis::trace::{AggregateSpans, Shown};
use crate::ui::views::diagnosis::tree::{DiagnosisTree, Wish};
use crate::ui::views::trace::chart::{Overview, TimelineChart};
use crate::ui::widgets::chart_canvas::ChartCanvas;
use crate::ui::widgets::companion::{AnyTable as _, CompanionTable};
use crate::ui::widgets::export;
use crate::ui::widgets::frame::{Frame, WORKING};
use crate::ui::widgets::zoom;
use crate::ui::widgets::zoom::{ZoomTools, svg_format};
use pathlight_query::{
    AggregateTrace, Endpoint, OverviewReport, RequestRef, ServiceChange, SetsReport, TprofReport,
    TprofSettings, queries,
};
use pathlight_text::format;
use pathlight_text::format::counted;
use pathlight_view::address::{Address, TraceChoice, View};
use pathlight_view::compare;
use pathlight_view::comparing::Side;
use pathlight_view::diagnosis_choice::DiagnosisList;
use pathlight_view::diagnosis_tables;
use pathlight_view::diagnosis_tables::PlaceRow;
use pathlight_view::diagnosis_words::{markdown, sets_markdown};
use pathlight_view::json;
use pathlight_view::split::keys;
use std::rc::Rc;
use web_sys::HtmlSelectElement;

/// Where the tail may begin, in thousandths.
const TAILS: [u32; 5] = [500, 750, 900, 950, 990];

/// Every list with its name and what it is.
const LISTS: [(&str, &str); 4] = [
    ("Report", "What is slow, where in its span, and in which group of traces"),
    ("Slow tail", "What slow traces spend more time on than normal ones of the same request type"),
    ("Changed places", "Where side B spends more time than side A"),
    ("Changed services", "Services by the change of their own time from side A to side B"),
];

/// Asks what the view shows.
pub fn query(page: Page, address: &Address) {
    let queries = page.queries();
    let settings = address.choices.diagnosis.settings.clone();
    if address.choices.diagnosis.list.is_of_sides() && address.comparison.is_some() {
        let [a, b] = Side::BOTH.map(|side| address.side(side));
        let settings = TprofSettings { tag: settings.tag.clone(), ..TprofSettings::default() };
        queries.compare_diagnoses.want(page, queries::CompareDiagnoses { a, b, settings });
    } else {
        queries.compare_diagnoses.stop();
    }
    queries.diagnosis.want(page, queries::Diagnosis { selection: address.selection(), settings });
}

/// The view.
pub struct Diagnosis {
    frame: Frame,
    chart: ChartCanvas<TimelineChart>,
    spans: Shown,
    title: El,
    badge: El,
    examples: [El; 2],
    zooms: ZoomTools,
    kinds: El,
    tail: El,
    progress: [El; 2],
    tabs: Vec<El>,
    note: El,
    tree: DiagnosisTree,
    places: [CompanionTable<PlaceRow>; 2],
    services: CompanionTable<ServiceChange>,
    none: El,
    search: Search,
    offered: Option<(u64, Option<String>, u32)>,
    /// Revisions of the report and of the comparison that are shown.
    shown: (u64, u64),
    searched: Last<(u64, u64, DiagnosisList)>,
    is_in_sight: bool,
    /// The endpoint to go to once there is a report.
    wanted: Option<Endpoint>,
    _keep: Keep,
}

impl Diagnosis {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, search: &Search, jump: &Jump) -> Diagnosis {
        let keep = Keep::default();
        let spans: Shown = Rc::new(AggregateSpans::default());
        let chosen = spans.clone();
        let chart = ChartCanvas::new(
            TimelineChart::new(page, &Overview::new(), move |at| chosen.choose(page, at)).of(spans.clone()),
            "aggregate-trace",
            "Timeline of the aggregate trace; the lines below say the same",
        );
        let zooms = ZoomTools::new(page, &keep, chart, "-aggregate");
        let title = span("title", "").test("aggregate-title");
        let badge = span("chip fixed", "order varies")
            .attr(
                "title",
                "These traces have one shape, but only the calls of the problematic span keep their order",
            )
            .test("order-varies");
        let examples = [("Nearest real trace", "open-nearest", 0), ("Slowest", "open-slowest", 1)].map(
            |(name, test, at)| {
                let trace = spans.clone();
                button(name).test(test).on_click(&keep, move || {
                    let chosen = trace.trace().exemplars.get(at).cloned();
                    chosen.iter().for_each(|request| open(page, request));
                })
            },
        );
        let exports = export::menu(
            page,
            &keep,
            "diagnosis",
            Some(chart.canvas().clone()),
            formats(page, chart, &spans),
        );
        let tools = div("tools")
            .child(&title)
            .child(&badge)
            .child(&div("grow"))
            .children(&examples)
            .child(&zooms.zoom)
            .child(&zooms.all)
            .child(&exports);
        let tree = tree_of(page, jump, chart, &spans);
        let places = [
            diagnosis_tables::places("slow-tail", "What makes the tail slow", ["Normal", "Tail"]),
            diagnosis_tables::places("changed-places", "Places by change", ["A", "B"]),
        ]
        .map(|table| {
            CompanionTable::new(page, table).on_select(move |row| {
                let place = &row.place;
                // A gap lies between its caller and the called endpoint.
                let service = place.gap_to.as_ref().unwrap_or(&place.service);
                page.set_focus(Focus::endpoint((service, &place.operation)));
            })
        });
        let services = CompanionTable::new(page, compare::services());
        let (kinds, tail) = selects(page, &keep);
        let tabs: Vec<El> = DiagnosisList::ALL
            .into_iter()
            .zip(LISTS)
            .map(|(list, (name, what))| {
                button(name)
                    .attr("title", what)
                    .test(&format!("list-{}", list.key()))
                    .on_click(&keep, move || page.change(|address| address.choices.diagnosis.list = list))
            })
            .collect();
        let segments = div("segments").attr("role", "group").attr("aria-label", "List").children(&tabs);
        let copy = button("Copy as Markdown")
            .attr("title", "The list in sight, for a ticket")
            .attr("aria-live", "polite")
            .test("copy-diagnosis");
        let pressed = copy.clone();
        let copy = copy.on_click(&keep, move || {
            let text = match (sets_in_sight(page), page.queries().diagnosis.get()) {
                (Some(sets), _) => sets_markdown(&sets),
                (None, Some(report)) => markdown(&report),
                _ => return,
            };
            copy_text(&text, &pressed);
        });
        let cancel = button("Cancel").test("diagnosis-cancel").on_click(&keep, move || {
            page.change(|address| address.view = View::Findings);
        });
        let progress = [span("muted fixed", "").attr("role", "status").test("diagnosis-progress"), cancel];
        let label = |text: &str, of: &El| el("label").class("labelled").child(&span("muted", text)).child(of);
        let note = span("muted title", "").test("diagnosis-note");
        let none = div("empty").test("diagnosis-none");
        let lists = div("tools").child(&segments).child(&div("grow")).child(&copy);
        let settings = div("tools")
            .child(&label("Request type", &kinds))
            .child(&label("Tail", &tail))
            .child(&note)
            .child(&div("grow"))
            .children(&progress);
        let companion = div("companion")
            .child(&lists)
            .child(&settings)
            .child(&none)
            .child(tree.element())
            .child(places[0].element())
            .child(places[1].element())
            .child(services.element());
        let frame = Frame::new(View::Diagnosis, "diagnosis", chart, companion);
        let frame = frame.with(&tools).with(chart.element());
        Diagnosis {
            frame,
            chart,
            spans,
            title,
            badge,
            examples,
            zooms,
            kinds,
            tail,
            progress,
            tabs,
            note,
            tree,
            places,
            services,
            none,
            search: search.clone(),
            offered: None,
            shown: (0, 0),
            searched: Last::default(),
            is_in_sight: false,
            wanted: None,
            _keep: keep,
        }
    }

    /// Brings the settings up to date.
    fn offer(&mut self, page: Page) {
        let TprofSettings { tag, tail_permille, .. } = page.address().choices.diagnosis.settings.clone();
        let queries = page.queries();
        let now = Some((queries.overview.revision(), tag.clone(), tail_permille));
        let Some(overview) = queries.overview.get().filter(|_| self.offered != now) else { return };
        self.offered = now;
        fill_kinds(&self.kinds, &overview, tag.as_deref());
        self.tail.clear();
        let mut tails = TAILS.to_vec();
        tails.push(tail_permille);
        tails.sort_unstable();
        tails.dedup();
        for permille in tails {
            let words = format!("slowest {}", format::share(f64::from(1000 - permille) / 1000.0));
            self.tail.add(&option(&permille.to_string(), &words));
        }
        choose(&self.tail, &tail_permille.to_string());
    }

    fn take_report(&mut self, page: Page) {
        let slot = &page.queries().diagnosis;
        let report = slot.get();
        let why = report.as_ref().map_or(WORKING.to_owned(), |report| why_empty(page, report));
        self.frame.set_text(&why);
        let Some(report) = report.filter(|_| self.shown.0 != slot.revision()) else { return };
        self.shown.0 = slot.revision();
        let at = self.tree.take(&report);
        show_line(&report, at.and_then(|at| self.tree.line(at)?.1), self.chart, &self.spans);
        let why = match report.traces {
            0 => "There is no trace to look at.",
            _ => "No request type has the 10 traces that it takes to tell a tail.",
        };
        self.places[0].set_rows(PlaceRow::of(&report.tail), why);
        let mut note = format!("{}: {}", page.selection_label(), counted(report.traces, "trace"));
        if report.has_orphans > 0 {
            let orphans = format::count(report.has_orphans);
            note.push_str(&format!("; {orphans} more left out, as spans of theirs have no parent"));
        }
        self.note.set_text(&note);
    }

    /// Goes to the endpoint that was selected when the view came into sight. Later ones are selected in the view
    /// itself.
    fn follow(&mut self, page: Page) {
        let Some(report) = page.queries().diagnosis.fresh() else { return };
        let at = self.wanted.take().and_then(|endpoint| self.tree.follow(&endpoint));
        if let Some((_, aggregate)) = at.and_then(|at| self.tree.line(at)) {
            show_line(&report, aggregate, self.chart, &self.spans);
        }
    }

    fn take_sets(&mut self, page: Page) {
        let slot = &page.queries().compare_diagnoses;
        let Some(report) = slot.get().filter(|_| self.shown.1 != slot.revision()) else { return };
        self.shown.1 = slot.revision();
        let why = "The two sides have no request type in common.";
        self.places[1].set_rows(PlaceRow::of(&report.places), why);
        self.services.set_rows(report.services.clone(), "No service spent any time.");
    }

    /// Shows the list of the address.
    fn show_list(&mut self, page: Page) {
        let list = page.address().choices.diagnosis.list;
        for (tab, each) in self.tabs.iter().zip(DiagnosisList::ALL) {
            tab.set_flag("aria-pressed", each == list);
        }
        let why = if list.is_of_sides() { why_no_sides(page) } else { String::new() };
        self.none.set_text(&why);
        self.none.show(!why.is_empty());
        let shows = |of| list == of && why.is_empty();
        self.tree.element().show(shows(DiagnosisList::Report));
        self.note.show(!list.is_of_sides());
        self.places[0].show(shows(DiagnosisList::Tail));
        self.places[1].show(shows(DiagnosisList::Places));
        self.services.show(shows(DiagnosisList::Services));
        let sort = page.address().sort.clone();
        let queries = page.queries();
        for (table, stale) in
            self.places.iter().zip([queries.diagnosis.is_waiting(), queries.compare_diagnoses.is_waiting()])
        {
            table.set_stale(stale);
            table.set_sort(sort.as_ref());
        }
        self.services.set_stale(queries.compare_diagnoses.is_waiting());
        self.services.set_sort(sort.as_ref());
        self.tree.element().class_if("stale", queries.diagnosis.is_waiting());
    }

    /// What is said of the aggregate trace beside its picture.
    fn show_title(&self, page: Page) {
        let trace = self.spans.trace();
        let is_there = !trace.spans.is_empty();
        let problem = trace.problem.and_then(|problem| {
            let span = trace.spans.get(problem.span as usize)?;
            Some((span, span.subspans.get(problem.subspan as usize)?))
        });
        let mut words = format!("Aggregate of {}", counted(trace.traces, "trace"));
        if let Some((span, subspan)) = problem {
            words.push_str(&format!(
                ": {} takes {} of {}",
                format::printable(&subspan.name),
                format::duration(subspan.duration_us.mean),
                format::duration(span.duration_us.mean)
            ));
        }
        self.title.set_text(if is_there { &words } else { "" });
        self.badge.show(is_there && trace.order_varies);
        for (button, request) in self.examples.iter().zip([trace.exemplars.first(), trace.exemplars.get(1)]) {
            button.show(is_there && request.is_some());
            if let Some(request) = request {
                let latency = format::duration_us(request.latency_us);
                button.set("title", &format!("Open trace {} ({latency})", request.trace_id));
                button.set("data-trace", &request.trace_id);
            }
        }
        let queries = page.queries();
        let progress = queries.diagnosis.progress().or_else(|| queries.compare_diagnoses.progress());
        self.progress.iter().for_each(|part| part.show(progress.is_some()));
        if let Some(progress) = progress {
            let share = 100 * progress.done / progress.of.max(1);
            self.progress[0].set_text(&format!("Diagnosing\u{2026} {share}{}%", format::THIN));
        }
    }

    fn take_search(&mut self, page: Page) {
        let (text, list) = (page.address().search.clone(), page.address().choices.diagnosis.list);
        if !self.searched.is_new(&text, (self.shown.0, self.shown.1, list)) {
            return;
        }
        let marked = self.places.map(|table| table.search(&text).0);
        let services = self.services.search(&text).0;
        let found = self.tree.search(&text);
        match list {
            DiagnosisList::Report => {
                let tree = self.tree.clone();
                self.search.publish(found, None, move |_, forward| {
                    if let Some(at) = tree.neighbour(forward) {
                        tree.choose(at, false);
                    }
                });
            }
            DiagnosisList::Services => {
                let table = self.services;
                self.search.publish(services, None, move |_, forward| table.select_beside(forward));
            }
            _ => {
                let at = usize::from(list == DiagnosisList::Places);
                let table = self.places[at];
                self.search.publish(marked[at], None, move |_, forward| table.select_beside(forward));
            }
        }
    }
}

/// The tree, whose lines lead to their evidence.
fn tree_of(page: Page, jump: &Jump, chart: ChartCanvas<TimelineChart>, spans: &Shown) -> DiagnosisTree {
    let lines: Rc<std::cell::OnceCell<DiagnosisTree>> = Rc::default();
    let (jump, spans, known) = (jump.clone(), spans.clone(), lines.clone());
    let on_wish = move |at: usize, wish: Wish| {
        let line = known.get().and_then(|tree: &DiagnosisTree| tree.line(at));
        let (Some((endpoint, aggregate)), Some(report)) = (line, page.queries().diagnosis.get()) else { return };
        show_line(&report, aggregate, chart, &spans);
        page.set_focus(Focus::Endpoint(endpoint.clone()));
        let example =
            |at: usize| spans.trace().exemplars.get(at).or(spans.trace().exemplars.first()).cloned();
        match wish {
            Wish::Choose => page.refresh(),
            Wish::Nearest => example(0).iter().for_each(|request| open(page, request)),
            Wish::Slowest => example(1).iter().for_each(|request| open(page, request)),
            Wish::Flame => {
                let root = page.address().root.clone();
                jump.to(page, root, endpoint);
            }
            Wish::Flow => page.change(|address| {
                address.view = View::Flow;
                address.choices.flow.parents = vec![endpoint];
            }),
        }
    };
    let tree = DiagnosisTree::new(on_wish, move |level| {
        page.change(|address| address.choices.diagnosis.show_more(level));
    });
    let _ = lines.set(tree.clone());
    tree
}

/// Puts an aggregate trace on the canvas; nothing without one.
fn show_line(report: &TprofReport, number: Option<u32>, chart: ChartCanvas<TimelineChart>, spans: &Shown) {
    let trace = number.and_then(|number| report.aggregate_traces.get(number as usize));
    let timeline = spans.take(trace.unwrap_or(&AggregateTrace::default()));
    let problem = timeline.rows().iter().position(|&row| timeline.problem_of(row).is_some());
    let canvas = chart.canvas();
    canvas.set("data-spans", &timeline.len().to_string());
    canvas.set("data-aggregate", &number.map_or(String::new(), |number| number.to_string()));
    chart.renew(|chart| {
        chart.take_timeline(timeline);
        problem.iter().for_each(|&row| chart.show_row(row));
    });
}

fn open(page: Page, request: &RequestRef) {
    page.open_trace(TraceChoice {
        trace_id: request.trace_id.clone(),
        root_span_id: Some(request.root_span_id.clone()).filter(|id| !id.is_empty()),
        span_id: None,
    });
}

fn option(value: &str, words: &str) -> El {
    el("option").attr("value", value).text(words)
}

fn choose(select: &El, value: &str) {
    if let Some(select) = select.as_kind::<HtmlSelectElement>() {
        select.set_value(value);
    }
}

/// What tells request types apart, and where the tail begins.
fn selects(page: Page, keep: &Keep) -> (El, El) {
    let value =
        |select: &El| select.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value).unwrap_or_default();
    let kinds = el("select").attr("title", "What tells request types apart").test("diagnosis-types");
    let chosen = kinds.clone();
    let kinds = kinds.on(keep, "change", move |_| {
        let key = Some(value(&chosen)).filter(|key| !key.is_empty());
        page.change(|address| address.choices.diagnosis.settings.tag = key);
    });
    let tail = el("select").attr("title", "Which traces of a group are its tail").test("diagnosis-tail");
    let chosen = tail.clone();
    let tail = tail.on(keep, "change", move |_| {
        if let Ok(permille) = value(&chosen).parse() {
            page.change(|address| address.choices.diagnosis.settings.tail_permille = permille);
        }
    });
    (kinds, tail)
}

fn fill_kinds(select: &El, overview: &OverviewReport, chosen: Option<&str>) {
    select.clear();
    select.add(&option("", "Root endpoint"));
    let group = el("optgroup").attr("label", "Values of a tag");
    let mut names = keys(overview);
    // A key of a link that these traces do not have.
    names.extend(chosen.filter(|key| !names.iter().any(|known| known == key)).map(str::to_owned));
    for name in &names {
        group.add(&option(name, &format::printable(name)));
    }
    if !names.is_empty() {
        select.add(&group);
    }
    choose(select, chosen.unwrap_or(""));
}

/// Why there is nothing to diagnose; empty if there is.
fn why_empty(page: Page, report: &TprofReport) -> String {
    if !report.report.is_empty() {
        return String::new();
    }
    if report.has_orphans > 0 {
        return format!(
            "All {} have spans whose parent is missing, so their shape is not known. Load whole traces.",
            counted(report.has_orphans, "trace")
        );
    }
    page.why_empty()
}

/// Why no two sides can be compared; empty if they can.
fn why_no_sides(page: Page) -> String {
    if page.address().comparison.is_none() {
        return "Nothing is compared yet. Choose Compare with\u{2026} above to load a second set, or two percentile ranges in \
                the Compare view."
            .to_owned();
    }
    let lacks_set = page.queries().overview.get().is_some_and(|overview| overview.other_traces == 0);
    if page.compares_sets() && lacks_set {
        return "The second set is not loaded. Drop its files on the right half of the page, or choose Compare \
                with\u{2026}, Files\u{2026}"
            .to_owned();
    }
    if page.queries().compare_diagnoses.get().is_none() { WORKING.to_owned() } else { String::new() }
}

/// The comparison, if a list of it is in sight.
fn sets_in_sight(page: Page) -> Option<Rc<SetsReport>> {
    page.queries().compare_diagnoses.get().filter(|_| page.address().choices.diagnosis.list.is_of_sides())
}

fn formats(page: Page, chart: ChartCanvas<TimelineChart>, spans: &Shown) -> Vec<export::Format> {
    let (canvas, shown) = (chart.canvas().clone(), spans.clone());
    vec![
        svg_format(chart),
        (
            "CSV table",
            "csv",
            Box::new(move || {
                let report = page.queries().diagnosis.get();
                match (page.address().choices.diagnosis.list, sets_in_sight(page)) {
                    (DiagnosisList::Report, _) => report.map(|r| diagnosis_tables::report_csv(&r)),
                    (DiagnosisList::Tail, _) => report.map(|r| diagnosis_tables::places_csv(&r.tail)),
                    (DiagnosisList::Places, Some(sets)) => Some(diagnosis_tables::places_csv(&sets.places)),
                    (_, sets) => sets.map(|sets| diagnosis_tables::services_csv(&sets.services)),
                }
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
        ("Markdown", "md", Box::new(move || page.queries().diagnosis.get().map(|report| markdown(&report)))),
        (
            "Aggregate trace for Jaeger UI",
            "jaeger.json",
            Box::new(move || {
                let number = canvas.html().get_attribute("data-aggregate")?.parse().ok()?;
                page.queries()
                    .diagnosis
                    .get()
                    .filter(|_| !shown.trace().spans.is_empty())?
                    .aggregate_to_jaeger(number)
            }),
        ),
    ]
}

impl Part for Diagnosis {
    fn update(&mut self, page: Page) {
        if !self.frame.update(page) {
            self.is_in_sight = false;
            return;
        }
        if !std::mem::replace(&mut self.is_in_sight, true) {
            self.wanted = match &*page.focus() {
                Focus::Endpoint(endpoint) => Some(endpoint.clone()),
                _ => None,
            };
        }
        self.chart.follow_theme();
        self.offer(page);
        self.take_report(page);
        self.follow(page);
        self.take_sets(page);
        self.show_list(page);
        self.show_title(page);
        self.chart.element().class_if("stale", page.queries().diagnosis.is_waiting());
        self.chart.with(|chart| chart.follow(page));
        self.zooms.update(self.chart);
        self.take_search(page);
    }

    fn command(&mut self, page: Page, command: Command) -> bool {
        if !self.frame.is_chosen(page) || self.spans.trace().spans.is_empty() {
            return false;
        }
        zoom::command(self.chart, page, command)
    }
}

impl AnyView for Diagnosis {
    fn frame(&self) -> &Frame {
        &self.frame
    }
}
