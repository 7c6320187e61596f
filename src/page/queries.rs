//! The queries of the page.

use super::slot::{Asker, Slot, Slots};
use pathlight_engine::findings::FindingsReport;
use pathlight_engine::queries;
use pathlight_engine::requests::Selection;
use pathlight_view::address::Address;
use pathlight_view::requests_list::LISTED;
use std::cell::Cell;
use std::rc::Rc;

/// The queries of the page: a slot for each that may be wanted at the same time as others.
#[derive(Default)]
pub struct Queries {
    /// All of them that were ever wanted.
    pub slots: Slots,
    /// Overview of the loaded traces, about set A.
    pub overview: Slot<queries::Overview>,
    /// The same about set B, while views speak of it.
    pub overview_b: Slot<queries::Overview>,
    /// State of the data whose services with the most time have the leading colours.
    pub led: Cell<Option<u64>>,
    /// Content of the percentile range.
    pub range: Slot<queries::Range>,
    /// The same of side A and of side B, where views speak of other requests.
    pub sides: [Slot<queries::Range>; 2],
    /// The critical path of the percentile range.
    pub path: Slot<queries::CriticalPath>,
    /// The same of the requests near percentiles of their latency.
    pub paths_at: Slot<queries::PathsAtLatencies>,
    /// The values of the tag that a filter is being made of.
    pub tag_values: Slot<queries::TagValues>,
    /// Requests that a search by tags finds, of the side that views speak of or of A.
    pub search: Slot<queries::Search>,
    /// The same of B, where both sides are shown.
    pub search_b: Slot<queries::Search>,
    /// Spans that it finds in the trace of the timeline.
    pub found_spans: Slot<queries::FindSpans>,
    /// Two sides against each other.
    pub compare: Slot<queries::Compare>,
    /// Endpoints against requests.
    pub heatmap: Slot<queries::Heatmap>,
    /// Findings: where, why and for whom requests are slow.
    pub findings: Slot<queries::Findings>,
    /// Findings that are computed later.
    pub late_findings: Slot<queries::LateFindingsQuery>,
    /// Tags that distinguish slow requests from the others.
    pub tags: Slot<queries::Tags>,
    /// Times by endpoint.
    pub endpoints: Slot<queries::Endpoints>,
    /// Endpoints over all root endpoints.
    pub impact: Slot<queries::Impact>,
    /// Sizes of requests.
    pub histograms: Slot<queries::Histograms>,
    /// How much slower services and calls may become.
    pub headroom: Slot<queries::Headroom>,
    /// Drag and slack of services.
    pub capacity: Slot<queries::Capacity>,
    /// Latencies with more where capacity is to be added, and less where it is to be taken.
    pub capacity_what_if: Slot<queries::WhatIf>,
    /// Places that are slower than others.
    pub deployments: Slot<queries::Deployments>,
    /// Where one more span would tell most.
    pub instrument: Slot<queries::Instrument>,
    /// The cheapest of the changes of a what-if that reach a target.
    pub cheapest: Slot<queries::Cheapest>,
    /// The variants of the flow.
    pub variants: Slot<queries::FlowVariants>,
    /// Calls that could run side by side.
    pub parallelise: Slot<queries::Parallelise>,
    /// Savings of faster endpoints.
    pub savings: Slot<queries::Savings>,
    /// Times by the values of a tag.
    pub split: Slot<queries::Split>,
    /// The numbers of the tag that is summed, by endpoint.
    pub tag_sums: Slot<queries::TagSums>,
    /// The tags whose values differ most.
    pub proposals: Slot<queries::Proposals>,
    /// Errors of the percentile range.
    pub errors: Slot<queries::Errors>,
    /// Endpoints of the requests at percentiles of their latency.
    pub at_latencies: Slot<queries::AtLatencies>,
    /// The diagnosis.
    pub diagnosis: Slot<queries::Diagnosis>,
    /// The aggregate trace of the line of the diagnosis that is looked at.
    pub aggregate: Slot<queries::AggregateTraces>,
    /// Services and places by what changed between two sides.
    pub compare_diagnoses: Slot<queries::CompareDiagnoses>,
    /// Requests by how anomalous they are.
    pub anomaly: Slot<queries::Anomalies>,
    /// Which of the judged requests the subject of the verdict hits.
    pub verdict_hits: Slot<queries::VerdictHits>,
    /// Evaluation of how well anomalous requests are found.
    pub anomaly_evaluation: Slot<queries::AnomalyEvaluation>,
    /// The trace of the chosen anomalous request.
    pub anomalous_trace: Slot<queries::Trace>,
    /// That of the normal request most like it.
    pub normal_trace: Slot<queries::Trace>,
    /// The slowest requests of the percentile range.
    pub requests: Slot<queries::Requests>,
    /// Endpoints that have a flow.
    pub flow_parents: Slot<queries::FlowParents>,
    /// The flow of the parent shown.
    pub flow: Slot<queries::Flow>,
    /// The map of services.
    pub service_map: Slot<queries::ServiceMap>,
    /// Latencies before and after the changes.
    pub what_if: Slot<queries::WhatIf>,
    /// Changes that bring a percentile of the latency down to a target.
    pub target: Slot<queries::Target>,
    /// Messages of the selection; of two sets those of B.
    pub queues: Slot<queries::Queues>,
    /// Those of A, of two sets.
    pub queues_before: Slot<queries::Queues>,
    /// Time that a timeout of a call would cut.
    pub timeout: Slot<queries::Timeout>,
    /// Back-test of the what-if model on held-out invocations.
    pub back_test: Slot<queries::FlowEvaluation>,
    /// The predictors compared.
    pub evaluation: Slot<queries::FlowEvaluation>,
    /// The trace of the timeline.
    pub trace: Slot<queries::Trace>,
    /// The same with the traces that its messages connect it with.
    pub linked: Slot<queries::LinkedTraces>,
    /// The request of the timeline beside the normal one that is most like it.
    pub nearest: Slot<queries::NearestNormal>,
    /// Traces that are linked to and not loaded.
    pub missing_traces: Slot<queries::MissingTraces>,
    /// Drag and slack of its spans, asked once it is shown.
    pub pressures: Slot<queries::Pressures>,
    /// How slow its spans are among those like them.
    pub among_like: Slot<queries::AmongLike>,
    /// Where Jaeger's critical path of it differs.
    pub jaeger_path: Slot<queries::JaegerPath>,
    /// Summaries over time.
    pub trend: Slot<queries::Trend>,
    /// The selected span.
    pub span: Slot<queries::Span>,
}

impl Queries {
    /// Wants the critical paths. They are as many as calling contexts, a million in one deep trace: only whoever shows some
    /// of them wants them.
    pub fn want_path(&self, asker: impl Asker, address: &Address) {
        let selection = address.rolled_up(address.selection());
        self.path.want(asker, queries::CriticalPath { selection });
    }

    /// Wants the findings of the requests of a selection, against a baseline if there is one.
    pub fn want_findings(&self, asker: impl Asker, (selection, baseline): (Selection, Option<Selection>)) {
        self.findings.want(asker, queries::Findings { selection, baseline });
    }

    /// Returns the findings with what joined them later, and whether that is there.
    pub fn all_findings(&self) -> Option<(Rc<FindingsReport>, bool)> {
        let report = self.findings.get()?;
        let late = self.findings.fresh().and_then(|_| self.late_findings.fresh());
        Some(match late.filter(|_| self.tags.fresh().is_some()) {
            Some(late) => (Rc::new(report.with(&late)), true),
            None => (report, false),
        })
    }

    /// Wants the slowest requests of the selection.
    pub fn want_requests(&self, asker: impl Asker, address: &Address) {
        let query = queries::Requests { selection: address.selection(), limit: LISTED };
        self.requests.want(asker, query);
    }
}
