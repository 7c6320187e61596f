//! **Pathlight** reads distributed traces and tells where their latency comes from and what would make it lower.
//!
//! Data flows one way: load ([`ingest`]) → normalise ([`trace`]) → analyse ([`critical_path`]) → merge ([`engine`]) →
//! lay out and draw ([`chart`]). A lower room never imports a higher one. The same crate runs in a browser's workers
//! (wasm32) and natively.

pub use pathlight_analysis::{
    anomaly, arrange, critical_path, errors, flow, ingest, packed, stats, steps, tprof, trace,
};

pub mod chart;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod cli;
pub mod engine;
pub mod generate;
pub mod jaeger;
#[cfg(target_arch = "wasm32")]
pub mod web;
