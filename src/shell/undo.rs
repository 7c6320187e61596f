//! Undo of the last change to what is loaded: what was loaded before is read again.

use crate::dom::{self, El, Listeners, button, div, span};
use crate::page::{Page, PagePart};
use wasm_bindgen_futures::spawn_local;

/// Time in which it can be undone, in milliseconds.
const UNDO_MS: i32 = 10_000;

/// The row that says what was done and offers the way back.
pub struct UndoRow {
    element: El,
    words: El,
    shown: u32,
    _keep: Listeners,
}

impl UndoRow {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> UndoRow {
        let keep = Listeners::default();
        let words = span("", "").attr("role", "status").test("done");
        let undo = button("Undo").test("undo").on_click(&keep, move || page.undo());
        let element =
            div("undo").attr("role", "region").attr("aria-label", "Undo").child(&words).child(&undo);
        element.show(false);
        UndoRow { element, words, shown: 0, _keep: keep }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }
}

impl PagePart for UndoRow {
    fn update(&mut self, page: Page) {
        let undo = page.undoable();
        self.element.show(undo.is_some());
        let Some(undo) = undo else { return };
        if self.shown == undo.number {
            return;
        }
        self.shown = undo.number;
        self.words.set_text(&undo.words);
        spawn_local(async move {
            dom::pause(UNDO_MS).await;
            page.forget_undo(undo.number);
        });
    }
}
