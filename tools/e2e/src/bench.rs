//! `cargo run -p e2e -- bench FOLDER [PART]`: the built page measured in a real browser, from drop to picture, beside
//! `text()` and `JSON.parse` of the same bytes in a worker of the same page. Driven by `cargo xtask bench`, which makes the files of
//! `FOLDER`.
//!
//! A row of results is a line that begins with `bench`: group, what, value, unit and budget, separated by tabs.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use e2e::browser::{Page, session_with};
use e2e::failure::{Failure, Outcome, fail};
use e2e::process::{Driver, Server, dist, renderer_bytes, single};
use fantoccini::Locator;
use serde_json::{Value, json};

use crate::bench_files::{requests, tree};
use crate::threads::{Moment, Spent};

/// What no step takes, however slow the machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Milliseconds that the page must be quiet before a step counts as done.
const QUIET_MS: f64 = 400.0;

/// How long a page is open before something is dropped on it: nobody's hand is faster.
const HAND: Duration = Duration::from_secs(1);

/// Rounds of what is measured more than once.
const ROUNDS: usize = 3;

/// Notes the times of the page itself: when a drop comes, when everything asked was answered and drawn, and when a timeline
/// last had other spans or a flame graph last came to be of all that was asked. Chromium paints after the second animation
/// frame at the latest.
const WATCH: &str = "
    window.bench = { start: 0, done: null, usable: null, spans: null, nodes: null };
    addEventListener('drop', () => { bench.start = performance.now(); bench.done = null; }, true);
    const note = (name) => requestAnimationFrame(() => requestAnimationFrame(() => {
        bench[name] = performance.now();
    }));
    new MutationObserver((changes) => {
        for (const { attributeName, oldValue, target } of changes) {
            if (attributeName === 'data-spans') note('spans');
            else if (oldValue === null && target.dataset.nodes !== undefined) note('nodes');
        }
    }).observe(document, {
        subtree: true, attributes: true, attributeOldValue: true, attributeFilter: ['data-spans', 'data-nodes'],
    });
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

/// What a page without Pathlight would do with the chosen files, each in a worker of its own: `text()` and `JSON.parse` of
/// the file, then `JSON.parse` alone of the text it holds. All at once, or in turn. Answers with the milliseconds of both.
const PEER: &str = "
    const [at_once, done] = arguments;
    const code = `let text;
    onmessage = async ({ data }) => {
        if (data) text = await data.text();
        if (text) JSON.parse(text);
        postMessage(null);
    }`;
    const url = URL.createObjectURL(new Blob([code]));
    const workers = [...document.querySelector('#bench-file').files].map((file) => [new Worker(url), file]);
    const one = ([worker, file], message) => new Promise((resolve, reject) => {
        worker.onmessage = resolve;
        worker.onerror = ({ message }) => reject(message);
        worker.postMessage(message(file));
    });
    const all = async (message) => {
        if (at_once) return Promise.all(workers.map((worker) => one(worker, message)));
        for (const worker of workers) await one(worker, message);
    };
    (async () => {
        await all(() => null);
        const times = [];
        for (const message of [(file) => file, () => null]) {
            const start = performance.now();
            await all(message);
            times.push(performance.now() - start);
        }
        workers.forEach(([worker]) => worker.terminate());
        return times;
    })().then(done, (error) => done(String(error)));";

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

