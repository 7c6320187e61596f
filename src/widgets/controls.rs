//! Controls of views: buttons of which one is pressed, and lists to choose from.

use crate::dom::{El, Listeners, button, div, el};
use web_sys::HtmlSelectElement;

/// Buttons of which one is pressed.
pub struct Segments {
    element: El,
    buttons: Vec<El>,
}

impl Segments {
    /// Returns a group without buttons; screen readers call it `label`.
    pub fn new(label: &str) -> Segments {
        let element = div("segments").attr("role", "group").attr("aria-label", label);
        Segments { element, buttons: Vec::new() }
    }

    /// Adds a button that tests know by this name.
    #[must_use]
    pub fn button(
        mut self,
        keep: &Listeners,
        (text, hint, test): (&str, &str, &str),
        run: impl FnMut() + 'static,
    ) -> Segments {
        let button = button(text).test(test).on_click(keep, run);
        if !hint.is_empty() {
            button.set("title", hint);
        }
        self.element.add(&button);
        self.buttons.push(button);
        self
    }

    /// Returns the element of the group.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Returns a button.
    pub fn at(&self, at: usize) -> &El {
        &self.buttons[at]
    }

    /// Shows one button as pressed.
    pub fn press(&self, pressed: usize) {
        for (at, button) in self.buttons.iter().enumerate() {
            button.set_flag("aria-pressed", at == pressed);
        }
    }
}

/// Makes a button stay pressed until it is pressed again; `run` is called with whether it is.
pub fn toggles(button: El, keep: &Listeners, run: impl Fn(bool) + 'static) -> El {
    let shown = button.clone();
    button.on_click(keep, move || {
        let is_on = !is_pressed(&shown);
        shown.set_flag("aria-pressed", is_on);
        run(is_on);
    })
}

/// Returns whether a button is shown as pressed.
pub fn is_pressed(button: &El) -> bool {
    button.html().get_attribute("aria-pressed").as_deref() == Some("true")
}

/// Lets a button be pressed, or not.
pub fn enable(button: &El, on: bool) {
    if on { button.unset("disabled") } else { button.set("disabled", "") }
}

/// Returns a list to choose from that tests know by this name; `run` is given the value that is chosen.
pub fn select(keep: &Listeners, test: &str, mut run: impl FnMut(String) + 'static) -> El {
    let select = el("select").test(test);
    let chosen = select.clone();
    select.on(keep, "change", move |_| {
        run(chosen.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value).unwrap_or_default());
    })
}

/// Returns an option of a list.
pub fn option(value: &str, words: &str) -> El {
    el("option").attr("value", value).text(words)
}

/// Shows a value as chosen.
pub fn choose(select: &El, value: &str) {
    if let Some(select) = select.as_kind::<HtmlSelectElement>() {
        select.set_value(value);
    }
}

/// Fills a list with values and their words, and shows one as chosen.
pub fn offer(select: &El, values: &[(String, String)], chosen: &str) {
    let options: Vec<El> = values.iter().map(|(value, words)| option(value, words)).collect();
    select.fill(&options);
    choose(select, chosen);
}
