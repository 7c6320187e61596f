//! The library for JavaScript, without JavaScript: its answers are those of the binary.

use crate::common::{Scratch, generated_jaeger};
use pathlight_generate::{Defects, Shape};
use pathlight_library::{CHARTS, LoadedSet, QUESTIONS, SetReader, TroubleKind, answer, draw, types};
use std::path::Path;
use std::process::Command;

fn traces(seed: u64) -> Vec<u8> {
    generated_jaeger(12 + seed, 80, Shape::Mixed, Defects::default())
}

fn read(name: &str, bytes: &[u8]) -> LoadedSet {
    let mut reader = SetReader::new("{}").unwrap();
    reader.open(name);
    for part in bytes.chunks(10_000) {
        let mut from = 0;
        let fill = |room: &mut [u8]| {
            room.copy_from_slice(&part[from..from + room.len()]);
            from += room.len();
        };
        assert!(reader.feed(part.len(), fill).unwrap());
    }
    reader.finish().unwrap()
}

fn binary(folder: &Path, line: &str) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_pathlight"))
        .current_dir(folder)
        // A plus stands for a blank within a word.
        .args(line.split(' ').map(|word| word.replace('+', " ")))
        .arg("--json")
        .output()
        .unwrap();
    assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn every_answer_is_that_of_the_binary() {
    let scratch = Scratch::new("library");
    let folder = scratch.path();
    let [before, after] = [traces(0), traces(3)];
    std::fs::write(folder.join("before.json"), &before).unwrap();
    std::fs::write(folder.join("after.json"), &after).unwrap();
    std::fs::write(folder.join("use.csv"), "service,cpu\nstorefront,91\ncatalog,12\n").unwrap();
    let (mut a, mut b) = (read("before.json", &before), read("after.json", &after));

    // Each alone, before and after it was compared.
    let alone = [
        ("findings", "{}", "findings after.json"),
        ("findings", r#"{"range": "tail"}"#, "findings --range tail after.json"),
        ("summary", "{}", "summary after.json"),
        ("criticalPath", "{}", "critical-path after.json"),
        ("criticalPath", r#"{"until": "done"}"#, "critical-path --until done after.json"),
        ("perRequest", r#"{"range": "95-99"}"#, "critical-path --per-trace --range 95-99 after.json"),
        ("compare", "{}", "compare after.json"),
        (
            "compare",
            r#"{"rangeA": "0-40", "rangeB": "P90", "share": true, "exclusive": true}"#,
            "compare --range-a 0-40 --range-b P90 --basis share --exclusive after.json",
        ),
        ("heatmap", "{}", "heatmap after.json"),
        (
            "heatmap",
            r#"{"columns": 7, "order": "start"}"#,
            "heatmap --columns 7 --sort-columns start after.json",
        ),
        ("endpoints", r#"{"faster": 50}"#, "endpoints --faster 50 after.json"),
        ("histograms", "{}", "histograms after.json"),
        ("split", r#"{"tag": "region"}"#, "split --tag region after.json"),
        ("proposals", "{}", "split after.json"),
        ("deployments", "{}", "deployments after.json"),
        ("instrument", "{}", "instrument after.json"),
        ("deployments", r#"{"key": "region"}"#, "deployments --key region after.json"),
        ("serviceMap", "{}", "flow --services after.json"),
        ("savings", "{}", "flow --savings after.json"),
        ("capacity", "{}", "flow --capacity after.json"),
        (
            "capacity",
            r#"{"utilisation": "service,cpu\nstorefront,91\ncatalog,12\n"}"#,
            "flow --utilisation use.csv after.json",
        ),
        (
            "whatIf",
            r#"{"changes": ["own:storefront=-50%", "in:catalog=usual"]}"#,
            "flow --what-if own:storefront=-50% --what-if in:catalog=usual after.json",
        ),
        (
            "whatIf",
            r#"{"wholeCalls": ["catalog:Catalog/GetProductDetails=gone"], "until": "done"}"#,
            "flow --whole-call catalog:Catalog/GetProductDetails=gone --until done after.json",
        ),
        ("target", r#"{"target": "p99=20ms"}"#, "flow --target p99=20ms after.json"),
        (
            "cheapest",
            r#"{"target": "p99=20ms", "options": ["own:storefront=-50% costs 3", "in:catalog<=5ms costs 1.5"]}"#,
            "flow --target p99=20ms --option own:storefront=-50%+costs+3 --option in:catalog<=5ms+costs+1.5 after.json",
        ),
        ("variants", "{}", "flow --variants after.json"),
        (
            "variants",
            r#"{"parent": "catalog:Catalog/GetProductDetails"}"#,
            "flow --variants --parent catalog:Catalog/GetProductDetails after.json",
        ),
        ("diagnosis", "{}", "diagnosis after.json"),
        ("anomaly", "{}", "anomaly after.json"),
        ("errors", "{}", "errors after.json"),
        ("queues", "{}", "queues after.json"),
        ("inspect", "{}", "inspect after.json"),
    ];
    for round in 0..2 {
        for (question, options, line) in alone {
            let found =
                answer(question, options, &mut b, None).unwrap_or_else(|error| panic!("{line}: {error:?}"));
            assert!(
                found + "\n" == binary(folder, line),
                "{question} {options} is not {line}, round {round}"
            );
        }
        let two = [
            ("compare", "compare -a before.json -b after.json"),
            ("findings", "findings after.json --baseline before.json"),
            ("serviceMap", "flow --services after.json --baseline before.json"),
            ("anomaly", "anomaly --train before.json --test after.json"),
        ];
        for (question, line) in two {
            let found = answer(question, "{}", &mut b, Some(&mut a)).unwrap();
            assert!(found + "\n" == binary(folder, line), "{question} is not {line}, round {round}");
        }
        let options = r#"{"changes": ["in:catalog=usual"]}"#;
        let found = answer("whatIf", options, &mut b, Some(&mut a)).unwrap();
        let line = "flow --what-if in:catalog=usual after.json --baseline before.json";
        assert!(found + "\n" == binary(folder, line), "whatIf is not {line}, round {round}");
    }
    let asked = |name| alone.iter().any(|(question, ..)| *question == name);
    assert!(QUESTIONS.iter().all(|question| asked(question.name)), "a question is not compared");
}

#[test]
fn a_wrong_option_is_named_and_leaves_the_set_as_it_was() {
    let mut set = read("a.json", &traces(0));
    for (question, options, named) in [
        ("findings", r#"{"rnage": "tail"}"#, "rnage"),
        ("findings", r#"{"range": "slow"}"#, "range is written as"),
        ("findings", r#"{"service": "shop"}"#, "give service and operation together"),
        ("heatmap", r#"{"columns": "many"}"#, "many"),
        ("split", "{}", "tag"),
        ("whatIf", "{}", "changes"),
        ("whatIf", r#"{"changes": ["in:nowhere=-50%"]}"#, "nowhere"),
        ("whatIf", r#"{"changes": ["queue:nowhere=-50%"]}"#, "nowhere"),
        ("target", r#"{"target": "p98=1ms"}"#, "p99=300ms"),
        ("cheapest", r#"{"target": "p99=1ms"}"#, "1 to 40 options"),
        ("cheapest", r#"{"target": "p99=1ms", "options": ["in:catalog=-50%"]}"#, "costs 3"),
        ("inspect", r#"{"range": "tail"}"#, "range"),
        ("pie", "{}", "pie"),
    ] {
        let trouble = answer(question, options, &mut set, None).unwrap_err();
        assert_eq!(trouble.kind, TroubleKind::BadOption, "{question} {options}");
        assert!(trouble.message.contains(named), "{}", trouble.message);
    }
    let trouble = answer("findings", r#"{"where": "nowhere-at-all"}"#, &mut set, None).unwrap_err();
    assert_eq!(trouble.kind, TroubleKind::NoRequests, "{}", trouble.message);
    assert!(answer("findings", "{}", &mut set, None).is_ok());
}

#[test]
fn an_input_without_traces_says_where_and_what_to_do() {
    let mut reader = SetReader::new(r#"{"sample": 1}"#).unwrap();
    reader.open("page.html");
    let mut text = b"<!doctype html><title>Sign in</title>".as_slice();
    let more = reader.feed(text.len(), |room| {
        let (now, rest) = text.split_at(room.len());
        room.copy_from_slice(now);
        text = rest;
    });
    more.unwrap();
    let trouble = reader.finish().map(|_| ()).unwrap_err();
    assert_eq!(
        (trouble.kind, trouble.position.unwrap().input.as_str()),
        (TroubleKind::NoTraces, "page.html")
    );
    assert!(trouble.next_step.ends_with('.'), "{}", trouble.next_step);
    assert_eq!(SetReader::new(r#"{"sample": 0}"#).map(|_| ()).unwrap_err().kind, TroubleKind::BadOption);
}

#[test]
fn every_chart_is_drawn() {
    let bytes = traces(0);
    let (mut set, mut other) = (read("a.json", &bytes), read("b.json", &traces(3)));
    let requests: serde_json::Value =
        serde_json::from_str(&answer("perRequest", "{}", &mut set, None).unwrap()).unwrap();
    let trace = requests["requests"][0]["trace_id"].as_str().unwrap();
    for (chart, _) in CHARTS {
        let options = format!(r#"{{"width": 700, "theme": "dark", "traceId": "{trace}"}}"#);
        let svg = draw(chart, &options, &mut set, None).unwrap_or_else(|error| panic!("{chart}: {error:?}"));
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{chart}");
        let both = draw(chart, &options, &mut set, Some(&mut other));
        assert_eq!(both.is_ok(), matches!(*chart, "difference" | "services"), "{chart}");
    }
}

/// With `PATHLIGHT_BLESS=1` writes the types again.
#[test]
fn the_types_are_those_of_the_structs() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/library/npm/reports.d.ts");
    let written = types::typescript();
    if std::env::var_os("PATHLIGHT_BLESS").is_some() {
        std::fs::write(file, &written).unwrap();
    }
    let same = std::fs::read_to_string(file).unwrap() == written;
    assert!(same, "library/npm/reports.d.ts is not what the code says; PATHLIGHT_BLESS=1 writes it again");
    assert!(!written.contains("Unknown"), "a question has no report");
}

#[test]
fn the_script_of_the_package_asks_every_question() {
    let script = include_str!("../../library/npm/pathlight.js");
    let list = script.split_once("const QUESTIONS = [").unwrap().1.split_once(']').unwrap().0;
    let listed: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!(listed, QUESTIONS.iter().map(|question| question.name).collect::<Vec<_>>());
}
