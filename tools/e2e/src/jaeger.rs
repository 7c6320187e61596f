//! A stand-in for a Jaeger query service, after Jaeger's documented HTTP API and the behaviour of its versions.
//!
//! It speaks `/api` (Jaeger 1 to 2.20) and `/api/v3`, newest traces first, up to the limit; answers what it does not know
//! with its page and status 200; answers an empty search of `/api/v3` with 404; sends errors as `text/plain`; allows other
//! origins only if told. It may be slow, closed, busy or broken. It can also serve files, as a host without a policy.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Map, Value, json};
use url::Url;

use crate::failure::Outcome;

/// How it behaves; may be changed while it runs.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// Knows `/api/traces`.
    pub v1: bool,
    /// Knows `/api/v3`.
    pub v3: bool,
    /// Pages of this origin may read it.
    pub cors: Option<String>,
    /// Without this bearer token it answers 401.
    pub token: Option<String>,
    /// Waits so long before every answer.
    pub delay: Duration,
    /// Answers to the next searches: a status and a `Retry-After`; 200 is the usual answer.
    pub next: VecDeque<(u16, Option<u32>)>,
    /// Files served beside, by path; a folder by its path with a slash at its end.
    pub files: BTreeMap<String, PathBuf>,
}

/// The running stand-in.
pub struct Jaeger {
    /// Its base address, without a slash at its end.
    pub url: String,
    shared: Arc<Shared>,
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
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let traces = document["data"].as_array().cloned().unwrap_or_default();
        let shared = Arc::new(Shared {
            traces,
            ways: Mutex::new(ways),
            log: Mutex::default(),
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
        });
        let serving = shared.clone();
        // It ends with the process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = serving.clone();
                std::thread::spawn(move || shared.serve(&stream));
            }
        });
        Ok(Jaeger { url, shared })
    }

    /// How it behaves, to be changed.
    pub fn ways(&self) -> MutexGuard<'_, Ways> {
        locked(&self.shared.ways)
    }

    /// Every address asked for so far.
    pub fn log(&self) -> Vec<String> {
        locked(&self.shared.log).clone()
    }

    /// Most requests under way at one time.
    pub fn most_open(&self) -> usize {
        self.shared.most_open.load(Ordering::SeqCst)
    }

    /// Its base address as a value in a fragment.
    pub fn encoded(&self) -> String {
        self.url.replace('/', "%2F")
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A response: status, content type, further headers, body.
struct Response(u16, &'static str, Vec<(&'static str, String)>, Vec<u8>);

impl Response {
    fn json(value: &Value) -> Response {
        Response(200, "application/json", Vec::new(), value.to_string().into_bytes())
    }

    /// As Go's `http.Error` sends it.
    fn error(status: u16, body: &Value) -> Response {
        Response(status, "text/plain; charset=utf-8", Vec::new(), format!("{body}\n").into_bytes())
    }

