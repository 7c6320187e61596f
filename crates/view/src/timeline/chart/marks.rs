//! Marks of the spans of a trace, in words: for the tip, the detail, the table and the exported chart.

use pathlight_engine::flame::TraceReport;

/// Mark of a span: a letter and words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Bit of the report.
    pub bit: u8,
    /// In a word or a few.
    pub word: &'static str,
    /// In a sentence without a full stop.
    pub words: &'static str,
}

const fn mark(bit: u8, word: &'static str, words: &'static str) -> Mark {
    Mark { bit, word, words }
}

/// Marks in the order in which they are said.
const MARKS: [Mark; 8] = [
    mark(TraceReport::ERROR, "error", "error"),
    mark(TraceReport::ON_PATH, "path", "on the critical path"),
    mark(TraceReport::ASYNC, "async", "asynchronous: its parent does not wait for it"),
    mark(TraceReport::CLIPPED, "clipped", "clipped: partly outside its parent"),
    mark(TraceReport::DROPPED, "dropped", "dropped: wholly outside its parent"),
    mark(TraceReport::ORPHAN, "orphan", "its caller is missing"),
    mark(
        TraceReport::OVERLAY,
        "overlay",
        "only covers the calls beside it, or is local work beside them, which is hidden with it: nothing waits for it",
    ),
    mark(TraceReport::MOVED, "moved", "its clock was corrected by that of its caller"),
];

/// In place of "clipped" where no clock is to blame.
const STOPPED: Mark =
    mark(TraceReport::CLIPPED, "caller stopped waiting", "the caller stopped waiting; cut at its end");

/// In place of "async" where the times say so, not the one who recorded them.
const OUTLIVES: Mark = mark(
    TraceReport::ASYNC,
    "outlives its parent",
    "asynchronous: it goes on after its parent has ended, so that one does not wait for it",
);

/// Likewise of a callee.
const GAVE_UP: Mark =
    mark(TraceReport::ASYNC, "caller gave up", "asynchronous: it began after its caller gave up");

/// Returns what a span is.
pub fn marks(report: &TraceReport, span: u32) -> impl Iterator<Item = Mark> {
    let bits = report.bits.get(span as usize).copied().unwrap_or(0);
    MARKS.into_iter().filter(move |mark| bits & mark.bit != 0).map(move |mark| match mark.bit {
        TraceReport::CLIPPED if report.is_caller_stopped(span) => STOPPED,
        TraceReport::ASYNC if report.is_outlives_parent(span) => OUTLIVES,
        TraceReport::ASYNC if report.is_caller_gave_up(span) => GAVE_UP,
        _ => mark,
    })
}
