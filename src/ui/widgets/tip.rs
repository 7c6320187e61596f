//! The tip beside the pointer: one for the whole page.

use crate::ui::dom;
use crate::ui::dom::{El, div};
use wasm_bindgen::JsValue;

thread_local! {
    static TIP: El = {
        let tip = div("tip").attr("role", "tooltip").test("tip");
        tip.show(false);
        if let Some(body) = dom::document().body() {
            let _ = body.append_child(tip.html());
        }
        tip
    };
}

/// Shows these lines beside a place of the window.
pub fn show(at: (f64, f64), content: &[El]) {
    TIP.with(|tip| {
        tip.fill(content);
        tip.show(true);
    });
    place(at);
}

/// Moves it.
pub fn place((x, y): (f64, f64)) {
    TIP.with(|tip| {
        let (width, height) = (f64::from(tip.html().offset_width()), f64::from(tip.html().offset_height()));
        let room = |value: Result<JsValue, JsValue>| value.ok().and_then(|v| v.as_f64()).unwrap_or(0.0);
        let (right, bottom) = (room(dom::window().inner_width()), room(dom::window().inner_height()));
        let left = if x + 16.0 + width > right { (x - 12.0 - width).max(4.0) } else { x + 16.0 };
        let top = if y + 20.0 + height > bottom { (y - 12.0 - height).max(4.0) } else { y + 20.0 };
        tip.style("transform", &format!("translate({left:.0}px, {top:.0}px)"));
    });
}

/// Hides it.
pub fn hide() {
    TIP.with(|tip| tip.show(false));
}
