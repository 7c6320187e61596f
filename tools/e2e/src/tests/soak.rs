//! Tests that take too long for every run: `cargo xtask soak` runs these. What was measured goes to `target/e2e/soak-*.csv`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use e2e::browser::Page;
use e2e::failure::{Failure, Outcome, ensure, same};
use e2e::process::{Server, dist, pathlight, renderer_bytes, root, scratch};
use e2e::site::{Site, reply};
use flate2::Compression;
use flate2::write::GzEncoder;
use pathlight_view::draw::curves::{Axis, CurvesView, Legend, NamedCurve, export_svg};
use pathlight_view::draw::plot::ChartSize;
use pathlight_view::draw::{Metrics, Rgba, Theme};
use serde_json::{Value, json};

use super::access::VIEWS;
use super::drop::{generated, open_tables, shop, small_files, summary};
use super::flow::exported;
use super::tables::what_if;

/// Times a page may take for millions of spans on a slow machine.
const PATIENCE: Duration = Duration::from_secs(1800);

/// What is looked at after a round: bytes of wasm memory and of the renderer, listeners and elements of the page, and its
/// timers that wait.
#[derive(Clone, Copy, Debug)]
struct Round {
    number: u32,
    wasm: f64,
    renderer: u64,
    listeners: u64,
    nodes: u64,
    timers: u64,
}

/// Counts timers that wait as `window.timers`, but for those of the driver, which limit a script to hours.
const TIMERS: &str = "const wait = window.setTimeout.bind(window), stop = window.clearTimeout.bind(window); \
    const waiting = new Set(); Object.defineProperty(window, 'timers', { get: () => waiting.size }); \
    window.setTimeout = (run, ms, ...given) => { const id = wait(() => { waiting.delete(id); run(...given) }, ms); \
      if (ms < 1e7) waiting.add(id); return id }; \
    window.clearTimeout = (id) => { waiting.delete(id); stop(id) };";

async fn look(page: &Page, number: u32) -> Outcome<Round> {
    page.devtools("HeapProfiler.collectGarbage", json!({})).await?;
    let metrics = page.devtools("Performance.getMetrics", json!({})).await?;
    let metric = |name: &str| {
        let all = metrics["metrics"].as_array().into_iter().flatten();
        all.filter(|metric| metric["name"] == name).filter_map(|metric| metric["value"].as_f64()).sum::<f64>()
    };
    Ok(Round {
        number,
        wasm: page.number("[data-test='memory']", "data-wasm").await?,
        renderer: renderer_bytes(),
        listeners: metric("JSEventListeners") as u64,
        nodes: metric("Nodes") as u64,
        timers: page.run("return window.timers").await?.as_u64().unwrap_or_default(),
    })
}

