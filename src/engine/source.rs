//! Where the traces of the page come from, as its address says: `&api=/jaeger&service=..&operation=..&start=us&end=us`,
//! `&api=/jaeger&traceID=a&traceID=b`, `&src=relative-url`.
//!
//! The keys are those of Jaeger's own search page, so a query copied from there works. With `api` and `service`, the keys
//! `service` and `operation` name what is searched for; given both, that endpoint is also the [`Subject`] unless the key
//! `subject` names another. With `api` and without `service`, every `traceID` is fetched, and the first of them is the
//! one looked at. `api` alone only says where links to Jaeger lead.

use super::Subject;
use super::fragment::Writer;
use std::collections::BTreeSet;

/// What is fetched, and from where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Base address of a Jaeger query service, as it was given: relative to the page or whole.
    pub api: Option<String>,
    /// What is asked of it.
    pub wanted: Wanted,
    /// Addresses of trace files, relative to the page or whole.
    pub files: Vec<String>,
}

/// What is asked of a Jaeger query service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing: its address is known for links.
    #[default]
    Nothing,
    /// The traces a search finds.
    Search(Box<Search>),
    /// The traces of these ids, each as [`jaeger_id`] writes it.
    Traces(BTreeSet<String>),
}

/// A search for traces, in the words of Jaeger's API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// Service that takes part.
    pub service: String,
    /// Operation of it; empty: any.
    pub operation: String,
    /// Earliest start in microseconds since the epoch; `None`: an hour before the end.
    pub start_us: Option<u64>,
    /// Latest start in microseconds since the epoch; `None`: now.
    pub end_us: Option<u64>,
    /// Most traces that are wanted; `None`: [`Search::LIMIT`].
    pub limit: Option<u32>,
    /// Shortest span, a duration as Go writes it (`1.2s`, `100ms`); empty: any.
    pub min_duration: String,
    /// Longest span, written the same; empty: any.
    pub max_duration: String,
    /// Tags a span must have: a JSON object of strings; empty: none.
    pub tags: String,
}

impl Search {
    /// Traces wanted if nothing else is said.
    pub const LIMIT: u32 = 1000;

    const KEYS: [&str; 6] = ["start", "end", "limit", "minDuration", "maxDuration", "tags"];

    fn set(&mut self, key: &str, value: String) {
        match key {
            "start" => self.start_us = value.parse().ok(),
            "end" => self.end_us = value.parse().ok(),
            "limit" => self.limit = value.parse().ok(),
            "minDuration" => self.min_duration = value,
            "maxDuration" => self.max_duration = value,
            _ => self.tags = value,
        }
    }

    fn get(&self, key: &str) -> Option<String> {
        let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        match key {
            "start" => self.start_us.map(|us| us.to_string()),
            "end" => self.end_us.map(|us| us.to_string()),
            "limit" => self.limit.map(|limit| limit.to_string()),
            "minDuration" => text(&self.min_duration),
            "maxDuration" => text(&self.max_duration),
            _ => text(&self.tags),
        }
    }
}

impl Source {
    /// The Jaeger query service at this base address.
    pub fn jaeger(api: &str) -> Source {
        Source { api: Some(api.to_owned()), ..Source::default() }
    }

    /// Whether something is to be fetched.
    pub fn wants_something(&self) -> bool {
        self.wanted != Wanted::Nothing || !self.files.is_empty()
    }

    /// Whether a search is part of it.
    pub fn is_search(&self) -> bool {
        matches!(self.wanted, Wanted::Search(_))
    }

    /// The subject that follows from the search alone.
    pub fn subject(&self) -> Subject {
        match &self.wanted {
            Wanted::Search(search) if !search.operation.is_empty() => {
                Subject::Endpoint { service: search.service.clone(), operation: search.operation.clone() }
            }
            _ => Subject::TraceRoots,
        }
    }

