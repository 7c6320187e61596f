//! The chain of a comparison: each side is cut, its frames and its services are summed, then both are put together.

use super::chain::{Next, read_parts};
use super::cutting::{Cutter, Cutting};
use super::study::{Study, StudyChain, ask_study};
use super::{EngineError, Report};
use crate::critical_path::{Band, BandFacts, Cut, DiffPart, DiffSide, Scope, ServiceSums};

enum State {
    Cutting(Cutter),
    Frames { cut: Cut, facts: Box<BandFacts> },
    Services { facts: Box<BandFacts>, frames: DiffPart },
    Ended,
}

/// A side that is done.
type Side = (DiffSide, DiffPart, ServiceSums);

pub(super) struct CompareChain {
    sides: [(Scope, Band); 2],
    first: Option<Side>,
    state: State,
}

impl CompareChain {
    pub fn start(sides: [(&Scope, &Band); 2]) -> Result<(Box<dyn StudyChain>, Next), EngineError> {
        let sides = sides.map(|(scope, band)| (scope.clone(), *band));
        let (cutter, next) = Cutter::start(sides[0].0.clone(), sides[0].1)?;
        Ok((Box::new(CompareChain { sides, first: None, state: State::Cutting(cutter) }), next))
    }
}

impl StudyChain for CompareChain {
    fn next(&mut self, partials: &[Vec<u8>]) -> Result<Next, EngineError> {
        let (scope, band) = &self.sides[usize::from(self.first.is_some())];
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Cutting(mut cutter) => match cutter.next(partials)? {
                Cutting::Ask(next) => {
                    self.state = State::Cutting(cutter);
                    Ok(next)
                }
                Cutting::Done(cut, facts) => {
                    let next = ask_study(scope, &cut, Study::Diff);
                    self.state = State::Frames { cut, facts };
                    next
                }
            },
            State::Frames { cut, facts } => {
                let frames = DiffPart::merge(read_parts(partials)?);
                self.state = State::Services { facts, frames };
                ask_study(scope, &cut, Study::Services)
            }
            State::Services { facts, frames } => {
                let services = ServiceSums::merge(read_parts(partials)?);
                let side = DiffSide { scope: scope.clone(), band: Some(*band), facts: *facts };
                let side = (side, frames, services);
                match self.first.take() {
                    Some(first) => {
                        Ok(Next::Done(Box::new(Report::Compare(Box::new(DiffPart::finish(first, side))))))
                    }
                    None => {
                        self.first = Some(side);
                        let (scope, band) = &self.sides[1];
                        let (cutter, next) = Cutter::start(scope.clone(), *band)?;
                        self.state = State::Cutting(cutter);
                        Ok(next)
                    }
                }
            }
            State::Ended => Err(EngineError::Ended),
        }
    }
}
