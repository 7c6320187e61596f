//! The first view: what is loaded, which requests there are, and where their time goes.

use super::band;
use super::dom::{El, Keep, button, div, el, span};
use super::names;
use super::page::{Endpoint, Page, Part, Selection};
use super::search::{Search, fits};
use super::subject::look_at;
use super::table::{Column, Table, What, by_number};
use crate::chart::format;
use crate::engine::address::View;
use crate::engine::{CriticalPathReport, OverviewReport, RequestType, Subject};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A request type and its part of all latency.
struct Kind {
    kind: RequestType,
    share: f64,
}

/// An endpoint with its own time on the critical path.
pub struct Cost {
    /// Service and operation.
    pub endpoint: Endpoint,
    /// Sum of own time in microseconds.
    pub exclusive_us: u64,
    /// The same for a request of the band, in the mean.
    pub mean_us: f64,
    /// Part of the band's latency, 0 to 1.
    pub share: f64,
    /// Spans on or at the path.
    pub spans: u64,
    /// Error spans among them.
    pub errors: u64,
    /// In how many call paths.
    pub contexts: u64,
}

/// Own time by endpoint, most first.
pub fn costs(report: &CriticalPathReport) -> Vec<Cost> {
    let mut sums: BTreeMap<u32, (u64, u64, u64, u64)> = BTreeMap::new();
    for node in &report.nodes {
        let sum = sums.entry(node.endpoint).or_default();
        sum.0 += node.exclusive_us.sum;
        sum.1 += node.spans;
        sum.2 += node.errors;
        sum.3 += 1;
    }
    let whole = report.facts.latency_sum_us.max(1) as f64;
    let requests = report.facts.requests.max(1) as f64;
    let mut costs: Vec<Cost> = sums
        .into_iter()
        .filter_map(|(at, (exclusive_us, spans, errors, contexts))| {
            let endpoint = report.endpoints.get(at as usize)?.clone();
            let (mean_us, share) = (exclusive_us as f64 / requests, exclusive_us as f64 / whole);
            Some(Cost { endpoint, exclusive_us, mean_us, share, spans, errors, contexts })
        })
        .collect();
    costs.sort_by(|a, b| b.exclusive_us.cmp(&a.exclusive_us).then_with(|| a.endpoint.cmp(&b.endpoint)));
    costs
}

/// The view.
pub struct Findings {
    element: El,
    headline: El,
    cards: El,
    types: Table<Kind>,
    top: Table<Cost>,
    title: El,
    search: Search,
    shown: (u64, u64),
    searched: Option<(String, u64)>,
    chosen: Option<Subject>,
    keep: Keep,
}

