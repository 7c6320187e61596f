//! The addresses of a Jaeger query service, and of Tempo.

use crate::fields::traceql;
use crate::source::{TraceSearch, jaeger_id};
use pathlight_base::format as words;
use pathlight_base::fragment::encode;
use std::collections::VecDeque;

/// Dialect of the API of a query service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// `/api/traces?service=`: Jaeger 1 to 2.20.
    #[default]
    V1,
    /// `/api/v3/traces?query.service_name=`.
    V3,
    /// `/api/v3/traces?query.serviceName=`.
    V3Camel,
    /// Tempo: `/api/search?q=`, which finds ids only; the traces are asked for one by one.
    Tempo,
}

impl Dialect {
    /// All of them, in the order they are tried. The first goes first: its tags and limits work in every version that
    /// knows it, which those of early `/api/v3` do not.
    const ALL: [Dialect; 4] = [Dialect::V1, Dialect::V3, Dialect::V3Camel, Dialect::Tempo];

    /// Returns all dialects, the one that was understood before first.
    pub(super) fn in_order(known: Option<Dialect>) -> VecDeque<Dialect> {
        let others = Dialect::ALL.into_iter().filter(|dialect| Some(*dialect) != known);
        known.into_iter().chain(others).collect()
    }

    /// Returns a word for it, to be stored.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::V1 => "v1",
            Dialect::V3 => "v3",
            Dialect::V3Camel => "v3-camel",
            Dialect::Tempo => "tempo",
        }
    }

    /// Undoes [`Dialect::name`].
    pub fn of_name(name: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Returns the root of its addresses.
    fn root(self) -> &'static str {
        match self {
            Dialect::V1 | Dialect::Tempo => "/api",
            Dialect::V3 | Dialect::V3Camel => "/api/v3",
        }
    }

    /// Returns the narrowest slice of a time range that can be asked for, in microseconds.
    pub(super) fn narrowest_us(self) -> u64 {
        if self == Dialect::Tempo { 1_000_000 } else { 1000 }
    }
}

/// Returns the address of the names of all services.
pub(super) fn services(base: &str, dialect: Dialect) -> String {
    if dialect == Dialect::Tempo {
        return format!("{base}/api/v2/search/tag/resource.service.name/values");
    }
    format!("{base}{}/services", dialect.root())
}

/// Returns the address of the names of the operations of a service.
pub(super) fn operations(base: &str, dialect: Dialect, service: &str) -> String {
    if dialect == Dialect::Tempo {
        let search = TraceSearch { service: service.to_owned(), ..TraceSearch::default() };
        return query(format!("{base}/api/v2/search/tag/name/values"), &[("q", &traceql(&search))]);
    }
    query(format!("{base}{}/operations", dialect.root()), &[("service", service)])
}

/// Returns the address of one trace.
pub(super) fn trace(base: &str, dialect: Dialect, id: &str) -> String {
    let mut name = String::new();
    encode(id, &mut name);
    // No id leads to another address.
    format!("{base}{}/traces/{}", dialect.root(), name.replace('/', "%2F"))
}

/// Returns the address of the traces that start from `start_us` to `end_us`, both included, in microseconds since
/// the epoch; at most `limit`.
pub(super) fn search(
    base: &str,
    dialect: Dialect,
    search: &TraceSearch,
    (start_us, end_us): (u64, u64),
    limit: u32,
) -> String {
    let limit = limit.to_string();
    if dialect == Dialect::Tempo {
        // In whole seconds, so that the slices overlap rather than leave gaps.
        let (from, to) = (start_us / 1_000_000, end_us / 1_000_000 + 1);
        let pairs = [
            ("q", traceql(search)),
            ("start", from.to_string()),
            ("end", to.to_string()),
            ("limit", limit),
            // Of the spans that match, one says enough.
            ("spss", "1".to_owned()),
        ];
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(key, value)| (*key, value.as_str())).collect();
        return query(format!("{base}/api/search"), &pairs);
    }
    let (from, to) = match dialect {
        Dialect::V1 => (start_us.to_string(), end_us.to_string()),
        _ => (rfc3339(start_us), rfc3339(end_us)),
    };
    let keys: [&str; 8] = match dialect {
        Dialect::V1 => {
            ["service", "operation", "start", "end", "limit", "minDuration", "maxDuration", "tags"]
        }
        Dialect::V3 => [
            "query.service_name",
            "query.operation_name",
            "query.start_time_min",
            "query.start_time_max",
            "query.search_depth",
            "query.duration_min",
            "query.duration_max",
            "query.attributes",
        ],
        _ => [
            "query.serviceName",
            "query.operationName",
            "query.startTimeMin",
            "query.startTimeMax",
            "query.searchDepth",
            "query.durationMin",
            "query.durationMax",
            "query.attributes",
        ],
    };
    let values = [
        search.service(),
        search.operation(),
        &from,
        &to,
        &limit,
        &search.min_duration,
        &search.max_duration,
        &search.tags,
    ];
    let mut pairs: Vec<(&str, &str)> =
        keys.into_iter().zip(values).filter(|(_, value)| !value.is_empty()).collect();
    if dialect == Dialect::V3 {
        // What the first versions called it; they pass over the other name.
        pairs.push(("query.num_traces", &limit));
    }
    query(format!("{base}{}/traces", dialect.root()), &pairs)
}

