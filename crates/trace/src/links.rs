//! Links: what a span names beside its parent, in its trace or in another one (`docs/definitions/real-traces.md`
//! section 9). Most sets have none, so they are a list beside the columns and no column.

use super::{NO_ROW, SetFull, SpanId, TraceId, TraceSet};
use pathlight_base::sort::CompactSort as _;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A link of a span in a sealed set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Row of the span that has it.
    pub from: u32,
    /// The trace it leads to, which may be its own.
    pub trace: TraceId,
    /// The span there.
    pub span: SpanId,
}

/// A link whose span is known by its id alone: its trace may not be whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RawLink {
    /// The trace of the span that has it.
    pub trace: TraceId,
    /// That span.
    pub span: SpanId,
    /// The trace it leads to.
    pub to_trace: TraceId,
    /// The span there.
    pub to_span: SpanId,
}

impl RawLink {
    /// Returns the same link between traces of another group.
    pub fn in_group(self, group: u8) -> RawLink {
        RawLink { trace: self.trace.in_group(group), to_trace: self.to_trace.in_group(group), ..self }
    }
}

/// The links of a set.
#[derive(Default)]
pub(super) struct Links {
    /// By row; of one row by the ids they lead to.
    placed: Vec<Link>,
    /// Those that wait for the end of the load.
    pub raw: Vec<RawLink>,
}

impl Links {
    pub fn heap_bytes(&self) -> usize {
        self.placed.capacity() * size_of::<Link>() + self.raw.capacity() * size_of::<RawLink>()
    }

    /// Keeps those of some rows, which move together.
    pub fn keep(&mut self, kept: &[Range<usize>]) {
        let (mut kept, mut before) = (kept.iter().peekable(), 0);
        self.placed.retain_mut(|link| {
            let row = link.from as usize;
            while let Some(range) = kept.next_if(|range| range.end <= row) {
                before += range.len();
            }
            let stays = kept.peek().filter(|range| range.contains(&row));
            link.from = stays.map_or(NO_ROW, |range| (before + row - range.start) as u32);
            stays.is_some()
        });
    }

    /// Leads all of them to traces of a group.
    pub fn regroup(&mut self, group: u8) {
        for link in &mut self.placed {
            link.trace = link.trace.in_group(group);
        }
        for link in &mut self.raw {
            *link = link.in_group(group);
        }
    }

    fn of_rows(&self, rows: Range<u32>) -> &[Link] {
        let first = self.placed.partition_point(|link| link.from < rows.start);
        let end = first + self.placed[first..].partition_point(|link| link.from < rows.end);
        &self.placed[first..end]
    }
}

impl TraceSet {
    /// Adds a link of a span of the [`loading_group`](Self::loading_group); a link to nothing is left out. The span may be
    /// added before or later, but before the next [`seal`](Self::seal).
    ///
    /// # Errors
    /// [`SetFull`] when memory ends.
    pub fn add_link(&mut self, link: RawLink) -> Result<(), SetFull> {
        self.add_grouped_link(link.in_group(self.loading_group))
    }

    /// Adds a link as [`add_link`](Self::add_link) does, between traces of the groups that the ids say.
    pub(super) fn add_grouped_link(&mut self, link: RawLink) -> Result<(), SetFull> {
        self.links.raw.try_reserve(1).map_err(|_| SetFull)?;
        self.links.raw.push(link);
        Ok(())
    }

    /// Takes the rows from all links, since rows are about to change.
    pub(super) fn lift_links(&mut self) {
        if self.links.placed.is_empty() {
            return;
        }
        let mut placed = std::mem::take(&mut self.links.placed).into_iter().peekable();
        for trace in &self.traces {
            while let Some(link) = placed.next_if(|link| link.from < trace.end) {
                let span = self.span_id(link.from);
                let raw = RawLink { trace: trace.id, span, to_trace: link.trace, to_span: link.span };
                self.links.raw.push(raw);
            }
        }
    }

    /// Gives all links the rows of their spans. Links of spans that are not here are dropped; what is said twice is said
    /// once.
    pub(super) fn place_links(&mut self) {
        let raw = std::mem::take(&mut self.links.raw);
        if raw.is_empty() {
            return;
        }
        let rows = self.find_spans(raw.iter().map(|link| (link.trace, link.span)));
        let placed = raw.iter().filter_map(|link| {
            let from = *rows.get(&(link.trace, link.span))?;
            Some(Link { from, trace: link.to_trace, span: link.to_span })
        });
        self.links.placed.extend(placed);
        let texts = &self.id_texts;
        self.links.placed.compact_sort_by(|a, b| {
            a.from
                .cmp(&b.from)
                .then_with(|| a.trace.compare(b.trace, texts))
                .then_with(|| a.span.compare(b.span, texts))
        });
        self.links.placed.dedup();
        self.links.placed.shrink_to_fit();
    }

