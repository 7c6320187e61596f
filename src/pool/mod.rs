//! The page's side of the workers: ties [`PoolState`](pathlight_engine::pool::PoolState), which decides everything, to
//! Worker objects and their messages.
//!
//! Every input (a call of the page, a message, a dead worker) becomes an event of the state machine; the commands it
//! returns are carried out here. This module holds what the state machine cannot: the files' Blobs, the Worker objects
//! and the futures of those who wait for a report.

mod members;

use pathlight_base::encoding;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures_util::StreamExt;
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;
use web_sys::Blob;

use self::members::Member;
use super::boot::Boot;
use super::dom::pause;
use pathlight_engine::anomalies::paper::vae::TrainingProgress;
pub use pathlight_engine::load::MemoryForecast;
use pathlight_engine::pool::messages::ToWorker;
use pathlight_engine::pool::{Attachment, PoolCommand, PoolInput, PoolState, TICK_MS};
pub use pathlight_engine::pool::{Limits, LoadOutcome, LoadProgress, PoolEvent, QueryError, UserError};
use pathlight_engine::queries::Query;
use pathlight_ingest::{KeptTraces, ReadRules};
use pathlight_wire as wire;

/// Something to load. The Blob is a handle: its bytes stay where they are until a worker reads them.
#[derive(Clone, Debug)]
pub struct Input {
    /// File name, with its folders where known.
    pub name: String,
    /// Content of the file.
    pub blob: Blob,
}

/// The workers of a page. Cheap to clone; all clones are one pool.
#[derive(Clone)]
pub struct PagePool(Rc<Inner>);

struct Inner {
    boot: Boot,
    on_event: Box<dyn Fn(PoolEvent)>,
    /// Events still to be handled; the first is being handled.
    events: RefCell<VecDeque<PoolEvent>>,
    state: RefCell<PoolState<JsValue>>,
    /// Workers by slot.
    members: RefCell<BTreeMap<usize, Member>>,
    /// All files loaded since the last clear, in order.
    files: RefCell<Vec<Blob>>,
    /// Those who wait for a query or a copy of columns, by its number.
    waiting: RefCell<BTreeMap<u64, UnboundedSender<Reply>>>,
    last_number: Cell<u64>,
}

/// Reply of the pool to a caller that waits.
enum Reply {
    /// A query works on; how far it is, packed.
    Working(JsValue),
    /// The packed report of a query, or none.
    Answer(Result<JsValue, QueryError>),
    /// Bytes that each worker has written for the page, or the reason why there are none.
    Saved(Result<Vec<Vec<JsValue>>, String>),
}

/// Somebody who waits for a query or a copy; dropping it cancels what is waited for.
struct Waiting<'a> {
    pool: &'a PagePool,
    number: u64,
    replies: UnboundedReceiver<Reply>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let is_under_way = self.pool.0.waiting.borrow_mut().remove(&self.number).is_some();
        if is_under_way {
            self.pool.handle(PoolInput::Cancel(self.number));
        }
    }
}

impl PagePool {
    /// Returns a pool of as many workers as the machine has processors, started as they are needed; the first starts now.
    pub fn new(boot: Boot, on_event: impl Fn(PoolEvent) + 'static) -> PagePool {
        let processors = web_sys::window().map_or(1.0, |window| window.navigator().hardware_concurrency());
        PagePool::with_workers(boot, processors as usize, on_event)
    }

    /// Returns a pool of at most so many workers, at least 1 and at most 16.
    pub fn with_workers(boot: Boot, workers: usize, on_event: impl Fn(PoolEvent) + 'static) -> PagePool {
        let (state, commands) = PoolState::new(workers);
        let pool = PagePool(Rc::new(Inner {
            boot,
            on_event: Box::new(on_event),
            events: RefCell::default(),
            state: RefCell::new(state),
            members: RefCell::default(),
            files: RefCell::default(),
            waiting: RefCell::default(),
            last_number: Cell::new(0),
        }));
        pool.execute(commands);
        let inner = Rc::downgrade(&pool.0);
        spawn_local(async move {
            loop {
                pause(TICK_MS as i32).await;
                let Some(inner) = inner.upgrade() else { break };
                PagePool(inner).handle(PoolInput::Tick);
            }
        });
        pool
    }

    /// Sets what later loads keep to.
    pub fn set_limits(&self, limits: Limits) {
        self.0.state.borrow_mut().set_limits(limits);
    }

    /// Sets what files are read by from now on.
    pub fn set_rules(&self, rules: ReadRules) {
        self.0.state.borrow_mut().set_rules(rules);
    }

