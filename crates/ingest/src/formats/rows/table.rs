//! Tables: what a format of rows calls its fields, as lines of text. Built-in formats and mappings that people save are
//! written alike.

use crate::formats::FORMATS;
use std::fmt::Write as _;

/// The words with which lines of a table begin, in the order of [`Word`].
const WORDS: [&str; 40] = [
    "format",
    "is",
    "keys",
    "without",
    "within",
    "each",
    "json",
    "children",
    "columns",
    "context",
    "skip",
    "trace",
    "span",
    "parent",
    "compose",
    "name",
    "detail",
    "service",
    "host",
    "start",
    "end",
    "duration",
    "kind",
    "kinds",
    "status",
    "statuses",
    "error",
    "message",
    "tags",
    "tag",
    "resource",
    "scope",
    "events",
    "references",
    "links",
    "ref-kind",
    "ref-trace",
    "ref-span",
    "ids",
    "roots",
];

/// What a line of a table says. A *path* is a key, or keys joined by dots; of several the first that is there counts. `^`
/// before it: looked for in what is around the record; `="x"`: always `x`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Word {
    /// The name of the format in reports.
    Format,
    /// What a record is, for messages.
    Is,
    /// Keys that stand somewhere in its text, all of them.
    Keys,
    /// Keys that do not.
    Without,
    /// Keys under which lists of records stand, or objects that hold them.
    Within,
    /// Paths in such a record to lists of spans; `.` is the record itself.
    Each,
    /// Paths to texts that are JSON: the span.
    Json,
    /// Paths to lists of spans within a span, whose parent it is.
    Children,
    /// Two paths: to the names of columns, and to rows of values; `down` after them: to a list a column.
    Columns,
    /// Keys of a record that says what is common to those after it.
    Context,
    /// Keys of records that are passed over.
    Skip,
    /// Paths to the ids of trace, span and parent.
    Trace,
    Span,
    Parent,
    /// Paths to what makes ids of spans unique with them, `compose.span`.
    Compose,
    /// Paths to the name of the operation.
    Name,
    /// Paths to a text that is added to it.
    Detail,
    Service,
    Host,
    /// Paths to times, then the unit of numbers: `s`, `ms`, `us` (default), `ns`. Texts say it themselves.
    Start,
    End,
    Duration,
    /// Paths to the kind, and what its words mean: `Entry=server`.
    Kind,
    Kinds,
    /// Paths to the status, and what its words mean: `failure=error`.
    Status,
    Statuses,
    /// Paths to what there is if it failed.
    Error,
    /// Paths to the description of the status.
    Message,
    /// Paths to tags: objects, lists of keys with values, texts of JSON; `x.*` all keys that begin so, `*` all others; `+x`:
    /// keys begin with `x.`.
    Tags,
    /// Pairs: a key and a path to its value.
    Tag,
    /// Paths to tags of the process, likewise.
    Resource,
    /// Two paths: name and version of the scope.
    Scope,
    /// Paths to lists of events.
    Events,
    /// Paths to lists of references, of which one may be the parent.
    References,
    /// Paths to lists of links.
    Links,
    /// Paths in references and links.
    RefKind,
    RefTrace,
    RefSpan,
    /// How ids of traces, and of spans, are written: `hex` (default; base64 and UUIDs too) or `decimal`.
    Ids,
    /// `trace`: the parent of a root is its trace.
    Roots,
}

/// A format of rows, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    lists: [Vec<String>; WORDS.len()],
    /// Powers of ten that make seconds of start, end and duration.
    units: [i32; 3],
    /// Its number among all formats.
    pub format: u8,
    pub has_decimal_traces: bool,
    pub has_decimal_spans: bool,
}

/// The units of times, with the power of ten that makes seconds of them.
pub(crate) const UNITS: [(&str, i32); 4] = [("s", 0), ("ms", -3), ("us", -6), ("ns", -9)];

