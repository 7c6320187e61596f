//! Carries the [messages of the pool](pathlight_query::pool::messages) between page and workers.
//!
//! A message is an array: first the envelope, a small plain object; then its attachments, Blobs (shared by handle) and
//! ArrayBuffers (transferred, never copied).

use js_sys::{Array, ArrayBuffer, Uint8Array};
use serde::{Serialize, de::DeserializeOwned};
use wasm_bindgen::{JsCast, JsValue};

use pathlight_ingest::ChunkEnd;
use pathlight_query::pool::messages::{Done, FromWorker};

/// A message ready for `postMessage`: itself and what to transfer.
pub struct Packed {
    /// The message.
    pub message: JsValue,
    /// The buffers that move.
    pub transfer: JsValue,
}

/// Packs a message; every attached ArrayBuffer is moved when it is posted.
pub fn pack<T: Serialize>(envelope: &T, attachments: &[JsValue]) -> Packed {
    // Plain data; only a number beyond 2^53 could fail, and then the other side says that it cannot read it.
    let message = Array::of1(&serde_wasm_bindgen::to_value(envelope).unwrap_or(JsValue::NULL));
    let transfer = Array::new();
    for attachment in attachments {
        message.push(attachment);
        if attachment.is_instance_of::<ArrayBuffer>() {
            transfer.push(attachment);
        }
    }
    Packed { message: message.into(), transfer: transfer.into() }
}

/// The envelope and the attachments of a message; `None` if it is none of ours.
pub fn unpack<T: DeserializeOwned>(message: &JsValue) -> Option<(T, Vec<JsValue>)> {
    let parts = message.dyn_ref::<Array>()?;
    let envelope = serde_wasm_bindgen::from_value(parts.get(0)).ok()?;
    Some((envelope, parts.iter().skip(1).collect()))
}

/// The message of a worker and its attachments; `None` if it is none of ours. The ends of chunks, which travel as
/// an attachment because their numbers have 64 bits, are put where they belong.
pub fn unpack_answer(message: &JsValue) -> Option<(FromWorker, Vec<JsValue>)> {
    let (mut message, mut attachments) = unpack::<FromWorker>(message)?;
    if let FromWorker::Done(_, Done::Read(results, _)) = &mut message {
        let ends = attachments.pop().map(|ends| bytes(&ends)).unwrap_or_default();
        let ends: Vec<Option<ChunkEnd>> = postcard::from_bytes(&ends).unwrap_or_default();
        for (result, end) in results.iter_mut().zip(ends) {
            if let Some(report) = result.report() {
                report.chunk = end;
            }
        }
    }
    Some((message, attachments))
}

/// Bytes as an attachment that can be moved.
pub fn buffer(bytes: &[u8]) -> JsValue {
    Uint8Array::from(bytes).buffer().into()
}

/// The bytes of an attachment; empty if it is no buffer.
pub fn bytes(attachment: &JsValue) -> Vec<u8> {
    match attachment.dyn_ref::<ArrayBuffer>() {
        Some(buffer) => Uint8Array::new(buffer).to_vec(),
        None => Vec::new(),
    }
}

/// A JavaScript error in words.
pub fn words(error: &JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => error.as_string().unwrap_or_else(|| format!("{error:?}")),
    }
}
