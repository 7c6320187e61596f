//! The cells of a heat map by row, so that any part of a row is summed in the time its cells take.

use pathlight_base::format;
use pathlight_engine::heatmap::HeatmapReport;
use pathlight_engine::ids::ReportEndpoint;
use pathlight_trace::Endpoint;
use std::collections::BTreeMap;

/// Cells by row. Columns are counted from 0; shares are kept as millionths times requests.
#[derive(Clone, Debug, Default)]
pub struct HeatModel {
    labels: Vec<String>,
    /// Rows of which another has the same operation, in another service.
    is_ambiguous: Vec<bool>,
    /// Start of the cells of each row, and the end.
    starts: Vec<usize>,
    /// Column of each cell, growing within a row.
    column: Vec<u32>,
    /// Its share of the latency of a request, in millionths, times the requests of the column.
    weight: Vec<u64>,
    /// Requests before each column, and of all.
    before: Vec<u64>,
    /// Latency before each column, and of all.
    latency_before: Vec<u128>,
    /// The greatest mean latency of a column.
    most_latency_us: f64,
}

impl HeatModel {
    /// Returns the model of a report; rows are those of the report.
    pub fn new(report: &HeatmapReport) -> HeatModel {
        let rows = report.rows.rows.len();
        let columns = report.column_requests.len();
        let mut starts = vec![0; rows + 1];
        for &row in &report.cell_row {
            starts[row as usize + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut column = vec![0; report.cell_row.len()];
        let mut weight = vec![0; report.cell_row.len()];
        for c in 0..columns {
            for cell in report.cells(c) {
                let at = &mut next[report.cell_row[cell] as usize];
                column[*at] = c as u32;
                weight[*at] = u64::from(report.cell_share_ppm[cell]) * u64::from(report.column_requests[c]);
                *at += 1;
            }
        }
        let (mut before, mut latency_before) = (vec![0], vec![0]);
        for (&requests, &latency_us) in report.column_requests.iter().zip(&report.column_latency_us) {
            before.push(before[before.len() - 1] + u64::from(requests));
            latency_before.push(latency_before[latency_before.len() - 1] + latency_us);
        }
        let mut of_operation: BTreeMap<&str, u32> = BTreeMap::new();
        for endpoint in &report.rows.endpoints {
            *of_operation.entry(&endpoint.operation).or_default() += 1;
        }
        let means = report.column_latency_us.iter().zip(&report.column_requests);
        HeatModel {
            labels: (report.rows.endpoints.iter())
                .map(|Endpoint { service, operation }| format::endpoint(service, operation))
                .collect(),
            is_ambiguous: (report.rows.endpoints.iter())
                .map(|endpoint| of_operation[endpoint.operation.as_str()] > 1)
                .collect(),
            starts,
            column,
            weight,
            before,
            latency_before,
            most_latency_us: means.map(|(&us, &n)| us as f64 / f64::from(n.max(1))).fold(0.0, f64::max),
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u32 {
        self.labels.len() as u32
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> u32 {
        self.before.len().saturating_sub(1) as u32
    }

    /// Returns what a row is called.
    pub fn label(&self, row: ReportEndpoint) -> &str {
        self.labels.get(row.index()).map_or("", String::as_str)
    }

    /// Returns whether another row has the same operation, so that only the service tells them apart.
    pub fn is_ambiguous(&self, row: ReportEndpoint) -> bool {
        self.is_ambiguous.get(row.index()) == Some(&true)
    }

    /// Returns the requests in the columns before one.
    pub fn requests_before(&self, column: u32) -> u64 {
        self.before.get(column as usize).or(self.before.last()).copied().unwrap_or(0)
    }

    /// Returns the mean latency of some columns, 0 without any.
    pub fn latency_us(&self, columns: &std::ops::Range<u32>) -> f64 {
        let (from, to) = (columns.start as usize, columns.end as usize);
        match (self.latency_before.get(from), self.latency_before.get(to)) {
            (Some(before), Some(end)) if to > from => {
                (end - before) as f64 / (self.before[to] - self.before[from]).max(1) as f64
            }
            _ => 0.0,
        }
    }

    /// Returns the greatest mean latency of a column.
    pub fn most_latency_us(&self) -> f64 {
        self.most_latency_us
    }

    /// Returns the share of a row in growing, disjoint ranges of columns, the mean over their requests in millionths;
    /// ranges where it has no time are left out.
    pub fn shares<'a>(
        &'a self,
        row: ReportEndpoint,
        ranges: impl Iterator<Item = std::ops::Range<u32>> + 'a,
    ) -> impl Iterator<Item = (usize, u32)> + 'a {
        let cells = match (self.starts.get(row.index()), self.starts.get(row.index() + 1)) {
            (Some(&from), Some(&to)) => from..to,
            _ => 0..0,
        };
        let (columns, weights) = (&self.column[cells.clone()], &self.weight[cells]);
        let mut at = None;
        ranges.enumerate().filter_map(move |(place, range)| {
            // The first range may begin anywhere; from there on cells are passed one by one.
            let from = at.unwrap_or_else(|| columns.partition_point(|&c| c < range.start));
            let mut end = from;
            let mut sum = 0;
            while columns.get(end).is_some_and(|&c| c < range.end) {
                if columns[end] >= range.start {
                    sum += weights[end];
                }
                end += 1;
            }
            at = Some(end);
            let requests = self.before[range.end as usize] - self.before[range.start as usize];
            (sum > 0).then(|| (place, sum.div_ceil(requests.max(1)).min(1_000_000) as u32))
        })
    }
}

/// Returns where on the sequential map a share stands, in thousandths. The square root of the share, so that one
/// percent differs visibly from nothing and half from all.
pub fn heat_of_share(ppm: u32) -> u16 {
    ((f64::from(ppm.min(1_000_000)) / 1e6).sqrt() * 1000.0 + 0.5) as u16
}

/// Returns the share, 0 to 1, that stands at a place of the map.
pub fn share_of_heat(thousandths: u16) -> f64 {
    (f64::from(thousandths.min(1000)) / 1000.0).powi(2)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use pathlight_engine::endpoints::{EndpointTotals, EndpointsReport};

    /// Returns a report of shares in percent by row and column, every column one request of 1 ms.
    pub(crate) fn report(rows: &[&[u32]]) -> HeatmapReport {
        let columns = rows.first().map_or(0, |row| row.len());
        let mut report = HeatmapReport {
            rows: EndpointsReport {
                endpoints: (0..rows.len())
                    .map(|r| Endpoint::new(format!("s{r}"), format!("op{r}")))
                    .collect(),
                rows: vec![EndpointTotals::default(); rows.len()],
                ..EndpointsReport::default()
            },
            column_requests: vec![1; columns],
            column_latency_us: vec![1000; columns],
            column_start_us: (0..columns as u64).collect(),
            column_example: vec![Default::default(); columns],
            ..HeatmapReport::default()
        };
        for c in 0..columns {
            for (r, row) in rows.iter().enumerate().filter(|(_, row)| row[c] > 0) {
                report.cell_row.push(r as u32);
                report.cell_us.push(u128::from(row[c]) * 10);
                report.cell_share_ppm.push(row[c] * 10_000);
            }
            report.column_ends.push(report.cell_row.len() as u32);
        }
        report
    }

    #[test]
    fn ranges_of_columns_have_the_mean_share_of_their_requests() {
        let mut report = report(&[&[50, 0, 30, 10], &[0, 0, 0, 90]]);
        let model = HeatModel::new(&report);
        let shares = |model: &HeatModel, row, ranges: &[(u32, u32)]| {
            model.shares(ReportEndpoint(row), ranges.iter().map(|&(from, to)| from..to)).collect::<Vec<_>>()
        };
        assert_eq!(shares(&model, 0, &[(0, 2), (2, 4)]), [(0, 250_000), (1, 200_000)]);
        assert_eq!(shares(&model, 1, &[(0, 1), (1, 3), (3, 4)]), [(2, 900_000)]);
        assert_eq!(shares(&model, 0, &[(2, 3)]), [(0, 300_000)], "a range in the middle");
        assert_eq!(shares(&model, 7, &[(0, 4)]), []);
        // The first column stands for three requests.
        report.column_requests[0] = 3;
        report.column_latency_us[0] = 9000;
        let model = HeatModel::new(&report);
        assert_eq!(shares(&model, 0, &[(0, 2)]), [(0, 375_000)]);
        assert_eq!((model.requests_before(1), model.requests_before(4)), (3, 6));
        assert_eq!((model.latency_us(&(0..1)), model.latency_us(&(0..2))), (3000.0, 2500.0));
        assert_eq!(model.most_latency_us(), 3000.0);
    }

    #[test]
    fn heat_grows_with_the_share_from_nothing_to_all() {
        assert_eq!([0, 10_000, 250_000, 1_000_000].map(heat_of_share), [0, 100, 500, 1000]);
        for ppm in (0..=1_000_000).step_by(997) {
            let share = share_of_heat(heat_of_share(ppm));
            assert!((share - f64::from(ppm) / 1e6).abs() < 0.002, "{ppm}");
        }
    }
}
