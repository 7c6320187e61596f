//! A stand-in for a Jaeger query service, after Jaeger's documented HTTP API and the behaviour of its versions.
//!
//! It speaks `/api` (Jaeger 1 to 2.20) and `/api/v3`, newest traces first, up to the limit; answers what it does not know
//! with its page and status 200; answers an empty search of `/api/v3` with 404; sends errors as `text/plain`; allows other
//! origins only if told. It may be slow, closed, busy or broken, behind a login, or for one of several tenants. It can also serve files, as a host
//! without a policy.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_ORIGIN, AUTHORIZATION, CONTENT_SECURITY_POLICY,
    LOCATION, RETRY_AFTER,
};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Map, Value, json};
use tower_http::services::ServeFile;

use crate::failure::Outcome;
use crate::site::{Site, broken_off, reply};

/// In place of a status: the answer breaks off in the middle.
pub const CUT: u16 = 0;

/// How it behaves; may be changed while it runs.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// Knows `/api/traces`.
    pub v1: bool,
    /// Knows `/api/v3`.
    pub v3: bool,
    /// Of `/api`, it knows single traces and nothing else, as after Jaeger 2.20: the rest is not found.
    pub after_2_20: bool,
    /// It is no Jaeger but a Tempo, and knows nothing of all this.
    pub tempo: bool,
    /// The path it is served under (its `base_path`), without a slash at its end.
    pub base: String,
    /// Its page; empty: nothing but the element that Jaeger UI is put into.
    pub page: String,
    /// Nobody is logged in.
    pub login: Option<Login>,
    /// Pages of this origin may read it.
    pub cors: Option<String>,
    /// Without this bearer token it answers 401.
    pub token: Option<String>,
    /// It holds traces of several tenants, and answers requests with this header and name.
    pub tenant: Option<(String, String)>,
    /// Waits so long before every answer.
    pub delay: Duration,
    /// Answers to the next searches: a status and a `Retry-After`; 200 is the usual answer, [`CUT`] breaks off.
    pub next: VecDeque<(u16, Option<HeaderValue>)>,
    /// The `Content-Security-Policy` of everything below a path.
    pub policies: BTreeMap<String, String>,
    /// Files served beside, by path; a folder by its path with a slash at its end.
    pub files: BTreeMap<String, PathBuf>,
}

impl Ways {
    /// Returns the API and the page of a version (`1.76`, `2.20` or `HEAD`) under a path, with a configuration of
    /// Jaeger UI put in as Jaeger's server does it: JSON, or JavaScript that defines `UIConfig`.
    pub fn of(version: &str, base: &str, config: &str) -> Ways {
        let page = include_str!("../pages/jaeger-ui.html").replace("BASE", base).replace("WAYS", version);
        let page = if config.contains("function UIConfig()") {
            page.replace("// JAEGER_CONFIG_JS", config.trim())
        } else {
            page.replace("JAEGER_CONFIG = DEFAULT_CONFIG;", &format!("JAEGER_CONFIG = {};", config.trim()))
        };
        Ways {
            v1: true,
            v3: version != "1.76",
            after_2_20: version == "HEAD",
            base: base.to_owned(),
            page,
            ..Ways::default()
        }
    }
}

/// What a proxy answers in place of Jaeger while nobody is logged in.
#[derive(Clone, Debug)]
pub enum Login {
    /// The way to the login page at this address.
    Elsewhere(String),
    /// The login page itself, with status 200.
    Here,
}

/// The running stand-in.
pub struct Jaeger {
    /// Its base address, without a slash at its end.
    pub url: String,
    shared: Arc<Shared>,
    _site: Site,
}

struct Shared {
    traces: Vec<Value>,
    ways: Mutex<Ways>,
    log: Mutex<Vec<String>>,
    open: AtomicUsize,
    most_open: AtomicUsize,
}

impl Jaeger {
    /// Starts one that holds the traces of a document as `pathlight generate` writes it.
    pub fn start(document: &Value, ways: Ways) -> Outcome<Jaeger> {
        Jaeger::start_at(0, document, ways)
    }

    /// Starts one on a port; 0 is any that is free.
    pub fn start_at(port: u16, document: &Value, ways: Ways) -> Outcome<Jaeger> {
        let traces = document["data"].as_array().cloned().unwrap_or_default();
        let shared = Arc::new(Shared {
            traces,
            ways: Mutex::new(ways),
            log: Mutex::default(),
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
        });
        let site = Site::start_at(port, Router::new().fallback(serve).with_state(shared.clone()))?;
        Ok(Jaeger { url: site.url.trim_end_matches('/').to_owned(), shared, _site: site })
    }

