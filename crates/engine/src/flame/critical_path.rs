//! The critical path of one request (`docs/definitions/critical-path.md` section 3; paper section 5.1, Listing 1).

use pathlight_trace::{NO_ROW, Overlap, TraceSet, Tree};

/// A stretch of the critical path spent in one span itself, on the moved clock; never empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Local index of the span in its [`Tree`].
    pub span: u32,
    /// Start in microseconds.
    pub start_us: u64,
    /// End in microseconds.
    pub end_us: u64,
}

/// A span on the critical path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathEntry {
    /// Local index of the span in its [`Tree`].
    pub span: u32,
    /// Index of the entry of its parent, [`NO_ROW`] for the request's root.
    pub parent: u32,
    /// Sum of its own segments in microseconds.
    pub exclusive_us: u64,
}

/// Finds critical paths; keeps its scratch space from request to request.
///
/// ```
/// use pathlight_engine::flame::PathFinder;
/// use pathlight_engine::requests::{Overlap, PathSettings};
/// use pathlight_trace::{Flags, RawSpan, SpanId, TagSetId, TraceId, TraceSet, Tree};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut set = TraceSet::new();
/// let process = set.process("shop", "", TagSetId::EMPTY);
/// let operation = set.names.intern("checkout");
/// let span = |id, parent, start_us, duration_us| RawSpan {
///     id: SpanId::hex(id),
///     parent: SpanId::hex(parent),
///     start_us,
///     duration_us,
///     operation,
///     process,
///     tags: TagSetId::EMPTY,
///     flags: Flags::default(),
/// };
/// // Span 1 takes 100 us and waits for its child from 20 to 80.
/// set.add_trace(TraceId::hex(7), &mut vec![span(1, 0, 0, 100), span(2, 1, 20, 60)])?;
/// set.seal()?;
///
/// let (mut tree, mut finder) = (Tree::default(), PathFinder::default());
/// tree.load(&set, 0, PathSettings::default());
/// finder.find(&set, &tree, 0, Overlap::default());
/// let path: Vec<_> = finder.segments().map(|s| (s.span, s.start_us, s.end_us)).collect();
/// assert_eq!(path, [(0, 0, 20), (1, 20, 80), (0, 80, 100)]);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct PathFinder {
    overlap: Overlap,
    entries: Vec<PathEntry>,
    /// Latest first.
    reversed: Vec<Segment>,
    stack: Vec<Frame>,
    /// Last finishing children of all open frames, each frame's latest first.
    waited_for: Vec<u32>,
    sorted: Vec<u32>,
    starts: Vec<u64>,
}

/// A span being walked from its end to its start. Times on the moved clock are signed: a child moved before its parent
/// may begin before zero in a trace that starts there.
struct Frame {
    entry: u32,
    span: u32,
    /// Distance this span has moved left, in microseconds.
    shift: i64,
    /// Its start as moved and clipped.
    start: i64,
    /// Everything from here to its end is walked.
    cursor: i64,
    /// Start of the child walked last, as moved.
    limit: i64,
    /// Its last finishing children are `waited_for[next..]` of this frame.
    base: usize,
    next: usize,
}

/// Place of a span on the moved clock.
struct Window {
    shift: i64,
    start: i64,
    end: i64,
}

impl PathFinder {
    /// Finds the path of the request whose root is span `root` of `tree`.
    pub fn find(&mut self, set: &TraceSet, tree: &Tree, root: u32, overlap: Overlap) {
        self.begin(set, tree, root, overlap);
        while !self.step(set, tree, usize::MAX) {}
    }

    /// Starts a resumable search; call [`step`](Self::step) until it returns true.
    pub fn begin(&mut self, set: &TraceSet, tree: &Tree, root: u32, overlap: Overlap) {
        self.clear(overlap);
        let (start, end) = (tree.start_us[root as usize] as i64, tree.end_us[root as usize] as i64);
        self.enter(set, tree, root, NO_ROW, Window { shift: 0, start, end });
    }

    fn clear(&mut self, overlap: Overlap) {
        self.overlap = overlap;
        self.entries.clear();
        self.reversed.clear();
        self.stack.clear();
        self.waited_for.clear();
    }

