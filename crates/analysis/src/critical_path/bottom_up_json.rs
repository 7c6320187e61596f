//! Bottom-up ranking and histograms as the JSON that the binary prints and the page exports.

use super::bottom_up::{Affected, BottomUpReport};
use super::histograms::HistogramsReport;
use super::json::percent;
use crate::requests::PercentileRange;
use pathlight_model::stats::Distribution;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Json<'a> {
    requests: u64,
    band: [f64; 2],
    latency_sum_us: u64,
    faster_percent: f64,
    roots: Vec<JsonRoot<'a>>,
    rows: Vec<JsonRow<'a>>,
}

#[derive(Serialize)]
struct JsonRoot<'a> {
    id: usize,
    service: &'a str,
    operation: &'a str,
    requests: u64,
    latency_us: u64,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    rank: usize,
    service: &'a str,
    operation: &'a str,
    interior: bool,
    impact_us: u64,
    interior_us: u64,
    share: f64,
    traces: u64,
    root_endpoints: usize,
    saving_at_most_us: f64,
    affected: Vec<JsonAffected>,
}

#[derive(Serialize)]
struct JsonAffected {
    root: u32,
    exclusive_us: u64,
    share: f64,
    traces: u64,
    saving_at_most_share: f64,
}

impl BottomUpReport {
    /// The JSON of the command `bottom-up --json`, with what could be saved at most if an endpoint took `faster`
    /// percent less time: see `docs/report-schema.md`.
    ///
    /// # Errors
    /// Only if serde_json refuses a number, which no report holds.
    pub fn to_json(&self, faster: f64) -> serde_json::Result<String> {
        let roots = self.roots.iter().enumerate().map(|(id, root)| {
            let (service, operation) = self.name(root.endpoint);
            JsonRoot { id, service, operation, requests: root.requests, latency_us: root.latency_us }
        });
        let affected = |row: &Affected| {
            let share = self.share_in(row);
            JsonAffected {
                root: row.root,
                exclusive_us: row.exclusive_us,
                share,
                traces: row.requests,
                saving_at_most_share: share * faster.clamp(0.0, 100.0) / 100.0,
            }
        };
        let rows = self.rows.iter().enumerate().map(|(place, row)| {
            let (service, operation) = self.name(row.endpoint);
            JsonRow {
                rank: place + 1,
                service,
                operation,
                interior: row.is_interior,
                impact_us: row.exclusive_us,
                interior_us: row.interior_us,
                share: self.share(row),
                traces: row.requests,
                root_endpoints: row.affected.len(),
                saving_at_most_us: self.saving_at_most_us(row, faster),
                affected: row.affected.iter().map(affected).collect(),
            }
        });
        serde_json::to_string_pretty(&Json {
            requests: self.facts.requests,
            band: percent(self.range.unwrap_or(PercentileRange::ALL)),
            latency_sum_us: self.facts.latency_sum_us,
            faster_percent: faster,
            roots: roots.collect(),
            rows: rows.collect(),
        })
    }
}

#[derive(Serialize)]
struct JsonHistograms<'a> {
    requests: u64,
    band: [f64; 2],
    histograms: BTreeMap<&'static str, &'a Distribution>,
}

impl HistogramsReport {
    /// The JSON of the command `histograms --json`: see `docs/report-schema.md`.
    ///
    /// # Errors
    /// Only if serde_json refuses a number, which no report holds.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(&JsonHistograms {
            requests: self.facts.requests,
            band: percent(self.range.unwrap_or(PercentileRange::ALL)),
            histograms: self.distributions.iter().map(|(quantity, of)| (quantity.key(), of)).collect(),
        })
    }
}