    /// An error in the form of a dialect.
    fn refusal(is_v3: bool, status: u16, words: &str) -> Response {
        Response::error(
            status,
            &if is_v3 {
                json!({ "error": { "httpCode": status, "message": words } })
            } else {
                json!({ "data": null, "total": 0, "limit": 0, "offset": 0, "errors": [{ "code": status, "msg": words }] })
            },
        )
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream) {
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let Some(line) = lines.next() else { return };
        let headers: BTreeMap<String, String> = lines
            .take_while(|line| !line.is_empty())
            .filter_map(|line| line.split_once(": ").map(|(n, v)| (n.to_ascii_lowercase(), v.to_owned())))
            .collect();
        let mut words = line.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let now_open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_open.fetch_max(now_open, Ordering::SeqCst);
        let Response(status, kind, more, body) = self.answer(method, target, &headers);
        self.open.fetch_sub(1, Ordering::SeqCst);
        let mut head = format!(
            "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n",
            body.len()
        );
        for (name, value) in more {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(origin) = &locked(&self.ways).cors {
            head.push_str(&format!("Access-Control-Allow-Origin: {origin}\r\n"));
        }
        let mut stream = stream;
        // A browser that has left is no concern of ours.
        let _ = stream.write_all(format!("{head}\r\n").as_bytes()).and_then(|()| stream.write_all(&body));
    }

    fn answer(&self, method: &str, target: &str, headers: &BTreeMap<String, String>) -> Response {
        let ways = locked(&self.ways).clone();
        let Ok(url) = Url::parse(&format!("http://jaeger{target}")) else {
            return Response(400, "text/plain", Vec::new(), Vec::new());
        };
        if let Some(file) = file_of(&ways.files, url.path()) {
            return file;
        }
        if method == "OPTIONS" {
            // Jaeger 2 answers the question before a request with a token; Jaeger 1 does not.
            let allowed = vec![("Access-Control-Allow-Headers", "Authorization".to_owned())];
            return Response(if ways.v3 { 204 } else { 405 }, "text/plain", allowed, Vec::new());
        }
        locked(&self.log).push(target.to_owned());
        std::thread::sleep(ways.delay);
        let expected = ways.token.as_ref().map(|token| format!("Bearer {token}"));
        if expected.is_some() && headers.get("authorization") != expected.as_ref() {
            return Response(401, "text/plain", Vec::new(), b"Unauthorized\n".to_vec());
        }
        let query: BTreeMap<String, String> = url.query_pairs().into_owned().collect();
        let get = |key: &str| query.get(key).map_or("", String::as_str);
        let is_v3 = url.path().starts_with("/api/v3/");
        let path = url.path().trim_start_matches("/api").trim_start_matches("/v3");
        let known = url.path().starts_with("/api/") && if is_v3 { ways.v3 } else { ways.v1 };
        match path.split('/').skip(1).collect::<Vec<_>>().as_slice() {
            ["services"] if known => {
                let names = Value::from_iter(self.services());
                Response::json(&if is_v3 { json!({ "services": names }) } else { list(names) })
            }
            ["operations"] if known => {
                let names = self.operations(get("service"));
                let kinds = names.iter().map(|name| json!({ "name": name, "spanKind": "server" }));
                Response::json(&if is_v3 {
                    json!({ "operations": kinds.collect::<Vec<_>>() })
                } else {
                    list(Value::from(names.clone()))
                })
            }
            ["traces"] if known => {
                match locked(&self.ways).next.pop_front() {
                    None | Some((200, _)) => {}
                    Some((status, wait)) => {
                        let mut refusal = Response::refusal(is_v3, status, "the storage is not well");
                        refusal.2.extend(wait.map(|seconds| ("Retry-After", seconds.to_string())));
                        return refusal;
                    }
                }
                if is_v3 { self.search_v3(&query) } else { self.search_v1(&query) }
            }
            ["traces", id] if known => {
                let wanted = id.trim_start_matches('0');
                let is_it = |trace: &&Value| text(&trace["traceID"]).trim_start_matches('0') == wanted;
                match self.traces.iter().find(is_it) {
                    None => Response::refusal(is_v3, 404, "trace not found"),
                    Some(trace) if is_v3 => Response::json(&result(&[trace])),
                    Some(trace) => Response::json(&list(json!([trace]))),
                }
            }
            // The page of Jaeger UI, whatever was asked for.
            _ => Response(200, "text/html", Vec::new(), b"<!doctype html><title>Jaeger UI</title>".to_vec()),
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
            return Response::refusal(false, 400, "parameter 'service' is required");
        }
        let Ok(tags) = tags(get("tags")) else {
            return Response::refusal(false, 400, "malformed 'tags' parameter");
        };
        let (from, to) = (get("start").parse().unwrap_or(0), get("end").parse().unwrap_or(u64::MAX));
        let limit = get("limit").parse().unwrap_or(100);
        let found = self.find(get("service"), get("operation"), (from, to), &tags, limit);
        Response::json(&list(json!(found)))
    }

    fn search_v3(&self, query: &BTreeMap<String, String>) -> Response {
        let get = |snake: &str, camel: &str| {
            query.get(camel).or_else(|| query.get(snake)).map_or("", String::as_str)
        };
        let range = (
            microseconds(get("query.start_time_min", "query.startTimeMin")),
            microseconds(get("query.start_time_max", "query.startTimeMax")),
        );
        let (Some(from), Some(to)) = range else {
            return Response::refusal(
                true,
                400,
                "query.start_time_min and query.start_time_max are required",
            );
        };
        let Ok(tags) = tags(get("query.attributes", "query.attributes")) else {
            return Response::refusal(true, 400, "malformed parameter query.attributes");
        };
        let service = get("query.service_name", "query.serviceName");
        let operation = get("query.operation_name", "query.operationName");
        let limit = get("query.search_depth", "query.searchDepth").parse().unwrap_or(100);
        let found = self.find(service, operation, (from, to), &tags, limit);
        if found.is_empty() {
            return Response::refusal(true, 404, "No traces found");
        }
        Response::json(&result(&found))
    }

    /// Traces with a span that fits, newest first.
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
            of == service
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

/// Every span of a trace with its service.
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

/// Traces as the third dialect sends them: OTLP, wrapped.
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

/// Microseconds since the epoch of `2024-05-01T12:34:56.789123Z`.
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

/// The file of an address, if one is served there.
fn file_of(files: &BTreeMap<String, PathBuf>, path: &str) -> Option<Response> {
    let file = files.iter().find_map(|(place, file)| {
        let rest = path.strip_prefix(place.as_str())?;
        match (place.ends_with('/'), rest) {
            (true, "") => Some(file.join("index.html")),
            (true, rest) if !rest.contains("..") => Some(file.join(rest)),
            (false, "") => Some(file.clone()),
            _ => None,
        }
    })?;
    let kind = match file.extension().and_then(|ending| ending.to_str()).unwrap_or_default() {
        "html" => "text/html",
        "js" => "text/javascript",
        "css" => "text/css",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    };
    match std::fs::read(&file) {
        Ok(bytes) => Some(Response(200, kind, Vec::new(), bytes)),
        Err(_) => Some(Response(404, "text/plain", Vec::new(), b"not found".to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_microsecond() {
        assert_eq!(microseconds("2022-08-22T23:59:59.123456Z"), Some(1_661_212_799_123_456));
        assert_eq!(microseconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(microseconds("2000-02-29T00:00:00.5Z"), Some(951_782_400_500_000));
        assert_eq!(microseconds("soon"), None);
    }
}
