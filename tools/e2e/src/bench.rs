//! `cargo run -p e2e -- bench FOLDER [cards|frames]`: the built page measured in a real browser, from drop to picture, beside
//! `JSON.parse` of the same bytes in a worker of the same page. Driven by `cargo xtask bench`, which makes the files of
//! `FOLDER`.
//!
//! A row of results is a line that begins with `bench`: group, what, value, unit and budget, separated by tabs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use e2e::browser::{Page, session};
use e2e::failure::{Failure, Outcome, fail};
use e2e::process::{Driver, Server, dist};
use fantoccini::Locator;
use serde_json::{Value, json};

/// What no step takes, however slow the machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Milliseconds that the page must be quiet before a step counts as done.
const QUIET_MS: f64 = 400.0;

/// How long a page is open before something is dropped on it: nobody's hand is faster.
const HAND: Duration = Duration::from_secs(1);

/// Rounds of what is measured more than once.
const ROUNDS: usize = 3;

/// Notes the times of the page itself: when a drop comes, and when everything asked was answered and drawn. Chromium
/// paints after the second animation frame at the latest.
const WATCH: &str = "
    window.bench = { start: 0, done: null, usable: null };
    addEventListener('drop', () => { bench.start = performance.now(); bench.done = null; }, true);
    const said = () => {
        const { state, busy } = document.documentElement.dataset;
        return `${state} ${busy}`;
    };
    let last = '';
    new MutationObserver(() => {
        if (said() === last) return;
        last = said();
        bench.done = null;
        if (last.startsWith('empty')) bench.usable ??= performance.now();
        requestAnimationFrame(() => requestAnimationFrame(() => {
            if (said() === 'ready false') bench.done ??= performance.now();
        }));
    }).observe(document, { subtree: true, attributes: true, attributeFilter: ['data-state', 'data-busy'] });";

/// Notes, frame by frame, when what was dropped is read, when the first findings of all of it are there, and when no more
/// are coming.
const WATCH_FINDINGS: &str = "
    window.cards = { read: null, first: null, all: null };
    const is_shown = (name) => {
        const element = document.querySelector(`[data-test='${name}']`);
        return element !== null && !element.hidden;
    };
    let began = false;
    const look = () => {
        const now = performance.now(), found = window.cards;
        const list = document.querySelector(\"[data-test='finding-list']\");
        began ||= is_shown('progress');
        if (began && !is_shown('progress')) {
            found.read ??= now;
            if (list?.firstChild && !list.classList.contains('stale')) found.first ??= now;
            if (found.first !== null && !is_shown('findings-coming')) found.all ??= now;
        }
        if (found.all === null) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);";

/// Parses the chosen files as text, each in a worker of this page; answers with the milliseconds of `JSON.parse` alone,
/// all at once, the middle of 3 rounds.
const PARSE: &str = "
    const [done] = [arguments[0]];
    const code = `let text;
    onmessage = async ({ data }) => {
        if (data) text = await data.text();
        else JSON.parse(text);
        postMessage(null);
    }`;
    const url = URL.createObjectURL(new Blob([code]));
    const workers = [...document.querySelector('#bench-file').files].map((file) => [new Worker(url), file]);
    const all = (message) => Promise.all(workers.map(([worker, file]) => new Promise((resolve, reject) => {
        worker.onmessage = resolve;
        worker.onerror = ({ message }) => reject(message);
        worker.postMessage(message(file));
    })));
    (async () => {
        await all((file) => file);
        const rounds = [];
        for (let i = 0; i < 3; i++) {
            const start = performance.now();
            await all(() => null);
            rounds.push(performance.now() - start);
        }
        workers.forEach(([worker]) => worker.terminate());
        return rounds.sort((a, b) => a - b)[1];
    })().then(done, done);";

/// Moves what a canvas shows to and fro, a step in every frame, for 120 frames; answers with frames a second, and with the
/// milliseconds from a step to the end of the frame that has painted it, the slowest of twenty.
const PAN: &str = "
    const [selector, done] = arguments;
    const canvas = document.querySelector(selector);
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const wheel = (more) => canvas.dispatchEvent(new WheelEvent('wheel', {
        clientX: left + width / 2, clientY: top + height / 2, bubbles: true, cancelable: true, ...more,
    }));
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const painted = () => new Promise((resolve) => requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = resolve;
        port2.postMessage(null);
    }));
    (async () => {
        for (let i = 0; i < 4; i++) wheel({ ctrlKey: true, deltaY: -100 });
        for (let i = 0; i < 40; i++) await frame();
        const step = (i) => wheel({ deltaX: i % 60 < 30 ? 9 : -9, deltaY: i % 40 < 20 ? 5 : -5 });
        const from = await frame();
        let to = from;
        for (let i = 0; i < 120; i++) {
            step(i);
            to = await frame();
        }
        const waits = [];
        for (let i = 0; i < 20; i++) {
            for (let rest = 0; rest < 3; rest++) await frame();
            const start = performance.now();
            step(i);
            await painted();
            waits.push(performance.now() - start);
        }
        return [120e3 / (to - from), Math.max(...waits)];
    })().then(done, (error) => done(String(error)));";

