//! The rest of the program: the part of the module that `tools/xtask/src/split.rs` cuts off, and that no first view needs.

use std::cell::RefCell;

use js_sys::WebAssembly::{Instance, Module};
use js_sys::{Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::XmlHttpRequest;

use crate::wire;

thread_local! {
    static REST: RefCell<JsValue> = const { RefCell::new(JsValue::UNDEFINED) };
}

/// Keeps the address of the rest, or the compiled module once the page has it.
#[wasm_bindgen]
pub fn keep_rest(rest: JsValue) {
    REST.set(rest);
}

/// Starts the rest; called in place of its first function that is needed, unless the page has started it already. Whoever
/// comes before the module waits here.
///
/// # Errors
/// A sentence, if the module cannot be fetched, compiled or started. Then what asked for it cannot go on: the page shows the
/// sentence, and a worker ends with it.
#[wasm_bindgen]
pub fn load_rest() {
    let Err(error) = load(&REST.with_borrow(Clone::clone)) else { return };
    let (words, why) =
        ("A part of Pathlight could not be loaded. Reload the page to try again.", wire::words(&error));
    if web_sys::window().is_some() {
        crate::ui::stopped(words, &why);
    }
    wasm_bindgen::throw_str(&format!("{words} {why}"));
}

fn load(rest: &JsValue) -> Result<(), JsValue> {
    let module = match rest.as_string() {
        Some(address) => fetch(&address)?,
        None => rest.clone().unchecked_into(),
    };
    let imports = Object::new();
    Reflect::set(&imports, &"".into(), &wasm_bindgen::exports())?;
    Instance::new(&module, &imports).map(drop)
}

fn fetch(address: &str) -> Result<Module, JsValue> {
    let request = XmlHttpRequest::new()?;
    request.open_with_async("GET", address, false)?;
    // A page may not ask for bytes in this way; here each comes as a letter.
    request.override_mime_type("text/plain; charset=x-user-defined")?;
    request.send()?;
    if request.status()? != 200 {
        return Err(format!("{address} answers {}", request.status()?).into());
    }
    let text = request.response_text()?.unwrap_or_default();
    let bytes: Vec<u8> = text.chars().map(|letter| letter as u8).collect();
    Module::new(&Uint8Array::from(bytes.as_slice()))
}