/// Drop, all views, compare, filter, clear: again and again in one tab. `PATHLIGHT_ROUNDS` says how often.
pub async fn three_hundred_rounds_in_one_tab_leave_nothing_behind(page: &Page) -> Outcome {
    let rounds = std::env::var("PATHLIGHT_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    page.devtools("Performance.enable", json!({})).await?;
    let prepared =
        page.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": TIMERS })).await?;
    let (a, b) = (shop()?, generated("soak-b.json", "--traces 300 --spans 30 --shape mixed --seed 22")?);
    page.open("").await?;
    let mut seen = Vec::new();
    let mut csv = "round,wasm_bytes,renderer_bytes,listeners,nodes,timers\n".to_owned();
    for number in 1..=rounds {
        page.drop_files(std::slice::from_ref(&a)).await?;
        page.ready().await?;
        for view in VIEWS {
            page.go(&format!("view={view}")).await?;
            page.ready().await?;
        }
        for narrower in ["view=flame&range=95-100", "view=flame&error=1"] {
            page.go(narrower).await?;
            page.ready().await?;
        }
        page.go("view=compare&range=0-50&rangeB=90-100&against=range").await?;
        page.ready().await?;
        page.drop_files_on("[data-test='drop-compare']", std::slice::from_ref(&b)).await?;
        page.ready().await?;
        let round = look(page, number).await?;
        let Round { wasm, renderer, listeners, nodes, timers, .. } = round;
        csv.push_str(&format!("{number},{wasm},{renderer},{listeners},{nodes},{timers}\n"));
        std::fs::write(scratch()?.join("soak-rounds.csv"), &csv)?;
        seen.push(round);
        page.click("[data-test='more']").await?;
        page.click("[data-test='clear']").await?;
        page.state("empty").await?;
    }
    page.devtools("Page.removeScriptToEvaluateOnNewDocument", prepared).await?;
    std::fs::write(scratch()?.join("soak-rounds.svg"), curves(&seen)?)?;
    // The first rounds warm up: code is compiled, caches fill.
    let (Some(first), Some(last)) = (seen.get(9.min(seen.len() / 2)), seen.last()) else { return Ok(()) };
    // Where they are after one more than so many.
    let mut shown: Vec<&Round> = [9, 99, 299].iter().filter_map(|&at| seen.get(at)).chain([last]).collect();
    shown.dedup_by_key(|round| round.number);
    shown.iter().for_each(|round| eprintln!("{round:?}"));
    same("listeners", last.listeners, first.listeners)?;
    ensure(last.timers <= first.timers + 2, || {
        format!("timers: {} at first, {} in the end", first.timers, last.timers)
    })?;
    ensure(last.nodes <= first.nodes + first.nodes / 10, || {
        format!("nodes: {} then {}", first.nodes, last.nodes)
    })?;
    ensure(last.wasm <= 1.1 * first.wasm, || format!("wasm memory: {} then {}", first.wasm, last.wasm))?;
    ensure(last.renderer <= first.renderer + first.renderer / 4, || {
        format!("renderer: {} then {} bytes", first.renderer, last.renderer)
    })
}

/// A figure of a round.
type Figure = fn(&Round) -> f64;

/// Draws how memory, listeners, elements and timers went from round to round, as a picture.
fn curves(rounds: &[Round]) -> Outcome<String> {
    let Some(first) = rounds.get(9.min(rounds.len() / 2)) else { return Ok(String::new()) };
    let of: [(&str, u32, Figure); 5] = [
        ("wasm memory", 0x3b78d8, |round| round.wasm),
        ("renderer", 0xd0572b, |round| round.renderer as f64),
        ("listeners", 0x2f8f5b, |round| round.listeners as f64),
        ("elements", 0x8757b8, |round| round.nodes as f64),
        // Of which there may be none.
        ("timers", 0x6b7280, |round| round.timers.max(1) as f64),
    ];
    let all = rounds.len() as f64;
    let curve = |&(name, color, value): &(&'static str, u32, Figure)| NamedCurve {
        name,
        color: Rgba::hex(color),
        strong: false,
        points: rounds
            .iter()
            .map(|round| (f64::from(round.number) / all, value(round) / value(first)))
            .collect(),
    };
    let across = format!("of {} rounds", rounds.len());
    let view = CurvesView {
        x: (Axis::Share, &across),
        y: (Axis::Ratio { from: 0.5, to: 2.0 }, "times round 10"),
        curves: of.iter().map(curve).collect(),
        rule: Some(1.0),
        legend: Legend::TopLeft,
    };
    let size = ChartSize { width: 900, height: 320, metrics: Metrics::default() };
    let title = "Drop, all views, compare, filter, clear: again and again in one tab";
    export_svg(&view, size, &Theme::light(), title).map_err(|error| Failure(error.to_string()))
}

/// Waits until a large load is over; returns whether it was offered to keep less.
async fn load(page: &Page, files: &[PathBuf]) -> Outcome<bool> {
    page.open("").await?;
    page.drop_files(files).await?;
    let script = "const row = document.querySelector(\"[data-test='memory-forecast']\"); \
                  return row?.checkVisibility() ? 'forecast' : document.documentElement.dataset.state";
    let state = page
        .until_within(PATIENCE, "the load to end", script, |state| state == "forecast" || state == "ready")
        .await?;
    if state == "forecast" {
        page.click("[data-test='memory-forecast-sample']").await?;
        let script = "return document.documentElement.dataset.state";
        page.until_within(PATIENCE, "the sample to be read", script, |state| state == "ready").await?;
    }
    page.ready_within(PATIENCE).await?;
    let [traces, spans, ..] = summary(page).await?;
    eprintln!(
        "{traces} traces, {spans} spans, renderer {} bytes, sample: {}",
        renderer_bytes(),
        state == "forecast"
    );
    Ok(state == "forecast")
}

pub async fn five_thousand_files_at_once_are_read(page: &Page) -> Outcome {
    let made = generated("soak-one.json", "--traces 1 --spans 20 --seed 6")?;
    let folder = small_files("soak-files", &made, 5000)?;
    let sampled = load(page, &[folder]).await?;
    same("sampled", sampled, false)?;
    same("traces", summary(page).await?[0], 5000)
}

pub async fn a_million_traces_are_read(page: &Page) -> Outcome {
    let file = generated("soak-traces.json", "--traces 1000000 --spans 3 --shape wide --seed 7")?;
    let sampled = load(page, std::slice::from_ref(&file)).await?;
    std::fs::remove_file(file)?;
    ensure(sampled || summary(page).await?[0] == 1_000_000, || "traces are missing".to_owned())
}

pub async fn five_million_spans_are_read_or_a_sample_is_offered(page: &Page) -> Outcome {
    let file = generated("soak-spans.json", "--traces 100000 --spans 50 --shape mixed --seed 8")?;
    eprintln!("{} bytes", std::fs::metadata(&file)?.len());
    let sampled = load(page, std::slice::from_ref(&file)).await?;
    std::fs::remove_file(file)?;
    ensure(sampled || summary(page).await?[0] == 100_000, || "traces are missing".to_owned())
}

/// Writes 100,000 traces of ten spans: no two spans have a service, an operation or the key of a tag in common.
fn a_million_names() -> Outcome<PathBuf> {
    let file = scratch()?.join("soak-names.json");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&file)?);
    write!(out, "{{\"data\":[")?;
    for trace in 0..100_000u64 {
        write!(out, "{}{{\"traceID\":\"{:032x}\",\"spans\":[", if trace > 0 { "," } else { "" }, trace + 1)?;
        for at in 0..10 {
            let (comma, name) = (if at > 0 { "," } else { "" }, 10 * trace + at);
            let parent = if at > 0 {
                format!("{{\"refType\":\"CHILD_OF\",\"traceID\":\"{:032x}\",\"spanID\":\"1\"}}", trace + 1)
            } else {
                String::new()
            };
            write!(
                out,
                "{comma}{{\"traceID\":\"{:032x}\",\"spanID\":\"{:x}\",\"operationName\":\"o{name}\",\
                 \"references\":[{parent}],\"startTime\":{},\"duration\":{},\"processID\":\"p{at}\",\
                 \"tags\":[{{\"key\":\"k{name}\",\"type\":\"string\",\"value\":\"v\"}}],\"logs\":[]}}",
                trace + 1,
                at + 1,
                1_700_000_000_000_000 + 1000 * trace + 10 * at,
                if at > 0 { 9 } else { 200 },
            )?;
        }
        write!(out, "],\"processes\":{{")?;
        for at in 0..10 {
            let comma = if at > 0 { "," } else { "" };
            write!(out, "{comma}\"p{at}\":{{\"serviceName\":\"s{}\",\"tags\":[]}}", 10 * trace + at)?;
        }
        write!(out, "}}}}")?;
    }
    write!(out, "]}}")?;
    out.flush()?;
    Ok(file)
}

