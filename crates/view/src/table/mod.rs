//! Tables as data. A [`Column`] is one value: from it follow the head, the cell, the order and the fields in CSV. A
//! [`Table`] is columns and rows; the page draws it without knowing what it is about.
//!
//! ```
//! use pathlight_view::table::{Column, Table};
//!
//! struct Host { name: &'static str, requests: u64 }
//! let columns = vec![
//!     Column::text("host", "Host", "Where it ran", |host: &Host| host.name.into()).wide().csv(&["host"]),
//!     Column::count("requests", "Requests", "Requests it served", |host: &Host| host.requests.into())
//!         .csv(&["requests"]),
//! ];
//! let mut table = Table::new("hosts", "Hosts by requests", ("requests", true), columns);
//! table.set_rows(vec![Host { name: "a", requests: 3 }, Host { name: "b", requests: 12 }]);
//! assert_eq!(table.order(None, None), [1, 0]);
//! assert_eq!(table.csv(), "host,requests\r\na,3\r\nb,12\r\n");
//! ```

mod column;
mod columns;
mod number;
#[cfg(test)]
mod tests;

pub use column::{CellText, Column, Head, PER_REQUEST, WHEN_PRESENT, Width};
pub use columns::{ColumnChoices, groups};
pub use number::{Number, Unit};

use crate::address::Sort;
use crate::search::finder::Finder;
use pathlight_base::format::harmless;

/// Attributes of a row for tests and style, by their names.
pub type Attributes = Vec<(&'static str, String)>;

/// A table: what it is called, its columns, its rows, and why it is empty.
pub struct Table<R> {
    name: &'static str,
    label: &'static str,
    natural: Sort,
    columns: Vec<Column<R>>,
    attributes: fn(&R) -> Attributes,
    fits: fn(&R, &Finder) -> bool,
    share: Option<fn(&R) -> f64>,
    rows: Option<Vec<R>>,
    empty: String,
}

/// Hits of a search in a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableMatches {
    /// For each row, whether it is found; `None` if nothing is searched for.
    pub hits: Option<Vec<bool>>,
    /// Rows that the search finds.
    pub matches: u64,
    /// Share of the whole they make up, in a table of shares.
    pub share: Option<f64>,
}

impl<R> Table<R> {
    /// Returns a table without rows. `natural` is the column that it is sorted by unless something else is asked for, and
    /// whether the greatest comes first.
    pub fn new(
        name: &'static str,
        label: &'static str,
        natural: (&str, bool),
        columns: Vec<Column<R>>,
    ) -> Self {
        Table {
            name,
            label,
            natural: Sort { column: natural.0.to_owned(), descending: natural.1 },
            columns,
            attributes: |_| Vec::new(),
            fits: |_, _| true,
            share: None,
            rows: None,
            empty: String::new(),
        }
    }

    /// Gives rows attributes.
    #[must_use]
    pub fn with_attributes(self, attributes: fn(&R) -> Attributes) -> Self {
        Table { attributes, ..self }
    }

    /// Says which rows a search finds.
    #[must_use]
    pub fn search(self, fits: fn(&R, &Finder) -> bool) -> Self {
        Table { fits, ..self }
    }

    /// Says which share of the whole a row is, so that a search can say how much it found.
    #[must_use]
    pub fn share(self, share: fn(&R) -> f64) -> Self {
        Table { share: Some(share), ..self }
    }

    /// Returns the table with rows.
    #[must_use]
    pub fn filled(self, rows: Vec<R>) -> Self {
        Table { rows: Some(rows), ..self }
    }

    /// Takes new rows.
    pub fn set_rows(&mut self, rows: Vec<R>) {
        self.rows = Some(rows);
    }

    /// Says why it is empty, if it is.
    pub fn set_empty(&mut self, why: &str) {
        why.clone_into(&mut self.empty);
    }

    /// Returns why it is empty.
    pub fn empty(&self) -> &str {
        &self.empty
    }

    /// Returns the rows in the order they came.
    pub fn rows(&self) -> &[R] {
        self.rows.as_deref().unwrap_or_default()
    }

    /// Returns whether it has been given rows, be it none.
    pub fn is_filled(&self) -> bool {
        self.rows.is_some()
    }

    /// Returns the rows' places in order; see [`order`].
    pub fn order(&self, sort: Option<&Sort>, hits: Option<&[bool]>) -> Vec<u32> {
        order(self, sort, hits)
    }

    /// Returns what a search finds.
    pub fn find(&self, finder: &Finder) -> TableMatches {
        if finder.is_empty() {
            return TableMatches::default();
        }
        let rows = self.rows();
        let hits: Vec<bool> = rows.iter().map(|row| (self.fits)(row, finder)).collect();
        let found = || rows.iter().zip(&hits).filter(|(_, hit)| **hit).map(|(row, _)| row);
        let share = self.share.map(|share| found().map(share).sum());
        TableMatches { matches: found().count() as u64, share, hits: Some(hits) }
    }

    /// Returns all rows, in the order they came, as comma-separated values.
    pub fn csv(&self) -> String {
        csv(&self.columns, self.rows())
    }
}

