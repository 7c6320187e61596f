//! The page's side of the workers: what is loaded where, and who answers.
//!
//! Workers hold the data, the page holds the handles of everything they have read: a worker that dies is replaced and
//! reads again. The flows are plain async functions: [`load`] reads, [`join`] brings together, [`save`] copies
//! everything out, [`query`] runs the passes of a query's plan with the first worker as its coordinator.

mod call;
mod join;
mod load;
mod loss;
mod memory;
mod progress;
mod query;
mod save;
mod slices;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use call::{Member, Pending};
use futures_channel::oneshot::Sender;
use load::Load;
pub use memory::Shortage;
use query::COORDINATOR;
pub use query::QueryError;
use wasm_bindgen_futures::spawn_local;
use web_sys::Blob;

use super::boot::Boot;
use super::wire::ToWorker;
use pathlight_ingest::{FileReport, Keep, SplitPoint};

/// Workers at most: beyond, memory and the reading of files set the speed.
const MOST_WORKERS: usize = 16;

/// Something to load. The Blob is a handle: its bytes stay where they are until a worker reads them.
#[derive(Clone, Debug)]
pub struct Input {
    /// File name, with its folders where known.
    pub name: String,
    /// Its content.
    pub blob: Blob,
}

/// What a pool tells the page.
#[derive(Clone, Debug)]
pub enum PoolEvent {
    /// A worker is warm.
    Ready,
    /// How far a load is; about ten times a second.
    Progress(LoadProgress),
    /// Complete traces so far can be queried; the reports will change.
    Preliminary,
    /// What is loading will not fit. It waits for [`Pool::go_on`] or [`Pool::cancel_load`]; complete traces so far can
    /// be asked about.
    Short(Shortage),
    /// A load has ended: run queries anew, what was known has changed.
    Loaded(LoadOutcome),
    /// A worker died. It is replaced and reads its files again; [`Loaded`](PoolEvent::Loaded) follows.
    WorkerLost {
        /// What it was reading, or empty.
        name: String,
        /// Why, as far as the browser told.
        reason: String,
    },
    /// The pool cannot work, or not with what it was given.
    Failed(UserError),
}

/// How far a load is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadProgress {
    /// Bytes read.
    pub bytes: u64,
    /// Bytes of all files of this load.
    pub total_bytes: u64,
    /// Traces held so far, earlier loads included; single spans become traces at the end of a load.
    pub traces: u64,
    /// Spans held so far, earlier loads included.
    pub spans: u64,
    /// Files finished.
    pub files_done: u32,
    /// Files of this load.
    pub files: u32,
    /// Speed, smoothed, in 10^6 bytes a second.
    pub mb_per_s: f64,
    /// Time left, if it can be told.
    pub seconds_left: Option<f64>,
}

/// What a load has brought.
#[derive(Clone, Debug, Default)]
pub struct LoadOutcome {
    /// One a file that was read, in the order the files were given.
    pub reports: Vec<FileReport>,
    /// What could not be read at all, or not to its end for want of memory.
    pub errors: Vec<UserError>,
    /// The user ended it.
    pub cancelled: bool,
}

/// An error as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserError {
    /// What happened, in one sentence.
    pub message: String,
    /// File, place, the browser's own words.
    pub detail: String,
    /// What can be done.
    pub next_step: String,
}

/// A file, where its spans are.
struct Kept {
    input: Input,
    group: u8,
    bytes: u64,
    /// Which load brought it.
    load: u64,
    state: State,
    /// Its group was taken away since it came.
    is_unloaded: bool,
    /// Workers that died reading it.
    strikes: u32,
    /// Only so many bytes of it were and will be read: the user stopped there, or memory ended.
    cut: Option<u64>,
    /// If it is a slice of a file.
    part: Option<Part>,
    /// It is no good in slices.
    is_uncut: bool,
    /// Which of its traces are kept.
    keep: Keep,
    report: Option<FileReport>,
}

/// A slice of a file: its split_points, `None` for the start and the end of the file.
#[derive(Clone)]
struct Part {
    /// The file, by index.
    file: usize,
    from: Option<SplitPoint>,
    until: Option<SplitPoint>,
}

impl Kept {
    fn new(input: Input, group: u8, load: u64) -> Kept {
        Kept {
            bytes: input.blob.size() as u64,
            input,
            group,
            load,
            state: State::Waiting,
            is_unloaded: false,
            strikes: 0,
            cut: None,
            part: None,
            is_uncut: false,
            keep: Keep::All,
            report: None,
        }
    }
}

/// What a pool keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Files of this many bytes or more are read by several workers, in slices of half that at least.
    pub large_file: u64,
    /// Heap of a worker that columns may take. wasm memory ends at 4 GiB; the rest serves the buffers of a load and the
    /// analyses.
    pub memory: u64,
    /// Workers at most; it cannot be more than the pool was made for.
    pub workers: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { large_file: 32 << 20, memory: 3_200 << 20, workers: MOST_WORKERS }
    }
}