fn print(group: &str, what: &str, value: f64, unit: &str, budget: &str) {
    println!("bench\t{group}\t{what}\t{value}\t{unit}\t{budget}");
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

struct Bench {
    page: Page,
    driver: Driver,
    folder: PathBuf,
}

/// Reads the command line and measures.
pub async fn run(arguments: &[String]) -> Outcome {
    let (folder, only) = match arguments {
        [folder] => (folder, ""),
        [folder, only] if ["cards", "frames"].contains(&only.as_str()) => (folder, only.as_str()),
        _ => return fail("usage: bench FOLDER [cards|frames], as `cargo xtask bench` makes it"),
    };
    let server = Server::start(&dist())?;
    let driver = Driver::start()?;
    let page = Page::new(session(&driver).await?, &server.url, &dist());
    let bench = Bench { page, driver, folder: folder.into() };
    let done = match only {
        "cards" => bench.findings().await,
        "frames" => bench.frames().await,
        _ => bench.all().await,
    };
    bench.page.close().await;
    done
}

impl Bench {
    async fn all(&self) -> Outcome {
        self.page.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": WATCH })).await?;
        self.start().await?;
        self.first_flame().await?;
        self.packed_and_small().await?;
        self.one_trace().await?;
        self.questions().await?;
        self.findings().await?;
        self.frames().await
    }

    /// How smoothly large charts are moved, and how soon a step is seen.
    async fn frames(&self) -> Outcome {
        self.workers(2).await?;
        tree(&self.file("tree.json"), 300, 333)?;
        requests(&self.file("endpoints.json"), 10_000, 1000)?;
        let charts = [
            ("flame graph of 100,000 frames", "view=flame&reading=plain", "tree.json", "flame"),
            (
                "heat map of 1,000 endpoints and 10,000 requests",
                "view=heatmap&reading=plain",
                "endpoints.json",
                "heat",
            ),
            ("timeline of 1,000,000 spans", "view=trace", "fan-out.json", "timeline"),
        ];
        for (what, fragment, file, canvas) in charts {
            self.page.open(fragment).await?;
            self.page.state("empty").await?;
            self.page.drop_files(&[self.file(file)]).await?;
            self.page.ready_within(PATIENCE).await?;
            let selector = json!(format!("[data-test='{canvas}']"));
            let answer = self.page.client().execute_async(PAN, vec![selector]).await?;
            let (Some(frames), Some(wait_ms)) = (answer[0].as_f64(), answer[1].as_f64()) else {
                return fail(format!("{what}: {answer}"));
            };
            let group = "Large charts in Chromium, moved";
            print(group, what, frames, "frames/s", "> 58");
            print(
                group,
                &format!("{what}, a step until it is painted, the slowest of 20"),
                wait_ms,
                "ms",
                "< 50",
            );
        }
        Ok(())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Megabytes of a file, or of all files of a folder.
    fn megabytes(&self, name: &str) -> Outcome<f64> {
        let path = self.file(name);
        let facts = std::fs::metadata(&path)?;
        let mut bytes = facts.len();
        if facts.is_dir() {
            bytes = 0;
            for entry in std::fs::read_dir(&path)? {
                bytes += entry?.metadata()?.len();
            }
        }
        Ok(bytes as f64 / 1e6)
    }

    async fn workers(&self, workers: u32) -> Outcome {
        let count = json!({ "hardwareConcurrency": workers });
        self.page.devtools("Emulation.setHardwareConcurrencyOverride", count).await.map(drop)
    }

    /// Waits until the page was done and quiet for a while; milliseconds from the last start.
    async fn done(&self, what: &str) -> Outcome<f64> {
        let script = "return bench.done !== null && performance.now() - bench.done > QUIET ? bench.done - bench.start : null"
            .replace("QUIET", &QUIET_MS.to_string());
        let done = self.page.until_within(PATIENCE, what, &script, Value::is_number).await?;
        done.as_f64().ok_or_else(|| Failure(format!("{what}: no time")))
    }

    /// Opens the page afresh and drops files; milliseconds to the picture of the view.
    async fn drop(&self, fragment: &str, names: &[&str]) -> Outcome<f64> {
        self.page.open(fragment).await?;
        self.page.state("empty").await?;
        tokio::time::sleep(HAND).await;
        let files: Vec<PathBuf> = names.iter().map(|name| self.file(name)).collect();
        self.page.drop_files(&files).await?;
        self.done(&format!("{} to be shown", names.join(", "))).await
    }

    async fn drops(&self, fragment: &str, names: &[&str]) -> Outcome<f64> {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(self.drop(fragment, names).await?);
        }
        Ok(median(rounds))
    }

    /// Opens the page with these files in an input of it.
    async fn choose(&self, names: &[&str]) -> Outcome {
        self.page.open("").await?;
        let input = "const input = document.createElement('input'); input.type = 'file'; input.id = 'bench-file'; \
                     input.multiple = true; document.body.append(input)";
        self.page.run(input).await?;
        let client = self.page.client();
        let mut paths = Vec::new();
        for name in names {
            paths.push(self.file(name).canonicalize()?.to_string_lossy().into_owned());
        }
        Ok(client.find(Locator::Css("#bench-file")).await?.send_keys(&paths.join("\n")).await?)
    }

    /// Milliseconds of `JSON.parse` of files, all at once, each in a worker of the page.
    async fn parse(&self, names: &[&str]) -> Outcome<f64> {
        self.choose(names).await?;
        let answer = self.page.client().execute_async(PARSE, Vec::new()).await?;
        answer.as_f64().ok_or_else(|| Failure(format!("JSON.parse of {}: {answer}", names.join(", "))))
    }

    async fn start(&self) -> Outcome {
        let mut rounds = Vec::new();
        for _ in 0..5 {
            self.page.open("").await?;
            self.page.state("empty").await?;
            rounds.push(self.page.run("return bench.usable").await?.as_f64().unwrap_or(f64::NAN));
        }
        print("Page", "start to usable, local", median(rounds), "ms", "< 300");
        Ok(())
    }

    async fn first_flame(&self) -> Outcome {
        let group = "From drop to first flame graph";
        let parse_ms = self.parse(&["quarter.json"]).await?;
        let megabytes = self.megabytes("quarter.json")?;
        print(group, "JSON.parse alone, 250,000 spans", parse_ms, "ms", "");
        print(group, "JSON.parse alone", megabytes / parse_ms * 1e3, "MB/s", "");
        let halves_parse_ms = self.parse(&["half-a.json"]).await? + self.parse(&["half-b.json"]).await?;
        let at_once_ms = self.parse(&["half-a.json", "half-b.json"]).await?;
        print(
            group,
            "JSON.parse of two files at once against one after the other",
            halves_parse_ms / at_once_ms,
            "times",
            "",
        );
        let mut one_ms = f64::NAN;
        for (workers, budget) in [(1, "> 2"), (2, "> 3.5")] {
            self.workers(workers).await?;
            let ms = self.drops("view=flame", &["quarter.json"]).await?;
            let times = match workers {
                1 => "one worker".to_owned(),
                n => format!("{n} workers"),
            };
            print(group, &format!("{times}, one file"), ms, "ms", "");
            print(group, &format!("{times}, one file"), megabytes / ms * 1e3, "MB/s", "");
            print(group, &format!("{times}, one file, against JSON.parse"), parse_ms / ms, "times", budget);
            let ms = self.drops("view=flame", &["half-a.json", "half-b.json"]).await?;
            print(
                group,
                &format!("{times}, two files, against JSON.parse"),
                halves_parse_ms / ms,
                "times",
                budget,
            );
            if workers == 1 {
                one_ms = ms;
            } else {
                print(group, "two workers against one, two files", one_ms / ms, "times", "");
            }
        }
        let ms = self.drops("view=flame", &["hundred-thousand.json"]).await?;
        print(group, "100,000 spans", ms, "ms", "< 500");
        Ok(())
    }

    async fn packed_and_small(&self) -> Outcome {
        let group = "Packed and small files";
        let megabytes = self.megabytes("hundred-thousand.json")?;
        let unpack = "const [done] = arguments; const start = performance.now(); \
             new Response(document.querySelector('#bench-file').files[0].stream().pipeThrough(new DecompressionStream('gzip'))) \
             .arrayBuffer().then(() => done(performance.now() - start), (error) => done(String(error)))";
        self.choose(&["hundred-thousand.json.gz"]).await?;
        let answer = self.page.client().execute_async(unpack, Vec::new()).await?;
        let unpack_ms = answer.as_f64().ok_or_else(|| Failure(format!("DecompressionStream: {answer}")))?;
        print(group, "DecompressionStream alone", megabytes / unpack_ms * 1e3, "MB/s unpacked", "");
        let ms = self.drops("view=flame", &["hundred-thousand.json.gz"]).await?;
        print(group, "gz, drop to first flame graph", megabytes / ms * 1e3, "MB/s unpacked", "");
        let megabytes = self.megabytes("small")?;
        for workers in [1, 2] {
            self.workers(workers).await?;
            let ms = self.drops("view=flame", &["small"]).await?;
            let files = std::fs::read_dir(self.file("small"))?.count();
            let what = format!("{files} files of 50 spans, workers: {workers}");
            print(group, &what, megabytes / ms * 1e3, "MB/s", "");
        }
        Ok(())
    }

    async fn one_trace(&self) -> Outcome {
        for name in ["fan-out", "chain", "mixed"] {
            let ms = self.drop("view=trace", &[&format!("{name}.json")]).await?;
            let what = format!("{name}, drop to timeline");
            print("One trace of 1,000,000 spans", &what, ms, "ms", "< 4000");
        }
        Ok(())
    }

    /// Every view of a million spans, through the address as a link would, and then changes of what it is about.
    async fn questions(&self) -> Outcome {
        let group = "Views of 1,000,000 spans, two workers, drawn";
        let ms = self.drop("view=flame", &["million.json"]).await?;
        let megabytes = self.megabytes("million.json")?;
        print(group, "drop to first flame graph", megabytes / ms * 1e3, "MB/s", "");
        self.go("view=findings").await?;
        let memory = self.page.number("[data-test='memory']", "data-value").await?;
        let spans = self.page.number("[data-test='spans']", "data-value").await?;
        print(group, "memory of a span, tags interned", memory / spans, "bytes", "< 56");
        print(group, "memory of the renderer", renderer_bytes(self.driver.id())? / 1e6, "MB", "");
        let steps = [
            ("another percentile range", "view=flame&range=P95-99", "< 300"),
            ("a third percentile range", "view=flame&range=P50-95", "< 300"),
            ("change of filter", "view=flame&error=1", "< 300"),
            ("another filter", "view=flame&tag.region=eu-west-1", "< 300"),
            (
                "change of endpoint",
                "view=flame&service=edge-gateway&operation=GET%20/product/%7Bid%7D",
                "< 300",
            ),
            ("heat map", "view=heatmap", "< 500"),
            ("endpoints of a band", "view=endpoints&range=P50-95", "< 500"),
            ("endpoints of all, with what faster ones would save", "view=endpoints", ""),
            ("errors", "view=errors", ""),
            ("execution flow", "view=flow", ""),
            ("tprof, four layers and report", "view=diagnosis", "< 2000"),
            ("anomalies", "view=anomalies", ""),
            ("requests", "view=requests", ""),
        ];
        for (what, fragment, budget) in steps {
            match self.go(fragment).await? {
                Some(ms) => print(group, what, ms, "ms", budget),
                None => eprintln!("{what}: the page has no such view, or asked nothing"),
            }
        }
        Ok(())
    }

    /// From the end of a load to the findings of it.
    async fn findings(&self) -> Outcome {
        self.workers(2).await?;
        let (mut first, mut all) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            self.page.open("view=findings").await?;
            self.page.state("empty").await?;
            self.page.run(WATCH_FINDINGS).await?;
            tokio::time::sleep(HAND).await;
            self.page.drop_files(&[self.file("million.json")]).await?;
            let script = "const { read, first, all } = window.cards; \
                          return all === null ? null : [first - read, all - read]";
            let times = self.page.until_within(PATIENCE, "all findings", script, Value::is_array).await?;
            first.push(times[0].as_f64().unwrap_or(f64::NAN));
            all.push(times[1].as_f64().unwrap_or(f64::NAN));
        }
        let group = "Findings of 1,000,000 spans, two workers, from the end of the load";
        print(group, "first findings", median(first), "ms", "< 1000");
        print(group, "all findings", median(all), "ms", "< 5000");
        Ok(())
    }

    /// Milliseconds from following a link to its picture; `None` if the page does not have the view.
    async fn go(&self, fragment: &str) -> Outcome<Option<f64>> {
        let script = format!(
            "bench.done = null; bench.start = performance.now(); location.hash = {}",
            json!(fragment)
        );
        self.page.run(&script).await?;
        let view = fragment.split('&').next().unwrap_or_default().trim_start_matches("view=");
        self.page.settled().await?;
        if self.page.run("return document.documentElement.dataset.view").await? != view {
            return Ok(None);
        }
        // A view whose questions were all answered before is done as it is drawn.
        let script = "const { state, busy } = document.documentElement.dataset; \
                      if (state === 'ready' && busy === 'false') bench.done ??= performance.now()";
        self.page.run(script).await?;
        self.done(fragment).await.map(Some)
    }
}

