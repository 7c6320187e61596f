//! Looks for split points in a large file: carries out a [`SplitSearch`].

use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

use super::pace::Pace;
use pathlight_ingest::SplitPoint;
use pathlight_query::load::SplitSearch;

/// Returns the first split point after each of these byte offsets, as far as there are any; none if the Blob must be read
/// in one piece.
pub async fn split_points(blob: &Blob, places: Vec<u64>, pace: &Pace) -> Vec<SplitPoint> {
    let mut search = SplitSearch::new(places);
    while let Some(wanted) = search.wanted() {
        pace.yield_now().await;
        // A file that cannot be read here cannot be read by the worker that reads all of it, and that one says so.
        let Ok(bytes) = bytes(blob, wanted.start as f64, wanted.end as f64).await else { return Vec::new() };
        search.show(&bytes);
    }
    search.finish()
}

async fn bytes(blob: &Blob, from: f64, until: f64) -> Result<Vec<u8>, JsValue> {
    let part = blob.slice_with_f64_and_f64(from, until)?;
    let buffer = JsFuture::from(part.array_buffer()).await?;
    Ok(Uint8Array::new(&buffer).to_vec())
}
