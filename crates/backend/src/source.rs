//! Source of the page's traces, as its address says: `&api=/jaeger&service=..&operation=..&start=us&end=us`,
//! `&api=/jaeger&traceID=a&traceID=b`, `&src=relative-url`.
//!
//! The keys are those of Jaeger's own search page, so a query copied from there works. With `api` and `service`, the
//! keys `service` and `operation` name what is searched for; given both, that endpoint is also the [`RootEndpoint`]
//! unless the key `rootEndpoint` names another. With `api` and without `service`, every `traceID` is fetched, and the
//! first of them is the one looked at. `api` alone only says where links to Jaeger lead. With `every=30s` the page looks again
//! and again for what is new: a search goes on where it ended, of a file what was added to its end is fetched.

use pathlight_base::fragment::Writer;
use pathlight_engine::requests::RootEndpoint;
use pathlight_trace::Endpoint;
use std::collections::BTreeSet;

/// Source of a fetch: the server, the files, and the traces wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchSource {
    /// Base address of a Jaeger query service, as it was given: relative to the page or whole.
    pub api: Option<String>,
    /// The traces that are asked for.
    pub wanted: Wanted,
    /// Addresses of trace files, relative to the page or whole.
    pub files: Vec<String>,
    /// Interval at which the page looks for new traces, in seconds; `None`: never.
    pub every_s: Option<u32>,
}

/// Traces wanted of a Jaeger query service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing: its address is known for links.
    #[default]
    Nothing,
    /// The traces a search finds.
    Search(Box<TraceSearch>),
    /// The traces of these ids, each as [`jaeger_id`] writes it.
    Traces(BTreeSet<String>),
}

/// A search for traces, in the words of Jaeger's API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSearch {
    /// Service that takes part; any, if it is one of Jaeger UI's names for all of them (`__all_services__`).
    pub service: String,
    /// Operation of it; empty, or `__all_operations__`: any.
    pub operation: String,
    /// Earliest start in microseconds since the epoch; `None`: an hour before the end.
    pub start_us: Option<u64>,
    /// Latest start in microseconds since the epoch; `None`: now.
    pub end_us: Option<u64>,
    /// Most traces that are wanted; `None`: [`TraceSearch::LIMIT`].
    pub limit: Option<u32>,
    /// Shortest span, a duration as Go writes it (`1.2s`, `100ms`); empty: any.
    pub min_duration: String,
    /// Longest span, written the same; empty: any.
    pub max_duration: String,
    /// Tags a span must have: a JSON object of strings; empty: none.
    pub tags: String,
}

impl TraceSearch {
    /// Traces wanted if nothing else is said.
    pub const LIMIT: u32 = 1000;
    /// Jaeger UI's name for any service.
    pub const ALL: &str = "__all_services__";

    const KEYS: [&str; 6] = ["start", "end", "limit", "minDuration", "maxDuration", "tags"];

    /// Returns the service to be asked for; empty for any.
    pub fn service(&self) -> &str {
        named(&self.service)
    }

    /// Returns the operation to be asked for; empty for any.
    pub fn operation(&self) -> &str {
        named(&self.operation)
    }

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

/// The address of the demo traces among [`FetchSource::files`]: the page writes them itself.
pub const DEMO: &str = "demo:";

impl FetchSource {
    /// Returns whether the demo traces are wanted, and nothing else.
    pub fn is_demo(&self) -> bool {
        self.wanted == Wanted::Nothing && self.files == [DEMO]
    }

    /// Returns the Jaeger query service at this base address.
    pub fn jaeger(api: &str) -> FetchSource {
        FetchSource { api: Some(api.to_owned()), ..FetchSource::default() }
    }

    /// Returns whether something is to be fetched.
    pub fn wants_something(&self) -> bool {
        self.wanted != Wanted::Nothing || !self.files.is_empty()
    }

    /// Returns whether a search is part of it.
    pub fn is_search(&self) -> bool {
        matches!(self.wanted, Wanted::Search(_))
    }

    /// Returns the root endpoint that follows from the search alone.
    pub fn root(&self) -> RootEndpoint {
        match &self.wanted {
            Wanted::Search(search) if !search.service().is_empty() && !search.operation().is_empty() => {
                RootEndpoint::Endpoint(Endpoint::new(&search.service, &search.operation))
            }
            _ => RootEndpoint::TraceRoots,
        }
    }

