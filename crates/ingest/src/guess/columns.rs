//! The fields of rows that nobody knows, as columns of the first records.

use crate::formats::rows::said;
use crate::json::node::{Node, Number, parse_number, value_end};
use std::collections::BTreeMap;

/// Records that are looked at.
pub(super) const RECORDS: usize = 200;
/// Fields that are looked at.
const FIELDS: usize = 80;
/// Objects within objects in which fields are looked for.
const MAX_DEPTH: usize = 4;
/// 1990 and 2100 in seconds.
const CALENDAR_S: std::ops::Range<f64> = 631_152_000.0..4_102_444_800.0;

/// A value of a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Missing, null or an empty text.
    None,
    Text(String),
    Number(f64, String),
}

impl Value {
    /// Returns it as it was written; empty if there is none.
    pub fn text(&self) -> &str {
        match self {
            Value::None => "",
            Value::Text(text) | Value::Number(_, text) => text,
        }
    }
}

/// How a column writes points in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeForm {
    /// As a date.
    Date,
    /// As a number: the power of ten that makes seconds of it.
    Number(i32),
}

/// A field: its path, and its value in every record.
#[derive(Debug)]
pub(super) struct Column {
    pub path: String,
    pub values: Vec<Value>,
}

/// The first records of a text: under which keys they stand, and their fields.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub within: Vec<String>,
    pub list: Vec<Column>,
    pub rows: usize,
}

impl Columns {
    /// Returns the records of the longest list of objects in a text, which may be cut off.
    pub fn of(text: &[u8]) -> Columns {
        let mut best: (Vec<String>, Vec<Node<'_>>) = Default::default();
        let mut documents = Vec::new();
        let mut at = 0;
        while let Some(start) =
            text.get(at..).and_then(|rest| rest.iter().position(|b| matches!(b, b'{' | b'[')))
        {
            let start = at + start;
            let end = value_end(text, start).unwrap_or(text.len());
            let node = Node { text: &text[start..end], at: start as u64 };
            lists(node, &mut best);
            documents.push(node);
            at = end.max(start + 1);
            if documents.len() >= RECORDS {
                break;
            }
        }
        let objects: Vec<Node<'_>> = documents.into_iter().filter(|node| node.is_object()).collect();
        if objects.len() > best.1.len() {
            best = (Vec::new(), objects);
        }
        let (within, records) = best;
        let mut fields: BTreeMap<String, usize> = BTreeMap::new();
        let mut list: Vec<Column> = Vec::new();
        for (row, record) in records.iter().enumerate() {
            each_field(*record, &mut |path, value| {
                let place = *fields.entry(path).or_insert_with_key(|path| {
                    list.push(Column { path: path.clone(), values: Vec::new() });
                    list.len() - 1
                });
                let values = &mut list[place].values;
                values.resize(row, Value::None);
                values.push(value);
            });
        }
        list.truncate(FIELDS);
        list.iter_mut().for_each(|column| column.values.resize(records.len(), Value::None));
        Columns { within, list, rows: records.len() }
    }
}

/// Keeps the longest list of objects in a value, with the keys above it.
fn lists<'a>(node: Node<'a>, best: &mut (Vec<String>, Vec<Node<'a>>)) {
    let mut todo = vec![(node, Vec::new())];
    while let Some((node, path)) = todo.pop() {
        if node.is_array() {
            let elements: Vec<Node<'a>> = node.elements().map_while(Result::ok).take(RECORDS).collect();
            let objects: Vec<Node<'a>> = elements.iter().copied().filter(|node| node.is_object()).collect();
            if objects.len() > best.1.len() {
                *best = (path.clone(), objects);
            }
            let inner = elements.into_iter().filter(|node| node.is_array()).take(20);
            todo.extend(inner.map(|node| (node, path.clone())));
            continue;
        }
        if path.len() >= MAX_DEPTH {
            continue;
        }
        let mut end = node.at + 1;
        for member in node.members() {
            let Ok((key, value)) = member else {
                // The last member may be cut off.
                let rest = &node.text[(end - node.at) as usize..];
                if let Some((key, value)) = cut_off(rest, end) {
                    todo.push((value, [path.clone(), vec![key]].concat()));
                }
                break;
            };
            end = value.at + value.text.len() as u64;
            if value.is_array() || value.is_object() {
                todo.push((value, [path.clone(), vec![key.into_owned()]].concat()));
            }
        }
    }
}

/// Returns the member whose value does not end.
fn cut_off(rest: &[u8], at: u64) -> Option<(String, Node<'_>)> {
    let key = memchr::memchr(b'"', rest)? + 1;
    let end = key + memchr::memchr(b'"', rest.get(key..)?)?;
    let value = end
        + 1
        + rest
            .get(end + 1..)?
            .iter()
            .position(|byte| !matches!(byte, b':' | b' ' | b'\n' | b'\r' | b'\t'))?;
    let node = Node { text: &rest[value..], at: at + value as u64 };
    (node.is_array() || node.is_object())
        .then(|| (String::from_utf8_lossy(&rest[key..end]).into_owned(), node))
}

/// Shows path and value of every field of a record to `on`.
fn each_field(record: Node<'_>, on: &mut dyn FnMut(String, Value)) {
    let mut todo = vec![(record, String::new(), 0)];
    while let Some((node, path, depth)) = todo.pop() {
        for (key, value) in node.members().map_while(Result::ok) {
            let path = if path.is_empty() { key.into_owned() } else { format!("{path}.{key}") };
            if value.is_object() && depth < MAX_DEPTH {
                todo.push((value, path, depth + 1));
                continue;
            }
            if value.is_array() || value.is_object() {
                continue;
            }
            on(path, value_of(value));
        }
    }
}

fn value_of(node: Node<'_>) -> Value {
    let Ok(text) = node.plain() else { return Value::None };
    let text = text.text.trim().to_owned();
    match parse_number(text.as_bytes()) {
        _ if text.is_empty() => Value::None,
        Some(Number::Whole(number)) => Value::Number(number as f64, text),
        Some(Number::Float(number)) => Value::Number(number, text),
        Some(Number::Negative) => Value::Number(-1.0, text),
        _ => Value::Text(text),
    }
}

impl Column {
    /// Returns the share of records that have a value.
    pub fn fill(&self) -> f64 {
        share(self.values.iter().filter(|value| **value != Value::None).count(), self.values.len())
    }

