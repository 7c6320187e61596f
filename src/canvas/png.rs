//! Pictures as PNG.

use super::Surface;
use js_sys::{Function, Promise};
use pathlight_view::draw::caption::canvas_scale;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, HtmlCanvasElement, HtmlImageElement, Url};

/// Returns an SVG document as PNG with so many pixels for each of its own, or as many as a canvas has room for; and whether
/// that are fewer.
///
/// # Errors
/// The browser's own error, or a sentence if it gives no canvas or cannot encode it.
pub async fn png_of(svg: &Blob, scale: f64) -> Result<(Blob, bool), JsValue> {
    let address = Url::create_object_url_with_blob(svg)?;
    let drawn = drawn(&address, scale).await;
    let _ = Url::revoke_object_url(&address);
    let (canvas, is_smaller) = drawn?;
    let promise = Promise::new(&mut |resolve: Function, reject: Function| {
        let done = Closure::once_into_js(move |blob: JsValue| {
            let _ = resolve.call1(&JsValue::NULL, &blob);
        });
        if let Err(error) = canvas.to_blob(done.unchecked_ref()) {
            let _ = reject.call1(&JsValue::NULL, &error);
        }
    });
    let blob = JsFuture::from(promise).await?.dyn_into::<Blob>();
    let blob = blob.map_err(|_| JsValue::from_str("The browser could not encode an image of this size."));
    Ok((blob?, is_smaller))
}

/// Draws the picture of this address.
async fn drawn(address: &str, wanted: f64) -> Result<(HtmlCanvasElement, bool), JsValue> {
    let image = HtmlImageElement::new()?;
    let loaded = Promise::new(&mut |resolve: Function, reject: Function| {
        image.set_onload(Some(&resolve));
        image.set_onerror(Some(&reject));
    });
    image.set_src(address);
    JsFuture::from(loaded).await?;
    let (width, height) = (image.natural_width(), image.natural_height());
    let document = web_sys::window().and_then(|window| window.document());
    let document = document.ok_or_else(|| JsValue::from_str("There is no page to draw on."))?;
    let canvas = document.create_element("canvas")?.dyn_into::<HtmlCanvasElement>()?;
    let mut surface =
        Surface::new(canvas).ok_or_else(|| JsValue::from_str("The browser gives no canvas to draw on."))?;
    let scale = canvas_scale(width, height, wanted);
    surface.resize(width.into(), height.into(), scale);
    let (width, height) = surface.size();
    surface.context.draw_image_with_html_image_element_and_dw_and_dh(
        &image,
        0.0,
        0.0,
        width.into(),
        height.into(),
    )?;
    Ok((surface.canvas().clone(), scale < wanted))
}
