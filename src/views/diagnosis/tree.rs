//! The diagnosis as a tree of sentences, each with its evidence.

use crate::dom::{self, El, Listeners, button, div, el, icon, span};
use crate::widgets::names;
use pathlight_engine::diagnosis::DiagnosisReport;
use pathlight_trace::Endpoint;
use pathlight_view::diagnosis::tree::{DiagnosisRow, ReportTree, TreeKey};
use pathlight_view::diagnosis::words::{DiagnosisLine, lines};
use pathlight_view::diagnosis::{Evidence, more_words};
use pathlight_view::search::finder::Finder;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use web_sys::KeyboardEvent;

struct Inner {
    element: El,
    tree: RefCell<ReportTree>,
    /// The line that has the focus, or would have it.
    at: Cell<usize>,
    search: RefCell<Finder>,
    on_choose: Box<dyn Fn(usize, Evidence)>,
    on_more: Box<dyn Fn(u32)>,
    keep: Listeners,
}

/// The tree; cloning shares it.
#[derive(Clone)]
pub struct DiagnosisTree(Rc<Inner>);

impl DiagnosisTree {
    /// Returns an empty tree. `on_choose` is called with a line that was chosen and which of its evidence is to be
    /// shown, `on_more` with the level at which more is to be listed.
    pub fn new(
        on_choose: impl Fn(usize, Evidence) + 'static,
        on_more: impl Fn(u32) + 'static,
    ) -> DiagnosisTree {
        let element =
            div("diagnosis-tree").attr("role", "tree").attr("aria-label", "Diagnosis").test("diagnosis-tree");
        let tree = DiagnosisTree(Rc::new(Inner {
            element,
            tree: RefCell::default(),
            at: Cell::new(0),
            search: RefCell::default(),
            on_choose: Box::new(on_choose),
            on_more: Box::new(on_more),
            keep: Listeners::default(),
        }));
        tree.listen();
        tree
    }

    fn listen(&self) {
        let inner = &self.0;
        let weak = Rc::downgrade(inner);
        let here = weak.clone();
        inner.keep.add(dom::listen(inner.element.html(), "click", dom::How::default(), move |event| {
            if let Some(inner) = here.upgrade() {
                DiagnosisTree(inner).clicked(&event);
            }
        }));
        let how = dom::How { active: true, ..dom::How::default() };
        inner.keep.add(dom::listen(inner.element.html(), "keydown", how, move |event| {
            use wasm_bindgen::JsCast;
            let Some(inner) = weak.upgrade() else { return };
            // A link inside a line has its own keys.
            if dom::closest(&event, "data-do").is_some() {
                return;
            }
            if event.dyn_ref::<KeyboardEvent>().is_some_and(|key| DiagnosisTree(inner).key(key)) {
                event.prevent_default();
            }
        }));
    }

    fn clicked(&self, event: &web_sys::Event) {
        let line = dom::closest(event, "data-line").and_then(|(_, at)| at.parse::<usize>().ok());
        let pressed = dom::closest(event, "data-do").map(|(_, pressed)| pressed);
        match (line, pressed.as_deref()) {
            (Some(at), Some("toggle")) => {
                self.0.tree.borrow_mut().toggle(at);
                self.0.at.set(at);
                self.render(true);
            }
            (Some(at), key) => {
                let evidence = Evidence::ALL.into_iter().find(|kind| Some(kind.key()) == key);
                let evidence = evidence.unwrap_or(Evidence::Aggregate);
                self.choose(at, evidence == Evidence::Aggregate);
                (self.0.on_choose)(at, evidence);
            }
            (None, Some(level)) => {
                if let Ok(level) = level.parse() {
                    (self.0.on_more)(level);
                }
            }
            _ => {}
        }
    }

    fn key(&self, key: &KeyboardEvent) -> bool {
        if key.ctrl_key() || key.meta_key() || key.alt_key() || key.shift_key() {
            return false;
        }
        let at = self.0.at.get();
        let step = match key.key().as_str() {
            "ArrowUp" => TreeKey::Up,
            "ArrowDown" => TreeKey::Down,
            "ArrowLeft" => TreeKey::Left,
            "ArrowRight" => TreeKey::Right,
            "Home" => TreeKey::First,
            "End" => TreeKey::Last,
            " " => {
                self.0.tree.borrow_mut().toggle(at);
                self.render(true);
                return true;
            }
            "Enter" => {
                (self.0.on_choose)(at, Evidence::Aggregate);
                return true;
            }
            _ => return false,
        };
        let to = self.0.tree.borrow_mut().walk(at, step);
        self.choose(to, true);
        (self.0.on_choose)(to, Evidence::Aggregate);
        true
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.0.element
    }

    /// Takes another report; gives the line to begin with: the first with evidence of its own.
    pub fn take(&self, report: &DiagnosisReport) -> Option<usize> {
        let tree = ReportTree::new(lines(report), &self.0.tree.borrow());
        let kept = tree.same_place(&self.0.tree.borrow(), self.0.at.get());
        let at = kept.or_else(|| tree.lines().iter().position(|line| line.level == 3));
        self.0.tree.replace(tree);
        self.0.at.set(at.unwrap_or(0));
        self.render(false);
        at
    }

