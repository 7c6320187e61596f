//! Sums of any number of root endpoints from several threads.
//!
//! To observe a root endpoint, or one more calling context of it, costs as much as many spans of what is known already. So
//! traces in which little repeats itself wait as columns, many of them in a temporary file, and are then observed a million
//! spans at a time. Which root endpoints have the most time is known by then: the others are observed together.

use super::fewer::{MOST_NAMES, Plan, without_values};
use super::section::MOST_ROOTS;
use super::{Merger, OtherSettings, Summary, SummarySettings};
use crate::anomalies::summed::NormalRequests;
use crate::flame::PathTable;
use pathlight_base::encoding;
use pathlight_trace::{Endpoint, EndpointId, Portable, SetFull, TraceSet, hash_text};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::mem::take;
use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Spans on paths for each calling context of a root endpoint in a set, from which on its requests are observed as they come.
const MANY_SPANS: u64 = 8;
/// Spans that all threads together observe at a time in the end.
const TOGETHER: usize = if cfg!(debug_assertions) { 1 << 12 } else { 1 << 20 };
/// Groups of root endpoints whose traces wait together, so that those of one are observed together.
const GROUPS: u64 = 16;
/// Bytes of traces that are held in memory; further ones go into a temporary file. There may be a summary a day.
const MOST_HELD: usize = if cfg!(debug_assertions) { 1 << 16 } else { 4 << 20 };

/// Makes a temporary file.
pub type MakeFile = fn() -> io::Result<File>;

