//! The timeline of one trace in the page: its spans from start to end, the critical path marked; see [`trace`].

pub mod chart;

use crate::dom::{El, Listeners, button, div, span};
use crate::page::shown_trace::ShownTrace;
use crate::page::{Focus, Page};
use crate::views::timeline::chart::{OverviewChart, TimelineChart, TraceOverview};
use crate::views::view::{PageView, SearchResult};
use crate::widgets::chart_canvas::ChartCanvas;
use crate::widgets::companion::CompanionTable;
use crate::widgets::frame::ViewFrame;
use crate::widgets::zoom::{self, ZoomTools, ZoomableChart as _, svg_format};
use crate::widgets::{controls, export, links, names, service_legend};
use pathlight_base::format;
use pathlight_engine::flame::TraceReport;
use pathlight_engine::pool::UserError;
use pathlight_engine::queries::{self, LikeRank, SpanKey};
use pathlight_trace::Endpoint;
use pathlight_view::address::{Address, Beside, TraceChoice};
use pathlight_view::keys::KeyCommand;
use pathlight_view::search::finder::Finder;
use pathlight_view::timeline::nearest::{self, NearestRow};
use pathlight_view::timeline::{self, SpanRow, messages, spans_csv};
use pathlight_view::views::View;
use std::rc::Rc;

/// Rows below this depth are folded away by "Fold".
const FOLD_DEPTH: u32 = 1;

