//! A trace prepared for its timeline: which spans have rows, and which segments belong to each.

use super::groups::Groups;
use super::{SiblingGroup, SpanMatches, SpanPart};
use crate::draw::{Shade, Window};
use crate::flame::chart::Frame;
use pathlight_base::format;
use pathlight_base::steps::{BLOCK, in_blocks};
use pathlight_engine::flame::TraceReport;
use pathlight_engine::queries::SpanMessage;
use pathlight_trace::Endpoint;
use std::rc::Rc;

const NONE: u32 = u32::MAX;

/// The spans of a trace as rows that open and close.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    report: Rc<TraceReport>,
    frames: Vec<Frame>,
    /// One past the last descendant of each span.
    end: Vec<u32>,
    /// Start of each span's own segments in `segments`, and the end.
    segment_starts: Vec<u32>,
    /// Segments by (span, time).
    segments: Vec<u32>,
    /// First and last segment of each span's subtree, [`NONE`] without any.
    subtree_segments: Vec<(u32, u32)>,
    closed: Vec<bool>,
    path_only: bool,
    /// Time on the critical path of each span and all below it.
    subtree_us: Vec<u64>,
    /// Signs by span, ascending.
    signs: Vec<(u32, Sign)>,
    rows: Vec<SpansRow>,
    /// By span: its row, or that of the group it is hidden in; [`NONE`] without one.
    row_of: Vec<u32>,
    groups: Groups,
    /// Own time of each span on the critical path.
    own_us: Vec<u64>,
    /// Siblings of one name have one row.
    grouped: bool,
    /// Named parts by (span, time).
    pub(crate) parts: Vec<SpanPart>,
    /// Messages between the spans, by receiver.
    messages: Vec<SpanMessage>,
}

/// Of the critical path spans with less than one part of so many are small.
const SMALL: u64 = 100;

/// Sign of a span: a letter at its label and words at its bar, so that no mark is one of colour alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sign {
    /// The letter.
    pub letter: char,
    /// The words.
    pub words: String,
}

/// A row: a span, or siblings of one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpansRow {
    /// The span, or the first of the siblings.
    pub span: u32,
    /// Indentation, in levels.
    pub depth: u32,
    /// It is a row of siblings.
    pub is_group: bool,
}

impl Timeline {
    /// Returns all rows of a trace, opened. Columns of unequal length are cut to the shortest.
    pub fn new(report: impl Into<Rc<TraceReport>>) -> Timeline {
        Timeline::of(report.into())
    }

