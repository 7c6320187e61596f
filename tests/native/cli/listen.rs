//! `pathlight listen`: the answers of OTLP over HTTP, what is kept, and an SDK that knows nothing of us.

use super::super::common::replay::fixture_files;
use super::super::common::{Scratch, archives, skip};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// One that runs until it is dropped.
struct Listener {
    child: Child,
    /// Host and port.
    place: String,
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Listener {
    fn start(folder: &Path) -> Listener {
        Listener::start_with(folder, &[])
    }

    fn start_with(folder: &Path, more: &[&str]) -> Listener {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pathlight"));
        command.current_dir(folder).args(["listen", "--port", "0", "-o", "kept"]).args(more);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let place = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        Listener { child, place }
    }

    /// Sends a request; returns status, head and body of an answer.
    fn ask(&self, line: &str, headers: &str, body: &[u8]) -> (u16, String, Vec<u8>) {
        let host =
            if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.place) };
        let mut stream = TcpStream::connect(&self.place).unwrap();
        let length = body.len();
        let head = format!(
            "{line} HTTP/1.1\r\n{host}Connection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // One that refuses what is too large may not read it all.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let end = answer.windows(4).position(|at| at == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        (head[9..12].parse().unwrap(), head, answer[end + 4..].to_vec())
    }

    fn export(&self, kind: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let (status, _, body) = self.ask("POST /v1/traces", &format!("Content-Type: {kind}\r\n"), body);
        (status, body)
    }
}

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/x-protobuf";

fn fixture(folder: &str, name: &str) -> Vec<u8> {
    fixture_files(folder).into_iter().find(|(file, _)| file.ends_with(name)).unwrap().1
}

