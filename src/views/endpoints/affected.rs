//! Root endpoints that an endpoint affects, and the savings of a faster one: the detail of the ranking.

use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::Page;
use crate::shell::jump::Jump;
use crate::widgets::{names, tip};
use pathlight_base::format;
use pathlight_engine::requests::RootEndpoint;
use pathlight_trace::Endpoint;
use pathlight_view::endpoints;

/// Root endpoints listed at most.
const LISTED: usize = 50;

/// Fills `body` with the root endpoints that `endpoint` takes time of, each a way to its place in the flame graph.
pub fn fill(page: Page, keep: &Listeners, body: &El, jump: &Jump, endpoint: &Endpoint) {
    let queries = page.queries();
    let Some(report) = queries.impact.get() else { return };
    let row = report
        .rows
        .iter()
        .find(|row| report.name(row.endpoint) == (endpoint.service.as_str(), endpoint.operation.as_str()));
    let Some(row) = row else {
        body.add(&el("p").class("muted").text("No critical path of these requests has this endpoint."));
        return;
    };
    let facts = el("dl").class("pairs");
    let pair = |name: &str, test: &str, value: &str| {
        facts.add(&el("dt").text(name));
        facts.add(&el("dd").test(test).text(value));
    };
    pair("Impact", "impact", &format::duration_us(row.exclusive_us));
    pair("Share of all latency", "impact-share", &format::share(report.share(row)));
    let of = format!("{} of {}", format::count(row.requests), format::count(report.facts.requests));
    pair("Requests", "impact-requests", &of);
    body.add(&facts);
    let savings = queries.savings.get().filter(|_| page.address().range.is_all());
    let saving = savings.as_ref().and_then(|savings| {
        savings
            .endpoints
            .iter()
            .find(|saving| (&saving.service, &saving.operation) == (&endpoint.service, &endpoint.operation))
    });
    // First: it answers whether it is worth it.
    if let Some(saving) = saving {
        body.add(&el("h3").text("What-if: saved of the latency of all requests"));
        body.add(&tip::numbers_element(&endpoints::savings(saving)).test("savings"));
    }
    body.add(&el("h3").text("Affected root endpoints, with its share in each"));
    let list = el("ul").class("exemplars").test("affected");
    for affected in row.affected.iter().take(LISTED) {
        let root = report.roots[affected.root as usize];
        let (service, operation) = report.name(root.endpoint);
        let root = RootEndpoint::Endpoint(Endpoint::new(service, operation));
        let (jump, endpoint) = (jump.clone(), endpoint.clone());
        let place = button("")
            .class("link exemplar")
            .test("affected-root")
            .attr("data-service", service)
            .attr("data-operation", operation)
            .attr("data-value", &affected.exclusive_us.to_string())
            .attr("title", "Show its place in the flame graph of this root endpoint")
            .child(&names::endpoint(service, operation))
            .child(&span("num", &format::share(report.share_in(affected))))
            .on_click(keep, move || jump.to(page, root.clone(), endpoint.clone()));
        list.add(&el("li").child(&place));
    }
    body.add(&list);
    let more = row.affected.len().saturating_sub(LISTED);
    if more > 0 {
        body.add(&div("muted small").text(&format!("and {more} more; the CSV export has all")));
    }
}
