//! The panel of the selection: its numbers and examples.

use super::jump::Jump;
use crate::dom::{self, El, Listeners, button, div, el, icon, span};
use crate::page::shown_trace::ShownTrace;
use crate::page::{Focus, Page, PagePart};
use crate::shell::selection_bar::look_at;
use crate::views::endpoints::affected;
use crate::views::{compare, flow};
use crate::widgets::{frame, links, names, show_in};
use pathlight_base::format;
use pathlight_engine::flame::{ContextNode, CriticalPathReport, TraceReport, Weight};
use pathlight_engine::ids::NodeId;
use pathlight_engine::queries::SpanReport;
use pathlight_engine::requests::RootEndpoint;
use pathlight_trace::Endpoint;
use pathlight_view::address::{Beside, TraceChoice};
use pathlight_view::flame::{self, tree};
use pathlight_view::keys::KeyCommand;
use pathlight_view::table::{PER_REQUEST, WHEN_PRESENT};
use pathlight_view::timeline::chart::Mark;
use pathlight_view::timeline::messages::{self, MessageRow};
use pathlight_view::timeline::{like, nearest};
use pathlight_view::views::View;
use pathlight_view::{errors, timeline};

/// Calling contexts of an endpoint that are listed.
const CONTEXTS: usize = 12;

/// Messages of a span that are listed, each way.
const MESSAGES: usize = 20;

/// Puts linked traces on one axis, with the focus on a span of them.
fn show_linked(page: Page, span: u32) {
    let Some(trace) = page.shown_trace() else { return };
    page.change(|address| {
        address.trace = Some(TraceChoice { beside: Beside::Linked, span_id: None, ..trace.clone() });
    });
    page.set_focus(Focus::Span(span));
}

/// The detail panel.
pub struct Detail {
    element: El,
    body: El,
    /// Says to who cannot see it what was selected.
    said: El,
    keep: Listeners,
    close: El,
    shown: String,
    /// Focus when it was last scrolled to its top.
    focus: Focus,
    jump: Jump,
    _own: Listeners,
}

impl Detail {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, jump: &Jump) -> Detail {
        let own = Listeners::default();
        let close = button("")
            .class("quiet dismiss detail-close")
            .label("Unselect (Esc)")
            .test("detail-close")
            .node(&icon("M4 4l8 8M12 4l-8 8"))
            .on_click(&own, move || page.set_focus(Focus::Nothing));
        let body = div("detail-body").test("detail");
        let element = el("aside").class("detail").attr("aria-label", "Focus").child(&close).child(&body);
        let said = span("unseen", "").attr("aria-live", "polite").test("selected");
        Detail {
            said,
            element,
            body,
            keep: Listeners::default(),
            close,
            shown: String::new(),
            focus: Focus::Nothing,
            jump: jump.clone(),
            _own: own,
        }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Returns the words that announce what is selected.
    pub fn said(&self) -> &El {
        &self.said
    }

    fn path(&self, page: Page, report: &CriticalPathReport, at: NodeId) {
        let Some(node) = report.nodes.get(at.index()) else { return };
        let path = tree::path_of(report, at);
        let Some(Endpoint { service, operation }) = path.last() else { return };
        self.head(page, service, operation, Some(&path));
        let depth = path.len();
        if depth > 1 {
            let crumbs = el("ol").class("crumbs");
            for (level, Endpoint { service, operation }) in
                path.iter().enumerate().take(depth - 1).rev().take(5)
            {
                let up = path[..=level].to_vec();
                crumbs.add(
                    &el("li").child(
                        &button("")
                            .class("link crumb")
                            .child(&names::endpoint(service, operation))
                            .on_click(&self.keep, move || page.set_focus(Focus::Path(up.clone()))),
                    ),
                );
            }
            let more = (depth - 1).saturating_sub(5);
            let words =
                if more > 0 { format!("Called by (and {more} more above)") } else { "Called by".to_owned() };
            self.body.add(&el("h3").text(&words));
            self.body.add(&crumbs);
        }
        self.numbers(report, at, node);
        let zoom = path.clone();
        self.body.add(&div("buttons").child(&button("Zoom to focus").test("zoom-to").on_click(
            &self.keep,
            move || {
                page.zoom_to(zoom.clone());
            },
        )));
        self.exemplars(page, report, node);
    }

