//! Carries the messages of the pool (`pathlight_engine::pool::messages`) between page and workers.
//!
//! A message is an array: first the envelope's bytes; then its attachments, Blobs (shared by handle) and
//! ArrayBuffers (transferred, never copied).

#![cfg(target_arch = "wasm32")]

use js_sys::{Array, ArrayBuffer, Uint8Array};
use pathlight_base::encoding;
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};

/// A message ready for `postMessage`: itself and what to transfer.
pub struct Packed {
    /// The message.
    pub message: JsValue,
    /// The buffers that move.
    pub transfer: JsValue,
}

/// Packs a message; every attached ArrayBuffer is moved when it is posted.
pub fn pack<T: Serialize>(envelope: &T, attachments: &[JsValue]) -> Packed {
    let envelope = buffer(&encoding::write(envelope));
    let (message, transfer) = (Array::of1(&envelope), Array::of1(&envelope));
    for attachment in attachments {
        message.push(attachment);
        if attachment.is_instance_of::<ArrayBuffer>() {
            transfer.push(attachment);
        }
    }
    Packed { message: message.into(), transfer: transfer.into() }
}

/// Returns the envelope and the attachments of a message; `None` if it is none of ours.
pub fn unpack<T: for<'a> Deserialize<'a>>(message: &JsValue) -> Option<(T, Vec<JsValue>)> {
    let parts = message.dyn_ref::<Array>()?;
    let envelope = encoding::read(&bytes(&parts.get(0))).ok()?;
    Some((envelope, parts.iter().skip(1).collect()))
}

/// Returns the bytes as an attachment that can be moved.
pub fn buffer(bytes: &[u8]) -> JsValue {
    Uint8Array::from(bytes).buffer().into()
}

/// Returns the bytes of an attachment; empty if it is no buffer.
pub fn bytes(attachment: &JsValue) -> Vec<u8> {
    match attachment.dyn_ref::<ArrayBuffer>() {
        Some(buffer) => Uint8Array::new(buffer).to_vec(),
        None => Vec::new(),
    }
}

/// Returns a JavaScript error in words.
pub fn words(error: &JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => error.as_string().unwrap_or_else(|| format!("{error:?}")),
    }
}
