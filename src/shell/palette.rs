//! The command palette: every command, view, button in sight, service and endpoint by its name.

use super::{about, keys, notes, share};
use crate::dom::{self, El, Listeners, button, div, el, span};
use crate::page::{Focus, Page};
use crate::shell::file_input::{self, Picker};
use crate::shell::jaeger_dialog;
use crate::shell::saved_report::Origin;
use crate::shell::selection_bar::look_at;
use crate::widgets::dialog;
use crate::widgets::pick_list::{Pick, PickList};
use pathlight_base::format::printable;
use pathlight_engine::requests::{PercentileRange, RootEndpoint};
use pathlight_trace::Endpoint;
use pathlight_view::address::{Address, ThemeChoice};
use pathlight_view::keys::{KeyCommand, view_hint};
use pathlight_view::palette::{Item, PaletteKind, found};
use pathlight_view::reading::intake::Intake;
use pathlight_view::views::View;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

/// Places of buttons that do something with what is in sight, be it in a menu.
const BUTTONS: &str = ".tools, .section-head, .context, .top .menu";

/// Parts that the palette needs to do everything.
#[derive(Clone)]
pub struct Palette {
    page: Page,
    picker: Picker,
    origin: Origin,
}

/// An entry and what it does; `true` where Shift was held.
struct Entry {
    item: Item,
    run: Box<dyn Fn(bool)>,
}

/// The entries in their order.
#[derive(Default)]
struct Entries(Vec<Entry>);

impl Entries {
    fn add(&mut self, kind: PaletteKind, name: &str, detail: &str, run: impl Fn(bool) + 'static) {
        self.0.push(Entry { item: Item::new(kind, name, detail), run: Box::new(run) });
    }

    fn command(&mut self, name: &str, keys: &str, run: impl Fn() + 'static) {
        self.add(PaletteKind::Command, name, keys, move |_| run());
    }
}

impl Palette {
    /// Returns a palette that opens files with this picker and saves as this origin does.
    pub fn new(page: Page, picker: &Picker, origin: &Origin) -> Palette {
        Palette { page, picker: picker.clone(), origin: origin.clone() }
    }

    fn entries(&self) -> Vec<Entry> {
        let mut entries = Entries::default();
        self.loading(&mut entries);
        if self.page.has_data() {
            self.showing(&mut entries);
        }
        let page = self.page;
        for (theme, name) in [
            (ThemeChoice::System, "Colours: as the system"),
            (ThemeChoice::Light, "Colours: light"),
            (ThemeChoice::Dark, "Colours: dark"),
        ] {
            entries.command(name, "", move || page.change(|address| address.theme = theme));
        }
        entries.command("Help: this view, keys, words", "?", move || keys::show_help(page, None));
        entries.command("About: version, third-party notices", "", about::show);
        if page.has_data() {
            for (at, view) in View::ALL.into_iter().enumerate() {
                let hint = view_hint(view, at);
                entries.add(PaletteKind::View, view.name(), &hint, move |_| {
                    page.change(|address| address.view = view);
                });
            }
        }
        buttons(&mut entries);
        self.loaded(&mut entries);
        entries.0
    }

    /// Commands that bring traces in, and out.
    fn loading(&self, entries: &mut Entries) {
        let page = self.page;
        let picker = self.picker.clone();
        entries.command("Open files\u{2026}", "Ctrl+O", move || picker.open_files());
        let picker = self.picker.clone();
        entries.command("Open a folder\u{2026}", "", move || picker.open_folder());
        entries.command("Fetch from Jaeger or Tempo\u{2026}", "", move || jaeger_dialog::open(page));
        entries.command("Paste traces", "Ctrl+V", move || file_input::paste(page));
        entries.command("Load the demo traces", "", move || file_input::load_demo(page));
        for intake in page.intakes().into_iter().flatten() {
            let picker = self.picker.clone();
            let name = match intake {
                Intake::Compare => "Compare with files as B\u{2026}",
                Intake::Add => "Add files\u{2026}",
                Intake::AddTo(side) if side.name() == "A" => "Add files to A\u{2026}",
                Intake::AddTo(_) => "Add files to B\u{2026}",
                Intake::Replace => "Replace what is loaded by files\u{2026}",
            };
            entries.command(name, intake.hint(), move || picker.open_files_to(intake));
        }
        if page.undoable().is_some() {
            entries.command("Undo", "What was done last to what is loaded", move || page.undo());
        }
        if page.has_data() {
            let origin = self.origin.clone();
            entries.command("Save report", "One file with these traces and their findings", move || {
                origin.open(page)
            });
            let origin = self.origin.clone();
            let copy = "An address of this view, and what it needs elsewhere";
            entries.command("Copy link", copy, move || share::open(page, &origin));
            entries.command("Clear", "Remove everything that is loaded", move || page.clear());
        }
    }