/// A table of rows of any type.
pub trait Rows {
    /// Returns the name that tests know it by.
    fn name(&self) -> &'static str;

    /// Returns what screen readers call it.
    fn label(&self) -> &'static str;

    /// Returns how it is sorted unless something else is asked for.
    fn natural(&self) -> &Sort;

    /// Returns the heads of its columns.
    fn heads(&self) -> Vec<Head>;

    /// Returns how many rows there are.
    fn count(&self) -> usize;

    /// Returns the attributes of a row.
    fn attributes(&self, row: usize) -> Attributes;

    /// Returns what a row shows in a column.
    fn cell(&self, column: usize, row: usize) -> CellText;

    /// Sorts places of rows by a column; equal ones stay as they came.
    fn sort(&self, column: usize, places: &mut [u32], descending: bool);
}

impl<R> Rows for Table<R> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn label(&self) -> &'static str {
        self.label
    }

    fn natural(&self) -> &Sort {
        &self.natural
    }

    fn heads(&self) -> Vec<Head> {
        self.columns.iter().map(|column| column.head).collect()
    }

    fn count(&self) -> usize {
        self.rows().len()
    }

    fn attributes(&self, row: usize) -> Attributes {
        (self.attributes)(&self.rows()[row])
    }

    fn cell(&self, column: usize, row: usize) -> CellText {
        self.columns[column].cell(&self.rows()[row])
    }

    fn sort(&self, column: usize, places: &mut [u32], descending: bool) {
        self.columns[column].sort(self.rows(), places, descending);
    }
}

/// Returns the places of the rows that are `hits` (`None`: of all), sorted as asked for; by the table's own order if
/// nothing, or a column that it does not have, is asked for. Rows that are equal stay as they came.
pub fn order(rows: &dyn Rows, sort: Option<&Sort>, hits: Option<&[bool]>) -> Vec<u32> {
    let is_hit = |at: &u32| hits.is_none_or(|hits| hits.get(*at as usize).copied().unwrap_or(true));
    let mut order: Vec<u32> = (0..rows.count() as u32).filter(is_hit).collect();
    let heads = rows.heads();
    let place = |sort: &Sort| heads.iter().position(|head| head.sorts && head.key == sort.column);
    let sort = sort.filter(|sort| place(sort).is_some()).unwrap_or(rows.natural());
    if let Some(column) = place(sort) {
        rows.sort(column, &mut order, sort.descending);
    }
    order
}

/// Returns rows as comma-separated values (RFC 4180), heads first.
pub fn csv<'a, R: 'a>(columns: &[Column<R>], rows: impl IntoIterator<Item = &'a R>) -> String {
    let heads: Vec<String> =
        columns.iter().flat_map(|column| &column.heads).map(|head| head.clone().into_owned()).collect();
    let mut out = String::new();
    write_line(&heads, &mut out);
    let mut fields = Vec::new();
    for row in rows {
        fields.clear();
        columns.iter().for_each(|column| column.write(row, &mut fields));
        write_line(&fields, &mut out);
    }
    out
}

/// Writes a line of comma-separated values: every CSV of Pathlight is made here.
pub(crate) fn write_line(fields: &[String], out: &mut String) {
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let field = in_spreadsheet(field);
        if field.contains([',', '"']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&field);
        }
    }
    out.push_str("\r\n");
}

/// Returns a field as a spreadsheet may take it: [`harmless`], and with an apostrophe before what would be calculated there.
/// A name may be a formula that runs a program or sends the sheet away.
fn in_spreadsheet(field: &str) -> String {
    let text = harmless(field);
    // As it is typed and in full width, which some take for it.
    let begins =
        text.trim_start().starts_with(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
    if begins && text.parse::<f64>().is_err() { format!("'{text}") } else { text }
}

/// Returns what follows the chosen one of a list, or comes before it; round at the ends. With none chosen, that is the
/// first or the last.
pub fn neighbour(list: &[u32], chosen: Option<u32>, forward: bool) -> Option<u32> {
    let count = list.len();
    let place = chosen.and_then(|chosen| list.iter().position(|at| *at == chosen));
    let to = match (place, forward) {
        (None, true) => 0,
        (None, false) => count.checked_sub(1)?,
        (Some(place), true) => (place + 1) % count,
        (Some(place), false) => (place + count - 1) % count,
    };
    list.get(to).copied()
}

/// Returns whether what was typed to narrow a list is in one of some names, whatever the case; several words must all
/// be there.
pub fn fits(text: &str, names: &[&str]) -> bool {
    text.split_whitespace().all(|word| {
        let word = word.to_lowercase();
        names.iter().any(|name| name.to_lowercase().contains(&word))
    })
}

/// Returns the attributes of a row about an endpoint: what tests call it, service, operation and value.
pub fn endpoint_attributes(
    test: &str,
    (service, operation): (&str, &str),
    value: impl Into<Number>,
) -> Attributes {
    vec![
        ("data-test", test.to_owned()),
        ("data-service", service.to_owned()),
        ("data-operation", operation.to_owned()),
        ("data-value", value.into().digits()),
    ]
}
