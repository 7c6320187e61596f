//! Abnormal requests, and why: groups of reasons, the table, the detector's own report card.

pub mod chart;
mod groups;
pub mod hits;
pub(crate) mod json;
pub mod labelled;
pub mod settings;
mod severity;
mod table;
mod title;

pub use groups::{
    GroupLine, LABELS, LISTED, ONLY, ONLY_HINT, groups, keep_only, kept, more_groups, request_words,
    verdict_lines,
};
pub use table::{
    AnomalyLine, EVALUATION, LOADED, NORMALS, NOT_LOADED, RATES, VECTORS, chosen, evaluation, false_alarms,
    loss_curve, normal, place, rate_words, reasons, settings, severity, sides, table, tip, training_percent,
    training_words, unexplained, vectors_csv, why_empty,
};
pub use title::{title, verdict_counts};
