//! Redacted values are nowhere: not in a report, not in findings of any format.

use crate::common::replay::read;
use crate::common::words::{Words, words};
use crate::common::{Scratch, read_into, report};
use flate2::read::GzDecoder;
use pathlight::engine::diagnosis::DiagnosisSettings;
use pathlight::engine::queries;
use pathlight::engine::requests::{GroupBy, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::trace::{Redaction, TraceSet};
use pathlight::view::diagnosis::words::{markdown, sets_markdown};
use pathlight::view::export::redacted;
use pathlight::view::flame::note::{ListsBy, NamesLeftOut, to_csv, to_markdown, to_text};
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

fn run(folder: &Path, args: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_pathlight")).current_dir(folder).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns a report as text: what stands around the traces, the columns unpacked byte by byte, and as they are read.
fn opened(file: &Path) -> (String, String) {
    let (mut text, parts) = report::parts(&std::fs::read_to_string(file).unwrap());
    let mut columns = String::new();
    for packed in parts {
        let mut bytes = Vec::new();
        GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
        text += &String::from_utf8_lossy(&bytes);
        columns += &read(&bytes, false, 1, || 4096).0;
    }
    (text, columns)
}

/// Returns every output of the two commands with these options.
fn outputs(folder: &Path, options: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for threads in ["1", "3"] {
        let report = ["report", "after.json", "--page", "page.html", "--threads", threads];
        let filters = ["--with-error", "-o", "report.html"];
        run(folder, &[&report[..], &filters, options].concat());
        let (text, columns) = opened(&folder.join("report.html"));
        // The report as a file.
        let (again, _) = read(&std::fs::read(folder.join("report.html")).unwrap(), false, 1, || 4096);
        assert!(threads != "1" || again == columns, "{again}");
        all.extend([text, columns, again, run(folder, &["findings", "report.html"])]);
    }
    for format in ["text", "markdown", "json"] {
        for baseline in [&[][..], &["--baseline", "before.json"]] {
            all.push(run(
                folder,
                &[&["findings", "after.json", "--format", format][..], baseline, options].concat(),
            ));
        }
    }
    all
}

fn written(name: &str) -> (Scratch, Words) {
    let folder = Scratch::new(name);
    let words = words();
    for (name, text) in ["before.json", "after.json"].iter().zip(&words.json) {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    std::fs::write(folder.path().join("page.html"), report::PAGE).unwrap();
    (folder, words)
}

#[test]
fn what_is_left_out_is_in_no_output() {
    let (folder, words) = written("left-out");
    let names = [words.services.clone(), words.operations.clone(), words.ids.clone()].concat();
    let everything = outputs(folder.path(), &[]).join("\n");
    // The words are there unless they are left out: else nothing would be tested.
    assert_eq!(Words::found(&words.tags, &everything).len(), words.tags.len());
    assert_eq!(Words::found(&words.services, &everything).len(), words.services.len());
    let both = outputs(folder.path(), &["--no-tags", "--pseudonyms"]);
    for text in &both {
        assert_eq!(Words::found(&words.tags, text), Vec::<&str>::new(), "{text}");
        assert_eq!(Words::found(&names, text), Vec::<&str>::new(), "{text}");
        assert!(!text.contains("after.json"), "{text}");
    }
    for text in outputs(folder.path(), &["--no-tags"]) {
        // What tags name as called is part of the name of a place.
        assert_eq!(Words::found(&words.tags, &text), Vec::<&str>::new(), "{text}");
    }
    for text in outputs(folder.path(), &["--pseudonyms"]) {
        assert_eq!(Words::found(&names[..4], &text), Vec::<&str>::new(), "services: {text}");
        assert_eq!(Words::found(&names[5..], &text), Vec::<&str>::new(), "operations and ids: {text}");
    }
}

#[test]
fn a_name_has_one_pseudonym_in_everything_made_of_the_same_traces() {
    let (folder, words) = written("pseudonyms");
    let folder = folder.path();
    let place = |names: &[String], name: &String| {
        let mut sorted = names.to_vec();
        sorted.sort();
        sorted.iter().position(|known| known == name).unwrap() + 1
    };
    let pseudonyms = |(at, (service, operation)): (usize, (&String, &String))| {
        let numbers = (place(&words.services, service), place(&words.operations, operation));
        (at, format!("\"service-{}\"", numbers.0), format!("\"operation-{}\"", numbers.1))
    };
    let expected: Vec<_> = words.services.iter().zip(&words.operations).enumerate().map(pseudonyms).collect();
    // Every span of the report has the pseudonyms of its names, in traces that are as they were.
    let report = ["report", "after.json", "--page", "page.html", "-o", "report.html"];
    run(folder, &[&report[..], &["--no-tags", "--pseudonyms"]].concat());
    let (_, columns) = opened(&folder.join("report.html"));
    let (plain, _) = read(words.json[1].as_bytes(), false, 1, || 1 << 20);
    let spans = |dump: &str, is_plain: bool| {
        let mut spans: Vec<[String; 4]> = Vec::new();
        for line in dump.lines().filter(|line| line.starts_with("  ")) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [mut service, mut operation] = [fields[4].to_owned(), fields[5].to_owned()];
            if is_plain {
                let at = words.services.iter().position(|word| service.trim_matches('"') == word).unwrap();
                (service, operation) = (expected[at].1.clone(), expected[at].2.clone());
            }
            spans.push([fields[3].to_owned(), fields[1].to_owned(), service, operation]);
        }
        spans.sort();
        spans
    };
    assert_eq!(spans(&columns, false).len(), 640);
    assert_eq!(spans(&columns, false), spans(&plain, true));
    // And so has the note.
    let (_, service, operation) = &expected[3];
    let slow = format!("`{} @ {}`", operation.trim_matches('"'), service.trim_matches('"'));
    let note = run(folder, &["findings", "after.json", "--format", "markdown", "--no-tags", "--pseudonyms"]);
    assert!(note.contains(&slow), "{slow} in {note}");
    let whole = run(folder, &["findings", "after.json", "--format", "markdown"]);
    assert!(whole.contains(&format!("`{} @ {}`", words.operations[3], words.services[3])), "{whole}");
}

/// Returns what the page copies of a diagnosis, of one set and of what changed between two.
fn diagnoses(by: &GroupBy, redaction: Redaction) -> Vec<String> {
    let words = words();
    let mut set = TraceSet::new();
    for (group, text) in words.json.iter().enumerate() {
        set.loading_group = group as u8;
        read_into(&mut set, "words.json", text.as_bytes(), 1 << 16);
    }
    set.seal().unwrap();
    let mut pool = NativePool::of(vec![set]).unwrap();
    let a = Selection { by: by.clone(), ..Selection::default() };
    let b = Selection { group: 1, ..a.clone() };
    let pseudonyms = pool.run(queries::NamePseudonyms {}).unwrap();
    let settings = DiagnosisSettings::default();
    let report = pool.run(queries::Diagnosis { selection: b.clone(), settings }).unwrap();
    assert!(!report.report.is_empty() && report.tail.lists().next().is_some(), "{by:?}");
    let sets = pool.run(queries::CompareDiagnoses { a, b }).unwrap();
    assert!(!sets.culprit.services.is_empty() && sets.places.lists().next().is_some(), "{by:?}");
    let report = redacted::diagnosis(&report, redaction, &pseudonyms);
    vec![
        markdown(&report, None),
        sets_markdown(&redacted::sets(&sets, redaction, &pseudonyms)),
        // Lines that Markdown leaves out must not tell either.
        format!("{report:?}"),
    ]
}

#[test]
fn what_is_left_out_is_in_no_diagnosis_and_in_no_summary() {
    let words = words();
    let names = [words.services.clone(), words.operations.clone(), words.ids.clone()].concat();
    let by_tag = GroupBy::Tag(words.tags[0].clone());
    for by in [&by_tag, &GroupBy::Route, &GroupBy::Automatic] {
        let everything = diagnoses(by, Redaction::default()).join("\n");
        assert_eq!(Words::found(&words.services[..4], &everything).len(), 4, "{everything}");
        if *by == by_tag {
            assert_eq!(Words::found(&words.tags[3..5], &everything).len(), 2, "values: {everything}");
        }
        for text in diagnoses(by, Redaction { tags: true, names: true }) {
            assert_eq!(Words::found(&names, &text), Vec::<&str>::new(), "{text}");
            assert_eq!(Words::found(&words.tags, &text), Vec::<&str>::new(), "{text}");
            assert!(text.contains("service-") && text.contains("operation-"), "{text}");
            assert!(!text.contains("another"), "a name is not known: {text}");
        }
        for text in diagnoses(by, Redaction { tags: true, names: false }) {
            assert_eq!(Words::found(&words.tags, &text), Vec::<&str>::new(), "{text}");
            assert!(text.contains(&words.services[3]) && text.contains(&words.operations[3]), "{text}");
        }
    }
    let mut set = TraceSet::new();
    read_into(&mut set, "words.json", words.json[1].as_bytes(), 1 << 16);
    set.seal().unwrap();
    let mut pool = NativePool::of(vec![set]).unwrap();
    let pseudonyms = pool.run(queries::NamePseudonyms {}).unwrap();
    let report = pool.run(queries::Endpoints { selection: Selection::default() }).unwrap();
    let at = pool.run(queries::AtLatencies { selection: Selection::default() }).unwrap();
    let all = |names: NamesLeftOut<'_>| {
        let lists = [ListsBy::Latency, ListsBy::Endpoint];
        let mut all: Vec<String> = lists.map(|by| to_text(&report, &at, by, 10, names)).into();
        all.extend(lists.map(|by| to_markdown(&report, &at, by, 10, names)));
        all.push(to_csv(&report, &at, names));
        all
    };
    for (whole, text) in all(None).iter().zip(all(Some(&pseudonyms))) {
        assert_eq!(Words::found(&words.services[..4], whole).len(), 4, "{whole}");
        assert_eq!(Words::found(&names, &text), Vec::<&str>::new(), "{text}");
        assert_eq!(text.lines().count(), whole.lines().count());
        // Numbers are the same.
        let digits = |text: &str| text.split(',').filter(|field| field.parse::<f64>().is_ok()).count();
        assert_eq!(digits(&text), digits(whole), "{text}");
    }
}

#[test]
fn a_report_has_the_same_bytes_for_any_number_of_threads() {
    let folder = Scratch::new("report-bytes");
    std::fs::write(folder.path().join("page.html"), report::PAGE).unwrap();
    let files: Vec<String> = (1..=6).map(|seed| format!("{seed}.json")).collect();
    for (seed, file) in files.iter().enumerate() {
        let seed = (seed + 1).to_string();
        let generate =
            ["generate", "--traces", "100", "--spans", "40", "--shape", "mixed", "--defects", "all"];
        run(folder.path(), &[&generate[..], &["--seed", &seed, "--out", file]].concat());
    }
    let inputs: Vec<&str> = files.iter().map(String::as_str).collect();
    for options in [&[][..], &["--no-tags"], &["--pseudonyms"]] {
        let written = ["1", "2", "3", "3"].map(|threads| {
            let report = ["report", "--page", "page.html", "--threads", threads, "-o", "report.html"];
            run(folder.path(), &[&report[..], options, &inputs].concat());
            std::fs::read(folder.path().join("report.html")).unwrap()
        });
        assert!(written.iter().all(|bytes| *bytes == written[0]), "{options:?}");
        // It holds what the files hold.
        let count = |files: &[&str]| {
            let json = run(folder.path(), &[&["inspect", "--json"][..], files].concat());
            let json: serde_json::Value = serde_json::from_str(&json).unwrap();
            ["traces", "spans", "services"].map(|key| json[key].as_u64())
        };
        assert_eq!(count(&["report.html"]), count(&inputs), "{options:?}");
    }
}

#[test]
fn reports_of_a_folder_have_an_index_and_summaries_a_trend() {
    let folder = Scratch::new("report-index");
    let path = folder.path();
    std::fs::write(path.join("page.html"), report::PAGE).unwrap();
    std::fs::create_dir(path.join("days")).unwrap();
    for seed in ["1", "2"] {
        let traces = format!("{seed}.json");
        run(path, &["generate", "--traces", "100", "--spans", "20", "--seed", seed, "--out", &traces]);
        run(path, &["summarise", &traces, "-o", &format!("days/day-{seed}.pathlight")]);
    }
    run(path, &["report", "--page", "page.html", "--index", "out", "1.json", "2.json"]);
    let index = std::fs::read_to_string(path.join("out/index.html")).unwrap();
    assert!(!index.contains("Trend") && index.matches("<tr>").count() == 3, "{index}");
    let findings = run(path, &["findings", "--json", "1.json"]);
    let findings: serde_json::Value = serde_json::from_str(&findings).unwrap();
    assert!(index.contains(&findings["requests"].to_string()), "{index}");
    // A report of the index is what `report` writes of the same file.
    run(path, &["report", "--page", "page.html", "-o", "one.html", "1.json"]);
    let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(read("out/report-1.html"), read("one.html"));

    run(path, &["report", "--page", "page.html", "--index", "weeks", "days"]);
    let index = read("weeks/index.html");
    for file in ["report-day-1.html", "report-day-2.html", "report-trend.html"] {
        assert!(index.contains(&format!("href=\"{file}\"")), "{file} in {index}");
    }
    let trend = read("weeks/report-trend.html");
    assert!(trend.contains("view=trend") && trend.contains("[\"day-1.pathlight\",\"day-2.pathlight\"]"));
    assert_eq!(trend.matches("class=\"report-part\"").count(), 2);
}
