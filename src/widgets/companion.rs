//! The companion table of a chart: a [`Table`] in the page, with the same content as the chart.

use super::grid::TableGrid;
use crate::dom::El;
use crate::page::Page;
use pathlight_view::address::Sort;
use pathlight_view::search::finder::Finder;
use pathlight_view::table::Table;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

struct Inner<R> {
    table: Rc<RefCell<Table<R>>>,
    grid: Rc<TableGrid>,
}

/// A table in the page. Tables live as long as the page, so a handle is a plain copy.
pub struct CompanionTable<R: 'static>(&'static Inner<R>);

impl<R> Clone for CompanionTable<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for CompanionTable<R> {}

impl<R> CompanionTable<R> {
    /// Puts a table into the page. Its order stands in the address.
    pub fn new(page: Page, table: Table<R>) -> CompanionTable<R> {
        CompanionTable::sorted_by(table, move |sort| page.change(|address| address.sort = Some(sort)))
    }

    /// Puts a table into the page that is sorted for itself, since another one of the view has the order of the address.
    pub fn sorted_alone(table: Table<R>) -> CompanionTable<R> {
        let own: Rc<OnceCell<CompanionTable<R>>> = Rc::default();
        let known = own.clone();
        let table = CompanionTable::sorted_by(table, move |sort| {
            if let Some(table) = known.get() {
                table.set_sort(Some(&sort));
            }
        });
        let _ = own.set(table);
        table
    }

    fn sorted_by(table: Table<R>, on_sort: impl Fn(Sort) + 'static) -> CompanionTable<R> {
        let table = Rc::new(RefCell::new(table));
        let grid = TableGrid::new(table.clone(), Rc::new(on_sort));
        CompanionTable(Box::leak(Box::new(Inner { table, grid })))
    }

    fn grid(self) -> &'static TableGrid {
        &self.0.grid
    }

    /// Runs when a row is selected.
    pub fn on_select(self, run: impl Fn(&R) + 'static) -> Self {
        self.grid().on_select(Box::new(move |at| self.with_row(at, &run)));
        self
    }

    /// Runs when a row is opened: by Enter or a double click.
    pub fn on_open(self, run: impl Fn(&R) + 'static) -> Self {
        self.grid().on_open(Box::new(move |at| self.with_row(at, &run)));
        self
    }

    /// Makes one click open a row, not only a double click.
    pub fn click_opens(self) -> Self {
        self.grid().click_opens();
        self
    }

    fn with_row(self, at: usize, run: &dyn Fn(&R)) {
        if let Some(row) = self.0.table.borrow().rows().get(at) {
            run(row);
        }
    }

    /// Returns the element of the table.
    pub fn element(self) -> &'static El {
        self.grid().element()
    }

    /// Looks at the table.
    pub fn look<T>(self, work: impl FnOnce(&Table<R>) -> T) -> T {
        work(&self.0.table.borrow())
    }

    /// Says why it is empty, or nothing.
    pub fn set_empty(self, why: &str) {
        self.grid().set_empty(why);
    }

    /// Takes new rows, and why there are none if there are none.
    pub fn set_rows(self, rows: Vec<R>, why_empty: &str) {
        let mut table = self.0.table.borrow_mut();
        table.set_rows(rows);
        table.set_empty(why_empty);
        drop(table);
        self.grid().set_empty(why_empty);
        self.grid().renew();
    }

    /// Searches, and shows only what is found. Returns how many rows that are, and which share of the whole.
    pub fn search(self, finder: &Finder) -> (u64, Option<f64>) {
        let found = self.look(|table| table.find(finder));
        self.set_hits(found.hits);
        (found.matches, found.share)
    }

    /// Shows only these rows; `None`: all.
    pub fn set_hits(self, hits: Option<Vec<bool>>) {
        self.grid().set_hits(hits.map(Rc::new));
    }

    /// Shows all rows, those that are no hits paler; `None`: none.
    pub fn dim_others(self, hits: Option<Vec<bool>>) {
        self.grid().set_dimmed(hits.unwrap_or_default().into_iter().map(|hit| !hit).collect());
    }

    /// Does something with the row after the selected one as they are shown, or before it; round at the ends.
    pub fn step(self, forward: bool, run: impl Fn(&R)) {
        if let Some(at) = self.grid().neighbour(forward) {
            self.with_row(at, &run);
        }
    }

    /// Selects the row after the selected one, or before it.
    pub fn select_beside(self, forward: bool) {
        self.grid().select(self.grid().neighbour(forward));
    }

    /// Selects the first row that is meant, and brings it into sight; none if none is.
    pub fn select(self, is_meant: impl Fn(&R) -> bool) {
        let at = self.look(|table| table.rows().iter().position(is_meant));
        self.grid().select(at);
    }

    /// Selects a row by its place, and brings it into sight.
    pub fn select_at(self, at: Option<usize>) {
        self.grid().select(at);
    }

    /// Returns the rows as comma-separated values; `None` as long as there is no report.
    pub fn csv(self) -> Option<String> {
        self.look(|table| table.is_filled().then(|| table.csv()))
    }

    /// Shows or hides it. A table out of sight has no room for columns, so it is painted again.
    pub fn show(self, shown: bool) {
        let was_hidden = self.element().html().hidden();
        self.element().show(shown);
        if shown && was_hidden {
            self.grid().paint(true);
        }
    }
}

/// A table of a view, whatever its rows are.
pub trait AnyTable {
    /// Dims what is about to be replaced.
    fn set_stale(&self, stale: bool);

    /// Sorts by a column; by its own order for `None` or a column that it does not have.
    fn set_sort(&self, sort: Option<&Sort>);
}

impl<R> AnyTable for CompanionTable<R> {
    fn set_stale(&self, stale: bool) {
        self.grid().set_stale(stale);
    }

    fn set_sort(&self, sort: Option<&Sort>) {
        self.grid().set_sort(sort);
    }
}
