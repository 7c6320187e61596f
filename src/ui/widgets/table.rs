//! Tables: sortable, with only the rows in sight in the page, one row selected, walked with the keyboard.

use super::grid::{Grid, Head, Lines};
use crate::ui::dom::El;
use pathlight_view::address::Sort;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::rc::Rc;

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
    fn head(&self) -> Head {
        let Column { key, title, hint, class, priority, .. } = *self;
        Head { key, title, hint, class, priority, sorts: self.order.is_some() }
    }
}

/// A column of numbers and sorted by them: its key, title and hint, its class and priority, the number of a row, and how
/// that is said.
macro_rules! number {
    ($key:expr, $title:expr, $hint:expr, $class:literal $priority:literal, |$row:ident: &$kind:ty| $value:expr, $words:expr) => {
        $crate::ui::widgets::table::Column {
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
                $crate::ui::widgets::table::What::Number($words(value), value.to_string())
            }),
        }
    };
}

/// The column of a row's endpoint, given as service and operation.
macro_rules! endpoint {
    ($title:expr, $hint:expr, |$row:ident: &$kind:ty| $name:expr) => {
        $crate::ui::widgets::table::Column {
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
                let name = $crate::ui::widgets::names::endpoint(service, operation);
                $crate::ui::widgets::table::What::Element(name)
            }),
        }
    };
}

pub(crate) use {endpoint, number};

type Attributes<R> = Box<dyn Fn(&R) -> Vec<(&'static str, String)>>;

/// The rows and what is shown of them.
struct Rows<R> {
    columns: Vec<Column<R>>,
    attributes: Attributes<R>,
    rows: RefCell<Rc<Vec<R>>>,
}

impl<R> Lines for Rows<R> {
    fn count(&self) -> usize {
        self.rows.borrow().len()
    }

    fn attributes(&self, row: usize) -> Vec<(&'static str, String)> {
        (self.attributes)(&self.rows.borrow()[row])
    }

    fn cell(&self, column: usize, row: usize) -> What {
        (self.columns[column].cell)(&self.rows.borrow()[row])
    }

    fn compare(&self, column: usize, a: usize, b: usize) -> Ordering {
        let rows = self.rows.borrow();
        self.columns[column].order.map_or(Ordering::Equal, |order| order(&rows[a], &rows[b]))
    }
}

/// A table of rows of one kind; cloning shares it.
pub struct Table<R> {
    grid: Rc<Grid>,
    rows: Rc<Rows<R>>,
}

impl<R> Clone for Table<R> {
    fn clone(&self) -> Self {
        Table { grid: self.grid.clone(), rows: self.rows.clone() }
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
        on_sort: impl Fn(Sort) + 'static,
    ) -> Table<R> {
        let heads = columns.iter().map(Column::head).collect();
        let rows = Rc::new(Rows { columns, attributes: Box::new(attributes), rows: RefCell::default() });
        let natural = Sort { column: sorted.0.to_owned(), descending: sorted.1 };
        let grid = Grid::new((name, label), natural, heads, rows.clone(), Rc::new(on_sort));
        Table { grid, rows }
    }

    /// Hears of a row that is selected.
    pub fn on_select(self, run: impl Fn(usize) + 'static) -> Self {
        self.grid.on_select(Box::new(run));
        self
    }

    /// Hears of a row that is opened: by Enter or a double click.
    pub fn on_open(self, run: impl Fn(usize) + 'static) -> Self {
        self.grid.on_open(Box::new(run));
        self
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        self.grid.element()
    }

    /// Takes new rows.
    pub fn set_rows(&self, rows: Rc<Vec<R>>) {
        self.rows.rows.replace(rows);
        self.grid.renew();
    }

    /// The rows.
    pub fn rows(&self) -> Rc<Vec<R>> {
        self.rows.rows.borrow().clone()
    }

    /// Sorts; `None` or a column it does not have: as it came.
    pub fn set_sort(&self, sort: Option<&Sort>) {
        self.grid.set_sort(sort);
    }

    /// Shows only these rows; `None`: all.
    pub fn set_hits(&self, hits: Option<Rc<Vec<bool>>>) {
        self.grid.set_hits(hits);
    }

    /// Says why it is empty, or nothing.
    pub fn set_empty(&self, why: &str) {
        self.grid.set_empty(why);
    }

    /// Dims what is about to be replaced.
    pub fn set_stale(&self, stale: bool) {
        self.grid.set_stale(stale);
    }

    /// Selects a row and brings it into sight.
    pub fn select(&self, row: Option<usize>) {
        self.grid.select(row);
    }
}

/// Orders floats; reports hold no NaN.
pub fn by_number(a: f64, b: f64) -> Ordering {
    a.total_cmp(&b)
}
