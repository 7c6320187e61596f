//! The first view: what is loaded, which requests there are, and where their time goes.

pub mod tables;

use crate::ui::dom::{El, Keep, button, div, el, span};
use crate::ui::page::{Focus, Page, Part};
use crate::ui::shell::banners::copy_text;
use crate::ui::shell::filters;
use crate::ui::shell::range_bar as range;
use crate::ui::shell::search::{Last, Search, fits};
use crate::ui::views::findings::tables::{Cost, Kind, costs, top_table, type_table};
use crate::ui::widgets::export;
use crate::ui::widgets::names;
use crate::ui::widgets::table::Table;
use pathlight_query::{EndpointsReport, OverviewReport, RangeFacts, RootEndpoint, RowStat, RowTime};
use pathlight_text::format;
use pathlight_view::address::View;
use pathlight_view::json;
use pathlight_view::summary;
use std::rc::Rc;

/// Endpoints in each list of the textual summary, as the binary has them.
const SUMMARY_TOP: usize = 10;

/// A way to write the summary: what the button says, its name in tests, and how.
type Copied = (&'static str, &'static str, fn(&EndpointsReport) -> String);

const COPIES: [Copied; 3] = [
    ("Text", "copy-text", |report| summary::to_text(report, SUMMARY_TOP)),
    ("Markdown", "copy-markdown", |report| summary::to_markdown(report, SUMMARY_TOP)),
    ("CSV", "copy-csv", summary::to_csv),
];

/// The view.
pub struct Findings {
    element: El,
    headline: El,
    cards: El,
    types: Table<Kind>,
    top: Table<Cost>,
    title: El,
    copies: El,
    search: Search,
    shown: (u64, u64),
    searched: Last<(u64, u64)>,
    chosen: Option<RootEndpoint>,
    keep: Keep,
    _own: Keep,
}

impl Findings {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, search: &Search) -> Findings {
        let types = type_table(page);
        let top = top_table(page);
        types.element().class_if("types", true);
        let headline = el("p").class("headline").test("headline");
        let cards = div("cards").test("summary");
        let title = el("h2").class("section-title");
        let own = Keep::default();
        let copies = copies(page, &own);
        let element = div("findings")
            .test("findings")
            .child(&headline)
            .child(&cards)
            .child(&el("h2").class("section-title").text("Request types"))
            .child(types.element())
            .child(&div("section-head").child(&title).child(&copies))
            .child(top.element());
        Findings {
            element,
            headline,
            cards,
            types,
            top,
            title,
            copies,
            search: search.clone(),
            shown: (0, 0),
            searched: Last::default(),
            chosen: None,
            keep: Keep::default(),
            _own: own,
        }
    }

    /// Its element.
    pub fn element(&self) -> &El {
        &self.element
    }

    fn summary(&mut self, overview: &OverviewReport) {
        self.keep.clear();
        let card = |name: &str, test: &str, text: &str, value: &str| {
            div("card")
                .child(&span("card-value", text).test(test).attr("data-value", value))
                .child(&span("card-name", name))
        };
        let counted =
            |name: &str, test: &str, value: u64| card(name, test, &format::count(value), &value.to_string());
        let endpoints = overview.endpoints.len() as u64;
        let mut cards = vec![
            counted("traces", "traces", overview.traces),
            counted("spans", "spans", overview.spans),
            counted("services", "services", overview.services),
            counted("endpoints", "endpoints", endpoints),
            counted("error spans", "error-spans", overview.error_spans),
        ];
        for (name, test, us) in [
            ("median latency", "latency-p50", overview.latency_us.p50),
            ("95th percentile", "latency-p95", overview.latency_us.p95),
            ("99th percentile", "latency-p99", overview.latency_us.p99),
        ] {
            cards.push(card(name, test, &format::duration(us), &us.to_string()));
        }
        let length = overview.end_us.saturating_sub(overview.start_us);
        cards.push(
            card("time covered", "time-covered", &format::duration_us(length), &length.to_string()).attr(
                "title",
                &format!("{} to {} UTC", format::moment(overview.start_us), format::moment(overview.end_us)),
            ),
        );
        self.cards.fill(&cards);
        let total: f64 =
            overview.request_types.iter().map(|kind| kind.latency_us.mean * kind.requests as f64).sum();
        let rows = overview.request_types.iter().map(|kind| Kind {
            kind: kind.clone(),
            share: if total > 0.0 { kind.latency_us.mean * kind.requests as f64 / total } else { 0.0 },
        });
        self.types.set_rows(Rc::new(rows.collect()));
        self.types.set_empty("No request type: no trace has a root.");
    }

    fn ranking(&mut self, page: Page, report: &EndpointsReport) {
        let costs = costs(report);
        let why_nothing =
            page.queries().range.get().map(|range| why_empty(page, &range.facts)).unwrap_or_default();
        self.headline.clear();
        let root = match &page.address().root {
            RootEndpoint::TraceRoots => "all requests".to_owned(),
            RootEndpoint::Endpoint { service, operation } => format::endpoint(service, operation),
        };
        let mut of = match report.range.filter(|range| !range.is_all()) {
            Some(range) => format!("{root}, {}", range::words(range)),
            None => root,
        };
        for filter in &page.address().filters {
            of.push_str(&format!(", {}", filters::words(filter)));
        }
        match costs.first().filter(|_| report.facts.latency_sum_us > 0) {
            Some(most) => {
                let (service, operation) = most.endpoint.clone();
                let endpoint = (service.clone(), operation.clone());
                let name = button("")
                    .class("link")
                    .child(&names::endpoint(&service, &operation))
                    .on_click(&self.keep, move || page.set_focus(Focus::Endpoint(endpoint.clone())));
                let mean = format!(
                    " of the latency of {of}, {} a request in the mean, is spent in ",
                    format::duration(most.row.exclusive_us.mean)
                );
                self.headline.add(&span("strong", &format::share(most.share)));
                self.headline.add(&span("", &mean));
                self.headline.add(&name);
            }
            None => self.headline.set_text(&why_nothing),
        }
        self.title.set_text(&format!("Where the time of {of} goes: own time on the critical path"));
        self.top.set_empty(&why_nothing);
        self.copies.show(!costs.is_empty());
        self.top.set_rows(Rc::new(costs));
    }
}

