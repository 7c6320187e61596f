//! **Pathlight** reads distributed traces and tells where their latency comes from and what would make it lower.
//!
//! Data flows one way: load ([`ingest`]) → normalise ([`trace`]) → analyse and merge ([`engine`]) → lay out
//! and put into words ([`view`]). No crate imports upwards. On wasm32 this package adds the page; its
//! workers are a module of their own (package `pathlight-worker`).

#[cfg(target_arch = "wasm32")]
mod app;
#[cfg(target_arch = "wasm32")]
pub mod boot;
#[cfg(target_arch = "wasm32")]
mod broken;
#[cfg(target_arch = "wasm32")]
pub mod canvas;
#[cfg(target_arch = "wasm32")]
mod dom;
#[cfg(target_arch = "wasm32")]
pub mod fetch;
#[cfg(target_arch = "wasm32")]
mod page;
#[cfg(target_arch = "wasm32")]
pub mod pool;
#[cfg(target_arch = "wasm32")]
mod settings;
#[cfg(target_arch = "wasm32")]
mod shell;
#[cfg(target_arch = "wasm32")]
mod start;
#[cfg(target_arch = "wasm32")]
mod views;
#[cfg(target_arch = "wasm32")]
mod widgets;

pub use pathlight_backend as backend;
pub use pathlight_base as base;
#[cfg(not(target_arch = "wasm32"))]
pub use pathlight_cli as cli;
pub use pathlight_engine as engine;
pub use pathlight_generate as generate;
pub use pathlight_ingest as ingest;
pub use pathlight_trace as trace;
pub use pathlight_view as view;
