//! Summaries on the command line: streams of any size, pipes, and traces that are scattered over their input.
#![cfg(unix)]

use super::super::common::{Scratch, archives::gzip, read_into, replay::project, stored};
use pathlight::engine::summaries::{MOST_ROOTS, Summary, SummarySettings, read, write};
use pathlight::generate::{GenerateOptions, write_jaeger};
use pathlight::trace::TraceSet;
use pathlight::view::json;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the program with some bytes as standard input.
fn run(folder: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathlight"));
    command
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A program that refuses its arguments does not read.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// Returns the summary of an input that is read at once, as the program reads it.
fn at_once(inputs: &[&[u8]]) -> Vec<u8> {
    let mut set = TraceSet::new();
    for input in inputs {
        read_into(&mut set, "input", input, 1 << 20);
    }
    set.seal().unwrap();
    let overlap = pathlight::trace::Overlap::preset("default").unwrap();
    let path =
        pathlight::trace::PathSettings { overlap, reading: overlap.implied_reading(), ..Default::default() };
    write(&Summary::observe(&set, &SummarySettings::new(Default::default(), path))).unwrap()
}

fn jaeger(traces: u64, seed: u64) -> Vec<u8> {
    let mut text = Vec::new();
    write_jaeger(&GenerateOptions { traces, seed, spans: 50, ..GenerateOptions::demo() }, &mut text).unwrap();
    text
}

#[test]
fn a_large_input_is_summarised_like_a_small_one_by_any_number_of_threads_and_from_a_pipe() {
    let folder = Scratch::new("summarise");
    let text = jaeger(1400, 3);
    assert!(text.len() > 40 << 20, "two splits at least: {}", text.len());
    let expected = at_once(&[&text]);
    fs::write(folder.path().join("a.json"), &text).unwrap();
    fs::write(folder.path().join("a.json.gz"), gzip(&text)).unwrap();
    for (args, input) in [
        (&["a.json", "--threads", "1"][..], &[][..]),
        (&["a.json", "--threads", "4"], &[]),
        (&["-", "--threads", "2"], &text),
        (&["a.json.gz"], &[]),
    ] {
        let output = run(folder.path(), &[&["summarise", "-o", "a.pathlight"], args].concat(), input);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        assert!(fs::read(folder.path().join("a.pathlight")).unwrap() == expected, "{args:?}");
    }
    // What is read twice counts once.
    let output = run(folder.path(), &["summarise", "-o", "a.pathlight", "a.json", "-"], &text);
    assert!(fs::read(folder.path().join("a.pathlight")).unwrap() == expected);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("1\u{202f}400 traces came again"), "{said}");
}

#[test]
fn of_many_root_endpoints_any_number_of_threads_keeps_the_same() {
    let folder = Scratch::new("many-roots");
    let mut text = Vec::new();
    let options = GenerateOptions { traces: 1100, roots: 1100, spans: 8, ..GenerateOptions::demo() };
    write_jaeger(&options, &mut text).unwrap();
    let whole = read(&at_once(&[&text])).unwrap();
    assert!(whole.roots.len() > 1000);
    let expected = write(&whole.with_roots(MOST_ROOTS).unwrap()).unwrap();
    for threads in ["1", "3"] {
        let output =
            run(folder.path(), &["summarise", "-", "-o", "a.pathlight", "--threads", threads], &text);
        assert!(output.status.success(), "{output:?}");
        assert!(fs::read(folder.path().join("a.pathlight")).unwrap() == expected, "{threads} threads");
    }
    let output = run(folder.path(), &["show", "a.pathlight"], &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("of the time: they are summed together"), "{said}");
    // Merging keeps as many.
    let args = ["merge", "a.pathlight", "-o", "b.pathlight"];
    assert!(run(folder.path(), &args, &[]).status.success());
    assert!(fs::read(folder.path().join("b.pathlight")).unwrap() == expected);
}

