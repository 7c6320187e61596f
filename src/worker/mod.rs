//! The worker's side: one engine session, fed by the page's calls.
//!
//! Nothing here takes long at once: reading and passes go in steps (see [`pace`]) with a look at the messages between.

mod pace;
mod read;
mod source;
mod split;
mod warm_up;

use pathlight_generate::{Options, write_jaeger};
use pathlight_model::sort::Arrange;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use pace::{Pace, Step, scope};
use read::Job;
use source::Source;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, MessageEvent};

use super::wire::{self, Call, Done, FromWorker, Progress, ToWorker};
use pathlight_model::trace::Sealing;
use pathlight_query::{Cuts, EngineError, Next, Plan, Session, plan_moves};
use pathlight_view::saved;

/// What the page wants of a call by now.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    GoOn,
    /// End, keep what is there and answer.
    Stop,
    /// End; nobody listens.
    Forget,
}

struct Worker {
    session: RefCell<Session>,
    plans: RefCell<BTreeMap<u64, Plan<Vec<u8>>>>,
    /// Calls that are answered once another plan has gone on, with the plans they are about.
    waiting: RefCell<Vec<(u64, u64)>>,
    /// What plans over one state of the data share, and which state that is.
    cuts: RefCell<(Option<u64>, Cuts)>,
    /// Calls under way.
    live: RefCell<BTreeMap<u64, Rc<Cell<Wish>>>>,
    reads: RefCell<VecDeque<Job>>,
    is_reading: Cell<bool>,
    /// Passes under way.
    passes: Cell<u32>,
    /// The page has called: there is real work, or was.
    is_called: Cell<bool>,
    /// The plan of the last pass.
    last_plan: Cell<u64>,
    /// The set has grown since the session last heard of it.
    grown: Cell<bool>,
    pace: Pace,
}

/// Listens to the page from now on.
///
/// # Errors
/// The browser's, if it refuses a MessageChannel.
pub fn start() -> Result<(), JsValue> {
    pathlight_query::clock::set(pace::now_ms);
    std::panic::set_hook(Box::new(|panic| {
        let place =
            panic.location().map_or(String::new(), |place| format!(" ({}:{})", place.file(), place.line()));
        let reason = panic.payload_as_str().unwrap_or("panic");
        post(&FromWorker::Dying(format!("{reason}{place}")), &[]);
    }));
    let session = Session::new();
    let worker = Rc::new(Worker {
        session: RefCell::new(session),
        plans: RefCell::default(),
        waiting: RefCell::default(),
        cuts: RefCell::default(),
        live: RefCell::default(),
        reads: RefCell::default(),
        is_reading: Cell::new(false),
        passes: Cell::new(0),
        is_called: Cell::new(false),
        last_plan: Cell::new(0),
        grown: Cell::new(false),
        pace: Pace::new()?,
    });
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        if let Some((message, attachments)) = wire::unpack::<ToWorker>(&event.data()) {
            worker.hear(message, attachments);
        }
    });
    scope().set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    // It listens as long as the worker lives.
    on_message.forget();
    post(&FromWorker::Hello, &[]);
    Ok(())
}

