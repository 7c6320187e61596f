//! Summaries of other versions: sections that a newer Pathlight added or changed, and those that an older one did not write.

use crate::common::generated;
use crate::common::stored::{inside, of_inside, of_sections, sections};
use pathlight::engine::compare::compare;
use pathlight::engine::diagnosis::DiagnosisSettings;
use pathlight::engine::requests::PercentileRange;
use pathlight::engine::summaries::{Choice, FileError, Merger, Summary, SummarySettings, check, read, write};
use pathlight::generate::GenerateOptions;
use pathlight::view::summaries::Selected;

/// Every section, as it stands in files for good.
const NAMES: [&str; 8] =
    ["latencies", "flame", "endpoints", "services", "errors", "flow", "diagnosis", "anomalies"];

fn file(seed: u64) -> Vec<u8> {
    let set = generated(&GenerateOptions { traces: 60, spans: 20, seed, ..GenerateOptions::demo() });
    write(&Summary::observe(&set, &SummarySettings::default())).unwrap()
}

/// Returns the file with one of its sections changed.
fn with(file: &[u8], name: &str, change: impl FnOnce(&mut (String, u32, Vec<u8>))) -> Vec<u8> {
    let mut all = sections(file);
    change(all.iter_mut().find(|section| section.0 == name).unwrap());
    of_sections(&all)
}

fn without(file: &[u8], name: &str) -> Vec<u8> {
    let mut all = sections(file);
    all.retain(|section| section.0 != name);
    of_sections(&all)
}

fn said<T, E: ToString>(report: Result<T, E>) -> String {
    report.map_or_else(|error| error.to_string(), |_| String::new())
}

/// Returns by section what the queries that need it say, "" where they answer.
fn answers(summary: &Summary) -> Vec<(&'static str, String)> {
    let choice = Choice::default();
    let root = summary.roots.keys().next();
    assert!(
        summary.facts(&choice).requests > 0 && summary.root(root).is_some(),
        "latencies are always there"
    );
    assert_eq!(summary.histograms(&choice).distributions.len(), 1);
    vec![
        ("flame", said(summary.critical_path(&choice))),
        ("endpoints", said(check(summary, summary, &["endpoint self p95>1%".parse().unwrap()]))),
        ("services", said(summary.services(root))),
        ("errors", said(summary.errors(&choice))),
        ("flow", said(summary.flow_parents(&choice, None))),
        ("diagnosis", said(summary.diagnosis(&choice, &DiagnosisSettings::default()))),
        ("anomalies", said(summary.normal(root))),
    ]
}

#[test]
fn a_file_has_a_section_for_each_analysis_and_reading_undoes_writing() {
    let file = file(1);
    let all = sections(&file);
    assert_eq!(all.iter().map(|section| section.0.as_str()).collect::<Vec<_>>(), NAMES);
    let version = |name: &str| match name {
        "services" => 3,
        "flame" | "errors" => 2,
        _ => 1,
    };
    assert!(all.iter().all(|section| section.1 == version(&section.0) && !section.2.is_empty()));
    let summary = read(&file).unwrap();
    assert_eq!((summary.lacks(), summary.unknown.len()), (Vec::new(), 0));
    assert!(answers(&summary).iter().all(|(_, error)| error.is_empty()));
    assert!(write(&summary).unwrap() == file);
    // The order of sections means nothing.
    let mut turned = sections(&file);
    turned.reverse();
    assert!(write(&read(&of_sections(&turned)).unwrap()).unwrap() == file);
}

#[test]
fn sections_of_a_newer_version_are_left_out_and_named() {
    let file = file(1);
    let mut all = sections(&file);
    all.insert(2, ("tomorrow".to_owned(), 3, b"anything".to_vec()));
    all.push(("after".to_owned(), 1, Vec::new()));
    let newer = read(&of_sections(&all)).unwrap();
    assert_eq!(newer.unknown.iter().collect::<Vec<_>>(), ["after", "tomorrow"]);
    assert!(newer.lacks().is_empty());
    // What is written of it is what this version knows; what is merged still says what is left out.
    assert!(write(&newer).unwrap() == file);
    let merged = Summary::merge(newer, read(&self::file(2)).unwrap()).unwrap();
    assert_eq!(merged.unknown.len(), 2);
    assert!(merged.into_roots().all(|(_, part)| part.unknown.len() == 2));
}

