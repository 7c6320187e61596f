//! Settings that the browser remembers for the page, where it lets pages store anything; elsewhere nothing is remembered.

use crate::dom;
use js_sys::{Function, Reflect};
use wasm_bindgen::{JsCast, JsValue};

/// Names of files that were opened in this window.
pub const OPENED: &str = "pathlight-opened";

/// The dialect a Jaeger or Tempo was understood in; its whole base address follows.
pub const DIALECT: &str = "pathlight-dialect-";

/// The tenant that a Jaeger or Tempo is to be asked as, if the user wants that to be remembered; its origin follows.
pub const TENANT: &str = "pathlight-tenant-";

/// Key of the choices about the columns of a table; its name follows.
pub const COLUMNS: &str = "pathlight-columns-";

/// Key of the mappings of rows that no format is known of.
pub const MAPPINGS: &str = "pathlight-mappings";

/// Lifetime of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// As long as this window is open, over reloads.
    Window,
    /// Until the browser's data is cleared.
    Browser,
}

/// Calls a method of the store; asking a sandboxed frame for it throws.
fn call(store: Store, method: &str, arguments: &[&str]) -> Option<JsValue> {
    let name = match store {
        Store::Window => "sessionStorage",
        Store::Browser => "localStorage",
    };
    let store = Reflect::get(&dom::window(), &name.into()).ok().filter(JsValue::is_object)?;
    let method: Function = Reflect::get(&store, &method.into()).ok()?.dyn_into().ok()?;
    let arguments: js_sys::Array = arguments.iter().map(|text| JsValue::from_str(text)).collect();
    Reflect::apply(&method, &store, &arguments).ok()
}

/// Returns what was put under a key.
pub fn get(store: Store, key: &str) -> Option<String> {
    call(store, "getItem", &[key])?.as_string()
}

/// Puts a text under a key; an empty one takes it away.
pub fn put(store: Store, key: &str, text: &str) {
    if text.is_empty() {
        call(store, "removeItem", &[key]);
    } else {
        call(store, "setItem", &[key, text]);
    }
}
