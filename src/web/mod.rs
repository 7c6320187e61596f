//! The browser's side: workers, page, canvas.

pub mod boot;
pub mod canvas;
mod deal;
mod oneshot;
pub mod pool;
mod wire;
pub mod worker;

use boot::Boot;
use js_sys::Function;
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

/// Called by `www/boot.js` in the page, with a function that starts a worker.
#[wasm_bindgen]
pub fn start_page(start_worker: Function) {
    let pool = pool::Pool::new(Boot::new(start_worker), |event| {
        if matches!(event, pool::PoolEvent::Ready) {
            let document = web_sys::window().and_then(|window| window.document());
            if let Some(note) = document.and_then(|document| document.query_selector(".boot").ok().flatten())
            {
                note.set_text_content(Some("Ready."));
            }
        }
    });
    // It lives as long as the page.
    std::mem::forget(pool);
}
