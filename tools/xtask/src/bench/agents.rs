//! A scripted client of `pathlight mcp` that knows nothing of the data: how often it names the labelled service, in how many
//! tokens, and how long it waits.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use super::report::{Report, Row};
use super::{release_binary, sets};
use crate::{Outcome, sh};

/// What a question may take: calls, and tokens in all.
const CALLS: usize = 3;
const TOKENS: usize = 4000;
/// Faults made by the generator, each in another place.
const MADE: u64 = 20;
/// The fault: microseconds, in half of the requests.
const DELAY: &str = "50000@0.5";
/// Places that fewer requests have are not made slow: nobody would see it in so few of them.
const LEAST_SHARE: f64 = 0.1;

/// Sizes of made faults.
struct Size {
    /// Name of the folder.
    folder: &'static str,
    /// How many there are.
    faults: u64,
    /// Requests on each side.
    traces: u64,
    /// Spans of a request.
    spans: &'static str,
}

/// Many small ones.
const SMALL: Size = Size { folder: "small", faults: MADE, traces: 400, spans: "40" };
/// Few with five million spans on both sides together.
const LARGE: Size = Size { folder: "large", faults: 3, traces: 22_500, spans: "111" };

pub fn run(quick: bool, report: &mut Report) -> Outcome {
    let binary = release_binary()?;
    let real = labelled()?;
    if real.is_empty() {
        eprintln!("    no labelled sets: PATHLIGHT_DATA names the folder that has them");
    }
    score("labelled sets", &binary, &real, report)?;
    score("made faults", &binary, &made(&binary, &SMALL)?, report)?;
    let large =
        if quick { Size { traces: LARGE.traces / 20, folder: "large-quick", ..LARGE } } else { LARGE };
    score("made faults in five million spans", &binary, &made(&binary, &large)?, report)?;
    waits(&binary, "a million spans", &sets::million(quick)?, report)?;
    waits(&binary, "five million spans", &sets::five_million(quick)?, report)
}

/// A fault whose service is known.
struct Case {
    name: String,
    normal: PathBuf,
    fault: PathBuf,
    service: String,
    kind: String,
}

