//! Workers in their slots, and calls to them.

use super::messages::{Call, CallDone, FromWorker, ToWorker, WorkerProgress};
use super::{Attachment, MOST_AHEAD, PoolCommand, PoolEvent, PoolState};
use std::collections::BTreeSet;

/// A worker in its slot.
#[derive(Debug)]
pub(super) struct WorkerSlot {
    /// Tells it from others that had the slot before.
    pub serial: u64,
    /// It has said hello.
    pub is_up: bool,
    /// It was called: one that was only started ahead has nothing to lose and nothing to add.
    pub is_used: bool,
    /// As last heard.
    pub progress: WorkerProgress,
    /// Times it was asked whether it lives since it was last heard.
    unanswered: u32,
}

/// Questions without an answer after which a worker counts as dead: two minutes, much longer than any step of its work.
/// They are counted, not timed: a page that was frozen or asleep must not take its workers for dead.
pub(super) const MOST_UNANSWERED: u32 = 24;

/// A call whose answer is awaited.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlightCall {
    pub slot: usize,
    pub purpose: Purpose,
}

/// Purpose of a call, that is, who takes its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Split points of this file.
    Split { file: usize },
    /// A batch of files.
    Read,
    /// The end of a load.
    Join,
    /// A step of this query.
    Query(u64),
    /// Columns for this copy.
    Save(u64),
}

impl Purpose {
    /// Returns the query that the call is a step of, if it is one.
    pub fn query(self) -> Option<u64> {
        match self {
            Purpose::Query(query) => Some(query),
            _ => None,
        }
    }
}

/// Reason why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallError {
    /// The worker died.
    Lost,
    /// The worker says why.
    Failed(String),
}

/// The answer to a call, with its attachments.
pub(super) type CallResult<P> = Result<(CallDone, Vec<P>), CallError>;

impl<P: Clone> PoolState<P> {
    /// Starts the worker of a slot, if there is none.
    pub(super) fn start(&mut self, slot: usize) {
        if self.workers.get(slot).is_some_and(Option::is_some) {
            return;
        }
        let serial = self.number();
        if self.workers.len() <= slot {
            self.workers.resize_with(slot + 1, || None);
        }
        self.workers[slot] = Some(WorkerSlot {
            serial,
            is_up: false,
            is_used: false,
            progress: WorkerProgress::default(),
            unanswered: 0,
        });
        self.commands.push(PoolCommand::Start { slot, serial });
    }

    /// Starts the others, if that is wanted, once the first worker shows that workers can be started here.
    pub(super) fn start_ahead(&mut self) {
        let is_up = self.workers.first().and_then(Option::as_ref).is_some_and(|worker| worker.is_up);
        if is_up && std::mem::take(&mut self.is_ahead) {
            (1..self.workers().min(MOST_AHEAD)).for_each(|slot| self.start(slot));
        }
    }

    pub(super) fn post(&mut self, slot: usize, message: ToWorker, attachments: Vec<Attachment<P>>) {
        if self.workers.get(slot).is_some_and(Option::is_some) {
            self.commands.push(PoolCommand::Post { slot, message, attachments });
        }
    }

    /// Calls the worker of a slot, which is started if need be; returns the number of the call.
    pub(super) fn call(
        &mut self,
        slot: usize,
        purpose: Purpose,
        call: Call,
        attachments: Vec<Attachment<P>>,
    ) -> u64 {
        self.start(slot);
        if let Some(worker) = self.workers.get_mut(slot).and_then(Option::as_mut) {
            worker.is_used = true;
        }
        let number = self.number();
        self.calls.insert(number, InFlightCall { slot, purpose });
        self.post(slot, ToWorker::Call(number, call), attachments);
        number
    }

