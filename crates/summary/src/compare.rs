//! Two summaries side by side, as two sets of traces.

use super::part::Summary;
use pathlight_analysis::critical_path::{DiffPart, DiffReport, DiffSide};
use pathlight_analysis::culprit::{CulpritPart, CulpritReport};
use pathlight_analysis::requests::{RangeFacts, RootEndpoint, Selection};
use pathlight_model::trace::Endpoint;

impl Summary {
    /// One side of a comparison; the facts have no histogram.
    fn side(&self, root: Option<&Endpoint>, group: u8) -> ((DiffSide, DiffPart), CulpritPart) {
        let part = self.root(root).unwrap_or_default();
        let latency_us = part.percentiles();
        let requests = part.requests();
        let facts = RangeFacts {
            all_requests: requests,
            requests,
            latency_us,
            latency_sum_us: part.latency_us.sum,
            all_latency_us: latency_us,
            range_us: (part.latency.quantiles([0.0])[0] as u64, latency_us.max),
            ..RangeFacts::default()
        };
        let selection = Selection {
            group,
            root: root
                .map_or_else(|| self.settings.root.clone(), |root| RootEndpoint::Endpoint(root.clone())),
            overlap: self.settings.path.overlap,
            reading: self.settings.path.reading,
            ..Selection::default()
        };
        ((DiffSide { selection, facts }, self.frames(root)), part.culprit)
    }
}

/// Compares the requests of one root endpoint, or of all, as two sets of traces are compared: means, intervals and the
/// ranking of services are the same numbers.
pub fn compare(a: &Summary, b: &Summary, root: Option<&Endpoint>) -> DiffReport {
    let ((a_side, a_times), (b_side, b_times)) = (a.side(root, 0), b.side(root, 1));
    DiffPart::finish(a_side, b_side, CulpritReport::of(&a_times, &b_times))
}
