//! The search field: what can be written is shown below it, with the keys and values that exist; what is written becomes
//! filters with one key.

use super::filters;
use super::search::{self, SearchBox};
use crate::dom::{self, El, Listeners, button, div, el, icon, span};
use crate::page::Page;
use pathlight_engine::requests::Filter;
use pathlight_engine::requests::search::SpanSearch;
use pathlight_view::search::help::{Completion, SYNTAX, completions, key_at, trouble};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{HtmlInputElement, KeyboardEvent};

/// State that listeners and updates share.
struct Shared {
    page: Page,
    field: El,
    found: SearchBox,
    options: RefCell<Vec<Completion>>,
    rows: RefCell<Vec<El>>,
    /// The completion that Enter takes.
    active: Cell<Option<usize>>,
    is_open: Cell<bool>,
}

/// The field with what stands below it.
pub struct SearchField {
    element: El,
    matches: El,
    steps: El,
    panel: El,
    list: El,
    words: El,
    trouble: El,
    foot: El,
    shared: Rc<Shared>,
    keep: Listeners,
}

impl Shared {
    fn input(&self) -> Option<&HtmlInputElement> {
        self.field.as_kind()
    }

    fn text(&self) -> String {
        self.input().map(HtmlInputElement::value).unwrap_or_default()
    }

    fn caret(&self) -> u32 {
        self.input().and_then(|field| field.selection_start().ok().flatten()).unwrap_or(u32::MAX)
    }

    fn publish(&self) {
        self.active.set(None);
        let text = self.text();
        self.page.change(|address| address.search = text);
        // The caret may have moved alone.
        self.page.refresh();
    }

    fn take(&self, at: usize) {
        let taken = self.options.borrow().get(at).cloned();
        if let (Some(completion), Some(field)) = (taken, self.input()) {
            field.set_value(&completion.text);
            let _ = field.set_selection_range(completion.caret, completion.caret);
            self.publish();
        }
    }

    /// Moves to another completion; past the ends none is active.
    fn walk(&self, forward: bool) {
        let count = self.options.borrow().len();
        let to = match (self.active.get(), forward) {
            (None, true) => Some(0),
            (None, false) => count.checked_sub(1),
            (Some(at), true) => Some(at + 1),
            (Some(at), false) => at.checked_sub(1),
        };
        self.active.set(to.filter(|at| *at < count));
        self.show_active();
    }

    fn show_active(&self) {
        let active = self.active.get();
        self.field.unset("aria-activedescendant");
        for (at, row) in self.rows.borrow().iter().enumerate() {
            row.set_flag("aria-selected", active == Some(at));
            if active == Some(at) {
                self.field.set("aria-activedescendant", &row.html().id());
            }
        }
    }

    /// Makes filters of what is written.
    fn filter(&self) {
        let filters = Filter::of_search(SpanSearch::parse(&self.text()));
        if filters.is_empty() {
            return;
        }
        filters.into_iter().for_each(|filter| filters::add(self.page, filter));
        self.active.set(None);
        self.page.change(|address| address.search.clear());
    }

    /// Follows a key; tells whether it was one for the field.
    fn key(&self, key: &KeyboardEvent) -> bool {
        let is_listed = !self.options.borrow().is_empty();
        match (key.key().as_str(), self.active.get()) {
            ("Enter", _) if key.ctrl_key() || key.meta_key() => self.filter(),
            ("Enter" | "Tab", Some(at)) => self.take(at),
            ("Enter", None) => self.found.step(self.page, !key.shift_key()),
            ("ArrowDown" | "ArrowUp", _) if is_listed => self.walk(key.key() == "ArrowDown"),
            ("ArrowDown" | "ArrowUp", _) => self.found.step(self.page, key.key() == "ArrowDown"),
            ("Escape", Some(_)) => {
                self.active.set(None);
                self.show_active();
            }
            ("Escape", None) => {
                let _ = self.field.html().blur();
                self.page.change(|address| address.search.clear());
            }
            _ => return false,
        }
        true
    }
}

