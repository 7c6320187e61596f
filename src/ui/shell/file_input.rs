//! Everything that brings files in: the drop anywhere on the page, folders, the picker, the clipboard.

use crate::pool::{Input, UserError};
use crate::ui::dom;
use crate::ui::dom::{El, Keep, div, el, span};
use crate::ui::page::Page;
use js_sys::{Array, Promise, Reflect};
use pathlight_model::sort::Arrange;
use pathlight_view::comparing::Side;
use std::cell::Cell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    Blob, BlobPropertyBag, ClipboardEvent, DataTransfer, DragEvent, File, FileSystemDirectoryEntry,
    FileSystemEntry, FileSystemFileEntry, HtmlInputElement,
};

/// Text as a file of this name.
pub fn text_input(name: &str, text: &str) -> Option<Input> {
    let options = BlobPropertyBag::new();
    options.set_type("application/json");
    let parts = Array::of1(&JsValue::from_str(text));
    let blob = Blob::new_with_str_sequence_and_options(&parts, &options).ok()?;
    Some(Input { name: name.to_owned(), blob })
}

/// Listens for drops and pastes anywhere; returns the overlay that shows while something is dragged over the window.
pub fn overlay(page: Page, keep: &Keep) -> El {
    let card = |class: &str, title: &str| {
        div(class)
            .node(&dom::icon("M8 2v8M4.5 6.5 8 10l3.5-3.5M2.5 13.5h11"))
            .child(&span("drop-title", title))
            .child(&span(
                "muted",
                "Trace files, archives, whole folders. They are read here and sent nowhere.",
            ))
    };
    let one = card("drop-card", "Drop to load");
    let [a, b] = Side::BOTH.map(|side| {
        let name = side.name();
        card(&format!("drop-card side-{}", name.to_lowercase()), &format!("Drop to add to {name}"))
    });
    let overlay = div("drop-overlay").test("drop-overlay").children([&one, &a, &b]);
    overlay.show(false);

    let how = dom::How { active: true, ..dom::How::default() };
    let window = dom::window();
    // Every element under the pointer sends its own enter and leave.
    let inside = Rc::new(Cell::new(0_u32));
    let (shown, depth) = (overlay.clone(), inside.clone());
    let cards = [one, a, b];
    keep.add(dom::listen(&window, "dragenter", how, move |event| {
        if brings_something(&event) {
            event.prevent_default();
            depth.set(depth.get() + 1);
            let two = page.takes_sides();
            cards.iter().zip([!two, two, two]).for_each(|(card, on)| card.show(on));
            shown.show(true);
        }
    }));
    let over = overlay.clone();
    keep.add(dom::listen(&window, "dragover", how, move |event| {
        if let Some(data) = transfer(&event).filter(|_| brings_something(&event)) {
            event.prevent_default();
            data.set_drop_effect("copy");
            over.set("data-side", side_under(&event).name());
        }
    }));
    let (shown, depth) = (overlay.clone(), inside.clone());
    keep.add(dom::listen(&window, "dragleave", how, move |_| {
        depth.set(depth.get().saturating_sub(1));
        shown.show(depth.get() > 0);
    }));
    let shown = overlay.clone();
    keep.add(dom::listen(&window, "drop", how, move |event| {
        inside.set(0);
        shown.show(false);
        let Some(data) = transfer(&event).filter(|_| brings_something(&event)) else { return };
        event.prevent_default();
        take(page, &data, page.takes_sides().then(|| side_under(&event)));
    }));
    keep.add(dom::listen(&dom::document(), "paste", how, move |event| {
        let Some(data) = event.dyn_ref::<ClipboardEvent>().and_then(ClipboardEvent::clipboard_data) else {
            return;
        };
        if !dom::is_typing(&event) {
            event.prevent_default();
            take(page, &data, None);
        }
    }));
    overlay
}

fn transfer(event: &web_sys::Event) -> Option<DataTransfer> {
    event.dyn_ref::<DragEvent>()?.data_transfer()
}

