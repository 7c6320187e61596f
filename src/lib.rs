//! **Pathlight** reads distributed traces and tells where their latency comes from and what would make it lower.
//!
//! Data flows one way: load ([`ingest`]) → normalise ([`trace`]) → analyse ([`critical_path`]) → merge ([`engine`]) →
//! lay out and draw ([`chart`]). A lower room never imports a higher one. The same crate runs in a browser's workers
//! (wasm32) and natively.

pub mod anomaly;
pub mod arrange;
pub mod chart;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod cli;
pub mod critical_path;
pub mod engine;
pub mod errors;
pub mod flow;
pub mod generate;
pub mod ingest;
pub mod jaeger;
pub mod stats;
pub mod tprof;
pub mod trace;
#[cfg(target_arch = "wasm32")]
pub mod web;