    /// Shows the name of an endpoint and where else it is shown; `path` leads to it.
    fn head(&self, page: Page, service: &str, operation: &str, path: Option<&[Endpoint]>) {
        self.body.add(&el("h2").child(&names::endpoint(service, operation)));
        if operation.is_empty() {
            // All of a service is nobody's root endpoint.
            return;
        }
        let root = RootEndpoint::Endpoint(Endpoint::new(service, operation));
        if page.address().root != root {
            self.body.add(
                &div("buttons under").child(
                    &button("Look at this endpoint alone")
                        .class("link")
                        .test("make-root")
                        .on_click(&self.keep, move || look_at(page, root.clone())),
                ),
            );
        }
        let endpoint = Endpoint::new(service, operation);
        self.body.add(&show_in::links(page, &self.keep, &endpoint, path));
    }

    fn numbers(&self, report: &CriticalPathReport, at: NodeId, node: &ContextNode) {
        let whole = report.facts.latency_sum_us;
        let facts = el("dl").class("pairs");
        pair(&facts, "Share of latency, self", &format::share_of(node.exclusive_us.sum, whole), "share-own");
        pair(&facts, "Share of latency, total", &format::share_of(node.subtree_us, whole), "share-subtree");
        let requests =
            format!("{} of {}", format::count(node.requests), format::count(report.facts.requests));
        pair(&facts, "Requests", &requests, "node-requests");
        pair(&facts, "Spans on the path", &format::count(node.spans), "node-spans");
        if node.errors > 0 {
            pair(&facts, "Error spans", &format::count(node.errors), "node-errors");
        }
        for wait in &node.waiting {
            let share = format::share_of(wait.us, node.exclusive_us.sum);
            pair(
                &facts,
                &format!("Waiting for {}", wait.callee),
                &format!("{share} of self time"),
                "node-waiting",
            );
        }
        let callees = flame::callees_words(report, at);
        if !callees.is_empty() {
            pair(&facts, "Calls", &callees, "node-callees");
        }
        self.body.add(&facts);
        let weight = |name: &str, hint: &str, weight: &Weight| {
            let row = el("tr").child(&el("th").attr("scope", "row").attr("title", hint).text(name));
            [weight.mean, weight.p50, weight.p95, weight.p99].iter().fold(row, |row, us| {
                row.child(
                    &el("td").class("num").attr("data-value", &us.to_string()).text(&format::duration(*us)),
                )
            })
        };
        let group = |columns: &str, group: &str| {
            el("th").class("num").attr("scope", "colgroup").attr("colspan", columns).text(group)
        };
        let groups =
            el("tr").child(&el("td")).child(&group("1", PER_REQUEST)).child(&group("3", WHEN_PRESENT));
        let head = ["mean", "p50", "p95", "p99"].iter().fold(el("tr").child(&el("td")), |row, title| {
            row.child(&el("th").class("num").attr("scope", "col").text(title))
        });
        let body = el("tbody")
            .child(&weight(
                "Self time",
                "Time on the critical path in spans of this call path itself",
                &node.exclusive_us,
            ))
            .child(&weight("Total time", "Duration of its spans", &node.inclusive_us));
        let head = el("thead").child(&groups).child(&head);
        let table = el("table").class("weights").child(&head).child(&body);
        self.body.add(&table);
        let note =
            if node.requests < 30 { format!("; {}", format::sample(node.requests)) } else { String::new() };
        let words = format!(
            "Means over {}, percentiles over those that contain it{note}.",
            format::counted(report.facts.requests, "request")
        );
        self.body.add(&el("p").class("muted small").text(&words));
    }

