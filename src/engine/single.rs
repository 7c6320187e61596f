//! The chain of an analysis that looks at the requests of a band once.

use super::chain::Next;
use super::cutting::{Cutter, Cutting};
use super::study::{Study, StudyChain, ask_study};
use super::{EngineError, Report};
use crate::critical_path::{Band, BandFacts, Scope};

/// Makes the report of the partials of all workers.
pub(super) type Finish = fn(&Study, &[Vec<u8>], Band, BandFacts) -> Result<Report, EngineError>;

enum State {
    Cutting(Cutter),
    Looking(Box<BandFacts>),
    Ended,
}

/// Cut, one study, done.
pub(super) struct Single {
    scope: Scope,
    band: Band,
    study: Study,
    finish: Finish,
    state: State,
}

impl Single {
    pub fn start(
        scope: &Scope,
        band: Band,
        study: Study,
        finish: Finish,
    ) -> Result<(Box<dyn StudyChain>, Next), EngineError> {
        let (cutter, next) = Cutter::start(scope.clone(), band)?;
        let state = State::Cutting(cutter);
        Ok((Box::new(Single { scope: scope.clone(), band, study, finish, state }), next))
    }
}

impl StudyChain for Single {
    fn next(&mut self, partials: &[Vec<u8>]) -> Result<Next, EngineError> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Cutting(mut cutter) => match cutter.next(partials)? {
                Cutting::Ask(next) => {
                    self.state = State::Cutting(cutter);
                    Ok(next)
                }
                Cutting::Done(cut, facts) => {
                    self.state = State::Looking(facts);
                    ask_study(&self.scope, &cut, self.study.clone())
                }
            },
            State::Looking(facts) => {
                Ok(Next::Done(Box::new((self.finish)(&self.study, partials, self.band, *facts)?)))
            }
            State::Ended => Err(EngineError::Ended),
        }
    }
}
