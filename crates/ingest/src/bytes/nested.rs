//! What containers of inputs (archives, encodings, saved reports) hand their bytes to.

use super::sniff::quote;
use crate::context::{Context, Stop, WalkEnd};
use crate::report::ProblemKind;

/// An input inside a container.
pub(crate) trait Nested {
    /// Returns an input inside `layer` containers, of which nothing is read yet.
    fn inside(layer: u32) -> Self;

    /// Takes bytes.
    fn feed(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop>;

    /// Decides by what was seen, however little that is, and reads it: nothing follows that anybody wants.
    fn stop(&mut self, cx: &mut Context<'_>) -> Result<(), Stop>;

    /// Finishes reading; returns whether the input was complete.
    fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, Stop>;
}

/// Takes the result of reading a part of an input; a part that is nothing known is passed over, and noted.
pub(crate) fn pass_over_unknown<S>(
    inner: &mut Option<S>,
    result: Result<(), Stop>,
    cx: &mut Context<'_>,
) -> Result<(), Stop> {
    let (at, text) = match result {
        Err(Stop::Unknown(head, what)) => {
            let seen = if what.is_empty() { "not recognised" } else { what };
            (0, format!("passed over: {seen}, begins with {}", quote(&head)))
        }
        Err(Stop::Refused(refusal)) => (refusal.offset, format!("passed over: {}", refusal.reason)),
        Err(Stop::Summary(reason)) => (0, format!("passed over: a summary of traces, but {reason}")),
        other => return other,
    };
    *inner = None;
    cx.sink.problems.note(ProblemKind::BadMember, at, || text);
    Ok(())
}