impl SearchField {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, found: &SearchBox) -> SearchField {
        let keep = Listeners::default();
        let field = el("input")
            .attr("type", "search")
            .attr("placeholder", "Search (/)")
            .attr("aria-label", "Search")
            .attr("spellcheck", "false")
            .attr("autocomplete", "off")
            .attr("role", "combobox")
            .attr("aria-autocomplete", "list")
            .attr("aria-expanded", "false")
            .attr("aria-controls", "search-list")
            .test("search");
        let shared = Rc::new(Shared {
            page,
            field: field.clone(),
            found: found.clone(),
            options: RefCell::default(),
            rows: RefCell::default(),
            active: Cell::new(None),
            is_open: Cell::new(false),
        });
        let matches = span("matches", "").test("search-matches").attr("aria-live", "polite");
        let step = |forward: bool, label: &str, path: &str| {
            let found = found.clone();
            button("")
                .class("quiet")
                .label(label)
                .node(&icon(path))
                .on_click(&keep, move || found.step(page, forward))
        };
        let steps = div("search-steps")
            .child(&step(false, "Previous match (Shift+Enter)", "M4 10l4-4 4 4"))
            .child(&step(true, "Next match (Enter)", "M4 6l4 4 4-4"));
        let filtering = shared.clone();
        let as_filter = button("Filter requests")
            .attr(
                "title",
                "Keep only requests with a span that matches, for each word or tag; - keeps those without one",
            )
            .node(el("kbd").text("Ctrl+Enter").html())
            .test("search-filter")
            .on_click(&keep, move || filtering.filter());
        let syntax = SYNTAX.map(|(written, meaning)| {
            span("search-syntax", "").child(&el("code").text(written)).text(&format!(" {meaning}"))
        });
        let list = div("search-list").attr("role", "listbox").attr("id", "search-list").label("Tags");
        let words = div("search-words").test("search-total");
        let trouble = div("search-trouble").attr("role", "status").test("search-trouble");
        let foot = div("search-foot").child(&words).child(&as_filter);
        let panel = div("popover search-panel")
            .test("search-panel")
            .child(&div("search-syntaxes muted small").children(&syntax))
            .child(&list)
            .child(&trouble)
            .child(&foot);
        panel.show(false);
        let element = div("search").attr("role", "search").child(&field).child(&matches).child(&steps);
        let element = element.child(&panel);
        let search = SearchField { element, matches, steps, panel, list, words, trouble, foot, shared, keep };
        search.listen();
        search
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Moves the focus to the field and selects its text.
    pub fn focus(&self) {
        self.shared.field.focus();
        if let Some(field) = self.shared.input() {
            field.select();
        }
    }

    fn listen(&self) {
        let field = self.shared.field.html();
        let plain = dom::How::default();
        let typed = self.shared.clone();
        self.keep.add(dom::listen(field, "input", plain, move |_| typed.publish()));
        for (event, is_open) in [("focus", true), ("blur", false)] {
            let shared = self.shared.clone();
            self.keep.add(dom::listen(field, event, plain, move |_| {
                shared.is_open.set(is_open);
                shared.active.set(None);
                shared.page.refresh();
            }));
        }
        for event in ["click", "keyup"] {
            let shared = self.shared.clone();
            self.keep.add(dom::listen(field, event, plain, move |_| shared.page.refresh()));
        }
        let active = dom::How { active: true, ..plain };
        let pressed = self.shared.clone();
        self.keep.add(dom::listen(field, "keydown", active, move |event| {
            if event.dyn_ref::<KeyboardEvent>().is_some_and(|key| pressed.key(key)) {
                event.prevent_default();
                event.stop_propagation();
            }
        }));
        // A press below the field leaves the focus in it.
        let stays = |event: web_sys::Event| event.prevent_default();
        self.keep.add(dom::listen(self.panel.html(), "mousedown", active, stays));
        let clicked = self.shared.clone();
        self.keep.add(dom::listen(self.list.html(), "click", plain, move |event| {
            if let Some((_, at)) = dom::closest(&event, "data-option")
                && let Ok(at) = at.parse()
            {
                clicked.take(at);
            }
        }));
    }

    /// Follows what is searched for and what is found.
    pub fn update(&self, page: Page) {
        let text = page.address().search.clone();
        if let Some(field) = self.shared.input()
            && field.value() != text
        {
            field.set_value(&text);
        }
        let words = self.shared.found.words(page);
        self.matches.set_text(&words);
        self.steps.show(!text.is_empty());
        self.panel.show(self.shared.is_open.get());
        if !self.shared.is_open.get() {
            return self.shared.field.set_flag("aria-expanded", false);
        }
        let all = search::found_in_all(page);
        let words: Vec<String> = [words, all].into_iter().filter(|words| !words.is_empty()).collect();
        self.words.set_text(&words.join("; "));
        let search = SpanSearch::parse(&text);
        self.foot.show(!search.is_empty());
        let overview = page.queries().overview.get();
        let keys = overview.as_ref().map_or(&[][..], |overview| &overview.tag_keys);
        let trouble = trouble(&search, keys);
        self.trouble.set_text(&trouble);
        self.trouble.show(!trouble.is_empty());
        let caret = self.shared.caret();
        if let Some(key) = key_at(&text, caret)
            && page.suggested_key() != key
        {
            page.suggest_values_of(&key);
            page.refresh();
        }
        let values = page.queries().tag_values.fresh();
        self.offer(completions(&text, caret, keys, values.as_deref()));
    }

    fn offer(&self, options: Vec<Completion>) {
        self.shared.field.set_flag("aria-expanded", !options.is_empty());
        self.list.show(!options.is_empty());
        if *self.shared.options.borrow() == options {
            return;
        }
        let row = |(at, option): (usize, &Completion)| {
            div("search-option")
                .attr("role", "option")
                .attr("id", &format!("search-option-{at}"))
                .attr("data-option", &at.to_string())
                .test("search-option")
                .child(&span("search-option-name", &option.name))
                .child(&span("muted small", &option.beside))
        };
        let rows: Vec<El> = options.iter().enumerate().map(row).collect();
        self.list.fill(&rows);
        self.shared.rows.replace(rows);
        self.shared.options.replace(options);
        self.shared.active.set(None);
        self.shared.show_active();
    }
}
