//! The row that says that what is loading will not fit into memory, with what can be done about it.

use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::{Page, PagePart};
use pathlight_base::format;
use pathlight_engine::load::MemoryForecast;
use pathlight_engine::queries::OverviewReport;
use pathlight_ingest as ingest;
use pathlight_trace::Endpoint;
use pathlight_view::reading::loading::will_not_fit;
use std::collections::BTreeSet;
use web_sys::HtmlSelectElement;

/// Request types offered, and services: a browser builds an option for each.
const TYPES_OFFERED: usize = 50;
const SERVICES_OFFERED: usize = 500;

/// The row.
pub struct MemoryRow {
    element: El,
    keep: Listeners,
    /// Place for services and request types to choose from that come later: no button may change under the pointer.
    later: El,
    /// Forecast shown, and whether it has services to choose from.
    shown: Option<(MemoryForecast, bool)>,
}

impl MemoryRow {
    /// Creates the row, out of sight.
    pub fn new() -> MemoryRow {
        let element = div("memory-forecast").attr("role", "alert").test("memory-forecast");
        element.show(false);
        MemoryRow { element, keep: Listeners::default(), later: div(""), shown: None }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    fn fill(&self, page: Page, forecast: &MemoryForecast) {
        let [message, so_far] = will_not_fit(forecast);
        let words = div("memory-forecast-words")
            .child(&span("memory-forecast-message", &message).test("memory-forecast-message"))
            .child(&span("muted", &so_far));
        let choice = |name: &str, words: &str, keep: ingest::KeptTraces| {
            button(words).test(name).on_click(&self.keep, move || page.go_on(&keep))
        };
        let sample = format!("Load 1 in {} traces", forecast.sample);
        let choices = div("memory-forecast-choices").child(
            &choice("memory-forecast-sample", &sample, ingest::KeptTraces::Sample(forecast.sample))
                .class("primary"),
        );
        self.later.clear();
        choices.add(&self.later);
        choices.add(
            &choice("memory-forecast-anyway", "Load until memory is full", ingest::KeptTraces::All)
                .class("quiet"),
        );
        for (name, words, keeps) in
            [("memory-forecast-keep", "Keep what was read", true), ("memory-forecast-drop", "Cancel", false)]
        {
            let end = move || page.cancel_load(keeps);
            choices.add(&button(words).class("quiet").test(name).on_click(&self.keep, end));
        }
        self.element.fill([&words, &choices]);
    }

    /// Returns the services and request types seen so far; choosing one loads its traces.
    fn chooser(&self, page: Page, overview: &OverviewReport) -> El {
        let mut offered = vec![];
        let mut roots: Vec<&Endpoint> = overview.request_types.iter().map(|row| &row.kind.root).collect();
        let mut known = BTreeSet::new();
        roots.retain(|root| known.insert(*root));
        for Endpoint { service, operation } in roots.into_iter().take(TYPES_OFFERED) {
            let keep =
                ingest::KeptTraces::RequestType { service: service.clone(), operation: operation.clone() };
            offered.push((format::endpoint(service, operation), keep));
        }
        let services: BTreeSet<&str> = overview.endpoints.iter().map(|e| e.service.as_str()).collect();
        let types = offered.len();
        offered.extend(
            services
                .into_iter()
                .take(SERVICES_OFFERED)
                .map(|name| (format::printable(name), ingest::KeptTraces::Service(name.to_owned()))),
        );
        let groups = [el("optgroup").attr("label", "Requests"), el("optgroup").attr("label", "Services")];
        for (at, (words, _)) in offered.iter().enumerate() {
            let option = el("option").attr("value", &at.to_string()).text(words);
            groups[usize::from(at >= types)].add(&option);
        }
        let select = el("select")
            .attr("aria-label", "Load only traces of")
            .test("memory-forecast-choose")
            .child(&el("option").attr("value", "").text("Load only traces of\u{2026}"))
            .children(&groups);
        let field = select.clone();
        select.on(&self.keep, "change", move |_| {
            let chosen = field.as_kind::<HtmlSelectElement>().and_then(|field| field.value().parse().ok());
            if let Some((_, keep)) = chosen.and_then(|at: usize| offered.get(at)) {
                page.go_on(keep);
            }
        })
    }
}

impl PagePart for MemoryRow {
    fn update(&mut self, page: Page) {
        let forecast = page.loading().forecast.clone();
        let Some(forecast) = forecast else {
            self.element.show(false);
            self.shown = None;
            return;
        };
        let overview = page.queries().overview.get();
        let (is_said, has_choice) = match &self.shown {
            Some((said, has_choice)) => (*said == forecast, *has_choice),
            None => (false, false),
        };
        if !is_said {
            self.keep.clear();
            self.fill(page, &forecast);
            self.element.show(true);
        }
        let has_choice = is_said && has_choice;
        if let Some(overview) = overview.filter(|_| !has_choice && forecast.has_whole_traces) {
            self.later.add(&self.chooser(page, &overview));
            self.shown = Some((forecast, true));
        } else {
            self.shown = Some((forecast, has_choice));
        }
    }
}
