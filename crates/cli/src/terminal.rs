//! The room that text has: columns of the terminal, rows of a list; and the look of its first sentence.

use pathlight_view::draw::MeasureText;
use pathlight_view::draw::text::elide_middle;
use std::io::{self, IsTerminal as _};
use unicode_width::UnicodeWidthChar as _;

/// Rows of a list that a person reads at once; `--all` lists every row.
pub const ROWS: usize = 15;
/// Columns of text that goes to a file or another program.
const COLUMNS: usize = 160;
/// Columns below which nothing fits.
const LEAST_COLUMNS: usize = 40;

/// Every character as wide as a terminal shows it.
struct Cells;

impl MeasureText for Cells {
    fn char_px(&mut self, c: char) -> f64 {
        c.width().unwrap_or(0) as f64
    }
}

/// Returns the columns that a terminal needs for a text.
pub fn width(text: &str) -> usize {
    Cells.text_px(text) as usize
}

/// Returns the text if it fits into so many columns, else its beginning and its end.
pub fn fit(text: &str, columns: usize) -> String {
    elide_middle(text, columns as f64, &mut Cells).unwrap_or_else(|| text.to_owned())
}

/// Cuts lines that are too long in their middle, but never within their first `kept` characters.
pub fn fit_lines(text: &str, kept: usize) -> String {
    let columns = columns();
    let line = |line: &str| {
        let at = line.char_indices().nth(kept).map_or(line.len(), |(at, _)| at);
        let (head, tail) = line.split_at(at);
        format!("{head}{}\n", fit(tail, columns.saturating_sub(width(head)).max(LEAST_COLUMNS)))
    };
    text.lines().map(line).collect()
}

/// Returns the columns that text may take: what `COLUMNS` says, else those of the terminal; 160 where there is none.
pub fn columns() -> usize {
    known_columns().unwrap_or(COLUMNS)
}

fn known_columns() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    said.or_else(|| terminal().filter(|_| io::stdout().is_terminal()))
        .map(|columns| columns.max(LEAST_COLUMNS))
}

/// Returns text as somebody at a terminal reads it: the first paragraph, which says the answer, in bold, and sentences
/// broken between words. For a file or another program it stays as it is, a sentence a line.
pub fn styled(text: &str) -> String {
    let Some(columns) = known_columns() else { return text.to_owned() };
    let is_bold =
        io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut out = String::new();
    let mut is_first = is_bold;
    for line in text.lines() {
        is_first &= !line.is_empty();
        let line = wrapped(line, columns);
        out.push_str(&if is_first { format!("\x1b[1m{line}\x1b[0m") } else { line });
        out.push('\n');
    }
    out
}

/// Breaks a line between words; what follows is indented as its beginning, and by two columns more. Rows of tables, which
/// have room between their columns, stay whole.
fn wrapped(line: &str, columns: usize) -> String {
    if width(line) <= columns || line.trim_start().contains("  ") {
        return line.to_owned();
    }
    let indent = line.len() - line.trim_start().len();
    let mut out = String::new();
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        if used > indent && used + width(word.trim_end()) > columns {
            out.truncate(out.trim_end().len());
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent + 2));
            used = indent + 2;
        }
        out.push_str(word);
        used += width(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_in_the_middle_and_sentences_between_words() {
        assert_eq!(fit("[shop] GET /cart", 16), "[shop] GET /cart");
        assert_eq!(fit("[shop] GET /cart", 12), "[shop]…/cart");
        assert_eq!(width("日本 é"), 6);
        assert_eq!(wrapped("  one two three", 10), "  one two\n    three");
        assert_eq!(wrapped("  one two three", 15), "  one two three");
        assert_eq!(wrapped("1.00 ms  n  a name", 8), "1.00 ms  n  a name");
        // A word that is wider than a line has a line of its own.
        assert_eq!(wrapped("a abcdefghijkl b", 8), "a\n  abcdefghijkl\n  b");
    }
}
