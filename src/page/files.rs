//! Calls into `www/files.js`, which looks into dropped folders, and opens files again after a reload.

use crate::pool::Input;
use js_sys::{Array, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::DataTransferItem;

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
    #[wasm_bindgen(js_namespace = pathlightFiles, js_name = folder, catch)]
    fn look_into(item: &DataTransferItem) -> Result<Option<Promise>, JsValue>;
    /// Returns how many files were found so far below what was dropped last.
    #[wasm_bindgen(js_namespace = pathlightFiles)]
    pub fn found() -> u32;
    /// Ends looking into what was dropped.
    #[wasm_bindgen(js_namespace = pathlightFiles)]
    pub fn stop();
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
pub async fn can_come_back() -> bool {
    count_handles().await.ok().and_then(|count| count.as_f64()).is_some_and(|count| count > 0.0)
}

/// Returns an input of `[name, file, group]`; without the last it is of the first group.
fn input(entry: &JsValue) -> Option<(Input, u8)> {
    let entry: &Array = entry.dyn_ref()?;
    let blob = entry.get(1).dyn_into().ok()?;
    Some((Input { name: entry.get(0).as_string()?, blob }, entry.get(2).as_f64().unwrap_or(0.0) as u8))
}

fn list(answer: &JsValue, key: &str) -> Array {
    let list = Reflect::get(answer, &key.into()).ok().and_then(|list| list.dyn_into::<Array>().ok());
    list.unwrap_or_default()
}

fn inputs(answer: &JsValue, key: &str) -> impl Iterator<Item = (Input, u8)> {
    list(answer, key).into_iter().filter_map(|entry| input(&entry))
}

fn names(answer: &JsValue, key: &str) -> Vec<String> {
    list(answer, key).iter().filter_map(|name| name.as_string()).collect()
}

/// Begins to list the files below a dropped item; `None` if it is no folder. To be called before the event is over.
pub fn folder(item: &DataTransferItem) -> Option<Promise> {
    look_into(item).ok().flatten()
}

/// Returns the files below a folder, named by their paths from what was dropped, and the names of what cannot be read.
/// Hidden files are left out. `None` if [`stop`] ended it.
pub async fn files_below(folder: Promise) -> Option<(Vec<Input>, Vec<String>)> {
    let Ok(answer) = JsFuture::from(folder).await else { return Some(Default::default()) };
    let found = || inputs(&answer, "files").map(|(input, _)| input).collect();
    (!answer.is_null()).then(|| (found(), names(&answer, "unreadable")))
}

/// Returns what was open with the group of each, and the names of what cannot be read any more.
pub async fn again() -> Option<(Vec<(Input, u8)>, Vec<String>)> {
    let answer = read_again().await.ok()?;
    Some((inputs(&answer, "inputs").collect(), names(&answer, "missing")))
}

/// Asks for files such that they can come back; `None` where the browser cannot do that.
pub async fn pick() -> Option<Vec<Input>> {
    let picked: Array = pick_files().await.ok()?.dyn_into().ok()?;
    Some(picked.iter().filter_map(|entry| Some(input(&entry)?.0)).collect())
}
