//! Files and addresses that earlier versions wrote are read for good: what a version wrote stands in a folder of its own,
//! and every later version has to make the same of it.
//!
//! A folder is written once, by the version it is named after: `PATHLIGHT_BLESS=1` writes what is missing there, and the
//! outputs; an input that is there is never written again.

use crate::Golden;
use crate::common::golden_folder;
use crate::common::replay::read;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use pathlight::view::address::Address;
use pathlight::view::saved;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The versions that wrote files, oldest first.
const VERSIONS: [&str; 1] = ["0.1"];

/// What the binary prints, without any of its file names.
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
";

/// Commands that print JSON, as programs of others read it.
const JSON: [&str; 14] = [
    "findings traces.json",
    "summary traces.json",
    "critical-path traces.json",
    "compare -a traces.json -b traces.json",
    "heatmap traces.json",
    "endpoints traces.json",
    "histograms traces.json",
    "split --tag http.status_code traces.json",
    "flow traces.json",
    "diagnosis traces.json",
    "anomaly --train traces.json",
    "errors traces.json",
    "inspect traces.json",
    "show summary.pathlight",
];

/// Every key of the JSON that commands print, by command and path, each with the kind of its value, one a line.
fn keys(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for line in JSON {
        let args: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        let value: Value = serde_json::from_str(&run(folder, &args)).unwrap();
        let command = args[0];
        let mut rest = vec![(command.to_owned(), &value)];
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
    if missing("summary.pathlight") {
        run(folder, &["summarise", "traces.json", "-o", "summary.pathlight"]);
    }
    if missing("anomaly.model") {
        run(folder, &["anomaly", "--train", "traces.json", "--save-model", "anomaly.model"]);
    }
    if missing("report.html") {
        let page = "<div id=\"app\"></div>\n<script id=\"asset-glue\">x</script>\n";
        std::fs::write(folder.join("page.html"), page).unwrap();
        run(folder, &["report", "traces.json", "--page", "page.html", "-o", "report.html"]);
        std::fs::remove_file(folder.join("page.html")).unwrap();
    }
    if missing("json.keys.txt") {
        std::fs::write(folder.join("json.keys.txt"), keys(folder).join("\n") + "\n").unwrap();
    }
    if missing("addresses.txt") {
        std::fs::write(folder.join("addresses.txt"), ADDRESSES).unwrap();
    }
}

/// What a saved report shows at first, and its columns.
fn opened(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once(saved::PART.0) {
        if out.is_empty() {
            out += before;
        }
        let (part, after) = after.split_once(saved::PART.1).unwrap();
        let bytes = BASE64_STANDARD.decode(part.trim()).unwrap();
        let (columns, reports) = read(&bytes, false, 1, || 1000);
        out += &format!("{:?} {} spans\n{columns}", reports[0].ended, reports[0].spans);
        rest = after;
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
        let by_summary =
            ["anomaly", "--baseline", "summary3.pathlight", "--test", "traces.json", "--alpha", "0.2"];
        compare("summary3.anomaly.txt", &run(&folder, &by_summary));
        let judged = ["anomaly", "--model", "anomaly.model", "--test", "traces.json", "--alpha", "0.2"];
        compare("anomaly.txt", &run(&folder, &judged));
        compare("report.txt", &opened(&std::fs::read_to_string(folder.join("report.html")).unwrap()));
        let addresses = std::fs::read_to_string(folder.join("addresses.txt")).unwrap();
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
