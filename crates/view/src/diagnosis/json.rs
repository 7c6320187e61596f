//! The diagnosis, with its sentences.

use crate::compare::services_json::Service;
use crate::diagnosis::words::{sentences, sets_sentences};
use crate::json::parts::{Text, pretty, public_json};
use pathlight_engine::diagnosis::{AggregateTrace, DiagnosisReport, PlacesReport, SetsReport};

public_json! {
    /// The diagnosis: groups of traces in four layers, what is slow and where, aggregate traces, and what makes the tail
    /// slow. Request types are those of `--by`; with `--tag KEY` the values of that tag.
    ///
    /// With `--format jaeger` the aggregate traces are printed as a Jaeger API response instead.
    Diagnosis<'a>(report: &'a DiagnosisReport) {
        /// `report` as sentences, parents before what stands below them; then what makes the tail slow, the first places of
        /// each request type below its heading.
        text: Vec<String> = sentences(report),
        /// Everything in numbers.
        #[serde(flatten)]
        report: &'a DiagnosisReport = report,
    }
}

public_json! {
    /// Two sets: services and places by what changed.
    Sets<'a>(report: &'a SetsReport) {
        /// Services that set B uses, the best explanation first.
        services: Vec<Service<'a>> = Service::all(&report.culprit),
        /// The first places of each request type as sentences, below the name of the type.
        text: Vec<String> = sets_sentences(report),
        /// Places by request type.
        places: &'a PlacesReport = &report.places,
    }
}

/// Returns the JSON of `diagnosis`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn diagnosis(report: &DiagnosisReport) -> Text {
    pretty(&Diagnosis::of(report))
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
