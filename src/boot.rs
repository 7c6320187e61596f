//! What `www/boot.js` hands over.

use js_sys::Function;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::Worker;

/// How this page starts workers: from a file beside it or from a Blob, whichever its address allows.
#[derive(Clone)]
pub struct Boot {
    start_worker: Function,
}

impl Boot {
    /// Creates it from a function without arguments that returns a new `Worker` which will run
    /// [`start_worker`](super::start_worker).
    pub fn new(start_worker: Function) -> Boot {
        Boot { start_worker }
    }

    /// Returns a new worker.
    ///
    /// # Errors
    /// What the browser threw.
    pub fn worker(&self) -> Result<Worker, JsValue> {
        self.start_worker.call0(&JsValue::NULL)?.dyn_into()
    }
}