    /// Returns what a line says, whose it is and where its evidence is: its endpoint and the number of its aggregate
    /// trace.
    pub fn line(&self, at: usize) -> Option<(Endpoint, Option<u32>)> {
        self.0.tree.borrow().lines().get(at).map(|line| (line.endpoint.clone(), line.aggregate))
    }

    /// Moves to a line, opening what hides it.
    pub fn choose(&self, at: usize, takes_focus: bool) {
        self.0.tree.borrow_mut().reveal(at);
        self.0.at.set(at);
        self.render(takes_focus);
    }

    /// Moves to the first line of an endpoint, unless the chosen line is one of its; gives where it moved.
    pub fn follow(&self, endpoint: &Endpoint) -> Option<usize> {
        let at = {
            let tree = self.0.tree.borrow();
            let is_its = |line: &DiagnosisLine| line.endpoint == *endpoint;
            let is_there = tree.lines().get(self.0.at.get()).is_some_and(is_its);
            tree.lines().iter().position(is_its).filter(|_| !is_there)?
        };
        self.choose(at, false);
        Some(at)
    }

    /// Dims what a search does not find; returns how many lines it finds.
    pub fn search(&self, finder: &Finder) -> u64 {
        self.0.search.replace(finder.clone());
        self.render(false);
        self.0.tree.borrow().found(finder).len() as u64
    }

    /// Moves to the next line that the search finds, or the one before; round at the ends.
    pub fn choose_found(&self, forward: bool) {
        let next = self.0.tree.borrow().next_found(&self.0.search.borrow(), self.0.at.get(), forward);
        if let Some(at) = next {
            self.choose(at, false);
        }
    }

    /// Builds the rows in sight anew.
    fn render(&self, takes_focus: bool) {
        let (tree, finder) = (self.0.tree.borrow(), self.0.search.borrow());
        let mut focused = None;
        let rows: Vec<El> = tree
            .rows()
            .into_iter()
            .map(|row| match row {
                DiagnosisRow::Line(at) => {
                    let row = line_row(&tree, at, self.0.at.get() == at);
                    row.class_if("dimmed", !tree.is_found(at, &finder));
                    if self.0.at.get() == at {
                        focused = Some(row.clone());
                    }
                    row
                }
                DiagnosisRow::More { level, more } => more_row(level, more),
            })
            .collect();
        let active = dom::document().active_element();
        let had_focus = active.is_some_and(|active| self.0.element.html().contains(Some(&active)));
        self.0.element.fill(&rows);
        match focused {
            // Scrolled to, unlike elsewhere: arrow keys may lead out of sight.
            Some(row) if takes_focus => drop(row.html().focus()),
            // Who walks the lines stays among them when they are built anew.
            Some(row) if had_focus => row.focus(),
            _ => {}
        }
    }
}

fn line_row(tree: &ReportTree, at: usize, is_chosen: bool) -> El {
    let line = &tree.lines()[at];
    let row = div(&format!("tree-row level-{}", line.level))
        .attr("role", "treeitem")
        .attr("aria-level", &line.level.to_string())
        .attr("aria-selected", if is_chosen { "true" } else { "false" })
        .attr("tabindex", if is_chosen { "0" } else { "-1" })
        .attr("data-line", &at.to_string())
        .attr("data-level", &line.level.to_string())
        .attr("data-value", &line.value.to_string())
        .attr("data-own-enter", "")
        .test("diagnosis-line");
    let toggle = span("tree-toggle", "").attr("aria-hidden", "true");
    if tree.has_children(at) {
        row.set_flag("aria-expanded", tree.is_open(at));
        toggle.set("data-do", "toggle");
        toggle.html().append_child(&icon("M6 4l4 4-4 4")).ok();
    }
    row.class_if("problem", line.is_problem);
    let body = div("tree-body");
    if line.level == 1 {
        body.add(&names::dot(&line.endpoint.service));
    }
    body.add(&span("tree-words", &line.words));
    // A subspan has those of its group.
    if line.level < 5 {
        let links = span("tree-links", "");
        for evidence in Evidence::of_line(line.level, line.aggregate.is_some()) {
            let ((name, title), key) = (evidence.words(), evidence.key());
            let link = button(name).class("link").attr("title", title).attr("data-do", key);
            links
                .add(&link.attr("tabindex", if is_chosen { "0" } else { "-1" }).test(&format!("line-{key}")));
        }
        body.add(&links);
    }
    row.child(&toggle).child(&body)
}

fn more_row(level: u32, more: u64) -> El {
    let show = button(&more_words(level, more)).class("link").attr("data-do", &level.to_string());
    let show = show.attr("role", "treeitem").attr("aria-level", &level.to_string());
    el("div")
        .class(&format!("tree-row level-{level}"))
        .attr("role", "none")
        .child(&span("tree-toggle", ""))
        .child(&show.test(&format!("more-{level}")))
}
