//! What workers write for the page: everything that is loaded, for a saved report, and the demo traces.

use js_sys::Array;
use wasm_bindgen::JsValue;
use web_sys::Blob;

use super::Pool;
use super::call::{CallError, Reply};
use super::query::COORDINATOR;
use crate::wire::{Call, Done, words};

impl Pool {
    /// The demo traces as a file of Jaeger JSON.
    ///
    /// # Errors
    /// In words: the worker ended, the browser's memory ended.
    pub async fn demo(&self) -> Result<Blob, String> {
        let (_, attachments) = self.call(COORDINATOR, Call::Demo, &[]).await.map_err(why)?;
        let parts: Array = attachments.iter().collect();
        Blob::new_with_buffer_source_sequence(&parts).map_err(|error| words(&error))
    }

    /// The columns of all workers, one Blob a worker, as [`ingest`](pathlight_ingest) reads them.
    ///
    /// # Errors
    /// In words: a load is under way or began meanwhile, a worker ended, the browser's memory ended.
    pub async fn columns(&self) -> Result<Vec<Blob>, String> {
        if self.is_loading() {
            return Err("traces are still being read".to_owned());
        }
        let generation = self.0.generation.get();
        let mut blobs = Vec::new();
        for slot in self.holders() {
            let parts = Array::new();
            let mut from = Some(0);
            while let Some(first) = from {
                let reply: Reply = self.call(slot, Call::CopyColumns { from: first }, &[]);
                let (done, attachments) = reply.await.map_err(why)?;
                if self.is_loading() || self.0.generation.get() != generation {
                    return Err("what is loaded changed meanwhile".to_owned());
                }
                attachments.iter().for_each(|columns: &JsValue| {
                    parts.push(columns);
                });
                let Done::Columns(next) = done else {
                    return Err("a worker answered something else".to_owned());
                };
                from = next;
            }
            blobs.push(Blob::new_with_buffer_source_sequence(&parts).map_err(|error| words(&error))?);
        }
        Ok(blobs)
    }
}

/// Why a call failed, in words.
fn why(error: CallError) -> String {
    match error {
        CallError::Failed(reason) => reason,
        CallError::Lost | CallError::Stale => "a worker ended meanwhile".to_owned(),
    }
}