    fn of(report: Rc<TraceReport>) -> Timeline {
        let n = [
            report.parent.len(),
            report.endpoint.len(),
            report.span_start_us.len(),
            report.duration_us.len(),
            report.depth.len(),
            report.bits.len(),
        ]
        .into_iter()
        .min()
        .unwrap_or(0);
        let frames = report
            .endpoints
            .iter()
            .map(|Endpoint { service, operation }| {
                Frame::new(format::printable(&format!("{service}: {operation}")), Shade::service(service))
            })
            .collect();
        let parent = |i: usize| report.parent.get(i).copied().filter(|&p| (p as usize) < i);
        let mut end: Vec<u32> = (1..=n as u32).collect();
        in_blocks(n, &mut |block| {
            for i in block.map(|i| n - 1 - i) {
                if let Some(p) = parent(i) {
                    end[p as usize] = end[p as usize].max(end[i]);
                }
            }
        });
        // Own segments of each span, by counting; they come in order of time.
        let mut segment_starts = vec![0u32; n + 1];
        let spans = &report.segment_span;
        in_blocks(spans.len(), &mut |block| {
            for &span in spans[block].iter().filter(|&&span| (span as usize) < n) {
                segment_starts[span as usize + 1] += 1;
            }
        });
        in_blocks(n, &mut |block| block.for_each(|i| segment_starts[i + 1] += segment_starts[i]));
        let mut next = segment_starts.clone();
        let mut segments = vec![0u32; segment_starts[n] as usize];
        let mut subtree_segments = vec![(NONE, NONE); n];
        in_blocks(spans.len(), &mut |block| {
            for segment in block.filter(|&segment| (spans[segment] as usize) < n) {
                let slot = &mut next[spans[segment] as usize];
                segments[*slot as usize] = segment as u32;
                *slot += 1;
            }
        });
        in_blocks(n, &mut |block| {
            for i in block.map(|i| n - 1 - i) {
                let own = &segments[segment_starts[i] as usize..segment_starts[i + 1] as usize];
                if let (Some(&first), Some(&last)) = (own.first(), own.last()) {
                    subtree_segments[i] = join(subtree_segments[i], (first, last));
                }
                if let Some(p) = parent(i) {
                    subtree_segments[p as usize] = join(subtree_segments[p as usize], subtree_segments[i]);
                }
            }
        });
        let own_of = |span: usize| {
            let own = &segments[segment_starts[span] as usize..segment_starts[span + 1] as usize];
            let us = |&at: &u32| {
                let at = at as usize;
                let times = report.segment_end_us.get(at).zip(report.segment_start_us.get(at));
                times.map_or(0, |(end, start)| end.saturating_sub(*start))
            };
            own.iter().map(us).sum::<u64>()
        };
        let mut own_us: Vec<u64> = Vec::with_capacity(n);
        in_blocks(n, &mut |block| own_us.extend(block.map(own_of)));
        let stretch = |span: usize| {
            let (first, last) = subtree_segments[span];
            let at = |column: &[u64], segment: u32| column.get(segment as usize).copied().unwrap_or(0);
            (first != NONE).then(|| (at(&report.segment_start_us, first), at(&report.segment_end_us, last)))
        };
        let groups = Groups::new(&report, &own_us, parent, stretch);
        let mut subtree_us = own_us.clone();
        for span in (0..n).rev() {
            if let Some(parent) = parent(span) {
                subtree_us[parent as usize] += subtree_us[span];
            }
        }
        let mut timeline = Timeline {
            subtree_us,
            own_us,
            groups,
            grouped: false,
            row_of: Vec::new(),
            frames,
            end,
            segment_starts,
            segments,
            subtree_segments,
            closed: vec![false; n],
            path_only: false,
            signs: Vec::new(),
            rows: Vec::new(),
            parts: Vec::new(),
            messages: Vec::new(),
            report,
        };
        timeline.list_rows();
        timeline
    }

    /// Returns the trace.
    pub fn report(&self) -> &TraceReport {
        &self.report
    }

    /// Returns the trace, shared.
    pub fn shared(&self) -> Rc<TraceReport> {
        self.report.clone()
    }

    /// Returns the trace to be changed; whoever shares it keeps what it has.
    pub(crate) fn report_mut(&mut self) -> &mut TraceReport {
        Rc::make_mut(&mut self.report)
    }

    /// Returns the number of spans.
    pub fn len(&self) -> usize {
        self.end.len()
    }

    /// Returns whether the trace has no spans.
    pub fn is_empty(&self) -> bool {
        self.end.is_empty()
    }

    /// Returns the label (`service: operation`) and colour of a span.
    pub fn frame(&self, span: u32) -> Option<&Frame> {
        self.frames.get(*self.report.endpoint.get(span as usize)? as usize)
    }

    /// Returns the rows from top to bottom.
    pub fn rows(&self) -> &[SpansRow] {
        &self.rows
    }

    /// Returns the row of a span, if it has one now: its own, or that of the siblings it is hidden among.
    pub fn row_of(&self, span: u32) -> Option<usize> {
        self.row_of.get(span as usize).copied().filter(|row| *row != NONE).map(|row| row as usize)
    }

    /// Returns own time of a span on the critical path.
    pub fn own_us(&self, span: u32) -> u64 {
        self.own_us.get(span as usize).copied().unwrap_or(0)
    }

    /// Returns the siblings that a row stands for.
    pub fn group(&self, row: SpansRow) -> Option<&SiblingGroup> {
        self.group_of(row.span).filter(|_| row.is_group)
    }

