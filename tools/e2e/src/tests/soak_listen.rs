//! A day of `pathlight listen` at 1,000 spans a second, sent as fast as it takes them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use e2e::browser::Page;
use e2e::failure::{Failure, Outcome, ensure, same};
use e2e::process::{Listening, pathlight, scratch};
use serde_json::Value;

/// One export stands for one second.
const DAY: u64 = 86_400;
/// Traces and spans of each in an export: 1,000 spans.
const TRACES: u64 = 20;
const SPANS: u64 = 50;
/// Programs that send by turns, each on a connection that it keeps.
const SENDERS: usize = 4;
/// Exports between two looks at memory and files. After the second caches are full.
const LOOK: u64 = 500;

/// Appends a field of protobuf: its number, its length, its bytes.
fn put(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | 2);
    let mut length = bytes.len();
    while length > 0x7f {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend(bytes);
}

/// Appends a time in nanoseconds.
fn put_time(out: &mut Vec<u8>, number: u8, us: u64) {
    out.push(number << 3 | 1);
    out.extend((1000 * us).to_le_bytes());
}

fn attribute(key: &str, text: &str) -> Vec<u8> {
    let (mut value, mut out) = (Vec::new(), Vec::new());
    put(&mut value, 1, text.as_bytes());
    put(&mut out, 1, key.as_bytes());
    put(&mut out, 2, &value);
    out
}

/// Returns the export of one second: every span calls one half of the next, five services by turns.
fn export(second: u64) -> Vec<u8> {
    let mut services = vec![Vec::new(); 5];
    for trace in second * TRACES..(second + 1) * TRACES {
        let trace_id = (u128::from(trace) + 1).to_be_bytes();
        for span in 1..=SPANS {
            let mut out = Vec::new();
            put(&mut out, 1, &trace_id);
            put(&mut out, 2, &span.to_be_bytes());
            if span > 1 {
                put(&mut out, 4, &(span / 2).to_be_bytes());
            }
            put(&mut out, 5, format!("operation {}", span % 13).as_bytes());
            // Times that packing cannot guess.
            let any = (trace * SPANS + span).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
            let start_us = 1_790_000_000_000_000 + second * 1_000_000 + 1000 * span + any;
            put_time(&mut out, 7, start_us);
            put_time(&mut out, 8, start_us + 100_000 / span + any);
            put(&mut out, 9, &attribute("http.request.method", "GET"));
            put(&mut out, 9, &attribute("user.id", &format!("user-{}", any * 7919 % 100_000)));
            put(&mut services[(span % 5) as usize], 2, &out);
        }
    }
    let mut body = Vec::new();
    for (number, spans) in services.iter().enumerate() {
        let (mut of, mut resource) = (Vec::new(), Vec::new());
        put(&mut resource, 1, &attribute("service.name", &format!("service-{number}")));
        put(&mut of, 1, &resource);
        put(&mut of, 2, spans);
        put(&mut body, 1, &of);
    }
    body
}

/// Sends an export; returns the status of the answer.
fn send(stream: &mut BufReader<TcpStream>, host: &str, body: &[u8]) -> Outcome<u16> {
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.get_mut().write_all(head.as_bytes())?;
    stream.get_mut().write_all(body)?;
    let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
    stream.read_line(&mut first)?;
    while line != "\r\n" {
        line.clear();
        ensure(stream.read_line(&mut line)? > 0, || format!("the answer ends after {first:?}"))?;
        if let Some(given) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = given.trim().parse().map_err(|_| Failure(format!("a length of {given:?}")))?;
        }
    }
    stream.read_exact(&mut vec![0; length])?;
    first.get(9..12).and_then(|status| status.parse().ok()).ok_or(Failure(format!("an answer of {first:?}")))
}

/// Returns the bytes of the files of a folder, and how many there are.
fn kept(folder: &Path) -> Outcome<(u64, usize)> {
    let (mut bytes, mut files) = (0, 0);
    for entry in std::fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
        files += 1;
    }
    Ok((bytes, files))
}

/// `PATHLIGHT_MINUTES` says after how many minutes it stops before the day is over; 10 if it does not.
pub async fn a_day_of_exports_is_taken_and_memory_stays_small(_: &Page) -> Outcome {
    let minutes = std::env::var("PATHLIGHT_MINUTES").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let folder = scratch()?.join("soak-listen");
    let _ = std::fs::remove_dir_all(&folder);
    const LIMIT: u64 = 20_000_000;
    let listening = Listening::start_with(&folder, &["--limit-size", &LIMIT.to_string()])?;
    let address = listening.page.trim_start_matches("http://");
    let host = address.split('/').next().unwrap_or_default().to_owned();
    let bytes = || listening.resident_bytes().ok_or_else(|| Failure("listen has ended".to_owned()));
    let first = bytes()?;
    let mut senders = Vec::new();
    for _ in 0..SENDERS {
        senders.push(BufReader::new(TcpStream::connect(&host)?));
    }
    let begun = Instant::now();
    let mut csv = "exports,seconds,memory_bytes,kept_bytes,files\n".to_owned();
    let (mut sent, mut warm, mut most) = (0, None, 0);
    while sent < DAY && begun.elapsed() < Duration::from_secs(60 * minutes) {
        let body = export(sent);
        let sender = &mut senders[sent as usize % SENDERS];
        same(&format!("the answer to export {sent}"), send(sender, &host, &body)?, 200)?;
        sent += 1;
        if sent % LOOK == 0 {
            let (memory, (packed, files)) = (bytes()?, kept(&folder)?);
            ensure(packed <= LIMIT, || format!("{packed} bytes are kept after {sent} exports"))?;
            most = most.max(memory);
            warm = warm.or((sent == 2 * LOOK).then_some(memory));
            csv.push_str(&format!("{sent},{},{memory},{packed},{files}\n", begun.elapsed().as_secs()));
            std::fs::write(scratch()?.join("soak-listen.csv"), &csv)?;
        }
    }
    let last = bytes()?;
    eprintln!(
        "{sent} exports of 1,000 spans in {} s: memory {first} bytes at first, {warm:?} warm, at most {most}, {last} in the \
         end; kept {:?}",
        begun.elapsed().as_secs(),
        kept(&folder)?
    );
    drop((senders, listening));
    // What is kept is whole, up to the newest.
    let path = folder.to_string_lossy().into_owned();
    let report: Value = serde_json::from_slice(&pathlight(&["inspect", "--json", &path])?)?;
    let spans = report["spans"].as_u64().unwrap_or_default();
    ensure(spans > 0 && spans.is_multiple_of(TRACES * SPANS), || format!("{spans} spans are kept"))?;
    let files = report["files"].as_array().into_iter().flatten();
    let problems: Vec<&Value> =
        files.map(|file| &file["problems"]).filter(|of| **of != Value::Array(vec![])).collect();
    ensure(problems.is_empty(), || format!("{problems:?}"))?;
    std::fs::remove_dir_all(&folder)?;
    let warm = warm.ok_or_else(|| Failure(format!("{sent} exports are too few to say anything")))?;
    ensure(most <= warm + (16 << 20), || format!("memory: {warm} bytes warm, at most {most}"))
}
