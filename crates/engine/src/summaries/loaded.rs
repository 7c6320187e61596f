//! Summaries of traces that are loaded beside traces or in place of them: queries that need no spans take their reports
//! from them.
//!
//! A worker that reads a summary keeps it in its [`Session`](crate::run::Session). A plan has the workers
//! join theirs by group once for a state of the data, and keeps what comes back with the cuts.

use crate::EngineError;
use crate::requests::{Filter, RequestType, RootEndpoint, Selection, Until};
use crate::run::workers::Workers;
use crate::summaries::joined::{JoinPass, Joined};
use crate::summaries::{Choice, Summary};
use std::sync::Arc;

impl Workers {
    /// Returns the summaries of all workers; `None` if there are none.
    pub(crate) async fn summaries(&self) -> Result<Option<Arc<Joined>>, EngineError> {
        if !self.cuts().has_summaries {
            return Ok(None);
        }
        let find = async || Ok(Arc::new(Joined::merge(self.partials(JoinPass).await?)));
        self.once(&self.cuts().summaries, (), find).await.map(Some)
    }

    /// Returns the summary that a selection is about, and which of its requests; `None` if it is about traces.
    ///
    /// # Errors
    /// [`EngineError::Summary`] if a summary cannot tell these requests from others.
    pub(crate) async fn summary_of(
        &self,
        selection: &Selection,
    ) -> Result<Option<(SummaryOf, Choice)>, EngineError> {
        let Some(joined) = self.summaries().await? else { return Ok(None) };
        if joined.group(selection.group)?.is_none() {
            return Ok(None);
        }
        if selection.until == Until::Done {
            return Err(EngineError::Summary(
                "a summary holds the paths of requests until their answer: choose until the answer, or load the traces".to_owned(),
            ));
        }
        Ok(Some((SummaryOf { joined, group: selection.group }, choice(selection)?)))
    }
}

/// The summary of a group.
pub(crate) struct SummaryOf {
    joined: Arc<Joined>,
    group: u8,
}

impl std::ops::Deref for SummaryOf {
    type Target = Summary;

    fn deref(&self) -> &Summary {
        static NONE: std::sync::LazyLock<Summary> = std::sync::LazyLock::new(Summary::default);
        // It was there when this was made.
        self.joined.group(self.group).ok().flatten().unwrap_or(&NONE)
    }
}

/// Returns which requests of a summary a selection is.
fn choice(selection: &Selection) -> Result<Choice, EngineError> {
    let mut root = match &selection.root {
        RootEndpoint::TraceRoots => None,
        RootEndpoint::Endpoint(endpoint) => Some(endpoint.clone()),
    };
    for filter in &selection.filters {
        match filter {
            Filter::Type(RequestType { root: of, part }) if part.is_empty() => root = Some(of.clone()),
            _ => {
                return Err(EngineError::Summary(
                    "a summary holds sums and no single requests, so it cannot be filtered: remove the filters, or load the traces".to_owned(),
                ));
            }
        }
    }
    Ok(Choice { root, range: selection.range, over_all: selection.over_all })
}
