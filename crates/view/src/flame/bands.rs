//! Flame graphs of the requests near p50, p95 and p99 side by side: their heads, and the table of what grows from one to the
//! next.

use crate::table::{Column, Number, Table, endpoint_attributes};
use pathlight_base::format;
use pathlight_engine::flame::CriticalPathReport;
use pathlight_engine::queries::AtLatencies;
use pathlight_engine::requests::RangeFacts;
use pathlight_trace::Endpoint;
use std::collections::BTreeMap;

/// Number of graphs.
pub const BANDS: usize = AtLatencies::PERCENTS.len();

/// Returns the name of a graph by its place: `p50`.
pub fn name(band: usize) -> String {
    AtLatencies::PERCENTS.get(band).map_or_else(String::new, |percent| format!("p{percent}"))
}

/// Returns the head of a graph: which requests it is of, and how long they take.
pub fn head(band: usize, facts: &RangeFacts) -> String {
    format!(
        "Near {}: mean {}, {}",
        name(band),
        format::duration(facts.mean_us()),
        format::counted(facts.requests, "request")
    )
}

/// A calling context of any of the graphs.
#[derive(Clone, Debug, PartialEq)]
pub struct BandRow {
    /// The call path from the root.
    parent: Option<usize>,
    /// Service and operation of the context.
    pub endpoint: Endpoint,
    /// Self time in each graph, microseconds per request; 0 where it has none.
    pub own_us: [f64; BANDS],
}

impl BandRow {
    /// Returns the contexts of all graphs, parents first.
    pub fn of(reports: &[CriticalPathReport]) -> Vec<BandRow> {
        let mut rows: Vec<BandRow> = Vec::new();
        let mut places: BTreeMap<(Option<usize>, &Endpoint), usize> = BTreeMap::new();
        for (band, report) in reports.iter().take(BANDS).enumerate() {
            let mut place_of: Vec<usize> = Vec::with_capacity(report.nodes.len());
            for node in &report.nodes {
                let Some(endpoint) = report.endpoints.get(node.endpoint.index()) else { return rows };
                let parent = node.parent.map(|parent| place_of[parent.index()]);
                let place = *places.entry((parent, endpoint)).or_insert_with(|| {
                    rows.push(BandRow { parent, endpoint: endpoint.clone(), own_us: [0.0; BANDS] });
                    rows.len() - 1
                });
                rows[place].own_us[band] = node.exclusive_us.mean;
                place_of.push(place);
            }
        }
        rows
    }

    /// Returns the path of a row among the others.
    pub fn path(&self, rows: &[BandRow]) -> Vec<Endpoint> {
        let mut path = vec![self.endpoint.clone()];
        let mut at = self.parent;
        while let Some(row) = at.and_then(|at| rows.get(at)) {
            path.push(row.endpoint.clone());
            at = row.parent;
        }
        path.reverse();
        path
    }

    /// Returns by how much more time it takes near the slowest than near the median, microseconds per request.
    pub fn growth_us(&self) -> f64 {
        self.own_us[BANDS - 1] - self.own_us[0]
    }
}

/// The group of the columns of the graphs.
const SELF_NEAR: &str = "Self time per request near";

/// Returns the table, what grows most first.
pub fn table() -> Table<BandRow> {
    let columns = vec![
        Column::endpoint("Endpoint", "Service and operation, below those that call it", |row: &BandRow| {
            (&row.endpoint.service, &row.endpoint.operation)
        })
        .csv(&["service", "operation"]),
        Column::duration("p50", "p50", "Self time near the median, mean per request", |row: &BandRow| {
            row.own_us[0].into()
        })
        .group(SELF_NEAR)
        .low(2)
        .csv(&["own_p50_us"]),
        Column::duration(
            "p95",
            "p95",
            "Self time near the 95th percentile, mean per request",
            |row: &BandRow| row.own_us[1].into(),
        )
        .group(SELF_NEAR)
        .low(3)
        .csv(&["own_p95_us"]),
        Column::duration(
            "p99",
            "p99",
            "Self time near the 99th percentile, mean per request",
            |row: &BandRow| row.own_us[2].into(),
        )
        .group(SELF_NEAR)
        .csv(&["own_p99_us"]),
        Column::said(
            "growth",
            "Growth",
            "How much more time it takes near the 99th percentile than near the median",
            |row: &BandRow| row.growth_us().into(),
            |row| format::change(row.growth_us()),
        )
        .csv_as(&["growth_us"], |row| vec![Number::from(row.growth_us()).digits()]),
    ];
    Table::new("band-table", "Call paths near p50, p95 and p99", ("growth", true), columns)
        .with_attributes(|row| endpoint_attributes("band-row", row.endpoint.names(), row.growth_us()))
        .search(|row, finder| finder.fits_endpoint(row.endpoint.names()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::flame::{ContextNode, Weight};
    use pathlight_engine::ids::{NodeId, ReportEndpoint};

    /// Returns a report of contexts given as (parent, endpoint, self time).
    fn report(nodes: &[(Option<u32>, &str, f64)]) -> CriticalPathReport {
        let endpoints = nodes.iter().map(|(_, name, _)| Endpoint::new("s", *name)).collect();
        let node = |(at, &(parent, _, mean)): (usize, &(Option<u32>, &str, f64))| ContextNode {
            parent: parent.map(NodeId),
            endpoint: ReportEndpoint(at as u32),
            exclusive_us: Weight { mean, ..Weight::default() },
            inclusive_us: Weight::default(),
            subtree_us: 0,
            requests: 1,
            spans: 1,
            errors: 0,
            waiting: Vec::new(),
            exemplars: Vec::new(),
        };
        CriticalPathReport {
            endpoints,
            nodes: nodes.iter().enumerate().map(node).collect(),
            ..Default::default()
        }
    }

    #[test]
    fn contexts_of_all_graphs_are_one_row_each_with_the_same_path() {
        let reports = [
            report(&[(None, "root", 5.0), (Some(0), "a", 10.0)]),
            report(&[(None, "root", 6.0), (Some(0), "b", 20.0), (Some(1), "a", 1.0)]),
            report(&[(None, "root", 7.0), (Some(0), "a", 100.0), (Some(0), "b", 2.0)]),
        ];
        let rows = BandRow::of(&reports);
        let said: Vec<(Vec<String>, [f64; 3], f64)> = rows
            .iter()
            .map(|row| {
                let path = row.path(&rows).into_iter().map(|one| one.operation).collect();
                (path, row.own_us, row.growth_us())
            })
            .collect();
        let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        assert_eq!(
            said,
            [
                (path(&["root"]), [5.0, 6.0, 7.0], 2.0),
                (path(&["root", "a"]), [10.0, 0.0, 100.0], 90.0),
                (path(&["root", "b"]), [0.0, 20.0, 2.0], 2.0),
                (path(&["root", "b", "a"]), [0.0, 1.0, 0.0], 0.0),
            ]
        );
        assert_eq!(BandRow::of(&[]), []);
    }

    #[test]
    fn the_table_says_how_much_more_time_is_spent_near_the_slowest() {
        let reports = [
            report(&[(None, "root", 5.0)]),
            report(&[]),
            report(&[(None, "root", 9.0), (Some(0), "a", 50.0)]),
        ];
        let table = table().filled(BandRow::of(&reports));
        let csv = "service,operation,own_p50_us,own_p95_us,own_p99_us,growth_us\r\ns,root,5,0,9,4\r\ns,a,0,0,50,50\r\n";
        assert_eq!(table.csv(), csv);
        assert_eq!([0, 1, 2].map(name), ["p50", "p95", "p99"]);
    }
}
