//! A field for a time: what is no time is said below it, and stays to be put right.

use crate::dom::{self, El, Listeners, el};
use crate::page::Page;
use pathlight_view::flow::target::{parse_time, time_text};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use web_sys::HtmlInputElement;

/// The field and what is wrong with what stands in it.
pub struct TimeField {
    input: El,
    trouble: El,
    /// Text that was written and is no time.
    wrong: Rc<RefCell<Option<String>>>,
    /// The time that was shown last.
    shown: Cell<Option<u64>>,
}

impl TimeField {
    /// Returns a field that tests know by this name; `run` is given the time in microseconds, or `None` once it is empty.
    pub fn new(
        page: Page,
        keep: &Listeners,
        test: &str,
        (label, placeholder): (&str, &str),
        run: impl Fn(Option<u64>) + 'static,
    ) -> TimeField {
        let wrong: Rc<RefCell<Option<String>>> = Rc::default();
        let trouble_name = format!("{test}-trouble");
        let input = el("input")
            .class("time")
            .attr("type", "text")
            .attr("placeholder", placeholder)
            .attr("autocomplete", "off")
            .attr("aria-label", label)
            .attr("aria-describedby", &trouble_name)
            .test(test);
        let (field, said) = (input.clone(), wrong.clone());
        let input = input.on(keep, "change", move |_| {
            let text = field.as_kind::<HtmlInputElement>().map(HtmlInputElement::value).unwrap_or_default();
            let time = if text.trim().is_empty() { Ok(None) } else { parse_time(&text).map(Some) };
            said.replace(time.as_ref().err().cloned());
            if let Ok(us) = time {
                run(us);
            }
            page.refresh();
        });
        let trouble = el("p").class("time-trouble").attr("id", &trouble_name).attr("role", "alert");
        TimeField { input, trouble: trouble.test(&trouble_name), wrong, shown: Cell::default() }
    }

    /// Returns the field.
    pub fn input(&self) -> &El {
        &self.input
    }

    /// Returns what is wrong.
    pub fn trouble(&self) -> &El {
        &self.trouble
    }

    /// Shows a time; what is wrong stays until there is another.
    pub fn show(&self, us: Option<u64>) {
        if self.shown.replace(us) != us {
            self.wrong.take();
        }
        let wrong = self.wrong.borrow();
        self.trouble.show(wrong.is_some());
        self.trouble.set_text(wrong.as_deref().unwrap_or_default());
        self.input.set_flag("aria-invalid", wrong.is_some());
        // Nor is anything taken away that is being written.
        let is_written =
            dom::document().active_element().is_some_and(|it| it.is_same_node(Some(self.input.html())));
        let input = self.input.as_kind::<HtmlInputElement>().filter(|_| wrong.is_none() && !is_written);
        let is_it = |text: &str| us.map_or(text.is_empty(), |us| parse_time(text) == Ok(us));
        if let Some(input) = input.filter(|input| !is_it(&input.value())) {
            input.set_value(&us.map(time_text).unwrap_or_default());
        }
    }

    /// Shows a time in place of none.
    pub fn suggest(&self, us: u64) {
        self.input.set("placeholder", &time_text(us));
    }
}
