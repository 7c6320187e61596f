//! What the fields of rows nobody knows may be: as a mapping to print, and as choices that a person corrects.

use crate::reading::quality::capital;
use pathlight_base::format::{duration_us, moment, printable};
use pathlight_ingest::{FileReport, Guess, GuessedRow, Mapping};
use std::fmt::Write as _;

#[cfg(test)]
mod tests;

/// Something that a field of a row may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// The word of its line in a mapping.
    pub word: &'static str,
    /// What it is called for people.
    pub title: &'static str,
    /// Whether its numbers have a unit.
    pub has_unit: bool,
}

const fn role(word: &'static str, title: &'static str, has_unit: bool) -> Role {
    Role { word, title, has_unit }
}

/// The roles that a person chooses fields for, in the order of the choices.
pub const ROLES: [Role; 8] = [
    role("trace", "Trace id", false),
    role("span", "Span id", false),
    role("parent", "Parent's span id", false),
    role("service", "Service", false),
    role("name", "Operation", false),
    role("start", "Start", true),
    role("end", "End", true),
    role("duration", "Duration", true),
];

/// The units of numbers that are times: the word of a mapping, and what it is called.
pub const UNITS: [(&str, &str); 4] =
    [("s", "seconds"), ("ms", "milliseconds"), ("us", "microseconds"), ("ns", "nanoseconds")];

/// Titles of the columns of [`rows`].
pub const COLUMNS: [&str; 7] = ["Trace", "Span", "Parent", "Service", "Operation", "Start", "Duration"];

/// Fields and units chosen for the [`ROLES`], in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Path of the field of each role; empty for none.
    pub fields: [String; ROLES.len()],
    /// Unit of each; of those without one it says nothing.
    pub units: [String; ROLES.len()],
}

impl Choices {
    /// Returns the choices of a guess.
    pub fn of(guess: &Guess) -> Choices {
        let mapping = guess.mapping.parse::<Mapping>().ok();
        let said = |role: Role| mapping.as_ref().and_then(|mapping| mapping.field(role.word));
        Choices {
            fields: ROLES.map(|role| said(role).map_or(String::new(), |said| said.0.to_owned())),
            units: ROLES.map(|role| said(role).map_or("ms", |said| said.1).to_owned()),
        }
    }

    /// Returns the mapping that the choices are.
    ///
    /// # Errors
    /// A sentence about what is missing.
    pub fn mapping(&self, guess: &Guess) -> Result<Mapping, String> {
        let mut text = String::new();
        if !guess.within.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "within {}", guess.within.join(" "));
        }
        let chosen = ROLES.iter().zip(self.fields.iter().zip(&self.units));
        for (role, (field, unit)) in chosen.filter(|(_, (field, _))| !field.is_empty()) {
            let unit = if role.has_unit { unit.as_str() } else { "" };
            let _ = writeln!(text, "{} \"{field}\" {unit}", role.word);
        }
        text.push_str("tags *\n");
        let mapping = text.parse::<Mapping>().map_err(|error| format!("{}.", capital(&error)))?;
        let has = |word: &str| mapping.field(word).is_some();
        match has("duration") || has("start") && has("end") {
            true => Ok(mapping),
            false => Err("The mapping does not say which field is the duration or the end.".to_owned()),
        }
    }
}

/// Returns the first rows as a mapping reads them, in the order of [`COLUMNS`].
pub fn rows(guess: &Guess, mapping: &Mapping) -> Vec<[String; COLUMNS.len()]> {
    let cells = |row: GuessedRow| {
        let start = row.start_us.map_or("no time".to_owned(), moment);
        let took = row.duration_us.map_or("no time".to_owned(), duration_us);
        [row.trace, row.span, row.parent, row.service, row.name, start, took]
    };
    guess.rows(mapping).into_iter().map(cells).collect()
}

/// Shapes of which mappings are remembered at most.
const REMEMBERED: usize = 20;

/// Returns the mappings in a text that [`remember`] wrote.
pub fn remembered(text: &str) -> Vec<Mapping> {
    entries(text).filter_map(|(_, mapping)| mapping.parse().ok()).collect()
}

/// Returns the text with a mapping for inputs of this [shape](Guess::shape), in place of another one for them.
pub fn remember(text: &str, shape: &str, mapping: &Mapping) -> String {
    let mut out = format!("# {shape}\n{mapping}");
    for (shape, mapping) in entries(text).filter(|(known, _)| *known != shape).take(REMEMBERED - 1) {
        let mapping = mapping.trim_end();
        let _ = writeln!(out, "\n# {shape}\n{mapping}");
    }
    out
}

/// Returns shape and mapping of every entry.
fn entries(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = text.split("\n\n").filter_map(|part| part.trim_start().strip_prefix("# "));
    parts.filter_map(|part| part.split_once('\n'))
}

/// Returns the guess of what a file is as a mapping, with the first rows read by it as comments; `None` if there is none.
pub fn text(file: &FileReport) -> Option<String> {
    let guess = file.guess.as_deref()?;
    let mut out = format!(
        "# {}: a guess of what its fields are. Correct it, and read by it: --map FILE\n",
        printable(&file.name)
    );
    let Ok(mapping) = guess.mapping.parse::<Mapping>() else {
        out.push_str(
            "# Nothing fits. Name the fields: trace, span, parent, name, service, start, duration or end.\n",
        );
        out.push_str(&fields(guess));
        return Some(out);
    };
    out.push_str(&guess.mapping);
    let _ = writeln!(out, "# The first rows, read by it:\n# {}", COLUMNS.join(" | "));
    for row in rows(guess, &mapping) {
        let _ = writeln!(out, "# {}", row.map(|cell| printable(&cell)).join(" | "));
    }
    out.push_str(&fields(guess));
    Some(out)
}

/// Returns all fields with a value, as comments.
fn fields(guess: &Guess) -> String {
    let mut out = "# The fields, with a value of each:\n".to_owned();
    for field in &guess.fields {
        let value = field.values.iter().find(|value| !value.is_empty()).map_or("", String::as_str);
        let _ = writeln!(out, "#   {}: {}", printable(&field.path), printable(value));
    }
    out
}
