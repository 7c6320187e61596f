//! Queries: the coordinator runs the plan, all workers run its passes.
//!
//! The coordinator answers a query's begin, and each merge, with a pass for all workers, with a word on how far a long
//! computation is, or with the report. While traces are joined, queries wait; when data changes, those under way end as
//! stale.

use super::messages::{Call, CallDone, ToWorker};
use super::workers::{CallError, CallResult, InFlightCall, Purpose};
use super::{Attachment, COORDINATOR, PoolCommand, PoolState, QueryError};
use std::collections::{BTreeMap, BTreeSet};

/// Deaths of workers over one query after which it is not tried again.
const MOST_DEATHS: u32 = 2;

/// A query that waits or is under way.
#[derive(Debug)]
pub(super) struct Query<P> {
    /// The query as a message.
    message: Vec<u8>,
    pub has_begun: bool,
    /// The partials of the pass under way, by number of the call; `None` while one is awaited. Empty while the
    /// coordinator works.
    partials: BTreeMap<u64, Option<Vec<P>>>,
}

impl<P: Clone> PoolState<P> {
    pub(super) fn add_query(&mut self, query: u64, message: Vec<u8>) {
        if self.deaths_by_query.get(&message).is_some_and(|&deaths| deaths >= MOST_DEATHS) {
            let reason = "Workers ended over this query more than once; it is not run again.".to_owned();
            self.commands.push(PoolCommand::Answer { query, result: Err(QueryError::Failed(reason)) });
            return;
        }
        self.queries.insert(query, Query { message, has_begun: false, partials: BTreeMap::new() });
    }

    /// Begins the queries that wait, unless traces are being joined.
    ///
    /// A query that was under way when a worker died runs alone, so that the next death shows whether it was the cause.
    pub(super) fn begin_waiting_queries(&mut self) {
        if self.join.is_some() {
            return;
        }
        // While files are read, the data changes from one query to the next.
        let data = (!self.is_loading()).then_some(self.generation);
        let mut is_idle = !self.queries.values().any(|query| query.has_begun);
        let is_suspect = |query: &Query<P>| self.deaths_by_query.contains_key(&query.message);
        let mut runs_alone = self.queries.values().any(|query| query.has_begun && is_suspect(query));
        let mut begun = Vec::new();
        for (&number, query) in self.queries.iter_mut().filter(|(_, query)| !query.has_begun) {
            if is_suspect(query) {
                if data.is_none() {
                    continue;
                }
                if !is_idle {
                    break;
                }
                runs_alone = true;
            } else if runs_alone {
                break;
            }
            is_idle = false;
            query.has_begun = true;
            begun.push((number, query.message.clone()));
        }
        for (query, message) in begun {
            let call = Call::Begin { plan: query, data, has_summaries: self.planner.has_summaries() };
            self.call(COORDINATOR, Purpose::Query(query), call, vec![Attachment::Bytes(message)]);
        }
    }

    pub(super) fn on_query_answer(&mut self, number: u64, call: u64, answer: CallResult<P>) {
        let Some(query) = self.queries.get_mut(&number) else { return };
        let (done, attachments) = match answer {
            Ok(answer) => answer,
            Err(CallError::Failed(reason)) => return self.end_query(number, Err(QueryError::Failed(reason))),
            Err(CallError::Lost) => return self.end_query(number, Err(QueryError::WorkerLost)),
        };
        if let Some(partial) = query.partials.get_mut(&call) {
            *partial = Some(attachments);
            if query.partials.values().all(Option::is_some) {
                let partials = std::mem::take(&mut query.partials).into_values().flatten().flatten();
                let partials = partials.map(Attachment::Move).collect();
                self.merge(number, partials);
            }
            return;
        }
        let body = attachments.into_iter().next();
        match (done, body) {
            (CallDone::Report, Some(report)) => {
                // Workers that ended over it before ended over something else.
                self.deaths_by_query.remove(&query.message);
                self.end_query(number, Ok(report));
            }
            (CallDone::Working, Some(progress)) => {
                self.commands.push(PoolCommand::Working { query: number, progress });
                self.merge(number, Vec::new());
            }
            (CallDone::Pass, Some(pass)) => {
                for slot in self.slots(|worker| worker.is_used) {
                    let pass = vec![Attachment::Copy(pass.clone())];
                    let call = self.call(slot, Purpose::Query(number), Call::Pass { plan: number }, pass);
                    if let Some(query) = self.queries.get_mut(&number) {
                        query.partials.insert(call, None);
                    }
                }
            }
            _ => {
                let reason = "a worker answered something else".to_owned();
                self.end_query(number, Err(QueryError::Failed(reason)));
            }
        }
    }

    /// Counts the death of a worker against the queries among its calls. Where it had something else to do as well, no
    /// query is known to be the cause: those become suspects, and only a death over one alone counts further.
    pub(super) fn count_death(&mut self, lost: &[(u64, InFlightCall)]) {
        let is_alone = lost.windows(2).all(|pair| pair[0].1.purpose == pair[1].1.purpose);
        let numbers: BTreeSet<u64> = lost.iter().filter_map(|(_, call)| call.purpose.query()).collect();
        for query in numbers.iter().filter_map(|number| self.queries.get(number)) {
            let deaths = self.deaths_by_query.entry(query.message.clone()).or_default();
            *deaths = if is_alone { *deaths + 1 } else { (*deaths).max(1) };
        }
    }

    fn merge(&mut self, query: u64, partials: Vec<Attachment<P>>) {
        self.call(COORDINATOR, Purpose::Query(query), Call::Merge { plan: query }, partials);
    }

    /// Ends a query and answers it.
    fn end_query(&mut self, query: u64, result: Result<P, QueryError>) {
        self.drop_query(query);
        self.commands.push(PoolCommand::Answer { query, result });
    }

    /// Cancels a query or a copy for which nobody waits any more.
    pub(super) fn cancel(&mut self, number: u64) {
        self.drop_query(number);
        self.saves.remove(&number);
        self.cancel_calls(Purpose::Save(number));
    }

    fn drop_query(&mut self, query: u64) {
        if self.queries.remove(&query).is_some_and(|query| query.has_begun) {
            self.cancel_calls(Purpose::Query(query));
            self.post(COORDINATOR, ToWorker::EndPlan(query), Vec::new());
        }
    }

    /// Ends all queries under way: the data they are about changes. Those that wait go on waiting.
    pub(super) fn end_queries_as_stale(&mut self) {
        self.generation += 1;
        self.end_begun_queries(&QueryError::Stale);
    }

    /// Ends all queries under way for this reason. Those that wait go on waiting.
    pub(super) fn end_begun_queries(&mut self, reason: &QueryError) {
        let begun = self.queries.iter().filter(|(_, query)| query.has_begun);
        let begun: Vec<u64> = begun.map(|(&number, _)| number).collect();
        for query in begun {
            self.end_query(query, Err(reason.clone()));
        }
    }
}
