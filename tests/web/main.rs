//! Tests in a browser: run in Chromium by `cargo xtask test wasm`.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::unwrap_used, reason = "the lint sees only functions marked as tests, not their helpers")]

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

mod canvas;
mod native;
mod pool;
