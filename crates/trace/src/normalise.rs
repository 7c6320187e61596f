//! From spans with parent ids to trees (`docs/definitions/critical-path.md` section 1): repeated ids, parents, shared
//! client/server ids, cycles, missing starts, and one canonical order.
//!
//! Nothing here depends on the order in which spans came, and every step is at most O(n log n).

use super::parents::references;
use super::{Flags, NO_ROW, RawSpan, SpanId, SpanKind, TraceId, TraceSet};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use pathlight_base::sort::{CompactSort as _, sort_by_number};
use pathlight_base::steps::{BLOCK, blocks};
use std::cmp::Ordering;
use std::hash::Hasher as _;
use std::ops::Range;

/// Shape of the forest of one trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceShape {
    /// Number of roots, orphan roots included.
    pub roots: u32,
    /// Number of orphan roots: missing parents and cut cycles.
    pub orphans: u32,
    /// Number of cycles cut.
    pub cycles: u32,
    /// Duplicate spans dropped in favour of another of the same id, identical copies not counted.
    pub duplicates: u32,
}

impl TraceShape {
    /// Returns whether no root is parentless: the trace root is then an orphan.
    pub fn is_incomplete(&self) -> bool {
        self.roots == self.orphans
    }
}

/// Scratch space of normalising, kept between traces.
#[derive(Default)]
pub(super) struct Normaliser {
    /// The live spans of the last trace; at its end with missing starts filled in.
    pub spans: Vec<RawSpan>,
    /// The result: index into `spans` and the place of its parent in this very list, in pre-order.
    pub order: Vec<(u32, u32)>,
    parents: Vec<u32>,
    /// Every parent stands before its children, so there is no cycle.
    has_parents_first: bool,
    by_id: HashTable<u32>,
    keys: Vec<(u64, u32)>,
    sorted: Vec<u32>,
    children: Vec<u32>,
    child_at: Vec<u32>,
    stack: Vec<(u32, u32)>,
    mark: Vec<u32>,
}

fn hash_id(id: SpanId) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write_u64(id.bits);
    hasher.finish()
}

impl Normaliser {
    /// Normalises one trace; takes `input` and leaves it empty.
    pub fn run(&mut self, set: &mut TraceSet, id: TraceId, input: &mut Vec<RawSpan>) -> TraceShape {
        let mut shape = TraceShape::default();
        std::mem::swap(&mut self.spans, input);
        input.clear();
        // Identical copies gone, what still repeats are pairs.
        let has_pairs = self.index_ids() && {
            self.resolve_repeats(set, id, &mut shape);
            self.index_ids()
        };
        self.find_parents(set, has_pairs);
        self.cut_cycles(set, &mut shape);
        self.fill_starts();
        self.write_order(set, &mut shape);
        shape
    }

    /// Fills the id table with the first span of each id; whether an id repeats.
    fn index_ids(&mut self) -> bool {
        if self.by_id.capacity() > 4 * self.spans.len() + 1024 {
            self.by_id = HashTable::new();
        }
        self.by_id.clear();
        let Normaliser { spans, by_id, .. } = self;
        by_id.reserve(spans.len(), |&j| hash_id(spans[j as usize].id));
        let mut repeats = false;
        for block in blocks(self.spans.len()) {
            repeats |= self.index_block(block);
        }
        repeats
    }

    #[inline(never)]
    fn index_block(&mut self, block: Range<usize>) -> bool {
        let Normaliser { spans, by_id, .. } = self;
        let mut repeats = false;
        for i in block {
            let id = spans[i].id;
            if id.is_none() {
                continue;
            }
            let is_same = |&j: &u32| spans[j as usize].id == id;
            match by_id.entry(hash_id(id), is_same, |&j| hash_id(spans[j as usize].id)) {
                Entry::Occupied(_) => repeats = true,
                Entry::Vacant(place) => {
                    place.insert(i as u32);
                }
            }
        }
        repeats
    }

