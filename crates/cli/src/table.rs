//! Tables in text output: columns as wide as what stands in them, two spaces apart, without lines.

use std::fmt;

use comfy_table::CellAlignment;
use comfy_table::presets::NOTHING;
use pathlight_base::format::{DASH, agreeing, counted, endpoint, harmless};
use pathlight_trace::Endpoint;
use pathlight_view::say::tip::Numbers;
use pathlight_view::table::{CellText, Rows, Table, Width};

use super::terminal::{self, width};

/// Columns that a name has at least.
const LEAST_NAME: usize = 24;

/// Returns what is said below a list of which only the first rows are printed: how many more there are; nothing if
/// there are none.
pub fn more(in_all: usize, listed: usize, noun: &str) -> String {
    match in_all.saturating_sub(listed) {
        0 => String::new(),
        left => {
            let them = agreeing(left as u64, "it", "them");
            format!("{}: --all lists {them}\n", counted(left as u64, &format!("more {noun}")))
        }
    }
}

/// A column by its title.
#[derive(Clone, Copy, Debug)]
pub enum TextColumn<'a> {
    /// Words: aligned at the left.
    Left(&'a str),
    /// Numbers: aligned at the right.
    Right(&'a str),
}

/// Returns a cell as text: of a frame the call path, which the page has in its tip.
fn text_of(cell: CellText) -> String {
    match cell {
        CellText::Endpoint { tip, .. } if !tip.is_empty() => tip.replace('\n', " "),
        cell => cell.to_string(),
    }
}

/// A table that is being filled.
pub struct TextTable {
    table: comfy_table::Table,
    has_titles: bool,
    /// The widest cell of each column.
    widths: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// Starts a table with its titles; it has no title line if all titles are empty.
    pub fn new<'a>(columns: impl IntoIterator<Item = TextColumn<'a>>) -> TextTable {
        let (titles, alignments): (Vec<&str>, Vec<CellAlignment>) = columns
            .into_iter()
            .map(|column| match column {
                TextColumn::Left(title) => (title, CellAlignment::Left),
                TextColumn::Right(title) => (title, CellAlignment::Right),
            })
            .unzip();
        let mut table = comfy_table::Table::new();
        let has_titles = titles.iter().any(|title| !title.is_empty());
        let widths = titles.iter().map(|title| width(title)).collect();
        table.load_style(NOTHING).set_header(titles.into_iter().map(harmless));
        for (column, alignment) in table.column_iter_mut().zip(alignments) {
            column.set_padding((0, 2)).set_cell_alignment(alignment);
        }
        TextTable { table, has_titles, widths, rows: Vec::new() }
    }

    /// Returns a small table of numbers of the page.
    pub fn of_numbers(numbers: &Numbers) -> TextTable {
        let heads = numbers.heads.iter().map(|head| TextColumn::Right(head));
        let mut text = TextTable::new(std::iter::once(TextColumn::Left("")).chain(heads));
        for (name, cells) in &numbers.rows {
            text.row(std::iter::once(name).chain(cells.iter().map(|(words, _)| words)));
        }
        text
    }

    /// Returns endpoints with words about each.
    pub fn of_endpoints(words: Vec<(Endpoint, String)>) -> TextTable {
        let mut text = TextTable::new([TextColumn::Right(""), TextColumn::Left("")]);
        for (Endpoint { service, operation }, words) in words {
            text.row([words, endpoint(&service, &operation)]);
        }
        text
    }

    /// Returns the first rows of a table of the page in its own order, with the columns that have at most this priority.
    /// The widest column comes last: a terminal cuts it.
    pub fn of<R>(table: &Table<R>, priority: u8, rows: usize) -> TextTable {
        TextTable::with_remarks(table, priority, rows, |_| Vec::new())
    }

    /// Returns what [`of`](Self::of) returns, with remarks below the rows.
    pub fn with_remarks<R>(
        table: &Table<R>,
        priority: u8,
        rows: usize,
        remarks: impl Fn(&R) -> Vec<String>,
    ) -> TextTable {
        let heads = table.heads();
        let is_shown =
            |at: &usize| (1..=priority).contains(&heads[*at].priority) && heads[*at].width != Width::Spark;
        let mut columns: Vec<usize> = (0..heads.len()).filter(is_shown).collect();
        let order: Vec<usize> =
            table.order(None, None).into_iter().take(rows).map(|row| row as usize).collect();
        // What this report does not know is left out.
        let has_content = |at: &usize| {
            order.iter().any(|&row| !matches!(table.cell(*at, row).to_string().as_str(), "" | DASH))
        };
        let has_remarks = |at: &usize| heads[*at].width == Width::Wide && !order.is_empty();
        columns.retain(|at| has_content(at) || has_remarks(at));
        columns.sort_by_key(|&at| heads[at].width == Width::Wide);
        let mut text = TextTable::new(columns.iter().map(|&at| match heads[at] {
            head if head.width.is_number() => TextColumn::Right(head.title),
            head => TextColumn::Left(head.title),
        }));
        for row in order {
            text.row(columns.iter().map(|&column| text_of(table.cell(column, row))));
            remarks(&table.rows()[row]).iter().for_each(|remark| text.remark(remark));
        }
        text
    }

    /// Adds a row, a cell a column. Control characters of names, which a terminal would obey, become spaces.
    pub fn row<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells: Vec<String> = cells.into_iter().map(|cell| harmless(&cell.to_string())).collect();
        for (widest, cell) in self.widths.iter_mut().zip(&cells) {
            *widest = (*widest).max(width(cell));
        }
        self.rows.push(cells);
    }

    /// Adds a remark to the row before: a line below it in the last column.
    pub fn remark(&mut self, text: &str) {
        let columns = self.widths.len();
        let mut cells = vec![""; columns];
        cells[columns - 1] = text;
        self.row(cells);
    }
}