/// A name of letters alone: numbers would make templates of names.
fn name(mut number: u32) -> String {
    let mut letters = String::new();
    loop {
        letters.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return letters;
        }
    }
}

/// A span of Jaeger JSON; parents come first.
fn span(trace: u32, id: u32, parent: Option<u32>, operation: &str, (start_us, us): (u64, u64)) -> Value {
    let parent = parent.map(|parent| {
        json!({ "refType": "CHILD_OF", "traceID": format!("{trace:x}"), "spanID": format!("{parent:x}") })
    });
    json!({
        "traceID": format!("{trace:x}"), "spanID": format!("{id:x}"), "operationName": operation, "processID": "p1",
        "references": parent.into_iter().collect::<Vec<Value>>(), "startTime": 1_700_000_000_000_000 + start_us,
        "duration": us, "tags": [], "logs": [],
    })
}

/// Writes traces unless they are there.
fn write(path: &Path, traces: impl Iterator<Item = (u32, Vec<Value>)>) -> Outcome {
    if path.is_file() {
        return Ok(());
    }
    let traces: Vec<Value> = traces
        .map(|(trace, spans)| {
            let processes = json!({ "p1": { "serviceName": "service", "tags": [] } });
            json!({ "traceID": format!("{trace:x}"), "spans": spans, "processes": processes })
        })
        .collect();
    Ok(std::fs::write(path, json!({ "data": traces }).to_string())?)
}

