//! The effect of a timeout of the selected call; see [`flow_timeout`].

use super::time_field::TimeField;
use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::{Focus, Page};
use crate::widgets::tip::numbers_element;
use crate::widgets::{export, names};
use pathlight_trace::Endpoint;
use pathlight_view::flow::changes::set_timeout;
use pathlight_view::flow::choice::FlowPanel;
use pathlight_view::flow::prediction::back_test_words;
use pathlight_view::views::WORKING;
use pathlight_view::{flow, json};

/// The panel.
pub struct TimeoutPanel {
    element: El,
    title: El,
    time: TimeField,
    suggested: El,
    words: El,
    figures: El,
    attempts: [El; 2],
    notes: [El; 2],
    /// Revision of the report and endpoint that are shown.
    shown: Option<(u64, Endpoint)>,
}

/// Returns the endpoint whose calls are cut: the one in focus, else that of the address.
pub fn endpoint(page: Page) -> Option<Endpoint> {
    match &*page.focus() {
        Focus::Endpoint(endpoint) => Some(endpoint.clone()),
        _ => page.address().choices.flow.timeout.as_ref().map(|timeout| timeout.0.clone()),
    }
}

/// Makes the timeout that is shown a change of the what-if.
fn attempt(page: Page, is_retried: bool) {
    let Some(report) = page.queries().timeout.fresh().filter(|report| report.calls > 0) else { return };
    page.change(|address| {
        set_timeout(&mut address.choices.flow.changes, report.change(is_retried));
        address.choices.flow.panel = FlowPanel::WhatIf;
    });
}

impl TimeoutPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> TimeoutPanel {
        let set = move |us: Option<u64>| {
            let Some(endpoint) = endpoint(page) else { return };
            page.change(|address| address.choices.flow.timeout = Some((endpoint, us)));
        };
        let label = ("Timeout", "suggested");
        let time = TimeField::new(page, keep, "timeout-time", label, set);
        let suggested = button("Suggested")
            .attr("title", "The least timeout that cuts at most 0.1 % of the calls")
            .test("timeout-suggested")
            .on_click(keep, move || set(None));
        let attempts = [("fast", "Failing fast in What if", false), ("retried", "Retried in What if", true)];
        let attempts = attempts.map(|(key, words, is_retried)| {
            button(words)
                .attr("title", "The whole request with this timeout, beside other changes")
                .test(&format!("timeout-try-{key}"))
                .on_click(keep, move || attempt(page, is_retried))
        });
        let title = div("whatif-title").test("timeout-title");
        let tools = div("tools")
            .child(&title)
            .child(&el("label").class("fixed").text("times out after ").child(time.input()))
            .child(&suggested)
            .child(&div("grow"))
            .children(&attempts)
            .child(&export::menu(page, keep, "timeout", None, formats(page)));
        let words = el("p").class("target-sentence").test("timeout-words");
        let figures = div("timeout-figures").test("timeout-figures");
        let notes = ["timeout-retry", "timeout-error"].map(|name| el("p").class("muted small").test(name));
        let facts = div("timeout-facts").child(&figures).children(&notes);
        let element = div("target").test("timeout").child(&tools).child(time.trouble()).child(&words);
        let element = element.child(&facts);
        TimeoutPanel { element, title, time, suggested, words, figures, attempts, notes, shown: None }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows focus, address and reports.
    pub fn update(&mut self, page: Page) {
        let slot = &page.queries().timeout;
        let endpoint = endpoint(page);
        let is_named = page.address().choices.flow.timeout.as_ref().map(|(of, _)| of) == endpoint.as_ref();
        if let Some(endpoint) = endpoint.clone().filter(|_| !is_named) {
            // As suggested: a link shows the same.
            page.change(|address| address.choices.flow.timeout = Some((endpoint, None)));
        }
        let asked = page.address().choices.flow.timeout_us(endpoint.as_ref());
        self.time.show(asked);
        self.suggested.show(asked.is_some());
        let report = slot.get().filter(|report| {
            endpoint
                .as_ref()
                .is_some_and(|of| of.service == report.service && of.operation == report.operation)
        });
        for part in [&self.words, &self.figures] {
            part.class_if("stale", slot.is_waiting());
        }
        let has_calls = report.as_ref().is_some_and(|report| report.calls > 0);
        self.figures.show(has_calls);
        self.attempts.iter().for_each(|attempt| attempt.show(has_calls));
        self.notes.iter().for_each(|note| note.show(has_calls));
        self.notes[1].set_text(&back_test_words(page.queries().back_test.fresh().as_deref()));
        self.title.clear();
        let Some(endpoint) = endpoint else {
            self.words.set_text(flow::timeout::NO_CALL);
            self.shown = None;
            return;
        };
        self.title.add(&names::endpoint(&endpoint.service, &endpoint.operation));
        let Some(report) = report else {
            self.words.set_text(WORKING);
            self.shown = None;
            return;
        };
        let now = Some((slot.revision(), endpoint));
        if self.shown != now {
            self.shown = now;
            self.words.clear();
            self.words.add(&span("", &flow::timeout::cut_words(&report)));
            if has_calls {
                self.words.add(&span("muted", &format!(" {}", flow::timeout::suggested_words(&report))));
            }
            self.figures.fill([&numbers_element(&flow::timeout::numbers(&report))]);
            self.time.suggest(report.suggested_us.max(1));
            self.notes[0].set_text(&flow::timeout::retry_words(&report));
        }
    }
}

fn formats(page: Page) -> Vec<export::Format> {
    let report = move || page.queries().timeout.fresh();
    vec![
        ("CSV table", "csv", Box::new(move || Some(flow::timeout::timeout_csv(&*report()?)))),
        (
            "JSON report",
            "json",
            Box::new(move || {
                json::flow_timeout(&*report()?, page.queries().back_test.fresh().as_deref()).ok()
            }),
        ),
    ]
}