    /// Walks up to about `spans` spans; true when the path is complete.
    pub fn step(&mut self, set: &TraceSet, tree: &Tree, spans: usize) -> bool {
        let mut left = spans;
        while let Some(frame) = self.stack.last_mut() {
            if frame.next == self.waited_for.len() {
                let (span, from, to) = (frame.span, frame.start, frame.cursor);
                let entry = frame.entry;
                self.waited_for.truncate(frame.base);
                self.stack.pop();
                self.push_segment(entry, span, from, to);
                continue;
            }
            if left == 0 {
                return false;
            }
            let child = self.waited_for[frame.next];
            frame.next += 1;
            let (start, end) = (tree.start_us[child as usize] as i64, tree.end_us[child as usize] as i64);
            // An accepted overlap is skew: the child moves left until it ends where the later one starts.
            let shift = frame.shift.max(end - frame.limit);
            let (moved_start, moved_end) = (start - shift, end - shift);
            frame.limit = moved_start;
            let parent = frame.entry;
            if moved_end < frame.start || moved_end == frame.start && start != end {
                self.entries.push(PathEntry { span: child, parent, exclusive_us: 0 });
                left -= 1;
                continue;
            }
            let (span, cursor) = (frame.span, frame.cursor);
            let clipped_start = moved_start.max(frame.start);
            frame.cursor = clipped_start;
            self.push_segment(parent, span, moved_end, cursor);
            let entered =
                self.enter(set, tree, child, parent, Window { shift, start: clipped_start, end: moved_end });
            left = left.saturating_sub(entered);
        }
        true
    }

    /// Finds the path of a part of a tree: from its top, the first of `chain`, down to the last of it at a time, `end_us`. Each
    /// of the chain is a child of the one before. The entries of the chain are the first, and nothing is earlier than
    /// `least_us`.
    pub fn find_within(
        &mut self,
        set: &TraceSet,
        tree: &Tree,
        chain: &[u32],
        (least_us, end_us): (u64, u64),
        overlap: Overlap,
    ) {
        self.clear(overlap);
        for (place, &span) in chain.iter().enumerate() {
            let parent = self.entries.len().checked_sub(1).map_or(NO_ROW, |above| above as u32);
            let entry = self.entries.len() as u32;
            self.entries.push(PathEntry { span, parent, exclusive_us: 0 });
            let base = self.waited_for.len();
            self.sort_children(set, tree, span);
            let ended = self.sorted.partition_point(|&child| tree.end_us[child as usize] > end_us);
            let (cursor, limit) = match chain.get(place + 1) {
                Some(&child) => {
                    let start_us = tree.start_us[child as usize];
                    self.find_before(tree, span, ended, (start_us, end_us), child);
                    (start_us.max(least_us) as i64, start_us as i64)
                }
                None => {
                    if let Some(&last) = self.sorted.get(ended) {
                        self.waited_for.push(last);
                        let since = (tree.start_us[last as usize], tree.end_us[last as usize]);
                        self.find_before(tree, span, ended + 1, since, NO_ROW);
                    }
                    (end_us as i64, i64::MAX)
                }
            };
            let start = tree.start_us[span as usize].max(least_us) as i64;
            self.stack.push(Frame { entry, span, shift: 0, start, cursor, limit, base, next: base });
        }
        while !self.step(set, tree, usize::MAX) {}
    }

    fn push_segment(&mut self, entry: u32, span: u32, from: i64, to: i64) {
        if from < to {
            self.entries[entry as usize].exclusive_us += (to - from) as u64;
            self.reversed.push(Segment { span, start_us: from as u64, end_us: to as u64 });
        }
    }

    /// Opens a span; returns how many spans were looked at.
    fn enter(&mut self, set: &TraceSet, tree: &Tree, span: u32, parent: u32, window: Window) -> usize {
        let Window { shift, start, end } = window;
        let entry = self.entries.len() as u32;
        self.entries.push(PathEntry { span, parent, exclusive_us: 0 });
        let base = self.waited_for.len();
        self.find_waited_for(set, tree, span);
        // The later siblings of this span were all walked before: the frame below reads from its own `next` again.
        self.stack.push(Frame { entry, span, shift, start, cursor: end, limit: i64::MAX, base, next: base });
        1 + self.sorted.len()
    }

    /// Appends the last finishing children of `span`, latest first.
    fn find_waited_for(&mut self, set: &TraceSet, tree: &Tree, span: u32) {
        self.sort_children(set, tree, span);
        if let Some(&last) = self.sorted.first() {
            self.waited_for.push(last);
            let since = (tree.start_us[last as usize], tree.end_us[last as usize]);
            self.find_before(tree, span, 1, since, NO_ROW);
        }
    }

