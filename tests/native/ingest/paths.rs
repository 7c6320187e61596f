//! The fast and the reference way of reading give the same, whatever the text and however it is cut.

use crate::common::generated_jaeger;
use crate::common::real_files;
use crate::common::replay::{Random, TARGETS, check_alone, kept, one, read, replay};
use pathlight::generate::{Defects, Shape};
use std::time::{Duration, Instant};

#[test]
fn generated_traces_read_the_same_both_ways() {
    for (shape, defects) in [
        (Shape::Mixed, Defects::default()),
        (Shape::Mixed, "all".parse().expect("defects")),
        (Shape::Wide, Defects::default()),
        (Shape::Deep, Defects::default()),
    ] {
        let text = generated_jaeger(60, 40, shape, defects);
        let fast = read(&text, false, 1, || usize::MAX);
        assert_eq!(read(&text, true, 1, || usize::MAX), fast);
        let mut random = Random(1);
        assert_eq!(read(&text, false, 1, || random.below(5000)), fast);
    }
}

#[test]
fn many_values_of_a_key_read_the_same_both_ways() {
    let word = |n: usize| n.to_string().bytes().map(|digit| char::from(digit + 49)).collect::<String>();
    many_values("n", &|n| n.to_string());
    // Of these the templates of paths stay: one, too many, one that is longer than a stored value.
    many_values("http.url", &|n| format!("http://shop/cart/{n}?page=1"));
    many_values("http.url", &|n| format!("/{}/1", word(n)));
    many_values("http.url", &|n| format!("/{}{n}", "7,".repeat(110)));
    many_values("server.address", &|n| format!("pod{n}"));
}

fn many_values(key: &str, value: &dyn Fn(usize) -> String) {
    // Tags and processes that are remembered must notice when a key stops storing values.
    let process = value(7);
    let mut text = String::from("[");
    for trace in 0..40 {
        let spans: Vec<String> = (0..200)
            .map(|i| {
                let n = if trace % 3 == 2 { i } else { trace * 200 + i };
                let value = value(n);
                format!(
                    r#"{{"traceID":"{:x}","spanID":"{:x}","operationName":"o","references":[],"startTime":1,"duration":1,"tags":[{{"key":"{key}","type":"string","value":"{value}"}},{{"key":"s","type":"string","value":"a\n{n}"}}],"logs":[],"processID":"p{}"}}"#,
                    trace + 1,
                    i + 1,
                    i % 2
                )
            })
            .collect();
        text += &format!(
            r#"{{"traceID":"{:x}","spans":[{}],"processes":{{"p0":{{"serviceName":"a","tags":[{{"key":"{key}","value":"{process}"}}]}},"p1":{{"serviceName":"b","tags":[]}}}}}},"#,
            trace + 1,
            spans.join(",")
        );
    }
    text.pop();
    text.push(']');
    let fast = read(text.as_bytes(), false, 1, || usize::MAX);
    assert!(fast.0.contains("high_cardinality: true") && fast.1[0].problems.is_empty());
    assert_eq!(read(text.as_bytes(), true, 1, || usize::MAX), fast);
}

#[test]
fn a_key_of_hundreds_of_values_before_others_reads_the_same_both_ways() {
    // Lists of tags that are remembered are forgotten on the way; the tags and operations are not.
    let trace = |operation: u32| {
        let spans: Vec<String> = (0..300)
            .map(|value| {
                format!(
                    r#"{{"traceID":"{:x}","spanID":"{:x}","operationName":"o{operation}","references":[],"startTime":1,"duration":1,"tags":[{{"key":"a","type":"string","value":"x"}},{{"key":"shop","type":"int64","value":{value}}},{{"key":"error","type":"bool","value":{}}}],"logs":[],"processID":"p"}}"#,
                    operation + 1,
                    value + 1,
                    value % 2 == 0
                )
            })
            .collect();
        format!(
            r#"{{"traceID":"{:x}","spans":[{}],"processes":{{"p":{{"serviceName":"s","tags":[]}}}}}}"#,
            operation + 1,
            spans.join(",")
        )
    };
    let traces: Vec<String> = (0..60).map(trace).collect();
    let text = format!("[{}]", traces.join(","));
    let fast = read(text.as_bytes(), false, 1, || usize::MAX);
    assert!(fast.1[0].problems.is_empty() && fast.1[0].spans == 60 * 300);
    assert_eq!(read(text.as_bytes(), true, 1, || usize::MAX), fast);
    let mut random = Random(7);
    assert_eq!(read(text.as_bytes(), false, 1, || 1 + random.below(100_000)), fast);
}

#[test]
fn real_files_read_the_same_both_ways() {
    for file in real_files(&[""], 103) {
        let bytes = std::fs::read(&file).unwrap();
        let fast = read(&bytes, false, 1, || usize::MAX);
        assert!(read(&bytes, true, 1, || usize::MAX) == fast, "{}", file.display());
    }
}

/// What fuzzing has kept, and seeded changes of every fixture; of these, what fails prints a seed.
///
/// `PATHLIGHT_REPLAY=TARGET:SEED` repeats one case, `PATHLIGHT_REPLAY=TARGET:SECONDSs` goes on for some time from a new
/// seed (`cargo xtask fuzz --replay`).
#[test]
fn changed_texts_read_the_same_both_ways() {
    let value = std::env::var("PATHLIGHT_REPLAY").unwrap_or_default();
    let Some((name, how)) = value.split_once(':') else {
        for target in TARGETS {
            kept(target.0).iter().for_each(|text| check_alone(text));
            replay(target, 11, |number| number < 60);
        }
        return;
    };
    let target = *TARGETS.iter().find(|(known, _)| *known == name).expect("the name of a target");
    let Some(seconds) = how.strip_suffix('s') else {
        return one(&target.1(), how.parse().unwrap());
    };
    let until = Instant::now() + Duration::from_secs(seconds.parse().unwrap());
    let run = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let cases = replay(target, run, |_| Instant::now() < until);
    println!("target {name}: {cases} cases from seed {run}, nothing found");
}
