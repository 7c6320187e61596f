//! Files that come back after a reload: what `www/files.js` knows of them.

use crate::pool::{Input, UserError};
use crate::ui::page::Page;
use js_sys::{Array, Reflect};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = pathlightFiles, js_name = remember, catch)]
    fn remember_handles(inputs: &Array) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_namespace = pathlightFiles, js_name = forget, catch)]
    fn forget_handles() -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_namespace = pathlightFiles, js_name = count, catch)]
    async fn count_handles() -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_namespace = pathlightFiles, js_name = again, catch)]
    async fn read_again() -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_namespace = pathlightFiles, js_name = pick, catch)]
    async fn pick_files() -> Result<JsValue, JsValue>;
}

/// Remembers inputs of a group for a reload, as far as the browser can.
pub fn remember(inputs: &[Input], group: u8) {
    let list: Array = inputs
        .iter()
        .map(|input| Array::of3(&input.name.as_str().into(), &input.blob, &group.into()))
        .collect();
    let _ = remember_handles(&list);
}

/// Forgets what was opened in this window.
pub fn forget() {
    let _ = forget_handles();
}

/// Returns whether files of this window can be opened again without choosing them.
pub async fn is_possible() -> bool {
    count_handles().await.ok().and_then(|count| count.as_f64()).is_some_and(|count| count > 0.0)
}

/// Returns an input of `[name, file, group]`; without the last it is of the first group.
fn input(entry: &JsValue) -> Option<(Input, u8)> {
    let entry: &Array = entry.dyn_ref()?;
    let blob = entry.get(1).dyn_into().ok()?;
    Some((Input { name: entry.get(0).as_string()?, blob }, entry.get(2).as_f64().unwrap_or(0.0) as u8))
}

/// Opens again what was open.
pub async fn again(page: Page) {
    let Ok(answer) = read_again().await else { return };
    let list = |key: &str| {
        let list = Reflect::get(&answer, &key.into()).ok().and_then(|list| list.dyn_into::<Array>().ok());
        list.unwrap_or_default()
    };
    let missing: Vec<String> = list("missing").iter().filter_map(|name| name.as_string()).collect();
    page.reopen(list("inputs").iter().filter_map(|entry| input(&entry)).collect(), &missing);
    if !missing.is_empty() {
        page.fail(UserError {
            message: "Part of what was open could not be read again.".to_owned(),
            detail: missing.join("\n"),
            next_step: "Drop or open these files, if they are still there.".to_owned(),
        });
    }
}

/// Asks for files such that they can come back; `None` where the browser cannot do that.
pub async fn pick() -> Option<Vec<Input>> {
    let picked: Array = pick_files().await.ok()?.dyn_into().ok()?;
    Some(picked.iter().filter_map(|entry| Some(input(&entry)?.0)).collect())
}
