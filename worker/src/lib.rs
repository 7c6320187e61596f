//! The worker of the page, a wasm module of its own: one session of traces, fed by the page's calls.
//!
//! Nothing here takes long at once: reading, sealing and passes go in steps (`pace`) with a look at the messages
//! between. What is answered at once is the matter of `pathlight_engine::pool::Server`.

#![cfg(target_arch = "wasm32")]

mod pace;
mod read;
mod source;
mod split;
mod warm_up;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use pace::{StepClock, YieldPace, scope};
use read::ReadCall;
use source::BlobSource;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, MessageEvent};

use pathlight_engine::EngineError;
use pathlight_engine::pool::messages::{Call, CallDone, FromWorker, ToWorker, WorkerProgress};
use pathlight_engine::pool::{CallAnswer, Server};
use pathlight_engine::run::Session;
use pathlight_generate::{GenerateOptions, write_jaeger};
use pathlight_trace::Sealing;
use pathlight_view::export::saved;
use pathlight_wire as wire;

/// State of a call: it goes on, or how it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallState {
    Running,
    /// It ends early, keeps what is there and answers.
    Stopping,
    /// It ends; nobody waits for its answer.
    Cancelled,
}

struct Worker {
    session: RefCell<Session>,
    server: RefCell<Server>,
    /// Calls under way, by number.
    calls: RefCell<BTreeMap<u64, Rc<Cell<CallState>>>>,
    reads: RefCell<VecDeque<ReadCall>>,
    is_reading: Cell<bool>,
    /// Passes under way.
    passes: Cell<u32>,
    /// The page has called: there is real work, or was.
    is_called: Cell<bool>,
    /// The plan of the last pass.
    last_plan: Cell<u64>,
    /// The set has grown since the session last heard of it.
    grown: Cell<bool>,
    pace: YieldPace,
}

/// Listens to the page from now on; called by `worker.js` in a new worker.
///
/// # Errors
/// The browser's, if it refuses a MessageChannel.
#[wasm_bindgen]
pub fn start_worker() -> Result<(), JsValue> {
    pathlight_engine::run::clock::set(pace::now_ms);
    std::panic::set_hook(Box::new(|panic| {
        let place =
            panic.location().map_or(String::new(), |place| format!(" ({}:{})", place.file(), place.line()));
        let reason = panic.payload_as_str().unwrap_or("panic");
        post(&FromWorker::Dying(format!("{reason}{place}")), &[]);
    }));
    let session = Session::new();
    let worker = Rc::new(Worker {
        session: RefCell::new(session),
        server: RefCell::default(),
        calls: RefCell::default(),
        reads: RefCell::default(),
        is_reading: Cell::new(false),
        passes: Cell::new(0),
        is_called: Cell::new(false),
        last_plan: Cell::new(0),
        grown: Cell::new(false),
        pace: YieldPace::new()?,
    });
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        if let Some((message, attachments)) = wire::unpack::<ToWorker>(&event.data()) {
            worker.on_message(message, attachments);
        }
    });
    scope().set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    // It listens as long as the worker lives.
    on_message.forget();
    post(&FromWorker::Hello, &[]);
    Ok(())
}

/// Returns the size of this instance's memory in bytes.
fn memory_bytes() -> u64 {
    let memory = wasm_bindgen::memory().unchecked_into::<js_sys::WebAssembly::Memory>();
    u64::from(memory.buffer().unchecked_into::<js_sys::ArrayBuffer>().byte_length())
}

fn post(message: &FromWorker, attachments: &[JsValue]) {
    let packed = wire::pack(message, attachments);
    // It fails only for what cannot be cloned, and everything here can.
    let _ = scope().post_message_with_transfer(&packed.message, &packed.transfer);
}

impl Worker {
    fn post(&self, message: &FromWorker, attachments: &[JsValue]) {
        post(message, attachments);
    }

