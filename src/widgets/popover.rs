//! A panel under its button: opened by it, closed by it, by Escape and by a click anywhere else; and menus.

use crate::dom::{self, El, Listeners, div};
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, KeyboardEvent};

/// A button with its panel; cloning shares them.
#[derive(Clone)]
pub struct Popover {
    anchor: El,
    button: El,
    panel: El,
    on_open: Rc<dyn Fn()>,
}

impl Popover {
    /// Puts a panel under a button. `on_open` runs once it is in sight, to fill it and to place the focus.
    pub fn new(keep: &Listeners, button: El, panel: El, on_open: impl Fn() + 'static) -> Popover {
        panel.show(false);
        button.set_flag("aria-expanded", false);
        let anchor = div("popover-anchor").child(&button).child(&panel);
        let popover = Popover { anchor, button, panel, on_open: Rc::new(on_open) };
        let pressed = popover.clone();
        keep.add(dom::listen(popover.button.html(), "click", dom::How::default(), move |_| {
            if pressed.is_open() { pressed.close() } else { pressed.open() }
        }));
        let away = popover.clone();
        let how = dom::How { capture: true, ..dom::How::default() };
        keep.add(dom::listen(&dom::document(), "pointerdown", how, move |event| {
            let target = event.target().and_then(|target| target.dyn_into::<web_sys::Node>().ok());
            if away.is_open() && !away.anchor.html().contains(target.as_ref()) {
                away.close();
            }
        }));
        let left = popover.clone();
        let how = dom::How { active: true, ..dom::How::default() };
        keep.add(dom::listen(popover.panel.html(), "keydown", how, move |event| {
            if event.dyn_ref::<KeyboardEvent>().is_some_and(|key| key.key() == "Escape") {
                left.close();
                left.button.focus();
                event.prevent_default();
                event.stop_propagation();
            }
        }));
        popover
    }

    /// Returns a menu of these items; arrows walk it.
    pub fn menu(keep: &Listeners, button: El, list: El, items: &[El]) -> Popover {
        let list = list.attr("role", "menu");
        for item in items {
            if item.html().get_attribute("role").is_none() {
                item.set("role", "menuitem");
            }
            list.add(item);
        }
        let first = items.first().cloned();
        let popover = Popover::new(keep, button.attr("aria-haspopup", "menu"), list, move || {
            first.iter().for_each(El::focus);
        });
        let chosen = popover.clone();
        keep.add(dom::listen(popover.panel.html(), "click", dom::How::default(), move |_| chosen.close()));
        let walked = popover.panel.clone();
        let how = dom::How { active: true, ..dom::How::default() };
        keep.add(dom::listen(popover.panel.html(), "keydown", how, move |event| {
            let Some(key) = event.dyn_ref::<KeyboardEvent>() else { return };
            let is_down = match key.key().as_str() {
                "ArrowDown" => true,
                "ArrowUp" => false,
                _ => return,
            };
            let list = walked.html();
            let next = |of: &Element| match is_down {
                true => of.next_element_sibling(),
                false => of.previous_element_sibling(),
            };
            let end = || if is_down { list.first_element_child() } else { list.last_element_child() };
            let mut to = dom::document().active_element().and_then(|here| next(&here)).or_else(end);
            while let Some(hidden) = to.as_ref().filter(|to| to.has_attribute("hidden")) {
                to = next(hidden);
            }
            let to = to.or_else(end);
            event.prevent_default();
            event.stop_propagation();
            if let Some(Ok(to)) = to.map(JsCast::dyn_into::<HtmlElement>) {
                let _ = to.focus();
            }
        }));
        popover
    }

    /// Returns the button with its panel.
    pub fn element(&self) -> &El {
        &self.anchor
    }

    /// Returns whether the panel is in sight.
    pub fn is_open(&self) -> bool {
        !self.panel.html().hidden()
    }

    fn open(&self) {
        self.panel.show(true);
        self.button.set_flag("aria-expanded", true);
        (self.on_open)();
        // What would reach beyond the window on the right hangs from the other end of its button.
        self.panel.class_if("from-right", false);
        let room = dom::document().document_element().map_or(0, |page| page.client_width());
        let right = self.panel.html().get_bounding_client_rect().right();
        self.panel.class_if("from-right", right > f64::from(room));
    }

    /// Hides the panel.
    pub fn close(&self) {
        self.panel.show(false);
        self.button.set_flag("aria-expanded", false);
    }
}