/// They are all there, or the page says what would fit, or how far it came.
pub async fn a_million_services_operations_and_tag_keys_are_read_or_the_limit_is_said(
    page: &Page,
) -> Outcome {
    let file = a_million_names()?;
    eprintln!("{} bytes", std::fs::metadata(&file)?.len());
    let sampled = load(page, std::slice::from_ref(&file)).await?;
    std::fs::remove_file(file)?;
    let services = summary(page).await?[2];
    if services < 1_000_000 && !sampled {
        let said = page.text("[data-test='message']").await?;
        ensure(said.contains("Memory ended"), || format!("{services} services, and it says {said:?}"))?;
    }
    page.go("view=flame").await?;
    page.ready_within(PATIENCE).await
}

/// One worker, many workers and the binary give the same report: over shapes and sizes, formats, and a trace in every format.
/// `PATHLIGHT_SPANS` says how large the largest files are, `PATHLIGHT_OF` what the words of a comparison have to contain
/// (`deep`, `zipkin`, `1000 spans`), so that a run that was stopped goes on.
pub async fn one_worker_many_and_the_binary_say_the_same(page: &Page) -> Outcome {
    let most = std::env::var("PATHLIGHT_SPANS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000_000u32);
    let of = std::env::var("PATHLIGHT_OF").unwrap_or_default();
    let is_wanted = |what: &str| what.contains(&of);
    let generate = |shape: &str, spans: u32| {
        let traces = (spans / 50).max(1);
        let options = format!("--traces {traces} --spans 50 --shape {shape} --seed {}", spans % 97);
        generated("soak-truth.json", &options)
    };
    for shape in ["mixed", "wide", "deep"] {
        for spans in [1000, 30_000, most] {
            let what = format!("{shape}, {spans} spans");
            if !is_wanted(&what) {
                continue;
            }
            let file = generate(shape, spans)?;
            let reports = if shape == "mixed" { &REPORTS[..] } else { &REPORTS[..OF_ANY_TRACES] };
            all_say_the_same(page, &file, reports, &what).await?;
        }
        for (format, write) in FORMATS {
            let what = format!("{shape}, {format}");
            if !is_wanted(&what) {
                continue;
            }
            let file = generate(shape, 30_000)?;
            let other = scratch()?.join(format!("soak-truth.{format}"));
            std::fs::write(&other, write(&std::fs::read(&file)?)?)?;
            all_say_the_same(page, &other, &REPORTS[..OF_ANY_TRACES], &what).await?;
        }
    }
    let fixtures = root().join("tests/fixtures/ingest");
    let mut formats = 0;
    for folder in sorted(&fixtures)?.iter().filter(|folder| !folder.ends_with("dirty")) {
        formats += 1;
        for file in sorted(folder)?.iter().filter(|file| is_wanted(&file.to_string_lossy())) {
            all_say_the_same(page, file, &REPORTS[..1], &file.to_string_lossy()).await?;
        }
    }
    ensure(formats >= 12, || format!("only {formats} formats"))
}

/// Returns the files of a folder, sorted.
fn sorted(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        all.push(entry?.path());
    }
    all.sort();
    Ok(all)
}

