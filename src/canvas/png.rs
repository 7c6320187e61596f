//! Pictures as PNG.

use super::surface::Surface;
use js_sys::{Function, Promise};
use pathlight_chart::{Metrics, Scene};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, HtmlCanvasElement};

/// Returns what a canvas shows now, as PNG.
///
/// # Errors
/// The browser's own error, or a sentence if the canvas is too large to be encoded.
pub async fn png(canvas: &HtmlCanvasElement) -> Result<Blob, JsValue> {
    let promise = Promise::new(&mut |resolve: Function, reject: Function| {
        let done = Closure::once_into_js(move |blob: JsValue| {
            let _ = resolve.call1(&JsValue::NULL, &blob);
        });
        if let Err(error) = canvas.to_blob(done.unchecked_ref()) {
            let _ = reject.call1(&JsValue::NULL, &error);
        }
    });
    JsFuture::from(promise)
        .await?
        .dyn_into::<Blob>()
        .map_err(|_| JsValue::from_str("The browser could not encode an image of this size."))
}

/// Returns a scene as PNG, on a canvas of its own; fonts are those of the page's body.
///
/// # Errors
/// As [`png`]; also if the browser gives no canvas.
pub async fn png_of(scene: &Scene) -> Result<Blob, JsValue> {
    let canvas = {
        let document = web_sys::window().and_then(|window| window.document());
        let document = document.ok_or_else(|| JsValue::from_str("There is no page to draw on."))?;
        let canvas = document.create_element("canvas")?.dyn_into::<HtmlCanvasElement>()?;
        let mut surface = Surface::new(canvas)
            .ok_or_else(|| JsValue::from_str("The browser gives no canvas to draw on."))?;
        let Metrics { scale } = Metrics::default();
        surface.resize(f64::from(scene.width), f64::from(scene.height), scale);
        surface.paint(scene);
        surface.canvas().clone()
    };
    png(&canvas).await
}
