//! The data-quality report (`docs/definitions/critical-path.md` sections 1 and 2).

use super::{Flags, Role, TraceSet, Tree, UNKNOWN_SERVICE};
use pathlight_base::steps::in_blocks;
use serde::{Deserialize, Serialize};

/// Quality problems of the spans of a set; sums, so reports of parts add up with [`merge`](Self::merge).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quality {
    /// Spans cut to their parent's interval.
    pub clipped_spans: u64,
    /// Time that was cut off, in microseconds.
    pub clipped_us: u128,
    /// Duration of all spans before anything is cut, in microseconds.
    pub span_us: u128,
    /// Subtrees left out because they lie wholly outside their parent.
    pub dropped_subtrees: u64,
    /// Spans in them.
    pub dropped_spans: u64,
    /// Spans whose parent is missing, cut cycles included.
    pub orphan_roots: u64,
    /// Duration of the spans below orphan roots that are part of no request by default, in microseconds before anything is
    /// cut.
    pub orphan_us: u128,
    /// Cycles cut.
    pub cycles: u64,
    /// Spans of an id seen before, identical copies included.
    pub duplicate_spans: u64,
    /// Traces with several roots.
    pub multi_root_traces: u64,
    /// Traces without a parentless root.
    pub incomplete_traces: u64,
    /// Spans that nobody waits for, and all below them.
    pub async_spans: u64,
    /// Spans of `unknown-service`.
    pub unknown_service_spans: u64,
    /// Spans without a start, placed at their parent's.
    pub start_missing_spans: u64,
}

impl Quality {
    /// Takes note of a trace once its tree is loaded.
    pub fn observe_trace(&mut self, set: &TraceSet, tree: &Tree) {
        let shape = set.traces()[tree.trace as usize].shape;
        self.orphan_roots += u64::from(shape.orphans);
        self.cycles += u64::from(shape.cycles);
        self.multi_root_traces += u64::from(shape.roots > 1);
        self.incomplete_traces += u64::from(shape.is_incomplete());
        self.duplicate_spans += u64::from(shape.duplicates);
        let unknown = set.names.find(UNKNOWN_SERVICE);
        let (is_incomplete, mut is_left_out, mut async_end) = (tree.is_incomplete(set), false, 0);
        in_blocks(tree.len(), &mut |block| {
            for i in block.map(|i| i as u32) {
                let row = tree.row(i);
                self.span_us += u128::from(set.duration_us(row));
                if tree.parent_of(i).is_none() {
                    is_left_out = i > 0 && !is_incomplete && tree.is_orphan(set, i);
                }
                if is_left_out {
                    self.orphan_us += u128::from(set.duration_us(row));
                }
                if tree.role[i as usize] == Role::Async {
                    async_end = async_end.max(tree.subtree_end[i as usize]);
                }
                self.async_spans += u64::from(i < async_end && tree.role[i as usize] != Role::Dropped);
                self.start_missing_spans += u64::from(set.flags(row).has(Flags::START_MISSING));
                self.unknown_service_spans +=
                    u64::from(unknown.is_some_and(|u| set.process_of(row).service == u));
                match tree.role[i as usize] {
                    Role::Dropped => {
                        self.dropped_spans += 1;
                        let is_top = tree.parent_of(i).is_none_or(|p| tree.role[p as usize] != Role::Dropped);
                        self.dropped_subtrees += u64::from(is_top);
                    }
                    Role::Sync | Role::Overlay => {
                        let clipped_us = set.duration_us(row) - tree.duration_us(i);
                        self.clipped_spans += u64::from(clipped_us > 0);
                        self.clipped_us += u128::from(clipped_us);
                    }
                    Role::Root | Role::Async => {}
                }
            }
        });
        debug_assert!(tree.role.first().is_none_or(|&role| role == Role::Root));
    }

    /// Takes note of what no trace says: identical copies the set has removed.
    pub fn observe_set(&mut self, set: &TraceSet) {
        self.duplicate_spans += set.copies;
    }

    /// Adds the report of another part.
    pub fn merge(&mut self, other: &Quality) {
        self.clipped_spans += other.clipped_spans;
        self.clipped_us += other.clipped_us;
        self.span_us += other.span_us;
        self.dropped_subtrees += other.dropped_subtrees;
        self.dropped_spans += other.dropped_spans;
        self.orphan_roots += other.orphan_roots;
        self.orphan_us += other.orphan_us;
        self.cycles += other.cycles;
        self.duplicate_spans += other.duplicate_spans;
        self.multi_root_traces += other.multi_root_traces;
        self.incomplete_traces += other.incomplete_traces;
        self.async_spans += other.async_spans;
        self.unknown_service_spans += other.unknown_service_spans;
        self.start_missing_spans += other.start_missing_spans;
    }

    /// Returns the share of all span time that lies below orphan roots and so in no request by default, 0 to 1.
    pub fn orphan_share(&self) -> f64 {
        if self.span_us == 0 { 0.0 } else { self.orphan_us as f64 / self.span_us as f64 }
    }

    /// Returns the share of all span time that was clipped, 0 to 1.
    pub fn clipped_share(&self) -> f64 {
        if self.span_us == 0 { 0.0 } else { self.clipped_us as f64 / self.span_us as f64 }
    }
}
