//! A column of a table: one value from which head, cell, order and fields of files follow.

use super::{Number, Unit};
use pathlight_base::format;
use pathlight_base::statistics::LogHistogram;
use pathlight_trace::Endpoint;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// Text and look of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum CellText {
    /// Text.
    Text(String),
    /// A number in words, and with all of its digits.
    Number(String, String),
    /// A share of 1 as a bar behind its words.
    Bar(f64, String),
    /// An endpoint.
    Endpoint {
        /// Service of the endpoint.
        service: String,
        /// Operation of the endpoint.
        operation: String,
        /// Tip beside the pointer; empty: its name.
        tip: String,
        /// Indentation, in levels.
        depth: u32,
    },
    /// A call: its endpoint, or `None`, and words behind it.
    Call(Option<Endpoint>, String),
    /// A service.
    Service(String),
    /// A histogram as small as a word.
    Spark(LogHistogram),
}

impl CellText {
    /// Returns whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        matches!(self, CellText::Text(text) if text.is_empty())
    }
}

/// The cell as text.
impl fmt::Display for CellText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellText::Text(text)
            | CellText::Number(text, _)
            | CellText::Bar(_, text)
            | CellText::Call(None, text)
            | CellText::Service(text) => f.write_str(text),
            CellText::Endpoint { service, operation, .. } => {
                f.write_str(&format::endpoint(service, operation))
            }
            CellText::Call(Some(Endpoint { service, operation }), words) => {
                f.write_str(format!("{} {words}", format::endpoint(service, operation)).trim_end())
            }
            CellText::Spark(_) => Ok(()),
        }
    }
}

/// Width and alignment of a column.
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
    /// Returns whether the greatest comes first when the column is sorted by.
    pub fn is_number(self) -> bool {
        use Width::{Bar, Moment, Number, Ratio, Tiny};
        matches!(self, Bar | Number | Tiny | Moment | Ratio)
    }
}

/// The head of a column.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// Key of the column in the address.
    pub key: &'static str,
    /// Title at the head of the column.
    pub title: &'static str,
    /// The title in a sentence.
    pub hint: &'static str,
    /// Width of the column.
    pub width: Width,
    /// 1 is always shown, 2 and 3 where there is room, 0 stands in files only.
    pub priority: u8,
    /// Whether rows can be sorted by it.
    pub sorts: bool,
    /// Group it shares with the columns beside it, such as [`PER_REQUEST`]; empty: none.
    pub group: &'static str,
    /// Whether it is left out where no row holds anything in it.
    pub if_any: bool,
}

/// The group of columns whose numbers are over all requests; a word of the glossary.
pub const PER_REQUEST: &str = "Per request";

/// The group of columns whose numbers are over the requests that have what the row is about; a word of the glossary.
pub const WHEN_PRESENT: &str = "When present";

/// Tip of an endpoint beside the pointer, and its indentation.
type Tip<R> = fn(&R) -> (String, u32);

/// The endpoint that is called, if it is one alone, and words behind it.
type Call<R> = fn(&R) -> (Option<(&str, &str)>, String);

/// Content of a row in a column.
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
    pub(crate) head: Head,
    content: Content<R>,
    /// Heads of its fields in CSV; none: it is not in files.
    pub(crate) heads: Vec<Cow<'static, str>>,
    /// Its fields where they are not what the cell has.
    fields: Option<fn(&R) -> Vec<String>>,
    /// Sort order where it is not that of the cell.
    order: Option<fn(&R, &R) -> Ordering>,
}

