//! Questions to the pool. One slot a question: a newer one cancels the older, and the last answer stays to be shown
//! until the new one is there.

use crate::engine::{Report, Request};
use crate::web::pool::{AskError, Pool};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Something running on the page's own thread; dropping it ends it.
pub struct Running {
    stopped: Rc<Cell<bool>>,
    waker: Rc<RefCell<Option<Waker>>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopped.set(true);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

struct Stoppable<F> {
    work: Pin<Box<F>>,
    stopped: Rc<Cell<bool>>,
    waker: Rc<RefCell<Option<Waker>>>,
}

impl<F: Future<Output = ()>> Future for Stoppable<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.stopped.get() {
            return Poll::Ready(());
        }
        *self.waker.borrow_mut() = Some(context.waker().clone());
        self.work.as_mut().poll(context)
    }
}

/// Runs `work` until it ends or the returned value is dropped.
pub fn run(work: impl Future<Output = ()> + 'static) -> Running {
    let running = Running { stopped: Rc::default(), waker: Rc::default() };
    wasm_bindgen_futures::spawn_local(Stoppable {
        work: Box::pin(work),
        stopped: running.stopped.clone(),
        waker: running.waker.clone(),
    });
    running
}

/// What was asked, of which state of the data.
type Question = (u64, Request);

struct State<T> {
    wanted: Option<Question>,
    running: Option<Running>,
    /// The last answer, to which question.
    answer: Option<(Question, Rc<T>)>,
    failure: Option<String>,
    is_told: bool,
    /// Counts answers, failures and clearings.
    revision: u64,
}

/// A place for the answer to one question at a time.
pub struct Slot<T>(Rc<RefCell<State<T>>>);

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Slot(self.0.clone())
    }
}

impl<T: 'static> Default for Slot<T> {
    fn default() -> Self {
        Slot(Rc::new(RefCell::new(State {
            wanted: None,
            running: None,
            answer: None,
            failure: None,
            is_told: false,
            revision: 0,
        })))
    }
}

impl<T: 'static> Slot<T> {
    /// Makes sure that `request` is answered or being asked, of the data of `generation`; `then` runs once the answer is
    /// there. Asking the same again does nothing.
    pub fn want(
        &self,
        pool: &Pool,
        generation: u64,
        request: Request,
        pick: fn(Report) -> Option<T>,
        then: impl FnOnce() + 'static,
    ) {
        let question = (generation, request);
        if self.0.borrow().wanted.as_ref() == Some(&question) {
            return;
        }
        let (slot, pool) = (self.0.clone(), pool.clone());
        let asked = question.clone();
        let work = async move {
            let result = pool.ask(asked.1.clone()).await;
            let mut state = slot.borrow_mut();
            state.revision += 1;
            match result.map(pick) {
                Ok(Some(report)) => {
                    state.answer = Some((asked, Rc::new(report)));
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
            then();
        };
        let before = {
            let mut state = self.0.borrow_mut();
            state.wanted = Some(question);
            state.failure = None;
            state.running.take()
        };
        drop(before);
        let running = run(work);
        self.0.borrow_mut().running = Some(running);
    }

    /// The last answer.
    pub fn get(&self) -> Option<Rc<T>> {
        self.0.borrow().answer.as_ref().map(|(_, report)| report.clone())
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
        let state = self.0.borrow();
        state.wanted.is_some()
            && state.failure.is_none()
            && state.wanted.as_ref() != state.answer.as_ref().map(|(question, _)| question)
    }

    /// Changes with every answer, so that a part can tell whether it has seen this one.
    pub fn revision(&self) -> u64 {
        self.0.borrow().revision
    }

    /// Why the last question has no answer; told once.
    pub fn take_failure(&self) -> Option<String> {
        let mut state = self.0.borrow_mut();
        if std::mem::replace(&mut state.is_told, true) { None } else { state.failure.clone() }
    }

    /// Forgets question and answer.
    pub fn clear(&self) {
        let revision = self.0.borrow().revision + 1;
        let before = self.0.replace(State {
            wanted: None,
            running: None,
            answer: None,
            failure: None,
            is_told: false,
            revision,
        });
        drop(before);
    }
}
