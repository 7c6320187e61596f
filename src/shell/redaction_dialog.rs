//! The dialog before anything is saved or copied: it says what the copy will contain, and can leave tags and names out.

use crate::dom::{El, Listeners, button, div, el};
use crate::page::Page;
use crate::widgets::dialog;
use pathlight_engine::pool::UserError;
use pathlight_engine::queries;
use pathlight_trace::Redaction;
use pathlight_view::export::redacted::{ShareKind, contents};
use pathlight_view::export::saved::ExportRedaction;
use std::cell::Cell;
use std::rc::Rc;
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlInputElement;

/// Parts that can be left out: the name for tests, the label, and the label for a link, which has no pseudonyms.
const LEFT_OUT: [(&str, &str, &str); 2] = [
    ("redact-tags", "Leave tags out", "Leave tags out"),
    (
        "redact-names",
        "Replace names of services and operations (service-1, operation-1)",
        "Leave names of services and operations out",
    ),
];

/// Returns switches of what is left out, with a line that says what the copy will contain; `changed` is called with every choice.
pub fn switches(keep: &Listeners, share: ShareKind, changed: impl Fn(Redaction) + 'static) -> El {
    let chosen = Rc::new(Cell::new(Redaction::default()));
    let changed = Rc::new(changed);
    let line = el("p").class("muted").test("redact-words").attr("aria-live", "polite");
    line.set_text(&contents(share, chosen.get()));
    let group = div("redaction").attr("role", "group").attr("aria-label", "What it contains");
    let has_tags = share != ShareKind::Summary;
    for (name, words, of_link) in LEFT_OUT.into_iter().skip(usize::from(!has_tags)) {
        let words = if share == ShareKind::Link { of_link } else { words };
        let check = el("input").attr("type", "checkbox").test(name);
        let input = check.as_kind::<HtmlInputElement>().cloned();
        let (chosen, changed, line) = (chosen.clone(), changed.clone(), line.clone());
        let check = check.on(keep, "change", move |_| {
            let is_on = input.as_ref().is_some_and(HtmlInputElement::checked);
            let now = chosen.get();
            chosen.set(match name == LEFT_OUT[0].0 {
                true => Redaction { tags: is_on, ..now },
                false => Redaction { names: is_on, ..now },
            });
            line.set_text(&contents(share, chosen.get()));
            changed(chosen.get());
        });
        group.add(&el("label").child(&check).text(" ").text(words));
    }
    group.child(&line)
}

/// Opens a dialog with the switches and a button that saves or copies: `act` gets what is left out, and the button.
pub fn open(
    page: Page,
    title: &'static str,
    share: ShareKind,
    (label, test): (&'static str, &'static str),
    act: impl Fn(ExportRedaction, &El) + 'static,
) {
    let keep = Listeners::default();
    let close = button("Close").class("quiet").test("redact-close");
    let head = div("dialog-head").child(&el("h2").text(title)).child(&close);
    let chosen = Rc::new(Cell::new(Redaction::default()));
    let choice = chosen.clone();
    let switches = switches(&keep, share, move |redaction| choice.set(redaction));
    let submit = button(label).class("primary").test(test).attr("aria-live", "polite");
    let (pressed, act, closing) = (submit.clone(), Rc::new(act), close.clone());
    let submit = submit.on_click(&keep, move || {
        let (redaction, act, pressed) = (chosen.get(), act.clone(), pressed.clone());
        if share == ShareKind::Report {
            closing.html().click();
        }
        if redaction.is_nothing() {
            return act(ExportRedaction::default(), &pressed);
        }
        spawn_local(async move {
            match page.pool().run(&queries::NamePseudonyms {}).await {
                Ok(pseudonyms) => act((redaction, pseudonyms), &pressed),
                Err(error) => page.fail(UserError {
                    message: "The names to replace could not be read.".to_owned(),
                    detail: error.to_string(),
                    next_step: "Wait until everything is read, and try again.".to_owned(),
                }),
            }
        });
    });
    let body = div("share-body").child(&switches).child(&div("buttons").child(&submit));
    let dialog = el("dialog").class("ask").test("redaction").attr("aria-label", title);
    dialog::open(&dialog.child(&head).child(&body), &close, keep);
}