    /// Takes its pairs out of those of a fragment; everything else stays.
    pub(super) fn take(pairs: &mut Vec<(String, String)>) -> Source {
        let files = pairs.extract_if(.., |(key, value)| key == "src" && !value.is_empty());
        let files = files.map(|(_, value)| value).collect();
        let Some(api) = take_first(pairs, "api") else { return Source { files, ..Source::default() } };
        let mut source = Source { files, ..Source::jaeger(&api) };
        if let Some(service) = take_first(pairs, "service") {
            let mut search = Search { service, ..Search::default() };
            search.operation = take_first(pairs, "operation").unwrap_or_default();
            for key in Search::KEYS {
                if let Some(value) = take_first(pairs, key) {
                    search.set(key, value);
                }
            }
            source.wanted = Wanted::Search(Box::new(search));
            return source;
        }
        let is_trace = |(key, value): &(String, String)| key == "traceID" && !value.is_empty();
        let ids: BTreeSet<String> =
            pairs.iter().filter(|pair| is_trace(pair)).map(|(_, id)| jaeger_id(id)).collect();
        if !ids.is_empty() {
            source.wanted = Wanted::Traces(ids);
            let mut seen = false;
            pairs.retain(|pair| !is_trace(pair) || !std::mem::replace(&mut seen, true));
        }
        source
    }

    /// Writes all of it but the ids of traces.
    pub(super) fn put(&self, out: &mut Writer) {
        if let Some(api) = &self.api {
            out.put("api", api);
        }
        if let Wanted::Search(search) = &self.wanted {
            out.put("service", &search.service);
            if !search.operation.is_empty() {
                out.put("operation", &search.operation);
            }
            for key in Search::KEYS {
                if let Some(value) = search.get(key) {
                    out.put(key, &value);
                }
            }
        }
        for file in &self.files {
            out.put("src", file);
        }
    }

    /// Writes the ids of traces that are fetched by id, except the one that stands there as the one looked at.
    pub(super) fn put_traces(&self, written: Option<&str>, out: &mut Writer) {
        let Wanted::Traces(ids) = &self.wanted else { return };
        let written = written.map(jaeger_id);
        for id in ids.iter().filter(|id| Some(*id) != written.as_ref()) {
            out.put("traceID", id);
        }
    }
}

fn take_first(pairs: &mut Vec<(String, String)>, key: &str) -> Option<String> {
    let at = pairs.iter().position(|(found, _)| found == key)?;
    Some(pairs.remove(at).1)
}

/// The value of `subject=`: `["service","operation"]`, or `all`.
pub(super) fn subject_name(subject: &Subject) -> String {
    match subject {
        Subject::TraceRoots => "all".to_owned(),
        Subject::Endpoint { service, operation } => {
            serde_json::to_string(&[service, operation]).unwrap_or_default()
        }
    }
}

/// Undoes [`subject_name`].
pub(super) fn subject_of_name(text: &str) -> Option<Subject> {
    if text == "all" {
        return Some(Subject::TraceRoots);
    }
    let [service, operation] = serde_json::from_str(text).ok()?;
    Some(Subject::Endpoint { service, operation })
}

/// A trace or span id as Jaeger writes it: 16 lower-case hexadecimal digits, 32 where 16 do not suffice; what is no
/// hexadecimal number stays.
pub fn jaeger_id(id: &str) -> String {
    let digits = id.trim().to_ascii_lowercase();
    let significant = digits.trim_start_matches('0');
    if significant.len() > 32 || !significant.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return id.trim().to_owned();
    }
    let width = if significant.len() > 16 { 32 } else { 16 };
    format!("{significant:0>width$}")
}

#[cfg(test)]
mod tests {
    use super::super::address::{Address, View};
    use super::*;

    fn endpoint(service: &str, operation: &str) -> Subject {
        Subject::Endpoint { service: service.to_owned(), operation: operation.to_owned() }
    }

