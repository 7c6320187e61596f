//! Traces on their way to another set: between workers, and in a saved report.

use super::asked::Asked;
use super::{
    Flags, Interner, ProcessId, RawLink, RawSpan, SetFull, SpanId, Symbol, TagSetId, TraceId, TraceSet,
    is_in_calendar,
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Some traces with their own names, independent of any set.
#[derive(Default, Serialize, Deserialize)]
pub struct Portable {
    pub(super) names: Interner,
    pub(super) id_texts: Interner,
    /// Tag sets as (key, value) names.
    pub(super) tag_sets: Vec<Vec<(Symbol, Symbol)>>,
    /// Keys that have too many values; those of which nothing stands for further ones are there twice.
    pub(super) high_cardinality: Vec<String>,
    /// (service, host, tag set).
    pub(super) processes: Vec<(Symbol, Option<Symbol>, u32)>,
    /// (trace, number of spans).
    pub(super) traces: Vec<(TraceId, u32)>,
    pub(super) spans: Vec<PortableSpan>,
    /// Log records and removed copies of spans to be counted with it.
    logs: u64,
    copies: u64,
    /// Links of the spans.
    pub(super) links: Vec<RawLink>,
    /// What some tag sets ask, by their numbers. Links and these come last, as earlier versions wrote none.
    pub(super) asked: Vec<(u32, u64)>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PortableSpan {
    pub(super) id: SpanId,
    pub(super) parent: SpanId,
    start_us: u64,
    duration_us: u64,
    pub(super) operation: Symbol,
    pub(super) process: u32,
    tags: u32,
    flags: u16,
}

impl Portable {
    /// Copies some traces of a set.
    pub fn copy(set: &TraceSet, traces: impl Iterator<Item = u32>) -> Portable {
        let mut duplicates: BTreeMap<TraceId, Vec<RawSpan>> = BTreeMap::new();
        for &(id, span) in &set.duplicates {
            duplicates.entry(id).or_default().push(span);
        }
        let mut copier = Copier::of(set);
        for trace in traces {
            let row = set.traces()[trace as usize];
            let before = copier.out.spans.len();
            for span in row.rows() {
                copier.push(set.raw(span));
            }
            for &duplicate in duplicates.get(&row.id).into_iter().flatten() {
                copier.push(duplicate);
            }
            for link in set.raw_links_of(trace) {
                copier.push_link(link);
            }
            let spans = (copier.out.spans.len() - before) as u32;
            let id = copier.trace_id(row.id);
            copier.out.traces.push((id, spans));
        }
        copier.finish()
    }

    /// Takes along what the set has counted over all it ever read. Once: whoever adds it counts it again.
    pub fn count(&mut self, set: &TraceSet) {
        (self.logs, self.copies) = (set.logs, set.copies);
    }

    /// Puts all traces into a group.
    pub fn regroup(&mut self, group: u8) {
        for (id, _) in &mut self.traces {
            *id = id.in_group(group);
        }
        for link in &mut self.links {
            *link = link.in_group(group);
        }
    }

    /// Leaves out the spans whose times are not [in the calendar](is_in_calendar), and returns how many those are. None is
    /// unless an earlier version has written it, or somebody by hand.
    pub fn bound_times(&mut self) -> u64 {
        let before = self.spans.len();
        let is_kept = |span: &PortableSpan| is_in_calendar(span.start_us, span.duration_us);
        let mut kept = self.spans.iter().map(is_kept);
        for (_, spans) in &mut self.traces {
            *spans = kept.by_ref().take(*spans as usize).filter(|&is_kept| is_kept).count() as u32;
        }
        drop(kept);
        self.traces.retain(|&(_, spans)| spans > 0);
        self.spans.retain(is_kept);
        (before - self.spans.len()) as u64
    }

    /// Adds all traces to a set; call [`TraceSet::seal`] after the last of such calls.
    ///
    /// # Errors
    /// [`SetFull`] when memory ends.
    pub fn add_to(&self, set: &mut TraceSet) -> Result<(), SetFull> {
        self.add_some_to(set, |_, _, _| true)
    }

    /// Adds the traces that `keep` says to a set; it is given the id and the spans of each, as they are in the set. Call
    /// [`TraceSet::seal`] after the last of such calls.
    ///
    /// # Errors
    /// [`SetFull`] when memory ends.
    pub fn add_some_to(
        &self,
        set: &mut TraceSet,
        mut keep: impl FnMut(TraceId, &[RawSpan], &TraceSet) -> bool,
    ) -> Result<(), SetFull> {
        let mut numbers = Numbers::of(self, set);
        let mut raw = Vec::new();
        let mut rest = self.spans.as_slice();
        for &(id, spans) in &self.traces {
            let (own, others) = rest.split_at((spans as usize).min(rest.len()));
            rest = others;
            for span in own {
                let Some(&process) = numbers.processes.get(span.process as usize) else { continue };
                raw.push(numbers.raw(span, process, set));
            }
            let id = numbers.trace_id(id, set);
            if keep(id, &raw, set) {
                set.add_grouped(id, &mut raw)?;
            }
            raw.clear();
        }
        // Those of traces that are not kept end with the load.
        for link in &self.links {
            let link = numbers.link(link, set);
            set.add_grouped_link(link)?;
        }
        Ok(())
    }
}

/// Numbers of some portable traces in the set that they are added to.
struct Numbers<'a> {
    of: &'a Portable,
    /// By symbol; [`Symbol::NONE`] until it is asked for.
    operations: Vec<Symbol>,
    tag_sets: Vec<TagSetId>,
    processes: Vec<ProcessId>,
}

impl Numbers<'_> {
    /// Brings names, tags and processes into the set, with what was counted.
    fn of<'a>(of: &'a Portable, set: &mut TraceSet) -> Numbers<'a> {
        set.logs += of.logs;
        set.copies += of.copies;
        let name = |symbol: &Symbol| of.names.get(*symbol);
        let mut asked = of.asked.iter().peekable();
        let tag_sets: Vec<TagSetId> = (0..)
            .zip(&of.tag_sets)
            .map(|(number, pairs)| {
                set.tags.begin();
                let asked = asked.next_if(|asked| asked.0 == number).map(|asked| Asked(asked.1));
                for (key, value) in pairs {
                    set.tags.add_again(name(key), name(value), asked.unwrap_or_default());
                }
                asked.into_iter().for_each(|asked| set.tags.add_asked(asked));
                set.tags.finish()
            })
            .collect();
        let mut marked = FxHashSet::default();
        for key in &of.high_cardinality {
            if marked.insert(key) {
                set.tags.mark_high_cardinality(key);
            } else {
                set.tags.stop_storing_templates(key);
            }
        }
        let tag_set = |number: u32| tag_sets.get(number as usize).copied().unwrap_or(TagSetId::EMPTY);
        let processes: Vec<ProcessId> = of
            .processes
            .iter()
            .map(|(service, host, tags)| {
                set.process(name(service), host.as_ref().map_or("", name), tag_set(*tags))
            })
            .collect();
        Numbers { of, operations: vec![Symbol::NONE; of.names.len()], tag_sets, processes }
    }

    fn trace_id(&self, id: TraceId, set: &mut TraceSet) -> TraceId {
        match id.text {
            true => TraceId::parse(self.of.id_texts.get(Symbol(id.bits as u32)), &mut set.id_texts)
                .in_group(id.group),
            false => id,
        }
    }

    fn span_id(&self, id: SpanId, set: &mut TraceSet) -> SpanId {
        match id.text {
            true => SpanId::parse(self.of.id_texts.get(Symbol(id.bits as u32)), &mut set.id_texts),
            false => id,
        }
    }

    fn link(&self, link: &RawLink, set: &mut TraceSet) -> RawLink {
        RawLink {
            trace: self.trace_id(link.trace, set),
            span: self.span_id(link.span, set),
            to_trace: self.trace_id(link.to_trace, set),
            to_span: self.span_id(link.to_span, set),
        }
    }

    fn operation(&mut self, symbol: Symbol, set: &mut TraceSet) -> Symbol {
        let name = self.of.names.get(symbol);
        match self.operations.get_mut(symbol.0 as usize) {
            Some(known) => {
                if *known == Symbol::NONE {
                    *known = set.names.intern(name);
                }
                *known
            }
            None => set.names.intern(name),
        }
    }

    fn raw(&mut self, span: &PortableSpan, process: ProcessId, set: &mut TraceSet) -> RawSpan {
        RawSpan {
            id: self.span_id(span.id, set),
            parent: self.span_id(span.parent, set),
            start_us: span.start_us,
            duration_us: span.duration_us,
            operation: self.operation(span.operation, set),
            process,
            tags: self.tag_sets.get(span.tags as usize).copied().unwrap_or(TagSetId::EMPTY),
            flags: Flags(span.flags),
        }
    }
}

