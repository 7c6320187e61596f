//! Rows that nobody knows (`docs/definitions/ingest.md` section 6): a guess of what their fields are, which a person accepts or
//! corrects. Nothing is read by a guess alone.

mod columns;
mod roles;
mod sample;

use crate::formats::rows::{Table, UNITS};
use columns::{Columns, TimeForm};
use roles::Roles;
pub use sample::GuessedRow;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::sync::Arc;

/// Records of which a guess shows the values.
const SAMPLES: usize = 5;
/// Characters of a value that are shown.
const SHOWN: usize = 80;

/// What the fields of rows are: a person's, or one that was guessed and accepted. Its text is lines such as `trace request_id`
/// and `start began_at ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping(pub(crate) Arc<Table>);

impl Mapping {
    /// Returns the first field that a line names, such as `start`, and the unit of its numbers, if it is a time.
    pub fn field(&self, word: &str) -> Option<(&str, &'static str)> {
        let word = Table::word(word)?;
        let power = self.0.unit(word);
        let unit = UNITS.iter().find(|unit| unit.1 == power).map_or("us", |unit| unit.0);
        self.0.list(word).first().map(|path| (path.as_str(), unit))
    }
}

impl std::str::FromStr for Mapping {
    type Err = String;

    fn from_str(text: &str) -> Result<Mapping, String> {
        Table::parse(text).map(|table| Mapping(Arc::new(table)))
    }
}

impl std::fmt::Display for Mapping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// As its text, so that it travels and is kept as people write it.
impl Serialize for Mapping {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mapping {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Mapping, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A guess of what the fields of rows are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guess {
    /// The guess as the text of a [`Mapping`]; empty if nothing fits.
    pub mapping: String,
    /// The fields, in the order in which they stand in the first records.
    pub fields: Vec<GuessField>,
    /// Keys under which the records stand.
    pub within: Vec<String>,
}

/// A field of rows that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuessField {
    /// Its key, with those of the objects around it.
    pub path: String,
    /// Its values in the first five records; empty where it is missing.
    pub values: Vec<String>,
}

impl Guess {
    /// Returns the guess of what a text of JSON holds; `None` if it has no records with several fields.
    pub(crate) fn of(text: &[u8]) -> Option<Guess> {
        let columns = Columns::of(text);
        if columns.list.len() < 3 || columns.rows == 0 {
            return None;
        }
        let mapping = roles::roles(&columns).map_or(String::new(), |roles| text_of(&columns, &roles));
        let shown = |text: &str| text.chars().take(SHOWN).collect::<String>();
        let fields = columns.list.iter().map(|column| GuessField {
            path: column.path.clone(),
            values: column.values.iter().take(SAMPLES).map(|value| shown(value.text())).collect(),
        });
        Some(Guess { mapping, fields: fields.collect(), within: columns.within.clone() })
    }

    /// Returns a short text that is the same for inputs with the same fields.
    pub fn shape(&self) -> String {
        let mut paths: Vec<&str> = self.fields.iter().map(|field| field.path.as_str()).collect();
        paths.sort_unstable();
        format!("{:016x}", pathlight_trace::hash_text(&paths.join("\n")))
    }
}

/// Returns the lines of a mapping.
fn text_of(columns: &Columns, roles: &Roles) -> String {
    let mut out = String::new();
    let mut line = |word: &str, place: usize, unit: &str| {
        let path = &columns.list[place].path;
        let quote = if path.contains([' ', '\t', '#']) { "\"" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{word} {quote}{path}{quote}{}{unit}", if unit.is_empty() { "" } else { " " });
    };
    let unit = |power: i32| UNITS.iter().find(|unit| unit.1 == power).map_or("us", |unit| unit.0);
    let of_time = |form: TimeForm| match form {
        TimeForm::Date => "",
        TimeForm::Number(power) => unit(power),
    };
    line("trace", roles.trace, "");
    line("span", roles.span, "");
    if let Some(parent) = roles.parent {
        line("parent", parent, "");
    }
    line("name", roles.name, "");
    if let Some(service) = roles.service {
        line("service", service, "");
    }
    for (word, time) in [("start", roles.times.start), ("end", roles.times.end)] {
        if let Some((place, form)) = time {
            line(word, place, of_time(form));
        }
    }
    if let Some((place, power)) = roles.times.duration {
        line("duration", place, unit(power));
    }
    let within = match &columns.within[..] {
        [] => String::new(),
        keys => format!("within {}\n", keys.join(" ")),
    };
    format!("{within}{out}tags *\n")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Returns how many of the invented shapes are guessed as is right, with what is wrong of the others.
    fn score() -> (usize, Vec<String>) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/guess");
        let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        let (mut right, mut wrong) = (0, Vec::new());
        for file in files.iter().filter(|file| file.extension().is_some_and(|e| e != "map" && e != "md")) {
            let expected = std::fs::read_to_string(file.with_extension("map")).unwrap();
            let report = crate::tests::read(&std::fs::read(file).unwrap(), &[]).1;
            let guess = report.guess.map_or(String::new(), |guess| guess.mapping.replace("tags *\n", ""));
            let sorted = |text: &str| {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                lines.sort();
                lines
            };
            if sorted(&guess) == sorted(&expected) {
                right += 1;
            } else {
                wrong.push(format!("{}: guessed\n{guess}right\n{expected}", file.display()));
            }
        }
        (right, wrong)
    }

    #[test]
    fn most_of_the_invented_shapes_are_guessed() {
        let (right, wrong) = score();
        assert!(right >= 12, "{right} of {}:\n{}", right + wrong.len(), wrong.join("\n"));
        println!("{right} right; wrong:\n{}", wrong.join("\n"));
    }
}