    /// Returns the siblings of one name that a span is one of.
    pub fn group_of(&self, span: u32) -> Option<&SiblingGroup> {
        self.groups.of(span)
    }

    /// Returns whether there are siblings of one name that can have one row.
    pub fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Returns whether siblings of one name have one row.
    pub fn is_grouped(&self) -> bool {
        self.grouped
    }

    /// Gives siblings of one name one row, or each its own.
    pub fn set_grouped(&mut self, grouped: bool) {
        if self.grouped != grouped {
            self.grouped = grouped;
            self.list_rows();
        }
    }

    /// Opens or closes the siblings of a span.
    pub fn open_group(&mut self, span: u32, is_open: bool) {
        if self.groups.set_open(span, is_open) {
            self.list_rows();
        }
    }

    /// Returns the span after one with one of these bits of [`TraceReport`], or the one before it; round at the ends.
    pub fn next_with(&self, bits: u8, from: Option<u32>, forward: bool) -> Option<u32> {
        let n = self.len() as u32;
        let start = from.filter(|from| *from < n).unwrap_or(if forward { n.wrapping_sub(1) } else { 0 });
        let at = |step: u32| if forward { (start + step) % n } else { (start + n - step) % n };
        (1..=n).map(at).find(|span| self.bit(*span, bits))
    }

    /// Returns how many spans have one of these bits.
    pub fn count_with(&self, bits: u8) -> u64 {
        (0..self.len() as u32).filter(|span| self.bit(*span, bits)).count() as u64
    }

    /// Returns the start and end of a span as they were reported, relative to the trace.
    pub fn interval_us(&self, span: u32) -> (u64, u64) {
        let i = span as usize;
        match (self.report.span_start_us.get(i), self.report.duration_us.get(i)) {
            (Some(&start), Some(&duration)) => (start, start.saturating_add(duration)),
            _ => (0, 0),
        }
    }

    /// Returns the window of the whole trace.
    pub fn full(&self) -> Window {
        Window::full(self.report.end_us)
    }

    /// Returns a window that shows a span with some room beside it.
    pub fn window_of(&self, span: u32) -> Window {
        let (start, end) = self.interval_us(span);
        let room = ((end - start) / 20).max(1);
        Window::of(start.saturating_sub(room), end.saturating_add(room)).within(self.report.end_us)
    }

    /// Returns whether a span has children.
    pub fn has_children(&self, span: u32) -> bool {
        self.end.get(span as usize).is_some_and(|&end| end > span + 1)
    }

    /// Returns the number of spans below a span.
    pub fn descendants(&self, span: u32) -> u32 {
        self.end.get(span as usize).map_or(0, |&end| end - span - 1)
    }

    /// Returns whether the rows below a span are hidden.
    pub fn is_closed(&self, span: u32) -> bool {
        self.closed.get(span as usize) == Some(&true)
    }

    /// Opens or closes a span with children.
    pub fn toggle(&mut self, span: u32) {
        if self.has_children(span) {
            self.closed[span as usize] ^= true;
            self.list_rows();
        }
    }

    /// Closes all spans at this depth and opens those above; `None` opens all.
    pub fn open_to(&mut self, depth: Option<u32>) {
        for i in 0..self.len() {
            self.closed[i] =
                depth.is_some_and(|depth| self.report.depth[i] >= depth) && self.has_children(i as u32);
        }
        self.list_rows();
    }

    /// Opens what hides a span; shows all spans if it is not on the path.
    pub fn reveal(&mut self, span: u32) {
        let is_shown = |row: usize| self.rows[row].span == span && !self.rows[row].is_group;
        if self.row_of(span).is_some_and(is_shown) || span as usize >= self.len() {
            return;
        }
        self.groups.set_open(span, true);
        let mut above = self.parent(span);
        while let Some(i) = above {
            self.closed[i as usize] = false;
            self.groups.set_open(i, true);
            above = self.parent(i);
        }
        self.path_only &= self.is_on_short_path(span);
        self.list_rows();
    }