    fn exemplars(&self, page: Page, report: &CriticalPathReport, node: &ContextNode) {
        let exemplars: Vec<_> = report.examples_of(node).collect();
        if exemplars.is_empty() {
            return;
        }
        self.body.add(&el("h3").text("Example requests, by the time spent here"));
        let list = el("ul").class("exemplars");
        for (request, exemplar) in &exemplars {
            let span_id = exemplar.span.to_text();
            let choice = TraceChoice {
                trace_id: request.trace_id.clone(),
                root_span_id: Some(request.root_span_id.clone()).filter(|id| !id.is_empty()),
                span_id: Some(span_id.clone()).filter(|id| !id.is_empty()),
                ..TraceChoice::default()
            };
            let words = format!("{} here", format::duration_us(exemplar.exclusive_us));
            // A summary knows a request by its ids only.
            let link =
                if page.is_summary() { span("exemplar", "") } else { button("").class("link exemplar") };
            let link = link
                .test("exemplar")
                .attr("data-trace", &request.trace_id)
                .attr("title", &format!("Trace {}", request.trace_id))
                .child(&span("mono", &names::short_id(&request.trace_id)))
                .child(&span("", &words))
                .child(&span("muted", &format!("of {}", format::duration_us(request.latency_us))));
            let link = if page.is_summary() {
                link
            } else {
                link.on_click(&self.keep, move || page.open_trace(choice.clone()))
            };
            let item = el("li").child(&link);
            if let Some(mark) = links::mark(page, &request.trace_id, Some(span_id.as_str())) {
                item.add(&mark);
            }
            list.add(&item);
        }
        self.body.add(&list);
        if let [(first, _), (second, _), ..] = exemplars.as_slice()
            && let Some(link) = links::traces(page, &first.trace_id, &second.trace_id)
        {
            self.body.add(&link);
        }
    }

    fn endpoint(&self, page: Page, report: &CriticalPathReport, endpoint: &Endpoint) {
        let Endpoint { service, operation } = endpoint;
        let mut contexts: Vec<(NodeId, &ContextNode)> = Vec::new();
        for (at, node) in report.nodes.iter().enumerate() {
            if report.endpoints.get(node.endpoint.index()) == Some(endpoint) {
                contexts.push((NodeId(at as u32), node));
            }
        }
        contexts.sort_by_key(|(at, node)| (std::cmp::Reverse(node.exclusive_us.sum), *at));
        let most = contexts.first().map(|(at, _)| tree::path_of(report, *at));
        self.head(page, service, operation, most.as_deref());
        if let Some(facts) = flow::map::facts(page, endpoint, &self.keep) {
            self.body.add(&facts);
            return;
        }
        if let Some(facts) = flow::facts(page, endpoint, &self.keep) {
            self.body.add(&facts);
            self.body.add(&el("h3").text("On the critical path of the root endpoint"));
        }
        let errors = page.queries().errors.get().filter(|_| page.address().view == View::Errors);
        if let Some(errors) = errors {
            let facts = el("dl").class("pairs");
            for (name, value) in errors::facts(&errors, service, operation) {
                pair(&facts, name, &value, "endpoint-errors");
            }
            self.body.add(&facts);
        }
        if contexts.is_empty() {
            // Zeros would say that it is nowhere.
            let words = "It lies on no critical path of these requests.";
            self.body.add(&el("p").class("muted").test("off-path").text(words));
            return;
        }
        let whole = report.facts.latency_sum_us;
        let sum: u128 = contexts.iter().map(|(_, node)| node.exclusive_us.sum).sum();
        let facts = el("dl").class("pairs");
        pair(&facts, "Share of latency, self", &format::share_of(sum, whole), "share-own");
        pair(
            &facts,
            "Self time per request",
            &format::duration(sum as f64 / report.facts.summed_over().max(1) as f64),
            "mean-own",
        );
        pair(
            &facts,
            "Spans on the path",
            &format::count(contexts.iter().map(|(_, node)| node.spans).sum()),
            "node-spans",
        );
        pair(&facts, "Call paths", &format::count(contexts.len() as u64), "call-paths");
        self.body.add(&facts);
        self.body.add(&el("h3").text("Where it is called"));
        let list = el("ul").class("exemplars");
        for (at, node) in contexts.iter().take(CONTEXTS) {
            let path = tree::path_of(report, *at);
            let caller = path.len().checked_sub(2).and_then(|at| path.get(at));
            let words = caller.map_or("at the root".to_owned(), |Endpoint { service, operation }| {
                format!("in {}", format::operation(service, operation))
            });
            let row = button("")
                .class("link exemplar")
                .child(&span("", &words))
                .child(&span("num", &format::share_of(node.exclusive_us.sum, whole)))
                .on_click(&self.keep, move || {
                    page.set_focus(Focus::Path(path.clone()));
                    page.change(|address| address.view = View::Flame);
                });
            list.add(&el("li").child(&row));
        }
        self.body.add(&list);
        let more = contexts.len().saturating_sub(CONTEXTS) as u64;
        if more > 0 {
            self.body
                .add(&div("muted small").text(&format!("and {}", format::counted(more, "other call path"))));
        }
        if let Some((_, node)) = contexts.first() {
            self.exemplars(page, report, node);
        }
    }

