//! Offsets between the clocks of processes (`docs/definitions/real-traces.md` section 7), from raw times.

use super::calls::{callee, process_of};
use super::{Role, SpanKind, Symbol, TraceSet, Tree};
use hashbrown::HashMap;
use pathlight_base::sort::CompactSort as _;
use rustc_hash::FxBuildHasher;

/// A shift this small is applied only where a callee would be dropped without it.
const SMALL_US: u64 = 1_000;
/// A shift beyond this is taken for a clock's only if some callee covers half of its call.
const LARGE_US: u64 = 100_000;

/// Service and host of a caller and of its callee.
pub(super) type Pair = ((Symbol, Symbol), (Symbol, Symbol));

/// Evidence of the calls between two processes in one trace.
#[derive(Default)]
struct Seen {
    /// Both ends of all intervals of shifts that put a callee inside its call.
    ends_us: Vec<i64>,
    /// Whether a callee lies wholly outside its call.
    is_outside: bool,
    /// Whether a callee covers half of its call.
    covers_half: bool,
}

impl Seen {
    /// Returns how far callees move: the value within most intervals that is nearest 0; `None` if they stay.
    fn shift_us(mut self) -> Option<i64> {
        self.ends_us.compact_sort();
        let middle = self.ends_us.len() / 2;
        // Between the middle ends the total overrun is least; where all intervals meet, that is where.
        let (from, to) = (self.ends_us[middle - 1], self.ends_us[middle]);
        let shift = 0.clamp(from, to);
        let size = shift.unsigned_abs();
        let is_needed = size > SMALL_US || size > 0 && self.is_outside;
        (is_needed && (size <= LARGE_US || self.covers_half)).then_some(shift)
    }
}

/// Returns whether both halves tell that they are of different machines: both have a kind, or both a host of its own.
pub(super) fn qualifies(set: &TraceSet, call: u32, callee: u32) -> bool {
    let has_kind = |row| set.kind(row) != SpanKind::Unspecified;
    let (from, to) = (process_of(set, call).1, process_of(set, callee).1);
    has_kind(call) && has_kind(callee) || from != to && from != Symbol::NONE && to != Symbol::NONE
}

/// Clock offset of each pair of processes: callees move by it, in microseconds.
pub(super) type Offsets = HashMap<Pair, i64, FxBuildHasher>;

/// Returns the offsets between processes in a tree with raw times and provisional roles.
pub(super) fn offsets(set: &TraceSet, tree: &Tree) -> Offsets {
    let mut seen: HashMap<Pair, Seen, FxBuildHasher> = HashMap::default();
    for call in 0..tree.len() as u32 {
        if tree.subtree_end[call as usize] == call + 1 {
            continue;
        }
        // Nobody waits for what is asynchronous: it may lie anywhere.
        let callee = callee(set, tree, call).filter(|&callee| tree.role[callee as usize] == Role::Sync);
        let Some(callee) = callee else { continue };
        let pair = pair_of(set, tree, call, callee);
        if pair.0 == pair.1 || !qualifies(set, tree.row(call), tree.row(callee)) {
            continue;
        }
        let (from, to) = (tree.start_us[call as usize], tree.end_us[call as usize]);
        let (start, end) = (tree.start_us[callee as usize], tree.end_us[callee as usize]);
        if end - start > to - from {
            continue;
        }
        let seen = seen.entry(pair).or_default();
        seen.ends_us.extend([from.wrapping_sub(start) as i64, to.wrapping_sub(end) as i64]);
        seen.is_outside |= end <= from || start >= to;
        seen.covers_half |= end - start >= (to - from).div_ceil(2);
    }
    seen.into_iter().filter_map(|(pair, seen)| Some((pair, seen.shift_us()?))).collect()
}

/// Returns the processes of a parent and of its child.
pub(super) fn pair_of(set: &TraceSet, tree: &Tree, parent: u32, child: u32) -> Pair {
    (process_of(set, tree.row(parent)), process_of(set, tree.row(child)))
}

/// Returns by how much a step from a parent to a child moves the child, both given as rows.
pub(super) fn offset(set: &TraceSet, offsets: &Offsets, parent_row: u32, row: u32) -> i64 {
    offsets.get(&(process_of(set, parent_row), process_of(set, row))).copied().unwrap_or(0)
}