/// Returns Jaeger's JSON of traces with a root endpoint each: some differ in a number alone, some of these call what has
/// their name without it, some traces have two roots, and some requests stand for ten.
fn of_odd_root_endpoints(traces: usize) -> Vec<u8> {
    let mut text = String::from("{\"data\":[");
    for trace in 0..traces {
        let word: String =
            [trace / 676, trace / 26 % 26, trace % 26].map(|at| (b'a' + at as u8) as char).iter().collect();
        let root =
            if trace % 4 == 0 { format!("GET /user/{}", 7000 + trace) } else { format!("open {word}") };
        let called = if trace % 12 == 0 { "GET /user/{n}".to_owned() } else { "look".to_owned() };
        let above = if trace % 7 == 0 { 0 } else { 1 };
        let names = [
            (root.as_str(), 0, 0, 900),
            (called.as_str(), 1, 100, 300 + trace % 50),
            (root.as_str(), above, 500, 100),
        ];
        let spans: Vec<String> = (1..).zip(names).map(|(span, (name, above, at_us, us))| {
            let parent = if above == 0 { String::new() } else { format!(r#"{{"refType":"CHILD_OF","traceID":"{trace:x}","spanID":"{above:x}"}}"#) };
            let weight = if trace % 5 == 0 { r#"{"key":"sampler.param","type":"float64","value":0.1},{"key":"sampler.type","type":"string","value":"probabilistic"}"# } else { "" };
            format!(
                r#"{{"traceID":"{trace:x}","spanID":"{span:x}","operationName":"{name}","references":[{parent}],"startTime":{},"duration":{us},"tags":[{weight}],"processID":"p{}"}}"#,
                1_700_000_000_000_000 + trace * 1000 + at_us,
                trace % 3
            )
        }).collect();
        let _ = write!(
            text,
            r#"{{"traceID":"{trace:x}","spans":[{}],"processes":{{"p{}":{{"serviceName":"service {}"}}}}}},"#,
            spans.join(","),
            trace % 3,
            trace % 3
        );
    }
    text.pop();
    text.push_str("]}");
    text.into_bytes()
}

#[test]
fn root_endpoints_are_renamed_alike_before_and_after_they_are_observed() {
    let folder = Scratch::new("odd-roots");
    let text = of_odd_root_endpoints(1500);
    let whole = read(&at_once(&[&text])).unwrap();
    assert!(whole.roots.len() > 1400, "{}", whole.roots.len());
    let folded = whole.clone().with_roots(MOST_ROOTS).unwrap();
    assert!(folded.lesser.len() > 100 && folded.roots.keys().any(|root| root.operation == "GET /user/{n}"));
    let expected = write(&folded).unwrap();
    for threads in ["1", "3"] {
        let output =
            run(folder.path(), &["summarise", "-", "-o", "a.pathlight", "--threads", threads], &text);
        assert!(output.status.success(), "{output:?}");
        assert!(fs::read(folder.path().join("a.pathlight")).unwrap() == expected, "{threads} threads");
    }
}

/// Returns Zipkin spans, one a line, of traces that overlap: each has a root and then `calls` calls.
fn scattered(traces: usize, calls: usize) -> Vec<u8> {
    let mut text = String::new();
    // Span k of trace t stands in line t + 40 k.
    for line in 0..traces + 40 * calls {
        for k in (0..=calls).filter(|k| line >= 40 * k && line - 40 * k < traces) {
            let (t, parent) =
                (line - 40 * k, if k == 0 { String::new() } else { r#""parentId":"1","#.to_owned() });
            let start = 1_700_000_000_000_000 + t * 1000 + k * 10;
            let duration = if k == 0 { 100 * calls + t % 77 } else { 5 + (t + k) % 9 };
            writeln!(
                text,
                r#"{{"traceId":"{:016x}","id":"{:x}",{parent}"name":"op{k}","timestamp":{start},"duration":{duration},"localEndpoint":{{"serviceName":"s{}"}},"tags":{{"padding":"{}"}}}}"#,
                t + 1,
                k + 1,
                k % 3,
                "x".repeat(900)
            )
            .unwrap();
        }
    }
    text.into_bytes()
}

#[test]
fn traces_whose_spans_are_scattered_over_an_input_are_whole() {
    let folder = Scratch::new("scattered");
    let text = scattered(6000, 7);
    assert!(text.len() > 45 << 20);
    let expected = at_once(&[&text]);
    assert_eq!(read(&expected).unwrap().requests(), 6000);
    let output = run(folder.path(), &["summarise", "-", "-o", "a.pathlight", "--threads", "3"], &text);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(fs::read(folder.path().join("a.pathlight")).unwrap() == expected);
    // The same spans in three files, one read after the other.
    let third = text.len() / 3;
    let ends =
        [third, 2 * third].map(|at| at + text[at..].iter().position(|&byte| byte == b'\n').unwrap() + 1);
    fs::create_dir(folder.path().join("in")).unwrap();
    for (name, part) in [("1", &text[..ends[0]]), ("2", &text[ends[0]..ends[1]]), ("3", &text[ends[1]..])] {
        fs::write(folder.path().join("in").join(name), part).unwrap();
    }
    let output = run(folder.path(), &["summarise", "in", "-o", "a.pathlight"], &[]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(fs::read(folder.path().join("a.pathlight")).unwrap() == expected);
}

#[test]
fn summaries_of_parts_are_merged_and_shown() {
    let folder = Scratch::new("merge");
    let texts: Vec<Vec<u8>> = (1..=3).map(|seed| jaeger(40, seed)).collect();
    for (number, text) in texts.iter().enumerate() {
        let name = format!("{number}.pathlight");
        assert!(run(folder.path(), &["summarise", "-", "-o", &name], text).status.success());
    }
    let args = ["merge", "2.pathlight", "0.pathlight", "1.pathlight", "-o", "all.pathlight"];
    assert!(run(folder.path(), &args, &[]).status.success());
    let expected = at_once(&texts.iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert!(fs::read(folder.path().join("all.pathlight")).unwrap() == expected);

    let output = run(folder.path(), &["show", "all.pathlight", "--json"], &[]);
    let summary = read(&expected).unwrap();
    let range = pathlight::engine::requests::PercentileRange::ALL;
    let selected = pathlight::view::summaries::Selected::of(&summary, None, range).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), json::show(&summary, &selected).unwrap() + "\n");
    let report: serde_json::Value = serde_json::from_str(&json::show(&summary, &selected).unwrap()).unwrap();
    assert_eq!(report["requests"], 120);
    assert_eq!(report["nodes"][0]["parent"], serde_json::Value::Null);
    let sum = |key: &str| {
        report[key].as_array().unwrap().iter().map(|row| row["requests"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(sum("roots"), 120);

    let output = run(folder.path(), &["show", "all.pathlight", "--range", "90-100"], &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("120 requests, latency mean") && text.contains("call paths below: P"), "{text}");
    let output = run(folder.path(), &["show", "all.pathlight", "--service", "x", "--operation", "y"], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("No request has the root endpoint y @ x"));
    // An input is not written over, and what is no summary is refused.
    let output = run(folder.path(), &["merge", "0.pathlight", "-o", "0.pathlight"], &[]);
    assert_eq!(output.status.code(), Some(2));
    fs::write(folder.path().join("no.pathlight"), &texts[0]).unwrap();
    let output = run(folder.path(), &["show", "no.pathlight"], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no.pathlight: it is no summary"));
}

/// Returns all files below a folder by path.
fn tree(folder: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut out = std::collections::BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            out.extend(tree(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            out.insert(name, fs::read(&path).unwrap());
        }
    }
    out
}

#[test]
fn days_and_root_endpoints_have_summaries_of_their_own() {
    let folder = Scratch::new("days");
    // Some traces begin a day later.
    let first = String::from_utf8(jaeger(60, 1)).unwrap();
    let second =
        String::from_utf8(jaeger(80, 2)).unwrap().replace("\"startTime\":17156", "\"startTime\":17157");
    let inputs = [first.as_bytes(), second.as_bytes()];
    assert_ne!(at_once(&inputs), at_once(&[&jaeger(60, 1), &jaeger(80, 2)]));
    fs::create_dir(folder.path().join("in")).unwrap();
    for (number, input) in inputs.iter().enumerate() {
        fs::write(folder.path().join(format!("in/{number}.json")), input).unwrap();
    }
    let args = ["summarise", "in", "-o", "out", "--per-day", "--per-root"];
    let output = run(folder.path(), &args, &[]);
    assert!(output.status.success(), "{output:?}");
    let files = tree(&folder.path().join("out"));
    let tops: Vec<&str> = files.keys().map(String::as_str).filter(|name| !name.contains('/')).collect();
    assert_eq!(tops, ["2024-05-14.pathlight", "2024-05-15.pathlight", "all.pathlight"]);
    assert!(files["2024-05-14.pathlight"] == at_once(&inputs[..1]));
    assert!(files["2024-05-15.pathlight"] == at_once(&inputs[1..]));
    assert!(files["all.pathlight"] == at_once(&inputs));
    // Those of root endpoints are the day again.
    let day = read(&files["2024-05-15.pathlight"]).unwrap();
    let names = files.keys().filter(|name| name.starts_with("2024-05-15/"));
    let parts: Vec<Summary> = names.map(|name| read(&files[name]).unwrap()).collect();
    assert_eq!(parts.len(), day.roots.len());
    let mut sum = pathlight::engine::summaries::Merger::default();
    for part in parts {
        assert_eq!((part.roots.len(), part.requests()), (1, part.traces));
        let (root, expected) = (part.roots.keys().next().unwrap(), part.roots.values().next().unwrap());
        assert_eq!(*expected, day.roots[root]);
        sum.add(part).unwrap();
    }
    let mut sum = sum.finish().unwrap();
    (sum.traces, sum.spans) = (day.traces, day.spans);
    assert!(write(&sum).unwrap() == files["2024-05-15.pathlight"]);
    // A summary is taken apart in the same way.
    let output = run(folder.path(), &["merge", "out/2024-05-15.pathlight", "-o", "day", "--per-root"], &[]);
    assert!(output.status.success(), "{output:?}");
    let again = tree(&folder.path().join("day"));
    let of = |files: &std::collections::BTreeMap<String, Vec<u8>>, folder: &str| -> Vec<(String, Vec<u8>)> {
        let below = files.iter().filter_map(|(name, bytes)| Some((name.strip_prefix(folder)?, bytes)));
        below.map(|(name, bytes)| (name.to_owned(), bytes.clone())).collect()
    };
    assert!(of(&again, "all/") == of(&files, "2024-05-15/"));
}

#[test]
fn spans_that_lie_anywhere_are_joined_and_partitions_bring_them_together() {
    let folder = Scratch::new("partition");
    // In each trace the spans of one third of the input, and in the middle enough of other text.
    let text = String::from_utf8(scattered(300, 7)).unwrap();
    let (even, odd): (Vec<_>, Vec<_>) = text.lines().enumerate().partition(|(number, _)| number % 2 == 0);
    let lines =
        |part: Vec<(usize, &str)>| part.into_iter().map(|(_, line)| format!("{line}\n")).collect::<String>();
    let filler = jaeger(20, 9);
    let inputs = [lines(even).into_bytes(), filler, lines(odd).into_bytes()];
    let expected = at_once(&[&inputs[0], &inputs[1], &inputs[2]]);
    fs::create_dir(folder.path().join("in")).unwrap();
    for (number, input) in inputs.iter().enumerate() {
        let name = number.to_string();
        fs::write(folder.path().join("in").join(&name), input).unwrap();
        let args = ["partition", &format!("in/{name}"), "-o", &format!("parts{name}"), "--into", "5"];
        let output = run(folder.path(), &args, &[]);
        assert!(output.status.success(), "{output:?}");
    }
    for threads in ["1", "3"] {
        let args = ["summarise", "in", "-o", "a.pathlight", "--scattered", "--threads", threads];
        assert!(run(folder.path(), &args, &[]).status.success());
        assert!(fs::read(folder.path().join("a.pathlight")).unwrap() == expected, "{threads}");
    }
    let mut sums = Vec::new();
    for part in 0..5 {
        let files: Vec<String> = (0..3).map(|input| format!("parts{input}/{part}")).collect();
        let files = files.iter().map(String::as_str).filter(|name| folder.path().join(name).is_file());
        sums.push(format!("{part}.pathlight"));
        let mut args = vec!["summarise", "--scattered", "-o", &sums[part]];
        args.extend(files);
        assert!(run(folder.path(), &args, &[]).status.success());
    }
    let mut args = vec!["merge", "-o", "b.pathlight"];
    args.extend(sums.iter().map(String::as_str));
    assert!(run(folder.path(), &args, &[]).status.success());
    assert!(fs::read(folder.path().join("b.pathlight")).unwrap() == expected);
    fs::write(folder.path().join("none"), "nothing").unwrap();
    let output = run(folder.path(), &["partition", "none", "-o", "x", "--into", "2"], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!folder.path().join("x").exists());
}

#[test]
fn flow_and_anomaly_take_summaries_in_place_of_traces() {
    let folder = Scratch::new("summaries-for-traces");
    let out = |args: &[&str]| {
        let output = run(folder.path(), args, &[]);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    fs::write(folder.path().join("a.json"), jaeger(120, 1)).unwrap();
    fs::write(folder.path().join("b.json"), jaeger(40, 2)).unwrap();
    out(&["summarise", "a.json", "-o", "a.pathlight"]);
    let parents = out(&["flow", "a.pathlight"]);
    // Of how many traces requests are, only traces say.
    let scope = "120 requests of 120 traces.\n\n";
    let of_traces = out(&["flow", "a.json"]);
    // What is most worth making faster, too.
    assert!(of_traces.starts_with(&format!("{scope}If the own work of ")), "{of_traces}");
    assert!(of_traces.ends_with(&format!("\n\n{parents}")), "{of_traces}");
    let words: Vec<&str> = parents.lines().nth(1).unwrap().split_whitespace().skip(2).collect();
    let busiest = words.join(" ");
    let flow = |file| {
        out(&["flow", file, "--parent", &busiest])
            .trim_start_matches(scope)
            .lines()
            .skip(1)
            .take(5)
            .map(|line| line.split("  ").filter(|cell| !cell.is_empty()).map(str::to_owned).collect())
            .collect::<Vec<Vec<String>>>()
    };
    let flow = |file| {
        let mut lines = flow(file);
        let sketched = lines[1].iter().position(|head| head.trim() == "p95").unwrap();
        // A summary has it of a sketch.
        lines.iter_mut().skip(1).for_each(|cells| drop(cells.remove(sketched)));
        lines
    };
    assert_eq!(flow("a.pathlight"), flow("a.json"));
    let judged = out(&["anomaly", "--baseline", "a.pathlight", "--test", "b.json", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&judged).unwrap();
    assert_eq!(report["trained"], 100, "{report}");
    let refused = run(folder.path(), &["flow", "a.pathlight", "--savings"], &[]);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && words.contains("needs the spans"), "{words}");
}

#[test]
fn files_of_other_versions_are_merged_with_those_of_today_and_it_is_said_what_is_lost() {
    let folder = Scratch::new("other-versions");
    fs::write(folder.path().join("a.json"), jaeger(40, 1)).unwrap();
    // The reading of that time.
    let args = ["summarise", "a.json", "--reading", "real,-consumers", "-o", "a.pathlight"];
    assert!(run(folder.path(), &args, &[]).status.success());
    let today = fs::read(folder.path().join("a.pathlight")).unwrap();
    let before = fs::read(project("tests/golden/upgrade/0.1/summary2.pathlight")).unwrap();
    fs::write(folder.path().join("old.pathlight"), before).unwrap();
    let mut sections = stored::sections(&today);
    sections.push(("tomorrow".to_owned(), 1, vec![1, 2, 3]));
    sections.iter_mut().find(|section| section.0 == "diagnosis").unwrap().1 = 2;
    fs::write(folder.path().join("new.pathlight"), stored::of_sections(&sections)).unwrap();
    let said = |args: &[&str]| {
        let output = run(folder.path(), args, &[]);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    // Alone they lose nothing.
    assert_eq!(said(&["merge", "old.pathlight", "-o", "b.pathlight"]), (Some(0), String::new()));
    let (status, text) = said(&["merge", "old.pathlight", "a.pathlight", "-o", "b.pathlight"]);
    assert_eq!((status, text.lines().count()), (Some(0), 3), "{text}");
    let expected = "pathlight: old.pathlight lacks execution flows, so the sum of all 2 files does too\n";
    assert!(text.contains(expected), "{text}");
    let (status, text) = said(&["flow", "b.pathlight"]);
    assert!(
        status == Some(2) && text.contains("before Pathlight summed execution flows: make it again"),
        "{text}"
    );
    let shown = run(folder.path(), &["show", "b.pathlight"], &[]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains("before Pathlight summed execution flows") && shown.contains("call path"),
        "{shown}"
    );
    // Of a newer version all is there but what is new.
    let (status, text) = said(&["flow", "new.pathlight"]);
    assert!(status == Some(0) && text.ends_with("newer Pathlight, which are left out: tomorrow\n"), "{text}");
    let (status, text) = said(&["diagnosis", "new.pathlight"]);
    assert!(
        status == Some(2)
            && text.contains("(section diagnosis, version 2; this program reads up to version 1)"),
        "{text}"
    );
    let (_, text) = said(&["merge", "new.pathlight", "a.pathlight", "-o", "b.pathlight"]);
    assert!(
        text.contains("new.pathlight lacks what a diagnosis needs") && text.contains("tomorrow"),
        "{text}"
    );
    // What is left out is left out of the sum.
    assert_eq!(said(&["flow", "b.pathlight"]), (Some(0), String::new()));
}

#[test]
fn a_tag_of_ones_own_says_weights_in_summaries_trends_and_checks() {
    let folder = Scratch::new("own-weights");
    for day in 0..4 {
        let sample = if day == 0 { "p=1" } else { "p=0.2; slow>30ms; errors; as=count" };
        let options =
            GenerateOptions { traces: 1500, spans: 7, seed: 80 + day, ..GenerateOptions::default() };
        let mut text = Vec::new();
        write_jaeger(&GenerateOptions { sample: Some(sample.parse().unwrap()), ..options }, &mut text)
            .unwrap();
        let text = String::from_utf8(text).unwrap().replace("SampleRate", "kept.of");
        fs::write(folder.path().join(format!("day-{day}.json")), text).unwrap();
    }
    let run = |args: &[&str]| {
        let output = run(folder.path(), args, b"");
        let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), out, err)
    };
    let (status, _, said) =
        run(&["summarise", "day-1.json", "-o", "day-1.pathlight", "--weight", "key=kept.of"]);
    assert!(status == Some(0) && said.contains("Trend, Compare and check go by weight"), "{said}");
    assert_eq!(run(&["summarise", "day-1.json", "-o", "plain.pathlight"]).2, "");
    let check = |candidate: &str| {
        run(&["check", "--baseline", "day-0.json", "--candidate", candidate, "--fail-on", "mean>10%"])
    };
    let (status, report, _) = check("day-1.pathlight");
    assert_eq!(status, Some(0), "{report}");
    assert!(report.contains("After: Traces were sampled") && report.contains("(effective "), "{report}");
    assert!(!report.contains("Before: Traces"), "{report}");
    let (status, report, _) = check("plain.pathlight");
    assert!(status == Some(3) && !report.contains("sampled"), "{report}");
    let days = ["day-0.json", "day-1.json", "day-2.json", "day-3.json"];
    let trend = |more: &[&str]| run(&[&["trend"], &days[..], more].concat()).1;
    let text = trend(&["--weight", "key=kept.of"]);
    assert!(text.starts_with("Traces were sampled"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&trend(&["--weight", "key=kept.of", "--json"])).unwrap();
    assert!(json["weight"].as_f64() > Some(4000.0), "{}", json["weight"]);
    let effective = &json["series"][0]["effective"];
    assert!(effective[1].as_f64() < json["series"][0]["n"][1].as_f64(), "{effective}");
    let json: serde_json::Value = serde_json::from_str(&trend(&["--json"])).unwrap();
    assert!(json["weight"].is_null() && json["series"][0]["effective"].is_null());
    // A tag that is not there is said to be missing.
    let (_, _, said) = run(&["endpoints", "day-1.json", "--weight", "key=nothing"]);
    assert!(said.contains("No span has the tag nothing"), "{said}");
}