/// The buttons that copy the textual summary, and the menu that saves it.
fn copies(page: Page, keep: &Keep) -> El {
    let copies = div("copies").child(&span("muted", "Copy summary as"));
    for (name, test, write) in COPIES {
        let copy = button(name)
            .attr("title", "The endpoints with most own time by p50, p95 and p99, with their call chains")
            .attr("aria-live", "polite")
            .test(test);
        let pressed = copy.clone();
        copies.add(&copy.on_click(keep, move || {
            if let Some(report) = page.queries().endpoints.get() {
                copy_text(&write(&report), &pressed);
            }
        }));
    }
    let formats: Vec<export::Format> = vec![
        (
            "CSV table",
            "csv",
            Box::new(move || page.queries().endpoints.get().map(|report| summary::to_csv(&report))),
        ),
        (
            "JSON report",
            "json",
            Box::new(move || {
                json::summary(&*page.queries().endpoints.get()?, RowTime::Exclusive, RowStat::Total).ok()
            }),
        ),
    ];
    copies.add(&export::menu(page, keep, "summary", None, formats));
    copies
}

/// Why there is nothing to be seen of a report.
pub fn why_empty(page: Page, facts: &RangeFacts) -> String {
    let address = page.address();
    if facts.all_requests == 0 {
        let root = match &address.root {
            RootEndpoint::TraceRoots => "No request".to_owned(),
            RootEndpoint::Endpoint { service, operation } => {
                format!("No request of {}", format::endpoint(service, operation))
            }
        };
        let filters = if address.filters.is_empty() { "is loaded" } else { "passes the filters" };
        format!("{root} {filters}.")
    } else if facts.requests == 0 {
        format!(
            "No request lies in {}: there are {} in all.",
            range::words(address.range),
            format::count(facts.all_requests)
        )
    } else {
        "All these requests took no time at all.".to_owned()
    }
}

impl Part for Findings {
    fn update(&mut self, page: Page) {
        let overview = page.queries().overview.get().filter(|overview| overview.traces > 0);
        let shown = overview.is_some() && page.address().view == View::Findings;
        self.element.show(shown);
        let Some(overview) = overview.filter(|_| shown) else { return };
        let queries = page.queries();
        let now = (queries.overview.revision(), queries.endpoints.revision());
        if self.shown.0 != now.0 {
            self.summary(&overview);
            self.chosen = None;
        }
        if let Some(report) =
            queries.endpoints.get().filter(|_| self.shown.1 != now.1 || self.shown.0 != now.0)
        {
            self.ranking(page, &report);
        }
        self.shown = now;
        self.top.set_stale(queries.endpoints.is_waiting());
        self.headline.class_if("stale", queries.endpoints.is_waiting());
        self.top.set_sort(page.address().sort.as_ref());
        let text = page.address().search.clone();
        if self.searched.is_new(&text, now) {
            self.types.mark(&text, |row| fits(&text, &[&row.kind.service, &row.kind.operation]));
            let is_found = |row: &Cost| fits(&text, &[&row.endpoint.0, &row.endpoint.1]);
            let matches = self.top.mark(&text, is_found);
            let share = (!text.trim().is_empty())
                .then(|| self.top.rows().iter().filter(|row| is_found(row)).map(|row| row.share).sum());
            let table = self.top.clone();
            self.search.publish(matches, share, move |page, forward| {
                if let Some(row) = table
                    .neighbour(forward)
                    .and_then(|at| table.rows().get(at).map(|row| row.endpoint.clone()))
                {
                    page.set_focus(Focus::Endpoint(row));
                }
            });
        }
        let rows = self.top.rows();
        let selected = match &*page.focus() {
            Focus::Endpoint(endpoint) => rows.iter().position(|row| row.endpoint == *endpoint),
            _ => None,
        };
        self.top.select(selected);
        let root = page.address().root.clone();
        if self.chosen.as_ref() != Some(&root) {
            let rows = self.types.rows();
            self.types.select(match &root {
                RootEndpoint::Endpoint { service, operation } => rows
                    .iter()
                    .position(|row| row.kind.service == *service && row.kind.operation == *operation),
                RootEndpoint::TraceRoots => None,
            });
            self.chosen = Some(root);
        }
    }
}