    /// Sorts the children that `span` waits for, latest first.
    #[inline]
    fn sort_children(&mut self, set: &TraceSet, tree: &Tree, span: u32) {
        let children = &mut self.sorted;
        children.clear();
        children.extend(tree.sync_children(span));
        self.starts.clear();
        let (starts, ends) = (&tree.start_us, &tree.end_us);
        children.sort_unstable_by(|&a, &b| {
            (ends[b as usize].cmp(&ends[a as usize]))
                .then_with(|| starts[a as usize].cmp(&starts[b as usize]))
                .then_with(|| {
                    let id = |i| set.span_id(tree.row(i));
                    id(a).compare(id(b), &set.id_texts).then(a.cmp(&b))
                })
        });
    }

    /// Appends those of the sorted children of `span`, from a place on, that happen before one over this interval, latest
    /// first; `but` is left out.
    #[inline]
    fn find_before(
        &mut self,
        tree: &Tree,
        span: u32,
        place: usize,
        (mut last_start, mut last_end): (u64, u64),
        but: u32,
    ) {
        let children = &self.sorted;
        let parent_us = tree.duration_us(span);
        for &child in &children[place..] {
            let (start, end) = (tree.start_us[child as usize], tree.end_us[child as usize]);
            let happens_before = end <= last_start
                || start < last_start
                    && end < last_end
                    && self.overlap.tolerates(end - last_start, parent_us)
                    && is_quiet(children, &mut self.starts, tree, last_start, end);
            if happens_before && child != but {
                (last_start, last_end) = (start, end);
                self.waited_for.push(child);
            }
        }
    }

    /// Returns the spans on the path: each parent before its children, siblings latest first.
    pub fn entries(&self) -> &[PathEntry] {
        &self.entries
    }

    /// Fills in the time on the path of each span of the request at `root`, the first its own, in microseconds; 0 off the path.
    pub fn span_times_us(&self, tree: &Tree, root: u32, out: &mut Vec<u64>) {
        out.clear();
        out.resize((tree.subtree_end[root as usize] - root) as usize, 0);
        for entry in &self.entries {
            out[(entry.span - root) as usize] += entry.exclusive_us;
        }
    }

    /// Returns the segments in order of time; they partition the request's root.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = Segment> + '_ {
        self.reversed.iter().rev().copied()
    }
}

