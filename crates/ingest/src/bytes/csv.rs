//! Tables as text (CSV) with a line of names: each row becomes an object.

use super::written::{Leftovers, push_string};

/// Longest text of a row; a longer one is none.
const MAX_ROW: usize = 64 << 20;
/// What stands between values.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// A text with fewer columns is none that could hold spans.
const LEAST_COLUMNS: usize = 4;

/// A table being read.
pub(crate) struct Csv {
    separator: u8,
    names: Vec<Vec<u8>>,
    row: Row,
    bad: u64,
}

/// A row being read.
#[derive(Default)]
struct Row {
    values: Vec<Vec<u8>>,
    value: Vec<u8>,
    bytes: usize,
    state: State,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// At the beginning of a value.
    #[default]
    Begin,
    Plain,
    Quoted,
    /// After a quote in a quoted value: the end, or a quote.
    Quote,
}

impl Row {
    /// Takes a byte; whether the row has ended.
    fn take(&mut self, byte: u8, separator: u8) -> bool {
        self.bytes += 1;
        match (self.state, byte) {
            (State::Begin, b'"') => self.state = State::Quoted,
            (State::Quoted, b'"') => self.state = State::Quote,
            (State::Quote, b'"') => {
                self.value.push(b'"');
                self.state = State::Quoted;
            }
            (State::Quoted, _) => self.push(byte),
            (_, b'\n') => {
                self.end_value();
                return true;
            }
            (_, _) if byte == separator => self.end_value(),
            _ => {
                self.push(byte);
                self.state = State::Plain;
            }
        }
        false
    }

    fn push(&mut self, byte: u8) {
        // Of a row that is too long nothing is kept.
        if self.bytes <= MAX_ROW {
            self.value.push(byte);
        }
    }

    fn end_value(&mut self) {
        let mut value = std::mem::take(&mut self.value);
        if self.state != State::Quote && value.ends_with(b"\r") {
            value.pop();
        }
        // What follows a quoted value belongs to the end of its line.
        if value.ends_with(b"\r") {
            value.pop();
        }
        self.values.push(value);
        self.state = State::Begin;
    }

    fn is_empty(&self) -> bool {
        self.values.len() == 1 && self.values[0].is_empty()
    }
}

impl Csv {
    /// Returns the table that a text begins so; `None` if it is none: two lines with the same number of columns, the first
    /// of names.
    pub fn of(head: &[u8]) -> Option<Csv> {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        // Lines of JSON have commas too.
        if matches!(head.trim_ascii_start().first(), Some(b'{' | b'[')) {
            return None;
        }
        let first = head.split(|&byte| byte == b'\n').next()?;
        let count = |separator: &u8| first.iter().filter(|byte| *byte == separator).count();
        let separator =
            SEPARATORS.into_iter().max_by_key(|separator| (count(separator), u8::MAX - separator))?;
        let mut rows = rows(head, separator);
        let (names, second) = (rows.next()?, rows.next()?);
        let is_name = |name: &Vec<u8>| {
            name.first().is_some_and(|byte| !byte.is_ascii_digit() && !byte.is_ascii_control())
                && name.len() < 200
        };
        let is_table =
            names.len() >= LEAST_COLUMNS && names.len() == second.len() && names.iter().all(is_name);
        is_table.then(|| Csv { separator, names: Vec::new(), row: Row::default(), bad: 0 })
    }

    /// Takes bytes.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &byte in bytes {
            if self.row.take(byte, self.separator) {
                self.end_row(out);
            }
        }
    }

    fn end_row(&mut self, out: &mut Vec<u8>) {
        let row = std::mem::take(&mut self.row);
        if self.names.is_empty() {
            self.names = row.values;
            if let Some(first) = self.names.first_mut()
                && let Some(rest) = first.strip_prefix(b"\xef\xbb\xbf")
            {
                *first = rest
                    .strip_prefix(b"\"")
                    .and_then(|rest| rest.strip_suffix(b"\""))
                    .unwrap_or(rest)
                    .to_vec();
            }
            return;
        }
        if row.is_empty() {
            return;
        }
        if row.values.len() != self.names.len() || row.bytes > MAX_ROW {
            self.bad += 1;
            return;
        }
        for (place, (name, value)) in self.names.iter().zip(&row.values).enumerate() {
            out.push(if place == 0 { b'{' } else { b',' });
            push_string(name, out);
            out.push(b':');
            push_string(value, out);
        }
        out.extend(b"}\n");
    }

    /// Ends the text.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Leftovers {
        let mut is_cut = false;
        if self.row.bytes > 0 {
            let is_open = self.row.state == State::Quoted;
            self.row.end_value();
            // A row of which only the last value is cut is kept.
            let is_short = self.row.values.len() < self.names.len();
            is_cut = is_open || is_short;
            if !is_short {
                self.end_row(out);
            }
        }
        Leftovers { bad: self.bad, is_cut }
    }
}

/// Returns the rows of a text; the last may not end.
fn rows(text: &[u8], separator: u8) -> impl Iterator<Item = Vec<Vec<u8>>> {
    let mut bytes = text.iter();
    std::iter::from_fn(move || {
        let mut row = Row::default();
        for &byte in bytes.by_ref() {
            if row.take(byte, separator) {
                return Some(row.values);
            }
        }
        if row.bytes == 0 {
            return None;
        }
        row.end_value();
        Some(row.values)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Option<(String, u64, bool)> {
        let mut csv = Csv::of(text)?;
        let mut out = Vec::new();
        text.chunks(3).for_each(|chunk| csv.feed(chunk, &mut out));
        let left = csv.finish(&mut out);
        Some((String::from_utf8(out).unwrap(), left.bad, left.is_cut))
    }

    #[test]
    fn rows_become_objects() {
        let (out, bad, is_cut) =
            read(b"\xef\xbb\xbf\"a\",b;x,c,d\r\n1,\"x\"\"y, z\n\",,\"\"\r\n\r\n1,2,3\n5,6,7,8").unwrap();
        assert_eq!(
            out,
            "{\"a\":\"1\",\"b;x\":\"x\\\"y, z\\u000a\",\"c\":\"\",\"d\":\"\"}\n{\"a\":\"5\",\"b;x\":\"6\",\"c\":\"7\",\"d\":\"8\"}\n"
        );
        assert_eq!((bad, is_cut), (1, false));
        assert!(read(b"a;b;c;d\n1;2;3;4\n5;6;7").unwrap().2);
        let (out, _, is_cut) = read(b"a;b;c;d\n1;2;3;4\n5;6;7;\"8").unwrap();
        assert!(is_cut && out.ends_with("\"d\":\"8\"}\n"));
    }

    #[test]
    fn what_is_no_table_is_none() {
        for text in
            ["a,b,c\n1,2,3", "a,b,c,d\n1,2", "1,2,3,4\n1,2,3,4", "hello", "", "a,b,c,d", "{a,b,c,d\n{a,b,c,d"]
        {
            assert!(read(text.as_bytes()).is_none(), "{text}");
        }
    }
}
