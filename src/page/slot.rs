//! Queries on their way through the pool, one slot each.

use crate::pool::PagePool;
use futures_util::future::{AbortHandle, abortable};
use pathlight_engine::anomalies::paper::vae::TrainingProgress;
use pathlight_engine::pool::QueryError;
use pathlight_engine::queries::Query;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::marker::PhantomData;
use std::rc::Rc;

/// Something running on the page's own thread; dropping it ends it.
pub struct Running(AbortHandle);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs `work` until it ends or the returned value is dropped.
pub fn run(work: impl Future<Output = ()> + 'static) -> Running {
    let (work, handle) = abortable(work);
    // That it was ended is nobody's concern.
    wasm_bindgen_futures::spawn_local(async { _ = work.await });
    Running(handle)
}

/// A query as its message, and the state of the data it is about.
type Wanted = (u64, Vec<u8>);

/// State of a slot; its report has any type, so that one copy of the code serves all slots.
#[derive(Default)]
struct State {
    wanted: Option<Wanted>,
    running: Option<Running>,
    /// The last report, and of which query it is.
    report: Option<(Wanted, Rc<dyn Any>)>,
    failure: Option<String>,
    /// Progress of a long training.
    progress: Option<TrainingProgress>,
    is_reported: bool,
    /// The last round in which it was wanted.
    round: u64,
    /// Counts reports, failures and clearings.
    revision: u64,
}

/// The slots that were ever wanted, whatever they hold, and the number of the round of asking.
#[derive(Default)]
pub struct Slots {
    known: RefCell<Vec<Rc<RefCell<State>>>>,
    round: Cell<u64>,
}

impl Slots {
    /// Lets `ask` want all that is needed now, and stops the queries that it does not want: whoever wanted their reports
    /// has left.
    pub fn ask(&self, ask: impl FnOnce()) {
        self.round.set(self.round.get() + 1);
        ask();
        for state in self.known.borrow().iter() {
            let is_left = state.borrow().round != self.round.get() && state.borrow().is_waiting();
            let running = is_left.then(|| {
                let mut state = state.borrow_mut();
                state.wanted = None;
                state.running.take()
            });
            drop(running);
        }
    }

    /// Returns why queries have no report; each failure once.
    pub fn take_failures(&self) -> Vec<String> {
        self.known.borrow().iter().filter_map(|state| state.borrow_mut().take_failure()).collect()
    }

    /// Returns whether a report about this state of the data is being waited for. One about an earlier state is not coming,
    /// and nobody may want it any more: its view was left meanwhile.
    pub fn is_waiting(&self, generation: u64) -> bool {
        let is_current = |state: &State| state.wanted.as_ref().is_some_and(|wanted| wanted.0 == generation);
        self.known.borrow().iter().any(|state| state.borrow().is_waiting() && is_current(&state.borrow()))
    }

    /// Returns whether another report than this one is being waited for.
    pub fn is_waiting_besides<Q>(&self, slot: &Slot<Q>) -> bool {
        self.known.borrow().iter().any(|state| !Rc::ptr_eq(state, &slot.0) && state.borrow().is_waiting())
    }

    /// Forgets queries and reports.
    pub fn clear(&self) {
        for state in self.known.borrow().iter() {
            let revision = state.borrow().revision + 1;
            let before = state.replace(State { revision, ..State::default() });
            drop(before);
        }
    }

    fn add(&self, state: &Rc<RefCell<State>>) {
        if !self.known.borrow().iter().any(|known| Rc::ptr_eq(known, state)) {
            self.known.borrow_mut().push(state.clone());
        }
    }
}

/// A place for the report of one query at a time: a newer one cancels the older, and the last report stays to be shown
/// until the new one is there.
pub struct Slot<Q>(Rc<RefCell<State>>, PhantomData<Q>);

impl<Q> Clone for Slot<Q> {
    fn clone(&self) -> Self {
        Slot(self.0.clone(), PhantomData)
    }
}

impl<Q> Default for Slot<Q> {
    fn default() -> Self {
        Slot(Rc::default(), PhantomData)
    }
}

/// Reads the report of a query, or says why it cannot be read.
type Read = fn(&[u8]) -> Result<Rc<dyn Any>, String>;

