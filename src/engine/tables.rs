//! The chains of endpoint rows and of the heat map.

use super::chain::{Next, read_parts};
use super::cutting::{Cutter, Cutting};
use super::study::{Study, StudyChain, ask_study};
use super::{EngineError, Report};
use crate::critical_path::{
    Band, BandFacts, ColumnOrder, Columns, Cut, EndpointPart, EndpointsReport, HeatPart, Scope,
};

enum State {
    Cutting(Cutter),
    Rows { cut: Cut, facts: Box<BandFacts> },
    Places { cut: Cut, rows: Box<EndpointsReport> },
    Ties { cut: Cut, rows: Box<EndpointsReport>, columns: Columns },
    Cells { rows: Box<EndpointsReport> },
    Ended,
}

pub(super) struct TableChain {
    scope: Scope,
    band: Band,
    /// Order and greatest number of columns of a heat map; `None`: rows only.
    columns: Option<(ColumnOrder, u32)>,
    state: State,
}

impl TableChain {
    pub fn start(
        scope: &Scope,
        band: Band,
        columns: Option<(ColumnOrder, u32)>,
    ) -> Result<(Box<dyn StudyChain>, Next), EngineError> {
        let (cutter, next) = Cutter::start(scope.clone(), band)?;
        let state = State::Cutting(cutter);
        Ok((Box::new(TableChain { scope: scope.clone(), band, columns, state }), next))
    }

    fn ask_cells(
        &mut self,
        cut: &Cut,
        rows: Box<EndpointsReport>,
        columns: &Columns,
        ties: Vec<((u64, u64), String, String)>,
    ) -> Result<Next, EngineError> {
        let order = self.columns.as_ref().map(|(order, _)| order.clone()).unwrap_or_default();
        self.state = State::Cells { rows };
        ask_study(&self.scope, cut, Study::Cells { order, edges: columns.edges(ties) })
    }
}

impl StudyChain for TableChain {
    fn next(&mut self, partials: &[Vec<u8>]) -> Result<Next, EngineError> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Cutting(mut cutter) => match cutter.next(partials)? {
                Cutting::Ask(next) => {
                    self.state = State::Cutting(cutter);
                    Ok(next)
                }
                Cutting::Done(cut, facts) => {
                    let next = ask_study(&self.scope, &cut, Study::Rows);
                    self.state = State::Rows { cut, facts };
                    next
                }
            },
            State::Rows { cut, facts } => {
                let rows = Box::new(EndpointPart::finish(read_parts(partials)?, self.band, *facts));
                let Some((order, _)) = &self.columns else {
                    return Ok(Next::Done(Box::new(Report::Endpoints(rows))));
                };
                let next = ask_study(&self.scope, &cut, Study::Places { order: order.clone() });
                self.state = State::Places { cut, rows };
                next
            }
            State::Places { cut, rows } => {
                let Some((order, most)) = &self.columns else { return Err(EngineError::Ended) };
                let places = read_parts::<Vec<(u64, u64)>>(partials)?.into_iter().flatten().collect();
                let columns = Columns::new(places, *most);
                let tied = columns.tied();
                if tied.is_empty() {
                    return self.ask_cells(&cut, rows, &columns, Vec::new());
                }
                let next = ask_study(&self.scope, &cut, Study::Ties { order: order.clone(), tied });
                self.state = State::Ties { cut, rows, columns };
                next
            }
            State::Ties { cut, rows, columns } => {
                let ties = read_parts::<Vec<_>>(partials)?.into_iter().flatten().collect();
                self.ask_cells(&cut, rows, &columns, ties)
            }
            State::Cells { rows } => {
                let order = self.columns.take().map(|(order, _)| order).unwrap_or_default();
                let report = HeatPart::finish(&read_parts(partials)?, *rows, order);
                Ok(Next::Done(Box::new(Report::Heatmap(Box::new(report)))))
            }
            State::Ended => Err(EngineError::Ended),
        }
    }
}
