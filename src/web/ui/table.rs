//! Tables: sortable, with only the rows in sight in the page, one row selected, walked with the keyboard.

use super::dom::{self, El, Keep, button, div, el, span};
use crate::arrange::Arrange;
use crate::engine::address::Sort;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::KeyboardEvent;

/// Height of a row in CSS pixels; the style sheet says the same.
const ROW_PX: f64 = 24.0;
/// Rows kept above and below those in sight.
const SPARE_ROWS: usize = 12;
/// Browsers give up on taller elements; with more rows, scrolling goes in larger steps.
const MOST_PX: f64 = 8_000_000.0;

/// What a cell shows.
pub enum What {
    /// Text.
    Text(String),
    /// A number as text, and as it is for tests.
    Number(String, String),
    /// A share of 1 as a bar behind its text.
    Bar(f64, String),
    /// Anything.
    Element(El),
}

/// A column.
pub struct Column<R> {
    /// Name in the address.
    pub key: &'static str,
    /// Head.
    pub title: &'static str,
    /// The head in a sentence.
    pub hint: &'static str,
    /// Class of its cells, which says how wide it is; `wide` takes what is left.
    pub class: &'static str,
    /// 1 is always shown, 2 and 3 where there is room.
    pub priority: u8,
    /// Order, smallest first; `None`: not sortable.
    pub order: Option<fn(&R, &R) -> Ordering>,
    /// What a row shows in it.
    pub cell: Box<dyn Fn(&R) -> What>,
}

impl<R> Column<R> {
    fn is_wide(&self) -> bool {
        self.class == "wide"
    }

    /// Its width; the least of it for the one column that takes what is left.
    fn width_px(&self) -> f64 {
        match self.class {
            "wide" => 200.0,
            "bar" => 104.0,
            "spark-cell" => 84.0,
            "num tiny" => 64.0,
            "num moment" => 188.0,
            "num ratio" => 148.0,
            "caller muted" | "what muted" => 136.0,
            "text mono" => 156.0,
            _ => 84.0,
        }
    }
}

/// A column of numbers and sorted by them: its key, title and hint, its class and priority, the number of a row, and how
/// that is said.
macro_rules! number {
    ($key:expr, $title:expr, $hint:expr, $class:literal $priority:literal, |$row:ident: &$kind:ty| $value:expr, $words:expr) => {
        $crate::web::ui::table::Column {
            key: $key,
            title: $title,
            hint: $hint,
            class: $class,
            priority: $priority,
            order: Some(|a: &$kind, b: &$kind| {
                let of = |$row: &$kind| $value;
                of(a).partial_cmp(&of(b)).unwrap_or(std::cmp::Ordering::Equal)
            }),
            cell: Box::new(|$row: &$kind| {
                let value = $value;
                $crate::web::ui::table::What::Number($words(value), value.to_string())
            }),
        }
    };
}

/// The column of a row's endpoint, given as service and operation.
macro_rules! endpoint {
    ($title:expr, $hint:expr, |$row:ident: &$kind:ty| $name:expr) => {
        $crate::web::ui::table::Column {
            key: "endpoint",
            title: $title,
            hint: $hint,
            class: "wide",
            priority: 1,
            order: Some(|a: &$kind, b: &$kind| {
                fn of($row: &$kind) -> (&str, &str) {
                    let (service, operation) = $name;
                    (operation, service)
                }
                of(a).cmp(&of(b))
            }),
            cell: Box::new(|$row: &$kind| {
                let (service, operation) = $name;
                let name = $crate::web::ui::names::endpoint(service, operation);
                $crate::web::ui::table::What::Element(name)
            }),
        }
    };
}

pub(super) use {endpoint, number};

