//! Finding out where a large file can be cut.

use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

use super::pace::Pace;
use pathlight_ingest::{HEAD_BYTES, SEARCH_BYTES, SplitFinder, SplitPoint};

/// The first split point after each place, as far as there are any; none if the Blob must be read in one piece.
pub async fn split_points(blob: &Blob, places: &[u64], pace: &Pace) -> Vec<SplitPoint> {
    // A file that cannot be read here cannot be read by who reads all of it, and that one says so.
    let Ok(head) = bytes(blob, 0, HEAD_BYTES).await else { return Vec::new() };
    let Some(finder) = SplitFinder::of(&head) else { return Vec::new() };
    let mut split_points: Vec<SplitPoint> = Vec::new();
    for &place in places {
        if split_points.last().is_some_and(|point| point.at >= place) {
            continue;
        }
        // A split point is near as a rule; only where traces are large it is not.
        let mut found = None;
        for most in [SEARCH_BYTES / 16, SEARCH_BYTES] {
            pace.breathe().await;
            let Ok(part) = bytes(blob, place, most).await else { return Vec::new() };
            found = finder.find(&part, place);
            if found.is_some() {
                break;
            }
        }
        // Where traces are so large, the next place is inside one as well, and looking costs more than slices save.
        let Some(point) = found else { break };
        split_points.push(point);
    }
    split_points
}

async fn bytes(blob: &Blob, from: u64, most: u64) -> Result<Vec<u8>, JsValue> {
    let part = blob.slice_with_f64_and_f64(from as f64, (from + most) as f64)?;
    let buffer = JsFuture::from(part.array_buffer()).await?;
    Ok(Uint8Array::new(&buffer).to_vec())
}