    /// Returns the links of a sealed set, by row. A reference to the span itself or to its parent is none.
    pub fn links(&self) -> impl Iterator<Item = Link> + '_ {
        self.links.placed.iter().copied().filter(|link| self.is_link(link))
    }

    /// Returns the links of some rows as [`links`](Self::links) does.
    pub fn links_of(&self, rows: Range<u32>) -> impl Iterator<Item = Link> + '_ {
        self.links.of_rows(rows).iter().copied().filter(|link| self.is_link(link))
    }

    /// Returns the links of a trace with all that is said of them, as ingest handed them over.
    pub(super) fn raw_links_of(&self, trace: u32) -> impl Iterator<Item = RawLink> + '_ {
        let row = self.traces[trace as usize];
        self.links.of_rows(row.rows()).iter().map(move |link| {
            let span = self.span_id(link.from);
            RawLink { trace: row.id, span, to_trace: link.trace, to_span: link.span }
        })
    }

    fn is_link(&self, link: &Link) -> bool {
        let is_own_trace = || self.find_trace(link.trace).is_some_and(|t| self.holds(t, link.from));
        let is_near = link.span == self.span_id(link.from) || link.span == self.parent_id(link.from);
        !(is_near && is_own_trace())
    }

    fn holds(&self, trace: u32, row: u32) -> bool {
        let trace = self.traces[trace as usize];
        trace.rows().contains(&row)
    }

    /// Returns where the given spans are: by span its row, if the set has it. Of a client and a server with one id it is the
    /// client.
    pub fn find_spans(
        &self,
        spans: impl Iterator<Item = (TraceId, SpanId)>,
    ) -> FxHashMap<(TraceId, SpanId), u32> {
        let mut wanted: Vec<(TraceId, SpanId)> = spans.collect();
        wanted.compact_sort();
        wanted.dedup();
        let mut found = FxHashMap::default();
        for spans in wanted.chunk_by(|a, b| a.0 == b.0) {
            let Some(trace) = self.find_trace(spans[0].0) else { continue };
            let trace = self.traces[trace as usize];
            for row in trace.rows() {
                let span = self.span_id(row);
                if spans.binary_search_by_key(&span, |&(_, id)| id).is_ok() {
                    found.entry((trace.id, span)).or_insert(row);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, LoadedNames, PlaceFacts, Portable, Pseudonyms, RawSpan, Redaction, TagSetId, dump};

    fn span(set: &mut TraceSet, id: SpanId, parent: u64) -> RawSpan {
        RawSpan {
            id,
            parent: SpanId::hex(parent),
            start_us: 1000 * id.bits,
            duration_us: 100,
            operation: set.names.intern("operation"),
            process: set.process("service", "", TagSetId::EMPTY),
            tags: TagSetId::EMPTY,
            flags: Flags::default(),
        }
    }

    fn link(trace: u128, span: u64, to_trace: u128, to_span: u64) -> RawLink {
        RawLink {
            trace: TraceId::hex(trace),
            span: SpanId::hex(span),
            to_trace: TraceId::hex(to_trace),
            to_span: SpanId::hex(to_span),
        }
    }

    /// Returns traces 1 to 3 of two spans each, the second below the first, and these links.
    fn set_of(links: &[RawLink]) -> TraceSet {
        let mut set = TraceSet::new();
        for trace in 1..=3 {
            for id in [trace * 16, trace * 16 + 1] {
                let span = span(&mut set, SpanId::hex(id), if id % 16 == 0 { 0 } else { id - 1 });
                set.stage(TraceId::hex(trace.into()), span).unwrap();
            }
        }
        for &link in links {
            set.add_link(link).unwrap();
        }
        set.seal().unwrap();
        set
    }

    fn targets(set: &TraceSet) -> Vec<(u64, u128, u64)> {
        set.links().map(|link| (set.span_id(link.from).bits, link.trace.bits, link.span.bits)).collect()
    }

    #[test]
    fn links_stay_with_their_spans() {
        let all =
            [link(3, 0x30, 1, 0x11), link(3, 0x30, 2, 0x20), link(1, 0x11, 9, 0x99), link(3, 0x30, 1, 0x11)];
        let mut set = set_of(&all);
        let expected = [(0x11, 9, 0x99), (0x30, 1, 0x11), (0x30, 2, 0x20)];
        assert_eq!(targets(&set), expected);
        // In another order, and once more.
        let turned: Vec<RawLink> = all.iter().rev().copied().collect();
        assert_eq!(dump(&set_of(&turned)), dump(&set));
        set.seal().unwrap();
        assert_eq!(targets(&set), expected);
        // A second fragment of a trace.
        let late = span(&mut set, SpanId::hex(0x32), 0x30);
        set.stage(TraceId::hex(3), late).unwrap();
        set.add_link(link(3, 0x32, 1, 0x10)).unwrap();
        set.seal().unwrap();
        assert_eq!(targets(&set), [&expected[..], &[(0x32, 1, 0x10)]].concat());
        set.retain(|trace| trace.id != TraceId::hex(1));
        assert_eq!(targets(&set), [(0x30, 1, 0x11), (0x30, 2, 0x20), (0x32, 1, 0x10)]);
        set.retain(|trace| trace.id != TraceId::hex(3));
        assert_eq!(targets(&set), []);
    }

    #[test]
    fn no_link_is_what_leads_to_the_parent_or_to_the_span_itself() {
        let set = set_of(&[link(1, 0x11, 1, 0x10), link(1, 0x11, 1, 0x11), link(1, 0x10, 1, 0x11)]);
        assert_eq!(targets(&set), [(0x10, 1, 0x11)]);
        // But the same ids in another trace are.
        let set = set_of(&[link(1, 0x11, 2, 0x10), link(1, 0x11, 2, 0x11)]);
        assert_eq!(targets(&set), [(0x11, 2, 0x10), (0x11, 2, 0x11)]);
    }

    #[test]
    fn links_go_along_to_another_set() {
        let mut set = set_of(&[link(3, 0x30, 1, 0x11), link(2, 0x20, 1, 0x10)]);
        let odd = SpanId::parse("not hexadecimal", &mut set.id_texts);
        let odd_trace = TraceId::parse("no number", &mut set.id_texts);
        let span = span(&mut set, odd, 0);
        set.stage(odd_trace, span).unwrap();
        set.add_link(RawLink { trace: odd_trace, span: odd, ..link(0, 0, 1, 0x11) }).unwrap();
        set.add_link(RawLink { to_trace: odd_trace, to_span: odd, ..link(2, 0x20, 0, 0) }).unwrap();
        set.seal().unwrap();
        let traces = 0..set.traces().len() as u32;
        let mut other = TraceSet::new();
        other.id_texts.intern("another text");
        Portable::copy(&set, traces.clone()).add_to(&mut other).unwrap();
        other.seal().unwrap();
        assert_eq!(dump(&other), dump(&set));
        // In the other group they lead to traces of that.
        let mut portable = Portable::copy(&set, traces);
        portable.regroup(1);
        portable.add_to(&mut other).unwrap();
        other.seal().unwrap();
        assert_eq!(other.links().count(), 2 * set.links().count());
        assert!(other.links().all(|link| {
            let from = other.traces().iter().find(|trace| trace.rows().contains(&link.from));
            from.is_some_and(|trace| trace.id.group == link.trace.group)
        }));
    }

    #[test]
    fn a_set_that_is_put_into_another_group_leads_to_traces_of_that_and_back() {
        let mut set = set_of(&[link(3, 0x30, 1, 0x11), link(3, 0x31, 1, 0x11)]);
        let before: Vec<Link> = set.links().collect();
        set.regroup(1);
        assert!(!before.is_empty() && set.links().all(|link| link.trace.group == 1));
        assert!(set.traces().iter().all(|trace| trace.id.group == 1));
        let id = set.traces()[0].id;
        assert_eq!((set.find_trace(id), set.find_trace(id.in_group(0))), (Some(0), None));
        set.regroup(0);
        assert_eq!(set.links().collect::<Vec<_>>(), before);
    }

    #[test]
    fn numbers_in_place_of_ids_lead_to_the_same_spans() {
        let set = set_of(&[link(3, 0x30, 1, 0x11), link(3, 0x31, 9, 0x99), link(3, 0x31, 9, 0x98)]);
        let pseudonyms: Pseudonyms = LoadedNames::of(&set).pseudonyms(&PlaceFacts::of(&set));
        let mut other = TraceSet::new();
        // Each trace in a record of its own.
        for trace in 0..3 {
            let mut portable = Portable::copy(&set, trace..trace + 1);
            portable.redact(Redaction { tags: false, names: true }, &pseudonyms, &set, 1);
            portable.add_to(&mut other).unwrap();
        }
        other.seal().unwrap();
        assert_eq!(targets(&other), [(1, 1, 2), (2, 0, 2), (2, 0, 3)]);
    }
}
