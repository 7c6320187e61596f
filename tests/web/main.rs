//! Tests in a browser: run in Chromium by `cargo xtask test wasm`.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::unwrap_used, reason = "the lint sees only functions marked as tests, not their helpers")]

// Workers of these tests run this module too: it has to hold what they start with.
use pathlight_worker as _;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

mod canvas;
mod native;
mod pool;
