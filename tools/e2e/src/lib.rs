//! The parts of end-to-end tests: a browser with real drops, keys and pictures, and the programs beside it.

pub mod bridge;
pub mod browser;
pub mod failure;
pub mod firefox;
pub mod jaeger;
pub mod png;
pub mod process;
pub mod site;
pub mod webkit;
