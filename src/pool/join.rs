//! The end of a load: what belongs to one trace comes together, and groups that are to go are taken away.

use super::call::{Answer, CallError, Reply};
use super::query::COORDINATOR;
use super::{Pool, State, UserError};
use crate::wire::{Call, Done};

impl Pool {
    /// Joins what single spans and fragments make up, within workers and between them.
    pub(crate) async fn join(&self) -> Result<(), CallError> {
        let slots = self.holders();
        self.on_all(&slots, || Call::Seal).await?;
        self.unload(&slots).await?;
        if slots.len() < 2 {
            return Ok(());
        }
        let asked: Vec<Reply> = slots.iter().map(|&slot| self.call(slot, Call::TraceKeys, &[])).collect();
        let mut keys = Vec::new();
        for reply in asked {
            keys.extend(reply.await?.1);
        }
        let (Done::Moves(moves), lists) = self.call(COORDINATOR, Call::PlanMoves, &keys).await? else {
            return Ok(());
        };
        if moves.is_empty() {
            return Ok(());
        }
        self.0.moved.set(true);
        let slot_of = |at: u32| slots.get(at as usize).copied().unwrap_or(COORDINATOR);
        let takes: Vec<(usize, Reply)> = moves
            .iter()
            .zip(lists)
            .map(|(&(from, to), keys)| (slot_of(to), self.call(slot_of(from), Call::TakeTraces, &[keys])))
            .collect();
        let mut puts = Vec::new();
        for (to, take) in takes {
            let (_, traces) = take.await?;
            puts.push(self.call(to, Call::PutTraces, &traces));
        }
        for put in puts {
            self.note_full(put.await)?;
        }
        self.on_all(&slots, || Call::Seal).await
    }

    /// Takes away the groups that are to go. Files that came into them since then are read again.
    async fn unload(&self, slots: &[usize]) -> Result<(), CallError> {
        let groups = self.with_load(|load| std::mem::take(&mut load.unload)).unwrap_or_default();
        for group in groups {
            self.on_all(slots, || Call::Unload { group }).await?;
            for kept in self.0.kept.borrow_mut().iter_mut().filter(|kept| kept.group == group) {
                kept.state = match kept.state {
                    _ if kept.is_unloaded => State::Dropped,
                    State::Read(_) => State::Waiting,
                    state => state,
                };
                kept.report = kept.report.take().filter(|_| !kept.is_unloaded);
            }
        }
        Ok(())
    }

    /// Slots whose workers hold spans.
    pub(crate) fn holders(&self) -> Vec<usize> {
        let members = self.0.members.borrow();
        let spans = |slot: usize| members[slot].as_ref().map_or(0, |member| member.progress.spans);
        (0..members.len()).filter(|&slot| spans(slot) > 0).collect()
    }

    async fn on_all(&self, slots: &[usize], call: impl Fn() -> Call) -> Result<(), CallError> {
        let replies: Vec<Reply> = slots.iter().map(|&slot| self.call(slot, call(), &[])).collect();
        for reply in replies {
            self.note_full(reply.await)?;
        }
        Ok(())
    }

    /// A worker that cannot join for want of memory is no death: the user is told.
    fn note_full(&self, answer: Answer) -> Result<(), CallError> {
        match answer {
            Ok(_) => Ok(()),
            Err(CallError::Failed(reason)) => {
                let error = UserError {
                    message: "Some traces could not be put together.".to_owned(),
                    detail: reason,
                    next_step: "Load fewer files at a time.".to_owned(),
                };
                self.with_load(|load| load.errors.push(error));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
