//! The tip beside the pointer: one for the whole page.

use crate::dom::{self, El, div, el};
use crate::widgets::names;
use pathlight_trace::Endpoint;
use pathlight_view::say::tip::{Numbers, TipLine};
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

/// Returns the elements of lines.
pub fn elements(lines: &[TipLine]) -> Vec<El> {
    let element = |line: &TipLine| match line {
        TipLine::Endpoint(Endpoint { service, operation }) => names::endpoint(service, operation),
        TipLine::Text(text) => div("").text(text),
        TipLine::Strong(text) => div("strong").text(text),
        TipLine::Muted(text) => div("muted").text(text),
        TipLine::Hint(text) => div("muted small").text(text),
        TipLine::List(lines) => {
            lines.iter().fold(el("ol").class("chains"), |list, line| list.child(&el("li").text(line)))
        }
        TipLine::Spark(histogram) => div("").child(&names::spark(histogram)),
        TipLine::Numbers(numbers) => numbers_element(numbers),
    };
    lines.iter().map(element).collect()
}

/// Returns the element of a small table of numbers; tests know a cell as `HEAD-NAME`.
pub fn numbers_element(numbers: &Numbers) -> El {
    let corner = el("tr").child(&el("td"));
    let head = numbers
        .heads
        .iter()
        .fold(corner, |row, title| row.child(&el("th").class("num").attr("scope", "col").text(title)));
    let body = el("tbody");
    for (name, cells) in &numbers.rows {
        let row = el("tr").child(&el("th").attr("scope", "row").text(name));
        body.add(&cells.iter().zip(&numbers.heads).fold(row, |row, ((words, digits), head)| {
            let cell = el("td").class("num").test(&format!("{head}-{name}"));
            row.child(&cell.attr("data-value", digits).text(words))
        }));
    }
    el("table").class("weights").child(&el("thead").child(&head)).child(&body)
}