/// One trace of calls one after the other that each make calls one after the other, all of other names.
fn tree(path: &Path, calls: u32, each: u32) -> Outcome {
    let us = 10 * u64::from(each);
    let mut spans = vec![span(1, 1, None, "root", (0, us * u64::from(calls)))];
    for call in 0..calls {
        let (id, start_us) = (2 + call * (each + 1), us * u64::from(call));
        spans.push(span(1, id, Some(1), &name(id), (start_us, us)));
        let inner = (0..each).map(|at| {
            let own = id + 1 + at;
            span(1, own, Some(id), &name(own), (start_us + 10 * u64::from(at), 10))
        });
        spans.extend(inner);
    }
    write(path, std::iter::once((1, spans)))
}

/// Requests that each call ten of the endpoints, one after the other.
fn requests(path: &Path, requests: u32, endpoints: u32) -> Outcome {
    let request = |trace: u32| {
        let calls = (0..10).map(|at| {
            let us = u64::from(50 + (trace * 31 + at * 977) % 200);
            span(trace, 2 + at, Some(1), &name((trace * 7 + at * 53) % endpoints), (300 * u64::from(at), us))
        });
        let root = span(trace, 1, None, "root", (0, 6000));
        (trace, std::iter::once(root).chain(calls).collect::<Vec<Value>>())
    };
    write(path, (1..=requests).map(request))
}

/// Bytes that the largest renderer below a process holds.
fn renderer_bytes(ancestor: u32) -> Outcome<f64> {
    let field = |status: &str, key: &str| -> Option<u64> {
        status.lines().find_map(|line| line.strip_prefix(key))?.trim().trim_end_matches(" kB").parse().ok()
    };
    let mut largest = 0;
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(mut process) = entry.file_name().to_str().and_then(|name| name.parse::<u64>().ok()) else {
            continue;
        };
        let status =
            |process: u64| std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let command =
            std::fs::read(Path::new("/proc").join(process.to_string()).join("cmdline")).unwrap_or_default();
        if !String::from_utf8_lossy(&command).contains("--type=renderer") {
            continue;
        }
        let resident = field(&status(process), "VmRSS:").unwrap_or(0);
        while process > 1 && process != u64::from(ancestor) {
            process = field(&status(process), "PPid:").unwrap_or(0);
        }
        if process == u64::from(ancestor) {
            largest = largest.max(resident);
        }
    }
    Ok(largest as f64 * 1024.0)
}
