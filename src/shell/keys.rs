//! Listens to the keyboard, and shows the help of `?`: the guide of the view, the keys and the words.

use crate::dom::{self, El, Listeners, button, div, el, span};
use crate::page::Page;
use crate::shell::about::bundled;
use crate::shell::palette::Palette;
use crate::widgets::dialog;
use pathlight_view::keys::{HELP, KeyCommand, Press};
use pathlight_view::say::glossary::{self, WORDS};
use wasm_bindgen::JsCast;
use web_sys::KeyboardEvent;

/// Returns the command of a key, if it has one.
fn command_of(event: &KeyboardEvent) -> Option<KeyCommand> {
    let press = Press {
        writes: &event.key(),
        code: &event.code(),
        control: event.ctrl_key() || event.meta_key(),
        shift: event.shift_key(),
        alt: event.alt_key(),
    };
    press.command()
}

/// Listens to the keyboard for all of the page.
pub fn listen(page: Page, keep: &Listeners, open: impl Fn() + 'static, palette: Palette) {
    let how = dom::How { active: true, ..dom::How::default() };
    let run = move |event: web_sys::Event| {
        let Some(key) = event.dyn_ref::<KeyboardEvent>() else { return };
        let Some(command) = command_of(key) else { return };
        if event.default_prevented() {
            return;
        }
        let modal = has_dialog();
        let taken = match command {
            KeyCommand::Open => {
                open();
                true
            }
            _ if modal => false,
            KeyCommand::Palette => {
                palette.open();
                true
            }
            _ if dom::is_typing(&event) => false,
            // Buttons and links have their own Enter.
            KeyCommand::Enter if dom::closest(&event, "data-own-enter").is_some() => false,
            KeyCommand::Enter if is_control(&event) => false,
            KeyCommand::Help => {
                show_help(page, None);
                true
            }
            command => page.command(command),
        };
        if taken {
            event.prevent_default();
        }
    };
    keep.add(dom::listen(&dom::document(), "keydown", how, run));
    keep.add(dom::listen(&dom::document(), "click", dom::How::default(), move |event| {
        if let Some((_, word)) = dom::closest(&event, "data-word") {
            show_help(page, Some(&word));
        }
    }));
}

fn has_dialog() -> bool {
    dom::document().query_selector("dialog[open]").ok().flatten().is_some()
}

/// Returns whether Escape was pressed and nothing in the page has a use for it. To be asked after `listen` has heard the
/// event. A key that is held down counts once: what it closed first was meant.
pub fn is_unused_escape(event: &web_sys::Event) -> bool {
    let is_escape = event
        .dyn_ref::<KeyboardEvent>()
        .is_some_and(|key| command_of(key) == Some(KeyCommand::Leave) && !key.repeat());
    is_escape && !event.default_prevented() && !has_dialog() && !dom::is_typing(event)
}

fn is_control(event: &web_sys::Event) -> bool {
    let target = event.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    target.is_some_and(|target| matches!(target.tag_name().as_str(), "BUTTON" | "A" | "SUMMARY"))
}

/// Opens the help: the guide of the view in sight, the keys and the words; one of them is brought into sight if it is named.
pub fn show_help(page: Page, word: Option<&str>) {
    let keep = Listeners::default();
    let element = el("dialog").class("keys").test("keys").attr("aria-label", "Help");
    let close = button("Close").class("quiet").test("close-keys");
    let head = div("dialog-head").child(&el("h2").text("Help")).child(&close);
    let view = page.address().view;
    let about = div("about-view").test("about-view");
    if let Some(page) = bundled("guide", &format!("[data-guide='{}']", view.key())) {
        let _ = about.html().append_child(&page);
    }
    let groups = div("key-groups");
    for (title, lines) in HELP {
        let list = el("dl");
        for (keys, what) in *lines {
            let term = el("dt");
            for (at, key) in keys.iter().enumerate() {
                if at > 0 {
                    term.add(&span("or", ""));
                }
                // A plus alone is the key itself.
                for part in key.split('+').filter(|_| key.len() > 1) {
                    term.add(&el("kbd").text(part));
                }
                if key.len() <= 1 {
                    term.add(&el("kbd").text(key));
                }
            }
            list.add(&term);
            list.add(&el("dd").text(what));
        }
        groups.add(&el("section").child(&el("h3").text(title)).child(&list));
    }
    let words = el("dl");
    for (word, meaning) in WORDS {
        words.add(&el("dt").attr("id", &glossary::id(word)).attr("tabindex", "-1").text(word));
        words.add(&el("dd").text(meaning));
    }
    let words = el("section").class("glossary").test("glossary").child(&el("h3").text("Words")).child(&words);
    let element = element.child(&head).child(&about).child(&groups).child(&words);
    dialog::open(&element, &close, keep);
    // In this dialog: one that was just closed leaves the page a moment later.
    let term =
        word.and_then(|word| element.html().query_selector(&format!("#{}", glossary::id(word))).ok()?);
    if let Some(term) = term.and_then(|term| term.dyn_into().ok()) {
        let term = El::from_html(term);
        term.html().scroll_into_view();
        term.focus();
    }
}
