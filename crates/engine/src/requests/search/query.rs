//! The matches of a search.

use crate::EngineError;
use crate::queries::Query;
use crate::requests::Selection;
use crate::requests::search::{SearchPart, SearchReport, SpanSearch};
use crate::run::request_pass::RequestPass;
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
        let pass = RequestPass::Search { search: self.search };
        let (parts, facts) = workers.request_partials(&self.selection, pass).await?;
        Ok(SearchPart::finish(parts, facts))
    }
}
