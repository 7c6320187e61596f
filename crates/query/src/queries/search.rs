//! The matches of a search.

use crate::EngineError;
use crate::Query;
use crate::request_pass::RequestPass;
use crate::workers::Workers;
use pathlight_analysis::requests::Selection;
use pathlight_analysis::search::{SearchPart, SearchReport, SpanSearch};
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