/// The view.
pub struct TimelineView {
    frame: ViewFrame,
    chart: ChartCanvas<TimelineChart>,
    overview: ChartCanvas<OverviewChart>,
    title: El,
    /// The endpoint with the most of the critical path.
    summary: El,
    summary_keep: Listeners,
    path_only: El,
    /// Buttons that go to spans of a kind, with the bit and the word of each.
    finds: [(u8, &'static str, El); 2],
    grouped: El,
    /// Puts linked traces on the same axis.
    linked: El,
    /// Says what is on the axis, of several traces.
    linked_words: El,
    /// Puts a normal request on the same axis.
    beside: El,
    /// Says how the two requests differ, above the table of where they do.
    beside_words: El,
    beside_keep: Listeners,
    beside_table: CompanionTable<NearestRow>,
    beside_below: El,
    /// Says where Jaeger's critical path differs, of what came from Jaeger.
    jaeger_words: El,
    below: El,
    table: CompanionTable<SpanRow>,
    /// The trace whose spans the table lists.
    listed: Option<Rc<TraceReport>>,
    /// How slow they are among those like them, as it is listed.
    listed_ranks: Rc<Option<Vec<LikeRank>>>,
    /// What the chart shows, before drag and slack came.
    taken: Option<ShownTrace>,
}

impl TimelineView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> TimelineView {
        let shared = TraceOverview::new();
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
        shared.repaint_timeline.replace(Some(Box::new(move || chart.paint())));
        shared.repaint_overview.replace(Some(Box::new(move || overview.paint())));
        shared.align.replace(Some(Box::new(move |left, right| {
            overview.element().style("margin-left", &format!("{left}px"));
            overview.element().style("margin-right", &format!("{right}px"));
            overview.paint();
        })));
        let path_only = button("Critical path only").attr("aria-pressed", "false").test("path-only");
        let path_only = controls::toggles(path_only, keep, move |only| {
            chart.with(|chart| chart.set_path_only(only));
            page.refresh();
        });
        let slack = button("Slack")
            .attr("aria-pressed", "false")
            .attr("title", "Draw how much longer each span may take before the request ends later")
            .test("slack");
        let slack = controls::toggles(slack, keep, move |on| chart.with(|chart| chart.set_slack(on)));
        let open_to = move |depth| chart.with(|chart| chart.open_to(depth));
        let folds = controls::Segments::new("Rows")
            .button(keep, ("Fold", "Fold everything below the root's children", "fold"), move || {
                open_to(Some(FOLD_DEPTH));
            })
            .button(keep, ("Unfold", "Show every span", "unfold"), move || open_to(None));
        let grouped = button("Group siblings")
            .attr("aria-pressed", "true")
            .attr("title", "Siblings of one name have one row, with how many they are and their time in all")
            .test("group-siblings");
        let grouped = controls::toggles(grouped, keep, move |on| {
            chart.with(|chart| chart.set_grouped(on));
            page.refresh();
        });
        let linked = button("Linked traces")
            .attr("aria-pressed", "false")
            .attr(
                "title",
                "Put the traces that its messages lead to, and those that sent them, on the same axis",
            )
            .test("linked-traces")
            .on_click(keep, move || put_beside(page, Beside::Linked));
        let beside = button("Beside a normal one")
            .attr("aria-pressed", "false")
            .attr("title", nearest::HINT)
            .test("beside-normal")
            .on_click(keep, move || put_beside(page, Beside::Normal));
        let finds = [
            (TraceReport::ON_PATH, "on path", "Go to the next span on the critical path", "find-path"),
            (TraceReport::ERROR, "error", "Go to the next span with an error", "find-error"),
        ];
        let finds = finds.map(|(bits, word, hint, test)| {
            let find = button("").attr("title", hint).test(test);
            let find = find.on_click(keep, move || chart.with(|chart| chart.find(bits)));
            (bits, word, find)
        });
        let below = div("companion folded");
        let shown = below.clone();
        let as_table = button("Table")
            .attr("aria-pressed", "false")
            .attr("title", "The same spans as a table: to be sorted, and for screen readers")
            .test("as-table");
        let as_table = controls::toggles(as_table, keep, move |on| {
            shown.class_if("folded", !on);
            page.refresh();
        });
        let zooms = ZoomTools::new(page, keep, chart, "-trace");
        let title = div("title trace-title").test("trace-title");
        let table = CompanionTable::new(page, timeline::table())
            .on_select(move |row| page.set_focus(Focus::Span(row.at)));
        let formats = formats(page, chart);
        let services = move || {
            let report = page.queries().trace.get();
            report.as_deref().and_then(Option::as_ref).map_or_else(Vec::new, timeline::services)
        };
        let exports = export::menu(page, keep, "timeline", service_legend::exported(services), formats);
        let services = service_legend::legend(page, keep, services);
        let tools = div("tools")
            .child(&title)
            .child(&services)
            .child(&div("grow"))
            .children(finds.iter().map(|(.., find)| find))
            .child(&path_only)
            .child(&slack)
            .child(&grouped)
            .child(&linked)
            .child(&beside)
            .child(folds.element())
            .child(&as_table)
            .child(&zooms.zoom)
            .child(&zooms.all)
            .child(&exports);
        below.add(table.element());
        let beside_table = CompanionTable::new(page, nearest::table())
            .on_select(move |row| page.set_focus(Focus::Endpoint(row.endpoint().clone())));
        let beside_below = div("companion beside-normal").test("beside-places").child(beside_table.element());
        beside_below.show(false);
        let beside_words = div("note-line").test("beside-words");
        beside_words.show(false);
        let frame = ViewFrame::new(View::Trace, "timeline", chart, below.clone()).with(&tools);
        let summary = div("note-line").test("trace-summary");
        let linked_words = div("note-line muted").test("linked-words");
        let jaeger_words = div("note-line muted").test("jaeger-difference");
        jaeger_words.show(false);
        let frame = frame
            .with(&summary)
            .with(&jaeger_words)
            .with(&linked_words)
            .with(&beside_words)
            .with(overview.element())
            .with(chart.element())
            .with(&beside_below)
            .table(table)
            .zooms(chart, zooms);
        TimelineView {
            frame: frame.also(overview),
            chart,
            overview,
            title,
            summary,
            summary_keep: Listeners::default(),
            path_only,
            finds,
            grouped,
            linked,
            linked_words,
            beside,
            beside_words,
            beside_keep: Listeners::default(),
            beside_table,
            beside_below,
            jaeger_words,
            below,
            table,
            listed: None,
            listed_ranks: Rc::default(),
            taken: None,
        }
    }

    /// Fills the table, once it is in sight: a trace may have a million spans.
    fn list(&mut self, page: Page) {
        let report = self.chart.look(|chart| chart.timeline().shared());
        let ranks = page.span_ranks();
        let is_folded = self.below.html().class_list().contains("folded");
        let is_listed = self.listed.as_ref().is_some_and(|listed| Rc::ptr_eq(listed, &report))
            && (Rc::ptr_eq(&self.listed_ranks, &ranks) || self.listed_ranks == ranks);
        if !is_folded && !is_listed {
            self.table.set_rows(
                SpanRow::of(&report, ranks.as_deref().unwrap_or_default()),
                "No span has this name.",
            );
            self.table.set_hits(self.chart.look(TimelineChart::hits));
            (self.listed, self.listed_ranks) = (Some(report), ranks);
        }
    }

    /// Shows the trace that was reported, or several; tells whether it is another one.
    fn take_trace(&mut self, page: Page) -> bool {
        let Some(shown) = page.shown() else { return false };
        let joined = shown.joined();
        let linked = joined.filter(|_| shown.beside_normal().is_none());
        self.linked_words.set_text(&linked.map(messages::sentence).unwrap_or_default());
        self.linked_words.show(linked.is_some());
        self.compare(page, &shown);
        let Some(report) = shown.report() else {
            self.title.clear();
            self.summary.show(false);
            self.taken = None;
            self.chart.renew(|chart| chart.take(TraceReport::default()));
            return false;
        };
        // The same trace again, as after more was loaded, keeps what is folded and zoomed.
        let is_other = self.taken.as_ref() != Some(&shown);
        if is_other {
            let report = Rc::new(report.clone());
            self.chart.renew(|chart| {
                chart.take(report);
                if let Some(joined) = joined {
                    chart.set_messages(joined.messages.clone());
                }
                chart.set_path_only(controls::is_pressed(&self.path_only));
                chart.set_grouped(controls::is_pressed(&self.grouped));
                if shown.beside_normal().is_some() {
                    // Both requests in sight.
                    chart.open_to(Some(FOLD_DEPTH));
                }
            });
            for (bits, word, find) in &self.finds {
                let count = self.chart.look(|chart| chart.timeline().count_with(*bits));
                find.set_text(&format!("Next {word} ({})", format::count(count)));
                controls::enable(find, count > 0);
            }
            self.chart.look(|chart| self.grouped.show(chart.timeline().has_groups()));
        }
        self.show_title(page, report);
        // Beside a normal request, times on the axis are of both.
        let summary = timeline::summary(report).filter(|_| shown.beside_normal().is_none());
        self.summary.show(summary.is_some());
        self.summary_keep.clear();
        let parts = names::sentence_with(&self.summary_keep, summary.unwrap_or_default(), {
            let shown = shown.clone();
            move |endpoint: &Endpoint| {
                let span = shown.report().and_then(|report| timeline::longest_span(report, endpoint));
                match span {
                    Some(span) => page.set_focus(Focus::Span(span)),
                    None => page.set_focus(Focus::Endpoint(endpoint.clone())),
                }
            }
        });
        self.summary.fill(&parts);
        self.taken = Some(shown.clone());
        is_other
    }

    /// Says how the request differs from the normal one beside it, and where.
    fn compare(&mut self, page: Page, shown: &ShownTrace) {
        let report = shown.beside_normal();
        self.beside_words.show(report.is_some());
        self.beside_below.show(report.is_some_and(|report| report.normal.is_some()));
        self.beside_keep.clear();
        let Some(report) = report else { return };
        let parts = names::sentence_with(&self.beside_keep, nearest::sentence(report), move |endpoint| {
            page.set_focus(Focus::Endpoint(endpoint.clone()));
        });
        self.beside_words.fill(&parts);
        self.beside_table.set_rows(NearestRow::of(&Rc::new(report.clone())), "No place has this name.");
    }

    /// Offers linked traces where there are some.
    fn show_linked(&self, page: Page) {
        let is = |beside| page.shown_trace().is_some_and(|trace| trace.beside == beside);
        let is_linked = is(Beside::Linked);
        self.beside.set_flag("aria-pressed", is(Beside::Normal));
        let known = page.queries().linked.get();
        let words = known.as_deref().and_then(Option::as_ref).and_then(messages::button);
        self.linked.show(is_linked || words.is_some());
        self.linked.set_text(&words.unwrap_or_else(|| "Linked traces".to_owned()));
        self.linked.set_flag("aria-pressed", is_linked);
    }

    fn show_title(&self, page: Page, report: &TraceReport) {
        let title = timeline::title(report);
        self.title.clear();
        if let Some(Endpoint { service, operation }) = &title.endpoint {
            self.title.add(&names::endpoint(service, operation));
        }
        let latency = span("strong", &title.words).test("trace-latency");
        self.title.add(&latency.attr("data-value", &title.latency_us.to_string()));
        self.title.add(&span("mono muted", &title.id).test("trace-id").attr("title", &title.hint));
        if let Some(link) = links::trace(page, &report.trace_id, None) {
            self.title.add(&link);
        }
    }
}

fn formats(page: Page, chart: ChartCanvas<TimelineChart>) -> Vec<export::Format> {
    // A file has all columns.
    let full = move || {
        let report = chart.look(|chart| chart.timeline().shared());
        let has_failed = page.queries().pressures.failure().is_some();
        let is_alone = page.shown_trace().is_none_or(|trace| trace.is_alone());
        let is_full = report.drag_us.len() == report.parent.len() || has_failed || !is_alone;
        if !is_full {
            page.fail(UserError {
                message: "Drag and slack of this trace are still being computed.".to_owned(),
                detail: String::new(),
                next_step: "Export again in a moment.".to_owned(),
            });
        }
        (is_full && !report.parent.is_empty()).then_some(report)
    };
    let json = move || serde_json::to_string_pretty(&*full()?).ok();
    vec![
        svg_format(chart),
        (
            "CSV table",
            "csv",
            Box::new(move || Some(spans_csv(&full()?, page.span_ranks().as_deref().unwrap_or_default()))),
        ),
        ("JSON report", "json", Box::new(json)),
    ]
}

/// Puts other traces on the axis, or takes them away again.
fn put_beside(page: Page, beside: Beside) {
    let Some(trace) = page.shown_trace() else { return };
    let beside = if trace.beside == beside { Beside::Nothing } else { beside };
    page.change(|address| address.trace = Some(TraceChoice { beside, span_id: None, ..trace.clone() }));
}

/// Returns whether the trace may be compared with what Jaeger UI draws of it: it came from a Jaeger, or from a page around this one.
fn is_of_jaeger(page: Page) -> bool {
    page.address().embed || page.fetching().jaeger(page).is_some()
}

/// Wants the trace that is shown, the span that has the focus and, once the trace is there, drag and slack.
fn want_trace(page: Page) {
    let Some(trace) = page.shown_trace() else { return };
    let queries = page.queries();
    let (settings, group) = (page.address().settings(), page.address().group());
    let trace_id = trace.trace_id;
    let root_span_id = trace.root_span_id;
    let (has_pressures, id) = (false, trace_id.clone());
    let of = queries::Trace { trace_id: id, root_span_id, settings, group, has_pressures };
    queries.trace.want(page, of.clone());
    let report = queries.trace.fresh();
    let report = report.as_deref().and_then(Option::as_ref);
    let selected = match *page.focus() {
        Focus::Span(index) => page
            .shown()
            .and_then(|shown| shown.place_of(index))
            .map(|(trace_id, index)| (trace_id, SpanKey::Index(index))),
        // A link to a span: its index is in the report.
        Focus::Nothing => trace.span_id.map(|id| (trace_id, SpanKey::Id(id))),
        _ => None,
    };
    if let Some((trace_id, span)) = selected {
        queries.span.want(page, queries::Span { trace_id, span, group });
    }
    let links =
        queries.overview.get().map_or(0, |overview| overview.links.resolved + overview.links.unresolved);
    let may_have_messages =
        |report: &TraceReport| links > 0 || report.bits.iter().any(|bits| bits & TraceReport::ASYNC != 0);
    if trace.beside == Beside::Normal {
        let selection = page.address().selection();
        queries.nearest.want(page, queries::NearestNormal { of: of.clone(), selection });
    }
    if trace.beside == Beside::Linked || report.is_some_and(may_have_messages) {
        queries.linked.want(page, queries::LinkedTraces { of: of.clone() });
    }
    if report.is_some() {
        queries.pressures.want(page, queries::Pressures { of: of.clone() });
        if is_of_jaeger(page) {
            queries.jaeger_path.want(page, queries::JaegerPath { of: of.clone() });
        }
        queries.among_like.want(page, queries::AmongLike { of });
    }
}

impl PageView for TimelineView {
    /// Reports of the trace and of those that are linked to it, drag and slack, how slow spans are among those like them, and why
    /// there is no timeline.
    type Content = ((u64, Option<u64>), u64, [u64; 2], &'static str);

    fn ask(page: Page, address: &Address) {
        if address.trace.is_none() {
            page.queries().want_requests(page, address);
        }
        want_trace(page);
    }

    fn frame(&self) -> &ViewFrame {
        &self.frame
    }

    fn content(&self, page: Page) -> Option<Self::Content> {
        let queries = page.queries();
        let is_chosen = page.shown_trace().is_some();
        let beside = page.shown_trace().map(|trace| trace.beside).unwrap_or_default();
        let (several, is_several_waiting) = match beside {
            Beside::Nothing => (None, false),
            Beside::Linked => (Some(queries.linked.revision()), queries.linked.is_waiting()),
            Beside::Normal => (Some(queries.nearest.revision()), queries.nearest.is_waiting()),
        };
        let is_waiting = match is_chosen {
            true => queries.trace.is_waiting() || is_several_waiting,
            false => queries.requests.is_waiting(),
        };
        let is_shown = page.shown().is_some_and(|shown| shown.report().is_some());
        let why = timeline::why_empty(is_shown, is_waiting, is_chosen);
        Some((
            (queries.trace.revision(), several),
            queries.pressures.revision(),
            [queries.among_like.revision(), queries.jaeger_path.revision()],
            why,
        ))
    }

    fn is_stale(&self, page: Page) -> bool {
        page.queries().trace.is_waiting()
    }

    fn take(&mut self, page: Page, now: &Self::Content, before: Option<&Self::Content>) {
        self.frame.set_text(now.3);
        let is_taken = before.is_none_or(|before| before.0 != now.0) && self.take_trace(page);
        // Of several traces only one has a request that waits.
        if (is_taken || before.is_none_or(|before| before.1 != now.1))
            && now.0.1.is_none()
            && let Some(Some(pressures)) = page.queries().pressures.fresh().as_deref()
        {
            self.chart.with(|chart| chart.set_pressures(pressures));
        }
    }

    fn show_choices(&mut self, page: Page) {
        self.chart.with(|chart| chart.follow(page));
        self.overview.paint();
        self.show_linked(page);
        let differences = page.queries().jaeger_path.fresh().filter(|_| is_of_jaeger(page));
        let report = self.chart.look(|chart| chart.timeline().shared());
        let words = differences.as_deref().and_then(Option::as_ref);
        let words = words.filter(|_| page.shown_trace().is_some_and(|trace| trace.is_alone()));
        let words = words.map(|of| timeline::jaeger_path::difference_words(&report, of)).unwrap_or_default();
        self.jaeger_words.show(!words.is_empty());
        self.jaeger_words.set_text(&words);
        self.list(page);
    }

    fn search(&mut self, page: Page, finder: &Finder) -> SearchResult {
        let chart = self.chart;
        let spans = if finder.has_tags() { page.queries().found_spans.fresh() } else { None };
        // Of several traces tags are searched in the one that was chosen.
        let place = |spans: Rc<Vec<u32>>| {
            let (shown, trace) = (page.shown()?, page.shown_trace()?);
            Some(spans.iter().filter_map(|&span| shown.index_of(&trace.trace_id, span)).collect::<Vec<u32>>())
        };
        let spans = spans.and_then(place);
        let count = chart.with(|chart| chart.search(finder, spans.as_ref()));
        if self.listed.is_some() {
            self.table.set_hits(chart.look(TimelineChart::hits));
        }
        SearchResult {
            count,
            share: None,
            step: Box::new(move |page, forward| chart.with(|chart| chart.step(page, forward))),
        }
    }

    fn follow(&mut self, page: Page) {
        let selected = match *page.focus() {
            Focus::Span(at) => Some(at as usize),
            _ => None,
        };
        self.table.select_at(selected);
        let rows = self.chart.look(|chart| chart.timeline().rows().len());
        self.chart.canvas().set("data-rows", &rows.to_string());
        self.chart.canvas().set("data-spans", &self.chart.look(|chart| chart.timeline().len()).to_string());
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        self.chart.look(|chart| !chart.timeline().is_empty()) && zoom::command(self.chart, page, command)
    }
}