    /// Returns whether a pass is under way.
    fn has_passes(&self) -> bool {
        self.passes.get() > 0
    }

    /// Tells the session that the set has changed.
    fn changed(&self) {
        if self.grown.replace(false) {
            self.session.borrow_mut().invalidate();
        }
    }

    fn on_message(self: &Rc<Self>, message: ToWorker, attachments: Vec<JsValue>) {
        match message {
            ToWorker::Call(number, call) => self.call(number, call, attachments),
            ToWorker::Cancel(call) => self.set_state(call, CallState::Cancelled),
            ToWorker::StopReading(call) => self.set_state(call, CallState::Stopping),
            ToWorker::Ping => self.post(&FromWorker::Pong, &[]),
            ToWorker::WarmUp => spawn_local(warm_up::warm_up(self.clone())),
            ToWorker::EndPlan(plan) => {
                let answers = self.server.borrow_mut().end_plan(plan);
                self.answer_all(answers);
            }
        }
    }

    fn set_state(&self, call: u64, state: CallState) {
        if let Some(call) = self.calls.borrow().get(&call) {
            call.set(state);
        }
    }

    fn begin(&self, call: u64) -> Rc<Cell<CallState>> {
        let state = Rc::new(Cell::new(CallState::Running));
        self.calls.borrow_mut().insert(call, state.clone());
        state
    }

    fn call(self: &Rc<Self>, number: u64, call: Call, attachments: Vec<JsValue>) {
        self.is_called.set(true);
        match call {
            Call::Read { pieces, heap_limit } => {
                let blobs: Vec<Blob> =
                    attachments.into_iter().filter_map(|blob| blob.dyn_into().ok()).collect();
                if blobs.len() != pieces.len() {
                    self.post(&FromWorker::Failed(number, "a file is missing".to_owned()), &[]);
                    return;
                }
                let (source, state) = (BlobSource::new(blobs), self.begin(number));
                let job = ReadCall { call: number, pieces, heap_limit, source, state };
                self.reads.borrow_mut().push_back(job);
                self.read();
            }
            Call::Pass { plan } => {
                let state = self.begin(number);
                let worker = self.clone();
                let pass = attachments.first().map(wire::bytes).unwrap_or_default();
                self.passes.set(self.passes.get() + 1);
                spawn_local(async move {
                    let partial = worker.pass(plan, &pass, &state).await;
                    worker.passes.set(worker.passes.get() - 1);
                    worker.calls.borrow_mut().remove(&number);
                    if state.get() == CallState::Running {
                        worker.answer(
                            number,
                            partial.map(|bytes| (CallDone::Nothing, vec![wire::buffer(&bytes)])),
                        );
                    }
                });
            }
            Call::Seal => {
                let worker = self.clone();
                spawn_local(async move {
                    let sealed = worker.seal().await;
                    worker.post(&FromWorker::Progress(number, worker.progress(0, 0)), &[]);
                    worker.answer(number, sealed.map(|()| (CallDone::Nothing, Vec::new())));
                });
            }
            Call::FindSplitPoints { places, packed } => {
                let worker = self.clone();
                spawn_local(async move {
                    let split_points = match attachments.into_iter().next().map(JsCast::dyn_into::<Blob>) {
                        Some(Ok(blob)) => split::split_points(&blob, places, packed, &worker.pace).await,
                        _ => Vec::new(),
                    };
                    worker.answer(number, Ok((CallDone::SplitPoints(split_points), Vec::new())));
                });
            }
            Call::WriteDemo => {
                let mut json = Vec::new();
                // Writing to a Vec cannot fail, and the options are our own.
                let _ = write_jaeger(&GenerateOptions::demo(), &mut json);
                self.answer(number, Ok((CallDone::Nothing, vec![wire::buffer(&json)])));
            }
            Call::CopyColumns { from, first, redaction } => {
                let Ok(redaction) = saved::decode_redaction(&redaction) else {
                    // Rather nothing than what was to be left out.
                    self.post(&FromWorker::Failed(number, "what is left out is damaged".to_owned()), &[]);
                    return;
                };
                let columns = saved::columns(&self.session.borrow().set, from, &redaction, first);
                let answer =
                    columns.map(|(bytes, next)| (CallDone::Columns(next), vec![wire::buffer(&bytes)]));
                self.answer(number, answer);
            }
            _ => {
                let attachments: Vec<Vec<u8>> = attachments.iter().map(wire::bytes).collect();
                let mut server = self.server.borrow_mut();
                let clock = StepClock::begin();
                let session = &mut self.session.borrow_mut();
                let answers = server.serve(session, number, &call, attachments, &mut || clock.is_over());
                drop(server);
                self.answer_all(answers);
            }
        }
    }