    fn span(&self, page: Page, trace: &TraceReport, index: u32, full: Option<&SpanReport>) {
        let at = index as usize;
        let Some(Endpoint { service, operation }) =
            trace.endpoint.get(at).and_then(|e| trace.endpoints.get(*e as usize))
        else {
            return;
        };
        self.head(page, service, operation, None);
        let span_id = full.map(|full| full.span_id.as_str());
        if let Some(link) = links::trace(page, &trace.trace_id, span_id) {
            self.body.add(&link);
        }
        let marks = div("chips");
        for Mark { bit, word, words } in timeline::chart::marks(trace, index) {
            let name = if bit == TraceReport::ON_PATH { "critical path" } else { word };
            marks.add(&span(&format!("chip flag-{}", name.replace(' ', "-")), name).attr("title", words));
        }
        self.body.add(&marks);
        let own: u64 = (0..trace.segment_span.len())
            .filter(|segment| trace.segment_span[*segment] == index)
            .map(|segment| trace.segment_end_us[segment].saturating_sub(trace.segment_start_us[segment]))
            .sum();
        let root = trace.request_root as usize;
        let latency = trace.duration_us.get(root).copied().unwrap_or(0);
        let facts = el("dl").class("pairs");
        let start = trace.span_start_us.get(at).copied().unwrap_or(0);
        let duration = trace.duration_us.get(at).copied().unwrap_or(0);
        pair(&facts, "Duration", &format::duration_us(duration), "span-duration");
        pair(&facts, "Start", &format!("+{}", format::duration_us(start)), "span-start");
        let own = if own > 0 {
            format!("{} ({})", format::duration_us(own), format::share_of(own, latency))
        } else {
            format::DASH.to_owned()
        };
        let rank =
            page.span_ranks().as_deref().and_then(|ranks| ranks.get(at).copied()).map(like::rank_words);
        if let Some(words) = rank.filter(|words| !words.is_empty()) {
            pair(&facts, "Among like", &words, "span-like");
        }
        pair(&facts, "Self time on the path", &own, "span-own");
        for wait in trace.waiting.iter().filter(|wait| wait.span == index) {
            let name = format!("of it waiting for {}", wait.callee);
            pair(&facts, &name, &format::duration_us(wait.us), "span-waiting");
        }
        if let Some(Endpoint { service, operation }) = timeline::callee(trace, index) {
            pair(&facts, "Calls", &format::endpoint(service, operation), "span-callee");
        }
        // They are of the one trace alone, by its own indices.
        let is_alone = page.shown_trace().is_none_or(|trace| trace.is_alone());
        let pressures = page.queries().pressures.fresh().filter(|_| is_alone);
        let pressures = pressures.as_deref().and_then(Option::as_ref).into_iter();
        for (name, column, test) in pressures
            .flat_map(|of| [("Drag", &of.drag_us, "span-drag"), ("Slack", &of.slack_us, "span-slack")])
        {
            if let Some(us) = column.get(at).filter(|us| **us != TraceReport::NOT_WAITED) {
                pair(&facts, name, &format::duration_us(*us), test);
            }
        }
        self.body.add(&facts);
        self.messages(page, index);
        let Some(full) = full else { return };
        let more = el("dl").class("pairs");
        for (name, value) in [("Span id", &full.span_id), ("Kind", &full.kind), ("Host", &full.host)] {
            if !value.is_empty() {
                pair(&more, name, value, "span-fact");
            }
        }
        pair(&more, "At", &format!("{} UTC", format::moment(full.start_us)), "span-moment");
        self.body.add(&more);
        for (title, tags) in [("Tags", &full.tags), ("Process", &full.process_tags)] {
            if tags.is_empty() {
                continue;
            }
            self.body.add(&el("h3").text(title));
            let list = el("dl").class("pairs tags").test("span-tags");
            for (key, value) in tags {
                pair(&list, key, value, "tag");
            }
            self.body.add(&list);
        }
    }