    /// Merges identical copies, pairs a client and a server of one id, and puts other duplicates aside.
    fn resolve_repeats(&mut self, set: &mut TraceSet, trace: TraceId, shape: &mut TraceShape) {
        self.spans.compact_sort_by(|a, b| a.id.cmp(&b.id).then_with(|| better_first(a, b, set)));
        let mut kept: Vec<RawSpan> = Vec::with_capacity(self.spans.len());
        for group in self.spans.chunk_by(|a, b| a.id == b.id && !a.id.is_none()) {
            let first = kept.len();
            for span in group {
                match kept[first..].last_mut() {
                    Some(last) if same_span(last, span, set) => {
                        last.tags = set.tags.union(last.tags, span.tags);
                        last.flags.0 |= span.flags.0 & Flags::ERROR;
                        set.copies += 1;
                    }
                    _ => kept.push(*span),
                }
            }
            if kept.len() - first < 2 {
                continue;
            }
            let of_kind = |kind| kept[first..].iter().position(|s| s.flags.kind() == kind).map(|i| first + i);
            // The client goes first: `pair` relies on it.
            let winners = match (of_kind(SpanKind::Client), of_kind(SpanKind::Server)) {
                (Some(client), Some(server)) => vec![client, server],
                _ => vec![first],
            };
            let lost = (first..kept.len()).filter(|i| !winners.contains(i)).map(|i| (trace, kept[i]));
            set.duplicates.extend(lost);
            shape.duplicates += (kept.len() - first - winners.len()) as u32;
            let won: Vec<RawSpan> = winners.iter().map(|&i| kept[i]).collect();
            kept.truncate(first);
            kept.extend(won);
        }
        self.spans = kept;
    }

    /// Returns the live span that children of `id` belong to.
    fn find(&self, id: SpanId) -> Option<u32> {
        self.by_id.find(hash_id(id), |&j| self.spans[j as usize].id == id).copied()
    }

    /// Decides flags and parents; `has_pairs` says whether any id is that of a client and a server.
    fn find_parents(&mut self, set: &TraceSet, has_pairs: bool) {
        self.parents.clear();
        self.parents.resize(self.spans.len(), NO_ROW);
        if has_pairs {
            self.pair();
        }
        let mut last = (SpanId::NONE, None);
        self.has_parents_first = true;
        for block in blocks(self.spans.len()) {
            self.find_parents_of(set, block, has_pairs, &mut last);
        }
    }

    /// Makes the server of each pair the child of its client; children of their id belong to the server.
    fn pair(&mut self) {
        let Normaliser { spans, by_id, parents, .. } = self;
        for (i, span) in spans.iter().enumerate() {
            if span.id.is_none() || span.flags.kind() != SpanKind::Server {
                continue;
            }
            // The client, being first, is in the table.
            let entry = by_id.find_mut(hash_id(span.id), |&j| spans[j as usize].id == span.id);
            if let Some(client) = entry.filter(|first| **first as usize != i) {
                parents[i] = std::mem::replace(client, i as u32);
            }
        }
    }

    /// Decides flags and parents of some spans; `last` is the id of a parent that was looked for last, with what was found,
    /// since siblings often stand together.
    #[inline(never)]
    fn find_parents_of(
        &mut self,
        set: &TraceSet,
        block: Range<usize>,
        has_pairs: bool,
        last: &mut (SpanId, Option<u32>),
    ) {
        for i in block {
            let span = self.spans[i];
            let mut flags = span.flags;
            flags.set(Flags::ORPHAN | Flags::CYCLE, false);
            flags.set(Flags::SHARED, self.parents[i] != NO_ROW);
            flags.set(Flags::TEXT_ID, span.id.text);
            flags.set(Flags::START_MISSING, span.flags.has(Flags::START_MISSING) && span.start_us == 0);
            if flags.has(Flags::SEVERAL_PARENTS) && self.parents[i] == NO_ROW {
                self.parents[i] = self.choose_parent(set, i, &mut flags, &|_| true);
            } else if self.parents[i] == NO_ROW && !span.parent.is_none() {
                if last.0 != span.parent {
                    // Callers often stand right before what they call. Of a pair it might be the client.
                    let before = i.checked_sub(1).filter(|&i| !has_pairs && self.spans[i].id == span.parent);
                    *last = (span.parent, before.map(|i| i as u32).or_else(|| self.find(span.parent)));
                }
                match last.1 {
                    // A span is not its own parent.
                    Some(parent) if parent as usize == i || span.parent == span.id => {}
                    Some(parent) => self.parents[i] = parent,
                    None => flags.set(Flags::ORPHAN, true),
                }
            }
            self.has_parents_first &= self.parents[i] == NO_ROW || (self.parents[i] as usize) < i;
            self.spans[i].flags = flags;
        }
    }

