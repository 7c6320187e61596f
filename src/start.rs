//! The functions that `www/boot.js` calls.

use crate::app as ui;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Starts the page with what it came with.
///
/// # Errors
/// A sentence, if `given` is not what [`Given`](crate::boot::Given) says.
#[wasm_bindgen]
pub fn start_page(given: JsValue) -> Result<(), JsValue> {
    ui::start(serde_wasm_bindgen::from_value(given)?);
    Ok(())
}