    /// Lets the first worker warm up for a load: nothing is loaded yet and nobody is in a hurry.
    pub fn warm_up(&self) {
        self.handle(PoolInput::WarmUp);
    }

    /// Returns how many workers there are, started or not.
    pub fn workers(&self) -> usize {
        self.0.state.borrow().workers()
    }

    /// Returns the bytes of wasm memory of all workers, as last heard.
    pub fn memory_bytes(&self) -> u64 {
        self.0.state.borrow().memory_bytes()
    }

    /// Returns whether a load is under way.
    pub fn is_loading(&self) -> bool {
        self.0.state.borrow().is_loading()
    }

    /// Loads these besides what is loaded, into the set looked at. During a load they join it.
    pub fn load(&self, inputs: Vec<Input>) {
        self.load_group(inputs, 0);
    }

    /// Loads these into the set of this [group](pathlight_engine::requests::Selection::group).
    pub fn load_group(&self, inputs: Vec<Input>, group: u8) {
        let files = inputs.iter().map(|input| (input.name.clone(), input.blob.size() as u64)).collect();
        self.0.files.borrow_mut().extend(inputs.into_iter().map(|input| input.blob));
        self.handle(PoolInput::Load { files, group });
    }

    /// Takes a [group](pathlight_engine::requests::Selection::group) away; [`PoolEvent::Loaded`] follows. What is loaded into it after this
    /// call stays. Counts over all that was ever read (log records, repeated spans, tag values to choose from) stay too,
    /// until [`clear`](Self::clear).
    pub fn unload_group(&self, group: u8) {
        self.handle(PoolInput::Unload { group });
    }

    /// Ends the load under way. With `keep`, what was read until now stays; otherwise everything this load brought goes,
    /// and if something was there before, that is read again. [`PoolEvent::Loaded`] follows.
    pub fn cancel_load(&self, keep: bool) {
        self.handle(PoolInput::CancelLoad { keep });
    }

    /// Goes on with a load that will not fit, from its start, keeping only these of its traces. [`KeptTraces::All`] goes on
    /// until memory ends.
    pub fn go_on(&self, keep: &KeptTraces) {
        self.handle(PoolInput::Resume(keep.clone()));
    }

    /// Forgets everything; the workers end and one new one starts. Queries under way end with [`QueryError::Stale`], a
    /// load without an event.
    pub fn clear(&self) {
        self.0.files.borrow_mut().clear();
        self.handle(PoolInput::Clear);
    }

    /// Runs a query on all workers. During a load the report is about the complete traces so far.
    ///
    /// Dropping the future cancels the query.
    ///
    /// # Errors
    /// [`QueryError`].
    pub async fn run<Q: Query>(&self, query: &Q) -> Result<Q::Report, QueryError> {
        let message = query.to_message();
        let report = self.run_message(message, &|_| {}).await?;
        Q::read_report(&report).map_err(|error| QueryError::Failed(error.to_string()))
    }

    /// Runs the query of a message; returns the report as bytes. `watch` hears how a long training goes.
    ///
    /// # Errors
    /// [`QueryError`].
    pub async fn run_message(
        &self,
        message: Vec<u8>,
        watch: &dyn Fn(TrainingProgress),
    ) -> Result<Vec<u8>, QueryError> {
        let mut waiting = self.wait();
        self.handle(PoolInput::Query { query: waiting.number, message });
        while let Some(reply) = waiting.replies.next().await {
            match reply {
                Reply::Working(progress) => {
                    if let Ok(progress) = encoding::read(&wire::bytes(&progress)) {
                        watch(progress);
                    }
                }
                Reply::Answer(result) => return result.map(|report| wire::bytes(&report)),
                Reply::Saved(_) => {}
            }
        }
        Err(QueryError::Stale)
    }

    /// Returns the demo traces as a file of Jaeger JSON.
    ///
    /// # Errors
    /// In words: the worker ended, the browser's memory ended.
    pub async fn demo(&self) -> Result<Blob, String> {
        let files = self.written(|save| PoolInput::WriteDemo { save }).await?;
        files.into_iter().next().ok_or_else(String::new)
    }

    /// Returns the columns of all workers, one Blob a worker, as [`ingest`](pathlight_ingest) reads them, without what is
    /// left out: `redaction` as [`saved`](pathlight_view::export::saved) writes it.
    ///
    /// # Errors
    /// In words: a load is under way or began meanwhile, a worker ended, the browser's memory ended.
    pub async fn columns(&self, redaction: String) -> Result<Vec<Blob>, String> {
        self.written(|save| PoolInput::Save { save, redaction }).await
    }

