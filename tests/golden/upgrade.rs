//! Files and addresses that earlier versions wrote are read for good: what a version wrote stands in a folder of its own,
//! and every later version has to make the same of it.
//!
//! A folder is written once, by the version it is named after: `PATHLIGHT_BLESS=1` writes what is missing there, and the
//! outputs; an input that is there is never written again.

use crate::Golden;
use crate::common::archives::gzip;
use crate::common::replay::read;
use crate::common::{Scratch, golden_folder, report};
use pathlight::ingest::Ended;
use pathlight::view::address::Address;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The versions that wrote files, oldest first.
const VERSIONS: [&str; 1] = ["0.1"];

/// Returns what the binary prints, without any of its file names.
fn run(folder: &Path, args: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_pathlight")).current_dir(folder).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Addresses of every kind.
const ADDRESSES: &str = "\
v=1&view=flame&service=shop&operation=GET%20%2F&range=P95-99&inverted=1&search=db
v=1&view=compare&against=range&range=P95-100&rangeB=P0-95&side=B&sort=-delta
v=1&view=findings&api=%2Fjaeger&service=shop&operation=GET&start=1&end=2&limit=20&minDuration=1.5s&rootEndpoint=all
v=1&view=trace&api=%2Fjaeger&traceID=a1&root=b1&span=c1&traceID=a2
v=1&view=split&split=http.status_code&of=%5B%22shop%22%2C%22GET%22%5D&axis=linear&tag.region=eu&contains.db=query&error=1
v=1&view=anomalies&src=traces.json&from=10&to=20&overlap=paper&reading=plain&places=service&theme=dark&embed=1
band=P50-95&subject=all&view=summary
v=1&view=compare&against=set&swapped=1&percentiles=all&incomplete=1&by=route&by=share&own=0&width=b&least=10000&focus=%5B%22shop%22%2C%22GET%22%2C%22db%22%2C%22query%22%5D
v=1&view=split&of=%5B%22shop%22%2C%22GET%22%5D&per=request&where=error%3D%20OR%20db&type.shop=%5B%22GET%22%2C%22with%20db%22%5D&by=shape&later=1&later=2
v=1&view=findings&types=tenant&api=%2Fjaeger&service=shop&maxDuration=2s&tags=%7B%22error%22%3A%22true%22%7D&every=30s&allow=https%3A%2F%2Fa.example&allow=https%3A%2F%2Fb.example
v=1&view=heatmap&rows=inclusive-p95&columns=%5B%22shop%22%2C%22GET%22%5D
v=1&view=heatmap&rows=alike&columns=start&range=tail&reading=real%2C-overlay
v=1&view=flow&parents=%5B%22shop%22%2C%22GET%22%5D&panel=whatif&pooled=1&children=5&learn=paper&tau=0.95&target=p95%3A300000&timeout=%5B%5B%22db%22%2C%22query%22%5D%2C200000%5D
v=1&view=flow&whatif=%5B%5B%22db%22%2C%22query%22%2C-500000%2C0%2C%22own%22%5D%2C%5B%22db%22%2C%22query%22%2C0%2C500%5D%2C%5B%22db%22%2C%22query%22%2C%5B90000%2C40000%5D%5D%2C%5B%22shop%22%2C%22GET%22%2C%22db%22%2C%22query%22%2C0%2C%22db%22%2C%22write%22%2C1%5D%5D
v=1&view=diagnosis&tail=95&top=20%2C5%2C5%2C5&list=tail
v=1&view=anomalies&normal=before%3A1700000000000000&alpha=0.05&detector=vae&network=500%2C10%2C10%2C20%2C1%2C15&explain=1000&evaluate=1
v=1&view=endpoints&sort=p99&service=shop&operation=GET
v=1&view=errors&range=tail
v=1&view=requests&sort=-latency&search=db
v=1&view=trend&from=10
v=1&view=anomalies&normal=others&contaminated=0.05
";

/// Keys of addresses that no line above may lack.
const KEYS: [&str; 70] = [
    "view",
    "service",
    "operation",
    "rootEndpoint",
    "range",
    "percentiles",
    "incomplete",
    "by",
    "types",
    "against",
    "rangeB",
    "side",
    "swapped",
    "overlap",
    "reading",
    "places",
    "from",
    "to",
    "where",
    "error",
    "traceID",
    "root",
    "span",
    "focus",
    "inverted",
    "search",
    "sort",
    "split",
    "of",
    "per",
    "axis",
    "theme",
    "embed",
    "allow",
    "tag.region",
    "contains.db",
    "type.shop",
    "own",
    "width",
    "least",
    "rows",
    "columns",
    "parents",
    "panel",
    "pooled",
    "children",
    "learn",
    "tau",
    "whatif",
    "target",
    "timeout",
    "tail",
    "top",
    "list",
    "normal",
    "alpha",
    "detector",
    "network",
    "explain",
    "evaluate",
    "api",
    "src",
    "every",
    "maxDuration",
    "minDuration",
    "start",
    "end",
    "limit",
    "tags",
    "contaminated",
];

/// Commands that print JSON, as programs of others read it: what stands before their keys, and their words; `+` is a space
/// within a word.
const JSON: [(&str, &str); 37] = [
    ("findings", "findings traces.json"),
    // Of the slowest tenth one finding has another kind beside it.
    ("findings", "findings traces.json --range 90-100"),
    ("findings --baseline", "findings slow.json.gz --baseline fast.json.gz"),
    ("summary", "summary traces.json"),
    ("critical-path", "critical-path traces.json"),
    ("critical-path --per-trace", "critical-path traces.json --per-trace"),
    ("compare", "compare -a traces.json -b traces.json"),
    ("heatmap", "heatmap traces.json"),
    ("endpoints", "endpoints traces.json"),
    ("histograms", "histograms traces.json"),
    ("split", "split --tag http.status_code traces.json"),
    ("split, without a tag", "split traces.json"),
    ("flow", "flow traces.json"),
    ("flow, of a parent", "flow fast.json.gz --service batch-coordinator --operation POST+/batch"),
    ("flow --evaluate", "flow fast.json.gz --evaluate"),
    ("flow --what-if", "flow fast.json.gz --what-if batch-coordinator:POST+/batch=-50%"),
    ("flow --savings", "flow fast.json.gz --savings"),
    ("flow --parallelise", "flow fast.json.gz --parallelise"),
    ("flow --target", "flow fast.json.gz --target p50=1ms"),
    ("flow --variants", "flow fast.json.gz --variants --parent batch-coordinator:POST+/batch"),
    (
        "flow --target --option",
        "flow fast.json.gz --target p50=1us --option own:batch-coordinator=gone+costs+1",
    ),
    ("flow --headroom", "flow fast.json.gz --headroom p99=10s"),
    ("flow --capacity", "flow fast.json.gz --capacity"),
    ("deployments", "deployments traces.json"),
    ("instrument", "instrument traces.json"),
    ("flow --timeout", "flow fast.json.gz --timeout batch-coordinator:POST+/batch=1ms"),
    ("diagnosis", "diagnosis traces.json"),
    ("diagnosis --aggregate", "diagnosis traces.json --aggregate 0"),
    ("diagnosis, two sets", "diagnosis -a fast.json.gz -b slow.json.gz"),
    ("anomaly", "anomaly --train traces.json"),
    ("anomaly --test", "anomaly --train fast.json.gz --test slow.json.gz"),
    ("anomaly --evaluate", "anomaly --train fast.json.gz --evaluate --splits 1"),
    ("anomaly --export-vectors", "anomaly --train fast.json.gz --export-vectors scpv"),
    ("errors", "errors traces.json"),
    ("queues", "queues traces.json"),
    ("inspect", "inspect traces.json"),
    ("show", "show summary.pathlight"),
];

/// Six days, the last three of them slower.
const DAYS: &str = "trend fast.json.gz fast.json.gz fast.json.gz slow.json.gz slow.json.gz slow.json.gz";

/// Returns every key of the JSON that commands print, by command and path, each with the kind of its value, one a line.
fn keys(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for (name, words) in JSON.into_iter().chain([("trend", DAYS)]) {
        let words: Vec<String> = words.split(' ').map(|word| word.replace('+', " ")).collect();
        let args: Vec<&str> = words.iter().map(String::as_str).chain(["--json"]).collect();
        let value: Value = serde_json::from_str(&run(folder, &args)).unwrap();
        let mut rest = vec![(name.to_owned(), &value)];
        while let Some((path, value)) = rest.pop() {
            let kind = match value {
                Value::Null => continue,
                Value::Bool(_) => "true or false",
                Value::Number(_) => "number",
                Value::String(_) => "text",
                Value::Array(values) => {
                    rest.extend(values.iter().map(|value| (format!("{path}[]"), value)));
                    "list"
                }
                Value::Object(values) => {
                    rest.extend(values.iter().map(|(key, value)| (format!("{path}.{key}"), value)));
                    "object"
                }
            };
            all.push(format!("{path}: {kind}"));
        }
    }
    all.sort();
    all.dedup();
    all
}

/// Makes the inputs of a version that are not there.
fn write(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let missing = |name: &str| !folder.join(name).exists();
    if missing("traces.json") {
        run(folder, &["generate", "--traces", "24", "--spans", "6", "--seed", "11", "--out", "traces.json"]);
    }
    // Each once more whenever its format has changed, under the number of the new one.
    for summary in ["summary.pathlight", "summary4.pathlight", "summary5.pathlight"] {
        if missing(summary) {
            run(folder, &["summarise", "traces.json", "-o", summary]);
        }
    }
    for model in ["anomaly.model", "anomaly4.model", "anomaly5.model", "anomaly6.model", "anomaly7.model"] {
        if missing(model) {
            run(folder, &["anomaly", "--train", "traces.json", "--save-model", model]);
        }
    }
    if missing("vae4.model") {
        let small = ["--vae", "--hidden", "8", "--latent", "2", "--flow", "1", "--epochs", "5"];
        let train = ["anomaly", "--train", "traces.json", "--save-model", "vae4.model"];
        run(folder, &[train.as_slice(), &small].concat());
    }
    // Requests of one type, and the same much slower.
    for (file, speed) in [("fast.json", "0%"), ("slow.json", "+300%")] {
        let packed = format!("{file}.gz");
        if missing(&packed) {
            let speed = format!("batch-coordinator:POST /batch={speed}");
            let shape = ["generate", "--shape", "wide", "--traces", "40", "--spans", "4", "--seed", "12"];
            let traces = run(folder, &[shape.as_slice(), &["--speed", &speed]].concat());
            std::fs::write(folder.join(packed), gzip(traces.as_bytes())).unwrap();
        }
    }
    if missing("json.keys.txt") {
        std::fs::write(folder.join("json.keys.txt"), keys(folder).join("\n") + "\n").unwrap();
    }
    if missing("addresses.txt") {
        std::fs::write(folder.join("addresses.txt"), ADDRESSES).unwrap();
    }
}

/// Returns what a saved report shows at first, and its columns.
fn opened((around, parts): (String, Vec<Vec<u8>>)) -> String {
    let mut out = around;
    for bytes in parts {
        let (columns, reports) = read(&bytes, false, 1, || 1000);
        out += &format!("{:?} {} spans\n{columns}", reports[0].ended, reports[0].spans);
    }
    out
}

#[test]
fn what_earlier_versions_wrote_is_read() {
    let mut golden = Golden::default();
    for version in VERSIONS {
        let folder = golden_folder().join("upgrade").join(version);
        if std::env::var_os("PATHLIGHT_BLESS").is_some_and(|value| value == "1") {
            write(&folder);
        }
        let mut compare =
            |name: &str, found: &str| golden.compare(&format!("upgrade/{version}/{name}"), found);
        compare("summary.json", &run(&folder, &["show", "summary.pathlight", "--json"]));
        // Written between two versions, after errors were summed and before flows were.
        compare("summary2.json", &run(&folder, &["show", "summary2.pathlight", "--json"]));
        // The same after flows were summed and before what a diagnosis needs.
        compare("summary3.json", &run(&folder, &["show", "summary3.pathlight", "--json"]));
        compare("summary3.flow.txt", &run(&folder, &["flow", "summary3.pathlight"]));
        compare("summary4.json", &run(&folder, &["show", "summary4.pathlight", "--json"]));
        compare("summary4.flow.txt", &run(&folder, &["flow", "summary4.pathlight"]));
        compare("summary4.diagnosis.txt", &run(&folder, &["diagnosis", "summary4.pathlight"]));
        let gate = |summary: &str| {
            let rules = ["--fail-on", "p95>10%", "--fail-on", "mean>5% n>=2"];
            let sides = ["check", "--baseline", summary, "--candidate", summary];
            run(&folder, &[sides.as_slice(), &rules].concat())
        };
        compare("summary4.check.md", &gate("summary4.pathlight"));
        let judge = |by: [&str; 2]| {
            run(&folder, &["anomaly", by[0], by[1], "--test", "traces.json", "--alpha", "0.2"])
        };
        // Since sections; of the same traces, with the same reports.
        let reports = |summary: &str| {
            let commands =
                [&["show", "--json", "--range", "95-100"][..], &["show", "--all"], &["flow"], &["diagnosis"]];
            let of = |command: &[&str]| run(&folder, &[command, &[summary]].concat());
            let mut reports: Vec<String> = commands.into_iter().map(of).collect();
            reports.extend([gate(summary), judge(["--baseline", summary])]);
            reports
        };
        assert_eq!(reports("summary5.pathlight"), reports("summary4.pathlight"));
        compare("summary3.anomaly.txt", &judge(["--baseline", "summary3.pathlight"]));
        compare("summary4.anomaly.txt", &judge(["--baseline", "summary4.pathlight"]));
        compare("anomaly.txt", &judge(["--model", "anomaly.model"]));
        compare("anomaly4.txt", &judge(["--model", "anomaly4.model"]));
        // The same with the share of its requests that may be abnormal.
        compare("anomaly5.txt", &judge(["--model", "anomaly5.model"]));
        // The same with the greatest surprise of many facts taken for less.
        compare("anomaly6.txt", &judge(["--model", "anomaly6.model"]));
        // The same with the delays of its requests.
        compare("anomaly7.txt", &judge(["--model", "anomaly7.model"]));
        compare("vae4.txt", &judge(["--model", "vae4.model"]));
        let report = std::fs::read_to_string(folder.join("report.html")).unwrap();
        compare("report.txt", &opened(report::parts(&report)));
        let of_traces = run(&folder, &["findings", "traces.json", "--json"]);
        for (name, columns) in [("report.html", "report.txt"), ("report2.html", "report2.txt")] {
            // As a file, it has the traces of its columns and gives the reports of what it was made from.
            let (traces, reports) = read(&std::fs::read(folder.join(name)).unwrap(), false, 1, || 1000);
            assert!(reports[0].problems.is_empty() && reports[0].ended == Ended::Whole, "{reports:?}");
            let columns = std::fs::read_to_string(folder.join(columns)).unwrap();
            assert!(columns.ends_with(&format!(" {} spans\n{traces}", reports[0].spans)), "{name}: {traces}");
            assert_eq!(run(&folder, &["findings", name, "--json"]), of_traces, "{name}");
        }
        let addresses = std::fs::read_to_string(folder.join("addresses.txt")).unwrap();
        let lacks =
            |key: &&&str| !addresses.split(['&', '\n']).any(|pair| pair.split('=').next() == Some(**key));
        let lacking: Vec<_> = KEYS.iter().filter(lacks).collect();
        assert!(lacking.is_empty(), "no address has {lacking:?}");
        let read: Vec<String> = addresses.lines().map(|line| Address::parse(line).to_fragment()).collect();
        compare("addresses.read.txt", &(read.join("\n") + "\n"));
        // Keys may come; none goes, and none becomes of another kind.
        let now = keys(&folder);
        let then = std::fs::read_to_string(folder.join("json.keys.txt")).unwrap();
        let gone: Vec<&str> = then
            .lines()
            .filter(|key| now.binary_search_by(|known| known.as_str().cmp(key)).is_err())
            .collect();
        assert!(gone.is_empty() && then.lines().count() > 100, "JSON lacks what {version} had: {gone:#?}");
    }
    golden.finish();
}

#[test]
fn what_is_written_today_has_a_file_that_later_versions_read() {
    let folder = golden_folder().join("upgrade").join(VERSIONS[VERSIONS.len() - 1]);
    let scratch = Scratch::new("upgrade");
    let [summary, model] = ["summary", "model"].map(|name| scratch.path().join(name));
    run(&folder, &["summarise", "fast.json.gz", "-o", summary.to_str().unwrap()]);
    run(&folder, &["anomaly", "--train", "fast.json.gz", "--save-model", model.to_str().unwrap()]);
    let format = |file: &Path| {
        let bytes = std::fs::read(file).unwrap();
        String::from_utf8(bytes.split(|&byte| byte == b'\n').next().unwrap().to_vec()).unwrap()
    };
    let kept: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|file| file.extension().is_some_and(|end| end == "pathlight" || end == "model"))
        .map(|file| format(&file))
        .collect();
    for file in [summary, model] {
        let format = format(&file);
        assert!(kept.contains(&format), "{format:?} is new: keep a file of it in {}", folder.display());
    }
}
