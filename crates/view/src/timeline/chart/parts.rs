//! The parts of a span that have names of their own: the subspans of an aggregate trace.

use pathlight_base::format;
use pathlight_engine::diagnosis::{AggregateSpan, AggregateSubspan};

/// A part of a span with a name of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpanPart {
    /// The span.
    pub span: u32,
    /// Number of the part in its span, from 0.
    pub index: u32,
    /// Start, relative to the trace.
    pub start_us: u64,
    /// End.
    pub end_us: u64,
    /// Name of the part.
    pub name: String,
    /// Place in its span, in words; nothing for the whole of a span that calls nothing.
    pub place: String,
    /// Whether it is the problematic part.
    pub is_problem: bool,
}

impl SpanPart {
    /// Returns the name, duration, and whether it is the problem, in words.
    pub fn words(&self) -> String {
        let mark = if self.is_problem { " (problematic)" } else { "" };
        format!("{} {}{mark}", self.name, format::duration_us(self.end_us.saturating_sub(self.start_us)))
    }
}

/// Returns where in a span a part lies: between which of its children.
pub fn between(previous: Option<&str>, next: Option<&str>) -> String {
    let quoted = |name: &str| format!("\u{201c}{}\u{201d}", format::printable(name));
    match (previous, next) {
        (None, None) => "itself, calling nothing".to_owned(),
        (None, Some(next)) => format!("before {}", quoted(next)),
        (Some(previous), None) => format!("after {}", quoted(previous)),
        (Some(previous), Some(next)) => format!("between {} and {}", quoted(previous), quoted(next)),
    }
}

/// Returns where in its span a subspan lies; nothing for that of a span that calls nothing.
pub(crate) fn place(subspan: &AggregateSubspan) -> Option<String> {
    let (after, before) = (subspan.after.as_deref(), subspan.before.as_deref());
    (after.is_some() || before.is_some()).then(|| between(after, before))
}

/// Returns the name of a subspan: that of its span, and what stands before and after it.
pub fn part_name(span: &AggregateSpan, subspan: &AggregateSubspan) -> String {
    let name = format::printable(&span.name);
    place(subspan).map_or(name.clone(), |place| format!("{name} {place}"))
}