/// Size of this instance's memory in bytes.
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

    /// A pass is under way.
    fn is_asked(&self) -> bool {
        self.passes.get() > 0
    }

    /// Tells the session that the set has changed.
    fn changed(&self) {
        if self.grown.replace(false) {
            self.session.borrow_mut().invalidate();
        }
    }

    fn hear(self: &Rc<Self>, message: ToWorker, attachments: Vec<JsValue>) {
        match message {
            ToWorker::Call(number, call) => self.call(number, call, attachments),
            ToWorker::Forget(call) => self.wish(call, Wish::Forget),
            ToWorker::StopReading(call) => self.wish(call, Wish::Stop),
            ToWorker::WarmUp => spawn_local(warm_up::warm_up(self.clone())),
            ToWorker::EndPlan(plan) => {
                let ended = self.plans.borrow_mut().remove(&plan);
                drop(ended);
                self.step_waiting();
            }
        }
    }

    fn wish(&self, call: u64, wish: Wish) {
        if let Some(live) = self.live.borrow().get(&call) {
            live.set(wish);
        }
    }

    fn begin(&self, call: u64) -> Rc<Cell<Wish>> {
        let wish = Rc::new(Cell::new(Wish::GoOn));
        self.live.borrow_mut().insert(call, wish.clone());
        wish
    }

    fn call(self: &Rc<Self>, number: u64, call: Call, attachments: Vec<JsValue>) {
        self.is_called.set(true);
        match call {
            Call::Read { pieces, most_bytes } => {
                let blobs: Vec<Blob> =
                    attachments.into_iter().filter_map(|blob| blob.dyn_into().ok()).collect();
                if blobs.len() != pieces.len() {
                    self.post(&FromWorker::Failed(number, "a file is missing".to_owned()), &[]);
                    return;
                }
                let (source, wish) = (Source::new(blobs), self.begin(number));
                let job = Job { call: number, pieces, most_bytes, source, wish };
                self.reads.borrow_mut().push_back(job);
                self.read();
            }
            Call::Pass { plan } => {
                let wish = self.begin(number);
                let worker = self.clone();
                let pass = attachments.first().map(wire::bytes).unwrap_or_default();
                self.passes.set(self.passes.get() + 1);
                spawn_local(async move {
                    let partial = worker.pass(plan, &pass, &wish).await;
                    worker.passes.set(worker.passes.get() - 1);
                    worker.live.borrow_mut().remove(&number);
                    if wish.get() == Wish::GoOn {
                        worker
                            .answer(number, partial.map(|bytes| (Done::Nothing, vec![wire::buffer(&bytes)])));
                    }
                });
            }
            Call::Seal => {
                let worker = self.clone();
                spawn_local(async move {
                    let sealed = worker.seal().await;
                    worker.post(&FromWorker::Progress(number, worker.progress(0, 0)), &[]);
                    worker.answer(number, sealed.map(|()| (Done::Nothing, Vec::new())));
                });
            }
            Call::Cut(places) => {
                let worker = self.clone();
                spawn_local(async move {
                    let split_points = match attachments.into_iter().next().map(JsCast::dyn_into::<Blob>) {
                        Some(Ok(blob)) => split::split_points(&blob, &places, &worker.pace).await,
                        _ => Vec::new(),
                    };
                    worker.answer(number, Ok((Done::SplitPoints(split_points), Vec::new())));
                });
            }
            Call::Begin { plan, data } => {
                let message = attachments.first().map(wire::bytes).unwrap_or_default();
                match Plan::of_message(&message, &self.cuts_of(data)) {
                    Ok(begun) => self.step_plan(number, plan, begun, Vec::new()),
                    Err(error) => self.answer(number, Err(error)),
                }
                self.step_waiting();
            }
            Call::Merge { plan } => {
                let merging = self.plans.borrow_mut().remove(&plan);
                match merging {
                    Some(merging) => {
                        self.step_plan(number, plan, merging, attachments.iter().map(wire::bytes).collect());
                    }
                    None => self.answer(number, Err(EngineError::Ended)),
                }
                self.step_waiting();
            }
            _ => {
                let answer = self.at_once(call, &attachments);
                self.answer(number, answer);
            }
        }
    }

    fn answer(&self, number: u64, answer: Result<(Done, Vec<JsValue>), EngineError>) {
        match answer {
            Ok((done, attachments)) => self.post(&FromWorker::Done(number, done), &attachments),
            Err(error) => self.post(&FromWorker::Failed(number, error.to_string()), &[]),
        }
    }

    /// One job after the other, in the order they came.
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
                worker.live.borrow_mut().remove(&call);
            }
            worker.is_reading.set(false);
        });
    }

    /// What is here, after a call has read so much.
    fn progress(&self, bytes: u64, pieces: u32) -> Progress {
        let set = &self.session.borrow().set;
        Progress {
            bytes,
            pieces,
            traces: set.traces().len() as u64,
            spans: (set.spans() + set.staged_spans()) as u64,
            heap: set.heap_bytes() as u64,
            memory: memory_bytes(),
        }
    }

    /// Joins what was read, in steps. The page asks nothing meanwhile.
    async fn seal(&self) -> Result<(), EngineError> {
        let mut sealing = Sealing::begin(&mut self.session.borrow_mut().set);
        self.session.borrow_mut().invalidate();
        loop {
            let step = Step::begin();
            if sealing.step(&mut self.session.borrow_mut().set, &mut || step.is_over())? {
                return Ok(());
            }
            self.pace.breathe().await;
        }
    }

    /// One pass in steps; the partial is empty if nobody wants it any more.
    async fn pass(&self, plan: u64, pass: &[u8], wish: &Cell<Wish>) -> Result<Vec<u8>, EngineError> {
        // All passes of one plan see the traces that its first one saw, also while more come in.
        if self.last_plan.replace(plan) != plan {
            self.changed();
        }
        let mut task = self.session.borrow_mut().start(pass)?;
        while wish.get() == Wish::GoOn {
            let step = Step::begin();
            let partial = task.step(&mut self.session.borrow_mut(), &mut || step.is_over())?;
            if let Some(partial) = partial {
                return Ok(partial);
            }
            self.pace.breathe().await;
        }
        Ok(Vec::new())
    }

    /// The calls that take no time, or that nothing may interrupt.
    fn at_once(&self, call: Call, attachments: &[JsValue]) -> Result<(Done, Vec<JsValue>), EngineError> {
        let mut session = self.session.borrow_mut();
        let session = &mut *session;
        let first = || attachments.first().map(wire::bytes).unwrap_or_default();
        let one = |bytes: Vec<u8>| Ok((Done::Nothing, vec![wire::buffer(&bytes)]));
        match call {
            Call::Unload { group } => {
                let mut gone: Vec<_> = session
                    .set
                    .traces()
                    .iter()
                    .map(|trace| trace.id)
                    .filter(|id| id.group == group)
                    .collect();
                gone.arrange();
                session.set.retain(|trace| trace.id.group != group);
                session.set.forget_losers(&gone);
                session.invalidate();
            }
            Call::TraceKeys => return one(session.trace_keys()?),
            Call::PlanMoves => {
                let keys: Vec<Vec<u8>> = attachments.iter().map(wire::bytes).collect();
                let (mut moves, mut lists) = (Vec::new(), Vec::new());
                for (from, targets) in plan_moves(&keys)?.into_iter().enumerate() {
                    for (to, keys) in targets {
                        moves.push((from as u32, to as u32));
                        lists.push(wire::buffer(&keys));
                    }
                }
                return Ok((Done::Moves(moves), lists));
            }
            Call::TakeTraces => return one(session.take_traces(&first())?),
            Call::PutTraces => session.put_traces(&first())?,
            Call::Demo => {
                let mut json = Vec::new();
                // Writing to a Vec cannot fail, and the options are our own.
                let _ = write_jaeger(&Options::demo(), &mut json);
                return one(json);
            }
            Call::CopyColumns { from } => {
                let (bytes, next) = saved::columns(&session.set, from)?;
                return Ok((Done::Columns(next), vec![wire::buffer(&bytes)]));
            }
            Call::Read { .. }
            | Call::Seal
            | Call::Cut(_)
            | Call::Begin { .. }
            | Call::Merge { .. }
            | Call::Pass { .. } => {}
        }
        Ok((Done::Nothing, Vec::new()))
    }

    /// What plans share over a state of the data; nothing while it changes.
    fn cuts_of(&self, data: Option<u64>) -> Cuts {
        let mut cuts = self.cuts.borrow_mut();
        if data.is_none() || cuts.0 != data {
            *cuts = (data, Cuts::default());
        }
        cuts.1.clone()
    }

    /// Takes a plan one step on and answers the call; or later, if it waits for another plan.
    fn step_plan(&self, call: u64, number: u64, mut plan: Plan<Vec<u8>>, partials: Vec<Vec<u8>>) {
        let (done, bytes) = match plan.next(partials) {
            Ok(Next::Done(report)) => (Done::Report, report),
            Ok(next) => {
                self.plans.borrow_mut().insert(number, plan);
                match next {
                    Next::Pass(pass) => (Done::Pass, pass),
                    Next::Working(progress) => {
                        (Done::Working, postcard::to_allocvec(&progress).unwrap_or_default())
                    }
                    _ => {
                        self.waiting.borrow_mut().push((call, number));
                        return;
                    }
                }
            }
            Err(error) => {
                self.answer(call, Err(error));
                return;
            }
        };
        self.answer(call, Ok((done, vec![wire::buffer(&bytes)])));
    }

    /// Takes the plans one step on that wait for another one, which has gone on or ended.
    fn step_waiting(&self) {
        for (call, number) in self.waiting.take() {
            let plan = self.plans.borrow_mut().remove(&number);
            if let Some(plan) = plan {
                self.step_plan(call, number, plan, Vec::new());
            }
        }
    }
}
