//! Tags by themselves: which tell slow requests from the others, in words and as pairs of bars.

use pathlight_base::format::{count, counted, printable, share};
use pathlight_engine::findings::{FindingTag, TagRow, TagsReport};
use pathlight_engine::requests::Filter;

/// A tag or a pair of tags, as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct TagLine {
    /// `key = value`, of a pair both.
    pub name: String,
    /// Part of the slow requests that has it, and how many that are.
    pub slow: (f64, String),
    /// The same of the other requests.
    pub others: (f64, String),
    /// Other tags with the same numbers, in words; may be empty.
    pub same: String,
    /// Filters that keep only the requests that have it.
    pub filters: Vec<Filter>,
}

/// Characters of a value that are shown: a statement of SQL would hide the rest.
const SHOWN: usize = 60;

fn name(tag: &FindingTag) -> String {
    let mut value: String = tag.value.chars().take(SHOWN).collect();
    if value.len() < tag.value.len() {
        value.push('\u{2026}');
    }
    printable(&format!("{} = {value}", tag.key))
}

fn names(tags: &[FindingTag]) -> String {
    tags.iter().map(name).collect::<Vec<_>>().join(" and ")
}

/// Other tags that are named beside one.
const NAMED: usize = 3;

fn same(row: &TagRow) -> String {
    let named = row.same.iter().take(NAMED).map(name).collect::<Vec<_>>().join(", ");
    match row.same.len().saturating_sub(NAMED) {
        _ if named.is_empty() => String::new(),
        0 => format!("so have {named}"),
        more => format!("so have {named} and {} more", count(more as u64)),
    }
}

/// Returns the tags as they are shown, best first.
pub fn lines(report: &TagsReport) -> Vec<TagLine> {
    let side = |n: u64, of: u64| (n as f64 / of.max(1) as f64, format!("{} of {}", count(n), count(of)));
    let line = |row: &TagRow| TagLine {
        name: names(&row.tags),
        slow: side(row.slow, report.slow),
        others: side(row.others, report.others),
        same: same(row),
        filters: row
            .tags
            .iter()
            .map(|tag| Filter::Tag { key: tag.key.clone(), value: tag.value.clone() })
            .collect(),
    };
    report.rows.iter().map(line).collect()
}

/// Which requests are slow. Percentile ranges round to the nearest and have every type, so theirs may be a few more or less.
const SLOW: &str = "the slowest tenth, rounded up and at least five, of each request type of ten or more";

/// Returns what is compared; `is_of_range` says that a percentile range is selected. Where there are no tags to show, why.
pub fn about(report: &TagsReport, is_of_range: bool) -> String {
    let [slow, others] =
        [(report.slow, "slow request"), (report.others, "other")].map(|(n, noun)| counted(n, noun));
    let sides = match is_of_range {
        true => format!("{} of the percentile range against {others}", counted(report.slow, "request")),
        false => format!("{slow} ({SLOW}) against {others}"),
    };
    if report.slow == 0 || report.others == 0 {
        return match is_of_range {
            true => "There is no request outside the percentile range to compare with.".to_owned(),
            false => "No request type has ten requests, some slower than others.".to_owned(),
        };
    }
    match (report.rows.is_empty(), report.tested) {
        (true, 0) => format!("{sides}: they have no tags."),
        (true, tested) => {
            format!("{sides}: none of {} tells them apart beyond chance.", counted(tested, "tag"))
        }
        (false, tested) => {
            format!("{sides}; the best of {}, each on any span of a request.", counted(tested, "tag"))
        }
    }
}

/// Returns what is said of a tag or a pair: `cache.hit = false: 4 of 33 slow (12.1 %), 1 of 287 others (0.3 %)`.
pub fn words(line: &TagLine) -> String {
    let same = if line.same.is_empty() { String::new() } else { format!("; {}", line.same) };
    format!(
        "{}: {} slow ({}), {} others ({}){same}",
        line.name,
        line.slow.1,
        share(line.slow.0),
        line.others.1,
        share(line.others.0)
    )
}

/// Returns the tags as text below the findings.
pub fn to_text(report: &TagsReport, is_of_range: bool) -> String {
    let said = lines(report).iter().map(|line| format!("  {}\n", words(line))).collect::<String>();
    format!("\nTags: {}\n{said}", about(report, is_of_range))
}

/// Returns the tags as a part of an incident note.
pub fn to_markdown(report: &TagsReport, is_of_range: bool) -> String {
    let escaped = |text: String| crate::say::sentence::Sentence::default().text(&text).to_markdown();
    let said = lines(report).iter().map(|line| format!("- {}\n", escaped(words(line)))).collect::<String>();
    format!("\n## Tags\n\n{}\n\n{said}", about(report, is_of_range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_say_how_many_of_either_side_have_them() {
        let tag = |key: &str, value: &str| FindingTag { key: key.to_owned(), value: value.to_owned() };
        let row = TagRow {
            tags: vec![tag("region", "eu"), tag("version", "1.8")],
            slow: 4,
            others: 1,
            least: 0.5,
            same: vec![tag("host", "a")],
        };
        let report = TagsReport { slow: 5, others: 50, tested: 20, rows: vec![row] };
        let text = to_text(&report, false);
        assert_eq!(
            text,
            "\nTags: 5 slow requests (the slowest tenth, rounded up and at least five, of each request type of ten or more) against 50 others; the best of 20 tags, each on any span of a request.\n  \
             region = eu and version = 1.8: 4 of 5 slow (80.0\u{202f}%), 1 of 50 others (2.0\u{202f}%); so have host = a\n"
        );
        assert_eq!(lines(&report)[0].filters.len(), 2);
        let none = TagsReport { rows: Vec::new(), ..report };
        assert!(about(&none, true).ends_with("none of 20 tags tells them apart beyond chance."));
        assert!(about(&TagsReport::default(), false).starts_with("No request type"));
    }
}
