//! The parts of all tables, whatever their rows are: head, rows in sight, order, selection, keys. One copy of it
//! serves every kind of row.

use crate::dom::{self, El, Listeners, button, div, el, span};
use crate::widgets::grid_columns::{self, ColumnMenu};
use crate::widgets::names;
use pathlight_base::format;
use pathlight_view::address::Sort;
use pathlight_view::say::glossary;
use pathlight_view::table::{CellText, ColumnChoices, Head, Rows, Width, groups, neighbour, order};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::KeyboardEvent;

/// Height of a row in CSS pixels; the style sheet says the same.
const ROW_PX: f64 = 24.0;
/// Height of the names of groups of columns, likewise.
const GROUPS_PX: f64 = 20.0;
/// Rows kept above and below those in sight.
const SPARE_ROWS: usize = 12;
/// Browsers give up on taller elements; with more rows, scrolling goes in larger steps.
const MOST_PX: f64 = 8_000_000.0;

/// Levels of indentation that are shown; of deeper rows the number stands there.
const DEEPEST: u32 = 16;

/// Returns the class of the cells of a column, which the style sheet knows.
fn class_of(width: Width) -> &'static str {
    match width {
        Width::Wide => "wide",
        Width::Bar => "bar",
        Width::Spark => "spark-cell",
        Width::Number => "num",
        Width::Tiny => "num tiny",
        Width::Moment => "num moment",
        Width::Ratio => "num ratio",
        Width::Caller => "caller muted",
        Width::Words => "what muted",
        Width::Id => "text mono",
    }
}

type RowEvent = Box<dyn Fn(usize)>;

/// A table but for its rows.
pub struct TableGrid {
    rows: Rc<RefCell<dyn Rows>>,
    /// The columns that are shown, with their numbers.
    columns: Vec<(usize, Head)>,
    wrap: El,
    table: El,
    /// Widths of the columns that are shown.
    widths: El,
    /// Row of groups, which columns beside each other share, above their heads.
    groups: El,
    body: El,
    heads: Vec<El>,
    empty: El,
    why_empty: RefCell<String>,
    /// Rows shown, in order.
    order: RefCell<Vec<u32>>,
    hits: RefCell<Option<Rc<Vec<bool>>>>,
    /// Rows that stand back, by their places; empty: none does.
    dimmed: RefCell<Vec<bool>>,
    sort: RefCell<Sort>,
    selected: Cell<Option<usize>>,
    painted: Cell<(usize, usize)>,
    click_opens: Cell<bool>,
    /// By column: whether it is shown.
    fits: RefCell<Vec<bool>>,
    /// By column: whether it is worth its room: of those that are shown only where there is room for all, those that
    /// hold something.
    holds: RefCell<Vec<bool>>,
    /// Columns that the user shows, hides or widens.
    choices: RefCell<ColumnChoices>,
    menu: ColumnMenu,
    /// Width and height it was painted for, in CSS pixels.
    size: Cell<(f64, f64)>,
    /// Its rows have changed and are not painted yet.
    is_due: Cell<bool>,
    on_select: RefCell<Option<RowEvent>>,
    on_open: RefCell<Option<RowEvent>>,
    name: &'static str,
    keep: Listeners,
}

thread_local! {
    /// Every table of the page, as long as which they live.
    static GRIDS: RefCell<Vec<Rc<TableGrid>>> = const { RefCell::new(Vec::new()) };
}

/// Room that a table is painted for, in CSS pixels.
#[derive(Clone, Copy)]
struct Room {
    width: f64,
    height: f64,
    /// Distance it is scrolled.
    scrolled: f64,
}

/// Paints every table whose rows or room have changed; run after every change of the page. All are measured before the
/// first is painted: to measure what has just been changed has the browser lay out the page each time.
pub fn refit_all() {
    GRIDS.with(|grids| {
        let grids = grids.borrow();
        let rooms: Vec<Room> = grids.iter().map(|grid| grid.room()).collect();
        grids.iter().zip(rooms).for_each(|(grid, room)| grid.refit(room));
    });
}