    /// Returns how it behaves, to be changed.
    pub fn ways(&self) -> MutexGuard<'_, Ways> {
        locked(&self.shared.ways)
    }

    /// Returns every address asked for so far.
    pub fn log(&self) -> Vec<String> {
        locked(&self.shared.log).clone()
    }

    /// Returns the most requests that were under way at one time.
    pub fn most_open(&self) -> usize {
        self.shared.most_open.load(Ordering::SeqCst)
    }

    /// Returns the ids of its traces.
    pub fn ids(&self) -> Vec<String> {
        self.shared.traces.iter().map(|trace| text(&trace["traceID"]).to_owned()).collect()
    }

    /// Returns its base address as a value in a fragment.
    pub fn encoded(&self) -> String {
        self.url.replace('/', "%2F")
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn json_reply(value: &Value) -> Response {
    reply(200, "application/json", value.to_string())
}

/// Returns an error in the form of a dialect, sent as Go's `http.Error` sends it.
fn refusal(is_v3: bool, status: u16, words: &str) -> Response {
    let body = if is_v3 {
        json!({ "error": { "httpCode": status, "message": words } })
    } else {
        json!({ "data": null, "total": 0, "limit": 0, "offset": 0, "errors": [{ "code": status, "msg": words }] })
    };
    reply(status, "text/plain; charset=utf-8", format!("{body}\n"))
}

/// Counts a request as under way until it is answered or the browser has left.
struct Open(Arc<Shared>);

impl Open {
    fn new(shared: &Arc<Shared>) -> Open {
        let now_open = shared.open.fetch_add(1, Ordering::SeqCst) + 1;
        shared.most_open.fetch_max(now_open, Ordering::SeqCst);
        Open(shared.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Answers one request and names the origin that may read the answer.
async fn serve(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let _open = Open::new(&shared);
    let path = request.uri().path().to_owned();
    let mut response = shared.answer(request).await;
    let ways = locked(&shared.ways).clone();
    let policy = ways.policies.into_iter().find(|(place, _)| path.starts_with(place));
    let headers = [
        (ACCESS_CONTROL_ALLOW_ORIGIN, ways.cors),
        (CONTENT_SECURITY_POLICY, policy.map(|(_, policy)| policy)),
    ];
    for (name, value) in headers {
        let value = value.and_then(|value| HeaderValue::try_from(value).ok());
        response.headers_mut().extend(value.map(|value| (name, value)));
    }
    response
}

impl Shared {
    async fn answer(&self, request: Request) -> Response {
        let ways = locked(&self.ways).clone();
        let (method, uri) = (request.method().clone(), request.uri().clone());
        if let Some(file) = file_of(&ways.files, uri.path()) {
            return match ServeFile::new(file).try_call(request).await {
                Ok(response) => response.map(Body::new),
                Err(_) => reply(404, "text/plain", "not found"),
            };
        }
        if method == Method::OPTIONS {
            // Jaeger 2 answers the question before a request with a token; Jaeger 1 does not.
            let status = if ways.v3 { StatusCode::NO_CONTENT } else { StatusCode::METHOD_NOT_ALLOWED };
            return (status, [(ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, x-tenant")]).into_response();
        }
        locked(&self.log).push(uri.to_string());
        tokio::time::sleep(ways.delay).await;
        let expected = ways.token.as_ref().map(|token| format!("Bearer {token}"));
        if expected
            .is_some_and(|token| request.headers().get(AUTHORIZATION).is_none_or(|sent| *sent != token))
        {
            return reply(401, "text/plain", "Unauthorized\n");
        }
        if let Some((header, name)) = &ways.tenant {
            match request.headers().get(header) {
                None => return reply(401, "text/plain", "missing tenant header\n"),
                Some(sent) if *sent != **name => return reply(401, "text/plain", "unknown tenant\n"),
                Some(_) => {}
            }
        }
        let query = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        let query: BTreeMap<String, String> = query.into_owned().collect();
        let get = |key: &str| query.get(key).map_or("", String::as_str);
        let whole = uri.path().strip_prefix(ways.base.as_str()).unwrap_or_default();
        let is_api = whole.starts_with("/api/");
        let is_v3 = whole.starts_with("/api/v3/");
        let path = whole.trim_start_matches("/api").trim_start_matches("/v3");
        let known = is_api && if is_v3 { ways.v3 } else { ways.v1 };
        match (ways.login.as_ref().filter(|_| is_api), is_api && ways.after_2_20 && !is_v3) {
            (Some(Login::Elsewhere(page)), _) => {
                return (StatusCode::FOUND, [(LOCATION, page.as_str())]).into_response();
            }
            (Some(Login::Here), _) => {
                return reply(200, "text/html", "<!doctype html><title>Log in</title><form></form>");
            }
            (None, true) if !path.starts_with("/traces/") => {
                return reply(404, "text/plain; charset=utf-8", "404 page not found\n");
            }
            _ => {}
        }
        if ways.tempo {
            return self.answer_as_tempo(whole, &get);
        }
        match path.split('/').skip(1).collect::<Vec<_>>().as_slice() {
            ["services"] if known => {
                let names = Value::from_iter(self.services());
                json_reply(&if is_v3 { json!({ "services": names }) } else { list(names) })
            }
            ["operations"] if known => {
                let names = self.operations(get("service"));
                let kinds = names.iter().map(|name| json!({ "name": name, "spanKind": "server" }));
                json_reply(&if is_v3 {
                    json!({ "operations": kinds.collect::<Vec<_>>() })
                } else {
                    list(Value::from(names.clone()))
                })
            }
            ["traces"] if known => {
                let next = locked(&self.ways).next.pop_front();
                if let Some((CUT, _)) = next {
                    return broken_off(&list(json!(self.traces)).to_string());
                }
                if let Some((status, wait)) = next.filter(|(status, _)| *status != 200) {
                    let mut refusal = refusal(is_v3, status, "the storage is not well");
                    refusal.headers_mut().extend(wait.map(|wait| (RETRY_AFTER, wait)));
                    return refusal;
                }
                if is_v3 { self.search_v3(&query, result) } else { self.search_v1(&query) }
            }
            ["trace-summaries"] if known && is_v3 && ways.after_2_20 => self.search_v3(&query, summaries),
            ["traces", id] if known => {
                let wanted = id.trim_start_matches('0').to_ascii_lowercase();
                let is_it = |trace: &&Value| text(&trace["traceID"]).trim_start_matches('0') == wanted;
                match self.traces.iter().find(is_it) {
                    None => refusal(is_v3, 404, "trace not found"),
                    Some(trace) if is_v3 => json_reply(&result(&[trace])),
                    Some(trace) => json_reply(&list(json!([trace]))),
                }
            }
            // The page of Jaeger UI, whatever was asked for.
            _ if ways.page.is_empty() => reply(
                200,
                "text/html",
                "<!doctype html><title>Jaeger UI</title><div id=\"jaeger-ui-root\"></div>",
            ),
            _ => reply(200, "text/html", ways.page),
        }
    }

    /// Returns what Tempo answers, after its documented HTTP API: a search finds ids, with leading zeros left out; a
    /// trace is OTLP with ids in base64.
    fn answer_as_tempo<'a>(&self, path: &str, get: &dyn Fn(&str) -> &'a str) -> Response {
        // The value of a condition of the only query that is understood.
        let condition = |key: &str| {
            let rest = get("q").split_once(&format!("{key}=\"")).map_or("", |(_, rest)| rest);
            rest.split('"').next().unwrap_or_default()
        };
        let (service, operation) = (condition("{resource.service.name"), condition("&&name"));
        let values = |names: Value| {
            let names = names.as_array().into_iter().flatten();
            let values: Vec<Value> = names.map(|name| json!({ "type": "string", "value": name })).collect();
            json_reply(&json!({ "tagValues": values, "metrics": {} }))
        };
        match path.split('/').skip(1).collect::<Vec<_>>().as_slice() {
            ["api", "v2", "search", "tag", "resource.service.name", "values"] => {
                values(Value::from_iter(self.services()))
            }
            ["api", "v2", "search", "tag", "name", "values"] => values(Value::from(self.operations(service))),
            ["api", "search"] => {
                let (Ok(from), Ok(to)) = (get("start").parse::<u64>(), get("end").parse::<u64>()) else {
                    return reply(400, "text/plain", "invalid start or end");
                };
                let limit = get("limit").parse().unwrap_or(20);
                let range = (from * 1_000_000, to * 1_000_000);
                let found = self.find(service, operation, range, &Map::new(), limit);
                let traces: Vec<Value> = found
                    .iter()
                    .map(|trace| json!({ "traceID": text(&trace["traceID"]).trim_start_matches('0') }))
                    .collect();
                json_reply(&json!({ "traces": traces, "metrics": { "completedJobs": 1 } }))
            }
            ["api", "traces", id] => {
                let wanted = id.trim_start_matches('0');
                let is_it = |trace: &&Value| text(&trace["traceID"]).trim_start_matches('0') == wanted;
                let Some(trace) = self.traces.iter().find(is_it) else {
                    return reply(404, "text/plain", "trace not found");
                };
                let mut batches = result(&[trace])["result"]["resourceSpans"].take();
                for batch in batches.as_array_mut().into_iter().flatten() {
                    let span = &mut batch["scopeSpans"][0]["spans"][0];
                    for key in ["traceId", "spanId", "parentSpanId"] {
                        span[key] = json!(base64(text(&span[key])));
                    }
                }
                json_reply(&json!({ "batches": batches }))
            }
            _ => reply(404, "text/plain", "404 page not found\n"),
        }
    }

    fn services(&self) -> BTreeSet<&str> {
        self.traces.iter().flat_map(spans).map(|(service, _)| service).collect()
    }

    fn operations(&self, service: &str) -> Vec<String> {
        let spans = self.traces.iter().flat_map(spans).filter(|(of, _)| *of == service);
        let names: BTreeSet<String> =
            spans.map(|(_, span)| text(&span["operationName"]).to_owned()).collect();
        names.into_iter().collect()
    }

    fn search_v1(&self, query: &BTreeMap<String, String>) -> Response {
        let get = |key: &str| query.get(key).map_or("", String::as_str);
        if get("service").is_empty() {
            return refusal(false, 400, "parameter 'service' is required");
        }
        let Ok(tags) = tags(get("tags")) else {
            return refusal(false, 400, "malformed 'tags' parameter");
        };
        let (from, to) = (get("start").parse().unwrap_or(0), get("end").parse().unwrap_or(u64::MAX));
        let limit = get("limit").parse().unwrap_or(100);
        let found = self.find(get("service"), get("operation"), (from, to), &tags, limit);
        json_reply(&list(json!(found)))
    }

    fn search_v3(&self, query: &BTreeMap<String, String>, answer: fn(&[&Value]) -> Value) -> Response {
        let get = |snake: &str, camel: &str| {
            query.get(camel).or_else(|| query.get(snake)).map_or("", String::as_str)
        };
        let range = (
            microseconds(get("query.start_time_min", "query.startTimeMin")),
            microseconds(get("query.start_time_max", "query.startTimeMax")),
        );
        let (Some(from), Some(to)) = range else {
            return refusal(true, 400, "query.start_time_min and query.start_time_max are required");
        };
        let Ok(tags) = tags(get("query.attributes", "query.attributes")) else {
            return refusal(true, 400, "malformed parameter query.attributes");
        };
        let service = get("query.service_name", "query.serviceName");
        let operation = get("query.operation_name", "query.operationName");
        let limit = get("query.search_depth", "query.searchDepth").parse();
        let limit = limit.or_else(|_| get("query.num_traces", "query.numTraces").parse()).unwrap_or(100);
        let found = self.find(service, operation, (from, to), &tags, limit);
        if found.is_empty() {
            return refusal(true, 404, "No traces found");
        }
        json_reply(&answer(&found))
    }

    /// Returns the traces with a span that fits, newest first.
    fn find(
        &self,
        service: &str,
        operation: &str,
        (from, to): (u64, u64),
        tags: &Map<String, Value>,
        limit: usize,
    ) -> Vec<&Value> {
        let fits = |(of, span): (&str, &Value)| {
            let start = span["startTime"].as_u64().unwrap_or_default();
            let has = |(key, value): (&String, &Value)| {
                let known = span["tags"].as_array().into_iter().flatten().find(|tag| tag["key"] == **key);
                known.is_some_and(|tag| {
                    tag["value"].as_str().map_or_else(|| tag["value"].to_string(), str::to_owned)
                        == text(value)
                })
            };
            (service.is_empty() || of == service)
                && (operation.is_empty() || span["operationName"] == operation)
                && (from..=to).contains(&start)
                && tags.iter().all(has)
        };
        let mut found: Vec<&Value> = self.traces.iter().filter(|trace| spans(trace).any(fits)).collect();
        let start = |trace: &Value| spans(trace).filter_map(|(_, span)| span["startTime"].as_u64()).min();
        found.sort_by_key(|trace| std::cmp::Reverse(start(trace)));
        found.truncate(limit);
        found
    }
}

/// Returns every span of a trace with its service.
pub fn spans(trace: &Value) -> impl Iterator<Item = (&str, &Value)> {
    trace["spans"].as_array().into_iter().flatten().map(|span| {
        let process = text(&span["processID"]);
        (text(&trace["processes"][process]["serviceName"]), span)
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(data: Value) -> Value {
    let total = data.as_array().map_or(0, Vec::len);
    json!({ "data": data, "total": total, "limit": 0, "offset": 0, "errors": null })
}

fn tags(text: &str) -> Result<Map<String, Value>, serde_json::Error> {
    if text.is_empty() { Ok(Map::new()) } else { serde_json::from_str(text) }
}

/// Returns the traces as the third dialect sends them: OTLP, wrapped.
fn result(traces: &[&Value]) -> Value {
    let mut resources = Vec::new();
    for trace in traces {
        for (service, span) in spans(trace) {
            let us = |key: &str| span[key].as_u64().unwrap_or_default();
            let parent = span["references"][0]["spanID"].as_str().unwrap_or_default();
            let attributes = span["tags"].as_array().into_iter().flatten();
            let attributes = attributes.map(|tag| {
                let value = tag["value"].as_str().map_or_else(|| tag["value"].to_string(), str::to_owned);
                json!({ "key": tag["key"], "value": { "stringValue": value } })
            });
            resources.push(json!({
                "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": service } }] },
                "scopeSpans": [{ "scope": {}, "spans": [{
                    "traceId": format!("{:0>32}", text(&span["traceID"])),
                    "spanId": span["spanID"],
                    "parentSpanId": parent,
                    "name": span["operationName"],
                    "kind": 2,
                    "startTimeUnixNano": format!("{}000", us("startTime")),
                    "endTimeUnixNano": format!("{}000", us("startTime") + us("duration")),
                    "attributes": attributes.collect::<Vec<_>>(),
                }] }],
            }));
        }
    }
    json!({ "result": { "resourceSpans": resources } })
}

/// Returns the bytes of a hexadecimal number in base64.
fn base64(hex: &str) -> String {
    let bytes: Vec<u8> = (0..hex.len() / 2)
        .filter_map(|at| u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok())
        .collect();
    BASE64_STANDARD.encode(bytes)
}

/// Returns what the newest search page lists of traces.
fn summaries(traces: &[&Value]) -> Value {
    json!({ "summaries": traces.iter().map(|trace| json!({ "traceID": trace["traceID"] })).collect::<Vec<_>>() })
}

/// Returns the microseconds since the epoch of `2024-05-01T12:34:56.789123Z`.
fn microseconds(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    // Years begin in March, so that leap days come last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    let seconds = days * 86_400 + number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    let part: String =
        text.get(19..)?.trim_matches(['.', 'Z']).chars().chain("000000".chars()).take(6).collect();
    Some(seconds * 1_000_000 + part.parse::<u64>().ok()?)
}

/// Returns the file of an address, if one is served there.
fn file_of(files: &BTreeMap<String, PathBuf>, path: &str) -> Option<PathBuf> {
    files.iter().find_map(|(place, file)| {
        let rest = path.strip_prefix(place.as_str())?;
        match (place.ends_with('/'), rest) {
            (true, "") => Some(file.join("index.html")),
            (true, rest) if !rest.contains("..") => Some(file.join(rest)),
            (false, "") => Some(file.clone()),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_in_base64() {
        assert_eq!(base64("00000000000000ab"), "AAAAAAAAAKs=");
        assert_eq!(base64("0102"), "AQI=");
        assert_eq!(base64(""), "");
    }

    #[test]
    fn times_are_read_to_the_microsecond() {
        assert_eq!(microseconds("2022-08-22T23:59:59.123456Z"), Some(1_661_212_799_123_456));
        assert_eq!(microseconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(microseconds("2000-02-29T00:00:00.5Z"), Some(951_782_400_500_000));
        assert_eq!(microseconds("soon"), None);
    }
}
