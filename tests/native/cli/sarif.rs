//! SARIF of `findings` and `check`, against the schema of the standard, and what `.pathlight.toml` accepts.

use super::super::common::Scratch;
use boon::{Compiler, Schemas};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

/// As published by OASIS, from <https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/>.
const SCHEMA: &str = include_str!("../../fixtures/sarif/sarif-schema-2.1.0.json");

fn pathlight(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pathlight")).current_dir(folder).args(args).output().unwrap()
}

/// Returns the log that a command prints, which fits the schema.
fn log(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    let log: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.enable_format_assertions();
    compiler.add_resource("mem:///sarif.json", serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let schema = compiler.compile("mem:///sarif.json", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(&log, schema) {
        panic!("{error:#}\n{log:#}");
    }
    log
}

fn results(log: &Value) -> &[Value] {
    log["runs"][0]["results"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn fingerprint(result: &Value) -> &str {
    result["partialFingerprints"]["pathlight/v1"].as_str().unwrap()
}

/// Writes requests of a shop to its payment, whose spans say where their code is; `us` is what the payment takes, `first`
/// makes ids differ from run to run.
fn write(path: &Path, us: u64, first: u64) {
    let trace = |number: u64| {
        let id = format!("{:032x}", first + number);
        let span = |span: u64, parent: u64, name: &str, process: &str, start: u64, us: u64, tags: Value| {
            let references = match parent {
                0 => json!([]),
                parent => json!([{"refType": "CHILD_OF", "traceID": id, "spanID": format!("{parent:016x}")}]),
            };
            json!({
                "traceID": id, "spanID": format!("{span:016x}"), "operationName": name, "references": references,
                "startTime": 1_700_000_000_000_000 + (first + number) * 1_000_000 + start, "duration": us,
                "processID": process, "tags": tags,
            })
        };
        let code = json!([
            {"key": "code.filepath", "type": "string", "value": "src/pay ment.rs"},
            {"key": "code.lineno", "type": "int64", "value": 42},
            {"key": "code.function", "type": "string", "value": "charge"},
        ]);
        // Every request takes a little longer than the one before, so that there is noise.
        let us = us + number * 3;
        json!({
            "traceID": id,
            "spans": [
                span(1, 0, "POST /buy", "p1", 0, us + 2000, json!([])),
                span(2, 1, "charge", "p2", 1000, us, code),
            ],
            "processes": {"p1": {"serviceName": "shop"}, "p2": {"serviceName": "payment"}},
        })
    };
    let data: Vec<Value> = (0..250).map(trace).collect();
    std::fs::write(path, json!({ "data": data }).to_string()).unwrap();
}

#[test]
fn findings_stand_at_their_code_with_fingerprints_that_stay() {
    let scratch = Scratch::new("sarif-findings");
    let folder = scratch.path();
    write(&folder.join("before.json"), 5_000, 1);
    write(&folder.join("after.json"), 60_000, 1000);
    write(&folder.join("later.json"), 75_000, 5000);
    let run = |file: &str| {
        log(&pathlight(folder, &["findings", file, "--baseline", "before.json", "--format", "sarif"]))
    };
    let (first, second) = (run("after.json"), run("later.json"));
    let prints =
        |log: &Value| results(log).iter().map(|result| fingerprint(result).to_owned()).collect::<Vec<_>>();
    assert!(!prints(&first).is_empty());
    assert_eq!(prints(&first)[0], prints(&second)[0], "the same cause");
    let rules = first["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results(&first) {
        let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
    }
    // Alone, the set has findings that name the endpoint.
    let alone = log(&pathlight(folder, &["findings", "after.json", "--format", "sarif"]));
    let at_code = results(&alone).iter().filter(|result| {
        let place = &result["locations"][0];
        place["physicalLocation"]["artifactLocation"]["uri"] == "src/pay%20ment.rs"
            && place["physicalLocation"]["region"]["startLine"] == 42
            && place["logicalLocations"][0]["name"] == "charge"
    });
    assert!(at_code.count() > 0, "{alone:#}");
    // Files are left out with tags.
    let redacted = pathlight(folder, &["findings", "after.json", "--format", "sarif", "--no-tags"]);
    assert!(!String::from_utf8_lossy(&redacted.stdout).contains("ment.rs"));
    log(&redacted);
}

#[test]
fn what_is_accepted_is_suppressed_until_its_day() {
    let scratch = Scratch::new("sarif-accepted");
    let folder = scratch.path();
    write(&folder.join("before.json"), 5_000, 1);
    write(&folder.join("after.json"), 60_000, 1000);
    let check = ["check", "--baseline", "before.json", "--candidate", "after.json", "--format", "sarif"];
    let without = pathlight(folder, &check);
    assert_eq!(without.status.code(), Some(2), "there is no rule");
    let broken = pathlight(folder, &[&check[..], &["--fail-on", "p50>10%"]].concat());
    assert_eq!(broken.status.code(), Some(3));
    let broken = log(&broken);
    let [regression] = results(&broken) else { panic!("{broken:#}") };
    assert_eq!((&regression["ruleId"], &regression["level"]), (&json!("slower_requests"), &json!("error")));
    let config = |accepted: &str| {
        let text = format!("[check]\nfail-on = [\"p50>10%\"]\n{accepted}");
        std::fs::write(folder.join(".pathlight.toml"), text).unwrap();
    };
    config("");
    let at_home = pathlight(folder, &check);
    assert_eq!(at_home.status.code(), Some(3));
    let place = &log(&at_home)["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], ".pathlight.toml");
    let known = |until: &str| {
        format!(
            "[[accepted]]\nfingerprint = \"{}\"\nreason = \"ticket 12\"\nuntil = {until}\n",
            fingerprint(regression)
        )
    };
    config(&known("2999-12-31"));
    let accepted = pathlight(folder, &check);
    assert_eq!(accepted.status.code(), Some(0));
    let suppressions = &log(&accepted)["runs"][0]["results"][0]["suppressions"][0];
    assert!(suppressions["justification"].as_str().unwrap().contains("ticket 12"));
    let said = pathlight(folder, &["check", "--baseline", "before.json", "--candidate", "after.json"]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(
        said.contains("Latency check passed") && said.contains("Accepted: ") && said.contains("ticket 12"),
        "{said}"
    );
    config(&known("2020-12-31"));
    let expired = pathlight(folder, &check);
    assert_eq!(expired.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&expired.stderr).contains("no longer accepted"));
    // The file is found from a folder below, up to the root of the repository.
    let below = folder.join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    config(&known("2999-12-31"));
    let up = ["check", "--baseline", "../../before.json", "--candidate", "../../after.json"];
    assert_eq!(pathlight(&below, &up).status.code(), Some(0));
    std::fs::create_dir(folder.join("a/.git")).unwrap();
    assert_eq!(pathlight(&below, &up).status.code(), Some(2));
    config("[[accepted]]\nkind = \"x\"\n");
    assert_eq!(pathlight(folder, &check).status.code(), Some(2));
}

#[test]
fn thresholds_leave_findings_out_of_the_log() {
    let scratch = Scratch::new("sarif-thresholds");
    let folder = scratch.path();
    write(&folder.join("after.json"), 60_000, 1000);
    let run = || log(&pathlight(folder, &["findings", "after.json", "--format", "sarif"]));
    let all = run();
    let kinds: Vec<String> =
        results(&all).iter().map(|result| result["ruleId"].as_str().unwrap().to_owned()).collect();
    std::fs::write(folder.join(".pathlight.toml"), format!("[findings]\nleave-out = [{:?}]\n", kinds[0]))
        .unwrap();
    assert!(results(&run()).iter().all(|result| result["ruleId"] != kinds[0].as_str()));
    std::fs::write(folder.join(".pathlight.toml"), "[findings]\nleast-cost = \"1s\"\n").unwrap();
    let left = run();
    assert!(
        results(&left).iter().all(|result| result["properties"]["stake_us"].as_f64() == Some(0.0)),
        "{left:#}"
    );
}
