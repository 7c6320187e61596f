//! Habits of a shell: files come first, the answer is the first line, patterns, pipes, and the version of JSON.

use super::super::common::{Scratch, generated_jaeger};
use pathlight_generate::{Defects, Shape};
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn folder(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    for (file, traces) in [("a.json", 40), ("b.json", 30)] {
        let bytes = generated_jaeger(20, traces, Shape::Mixed, Defects::default());
        std::fs::write(scratch.path().join(file), bytes).unwrap();
    }
    scratch
}

fn run(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pathlight")).current_dir(folder).args(args).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Every command that prints JSON of traces, with options that it needs.
const JSON: [&[&str]; 20] = [
    &["findings", "a.json"],
    &["summary", "a.json"],
    &["critical-path", "a.json"],
    &["critical-path", "a.json", "--per-trace"],
    &["compare", "-a", "a.json", "-b", "b.json"],
    &["heatmap", "a.json"],
    &["endpoints", "a.json"],
    &["histograms", "a.json"],
    &["split", "a.json"],
    &["split", "a.json", "--tag", "region", "--sum", "http.status_code"],
    &["endpoints", "a.json", "--sum", "http.status_code"],
    &["queues", "a.json"],
    &["flow", "a.json"],
    &["flow", "a.json", "--savings"],
    &["flow", "a.json", "--services", "--baseline", "b.json"],
    &["compare", "a.json", "--since", "1704067200000000"],
    &["diagnosis", "a.json"],
    &["anomaly", "a.json"],
    &["errors", "a.json"],
    &["inspect", "a.json"],
];

#[test]
fn json_of_every_command_begins_with_its_version() {
    let scratch = folder("shell-version");
    for args in JSON {
        let printed = text(&run(scratch.path(), &[args, &["--json"]].concat()));
        let json: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(json["version"], 1, "{args:?}");
        assert!(printed.trim_start_matches(['{', '\n', ' ']).starts_with("\"version\""), "{args:?}");
    }
}

#[test]
fn files_come_first_and_the_answer_is_the_first_line() {
    let scratch = folder("shell-first");
    // Over what all numbers are stands above it, in a paragraph of its own.
    let first = |args: &[&str]| {
        let text = text(&run(scratch.path(), args));
        text.split("\n\n").nth(1).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
    };
    let flow = first(&["flow", "a.json"]);
    assert!(flow.starts_with("If the own work of ") && flow.ends_with('.'), "{flow}");
    let ranked = first(&["anomaly", "a.json"]);
    assert!(ranked.starts_with("The most anomalous of "), "{ranked}");
    // With a baseline, what is named first is judged.
    let judged = first(&["anomaly", "b.json", "--train", "a.json"]);
    assert_eq!(judged, first(&["anomaly", "--train", "a.json", "--test", "b.json"]));
    for wrong in [
        &["anomaly"][..],
        &["anomaly", "a.json", "--test", "b.json"],
        &["anomaly", "b.json", "--train", "a.json", "--evaluate"],
    ] {
        assert_eq!(run(scratch.path(), wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn patterns_are_understood_where_the_shell_leaves_them() {
    let scratch = folder("shell-patterns");
    let inspect =
        |args: &[&str]| -> Value { serde_json::from_str(&text(&run(scratch.path(), args))).unwrap() };
    let all = inspect(&["inspect", "a.json", "b.json", "--json"]);
    assert_eq!(inspect(&["inspect", "*.json", "--json"]), all);
    assert_eq!(inspect(&["inspect", "?.json", "--json"]), all);
    assert_eq!(inspect(&["inspect", "**/a*", "--json"])["files"].as_array().map(Vec::len), Some(1));
    let none = run(scratch.path(), &["inspect", "*.zip"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("no file fits *.zip"));
}

/// Commands that read one set, each from standard input and, where the system has named pipes, by process substitution.
#[test]
fn standard_input_and_process_substitution_are_files() {
    let scratch = folder("shell-pipes");
    for args in JSON.iter().filter(|args| args[1] == "a.json") {
        let mut options = args[2..].to_vec();
        options.push("--json");
        let strip = |output: &Output| -> Value {
            let mut json: Value = serde_json::from_str(&text(output)).unwrap();
            // The name and the packed size are those of the input.
            if args[0] == "inspect" {
                json["files"] = Value::Null;
            }
            json
        };
        let wanted = strip(&run(scratch.path(), &[&args[..2], &options].concat()));
        let mut piped = Command::new(env!("CARGO_BIN_EXE_pathlight"));
        piped.current_dir(scratch.path()).args([args[0], "-"]).args(&options);
        let input = File::open(scratch.path().join("a.json")).unwrap();
        let piped = piped.stdin(Stdio::from(input)).output().unwrap();
        assert_eq!(strip(&piped), wanted, "{args:?} -");
        if cfg!(unix) && Path::new("/bin/bash").is_file() {
            let line = format!("\"$0\" {} <(cat a.json) {}", args[0], options.join(" "));
            let mut bash = Command::new("/bin/bash");
            bash.current_dir(scratch.path()).args(["-c", &line, env!("CARGO_BIN_EXE_pathlight")]);
            assert_eq!(strip(&bash.output().unwrap()), wanted, "{line}");
        }
    }
}
