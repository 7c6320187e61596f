//! Workers and calls to them.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use futures_channel::oneshot::{Receiver, Sender, channel};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, Event, MessageEvent, Worker};

use super::{Pool, PoolEvent, UserError};
use crate::wire;
use crate::wire::{Call, Done, FromWorker, Progress, ToWorker};

/// A worker in its slot.
pub(crate) struct Member {
    worker: Worker,
    /// Tells it from others that had the slot before.
    serial: u64,
    /// It has said hello.
    is_up: bool,
    /// As last heard.
    pub progress: Progress,
    _on_message: Closure<dyn FnMut(MessageEvent)>,
    _on_error: Closure<dyn FnMut(Event)>,
}

impl Drop for Member {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.set_onmessageerror(None);
        self.worker.terminate();
    }
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// The worker died or was ended.
    Lost,
    /// The data changed under a query.
    Stale,
    /// The worker says why.
    Failed(String),
}

/// An answer with its attachments.
pub(crate) type Answer = Result<(Done, Vec<JsValue>), CallError>;

/// A call whose answer is awaited.
pub(crate) struct Pending {
    pub slot: usize,
    /// A part of a query: void as soon as the data changes.
    is_query: bool,
    sender: Sender<Answer>,
}

/// The future answer of a call; dropping it tells the worker that nobody waits.
pub(crate) struct Reply {
    pool: Pool,
    pub number: u64,
    receiver: Receiver<Answer>,
    is_over: bool,
}

impl Future for Reply {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let answer = pin!(&mut self.receiver).poll(context);
        if answer.is_ready() {
            self.is_over = true;
        }
        answer.map(|answer| answer.unwrap_or(Err(CallError::Lost)))
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let pending = self.pool.0.calls.borrow_mut().remove(&self.number);
        if let Some(pending) = pending {
            self.pool.post(pending.slot, &ToWorker::Forget(self.number), &[]);
        }
    }
}

