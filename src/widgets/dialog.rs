//! Dialogs above the page.

use crate::dom::{self, El, Listeners};
use wasm_bindgen::JsCast;
use web_sys::HtmlDialogElement;

/// Puts a dialog into the page until it is closed; `keep` holds its listeners.
pub fn open(dialog: &El, close: &El, keep: Listeners) {
    let Some(element) = dialog.as_kind::<HtmlDialogElement>().cloned() else { return };
    let closing = element.clone();
    keep.add(dom::listen(close.html(), "click", dom::How::default(), move |_| closing.close()));
    let outside = element.clone();
    keep.add(dom::listen(dialog.html(), "click", dom::How::default(), move |event| {
        // The backdrop belongs to the dialog itself; everything else is in a child.
        if event.target().as_ref() == Some(outside.unchecked_ref()) {
            outside.close();
        }
    }));
    let (gone, held) = (dialog.clone(), keep.clone());
    keep.add(dom::listen(dialog.html(), "close", dom::How::default(), move |_| {
        gone.remove();
        held.clear();
    }));
    if let Some(body) = dom::document().body() {
        let _ = body.append_child(dialog.html());
        let _ = element.show_modal();
    }
}
