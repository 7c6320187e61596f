//! The aggregate trace of the chosen line: its spans and subspans, with their statistics on hover.

use crate::page::{Focus, Page};
use crate::views::timeline::chart::Spans;
use pathlight_engine::diagnosis::AggregateTrace;
use pathlight_trace::Endpoint;
use pathlight_view::diagnosis;
use pathlight_view::say::tip::TipLine;
use pathlight_view::search::finder::Finder;
use pathlight_view::timeline::chart::Timeline;
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

    /// Returns the aggregate trace.
    pub fn trace(&self) -> std::cell::Ref<'_, AggregateTrace> {
        self.trace.borrow()
    }

    /// Shows that a row was chosen, or none.
    pub fn choose(&self, page: Page, at: Option<u32>) {
        self.chosen.set(at);
        page.set_focus(at.and_then(|at| self.endpoint(at)).map_or(Focus::Nothing, Focus::Endpoint));
    }

    /// Returns the rows of the spans that a search finds.
    pub fn found(&self, finder: &Finder) -> Vec<u32> {
        let is_found =
            |row: &u32| self.endpoint(*row).is_some_and(|endpoint| finder.fits_endpoint(endpoint.names()));
        (0..self.order.borrow().len() as u32).filter(is_found).collect()
    }

    fn endpoint(&self, row: u32) -> Option<Endpoint> {
        let trace = self.trace.borrow();
        let span = trace.spans.get(*self.order.borrow().get(row as usize)? as usize)?;
        Some(Endpoint::new(&span.service, &span.operation))
    }
}

impl Spans for AggregateSpans {
    fn selected(&self, page: Page, timeline: &Timeline) -> Option<u32> {
        let Focus::Endpoint(endpoint) = page.focus().clone() else { return None };
        let is_it = |row: &u32| self.endpoint(*row).as_ref() == Some(&endpoint);
        let chosen = self.chosen.get().filter(|row| (*row as usize) < timeline.len());
        chosen.filter(is_it).or_else(|| (0..timeline.len() as u32).find(is_it))
    }

    fn tip(&self, timeline: &Timeline, at: u32, part: Option<u32>) -> Vec<TipLine> {
        let number = self.order.borrow().get(at as usize).copied();
        let of = |number| diagnosis::tip(&self.trace.borrow(), number, (timeline, at), part);
        number.map_or_else(Vec::new, of)
    }
}

/// The spans, shared by the chart and the view.
pub type SharedSpans = Rc<AggregateSpans>;