struct Copier<'a> {
    set: &'a TraceSet,
    out: Portable,
    operations: FxHashMap<Symbol, Symbol>,
    tags: FxHashMap<u32, u32>,
    processes: FxHashMap<u32, u32>,
}

impl<'a> Copier<'a> {
    fn of(set: &'a TraceSet) -> Copier<'a> {
        Copier {
            set,
            out: Portable::default(),
            operations: FxHashMap::default(),
            tags: FxHashMap::default(),
            processes: FxHashMap::default(),
        }
    }

    fn trace_id(&mut self, id: TraceId) -> TraceId {
        if id.text { TraceId { bits: u128::from(self.text(id.bits as u64)), ..id } } else { id }
    }

    fn finish(mut self) -> Portable {
        let tags = &self.set.tags;
        let high = tags.keys().into_iter().filter(|(_, facts)| facts.high_cardinality);
        let mut keys: Vec<String> = high.map(|(key, _)| key.to_owned()).collect();
        let is_full = |key: &&String| tags.find_key(key).is_some_and(|key| tags.stores_nothing(key));
        let full: Vec<String> = keys.iter().filter(is_full).cloned().collect();
        keys.extend(full);
        self.out.high_cardinality = keys;
        self.out
    }

    fn text(&mut self, symbol: u64) -> u32 {
        self.out.id_texts.intern(self.set.id_texts.get(Symbol(symbol as u32))).0
    }

    fn id(&mut self, id: SpanId) -> SpanId {
        if id.text { SpanId { bits: u64::from(self.text(id.bits)), text: true } } else { id }
    }

    fn tag_set(&mut self, tags: TagSetId) -> u32 {
        if let Some(&found) = self.tags.get(&tags.0) {
            return found;
        }
        let pairs: Vec<(Symbol, Symbol)> = self
            .set
            .tags
            .get(tags)
            .map(|(key, value)| (self.out.names.intern(key), self.out.names.intern(value)))
            .collect();
        let number = self.out.tag_sets.len() as u32;
        self.out.tag_sets.push(pairs);
        let asked = self.set.tags.asked(tags);
        if !asked.is_nothing() {
            self.out.asked.push((number, asked.0));
        }
        self.tags.insert(tags.0, number);
        number
    }

    fn process(&mut self, process: ProcessId) -> u32 {
        if let Some(&found) = self.processes.get(&process.0) {
            return found;
        }
        let row = self.set.processes.rows[process.0 as usize];
        let service = self.out.names.intern(self.set.names.get(row.service));
        let host = (row.host != Symbol::NONE).then(|| self.out.names.intern(self.set.names.get(row.host)));
        let tags = self.tag_set(row.tags);
        let number = self.out.processes.len() as u32;
        self.out.processes.push((service, host, tags));
        self.processes.insert(process.0, number);
        number
    }

    fn operation(&mut self, operation: Symbol) -> Symbol {
        let (set, names) = (self.set, &mut self.out.names);
        *self.operations.entry(operation).or_insert_with(|| names.intern(set.names.get(operation)))
    }

    fn push_link(&mut self, link: RawLink) {
        let link = RawLink {
            trace: self.trace_id(link.trace),
            span: self.id(link.span),
            to_trace: self.trace_id(link.to_trace),
            to_span: self.id(link.to_span),
        };
        self.out.links.push(link);
    }

    fn push(&mut self, span: RawSpan) {
        let process = self.process(span.process);
        let portable = PortableSpan {
            id: self.id(span.id),
            parent: self.id(span.parent),
            start_us: span.start_us,
            duration_us: span.duration_us,
            operation: self.operation(span.operation),
            process,
            tags: self.tag_set(span.tags),
            flags: span.flags.0,
        };
        self.out.spans.push(portable);
    }
}