    /// Returns the first of several references of span `i` that is to another span of the trace and that `is_fit`; of those
    /// that say `FOLLOWS_FROM` only where no other is. Without one the span is an orphan if some span is missing. Sets the
    /// flags that follow.
    fn choose_parent(
        &self,
        set: &TraceSet,
        i: usize,
        flags: &mut Flags,
        is_fit: &dyn Fn(u32) -> bool,
    ) -> u32 {
        let own = self.spans[i].id;
        let mut missing = None;
        for (id, follows_from) in references(self.spans[i].parent, &set.id_texts) {
            let parent = id.and_then(|id| self.find(id));
            match parent {
                _ if id == Some(own) => {}
                None => missing = missing.or(Some(follows_from)),
                Some(parent) if is_fit(parent) => {
                    flags.set(Flags::FOLLOWS_FROM, follows_from);
                    return parent;
                }
                Some(_) => {}
            }
        }
        flags.set(Flags::ORPHAN, missing.is_some());
        flags.set(Flags::FOLLOWS_FROM, missing.unwrap_or(false));
        NO_ROW
    }

    /// Cuts cycles: every component of the parent graph has at most one. It is cut at a span that follows from the one
    /// above, for that is a link to a span below it and no fault; else at one that names other spans too, else anywhere;
    /// of several at the one that starts first.
    fn cut_cycles(&mut self, set: &TraceSet, shape: &mut TraceShape) {
        if self.has_parents_first {
            return;
        }
        self.mark.clear();
        self.mark.resize(self.spans.len(), 0);
        let mut cuts = Vec::new();
        for block in blocks(self.spans.len()) {
            self.cut_cycles_from(block, set, &mut cuts);
        }
        self.try_other_parents(set, &mut cuts);
        for &cut in &cuts {
            let flags = &mut self.spans[cut as usize].flags;
            let is_link = flags.has(Flags::FOLLOWS_FROM);
            flags.set(Flags::CYCLE, !is_link);
            shape.cycles += u32::from(!is_link);
        }
    }

    #[inline(never)]
    fn cut_cycles_from(&mut self, block: Range<usize>, set: &TraceSet, cuts: &mut Vec<u32>) {
        for i in block {
            let stamp = i as u32 + 1;
            let mut at = i as u32;
            while at != NO_ROW && self.mark[at as usize] == 0 {
                self.mark[at as usize] = stamp;
                at = self.parents[at as usize];
            }
            if at == NO_ROW || self.mark[at as usize] != stamp {
                continue;
            }
            let strength = |span: u32| match self.spans[span as usize].flags {
                flags if flags.has(Flags::FOLLOWS_FROM) => 0,
                flags if flags.has(Flags::SEVERAL_PARENTS) => 1,
                _ => 2,
            };
            let mut cut = at;
            let mut walk = self.parents[at as usize];
            while walk != at {
                let order = strength(walk).cmp(&strength(cut));
                if order.then_with(|| sibling_order(&self.spans, set, walk, cut)) == Ordering::Less {
                    cut = walk;
                }
                walk = self.parents[walk as usize];
            }
            self.parents[cut as usize] = NO_ROW;
            cuts.push(cut);
        }
    }

    /// Gives spans at which cycles were cut the next of their references that is to no span below them; takes out of the
    /// list those that found one, or that are orphans.
    fn try_other_parents(&mut self, set: &TraceSet, cuts: &mut Vec<u32>) {
        if !cuts.iter().any(|&cut| self.spans[cut as usize].flags.has(Flags::SEVERAL_PARENTS)) {
            return;
        }
        cuts.compact_sort_by(|&a, &b| sibling_order(&self.spans, set, a, b));
        // By span one above it, ever nearer to its root.
        let above = std::cell::RefCell::new(self.parents.clone());
        let root_of = |mut span: u32| {
            let mut above = above.borrow_mut();
            while above[span as usize] != NO_ROW {
                let next = above[span as usize];
                if above[next as usize] != NO_ROW {
                    above[span as usize] = above[next as usize];
                }
                span = next;
            }
            span
        };
        let mut is_resolved = vec![false; cuts.len()];
        for (&cut, is_resolved) in cuts.iter().zip(&mut is_resolved) {
            let mut flags = self.spans[cut as usize].flags;
            if !flags.has(Flags::SEVERAL_PARENTS) {
                continue;
            }
            let parent = self.choose_parent(set, cut as usize, &mut flags, &|parent| root_of(parent) != cut);
            *is_resolved = parent != NO_ROW || flags.has(Flags::ORPHAN);
            if *is_resolved {
                self.spans[cut as usize].flags = flags;
                self.parents[cut as usize] = parent;
                above.borrow_mut()[cut as usize] = parent;
            }
        }
        let mut is_resolved = is_resolved.into_iter();
        cuts.retain(|_| !is_resolved.next().unwrap_or(false));
    }

