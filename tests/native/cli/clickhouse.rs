//! `fetch --clickhouse` against a stand-in that answers with rows recorded from ClickHouse 26.9.2.
#![cfg(unix)]

use super::super::common::Scratch;
use super::fetch::{fetch_from, lines};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const ROWS: &str = include_str!("../../fixtures/clickhouse-26.9.2.ndjson");
/// What ClickHouse writes below the rows that were sent when it fails.
const FAILURE: &str = "Code: 241. DB::Exception: Query memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)\n";

/// The rows come for the newest hour and, of the trace that began in it, again for the one before.
#[derive(Clone)]
struct ClickHouse {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
    is_failing: Arc<AtomicBool>,
}

impl ClickHouse {
    fn start() -> ClickHouse {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://reader:secret@{}", listener.local_addr().unwrap());
        let server = ClickHouse { url, asked: Arc::default(), is_failing: Arc::default() };
        let answering = server.clone();
        // It ends with the process of the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let Some(Ok(first)) = lines.next() else { continue };
                let has_login = lines
                    .map_while(Result::ok)
                    .take_while(|line| !line.is_empty())
                    .any(|line| line.eq_ignore_ascii_case("authorization: basic cmVhZGVyOnNlY3JldA=="));
                let asked = answering.asked.lock().unwrap().len();
                answering.asked.lock().unwrap().push(first);
                let (status, body) = match (has_login, asked) {
                    (false, _) => {
                        (403, "Code: 516. DB::Exception: reader: Authentication failed\n".to_owned())
                    }
                    (true, 0) => (200, ROWS.to_owned()),
                    (true, _) if answering.is_failing.load(Ordering::SeqCst) => {
                        (200, ROWS.lines().next().unwrap().to_owned() + "\n" + FAILURE)
                    }
                    (true, _) => (200, ROWS.lines().take(6).map(|line| format!("{line}\n")).collect()),
                };
                let head = format!(
                    "HTTP/1.1 {status} OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all((head + &body).as_bytes());
            }
        });
        server
    }
}

#[test]
fn rows_of_clickhouse_are_traces_and_each_stands_once() {
    let folder = Scratch::new("clickhouse");
    let server = ClickHouse::start();
    let from = ["--clickhouse", &server.url];
    let args = ["--service", "cart", "--table", "otel.spans", "--since", "2h", "-o", "a.gz"];
    let (output, status) = fetch_from(folder.path(), from, &args, "");
    assert_eq!(status, 0, "{output:?}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "pathlight: 3 traces\n");
    assert_eq!(lines(&folder.path().join("a.gz")), ROWS.lines().collect::<Vec<_>>());
    let asked = server.asked.lock().unwrap();
    assert_eq!(asked.len(), 2, "an hour each");
    assert!(asked[0].contains("%60otel%60%2E%60spans%60") && asked[0].contains("%27cart%27"), "{}", asked[0]);
    let inspected = std::process::Command::new(env!("CARGO_BIN_EXE_pathlight"))
        .args(["inspect", "--json", "a.gz"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&inspected.stdout).unwrap();
    assert_eq!((&report["traces"], &report["spans"]), (&3.into(), &13.into()));
}

#[test]
fn what_clickhouse_says_below_its_rows_is_said_and_the_fetch_goes_on_from_there() {
    let folder = Scratch::new("clickhouse-fails");
    let server = ClickHouse::start();
    server.is_failing.store(true, Ordering::SeqCst);
    let from = ["--clickhouse", &server.url];
    let args = ["--since", "2h", "-o", "a.gz"];
    let (output, status) = fetch_from(folder.path(), from, &args, "");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("Query memory limit exceeded") && !text.contains("secret"), "{text}");
    assert!(!folder.path().join("a.gz").exists());
    server.is_failing.store(false, Ordering::SeqCst);
    let (output, status) = fetch_from(folder.path(), from, &args, "");
    assert_eq!(status, 0, "{output:?}");
    assert_eq!(lines(&folder.path().join("a.gz")).len(), 13);
    assert_eq!(server.asked.lock().unwrap().len(), 3, "the first hour is not asked for again");
}

#[test]
fn a_login_that_clickhouse_refuses_is_said_with_where_it_stands() {
    let folder = Scratch::new("clickhouse-login");
    let server = ClickHouse::start();
    let without = server.url.replace("reader:secret@", "");
    let (output, status) =
        fetch_from(folder.path(), ["--clickhouse", &without], &["--since", "1h", "-o", "a.gz"], "");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("Authentication failed") && text.contains("NAME:PASSWORD@HOST"), "{text}");
}