/// Returns the page of Jaeger UI that shows a trace, with a span of it found.
pub fn trace_link(base: &str, trace_id: &str, span_id: Option<&str>) -> String {
    let mut url = format!("{base}/trace/");
    encode(&jaeger_id(trace_id), &mut url);
    match span_id.filter(|id| !id.is_empty()) {
        Some(span_id) => query(url, &[("uiFind", &jaeger_id(span_id))]),
        None => url,
    }
}

/// Returns the page of Jaeger UI that compares two traces.
pub fn traces_link(base: &str, a: &str, b: &str) -> String {
    let mut url = format!("{base}/trace/");
    encode(&jaeger_id(a), &mut url);
    url.push_str("...");
    encode(&jaeger_id(b), &mut url);
    url
}

fn query(mut url: String, pairs: &[(&str, &str)]) -> String {
    for (at, (key, value)) in pairs.iter().enumerate() {
        url.push(if at == 0 { '?' } else { '&' });
        url.push_str(key);
        url.push('=');
        encode(value, &mut url);
    }
    url
}

/// Writes a time as `2024-05-01T12:34:56.789123Z`.
fn rfc3339(us: u64) -> String {
    format!("{}{:03}Z", words::moment(us).replace(' ', "T"), us % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dialect_has_its_words_for_a_search() {
        let wanted = TraceSearch {
            service: "my shop".to_owned(),
            operation: "GET /x?y=1&z".to_owned(),
            min_duration: "1.2s".to_owned(),
            tags: r#"{"a":"b"}"#.to_owned(),
            ..TraceSearch::default()
        };
        let range = (1_661_212_799_123_456, 1_661_212_800_000_000);
        assert_eq!(
            search("/jaeger", Dialect::V1, &wanted, range, 20),
            "/jaeger/api/traces?service=my%20shop&operation=GET%20/x%3Fy%3D1%26z&start=1661212799123456\
             &end=1661212800000000&limit=20&minDuration=1.2s&tags=%7B%22a%22:%22b%22%7D"
        );
        assert_eq!(
            search("", Dialect::V3, &wanted, range, 20),
            "/api/v3/traces?query.service_name=my%20shop&query.operation_name=GET%20/x%3Fy%3D1%26z\
             &query.start_time_min=2022-08-22T23:59:59.123456Z&query.start_time_max=2022-08-23T00:00:00.000000Z\
             &query.search_depth=20&query.duration_min=1.2s&query.attributes=%7B%22a%22:%22b%22%7D\
             &query.num_traces=20"
        );
        // Jaeger UI's names for "all of them" are no names.
        let all = TraceSearch {
            service: "__all_services__".to_owned(),
            operation: "__all_operations__".to_owned(),
            ..TraceSearch::default()
        };
        assert_eq!(
            search("", Dialect::V3, &all, range, 20).split('&').next(),
            Some("/api/v3/traces?query.start_time_min=2022-08-22T23:59:59.123456Z")
        );
        let tempo = TraceSearch { max_duration: "2m".to_owned(), ..wanted.clone() };
        assert_eq!(
            search("/t", Dialect::Tempo, &tempo, range, 20),
            "/t/api/search?q=%7Bresource.service.name%3D%22my%20shop%22%26%26name%3D%22GET%20/x%3Fy%3D1%26z%22\
             %26%26duration%3E%3D1200000000ns%26%26duration%3C%3D120000000000ns%26%26.a%3D%22b%22%7D\
             &start=1661212799&end=1661212801&limit=20&spss=1"
        );
        let camel = search("", Dialect::V3Camel, &wanted, range, 20);
        assert!(
            camel.starts_with("/api/v3/traces?query.serviceName=my%20shop&query.operationName="),
            "{camel}"
        );
        assert!(camel.contains("&query.searchDepth=20&") && !camel.contains('_'), "{camel}");
    }

    #[test]
    fn a_dialect_is_known_by_its_name() {
        for dialect in Dialect::ALL {
            assert_eq!(Dialect::of_name(dialect.name()), Some(dialect));
        }
        assert_eq!(Dialect::of_name(""), None);
    }

    #[test]
    fn lists_and_traces_have_addresses_of_their_own() {
        assert_eq!(services("/j", Dialect::V1), "/j/api/services");
        assert_eq!(operations("/j", Dialect::V3, "a b"), "/j/api/v3/operations?service=a%20b");
        assert_eq!(trace("/j", Dialect::V1, "00ab"), "/j/api/traces/00ab");
        assert_eq!(services("/t", Dialect::Tempo), "/t/api/v2/search/tag/resource.service.name/values");
        assert_eq!(
            operations("/t", Dialect::Tempo, "a b"),
            "/t/api/v2/search/tag/name/values?q=%7Bresource.service.name%3D%22a%20b%22%7D"
        );
        assert_eq!(trace("/t", Dialect::Tempo, "ab"), "/t/api/traces/ab");
    }

    #[test]
    fn links_lead_to_a_trace_a_span_and_a_comparison() {
        let trace = format!("{:0>32}", "ab");
        assert_eq!(trace_link("/j", &trace, None), "/j/trace/00000000000000ab");
        assert_eq!(trace_link("/j", &trace, Some("0c")), "/j/trace/00000000000000ab?uiFind=000000000000000c");
        assert_eq!(traces_link("/j", "a", "b"), "/j/trace/000000000000000a...000000000000000b");
    }
}
