//! Help of the search field while one types: keys and values that exist, and what is wrong with those that do not.

use pathlight_base::format::counted;
use pathlight_engine::queries::TagKey;
use pathlight_engine::requests::search::{Condition, SERVICE, SpanSearch, quoted, token_at};
use pathlight_engine::split::TagValuesReport;

/// Forms that a search can have, by example.
pub const SYNTAX: [(&str, &str); 6] = [
    ("key=value", "with this tag"),
    ("-key=value", "without it"),
    ("key=", "whatever its value"),
    ("service=name", "spans of a service"),
    ("OR", "either side"),
    ("\"two words\"", "as written"),
];

/// Completions at once.
const SHOWN: usize = 10;

/// A completion of the piece at the caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The key or value.
    pub name: String,
    /// Words beside the suggestion.
    pub beside: String,
    /// The text of the field then; the caret stands at the end of the piece.
    pub text: String,
    /// Position of the caret then, in UTF-16 units.
    pub caret: u32,
}

/// Returns the place in bytes of a caret that is given in UTF-16 units.
fn place_of(text: &str, caret: u32) -> usize {
    let mut units = 0;
    let passed = |(_, c): &(usize, char)| {
        units += c.len_utf16();
        units > caret as usize
    };
    text.char_indices().find(passed).map_or(text.len(), |(at, _)| at)
}

/// Returns the key whose values are wanted where the caret stands; `None` unless a value is being written.
pub fn key_at(text: &str, caret: u32) -> Option<String> {
    token_at(text, place_of(text, caret)).filter(|token| token.value.is_some()).map(|token| token.name)
}

/// Returns those that hold what was typed, those that begin with it first.
fn fitting<T>(typed: &str, all: impl Iterator<Item = T>, name: impl Fn(&T) -> &str) -> Vec<T> {
    let typed = typed.to_lowercase();
    let place = |one: &T| name(one).to_lowercase().find(&typed);
    let mut found: Vec<(bool, T)> = all.filter_map(|one| place(&one).map(|at| (at > 0, one))).collect();
    // Stable: otherwise in the order they came.
    found.sort_by_key(|(is_inside, _)| *is_inside);
    found.into_iter().take(SHOWN).map(|(_, one)| one).collect()
}

/// Returns what the piece at the caret can become: keys, or values of the key before it.
pub fn completions(
    text: &str,
    caret: u32,
    keys: &[TagKey],
    values: Option<&TagValuesReport>,
) -> Vec<Completion> {
    let at = place_of(text, caret);
    let token = token_at(text, at);
    let is_blank = |c: char| c.is_whitespace();
    let (before, after) = text.split_at(at);
    // The caret touches an `OR`, which becomes nothing else.
    if token.is_none()
        && !((before.is_empty() || before.ends_with(is_blank))
            && (after.is_empty() || after.starts_with(is_blank)))
    {
        return Vec::new();
    }
    let (start, end) = token.as_ref().map_or((at, at), |token| (token.start, token.end));
    let sign = if token.as_ref().is_some_and(|token| token.negated) { "-" } else { "" };
    let completion = |name: &str, beside: String, piece: String| {
        let (before, after) = (&text[..start], &text[end..]);
        let written = format!("{before}{sign}{piece}");
        let caret = written.encode_utf16().count() as u32;
        Completion { name: name.to_owned(), beside, text: format!("{written}{after}"), caret }
    };
    let (name, value) = token.map_or_else(Default::default, |token| (token.name, token.value));
    let Some(typed) = value else {
        let keys = keys.iter().filter(|known| !known.high_cardinality);
        let beside = |known: &TagKey| match known.values.len() {
            0 => String::new(),
            n => counted(n as u64, "value"),
        };
        return fitting(&name, keys, |known| &known.key)
            .into_iter()
            .map(|known| completion(&known.key, beside(known), format!("{}=", quoted(&known.key))))
            .collect();
    };
    let Some(values) = values.filter(|values| values.key == name) else { return Vec::new() };
    let found = fitting(&typed, values.values.iter(), |known| &known.value).into_iter();
    found
        // What stands there in full needs no help.
        .filter(|known| known.value != typed)
        .map(|known| {
            let piece = format!("{}={} ", quoted(&name), quoted(&known.value));
            completion(&known.value, counted(known.requests, "request"), piece)
        })
        .collect()
}

/// Returns what is said of a key whose values are not all known.
pub fn too_many_values(key: &str) -> String {
    format!("{key} has too many values to be searched for (an id, perhaps).")
}