/// Files or text, and not a link or chart of the page itself.
fn brings_something(event: &web_sys::Event) -> bool {
    transfer(event).is_some_and(|data| {
        data.types()
            .iter()
            .any(|kind| kind.as_string().is_some_and(|kind| kind == "Files" || kind == "text/plain"))
    })
}

/// The half of the window that something is dragged over: the left one is side A.
fn side_under(event: &web_sys::Event) -> Side {
    let x = event.dyn_ref::<DragEvent>().map_or(0, |event| event.client_x());
    let width = dom::window().inner_width().ok().and_then(|width| width.as_f64()).unwrap_or(0.0);
    if f64::from(x) * 2.0 < width { Side::A } else { Side::B }
}

/// Loads what is dropped or pasted, to a side if two sets are compared.
fn take(page: Page, data: &DataTransfer, side: Option<Side>) {
    let load = move |page: Page, inputs: Vec<Input>| match side {
        Some(side) => page.load_side(inputs, side),
        None => page.load(inputs),
    };
    // Entries and files must be asked for before the event is over.
    let items = data.items();
    let mut entries: Vec<FileSystemEntry> = Vec::new();
    let mut files: Vec<File> = Vec::new();
    for at in 0..items.length() {
        let Some(item) = items.get(at).filter(|item| item.kind() == "file") else { continue };
        match item.webkit_get_as_entry() {
            // Only folders by their entries: a page from a disk may read the files, but not what entries lead to.
            Ok(Some(entry)) if entry.is_directory() => entries.push(entry),
            _ => files.extend(item.get_as_file().ok().flatten()),
        }
    }
    if entries.is_empty() && files.is_empty() {
        match data.get_data("text/plain") {
            Ok(text) if !text.trim().is_empty() => {
                load(page, text_input("pasted text", &text).into_iter().collect());
            }
            _ => page.fail(UserError {
                message: "There were neither files nor text in it.".to_owned(),
                detail: String::new(),
                next_step: "Drop or paste trace files, folders of them, or the JSON itself.".to_owned(),
            }),
        }
        return;
    }
    spawn_local(async move {
        let mut inputs: Vec<Input> =
            files.into_iter().map(|file| Input { name: file.name(), blob: file.into() }).collect();
        let unreadable = walk(entries, &mut inputs).await;
        inputs.arrange_by(|a, b| a.name.cmp(&b.name));
        if !unreadable.is_empty() || inputs.is_empty() {
            page.fail(UserError {
                message: if unreadable.is_empty() {
                    "The folder is empty."
                } else {
                    "Part of what was dropped cannot be read."
                }
                .to_owned(),
                detail: unreadable.join("\n"),
                next_step: if dom::window().location().protocol().is_ok_and(|protocol| protocol == "file:") {
                    "A page opened from a disk may not look into dropped folders: use \u{201c}Open folder\u{201d}."
                } else {
                    "Check that the files still exist and may be read."
                }
                .to_owned(),
            });
        }
        load(page, inputs);
    });
}

/// Adds every file at or below the entries; tells what could not be read. Hidden files of folders are left out.
async fn walk(mut waiting: Vec<FileSystemEntry>, inputs: &mut Vec<Input>) -> Vec<String> {
    let mut unreadable = Vec::new();
    while let Some(entry) = waiting.pop() {
        let path = entry.full_path();
        let name = path.trim_start_matches('/').to_owned();
        if entry.is_file() {
            let entry: FileSystemFileEntry = entry.unchecked_into();
            let promise = Promise::new(&mut |resolve, reject| {
                entry.file_with_callback_and_callback(&resolve, &reject);
            });
            match JsFuture::from(promise).await {
                Ok(file) => inputs.push(Input { name, blob: file.unchecked_into() }),
                Err(_) => unreadable.push(name),
            }
            continue;
        }
        let folder: FileSystemDirectoryEntry = entry.unchecked_into();
        let reader = folder.create_reader();
        // A call gives some hundred entries; the end is an empty one.
        loop {
            let promise = Promise::new(&mut |resolve, reject| {
                let _ = reader.read_entries_with_callback_and_callback(&resolve, &reject);
            });
            match JsFuture::from(promise).await {
                Ok(some) => {
                    let some: Array = some.unchecked_into();
                    if some.length() == 0 {
                        break;
                    }
                    let some = some.iter().map(JsCast::unchecked_into::<FileSystemEntry>);
                    waiting.extend(some.filter(|entry| !entry.name().starts_with('.')));
                }
                Err(_) => {
                    unreadable.push(name);
                    break;
                }
            }
        }
    }
    unreadable
}

