//! The effect of a timeout of the selected call, or of all calls into a service; see [`flow_timeout`].

use super::time_field::TimeField;
use super::what_if;
use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::{Focus, Page};
use crate::widgets::tip::numbers_element;
use crate::widgets::{controls, export, names};
use pathlight_engine::flow::CallTarget;
use pathlight_trace::Endpoint;
use pathlight_view::flow::changes::set_timeout;
use pathlight_view::flow::prediction::back_test_words;
use pathlight_view::views::WORKING;
use pathlight_view::{flow, json};

/// The panel.
pub struct TimeoutPanel {
    element: El,
    /// List of services, and the revision of the overview that names those that are offered.
    services: El,
    offered: Option<u64>,
    title: El,
    time: TimeField,
    suggested: El,
    words: El,
    figures: El,
    attempts: [El; 2],
    notes: [El; 2],
    /// Revision of the report and target that are shown.
    shown: Option<(u64, CallTarget)>,
    /// The call that was in focus last.
    call: Option<Endpoint>,
}

fn call_in_focus(page: Page) -> Option<Endpoint> {
    match &*page.focus() {
        Focus::Endpoint(endpoint) => Some(endpoint.clone()),
        _ => None,
    }
}

/// Returns the target whose calls are cut: the service that was chosen, else the call in focus, else that of the address.
pub fn target(page: Page) -> Option<CallTarget> {
    let named = page.address().choices.flow.timeout.as_ref().map(|timeout| timeout.0.clone());
    let call = call_in_focus(page).map(CallTarget::Endpoint);
    let service = named.clone().filter(|of| matches!(of, CallTarget::Service(_)));
    service.or(call).or(named)
}

/// Makes the timeout that is shown a change of the what-if.
fn attempt(page: Page, is_retried: bool) {
    let Some(report) = page.queries().timeout.fresh().filter(|report| report.calls > 0) else { return };
    what_if::open(page, |flow| set_timeout(&mut flow.changes, report.change(is_retried)));
}

impl TimeoutPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> TimeoutPanel {
        let set = move |us: Option<u64>| {
            let Some(of) = target(page) else { return };
            page.change(|address| address.choices.flow.timeout = Some((of, us)));
        };
        let services = controls::select(keep, "timeout-service", move |service| {
            let of = match service.is_empty() {
                true => call_in_focus(page).map(CallTarget::Endpoint),
                false => Some(CallTarget::Service(service)),
            };
            page.change(|address| address.choices.flow.timeout = of.map(|of| (of, None)));
            page.refresh();
        });
        let services = services.attr("aria-label", "The calls that get a timeout");
        let label = ("Timeout", "suggested");
        let time = TimeField::new(page, keep, "timeout-time", label, set);
        let suggested = button("Suggested")
            .attr("title", "The least timeout that cuts at most 0.1 % of the calls, or of those of set A")
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
            .child(&services)
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
        TimeoutPanel {
            element,
            services,
            offered: None,
            title,
            time,
            suggested,
            words,
            figures,
            attempts,
            notes,
            shown: None,
            call: None,
        }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows focus, address and reports.
    pub fn update(&mut self, page: Page) {
        let slot = &page.queries().timeout;
        let call = call_in_focus(page);
        if self.call != call {
            // Whoever selects another call wants its timeout.
            let other = call.clone().filter(|_| self.call.is_some());
            if let Some(other) = other {
                let of = CallTarget::Endpoint(other);
                page.change(|address| address.choices.flow.timeout = Some((of, None)));
            }
            self.call = call;
        }
        let target = target(page);
        let is_named = page.address().choices.flow.timeout.as_ref().map(|(of, _)| of) == target.as_ref();
        if let Some(of) = target.clone().filter(|_| !is_named) {
            // As suggested: a link shows the same.
            page.change(|address| address.choices.flow.timeout = Some((of, None)));
        }
        self.offer_services(page, target.as_ref());
        let asked = page.address().choices.flow.timeout_us(target.as_ref());
        self.time.show(asked);
        self.suggested.show(asked.is_some());
        let report = slot.get().filter(|report| target.as_ref().is_some_and(|of| report.target() == *of));
        for part in [&self.words, &self.figures] {
            part.class_if("stale", slot.is_waiting());
        }
        let has_calls = report.as_ref().is_some_and(|report| report.calls > 0);
        self.figures.show(has_calls);
        self.attempts.iter().for_each(|attempt| attempt.show(has_calls));
        self.notes.iter().for_each(|note| note.show(has_calls));
        self.notes[1].set_text(&back_test_words(page.queries().back_test.fresh().as_deref()));
        self.title.clear();
        let Some(target) = target else {
            self.words.set_text(flow::timeout::NO_CALL);
            self.shown = None;
            return;
        };
        // The list says which service it is.
        if let CallTarget::Endpoint(Endpoint { service, operation }) = &target {
            self.title.add(&names::endpoint(service, operation));
        }
        let Some(report) = report else {
            self.words.set_text(WORKING);
            self.shown = None;
            return;
        };
        let now = Some((slot.revision(), target));
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

    /// Offers the calls into all services that are loaded.
    fn offer_services(&mut self, page: Page, target: Option<&CallTarget>) {
        let now = Some(page.overview_revision());
        if let Some(overview) = page.overview_in_sight().filter(|_| self.offered != now) {
            self.offered = now;
            controls::offer(&self.services, &flow::timeout::options(&overview.service_names()), "");
        }
        let chosen = match target {
            Some(CallTarget::Service(service)) => service,
            _ => "",
        };
        controls::choose(&self.services, chosen);
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
