//! The worker's side: calls that are answered at once, by one session, and the plans of queries that the worker runs.
//!
//! Reading, sealing and passes take long; whoever drives a worker does them in steps. Everything else a worker is called
//! for is a function of its session and of the plans under way.

use super::messages::{Call, CallDone};
use crate::EngineError;
use crate::run::{Cuts, Plan, PlanStep, Session, plan_joining};
use pathlight_base::encoding;
use pathlight_base::sort::CompactSort as _;
use std::collections::BTreeMap;

/// The answer to a call, with its attached buffers.
pub type CallAnswer = Result<(CallDone, Vec<Vec<u8>>), EngineError>;

/// The plans that a worker runs.
#[derive(Default)]
pub struct Server {
    plans: BTreeMap<u64, Plan<Vec<u8>>>,
    /// Calls that are answered once another plan has gone on, with the plans they are about.
    waiting: Vec<(u64, u64)>,
    /// Cuts that plans over one state of the data share, and the number of that state.
    cuts: (Option<u64>, Cuts),
}

impl Server {
    /// Takes a call, by number, with its attached buffers; returns answers to calls, by number: to this one, and to
    /// earlier ones that waited for it. Calls that take long are not for here and have no answer: [`Call::Read`],
    /// [`Call::FindSplitPoints`], [`Call::Seal`], [`Call::Pass`], [`Call::WriteDemo`], [`Call::CopyColumns`].
    ///
    /// A plan goes on until `is_over` says that the worker must hear messages: a message for each of its steps would take
    /// longer than many of them.
    pub fn serve(
        &mut self,
        session: &mut Session,
        number: u64,
        call: &Call,
        attachments: Vec<Vec<u8>>,
        is_over: &mut dyn FnMut() -> bool,
    ) -> Vec<(u64, CallAnswer)> {
        let mut answers = Vec::new();
        match call {
            Call::Begin { plan, data, has_summaries } => {
                let message = attachments.into_iter().next().unwrap_or_default();
                match Plan::of_message(&message, &self.cuts_of(*data, *has_summaries)) {
                    Ok(begun) => self.step((number, *plan), begun, Vec::new(), is_over, &mut answers),
                    Err(error) => answers.push((number, Err(error))),
                }
                self.step_waiting(&mut answers);
            }
            Call::Merge { plan } => {
                match self.plans.remove(plan) {
                    Some(merging) => self.step((number, *plan), merging, attachments, is_over, &mut answers),
                    None => answers.push((number, Err(EngineError::Ended))),
                }
                self.step_waiting(&mut answers);
            }
            _ => answers.extend(answer(session, call, &attachments).map(|answer| (number, answer))),
        }
        answers
    }

    /// Drops the plan of a query; returns answers to calls that waited for it.
    pub fn end_plan(&mut self, plan: u64) -> Vec<(u64, CallAnswer)> {
        self.plans.remove(&plan);
        let mut answers = Vec::new();
        self.step_waiting(&mut answers);
        answers
    }

    /// Returns what plans share over a state of the data; nothing while it changes.
    fn cuts_of(&mut self, data: Option<u64>, has_summaries: bool) -> Cuts {
        if data.is_none() || self.cuts.0 != data {
            self.cuts = (data, Cuts::of_data(has_summaries));
        }
        self.cuts.1.clone()
    }

    /// Takes a plan at least one step on and answers the call; or later, if it waits for another plan.
    fn step(
        &mut self,
        (call, number): (u64, u64),
        mut plan: Plan<Vec<u8>>,
        partials: Vec<Vec<u8>>,
        is_over: &mut dyn FnMut() -> bool,
        answers: &mut Vec<(u64, CallAnswer)>,
    ) {
        let mut step = plan.next(partials);
        while matches!(step, Ok(PlanStep::Working(_))) && !is_over() {
            step = plan.next(Vec::new());
        }
        let answer = match step {
            Ok(PlanStep::Pass(pass)) => Ok((CallDone::Pass, vec![pass])),
            Ok(PlanStep::Working(progress)) => Ok((CallDone::Working, vec![encoding::write(&progress)])),
            Ok(PlanStep::Waiting) => {
                self.plans.insert(number, plan);
                return self.waiting.push((call, number));
            }
            Ok(PlanStep::Done(report)) => return answers.push((call, Ok((CallDone::Report, vec![report])))),
            Err(error) => return answers.push((call, Err(error))),
        };
        self.plans.insert(number, plan);
        answers.push((call, answer));
    }

    /// Takes the plans one step on that wait for another one, which has gone on or ended.
    fn step_waiting(&mut self, answers: &mut Vec<(u64, CallAnswer)>) {
        for (call, number) in std::mem::take(&mut self.waiting) {
            if let Some(plan) = self.plans.remove(&number) {
                self.step((call, number), plan, Vec::new(), &mut || true, answers);
            }
        }
    }
}

/// Answers a call that is about the session alone, if it is one.
fn answer(session: &mut Session, call: &Call, attachments: &[Vec<u8>]) -> Option<CallAnswer> {
    let first = attachments.first().map(Vec::as_slice).unwrap_or_default();
    let one = |bytes: Vec<u8>| (CallDone::Nothing, vec![bytes]);
    let none = |()| (CallDone::Nothing, Vec::new());
    Some(match call {
        Call::Unload { group } => {
            unload(session, *group);
            Ok(none(()))
        }
        Call::Keys => Ok(one(session.keys())),
        Call::MarkHighCardinality => session.mark_high_cardinality(first).map(none),
        Call::PlanJoining => plan_joining(attachments).map(|plan| {
            let (mut moves, mut lists) = (Vec::new(), Vec::new());
            for (from, targets) in plan.moves.into_iter().enumerate() {
                for (to, keys) in targets {
                    moves.push((from as u32, to as u32));
                    lists.push(keys);
                }
            }
            lists.extend(plan.high_cardinality);
            (CallDone::Moves(moves), lists)
        }),
        Call::TakeTraces => session.take_traces(first).map(one),
        Call::PutTraces => session.put_traces(first).map(none),
        _ => return None,
    })
}

fn unload(session: &mut Session, group: u8) {
    let ids = session.set.traces().iter().map(|trace| trace.id);
    let mut gone: Vec<_> = ids.filter(|id| id.group == group).collect();
    gone.compact_sort();
    session.set.retain(|trace| trace.id.group != group);
    session.summaries.forget_group(group);
    session.set.forget_duplicates(&gone);
    session.invalidate();
}