impl Pool {
    /// Starts the worker of a slot, if it is not there; false if the browser refuses.
    pub(crate) fn warm(&self, slot: usize) -> bool {
        if self.0.members.borrow().get(slot).is_some_and(Option::is_some) {
            return true;
        }
        let worker = match self.0.boot.worker() {
            Ok(worker) => worker,
            Err(error) => {
                self.emit(PoolEvent::Failed(no_worker(&wire::words(&error))));
                return false;
            }
        };
        let serial = self.number();
        let pool = self.clone();
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            match wire::unpack::<FromWorker>(&event.data()) {
                Some((message, attachments)) => pool.hear(slot, serial, message, attachments),
                // Whoever waits for it would wait for ever.
                None => pool.bury(slot, serial, "it sent a message that cannot be read"),
            }
        });
        let pool = self.clone();
        let on_error = Closure::<dyn FnMut(Event)>::new(move |event: Event| {
            event.prevent_default();
            let reason = event.dyn_ref::<ErrorEvent>().map(ErrorEvent::message).unwrap_or_default();
            pool.bury(slot, serial, &reason);
        });
        worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        worker.set_onmessageerror(Some(on_error.as_ref().unchecked_ref()));
        let member = Member {
            worker,
            serial,
            is_up: false,
            progress: Progress::default(),
            _on_message: on_message,
            _on_error: on_error,
        };
        let mut members = self.0.members.borrow_mut();
        while members.len() <= slot {
            members.push(None);
        }
        members[slot] = Some(member);
        true
    }

    /// The slots with a worker.
    pub(crate) fn slots(&self) -> Vec<usize> {
        let members = self.0.members.borrow();
        (0..members.len()).filter(|&slot| members[slot].is_some()).collect()
    }

    /// Calls the worker of a slot, which is started if need be.
    pub(crate) fn call(&self, slot: usize, call: Call, attachments: &[JsValue]) -> Reply {
        let number = self.number();
        let (sender, receiver) = channel();
        let is_query = matches!(call, Call::Begin { .. } | Call::Merge { .. } | Call::Pass { .. });
        // Without a worker the sender is dropped here, and the reply is `Lost`.
        if self.warm(slot) {
            self.0.calls.borrow_mut().insert(number, Pending { slot, is_query, sender });
            self.post(slot, &ToWorker::Call(number, call), attachments);
        }
        Reply { pool: self.clone(), number, receiver, is_over: false }
    }

    pub(crate) fn post(&self, slot: usize, message: &ToWorker, attachments: &[JsValue]) {
        let worker =
            self.0.members.borrow().get(slot).and_then(Option::as_ref).map(|member| member.worker.clone());
        if let Some(worker) = worker {
            let packed = wire::pack(message, attachments);
            // It fails only for what cannot be cloned or was moved before, and nothing here was.
            let _ = worker.post_message_with_transfer(&packed.message, &packed.transfer);
        }
    }

    /// Ends all workers; their calls are lost, queries stale.
    pub(crate) fn end_workers(&self) {
        self.void_queries();
        let members = self.0.members.take();
        let calls = self.0.calls.take();
        drop(members);
        drop(calls);
        self.0.moved.set(false);
        self.0.must_rebuild.set(false);
    }

    /// Ends all queries: the data they are about changes.
    pub(crate) fn void_queries(&self) {
        self.0.generation.set(self.0.generation.get() + 1);
        let queries: Vec<(u64, Pending)> =
            self.0.calls.borrow_mut().extract_if(.., |_, pending| pending.is_query).collect();
        for (number, pending) in queries {
            self.post(pending.slot, &ToWorker::Forget(number), &[]);
            let _ = pending.sender.send(Err(CallError::Stale));
        }
    }

    fn hear(&self, slot: usize, serial: u64, message: FromWorker, attachments: Vec<JsValue>) {
        {
            let mut members = self.0.members.borrow_mut();
            let member = members.get_mut(slot).and_then(Option::as_mut);
            let Some(member) = member.filter(|member| member.serial == serial) else { return };
            match &message {
                FromWorker::Hello => member.is_up = true,
                FromWorker::Progress(_, progress) | FromWorker::Done(_, Done::Read(_, progress)) => {
                    member.progress = *progress;
                }
                FromWorker::Done(..) | FromWorker::Failed(..) | FromWorker::Dying(_) => {}
            }
        }
        match message {
            FromWorker::Hello => {
                self.0.stillborn.set(0);
                self.emit(PoolEvent::Ready);
            }
            FromWorker::Progress(number, progress) => self.reading(number, &progress),
            FromWorker::Done(number, done) => self.answered(number, Ok((done, attachments))),
            FromWorker::Failed(number, reason) => self.answered(number, Err(CallError::Failed(reason))),
            FromWorker::Dying(reason) => self.bury(slot, serial, &reason),
        }
    }

    fn answered(&self, number: u64, answer: Answer) {
        let pending = self.0.calls.borrow_mut().remove(&number);
        if let Some(pending) = pending {
            // Nobody may wait any more.
            let _ = pending.sender.send(answer);
        }
    }

    /// A worker has died: its calls are lost, and what it held must be read again.
    fn bury(&self, slot: usize, serial: u64, reason: &str) {
        let member = {
            let mut members = self.0.members.borrow_mut();
            let Some(place) = members.get_mut(slot) else { return };
            let Some(member) = place.take_if(|member| member.serial == serial) else { return };
            member
        };
        let is_stillborn = !member.is_up;
        let reason = if reason.is_empty() { "no reason given" } else { reason };
        drop(member);
        let lost: Vec<(u64, Pending)> =
            self.0.calls.borrow_mut().extract_if(.., |_, pending| pending.slot == slot).collect();
        if is_stillborn {
            self.0.stillborn.set(self.0.stillborn.get() + 1);
        }
        self.bereaved(slot, reason, is_stillborn);
        for (_, pending) in lost {
            let _ = pending.sender.send(Err(CallError::Lost));
        }
    }
}

/// The page could not start a worker.
pub(crate) fn no_worker(reason: &str) -> UserError {
    UserError {
        message: "The browser does not let this page start workers.".to_owned(),
        detail: reason.to_owned(),
        next_step:
            "Reload the page; if it is embedded, its host must allow workers (worker-src 'self' blob:)."
                .to_owned(),
    }
}
