//! Times and call chains by endpoint.

use crate::EngineError;
use crate::endpoints::{EndpointPart, EndpointsReport};
use crate::requests::{PercentileRange, Selection};
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports times and call chains by endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoints {
    /// The selected requests.
    pub selection: Selection,
}

impl Query for Endpoints {
    type Report = EndpointsReport;

    async fn run(self, workers: Workers) -> Result<EndpointsReport, EngineError> {
        if let Some((summary, choice)) = workers.summary_of(&self.selection).await? {
            return Ok(summary.endpoints(&choice)?);
        }
        let (parts, facts) = workers.request_partials(&self.selection, EndpointsPass).await?;
        Ok(EndpointPart::finish(parts, self.selection.range, facts))
    }
}

/// Reports times and call chains by endpoint at three latencies: of the requests near the median, the 95th and the 99th
/// percentile of their latency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtLatencies {
    /// The selected requests.
    pub selection: Selection,
}

impl Query for AtLatencies {
    /// One report for each of [`AtLatencies::PERCENTS`].
    type Report = Vec<EndpointsReport>;

    async fn run(self, workers: Workers) -> Result<Vec<EndpointsReport>, EngineError> {
        let mut reports = Vec::with_capacity(AtLatencies::PERCENTS.len());
        for selection in AtLatencies::selections(&self.selection) {
            reports.push(Endpoints { selection }.run(workers.clone()).await?);
        }
        Ok(reports)
    }
}

impl AtLatencies {
    /// The percentiles in percent.
    pub const PERCENTS: [u32; 3] = [50, 95, 99];

    /// Returns the requests of a selection near each of the percentiles.
    pub(crate) fn selections(of: &Selection) -> impl Iterator<Item = Selection> {
        AtLatencies::PERCENTS.into_iter().map(|percent| of.with_range(AtLatencies::near(of.range, percent)))
    }

    /// Returns the requests of a range within one percent of the requests around one of its percentiles; the one
    /// nearest to it where these are none.
    fn near(range: PercentileRange, percent: u32) -> PercentileRange {
        let width = range.hi.saturating_sub(range.lo);
        let at = |percent: u32| range.lo + (u64::from(width) * u64::from(percent) / 100) as u32;
        PercentileRange::open(at(percent - 1), at(percent + 1).max(at(percent - 1).saturating_add(1)))
    }
}

/// Times by endpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EndpointsPass;

impl RequestPass for EndpointsPass {
    type Part = EndpointPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        over.sweep(EndpointPart::observe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_of_a_range_is_given_by_one_percent_around_it() {
        let near = |range, percent| {
            let PercentileRange { lo, hi, .. } = AtLatencies::near(range, percent);
            (lo, hi)
        };
        assert_eq!(near(PercentileRange::ALL, 50), (49_000, 51_000));
        assert_eq!(near(PercentileRange::ALL, 99), (98_000, 100_000));
        // Of the slower half, the median is the 75th percentile of all.
        assert_eq!(near(PercentileRange::open(50_000, 100_000), 50), (74_500, 75_500));
        let (lo, hi) = near(PercentileRange::open(99_999, 100_000), 99);
        assert!(lo < hi);
    }
}
