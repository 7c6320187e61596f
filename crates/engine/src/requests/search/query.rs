//! The matches of a search.

use crate::EngineError;
use crate::requests::Selection;
use crate::requests::search::{SearchObserver, SearchPart, SearchReport, SpanSearch};
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports the spans, endpoints and requests that a search finds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// The selected requests.
    pub selection: Selection,
    /// The search.
    pub search: SpanSearch,
}

impl Query for Search {
    type Report = SearchReport;

    async fn run(self, workers: Workers) -> Result<SearchReport, EngineError> {
        let pass = SearchPass { search: self.search };
        let (parts, facts) = workers.request_partials(&self.selection, pass).await?;
        Ok(SearchPart::finish(parts, facts))
    }
}

/// Spans, endpoints and requests that a search finds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SearchPass {
    pub search: SpanSearch,
}

impl RequestPass for SearchPass {
    type Part = SearchPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = SearchObserver::new(over.set, &self.search);
        over.walk(observer)
    }
}