#[test]
fn only_what_needs_a_lacking_section_is_refused_in_words() {
    let file = file(1);
    for name in &NAMES[1..] {
        let newer = read(&with(&file, name, |section| section.1 = 7)).unwrap();
        let lacking = read(&without(&file, name)).unwrap();
        for (summary, words) in [
            (&newer, [format!("section {name}, version 7"), "use a newer Pathlight".to_owned()]),
            (
                &lacking,
                ["was written before Pathlight summed".to_owned(), "again from its traces".to_owned()],
            ),
        ] {
            let lacks = summary.lacks();
            assert_eq!(lacks.iter().map(|lacks| lacks.section()).collect::<Vec<_>>(), [*name]);
            assert!(words.iter().all(|words| lacks[0].to_string().contains(words)), "{}", lacks[0]);
            for (other, error) in answers(summary) {
                assert_eq!(
                    error,
                    if other == *name { lacks[0].to_string() } else { String::new() },
                    "{name}"
                );
            }
            let needed = ["flame", "services"].contains(name);
            assert_eq!(compare(summary, summary, None).is_err(), needed, "{name}");
            let selected = Selected::of(summary, None, PercentileRange::ALL).unwrap();
            assert_eq!(selected.nodes.is_none(), *name == "flame");
            assert_eq!(selected.endpoint_rows().is_none(), *name == "endpoints");
            assert_eq!(selected.services.is_none(), *name == "services");
            assert_eq!(selected.errors.is_none(), *name == "errors");
            // It stays lacking, and is no section of nothing.
            let again = sections(&write(summary).unwrap());
            assert!(again.len() == NAMES.len() - 1 && again.iter().all(|section| section.0 != *name));
            assert!(summary.clone().into_roots().all(|(_, part)| part.lacks() == lacks));
        }
    }
}

#[test]
fn what_one_file_lacks_the_whole_lacks_whatever_the_order() {
    let files = [file(1), file(2), file(3), file(4)];
    let parts = [
        files[0].clone(),
        without(&files[1], "flow"),
        with(&files[2], "flow", |section| section.1 = 2),
        without(&files[3], "errors"),
    ];
    let whole = |order: [usize; 4]| {
        let mut merger = Merger::default();
        order.iter().for_each(|&number| merger.add(read(&parts[number]).unwrap()).unwrap());
        merger.finish().unwrap()
    };
    let in_turn = |order: [usize; 4]| {
        let add = |sum: Summary, number: usize| Summary::merge(read(&parts[number]).unwrap(), sum).unwrap();
        order.into_iter().fold(Summary::default(), add)
    };
    let expected = whole([0, 1, 2, 3]);
    assert_eq!(expected.lacks().iter().map(|lacks| lacks.section()).collect::<Vec<_>>(), ["errors", "flow"]);
    for order in [[3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
        for found in [whole(order), in_turn(order)] {
            assert_eq!(found.lacks(), expected.lacks());
            assert!(write(&found).unwrap() == write(&expected).unwrap());
        }
    }
    // All else is that of all files.
    let mut all = Merger::default();
    files.iter().for_each(|file| all.add(read(file).unwrap()).unwrap());
    let mut all = sections(&write(&all.finish().unwrap()).unwrap());
    all.retain(|section| !["errors", "flow"].contains(&section.0.as_str()));
    assert!(sections(&write(&expected).unwrap()) == all);
}

#[test]
fn damaged_sections_are_refused_by_name() {
    let file = file(1);
    let said = |file: &[u8]| match read(file) {
        Err(error @ FileError::Damaged(_)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    for name in NAMES {
        let cut = with(&file, name, |section| section.2.truncate(section.2.len() / 2));
        assert!(said(&cut).contains(&format!("section {name}: ")), "{}", said(&cut));
    }
    let mut twice = sections(&file);
    twice.push(twice[1].clone());
    assert!(said(&of_sections(&twice)).contains("section flame: it is there twice"));
    assert!(said(&without(&file, "latencies")).contains("section latencies: it is not there"));
    // Without latencies that this program can read there is nothing that it could say.
    let newer = read(&with(&file, "latencies", |section| section.1 = 2)).unwrap_err().to_string();
    assert!(newer.contains("section latencies, version 2") && newer.contains("newer Pathlight"), "{newer}");
}

#[test]
fn a_damaged_head_of_a_section_is_refused() {
    let file = file(1);
    let inside = inside(&file);
    // The name of the second section with its length before it, its version, and the length of its bytes.
    let at = inside.windows(6).position(|bytes| bytes == b"\x05flame").unwrap();
    let length = at + 7;
    for (place, byte) in [(at, 0xff), (length - 1, 0x80), (length, 0x7f)] {
        let mut changed = inside.clone();
        changed[place] = byte;
        assert!(matches!(read(&of_inside(&changed)), Err(FileError::Damaged(_))), "{place}");
    }
    // In the file itself a checksum guards it.
    for at in 20..file.len().min(400) {
        let mut changed = file.clone();
        changed[at] ^= 0x10;
        assert!(read(&changed).map_or(true, |found| write(&found).unwrap() == file), "{at}");
    }
}