    #[test]
    fn a_query_of_jaegers_own_page_is_a_search_with_its_subject() {
        let text = "v=1&view=flame&api=/jaeger&service=shop&operation=GET%20/x&start=1&end=2&limit=20\
                    &minDuration=1.2s&maxDuration=2s&tags=%7B%22error%22:%22true%22%7D&lookback=1h";
        let address = Address::parse(text);
        let Wanted::Search(search) = &address.source.wanted else { panic!("{:?}", address.source) };
        assert_eq!((search.service.as_str(), search.operation.as_str()), ("shop", "GET /x"));
        assert_eq!((search.start_us, search.end_us, search.limit), (Some(1), Some(2), Some(20)));
        assert_eq!((search.min_duration.as_str(), search.max_duration.as_str()), ("1.2s", "2s"));
        assert_eq!(search.tags, r#"{"error":"true"}"#);
        assert_eq!(address.subject, endpoint("shop", "GET /x"));
        assert_eq!(address.unknown, [("lookback".to_owned(), "1h".to_owned())]);
        assert_eq!(address.to_fragment(), text);
    }

    #[test]
    fn another_subject_than_that_of_the_search_stands_in_a_key_of_its_own() {
        let mut address = Address::parse("api=/jaeger&service=shop&operation=GET");
        address.subject = endpoint("db", "query");
        let text = address.to_fragment();
        assert!(text.contains("&service=shop&operation=GET&subject="), "{text}");
        assert_eq!(Address::parse(&text), address);
        address.subject = Subject::TraceRoots;
        assert!(address.to_fragment().ends_with("&subject=all"), "{}", address.to_fragment());
        assert_eq!(Address::parse(&address.to_fragment()), address);
        // Without a search the plain keys are the subject's.
        let plain = Address::parse("api=/jaeger&subject=%5B%22db%22,%22query%22%5D");
        assert_eq!(plain.subject, endpoint("db", "query"));
        assert_eq!(Address::parse("service=db&operation=query").subject, plain.subject);
    }

    #[test]
    fn traces_are_fetched_by_id_and_the_first_is_looked_at() {
        let address = Address::parse("view=trace&api=/jaeger&traceID=CD&traceID=ab&span=7");
        let ids = ["00000000000000ab", "00000000000000cd"].map(str::to_owned);
        assert_eq!(address.source.wanted, Wanted::Traces(ids.into()));
        assert_eq!(address.view, View::Trace);
        assert_eq!(address.trace.as_ref().map(|trace| trace.trace_id.as_str()), Some("CD"));
        let text = address.to_fragment();
        assert!(text.ends_with("traceID=CD&span=7&traceID=00000000000000ab"), "{text}");
        assert_eq!(Address::parse(&text), address);
    }

    #[test]
    fn a_trace_looked_at_after_a_search_is_not_fetched() {
        let address = Address::parse("api=/jaeger&service=shop&traceID=ab");
        assert!(address.source.is_search());
        assert_eq!(address.trace.as_ref().map(|trace| trace.trace_id.as_str()), Some("ab"));
        assert_eq!(Address::parse(&address.to_fragment()), address);
    }

    #[test]
    fn without_api_its_keys_are_nobodys_and_kept() {
        let text = "v=1&start=1&limit=2&tags=x";
        let address = Address::parse(text);
        assert_eq!(address.source, Source::default());
        assert_eq!(address.to_fragment(), text);
    }

    #[test]
    fn files_are_named_one_by_one() {
        let text = "v=1&src=traces/a.json&src=b.json.gz";
        let address = Address::parse(text);
        assert_eq!(address.source.files, ["traces/a.json", "b.json.gz"]);
        assert!(address.source.wants_something());
        assert_eq!(address.to_fragment(), text);
    }

    #[test]
    fn ids_are_written_as_jaeger_writes_them() {
        assert_eq!(jaeger_id(&format!("{:0>32}", "AB")), format!("{:0>16}", "ab"));
        assert_eq!(jaeger_id("123456789abcdef01"), format!("{:0>32}", "123456789abcdef01"));
        assert_eq!(jaeger_id(" trace-1 "), "trace-1");
    }
}