type RowEvent = Box<dyn Fn(usize)>;
type Attributes<R> = Box<dyn Fn(&R) -> Vec<(&'static str, String)>>;

struct Inner<R> {
    columns: Vec<Column<R>>,
    attributes: Attributes<R>,
    wrap: El,
    table: El,
    body: El,
    heads: Vec<El>,
    empty: El,
    rows: RefCell<Rc<Vec<R>>>,
    /// Rows shown, in order.
    order: RefCell<Vec<u32>>,
    hits: RefCell<Option<Rc<Vec<bool>>>>,
    sort: RefCell<Sort>,
    natural: Sort,
    selected: Cell<Option<usize>>,
    painted: Cell<(usize, usize)>,
    click_opens: Cell<bool>,
    /// Which columns there is room for.
    fits: RefCell<Vec<bool>>,
    on_select: RefCell<Option<RowEvent>>,
    on_open: RefCell<Option<RowEvent>>,
    name: String,
    keep: Keep,
}

/// A table of rows of one kind; cloning shares it.
pub struct Table<R>(Rc<Inner<R>>);

impl<R> Clone for Table<R> {
    fn clone(&self) -> Self {
        Table(self.0.clone())
    }
}

impl<R: 'static> Table<R> {
    /// A table without rows. `sorted` is the key of the column it is sorted by unless the address says otherwise;
    /// `on_sort` hears of clicks on the heads.
    pub fn new(
        name: &str,
        label: &str,
        sorted: (&'static str, bool),
        columns: Vec<Column<R>>,
        attributes: impl Fn(&R) -> Vec<(&'static str, String)> + 'static,
        on_sort: impl Fn(Sort) + Clone + 'static,
    ) -> Table<R> {
        let keep = Keep::default();
        let natural = Sort { column: sorted.0.to_owned(), descending: sorted.1 };
        let mut heads = Vec::new();
        let head_row = el("tr");
        for column in &columns {
            let head = el("th").class(column.class).attr("scope", "col");
            if !column.is_wide() {
                head.style("width", &format!("{}px", column.width_px()));
            }
            if column.order.is_some() {
                let press = button(column.title)
                    .class("sort")
                    .attr("title", column.hint)
                    .test(&format!("sort-{}", column.key))
                    .attr("data-own-enter", "");
                let (key, pressed) = (column.key, on_sort.clone());
                // Text is sorted upwards first, numbers downwards.
                let number = column.class.contains("num") || column.class.contains("bar");
                let shown = head.clone();
                head.add(&press.on_click(&keep, move || {
                    let descending = match shown.html().get_attribute("aria-sort").as_deref() {
                        Some("descending") => false,
                        Some("ascending") => true,
                        _ => number,
                    };
                    pressed(Sort { column: key.to_owned(), descending });
                }));
            } else {
                head.add(&span("", column.title).attr("title", column.hint));
            }
            head_row.add(&head);
            heads.push(head);
        }
        let body = el("tbody");
        let table = el("table")
            .class("grid")
            .attr("role", "grid")
            .attr("aria-label", label)
            .attr("tabindex", "0")
            .child(&el("thead").child(&head_row))
            .child(&body);
        let empty = div("empty").test(&format!("{name}-empty"));
        empty.show(false);
        let wrap = div("table").test(name).child(&table).child(&empty);
        let inner = Rc::new(Inner {
            columns,
            attributes: Box::new(attributes),
            wrap,
            table,
            body,
            heads,
            empty,
            rows: RefCell::default(),
            order: RefCell::default(),
            hits: RefCell::default(),
            sort: RefCell::new(natural.clone()),
            natural,
            selected: Cell::new(None),
            painted: Cell::new((0, 0)),
            click_opens: Cell::new(false),
            fits: RefCell::default(),
            on_select: RefCell::default(),
            on_open: RefCell::default(),
            name: name.to_owned(),
            keep,
        });
        let made = Table(inner);
        made.listen();
        made
    }

    /// Hears of a row that is selected.
    pub fn on_select(self, run: impl Fn(usize) + 'static) -> Self {
        self.0.on_select.replace(Some(Box::new(run)));
        self
    }

    /// One click opens a row, not only a double click.
    pub fn click_opens(self) -> Self {
        self.0.click_opens.set(true);
        self
    }

    /// Hears of a row that is opened: by Enter or a double click.
    pub fn on_open(self, run: impl Fn(usize) + 'static) -> Self {
        self.0.on_open.replace(Some(Box::new(run)));
        self
    }

    /// Its element.
    pub fn element(&self) -> &El {
        &self.0.wrap
    }

    fn listen(&self) {
        let inner = &self.0;
        // Weak, so that a table that is dropped takes its listeners along.
        let weak = Rc::downgrade(inner);
        let table = move || weak.upgrade().map(Table);
        let at = table.clone();
        inner.keep.add(dom::listen(inner.wrap.html(), "scroll", dom::How::default(), move |_| {
            if let Some(table) = at() {
                table.paint(false);
            }
        }));
        let at = table.clone();
        inner.keep.add(dom::listen(inner.body.html(), "click", dom::How::default(), move |event| {
            if let (Some(table), Some((_, row))) = (at(), dom::closest(&event, "data-row"))
                && let Ok(row) = row.parse()
            {
                if table.0.click_opens.get() {
                    table.select(Some(row));
                    table.open(row);
                } else {
                    table.choose(row);
                }
            }
        }));
        let at = table.clone();
        inner.keep.add(dom::listen(inner.body.html(), "dblclick", dom::How::default(), move |event| {
            if let (Some(table), Some((_, row))) = (at(), dom::closest(&event, "data-row"))
                && let Ok(row) = row.parse()
                && !table.0.click_opens.get()
            {
                table.open(row);
            }
        }));
        let at = table.clone();
        let how = dom::How { active: true, ..dom::How::default() };
        inner.keep.add(dom::listen(inner.table.html(), "keydown", how, move |event| {
            let Some(table) = at() else { return };
            if dom::closest(&event, "data-own-enter").is_some() {
                return;
            }
            if event.dyn_ref::<KeyboardEvent>().is_some_and(|key| table.key(key)) {
                event.prevent_default();
            }
        }));
        inner.keep.add(dom::listen(&dom::window(), "resize", dom::How::default(), move |_| {
            if let Some(table) = table() {
                table.paint(true);
            }
        }));
    }

    fn key(&self, event: &KeyboardEvent) -> bool {
        if event.ctrl_key() || event.meta_key() || event.alt_key() || event.shift_key() {
            return false;
        }
        let order = self.0.order.borrow();
        let count = order.len();
        let place = self.0.selected.get().and_then(|row| order.iter().position(|at| *at as usize == row));
        let page = (self.0.wrap.size().1 / ROW_PX).max(2.0) as usize - 1;
        let to = match (event.key().as_str(), place) {
            ("Enter", Some(place)) => {
                let row = order.get(place).map(|row| *row as usize);
                drop(order);
                row.into_iter().for_each(|row| self.open(row));
                return true;
            }
            ("ArrowDown" | "PageDown" | "Home", None) => 0,
            ("ArrowDown", Some(place)) => place + 1,
            ("ArrowUp", Some(place)) => place.saturating_sub(1),
            ("PageDown", Some(place)) => place + page,
            ("PageUp", Some(place)) => place.saturating_sub(page),
            ("Home", Some(_)) => 0,
            ("End", _) => usize::MAX,
            _ => return false,
        };
        let row = order.get(to.min(count.saturating_sub(1))).map(|row| *row as usize);
        drop(order);
        if let Some(row) = row {
            self.choose(row);
        }
        true
    }

    /// Selects and tells.
    fn choose(&self, row: usize) {
        self.select(Some(row));
        if let Some(run) = &*self.0.on_select.borrow() {
            run(row);
        }
    }

    fn open(&self, row: usize) {
        if let Some(run) = &*self.0.on_open.borrow() {
            run(row);
        }
    }

    /// Takes new rows.
    pub fn set_rows(&self, rows: Rc<Vec<R>>) {
        self.0.rows.replace(rows);
        self.0.hits.replace(None);
        self.0.selected.set(None);
        self.arrange();
    }

    /// The rows.
    pub fn rows(&self) -> Rc<Vec<R>> {
        self.0.rows.borrow().clone()
    }

    /// Sorts; `None` or a column it does not have: as it came.
    pub fn set_sort(&self, sort: Option<&Sort>) {
        let known = sort.filter(|sort| {
            self.0.columns.iter().any(|column| column.key == sort.column && column.order.is_some())
        });
        let sort = known.unwrap_or(&self.0.natural).clone();
        if *self.0.sort.borrow() != sort {
            self.0.sort.replace(sort);
            self.arrange();
        }
    }

    /// The row after the selected one as they are shown, or before it; round at the ends.
    pub fn neighbour(&self, forward: bool) -> Option<usize> {
        let order = self.0.order.borrow();
        let count = order.len();
        let place = self.0.selected.get().and_then(|row| order.iter().position(|at| *at as usize == row));
        let to = match (place, forward) {
            (None, true) => 0,
            (None, false) => count.checked_sub(1)?,
            (Some(place), true) => (place + 1) % count,
            (Some(place), false) => (place + count - 1) % count,
        };
        order.get(to).map(|row| *row as usize)
    }

    /// Shows only these rows; `None`: all.
    pub fn set_hits(&self, hits: Option<Rc<Vec<bool>>>) {
        if *self.0.hits.borrow() != hits {
            self.0.hits.replace(hits);
            self.arrange();
        }
    }

    /// Marks the rows that fit a search text and counts them; a text without a word marks none.
    pub fn mark(&self, text: &str, fits: impl Fn(&R) -> bool) -> u64 {
        let rows = self.rows();
        let hits = (!text.trim().is_empty()).then(|| rows.iter().map(fits).collect::<Vec<bool>>());
        let count = hits.iter().flatten().filter(|hit| **hit).count();
        self.set_hits(hits.map(Rc::new));
        count as u64
    }

    /// Says why it is empty, or nothing.
    pub fn set_empty(&self, why: &str) {
        self.0.empty.say(why);
    }

    /// Dims what is about to be replaced.
    pub fn set_stale(&self, stale: bool) {
        self.0.wrap.class_if("stale", stale);
    }

    /// Selects a row and brings it into sight.
    pub fn select(&self, row: Option<usize>) {
        if self.0.selected.replace(row) == row {
            return;
        }
        let order = self.0.order.borrow();
        let place = row.and_then(|row| order.iter().position(|at| *at as usize == row));
        let count = order.len();
        drop(order);
        if let Some(place) = place {
            let wrap = self.0.wrap.html();
            let height = self.0.wrap.size().1 - ROW_PX;
            let stretch = stretch(count, height);
            let (top, now) = (place as f64 * ROW_PX, f64::from(wrap.scroll_top()) * stretch);
            if top < now {
                wrap.set_scroll_top((top / stretch) as i32);
            } else if top + ROW_PX > now + height {
                wrap.set_scroll_top(((top + ROW_PX - height) / stretch).ceil() as i32);
            }
        }
        self.paint(true);
    }

    /// Puts the rows in order and paints.
    fn arrange(&self) {
        let rows = self.0.rows.borrow().clone();
        let sort = self.0.sort.borrow().clone();
        let hits = self.0.hits.borrow().clone();
        let mut order: Vec<u32> = (0..rows.len() as u32)
            .filter(|at| hits.as_ref().is_none_or(|hits| hits.get(*at as usize).copied().unwrap_or(true)))
            .collect();
        let column = self.0.columns.iter().find(|column| column.key == sort.column);
        if let Some(compare) = column.and_then(|column| column.order) {
            order.arrange_by(|a, b| {
                let ordering = compare(&rows[*a as usize], &rows[*b as usize]);
                if sort.descending { ordering.reverse() } else { ordering }
            });
        }
        for (column, head) in self.0.columns.iter().zip(&self.0.heads) {
            let state = match (column.key == sort.column, sort.descending) {
                (false, _) => "none",
                (true, true) => "descending",
                (true, false) => "ascending",
            };
            if column.order.is_some() {
                head.set("aria-sort", state);
            }
        }
        self.0.table.set("aria-rowcount", &(order.len() + 1).to_string());
        self.0.wrap.set("data-rows", &order.len().to_string());
        self.0.empty.show(order.is_empty());
        self.0.order.replace(order);
        self.paint(true);
    }

    /// Leaves out columns there is no room for, the least important first; tells whether that changed.
    fn fit_columns(&self, width: f64) -> bool {
        let columns = &self.0.columns;
        let mut fits = vec![true; columns.len()];
        let mut whole: f64 = columns.iter().map(Column::width_px).sum();
        for priority in [3, 2] {
            for (at, column) in columns.iter().enumerate().rev() {
                if whole > width && column.priority == priority {
                    fits[at] = false;
                    whole -= column.width_px();
                }
            }
        }
        if *self.0.fits.borrow() == fits {
            return false;
        }
        for (head, fits) in self.0.heads.iter().zip(&fits) {
            head.show(*fits);
        }
        self.0.fits.replace(fits);
        true
    }

    /// Brings the rows in sight into the page.
    pub fn paint(&self, anew: bool) {
        let (width, height) = self.0.wrap.size();
        let order = self.0.order.borrow();
        let rows = self.0.rows.borrow();
        let anew = self.fit_columns(width) || anew;
        let fits = self.0.fits.borrow();
        // The head takes one row.
        let stretch = stretch(order.len(), height - ROW_PX);
        let scrolled = f64::from(self.0.wrap.html().scroll_top());
        let top = scrolled * stretch;
        let first = (top / ROW_PX) as usize;
        let last = ((top + height.max(200.0)) / ROW_PX) as usize + 1;
        let (from, to) = self.0.painted.get();
        if !anew && stretch == 1.0 && from <= first && last.min(order.len()) <= to {
            return;
        }
        let from = first.saturating_sub(SPARE_ROWS).min(order.len());
        let to = (last + SPARE_ROWS).min(order.len());
        self.0.painted.set((from, to));
        let space = |px: f64| {
            el("tr").class("space").attr("aria-hidden", "true").styled("height", &format!("{px}px"))
        };
        let whole = (order.len() as f64 * ROW_PX / stretch).max(0.0);
        let above =
            if stretch == 1.0 { from as f64 * ROW_PX } else { scrolled - (top - from as f64 * ROW_PX) }
                .max(0.0);
        let below = (whole - above - (to - from) as f64 * ROW_PX).max(0.0);
        self.0.body.clear();
        self.0.body.add(&space(above));
        let mut active = None;
        for (place, at) in order.iter().enumerate().take(to).skip(from) {
            let Some(row) = rows.get(*at as usize) else { continue };
            let line =
                el("tr").attr("data-row", &at.to_string()).attr("aria-rowindex", &(place + 2).to_string());
            // Stripes by place, not by what happens to be in the page.
            if place % 2 == 1 {
                line.class_if("odd", true);
            }
            for (name, value) in (self.0.attributes)(row) {
                line.set(name, &value);
            }
            let selected = self.0.selected.get() == Some(*at as usize);
            line.set_flag("aria-selected", selected);
            if selected {
                let id = format!("{}-row", self.0.name);
                line.set("id", &id);
                active = Some(id);
            }
            for (column, _) in self.0.columns.iter().zip(fits.iter()).filter(|(_, fits)| **fits) {
                line.add(&cell(column, row));
            }
            self.0.body.add(&line);
        }
        self.0.body.add(&space(below));
        match active {
            Some(id) => self.0.table.set("aria-activedescendant", &id),
            None => self.0.table.unset("aria-activedescendant"),
        }
    }
}

/// How many pixels of rows a pixel of scrolling moves.
fn stretch(rows: usize, height: f64) -> f64 {
    let whole = rows as f64 * ROW_PX;
    if whole <= MOST_PX { 1.0 } else { (whole - height) / (MOST_PX - height) }
}

fn cell<R>(column: &Column<R>, row: &R) -> El {
    let cell = el("td").class(column.class).attr("data-column", column.key);
    match (column.cell)(row) {
        What::Text(text) => cell.attr("title", &text).text(&text),
        What::Number(text, value) => cell.attr("data-value", &value).text(&text),
        What::Bar(share, text) => {
            let fill = div("bar-fill").styled("width", &format!("{:.2}%", share.clamp(0.0, 1.0) * 100.0));
            cell.attr("data-value", &share.to_string()).child(&fill).child(&span("bar-text", &text))
        }
        What::Element(element) => cell.child(&element),
    }
}

/// Orders floats; reports hold no NaN.
pub fn by_number(a: f64, b: f64) -> Ordering {
    a.total_cmp(&b)
}