impl Table {
    /// Returns the table that lines say.
    ///
    /// # Errors
    /// A sentence with the number of the line that is none.
    pub fn parse(text: &str) -> Result<Table, String> {
        let mut lists = std::array::from_fn(|_| Vec::new());
        let mut units = [-6; 3];
        for (number, line) in text.lines().enumerate() {
            let mut parts = split(line);
            if parts.is_empty() {
                continue;
            }
            let word = parts.remove(0);
            let Some(place) = WORDS.iter().position(|known| **known == word) else {
                let known = WORDS.join(", ");
                return Err(format!(
                    "line {} of the mapping begins with {word:?}; known are {known}",
                    number + 1
                ));
            };
            let list: &mut Vec<String> = &mut lists[place];
            list.append(&mut parts);
            if let Some(time) = time_of(place)
                && let Some(unit) = list.last().and_then(|last| UNITS.iter().find(|unit| unit.0 == last))
            {
                units[time] = unit.1;
                list.pop();
            }
        }
        let list = |word: Word| -> &[String] { &lists[word as usize] };
        let format = list(Word::Format).first().map_or("rows", String::as_str);
        let format = FORMATS.iter().position(|known| *known == format);
        let Some(format) = format.or(FORMATS.iter().position(|known| *known == "rows")) else {
            return Err("the mapping names no format".to_owned());
        };
        for word in [Word::Trace, Word::Span, Word::Name] {
            if list(word).is_empty() {
                return Err(format!("the mapping does not say which field is the {}", WORDS[word as usize]));
            }
        }
        if list(Word::Start).is_empty() && list(Word::End).is_empty() {
            return Err("the mapping does not say which field is the start or the end".to_owned());
        }
        let is_decimal = |place: usize| {
            let ids = list(Word::Ids);
            ids.get(place).or(ids.first()).is_some_and(|form| form == "decimal")
        };
        let (has_decimal_traces, has_decimal_spans) = (is_decimal(0), is_decimal(1));
        Ok(Table { lists, units, format: format as u8, has_decimal_traces, has_decimal_spans })
    }

    /// Returns the word of a field, by its text.
    pub fn word(text: &str) -> Option<Word> {
        const FIELDS: [Word; 8] = [
            Word::Trace,
            Word::Span,
            Word::Parent,
            Word::Name,
            Word::Service,
            Word::Start,
            Word::End,
            Word::Duration,
        ];
        FIELDS.into_iter().find(|word| WORDS[*word as usize] == text)
    }

    /// Returns what a word lists.
    pub fn list(&self, word: Word) -> &[String] {
        &self.lists[word as usize]
    }

    /// Returns the power of ten that makes seconds of the numbers of a time.
    pub fn unit(&self, word: Word) -> i32 {
        time_of(word as usize).map_or(-6, |time| self.units[time])
    }

    /// Returns what a record is called.
    pub fn what(&self) -> String {
        match self.list(Word::Is) {
            [] => "a span".to_owned(),
            words => words.join(" "),
        }
    }

    /// Returns whether a member of a record is one that some line names as a field of the span.
    pub fn names(&self, key: &str) -> bool {
        self.fields()
            .any(|path| path == key || path.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
    }

    /// Returns whether some line names a member of what stands at a path.
    pub fn names_below(&self, path: &str) -> bool {
        self.fields().any(|known| known.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
    }

    fn fields(&self) -> impl Iterator<Item = &String> {
        const FIELDS: [Word; 13] = [
            Word::Trace,
            Word::Span,
            Word::Parent,
            Word::Compose,
            Word::Name,
            Word::Service,
            Word::Host,
            Word::Start,
            Word::End,
            Word::Duration,
            Word::Kind,
            Word::Error,
            Word::Message,
        ];
        FIELDS.into_iter().flat_map(|word| self.list(word))
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, list) in self.lists.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
            f.write_str(WORDS[place])?;
            for part in list {
                if part.contains([' ', '\t', '#']) || part.is_empty() {
                    write!(f, " \"{part}\"")?;
                } else {
                    write!(f, " {part}")?;
                }
            }
            if let Some(time) = time_of(place)
                && let Some(unit) = UNITS.iter().find(|unit| unit.1 == self.units[time])
            {
                write!(f, " {}", unit.0)?;
            }
            f.write_char('\n')?;
        }
        Ok(())
    }
}

/// Returns which of the three times a word is.
fn time_of(place: usize) -> Option<usize> {
    let times = [Word::Start, Word::End, Word::Duration];
    times.iter().position(|time| *time as usize == place)
}

/// Returns the words of a line; in quotes they may hold spaces, and after `#` nothing counts.
fn split(line: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() && !rest.starts_with('#') {
        let (part, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        parts.push(part.to_owned());
        rest = after.trim_start();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_written_as_it_is_read() {
        let text = "trace \"Trace ID\"\nspan id\nname op name\nstart at ms\nend until ns # to the end\n";
        let table = Table::parse(text).unwrap();
        assert_eq!(table.list(Word::Trace), ["Trace ID"]);
        assert_eq!(
            (table.unit(Word::Start), table.unit(Word::End), table.unit(Word::Duration)),
            (-3, -9, -6)
        );
        assert_eq!(Table::parse(&table.to_string()).as_ref(), Ok(&table));
        assert!(table.names("op") && table.names("Trace ID") && !table.names("other"));
    }

    #[test]
    fn what_is_no_table_is_said_with_its_line() {
        let error = |text: &str| Table::parse(text).unwrap_err();
        assert!(error("trace a\nspam b").starts_with("line 2 of the mapping begins with \"spam\""));
        assert_eq!(error("trace a\nspan b\nstart c"), "the mapping does not say which field is the name");
        assert_eq!(
            error("trace a\nspan b\nname c"),
            "the mapping does not say which field is the start or the end"
        );
    }
}
