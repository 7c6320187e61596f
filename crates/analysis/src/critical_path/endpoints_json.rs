//! Endpoint rows and heat map as the JSON that the binary prints and the page exports.

use super::endpoints::{CallChain, EndpointsReport, RowStat, RowTime};
use super::heatmap::{ColumnOrder, HeatmapReport};
use super::json::percent;
use super::report::Weight;
use crate::requests::PercentileRange;
use pathlight_model::stats::Summary;
use serde::Serialize;

#[derive(Serialize)]
struct Json<'a> {
    requests: u64,
    band: [f64; 2],
    latency_us: Summary,
    latency_sum_us: u64,
    rows: Vec<JsonRow<'a>>,
    #[serde(flatten)]
    columns: Option<JsonColumns<'a>>,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    id: u32,
    service: &'a str,
    operation: &'a str,
    exclusive_us: Weight,
    inclusive_us: Weight,
    share: f64,
    traces: u64,
    spans: u64,
    errors: u64,
    chains: Vec<JsonChain<'a>>,
}

#[derive(Serialize)]
struct JsonChain<'a> {
    path: Vec<[&'a str; 2]>,
    exclusive_us: u64,
    traces: u64,
}

#[derive(Serialize)]
struct JsonColumns<'a> {
    order: JsonOrder<'a>,
    columns: Vec<JsonColumn<'a>>,
}

#[derive(Serialize)]
struct JsonOrder<'a> {
    by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonColumn<'a> {
    requests: u32,
    trace_id: &'a str,
    root_span_id: &'a str,
    latency_us: u64,
    latency_sum_us: u64,
    start_us: u64,
    cells: Vec<JsonCell>,
}

/// Row, exclusive microseconds, share.
#[derive(Serialize)]
struct JsonCell(u32, u64, f64);

impl EndpointsReport {
    /// The JSON of the command `summary --json`: see `docs/report-schema.md`.
    ///
    /// # Errors
    /// Only if serde_json refuses a number, which no report holds.
    pub fn to_json(&self, time: RowTime, stat: RowStat) -> serde_json::Result<String> {
        serde_json::to_string_pretty(&self.json(time, stat))
    }

    fn json(&self, time: RowTime, stat: RowStat) -> Json<'_> {
        let pair = |&endpoint: &u32| {
            let (service, operation) = self.name(endpoint);
            [service, operation]
        };
        let chain = |chain: &CallChain| JsonChain {
            path: chain.path.iter().map(pair).collect(),
            exclusive_us: chain.exclusive_us,
            traces: chain.requests,
        };
        let rows = self.order(time, stat).into_iter().map(|id| {
            let row = &self.rows[id as usize];
            let (service, operation) = self.name(id);
            JsonRow {
                id,
                service,
                operation,
                exclusive_us: row.exclusive_us,
                inclusive_us: row.inclusive_us,
                share: self.share(id),
                traces: row.requests,
                spans: row.spans,
                errors: row.errors,
                chains: row.chains.iter().map(chain).collect(),
            }
        });
        Json {
            requests: self.facts.requests,
            band: percent(self.range.unwrap_or(PercentileRange::ALL)),
            latency_us: self.facts.latency_us,
            latency_sum_us: self.facts.latency_sum_us,
            rows: rows.collect(),
            columns: None,
        }
    }
}

impl HeatmapReport {
    /// The JSON of the command `heatmap --json`: see `docs/report-schema.md`.
    ///
    /// # Errors
    /// Only if serde_json refuses a number, which no report holds.
    pub fn to_json(&self, time: RowTime, stat: RowStat) -> serde_json::Result<String> {
        let mut json = self.rows.json(time, stat);
        let order = match &self.order {
            ColumnOrder::Latency => JsonOrder { by: "latency", service: None, operation: None },
            ColumnOrder::Start => JsonOrder { by: "start", service: None, operation: None },
            ColumnOrder::Row { service, operation } => {
                JsonOrder { by: "row", service: Some(service), operation: Some(operation) }
            }
        };
        let columns = (0..self.column_requests.len()).map(|c| {
            let example = &self.column_example[c];
            let cell = |at: usize| {
                JsonCell(self.cell_row[at], self.cell_us[at], f64::from(self.cell_share_ppm[at]) / 1e6)
            };
            JsonColumn {
                requests: self.column_requests[c],
                trace_id: &example.trace_id,
                root_span_id: &example.root_span_id,
                latency_us: example.latency_us,
                latency_sum_us: self.column_latency_us[c],
                start_us: self.column_start_us[c],
                cells: self.cells(c).map(cell).collect(),
            }
        });
        json.columns = Some(JsonColumns { order, columns: columns.collect() });
        serde_json::to_string(&json)
    }
}