/// Prints how long the browser waited for a processor, which says little by itself (on two cores its own threads wait for each
/// other), and what other work took, which must not be much.
fn print_waits(group: &str, what: &str, spent: &Spent) {
    print(group, &format!("{what}time waited for a processor"), spent.waited_percent(), "%", "");
    print(group, &format!("{what}taken by other work"), spent.others_percent(), "%", "< 10");
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

struct Bench {
    page: Page,
    driver: Driver,
    folder: PathBuf,
    /// Processor time of what was watched since it was last printed.
    spent: Cell<Spent>,
}

/// Reads the command line and measures.
pub async fn run(arguments: &[String]) -> Outcome {
    let (folder, only) = match arguments {
        [folder] => (folder, ""),
        [folder, only] => (folder, only.as_str()),
        _ => {
            return fail(
                "usage: bench FOLDER [drop|cards|frames|memory|packed|trace], as `cargo xtask bench` makes it",
            );
        }
    };
    let server = Server::start(&dist())?;
    let driver = Driver::start()?;
    // Pages that one could go back to keep all their memory, in processes of their own.
    let session = session_with(&driver, &["--disable-features=BackForwardCache"]).await?;
    let page = Page::new(session, &server.url, &dist());
    let bench = Bench { page, driver, folder: folder.into(), spent: Cell::default() };
    bench.watch().await?;
    let done = match only {
        "" => bench.all().await,
        "drop" => bench.until_flame().await,
        "cards" => bench.findings().await,
        "frames" => bench.frames().await,
        "memory" => bench.five_million().await,
        "packed" => bench.packed_and_small().await,
        "trace" => bench.one_trace().await,
        _ => fail(format!("there is no part {only}")),
    };
    bench.page.close().await;
    done
}

impl Bench {
    /// Lets every page note when it is done.
    async fn watch(&self) -> Outcome {
        self.page.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": WATCH })).await?;
        Ok(())
    }

    async fn all(&self) -> Outcome {
        self.until_flame().await?;
        self.packed_and_small().await?;
        self.one_trace().await?;
        self.five_million().await?;
        self.questions().await?;
        self.abnormal_requests().await?;
        self.findings().await?;
        self.frames().await
    }

    /// Prints how long the browser ran and waited in what was measured of a group, and what other work took meanwhile.
    fn print_spent(&self, group: &str) {
        let spent = self.spent.take();
        print(group, "processor time of the browser, all rounds", spent.ran_ms, "ms", "");
        print_waits(group, "", &spent);
    }

    /// Does something and adds the processor time spent meanwhile, which it returns too.
    async fn watched<T>(&self, work: impl Future<Output = Outcome<T>>) -> Outcome<(T, Spent)> {
        let before = Moment::now(self.driver.id())?;
        let done = work.await?;
        let spent = before.spent()?;
        let mut all = self.spent.get();
        all += spent;
        self.spent.set(all);
        Ok((done, spent))
    }

    /// Measures how smoothly large charts are moved, and how soon a step is seen.
    async fn frames(&self) -> Outcome {
        let group = "Large charts in Chromium, moved";
        self.spent.take();
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
            let client = self.page.client();
            let pan = async { Ok(client.execute_async(PAN, vec![selector]).await?) };
            let (answer, _) = self.watched(pan).await?;
            let (Some(frames), Some(wait_ms)) = (answer[0].as_f64(), answer[1].as_f64()) else {
                return fail(format!("{what}: {answer}"));
            };
            print(group, what, frames, "frames/s", "> 58");
            print(
                group,
                &format!("{what}, a step until it is painted, the slowest of 20"),
                wait_ms,
                "ms",
                "< 50",
            );
        }
        self.print_spent(group);
        Ok(())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the megabytes of a file, or of all files of a folder.
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

    /// Goes to a page of the browser itself, so that the next page has a process that holds nothing of those before.
    async fn leave(&self) -> Outcome {
        self.page.devtools("Page.navigate", json!({ "url": "chrome://version" })).await?;
        tokio::time::sleep(HAND).await;
        Ok(())
    }

    /// Opens the page afresh and drops files; milliseconds to the picture of the view.
    async fn drop(&self, fragment: &str, names: &[&str]) -> Outcome<f64> {
        Ok(self.drop_watched(fragment, names).await?.0)
    }

    /// Does the same; also returns the processor time spent meanwhile.
    async fn drop_watched(&self, fragment: &str, names: &[&str]) -> Outcome<(f64, Spent)> {
        self.page.open(fragment).await?;
        self.page.state("empty").await?;
        tokio::time::sleep(HAND).await;
        let files: Vec<PathBuf> = names.iter().map(|name| self.file(name)).collect();
        let shown = async {
            self.page.drop_files(&files).await?;
            self.done(&format!("{} to be shown", names.join(", "))).await
        };
        self.watched(shown).await
    }

    /// Opens the page afresh and drops files; milliseconds to the flame graph, and to the first finding above it, which is
    /// asked for last, and the processor time spent meanwhile.
    async fn flame(&self, names: &[&str]) -> Outcome<(f64, f64, Spent)> {
        let (all_ms, spent) = self.drop_watched("view=flame", names).await?;
        let ms = self.page.run("return bench.nodes - bench.start").await?;
        let ms = ms.as_f64().ok_or_else(|| Failure(format!("{}: no flame graph", names.join(", "))))?;
        Ok((ms, all_ms, spent))
    }

    /// Returns the median of the milliseconds to the flame graph.
    async fn flames(&self, names: &[&str]) -> Outcome<f64> {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(self.flame(names).await?.0);
        }
        Ok(median(rounds))
    }

    /// Drops files with these workers and has them parsed without Pathlight, by turns; prints what was measured.
    async fn against_peer(
        &self,
        workers: u32,
        names: &[&str],
        what: &str,
        budgets: [&str; 2],
    ) -> Outcome<f64> {
        let group = "From drop to first flame graph";
        let mut megabytes = 0.0;
        for name in names {
            megabytes += self.megabytes(name)?;
        }
        let mut figures: [Vec<f64>; 7] = Default::default();
        for _ in 0..ROUNDS {
            let [whole_ms, parse_ms] = self.peer(names, false).await?;
            self.workers(workers).await?;
            let (ms, all_ms, spent) = self.flame(names).await?;
            let round = [ms, all_ms, spent.ran_ms, whole_ms, parse_ms, whole_ms / ms, parse_ms / ms];
            figures.iter_mut().zip(round).for_each(|(figures, figure)| figures.push(figure));
        }
        let [ms, all_ms, ran_ms, whole_ms, parse_ms, against_whole, against_parse] = figures.map(median);
        print(group, what, ms, "ms", "");
        print(group, &format!("{what}, with the first finding above it"), all_ms, "ms", "");
        print(group, what, megabytes / ms * 1e3, "MB/s", "");
        print(group, &format!("{what}, processor time of the browser"), ran_ms, "ms", "");
        print(group, &format!("{what}: text() and JSON.parse without Pathlight"), whole_ms, "ms", "");
        print(group, &format!("{what}: JSON.parse alone"), parse_ms, "ms", "");
        print(group, &format!("{what}, against text() and JSON.parse"), against_whole, "times", budgets[0]);
        print(group, &format!("{what}, against JSON.parse"), against_parse, "times", budgets[1]);
        print_waits(group, &format!("{what}: "), &self.spent.take());
        Ok(ms)
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

    /// Returns the milliseconds of `text()` and `JSON.parse` of files, and of `JSON.parse` alone.
    async fn peer(&self, names: &[&str], at_once: bool) -> Outcome<[f64; 2]> {
        self.choose(names).await?;
        let answer = self.page.client().execute_async(PEER, vec![json!(at_once)]).await?;
        match (answer[0].as_f64(), answer[1].as_f64()) {
            (Some(whole_ms), Some(parse_ms)) => Ok([whole_ms, parse_ms]),
            _ => fail(format!("JSON.parse of {}: {answer}", names.join(", "))),
        }
    }

    async fn until_flame(&self) -> Outcome {
        self.start().await?;
        self.first_flame().await
    }

    async fn start(&self) -> Outcome {
        let pages = [
            ("", "start to usable, local", "< 200"),
            (&single()?, "start to usable of pathlight.html, from disk", ""),
        ];
        for (address, what, budget) in pages {
            let mut rounds = Vec::new();
            for _ in 0..5 {
                let opened = async {
                    self.page.open(address).await?;
                    self.page.state("empty").await
                };
                self.watched(opened).await?;
                rounds.push(self.page.run("return bench.usable").await?.as_f64().unwrap_or(f64::NAN));
            }
            print("Page", what, median(rounds), "ms", budget);
        }
        self.print_spent("Page");
        Ok(())
    }

    async fn first_flame(&self) -> Outcome {
        let group = "From drop to first flame graph";
        let (one, two) = (&["quarter.json"][..], &["half-a.json", "half-b.json"][..]);
        self.against_peer(1, one, "one worker, one file", ["> 2.5", "> 1.6"]).await?;
        self.against_peer(2, one, "two workers, one file", ["> 3.3", ""]).await?;
        let one_ms = self.against_peer(1, two, "one worker, two files", ["> 2.5", "> 1.6"]).await?;
        let two_ms = self.against_peer(2, two, "two workers, two files", ["> 3.3", ""]).await?;
        print(group, "two workers against one, two files", one_ms / two_ms, "times", "");
        let [in_turn, at_once] = [self.peer(two, false).await?, self.peer(two, true).await?];
        let times = in_turn[1] / at_once[1];
        print(group, "JSON.parse of two files at once against one after the other", times, "times", "");
        let ms = self.flames(&["hundred-thousand.json"]).await?;
        print(group, "100,000 spans", ms, "ms", "< 400");
        print_waits(group, "100,000 spans: ", &self.spent.take());
        Ok(())
    }

    async fn packed_and_small(&self) -> Outcome {
        let group = "Packed and small files";
        let unpack = "const [done] = arguments; const start = performance.now(); \
             new Response(document.querySelector('#bench-file').files[0].stream().pipeThrough(new DecompressionStream('gzip'))) \
             .arrayBuffer().then(() => done(performance.now() - start), (error) => done(String(error)))";
        for (what, name) in [("100,000 spans", "hundred-thousand.json"), ("1,000,000 spans", "million.json")]
        {
            let (megabytes, packed) = (self.megabytes(name)?, format!("{name}.gz"));
            let (mut alone, mut whole) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                self.choose(&[&packed]).await?;
                let answer = self.page.client().execute_async(unpack, Vec::new()).await?;
                let ms = answer.as_f64();
                alone.push(ms.ok_or_else(|| Failure(format!("DecompressionStream: {answer}")))?);
                whole.push(self.flame(&[&packed]).await?.0);
            }
            let (alone_ms, whole_ms) = (median(alone), median(whole));
            let row = |what: &str, ms: f64| print(group, what, megabytes / ms * 1e3, "MB/s unpacked", "");
            row(&format!("{what}, gz: DecompressionStream alone"), alone_ms);
            row(&format!("{what}, gz: drop to first flame graph"), whole_ms);
            let ratio = format!("{what}, gz: drop to first flame graph, against DecompressionStream");
            print(group, &ratio, alone_ms / whole_ms, "times", "> 1");
        }
        let megabytes = self.megabytes("small")?;
        for workers in [1, 2] {
            self.workers(workers).await?;
            let ms = self.flames(&["small"]).await?;
            let files = std::fs::read_dir(self.file("small"))?.count();
            let what = format!("{files} files of 50 spans, workers: {workers}");
            print(group, &what, megabytes / ms * 1e3, "MB/s", "> 60");
        }
        self.print_spent(group);
        Ok(())
    }

    async fn one_trace(&self) -> Outcome {
        let group = "One trace of 1,000,000 spans";
        for name in ["fan-out", "chain", "mixed"] {
            // By turns, so that both see the same machine.
            let (mut one, mut two, mut all) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                for (workers, shown) in [(1, &mut one), (2, &mut two)] {
                    self.workers(workers).await?;
                    let all_ms = self.drop("view=trace", &[&format!("{name}.json")]).await?;
                    let ms = self.page.run("return bench.spans - bench.start").await?;
                    shown.push(ms.as_f64().ok_or_else(|| Failure(format!("{name}: no timeline")))?);
                    if workers == 2 {
                        all.push(all_ms);
                    }
                }
            }
            let (one, two) = (median(one), median(two));
            print(group, &format!("{name}, drop to timeline"), two, "ms", "< 3000");
            print(group, &format!("{name}, drop to timeline, one worker"), one, "ms", "");
            print(
                group,
                &format!("{name}, drop to timeline, two workers against one"),
                one / two,
                "times",
                "",
            );
            print(group, &format!("{name}, drop to drag and slack of all spans"), median(all), "ms", "");
        }
        self.print_spent(group);
        Ok(())
    }

    async fn five_million(&self) -> Outcome {
        let group = "5,000,000 spans, two workers";
        self.workers(2).await?;
        self.leave().await?;
        let ms = self.flame(&["five-million.json"]).await?.0;
        print(group, "text", self.megabytes("five-million.json")?, "MB", "");
        print(group, "drop to first flame graph", ms / 1e3, "s", "< 9");
        self.print_spent(group);
        print(group, "memory of the renderer", renderer_bytes() as f64 / 1e6, "MB", "< 700");
        Ok(())
    }

    /// Measures every view of a million spans, through the address as a link would, and then changes of what it is
    /// about.
    async fn questions(&self) -> Outcome {
        let group = "Views of 1,000,000 spans, two workers, drawn";
        self.leave().await?;
        self.spent.take();
        let ms = self.flame(&["million.json"]).await?.0;
        let megabytes = self.megabytes("million.json")?;
        print(group, "drop to first flame graph", megabytes / ms * 1e3, "MB/s", "");
        self.go("view=findings").await?;
        let memory = self.page.number("[data-test='memory']", "data-value").await?;
        let spans = self.page.number("[data-test='spans']", "data-value").await?;
        print(group, "memory of a span, tags interned", memory / spans, "bytes", "< 48");
        print(group, "memory of the renderer", renderer_bytes() as f64 / 1e6, "MB", "");
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
            ("endpoints of a percentile range", "view=endpoints&range=P50-95", "< 500"),
            ("endpoints of all, with what faster ones would save", "view=endpoints", ""),
            ("errors", "view=errors", ""),
            ("execution flow", "view=flow", ""),
            ("tprof, four layers and report", "view=diagnosis", "< 2000"),
            ("anomalies", "view=anomalies", ""),
            ("requests", "view=requests", ""),
        ];
        for (what, fragment, budget) in steps {
            match self.watched(self.go(fragment)).await?.0 {
                Some(ms) => print(group, what, ms, "ms", budget),
                None => eprintln!("{what}: the page has no such view, or asked nothing"),
            }
        }
        self.print_spent(group);
        Ok(())
    }

    /// Measures the time from the question which of 20,000 requests are abnormal to its answer, drawn.
    async fn abnormal_requests(&self) -> Outcome {
        self.workers(2).await?;
        self.drop("view=flame", &["twenty-thousand.json"]).await?;
        self.spent.take();
        match self.watched(self.go("view=anomalies")).await?.0 {
            Some(ms) => {
                let group = "Abnormal requests among 20,000 of 50 spans";
                print(group, "two workers: train and judge, drawn", ms, "ms", "< 2000");
                self.print_spent(group);
                Ok(())
            }
            None => fail("the page has no view of anomalies, or asked nothing"),
        }
    }

    /// Measures the time from the end of a load to the findings of it.
    async fn findings(&self) -> Outcome {
        self.workers(2).await?;
        self.spent.take();
        let (mut first, mut all) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            self.page.open("view=findings").await?;
            self.page.state("empty").await?;
            self.page.run(WATCH_FINDINGS).await?;
            tokio::time::sleep(HAND).await;
            let files = [self.file("million.json")];
            let script = "const { read, first, all } = window.cards; \
                          return all === null ? null : [first - read, all - read]";
            let found = async {
                self.page.drop_files(&files).await?;
                self.page.until_within(PATIENCE, "all findings", script, Value::is_array).await
            };
            let (times, _) = self.watched(found).await?;
            first.push(times[0].as_f64().unwrap_or(f64::NAN));
            all.push(times[1].as_f64().unwrap_or(f64::NAN));
        }
        let group = "Findings of 1,000,000 spans, two workers, from the end of the load";
        print(group, "first findings", median(first), "ms", "< 1000");
        print(group, "all findings", median(all), "ms", "< 5000");
        self.print_spent(group);
        Ok(())
    }

    /// Returns the milliseconds from following a link to its picture; `None` if the page does not have the view.
    async fn go(&self, fragment: &str) -> Outcome<Option<f64>> {
        let script = format!(
            "bench.done = null; bench.start = performance.now(); location.hash = {}",
            json!(fragment)
        );
        self.page.run(&script).await?;
        let view = fragment.split('&').next().unwrap_or_default().trim_start_matches("view=");
        self.page.drawn().await?;
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