    /// Takes its pairs out of those of a fragment; everything else stays.
    pub fn take(pairs: &mut Vec<(String, String)>) -> FetchSource {
        let files = pairs.extract_if(.., |(key, value)| key == "src" && !value.is_empty());
        let files = files.map(|(_, value)| value).collect();
        let every_s = take_first(pairs, "every").and_then(|every| {
            let seconds = every.strip_suffix('s').unwrap_or(&every).parse().ok()?;
            (1..=86_400).contains(&seconds).then_some(seconds)
        });
        let Some(api) = take_first(pairs, "api") else {
            return FetchSource { files, every_s, ..FetchSource::default() };
        };
        let mut source = FetchSource { files, every_s, ..FetchSource::jaeger(&api) };
        if let Some(service) = take_first(pairs, "service") {
            let mut search = TraceSearch { service, ..TraceSearch::default() };
            search.operation = take_first(pairs, "operation").unwrap_or_default();
            for key in TraceSearch::KEYS {
                if let Some(value) = take_first(pairs, key) {
                    search.set(key, value);
                }
                // One that were left would be the first of the address as it is written.
                pairs.retain(|(other, _)| other != key);
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
    pub fn put(&self, out: &mut Writer) {
        if let Some(api) = &self.api {
            out.put("api", api);
        }
        if let Wanted::Search(search) = &self.wanted {
            out.put("service", &search.service);
            if !search.operation.is_empty() {
                out.put("operation", &search.operation);
            }
            for key in TraceSearch::KEYS {
                if let Some(value) = search.get(key) {
                    out.put(key, &value);
                }
            }
        }
        for file in &self.files {
            out.put("src", file);
        }
        if let Some(every_s) = self.every_s.filter(|_| self.api.is_some() || !self.files.is_empty()) {
            out.put("every", &format!("{every_s}s"));
        }
    }

    /// Writes the ids of traces that are fetched by id, except the one that stands there as the one looked at.
    pub fn put_traces(&self, written: Option<&str>, out: &mut Writer) {
        let Wanted::Traces(ids) = &self.wanted else { return };
        let written = written.map(jaeger_id);
        for id in ids.iter().filter(|id| Some(*id) != written.as_ref()) {
            out.put("traceID", id);
        }
    }
}

/// Returns a name; empty if it is Jaeger UI's name for all of them.
fn named(name: &str) -> &str {
    if name.starts_with("__all_") { "" } else { name }
}

fn take_first(pairs: &mut Vec<(String, String)>, key: &str) -> Option<String> {
    let at = pairs.iter().position(|(found, _)| found == key)?;
    Some(pairs.remove(at).1)
}

/// Returns the value of `rootEndpoint=`: `["service","operation"]`, or `all`.
pub fn root_name(root: &RootEndpoint) -> String {
    match root {
        RootEndpoint::TraceRoots => "all".to_owned(),
        RootEndpoint::Endpoint(endpoint) => serde_json::to_string(endpoint).unwrap_or_default(),
    }
}

/// Undoes [`root_name`].
pub fn root_of_name(text: &str) -> Option<RootEndpoint> {
    if text == "all" {
        return Some(RootEndpoint::TraceRoots);
    }
    serde_json::from_str(text).ok().map(RootEndpoint::Endpoint)
}

/// Returns a trace or span id as Jaeger writes it: 16 lower-case hexadecimal digits, 32 where 16 do not suffice; what
/// is no hexadecimal number stays.
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
    use super::*;

    #[test]
    fn how_often_to_look_is_read_and_written() {
        let every =
            |fragment: &str| FetchSource::take(&mut pathlight_base::fragment::pairs(fragment)).every_s;
        assert_eq!(every("src=a.ndjson&every=30s"), Some(30));
        assert_eq!(every("api=/jaeger&service=s&every=5"), Some(5));
        for bad in ["src=a&every=0s", "src=a&every=5m", "src=a&every=", "src=a&every=99999999s"] {
            assert_eq!(every(bad), None, "{bad}");
        }
        let source = FetchSource { files: vec!["a".to_owned()], every_s: Some(30), ..FetchSource::default() };
        let mut out = Writer::new("v=1".to_owned());
        source.put(&mut out);
        assert_eq!(out.finish(), "v=1&src=a&every=30s");
    }

    #[test]
    fn ids_are_written_as_jaeger_writes_them() {
        assert_eq!(jaeger_id(&format!("{:0>32}", "AB")), format!("{:0>16}", "ab"));
        assert_eq!(jaeger_id("123456789abcdef01"), format!("{:0>32}", "123456789abcdef01"));
        assert_eq!(jaeger_id(" trace-1 "), "trace-1");
    }
}
