//! The text and numbers that a person reads, without a browser: the address of the page, the choices of its views, sentences and tables, public
//! JSON, saved reports, and the messages of a page around it.

pub mod address;
pub mod anomalies;
pub mod asked;
pub mod compare;
pub mod contract;
pub mod deployments;
pub mod diagnosis;
pub mod draw;
pub mod endpoints;
pub mod errors;
pub mod export;
pub mod findings;
pub mod flame;
pub mod flow;
pub mod guess;
pub mod heatmap;
pub mod instrument;
pub mod json;
pub mod keys;
pub mod palette;
pub mod queues;
pub mod reading;
pub mod requests_list;
pub mod sampling;
pub mod say;
pub mod search;
pub mod split;
pub mod summaries;
pub mod table;
#[cfg(test)]
mod tests;
pub mod timeline;
pub mod trend;
pub mod views;