/// Returns what is said of a value that no span has, though something like it is there; `None` if it is there, or may
/// become what is there while one types.
fn unknown_value(known: &TagKey, value: &str) -> Option<String> {
    // Where values are listed, all of them are.
    if value.is_empty() || known.values.is_empty() || known.values.iter().any(|one| one == value) {
        return None;
    }
    let key = &known.key;
    match fitting(value, known.values.iter(), |one| one).first() {
        Some(one) if one.to_lowercase() == value.to_lowercase() => Some(format!(
            "No span has {key}={value}, but {key}={one}: in values, upper and lower case differ."
        )),
        Some(_) => None,
        None => Some(format!("No span has {key}={value}.")),
    }
}

/// Returns what is wrong with the tags that are asked for; empty if nothing is.
pub fn trouble(search: &SpanSearch, keys: &[TagKey]) -> String {
    let words = search.terms().find_map(|term| {
        let (key, sign) = match &term.condition {
            Condition::Tag { key, .. } if key != SERVICE => (key, "="),
            Condition::Compare { key, is, .. } => (key, is.sign()),
            _ => return None,
        };
        let found = keys.binary_search_by(|known| known.key.as_str().cmp(key));
        let Some(known) = found.ok().map(|at| &keys[at]) else {
            return Some(format!(
                "No span has a tag {key}. A text with a {sign} in it is written in quotes."
            ));
        };
        match &term.condition {
            Condition::Compare { .. } if known.is_number => None,
            _ if known.high_cardinality => Some(too_many_values(key)),
            Condition::Tag { value, .. } => unknown_value(known, value.as_deref()?),
            _ => None,
        }
    });
    words.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::split::TagValueCount;

    fn keys() -> Vec<TagKey> {
        let key = |key: &str, values: &[&str], high_cardinality| TagKey {
            key: key.to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            high_cardinality,
            is_number: false,
        };
        vec![
            key("aws.zone", &[], false),
            key("http.url", &[], true),
            key("my zone", &["a"], false),
            key("zone", &["eu", "us"], false),
        ]
    }

    fn texts(text: &str, caret: u32, values: Option<&TagValuesReport>) -> Vec<(String, u32)> {
        let all = completions(text, caret, &keys(), values).into_iter();
        all.map(|completion| (completion.text, completion.caret)).collect()
    }

    #[test]
    fn keys_that_exist_are_offered_those_that_begin_so_first() {
        let own = |text: &str, caret| (text.to_owned(), caret);
        assert_eq!(
            texts("get -zo x", 7, None),
            [own("get -zone= x", 10), own("get -aws.zone= x", 14), own("get -\"my zone\"= x", 15)]
        );
        assert_eq!(texts("", 0, None).len(), 3, "an id cannot be searched for");
        assert_eq!(texts("\u{1F600} ZON", 6, None)[0], own("\u{1F600} zone=", 8));
    }

    #[test]
    fn nothing_is_offered_in_place_of_what_separates() {
        assert_eq!(texts("a=1 OR", 6, None), []);
        assert_eq!(texts("a=1 OR b", 4, None), []);
        assert_eq!(texts("a=1 OR ", 7, None).len(), 3);
        assert_eq!(texts("a  b", 2, None).len(), 3);
    }

    #[test]
    fn values_of_the_key_are_offered() {
        let value = |value: &str| TagValueCount { value: value.to_owned(), requests: 2 };
        let values = TagValuesReport {
            key: "zone".to_owned(),
            values: vec![value("us"), value("eu west"), value("e")],
            ..TagValuesReport::default()
        };
        assert_eq!(key_at("zone=e", 6).as_deref(), Some("zone"));
        assert_eq!(key_at("zone", 4), None);
        assert_eq!(texts("zone=e", 6, Some(&values)), [("zone=\"eu west\" ".to_owned(), 15)]);
        assert_eq!(texts("zone=", 5, Some(&values)).len(), 3);
        assert_eq!(texts("other=", 6, Some(&values)), []);
    }

    #[test]
    fn tags_that_cannot_be_found_are_named() {
        let words = |text: &str| trouble(&SpanSearch::parse(text), &keys());
        assert_eq!(words("service=cart -service=auth"), "", "no tag, but what every span has");
        assert_eq!(words("zone=eu get zone= zone=u aws.zone=x"), "");
        assert!(words("zone=EU").starts_with("No span has zone=EU, but zone=eu:"));
        assert_eq!(words("-zone=asia"), "No span has zone=asia.");
        assert!(words("http.url=").starts_with("http.url has too many values"));
        assert!(words("/cart?id=1").starts_with("No span has a tag /cart?id."));
        assert!(words("-http.url=x").starts_with("http.url has too many values"));
    }
}
