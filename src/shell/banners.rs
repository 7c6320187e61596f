//! The rows under the header that say what went wrong and what to do.

use crate::dom::{self, El, Listeners, button, div, el, span};
use crate::page::{Page, PagePart};
use crate::shell::mapping_dialog;
use pathlight_engine::pool::UserError;
use pathlight_ingest::FileReport;
use wasm_bindgen_futures::{JsFuture, spawn_local};

/// Banners shown at once; the others are counted.
const SHOWN: usize = 3;

/// The message banners.
pub struct MessageBanners {
    element: El,
    keep: Listeners,
    shown: Vec<u32>,
}

impl MessageBanners {
    /// Creates banners without a row yet.
    pub fn new() -> MessageBanners {
        let element = div("messages").test("messages").attr("role", "alert");
        element.show(false);
        MessageBanners { element, keep: Listeners::default(), shown: Vec::new() }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    fn row(&self, page: Page, number: u32, error: &UserError) -> El {
        let words = div("message-words").child(&span("message-text", &error.message).test("message-text"));
        if !error.next_step.is_empty() {
            words.add(&span("message-next", &error.next_step).test("message-next"));
        }
        let row = div("message-row").test("message").child(&words);
        if !error.detail.is_empty() {
            let text = el("pre").text(&error.detail).test("message-detail").attr("tabindex", "0");
            let whole = format!("{}\n{}\n{}", error.message, error.detail, error.next_step);
            let copy = button("Copy").class("quiet").test("message-copy");
            let label = copy.clone();
            let copy = copy.on_click(&self.keep, move || copy_text(&whole, &label));
            let first_line = error.detail.lines().next().unwrap_or_default();
            let details = el("details")
                .child(&el("summary").text(first_line).attr("title", "Details"))
                .child(&text)
                .child(&copy);
            words.add(&details);
        }
        let load = page.loading();
        let is_of = |file: &&FileReport| error.message.starts_with(&file.name) && file.guess.is_some();
        if let Some(file) = load.files().iter().find(is_of) {
            let (file, label) = (file.clone(), "Say what the fields are");
            let choose = button(label).test("message-map");
            words.add(&choose.on_click(&self.keep, move || mapping_dialog::open(page, &file, number)));
        }
        let dismiss = button("")
            .class("quiet dismiss")
            .label("Dismiss")
            .test("message-dismiss")
            .node(&dom::icon("M4 4l8 8M12 4l-8 8"))
            .on_click(&self.keep, move || page.dismiss(number));
        row.child(&dismiss)
    }
}

/// Copies text, and says so on the button that was pressed.
pub fn copy_text(text: &str, pressed: &El) {
    let (text, pressed) = (text.to_owned(), pressed.clone());
    let before = pressed.html().text_content().unwrap_or_default();
    spawn_local(async move {
        let done = async {
            let navigator = dom::window().navigator();
            let clipboard = js_sys::Reflect::get(&navigator, &"clipboard".into()).ok()?;
            if clipboard.is_undefined() {
                return None;
            }
            JsFuture::from(navigator.clipboard().write_text(&text)).await.ok()
        };
        let said = if done.await.is_some() { "Copied" } else { "Not permitted: select and copy" };
        pressed.set_text(said);
        dom::pause(1500).await;
        if pressed.html().text_content().as_deref() == Some(said) {
            pressed.set_text(&before);
        }
    });
}

impl PagePart for MessageBanners {
    fn update(&mut self, page: Page) {
        let load = page.loading();
        let numbers: Vec<u32> = load.errors.iter().map(|(number, _)| *number).collect();
        if numbers == self.shown {
            return;
        }
        self.keep.clear();
        self.element.clear();
        for (number, error) in load.errors.iter().rev().take(SHOWN) {
            self.element.add(&self.row(page, *number, error));
        }
        let more = numbers.len().saturating_sub(SHOWN);
        if more > 0 {
            let older: Vec<u32> = numbers.clone();
            let all = button("Dismiss all").class("quiet").on_click(&self.keep, move || {
                older.iter().for_each(|number| page.dismiss(*number));
            });
            let words = format!("and {more} more; the notes list every file with its problems");
            self.element.add(&div("message-row more").child(&span("muted", &words)).child(&all));
        }
        self.element.show(!numbers.is_empty());
        self.shown = numbers;
    }
}
