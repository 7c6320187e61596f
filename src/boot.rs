//! The values that `www/boot.js` hands over.

use js_sys::{Array, Function};
use serde::Deserialize;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::Worker;

/// Source of this page's workers: a file beside it or a Blob, whichever its address allows.
#[derive(Clone)]
pub struct Boot {
    start_worker: Function,
}

impl Boot {
    /// Creates it from a function without arguments that returns a new `Worker` which will run the worker's module.
    pub fn new(start_worker: Function) -> Boot {
        Boot { start_worker }
    }

    /// Returns a new worker.
    ///
    /// # Errors
    /// The exception that the browser threw.
    pub fn worker(&self) -> Result<Worker, JsValue> {
        self.start_worker.call0(&JsValue::NULL)?.dyn_into()
    }
}

/// Data that the page came with; the fields are those of the object in `www/boot.js`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Given {
    /// Starts a worker, see [`Boot`].
    #[serde(with = "serde_wasm_bindgen::preserve")]
    pub start_worker: Function,
    /// First view of a saved report, as a fragment of an address; empty in a page that is none.
    pub fragment: String,
    /// The first finding of a saved report, in words; empty in a page that is none.
    pub headline: String,
    /// Names of the parts of a saved report, empty for those that have none.
    pub names: Vec<String>,
    /// Blobs with the traces of a saved report.
    #[serde(with = "serde_wasm_bindgen::preserve")]
    pub parts: Array,
    /// Returns a promise of a Blob's gzip as base64.
    #[serde(with = "serde_wasm_bindgen::preserve")]
    pub pack: Function,
    /// Returns a promise of the page in one file, as text.
    #[serde(with = "serde_wasm_bindgen::preserve")]
    pub page: Function,
}
