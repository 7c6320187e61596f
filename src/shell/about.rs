//! The dialog about the page itself, and the notice of a newer version.

use crate::dom::{self, El, Listeners, button, div, el, span};
use crate::widgets::dialog;
use wasm_bindgen::JsCast;
use web_sys::HtmlTemplateElement;

/// Returns what the build has put into a template of the page, by a selector.
pub fn bundled(template: &str, selector: &str) -> Option<web_sys::Node> {
    let template = dom::document().get_element_by_id(template)?.dyn_into::<HtmlTemplateElement>().ok()?;
    let found = template.content().query_selector(selector).ok()??;
    found.clone_node_with_deep(true).ok()
}

/// Shows version, commit and the notices of what is built in.
pub fn show() {
    let close = button("Close").class("quiet").test("close-about");
    let head = div("dialog-head").child(&el("h2").text("About Pathlight")).child(&close);
    let body = div("dialog-body about");
    if let Some(about) = bundled("about", "[data-about]") {
        let _ = body.html().append_child(&about);
    }
    let dialog = el("dialog").test("about").attr("aria-label", "About Pathlight").child(&head).child(&body);
    dialog::open(&dialog, &close, Listeners::default());
}

/// Returns the row that says that a newer page is kept, once `www/boot.js` has found one; see `www/service-worker.js`.
pub fn newer(keep: &Listeners) -> El {
    let words = "A newer Pathlight is here, ready for use without its server too. Reload to use it; files that were opened \
                 have to be opened again.";
    let reload = button("Reload").class("primary").test("newer-reload").on_click(keep, || {
        let _ = dom::window().location().reload();
    });
    let row = div("notice").attr("role", "status").test("newer");
    let later = row.clone();
    let later = button("Later").test("newer-later").on_click(keep, move || later.show(false));
    let row = row.child(&span("", words)).child(&reload).child(&later);
    row.show(false);
    let shown = row.clone();
    keep.add(dom::listen(&dom::window(), "pathlight-newer", dom::How::default(), move |_| shown.show(true)));
    row
}
