//! Coverage: the part of the recorded time that the requests of some traces hold, and what holds the rest
//! (`docs/definitions/real-traces.md` section 11).

use super::{Role, TraceSet, Tree};
use pathlight_base::steps::in_blocks;
use serde::{Deserialize, Serialize};

/// Span time of some traces, and what of it no request waits for; sums, so parts add up with [`merge`](Self::merge). Times
/// are durations of spans before anything is cut, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// Traces in which there are requests.
    pub traces: u64,
    /// All their spans.
    pub span_us: u128,
    /// Time of the spans that nobody waits for, and of all below them.
    pub async_us: u128,
    /// Spans that nobody waits for, and all below them.
    pub async_spans: u64,
    /// Time of the spans below a span that is missing, in traces that have a root.
    pub unattached_us: u128,
    /// Such spans.
    pub unattached_spans: u64,
    /// Time of the spans that lie wholly outside their parent, and of all below them.
    pub dropped_us: u128,
    /// Requests whose caller is not recorded.
    pub incomplete: u64,
    /// Requests whose caller is not recorded and that are left out; their traces are not counted.
    pub left_out: u64,
}

impl Coverage {
    /// Beyond this share of the span time a part of it is reported.
    pub const MUCH: f64 = 0.05;

    /// Returns how the requests of one trace, in the order of the tree, cover it. A span counts once: as dropped, else as
    /// unattached, else as asynchronous; for a request that was chosen, what is above it does not count.
    pub fn of(set: &TraceSet, tree: &Tree, requests: &[u32]) -> Coverage {
        Coverage::counting(set, tree, requests, true)
    }

    /// Returns the same for requests that end when everything is done: what is asynchronous below them is part of them.
    pub fn until_done(set: &TraceSet, tree: &Tree, requests: &[u32]) -> Coverage {
        Coverage::counting(set, tree, requests, false)
    }

    fn counting(set: &TraceSet, tree: &Tree, requests: &[u32], ends_with_answer: bool) -> Coverage {
        let is_incomplete = tree.is_incomplete(set);
        if requests.is_empty() {
            let left_out = if is_incomplete { tree.trace_roots().count() as u64 } else { 0 };
            return Coverage { left_out, ..Coverage::default() };
        }
        let incomplete = if is_incomplete { requests.len() as u64 } else { 0 };
        let mut out = Coverage { traces: 1, incomplete, ..Coverage::default() };
        let mut next = requests.iter().copied().peekable();
        // Ends of subtrees: of the request that was entered last, of unattached spans, and of asynchronous ones, outside of
        // requests and in the last one.
        let (mut request_end, mut unattached_end, mut async_ends) = (0, 0, [0, 0]);
        in_blocks(tree.len(), &mut |block| {
            for i in block.map(|i| i as u32) {
                let (role, end) = (tree.role[i as usize], tree.subtree_end[i as usize]);
                if next.next_if_eq(&i).is_some() {
                    (request_end, async_ends[1]) = (end, 0);
                }
                let is_inside = i < request_end;
                if role == Role::Root && !is_inside && tree.is_orphan(set, i) {
                    unattached_end = end;
                }
                let async_end = &mut async_ends[usize::from(is_inside)];
                if role == Role::Async {
                    *async_end = end.max(*async_end);
                }
                let us = u128::from(set.duration_us(tree.row(i)));
                out.span_us += us;
                if role == Role::Dropped {
                    out.dropped_us += us;
                } else if !is_inside && i < unattached_end {
                    out.unattached_us += us;
                    out.unattached_spans += 1;
                } else if i < *async_end && (ends_with_answer || !is_inside) {
                    out.async_us += us;
                    out.async_spans += 1;
                }
            }
        });
        out
    }

    /// Returns the coverage of a trace of which no more is to say than how long its spans take.
    pub fn of_plain(span_us: u64) -> Coverage {
        Coverage { traces: 1, span_us: span_us.into(), ..Coverage::default() }
    }

    /// Adds the coverage of other traces.
    pub fn merge(&mut self, other: &Coverage) {
        self.traces += other.traces;
        self.span_us += other.span_us;
        self.async_us += other.async_us;
        self.async_spans += other.async_spans;
        self.unattached_us += other.unattached_us;
        self.unattached_spans += other.unattached_spans;
        self.dropped_us += other.dropped_us;
        self.incomplete += other.incomplete;
        self.left_out += other.left_out;
    }

    /// Returns a part of the span time as a share of all of it, 0 to 1.
    pub fn share(&self, us: u128) -> f64 {
        if self.span_us == 0 { 0.0 } else { us as f64 / self.span_us as f64 }
    }
}