    /// Commands about what is shown.
    fn showing(&self, entries: &mut Entries) {
        let page = self.page;
        entries.command(
            "Compare the faster half with the tail",
            "Percentile ranges of these traces",
            move || {
                page.change(Address::compare_ranges);
            },
        );
        if page.address().comparison.is_some() {
            entries.command("Swap sides", "A and B", move || page.change(Address::swap_sides));
            entries.command("Stop comparing", "", move || page.stop_comparing());
        }
        entries.command("Look at all requests", "The root of every trace", move || {
            look_at(page, RootEndpoint::TraceRoots);
        });
        entries.command("Remove the percentile range", "", move || {
            page.change(|address| address.range = PercentileRange::ALL);
        });
        let quality = "What is missing or wrong in the data, and how it is read";
        entries.command("Show data quality", quality, move || notes::show(page));
        for (command, name, keys) in [
            (KeyCommand::Search, "Search", "/"),
            (KeyCommand::NextMatch, "Next match", "N"),
            (KeyCommand::PreviousMatch, "Previous match", "Shift+N"),
            (KeyCommand::ZoomIn, "Zoom in", "W"),
            (KeyCommand::ZoomOut, "Zoom out", "S"),
            (KeyCommand::Fit, "Show all", "F"),
            (KeyCommand::Invert, "Invert the flame graph", "I"),
            (KeyCommand::Leave, "Unselect", "Esc"),
        ] {
            entries.command(name, keys, move || {
                page.command(command);
            });
        }
    }

    /// Services, endpoints and tags.
    fn loaded(&self, entries: &mut Entries) {
        let page = self.page;
        let Some(overview) = page.overview_in_sight() else { return };
        let mut services: Vec<&str> =
            overview.endpoints.iter().map(|endpoint| endpoint.service.as_str()).collect();
        services.sort();
        services.dedup();
        for service in services {
            let text = service.to_owned();
            entries.add(PaletteKind::Service, service, "Search for it", move |_| {
                page.step(|address| address.search = text.clone());
            });
        }
        for tag in overview.tag_keys.iter().filter(|tag| !tag.high_cardinality) {
            let key = tag.key.clone();
            entries.add(PaletteKind::Tag, &tag.key, "Split by its values", move |_| {
                page.change(|address| {
                    address.split.key = Some(key.clone());
                    address.view = View::Split;
                });
            });
        }
        for endpoint in &overview.endpoints {
            let chosen = Endpoint::new(&endpoint.service, &endpoint.operation);
            entries.add(PaletteKind::Endpoint, &endpoint.operation, &endpoint.service, move |shift| {
                if shift {
                    look_at(page, RootEndpoint::Endpoint(chosen.clone()));
                } else {
                    page.set_focus(Focus::Endpoint(chosen.clone()));
                }
            });
        }
    }

