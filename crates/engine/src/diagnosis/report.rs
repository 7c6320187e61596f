//! The report of the diagnosis, of all traces.

use super::places::tail_places;
use super::{
    AggregateTrace, Aggregates, DiagnosedEndpoint, DiagnosedGroup, DiagnosisSettings, GroupingLayer,
    PlacesReport, Traces, diagnose, layers,
};
use pathlight_base::steps::{Pace, all_at_once};
use serde::{Deserialize, Serialize};

/// The diagnosis: groups of traces in four layers, what is slow and where, and what makes the tail slow.
/// Request types are those of `--by`; with `--tag KEY` the values of that tag.
///
/// With `--aggregate N` the aggregate trace of a group is printed instead, with `--format jaeger` all of them, or that one,
/// as a Jaeger API response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiagnosisReport {
    /// Requests analysed.
    pub traces: u64,
    /// Requests kept out because their trace has an orphan root.
    pub has_orphans: u64,
    /// The groups of layers 1 to 4; of layers 3 and 4 the 20 with the most time.
    pub layers: Vec<GroupingLayer>,
    /// Number of endpoints, of which `report` lists the first.
    pub endpoints_in_all: u64,
    /// The diagnosis, the endpoint with the most self time first.
    pub report: Vec<DiagnosedEndpoint>,
    /// Causes of the slow tail, by request type.
    pub tail: PlacesReport,
    /// Facts about a diagnosis of a summary; `null` of traces.
    pub summary: Option<OfSummary>,
}

/// A diagnosis of a summary has neither groups of traces nor layers 3 and 4, percentiles and intervals. Request types are
/// root endpoints, their traces are those of any latency, and the tail begins at the nearest end of a latency bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfSummary {
    /// Endpoints of request types that have more places than a summary tells apart: they have no parts, and are not among
    /// what makes the tail slow.
    pub too_wide: u64,
    /// Requests kept out because their trace has several roots.
    pub has_roots: u64,
}

impl DiagnosisReport {
    /// Returns the group with this `aggregate_trace`.
    pub fn group(&self, number: u32) -> Option<&DiagnosedGroup> {
        let types = self.report.iter().flat_map(|endpoint| &endpoint.types);
        let mut groups = types.flat_map(|kind| &kind.spans).flat_map(|span| &span.groups);
        groups.find(|group| group.aggregate_trace == number)
    }
}

impl Traces {
    /// Makes layers, report and the list of what makes the tail slow.
    pub fn finish(&self, settings: &DiagnosisSettings) -> DiagnosisReport {
        all_at_once(async { self.report(settings, &mut Pace::default()).await })
    }

    /// Returns what [`finish`](Self::finish) returns, in steps.
    pub async fn report(&self, settings: &DiagnosisSettings, pace: &mut Pace) -> DiagnosisReport {
        let (endpoints_in_all, report, _) = diagnose::diagnose(self, settings, None, pace).await;
        DiagnosisReport {
            traces: self.traces.len() as u64,
            has_orphans: self.orphans,
            layers: layers::layers(self, settings, pace).await,
            endpoints_in_all,
            report,
            tail: tail_places(self, settings, pace).await,
            summary: None,
        }
    }

    /// Returns the aggregate traces that the report with these settings points at, or one of them, in steps.
    pub async fn aggregates(
        &self,
        settings: &DiagnosisSettings,
        wanted: Aggregates,
        pace: &mut Pace,
    ) -> Vec<AggregateTrace> {
        diagnose::diagnose(self, settings, Some(wanted), pace).await.2
    }
}
