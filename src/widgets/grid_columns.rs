//! Lets a person resize, show and hide the columns of a table, and keeps these choices in the settings.

use super::grid::TableGrid;
use super::popover::Popover;
use crate::dom::{self, El, Listeners, button, div, el, icon, span};
use crate::settings::{self, Store};
use pathlight_view::table::{ColumnChoices, Head};
use std::cell::Cell;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{KeyboardEvent, PointerEvent};

/// Width of the last head, which holds the menu, in CSS pixels.
pub const MENU_PX: f64 = 24.0;

/// Distance that a key moves the edge of a column, in CSS pixels.
const STEP_PX: f64 = 16.0;

/// Returns what was chosen of the columns of a table.
pub fn load(table: &str) -> ColumnChoices {
    let text = settings::get(Store::Browser, &format!("{}{table}", settings::COLUMNS));
    ColumnChoices::parse(&text.unwrap_or_default())
}

/// Keeps the choices in the browser.
pub fn save(table: &str, choices: &ColumnChoices) {
    settings::put(Store::Browser, &format!("{}{table}", settings::COLUMNS), &choices.to_string());
}

/// Returns the edge of a head that is dragged.
pub fn grip(head: &Head) -> El {
    span("grip", "")
        .attr("data-grip", head.key)
        .attr("aria-hidden", "true")
        .attr("title", "Drag to make the column wider; double click for its own width; Alt+\u{2190} and Alt+\u{2192} on its head")
}

/// The menu of all columns, in the last head.
pub struct ColumnMenu {
    element: El,
    items: Vec<El>,
}

impl ColumnMenu {
    /// Builds the menu that shows and hides the columns of a table.
    pub fn new<'a>(keep: &Listeners, heads: impl Iterator<Item = &'a Head>) -> ColumnMenu {
        let item = |head: &Head| {
            button(head.title)
                .attr("role", "menuitemcheckbox")
                .attr("aria-checked", "true")
                .attr("title", head.hint)
                .attr("data-choose", head.key)
                .attr("data-own-enter", "")
                .test(&format!("column-{}", head.key))
        };
        let items: Vec<El> = heads.map(item).collect();
        let open = button("")
            .class("quiet")
            .label("Columns")
            .test("columns")
            .attr("data-own-enter", "")
            .node(&icon("M3 8h.1M8 8h.1M13 8h.1"));
        let panel = div("popover menu");
        let menu = Popover::menu(keep, open.clone(), panel.clone(), &items);
        let button = open.clone();
        // Fixed in the window: a table is scrolled, and a panel in it would be cut. After the menu has opened itself.
        let _ = open.on_click(keep, move || {
            let below = button.html().get_bounding_client_rect().bottom() + 4.0;
            let window = dom::root().map_or(0.0, |root| f64::from(root.client_height()));
            let top = below.min(window - panel.size().1 - 8.0).max(8.0);
            panel.style("top", &format!("{top}px"));
        });
        let element = el("th").class("columns-menu").child(menu.element());
        ColumnMenu { element, items }
    }

    /// Returns the head that holds it.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Marks the columns that are shown.
    pub fn update(&self, shown: &[bool]) {
        self.items.iter().zip(shown).for_each(|(item, shown)| item.set_flag("aria-checked", *shown));
    }
}

/// The drag under way: the key of the column, its width then, and where the pointer went down.
type Dragged = Option<(String, f64, f64)>;

/// Follows what is pressed and dragged in the head of a table.
pub fn listen(grid: &Rc<TableGrid>) {
    let (table, keep) = grid.head();
    let weak = Rc::downgrade(grid);
    let dragged: Rc<Cell<Dragged>> = Rc::default();
    let how = dom::How { active: true, ..dom::How::default() };
    let (at, down) = (weak.clone(), dragged.clone());
    keep.add(dom::listen(table.html(), "pointerdown", how, move |event| {
        if let (Some(grid), Some(pointer)) = (at.upgrade(), event.dyn_ref::<PointerEvent>())
            && let Some((edge, key)) = dom::closest(&event, "data-grip")
        {
            event.prevent_default();
            let _ = edge.set_pointer_capture(pointer.pointer_id());
            down.set(Some((key.clone(), grid.width_of(&key), f64::from(pointer.client_x()))));
        }
    }));
    let (at, moved) = (weak.clone(), dragged.clone());
    keep.add(dom::listen(table.html(), "pointermove", how, move |event| {
        let held = moved.take();
        if let (Some(grid), Some(pointer), Some((key, width, from))) =
            (at.upgrade(), event.dyn_ref::<PointerEvent>(), held)
        {
            let to = width + f64::from(pointer.client_x()) - from;
            grid.try_columns(|choices| choices.widen(&key, to));
            moved.set(Some((key, width, from)));
        }
    }));
    for end in ["pointerup", "pointercancel"] {
        let (at, up) = (weak.clone(), dragged.clone());
        keep.add(dom::listen(table.html(), end, how, move |_| {
            if let (Some(_), Some(grid)) = (up.take(), at.upgrade()) {
                grid.keep_columns();
            }
        }));
    }
    let at = weak.clone();
    keep.add(dom::listen(table.html(), "dblclick", how, move |event| {
        if let (Some(grid), Some((_, key))) = (at.upgrade(), dom::closest(&event, "data-grip")) {
            grid.choose_columns(|choices| choices.unwiden(&key));
        }
    }));
    let at = weak.clone();
    keep.add(dom::listen(table.html(), "click", how, move |event| {
        if let (Some(grid), Some((item, key))) = (at.upgrade(), dom::closest(&event, "data-choose")) {
            let is_shown = item.get_attribute("aria-checked").as_deref() == Some("true");
            grid.choose_columns(|choices| choices.show(&key, !is_shown));
        }
    }));
    let at = weak;
    keep.add(dom::listen(table.html(), "keydown", how, move |event| {
        let Some(key) = event.dyn_ref::<KeyboardEvent>().filter(|key| key.alt_key()) else { return };
        let by = match key.key().as_str() {
            "ArrowLeft" => -STEP_PX,
            "ArrowRight" => STEP_PX,
            _ => return,
        };
        let head = event.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        let head = head.and_then(|target| target.closest("th[data-column]").ok().flatten());
        if let (Some(grid), Some(column)) =
            (at.upgrade(), head.and_then(|head| head.get_attribute("data-column")))
        {
            event.prevent_default();
            let to = grid.width_of(&column) + by;
            grid.choose_columns(|choices| choices.widen(&column, to));
        }
    }));
}
