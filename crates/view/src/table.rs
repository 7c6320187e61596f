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

use crate::address::Sort;
use pathlight_model::sort::Arrange;
use pathlight_query::LogHistogram;
use pathlight_text::format;
use std::borrow::Cow;
use std::cmp::Ordering;

/// A number of a row. Whole numbers stay exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// There is none: a dash, an empty field, the smallest of all.
    None,
    /// A count, or whole microseconds.
    Whole(u64),
    /// A mean, a share, a difference.
    Real(f64),
}

impl Number {
    /// Returns the number as a float; NaN for none.
    pub fn real(self) -> f64 {
        match self {
            Number::None => f64::NAN,
            Number::Whole(value) => value as f64,
            Number::Real(value) => value,
        }
    }

    /// Returns the number with all of its digits; nothing for none.
    pub fn digits(self) -> String {
        match self {
            Number::None => String::new(),
            Number::Whole(value) => value.to_string(),
            Number::Real(value) => value.to_string(),
        }
    }

    fn compare(self, other: Number) -> Ordering {
        match (self, other) {
            (Number::None, Number::None) => Ordering::Equal,
            (Number::None, _) => Ordering::Less,
            (_, Number::None) => Ordering::Greater,
            (Number::Whole(a), Number::Whole(b)) => a.cmp(&b),
            // Adding zero makes one of both zeros.
            (a, b) => (a.real() + 0.0).total_cmp(&(b.real() + 0.0)),
        }
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Number {
        Number::Whole(value)
    }
}

impl From<u32> for Number {
    fn from(value: u32) -> Number {
        Number::Whole(value.into())
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Number {
        Number::Whole(value as u64)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        Number::Real(value)
    }
}

impl<T: Into<Number>> From<Option<T>> for Number {
    fn from(value: Option<T>) -> Number {
        value.map_or(Number::None, Into::into)
    }
}

/// How a number is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A count in full.
    Count,
    /// Microseconds, as a duration.
    Duration,
    /// Microseconds with their sign, as a difference of durations.
    Change,
    /// Microseconds since 1970, as date and time to the millisecond.
    Moment,
    /// A share of 1, in percent.
    Share,
}

impl Unit {
    /// Returns the number in words; a dash for none.
    pub fn words(self, number: Number) -> String {
        match (self, number) {
            (_, Number::None) => format::DASH.to_owned(),
            (Unit::Count, Number::Whole(value)) => format::count(value),
            (Unit::Count, Number::Real(value)) => format::number(value),
            (Unit::Moment, Number::Whole(us)) => format::moment(us / 1000 * 1000),
            (Unit::Moment, Number::Real(us)) => format::moment(us as u64 / 1000 * 1000),
            (Unit::Duration, _) => format::duration(number.real()),
            (Unit::Change, _) => format::change(number.real()),
            (Unit::Share, _) => format::share(number.real()),
        }
    }
}

/// What a cell shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A number in words, and with all of its digits.
    Number(String, String),
    /// A share of 1 as a bar behind its words.
    Bar(f64, String),
    /// An endpoint.
    Endpoint {
        /// Its service.
        service: String,
        /// Its operation.
        operation: String,
        /// What is said of it beside the pointer; empty: its name.
        tip: String,
        /// How far it is indented, in levels.
        depth: u32,
    },
    /// A call: its endpoint, or `None`, and words behind it.
    Call(Option<(String, String)>, String),
    /// A service.
    Service(String),
    /// A histogram as small as a word.
    Spark(LogHistogram),
}

/// How wide a column is, and how it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// All that is left; one column of a table has it.
    Wide,
    /// A bar.
    Bar,
    /// A histogram.
    Spark,
    /// A number.
    Number,
    /// A short number or word.
    Tiny,
    /// A date with its time, or an interval.
    Moment,
    /// A ratio with its interval.
    Ratio,
    /// A second name.
    Caller,
    /// A few words.
    Words,
    /// An id.
    Id,
}

impl Width {
    /// Whether the greatest comes first when the column is sorted by.
    pub fn is_number(self) -> bool {
        use Width::{Bar, Moment, Number, Ratio, Tiny};
        matches!(self, Bar | Number | Tiny | Moment | Ratio)
    }
}

/// The head of a column.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// Its name in the address.
    pub key: &'static str,
    /// What stands above it.
    pub title: &'static str,
    /// The title in a sentence.
    pub hint: &'static str,
    /// How wide it is.
    pub width: Width,
    /// 1 is always shown, 2 and 3 where there is room, 0 stands in files only.
    pub priority: u8,
    /// Whether rows can be sorted by it.
    pub sorts: bool,
}

