//! What is loaded, and of which files: the JSON of `pathlight inspect`, keys as in `docs/report-schema.md`.

use pathlight_ingest::FileReport;
use pathlight_model::trace::Quality;
use pathlight_query::OverviewReport;
use serde::Serialize;

#[derive(Serialize)]
struct Json<'a> {
    traces: u64,
    spans: u64,
    services: u64,
    endpoints: usize,
    bytes: u64,
    files: &'a [FileReport],
    quality: QualityJson<'a>,
}

#[derive(Serialize)]
struct QualityJson<'a> {
    #[serde(flatten)]
    counts: &'a Quality,
    clipped_share: f64,
}

/// The account of what is loaded and of every file, in the order given.
///
/// # Errors
/// Only if serde_json refuses a string, which it does not.
pub fn to_json(overview: &OverviewReport, files: &[FileReport]) -> serde_json::Result<String> {
    serde_json::to_string(&Json {
        traces: overview.traces,
        spans: overview.spans,
        services: overview.services,
        endpoints: overview.endpoints.len(),
        bytes: files.iter().map(|file| file.bytes).sum(),
        files,
        quality: QualityJson { counts: &overview.quality, clipped_share: overview.quality.clipped_share() },
    })
}
