//! Looks for split points in a large file: carries out a [`SplitSearch`].

use std::collections::VecDeque;
use std::ops::Range;

use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

use super::pace::YieldPace;
use pathlight_engine::load::SplitSearch;
use pathlight_ingest::SplitPoint;

/// Returns the first split point after each of these byte offsets, as far as there are any; none if the Blob must be read
/// in one piece.
///
/// Nobody parses meanwhile, so what will probably be looked at is asked for at once.
pub async fn split_points(
    blob: &Blob,
    places: Vec<u64>,
    packed: Option<u64>,
    pace: &YieldPace,
) -> Vec<SplitPoint> {
    let mut search = SplitSearch::new(places, packed);
    let mut ahead: VecDeque<(Range<u64>, JsFuture)> = (search.first_looks().into_iter())
        .filter_map(|range| Some((range.clone(), asked(blob, &range).ok()?)))
        .collect();
    while let Some(wanted) = search.wanted() {
        // Those before it are not needed: one split point may be the first after several places.
        while ahead.front().is_some_and(|(range, _)| range.start < wanted.start) {
            ahead.pop_front();
        }
        pace.yield_now().await;
        let bytes = match ahead.front().is_some_and(|(range, _)| *range == wanted) {
            true => ahead.pop_front().map(|(_, bytes)| bytes),
            false => asked(blob, &wanted).ok(),
        };
        // A file that cannot be read here cannot be read by the worker that reads all of it, and that one says so.
        let Some(bytes) = bytes else { return Vec::new() };
        let Ok(buffer) = bytes.await else { return Vec::new() };
        search.show(&Uint8Array::new(&buffer).to_vec());
    }
    search.finish()
}

/// Asks for some bytes.
fn asked(blob: &Blob, range: &Range<u64>) -> Result<JsFuture, JsValue> {
    let part = blob.slice_with_f64_and_f64(range.start as f64, range.end as f64)?;
    Ok(JsFuture::from(part.array_buffer()))
}
