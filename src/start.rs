//! What the few lines of JavaScript in `www/` call.

use crate::boot::Boot;
use crate::{ui, worker};
use js_sys::Function;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Starts a worker; called by `www/worker.js` in a new one.
///
/// # Errors
/// The browser's, if it refuses what a worker needs.
#[wasm_bindgen]
pub fn start_worker() -> Result<(), JsValue> {
    worker::start()
}

/// Starts the page; called by `www/boot.js`, with a function that starts a worker and with what the page came with: see
/// there.
#[wasm_bindgen]
pub fn start_page(start_worker: Function, given: JsValue) {
    ui::start(Boot::new(start_worker), given);
}