    /// Returns how many different values there are.
    pub fn distinct(&self) -> usize {
        let mut texts: Vec<&str> =
            self.values.iter().map(Value::text).filter(|text| !text.is_empty()).collect();
        texts.sort_unstable();
        texts.dedup();
        texts.len()
    }

    /// Returns how it writes points in time; `None` if it does not.
    pub fn time(&self) -> Option<TimeForm> {
        let given: Vec<&Value> = self.values.iter().filter(|value| **value != Value::None).collect();
        if given.is_empty() {
            return None;
        }
        let is_date = |value: &&Value| matches!(value, Value::Text(text) if text.len() >= 10 && text.contains('-') && said(text).is_some());
        if given.iter().all(is_date) {
            return Some(TimeForm::Date);
        }
        let fits = |power: i32| {
            given.iter().all(|value| match value {
                Value::Number(number, _) => CALENDAR_S.contains(&(number * 10f64.powi(power))),
                _ => false,
            })
        };
        [0, -3, -6, -9].into_iter().find(|&power| fits(power)).map(TimeForm::Number)
    }

    /// Returns the points in time in seconds; NaN where there is none.
    pub fn seconds(&self, form: TimeForm) -> Vec<f64> {
        let of = |value: &Value| match (value, form) {
            (Value::Number(number, _), TimeForm::Number(power)) => number * 10f64.powi(power),
            (Value::Text(text), TimeForm::Date) => match said(text) {
                Some(Number::Whole(ns)) => ns as f64 / 1e9,
                _ => f64::NAN,
            },
            _ => f64::NAN,
        };
        self.values.iter().map(of).collect()
    }

    /// Returns the numbers, if nearly all values are one and none is negative.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        let mut numbers = Vec::new();
        for value in &self.values {
            numbers.push(match value {
                Value::Number(number, _) if *number >= 0.0 => *number,
                Value::None => f64::NAN,
                _ => return None,
            });
        }
        (self.fill() > 0.8).then_some(numbers)
    }

    /// Returns whether its values are texts.
    pub fn is_text(&self) -> bool {
        let texts = self.values.iter().filter(|value| matches!(value, Value::Text(_))).count();
        share(texts, self.values.len()) > 0.8 && self.time().is_none()
    }

    /// Returns the words of its name, in lower case: `parentActivityId` is parent, activity, id.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut before = ' ';
        for letter in self.path.chars() {
            let begins = letter.is_uppercase() && before.is_lowercase();
            if begins || !letter.is_alphanumeric() {
                words.push(String::new());
            }
            if let Some(last) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
                last.extend(letter.to_lowercase());
            }
            before = letter;
        }
        words.retain(|word| !word.is_empty());
        words
    }
}

/// Returns a share; 0 of nothing.
pub(super) fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}