/// What is said of an endpoint beside the pointer, and how far it is indented.
type Tip<R> = fn(&R) -> (String, u32);

/// The endpoint that is called, if it is one alone, and words behind it.
type Call<R> = fn(&R) -> (Option<(&str, &str)>, String);

/// What a row has in a column.
enum Content<R> {
    Text(fn(&R) -> Cow<'_, str>),
    Number(fn(&R) -> Number, Unit),
    Said(fn(&R) -> Number, fn(&R) -> String),
    Bar(fn(&R) -> Number, Option<fn(&R) -> String>),
    Endpoint(fn(&R) -> (&str, &str), Option<Tip<R>>),
    Call(Call<R>),
    Service(fn(&R) -> &str),
    Spark(fn(&R) -> Option<&LogHistogram>),
}

/// A column of rows of one kind.
pub struct Column<R> {
    head: Head,
    content: Content<R>,
    /// Heads of its fields in CSV; none: it is not in files.
    heads: Vec<Cow<'static, str>>,
    /// Its fields where they are not what the cell has.
    fields: Option<fn(&R) -> Vec<String>>,
    /// What it is sorted by where that is not what the cell has.
    order: Option<fn(&R, &R) -> Ordering>,
}

impl<R> Column<R> {
    fn new(
        (key, title, hint): (&'static str, &'static str, &'static str),
        width: Width,
        content: Content<R>,
    ) -> Self {
        let head = Head { key, title, hint, width, priority: 1, sorts: true };
        Column { head, content, heads: Vec::new(), fields: None, order: None }
    }

    /// Text.
    pub fn text(
        key: &'static str,
        title: &'static str,
        hint: &'static str,
        of: fn(&R) -> Cow<'_, str>,
    ) -> Self {
        Column::new((key, title, hint), Width::Words, Content::Text(of))
    }

    /// A number in a unit.
    pub fn number(
        unit: Unit,
        key: &'static str,
        title: &'static str,
        hint: &'static str,
        of: fn(&R) -> Number,
    ) -> Self {
        let width = if unit == Unit::Moment { Width::Moment } else { Width::Number };
        Column::new((key, title, hint), width, Content::Number(of, unit))
    }

    /// A count.
    pub fn count(key: &'static str, title: &'static str, hint: &'static str, of: fn(&R) -> Number) -> Self {
        Column::number(Unit::Count, key, title, hint, of)
    }

    /// A duration in microseconds.
    pub fn duration(
        key: &'static str,
        title: &'static str,
        hint: &'static str,
        of: fn(&R) -> Number,
    ) -> Self {
        Column::number(Unit::Duration, key, title, hint, of)
    }

    /// A number that is said in words of its own.
    pub fn said(
        key: &'static str,
        title: &'static str,
        hint: &'static str,
        of: fn(&R) -> Number,
        words: fn(&R) -> String,
    ) -> Self {
        Column::new((key, title, hint), Width::Number, Content::Said(of, words))
    }

    /// A share of 1 as a bar.
    pub fn share(key: &'static str, title: &'static str, hint: &'static str, of: fn(&R) -> Number) -> Self {
        Column::new((key, title, hint), Width::Bar, Content::Bar(of, None))
    }

    /// An endpoint, as service and operation, in the column `endpoint`.
    pub fn endpoint(title: &'static str, hint: &'static str, of: fn(&R) -> (&str, &str)) -> Self {
        Column::new(("endpoint", title, hint), Width::Wide, Content::Endpoint(of, None))
    }

    /// A call, in the column `call`: its endpoint, or `None`, and words behind it. What it is
    /// sorted by ([`Column::by`]) and its fields ([`Column::csv_as`]) are said apart.
    pub fn call(title: &'static str, hint: &'static str, of: Call<R>) -> Self {
        Column::new(("call", title, hint), Width::Wide, Content::Call(of))
    }

    /// A service, in the column `service`.
    pub fn service(title: &'static str, hint: &'static str, of: fn(&R) -> &str) -> Self {
        Column::new(("service", title, hint), Width::Wide, Content::Service(of))
    }

    /// A histogram, in the column `spark`.
    pub fn spark(title: &'static str, hint: &'static str, of: fn(&R) -> Option<&LogHistogram>) -> Self {
        Column::new(("spark", title, hint), Width::Spark, Content::Spark(of)).low(3).unsorted()
    }

    /// A number that stands in files only, under this head.
    pub fn field(head: &'static str, of: fn(&R) -> Number) -> Self {
        Column::number(Unit::Count, "", "", "", of).low(0).unsorted().csv(&[head])
    }

    /// Text that stands in files only, under this head.
    pub fn text_field(head: &'static str, of: fn(&R) -> Cow<'_, str>) -> Self {
        Column::text("", "", "", of).low(0).unsorted().csv(&[head])
    }

    /// Fields that stand in files only, under these heads.
    pub fn fields(heads: Vec<String>, of: fn(&R) -> Vec<String>) -> Self {
        let mut column = Column::text("", "", "", |_| "".into()).low(0).unsorted();
        column.heads = heads.into_iter().map(Cow::Owned).collect();
        column.fields = Some(of);
        column
    }

    /// Sets the key.
    #[must_use]
    pub fn key(mut self, key: &'static str) -> Self {
        self.head.key = key;
        self
    }

    /// Shows it only where there is room: 2, and 3 with more room than that.
    #[must_use]
    pub fn low(mut self, priority: u8) -> Self {
        self.head.priority = priority;
        self
    }

    /// Sets how wide it is.
    #[must_use]
    pub fn width(mut self, width: Width) -> Self {
        self.head.width = width;
        self
    }

    /// Makes it as wide as a short number.
    #[must_use]
    pub fn tiny(self) -> Self {
        self.width(Width::Tiny)
    }

    /// Gives it all the room that is left.
    #[must_use]
    pub fn wide(self) -> Self {
        self.width(Width::Wide)
    }

    /// Rows cannot be sorted by it.
    #[must_use]
    pub fn unsorted(mut self) -> Self {
        self.head.sorts = false;
        self
    }

    /// Sorts by something else than what the cell has.
    #[must_use]
    pub fn by(mut self, order: fn(&R, &R) -> Ordering) -> Self {
        self.order = Some(order);
        self
    }

    /// Puts other words on a bar than its share.
    #[must_use]
    pub fn bar_words(mut self, words: fn(&R) -> String) -> Self {
        if let Content::Bar(of, _) = self.content {
            self.content = Content::Bar(of, Some(words));
        }
        self
    }

    /// Says something else of an endpoint than its name beside the pointer, and indents it by so many levels.
    #[must_use]
    pub fn tip(mut self, tip: Tip<R>) -> Self {
        if let Content::Endpoint(of, _) = self.content {
            self.content = Content::Endpoint(of, Some(tip));
        }
        self
    }

    /// Writes it into files under these heads: two for an endpoint, else one.
    #[must_use]
    pub fn csv(mut self, heads: &[&'static str]) -> Self {
        self.heads = heads.iter().map(|head| Cow::Borrowed(*head)).collect();
        self
    }

    /// Writes other fields into files than what the cell has, under these heads.
    #[must_use]
    pub fn csv_as(self, heads: &[&'static str], fields: fn(&R) -> Vec<String>) -> Self {
        Column { fields: Some(fields), ..self.csv(heads) }
    }

    fn cell(&self, row: &R) -> Cell {
        match &self.content {
            Content::Text(of) => Cell::Text(of(row).into_owned()),
            Content::Number(of, unit) => number_cell(of(row), |number| unit.words(number)),
            Content::Said(of, words) => number_cell(of(row), |_| words(row)),
            Content::Bar(of, words) => match (of(row), words) {
                (Number::None, _) => Cell::Text(format::DASH.to_owned()),
                (share, Some(words)) => Cell::Bar(share.real(), words(row)),
                (share, None) => Cell::Bar(share.real(), format::share(share.real())),
            },
            Content::Endpoint(of, tip) => {
                let (service, operation) = of(row);
                let (tip, depth) = tip.map_or_else(Default::default, |tip| tip(row));
                Cell::Endpoint { service: service.to_owned(), operation: operation.to_owned(), tip, depth }
            }
            Content::Call(of) => {
                let (endpoint, words) = of(row);
                Cell::Call(
                    endpoint.map(|(service, operation)| (service.to_owned(), operation.to_owned())),
                    words,
                )
            }
            Content::Service(of) => Cell::Service(of(row).to_owned()),
            Content::Spark(of) => Cell::Spark(of(row).cloned().unwrap_or_default()),
        }
    }

    fn compare(&self, a: &R, b: &R) -> Ordering {
        if let Some(order) = self.order {
            return order(a, b);
        }
        match &self.content {
            Content::Text(of) => of(a).cmp(&of(b)),
            Content::Number(of, _) | Content::Said(of, _) | Content::Bar(of, _) => of(a).compare(of(b)),
            Content::Endpoint(of, _) => {
                let ((sa, oa), (sb, ob)) = (of(a), of(b));
                (oa, sa).cmp(&(ob, sb))
            }
            Content::Service(of) => of(a).cmp(of(b)),
            Content::Call(_) | Content::Spark(_) => Ordering::Equal,
        }
    }

    fn write(&self, row: &R, out: &mut Vec<String>) {
        if self.heads.is_empty() {
            return;
        }
        match (self.fields, &self.content) {
            (Some(fields), _) => out.extend(fields(row)),
            (None, Content::Text(of)) => out.push(of(row).into_owned()),
            (None, Content::Number(of, _) | Content::Said(of, _) | Content::Bar(of, _)) => {
                out.push(of(row).digits());
            }
            (None, Content::Endpoint(of, _)) => {
                let (service, operation) = of(row);
                out.extend([service.to_owned(), operation.to_owned()]);
            }
            (None, Content::Service(of)) => out.push(of(row).to_owned()),
            (None, Content::Call(_) | Content::Spark(_)) => out.push(String::new()),
        }
    }
}

fn number_cell(number: Number, words: impl FnOnce(Number) -> String) -> Cell {
    match number {
        Number::None => Cell::Text(format::DASH.to_owned()),
        number => Cell::Number(words(number), number.digits()),
    }
}

/// Attributes of a row for tests and style, by their names.
pub type Attributes = Vec<(&'static str, String)>;

/// A table: what it is called, its columns, its rows, and why it is empty.
pub struct Table<R> {
    name: &'static str,
    label: &'static str,
    natural: Sort,
    columns: Vec<Column<R>>,
    attributes: fn(&R) -> Attributes,
    fits: fn(&R, &str) -> bool,
    share: Option<fn(&R) -> f64>,
    rows: Option<Vec<R>>,
    empty: String,
}

/// What a search finds in a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// For each row, whether it is found; `None` if nothing is searched for.
    pub hits: Option<Vec<bool>>,
    /// How many rows are found.
    pub matches: u64,
    /// Which share of the whole they make up, in a table of shares.
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

    /// Says which rows a search text finds; see [`fits`].
    #[must_use]
    pub fn search(self, fits: fn(&R, &str) -> bool) -> Self {
        Table { fits, ..self }
    }

    /// Says which share of the whole a row is, so that a search can say how much it found.
    #[must_use]
    pub fn share(self, share: fn(&R) -> f64) -> Self {
        Table { share: Some(share), ..self }
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

    /// Whether it has been given rows, be it none.
    pub fn is_filled(&self) -> bool {
        self.rows.is_some()
    }

    /// Returns the rows' places in order; see [`order`].
    pub fn order(&self, sort: Option<&Sort>, hits: Option<&[bool]>) -> Vec<u32> {
        order(self, sort, hits)
    }

    /// Returns what a search text finds; nothing is searched for by a text without a word.
    pub fn find(&self, text: &str) -> Found {
        if text.trim().is_empty() {
            return Found::default();
        }
        let rows = self.rows();
        let hits: Vec<bool> = rows.iter().map(|row| (self.fits)(row, text)).collect();
        let found = || rows.iter().zip(&hits).filter(|(_, hit)| **hit).map(|(row, _)| row);
        let share = self.share.map(|share| found().map(share).sum());
        Found { matches: found().count() as u64, share, hits: Some(hits) }
    }

    /// Returns all rows, in the order they came, as comma-separated values.
    pub fn csv(&self) -> String {
        csv(&self.columns, self.rows())
    }
}

/// A table whatever its rows are.
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
    fn cell(&self, column: usize, row: usize) -> Cell;

    /// Compares two rows by a column, the smallest first.
    fn compare(&self, column: usize, a: usize, b: usize) -> Ordering;
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

    fn cell(&self, column: usize, row: usize) -> Cell {
        self.columns[column].cell(&self.rows()[row])
    }

    fn compare(&self, column: usize, a: usize, b: usize) -> Ordering {
        let rows = self.rows();
        self.columns[column].compare(&rows[a], &rows[b])
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
        order.arrange_by(|a, b| {
            let ordering = rows.compare(column, *a as usize, *b as usize);
            if sort.descending { ordering.reverse() } else { ordering }
        });
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

fn write_line(fields: &[String], out: &mut String) {
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        if field.contains([',', '"', '\n', '\r']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(field);
        }
    }
    out.push_str("\r\n");
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

/// Whether a search text is in one of some names, whatever the case; several words must all be there.
pub fn fits(text: &str, names: &[&str]) -> bool {
    text.split_whitespace().all(|word| {
        let word = word.to_lowercase();
        names.iter().any(|name| name.to_lowercase().contains(&word))
    })
}

/// Whether a search text is in the name of an endpoint.
pub fn fits_endpoint(text: &str, (service, operation): (&str, &str)) -> bool {
    fits(text, &[&format::endpoint(service, operation)])
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

#[cfg(test)]
mod tests;
