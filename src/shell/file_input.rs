//! Everything that brings files in: the drop anywhere on the page, folders, the picker, the clipboard.

use crate::dom::{self, El, Listeners, button, div, el, span};
use crate::page::utilisation::table_in;
use crate::page::{Page, files};
use crate::pool::Input;
use crate::widgets::dialog;
use js_sys::{Promise, Reflect};
use pathlight_backend::source::DEMO;
use pathlight_base::format::counted;
use pathlight_engine::pool::UserError;
use pathlight_view::reading::intake::{Intake, pair};
use pathlight_view::views::View;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{ClipboardEvent, DataTransfer, DragEvent, File, HtmlInputElement};

/// Returns the text as a file of this name.
pub fn text_input(name: &str, text: &str) -> Option<Input> {
    Some(Input { name: name.to_owned(), blob: dom::text_blob(text, "application/json")? })
}

/// Listens for drops and pastes anywhere; returns the overlay that shows while something is dragged over the window.
pub fn overlay(page: Page, keep: &Listeners) -> El {
    let overlay = div("drop-overlay")
        .attr("role", "region")
        .attr("aria-label", "What to do with the files")
        .test("drop-overlay");
    overlay.show(false);

    let how = dom::How { active: true, ..dom::How::default() };
    let window = dom::window();
    // Every element under the pointer sends its own enter and leave.
    let inside = Rc::new(Cell::new(0_u32));
    let zones: Rc<RefCell<Vec<Zone>>> = Rc::default();
    let (shown, depth, made) = (overlay.clone(), inside.clone(), zones.clone());
    keep.add(dom::listen(&window, "dragenter", how, move |event| {
        if brings_something(&event) {
            event.prevent_default();
            depth.set(depth.get() + 1);
            if shown.html().hidden() {
                let zones = zones_of(page);
                shown.fill(zones.iter().map(|zone| &zone.card));
                made.replace(zones);
                shown.show(true);
            }
        }
    }));
    let over = zones.clone();
    keep.add(dom::listen(&window, "dragover", how, move |event| {
        if let Some(data) = transfer(&event).filter(|_| brings_something(&event)) {
            event.prevent_default();
            data.set_drop_effect("copy");
            let under = intake_under(page, &over.borrow(), &event);
            over.borrow().iter().for_each(|zone| zone.card.class_if("under", zone.intake == under));
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
        let under = intake_under(page, &zones.borrow(), &event);
        shown.show(false);
        let Some(data) = transfer(&event).filter(|_| brings_something(&event)) else { return };
        event.prevent_default();
        take(page, &data, under);
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

/// A part of the window to drop on; without anything loaded there is one for all of it.
struct Zone {
    card: El,
    intake: Option<Intake>,
}

fn zones_of(page: Page) -> Vec<Zone> {
    let zone = |key: &str, title: &str, hint: &str, intake: Option<Intake>| {
        let card = div("drop-card")
            .test(&format!("drop-{key}"))
            .node(&dom::icon("M8 2v8M4.5 6.5 8 10l3.5-3.5M2.5 13.5h11"))
            .child(&span("drop-title", title))
            .child(&span("muted", hint));
        Zone { card, intake }
    };
    let privacy = "Trace files, archives, whole folders. They are read here and sent nowhere.";
    page.intakes().map_or_else(
        || vec![zone("load", "Drop to load", privacy, None)],
        |intakes| {
            intakes.map(|intake| zone(intake.key(), intake.title(), intake.hint(), Some(intake))).into()
        },
    )
}

/// Returns what the place says that something is dragged over: a zone, or the box of side B below them.
fn intake_under(page: Page, zones: &[Zone], event: &web_sys::Event) -> Option<Intake> {
    let event = event.dyn_ref::<DragEvent>()?;
    let (x, y) = (f64::from(event.client_x()), f64::from(event.client_y()));
    let holds = |element: &web_sys::Element| {
        let place = element.get_bounding_client_rect();
        (place.left()..place.right()).contains(&x) && (place.top()..place.bottom()).contains(&y)
    };
    let asks = zones.iter().any(|zone| zone.intake.is_some());
    let box_of_b = dom::document().query_selector(".sides:not([hidden]) .side-b").ok().flatten();
    if asks && box_of_b.as_ref().is_some_and(holds) {
        return Some(Intake::on_side_b(page.has_both_sets()));
    }
    zones.iter().find(|zone| holds(zone.card.html())).and_then(|zone| zone.intake)
}

/// Takes what a person brings: where traces are loaded a table of utilisation is known by what is in it, and goes to the view that
/// shows it.
fn bring(page: Page, inputs: Vec<Input>, chosen: Option<Intake>) {
    if page.intakes().is_none() || inputs.len() != 1 {
        return load(page, inputs, chosen);
    }
    spawn_local(async move {
        match table_in(&inputs[0].blob).await {
            Some(table) => {
                page.give_utilisation(Some(table));
                page.show_capacity();
            }
            None => load(page, inputs, chosen),
        }
    });
}

/// Loads inputs: as was chosen; else, where others are loaded, after asking what to do with them.
pub fn load(page: Page, inputs: Vec<Input>, chosen: Option<Intake>) {
    match (chosen, page.intakes()) {
        _ if crate::broken::is_broken() => {}
        (None, None) if paired(&inputs).is_some() => propose_pair(page, inputs),
        (_, None) => page.open(inputs),
        (Some(intake), Some(_)) => page.take_in(inputs, intake),
        (None, Some(intakes)) if !inputs.is_empty() => ask(page, inputs, intakes),
        (None, Some(_)) => {}
    }
}

/// Returns which of two files that come together the other is to be compared with.
fn paired(inputs: &[Input]) -> Option<[usize; 2]> {
    match inputs {
        [one, other] => pair([&one.name, &other.name]),
        _ => None,
    }
}

/// Proposes to compare two files whose names say that they are before and after.
fn propose_pair(page: Page, inputs: Vec<Input>) {
    let Some([a, b]) = paired(&inputs) else { return page.open(inputs) };
    let keep = Listeners::default();
    let close = button("Cancel").class("quiet").test("ask-cancel");
    let head = div("dialog-head").child(&el("h2").text("Compare these files?")).child(&close);
    let choice = |title: &str, hint: &str, test: &str| {
        let choice = button("").class("ask-choice").test(test);
        choice.child(&span("drop-title", title)).child(&span("muted", hint))
    };
    let (first, second) = (inputs[a].clone(), inputs[b].clone());
    let words = format!("A is {}, B is {}.", first.name, second.name);
    let closed = close.clone();
    let compare = choice("Compare A with B", &words, "ask-pair").on_click(&keep, move || {
        page.open(vec![first.clone()]);
        page.take_in(vec![second.clone()], Intake::Compare);
        // What changed is the first finding.
        page.change(|address| address.view = View::Findings);
        closed.html().click();
    });
    compare.class_if("primary", true);
    let closed = close.clone();
    let together = choice("As one set", "Both files together.", "ask-together").on_click(&keep, move || {
        page.open(inputs.clone());
        closed.html().click();
    });
    let dialog = el("dialog").class("ask").test("ask").attr("aria-label", "What to do with these traces");
    let dialog = dialog.child(&head).child(&div("ask-choices").child(&compare).child(&together));
    dialog::open(&dialog, &close, keep);
}

/// Asks what to do with traces that come when others are loaded.
fn ask(page: Page, inputs: Vec<Input>, intakes: [Intake; 3]) {
    let keep = Listeners::default();
    let name = match inputs.as_slice() {
        [input] => input.name.clone(),
        several => counted(several.len() as u64, "file"),
    };
    let close = button("Cancel").class("quiet").test("ask-cancel");
    let head = div("dialog-head").child(&el("h2").text(&format!("Load {name}"))).child(&close);
    let inputs = Rc::new(RefCell::new(inputs));
    let buttons = intakes.map(|intake| {
        let (inputs, close) = (inputs.clone(), close.clone());
        button("")
            .class("ask-choice")
            .test(&format!("ask-{}", intake.key()))
            .child(&span("drop-title", intake.title()))
            .child(&span("muted", intake.hint()))
            .on_click(&keep, move || {
                page.take_in(inputs.take(), intake);
                close.html().click();
            })
    });
    let dialog = el("dialog").class("ask").test("ask").attr("aria-label", "What to do with these traces");
    let dialog = dialog.child(&head).child(&div("ask-choices").children(&buttons));
    dialog::open(&dialog, &close, keep);
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

/// Loads what is dropped or pasted.
fn take(page: Page, data: &DataTransfer, chosen: Option<Intake>) {
    // Entries and files must be asked for before the event is over.
    let items = data.items();
    let mut folders: Vec<Promise> = Vec::new();
    let mut files: Vec<File> = Vec::new();
    for at in 0..items.length() {
        let Some(item) = items.get(at).filter(|item| item.kind() == "file") else { continue };
        match files::folder(&item) {
            Some(folder) => folders.push(folder),
            None => files.extend(item.get_as_file().ok().flatten()),
        }
    }
    if folders.is_empty() && files.is_empty() {
        match data.get_data("text/plain") {
            Ok(text) if !text.trim().is_empty() => {
                bring(page, text_input("pasted text", &text).into_iter().collect(), chosen);
            }
            _ => page.fail(UserError {
                message: "What was dropped or pasted has neither files nor text.".to_owned(),
                detail: String::new(),
                next_step: "Drop or paste trace files, folders of them, or the JSON itself.".to_owned(),
            }),
        }
        return;
    }
    let is_looking = Rc::new(Cell::new(!folders.is_empty()));
    if is_looking.get() {
        spawn_local(count_files(page, is_looking.clone()));
    }
    spawn_local(async move {
        let mut inputs: Vec<Input> =
            files.into_iter().map(|file| Input { name: file.name(), blob: file.into() }).collect();
        let mut unreadable = Vec::new();
        let mut was_ended = false;
        for folder in folders {
            match files::files_below(folder).await {
                Some((found, failed)) => {
                    inputs.extend(found);
                    unreadable.extend(failed);
                }
                None => was_ended = true,
            }
        }
        if is_looking.take() {
            page.set_found_files(None);
        }
        if was_ended {
            return;
        }
        inputs.sort_by(|a, b| a.name.cmp(&b.name));
        if !unreadable.is_empty() || inputs.is_empty() {
            page.fail(UserError {
                message: if unreadable.is_empty() {
                    "The folder is empty."
                } else {
                    "Part of what was dropped cannot be read."
                }
                .to_owned(),
                detail: unreadable.join("\n"),
                next_step: "Check that it still exists and may be read, or use \u{201c}Open folder\u{201d}."
                    .to_owned(),
            });
        }
        bring(page, inputs, chosen);
    });
}

/// Interval at which the count of files is brought up to date; a shorter scan is not worth one.
const COUNT_MS: i32 = 250;

/// Shows how many files were found so far, as long as folders are looked into.
async fn count_files(page: Page, is_looking: Rc<Cell<bool>>) {
    dom::pause(COUNT_MS).await;
    while is_looking.get() {
        page.set_found_files(Some(files::found()));
        dom::pause(COUNT_MS).await;
    }
}

/// The pickers of files and of a folder: two inputs out of sight.
#[derive(Clone)]
pub struct Picker {
    files: El,
    folder: El,
    /// Default use of the picked files, unless something else was asked for.
    chosen: Option<Intake>,
    /// Use of the files picked next.
    next: Rc<Cell<Option<Intake>>>,
    page: Page,
}

impl Picker {
    /// Creates both inputs; with `chosen` nothing is asked about what is picked.
    pub fn new(page: Page, keep: &Listeners, chosen: Option<Intake>) -> Picker {
        let next: Rc<Cell<Option<Intake>>> = Rc::new(Cell::new(chosen));
        let input = |name: &str| {
            let name = chosen.map_or(name.to_owned(), |chosen| format!("{name}-{}", chosen.key()));
            let next = next.clone();
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
                inputs.sort_by(|a, b| a.name.cmp(&b.name));
                bring(page, inputs, next.replace(chosen));
            })
        };
        let (files, folder) = (input("file-input"), input("folder-input").attr("webkitdirectory", ""));
        Picker { page, files, folder, chosen, next }
    }

    /// Returns the inputs, to be put into the page.
    pub fn elements(&self) -> [&El; 2] {
        [&self.files, &self.folder]
    }

    /// Asks for files.
    pub fn open_files(&self) {
        // A picker that was closed without a choice leaves what was asked for then.
        self.ask(self.chosen);
    }

    /// Asks for files to do this with.
    pub fn open_files_to(&self, intake: Intake) {
        self.ask(Some(intake));
    }

    /// Asks for files that can come back after a reload, where the browser can do that.
    fn ask(&self, intake: Option<Intake>) {
        self.next.set(intake);
        let (page, files) = (self.page, self.files.clone());
        spawn_local(async move {
            match files::pick().await {
                Some(mut inputs) => {
                    inputs.sort_by(|a, b| a.name.cmp(&b.name));
                    if !inputs.is_empty() {
                        bring(page, inputs, intake);
                    }
                }
                None => files.html().click(),
            }
        });
    }

    /// Asks for a folder.
    pub fn open_folder(&self) {
        self.next.set(self.chosen);
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
                bring(page, text_input("pasted text", &text).into_iter().collect(), None);
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

/// Loads the demo traces, which a worker writes; the address names them unless others are loaded already.
pub fn load_demo(page: Page) {
    spawn_local(async move {
        match page.pool().demo().await {
            Ok(blob) => {
                let inputs = vec![Input { name: "demo.json".to_owned(), blob }];
                if page.intakes().is_some() {
                    return load(page, inputs, None);
                }
                page.amend(|address| address.source.files = vec![DEMO.to_owned()]);
                // They are here: the address asks for nothing more.
                page.fetching().cancel(page);
                page.load(inputs);
            }
            Err(detail) => page.fail(UserError {
                message: "The demo traces could not be loaded.".to_owned(),
                detail,
                next_step: "Reload the page, or drop traces of your own.".to_owned(),
            }),
        }
    });
}
