//! The numbers of a flame graph per endpoint: its companion table.

use pathlight_engine::flame::{self, CriticalPathReport};
use pathlight_engine::ids::{NodeId, ReportEndpoint};
use pathlight_trace::NO_ROW;

/// One endpoint over all its calling contexts. Sums and means only: percentiles of several contexts together do not
/// follow from those of each.
#[derive(Clone, PartialEq, Debug)]
pub struct FlameEndpointRow {
    /// Index into [`CriticalPathReport::endpoints`].
    pub endpoint: ReportEndpoint,
    /// Time on the critical path in its own spans.
    pub exclusive_us: u128,
    /// The same per request of the percentile range.
    pub exclusive_mean_us: f64,
    /// `exclusive_us` as a share of all latency; NaN if that is nothing.
    pub exclusive_share: f64,
    /// Time on the critical path in it and in all it calls, each microsecond once.
    pub subtree_us: u128,
    /// `subtree_us` as a share of all latency; NaN if that is nothing.
    pub subtree_share: f64,
    /// Durations of its spans on the path, without those within another span of the same endpoint.
    pub inclusive_us: u128,
    /// Spans on the path.
    pub spans: u64,
    /// Error spans among them.
    pub errors: u64,
    /// Number of calling contexts it stands in.
    pub contexts: u32,
    /// Requests that contain it: at least this many (exactly, if `requests_most` is the same).
    pub requests: u64,
    /// Requests that contain it: at most this many.
    pub requests_most: u64,
}

/// Returns one row per endpoint on the critical path, most exclusive time first (ties: by endpoint).
pub fn endpoint_rows(report: &CriticalPathReport) -> Vec<FlameEndpointRow> {
    let requests = report.facts.requests;
    let total_us: u128 = report.nodes.iter().filter(|n| n.parent.is_none()).map(|n| n.subtree_us).sum();
    let share = |us: u128| us as f64 / if total_us == 0 { f64::NAN } else { total_us as f64 };
    let topmost = topmost(report);
    let mut rows: Vec<Option<FlameEndpointRow>> = vec![None; report.endpoints.len()];
    for (i, node) in report.nodes.iter().enumerate() {
        let Some(slot) = rows.get_mut(node.endpoint.index()) else { continue };
        let row = slot.get_or_insert_with(|| FlameEndpointRow {
            endpoint: node.endpoint,
            exclusive_us: 0,
            exclusive_mean_us: 0.0,
            exclusive_share: 0.0,
            subtree_us: 0,
            subtree_share: 0.0,
            inclusive_us: 0,
            spans: 0,
            errors: 0,
            contexts: 0,
            requests: 0,
            requests_most: 0,
        });
        row.exclusive_us += node.exclusive_us.sum;
        row.spans += node.spans;
        row.errors += node.errors;
        row.contexts += 1;
        if topmost[i] {
            row.subtree_us += node.subtree_us;
            row.inclusive_us += node.inclusive_us.sum;
            // A request with a lower node has a topmost one above it.
            row.requests = row.requests.max(node.requests);
            row.requests_most = (row.requests_most + node.requests).min(requests.max(row.requests));
        }
    }
    let mut rows: Vec<FlameEndpointRow> = rows.into_iter().flatten().collect();
    for row in &mut rows {
        row.exclusive_mean_us = row.exclusive_us as f64 / report.facts.summed_over().max(1) as f64;
        row.exclusive_share = share(row.exclusive_us);
        row.subtree_share = share(row.subtree_us);
    }
    rows.sort_by_key(|row| (std::cmp::Reverse(row.exclusive_us), row.endpoint));
    rows
}

/// Returns the depth of each node, for the rows of a table of nodes (which is the report's own list).
pub fn node_depths(report: &CriticalPathReport) -> Vec<u32> {
    let mut depths = vec![0u32; report.nodes.len()];
    for (i, node) in report.nodes.iter().enumerate() {
        if let Some(parent) = node.parent.map(NodeId::index).filter(|&parent| parent < i) {
            depths[i] = depths[parent] + 1;
        }
    }
    depths
}

/// Returns for each node whether no node above it is of the same endpoint.
pub(crate) fn topmost(report: &CriticalPathReport) -> Vec<bool> {
    let nodes = report
        .nodes
        .iter()
        .map(|node| (node.parent.map_or(NO_ROW, |parent| parent.0), node.endpoint.index() as u32));
    flame::topmost(&nodes.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{large, report};
    use super::*;

    #[test]
    fn an_endpoint_sums_its_contexts_and_counts_recursion_once() {
        // 0(1) { 1(2) { 1(3) { 2(4) } }, 1(5) }
        let mut report =
            report(&[(None, 0, 1), (Some(0), 1, 2), (Some(1), 1, 3), (Some(2), 2, 4), (Some(0), 1, 5)]);
        report.facts.requests = 2;
        let rows = endpoint_rows(&report);
        assert_eq!(rows.iter().map(|r| r.endpoint.0).collect::<Vec<_>>(), [1, 2, 0]);
        let one = &rows[0];
        assert_eq!((one.exclusive_us, one.subtree_us, one.inclusive_us), (10, 14, 14));
        assert_eq!((one.contexts, one.spans, one.requests, one.requests_most), (3, 3, 1, 2));
        assert_eq!(one.exclusive_mean_us, 5.0);
        assert!((one.exclusive_share - 10.0 / 15.0).abs() < 1e-12);
        assert_eq!(rows[1].requests, rows[1].requests_most);
    }

    #[test]
    fn exclusive_shares_add_up_to_one() {
        let rows = endpoint_rows(&large(4_000));
        let sum: f64 = rows.iter().map(|row| row.exclusive_share).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        assert!(rows.iter().all(|row| row.subtree_us >= row.exclusive_us.min(row.subtree_us)));
        assert!(rows.windows(2).all(|pair| pair[0].exclusive_us >= pair[1].exclusive_us));
    }

    #[test]
    fn depths_count_from_the_root() {
        let report = report(&[(None, 0, 1), (Some(0), 1, 2), (Some(1), 1, 3), (None, 2, 4)]);
        assert_eq!(node_depths(&report), [0, 1, 2, 0]);
        assert_eq!(endpoint_rows(&CriticalPathReport::default()), []);
    }
}
