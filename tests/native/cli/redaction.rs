//! What is left out does not travel: not in a report, not in findings of any format.

use crate::common::Scratch;
use crate::common::replay::read;
use crate::common::words::{Words, words};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::read::GzDecoder;
use pathlight::view::saved;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

const PAGE: &str = "<div id=\"app\"></div>\n<script id=\"asset-glue\">x</script>\n";

fn run(folder: &Path, args: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_pathlight")).current_dir(folder).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A report as text: what stands around the traces, the columns unpacked byte by byte, and as they are read.
fn opened(html: &str) -> (String, String) {
    let (mut text, mut columns, mut rest) = (String::new(), String::new(), html);
    while let Some((before, after)) = rest.split_once(saved::PART.0) {
        text += before;
        let (part, after) = after.split_once(saved::PART.1).unwrap();
        let packed = BASE64_STANDARD.decode(part.trim()).unwrap();
        let mut bytes = Vec::new();
        GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
        text += &String::from_utf8_lossy(&bytes);
        columns += &read(&bytes, false, 1, || 4096).0;
        rest = after;
    }
    (text + rest, columns)
}

/// Every output of the two commands with these options.
fn outputs(folder: &Path, options: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for threads in ["1", "3"] {
        let report = ["report", "after.json", "--page", "page.html", "--threads", threads];
        let filters = ["--with-error", "-o", "report.html"];
        run(folder, &[&report[..], &filters, options].concat());
        let (text, columns) = opened(&std::fs::read_to_string(folder.join("report.html")).unwrap());
        all.extend([text, columns]);
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
    std::fs::write(folder.path().join("page.html"), PAGE).unwrap();
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
    let (_, columns) = opened(&std::fs::read_to_string(folder.join("report.html")).unwrap());
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
