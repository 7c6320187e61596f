//! What is loaded, and from which files.

use super::{Text, compact, public_json};
use pathlight_ingest::FileReport;
use pathlight_model::trace::Quality;
use pathlight_query::OverviewReport;

public_json! {
    /// What is loaded, and from which files.
    Inspect<'a>(overview: &'a OverviewReport, files: &'a [FileReport]) {
        /// Traces over all files, merged by id.
        traces: u64 = overview.traces,
        /// Spans over all files, without copies.
        spans: u64 = overview.spans,
        /// Services.
        services: u64 = overview.services,
        /// Endpoints.
        endpoints: usize = overview.endpoints.len(),
        /// Size of the files as they are, packed.
        bytes: u64 = files.iter().map(|file| file.bytes).sum(),
        /// The files that could be opened, in the order given.
        files: &'a [FileReport] = files,
        /// What was odd about the spans.
        quality: QualityOf<'a> = QualityOf::of(&overview.quality),
    }
}

public_json! {
    /// What was odd about the spans.
    QualityOf<'a>(quality: &'a Quality) {
        #[serde(flatten)]
        counts: &'a Quality = quality,
        /// `clipped_us` of `span_us`, 0 to 1.
        clipped_share: f64 = quality.clipped_share(),
    }
}

/// Returns the JSON of `inspect`: what is loaded, and every file in the order given.
///
/// # Errors
/// Only if serde_json refuses a string, which it does not.
pub fn inspect(overview: &OverviewReport, files: &[FileReport]) -> Text {
    compact(&Inspect::of(overview, files))
}