    /// Lists what a span sent and what sent it; each leads to the span on the other side, on one axis.
    fn messages(&self, page: Page, span: u32) {
        let (Some(shown), Some(joined)) = (page.shown(), page.queries().linked.fresh()) else {
            return;
        };
        let Some(joined) = joined.as_ref() else { return };
        let among = shown.place_of(span).and_then(|(trace_id, span)| joined.index_of(&trace_id, span));
        let Some(among) = among else { return };
        let rows = messages::rows(joined, among);
        for (title, test, is_sent) in [("Sent by", "sent-by", false), ("Sent to", "sent-to", true)] {
            let of_kind: Vec<&MessageRow> = rows.iter().filter(|row| row.is_sent == is_sent).collect();
            if of_kind.is_empty() {
                continue;
            }
            self.body.add(&el("h3").text(title));
            let list = el("ul").class("exemplars").test(test);
            for row in of_kind.iter().take(MESSAGES) {
                let other = row.other;
                let link = button("")
                    .class("link message-link")
                    .test("message")
                    .attr("title", "Show it on one axis, with the queue between")
                    .text(&row.words.to_text())
                    .on_click(&self.keep, move || show_linked(page, other));
                list.add(&el("li").child(&link));
            }
            self.body.add(&list);
            let more = of_kind.len().saturating_sub(MESSAGES) as u64;
            if more > 0 {
                let words = format!("and {}", format::counted(more, "other message"));
                self.body.add(&div("muted small").text(&words));
            }
        }
        let missing = messages::missing(joined);
        if !missing.is_empty() && !rows.is_empty() {
            self.body.add(&el("p").class("muted small").text(missing.trim_start()));
        }
    }

    fn request(&self, page: Page, choice: &TraceChoice) {
        let requests = page.queries().requests.get();
        let row = requests.iter().flat_map(|report| &report.rows).find(|row| {
            row.trace_id == choice.trace_id
                && choice.root_span_id.as_deref().is_none_or(|root| root == row.root_span_id)
        });
        let facts = el("dl").class("pairs");
        if let Some(row) = row {
            self.head(page, &row.service, &row.operation, None);
            pair(&facts, "Latency", &format::duration_us(row.latency_us), "request-latency");
            pair(&facts, "Start", &format!("{} UTC", format::moment(row.start_us)), "request-start");
            pair(&facts, "Spans", &format::count(row.spans.into()), "request-spans");
            pair(&facts, "on the critical path", &format::count(row.path_spans.into()), "request-path-spans");
            pair(&facts, "Error spans", &format::count(row.errors.into()), "request-errors");
        } else {
            // Only the list of requests knows more, and another view may not have asked for it.
            self.body.add(&el("h2").text(&format!("Request {}", choice.trace_id)));
        }
        pair(&facts, "Trace", &choice.trace_id, "request-trace");
        self.body.add(&facts);
        let opened = choice.clone();
        let buttons = div("buttons").child(
            &button("Open timeline")
                .class("primary")
                .test("open-timeline")
                .on_click(&self.keep, move || page.open_trace(opened.clone())),
        );
        let beside = TraceChoice { beside: Beside::Normal, ..choice.clone() };
        buttons.add(
            &button("Beside a normal one")
                .attr("title", nearest::HINT)
                .test("open-beside-normal")
                .on_click(&self.keep, move || page.open_trace(beside.clone())),
        );
        if let Some(link) = links::trace(page, &choice.trace_id, None) {
            buttons.add(&link);
        }
        self.body.add(&buttons);
    }
}

