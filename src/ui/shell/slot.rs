//! Questions to the pool. One slot a question: a newer one cancels the older, and the last answer stays to be shown
//! until the new one is there.

use crate::pool::AskError;
use crate::ui::page::Page;
use futures_util::future::{AbortHandle, abortable};
use pathlight_analysis::anomaly::vae::TrainingProgress;
use pathlight_query::{Report, Request};
use std::any::Any;
use std::cell::RefCell;
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

/// What was asked, of which state of the data.
type Asked = (u64, Request);

/// What a slot knows; its answers have any type, so that one copy of the code serves all slots.
#[derive(Default)]
struct State {
    wanted: Option<Asked>,
    running: Option<Running>,
    /// The last answer, to which question.
    answer: Option<(Asked, Rc<dyn Any>)>,
    failure: Option<String>,
    /// How a long training goes.
    progress: Option<TrainingProgress>,
    is_told: bool,
    /// Counts answers, failures and clearings.
    revision: u64,
}

/// What a slot holds: the kind of report that answers its question.
pub trait Answer: Sized + 'static {
    /// What the report says, if it is of this kind.
    fn of(report: Report) -> Option<Self>;
}

/// A slot, whatever it holds.
pub trait Question {
    /// Whether an answer is being waited for, so that the last one is an older one.
    fn is_waiting(&self) -> bool;

    /// Why the last question has no answer; told once.
    fn take_failure(&self) -> Option<String>;

    /// Forgets question and answer.
    fn clear(&self);
}

/// A place for the answer to one question at a time.
pub struct Slot<T>(Rc<RefCell<State>>, PhantomData<T>);

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Slot(self.0.clone(), PhantomData)
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot(Rc::default(), PhantomData)
    }
}

/// See [`Slot::want`]; `of` takes the answer out of its report.
fn want(slot: &Rc<RefCell<State>>, page: Page, request: Request, of: fn(Report) -> Option<Rc<dyn Any>>) {
    let question = (page.generation(), request);
    if slot.borrow().wanted.as_ref() == Some(&question) {
        return;
    }
    let (own, pool) = (slot.clone(), page.pool().clone());
    let asked = question.clone();
    let work = async move {
        let watch = |progress: TrainingProgress| {
            if progress.of > 0 {
                own.borrow_mut().progress = Some(progress);
                page.refresh();
            }
        };
        let result = pool.ask_watching(asked.1.clone(), &watch).await;
        let mut state = own.borrow_mut();
        state.progress = None;
        state.revision += 1;
        match result.map(of) {
            Ok(Some(report)) => {
                state.answer = Some((asked, report));
                state.failure = None;
            }
            Ok(None) => {
                state.failure = Some("the answer is of another kind than the question".to_owned());
                state.is_told = false;
            }
            Err(AskError::Failed(reason)) => {
                state.failure = Some(reason);
                state.is_told = false;
            }
            // What is loaded changes; the question is asked again once it has.
            Err(AskError::Stale | AskError::WorkerLost) => {}
        }
        drop(state);
        page.refresh();
    };
    let before = {
        let mut state = slot.borrow_mut();
        state.wanted = Some(question);
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
            && self.wanted.as_ref() != self.answer.as_ref().map(|(question, _)| question)
    }
}

impl<T: Answer> Slot<T> {
    /// Makes sure that `request` is answered or being asked, of what is loaded now; the page is brought up to date once
    /// the answer is there. Asking the same again does nothing.
    pub fn want(&self, page: Page, request: Request) {
        want(&self.0, page, request, |report| Some(Rc::new(T::of(report)?)));
    }

    /// The last answer.
    pub fn get(&self) -> Option<Rc<T>> {
        let report = self.0.borrow().answer.as_ref()?.1.clone();
        report.downcast().ok()
    }

    /// The last answer if it answers the last question.
    pub fn fresh(&self) -> Option<Rc<T>> {
        if self.is_waiting() { None } else { self.get() }
    }

    /// What the last answer answers.
    pub fn answered(&self) -> Option<Request> {
        self.0.borrow().answer.as_ref().map(|((_, request), _)| request.clone())
    }

    /// Whether an answer is being waited for, so that [`get`](Self::get) is an older one.
    pub fn is_waiting(&self) -> bool {
        self.0.borrow().is_waiting()
    }

    /// How the training that the answer needs goes, if there is one.
    pub fn progress(&self) -> Option<TrainingProgress> {
        self.0.borrow().progress.clone()
    }

    /// Changes with every answer, so that a part can tell whether it has seen this one.
    pub fn revision(&self) -> u64 {
        self.0.borrow().revision
    }

    /// Stops asking: whoever wanted the answer has left.
    pub fn stop(&self) {
        if self.is_waiting() {
            let mut state = self.0.borrow_mut();
            state.wanted = None;
            let running = state.running.take();
            drop(state);
            drop(running);
        }
    }
}

impl<T: Answer> Question for Slot<T> {
    fn is_waiting(&self) -> bool {
        Slot::is_waiting(self)
    }

    fn take_failure(&self) -> Option<String> {
        let mut state = self.0.borrow_mut();
        if std::mem::replace(&mut state.is_told, true) { None } else { state.failure.clone() }
    }

    fn clear(&self) {
        let revision = self.0.borrow().revision + 1;
        let before = self.0.replace(State { revision, ..State::default() });
        drop(before);
    }
}