/// Paints the tables whose rows have changed, if the page has not done so by now.
fn paint_due() {
    GRIDS.with(|grids| {
        grids.borrow().iter().filter(|grid| grid.is_due.get()).for_each(|grid| grid.paint(true))
    });
}

impl TableGrid {
    /// Puts a table into the page; `on_sort` is called with the order that was chosen.
    pub fn new(rows: Rc<RefCell<dyn Rows>>, on_sort: Rc<dyn Fn(Sort)>) -> Rc<TableGrid> {
        let keep = Listeners::default();
        let (name, label, sort) = {
            let rows = rows.borrow();
            (rows.name(), rows.label(), rows.natural().clone())
        };
        let all = rows.borrow().heads().into_iter().enumerate();
        let columns: Vec<(usize, Head)> = all.filter(|(_, head)| head.priority > 0).collect();
        let shown_columns = columns.len();
        let (mut heads, mut explained) = (Vec::new(), Vec::new());
        let (widths, groups, head_row) = (el("colgroup"), el("tr").class("groups"), el("tr"));
        for (_, column) in &columns {
            let head = el("th").class(class_of(column.width)).attr("scope", "col");
            head.set("data-column", column.key);
            if column.sorts {
                let press = button(column.title)
                    .class("sort")
                    .attr("title", column.hint)
                    .attr("aria-keyshortcuts", "Alt+ArrowLeft Alt+ArrowRight")
                    .test(&format!("sort-{}", column.key))
                    .attr("data-own-enter", "");
                let (key, pressed) = (column.key, on_sort.clone());
                // Text is sorted upwards first, numbers downwards.
                let number = column.width.is_number();
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
            let terms = glossary::terms(column.title);
            if let Some((_, word)) = terms.into_iter().find(|(_, word)| !explained.contains(word)) {
                explained.push(word);
                // Else its name would be that of the link too.
                head.set("aria-label", column.title);
                let what = format!("What {} means", glossary::WORDS[word].0);
                head.add(&names::term(word, "?").class("term sign").attr("aria-label", &what));
            }
            head.add(&grid_columns::grip(column));
            head_row.add(&head);
            heads.push(head);
        }
        let menu = ColumnMenu::new(&keep, columns.iter().map(|(_, column)| column));
        head_row.add(menu.element());
        let body = el("tbody");
        let table = el("table")
            .class("grid")
            .attr("role", "grid")
            .attr("aria-label", label)
            .attr("tabindex", "0")
            .child(&widths)
            .child(&el("thead").child(&groups).child(&head_row))
            .child(&body);
        let empty = div("empty").test(&format!("{name}-empty"));
        empty.show(false);
        let wrap = div("table").test(name).child(&table).child(&empty);
        let grid = Rc::new(TableGrid {
            rows,
            columns,
            wrap,
            table,
            widths,
            groups,
            body,
            heads,
            empty,
            why_empty: RefCell::default(),
            order: RefCell::default(),
            hits: RefCell::default(),
            dimmed: RefCell::default(),
            sort: RefCell::new(sort),
            selected: Cell::new(None),
            painted: Cell::new((0, 0)),
            is_due: Cell::new(false),
            click_opens: Cell::new(false),
            fits: RefCell::new(vec![true; shown_columns]),
            holds: RefCell::new(vec![true; shown_columns]),
            choices: RefCell::new(grid_columns::load(name)),
            menu,
            size: Cell::default(),
            on_select: RefCell::default(),
            on_open: RefCell::default(),
            name,
            keep,
        });
        grid.listen();
        grid_columns::listen(&grid);
        grid.set_widths();
        grid.set_groups();
        GRIDS.with(|grids| grids.borrow_mut().push(grid.clone()));
        grid
    }

    /// Hears of a row that is selected.
    pub fn on_select(&self, run: RowEvent) {
        self.on_select.replace(Some(run));
    }

    /// Makes one click open a row, not only a double click.
    pub fn click_opens(&self) {
        self.click_opens.set(true);
    }

    /// Hears of a row that is opened: by Enter or a double click.
    pub fn on_open(&self, run: RowEvent) {
        self.on_open.replace(Some(run));
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.wrap
    }

    fn listen(self: &Rc<TableGrid>) {
        // Weak, so that a table that is dropped takes its listeners along.
        let weak = Rc::downgrade(self);
        let table = move || weak.upgrade();
        let at = table.clone();
        self.keep.add(dom::listen(self.wrap.html(), "scroll", dom::How::default(), move |_| {
            if let Some(table) = at() {
                table.paint(false);
            }
        }));
        let at = table.clone();
        self.keep.add(dom::listen(self.body.html(), "click", dom::How::default(), move |event| {
            if let (Some(table), Some((_, row))) = (at(), dom::closest(&event, "data-row"))
                && let Ok(row) = row.parse()
            {
                if table.click_opens.get() {
                    table.select(Some(row));
                    table.open(row);
                } else {
                    table.choose(row);
                }
            }
        }));
        let at = table.clone();
        self.keep.add(dom::listen(self.body.html(), "dblclick", dom::How::default(), move |event| {
            if let (Some(table), Some((_, row))) = (at(), dom::closest(&event, "data-row"))
                && let Ok(row) = row.parse()
                && !table.click_opens.get()
            {
                table.open(row);
            }
        }));
        let at = table.clone();
        let how = dom::How { active: true, ..dom::How::default() };
        self.keep.add(dom::listen(self.table.html(), "keydown", how, move |event| {
            let Some(table) = at() else { return };
            if dom::closest(&event, "data-own-enter").is_some() {
                return;
            }
            if event.dyn_ref::<KeyboardEvent>().is_some_and(|key| table.key(key)) {
                event.prevent_default();
            }
        }));
        self.keep.add(dom::listen(&dom::window(), "resize", dom::How::default(), move |_| {
            if let Some(table) = table() {
                table.paint(true);
            }
        }));
    }

    fn key(&self, event: &KeyboardEvent) -> bool {
        if event.ctrl_key() || event.meta_key() || event.alt_key() || event.shift_key() {
            return false;
        }
        let order = self.order.borrow();
        let count = order.len();
        let place = self.selected.get().and_then(|row| order.iter().position(|at| *at as usize == row));
        let page = (self.rows_px(self.wrap.size().1) / ROW_PX).max(1.0) as usize;
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

    /// Selects a row and calls the listener.
    fn choose(&self, row: usize) {
        self.select(Some(row));
        if let Some(run) = &*self.on_select.borrow() {
            run(row);
        }
    }

    fn open(&self, row: usize) {
        if let Some(run) = &*self.on_open.borrow() {
            run(row);
        }
    }

    /// Shows the rows anew, which are others now.
    pub fn renew(&self) {
        self.hits.replace(None);
        self.dimmed.take();
        self.selected.set(None);
        let rows = self.rows.borrow();
        let count = rows.count();
        let holds = |at: usize| count == 0 || (0..count).any(|row| !rows.cell(at, row).is_empty());
        let says = |at: usize| {
            (0..count).any(|row| !matches!(rows.cell(at, row).to_string().as_str(), "" | format::DASH))
        };
        let holds = self.columns.iter().map(|(at, column)| match column.if_any {
            true => says(*at),
            false => column.priority < 3 || holds(*at),
        });
        let holds = holds.collect();
        drop(rows);
        self.holds.replace(holds);
        self.sort_rows();
    }

    /// Sorts by a column; leaves rows as they came for `None` or a column that it does not have.
    pub fn set_sort(&self, sort: Option<&Sort>) {
        let is_column = |sort: &&Sort| self.columns.iter().any(|(_, c)| c.key == sort.column && c.sorts);
        let sort = sort.filter(is_column).unwrap_or(self.rows.borrow().natural()).clone();
        if *self.sort.borrow() != sort {
            self.sort.replace(sort);
            self.sort_rows();
        }
    }

    /// Returns the row after the selected one as they are shown, or before it; round at the ends.
    pub fn neighbour(&self, forward: bool) -> Option<usize> {
        let selected = self.selected.get().map(|row| row as u32);
        neighbour(&self.order.borrow(), selected, forward).map(|row| row as usize)
    }

    /// Shows only these rows; `None`: all.
    pub fn set_hits(&self, hits: Option<Rc<Vec<bool>>>) {
        if *self.hits.borrow() != hits {
            self.hits.replace(hits);
            self.sort_rows();
        }
    }

    /// Shows all rows, but these paler; empty: none.
    pub fn set_dimmed(&self, dimmed: Vec<bool>) {
        if *self.dimmed.borrow() != dimmed {
            self.dimmed.replace(dimmed);
            self.paint_soon();
        }
    }

    /// Says why it is empty, or nothing.
    pub fn set_empty(&self, why: &str) {
        self.why_empty.replace(why.to_owned());
        self.say_empty();
    }

    fn say_empty(&self) {
        // Rows that a search hides are there all the same.
        let is_hidden = self.order.borrow().is_empty() && self.rows.borrow().count() > 0;
        let why = self.why_empty.borrow();
        self.empty.set_text(if is_hidden { "No row here fits the search." } else { &why });
    }

    /// Dims what is about to be replaced.
    pub fn set_stale(&self, stale: bool) {
        self.wrap.class_if("stale", stale);
    }

    /// Selects a row and brings it into sight.
    pub fn select(&self, row: Option<usize>) {
        if self.selected.replace(row) == row {
            return;
        }
        let order = self.order.borrow();
        let place = row.and_then(|row| order.iter().position(|at| *at as usize == row));
        let count = order.len();
        drop(order);
        if let Some(place) = place {
            if self.is_due.get() {
                // What is not there yet cannot be scrolled to.
                self.paint(true);
            }
            let wrap = self.wrap.html();
            let height = self.rows_px(self.wrap.size().1);
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
    fn sort_rows(&self) {
        let sort = self.sort.borrow().clone();
        let hits = self.hits.borrow().clone();
        let order = order(&*self.rows.borrow(), Some(&sort), hits.as_ref().map(|hits| hits.as_slice()));
        for ((_, column), head) in self.columns.iter().zip(&self.heads) {
            let state = match (column.key == sort.column, sort.descending) {
                (false, _) => "none",
                (true, true) => "descending",
                (true, false) => "ascending",
            };
            if column.sorts {
                head.set("aria-sort", state);
            }
        }
        self.wrap.set("data-rows", &order.len().to_string());
        self.empty.show(order.is_empty());
        self.order.replace(order);
        self.say_empty();
        self.paint_soon();
    }

    /// Paints at the end of this change of the page, or after what is running now.
    fn paint_soon(&self) {
        if !self.is_due.replace(true) {
            spawn_local(async { paint_due() });
        }
    }

    /// Leaves out columns there is no room for, the least important first; tells whether that changed.
    fn fit_columns(&self, width: f64) -> bool {
        // Out of sight there is no width to fit into.
        if width < 1.0 {
            return false;
        }
        let room = width - grid_columns::MENU_PX;
        let holds = self.holds.borrow();
        let heads = self.columns.iter().zip(&*holds).map(|((_, column), holds)| (column, *holds));
        let fits = self.choices.borrow().fit(heads, room);
        if *self.fits.borrow() == fits {
            return false;
        }
        for (head, fits) in self.heads.iter().zip(&fits) {
            head.show(*fits);
        }
        self.menu.update(&fits);
        self.fits.replace(fits);
        self.set_widths();
        self.set_groups();
        true
    }

    /// Writes what columns have in common above the heads of those that are shown.
    fn set_groups(&self) {
        let fits = self.fits.borrow();
        let shown = self.columns.iter().zip(&*fits).filter(|(_, fits)| **fits);
        let runs = groups(shown.map(|((_, column), _)| column));
        self.groups.show(runs.iter().any(|(group, _)| !group.is_empty()));
        self.groups.clear();
        for (group, columns) in runs {
            let cell = match glossary::terms(group).first() {
                Some((_, word)) => el("th").attr("scope", "colgroup").child(&names::term(*word, group)),
                None => el("td"),
            };
            self.groups.add(&cell.attr("colspan", &columns.to_string()));
        }
        // Above the menu of columns.
        self.groups.add(&el("td"));
    }

    /// Returns how many rows the head has.
    fn head_rows(&self) -> usize {
        if self.groups.html().hidden() { 1 } else { 2 }
    }

    /// Returns the height that is left below the head in a table of this height, in CSS pixels.
    fn rows_px(&self, height: f64) -> f64 {
        let groups = if self.groups.html().hidden() { 0.0 } else { GROUPS_PX };
        height - ROW_PX - groups
    }

    /// Gives the columns their widths. A table wider than its room is scrolled.
    fn set_widths(&self) {
        let choices = self.choices.borrow();
        let fits = self.fits.borrow();
        let mut whole = grid_columns::MENU_PX;
        // Not of the heads: with groups they are no longer in the first row, which decides.
        self.widths.clear();
        for ((_, column), _) in self.columns.iter().zip(&*fits).filter(|(_, fits)| **fits) {
            let chosen = choices.width_px(column.key);
            let px = chosen.unwrap_or(column.width.px());
            whole += px;
            let takes_rest = column.width == Width::Wide && chosen.is_none();
            let width = if takes_rest { String::new() } else { format!("{px}px") };
            self.widths.add(&el("col").styled("width", &width));
        }
        self.widths.add(&el("col").styled("width", &format!("{}px", grid_columns::MENU_PX)));
        self.table.style("min-width", &if choices.is_empty() { String::new() } else { format!("{whole}px") });
    }

    /// Changes what is chosen of the columns, keeps it, and shows it.
    pub(super) fn choose_columns(&self, change: impl FnOnce(&mut ColumnChoices)) {
        self.try_columns(change);
        self.keep_columns();
    }

    /// Keeps what is chosen of the columns.
    pub(super) fn keep_columns(&self) {
        grid_columns::save(self.name, &self.choices.borrow());
    }

    /// Changes what is chosen of the columns and shows it.
    pub(super) fn try_columns(&self, change: impl FnOnce(&mut ColumnChoices)) {
        change(&mut self.choices.borrow_mut());
        if self.fit_columns(self.wrap.size().0) {
            self.paint(true);
        } else {
            // The cells follow the heads.
            self.set_widths();
        }
    }

    /// Returns the width of a column in CSS pixels.
    pub(super) fn width_of(&self, key: &str) -> f64 {
        let at = self.columns.iter().position(|(_, column)| column.key == key);
        at.and_then(|at| self.heads.get(at)).map_or(0.0, |head| head.size().0)
    }

    /// Returns the head of the table, with all that is pressed and dragged there.
    pub(super) fn head(&self) -> (&El, &Listeners) {
        (&self.table, &self.keep)
    }

    fn room(&self) -> Room {
        let (width, height) = self.wrap.size();
        Room { width, height, scrolled: f64::from(self.wrap.html().scroll_top()) }
    }

    /// Paints if its rows have changed, or if there is more or less room than before: a table that was filled out of
    /// sight has not known its width.
    fn refit(&self, room: Room) {
        if self.is_due.get() || room.width >= 1.0 && (room.width, room.height) != self.size.get() {
            self.paint_in(room, true);
        }
    }

    /// Brings the rows in sight into the page.
    pub fn paint(&self, anew: bool) {
        self.paint_in(self.room(), anew);
    }

    fn paint_in(&self, room: Room, anew: bool) {
        let Room { width, height, scrolled } = room;
        self.size.set((width, height));
        let anew = self.is_due.replace(false) || anew;
        let order = self.order.borrow();
        let anew = self.fit_columns(width) || anew;
        let fits = self.fits.borrow();
        let stretch = stretch(order.len(), self.rows_px(height));
        let top = scrolled * stretch;
        let first = (top / ROW_PX) as usize;
        let last = ((top + height.max(200.0)) / ROW_PX) as usize + 1;
        let (from, to) = self.painted.get();
        if !anew && stretch == 1.0 && from <= first && last.min(order.len()) <= to {
            return;
        }
        self.table.set("aria-rowcount", &(order.len() + self.head_rows()).to_string());
        let from = first.saturating_sub(SPARE_ROWS).min(order.len());
        let to = (last + SPARE_ROWS).min(order.len());
        self.painted.set((from, to));
        let space = |px: f64| {
            el("tr").class("space").attr("aria-hidden", "true").styled("height", &format!("{px}px"))
        };
        let whole = (order.len() as f64 * ROW_PX / stretch).max(0.0);
        let above =
            if stretch == 1.0 { from as f64 * ROW_PX } else { scrolled - (top - from as f64 * ROW_PX) }
                .max(0.0);
        let below = (whole - above - (to - from) as f64 * ROW_PX).max(0.0);
        self.body.clear();
        self.body.add(&space(above));
        let rows = self.rows.borrow();
        let (mut active, above_rows) = (None, self.head_rows() + 1);
        for (place, at) in order.iter().enumerate().take(to).skip(from) {
            let row = *at as usize;
            if row >= rows.count() {
                continue;
            }
            let line = el("tr")
                .attr("data-row", &at.to_string())
                .attr("aria-rowindex", &(place + above_rows).to_string());
            // Stripes by place, not by what happens to be in the page.
            if place % 2 == 1 {
                line.class_if("odd", true);
            }
            if self.dimmed.borrow().get(row).copied().unwrap_or(false) {
                line.class_if("dimmed", true);
            }
            for (name, value) in rows.attributes(row) {
                line.set(name, &value);
            }
            let selected = self.selected.get() == Some(row);
            line.set_flag("aria-selected", selected);
            if selected {
                let id = format!("{}-row", self.name);
                line.set("id", &id);
                active = Some(id);
            }
            for ((at, column), _) in self.columns.iter().zip(&*fits).filter(|(_, fits)| **fits) {
                line.add(&cell(column, rows.cell(*at, row)));
            }
            // Below the menu of columns.
            line.add(&el("td"));
            self.body.add(&line);
        }
        self.body.add(&space(below));
        match active {
            Some(id) => self.table.set("aria-activedescendant", &id),
            None => self.table.unset("aria-activedescendant"),
        }
    }
}

/// Returns how many pixels of rows a pixel of scrolling moves.
fn stretch(rows: usize, height: f64) -> f64 {
    let whole = rows as f64 * ROW_PX;
    if whole <= MOST_PX { 1.0 } else { (whole - height) / (MOST_PX - height) }
}

fn cell(column: &Head, content: CellText) -> El {
    let cell = el("td").class(class_of(column.width)).attr("data-column", column.key);
    match content {
        CellText::Text(text) => cell.attr("title", &text).text(&text),
        CellText::Number(words, digits) => cell.attr("data-value", &digits).text(&words),
        CellText::Bar(share, words) => {
            let fill = div("bar-fill").styled("width", &format!("{:.2}%", share.clamp(0.0, 1.0) * 100.0));
            cell.attr("data-value", &share.to_string()).child(&fill).child(&span("bar-text", &words))
        }
        CellText::Endpoint { service, operation, tip, depth } => {
            let name = names::endpoint(&service, &operation);
            if !tip.is_empty() {
                name.set("title", &tip);
            }
            cell.child(&if depth > 0 { indented(depth, &name) } else { name })
        }
        CellText::Call(None, words) => cell.child(&div("indented").child(&span("call-words", &words))),
        CellText::Call(Some(endpoint), words) => {
            let (service, operation) = endpoint.names();
            let call = div("indented").child(&names::endpoint(service, operation));
            if !words.is_empty() {
                call.add(&span("muted call-number", &words));
            }
            cell.child(&call)
        }
        CellText::Service(service) => cell.child(&names::service(&service)),
        CellText::Spark(histogram) => cell.child(&names::spark(&histogram)),
    }
}

fn indented(depth: u32, name: &El) -> El {
    let deep = if depth > DEEPEST { format!("{depth} ") } else { String::new() };
    div("indented")
        .styled("padding-left", &format!("{}px", depth.min(DEEPEST) * 10))
        .child(&span("muted", &deep))
        .child(name)
}
