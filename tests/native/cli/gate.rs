//! `check`, `trend` and the workflow of docs/ci.md, run by a local shell.
#![cfg(unix)]

use super::super::common::Scratch;
use pathlight::generate::{GenerateOptions, Inject, write_jaeger};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};

fn pathlight(folder: &Path, args: &[&str]) -> (Output, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathlight"));
    let output = command.current_dir(folder).args(args).stdin(Stdio::null()).output().unwrap();
    let status = output.status.code().unwrap();
    (output, status)
}

fn write(folder: &Path, name: &str, seed: u64, inject: Option<&str>) {
    let injects = inject.map(|text| text.parse::<Inject>().unwrap()).into_iter().collect();
    let mut text = Vec::new();
    write_jaeger(&GenerateOptions { traces: 400, seed, injects, ..GenerateOptions::demo() }, &mut text)
        .unwrap();
    fs::create_dir_all(folder.join(name)).unwrap();
    fs::write(folder.join(name).join("traces.json"), text).unwrap();
}

const DELAY: &str = "catalog:redis GET product_details:0=+40000";

#[test]
fn as_many_abnormal_requests_as_are_named_give_an_exit_status() {
    let folder = Scratch::new("abnormal");
    write(folder.path(), "a", 1, None);
    write(folder.path(), "b", 2, Some(DELAY));
    let judge = |more: &[&str]| {
        pathlight(folder.path(), &[&["anomaly", "--train", "a", "--test", "b", "--json"], more].concat())
    };
    let (output, status) = judge(&[]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let abnormal = report["abnormal_by_one_test"].as_u64().unwrap();
    assert!(
        status == 0 && abnormal > 0 && report["abnormal"].as_u64() >= Some(abnormal),
        "{status} {abnormal}"
    );
    let (failed, status) = judge(&["--fail-on", &abnormal.to_string()]);
    assert_eq!((status, failed.stdout), (3, output.stdout));
    assert!(String::from_utf8_lossy(&failed.stderr).contains(&format!("{abnormal} ")), "{:?}", failed.stderr);
    assert_eq!(judge(&["--fail-on", &(abnormal + 1).to_string()]).1, 0);
}

#[test]
fn labelled_faults_are_evaluated_by_folder() {
    let folder = Scratch::new("labelled");
    let case = folder.path().join("case-1");
    fs::create_dir_all(&case).unwrap();
    for (name, seed, inject) in [("normal", 1, None), ("fault", 2, Some(DELAY))] {
        write(folder.path(), name, seed, inject);
        fs::rename(folder.path().join(name).join("traces.json"), case.join(format!("{name}.json.gz")))
            .unwrap();
    }
    let evaluate = |label: &str| {
        fs::write(case.join("label.json"), label).unwrap();
        pathlight(folder.path(), &["anomaly", "--evaluate", "--splits", "2", "--json", "--labels", "."])
    };
    let (output, status) = evaluate(r#"{"culprit_service": "catalog", "fault_type": "delay"}"#);
    assert_eq!(status, 0, "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = &report["cases"][0];
    assert_eq!(
        (&found["case"], &found["service"], &found["fault"]),
        (&"case-1".into(), &"catalog".into(), &"delay".into())
    );
    assert!(found["hit"].as_u64() >= Some(20) && found["recall"].as_f64() >= Some(0.9), "{found}");
    assert_eq!((&found["trained"], &found["false_alarms"]["splits"]), (&400.into(), &2.into()));
    assert_eq!(report["mean_recall"], found["recall"]);
    let (refused, status) = evaluate("{}");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(status == 2 && said.contains("label.json: it names no culprit_service"), "{status} {said}");
}

#[test]
fn merged_baselines_are_one_that_has_learned_from_all() {
    let folder = Scratch::new("baselines");
    write(folder.path(), "a", 1, None);
    write(folder.path(), "b", 2, None);
    write(folder.path(), "odd", 3, Some(DELAY));
    let out = |args: &str| {
        let (output, status) = pathlight(folder.path(), &args.split(' ').collect::<Vec<_>>());
        assert_eq!(status, 0, "{args}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for (from, to) in [("--train a", "a.bin"), ("--train b", "b.bin"), ("--train a b", "ab.bin")] {
        out(&format!("anomaly {from} --save-model {to}"));
    }
    out("anomaly --model b.bin a.bin --save-model merged.bin");
    let bytes = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(bytes("merged.bin") == bytes("ab.bin"), "not the bytes of one that has learned from both");
    let both = out("anomaly --train a b --test odd --json");
    assert!(both.contains("\"trained\": 800"));
    // Only traces say what the verdict's service usually takes.
    let judged = |json: &str| {
        let mut report: serde_json::Value = serde_json::from_str(json).unwrap();
        assert!(report["hits"].take().is_object() == (json == both));
        for row in report["traces"].as_array_mut().unwrap() {
            row["hit"].take();
            row["hit_text"].take();
        }
        report
    };
    assert_eq!(judged(&out("anomaly --model a.bin b.bin --test odd --json")), judged(&both));
    // What lacks the requests that calibrate it is refused by its name.
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/upgrade/0.1/anomaly.model");
    let old = old.to_string_lossy();
    let (output, status) = pathlight(folder.path(), &["anomaly", "--model", "a.bin", &old, "--test", "odd"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(status == 2 && said.contains("anomaly.model cannot be merged"), "{status} {said}");
}

/// Returns the commands of the steps of a workflow, by name.
fn steps(markdown: &str) -> Vec<(String, String)> {
    let yaml = markdown.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let (mut steps, mut name) = (Vec::new(), String::new());
    let mut lines = yaml.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start().trim_start_matches("- ");
        if let Some(text) = trimmed.strip_prefix("name: ") {
            text.clone_into(&mut name);
        } else if let Some(text) = trimmed.strip_prefix("run: ") {
            let indent = line.len() - line.trim_start().len();
            let mut script = if text == "|" { String::new() } else { text.to_owned() };
            while let Some(next) =
                lines.next_if(|next| text == "|" && next.len() - next.trim_start().len() > indent)
            {
                script += next;
                script.push('\n');
            }
            steps.push((name.clone(), script));
        }
    }
    steps
}

#[test]
fn the_workflow_of_the_documentation_fails_on_a_delay_and_passes_without_one() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ci.md")).unwrap();
    let (text, beside) = text.split_once("## Beside the code").unwrap();
    let steps_beside = steps(beside);
    let config = beside.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let steps = steps(text);
    let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["Run the load test of main and of the change", "Check the latency", "Show the report"]
    );
    let folder = Scratch::new("workflow");
    let binary = Path::new(env!("CARGO_BIN_EXE_pathlight")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    for (inject, expected) in [(Some(DELAY), 3), (None, 0)] {
        write(folder.path(), "traces/main", 1, None);
        write(folder.path(), "traces/change", 2, inject);
        let _ = fs::remove_file(folder.path().join("summary.md"));
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-e", "-c", script]).current_dir(folder.path()).env("PATH", &path);
            command.env("GITHUB_STEP_SUMMARY", "summary.md").stdin(Stdio::null()).output().unwrap()
        };
        let checked = shell(&steps[1].1);
        assert_eq!(checked.status.code(), Some(expected), "{checked:?}");
        // The workflow that uploads results, with the rules that the page shows.
        fs::write(folder.path().join(".pathlight.toml"), config).unwrap();
        let named = |name: &str| steps_beside.iter().find(|(of, _)| of == name).unwrap().1.clone();
        assert!(shell(&named("What changed")).status.success());
        let ruled = shell(&named("Rules of .pathlight.toml"));
        assert_eq!(ruled.status.code(), Some(expected), "{ruled:?}");
        for (file, least) in [("findings.sarif", 1), ("check.sarif", usize::from(expected == 3))] {
            let log = fs::read_to_string(folder.path().join(file)).unwrap();
            let log: serde_json::Value = serde_json::from_str(&log).unwrap();
            assert!(log["runs"][0]["results"].as_array().unwrap().len() >= least, "{file}: {log:#}");
        }
        fs::remove_file(folder.path().join(".pathlight.toml")).unwrap();
        // This step runs always.
        assert!(shell(&steps[2].1).status.success());
        let report = fs::read_to_string(folder.path().join("summary.md")).unwrap();
        let svg = fs::read_to_string(folder.path().join("latency.svg")).unwrap();
        assert!(svg.starts_with("<svg") && report.contains("](latency.svg)"), "{report}");
        if expected == 0 {
            assert!(report.starts_with("## Latency check passed"), "{report}");
        } else {
            assert!(report.starts_with("## Latency check failed") && report.contains("catalog"), "{report}");
            assert!(svg.contains("product\\_details") || svg.contains("product_details"));
        }
    }
}

/// Says that one side is the slower one, in any words of a comparison.
fn takes_sides(text: &str) -> bool {
    ["B is slower", "B is faster", "got slower", "got faster", "A is slower", "A is faster"]
        .iter()
        .any(|words| text.contains(words))
}

#[test]
fn a_set_against_itself_is_neither_slower_nor_faster_in_any_command_nor_are_its_halves() {
    let folder = Scratch::new("itself");
    write(folder.path(), "a", 1, None);
    for command in ["compare", "diagnosis"] {
        let (output, status) = pathlight(folder.path(), &[command, "-a", "a", "-b", "a"]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(status == 0 && !takes_sides(&text), "{command}: {status} {text}");
    }
    let (output, status) = pathlight(folder.path(), &["findings", "a", "--baseline", "a"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(status == 0 && !takes_sides(&text), "{text}");
    let check =
        ["check", "--baseline", "a", "--candidate", "a", "--fail-on", "mean>1%", "--fail-on", "p95>1%"];
    let (output, status) = pathlight(folder.path(), &check);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(status == 0 && !takes_sides(&text), "{text}");
    let compared = pathlight(folder.path(), &["compare", "-a", "a", "-b", "a"]).0;
    let compared = String::from_utf8(compared.stdout).unwrap();
    // Below what the sets are.
    let verdict = compared.lines().find(|line| !line.is_empty() && !line.starts_with("Set ")).unwrap();
    assert!(verdict.len() > 20 && text.ends_with(&format!("\n\n{verdict}\n")), "{verdict}: {text}");
    // One in eight at most by chance.
    let sides: usize = (1..=8)
        .map(|seed| {
            write(folder.path(), "whole", seed, None);
            let halves = ["partition", "whole", "--into", "2", "--out", "halves"];
            assert_eq!(pathlight(folder.path(), &halves).1, 0);
            let compared = pathlight(folder.path(), &["compare", "-a", "halves/0", "-b", "halves/1"]);
            usize::from(takes_sides(&String::from_utf8_lossy(&compared.0.stdout)))
        })
        .sum();
    assert!(sides <= 1, "{sides} of 8 halves are said to be slower or faster");
}

#[test]
fn a_check_that_fails_names_the_service_that_every_request_waits_for() {
    let folder = Scratch::new("every-request");
    let traces = |ms: u64| {
        let spans = |n: u64| {
            let start = 1_700_000_000_000_000 + n * 1_000_000;
            // Chance has something to say of each.
            let (jitter, own) = (n * 37 % 11 * 500, ms * 1000);
            let of = |id: &str, parent: &str, name: &str, from: u64, us: u64, process: &str| {
                let parent = match parent {
                    "" => String::new(),
                    id => format!(r#"{{"refType":"CHILD_OF","traceID":"{n:032x}","spanID":"{id}"}}"#),
                };
                format!(
                    r#"{{"traceID":"{n:032x}","spanID":"{id}","operationName":"{name}","references":[{parent}],"startTime":{from},"duration":{us},"tags":[],"logs":[],"processID":"{process}"}}"#
                )
            };
            let root = of("01", "", "GET /", start, own + jitter + 2000, "p1");
            let child = of("02", "01", "load", start + 1000, own + jitter, "p2");
            format!(
                r#"{{"traceID":"{n:032x}","spans":[{root},{child}],"processes":{{"p1":{{"serviceName":"front","tags":[]}},"p2":{{"serviceName":"backend","tags":[]}}}}}}"#
            )
        };
        format!(r#"{{"data":[{}]}}"#, (1..=300).map(spans).collect::<Vec<_>>().join(","))
    };
    fs::write(folder.path().join("a.json"), traces(100)).unwrap();
    fs::write(folder.path().join("b.json"), traces(150)).unwrap();
    let check = ["check", "--baseline", "a.json", "--candidate", "b.json", "--fail-on", "p95>10%"];
    let (output, status) = pathlight(folder.path(), &check);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("| backend | +") && !text.contains("No service changed"), "{text}");
    // What is sent is the JSON, and neither an answer nor a dead address changes the exit status.
    let (json, status) = pathlight(folder.path(), &[&check[..], &["--format", "json"]].concat());
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(status, 3);
    assert_eq!(
        (&report["passed"], &report["requests"], &report["broken"][0]["rule"]),
        (&false.into(), &serde_json::json!([300, 300]), &"p95>10%".into())
    );
    let explanation = report["explanation"].as_str().unwrap();
    assert!(explanation.contains("backend"), "{explanation}");
    let (url, received) = receiver("204 No Content");
    let (sent, status) = pathlight(folder.path(), &[&check[..], &["--notify", &url]].concat());
    assert_eq!((status, String::from_utf8(sent.stdout).unwrap()), (3, text));
    let body: serde_json::Value = serde_json::from_str(&received.recv().unwrap()).unwrap();
    assert_eq!(body, report);
    let (refusing, received) = receiver("500 Internal Server Error");
    let quiet = ["check", "--baseline", "a.json", "--candidate", "a.json", "--fail-on", "p95>10%"];
    for url in [&refusing, "http://127.0.0.1:1/"] {
        let (output, status) = pathlight(folder.path(), &[&quiet[..], &["--notify", url]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(status == 0 && said.contains("the result was not sent"), "{status} {said}");
    }
    let body: serde_json::Value = serde_json::from_str(&received.recv().unwrap()).unwrap();
    assert_eq!(body["passed"], true);
    let (url, received) = receiver("200 OK");
    let days = ["trend", "a.json", "b.json", "--notify", &url];
    assert_eq!(pathlight(folder.path(), &days).1, 0);
    let body: serde_json::Value = serde_json::from_str(&received.recv().unwrap()).unwrap();
    assert_eq!(body["days"], serde_json::json!(["a", "b"]));
}

/// Listens for one request; returns its address, and what comes to it.
fn receiver(status: &'static str) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut length = 0;
        let head = reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty());
        for (name, value) in
            head.filter_map(|line| line.split_once(": ").map(|(a, b)| (a.to_lowercase(), b.to_owned())))
        {
            if name == "content-length" {
                length = value.parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        stream
            .write_all(
                format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").as_bytes(),
            )
            .unwrap();
        sender.send(String::from_utf8(body).unwrap()).unwrap();
    });
    (url, receiver)
}

#[test]
fn traces_and_summaries_are_checked_alike_and_names_cannot_break_the_report() {
    let folder = Scratch::new("check");
    write(folder.path(), "a", 1, None);
    write(folder.path(), "b", 2, Some(DELAY));
    assert_eq!(pathlight(folder.path(), &["summarise", "a", "-o", "a.pathlight"]).1, 0);
    let rule = ["--fail-on", "mean>10%"];
    let of = |a: &str, b: &str| {
        pathlight(folder.path(), &[&["check", "--baseline", a, "--candidate", b], &rule[..]].concat())
    };
    let (traces, status) = of("a", "b");
    assert_eq!(status, 3, "{traces:?}");
    assert_eq!(
        String::from_utf8_lossy(&of("a.pathlight", "b").0.stdout),
        String::from_utf8_lossy(&traces.stdout)
    );
    assert_eq!(of("a", "a.pathlight").1, 0);
    let said = String::from_utf8(traces.stderr).unwrap();
    assert!(said.contains("regression"), "{said}");
    for (args, status) in [
        (&["check", "--baseline", "a", "--candidate", "b", "--fail-on", "p95>x"][..], 2),
        (&["check", "--baseline", "a", "--candidate", "none", "--fail-on", "p95>1%"], 2),
        (
            &[
                "check",
                "--baseline",
                "a.pathlight",
                "--candidate",
                "b",
                "--preset",
                "paper",
                "--fail-on",
                "p95>1%",
            ],
            2,
        ),
    ] {
        assert_eq!(pathlight(folder.path(), args).1, status, "{args:?}");
    }
    let hostile = fs::read_to_string(folder.path().join("b/traces.json")).unwrap();
    fs::write(folder.path().join("b/traces.json"), hostile.replace("edge-gateway", "<b>|x](javascript:1)"))
        .unwrap();
    let hostile = fs::read_to_string(folder.path().join("a/traces.json")).unwrap();
    fs::write(folder.path().join("a/traces.json"), hostile.replace("edge-gateway", "<b>|x](javascript:1)"))
        .unwrap();
    let text = String::from_utf8(of("a", "b").0.stdout).unwrap();
    let escaped = "\\<b>\\|x](javascript:1)";
    assert!(text.contains(escaped) && !text.replace(escaped, "").contains("<b>"), "{text}");
}

#[test]
fn a_trend_says_since_when_and_where() {
    let folder = Scratch::new("trend");
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    for (number, day) in days.iter().enumerate() {
        write(folder.path(), day, number as u64 + 1, (number >= 3).then_some(DELAY));
        let file = format!("{day}.pathlight");
        assert_eq!(pathlight(folder.path(), &["summarise", day, "-o", &file]).1, 0);
    }
    let files: Vec<String> = days.iter().map(|day| format!("{day}.pathlight")).collect();
    let mut args = vec!["trend"];
    args.extend(files.iter().map(String::as_str));
    let (output, status) = pathlight(folder.path(), &args);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(status, 0);
    assert!(text.starts_with("Since thursday: ") && text.contains("catalog"), "{text}");
    args.push("--json");
    let report: serde_json::Value =
        serde_json::from_slice(&pathlight(folder.path(), &args).0.stdout).unwrap();
    assert_eq!(report["moved"][0]["day"], "thursday");
    assert_eq!(report["days"].as_array().unwrap().len(), 6);
    let series = &report["series"][report["moved"][0]["series"].as_u64().unwrap() as usize];
    assert_eq!(
        (&series["change"]["day"], &series["change"]["is_certain"]),
        (&"thursday".into(), &true.into())
    );
    // The first days alone are quiet.
    let (output, _) = pathlight(folder.path(), &[&["trend"][..], &args[1..4]].concat());
    assert!(
        String::from_utf8(output.stdout).unwrap().starts_with("No change of 5 % or more beyond chance"),
        "three days"
    );
}
