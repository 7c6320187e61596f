//! A pool of native threads that runs the same passes as the browser's workers.

use super::{Ask, Cuts, JoinPlan, Plan, Session, plan_joining};
use crate::EngineError;
use crate::anomalies::paper::vae::TrainingProgress;
use crate::run::query::Query;
use crate::summaries::LoadedSummary;
use pathlight_trace::{TraceId, TraceSet};
use std::collections::HashSet;

/// Seals all sets, each on a thread of its own.
fn seal(sessions: &mut [Session]) -> Result<(), EngineError> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = sessions.iter_mut().map(|session| scope.spawn(|| session.set.seal())).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_or(Err(EngineError::Ended), |sealed| Ok(sealed?)))
    })
}

/// Brings together what several sessions saw of one trace, and marks which tags have too many values in all of them.
fn join(sessions: &mut [Session]) -> Result<(), EngineError> {
    let keys: Vec<_> = sessions.iter().map(Session::keys).collect();
    let JoinPlan { moves, high_cardinality } = plan_joining(&keys)?;
    if let Some(high_cardinality) = high_cardinality {
        sessions.iter_mut().try_for_each(|session| session.mark_high_cardinality(&high_cardinality))?;
    }
    for (from, moves) in moves.into_iter().enumerate() {
        for (to, keys) in moves {
            let bytes = sessions[from].take_traces(&keys)?;
            sessions[to].put_traces(&bytes)?;
        }
    }
    seal(sessions)
}

/// Sessions, one a thread.
pub struct NativePool {
    sessions: Vec<Session>,
    cuts: Cuts,
}

impl NativePool {
    /// Returns a pool over the sets that threads have loaded, at least one; traces that several of them saw are joined.
    ///
    /// # Errors
    /// [`EngineError`] when memory ends.
    pub fn of(sets: Vec<TraceSet>) -> Result<NativePool, EngineError> {
        NativePool::of_sessions(sets.into_iter().map(Session::of).collect())
    }

    /// Returns a pool as [`of`](Self::of) does, over sessions with what they have read beside traces.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_sessions(mut sessions: Vec<Session>) -> Result<NativePool, EngineError> {
        if sessions.is_empty() {
            sessions.push(Session::new());
        }
        seal(&mut sessions)?;
        // One alone knows all.
        if sessions.len() > 1 {
            join(&mut sessions)?;
        }
        let mut pool = NativePool { sessions, cuts: Cuts::of_data(false) };
        pool.reset_cuts();
        Ok(pool)
    }

    /// Adds summaries of traces, for the queries that summaries answer.
    pub fn add_summaries(&mut self, summaries: Vec<LoadedSummary>) {
        summaries.into_iter().for_each(|summary| self.sessions[0].summaries.add(summary));
        self.sessions[0].invalidate();
        self.reset_cuts();
    }

    /// Begins with no cut of a percentile range known, as the data are others.
    fn reset_cuts(&mut self) {
        let has_summaries = self.sessions.iter().any(|session| !session.summaries.is_empty());
        self.cuts = Cuts::of_data(has_summaries);
    }

    /// Returns the sets of traces; no trace is in two of them.
    pub fn into_sets(self) -> Vec<TraceSet> {
        self.sessions.into_iter().map(|session| session.set).collect()
    }

    /// Drops every trace without a span of this service.
    pub fn keep_service(&mut self, service: &str) {
        for session in &mut self.sessions {
            let set = &session.set;
            let is_of = |&row: &u32| set.endpoint_name(set.recorded_endpoint(row)).0 == service;
            let kept: HashSet<TraceId> = (set.traces().iter())
                .filter(|trace| trace.rows().any(|row| is_of(&row)))
                .map(|trace| trace.id)
                .collect();
            session.set.retain(|trace| kept.contains(&trace.id));
            session.invalidate();
        }
        self.reset_cuts();
    }

    /// Runs a query on all threads.
    ///
    /// # Errors
    /// [`EngineError`] if memory ends.
    pub fn run<Q: Query>(&mut self, query: Q) -> Result<Q::Report, EngineError> {
        self.run_watched(query, &mut |_| {})
    }

    /// Runs a query as [`run`](Self::run) does; `watch` hears how a long training goes.
    ///
    /// # Errors
    /// [`EngineError`] if memory ends.
    pub fn run_watched<Q: Query>(
        &mut self,
        query: Q,
        watch: &mut dyn FnMut(&TrainingProgress),
    ) -> Result<Q::Report, EngineError> {
        Plan::new(query, &self.cuts.clone()).finish(|pass| self.run_pass(pass), watch)
    }

    /// Returns the partials of a pass, one per thread.
    fn run_pass(&mut self, pass: &[u8]) -> Result<Vec<Vec<u8>>, EngineError> {
        if let [session] = self.sessions.as_mut_slice() {
            return Ok(vec![session.run_pass(pass)?]);
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                self.sessions.iter_mut().map(|session| scope.spawn(|| session.run_pass(pass))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(Err(EngineError::Ended))).collect()
        })
    }

    /// Returns the sessions.
    pub fn sessions(&self) -> &[Session] {
        &self.sessions
    }
}

impl Ask for NativePool {
    type Error = EngineError;

    fn ask<Q: Query>(&mut self, query: Q) -> Result<Q::Report, EngineError> {
        self.run(query)
    }
}
