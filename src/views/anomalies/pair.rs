//! The timeline of an anomalous request beside that of the normal one most like it, on one axis.

use crate::dom::{self, El, Listeners, button, div, span};
use crate::page::{Focus, Page};
use crate::shell::search;
use crate::views::timeline::chart::{TimelineChart, TraceOverview};
use crate::widgets::chart_canvas::{CanvasChart as _, ChartCanvas};
use crate::widgets::{controls, names, service_legend, zoom};
use pathlight_base::format;
use pathlight_engine::anomalies::{AnomalyReport, AnomalyRow};
use pathlight_engine::queries;
use pathlight_engine::requests::RequestRef;
use pathlight_view::address::TraceChoice;
use pathlight_view::anomalies::NOT_LOADED;
use pathlight_view::draw::pair::{align, signs};
use pathlight_view::keys::KeyCommand;
use pathlight_view::search::finder::Finder;
use pathlight_view::timeline;
use pathlight_view::views::WORKING;
use std::rc::Rc;

/// One of the two timelines.
struct Half {
    element: El,
    head: El,
    empty: El,
    chart: ChartCanvas<TimelineChart>,
    overview: Rc<TraceOverview>,
}

impl Half {
    fn new(page: Page, test: &str, label: &str) -> Half {
        let overview = TraceOverview::new();
        // A span that is chosen here is so here alone: the page's focus is the request.
        let chart = ChartCanvas::new(TimelineChart::new(page, &overview, |_| {}), test, label);
        let paint = chart;
        overview.repaint_timeline.replace(Some(Box::new(move || paint.paint())));
        let head = div("pair-head");
        let empty = div("canvas-empty").test(&format!("{test}-empty"));
        chart.element().add(&empty);
        let element = div("pair-half").child(&head).child(chart.element());
        Half { element, head, empty, chart, overview }
    }

    fn set_title(&self, words: &str, request: &RequestRef) {
        self.head.fill([
            &span("strong", words),
            &span("", &format::duration_us(request.latency_us)),
            &span("mono muted", &names::short_id(&request.trace_id)),
        ]);
    }

    fn set_text(&self, why: &str) {
        self.empty.set_text(why);
        self.empty.show(!why.is_empty());
    }
}

/// Both.
pub struct Pair {
    element: El,
    halves: [Half; 2],
    path_only: El,
    /// The request shown, and the revisions of the two traces.
    shown: Option<(RequestRef, u64, u64)>,
}