    /// Returns whether a span and all below it hold enough of the critical path to be shown with it.
    fn is_on_short_path(&self, span: u32) -> bool {
        let whole_us = self.subtree_us.first().copied().unwrap_or(0);
        let us = self.subtree_us.get(span as usize).copied().unwrap_or(0);
        self.bit(span, TraceReport::ON_PATH) && us.saturating_mul(SMALL) >= whole_us
    }

    /// Returns how many spans of the critical path are left out where only that has rows, since each, with all below it,
    /// holds less than a hundredth of it.
    pub fn small_spans(&self) -> usize {
        (0..self.len() as u32)
            .filter(|&span| self.bit(span, TraceReport::ON_PATH) && !self.is_on_short_path(span))
            .count()
    }

    /// Returns whether only the critical path has rows.
    pub fn path_only(&self) -> bool {
        self.path_only
    }

    /// Shows only the spans on the critical path, or all.
    pub fn set_path_only(&mut self, only: bool) {
        if self.path_only != only {
            self.path_only = only;
            self.list_rows();
        }
    }

    /// Takes the messages between its spans; they come by receiver.
    pub fn set_messages(&mut self, messages: Vec<SpanMessage>) {
        self.messages = messages;
    }

    /// Returns the messages that a span received.
    pub fn received(&self, span: u32) -> &[SpanMessage] {
        let from = self.messages.partition_point(|message| message.receiver < span);
        let to = self.messages.partition_point(|message| message.receiver <= span);
        &self.messages[from..to]
    }

    /// Marks spans; they come ascending.
    pub fn set_signs(&mut self, signs: Vec<(u32, Sign)>) {
        self.signs = signs;
    }

    /// Returns what a span is marked with.
    pub fn sign(&self, span: u32) -> Option<&Sign> {
        let at = self.signs.binary_search_by_key(&span, |(of, _)| *of).ok()?;
        Some(&self.signs[at].1)
    }

    /// Returns the parent of a span.
    pub fn parent(&self, span: u32) -> Option<u32> {
        self.report.parent.get(span as usize).copied().filter(|&parent| parent < span)
    }

    /// Returns whether one of the bits of [`TraceReport`] is set for a span.
    pub fn bit(&self, span: u32, bit: u8) -> bool {
        self.report.bits.get(span as usize).is_some_and(|bits| bits & bit != 0)
    }

    /// Returns the spans whose label is meant.
    pub fn search(&self, is_meant: impl Fn(&str) -> bool) -> SpanMatches {
        let endpoints: Vec<bool> = self.frames.iter().map(|frame| is_meant(&frame.label)).collect();
        let hit = |span: &u32| endpoints.get(self.report.endpoint[*span as usize] as usize) == Some(&true);
        SpanMatches::of((0..self.len() as u32).filter(hit).collect())
    }