    /// Gives spans without a start that of their parent, roots that of the earliest span below.
    ///
    /// An explicit 0 is a real start where the trace itself stands at 0 (hand-made traces do): when the span, taken from
    /// 0, touches what it is to be placed by.
    fn fill_starts(&mut self) {
        if self.spans.iter().all(|span| span.start_us != 0) {
            return;
        }
        let n = self.spans.len();
        // Parents before children, by counting down each span's distance to its root.
        let mut topological: Vec<u32> = Vec::with_capacity(n);
        self.link_children((0..n as u32).collect());
        topological.extend((0..n as u32).filter(|&i| self.parents[i as usize] == NO_ROW));
        let mut at = 0;
        while at < topological.len() {
            let i = topological[at] as usize;
            topological
                .extend_from_slice(&self.children[self.child_at[i] as usize..self.child_at[i + 1] as usize]);
            at += 1;
        }
        let raw = self.spans.iter().map(|span| span.start_us);
        let mut earliest: Vec<u64> = raw.map(|start| if start == 0 { u64::MAX } else { start }).collect();
        for &i in topological.iter().rev() {
            let parent = self.parents[i as usize];
            if parent != NO_ROW {
                earliest[parent as usize] = earliest[parent as usize].min(earliest[i as usize]);
            }
        }
        for &i in &topological {
            if self.spans[i as usize].start_us != 0 {
                continue;
            }
            let parent = self.parents[i as usize];
            let place = match parent {
                NO_ROW if earliest[i as usize] == u64::MAX => 0,
                NO_ROW => earliest[i as usize],
                _ => self.spans[parent as usize].start_us,
            };
            let span = &mut self.spans[i as usize];
            let is_real =
                !span.flags.has(Flags::START_MISSING) && parent == NO_ROW && span.duration_us >= place;
            if !is_real {
                span.start_us = place;
                span.flags.set(Flags::START_MISSING, true);
            }
        }
    }

    /// Lists the children of each span, in the order of `sorted`.
    fn link_children(&mut self, sorted: Vec<u32>) {
        let n = self.spans.len();
        self.child_at.clear();
        self.child_at.resize(n + 2, 0);
        for block in blocks(n) {
            self.count_children_of(block);
        }
        let mut before = 0;
        for block in blocks(n + 2) {
            before = sum_up(&mut self.child_at[block], before);
        }
        self.children.clear();
        self.children.resize(before as usize, 0);
        for block in blocks(n) {
            self.place_children(&sorted[block]);
        }
        self.sorted = sorted;
    }

    #[inline(never)]
    fn count_children_of(&mut self, block: Range<usize>) {
        for &parent in &self.parents[block] {
            if parent != NO_ROW {
                self.child_at[parent as usize + 2] += 1;
            }
        }
    }

    #[inline(never)]
    fn place_children(&mut self, sorted: &[u32]) {
        for &i in sorted {
            let parent = self.parents[i as usize];
            if parent != NO_ROW {
                let slot = &mut self.child_at[parent as usize + 1];
                self.children[*slot as usize] = i;
                *slot += 1;
            }
        }
    }

    /// Sorts all spans as siblings are sorted.
    fn sort(&mut self, set: &TraceSet) -> Vec<u32> {
        let Normaliser { spans, keys, .. } = self;
        // What mostly decides stands in the keys, beside each other in memory.
        keys.clear();
        keys.extend(spans.iter().zip(0..).map(|(span, i)| (span.start_us, i)));
        sort_by_number(keys);
        for equal in keys.chunk_by_mut(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1) {
            // The longer first.
            equal.iter_mut().for_each(|key| key.0 = u64::MAX - spans[key.1 as usize].duration_us);
            sort_by_number(equal);
            for alike in equal.chunk_by_mut(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
                alike.compact_sort_by(|a, b| sibling_order(spans, set, a.1, b.1));
            }
        }
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.clear();
        sorted.extend(keys.iter().map(|key| key.1));
        sorted
    }

