//! Abnormal requests, and why: groups of reasons, the table, the detector's own report card.

pub mod chart;
pub(crate) mod json;
pub mod labelled;
pub mod settings;
mod severity;
mod table;

pub use table::{
    AnomalyLine, EVALUATION, GroupLine, LISTED, LOADED, NORMALS, NOT_LOADED, ONLY, ONLY_HINT, RATES, VECTORS,
    chosen, evaluation, false_alarms, groups, keep_only, loss_curve, more_groups, normal, p_values, place,
    rate_words, reasons, request_words, settings, severity, sides, table, tip, title, training_percent,
    training_words, unexplained, vectors_csv, verdict_counts, verdict_lines, why_empty,
};
