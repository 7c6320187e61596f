//! The summaries that a worker has read.

use super::{Summary, read};
use pathlight_ingest::{SummaryCounts, TakeSummaries};
use std::sync::Arc;

/// A summary of traces that was read beside traces.
#[derive(Clone)]
pub struct LoadedSummary {
    /// Name of the input.
    pub name: String,
    /// The group that it was read into.
    pub group: u8,
    /// The summary.
    pub summary: Summary,
}

/// Summaries of traces that were read, in the order in which they were.
#[derive(Clone, Default)]
pub struct LoadedSummaries(Vec<Arc<LoadedSummary>>);

impl LoadedSummaries {
    /// Adds a summary.
    pub fn add(&mut self, summary: LoadedSummary) {
        self.0.push(Arc::new(summary));
    }

    /// Forgets the summaries of a group.
    pub fn forget_group(&mut self, group: u8) {
        self.0.retain(|loaded| loaded.group != group);
    }

    /// Puts all summaries into a group.
    pub fn regroup(&mut self, group: u8) {
        for summary in &mut self.0 {
            Arc::make_mut(summary).group = group;
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the summaries.
    pub fn iter(&self) -> impl Iterator<Item = &LoadedSummary> {
        self.0.iter().map(Arc::as_ref)
    }

    /// Returns the summary at a place; `None` after the last.
    pub(crate) fn get(&self, place: usize) -> Option<&LoadedSummary> {
        self.0.get(place).map(Arc::as_ref)
    }
}

impl TakeSummaries for LoadedSummaries {
    fn take(&mut self, name: String, group: u8, bytes: &[u8]) -> Result<SummaryCounts, String> {
        let summary = read(bytes).map_err(|error| error.to_string())?;
        let counts = SummaryCounts { traces: summary.traces, spans: summary.spans };
        self.add(LoadedSummary { name, group, summary });
        Ok(counts)
    }
}
