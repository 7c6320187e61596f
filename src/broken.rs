//! A defect of the page's own: it is said once, and the page runs no more.

use crate::dom::{div, document, span};
use std::cell::Cell;

thread_local! {
    static BROKEN: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the page has met a defect of its own and runs no more: what was under way has left its things as they
/// were, perhaps borrowed for good.
pub fn is_broken() -> bool {
    BROKEN.get()
}

/// Ends what the page does after a defect of its own, and says so; once, for one error brings others.
pub fn broken(what: &str) {
    web_sys::console::error_1(&what.into());
    if !BROKEN.replace(true)
        && let Some(body) = document().body()
    {
        let words = "Pathlight ran into a defect of its own and stopped. Reload the page to go on.";
        let row = div("message-row broken").attr("role", "alert").test("broken");
        let row = row.child(&span("message-text", words)).child(&span("muted", what));
        let _ = body.append_child(row.html());
    }
}
