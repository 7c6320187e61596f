//! A Worker object and its listeners.

use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, Event as DomEvent, MessageEvent, Worker};

use super::PagePool;
use pathlight_engine::pool::PoolInput;
use pathlight_engine::pool::messages::ToWorker;
use pathlight_wire as wire;

/// A worker in its slot; dropping it ends the worker.
pub(super) struct Member {
    worker: Worker,
    _on_message: Closure<dyn FnMut(MessageEvent)>,
    _on_error: Closure<dyn FnMut(DomEvent)>,
}

impl Drop for Member {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.set_onmessageerror(None);
        self.worker.terminate();
    }
}

impl Member {
    /// Starts a worker whose messages and death become events of the pool.
    ///
    /// # Errors
    /// The browser's, if it refuses.
    pub fn start(pool: &PagePool, slot: usize, serial: u64) -> Result<Member, JsValue> {
        let worker = pool.0.boot.worker()?;
        let to = pool.clone();
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            to.handle(match wire::unpack(&event.data()) {
                Some((message, attachments)) => PoolInput::Message { slot, serial, message, attachments },
                // Whoever waits for it would wait for ever.
                None => {
                    let reason = "it sent a message that cannot be read".to_owned();
                    PoolInput::WorkerLost { slot, serial, reason }
                }
            });
        });
        let to = pool.clone();
        let on_error = Closure::<dyn FnMut(DomEvent)>::new(move |event: DomEvent| {
            event.prevent_default();
            let reason = event.dyn_ref::<ErrorEvent>().map(ErrorEvent::message).unwrap_or_default();
            to.handle(PoolInput::WorkerLost { slot, serial, reason });
        });
        worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        worker.set_onmessageerror(Some(on_error.as_ref().unchecked_ref()));
        Ok(Member { worker, _on_message: on_message, _on_error: on_error })
    }

    /// Posts a message; attached buffers move.
    pub fn post(&self, message: &ToWorker, attachments: &[JsValue]) {
        let packed = wire::pack(message, attachments);
        // It fails only for what cannot be cloned or was moved before, and nothing here was.
        let _ = self.worker.post_message_with_transfer(&packed.message, &packed.transfer);
    }
}