    /// Returns the segments to mark in the row of a span: its own, in order of time; or, if it is closed, one from the
    /// first to the last of it and all below it, which is one piece without gaps.
    pub(crate) fn segments_of(&self, span: u32) -> Marks<'_> {
        let i = span as usize;
        if self.is_closed(span) {
            let (first, last) = self.subtree_segments[i];
            return match first == NONE {
                true => Marks::Own(&[]),
                false => Marks::Whole(self.segment_us(first).0, self.segment_us(last).1),
            };
        }
        Marks::Own(&self.segments[self.segment_starts[i] as usize..self.segment_starts[i + 1] as usize])
    }

    /// Returns the start and end of a segment.
    pub(crate) fn segment_us(&self, segment: u32) -> (u64, u64) {
        let i = segment as usize;
        let at = |column: &[u64]| column.get(i).copied().unwrap_or(0);
        (at(&self.report.segment_start_us), at(&self.report.segment_end_us))
    }

    /// Lists the rows. Siblings of one name stand where the first of them does; those in between come after them.
    fn list_rows(&mut self) {
        self.rows.clear();
        self.row_of.clear();
        self.row_of.resize(self.len(), NONE);
        // Rows with the end of what lies below them: within that of the row above, whatever order spans came in.
        let mut due: Vec<(SpansRow, u32)> = Vec::new();
        let mut list = Vec::new();
        self.list(0, self.len() as u32, 0, &mut list);
        due.extend(list.drain(..).rev());
        while !due.is_empty() {
            self.list_some_rows(&mut due, &mut list);
        }
    }

    #[inline(never)]
    fn list_some_rows(&mut self, due: &mut Vec<(SpansRow, u32)>, list: &mut Vec<(SpansRow, u32)>) {
        for _ in 0..BLOCK {
            let Some((row, end)) = due.pop() else { return };
            let (at, span) = (self.rows.len() as u32, row.span as usize);
            if let Some(group) = self.groups.of(row.span).filter(|_| row.is_group) {
                self.rows.push(row);
                if group.is_open {
                    let member = |&span: &u32| {
                        (SpansRow { span, depth: row.depth + 1, is_group: false }, self.end[span as usize])
                    };
                    due.extend(group.members.iter().rev().map(member));
                } else {
                    group.members.iter().for_each(|member| self.row_of[*member as usize] = at);
                }
                continue;
            }
            if self.row_of[span] != NONE {
                continue;
            }
            self.rows.push(row);
            self.row_of[span] = at;
            if !self.closed[span] {
                self.list(row.span + 1, end, row.depth + 1, list);
                due.extend(list.drain(..).rev());
            }
        }
    }

    /// Lists the rows of the topmost spans from `span` to before `end`.
    fn list(&self, mut span: u32, end: u32, depth: u32, out: &mut Vec<(SpansRow, u32)>) {
        let may_group = self.grouped && !self.path_only;
        while span < end {
            let below = self.end[span as usize].min(end);
            // What is below a span off the path is off it too.
            if !self.path_only || self.is_on_short_path(span) {
                match self.groups.of(span).filter(|_| may_group) {
                    Some(group) if group.members.first() == Some(&span) => {
                        out.push((SpansRow { span, depth, is_group: true }, below));
                    }
                    Some(_) => {}
                    None => out.push((SpansRow { span, depth, is_group: false }, below)),
                }
            }
            span = below;
        }
    }
}

