//! The diagnosis: its reports are public JSON as they are.

use super::{Text, pretty};
use pathlight_analysis::tprof::{SetsReport, TprofReport};

/// Returns the JSON of `diagnosis`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn diagnosis(report: &TprofReport) -> Text {
    pretty(report)
}

/// Returns the JSON of `diagnosis -a FILE... -b FILE...`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn diagnosis_sets(report: &SetsReport) -> Text {
    pretty(report)
}
