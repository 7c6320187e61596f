//! The diagnosis: that of one set is public JSON as it is.

use super::culprit::Service;
use super::{Text, pretty, public_json};
use pathlight_analysis::tprof::{AggregateTrace, PlacesReport, SetsReport, TprofReport};

public_json! {
    /// Two sets: services and places by what changed.
    Sets<'a>(report: &'a SetsReport) {
        /// Services that set B uses, the best explanation first.
        services: Vec<Service<'a>> = Service::all(&report.culprit),
        /// Places by request type.
        places: &'a PlacesReport = &report.places,
    }
}

/// Returns the JSON of `diagnosis`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn diagnosis(report: &TprofReport) -> Text {
    pretty(report)
}

/// Returns the JSON of `diagnosis --aggregate N`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn aggregate_trace(trace: &AggregateTrace) -> Text {
    pretty(trace)
}

/// Returns the JSON of `diagnosis -a FILE... -b FILE...`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn diagnosis_sets(report: &SetsReport) -> Text {
    pretty(&Sets::of(report))
}
