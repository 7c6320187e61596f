//! The browser's side: workers, page, canvas.

mod boot;
mod deal;
mod oneshot;
pub mod pool;
mod stub;
mod wire;
pub mod worker;

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Called by `www/worker.js` in a new worker.
///
/// # Errors
/// The browser's, if it refuses what a worker needs.
#[wasm_bindgen]
pub fn start_worker() -> Result<(), JsValue> {
    worker::start()
}