    fn write_order(&mut self, set: &TraceSet, shape: &mut TraceShape) {
        let sorted = self.sort(set);
        self.link_children(sorted);
        let is_root = |&&i: &&u32| self.parents[i as usize] == NO_ROW;
        let is_orphan = |i: u32| self.spans[i as usize].flags.is_orphan();
        let mut roots: Vec<u32> = self.sorted.iter().filter(is_root).copied().collect();
        shape.roots = roots.len() as u32;
        shape.orphans = roots.iter().filter(|&&i| is_orphan(i)).count() as u32;
        let trace_root = roots.iter().copied().find(|&i| !is_orphan(i)).or_else(|| {
            // Roots are sorted by start: of equally long ones the earliest stays.
            roots.iter().copied().reduce(|best, i| {
                if self.spans[i as usize].duration_us > self.spans[best as usize].duration_us {
                    i
                } else {
                    best
                }
            })
        });
        // Those whose parent is missing come last.
        roots.compact_sort_by_key(|&i| is_orphan(i));
        self.order.clear();
        self.order.reserve(self.spans.len());
        self.stack.clear();
        self.stack.extend(roots.iter().rev().filter(|&&i| Some(i) != trace_root).map(|&i| (i, NO_ROW)));
        self.stack.extend(trace_root.map(|i| (i, NO_ROW)));
        while !self.stack.is_empty() {
            self.descend();
        }
    }

    /// Lists a block of spans in pre-order.
    #[inline(never)]
    fn descend(&mut self) {
        for _ in 0..BLOCK {
            let Some((i, parent)) = self.stack.pop() else { return };
            let place = self.order.len() as u32;
            self.order.push((i, parent));
            let children = self.child_at[i as usize] as usize..self.child_at[i as usize + 1] as usize;
            self.stack.extend(self.children[children].iter().rev().map(|&c| (c, place)));
        }
    }
}

/// Adds to each number those before it and `before`; returns the last.
#[inline(never)]
fn sum_up(numbers: &mut [u32], mut before: u32) -> u32 {
    for number in numbers {
        before += *number;
        *number = before;
    }
    before
}

/// Returns the order of siblings and of roots: start, longer first, smaller id; then names and kind, so that it is
/// total.
fn sibling_order(spans: &[RawSpan], set: &TraceSet, a: u32, b: u32) -> Ordering {
    let (x, y) = (&spans[a as usize], &spans[b as usize]);
    x.start_us
        .cmp(&y.start_us)
        .then_with(|| y.duration_us.cmp(&x.duration_us))
        .then_with(|| x.id.compare(y.id, &set.id_texts))
        .then_with(|| by_names(x, y, set))
}

fn by_names(a: &RawSpan, b: &RawSpan, set: &TraceSet) -> Ordering {
    let process = |s: &RawSpan| set.processes.rows[s.process.0 as usize];
    let (p, q) = (process(a), process(b));
    let name = |symbol| set.names.get(symbol);
    name(p.service)
        .cmp(name(q.service))
        .then_with(|| name(a.operation).cmp(name(b.operation)))
        .then_with(|| a.flags.kind().cmp(&b.flags.kind()))
        .then_with(|| a.parent.compare(b.parent, &set.id_texts))
        .then_with(|| a.flags.has(Flags::FOLLOWS_FROM).cmp(&b.flags.has(Flags::FOLLOWS_FROM)))
        .then_with(|| name(p.host).cmp(name(q.host)))
}

/// Returns the order within one repeated id: longer, then earlier, then smaller names; identical spans stand together.
fn better_first(a: &RawSpan, b: &RawSpan, set: &TraceSet) -> Ordering {
    b.duration_us
        .cmp(&a.duration_us)
        .then_with(|| a.start_us.cmp(&b.start_us))
        .then_with(|| by_names(a, b, set))
}

fn same_span(a: &RawSpan, b: &RawSpan, set: &TraceSet) -> bool {
    let service = |s: &RawSpan| set.processes.rows[s.process.0 as usize].service;
    (a.start_us, a.duration_us, a.operation, a.parent, a.flags.kind())
        == (b.start_us, b.duration_us, b.operation, b.parent, b.flags.kind())
        && service(a) == service(b)
}

#[cfg(test)]
#[path = "normalise_tests.rs"]
mod tests;
