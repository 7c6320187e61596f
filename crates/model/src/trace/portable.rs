//! Traces on their way to another set: between workers, and in a saved report.

use super::ids::{SpanId, TraceId};
use super::names::{Interner, Symbol};
use super::set::{SetFull, TraceSet};
use super::span::{Flags, ProcessId, RawSpan};
use super::tags::TagSetId;
use crate::ordered::OrderedMap;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

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
    /// Returns the [`TraceId::content_hash`].
    pub fn content_hash(&self, id: TraceId) -> u64 {
        id.content_hash(&self.id_texts)
    }

    /// Copies some traces of a set.
    pub fn copy(set: &TraceSet, traces: impl Iterator<Item = u32>) -> Portable {
        let mut losers: OrderedMap<TraceId, Vec<RawSpan>> = OrderedMap::new();
        for &(id, span) in &set.losers {
            losers.entry(id).or_default().push(span);
        }
        let mut copier =
            Copier { set, out: Portable::default(), tags: OrderedMap::new(), processes: OrderedMap::new() };
        for trace in traces {
            let row = set.traces()[trace as usize];
            let before = copier.out.spans.len();
            for span in row.first..row.end {
                copier.push(set.raw(span));
            }
            for &loser in losers.get(&row.id).into_iter().flatten() {
                copier.push(loser);
            }
            let spans = (copier.out.spans.len() - before) as u32;
            let bits = if row.id.text { u128::from(copier.text(row.id.bits as u64)) } else { row.id.bits };
            copier.out.traces.push((TraceId { bits, ..row.id }, spans));
        }
        let high = set.tags.keys().into_iter().filter(|(_, facts)| facts.high_cardinality);
        copier.out.high_cardinality = high.map(|(key, _)| key.to_owned()).collect();
        let is_full = |key: &&String| set.tags.find_key(key).is_some_and(|key| set.tags.stores_nothing(key));
        let full: Vec<String> = copier.out.high_cardinality.iter().filter(is_full).cloned().collect();
        copier.out.high_cardinality.extend(full);
        copier.out
    }

    /// Takes along what the set has counted over all it ever read. Once: whoever adds it counts it again.
    pub fn count(&mut self, set: &TraceSet) {
        (self.logs, self.copies) = (set.logs, set.copies);
    }

    /// Returns the ids and numbers of spans. Ids that are no hexadecimal are known inside only: they tell traces apart,
    /// no more.
    pub fn traces(&self) -> impl Iterator<Item = (TraceId, u64)> {
        self.traces.iter().map(|&(id, spans)| (id, u64::from(spans)))
    }

    /// Puts all traces into a group.
    pub fn regroup(&mut self, group: u8) {
        for (id, _) in &mut self.traces {
            *id = id.in_group(group);
        }
    }

    /// Returns whether all times lie in the calendar (below 2^63 us), as they do unless somebody made it by hand.
    pub fn is_sound(&self) -> bool {
        let fits = |span: &PortableSpan| {
            span.start_us.checked_add(span.duration_us).is_some_and(|end| end < 1 << 63)
        };
        self.spans.iter().all(fits)
    }

    /// Adds all traces to a set; call [`TraceSet::seal`] after the last of such calls.
    ///
    /// # Errors
    /// [`SetFull`] when memory ends.
    pub fn add_to(&self, set: &mut TraceSet) -> Result<(), SetFull> {
        set.logs += self.logs;
        set.copies += self.copies;
        let name = |symbol: &Symbol| self.names.get(*symbol);
        let tag_sets: Vec<TagSetId> = self
            .tag_sets
            .iter()
            .map(|pairs| {
                set.tags.begin();
                for (key, value) in pairs {
                    set.tags.add(name(key), name(value));
                }
                set.tags.finish()
            })
            .collect();
        let mut marked = FxHashSet::default();
        for key in &self.high_cardinality {
            if marked.insert(key) {
                set.tags.mark_high_cardinality(key);
            } else {
                set.tags.stop_storing_templates(key);
            }
        }
        let tag_set = |number: u32| tag_sets.get(number as usize).copied().unwrap_or(TagSetId::EMPTY);
        let processes: Vec<ProcessId> = self
            .processes
            .iter()
            .map(|(service, host, tags)| {
                set.process(name(service), host.as_ref().map_or("", name), tag_set(*tags))
            })
            .collect();
        let mut rest = self.spans.as_slice();
        let mut raw = Vec::new();
        for &(id, spans) in &self.traces {
            let (own, others) = rest.split_at((spans as usize).min(rest.len()));
            rest = others;
            for span in own {
                let Some(&process) = processes.get(span.process as usize) else { continue };
                let mut id_of = |id: SpanId| match id.text {
                    true => SpanId::parse(self.id_texts.get(Symbol(id.bits as u32)), &mut set.id_texts),
                    false => id,
                };
                raw.push(RawSpan {
                    id: id_of(span.id),
                    parent: id_of(span.parent),
                    start_us: span.start_us,
                    duration_us: span.duration_us,
                    operation: set.names.intern(name(&span.operation)),
                    process,
                    tags: tag_set(span.tags),
                    flags: Flags(span.flags),
                });
            }
            let id = match id.text {
                true => TraceId::parse(self.id_texts.get(Symbol(id.bits as u32)), &mut set.id_texts)
                    .in_group(id.group),
                false => id,
            };
            set.add_grouped(id, &mut raw)?;
        }
        Ok(())
    }
}

struct Copier<'a> {
    set: &'a TraceSet,
    out: Portable,
    tags: OrderedMap<u32, u32>,
    processes: OrderedMap<u32, u32>,
}

impl Copier<'_> {
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

    fn push(&mut self, span: RawSpan) {
        let portable = PortableSpan {
            id: self.id(span.id),
            parent: self.id(span.parent),
            start_us: span.start_us,
            duration_us: span.duration_us,
            operation: self.out.names.intern(self.set.names.get(span.operation)),
            process: self.process(span.process),
            tags: self.tag_set(span.tags),
            flags: span.flags.0,
        };
        self.out.spans.push(portable);
    }
}
