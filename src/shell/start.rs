//! The start screen: what the page does, and every way to give it data.

use crate::dom::{self, El, Listeners, button, div, el, icon};
use crate::page::{Page, PagePart, files};
use crate::settings::{self, Store};
use crate::shell::file_input::{self, Picker};
use crate::shell::jaeger_dialog;
use pathlight_view::address::sharing::reopen_words;
use wasm_bindgen_futures::spawn_local;

/// The start screen.
pub struct Start {
    element: El,
    /// Button to open again the files that were open before the page was reloaded.
    reopen: El,
    _keep: Listeners,
}

impl Start {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, picker: &Picker) -> Start {
        let keep = Listeners::default();
        let (files, folder) = (picker.clone(), picker.clone());
        let buttons = [
            button("Open files\u{2026}")
                .class("primary")
                .test("open-start")
                .attr("title", "Ctrl+O")
                .on_click(&keep, move || files.open_files()),
            button("Open folder\u{2026}").test("open-folder").on_click(&keep, move || folder.open_folder()),
            button("Jaeger\u{2026}")
                .test("jaeger-start")
                .attr("title", "Fetch traces from a Jaeger query service")
                .on_click(&keep, move || jaeger_dialog::open(page)),
            button("Paste")
                .test("paste")
                .attr("title", "Ctrl+V")
                .on_click(&keep, move || file_input::paste(page)),
            button("Demo traces").test("demo").on_click(&keep, move || file_input::load_demo(page)),
        ];
        let opened = settings::get(Store::Window, settings::OPENED).unwrap_or_default();
        let names: Vec<String> = opened.lines().map(str::to_owned).collect();
        let words = reopen_words(&names, false);
        let reopen = div("start-reopen").test("reopen");
        reopen.show(words.is_some());
        let line = el("p").text(words.as_deref().unwrap_or_default());
        reopen.add(&line);
        if words.is_some() {
            let again = button("Open again").class("primary").test("reopen-again");
            let pressed = again.clone();
            let again = again.on_click(&keep, move || {
                // Once is enough: a second click would read everything twice.
                pressed.set("disabled", "");
                let pressed = pressed.clone();
                spawn_local(async move {
                    page.open_again().await;
                    pressed.unset("disabled");
                });
            });
            let row = reopen.clone();
            spawn_local(async move {
                if files::can_come_back().await {
                    line.set_text(&reopen_words(&names, true).unwrap_or_default());
                    row.add(&again);
                }
            });
        }
        let field = div("start-field")
            .node(&icon("M2 3.5h3.5V8H9v4.5h5M5.5 3.5H14M9 8h5"))
            .child(&el("h1").text("See where the latency of your requests comes from."))
            .child(&el("p").text(
                "Drop traces of Jaeger, OpenTelemetry, Zipkin or Tempo, or summaries and saved reports of Pathlight, \
                 anywhere on this page: one file or thousands, folders and .gz too. They are read in this browser and \
                 sent nowhere.",
            ))
            .child(&div("buttons").children(&buttons))
            .child(&reopen);
        let element = el("main").class("start").test("start").child(&field);
        // Pictures are files, and index.html knows what they are called.
        if let Ok(Some(views)) = dom::document().query_selector(".start-views") {
            let _ = element.html().append_child(&views);
        }
        Start { element, reopen, _keep: keep }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }
}

impl PagePart for Start {
    fn update(&mut self, page: Page) {
        let none = page.queries().overview.get().is_none_or(|overview| overview.traces == 0);
        if !none {
            self.reopen.show(false);
        }
        let is_fetching = page.fetching().is_running();
        self.element
            .show(!page.loading().running && !is_fetching && none && !page.queries().overview.is_waiting());
    }
}