/// The asking side of a query: its subject, the pool that runs it, and the listener for its report.
pub trait Asker: Copy + 'static {
    /// Counts states of the data.
    fn generation(self) -> u64;

    /// Returns the workers that run queries.
    fn pool(self) -> &'static PagePool;

    /// Returns the slots that were ever wanted.
    fn slots(self) -> &'static Slots;

    /// Follows what has come.
    fn refresh(self);
}

/// Does what [`Slot::want`] does, with one body for all queries.
fn want(slot: &Rc<RefCell<State>>, asker: impl Asker, query: Vec<u8>, read: Read) {
    let wanted = (asker.generation(), query);
    slot.borrow_mut().round = asker.slots().round.get();
    if slot.borrow().wanted.as_ref() == Some(&wanted) {
        return;
    }
    asker.slots().add(slot);
    let (own, pool) = (slot.clone(), asker.pool().clone());
    let running_query = wanted.clone();
    let work = async move {
        let watch = |progress: TrainingProgress| {
            if progress.of > 0 {
                own.borrow_mut().progress = Some(progress);
                asker.refresh();
            }
        };
        let result = pool.run_message(running_query.1.clone(), &watch).await;
        let mut state = own.borrow_mut();
        state.progress = None;
        state.revision += 1;
        match result.and_then(|bytes| read(&bytes).map_err(QueryError::Failed)) {
            Ok(report) => {
                state.report = Some((running_query, report));
                state.failure = None;
            }
            Err(QueryError::Failed(reason)) => {
                state.failure = Some(reason);
                state.is_reported = false;
            }
            // What is loaded changes; the query is run again once it has.
            Err(QueryError::Stale | QueryError::WorkerLost) => {}
        }
        drop(state);
        asker.refresh();
    };
    let before = {
        let mut state = slot.borrow_mut();
        state.wanted = Some(wanted);
        (state.failure, state.progress) = (None, None);
        state.running.take()
    };
    drop(before);
    let running = run(work);
    slot.borrow_mut().running = Some(running);
}

impl State {
    fn is_waiting(&self) -> bool {
        self.wanted.is_some()
            && self.failure.is_none()
            && self.wanted.as_ref() != self.report.as_ref().map(|(query, _)| query)
    }

    fn take_failure(&mut self) -> Option<String> {
        if std::mem::replace(&mut self.is_reported, true) { None } else { self.failure.clone() }
    }
}

impl<Q: Query> Slot<Q> {
    /// Makes sure that the report of `query` is there or on its way, about what is loaded now; the page is brought up
    /// to date once it is there. Wanting the same again does nothing.
    pub fn want(&self, asker: impl Asker, query: Q) {
        // It cannot fail: a query is a struct of plain values.
        let message = query.to_message();
        want(&self.0, asker, message, |bytes| match Q::read_report(bytes) {
            Ok(report) => Ok(Rc::new(report)),
            Err(error) => Err(error.to_string()),
        });
    }

    /// Returns the last report.
    pub fn get(&self) -> Option<Rc<Q::Report>> {
        let report = self.0.borrow().report.as_ref()?.1.clone();
        report.downcast().ok()
    }

    /// Returns the last report if it is of the last query.
    pub fn fresh(&self) -> Option<Rc<Q::Report>> {
        if self.is_waiting() { None } else { self.get() }
    }

    /// Tells the queries apart that reports are of; `None` before the first report.
    pub fn query_of_report(&self) -> Option<Vec<u8>> {
        self.0.borrow().report.as_ref().map(|((_, query), _)| query.clone())
    }

    /// Returns whether a report is being waited for, so that [`get`](Self::get) is an older one.
    pub fn is_waiting(&self) -> bool {
        self.0.borrow().is_waiting()
    }

    /// Returns why the last query has no report.
    pub fn failure(&self) -> Option<String> {
        self.0.borrow().failure.clone()
    }

    /// Returns how the training goes that the report needs, if there is one.
    pub fn progress(&self) -> Option<TrainingProgress> {
        self.0.borrow().progress.clone()
    }

    /// Changes with every report, so that a part can tell whether it has seen this one.
    pub fn revision(&self) -> u64 {
        self.0.borrow().revision
    }

    /// Goes on with what was wanted last.
    pub fn keep(&self, asker: impl Asker) {
        self.0.borrow_mut().round = asker.slots().round.get();
    }
}
