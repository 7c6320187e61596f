//! The aggregate trace of the chosen line: its spans and subspans, with their statistics on hover.

use crate::ui::dom::{El, div, span};
use crate::ui::page::{Focus, Page};
use crate::ui::views::trace::source::Spans;
use crate::ui::widgets::names;
use pathlight_chart::timeline::Timeline;
use pathlight_query::{AggregateTrace, Endpoint, Statistic, TraceReport};
use pathlight_text::format;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The spans of an aggregate trace.
#[derive(Default)]
pub struct AggregateSpans {
    trace: RefCell<AggregateTrace>,
    /// By row of the timeline, the number of the span.
    order: RefCell<Vec<u32>>,
    /// The row chosen last.
    chosen: Cell<Option<u32>>,
}

impl AggregateSpans {
    /// Takes another aggregate trace; the timeline to be drawn.
    pub fn take(&self, trace: &AggregateTrace) -> Timeline {
        let (timeline, order) = Timeline::of_aggregate(trace);
        let problem = trace.problem.and_then(|problem| order.iter().position(|at| *at == problem.span));
        self.chosen.set(problem.map(|row| row as u32));
        self.trace.replace(trace.clone());
        self.order.replace(order);
        timeline
    }

    /// The aggregate trace.
    pub fn trace(&self) -> std::cell::Ref<'_, AggregateTrace> {
        self.trace.borrow()
    }

    /// A row was chosen, or none.
    pub fn choose(&self, page: Page, at: Option<u32>) {
        self.chosen.set(at);
        page.set_focus(at.and_then(|at| self.endpoint(at)).map_or(Focus::Nothing, Focus::Endpoint));
    }

    fn endpoint(&self, row: u32) -> Option<Endpoint> {
        let trace = self.trace.borrow();
        let span = trace.spans.get(*self.order.borrow().get(row as usize)? as usize)?;
        Some(Endpoint::new(&span.service, &span.operation))
    }
}

fn statistic(us: &Statistic) -> El {
    div("").text(&format!(
        "{} on average, p50 {}, p99 {} ({})",
        format::duration(us.mean),
        format::duration(us.p50),
        format::duration(us.p99),
        format::sample(us.count)
    ))
}

impl Spans for AggregateSpans {
    fn selected(&self, page: Page, timeline: &Timeline) -> Option<u32> {
        let Focus::Endpoint(endpoint) = page.focus().clone() else { return None };
        let is_it = |row: &u32| self.endpoint(*row).as_ref() == Some(&endpoint);
        let chosen = self.chosen.get().filter(|row| (*row as usize) < timeline.len());
        chosen.filter(is_it).or_else(|| (0..timeline.len() as u32).find(is_it))
    }

    fn tip(&self, timeline: &Timeline, at: u32, part: Option<u32>) -> Vec<El> {
        let (trace, order) = (self.trace.borrow(), self.order.borrow());
        let Some(shown) = order.get(at as usize).and_then(|at| trace.spans.get(*at as usize)) else {
            return Vec::new();
        };
        let mut lines = vec![names::endpoint(&shown.service, &shown.name), statistic(&shown.duration_us)];
        if timeline.bit(at, TraceReport::ON_PATH) {
            lines.push(span("muted", "on the critical path of the aggregate trace"));
        }
        if let Some(subspan) = part.and_then(|part| shown.subspans.get(part as usize)) {
            lines.push(div("strong").text(&format::printable(&subspan.name)));
            lines.push(statistic(&subspan.duration_us));
            if timeline.problem_of(at).map(|part| part.index) == part {
                lines.push(div("strong").text("The problematic subspan"));
            }
        }
        if trace.order_varies {
            lines.push(span(
                "muted",
                "The order of calls varies: where spans lie is the mean over all orders",
            ));
        }
        lines
    }
}

/// Shared by the picture and the view.
pub type Shown = Rc<AggregateSpans>;
