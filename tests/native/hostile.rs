//! Inputs that somebody made to hurt: they are read, or refused with the limit named; nothing of them is obeyed.

use crate::common::archives::{DEFLATED, gzip, zip};
use crate::common::replay::{TARGETS, kept, project};
use crate::common::stored::{self, STORED};
use crate::common::{Scratch, read_into};
use flate2::Compression;
use flate2::write::GzEncoder;
use pathlight::engine::queries;
use pathlight::engine::run::native::NativePool;
use pathlight::ingest::{Ended, FileReport, ReadOptions, Reader};
use pathlight::trace::TraceSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

/// Returns one trace of a root and a child; names, tag and times are JSON as they stand.
fn trace(id: u64, name: &str, tags: &str, start: &str, duration: &str) -> String {
    format!(
        r#"{{"traceID":"{id:x}","spans":[
        {{"traceID":"{id:x}","spanID":"1","operationName":{name},"references":[],"startTime":1700000000000000,"duration":90000,"tags":[{tags}],"logs":[],"processID":"p1"}},
        {{"traceID":"{id:x}","spanID":"2","operationName":{name},"references":[{{"refType":"CHILD_OF","traceID":"{id:x}","spanID":"1"}}],"startTime":{start},"duration":{duration},"tags":[],"logs":[],"processID":"p1"}}
        ],"processes":{{"p1":{{"serviceName":{name},"tags":[{tags}]}}}}}}"#
    )
}

fn read(bytes: &[u8]) -> (TraceSet, FileReport) {
    let mut set = TraceSet::new();
    let mut reader = Reader::new("hostile", ReadOptions::default());
    for chunk in bytes.chunks(1 << 20) {
        if reader.feed(chunk, &mut set).is_err() {
            break;
        }
    }
    let report = reader.finish(&mut set);
    set.seal().unwrap();
    (set, report)
}

