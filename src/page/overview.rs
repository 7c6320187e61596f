//! What is loaded, as the overviews of both sets say.

use super::Page;
use pathlight_engine::queries::OverviewReport;
use std::rc::Rc;

impl Page {
    /// Returns the overview of the set that views speak of, once it is known.
    pub fn overview_in_sight(self) -> Option<Rc<OverviewReport>> {
        let queries = self.queries();
        if self.address().group() == 1 { queries.overview_b.get() } else { queries.overview.get() }
    }

    /// Returns a number that changes with it.
    pub fn overview_revision(self) -> u64 {
        let queries = self.queries();
        let revisions = queries.overview.revision() + queries.overview_b.revision();
        2 * revisions + u64::from(self.address().group())
    }

    /// Returns how many endpoints and services are loaded; `None` where the overview does not say it of the side shown.
    pub fn loaded_names(self) -> Option<[u64; 2]> {
        let overview = self.0.queries.overview.get()?;
        (overview.other_traces == 0).then(|| [overview.endpoints.len() as u64, overview.services])
    }

    /// Returns how many endpoints are loaded, where rows are endpoints and that is known.
    pub fn loaded_endpoints(self) -> Option<u64> {
        self.loaded_names().map(|names| names[0]).filter(|_| !self.address().by_service)
    }

    /// Returns whether one trace is loaded and nothing beside it.
    pub fn has_one_trace(self) -> bool {
        let overview = self.0.queries.overview.get();
        overview.is_some_and(|of| of.traces == 1 && of.other_traces == 0 && of.summary.is_none())
    }

    /// Returns whether any set that is loaded is a summary.
    pub fn has_summary(self) -> bool {
        self.0.queries.overview.get().is_some_and(|of| of.summary.is_some() || of.is_other_summary)
    }

    pub(super) fn is_summary_set(self, group: u8) -> bool {
        let overview = self.0.queries.overview.get();
        overview.is_some_and(|of| if group == 1 { of.is_other_summary } else { of.summary.is_some() })
    }
}
