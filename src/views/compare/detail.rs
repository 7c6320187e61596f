//! The selected frame of a comparison: both sides in numbers, and a request of each to look at.

use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::Page;
use crate::widgets::{names, tip};
use pathlight_base::format;
use pathlight_engine::compare::FrameSums;
use pathlight_engine::requests::RequestRef;
use pathlight_trace::Endpoint;
use pathlight_view::address::TraceChoice;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::compare::{DiffSource, one_sided};
use pathlight_view::flame::tree;

/// Fills the panel for a call path; false if no side has it.
pub fn show(page: Page, body: &El, keep: &Listeners, path: &[Endpoint]) -> bool {
    let Some(report) = page.queries().compare.get() else { return false };
    let Some(at) = tree::find(&report, path) else { return false };
    let source = DiffSource::unlaid(report.clone(), &page.address().choices);
    let node = &report.nodes[at.index()];
    let (service, operation) = report.name(node.endpoint);
    body.add(&el("h2").child(&names::endpoint(service, operation)));
    if let Some(words) = one_sided(node) {
        body.add(&div("strong").text(words));
    }
    let caller = path.len().checked_sub(2).and_then(|at| path.get(at));
    if let Some(Endpoint { service, operation }) = caller {
        body.add(&el("h3").text("Called by"));
        body.add(&names::endpoint(service, operation));
    }
    body.add(&tip::numbers_element(&source.numbers(at)));
    body.add(&el("p").test("certainty").text(&source.certainty(at)));
    body.add(&el("p").class("muted small").text(&format!("It is {}.", source.presence(node))));
    body.add(&el("h3").text("The request of each side that spends most here"));
    let list = el("ul").class("exemplars");
    for (side, sums) in [(ComparedSide::A, &node.a), (ComparedSide::B, &node.b)] {
        if let Some(request) = sums.example.and_then(|at| report.examples.get(at as usize)) {
            list.add(&el("li").child(&example(page, keep, side, sums, request)));
        }
    }
    body.add(&list);
    true
}

fn example(page: Page, keep: &Listeners, side: ComparedSide, sums: &FrameSums, request: &RequestRef) -> El {
    let choice = TraceChoice::from(request);
    button("")
        .class("link exemplar")
        .test(&format!("example-{}", side.name()))
        .attr("data-trace", &request.trace_id)
        .attr("title", &format!("Open trace {} in the timeline", request.trace_id))
        .child(&span(&format!("side-name side-{}", side.name().to_lowercase()), side.name()))
        .child(&span("mono", &names::short_id(&request.trace_id)))
        .child(&span("", &format!("{} here", format::duration_us(sums.example_us))))
        .child(&span("muted", &format!("of {}", format::duration_us(request.latency_us))))
        .on_click(keep, move || page.open_trace_of(side, choice.clone()))
}