/// The pickers of files and of a folder: two inputs out of sight.
#[derive(Clone)]
pub struct Picker {
    files: El,
    folder: El,
}

impl Picker {
    /// Both inputs; what is chosen goes to `side`, which begins a comparison of sets, or to what is looked at.
    pub fn new(page: Page, keep: &Keep, side: Option<Side>) -> Picker {
        let input = |name: &str| {
            let name = side.map_or(name.to_owned(), |side| format!("{name}-{}", side.name().to_lowercase()));
            let input = el("input").attr("type", "file").attr("multiple", "").attr("hidden", "").test(&name);
            let field = input.clone();
            input.on(keep, "change", move |_| {
                let Some(field) = field.as_kind::<HtmlInputElement>() else { return };
                let mut inputs = Vec::new();
                if let Some(files) = field.files() {
                    for file in (0..files.length()).filter_map(|at| files.get(at)) {
                        let path = Reflect::get(&file, &"webkitRelativePath".into())
                            .ok()
                            .and_then(|p| p.as_string());
                        let name = path.filter(|path| !path.is_empty()).unwrap_or_else(|| file.name());
                        let hidden = name.split('/').any(|part| part.starts_with('.'));
                        if !hidden || !name.contains('/') {
                            inputs.push(Input { name, blob: file.into() });
                        }
                    }
                }
                // The same file may be chosen again.
                field.set_value("");
                inputs.arrange_by(|a, b| a.name.cmp(&b.name));
                match side {
                    Some(side) => page.load_side(inputs, side),
                    None => page.load(inputs),
                }
            })
        };
        Picker { files: input("file-input"), folder: input("folder-input").attr("webkitdirectory", "") }
    }

    /// The inputs, to be put into the page.
    pub fn elements(&self) -> [&El; 2] {
        [&self.files, &self.folder]
    }

    /// Asks for files.
    pub fn open_files(&self) {
        self.files.html().click();
    }

    /// Asks for a folder.
    pub fn open_folder(&self) {
        self.folder.html().click();
    }
}

/// Loads what is in the clipboard; where the browser does not let a button do that, says what does.
pub fn paste(page: Page) {
    spawn_local(async move {
        let text = async {
            let navigator = dom::window().navigator();
            let clipboard = Reflect::get(&navigator, &"clipboard".into())?;
            let read = Reflect::get(&clipboard, &"readText".into())?.dyn_into::<js_sys::Function>()?;
            let promise = read.call0(&clipboard)?.dyn_into::<Promise>()?;
            JsFuture::from(promise).await
        };
        match text.await.ok().and_then(|text| text.as_string()) {
            Some(text) if !text.trim().is_empty() => {
                page.load(text_input("pasted text", &text).into_iter().collect());
            }
            Some(_) => page.fail(UserError {
                message: "The clipboard holds no text.".to_owned(),
                detail: String::new(),
                next_step: "Copy the JSON of a trace, then paste.".to_owned(),
            }),
            None => page.fail(UserError {
                message: "This browser does not let a button read the clipboard.".to_owned(),
                detail: String::new(),
                next_step: "Press Ctrl+V (Command+V on a Mac) anywhere on the page.".to_owned(),
            }),
        }
    });
}

/// Loads the demo traces, which a worker writes.
pub fn load_demo(page: Page) {
    spawn_local(async move {
        match page.pool().demo().await {
            Ok(blob) => page.load(vec![Input { name: "demo.json".to_owned(), blob }]),
            Err(detail) => page.fail(UserError {
                message: "The demo traces could not be loaded.".to_owned(),
                detail,
                next_step: "Reload the page, or drop traces of your own.".to_owned(),
            }),
        }
    });
}