/// Returns what `inspect` says of the files that were kept.
fn inspect(folder: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathlight"));
    let mut files: Vec<_> =
        std::fs::read_dir(folder.join("kept")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let output = command.args(["inspect", "--json"]).args(files).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn exports_are_answered_as_the_protocol_says_and_kept() {
    let folder = Scratch::new("listen");
    let listener = Listener::start(folder.path());
    let (json, protobuf) = (fixture("otlp", "export.json"), fixture("otlp-protobuf", "export.pb"));
    assert_eq!(listener.export(JSON, &json), (200, b"{}".to_vec()));
    assert_eq!(listener.export("application/json; charset=utf-8", b"{}"), (200, b"{}".to_vec()));
    assert_eq!(listener.export(PROTOBUF, &protobuf), (200, Vec::new()));
    assert_eq!(listener.export(PROTOBUF, b""), (200, Vec::new()));
    assert_eq!(listener.export(PROTOBUF, &archives::gzip(&protobuf)), (200, Vec::new()));

    let (status, body) = listener.export(JSON, &json[..json.len() / 2]);
    assert!(status == 400 && String::from_utf8(body).unwrap().contains("cannot be read"), "{status}");
    let (status, body) = listener.export(PROTOBUF, b"no protobuf at all");
    assert!(
        status == 400 && body.starts_with(&[0x12]) && body.ends_with(b"not protobuf."),
        "{status} {body:?}"
    );
    let jaeger = fixture("jaeger", "api.json");
    assert_eq!(listener.export(JSON, &jaeger).0, 400);
    assert_eq!(listener.export("text/plain", &json).0, 415);
    let many = vec![b' '; (64 << 20) + 1];
    assert_eq!(listener.export(JSON, &archives::gzip(&many)).0, 413);
    let bad = String::from_utf8(json.clone()).unwrap().replacen("000000000000000000000000000000a1", "", 1);
    let (status, body) = listener.export(JSON, bad.as_bytes());
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((status, answer["partialSuccess"]["rejectedSpans"].as_str()), (200, Some("1")));

    // Another name than this machine's may be a foreign page's.
    let foreign = "Host: evil.example\r\nContent-Type: application/json\r\n";
    assert_eq!(listener.ask("POST /v1/traces", foreign, &json).0, 403);
    assert_eq!(listener.ask("OPTIONS /v1/traces", foreign, b"").0, 403);
    assert_eq!(listener.ask("GET /traces.ndjson.gz", foreign, b"").0, 403);
    assert_eq!(listener.ask("GET /", foreign, b"").0, 403);

    let (status, _, all) = listener.ask("GET /traces.ndjson.gz", "", b"");
    assert_eq!(status, 200);
    let (status, head, part) = listener.ask("GET /traces.ndjson.gz", "Range: bytes=0-\r\n", b"");
    let range = format!("content-range: bytes 0-{}/{}", all.len() - 1, all.len());
    assert!(status == 206 && part == all && head.contains(&range), "{head}");
    let at_end = format!("Range: bytes={}-\r\n", all.len());
    let (status, head, _) = listener.ask("GET /traces.ndjson.gz", &at_end, b"");
    assert!(status == 416 && head.contains(&format!("bytes */{}", all.len())), "{head}");
    // What comes from there on is whole by itself.
    assert_eq!(listener.export(PROTOBUF, &protobuf).0, 200);
    let (_, _, more) = listener.ask("GET /traces.ndjson.gz", &at_end, b"");
    assert!(more.starts_with(b"\x1f\x8b"));

    let report = inspect(folder.path());
    assert_eq!((report["traces"].as_u64(), report["spans"].as_u64()), (Some(1), Some(3)), "{report}");
    assert_eq!(report["files"][0]["format"], "otlp+gzip");
    drop(listener);
    // After a restart the stream goes on.
    let listener = Listener::start(folder.path());
    let (_, _, again) = listener.ask("GET /traces.ndjson.gz", "", b"");
    assert_eq!(again, [all, more].concat());
}

/// Returns how many lines a stream has.
fn lines(stream: &[u8]) -> usize {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(stream).read_to_string(&mut text).unwrap();
    text.lines().count()
}

/// Sends the head of an export and the beginning of its body, and keeps the connection.
fn half(listener: &Listener, body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(&listener.place).unwrap();
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: {JSON}\r\nContent-Length: {}\r\n\r\n",
        listener.place,
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body[..body.len() / 2]).unwrap();
    stream
}

#[test]
fn slow_and_broken_senders_hold_up_nobody_and_leave_nothing_half() {
    let folder = Scratch::new("listen-slow");
    let listener = Listener::start(folder.path());
    let json = fixture("otlp", "export.json");
    let mut slow: Vec<TcpStream> = (0..100).map(|_| half(&listener, &json)).collect();
    // One that asks for the stream and does not read it, and one that only connects.
    let mut reader = TcpStream::connect(&listener.place).unwrap();
    write!(reader, "GET /traces.ndjson.gz HTTP/1.1\r\nHost: {}\r\n\r\n", listener.place).unwrap();
    let idle = TcpStream::connect(&listener.place).unwrap();
    let begun = std::time::Instant::now();
    assert_eq!(listener.export(JSON, &json).0, 200);
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    // Most hang up in the middle; the last goes on.
    let mut last = slow.pop().unwrap();
    drop((slow, reader, idle));
    let text = String::from_utf8(json.clone()).unwrap();
    last.write_all(&text.as_bytes()[text.len() / 2..]).unwrap();
    let mut answer = String::new();
    last.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (_, _, stream) = listener.ask("GET /traces.ndjson.gz", "", b"");
    assert_eq!(lines(&stream), 2, "the whole exports and nothing else");
    assert_eq!(inspect(folder.path())["files"][0]["problems"], serde_json::json!([]));
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_answered_so_that_senders_try_again_and_what_is_kept_stays_whole() {
    let folder = Scratch::new("listen-full");
    // A limit on the size of a file in place of the end of a disk: writing fails in the middle of an export.
    let mut command = Command::new("sh");
    let limited = "ulimit -f 4; trap '' XFSZ; exec \"$0\" listen --port 0 -o kept";
    command.current_dir(folder.path()).args(["-c", limited]).arg(env!("CARGO_BIN_EXE_pathlight"));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let place = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let listener = Listener { child, place };
    let json = fixture("otlp", "export.json");
    let answers: Vec<(u16, Vec<u8>)> = (0..30).map(|_| listener.export(JSON, &json)).collect();
    let kept = answers.iter().filter(|(status, _)| *status == 200).count();
    let refused = answers.iter().find(|(status, _)| *status != 200).unwrap();
    assert!(kept > 0 && refused.0 == 503, "{kept} {}", refused.0);
    assert!(String::from_utf8_lossy(&refused.1).contains("cannot be kept"), "{refused:?}");
    let (_, _, stream) = listener.ask("GET /traces.ndjson.gz", "", b"");
    assert_eq!(lines(&stream), kept);
    assert_eq!(inspect(folder.path())["files"][0]["problems"], serde_json::json!([]));
    drop(listener);
    // With room again it goes on.
    let listener = Listener::start(folder.path());
    assert_eq!(listener.export(JSON, &json).0, 200);
    let (_, _, stream) = listener.ask("GET /traces.ndjson.gz", "", b"");
    assert_eq!(lines(&stream), kept + 1);
}

#[test]
fn pages_of_this_machine_may_send_and_others_only_if_they_were_named() {
    let folder = Scratch::new("listen-origins");
    let json = fixture("otlp", "export.json");
    let ask = |listener: &Listener, line: &str, origin: &str, body: &[u8]| {
        let wanted =
            "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type,x-key\r\n";
        let headers = format!("Origin: {origin}\r\nContent-Type: {JSON}\r\n{wanted}");
        let (status, head, _) = listener.ask(line, &headers, body);
        let has = |header: &str| head.to_lowercase().contains(&header.to_lowercase());
        (
            status,
            has(&format!("access-control-allow-origin: {origin}")),
            has("allow-headers: content-type,x-key"),
        )
    };
    let listener = Listener::start(folder.path());
    for own in ["http://localhost:5173", "http://127.0.0.1:8080", "https://[::1]:443"] {
        assert_eq!(ask(&listener, "OPTIONS /v1/traces", own, b""), (204, true, true), "{own}");
        assert_eq!(ask(&listener, "POST /v1/traces", own, &json), (200, true, false), "{own}");
    }
    let foreign = "https://app.example";
    for other in [foreign, "null", "http://localhost.evil.example", "http://evil.example:4318"] {
        assert_eq!(ask(&listener, "OPTIONS /v1/traces", other, b""), (403, false, false), "{other}");
        assert_eq!(ask(&listener, "POST /v1/traces", other, &json), (403, false, false), "{other}");
    }
    drop(listener);
    let listener = Listener::start_with(folder.path(), &["--allow-origin", foreign]);
    assert_eq!(ask(&listener, "OPTIONS /v1/traces", foreign, b""), (204, true, true));
    assert_eq!(ask(&listener, "POST /v1/traces", foreign, &json), (200, true, false));
    assert_eq!(ask(&listener, "POST /v1/traces", "https://other.example", &json).0, 403);
}

/// A program with OpenTelemetry's SDK for Python: three traces with an error, an event, a link and lists.
const PROGRAM: &str = r#"
import sys
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
for name, packing in [("shop", Compression.NoCompression), ("stock", Compression.Gzip)]:
    provider = TracerProvider(resource=Resource.create({"service.name": name, "host.name": "h1"}))
    exporter = OTLPSpanExporter(endpoint=sys.argv[1] + "/v1/traces", compression=packing)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("program", "1.0")
    for number in range(3):
        with tracer.start_as_current_span("GET /item", kind=trace.SpanKind.SERVER, attributes={"n": number, "list": ["a", "b"]}) as root:
            try:
                with tracer.start_as_current_span("load", kind=trace.SpanKind.CLIENT, links=[trace.Link(root.get_span_context())]):
                    if number == 2:
                        raise ValueError("lost")
            except ValueError:
                pass
    print("flushed", provider.force_flush())
    provider.shutdown()
"#;

/// Returns a Python that has the SDK: the machine's own, or one of a folder that is kept between runs.
fn python() -> Option<std::path::PathBuf> {
    let knows = |python: &Path| {
        let import = "import opentelemetry.exporter.otlp.proto.http";
        let output = Command::new(python).args(["-c", import]).stderr(Stdio::null()).status();
        output.is_ok_and(|status| status.success())
    };
    let own = Path::new("python3");
    if knows(own) {
        return Some(own.to_owned());
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("otel-sdk");
    let python = folder.join("bin/python3");
    if !knows(&python) {
        Command::new(own).args(["-m", "venv"]).arg(&folder).output().ok()?;
        let mut install = Command::new(&python);
        install.args(["-m", "pip", "install", "--quiet", "--timeout", "20", "--retries", "1"]);
        install.args(["opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"]).output().ok()?;
    }
    knows(&python).then_some(python)
}

#[test]
fn an_sdk_that_knows_nothing_of_us_sends_its_spans() {
    let Some(python) = python() else {
        return skip(1, "a Python with OpenTelemetry's SDK, which pip could not install");
    };
    let folder = Scratch::new("listen-sdk");
    let listener = Listener::start(folder.path());
    let base = format!("http://{}", listener.place);
    let output = Command::new(python).args(["-c", PROGRAM, &base]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "flushed True\nflushed True\n", "{}", String::from_utf8_lossy(&output.stderr));
    let report = inspect(folder.path());
    let count = |key: &str| report[key].as_u64().unwrap();
    assert_eq!((count("traces"), count("spans"), count("services")), (6, 12, 2), "{report}");
    assert_eq!(report["files"][0]["problems"], serde_json::json!([]), "{report}");
    assert_eq!(report["quality"]["orphan_roots"], 0);
}
