//! `fetch` against a small server that answers as Jaeger's first dialect does.
#![cfg(unix)]

use super::super::common::Scratch;
use flate2::read::MultiGzDecoder;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

const MINUTE_US: u64 = 60_000_000;

/// Traces one a minute, back from now, of the services shop and stock in turn; every tenth is of both.
#[derive(Clone)]
struct Jaeger {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
    /// Whatever is older than an hour is refused.
    is_old_refused: Arc<AtomicBool>,
    /// The newest trace links to one that no search finds, and that to two: one of them, and one that is not there.
    has_links: Arc<AtomicBool>,
    /// Who does not ask as the tenant `acme` is refused.
    is_of_tenants: Arc<AtomicBool>,
}

/// The first linked trace, one that it links to, and one that is not there.
const LINKED: [u64; 3] = [0x777, 0x778, 0x999];

fn trace(id: u64, start: u64, services: &[&str]) -> String {
    linked_trace(id, start, services, &[])
}

/// Returns a trace whose spans link to the first spans of others.
fn linked_trace(id: u64, start: u64, services: &[&str], linked: &[u64]) -> String {
    let link = |to: &u64| format!(r#"{{"refType":"FOLLOWS_FROM","traceID":"{to:032x}","spanID":"1"}}"#);
    let links: Vec<String> = linked.iter().map(link).collect();
    let links = links.join(",");
    let span = |number: usize| {
        format!(
            r#"{{"traceID":"{id:032x}","spanID":"{:x}","operationName":"o","references":[{links}],"startTime":{start},"duration":1000,"tags":[],"logs":[],"processID":"p{number}"}}"#,
            number + 1
        )
    };
    let spans: Vec<String> = (0..services.len()).map(span).collect();
    let processes = services
        .iter()
        .enumerate()
        .map(|(i, name)| format!(r#""p{i}":{{"serviceName":"{name}","tags":[]}}"#));
    let processes: Vec<String> = processes.collect();
    format!(
        r#"{{"traceID":"{id:032x}","spans":[{}],"processes":{{{}}}}}"#,
        spans.join(",\n"),
        processes.join(",")
    )
}

impl Jaeger {
    fn start(minutes: u64) -> Jaeger {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/jaeger", listener.local_addr().unwrap());
        let (asked, is_old_refused, has_links) = (Arc::default(), Arc::default(), Arc::default());
        let jaeger = Jaeger { url, asked, is_old_refused, has_links, is_of_tenants: Arc::default() };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
        let server = jaeger.clone();
        // It ends with the process of the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                // A program that ends may leave a connection without a request.
                let Some(Ok(first)) = lines.next() else { continue };
                let mut has_token = false;
                let mut is_refused = server.is_of_tenants.load(Ordering::SeqCst);
                for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
                    has_token |= line.eq_ignore_ascii_case("authorization: bearer secret");
                    is_refused &= !line.eq_ignore_ascii_case("x-tenant: acme");
                }
                let path = first.split(' ').nth(1).unwrap().to_owned();
                let (status, body) = match (is_refused, has_token) {
                    (true, _) => (401, "missing tenant header\n".to_owned()),
                    (false, true) => server.answer(&path, now, minutes),
                    (false, false) => (401, "{}".to_owned()),
                };
                server.asked.lock().unwrap().push(path);
                let head = format!(
                    "HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all((head + &body).as_bytes());
            }
        });
        jaeger
    }

    fn answer(&self, path: &str, now: u64, minutes: u64) -> (u16, String) {
        let (place, query) = path.split_once('?').unwrap_or((path, ""));
        let query: BTreeMap<&str, &str> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        let number = |key: &str| query[key].parse::<u64>().unwrap();
        match place {
            "/jaeger/api/services" => (200, r#"{"data":["shop","stock"],"errors":null}"#.to_owned()),
            "/jaeger/api/traces" => {
                if self.is_old_refused.load(Ordering::SeqCst) && number("end") < now - 70 * MINUTE_US {
                    return (403, r#"{"errors":[{"code":403,"msg":"too old"}]}"#.to_owned());
                }
                let found = (0..minutes).filter_map(|minute| {
                    let start = now - minute * MINUTE_US;
                    let services: &[&str] = match minute {
                        _ if minute % 10 == 0 => &["shop", "stock"],
                        _ if minute % 2 == 0 => &["shop"],
                        _ => &["stock"],
                    };
                    let fits = services.contains(&query["service"])
                        && (number("start")..=number("end")).contains(&start);
                    let is_linked = minute == 0 && self.has_links.load(Ordering::SeqCst);
                    let linked = if is_linked { &LINKED[..1] } else { &[] };
                    fits.then(|| linked_trace(minute + 1, start, services, linked))
                });
                let found: Vec<String> = found.take(number("limit") as usize).collect();
                (200, format!(r#"{{"data":[{}],"errors":null}}"#, found.join(",")))
            }
            place if place.ends_with("777") => {
                let found = linked_trace(LINKED[0], now, &["mail"], &LINKED[1..]);
                (200, format!(r#"{{"data":[{found}],"errors":null}}"#))
            }
            place if place.ends_with("778") => {
                (200, format!(r#"{{"data":[{}],"errors":null}}"#, trace(LINKED[1], now, &["mail"])))
            }
            place if place.ends_with("999") => {
                (404, r#"{"data":null,"errors":[{"code":404,"msg":"trace not found"}]}"#.to_owned())
            }
            // Tempo, of which every search finds the same trace.
            "/jaeger/api/search" => (200, r#"{"traces":[{"traceID":"ab"}]}"#.to_owned()),
            place if place.ends_with("ab") => (
                200,
                r#"{"batches":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},"scopeSpans":[{"spans":[{"traceId":"AAAAAAAAAAAAAAAAAAAAqw==","spanId":"AAAAAAAAAAE=","name":"o","startTimeUnixNano":"1000","endTimeUnixNano":"2000"}]}]}]}"#.to_owned(),
            ),
            _ => (404, "404 page not found".to_owned()),
        }
    }

    fn searches(&self) -> usize {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.iter().filter(|path| path.contains("/api/traces")).count()
    }
}

fn fetch(folder: &Path, jaeger: &Jaeger, args: &[&str], token: &str) -> (Output, i32) {
    fetch_from(folder, ["--jaeger", &jaeger.url], args, token)
}

pub fn fetch_from(folder: &Path, from: [&str; 2], args: &[&str], token: &str) -> (Output, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathlight"));
    command.current_dir(folder).arg("fetch").args(from).args(args).env("PATHLIGHT_TOKEN", token);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let status = output.status.code().unwrap();
    (output, status)
}

pub fn lines(path: &Path) -> Vec<String> {
    let mut text = String::new();
    MultiGzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn all_services_are_fetched_and_each_trace_stands_once() {
    let folder = Scratch::new("fetch");
    let jaeger = Jaeger::start(150);
    let args = ["--all", "--since", "2h", "-o", "a.ndjson.gz"];
    let (output, status) = fetch(folder.path(), &jaeger, &args, "secret");
    assert_eq!(status, 0, "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains(" traces"));
    let searches = jaeger.searches();
    assert!(searches <= 2 * 2 * 6, "{searches} searches for two hours of two services that are nearly idle");
    let found = lines(&folder.path().join("a.ndjson.gz"));
    // One a minute over two hours; what is on the edge may have left the range.
    assert!((119..=121).contains(&found.len()), "{}", found.len());
    let mut ids: Vec<String> = found
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["traceID"].to_string())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), found.len());
    assert!(
        !folder.path().join("a.ndjson.gz.part").exists()
            && !folder.path().join("a.ndjson.gz.resume").exists()
    );
    // Any command reads it, and standard output has the same lines.
    let mut inspect = Command::new(env!("CARGO_BIN_EXE_pathlight"));
    let inspected =
        inspect.args(["inspect", "--json", "a.ndjson.gz"]).current_dir(folder.path()).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&inspected.stdout).unwrap();
    assert_eq!(report["traces"], found.len());
    let (output, _) = fetch(
        folder.path(),
        &jaeger,
        &["--service", "shop", "--since", "30m", "--limit", "5", "-o", "-"],
        "secret",
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 5, "{text}");
}

#[test]
fn an_interrupted_fetch_goes_on_where_it_was() {
    let folder = Scratch::new("resume");
    let jaeger = Jaeger::start(200);
    jaeger.is_old_refused.store(true, Ordering::SeqCst);
    let args = ["--service", "shop", "--since", "3h", "-o", "a.gz"];
    let (output, status) = fetch(folder.path(), &jaeger, &args, "secret");
    assert_eq!(status, 2, "{output:?}");
    assert!(!folder.path().join("a.gz").exists());
    jaeger.searches();
    // Half of something that was being written.
    let mut part = fs::OpenOptions::new().append(true).open(folder.path().join("a.gz.part")).unwrap();
    part.write_all(b"\x1f\x8b\x08half").unwrap();
    jaeger.is_old_refused.store(false, Ordering::SeqCst);
    let (output, status) = fetch(folder.path(), &jaeger, &args, "secret");
    assert_eq!(status, 0, "{output:?}");
    let resumed = jaeger.searches();
    let found = lines(&folder.path().join("a.gz"));
    assert!((89..=91).contains(&found.len()), "every second minute of three hours: {}", found.len());
    let (_, status) =
        fetch(folder.path(), &jaeger, &["--service", "shop", "--since", "3h", "-o", "b.gz"], "secret");
    assert_eq!(status, 0);
    assert!(resumed < jaeger.searches(), "what was there is not asked for again");
}

#[test]
fn what_goes_wrong_is_said() {
    let folder = Scratch::new("refused-fetch");
    let jaeger = Jaeger::start(10);
    let args = ["--service", "shop", "-o", "a.gz"];
    let (output, status) = fetch(folder.path(), &jaeger, &args, "wrong");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(status == 2 && said.contains("PATHLIGHT_TOKEN") && !said.contains("wrong\""), "{said}");
    let (output, status) = fetch(folder.path(), &jaeger, &["--service", "nobody", "-o", "a.gz"], "secret");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(status == 1 && said.contains("nothing was found at") && !said.contains("inspect"), "{said}");
    let (_, status) = fetch(folder.path(), &jaeger, &["-o", "a.gz"], "secret");
    assert_eq!(status, 2, "neither a service nor all");
}

#[test]
fn a_trace_of_tempo_that_several_searches_find_stands_once() {
    let folder = Scratch::new("tempo-fetch");
    let tempo = Jaeger::start(10);
    for services in [&[][..], &["--service", "a", "--service", "b"]] {
        let args: Vec<&str> = services.iter().chain(&["--since", "3h", "-o", "a.gz"]).copied().collect();
        let (output, status) = fetch_from(folder.path(), ["--tempo", &tempo.url], &args, "secret");
        assert_eq!(status, 0, "{output:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "pathlight: 1 trace\n");
        assert_eq!(lines(&folder.path().join("a.gz")).len(), 1);
    }
}

#[test]
fn a_password_in_the_address_is_neither_written_nor_shown() {
    let folder = Scratch::new("login-fetch");
    let jaeger = Jaeger::start(200);
    jaeger.is_old_refused.store(true, Ordering::SeqCst);
    let url = jaeger.url.replace("http://", "http://me:hidden@");
    let args = ["--service", "shop", "--since", "3h", "-o", "a.gz"];
    let (output, status) = fetch_from(folder.path(), ["--jaeger", &url], &args, "secret");
    let said = String::from_utf8(output.stderr).unwrap();
    let notes = fs::read_to_string(folder.path().join("a.gz.resume")).unwrap();
    assert!(status == 2 && !said.contains("hidden") && !notes.contains("hidden"), "{said} {notes}");
}

#[test]
fn a_tenant_is_named_by_a_header_and_written_down_nowhere() {
    let folder = Scratch::new("tenant-fetch");
    let jaeger = Jaeger::start(200);
    jaeger.is_of_tenants.store(true, Ordering::SeqCst);
    let args = ["--service", "shop", "--since", "3h", "-o", "a.gz"];
    let (output, status) = fetch(folder.path(), &jaeger, &args, "secret");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(status == 2 && said.contains("missing tenant header") && said.contains("--tenant"), "{said}");
    // Interrupted as one tenant, it is not gone on with as another.
    jaeger.is_old_refused.store(true, Ordering::SeqCst);
    let with = |tenant: &str| {
        let args = [&args[..], &["--tenant", tenant]].concat();
        fetch(folder.path(), &jaeger, &args, "secret")
    };
    let (output, status) = with("X-Tenant: acme");
    assert_eq!(status, 2, "{output:?}");
    let notes = fs::read_to_string(folder.path().join("a.gz.resume")).unwrap();
    assert!(notes.lines().count() > 1 && !notes.contains("acme"), "{notes}");
    jaeger.is_of_tenants.store(false, Ordering::SeqCst);
    let (output, _) = with("x-tenant: other");
    assert!(!String::from_utf8(output.stderr).unwrap().contains("going on"));
    let (output, status) = with("Cookie: acme");
    assert_eq!(status, 2, "{output:?}");
}

#[test]
fn a_file_of_others_stays() {
    let folder = Scratch::new("foreign-part");
    let jaeger = Jaeger::start(10);
    fs::write(folder.path().join("a.gz.part"), "mine").unwrap();
    let args = ["--service", "shop", "-o", "a.gz"];
    let (output, status) = fetch(folder.path(), &jaeger, &args, "secret");
    assert_eq!(status, 2, "{output:?}");
    assert_eq!(fs::read_to_string(folder.path().join("a.gz.part")).unwrap(), "mine");
}

#[test]
fn another_server_is_asked_only_if_it_was_named() {
    let folder = Scratch::new("fetch-elsewhere");
    let other = Jaeger::start(3);
    let leading = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/jaeger", leading.local_addr().unwrap());
    let to = other.url.clone();
    std::thread::spawn(move || {
        for stream in leading.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let Some(Ok(first)) = lines.next() else { continue };
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let path = first.split(' ').nth(1).unwrap().trim_start_matches("/jaeger");
            let head = format!(
                "HTTP/1.1 302 Away\r\nLocation: {to}{path}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            );
            let _ = stream.write_all(head.as_bytes());
        }
    });
    let fetch = |more: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_pathlight"))
            .args(["fetch", "--all", "--jaeger", &url, "-o"])
            .arg(folder.path().join("all.json.gz"))
            .args(more)
            .env("PATHLIGHT_TOKEN", "secret")
            .output()
            .unwrap()
    };
    let place = other.url.trim_end_matches("/jaeger").to_owned();
    let host = place.trim_start_matches("http://").to_owned();
    let refused = fetch(&[]);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{words}");
    assert!(words.contains("leads to another server") && words.contains(&place), "{words}");
    assert!(words.contains(&format!("--follow {host}")), "{words}");
    assert!(other.asked.lock().unwrap().is_empty());
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing of a fetch that has not begun is left"
    );
    // It is asked then, but the token is not for it.
    let named = fetch(&["--follow", &host]);
    let words = String::from_utf8_lossy(&named.stderr).into_owned();
    assert!(words.contains("401"), "{words}");
    assert!(!other.asked.lock().unwrap().is_empty());
}

#[test]
fn linked_traces_are_fetched_by_id() {
    let folder = Scratch::new("linked");
    let jaeger = Jaeger::start(30);
    jaeger.has_links.store(true, Ordering::SeqCst);
    let run = |more: &[&str], name: &str| {
        let args = [&["--service", "shop", "--since", "20m", "-o", name], more].concat();
        let (output, status) = fetch(folder.path(), &jaeger, &args, "secret");
        assert_eq!(status, 0, "{output:?}");
        let ids: Vec<u64> = lines(&folder.path().join(name))
            .iter()
            .map(|line| {
                let trace: serde_json::Value = serde_json::from_str(line).unwrap();
                u64::from_str_radix(trace["traceID"].as_str().unwrap(), 16).unwrap()
            })
            .collect();
        let linked: Vec<u64> = ids.iter().copied().filter(|id| LINKED.contains(id)).collect();
        (ids.len(), linked, String::from_utf8(output.stderr).unwrap())
    };
    let (without, linked, said) = run(&[], "a.gz");
    assert!(linked.is_empty());
    let left = "spans link to 1 trace that is not among them; --linked fetches them too";
    assert!(said.contains(left), "{said}");
    let (with, linked, said) = run(&["--linked"], "b.gz");
    assert_eq!((with, linked.as_slice()), (without + 2, &LINKED[..2]));
    assert!(said.contains("1 trace that spans link to is not there"), "{said}");
    assert!(!said.contains("not among them"), "{said}");
    let (_, linked, said) = run(&["--linked=1"], "c.gz");
    assert_eq!(linked, LINKED[..1]);
    let left = "spans link to 2 traces that are not among them; --linked=N fetches more";
    assert!(said.contains(left), "{said}");
}
