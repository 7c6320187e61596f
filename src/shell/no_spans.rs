//! The words in place of a view that needs spans where only a summary is loaded: what is missing, the requests that the
//! summary knows by their ids, and the views that it answers.

use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::{Page, PagePart};
use crate::widgets::{frame, links, names};
use pathlight_base::format;
use pathlight_view::summaries::{self, Known};
use pathlight_view::views::View;

/// Requests listed at most.
const LISTED: usize = 20;

/// The panel.
pub struct NoSpans {
    element: El,
    shown: String,
    keep: Listeners,
}

impl NoSpans {
    /// Returns the panel, out of sight.
    pub fn new() -> NoSpans {
        let element = div("companion no-spans").test("no-spans");
        element.show(false);
        NoSpans { element, shown: String::new(), keep: Listeners::default() }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    fn fill(&mut self, page: Page, why: &str) {
        self.keep.clear();
        self.element.clear();
        self.element.add(&el("p").test("no-spans-why").text(why));
        let trace = page.address().trace.clone().filter(|_| page.address().view == View::Trace);
        if let Some(trace) = trace {
            let line = el("p").text("Trace ").child(&span("mono", &trace.trace_id));
            let link = links::trace(page, &trace.trace_id, trace.span_id.as_deref());
            self.element.add(&line.text(" ").children(link.as_ref()));
        }
        if !page.is_summary() {
            return;
        }
        let known = page.queries().path.get().map(|report| summaries::known_requests(&report));
        let known = known.unwrap_or_default();
        if !known.is_empty() {
            self.element.add(&el("h3").text("The slowest request of each request type"));
            let list = el("ul").class("exemplars").test("known-requests");
            let rows: Vec<El> = known.iter().take(LISTED).map(|request| row(page, request)).collect();
            self.element.add(&list.children(&rows));
            if page.fetching().jaeger(page).is_none() {
                self.element.add(&el("p").class("muted").text(
                    "Enter the address of the Jaeger that has the traces (Jaeger, above) to open them there, or load the \
                     traces themselves.",
                ));
            }
        }
        let views = View::ALL.into_iter().filter(|view| page.lacks(*view).is_none());
        let buttons = div("buttons");
        for view in views {
            let test = format!("no-spans-{}", view.key());
            let show = move || page.change(|address| address.view = view);
            buttons.add(&button(view.name()).test(&test).on_click(&self.keep, show));
        }
        self.element.add(&el("h3").text("What the summary shows"));
        self.element.add(&buttons);
    }
}

fn row(page: Page, request: &Known) -> El {
    let row = el("li")
        .child(&span("mono", &names::short_id(&request.trace_id)).attr("title", &request.trace_id))
        .text(" ")
        .child(&names::endpoint(&request.root.service, &request.root.operation))
        .child(&span("num", &format::duration_us(request.latency_us)));
    row.children(links::mark(page, &request.trace_id, None).as_ref())
}

impl PagePart for NoSpans {
    fn update(&mut self, page: Page) {
        let view = page.address().view;
        let why = page.lacks(view).filter(|_| frame::has_traces(page));
        self.element.show(why.is_some());
        let Some(why) = why else { return self.shown.clear() };
        let path = page.queries().path.revision();
        let (fetched, trace) = (page.fetching().revision(), page.address().trace.clone());
        let shown = format!("{view:?} {why} {path} {fetched} {trace:?} {}", page.generation());
        if shown != self.shown {
            self.shown = shown;
            self.fill(page, why);
        }
    }
}
