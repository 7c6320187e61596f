//! Passes over the requests inside a cut. A query declares its pass beside itself and adds a line to
//! [`passes`](crate::passes).

use super::partials::frame;
use super::set_pass::Numbered;
use crate::flame::done::{DonePath, Follower};
use crate::flame::{Observer, PathTable, Walk};
use crate::requests::{RequestTypes, Weighing};
use pathlight_base::encoding;
use pathlight_base::statistics::Weight;
use pathlight_trace::{PathSettings, TraceSet};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What every worker does once for a query, with the requests inside a cut.
pub(crate) trait RequestPass: Numbered + Serialize + DeserializeOwned {
    /// What a worker sends; of one pass it may send several.
    type Part: Serialize + DeserializeOwned;
    /// Whether it distinguishes request types.
    const IS_BY_TYPE: bool = false;

    /// Starts the pass over a worker's requests.
    fn start(self, over: Over<'_>) -> Box<dyn RunningPass>;
}

/// A pass as it travels: its number in the list of passes, and its bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PackedRequestPass {
    pub number: u8,
    pub is_by_type: bool,
    pub bytes: Vec<u8>,
}

impl PackedRequestPass {
    /// Packs a pass.
    pub fn of<P: RequestPass>(pass: &P) -> PackedRequestPass {
        PackedRequestPass { number: P::PASS, is_by_type: P::IS_BY_TYPE, bytes: encoding::write(pass) }
    }
}

/// A pass being run over the requests of one worker, in steps.
pub(crate) trait RunningPass {
    /// Works until done (true), or until `time_is_up` says so.
    fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool;

    /// Returns the requests done, and requests in all.
    fn progress(&self) -> (u64, u64);

    /// Returns what was found, in parts.
    fn finish(self: Box<Self>, set: &TraceSet) -> Vec<Vec<u8>>;
}

/// The requests that a pass is started over.
pub(crate) struct Over<'a> {
    pub set: &'a TraceSet,
    pub settings: PathSettings,
    /// How many requests each counts as.
    pub weighing: Weighing,
    /// If paths are those until everything is done: the traces, ascending, that links connect with too many others.
    pub apart: Option<Vec<u32>>,
    /// The types of all requests of the table, if the pass distinguishes them.
    pub types: Arc<RequestTypes>,
    /// Numbers in the worker's table, by latency, fastest first.
    pub requests: Vec<u32>,
}

impl Over<'_> {
    /// Returns what finds paths until everything is done, if paths are those.
    pub fn done_path(&self) -> Option<DonePath> {
        let apart = self.apart.clone()?;
        Some(DonePath::new(self.set, self.settings, apart))
    }

    /// Returns what follows requests until everything is done, if they end then.
    pub fn follower(&self) -> Option<Follower> {
        let apart = self.apart.clone()?;
        Some(Follower::new(self.set, self.settings, apart))
    }

    /// Starts a pass that looks at the whole trees of the requests.
    pub fn walk<O: Observer + 'static>(self, observer: O) -> Box<dyn RunningPass> {
        Box::new(Walk::new(observer, self.settings, self.requests))
    }

    /// Starts a pass over the rows of the path table; `observe` makes a part of some requests at a time.
    pub fn sweep<P: Serialize + 'static>(
        self,
        observe: impl FnMut(&Rows) -> P + 'static,
    ) -> Box<dyn RunningPass> {
        self.in_parts_of(CHUNK, observe)
    }

    /// Starts a pass over the rows of the path table that makes one part of all requests: for parts that would be as large of
    /// fewer of them.
    pub fn sweep_at_once<P: Serialize + 'static>(
        self,
        observe: impl FnMut(&Rows) -> P + 'static,
    ) -> Box<dyn RunningPass> {
        self.in_parts_of(usize::MAX, observe)
    }

    fn in_parts_of<P: Serialize + 'static>(
        self,
        rows: usize,
        mut observe: impl FnMut(&Rows) -> P + 'static,
    ) -> Box<dyn RunningPass> {
        let Over { settings, weighing, types, requests, .. } = self;
        let observe = Box::new(move |rows: &Rows| encoding::write(&observe(rows)));
        Box::new(Sweep { settings, weighing, types, requests, next: 0, rows, observe, parts: Vec::new() })
    }
}

/// Some requests of a path table.
pub(crate) struct Rows<'a> {
    pub set: &'a TraceSet,
    pub table: &'a PathTable,
    pub settings: PathSettings,
    pub weighing: Weighing,
    pub types: &'a RequestTypes,
    pub requests: &'a [u32],
}

impl Rows<'_> {
    /// Returns the numbers of the requests.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.requests.iter().copied()
    }

    /// Returns how many requests one counts as.
    pub fn weight(&self, request: u32) -> Weight {
        self.weighing.weight(self.set, &self.table.requests[request as usize])
    }
}

/// Rows of the path table between two looks at the clock, and in one part; few where tests are to see several.
const CHUNK: usize = if cfg!(debug_assertions) { 64 } else { 1 << 16 };

/// Makes the bytes of a part of some requests.
type Observe = dyn FnMut(&Rows) -> Vec<u8>;

/// A pass over the path table alone: some requests at a time, each a part for itself.
struct Sweep {
    settings: PathSettings,
    weighing: Weighing,
    types: Arc<RequestTypes>,
    requests: Vec<u32>,
    next: usize,
    /// About how many rows make a part.
    rows: usize,
    observe: Box<Observe>,
    parts: Vec<Vec<u8>>,
}

impl RunningPass for Sweep {
    fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        loop {
            // A part has sums for each calling context and endpoint: of fewer rows than twice as many, these would be most of it.
            let mut left = self.rows.max(2 * table.contexts().len());
            let from = self.next;
            while self.next < self.requests.len() && left > 0 {
                left = left.saturating_sub(1 + table.entries(self.requests[self.next]).len());
                self.next += 1;
            }
            let requests = &self.requests[from..self.next];
            let (settings, weighing) = (self.settings, self.weighing);
            let rows = Rows { set, table, settings, weighing, types: &self.types, requests };
            self.parts.push((self.observe)(&rows));
            if self.next == self.requests.len() {
                return true;
            }
            if time_is_up() {
                return false;
            }
        }
    }

    fn progress(&self) -> (u64, u64) {
        (self.next as u64, self.requests.len() as u64)
    }

    fn finish(self: Box<Self>, _: &TraceSet) -> Vec<Vec<u8>> {
        self.parts
    }
}

impl<O: Observer> RunningPass for Walk<O> {
    fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        Walk::step(self, set, table, time_is_up)
    }

    fn progress(&self) -> (u64, u64) {
        Walk::progress(self)
    }

    fn finish(self: Box<Self>, set: &TraceSet) -> Vec<Vec<u8>> {
        vec![encoding::write(&Walk::finish(*self, set))]
    }
}

/// Works on until done, then returns the partial; or until `time_is_up` returns true.
pub(crate) fn step(
    running: &mut Option<Box<dyn RunningPass>>,
    set: &TraceSet,
    table: &PathTable,
    time_is_up: &mut dyn FnMut() -> bool,
) -> Option<Vec<u8>> {
    let is_done = running.as_mut()?.step(set, table, time_is_up);
    let done = running.take_if(|_| is_done)?;
    Some(frame(&done.finish(set)))
}
