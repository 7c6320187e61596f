//! A field with a list under it from which one row is picked: by typing, with arrows and Enter, or with a click.

use crate::dom::{self, El, Listeners, div, el};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{HtmlInputElement, KeyboardEvent};

/// Action of a person in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Typed: the list is to be filled anew.
    Typed,
    /// Chose the option of this place, with Shift or without.
    Chosen(usize, bool),
    /// Pressed Escape.
    Left,
}

/// The field and its list; cloning shares them.
#[derive(Clone)]
pub struct PickList {
    /// The field to type in.
    pub field: El,
    /// The list.
    pub rows: El,
    id: &'static str,
    options: Rc<RefCell<Vec<El>>>,
    active: Rc<Cell<usize>>,
}

impl PickList {
    /// Returns a field of this placeholder and name, and an empty list; `id` is unique in the page.
    pub fn new(id: &'static str, placeholder: &str, label: &str) -> PickList {
        let field = el("input")
            .attr("type", "search")
            .attr("placeholder", placeholder)
            .attr("aria-label", label)
            .attr("spellcheck", "false")
            .attr("autocomplete", "off")
            .attr("role", "combobox")
            .attr("aria-autocomplete", "list")
            .attr("aria-expanded", "false")
            .attr("aria-controls", id);
        let rows = div("pick-rows").attr("role", "listbox").attr("id", id).attr("aria-label", label);
        PickList { field, rows, id, options: Rc::default(), active: Rc::default() }
    }

    /// Tells what a person does.
    pub fn listen(&self, keep: &Listeners, on: impl Fn(Pick) + 'static) {
        let on = Rc::new(on);
        let typed = on.clone();
        keep.add(dom::listen(self.field.html(), "input", dom::How::default(), move |_| typed(Pick::Typed)));
        let clicked = on.clone();
        keep.add(dom::listen(self.rows.html(), "click", dom::How::default(), move |event| {
            if let Some((_, at)) = dom::closest(&event, "data-option")
                && let Ok(at) = at.parse()
            {
                let shift =
                    event.dyn_ref::<web_sys::MouseEvent>().is_some_and(web_sys::MouseEvent::shift_key);
                clicked(Pick::Chosen(at, shift));
            }
        }));
        let list = self.clone();
        let how = dom::How { active: true, ..dom::How::default() };
        keep.add(dom::listen(self.field.html(), "keydown", how, move |event| {
            let Some(key) = event.dyn_ref::<KeyboardEvent>() else { return };
            let at = list.active.get();
            match key.key().as_str() {
                "ArrowDown" => list.activate(at + 1),
                "ArrowUp" => list.activate(at.saturating_sub(1)),
                "Enter" => on(Pick::Chosen(at, key.shift_key())),
                "Escape" => on(Pick::Left),
                _ => return,
            }
            event.prevent_default();
            event.stop_propagation();
        }));
    }

    /// Returns what was typed.
    pub fn text(&self) -> String {
        self.field.as_kind::<HtmlInputElement>().map(HtmlInputElement::value).unwrap_or_default()
    }

    /// Empties field and list.
    pub fn reset(&self) {
        if let Some(field) = self.field.as_kind::<HtmlInputElement>() {
            field.set_value("");
        }
        self.clear();
    }

    /// Empties the list.
    pub fn clear(&self) {
        self.rows.clear();
        self.options.borrow_mut().clear();
        self.field.set_flag("aria-expanded", false);
        self.field.unset("aria-activedescendant");
    }

    /// Adds an option.
    pub fn add(&self, row: El) {
        let mut options = self.options.borrow_mut();
        let at = options.len();
        let row = row
            .attr("role", "option")
            .attr("id", &format!("{}-{at}", self.id))
            .attr("aria-selected", "false")
            .attr("data-option", &at.to_string());
        self.rows.add(&row);
        self.field.set_flag("aria-expanded", true);
        options.push(row);
    }

    /// Makes the option of a place, or the last one, the one that Enter chooses.
    pub fn activate(&self, at: usize) {
        let options = self.options.borrow();
        let at = at.min(options.len().saturating_sub(1));
        self.active.set(at);
        for (place, row) in options.iter().enumerate() {
            row.set_flag("aria-selected", place == at);
            if place == at {
                self.field.set("aria-activedescendant", &row.html().id());
                let area = self.rows.html();
                let (top, height) = (row.html().offset_top() - area.offset_top(), row.html().offset_height());
                if top < area.scroll_top() {
                    area.set_scroll_top(top);
                } else if top + height > area.scroll_top() + area.client_height() {
                    area.set_scroll_top(top + height - area.client_height());
                }
            }
        }
    }
}
