//! A Jaeger trace under construction: its spans come one by one, and what they call processes is known later.

use hashbrown::HashTable;
use pathlight_trace::{ProcessId, RawLink, RawSpan, TraceId, hash_bytes};
use std::borrow::Cow;

/// Marks a [`ProcessId`] that is a number of the trace's own list still.
const LOCAL: u32 = 1 << 31;

/// A Jaeger trace whose spans come one by one.
#[derive(Default)]
pub(crate) struct Building {
    pub id: Option<TraceId>,
    /// Offset of its object.
    pub at: u64,
    /// Trace id of the first span that has one.
    first_own: Option<TraceId>,
    pub spans: Vec<RawSpan>,
    /// Links of the spans; an absent trace is the one under construction.
    pub links: Vec<RawLink>,
    /// Spans that name another trace than the first, or none.
    of_others: Vec<(u32, TraceId)>,
    /// Texts of process ids, one after the other, with ends, what they turned out to be, and first uses.
    names: Vec<u8>,
    ends: Vec<u32>,
    found: Vec<Option<ProcessId>>,
    used: Vec<(u64, u64)>,
    last: u32,
    table: HashTable<u32>,
    /// Whether it is left out.
    pub is_bad: bool,
    pub has_inline_process: bool,
}

impl Building {
    /// Starts over for a trace object at an offset.
    pub fn begin(&mut self, at: u64) {
        self.id = None;
        self.at = at;
        self.first_own = None;
        self.spans.clear();
        if self.spans.capacity() > 1 << 16 {
            self.spans = Vec::new();
        }
        self.of_others.clear();
        self.links.clear();
        self.names.clear();
        self.ends.clear();
        self.found.clear();
        self.used.clear();
        self.last = 0;
        self.table.clear();
        self.is_bad = false;
        self.has_inline_process = false;
    }

    fn name(names: &[u8], ends: &[u32], i: u32) -> std::ops::Range<usize> {
        let start = if i == 0 { 0 } else { ends[i as usize - 1] as usize };
        debug_assert!(ends[i as usize] as usize <= names.len());
        start..ends[i as usize] as usize
    }

    /// Returns the number of a process id in this trace.
    fn local(&mut self, name: &[u8]) -> u32 {
        let Building { names, ends, table, .. } = self;
        if (self.last as usize) < ends.len() && names[Self::name(names, ends, self.last)] == *name {
            return self.last;
        }
        let hash = hash_bytes(name);
        let found = table.find(hash, |&i| names[Self::name(names, ends, i)] == *name).copied();
        let number = found.unwrap_or_else(|| {
            let number = ends.len() as u32;
            names.extend_from_slice(name);
            ends.push(names.len() as u32);
            self.found.push(None);
            self.used.push((0, 0));
            table.insert_unique(hash, number, |&i| hash_bytes(&names[Self::name(names, ends, i)]));
            number
        });
        self.last = number;
        number
    }

    /// Returns the process of an id, known or not yet, for a span at an offset.
    pub fn process(&mut self, name: &[u8], at: u64) -> ProcessId {
        let number = self.local(name);
        let (uses, first) = &mut self.used[number as usize];
        if *uses == 0 {
            *first = at;
        }
        *uses += 1;
        ProcessId(LOCAL | number)
    }

    /// Says what an id is.
    pub fn define_process(&mut self, name: &[u8], process: ProcessId) {
        let number = self.local(name) as usize;
        self.found[number] = Some(process);
    }

    pub fn push(&mut self, own: TraceId, span: RawSpan) {
        let is_first = self.first_own.is_none() && !own.is_none();
        if is_first {
            self.first_own = Some(own);
        }
        if self.first_own != Some(own) {
            self.of_others.push((self.spans.len() as u32, own));
        }
        self.spans.push(span);
    }

    /// Returns the id of the trace: its own, or that of its spans; `None` if there is none.
    pub fn trace_id(&self) -> Option<TraceId> {
        self.id.filter(|id| !id.is_none()).or(self.first_own)
    }

    /// Returns the processes that spans name and nobody has defined; `None` if there are none.
    pub fn unknown_processes(&self) -> Option<UnknownProcesses<'_>> {
        let used = (0u32..).zip(self.used.iter().zip(&self.found));
        let unknown = used.filter(|(_, ((uses, _), found))| *uses > 0 && found.is_none());
        let uses = unknown.clone().map(|(_, ((uses, _), _))| uses).sum();
        let (number, ((_, first_at), _)) = unknown.min_by_key(|(_, ((_, first_at), _))| *first_at)?;
        let name = String::from_utf8_lossy(&self.names[Self::name(&self.names, &self.ends, number)]);
        Some(UnknownProcesses { uses, first_at: *first_at, name })
    }

    /// Says what those are that nobody has defined.
    pub fn define_unknown_processes(&mut self, process: ProcessId) {
        self.found.iter_mut().for_each(|found| *found = Some(found.unwrap_or(process)));
    }

    /// Replaces the names of processes in spans by what they turned out to be.
    pub fn place_processes(&mut self) {
        for span in &mut self.spans {
            if span.process.0 & LOCAL != 0
                && let Some(Some(process)) = self.found.get((span.process.0 & !LOCAL) as usize)
            {
                span.process = *process;
            }
        }
    }

    /// Returns whether all spans are of the trace `id`, or say nothing else.
    pub fn is_of_one_trace(&self, id: TraceId) -> bool {
        self.first_own.unwrap_or(id) == id && self.of_others.iter().all(|(_, own)| own.is_none())
    }

    /// Takes out the spans, each with its trace: that which it names, or else `id`.
    pub fn drain(&mut self, id: TraceId) -> impl Iterator<Item = (TraceId, RawSpan)> {
        let first = self.first_own.unwrap_or(id);
        let mut of_others = self.of_others.iter().peekable();
        self.spans.drain(..).enumerate().map(move |(number, span)| {
            let of_other = of_others.next_if(|(at, _)| *at as usize == number);
            let own = of_other.map_or(first, |(_, own)| if own.is_none() { id } else { *own });
            (own, span)
        })
    }

    /// Takes out the links; an absent trace is `id`.
    pub fn drain_links(&mut self, id: TraceId) -> impl Iterator<Item = RawLink> {
        let known = move |trace: TraceId| if trace.is_none() { id } else { trace };
        let place =
            move |link: RawLink| RawLink { trace: known(link.trace), to_trace: known(link.to_trace), ..link };
        self.links.drain(..).map(place)
    }

    /// Gives up what is held.
    pub fn discard(&mut self) {
        self.is_bad = true;
        self.spans = Vec::new();
        self.of_others = Vec::new();
        self.links = Vec::new();
    }
}

/// Processes that spans name and their trace does not have.
pub(crate) struct UnknownProcesses<'a> {
    /// How many spans name one.
    pub uses: u64,
    /// Offset of the first of these spans.
    pub first_at: u64,
    /// What it calls its process.
    pub name: Cow<'a, str>,
}