    fn answer_all(&self, answers: Vec<(u64, CallAnswer)>) {
        for (number, answer) in answers {
            let buffers = |buffers: Vec<Vec<u8>>| buffers.iter().map(|bytes| wire::buffer(bytes)).collect();
            self.answer(number, answer.map(|(done, attached)| (done, buffers(attached))));
        }
    }

    fn answer(&self, number: u64, answer: Result<(CallDone, Vec<JsValue>), EngineError>) {
        match answer {
            Ok((done, attachments)) => self.post(&FromWorker::Done(number, done), &attachments),
            Err(error) => self.post(&FromWorker::Failed(number, error.to_string()), &[]),
        }
    }

    /// Reads one job after the other, in the order they came.
    fn read(self: &Rc<Self>) {
        if self.is_reading.replace(true) {
            return;
        }
        let worker = self.clone();
        spawn_local(async move {
            loop {
                let next = worker.reads.borrow_mut().pop_front();
                let Some(job) = next else { break };
                let call = job.call;
                read::run(&worker, job).await;
                worker.calls.borrow_mut().remove(&call);
            }
            worker.is_reading.set(false);
        });
    }

    /// Returns how much a call has read, as bytes and pieces, and how much the worker holds then.
    fn progress(&self, bytes: u64, pieces: u32) -> WorkerProgress {
        let session = self.session.borrow();
        let set = &session.set;
        // What summaries sum counts as held.
        let sums = session.summaries.iter().map(|loaded| &loaded.summary);
        let (traces, spans) =
            sums.fold((0, 0), |(traces, spans), sum| (traces + sum.traces, spans + sum.spans));
        WorkerProgress {
            bytes,
            pieces,
            traces: set.traces().len() as u64 + traces,
            spans: (set.spans() + set.staged_spans()) as u64 + spans,
            heap: set.heap_bytes() as u64,
            memory: memory_bytes(),
        }
    }

    /// Joins what was read, in steps. The page asks nothing meanwhile.
    async fn seal(&self) -> Result<(), EngineError> {
        let mut sealing = Sealing::begin(&mut self.session.borrow_mut().set);
        self.session.borrow_mut().invalidate();
        loop {
            let step = StepClock::begin();
            if sealing.step(&mut self.session.borrow_mut().set, &mut || step.is_over())? {
                return Ok(());
            }
            self.pace.yield_now().await;
        }
    }

    /// Runs one pass in steps; the partial is empty if nobody wants it any more.
    async fn pass(&self, plan: u64, pass: &[u8], state: &Cell<CallState>) -> Result<Vec<u8>, EngineError> {
        // All passes of one plan see the traces that its first one saw, also while more come in.
        if self.last_plan.replace(plan) != plan {
            self.changed();
        }
        let mut task = self.session.borrow_mut().start(pass)?;
        while state.get() == CallState::Running {
            let step = StepClock::begin();
            let partial = task.step(&mut self.session.borrow_mut(), &mut || step.is_over())?;
            if let Some(partial) = partial {
                return Ok(partial);
            }
            self.pace.yield_now().await;
        }
        Ok(Vec::new())
    }
}