/// Returns whether no child starts or ends inside the open interval `(from, to)`. `children` are sorted by end, latest
/// first; `starts` is filled on first use.
fn is_quiet(children: &[u32], starts: &mut Vec<u64>, tree: &Tree, from: u64, to: u64) -> bool {
    let end = |&c: &u32| tree.end_us[c as usize];
    let first_before = children.partition_point(|c| end(c) >= to);
    if children.get(first_before).is_some_and(|c| end(c) > from) {
        return false;
    }
    if starts.is_empty() {
        starts.extend(children.iter().map(|&c| tree.start_us[c as usize]));
        starts.sort_unstable();
    }
    let first_after = starts.partition_point(|&s| s <= from);
    starts.get(first_after).is_none_or(|&s| s >= to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::PathSettings;
    use pathlight_trace::{Flags, RawSpan, SpanId, TagSetId, TraceId};

    /// A span as (name, parent, start and end in microseconds); the first of a trace is its root. Ids go up.
    type Given = (&'static str, &'static str, u64, u64);
    type Found = Vec<(&'static str, u64, u64)>;

    fn load(spans: &[Given], overlap: Overlap) -> (TraceSet, Tree) {
        let mut set = TraceSet::new();
        let process = set.process("shop", "", TagSetId::EMPTY);
        let id = |name: &str| spans.iter().position(|span| span.0 == name).map_or(0, |at| at as u64 + 1);
        let mut raw: Vec<RawSpan> = spans
            .iter()
            .map(|&(name, parent, start_us, end_us)| RawSpan {
                id: SpanId::hex(id(name)),
                parent: SpanId::hex(id(parent)),
                start_us,
                duration_us: end_us - start_us,
                operation: set.names.intern(name),
                process,
                tags: TagSetId::EMPTY,
                flags: Flags::default(),
            })
            .collect();
        set.add_trace(TraceId::hex(7), &mut raw).unwrap();
        set.seal().unwrap();
        let mut tree = Tree::default();
        tree.load(&set, 0, PathSettings { overlap, ..PathSettings::default() });
        (set, tree)
    }

    /// Returns the name of a span of a tree.
    fn name(spans: &[Given], set: &TraceSet, tree: &Tree, span: u32) -> &'static str {
        let is_it = |number: &u64| SpanId::hex(*number) == set.span_id(tree.row(span));
        spans[(1..).find(is_it).unwrap() as usize - 1].0
    }

    fn strict() -> Overlap {
        Overlap::preset("strict").unwrap()
    }

    /// Returns the segments of the path, found at once and step by step.
    fn path(spans: &[Given], overlap: Overlap) -> Found {
        let (set, tree) = load(spans, overlap);
        let mut finder = PathFinder::default();
        finder.find(&set, &tree, 0, overlap);
        let found: Vec<Segment> = finder.segments().collect();
        let entries = finder.entries().to_vec();
        // One that is used again, for steps of one span.
        finder.begin(&set, &tree, 0, overlap);
        let mut steps = 1;
        while !finder.step(&set, &tree, 1) {
            steps += 1;
        }
        assert_eq!(finder.segments().collect::<Vec<_>>(), found);
        assert_eq!(finder.entries(), entries);
        assert_eq!(steps, (entries.len() - 1).max(1), "a step for each span below the root");
        assert_eq!(entries.iter().map(|entry| entry.exclusive_us).sum::<u64>(), tree.duration_us(0));
        let of =
            |segment: &Segment| (name(spans, &set, &tree, segment.span), segment.start_us, segment.end_us);
        found.iter().map(of).collect()
    }

    const R: Given = ("R", "", 100_000, 110_000);

    #[test]
    fn siblings_that_touch_are_all_on_the_path() {
        let spans = [
            ("R", "", 100, 200),
            ("A", "R", 110, 130),
            ("B", "R", 130, 150),
            ("C", "R", 150, 170),
            ("D", "R", 170, 190),
        ];
        let expected = [("R", 100, 110), ("A", 110, 130), ("B", 130, 150), ("C", 150, 170), ("D", 170, 190)];
        let expected = [&expected[..], &[("R", 190, 200)]].concat();
        for overlap in [Overlap::default(), strict()] {
            assert_eq!(path(&spans, overlap), expected);
        }
    }

    #[test]
    fn an_overlap_within_the_tolerance_moves_the_earlier_and_what_is_below_it() {
        let with_a =
            |end| [R, ("A", "R", 101_000, end), ("A2", "A", 102_000, 103_000), ("B", "R", 104_000, 109_000)];
        let moved = [
            ("R", 100_000, 100_900),
            ("A", 100_900, 101_900),
            ("A2", 101_900, 102_900),
            ("A", 102_900, 104_000),
            ("B", 104_000, 109_000),
            ("R", 109_000, 110_000),
        ];
        assert_eq!(path(&with_a(104_100), Overlap::default()), moved);
        let last_alone = [("R", 100_000, 104_000), ("B", 104_000, 109_000), ("R", 109_000, 110_000)];
        assert_eq!(path(&with_a(104_101), Overlap::default()), last_alone);
        assert_eq!(path(&with_a(104_100), strict()), last_alone);
    }

    #[test]
    fn an_overlap_in_which_another_begins_or_ends_is_none() {
        // A and B overlap over [104000, 104100]; X ends or starts inside it, or at its ends.
        let with_x = |start, end| {
            let spans =
                [R, ("A", "R", 101_000, 104_100), ("B", "R", 104_000, 109_000), ("X", "R", start, end)];
            path(&spans, Overlap::default()).iter().any(|segment| segment.0 == "A")
        };
        assert!(!with_x(104_050, 104_060), "within");
        assert!(!with_x(104_050, 108_000), "begins within");
        assert!(!with_x(103_000, 104_001), "ends within");
        assert!(!with_x(104_099, 108_000), "begins just within");
        assert!(with_x(104_100, 108_000), "begins where it ends");
        assert!(with_x(103_000, 104_000), "ends where it begins");
    }

    #[test]
    fn what_moves_before_its_parent_is_clipped_or_empty_there() {
        let clipped = [R, ("A", "R", 100_000, 104_050), ("B", "R", 104_000, 110_000)];
        assert_eq!(path(&clipped, Overlap::default()), [("A", 100_000, 104_000), ("B", 104_000, 110_000)]);
        // A moves to [99990, 100000], with what it calls: on the path, but nothing of it is left.
        let wholly =
            [R, ("A", "R", 100_000, 100_010), ("A2", "A", 100_002, 100_006), ("B", "R", 100_000, 110_000)];
        // B starts with A, so A does not happen before it.
        assert_eq!(path(&wholly, Overlap::default()), [("B", 100_000, 110_000)]);
        let chain = [
            R,
            ("A", "R", 100_000, 100_050),
            ("A2", "A", 100_010, 100_020),
            ("B", "R", 100_010, 100_110),
            ("C", "R", 100_050, 110_000),
        ];
        // B moves by 60 to [99950, 100050] and is clipped, A by 100 to [99900, 99950] and is empty.
        assert_eq!(path(&chain, Overlap::default()), [("B", 100_000, 100_050), ("C", 100_050, 110_000)]);
        let (set, tree) = load(&chain, Overlap::default());
        let mut finder = PathFinder::default();
        finder.find(&set, &tree, 0, Overlap::default());
        let entries = finder.entries().iter();
        let entries: Vec<_> = entries
            .map(|entry| (name(&chain, &set, &tree, entry.span), entry.parent, entry.exclusive_us))
            .collect();
        assert_eq!(
            entries,
            [("R", NO_ROW, 0), ("C", 0, 9950), ("B", 0, 50), ("A", 0, 0)],
            "A2 is not entered"
        );
    }

    #[test]
    fn an_empty_call_at_the_start_is_entered_and_one_of_which_nothing_is_left_there_is_not() {
        // A moves by 50 and is clipped at 100000, where X ends then.
        let names = |x: Given, below: Given| {
            let spans = [R, ("A", "R", 100_000, 104_050), ("B", "R", 104_000, 110_000), x, below];
            let (set, tree) = load(&spans, Overlap::default());
            let mut finder = PathFinder::default();
            finder.find(&set, &tree, 0, Overlap::default());
            finder.entries().iter().map(|entry| name(&spans, &set, &tree, entry.span)).collect::<Vec<_>>()
        };
        let gone = names(("X", "A", 100_000, 100_050), ("Y", "X", 100_010, 100_020));
        assert_eq!(gone, ["R", "B", "A", "X"]);
        let empty = names(("X", "A", 100_050, 100_050), ("Y", "X", 100_050, 100_050));
        assert_eq!(empty, ["R", "B", "A", "X", "Y"]);
    }

    #[test]
    fn of_two_that_end_together_the_earlier_is_waited_for_and_then_the_lower_id() {
        let spans =
            [R, ("A", "R", 103_000, 109_000), ("B", "R", 102_000, 109_000), ("C", "R", 102_000, 109_000)];
        let expected = [("R", 100_000, 102_000), ("B", 102_000, 109_000), ("R", 109_000, 110_000)];
        assert_eq!(path(&spans, Overlap::default()), expected);
    }

    #[test]
    fn of_a_part_nothing_is_earlier_or_later_than_it() {
        let spans = [
            R,
            ("A", "R", 100_500, 101_500),
            ("B", "R", 102_000, 106_000),
            ("B1", "B", 102_500, 103_000),
            ("B2", "B", 103_500, 104_500),
            ("C", "R", 105_000, 109_000),
        ];
        let (set, tree) = load(&spans, Overlap::default());
        let at = |wanted: &str| (0..6).find(|&span| name(&spans, &set, &tree, span) == wanted).unwrap();
        let mut finder = PathFinder::default();
        let mut found = |chain: &[&str], times| -> Found {
            let chain: Vec<u32> = chain.iter().map(|name| at(name)).collect();
            finder.find_within(&set, &tree, &chain, times, Overlap::default());
            for (entry, span) in finder.entries().iter().zip(&chain) {
                assert_eq!(entry.span, *span);
            }
            let of = |segment: Segment| {
                (name(&spans, &set, &tree, segment.span), segment.start_us, segment.end_us)
            };
            finder.segments().map(of).collect()
        };
        // Until something happens in R at 104000: B runs, so the last to be done is A.
        let root = [("R", 100_000, 100_500), ("A", 100_500, 101_500), ("R", 101_500, 104_000)];
        assert_eq!(found(&["R"], (0, 104_000)), root);
        // In B it is B1 that is done then; what B waited for is R's, and so is A.
        let below = [
            ("R", 100_000, 100_500),
            ("A", 100_500, 101_500),
            ("R", 101_500, 102_000),
            ("B", 102_000, 102_500),
            ("B1", 102_500, 103_000),
            ("B", 103_000, 104_000),
        ];
        assert_eq!(found(&["R", "B"], (0, 104_000)), below);
        // One that ends at that time is done.
        let ended = [("B2", 103_500, 104_500)];
        assert_eq!(found(&["R", "B"], (0, 104_500))[6..], ended);
        assert_eq!(
            found(&["R", "B"], (101_000, 104_000))[..2],
            [("A", 101_000, 101_500), ("R", 101_500, 102_000)]
        );
        assert_eq!(found(&["R", "B"], (102_200, 104_000))[0], ("B", 102_200, 102_500));
    }
}
