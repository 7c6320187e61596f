//! The text and numbers that a person reads, without a browser: the address of the page, the choices of its views, sentences and tables, public
//! JSON, saved reports, and the messages of a page around it.

pub mod address;
pub mod anomalies;
pub mod choices;
pub mod compare;
pub mod comparing;
pub mod contract;
pub mod culprit;
pub mod data_quality;
pub mod diagnosis;
pub mod diagnosis_choice;
pub mod diagnosis_tables;
pub mod diagnosis_tree;
pub mod diagnosis_words;
pub mod endpoints;
pub mod errors;
pub mod exported;
pub mod file_errors;
pub mod finder;
pub mod finding_charts;
pub mod finding_links;
mod finding_why;
pub mod finding_words;
pub mod findings;
pub mod flame;
pub mod flow;
pub mod flow_changes;
pub mod flow_choice;
pub mod flow_prediction;
pub mod flow_savings;
pub mod flow_target;
pub mod flow_timeout;
mod focus;
pub mod glossary;
pub mod heatmap;
pub mod intake;
pub mod json;
pub mod keys;
pub mod loading_words;
mod normal;
pub mod over_time;
pub mod palette;
pub mod reading_words;
pub mod redacted;
pub mod request_types;
pub mod requests;
pub mod saved;
pub mod search_help;
pub mod selection_words;
pub mod sentence;
mod severity;
pub mod sharing;
pub mod split;
pub mod summaries;
pub mod summary;
pub mod table;
pub mod tag_rows;
pub mod tip;
pub mod trace;
pub mod tree;
pub mod trend;
pub mod views;

#[cfg(test)]
mod diagnosis_tests;
#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod view_models_tests;