impl Pair {
    /// Builds its elements, hidden at first.
    pub fn new(page: Page, keep: &Listeners) -> Pair {
        let halves = [
            ("anomaly-timeline", "Timeline of the anomalous request; its reasons are listed below"),
            ("anomaly-nearest-timeline", "Timeline of the most similar normal request"),
        ]
        .map(|(test, label)| Half::new(page, test, label));
        let [anomalous, normal] = halves.each_ref().map(|half| half.overview.clone());
        for (leader, follower) in [(&anomalous, &normal), (&normal, &anomalous)] {
            let (from, to) = (leader.clone(), follower.clone());
            leader.repaint_overview.replace(Some(Box::new(move || from.lead(&to))));
        }
        let close = button("All requests over time")
            .test("anomaly-pair-close")
            .on_click(keep, move || page.set_focus(Focus::Nothing));
        let charts = halves.each_ref().map(|half| half.chart);
        let path_only = button("Critical path only").attr("aria-pressed", "false").test("anomaly-path-only");
        let path_only = controls::toggles(path_only, keep, move |only| {
            charts.iter().for_each(|chart| chart.with(|chart| chart.set_path_only(only)));
        });
        let all = button("Show all")
            .attr("title", "F, or double-click")
            .test("anomaly-pair-fit")
            .on_click(keep, move || charts[0].with(|chart| chart.fit()));
        let services = service_legend::legend(page, keep, move || {
            let report = page.queries().anomalous_trace.get();
            report.as_deref().and_then(Option::as_ref).map_or_else(Vec::new, timeline::services)
        });
        let tools = div("tools").child(&close).child(&services).child(&div("grow"));
        let tools = tools.child(&path_only).child(&all);
        let sides = div("pair-halves").children(halves.each_ref().map(|half| &half.element));
        let element = div("pair").test("anomaly-pair").child(&tools).child(&sides);
        element.show(false);
        Pair { element, halves, path_only, shown: None }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Returns the charts.
    pub fn charts(&self) -> [ChartCanvas<TimelineChart>; 2] {
        self.halves.each_ref().map(|half| half.chart)
    }

    /// Shows a request beside the normal one most like it, or nothing where none is known; tells whether anything is
    /// shown.
    pub fn take(&mut self, page: Page, chosen: Option<(&AnomalyReport, &AnomalyRow)>) -> bool {
        let chosen = chosen.and_then(|(report, row)| Some((report, row, row.nearest.as_ref()?)));
        self.element.show(chosen.is_some());
        let Some((report, row, nearest)) = chosen else {
            self.shown = None;
            self.charts().iter().for_each(|chart| chart.leave());
            return false;
        };
        // The window may have another size.
        self.charts().iter().for_each(|chart| chart.paint());
        let slots = [&page.queries().anomalous_trace, &page.queries().normal_trace];
        let now = Some((row.request.clone(), slots[0].revision(), slots[1].revision()));
        let is_waiting = page.queries().anomaly.is_waiting() || slots.iter().any(|slot| slot.is_waiting());
        self.halves
            .iter()
            .for_each(|half| half.element.class_if("stale", is_waiting && self.shown.is_some()));
        if is_waiting && self.shown.is_none() {
            self.halves.iter().for_each(|half| half.set_text(WORKING));
        }
        if is_waiting || self.shown == now {
            return true;
        }
        self.shown = now;
        let found = slots.map(|slot| slot.get().and_then(|trace| (*trace).clone()));
        let missing = found.each_ref().map(Option::is_none);
        let pair = align(found.map(Option::unwrap_or_default));
        let signs = signs(report, row, &pair);
        let (only, finder) = (controls::is_pressed(&self.path_only), search::finder(page));
        for ((half, trace), signs) in self.halves.iter().zip(pair).zip(signs) {
            half.chart.canvas().set("data-signs", &signs.len().to_string());
            half.chart.canvas().set("data-end", &trace.end_us.to_string());
            half.chart.renew(|chart| {
                chart.take(trace);
                chart.set_signs(signs);
                chart.set_path_only(only);
                chart.search_endpoints(&finder);
            });
        }
        let [anomalous, normal] = &self.halves;
        anomalous.set_title(
            if report.is_abnormal(row) { "Abnormal request" } else { "This request" },
            &row.request,
        );
        normal.set_title("Most similar normal request", nearest);
        for ((half, why), is_missing) in self.halves.iter().zip(NOT_LOADED).zip(missing) {
            half.set_text(if is_missing { why } else { "" });
        }
        true
    }

    /// Dims what a search does not find.
    pub fn search(&self, finder: &Finder) {
        if self.shown.is_some() {
            self.charts().iter().for_each(|chart| chart.with(|chart| chart.search_endpoints(finder)));
        }
    }

    /// Returns a command for the timeline that has the focus.
    pub fn command(&self, page: Page, command: KeyCommand) -> bool {
        let active = dom::document().active_element();
        let is_active = |half: &&Half| active.as_ref() == Some(half.chart.canvas().html().as_ref());
        let Some(half) = self.halves.iter().find(is_active) else { return false };
        zoom::command(half.chart, page, command)
    }
}

/// Asks for the traces of a request and of the one most like it, in their groups.
pub fn query(page: Page, row: &AnomalyRow, groups: (u8, u8)) {
    let settings = page.address().settings();
    let trace = |request: &RequestRef, group| {
        let TraceChoice { trace_id, root_span_id, .. } = request.into();
        queries::Trace { trace_id, root_span_id, settings, group, has_pressures: true }
    };
    let queries = page.queries();
    if let Some(nearest) = &row.nearest {
        queries.anomalous_trace.want(page, trace(&row.request, groups.1));
        queries.normal_trace.want(page, trace(nearest, groups.0));
    }
}
