//! The end of a load: what belongs to one trace comes together, and groups that are to go are taken away.
//!
//! Steps: every worker seals what it has read; groups that are to go are unloaded; all workers tell their keys, the
//! coordinator plans who gives which traces to whom and which tags have too many values, these tags are marked, the traces
//! go there, and every worker seals again. The next step begins when all answers of the one before are there.

use super::loading::{MOST_FAILED_JOINS, Phase};
use super::messages::{Call, CallDone};
use super::workers::{CallError, CallResult, Purpose};
use super::{Attachment, COORDINATOR, PoolEvent, PoolState, UserError};
use std::collections::{BTreeMap, BTreeSet};

/// The joining under way.
#[derive(Debug)]
pub(super) struct Join<P> {
    /// The slots whose workers hold spans.
    slots: Vec<usize>,
    /// Step after the answers that are awaited.
    next: JoinStep,
    /// Calls without an answer yet.
    open: BTreeMap<u64, JoinCall>,
    /// Groups still to be unloaded.
    groups: BTreeSet<u8>,
    /// The keys of every worker that has sent them, by number of the call, which is the order of the slots.
    keys: BTreeMap<u64, Vec<P>>,
    /// Moves planned, with their keys.
    moves: Vec<((u32, u32), P)>,
    /// The keys of tags that are to be marked.
    high_cardinality: Option<P>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JoinStep {
    Seal,
    Unload { before: Option<u8> },
    TellKeys,
    Plan,
    Mark,
    Move,
    SealAgain,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JoinCall {
    /// Its answer does not matter; if it cannot be done for want of memory, the user is notified.
    Plain,
    TellKeys,
    Plan,
    /// Its traces go to the worker in this slot.
    TakeTraces {
        to: usize,
    },
}

impl<P: Clone> PoolState<P> {
    /// Begins to join. Row numbers change, so queries under way are stale.
    pub(super) fn begin_joining(&mut self) {
        self.set_phase(Phase::Joining);
        self.end_queries_as_stale();
        self.join = Some(Join {
            slots: self.holders(),
            next: JoinStep::Seal,
            open: BTreeMap::new(),
            groups: BTreeSet::new(),
            keys: BTreeMap::new(),
            moves: Vec::new(),
            high_cardinality: None,
        });
    }

    /// Begins the next step if all answers of the one before are there; returns whether it did.
    pub(super) fn go_on_joining(&mut self) -> bool {
        let Some(join) = self.join.as_mut() else {
            // A worker died meanwhile, or all were ended.
            self.set_phase(Phase::Planning);
            return true;
        };
        if !join.open.is_empty() {
            return false;
        }
        let slots = join.slots.clone();
        match join.next {
            JoinStep::Seal => {
                join.next = JoinStep::Unload { before: None };
                self.on_all(&slots, JoinCall::Plain, &Call::Seal);
            }
            JoinStep::Unload { before } => {
                if let Some(load) = &mut self.load {
                    join.groups.extend(std::mem::take(&mut load.unload));
                }
                let group = join.groups.pop_first();
                join.next = match group {
                    Some(_) => JoinStep::Unload { before: group },
                    None if slots.len() < 2 => JoinStep::End,
                    None => JoinStep::TellKeys,
                };
                if let Some(unloaded) = before {
                    self.planner.end_unload(unloaded);
                }
                if let Some(group) = group {
                    self.on_all(&slots, JoinCall::Plain, &Call::Unload { group });
                }
            }
            JoinStep::TellKeys => {
                join.next = JoinStep::Plan;
                self.on_all(&slots, JoinCall::TellKeys, &Call::Keys);
            }
            JoinStep::Plan => {
                join.next = JoinStep::Mark;
                let keys = std::mem::take(&mut join.keys).into_values().flatten();
                let keys = keys.map(Attachment::Move).collect();
                self.call_to_join(COORDINATOR, JoinCall::Plan, Call::PlanJoining, keys);
            }
            JoinStep::Mark => {
                join.next = JoinStep::Move;
                if let Some(high_cardinality) = join.high_cardinality.take() {
                    for &slot in &slots {
                        let attached = vec![Attachment::Copy(high_cardinality.clone())];
                        self.call_to_join(slot, JoinCall::Plain, Call::MarkHighCardinality, attached);
                    }
                }
            }
            JoinStep::Move => {
                let moves = std::mem::take(&mut join.moves);
                join.next = if moves.is_empty() { JoinStep::End } else { JoinStep::SealAgain };
                self.has_moved_traces |= !moves.is_empty();
                let slot_of = |at: u32| slots.get(at as usize).copied().unwrap_or(COORDINATOR);
                for ((from, to), keys) in moves {
                    let take = JoinCall::TakeTraces { to: slot_of(to) };
                    self.call_to_join(slot_of(from), take, Call::TakeTraces, vec![Attachment::Move(keys)]);
                }
            }
            JoinStep::SealAgain => {
                join.next = JoinStep::End;
                self.on_all(&slots, JoinCall::Plain, &Call::Seal);
            }
            JoinStep::End => {
                self.join = None;
                let must_unload = self.load.as_ref().is_some_and(|load| !load.unload.is_empty());
                if must_unload || self.planner.is_waiting() || self.planner.must_restart() {
                    self.set_phase(Phase::Planning);
                } else {
                    self.end_load();
                }
            }
        }
        true
    }

    fn on_all(&mut self, slots: &[usize], kind: JoinCall, call: &Call) {
        for &slot in slots {
            self.call_to_join(slot, kind, call.clone(), Vec::new());
        }
    }

    fn call_to_join(&mut self, slot: usize, kind: JoinCall, call: Call, attachments: Vec<Attachment<P>>) {
        let number = self.call(slot, Purpose::Join, call, attachments);
        if let Some(join) = &mut self.join {
            join.open.insert(number, kind);
        }
    }

    pub(super) fn on_join_answer(&mut self, number: u64, answer: CallResult<P>) {
        let Some(join) = &mut self.join else { return };
        let Some(kind) = join.open.remove(&number) else { return };
        match (kind, answer) {
            (JoinCall::Plain, Ok(_)) => {}
            // Want of memory is no death: the user is notified.
            (JoinCall::Plain, Err(CallError::Failed(reason))) => {
                if let Some(load) = &mut self.load {
                    load.errors.push(UserError {
                        message: "Some traces could not be put together.".to_owned(),
                        detail: reason,
                        next_step: "Load fewer files at a time.".to_owned(),
                    });
                }
            }
            (JoinCall::TellKeys, Ok((_, keys))) => {
                join.keys.insert(number, keys);
            }
            (JoinCall::Plan, Ok((done, attached))) => {
                let mut attached = attached.into_iter();
                if let CallDone::Moves(moves) = done {
                    join.moves = moves.into_iter().zip(attached.by_ref()).collect();
                }
                join.high_cardinality = attached.next();
            }
            (JoinCall::TakeTraces { to }, Ok((_, traces))) => {
                let traces = traces.into_iter().map(Attachment::Move).collect();
                self.call_to_join(to, JoinCall::Plain, Call::PutTraces, traces);
            }
            (_, Err(_)) => self.on_join_failed(),
        }
    }

    /// Handles a worker that died while traces were joined. Traces may be on their way between workers: only reading
    /// everything again is sure.
    fn on_join_failed(&mut self) {
        self.join = None;
        self.cancel_calls(Purpose::Join);
        self.planner.demand_restart();
        let Some(load) = &mut self.load else { return };
        load.failed_joins += 1;
        if load.failed_joins >= MOST_FAILED_JOINS {
            self.clear();
            self.tell(PoolEvent::Failed(UserError {
                message: "Workers ended again and again while traces were put together.".to_owned(),
                detail: String::new(),
                next_step: "Load less at a time; the page is empty now.".to_owned(),
            }));
        }
    }
}
