//! The first rows as a mapping reads them, for a person to judge it by.

use super::{Guess, Mapping};
use crate::formats::rows::{Word, time_of_text};
use crate::json::node::Number;

/// A row as a mapping reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuessedRow {
    /// The ids as they are written; empty where there is none.
    pub trace: String,
    /// The id of the span.
    pub span: String,
    /// The id of its parent.
    pub parent: String,
    /// Name of the service.
    pub service: String,
    /// Name of the operation.
    pub name: String,
    /// Start since 1970, in microseconds; `None` if the mapping does not say it, or it is no time.
    pub start_us: Option<u64>,
    /// Duration, likewise.
    pub duration_us: Option<u64>,
}

impl Guess {
    /// Returns the first rows as a mapping reads them.
    pub fn rows(&self, mapping: &Mapping) -> Vec<GuessedRow> {
        let count = self.fields.iter().map(|field| field.values.len()).max().unwrap_or(0);
        (0..count).map(|row| self.row(mapping, row)).collect()
    }

    fn row(&self, mapping: &Mapping, row: usize) -> GuessedRow {
        let value = |word: Word| {
            let paths = mapping.0.list(word).iter();
            let values = paths.filter_map(|path| {
                let field = self.fields.iter().find(|field| field.path == *path)?;
                field.values.get(row).map(String::as_str).filter(|value| !value.is_empty())
            });
            values.into_iter().next().unwrap_or("").to_owned()
        };
        let time = |word: Word| time_of_text(&value(word), mapping.0.unit(word));
        let whole = |number: Number| match number.rounded() {
            Number::Whole(us) => Some(us),
            _ => None,
        };
        let (start, end, duration) = (time(Word::Start), time(Word::End), time(Word::Duration));
        let between = start.zip(end).and_then(|(start, end)| whole(start.until(end)));
        let duration_us = duration.and_then(|duration| whole(duration.us())).or(between);
        let from_end = || whole(end?.us())?.checked_sub(duration_us?);
        GuessedRow {
            trace: value(Word::Trace),
            span: value(Word::Span),
            parent: value(Word::Parent),
            service: value(Word::Service),
            name: value(Word::Name),
            start_us: start.and_then(|start| whole(start.us())).or_else(from_end),
            duration_us,
        }
    }
}