impl Limits {
    /// The limits that an address asks for by keys like `limit-large-file=65536`: for tests and for trying out.
    pub fn from_keys(keys: &[(String, String)]) -> Limits {
        let mut limits = Limits::default();
        for (key, value) in keys {
            let Ok(bytes) = value.parse::<u64>() else { continue };
            match key.as_str() {
                "limit-large-file" => limits.large_file = bytes,
                "limit-memory" => limits.memory = bytes,
                "limit-workers" => limits.workers = bytes as usize,
                _ => {}
            }
        }
        limits
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// To be read.
    Waiting,
    /// Dealt to the worker in this slot.
    Dealt(usize),
    /// Read by the worker in this slot.
    Read(usize),
    /// Cut into slices, which are files of their own here.
    Cut,
    /// Not wanted, or cannot be read.
    Dropped,
}

/// The workers of a page. Cheap to clone; all clones are one pool.
#[derive(Clone)]
pub struct Pool(Rc<Inner>);

struct Inner {
    boot: Boot,
    on_event: Box<dyn Fn(PoolEvent)>,
    /// To be told; the first is being told.
    events: RefCell<VecDeque<PoolEvent>>,
    limit: usize,
    limits: Cell<Limits>,
    /// By slot; a slot is empty while nobody needs it.
    members: RefCell<Vec<Option<Member>>>,
    calls: RefCell<BTreeMap<u64, Pending>>,
    /// Numbers for calls, plans, workers and loads.
    next_number: Cell<u64>,
    /// Moves on when row numbers or the data itself change: queries of an earlier one are stale.
    generation: Cell<u64>,
    /// Moves on with `clear`: flows of an earlier one end without a word.
    epoch: Cell<u64>,
    kept: RefCell<Vec<Kept>>,
    load: RefCell<Option<Load>>,
    /// Queries must wait: rows are moving.
    is_joining: Cell<bool>,
    waiting: RefCell<Vec<Sender<()>>>,
    /// Traces went from one worker to another, so that a worker holds more than its own files.
    moved: Cell<bool>,
    /// A worker died that held traces of others' files: everything must be read again.
    must_rebuild: Cell<bool>,
    /// Workers that died before they said a word, in a row.
    stillborn: Cell<u32>,
    /// How often a worker died of a query, by its message.
    killers: RefCell<BTreeMap<Vec<u8>, u32>>,
}

impl Pool {
    /// A pool of as many workers as the machine has processors, started as they are needed; the first starts now.
    pub fn new(boot: Boot, on_event: impl Fn(PoolEvent) + 'static) -> Pool {
        let processors = web_sys::window().map_or(1.0, |window| window.navigator().hardware_concurrency());
        Pool::with_workers(boot, processors as usize, on_event)
    }

    /// A pool of at most so many workers, at least 1 and at most 16.
    pub fn with_workers(boot: Boot, workers: usize, on_event: impl Fn(PoolEvent) + 'static) -> Pool {
        let pool = Pool(Rc::new(Inner {
            boot,
            on_event: Box::new(on_event),
            events: RefCell::default(),
            limit: workers.clamp(1, MOST_WORKERS),
            limits: Cell::default(),
            members: RefCell::default(),
            calls: RefCell::default(),
            next_number: Cell::new(1),
            generation: Cell::new(0),
            epoch: Cell::new(0),
            kept: RefCell::default(),
            load: RefCell::default(),
            is_joining: Cell::new(false),
            waiting: RefCell::default(),
            moved: Cell::new(false),
            must_rebuild: Cell::new(false),
            stillborn: Cell::new(0),
            killers: RefCell::default(),
        }));
        pool.warm(0);
        pool
    }

    /// Sets what later loads keep to.
    pub fn set_limits(&self, limits: Limits) {
        self.0.limits.set(limits);
    }

    /// Lets the first worker get ready for a load: nothing is loaded yet and nobody is in a hurry.
    pub fn warm_up(&self) {
        self.post(COORDINATOR, &ToWorker::WarmUp, &[]);
    }

    /// How many workers there are, started or not.
    pub fn workers(&self) -> usize {
        self.0.limit.min(self.0.limits.get().workers).max(1)
    }

    /// Workers that have something to do.
    pub fn busy_workers(&self) -> usize {
        let slots: std::collections::BTreeSet<usize> =
            self.0.calls.borrow().values().map(|pending| pending.slot).collect();
        slots.len()
    }

    /// Bytes of wasm memory of all workers, as last heard.
    pub fn memory_bytes(&self) -> u64 {
        self.0.members.borrow().iter().flatten().map(|member| member.progress.memory).sum()
    }

    /// Forgets everything. Memory of wasm never shrinks, so the workers end and one new one starts. Queries under way
    /// end with [`QueryError::Stale`], a load without an event.
    pub fn clear(&self) {
        let inner = &self.0;
        inner.epoch.set(inner.epoch.get() + 1);
        inner.kept.borrow_mut().clear();
        inner.load.borrow_mut().take();
        inner.killers.borrow_mut().clear();
        inner.is_joining.set(false);
        self.end_workers();
        self.settle();
        self.warm(0);
    }

    fn number(&self) -> u64 {
        let number = self.0.next_number.get();
        self.0.next_number.set(number + 1);
        number
    }

    /// Tells the page, after what runs now: it may call back.
    fn emit(&self, event: PoolEvent) {
        let is_first = {
            let mut events = self.0.events.borrow_mut();
            events.push_back(event);
            events.len() == 1
        };
        if !is_first {
            return;
        }
        let pool = self.clone();
        spawn_local(async move {
            loop {
                let next = pool.0.events.borrow().front().cloned();
                let Some(event) = next else { break };
                (pool.0.on_event)(event);
                pool.0.events.borrow_mut().pop_front();
            }
        });
    }

    /// Lets the queries go on that waited.
    fn settle(&self) {
        let waiting = self.0.waiting.take();
        for sender in waiting {
            let _ = sender.send(());
        }
    }
}

/// Milliseconds of a clock that never goes back.
fn now_ms() -> f64 {
    web_sys::window()
        .and_then(|window| window.performance())
        .map_or_else(js_sys::Date::now, |clock| clock.now())
}