impl<R> Column<R> {
    fn new(
        (key, title, hint): (&'static str, &'static str, &'static str),
        width: Width,
        content: Content<R>,
    ) -> Self {
        let head = Head { key, title, hint, width, priority: 1, sorts: true, group: "", if_any: false };
        Column { head, content, heads: Vec::new(), fields: None, order: None }
    }

    /// Returns a column of text.
    pub fn text(
        key: &'static str,
        title: &'static str,
        hint: &'static str,
        of: fn(&R) -> Cow<'_, str>,
    ) -> Self {
        Column::new((key, title, hint), Width::Words, Content::Text(of))
    }

    /// Returns a column of numbers in a unit.
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

    /// Returns a column of counts.
    pub fn count(key: &'static str, title: &'static str, hint: &'static str, of: fn(&R) -> Number) -> Self {
        Column::number(Unit::Count, key, title, hint, of)
    }

    /// Returns a column of durations in microseconds.
    pub fn duration(
        key: &'static str,
        title: &'static str,
        hint: &'static str,
        of: fn(&R) -> Number,
    ) -> Self {
        Column::number(Unit::Duration, key, title, hint, of)
    }

    /// Returns a number that is said in words of its own.
    pub fn said(
        key: &'static str,
        title: &'static str,
        hint: &'static str,
        of: fn(&R) -> Number,
        words: fn(&R) -> String,
    ) -> Self {
        Column::new((key, title, hint), Width::Number, Content::Said(of, words))
    }

    /// Returns a share of 1 as a bar.
    pub fn share(key: &'static str, title: &'static str, hint: &'static str, of: fn(&R) -> Number) -> Self {
        Column::new((key, title, hint), Width::Bar, Content::Bar(of, None))
    }

    /// Returns an endpoint, as service and operation, in the column `endpoint`.
    pub fn endpoint(title: &'static str, hint: &'static str, of: fn(&R) -> (&str, &str)) -> Self {
        Column::new(("endpoint", title, hint), Width::Wide, Content::Endpoint(of, None))
    }

    /// Returns a call, in the column `call`: its endpoint, or `None`, and words behind it. What it is sorted by
    /// ([`Column::by`]) and its fields ([`Column::csv_as`]) are said apart.
    pub fn call(title: &'static str, hint: &'static str, of: Call<R>) -> Self {
        Column::new(("call", title, hint), Width::Wide, Content::Call(of))
    }

    /// Returns a service, in the column `service`.
    pub fn service(title: &'static str, hint: &'static str, of: fn(&R) -> &str) -> Self {
        Column::new(("service", title, hint), Width::Wide, Content::Service(of))
    }

    /// Returns a histogram, in the column `spark`.
    pub fn spark(title: &'static str, hint: &'static str, of: fn(&R) -> Option<&LogHistogram>) -> Self {
        Column::new(("spark", title, hint), Width::Spark, Content::Spark(of)).low(3).unsorted()
    }

    /// Returns a number that stands in files only, under this head.
    pub fn field(head: &'static str, of: fn(&R) -> Number) -> Self {
        Column::number(Unit::Count, "", "", "", of).low(0).unsorted().csv(&[head])
    }

    /// Returns a column of text that stands in files only, under this head.
    pub fn text_field(head: &'static str, of: fn(&R) -> Cow<'_, str>) -> Self {
        Column::text("", "", "", of).low(0).unsorted().csv(&[head])
    }

    /// Makes fields that stand in files only, under these heads.
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

    /// Puts it into a group; columns of one group stand side by side under its name.
    #[must_use]
    pub fn group(mut self, group: &'static str) -> Self {
        self.head.group = group;
        self
    }

    /// Leaves it out where no row holds anything in it.
    #[must_use]
    pub fn if_any(mut self) -> Self {
        self.head.if_any = true;
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

    /// Marks a column by which rows cannot be sorted.
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

    pub(crate) fn cell(&self, row: &R) -> CellText {
        match &self.content {
            Content::Text(of) => CellText::Text(of(row).into_owned()),
            Content::Number(of, unit) => number_cell(of(row), |number| unit.words(number)),
            Content::Said(of, words) => number_cell(of(row), |_| words(row)),
            Content::Bar(of, words) => match (of(row), words) {
                (Number::None, _) => CellText::Text(format::DASH.to_owned()),
                (share, Some(words)) => CellText::Bar(share.real(), words(row)),
                (share, None) => CellText::Bar(share.real(), format::share(share.real())),
            },
            Content::Endpoint(of, tip) => {
                let (service, operation) = of(row);
                let (tip, depth) = tip.map_or_else(Default::default, |tip| tip(row));
                CellText::Endpoint {
                    service: service.to_owned(),
                    operation: operation.to_owned(),
                    tip,
                    depth,
                }
            }
            Content::Call(of) => {
                let (endpoint, words) = of(row);
                CellText::Call(endpoint.map(|(service, operation)| Endpoint::new(service, operation)), words)
            }
            Content::Service(of) => CellText::Service(of(row).to_owned()),
            Content::Spark(of) => CellText::Spark(of(row).cloned().unwrap_or_default()),
        }
    }

    /// Sorts places of rows; equal ones stay as they came.
    pub(crate) fn sort(&self, rows: &[R], places: &mut [u32], descending: bool) {
        let directed = |ordering: Ordering| if descending { ordering.reverse() } else { ordering };
        // Each row is asked for its number once: a table may have half a million rows, each somewhere else in memory.
        if let (None, Content::Number(of, _) | Content::Said(of, _) | Content::Bar(of, _)) =
            (self.order, &self.content)
        {
            let mut numbers: Vec<(Number, u32)> =
                places.iter().map(|&at| (of(&rows[at as usize]), at)).collect();
            numbers.sort_by(|a, b| directed(a.0.compare(b.0)));
            places.iter_mut().zip(numbers).for_each(|(place, (_, at))| *place = at);
            return;
        }
        places.sort_by(|&a, &b| directed(self.compare(&rows[a as usize], &rows[b as usize])));
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

    pub(crate) fn write(&self, row: &R, out: &mut Vec<String>) {
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

fn number_cell(number: Number, words: impl FnOnce(Number) -> String) -> CellText {
    match number {
        Number::None => CellText::Text(format::DASH.to_owned()),
        number => CellText::Number(words(number), number.digits()),
    }
}
