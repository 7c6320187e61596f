//! Matches of a search among the spans of a timeline.

/// The spans that a search found.
#[derive(Clone, Debug, Default)]
pub struct SpanMatches {
    spans: Vec<u32>,
}

impl SpanMatches {
    /// Returns spans that were found elsewhere; they come ascending.
    pub fn of(spans: Vec<u32>) -> SpanMatches {
        SpanMatches { spans }
    }

    /// Returns whether a span was found.
    pub fn contains(&self, span: u32) -> bool {
        self.spans.binary_search(&span).is_ok()
    }

    /// Returns whether a span from `from` to before `to` was found.
    pub fn any(&self, from: u32, to: u32) -> bool {
        self.spans.get(self.spans.partition_point(|&span| span < from)).is_some_and(|&span| span < to)
    }

    /// Returns whether one of these siblings, ascending, or a span below them was found; `end` gives where what is
    /// below one ends.
    pub fn any_below(&self, siblings: &[u32], end: impl Fn(u32) -> u32) -> bool {
        let mut at = 0;
        while let Some(&sibling) = siblings.get(at) {
            let next = self.spans.partition_point(|&span| span < sibling);
            let Some(&found) = self.spans.get(next) else { return false };
            if found < end(sibling) {
                return true;
            }
            // Those in between have nothing found below them.
            at = siblings.partition_point(|&one| one <= found).saturating_sub(1).max(at + 1);
        }
        false
    }

    /// Returns the spans found, ascending.
    pub fn spans(&self) -> &[u32] {
        &self.spans
    }

    /// Returns the next found span after one, or the one before it, around the end; `None` if nothing was found.
    pub fn step(&self, from: Option<u32>, forward: bool) -> Option<u32> {
        let spans = &self.spans;
        let next = match (from, forward) {
            (None, true) => spans.first(),
            (None, false) => spans.last(),
            (Some(from), true) => spans.get(spans.partition_point(|&s| s <= from)).or(spans.first()),
            (Some(from), false) => {
                let before = spans.partition_point(|&s| s < from);
                before.checked_sub(1).and_then(|i| spans.get(i)).or(spans.last())
            }
        };
        next.copied()
    }
}
