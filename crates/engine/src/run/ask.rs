//! Whoever runs queries, for what asks several of them in a row.

use super::{Cuts, Plan, Session};
use crate::EngineError;
use crate::run::query::Query;

/// Runs queries over loaded traces.
pub trait Ask {
    /// Why there is no report.
    type Error;

    /// Runs a query.
    ///
    /// # Errors
    /// There is no report, since memory has ended for instance.
    fn ask<Q: Query>(&mut self, query: Q) -> Result<Q::Report, Self::Error>;
}

/// Sessions of one thread that are asked as one. No trace is in two of them.
pub struct Together<'a> {
    sessions: Vec<&'a mut Session>,
    cuts: Cuts,
}

impl<'a> Together<'a> {
    /// Returns sessions whose sets are sealed, at least one.
    pub fn of(sessions: Vec<&'a mut Session>) -> Together<'a> {
        let cuts = match sessions.as_slice() {
            [session] => session.cuts.clone(),
            several => Cuts::of_data(several.iter().any(|session| !session.summaries.is_empty())),
        };
        Together { sessions, cuts }
    }

    /// Returns the sessions.
    pub fn sessions(&self) -> &[&'a mut Session] {
        &self.sessions
    }
}

impl Ask for Together<'_> {
    type Error = EngineError;

    fn ask<Q: Query>(&mut self, query: Q) -> Result<Q::Report, EngineError> {
        let run = |pass: &[u8]| self.sessions.iter_mut().map(|session| session.run_pass(pass)).collect();
        Plan::new(query, &self.cuts).finish(run, &mut |_| {})
    }
}