fn pair(list: &El, name: &str, value: &str, test: &str) {
    list.add(&el("dt").text(&format::printable(name)));
    list.add(&el("dd").test(test).text(value));
}

impl PagePart for Detail {
    fn update(&mut self, page: Page) {
        let view = page.address().view;
        let focus = page.focus().clone();
        let shown = frame::has_traces(page);
        self.element.show(shown);
        if !shown {
            self.shown.clear();
            return;
        }
        let path = page.queries().path.get();
        let span = page.queries().span.fresh();
        let stale = match focus {
            Focus::Path(_) | Focus::Endpoint(_) => page.queries().path.is_waiting(),
            _ => false,
        };
        self.element.class_if("stale", stale);
        // What is shown depends on these and on nothing else.
        let queries = page.queries();
        let key = format!(
            "{view:?} {focus:?} {} {} {} {} {} {} {} {} {} {} {} {} {:?} {:?} {:?}",
            queries.path.revision(),
            queries.compare.revision(),
            queries.impact.revision(),
            queries.savings.revision(),
            queries.trace.revision(),
            queries.linked.revision(),
            queries.pressures.revision(),
            queries.among_like.revision(),
            queries.requests.revision(),
            queries.span.revision(),
            queries.flow.revision(),
            page.fetching().revision(),
            page.address().root,
            page.address().choices,
            page.shown_trace().map(|trace| trace.beside),
        );
        if key == self.shown {
            return;
        }
        self.shown = key;
        self.keep.clear();
        self.body.clear();
        match (&focus, &path) {
            (Focus::Path(path), _)
                if view == View::Compare && compare::detail::show(page, &self.body, &self.keep, path) => {}
            (Focus::Path(endpoints), Some(report)) => match tree::find(report, endpoints) {
                Some(at) => self.path(page, report, at),
                None => {
                    self.body.add(
                        &el("p").class("muted").text("The selected call path is in none of these requests."),
                    );
                }
            },
            (Focus::Endpoint(endpoint), _) if view == View::Endpoints => {
                self.head(page, &endpoint.service, &endpoint.operation, None);
                affected::fill(page, &self.keep, &self.body, &self.jump, endpoint);
            }
            (Focus::Endpoint(endpoint), Some(report)) => self.endpoint(page, report, endpoint),
            (Focus::Path(_) | Focus::Endpoint(_), None) => {
                self.body.add(&el("p").class("muted").text(frame::WORKING));
            }
            (Focus::Request(choice), _) => self.request(page, choice),
            (Focus::Span(index), _) if view == View::Trace => {
                let shown = page.shown();
                if let Some(trace) = shown.as_ref().and_then(ShownTrace::report) {
                    let full = span.as_deref().and_then(Option::as_ref);
                    self.span(page, trace, *index, full);
                }
            }
            _ => {}
        }
        names::link_terms(&self.body);
        let is_empty = !self.body.html().has_child_nodes();
        let name = self.body.html().query_selector("h2").ok().flatten().and_then(|name| name.text_content());
        self.said.set_text(&name.map_or(String::new(), |name| format!("Selected: {name}")));
        self.close.show(!is_empty);
        if self.element.html().class_list().contains("filled") == is_empty {
            self.element.class_if("filled", !is_empty);
            // The panel comes and goes, and gives its room to the table.
            dom::moved();
        }
        if self.focus != focus {
            self.focus = focus;
            self.element.html().set_scroll_top(0);
        }
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        if command == KeyCommand::Leave && *page.focus() != Focus::Nothing {
            page.set_focus(Focus::Nothing);
            return true;
        }
        false
    }
}
