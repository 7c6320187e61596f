//! The events of a span, and the subspans between them (`docs/definitions/tprof.md` section 2).

use pathlight_trace::NO_ROW;

/// An event of a span: time; rank; of a child its other end, and what the child is. The end of the span itself has none.
pub type SpanEvent = (u64, u8, u64, u32);

const CHILD_ENDS: u8 = 1;
const CHILD_STARTS: u8 = 2;
const EMPTY_CHILD_ENDS: u8 = 3;
const SPAN_ENDS: u8 = 9;

/// Returns the start and the end of a child.
pub fn child_events(start: u64, end: u64, child: u32) -> [SpanEvent; 2] {
    let ends = if start == end { EMPTY_CHILD_ENDS } else { CHILD_ENDS };
    [(start, CHILD_STARTS, end, child), (end, ends, start, child)]
}

/// Returns the end of the span, which is the last of its events.
pub fn span_end(end: u64) -> SpanEvent {
    (end, SPAN_ENDS, 0, NO_ROW)
}

/// Returns whether an event is the end of the span.
pub(super) fn is_span_end(event: &SpanEvent) -> bool {
    event.1 == SPAN_ENDS
}

/// Returns whether an event is the start of a child.
pub(super) fn is_start(event: &SpanEvent) -> bool {
    event.1 == CHILD_STARTS
}

/// A part of a span that ends when a child begins, or with the span.
pub struct Subspan {
    /// Time since the event before.
    pub us: u64,
    /// Time since the start of the child before it; at the end of the span since the last end of a child.
    pub diff_us: u64,
    /// The child that began or ended last before it; [`NO_ROW`] where it begins with the span.
    pub previous: u32,
    /// The child that begins next; [`NO_ROW`] where it ends with the span.
    pub next: u32,
}

/// Goes through the events of a span in their order.
pub struct Subspans {
    before: u64,
    child_start: u64,
    last_end: u64,
    previous: u32,
    /// Time in which a child runs.
    pub covered_us: u64,
}

impl Subspans {
    /// Starts the subspans of a span that begins then.
    pub fn new(begin: u64) -> Subspans {
        Subspans { before: begin, child_start: begin, last_end: begin, previous: NO_ROW, covered_us: 0 }
    }

    /// Returns the subspan that ends with the next event, if one does.
    pub fn pass(&mut self, event: &SpanEvent) -> Option<Subspan> {
        let &(time, _, end, child) = event;
        let diff_us = match is_start(event) {
            true => Some(time - self.child_start),
            false => is_span_end(event).then(|| time - self.last_end),
        };
        let us = time - self.before;
        let found = diff_us.map(|diff_us| Subspan { us, diff_us, previous: self.previous, next: child });
        if is_start(event) {
            self.child_start = time;
            self.covered_us += end.saturating_sub(self.last_end.max(time));
            self.last_end = self.last_end.max(end);
        }
        (self.before, self.previous) = (time, child);
        found
    }
}
