//! A link to what is shown, with what it needs to work elsewhere.

use crate::dom::{self, El, Listeners, button, div, el};
use crate::page::Page;
use crate::shell::banners::copy_text;
use crate::shell::redaction_dialog::switches;
use crate::shell::saved_report::Origin;
use crate::widgets::dialog;
use pathlight_trace::Redaction;
use pathlight_view::address::sharing::{Needs, link_words};
use pathlight_view::export::redacted::{self, ShareKind};
use web_sys::HtmlInputElement;

/// Returns what the link of the page needs.
fn needs(page: Page) -> Needs {
    let address = page.address();
    if page.loading().opened > 0 {
        Needs::Files
    } else if address.source.is_demo() {
        Needs::Demo
    } else if address.source.wants_something() {
        Needs::Source
    } else {
        Needs::Nothing
    }
}

/// Opens the dialog with the link.
pub fn open(page: Page, origin: &Origin) {
    let keep = Listeners::default();
    let href = dom::window().location().href().unwrap_or_default();
    let close = button("Close").class("quiet").test("share-close");
    let head = div("dialog-head").child(&el("h2").text("Link to this view")).child(&close);
    let field = el("input").attr("readonly", "").attr("aria-label", "Link").test("share-link");
    let shown = field.as_kind::<HtmlInputElement>().cloned();
    let show = move |redaction: Redaction| {
        let base = href.split('#').next().unwrap_or_default();
        let reduced = || format!("{base}#{}", redacted::address(&page.address(), redaction).to_fragment());
        let link = if redaction.is_nothing() { href.clone() } else { reduced() };
        shown.iter().for_each(|field| field.set_value(&link));
    };
    show(Redaction::default());
    let copy = button("Copy link").class("primary").test("share-copy");
    let (label, link) = (copy.clone(), field.as_kind::<HtmlInputElement>().cloned());
    let copied = move || link.iter().for_each(|link| copy_text(&link.value(), &label));
    let copy = copy.on_click(&keep, copied);
    let needs = needs(page);
    let words = el("p").test("share-words").text(link_words(needs));
    let buttons = div("buttons").child(&copy);
    if needs == Needs::Files {
        let (origin, done) = (origin.clone(), close.clone());
        buttons.add(&button("Save report\u{2026}").test("share-save").on_click(&keep, move || {
            done.html().click();
            origin.open(page);
        }));
    }
    let switches = switches(&keep, ShareKind::Link, show);
    let body = div("share-body").child(&field).child(&words).child(&switches).child(&buttons);
    let dialog: El = el("dialog").class("share").test("share").attr("aria-label", "Link to this view");
    dialog::open(&dialog.child(&head).child(&body), &close, keep);
    if let Some(field) = field.as_kind::<HtmlInputElement>() {
        field.select();
    }
}