    /// Opens it.
    pub fn open(&self) {
        let keep = Listeners::default();
        let list = PickList::new("palette-list", "Command, view, service, endpoint or tag", "Commands");
        list.field.set("data-test", "palette-field");
        let close = button("Close").class("quiet").test("palette-close");
        let help =
            span("muted small", "Enter runs or selects; Shift+Enter on an endpoint looks at its requests");
        let entries = Rc::new(self.entries());
        let items: Vec<Item> = entries.iter().map(|entry| entry.item.clone()).collect();
        let shown: Rc<RefCell<Vec<usize>>> = Rc::default();
        let fill = {
            let (list, shown) = (list.clone(), shown.clone());
            move || {
                let places = found(&items, &list.text());
                list.clear();
                for item in places.iter().filter_map(|at| items.get(*at)) {
                    list.add(row(item));
                }
                if places.is_empty() {
                    list.rows
                        .add(&div("muted pad").attr("role", "presentation").text("Nothing has this name."));
                }
                shown.replace(places);
                list.activate(0);
            }
        };
        fill();
        let done = close.clone();
        list.listen(&keep, move |pick| match pick {
            Pick::Typed => fill(),
            Pick::Left => done.html().click(),
            Pick::Chosen(at, shift) => {
                let entry = shown.borrow().get(at).copied().and_then(|at| entries.get(at).map(|_| at));
                if let Some(at) = entry {
                    // Closed first: a dialog or a picker that opens is not under it.
                    done.html().click();
                    (entries[at].run)(shift);
                }
            }
        });
        let head = div("dialog-head").child(&list.field).child(&close);
        let dialog = el("dialog").class("palette").test("palette").attr("aria-label", "Commands");
        let dialog = dialog.child(&head).child(&list.rows).child(&div("palette-help").child(&help));
        dialog::open(&dialog, &close, keep);
        list.field.focus();
    }
}

/// Adds the buttons in sight and the entries of their menus, except buttons whose name an earlier entry begins with.
fn buttons(entries: &mut Entries) {
    let all = dom::document().get_elements_by_tag_name("button");
    for button in (0..all.length()).filter_map(|at| all.item(at)?.dyn_into::<HtmlElement>().ok()) {
        let Some(name) = button_name(&button) else { continue };
        let plain = name.trim_end_matches('\u{2026}').to_lowercase();
        if !entries.0.iter().any(|entry| entry.item.name.to_lowercase().starts_with(&plain)) {
            let detail = button.get_attribute("title").unwrap_or_default();
            entries.add(PaletteKind::Button, &name, &detail, move |_| button.click());
        }
    }
}

/// Returns what a button is called, behind its group or menu: `Export: PNG image`; `None` for one that cannot be pressed
/// now, or that opens what is listed itself.
fn button_name(button: &HtmlElement) -> Option<String> {
    let around = |places: &str| button.closest(places).ok().flatten();
    around(BUTTONS)?;
    let menu = match around(".popover") {
        Some(panel) if panel.get_attribute("role").as_deref() == Some("menu") => {
            Some(panel.previous_element_sibling()?.dyn_into::<HtmlElement>().ok()?)
        }
        Some(_) => return None,
        None => None,
    };
    let is_shown = !button.hidden() && menu.as_ref().unwrap_or(button).offset_parent().is_some();
    let is_out = ["disabled", "data-word", "aria-haspopup"].iter().any(|mark| button.has_attribute(mark));
    if !is_shown || is_out || button.get_attribute("data-test").as_deref() == Some("commands") {
        return None;
    }
    let words = |of: &HtmlElement| of.inner_text().lines().next().unwrap_or_default().trim().to_owned();
    // A button with a picture alone has another name, and its key behind it.
    let label = || Some(button.get_attribute("aria-label")?.split(" (").next()?.to_owned());
    // An entry out of sight has no lines: what stands beside its name would run into it.
    let first = menu.as_ref().and_then(|_| button.first_element_child()?.text_content());
    let first = first.filter(|words| !words.is_empty());
    let name = first.or_else(|| Some(words(button)).filter(|words| !words.is_empty())).or_else(label)?;
    let group = || around("[role=group]")?.get_attribute("aria-label");
    let opener = menu.map(|opener| match words(&opener) {
        words if words.is_empty() => opener.get_attribute("aria-label").unwrap_or_default(),
        words => words,
    });
    let group = opener.or_else(group).filter(|group| !group.is_empty());
    Some(group.map_or_else(|| name.clone(), |group| format!("{group}: {name}")))
}

fn row(item: &Item) -> El {
    div("palette-row")
        .test("palette-entry")
        .attr("data-kind", item.kind.name())
        .child(&span("palette-kind muted", item.kind.name()))
        .child(&span("palette-name", &printable(&item.name)))
        .child(&span("palette-detail muted", &printable(&item.detail)))
}
