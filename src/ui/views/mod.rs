//! The views, one module each, named as in the sidebar.

pub mod anomalies;
pub mod compare;
pub mod diagnosis;
pub mod endpoints;
pub mod errors;
pub mod findings;
pub mod flame;
pub mod flow;
pub mod heatmap;
pub mod requests;
pub mod split;
pub mod trace;