/// Segments in a row.
pub(crate) enum Marks<'a> {
    /// These, by index.
    Own(&'a [u32]),
    /// One stretch, from and to.
    Whole(u64, u64),
    /// These, in order of time, none within another.
    Many(&'a [(u64, u64)]),
}

fn join(a: (u32, u32), b: (u32, u32)) -> (u32, u32) {
    if a.0 == NONE {
        b
    } else if b.0 == NONE {
        a
    } else {
        (a.0.min(b.0), a.1.max(b.1))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a trace of (parent, start, duration, bits); endpoint i % 5; segments as (span, start, end).
    pub(crate) fn trace(spans: &[(u32, u64, u64, u8)], segments: &[(u32, u64, u64)]) -> TraceReport {
        let mut depth: Vec<u32> = Vec::new();
        for span in spans {
            let above = depth.get(span.0 as usize).map_or(0, |d| d + 1);
            depth.push(above);
        }
        TraceReport {
            trace_id: "1".into(),
            end_us: spans.iter().map(|s| s.1 + s.2).max().unwrap_or(0),
            endpoints: (0..5).map(|i| Endpoint::new(format!("svc{i}"), format!("op{i}"))).collect(),
            parent: spans.iter().map(|s| s.0).collect(),
            endpoint: (0..spans.len() as u32).map(|i| i % 5).collect(),
            span_start_us: spans.iter().map(|s| s.1).collect(),
            duration_us: spans.iter().map(|s| s.2).collect(),
            depth,
            bits: spans.iter().map(|s| s.3).collect(),
            segment_span: segments.iter().map(|s| s.0).collect(),
            segment_start_us: segments.iter().map(|s| s.1).collect(),
            segment_end_us: segments.iter().map(|s| s.2).collect(),
            ..TraceReport::default()
        }
    }

    const P: u8 = TraceReport::ON_PATH;

    /// Returns the timeline 0 { 1 { 2 }, 3 }, 4 (a root of its own).
    pub(crate) fn small() -> Timeline {
        Timeline::new(trace(
            &[(NONE, 0, 1000, P), (0, 100, 300, P), (1, 200, 100, P), (0, 500, 400, 0), (NONE, 50, 10, 0)],
            &[(0, 0, 100), (1, 100, 200), (2, 200, 300), (1, 300, 400), (0, 400, 1000)],
        ))
    }

    fn spans(timeline: &Timeline) -> Vec<u32> {
        timeline.rows().iter().map(|row| row.span).collect()
    }

    #[test]
    fn rows_are_all_spans_until_some_are_closed() {
        let mut timeline = small();
        assert_eq!(spans(&timeline), [0, 1, 2, 3, 4]);
        timeline.toggle(1);
        assert_eq!(spans(&timeline), [0, 1, 3, 4]);
        assert_eq!(timeline.row_of(3), Some(2));
        assert_eq!(timeline.row_of(2), None);
        timeline.toggle(2);
        assert_eq!(spans(&timeline), [0, 1, 3, 4], "a leaf has nothing to close");
        timeline.reveal(2);
        assert_eq!(spans(&timeline), [0, 1, 2, 3, 4]);
        timeline.open_to(Some(0));
        assert_eq!(spans(&timeline), [0, 4]);
        timeline.open_to(Some(1));
        assert_eq!(spans(&timeline), [0, 1, 3, 4]);
        timeline.open_to(None);
        assert_eq!(timeline.rows().len(), 5);
    }

    #[test]
    fn the_path_alone_can_be_shown_and_left_again() {
        let mut timeline = small();
        timeline.set_path_only(true);
        assert_eq!(spans(&timeline), [0, 1, 2]);
        timeline.reveal(3);
        assert_eq!(spans(&timeline), [0, 1, 2, 3, 4]);
        assert!(!timeline.path_only());
    }

    #[test]
    fn small_parts_of_the_path_are_left_out_of_it() {
        let mut timeline = small();
        timeline.subtree_us = vec![1000, 990, 9, 0, 0];
        assert_eq!(timeline.small_spans(), 1);
        timeline.set_path_only(true);
        assert_eq!(spans(&timeline), [0, 1]);
        timeline.reveal(2);
        assert!(!timeline.path_only(), "what is looked for is brought to light");
    }

    #[test]
    fn a_closed_span_carries_the_path_of_what_it_hides() {
        let mut timeline = small();
        match timeline.segments_of(1) {
            Marks::Own(own) => assert_eq!(own, [1, 3]),
            _ => panic!("it is open"),
        }
        timeline.toggle(1);
        match timeline.segments_of(1) {
            Marks::Whole(start, end) => assert_eq!((start, end), (100, 400)),
            _ => panic!("it is closed"),
        }
    }

    #[test]
    fn a_search_steps_through_what_it_found_and_around_the_end() {
        let timeline = small();
        let matches = timeline.search(|label| label.contains("op3"));
        assert_eq!(matches.spans(), [3]);
        let all = timeline.search(|label| label.contains("svc"));
        assert_eq!(all.step(None, true), Some(0));
        assert_eq!(all.step(Some(1), true), Some(2));
        assert_eq!(all.step(Some(4), true), Some(0));
        assert_eq!(all.step(Some(0), false), Some(4));
        assert!(matches.contains(3) && !matches.contains(2));
        assert_eq!(timeline.search(|_| false).step(None, true), None);
    }

    #[test]
    fn an_empty_trace_and_uneven_columns_are_no_trouble() {
        let empty = Timeline::new(TraceReport::default());
        assert!(empty.is_empty() && empty.rows().is_empty());
        assert_eq!(empty.interval_us(7), (0, 0));
        let mut report = small().report().clone();
        report.depth.truncate(2);
        report.segment_start_us.clear();
        assert_eq!(spans(&Timeline::new(report)), [0, 1]);
    }

    #[test]
    fn a_chain_of_many_spans_opens_and_closes() {
        let spans: Vec<_> = (0..100_000u32).map(|i| (i.wrapping_sub(1), u64::from(i), 200_000, P)).collect();
        let mut timeline = Timeline::new(trace(&spans, &[]));
        assert_eq!(timeline.descendants(0), 99_999);
        timeline.open_to(Some(10));
        assert_eq!(timeline.rows().len(), 11);
        timeline.reveal(99_999);
        assert_eq!(timeline.rows().len(), 100_000);
    }

    /// Returns a root with ten calls of one name, one of another between the first two; each of the ten has a child.
    fn looped() -> Timeline {
        let mut spans = vec![(NONE, 0, 1000, P)];
        let mut endpoint = vec![0];
        for i in 0..10u64 {
            let at = spans.len() as u32;
            spans.push((0, 10 + 90 * i, 50, if i == 3 { P | TraceReport::ERROR } else { P }));
            spans.push((at, 20 + 90 * i, 10, P));
            endpoint.extend([1, 2]);
            if i == 0 {
                spans.push((0, 70, 20, P));
                endpoint.push(3);
            }
        }
        let report = trace(&spans, &[(1, 10, 60), (4, 100, 150)]);
        let mut timeline = Timeline::new(TraceReport { endpoint, ..report });
        timeline.set_grouped(true);
        timeline
    }

    #[test]
    fn siblings_of_one_name_have_one_row_that_opens() {
        let mut timeline = looped();
        assert_eq!(spans(&timeline), [0, 1, 3]);
        let group = timeline.group(timeline.rows()[1]).unwrap();
        assert_eq!((group.members.len(), group.sum_us, group.errors), (10, 500, 1));
        assert_eq!(group.interval_us, (10, 870));
        assert_eq!(timeline.row_of(4), Some(1), "hidden among its siblings");
        assert_eq!(timeline.row_of(5), None, "below one of them");
        assert!(group.stretches == [(10, 60), (100, 150)]);
        timeline.open_group(4, true);
        assert_eq!(timeline.rows().len(), 1 + 1 + 20 + 1);
        assert_eq!(spans(&timeline)[..6], [0, 1, 1, 2, 4, 5]);
        assert_eq!((timeline.row_of(1), timeline.row_of(3)), (Some(2), Some(22)));
        assert_eq!(timeline.rows()[3], SpansRow { span: 2, depth: 3, is_group: false });
        timeline.open_group(4, false);
        timeline.reveal(5);
        assert_eq!(timeline.rows().len(), 23, "what is looked for is brought to light");
        timeline.set_grouped(false);
        assert_eq!(spans(&timeline), (0..22).collect::<Vec<u32>>());
        timeline.set_grouped(true);
        timeline.set_path_only(true);
        assert_eq!(timeline.rows().len() + timeline.small_spans(), 22, "the path is shown span by span");
    }

    #[test]
    fn spans_of_a_kind_are_found_round_and_round() {
        let timeline = looped();
        let error = |from, forward| timeline.next_with(TraceReport::ERROR, from, forward);
        assert_eq!([error(None, true), error(Some(8), true), error(Some(0), false)], [Some(8); 3]);
        assert_eq!(timeline.next_with(TraceReport::ON_PATH, Some(21), true), Some(0));
        assert_eq!(timeline.next_with(TraceReport::ORPHAN, None, true), None);
        assert_eq!(Timeline::default().next_with(TraceReport::ERROR, None, true), None);
        assert_eq!((timeline.count_with(TraceReport::ERROR), timeline.count_with(P)), (1, 22));
        let found = SpanMatches::of(vec![3, 9]);
        assert!(found.any(0, 4) && !found.any(4, 9) && found.any(9, 10));
        // Siblings with two spans below each.
        let below = |siblings: &[u32]| found.any_below(siblings, |span| span + 3);
        assert!(below(&[1, 4]) && below(&[0, 4, 7, 10]) && below(&[9]));
        assert!(!below(&[0, 4, 10, 13]) && !below(&[4]) && !below(&[]));
    }
}