    /// Returns what workers write for the page, one Blob a worker.
    async fn written(&self, event: impl FnOnce(u64) -> PoolInput<JsValue>) -> Result<Vec<Blob>, String> {
        let mut waiting = self.wait();
        self.handle(event(waiting.number));
        let Some(Reply::Saved(result)) = waiting.replies.next().await else { return Ok(Vec::new()) };
        let blob = |buffers: Vec<JsValue>| {
            let parts: Array = buffers.into_iter().collect();
            Blob::new_with_buffer_source_sequence(&parts).map_err(|error| wire::words(&error))
        };
        result?.into_iter().map(blob).collect()
    }

    /// Registers somebody who waits.
    fn wait(&self) -> Waiting<'_> {
        let number = self.0.last_number.get() + 1;
        self.0.last_number.set(number);
        let (sender, replies) = unbounded();
        self.0.waiting.borrow_mut().insert(number, sender);
        Waiting { pool: self, number, replies }
    }

    /// Lets the state machine handle an event and carries out what it commands.
    fn handle(&self, event: PoolInput<JsValue>) {
        let now_us = (now_ms() * 1000.0) as u64;
        let commands = self.0.state.borrow_mut().handle(now_us, event);
        self.execute(commands);
    }

    fn execute(&self, commands: Vec<PoolCommand<JsValue>>) {
        let mut refused = Vec::new();
        for command in commands {
            match command {
                PoolCommand::Start { slot, serial } => match Member::start(self, slot, serial) {
                    Ok(member) => {
                        self.0.members.borrow_mut().insert(slot, member);
                    }
                    Err(error) => {
                        let reason = wire::words(&error);
                        refused.push(PoolInput::StartRefused { slot, serial, reason });
                    }
                },
                PoolCommand::Stop { slot } => {
                    let member = self.0.members.borrow_mut().remove(&slot);
                    drop(member);
                }
                PoolCommand::Post { slot, message, attachments } => self.post(slot, &message, attachments),
                PoolCommand::Tell(event) => self.tell(event),
                PoolCommand::Wake => {
                    let pool = self.clone();
                    spawn_local(async move { pool.handle(PoolInput::Wake) });
                }
                PoolCommand::Working { query, progress } => self.reply(query, Reply::Working(progress)),
                PoolCommand::Answer { query, result } => self.reply(query, Reply::Answer(result)),
                PoolCommand::Saved { save, result } => self.reply(save, Reply::Saved(result)),
            }
        }
        refused.into_iter().for_each(|event| self.handle(event));
    }

    fn post(&self, slot: usize, message: &ToWorker, attachments: Vec<Attachment<JsValue>>) {
        let attachments: Vec<JsValue> =
            attachments.into_iter().map(|attachment| self.attachment(attachment)).collect();
        if let Some(member) = self.0.members.borrow().get(&slot) {
            member.post(message, &attachments);
        }
    }

    fn attachment(&self, attachment: Attachment<JsValue>) -> JsValue {
        match attachment {
            Attachment::Move(buffer) => buffer,
            Attachment::Copy(buffer) => wire::buffer(&wire::bytes(&buffer)),
            Attachment::Bytes(bytes) => wire::buffer(&bytes),
            Attachment::File { source, range } => {
                let Some(whole) = self.0.files.borrow().get(source).cloned() else { return JsValue::NULL };
                if range == (0..whole.size() as u64) {
                    return whole.into();
                }
                // The browser refuses only what is no number.
                let part = whole.slice_with_f64_and_f64(range.start as f64, range.end as f64);
                part.map_or(JsValue::NULL, JsValue::from)
            }
        }
    }

    /// Hands a reply to who waits for it. The last reply ends the waiting.
    fn reply(&self, number: u64, reply: Reply) {
        let mut waiting = self.0.waiting.borrow_mut();
        let replies = match &reply {
            Reply::Working(_) => waiting.get(&number).cloned(),
            Reply::Answer(_) | Reply::Saved(_) => waiting.remove(&number),
        };
        drop(waiting);
        if let Some(replies) = replies {
            // Nobody may wait any more.
            let _ = replies.unbounded_send(reply);
        }
    }

    /// Tells the page, after what runs now: it may call back.
    fn tell(&self, event: PoolEvent) {
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
}

/// Milliseconds of a clock that never goes back.
fn now_ms() -> f64 {
    web_sys::window()
        .and_then(|window| window.performance())
        .map_or_else(js_sys::Date::now, |clock| clock.now())
}
