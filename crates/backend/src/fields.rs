//! The text that people type into a search: durations as Go writes them, tags as logfmt; and the same in Tempo's language.

use crate::source::TraceSearch;
use serde_json::{Map, Value};

/// Returns the nanoseconds of a duration as Go writes it: `1.5h`, `2h45m`, `300ms`, `0`. `None` if it is none.
pub fn go_duration_ns(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    if rest == "0" {
        return Some(0);
    }
    let mut sum = 0_u64;
    while !rest.is_empty() || sum == 0 {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|at| *at > 0)?;
        let (number, after) = rest.split_at(digits);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let unit_ns: u64 = match unit {
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        if part.contains('.') || whole.is_empty() && part.is_empty() {
            return None;
        }
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let mut ns = whole.checked_mul(unit_ns)?;
        let mut place_ns = unit_ns;
        for digit in part.bytes() {
            place_ns /= 10;
            ns = ns.checked_add(place_ns * u64::from(digit - b'0'))?;
        }
        sum = sum.checked_add(ns)?;
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    Some(sum)
}

/// Returns the `tags` of Jaeger's API, a JSON object of strings, from logfmt as in Jaeger's search field:
/// `http.status_code=500 db="my shop"`; a key alone is `true`. Empty for none.
///
/// # Errors
/// The piece that cannot be read.
pub fn tags_of_logfmt(text: &str) -> Result<String, String> {
    let mut tags = Map::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        if key.is_empty() || key.contains('"') {
            return Err(rest.to_owned());
        }
        let (value, after) = match after.strip_prefix('=') {
            None => ("true".to_owned(), after),
            Some(after) if after.starts_with('"') => {
                // A quoted value is a JSON string, escapes and all.
                let mut values = serde_json::Deserializer::from_str(after).into_iter::<String>();
                let value = values.next().and_then(Result::ok).ok_or_else(|| rest.to_owned())?;
                (value, after.get(values.byte_offset()..).unwrap_or_default())
            }
            Some(after) => {
                let end = after.find(char::is_whitespace).unwrap_or(after.len());
                (after[..end].to_owned(), &after[end..])
            }
        };
        if !(after.is_empty() || after.starts_with(char::is_whitespace)) {
            return Err(rest.to_owned());
        }
        tags.insert(key.to_owned(), Value::String(value));
        rest = after.trim_start();
    }
    Ok(if tags.is_empty() { String::new() } else { Value::Object(tags).to_string() })
}

/// Undoes [`tags_of_logfmt`]; what is no JSON object gives nothing.
pub fn logfmt_of_tags(tags: &str) -> String {
    let Ok(Value::Object(tags)) = serde_json::from_str(tags) else { return String::new() };
    let pairs: Vec<String> = tags
        .into_iter()
        .map(|(key, value)| {
            let value = plain(&value);
            if value.is_empty()
                || value.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\\' | '='))
            {
                format!("{key}={}", Value::String(value))
            } else {
                format!("{key}={value}")
            }
        })
        .collect();
    pairs.join(" ")
}

/// Returns the tags with every value as a string, which is all that Jaeger takes; `None` if they are no JSON object.
pub(super) fn normal_tags(tags: &str) -> Option<String> {
    let Value::Object(tags) = serde_json::from_str(tags).ok()? else { return None };
    let tags = tags.into_iter().map(|(key, value)| (key, Value::String(plain(&value))));
    Some(Value::Object(tags.collect()).to_string())
}

/// Returns a search in TraceQL: one span that has it all. Durations that Go would not read, and tags that are no JSON
/// object, are left out.
pub(super) fn traceql(search: &TraceSearch) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let mut conditions = Vec::new();
    for (key, value) in [("resource.service.name", search.service()), ("name", search.operation())] {
        if !value.is_empty() {
            conditions.push(format!("{key}={}", quoted(value)));
        }
    }
    for (sign, duration) in [(">=", &search.min_duration), ("<=", &search.max_duration)] {
        conditions.extend(go_duration_ns(duration).map(|ns| format!("duration{sign}{ns}ns")));
    }
    let tags = serde_json::from_str(&search.tags).unwrap_or_default();
    for (key, value) in if let Value::Object(tags) = tags { tags } else { Map::new() } {
        let value = plain(&value);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
        let key = if key.chars().all(is_name) { format!(".{key}") } else { format!(".{}", quoted(&key)) };
        let mut either = vec![format!("{key}={}", quoted(&value))];
        // A tag of Jaeger is text; an attribute has a type.
        if value.parse::<i64>().is_ok() || matches!(value.as_str(), "true" | "false") {
            either.push(format!("{key}={value}"));
        }
        if (key.as_str(), value.as_str()) == (".error", "true") {
            either.push("status=error".to_owned());
        }
        conditions.push(if either.len() == 1 {
            either.remove(0)
        } else {
            format!("({})", either.join("||"))
        });
    }
    format!("{{{}}}", conditions.join("&&"))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, ns) in [
            ("0", 0),
            ("0s", 0),
            ("100ms", 100_000_000),
            ("1.2s", 1_200_000_000),
            ("2h45m", 9_900_000_000_000),
            ("1.5\u{b5}s", 1_500),
            (".5us", 500),
            ("3ns", 3),
        ] {
            assert_eq!(go_duration_ns(text), Some(ns), "{text}");
        }
        for text in ["", "5", "s", "1.s.2", "1 s", "1d", "-1s", ".s", "1..2s", "99999999999h", "1s2"] {
            assert_eq!(go_duration_ns(text), None, "{text}");
        }
    }

    #[test]
    fn tags_are_logfmt_as_in_jaegers_own_field() {
        let tags = |text: &str| tags_of_logfmt(text).ok();
        assert_eq!(tags(" "), Some(String::new()));
        let json = r#"{"db":"my \"shop\"","error":"true","http.status_code":"500","q":"a=b"}"#;
        assert_eq!(tags(r#"error http.status_code=500 db="my \"shop\"" q=a=b"#).as_deref(), Some(json));
        let shown = logfmt_of_tags(json);
        assert_eq!(shown, r#"db="my \"shop\"" error=true http.status_code=500 q="a=b""#);
        assert_eq!(tags(&shown).as_deref(), Some(json));
        for wrong in ["=1", "a=\"open", "a=\"b\"c", "\"a\"=1"] {
            assert!(tags_of_logfmt(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_search_is_written_in_traceql() {
        let search = TraceSearch {
            service: "my \"shop\"".to_owned(),
            min_duration: "1.5ms".to_owned(),
            tags: r#"{"error":"true","http.status_code":"500","odd key":"x"}"#.to_owned(),
            ..TraceSearch::default()
        };
        assert_eq!(
            traceql(&search),
            r#"{resource.service.name="my \"shop\""&&duration>=1500000ns&&(.error="true"||.error=true||status=error)&&(.http.status_code="500"||.http.status_code=500)&&."odd key"="x"}"#
        );
        assert_eq!(traceql(&TraceSearch::default()), "{}");
    }

    #[test]
    fn values_of_tags_become_strings() {
        assert_eq!(normal_tags(r#"{"a":500,"b":true}"#).as_deref(), Some(r#"{"a":"500","b":"true"}"#));
        assert_eq!(normal_tags("[1]"), None);
    }
}