#[test]
fn names_of_every_kind_go_through_every_command() {
    let long = format!("\"{}\"", "long ".repeat(200_000));
    let names = [
        r#""<script>alert(1)</script><img src=x onerror=alert(1)>""#,
        r#""](javascript:alert(1)) `code` | a | b | # head""#,
        r#""__proto__""#,
        r#""constructor""#,
        r#""\ud800 alone \udc00""#,
        r#""\u202egnp.exe\u2066 zero\u200bwidth\ufeff""#,
        r#""\u0000\u0001\u001b[2J\u0007\r\n""#,
        r#""""#,
        r#""=cmd|' /C calc'!A0""#,
        &long,
    ];
    let times = [
        ("1700000000000000", "5"),
        ("18446744073709551615", "1"),
        ("-5", "-7"),
        ("1e400", "1e400"),
        ("0", "9223372036854775808"),
        ("1700000000000000", "NaN"),
        ("null", "\"NaN\""),
    ];
    let mut traces = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let tag = format!(r#"{{"key":{name},"type":"string","value":{name}}}"#);
        traces.push(trace(at as u64 + 1, name, &tag, "1700000000000100", "700"));
    }
    let folder = Scratch::new("hostile");
    let folder = folder.path();
    std::fs::write(folder.join("names.json"), format!(r#"{{"data":[{}]}}"#, traces.join(","))).unwrap();
    for (at, (start, duration)) in times.iter().enumerate() {
        let text = trace(100 + at as u64, "\"times\"", "", start, duration);
        std::fs::write(folder.join(format!("times{at}.json")), format!(r#"{{"data":[{text}]}}"#)).unwrap();
    }
    for args in [
        &["summary"][..],
        &["summary", "--format", "markdown"],
        &["summary", "--format", "csv"],
        &["critical-path"],
        &["critical-path", "--json"],
        &["endpoints"],
        &["errors"],
        &["queues"],
        &["heatmap"],
        &["histograms"],
        &["flow"],
        &["flow", "--savings", "--json"],
        &["split"],
        &["split", "--tag", "__proto__"],
        &["diagnosis"],
        &["diagnosis", "--json"],
        &["anomaly", "--evaluate", "--train"],
        &["inspect", "--json"],
        &["compare", "--range-a", "0-100", "--range-b", "0-100"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pathlight"));
        let output = command.current_dir(folder).args(args).arg(".").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() || said.contains("too few"), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
        if args.contains(&"--json") {
            serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
        }
        if args.contains(&"markdown") {
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(!text.replace("\\<", "").contains("<script"), "{text}");
            assert!(!text.replace("\\`", "").contains('`'), "{text}");
        }
    }
    // What is no number is not said to be below 0.
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathlight"));
    let output = command.current_dir(folder).args(["inspect", "times5.json"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("spans whose duration is negative or no number: read as 0"), "{said}");
    assert!(said.contains("a duration of 2^63 us or more, or no number"), "{said}");
}

#[test]
fn nesting_is_bounded() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(1_000_000), close.repeat(1_000_000));
        // As the whole text, and where a span has a value.
        let within = trace(1, "\"n\"", &format!(r#"{{"key":"k","type":"string","value":{deep}}}"#), "1", "1");
        for text in [deep.clone(), format!(r#"{{"data":[{within},{}]}}"#, trace(2, "\"n\"", "", "1", "1"))] {
            let (set, report) = read(text.as_bytes());
            let is_reported = matches!(report.ended, Ended::Failed(_)) || !report.problems.is_empty();
            assert!(is_reported, "{report:?}");
            assert!(set.traces().len() <= 2);
        }
    }
}

#[test]
fn a_bomb_takes_time_and_no_memory() {
    // 200 MB of space around a trace, packed a thousand times smaller.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(b"{\"data\":[").unwrap();
    for _ in 0..200 {
        gzip.write_all(&[b' '; 1_000_000]).unwrap();
    }
    gzip.write_all(trace(1, "\"n\"", "", "1700000000000100", "7").as_bytes()).unwrap();
    gzip.write_all(b"]}").unwrap();
    let packed = gzip.finish().unwrap();
    assert!(packed.len() < 1_000_000);
    let folder = Scratch::new("bomb");
    std::fs::write(folder.path().join("bomb.json.gz"), packed).unwrap();
    // With 256 MB of address space for everything the text does not fit as a whole, let alone twice.
    let mut command = Command::new("sh");
    command
        .current_dir(folder.path())
        .args(["-c", "ulimit -v 262144; exec \"$0\" inspect --threads 1 --json bomb.json.gz"]);
    let output = command.arg(env!("CARGO_BIN_EXE_pathlight")).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    assert_eq!(report["traces"], 1, "{}", String::from_utf8_lossy(&output.stderr));
}

/// `PATHLIGHT_REPLAY` is as in `changed_texts_read_the_same_both_ways`.
#[test]
fn what_is_kept_between_runs_is_read_or_refused_whatever_its_bytes() {
    let value = std::env::var("PATHLIGHT_REPLAY").unwrap_or_default();
    let Some((name, how)) = value.split_once(':') else {
        for stored in STORED {
            stored::replay(stored, 7, |number| number < 300);
        }
        return;
    };
    let stored = STORED.into_iter().find(|(known, ..)| *known == name).expect("the name of a target");
    let Some(seconds) = how.strip_suffix('s') else {
        return stored::one(stored, how.parse().unwrap());
    };
    let until = Instant::now() + Duration::from_secs(seconds.parse().unwrap());
    let run = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let cases = stored::replay(stored, run, |_| Instant::now() < until);
    println!("target {name}: {cases} cases from seed {run}, nothing found");
}

#[test]
fn whatever_is_replayed_is_fuzzed_too() {
    let files = std::fs::read_dir(project("tools/fuzz/fuzz_targets")).unwrap();
    let stem = |file: std::fs::DirEntry| file.path().file_stem().unwrap().to_string_lossy().into_owned();
    let mut files: Vec<String> = files.map(|file| stem(file.unwrap())).collect();
    let replayed = TARGETS.iter().map(|(name, _)| *name).chain(STORED.iter().map(|(name, ..)| *name));
    let mut replayed: Vec<String> = replayed.map(str::to_owned).collect();
    files.sort();
    replayed.sort();
    assert_eq!(files, replayed);
}

#[test]
fn what_fuzzing_has_kept_of_each_target_is_there_to_be_replayed() {
    for (name, ..) in STORED {
        assert!(
            !kept(name).is_empty(),
            "tools/fuzz/corpus/{name} is empty: cargo xtask fuzz {name} fills it"
        );
    }
}

#[test]
fn every_query_is_among_the_seeds_that_are_changed() {
    let sown = &crate::common::spoken::MESSAGES;
    let lacking: Vec<u8> =
        (0..queries::COUNT).filter(|number| !sown.iter().any(|seed| seed[0] == *number)).collect();
    assert!(
        lacking.is_empty(),
        "queries without a seed, by their place in the list of crate engine: {lacking:?}"
    );
}

#[test]
fn a_bomb_in_a_zip_in_a_zip_is_a_stream_and_a_text_that_fills_it_is_refused_with_the_limit() {
    let inspect = |name: &str, bytes: &[u8]| {
        let folder = Scratch::new(name);
        std::fs::write(folder.path().join("bomb"), bytes).unwrap();
        // A text of 64 MiB has to be held, once.
        let mut command = Command::new("sh");
        command
            .current_dir(folder.path())
            .args(["-c", "ulimit -v 524288; exec \"$0\" inspect --threads 1 --json bomb"]);
        let output = command.arg(env!("CARGO_BIN_EXE_pathlight")).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (report, String::from_utf8(output.stderr).unwrap())
    };
    let fill = |byte: u8| vec![byte; 200_000_000];
    let good = trace(1, "\"n\"", "", "1700000000000100", "7");
    let spaces = [b"{\"data\":[".to_vec(), fill(b' '), good.as_bytes().to_vec(), b"]}".to_vec()].concat();
    let inner = zip(&[("inner.json", &spaces, DEFLATED)]);
    let (report, said) = inspect("zip-bomb", &zip(&[("inner.zip", &inner, DEFLATED)]));
    assert_eq!(report["traces"], 1, "{said}");
    // A text of 200 MB, and one of two gigabytes, of members that are packed once.
    let (begin, end) = (b"{\"data\":[{\"traceID\":\"", format!("\",\"spans\":[]}},{good}]}}"));
    let members = |member: Vec<u8>, times: usize| {
        [gzip(begin), gzip(&member).repeat(times), gzip(end.as_bytes())].concat()
    };
    for bomb in [members(fill(b'a'), 1), members(vec![b'a'; 1_000_000], 2000)] {
        let (report, said) = inspect("text-bomb", &bomb);
        let problem = &report["files"][0]["problems"][0];
        assert_eq!((&report["traces"], &problem["kind"]), (&1.into(), &"too_long".into()), "{report} {said}");
        assert!(problem["example"]["text"].as_str().unwrap().contains("64 MiB"), "{problem}");
    }
}

/// Reads one span with so many tag keys and lists them; returns how long that took.
fn list_tag_keys(count: usize) -> Duration {
    let mut tags = String::new();
    for key in 0..count {
        let _ = write!(
            tags,
            r#"{}{{"key":"key-{key}","type":"string","value":"v"}}"#,
            if key > 0 { "," } else { "" }
        );
    }
    let text = format!(r#"{{"data":[{}]}}"#, trace(1, "\"n\"", &tags, "1700000000000100", "7"));
    let begun = Instant::now();
    let mut set = TraceSet::new();
    read_into(&mut set, "tags", text.as_bytes(), 1 << 20);
    set.seal().unwrap();
    let mut pool = NativePool::of(vec![set]).unwrap();
    let overview = pool.run(queries::Overview::default()).unwrap();
    assert_eq!(overview.tag_keys.len(), count);
    assert!(overview.tag_keys.iter().all(|key| key.values == ["v"]));
    begun.elapsed()
}

#[test]
fn a_hundred_thousand_tag_keys_are_no_matter() {
    // Eight times as many take eight times as long, not sixty-four times; the best of three is what a busy machine did least to.
    let best = |count: usize| (0..3).map(|_| list_tag_keys(count)).min().unwrap();
    let (few, many) = (best(12_500), best(100_000));
    assert!(many < few * 24, "{few:?} for 12,500 tag keys, {many:?} for 100,000");
}
