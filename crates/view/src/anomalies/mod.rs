//! Abnormal requests, and why: groups of reasons, the table, the detector's own report card.

pub mod chart;
pub(crate) mod json;
pub mod labelled;
pub mod settings;
mod severity;
mod table;

pub use table::{
    AnomalyLine, EVALUATION, GroupLine, LOADED, NORMALS, NOT_LOADED, RATES, VECTORS, chosen, evaluation,
    false_alarms, groups, loss_curve, more_groups, normal, place, rate_words, reasons, settings, severity,
    severity_behind, sides, table, tip, title, training_percent, training_words, unexplained, vectors_csv,
    verdict_counts, why_empty,
};