/// A report: the words of the command, with `+` for a space within one; the view; and the place of its export.
pub type Report = (&'static str, &'static str, &'static str);

/// Reports that the page exports as the binary prints them. What the last ones are about, traces of shape `mixed` have.
pub const REPORTS: [Report; 9] = [
    ("critical-path", "view=flame", "flame-view"),
    ("endpoints --faster 50", "view=endpoints", "ranking-view"),
    ("histograms", "view=endpoints", "sizes-view"),
    ("summary --range P95-100", "view=findings&range=P95-100", "findings"),
    ("diagnosis", "view=diagnosis", "diagnosis-view"),
    ("anomaly --train", "view=anomalies", "anomaly-view"),
    ("errors", "view=errors", "errors-view"),
    ("split --tag http.status_code", "view=split&split=http.status_code", "split-view"),
    (
        "flow --service edge-gateway --operation GET+/product/{id}",
        "view=flow&service=edge-gateway&operation=GET%20/product/%7Bid%7D",
        "flow-view",
    ),
];
/// How many of them any traces have.
pub const OF_ANY_TRACES: usize = 6;

/// Compares the bytes of reports: by the binary, by one worker and by as many as the machine has.
pub async fn all_say_the_same(page: &Page, file: &Path, reports: &[Report], what: &str) -> Outcome {
    let path = file.to_string_lossy();
    let mut printed = Vec::new();
    for (words, ..) in reports {
        let words: Vec<String> = words.split(' ').map(|word| word.replace('+', " ")).collect();
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.insert(1, "--json");
        words.push(&path);
        printed.push(String::from_utf8_lossy(&pathlight(&words)?).into_owned());
    }
    let begun = std::time::Instant::now();
    for workers in ["limit-workers=1", ""] {
        page.open(&format!("view=flame&{workers}")).await?;
        page.drop_files(&[file.to_owned()]).await?;
        page.ready_within(PATIENCE).await?;
        for ((words, view, place), printed) in reports.iter().zip(&printed) {
            page.go(&format!("{view}&{workers}")).await?;
            page.ready_within(PATIENCE).await?;
            if *place == "ranking-view" {
                what_if(page).await?;
            }
            if *place == "findings" {
                open_tables(page).await?;
            }
            let json = exported(page, &format!("[data-test='{place}']"), "json").await?;
            ensure(json.trim_end() == printed.trim_end(), || {
                format!("{what}, {workers:?}: another report of {words} than the binary's")
            })?;
        }
    }
    eprintln!("{what}: {} bytes, {:.1} s", std::fs::metadata(file)?.len(), begun.elapsed().as_secs_f64());
    Ok(())
}

/// Writes Jaeger JSON in another format.
type Convert = fn(&[u8]) -> Outcome<Vec<u8>>;

/// Formats by the end of a file's name.
const FORMATS: [(&str, Convert); 3] =
    [("json.gz", packed), ("otlp.jsonl", as_otlp), ("zipkin.ndjson", as_zipkin)];

fn packed(jaeger: &[u8]) -> Outcome<Vec<u8>> {
    let mut pack = GzEncoder::new(Vec::new(), Compression::fast());
    pack.write_all(jaeger)?;
    Ok(pack.finish()?)
}

/// Writes a line for every span: `line` is given the span, its service, its parent and its tags as texts.
fn lines(
    jaeger: &[u8],
    line: impl Fn(&Value, &Value, &Value, Vec<(&str, String)>) -> Value,
) -> Outcome<Vec<u8>> {
    let document: Value = serde_json::from_slice(jaeger)?;
    let mut out = Vec::new();
    for trace in document["data"].as_array().into_iter().flatten() {
        for span in trace["spans"].as_array().into_iter().flatten() {
            let process = span["processID"].as_str().unwrap_or_default();
            let tags = span["tags"].as_array().into_iter().flatten().map(|tag| {
                let value = &tag["value"];
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                (tag["key"].as_str().unwrap_or_default(), text)
            });
            let service = &trace["processes"][process]["serviceName"];
            let written = line(span, service, &span["references"][0]["spanID"], tags.collect());
            serde_json::to_writer(&mut out, &written)?;
            out.push(b'\n');
        }
    }
    Ok(out)
}

fn as_otlp(jaeger: &[u8]) -> Outcome<Vec<u8>> {
    let padded = |id: &Value| format!("{:0>32}", id.as_str().unwrap_or_default());
    lines(jaeger, |span, service, parent, tags| {
        let [start, duration] = ["startTime", "duration"].map(|key| span[key].as_u64().unwrap_or_default());
        let kind = tags.iter().find(|(key, _)| *key == "span.kind").map(|(_, kind)| kind.as_str());
        let kind = match kind {
            Some("server") => 2,
            Some("client") => 3,
            Some("producer") => 4,
            Some("consumer") => 5,
            _ => 1,
        };
        let text = |(key, value): (&str, String)| json!({ "key": key, "value": { "stringValue": value } });
        json!({ "resourceSpans": [{
            "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": service } }] },
            "scopeSpans": [{ "spans": [{
                "traceId": padded(&span["traceID"]), "spanId": span["spanID"], "parentSpanId": parent,
                "name": span["operationName"], "kind": kind,
                "startTimeUnixNano": format!("{start}000"),
                "endTimeUnixNano": format!("{}000", start + duration),
                "attributes": tags.into_iter().map(text).collect::<Vec<_>>(),
            }] }],
        }] })
    })
}