/// Returns the faults of `../shared/data`, or of the folder that `PATHLIGHT_DATA` names.
fn labelled() -> Outcome<Vec<Case>> {
    let data =
        std::env::var_os("PATHLIGHT_DATA").map_or_else(|| sh::root().join("../shared/data"), PathBuf::from);
    let mut cases = Vec::new();
    for set in ["onlineboutique-nezha-2022-08-22", "trainticket-nezha-2023-01-29"] {
        let Ok(folders) = std::fs::read_dir(data.join(set).join("cases")) else { continue };
        for folder in folders.filter_map(|entry| Some(entry.ok()?.path())) {
            let Ok(text) = std::fs::read(folder.join("label.json")) else { continue };
            let label: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
            let word = |key: &str| label[key].as_str().unwrap_or_default().to_owned();
            cases.push(Case {
                name: format!("{set}/{}", folder.file_name().unwrap_or_default().to_string_lossy()),
                normal: folder.join("normal.json.gz"),
                fault: folder.join("fault.json.gz"),
                service: word("culprit_service"),
                kind: word("fault_type"),
            });
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

/// Makes faults with the generator: each delays one place, which the seed picks.
fn made(binary: &Path, size: &Size) -> Outcome<Vec<Case>> {
    let folder = sh::target().join("bench/mcp").join(size.folder);
    sh::on(&folder, std::fs::create_dir_all(&folder))?;
    let generate = |words: &[&str]| {
        let mut command = sh::command(binary);
        command.args(["generate", "--spans", size.spans]).args(words);
        let output = command.output().map_err(|error| error.to_string())?;
        Ok::<_, String>(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let listed = generate(&["--list-places"])?;
    // Own work that some requests do: place, service, operation, number of the subspan, share of the requests.
    let places: Vec<Vec<&str>> = listed
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|fields| match fields.as_slice() {
            [_, _, _, part, share] => {
                *part != "gap" && share.parse().is_ok_and(|share: f64| share >= LEAST_SHARE)
            }
            _ => false,
        })
        .collect();
    let mut cases = Vec::new();
    let traces = size.traces.to_string();
    for seed in 1..=size.faults {
        // Numbers from a fixed sequence, so that places do not come in the order of the list.
        let at = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize % places.len().max(1);
        let Some([place, service, ..]) = places.get(at).map(Vec::as_slice) else {
            return Err("the generator lists no places".to_owned());
        };
        let [normal, fault] = ["normal", "fault"].map(|side| folder.join(format!("{side}-{seed}.json")));
        let [normal_text, fault_text] = [&normal, &fault].map(|path| path.to_string_lossy().into_owned());
        let [first, second] = [2 * seed, 2 * seed + 1].map(|seed| seed.to_string());
        let inject = format!("{place}=+{DELAY}");
        // What takes minutes is made once.
        if !normal.is_file() || !fault.is_file() {
            generate(&["--traces", &traces, "--seed", &first, "--out", &normal_text])?;
            generate(&["--traces", &traces, "--seed", &second, "--inject", &inject, "--out", &fault_text])?;
        }
        let service = (*service).to_owned();
        cases.push(Case { name: format!("made {seed}"), normal, fault, service, kind: inject });
    }
    Ok(cases)
}

/// What a client found, and what it took.
struct Found {
    service: String,
    calls: usize,
    tokens: usize,
}

impl Found {
    fn is_within(&self) -> bool {
        self.calls <= CALLS && self.tokens <= TOKENS
    }
}

/// Says how often the labelled service is named, with a baseline and with the faulty set alone, and what was missed.
fn score(group: &str, binary: &Path, cases: &[Case], report: &mut Report) -> Outcome {
    if cases.is_empty() {
        return Ok(());
    }
    let (mut with, mut alone, mut most) = (0, 0, 0);
    for case in cases {
        let [compared, single] = [Some(&case.normal), None]
            .map(|baseline| ask(binary, &case.fault, baseline.map(|path| path.as_path())));
        for (found, named, what) in
            [(compared?, &mut with, "with a baseline"), (single?, &mut alone, "alone")]
        {
            most = most.max(found.tokens);
            let is_found = found.service == case.service && found.is_within();
            *named += usize::from(is_found);
            if !is_found {
                eprintln!(
                    "    {} ({}, {}), {what}: {:?} in {} calls and {} tokens",
                    case.name, case.service, case.kind, found.service, found.calls, found.tokens
                );
            }
        }
    }
    let share = |named: usize| 100.0 * named as f64 / cases.len() as f64;
    let words =
        format!("{group}: service named within {CALLS} calls and {TOKENS} tokens, of {}", cases.len());
    report.add(Row::new("Agents", &format!("{words}, with a baseline"), share(with), "%", "> 95"));
    report.add(Row::new("Agents", &format!("{words}, the faulty set alone"), share(alone), "%", ""));
    report.add(Row::new(
        "Agents",
        &format!("{group}: most tokens of a conversation"),
        most as f64,
        "tokens",
        "< 4000",
    ));
    Ok(())
}

/// Asks which service is slow: what is loaded, then the difference if there is a baseline, and the findings if that names
/// none.
fn ask(binary: &Path, fault: &Path, baseline: Option<&Path>) -> Outcome<Found> {
    let folder = fault.parent().unwrap_or(Path::new("."));
    let mut client = Client::start(binary, folder, &[])?;
    let name = |path: &Path| path.to_string_lossy().into_owned();
    let mut load = json!({ "files": [name(fault)] });
    if let Some(baseline) = baseline {
        load["baseline"] = json!([name(baseline)]);
    }
    client.call("load", load)?;
    let mut service = String::new();
    if baseline.is_some() {
        let compared = client.call("compare", json!({}))?;
        service = compared["headline"]["service"].as_str().unwrap_or_default().to_owned();
    }
    if service.is_empty() {
        let found = client.call("findings", json!({ "budget": 1200 }))?;
        let named = |finding: &Value| finding["place"]["service"].as_str().map(str::to_owned);
        service = found["findings"].as_array().into_iter().flatten().find_map(named).unwrap_or_default();
    }
    Ok(Found { service, calls: client.calls, tokens: client.tokens })
}

/// Measures how long a client waits for first and for repeated answers over so many spans.
fn waits(binary: &Path, spans: &str, file: &str, report: &mut Report) -> Outcome {
    let file = Path::new(file);
    let folder = file.parent().unwrap_or(Path::new(".")).to_owned();
    let mut client = Client::start(binary, &folder, &[])?;
    let start = Instant::now();
    client.call("load", json!({ "files": [file.to_string_lossy()] }))?;
    report.add(Row::new("Agents", &format!("{spans}: load"), start.elapsed().as_secs_f64(), "s", ""));
    let heard = client.progress;
    report.add(Row::new(
        "Agents",
        &format!("{spans}: notifications of progress while loading"),
        heard as f64,
        "",
        "",
    ));
    let first = client.call("search", json!({}))?;
    let request = format!(
        "{}/{}",
        first["rows"][0]["trace_id"].as_str().unwrap_or_default(),
        first["rows"][0]["root_span_id"].as_str().unwrap_or_default()
    );
    for (tool, arguments, budget_ms) in [
        ("findings", json!({}), "< 5000"),
        ("overview", json!({}), ""),
        ("compare", json!({}), "< 500"),
        ("where_time_goes", json!({ "by": "endpoint" }), "< 500"),
        ("what_if", json!({ "target": "p99=1us" }), ""),
        ("search", json!({ "range": "tail" }), "< 300"),
        ("request", json!({ "request": request }), "< 300"),
        ("diagnose", json!({}), "< 2000"),
        ("abnormal", json!({}), "< 3000"),
    ] {
        // Budgets are for a million.
        let budgets = if spans.starts_with("a million") { [budget_ms, "< 300"] } else { [""; 2] };
        for (times, budget) in ["first answer", "the same again"].into_iter().zip(budgets) {
            let start = Instant::now();
            client.call(tool, arguments.clone())?;
            let ms = start.elapsed().as_secs_f64() * 1e3;
            report.add(Row::new("Agents", &format!("{spans}: {tool}, {times}"), ms, "ms", budget));
        }
    }
    Ok(())
}

/// A client over standard input and output.
struct Client {
    child: Child,
    input: ChildStdin,
    lines: BufReader<ChildStdout>,
    calls: usize,
    tokens: usize,
    progress: usize,
    number: u64,
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Client {
    fn start(binary: &Path, folder: &Path, args: &[&str]) -> Outcome<Client> {
        let mut command = Command::new(binary);
        command.arg("mcp").arg("--folder").arg(folder).args(args);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = spawned.map_err(|error| format!("cannot start {}: {error}", binary.display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the server has no input or output".to_owned());
        };
        let lines = BufReader::new(output);
        let mut client = Client { child, input, lines, calls: 0, tokens: 0, progress: 0, number: 0 };
        client.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" }
            }),
        )?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    fn send(&mut self, message: &Value) -> Outcome {
        writeln!(self.input, "{message}").and_then(|()| self.input.flush()).map_err(|error| error.to_string())
    }

    fn ask(&mut self, method: &str, params: Value) -> Outcome<Value> {
        self.number += 1;
        let id = self.number;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                return Err("the server has ended".to_owned());
            }
            let message: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
            if message["id"] == id {
                return Ok(message["result"].clone());
            }
            self.progress += usize::from(message["method"] == "notifications/progress");
        }
    }

    /// Calls a tool; returns its structured answer, and counts what it takes of a context.
    fn call(&mut self, tool: &str, arguments: Value) -> Outcome<Value> {
        let meta = json!({ "progressToken": self.number });
        let result =
            self.ask("tools/call", json!({ "name": tool, "arguments": arguments, "_meta": meta }))?;
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        if result["isError"] == true {
            return Err(format!("{tool}: {text}"));
        }
        let structured = result["structuredContent"].clone();
        self.calls += 1;
        self.tokens += (text.len() + structured.to_string().len()).div_ceil(3);
        Ok(structured)
    }
}