/// Why what was gathered gives no summary.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// Summaries were made with other settings.
    #[error(transparent)]
    Settings(#[from] OtherSettings),
    /// Memory for spans ended.
    #[error(transparent)]
    Full(#[from] SetFull),
    /// Memory or the temporary file has changed.
    #[error("traces that waited cannot be read again")]
    Damaged,
    /// The temporary file cannot be made, written or read.
    #[error("traces of many root endpoints need a temporary file: {0}")]
    File(#[from] io::Error),
}

/// Sums that threads gather.
pub struct Gatherer {
    settings: SummarySettings,
    inner: Mutex<Gathered>,
    make_file: MakeFile,
}

/// The part of a thread in what is gathered.
#[derive(Default)]
pub struct GathererPart(Merger);

#[derive(Default)]
struct Gathered {
    /// What was observed as it came, of threads that have ended.
    sum: Merger,
    /// Root endpoints whose requests are observed as they come: at most [`MOST_ROOTS`].
    at_once: BTreeSet<Endpoint>,
    /// Sums of the latencies of requests that wait, by root endpoint; without values in its name where many differ in these.
    waiting_us: BTreeMap<Endpoint, u128>,
    /// By name without values: how many root endpoints have it.
    names: BTreeMap<Endpoint, usize>,
    waiting: Vec<Traces>,
    /// Bytes of those in memory.
    held: usize,
    /// Holds the others, with its length.
    file: Option<(File, u64)>,
}

/// What the requests of a root endpoint have in a set.
#[derive(Clone, Copy, Default)]
struct Repeats {
    /// Spans on their paths.
    spans: u64,
    /// Calling contexts.
    contexts: u64,
}

/// Traces that wait, as columns.
struct Traces {
    /// Of root endpoints, by a hash of their names.
    group: u64,
    spans: usize,
    bytes: usize,
    place: Held,
}

enum Held {
    Here(Vec<u8>),
    /// In the temporary file, from this byte on.
    InFile(u64),
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the group of a root endpoint, that of a row: the same whatever values are in its name.
fn group(set: &TraceSet, row: u32) -> u64 {
    let root = set.owned_endpoint(set.endpoint(row));
    let root = without_values(&root).unwrap_or(root);
    (hash_text(&root.service) ^ hash_text(&root.operation)) % GROUPS
}

impl Gathered {
    /// Returns whether the requests of a root endpoint are observed as they come.
    fn is_at_once(&mut self, root: &Endpoint, of: Repeats) -> bool {
        if of.spans < of.contexts * MANY_SPANS {
            return false;
        }
        let has_room = self.at_once.len() < MOST_ROOTS;
        self.at_once.contains(root) || has_room && self.at_once.insert(root.clone())
    }

    /// Counts the latency of requests that wait.
    fn wait(&mut self, mut root: Endpoint, us: u128) {
        if let Some(template) = without_values(&root) {
            let names = self.names.entry(template.clone()).or_default();
            if *names > MOST_NAMES {
                root = template;
            } else if !self.waiting_us.contains_key(&root) {
                *names += 1;
            }
        }
        let sum = self.waiting_us.entry(root).or_default();
        *sum = sum.saturating_add(us);
    }

    fn put(&mut self, (group, spans): (u64, usize), columns: Vec<u8>, make_file: MakeFile) -> io::Result<()> {
        let bytes = columns.len();
        if self.file.is_none() && self.held + bytes > MOST_HELD {
            self.file = Some((make_file()?, 0));
        }
        let place = match &mut self.file {
            Some((file, end)) => {
                file.write_all(&columns)?;
                Held::InFile(std::mem::replace(end, *end + bytes as u64))
            }
            None => {
                self.held += bytes;
                Held::Here(columns)
            }
        };
        self.waiting.push(Traces { group, spans, bytes, place });
        Ok(())
    }

    /// Returns the next traces that wait, of about so many spans; none if there are no more. Those of a group stay together
    /// unless they are twice as many.
    fn next(&mut self, most: usize) -> Result<Vec<Vec<u8>>, GatherError> {
        let (mut next, mut found, mut last) = (Vec::new(), 0, None);
        let is_next = |found: usize, last: Option<u64>, traces: &Traces| {
            found < most || found < 2 * most && last == Some(traces.group)
        };
        while let Some(Traces { group, spans, bytes, place }) =
            self.waiting.pop_if(|traces| is_next(found, last, traces))
        {
            found += spans;
            last = Some(group);
            next.push(match place {
                Held::Here(bytes) => bytes,
                Held::InFile(at) => {
                    let (file, _) = self.file.as_mut().ok_or(GatherError::Damaged)?;
                    let mut read = vec![0; bytes];
                    file.seek(SeekFrom::Start(at))?;
                    file.read_exact(&mut read)?;
                    read
                }
            });
        }
        Ok(next)
    }
}

impl Gatherer {
    /// Returns one that has gathered nothing; `make_file` is asked for a file once there is much.
    pub fn new(settings: SummarySettings, make_file: MakeFile) -> Gatherer {
        Gatherer { settings, inner: Mutex::default(), make_file }
    }

    /// Adds the traces of a sealed set to the part of a thread.
    ///
    /// # Errors
    /// [`GatherError`].
    pub fn observe(&self, part: &mut GathererPart, mut set: TraceSet) -> Result<(), GatherError> {
        let settings = &self.settings;
        let table = PathTable::build(&set, &settings.root, settings.path);
        let waiting = self.waiting(&set, &table);
        if waiting.is_empty() {
            let normal = NormalRequests::observe(&set, settings.path, &table);
            return Ok(part.0.add(Summary::of_table(&set, &table, settings, normal))?);
        }
        drop(table);
        let trace = |number: u32| set.traces()[number as usize];
        let mut groups: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for &number in &waiting {
            groups.entry(group(&set, trace(number).first)).or_default().push(number);
        }
        for (group, numbers) in groups {
            let spans = numbers.iter().map(|&number| trace(number).len()).sum();
            let columns = encoding::write(&Portable::copy(&set, numbers.into_iter()));
            lock(&self.inner).put((group, spans), columns, self.make_file)?;
        }
        let waiting: Vec<u32> = waiting.into_iter().map(|number| trace(number).first).collect();
        set.retain(|trace| waiting.binary_search(&trace.first).is_err());
        // What observes begins with all names of the set.
        if set.traces().is_empty() {
            return Ok(());
        }
        Ok(part.0.add(Summary::observe(&set, settings))?)
    }

    /// Returns the traces that have a request of a root endpoint whose requests wait, and counts their time.
    fn waiting(&self, set: &TraceSet, table: &PathTable) -> Vec<u32> {
        let mut rare: BTreeMap<EndpointId, Repeats> = BTreeMap::new();
        // A context comes after the one above it.
        let mut root_of: Vec<EndpointId> = Vec::with_capacity(table.contexts().len());
        for &(above, endpoint) in table.contexts() {
            let root = root_of.get(above as usize).copied().unwrap_or(endpoint);
            root_of.push(root);
            rare.entry(root).or_default().contexts += 1;
        }
        for request in &table.requests {
            rare.entry(set.endpoint(request.row)).or_default().spans += u64::from(request.path_spans);
        }
        let mut gathered = lock(&self.inner);
        rare.retain(|root, of| !gathered.is_at_once(&set.owned_endpoint(*root), *of));
        let mut times_us: BTreeMap<EndpointId, u128> = BTreeMap::new();
        let mut waiting = Vec::new();
        for of_trace in table.requests.chunk_by(|a, b| a.trace == b.trace) {
            if of_trace.iter().any(|request| rare.contains_key(&set.endpoint(request.row))) {
                waiting.push(of_trace[0].trace);
                for request in of_trace {
                    *times_us.entry(set.endpoint(request.row)).or_default() += u128::from(request.latency_us);
                }
            }
        }
        times_us.into_iter().for_each(|(root, us)| gathered.wait(set.owned_endpoint(root), us));
        waiting
    }

    /// Adds the part of a thread.
    ///
    /// # Errors
    /// [`GatherError`].
    pub fn end(&self, part: GathererPart) -> Result<(), GatherError> {
        let sum = part.0.finish()?;
        Ok(lock(&self.inner).sum.add(sum)?)
    }

    /// Takes out the sum of all, with [all sums](Summary::with_roots) of the root endpoints with the most time; observes
    /// what waits, on so many threads.
    ///
    /// # Errors
    /// [`GatherError`].
    pub fn finish(&self, threads: usize) -> Result<Summary, GatherError> {
        let threads = threads.max(1);
        let mut gathered = take(&mut *lock(&self.inner));
        let sum = take(&mut gathered.sum).finish()?;
        let mut totals = take(&mut gathered.waiting_us);
        for (root, part) in &sum.roots {
            let total = totals.entry(root.clone()).or_default();
            *total = total.saturating_add(part.latency_us.sum);
        }
        let plan = Plan::of(&totals, &sum.lesser, MOST_ROOTS);
        // Those of one group come one after the other.
        gathered.waiting.sort_by_key(|traces| traces.group);
        let gathered = Mutex::new(gathered);
        let merger = Mutex::new(Merger::default());
        lock(&merger).add(sum.planned(&plan)?)?;
        let work = || -> Result<(), GatherError> {
            loop {
                let next = lock(&gathered).next(TOGETHER / threads)?;
                if next.is_empty() {
                    return Ok(());
                }
                let mut set = TraceSet::new();
                for bytes in &next {
                    let traces: Portable = encoding::read(bytes).map_err(|_| GatherError::Damaged)?;
                    traces.add_to(&mut set)?;
                }
                drop(next);
                set.seal()?;
                let part = Summary::observe_planned(&mut set, &self.settings, &plan)?;
                lock(&merger).add(part)?;
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            for thread in threads {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            }
            Ok::<_, GatherError>(())
        })?;
        Ok(take(&mut *lock(&merger)).finish()?)
    }
}