    /// Asks the workers that are waited for whether they live. A browser may end one without a word.
    pub(super) fn look_after_workers(&mut self) {
        let waited_for: BTreeSet<usize> = self.calls.values().map(|call| call.slot).collect();
        for slot in waited_for {
            let Some(worker) = self.workers.get_mut(slot).and_then(Option::as_mut) else { continue };
            if worker.unanswered >= MOST_UNANSWERED {
                let serial = worker.serial;
                self.on_worker_lost(slot, serial, "it has not answered for two minutes");
            } else {
                worker.unanswered += 1;
                self.post(slot, ToWorker::Ping, Vec::new());
            }
        }
    }

    /// Gives up the calls of a purpose: nobody waits for their answers.
    pub(super) fn cancel_calls(&mut self, purpose: Purpose) {
        let given_up: Vec<(u64, InFlightCall)> =
            self.calls.extract_if(.., |_, call| call.purpose == purpose).collect();
        for (number, call) in given_up {
            self.post(call.slot, ToWorker::Cancel(number), Vec::new());
        }
    }

    /// Returns the slots with a worker of which `is_wanted` is true.
    pub(super) fn slots(&self, is_wanted: impl Fn(&WorkerSlot) -> bool) -> Vec<usize> {
        let wanted = |slot: &usize| self.workers[*slot].as_ref().is_some_and(&is_wanted);
        (0..self.workers.len()).filter(wanted).collect()
    }

    /// Returns the slots whose workers hold spans.
    pub(super) fn holders(&self) -> Vec<usize> {
        self.slots(|worker| worker.progress.spans > 0)
    }

    /// Returns the bytes of heap that hold traces, in all workers, as last heard.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.workers.iter().flatten().map(|worker| worker.progress.heap).sum()
    }

    /// Ends all workers. Their calls are void, queries under way are stale. What they held is to be read again by a
    /// [restart](crate::load::LoadPlanner::restart) of the planner, or forgotten.
    pub(super) fn end_workers(&mut self) {
        self.end_queries_as_stale();
        for slot in self.slots(|_| true) {
            self.commands.push(PoolCommand::Stop { slot });
        }
        self.workers.clear();
        self.calls.clear();
        self.join = None;
        self.has_moved_traces = false;
        self.lose_saves();
        if let Some(load) = &mut self.load {
            load.forget_workers();
        }
    }

    /// Handles a message of a worker.
    pub(super) fn on_message(&mut self, slot: usize, serial: u64, message: FromWorker, attachments: Vec<P>) {
        let worker = self.workers.get_mut(slot).and_then(Option::as_mut);
        let Some(worker) = worker.filter(|worker| worker.serial == serial) else { return };
        worker.unanswered = 0;
        match message {
            FromWorker::Pong => {}
            FromWorker::Hello => {
                worker.is_up = true;
                self.failed_starts = 0;
                self.tell(PoolEvent::Ready);
                self.start_ahead();
            }
            FromWorker::Progress(number, progress) => {
                worker.progress = progress;
                self.on_reading(number, progress.bytes);
            }
            FromWorker::Done(number, done) => {
                if let CallDone::Read(_, progress) = &done {
                    worker.progress = *progress;
                }
                self.on_answer(number, Ok((done, attachments)));
            }
            FromWorker::Failed(number, reason) => self.on_answer(number, Err(CallError::Failed(reason))),
            FromWorker::Dying(reason) => self.on_worker_lost(slot, serial, &reason),
        }
    }

    /// Handles the answer to a call; one that was given up has none.
    fn on_answer(&mut self, number: u64, answer: CallResult<P>) {
        if let Some(call) = self.calls.remove(&number) {
            self.deliver(number, call, answer);
        }
    }

    /// Brings the answer of a call to whom it is for.
    pub(super) fn deliver(&mut self, number: u64, call: InFlightCall, answer: CallResult<P>) {
        match call.purpose {
            Purpose::Split { file } => self.on_split_points(file, answer),
            Purpose::Read => self.complete(number, answer),
            Purpose::Join => self.on_join_answer(number, answer),
            Purpose::Query(query) => self.on_query_answer(query, number, answer),
            Purpose::Save(save) => self.on_columns(save, answer),
        }
    }
}