fn as_zipkin(jaeger: &[u8]) -> Outcome<Vec<u8>> {
    lines(jaeger, |span, service, parent, tags| {
        let kind = tags.iter().find(|(key, _)| *key == "span.kind").map(|(_, kind)| kind.to_uppercase());
        json!({
            "traceId": span["traceID"], "id": span["spanID"], "parentId": parent, "kind": kind,
            "name": span["operationName"], "timestamp": span["startTime"], "duration": span["duration"],
            "localEndpoint": { "serviceName": service },
            "tags": tags.into_iter().map(|(key, value)| (key.to_owned(), json!(value)))
                .collect::<serde_json::Map<_, _>>(),
        })
    })
}

/// Returns a request for a path, after whose answer the connection ends.
fn request(address: &str, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
}

/// `pathlight serve` under idle, slow and half-closed connections, and while a gigabyte passes through to Jaeger.
pub async fn a_server_under_many_connections_stays_small_and_answers(_: &Page) -> Outcome {
    const CHUNK: usize = 1 << 20;
    let routes = Router::new().route(
        "/api/traces",
        get(|| async {
            let parts = futures_util::stream::unfold(0, |sent| async move {
                (sent < 1024).then(|| (Ok::<_, std::io::Error>(vec![b' '; CHUNK]), sent + 1))
            });
            reply(200, "application/json", Body::from_stream(parts))
        }),
    );
    let jaeger = Site::start(routes)?;
    let server = Server::start_with(&dist(), &["--jaeger", jaeger.url.trim_end_matches('/')])?;
    let address = server.url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let bytes = || server.resident_bytes().ok_or_else(|| Failure("the server has ended".to_owned()));
    let begin = bytes()?;
    let mut open = Vec::new();
    for number in 0..350 {
        let mut stream = TcpStream::connect(&address)?;
        match number {
            // The begin of a request that comes byte by byte.
            0..50 => stream.write_all(b"GET / HTTP/1.1\r\nSlow: ")?,
            // A page that is taken byte by byte.
            50..100 => stream.write_all(request(&address, "/pathlight.html").as_bytes())?,
            // A request, and nobody who writes any more.
            100..150 => {
                stream.write_all(request(&address, "/").as_bytes())?;
                stream.shutdown(std::net::Shutdown::Write)?;
            }
            _ => {}
        }
        stream.set_nonblocking(true)?;
        open.push(stream);
    }
    let (to, wanted) = (address.clone(), request(&address, "/api/traces"));
    let through = tokio::task::spawn_blocking(move || -> std::io::Result<usize> {
        let mut stream = TcpStream::connect(to)?;
        stream.write_all(wanted.as_bytes())?;
        let (mut buffer, mut all) = (vec![0; CHUNK], 0);
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok(all),
                n => all += n,
            }
        }
    });
    let mut most = begin;
    while !through.is_finished() {
        most = most.max(bytes()?);
        for (number, stream) in open.iter_mut().take(100).enumerate() {
            // Whether the server still listens to them is its own affair.
            let _ = if number < 50 { stream.write_all(b"x") } else { stream.read_exact(&mut [0]) };
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let passed = through.await.map_err(|error| Failure(error.to_string()))??;
    ensure(passed > 1 << 30, || format!("{passed} bytes passed through"))?;
    let mut stream = TcpStream::connect(&address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(request(&address, "/").as_bytes())?;
    let mut first = [0; 15];
    stream.read_exact(&mut first)?;
    same("answer", String::from_utf8_lossy(&first).into_owned(), "HTTP/1.1 200 OK".to_owned())?;
    std::fs::write(scratch()?.join("soak-serve.csv"), format!("begin_bytes,most_bytes\n{begin},{most}\n"))?;
    eprintln!("memory of the server: {begin} bytes at first, at most {most}");
    drop(open);
    ensure(most < begin + (64 << 20), || format!("{begin} bytes at first, at most {most}"))
}