impl Findings {
    /// Builds it.
    pub fn new(page: &Page, search: &Search) -> Findings {
        let types = type_table(page);
        let top = top_table(page);
        types.element().class_if("types", true);
        let headline = el("p").class("headline").test("headline");
        let cards = div("cards").test("summary");
        let title = el("h2").class("section-title");
        let element = div("findings")
            .test("findings")
            .child(&headline)
            .child(&cards)
            .child(&el("h2").class("section-title").text("Request types"))
            .child(types.element())
            .child(&title)
            .child(top.element());
        Findings {
            element,
            headline,
            cards,
            types,
            top,
            title,
            search: search.clone(),
            shown: (0, 0),
            searched: None,
            chosen: None,
            keep: Keep::default(),
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

    fn path(&mut self, page: &Page, report: &CriticalPathReport) {
        let costs = costs(report);
        self.headline.clear();
        let subject = match &page.address().subject {
            Subject::TraceRoots => "all requests".to_owned(),
            Subject::Endpoint { service, operation } => format::endpoint(service, operation),
        };
        let of = match report.band.filter(|band| !band.is_all()) {
            Some(band) => format!("{subject}, {}", band::words(band)),
            None => subject,
        };
        match costs.first().filter(|_| report.facts.latency_sum_us > 0) {
            Some(most) => {
                let (service, operation) = most.endpoint.clone();
                let to = page.clone();
                let endpoint = (service.clone(), operation.clone());
                let name = button("")
                    .class("link")
                    .child(&names::endpoint(&service, &operation))
                    .on_click(&self.keep, move || to.select(Selection::Endpoint(endpoint.clone())));
                let mean = format!(
                    " of the latency of {of}, {} a request in the mean, is spent in ",
                    format::duration(most.mean_us)
                );
                self.headline.add(&span("strong", &format::share(most.share)));
                self.headline.add(&span("", &mean));
                self.headline.add(&name);
            }
            None => self.headline.say(&why_empty(page, report)),
        }
        self.title.say(&format!("Where the time of {of} goes: own time on the critical path"));
        self.top.set_empty(&why_empty(page, report));
        self.top.set_rows(Rc::new(costs));
    }
}

/// Why there is nothing to be seen of a report.
pub fn why_empty(page: &Page, report: &CriticalPathReport) -> String {
    let address = page.address();
    if report.facts.scope_requests == 0 {
        let subject = match &address.subject {
            Subject::TraceRoots => "No request".to_owned(),
            Subject::Endpoint { service, operation } => {
                format!("No request of {}", format::endpoint(service, operation))
            }
        };
        let filters = if address.filters.is_empty() { "is loaded" } else { "passes the filters" };
        format!("{subject} {filters}.")
    } else if report.facts.requests == 0 {
        format!(
            "No request lies in {}: there are {} in all.",
            band::words(address.band),
            format::count(report.facts.scope_requests)
        )
    } else {
        "All these requests took no time at all.".to_owned()
    }
}

fn type_table(page: &Page) -> Table<Kind> {
    let choosing = page.clone();
    let number = |key, title, hint, priority, of: fn(&RequestType) -> f64| Column {
        key,
        title,
        hint,
        class: "num",
        priority,
        order: None,
        cell: Box::new(move |row: &Kind| {
            let us = of(&row.kind);
            What::Number(format::duration(us), us.to_string())
        }),
    };
    let mut columns = vec![
        Column {
            key: "endpoint",
            title: "Request type",
            hint: "The endpoint at the root of the trace",
            class: "wide",
            priority: 1,
            order: Some(|a: &Kind, b: &Kind| {
                (&a.kind.operation, &a.kind.service).cmp(&(&b.kind.operation, &b.kind.service))
            }),
            cell: Box::new(|row| What::Element(names::endpoint(&row.kind.service, &row.kind.operation))),
        },
        Column {
            key: "share",
            title: "Share",
            hint: "Part of the latency of all requests",
            class: "bar",
            priority: 2,
            order: Some(|a, b| by_number(a.share, b.share)),
            cell: Box::new(|row| What::Bar(row.share, format::share(row.share))),
        },
        Column {
            key: "requests",
            title: "Requests",
            hint: "Number of requests",
            class: "num",
            priority: 1,
            order: Some(|a, b| a.kind.requests.cmp(&b.kind.requests)),
            cell: Box::new(|row| {
                What::Number(format::count(row.kind.requests), row.kind.requests.to_string())
            }),
        },
        Column {
            key: "errors",
            title: "Errors",
            hint: "Requests whose root span is an error",
            class: "num",
            priority: 3,
            order: Some(|a, b| a.kind.errors.cmp(&b.kind.errors)),
            cell: Box::new(|row| What::Number(format::count(row.kind.errors), row.kind.errors.to_string())),
        },
        number("p50", "p50", "Median latency", 2, |kind| kind.latency_us.p50),
        number("p95", "p95", "95th percentile of latency", 2, |kind| kind.latency_us.p95),
        number("p99", "p99", "99th percentile of latency", 1, |kind| kind.latency_us.p99),
        Column {
            key: "spark",
            title: "Latency",
            hint: "Histogram of latency, logarithmic",
            class: "spark-cell",
            priority: 3,
            order: None,
            cell: Box::new(|row| What::Element(names::spark(&row.kind.spark))),
        },
    ];
    columns[4].order = Some(|a, b| by_number(a.kind.latency_us.p50, b.kind.latency_us.p50));
    columns[5].order = Some(|a, b| by_number(a.kind.latency_us.p95, b.kind.latency_us.p95));
    columns[6].order = Some(|a, b| by_number(a.kind.latency_us.p99, b.kind.latency_us.p99));
    let own = Rc::new(std::cell::RefCell::new(None::<Table<Kind>>));
    let resort = own.clone();
    let table = Table::new(
        "request-types",
        "Request types",
        ("share", true),
        columns,
        |row: &Kind| {
            vec![
                ("data-test", "request-type".to_owned()),
                ("data-service", row.kind.service.clone()),
                ("data-operation", row.kind.operation.clone()),
            ]
        },
        move |sort| {
            if let Some(table) = &*resort.borrow() {
                table.set_sort(Some(&sort));
            }
        },
    );
    own.replace(Some(table.clone()));
    let rows = table.clone();
    table.click_opens().on_open(move |at| {
        if let Some(Kind { kind, .. }) = rows.rows().get(at) {
            let (service, operation) = (kind.service.clone(), kind.operation.clone());
            look_at(&choosing, Subject::Endpoint { service, operation });
        }
    })
}

fn top_table(page: &Page) -> Table<Cost> {
    let (sorting, choosing, opening) = (page.clone(), page.clone(), page.clone());
    let columns = vec![
        Column {
            key: "endpoint",
            title: "Endpoint",
            hint: "Operation and service",
            class: "wide",
            priority: 1,
            order: Some(|a: &Cost, b: &Cost| {
                (&a.endpoint.1, &a.endpoint.0).cmp(&(&b.endpoint.1, &b.endpoint.0))
            }),
            cell: Box::new(|row: &Cost| What::Element(names::endpoint(&row.endpoint.0, &row.endpoint.1))),
        },
        Column {
            key: "share",
            title: "Share",
            hint: "Part of the latency of these requests",
            class: "bar",
            priority: 1,
            order: Some(|a, b| a.exclusive_us.cmp(&b.exclusive_us)),
            cell: Box::new(|row| What::Bar(row.share, format::share(row.share))),
        },
        Column {
            key: "mean",
            title: "Mean",
            hint: "Own time on the critical path of a request, mean over all of them",
            class: "num",
            priority: 1,
            order: Some(|a, b| by_number(a.mean_us, b.mean_us)),
            cell: Box::new(|row| What::Number(format::duration(row.mean_us), row.mean_us.to_string())),
        },
        Column {
            key: "sum",
            title: "Sum",
            hint: "Own time on the critical path over all requests",
            class: "num",
            priority: 2,
            order: Some(|a, b| a.exclusive_us.cmp(&b.exclusive_us)),
            cell: Box::new(|row| {
                What::Number(format::duration_us(row.exclusive_us), row.exclusive_us.to_string())
            }),
        },
        Column {
            key: "contexts",
            title: "Call paths",
            hint: "Ways from the root of the request to this endpoint",
            class: "num",
            priority: 3,
            order: Some(|a, b| a.contexts.cmp(&b.contexts)),
            cell: Box::new(|row| What::Number(format::count(row.contexts), row.contexts.to_string())),
        },
        Column {
            key: "spans",
            title: "Spans",
            hint: "Its spans on the critical path",
            class: "num",
            priority: 3,
            order: Some(|a, b| a.spans.cmp(&b.spans)),
            cell: Box::new(|row| What::Number(format::count(row.spans), row.spans.to_string())),
        },
        Column {
            key: "errors",
            title: "Errors",
            hint: "Error spans among them",
            class: "num",
            priority: 3,
            order: Some(|a, b| a.errors.cmp(&b.errors)),
            cell: Box::new(|row| What::Number(format::count(row.errors), row.errors.to_string())),
        },
    ];
    let table = Table::new(
        "top-endpoints",
        "Endpoints by own time on the critical path",
        ("share", true),
        columns,
        |row: &Cost| {
            vec![
                ("data-test", "top-endpoint".to_owned()),
                ("data-service", row.endpoint.0.clone()),
                ("data-operation", row.endpoint.1.clone()),
                ("data-value", row.exclusive_us.to_string()),
            ]
        },
        move |sort| sorting.change(|address| address.sort = Some(sort)),
    );
    let (rows, again) = (table.clone(), table.clone());
    table
        .on_select(move |at| {
            if let Some(row) = rows.rows().get(at) {
                choosing.select(Selection::Endpoint(row.endpoint.clone()));
            }
        })
        .on_open(move |at| {
            if let Some(row) = again.rows().get(at) {
                opening.change(|address| {
                    address.search = row.endpoint.1.clone();
                    address.view = View::Flame;
                });
            }
        })
}

impl Part for Findings {
    fn update(&mut self, page: &Page) {
        let overview = page.asks().overview.get().filter(|overview| overview.traces > 0);
        let shown = overview.is_some() && page.address().view == View::Findings;
        self.element.show(shown);
        let Some(overview) = overview.filter(|_| shown) else { return };
        let asks = page.asks();
        let now = (asks.overview.revision(), asks.path.revision());
        if self.shown.0 != now.0 {
            self.summary(&overview);
            self.chosen = None;
        }
        if let Some(report) = asks.path.get().filter(|_| self.shown.1 != now.1 || self.shown.0 != now.0) {
            self.path(page, &report);
        }
        self.shown = now;
        self.top.set_stale(asks.path.is_waiting());
        self.headline.class_if("stale", asks.path.is_waiting());
        self.top.set_sort(page.address().sort.as_ref());
        let text = page.address().search.clone();
        let searched = Some((text.clone(), now.0 + now.1));
        if self.searched != searched {
            self.searched = searched;
            let hits = |names: &mut dyn Iterator<Item = (String, String)>| {
                (!text.is_empty())
                    .then(|| Rc::new(names.map(|(s, o)| fits(&text, &[&s, &o])).collect::<Vec<bool>>()))
            };
            let (types, top) = (self.types.rows(), self.top.rows());
            self.types.set_hits(hits(
                &mut types.iter().map(|row| (row.kind.service.clone(), row.kind.operation.clone())),
            ));
            let found = hits(&mut top.iter().map(|row| row.endpoint.clone()));
            let matches = found.as_ref().map_or(0, |found| found.iter().filter(|hit| **hit).count());
            let share = found.as_ref().map(|found| {
                found.iter().zip(top.iter()).filter(|(hit, _)| **hit).map(|(_, row)| row.share).sum()
            });
            self.top.set_hits(found);
            let table = self.top.clone();
            self.search.tell(matches as u64, share, move |page, forward| {
                if let Some(row) = table
                    .neighbour(forward)
                    .and_then(|at| table.rows().get(at).map(|row| row.endpoint.clone()))
                {
                    page.select(Selection::Endpoint(row));
                }
            });
        }
        let rows = self.top.rows();
        let selected = match &*page.selection() {
            Selection::Endpoint(endpoint) => rows.iter().position(|row| row.endpoint == *endpoint),
            _ => None,
        };
        self.top.select(selected);
        let subject = page.address().subject.clone();
        if self.chosen.as_ref() != Some(&subject) {
            let rows = self.types.rows();
            self.types.select(match &subject {
                Subject::Endpoint { service, operation } => rows
                    .iter()
                    .position(|row| row.kind.service == *service && row.kind.operation == *operation),
                Subject::TraceRoots => None,
            });
            self.chosen = Some(subject);
        }
    }
}