/// Every line ends with a line break. Names in the last column are cut in the middle where the terminal is too narrow.
impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others: usize = self.widths.iter().rev().skip(1).map(|width| width + 2).sum();
        let room = terminal::columns().saturating_sub(others).max(LEAST_NAME);
        let mut table = self.table.clone();
        for row in &self.rows {
            let mut row = row.clone();
            if let Some(last) = row.last_mut() {
                *last = terminal::fit(last, room);
            }
            table.add_row(row);
        }
        let mut lines = table.lines().skip(usize::from(!self.has_titles));
        lines.try_for_each(|line| writeln!(f, "{}", line.trim_end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_cells_and_no_line_ends_in_spaces() {
        let mut table =
            TextTable::new([TextColumn::Right("spans"), TextColumn::Left("kind"), TextColumn::Left("name")]);
        table.row(["12,345", "näive", "  [a] b"]);
        table.remark("  below");
        table.row(["1", "", ""]);
        assert_eq!(
            table.to_string(),
            " spans  kind   name\n12,345  näive    [a] b\n                 below\n     1\n"
        );
    }

    #[test]
    fn names_can_neither_steer_a_terminal_nor_break_a_row() {
        let mut table = TextTable::new([TextColumn::Left("a\nb"), TextColumn::Left("name")]);
        table.row(["\x1b[31mred\x07", "one\r\ntwo"]);
        table.remark("\u{202e}mark\u{9b}1m");
        assert_eq!(table.to_string(), "a b        name\n [31mred   one  two\n            mark 1m\n");
    }

    #[test]
    fn a_long_name_is_cut_in_the_middle_and_numbers_are_not() {
        let mut table = TextTable::new([TextColumn::Right("spans"), TextColumn::Left("name")]);
        table.row(["12,345", &"name ".repeat(100)]);
        let text = table.to_string();
        assert!(text.lines().all(|line| width(line) <= terminal::columns()), "{text}");
        assert!(text.contains("12,345  name") && text.contains('…'), "{text}");
    }

    #[test]
    fn a_table_without_titles_has_no_title_line() {
        let mut table = TextTable::new([TextColumn::Right(""), TextColumn::Left("")]);
        table.row(["1", "a"]);
        assert_eq!(table.to_string(), "1  a\n");
        assert_eq!(TextTable::new([TextColumn::Left("")]).to_string(), "");
    }
}
