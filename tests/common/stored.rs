//! Checks of what is kept between runs besides traces: summaries, models, addresses; and with [`spoken`] what is said between page,
//! workers and hosts. Whatever the bytes, reading them fails in words or gives something that every command can use.

use super::replay::{Random, kept, mutate, project};
use super::spoken;
use pathlight::analysis::anomaly::AnomalySettings;
use pathlight::generate::{Options, Shape, write_jaeger};
use pathlight::ingest::{Options as Reading, Reader};
use pathlight::model::trace::{Endpoint, LoadedSummary, TraceSet};
use pathlight::query::native::Pool;
use pathlight::query::{PathSettings, PercentileRange, RootEndpoint, Selection, queries};
use pathlight::summary::{Choice, Settings, Summary, compare};
use pathlight::view::address::Address;
use pathlight::view::summaries::Selected;
use std::io::{Read as _, Write as _};

/// A kind of thing that is kept: its name, bytes that are changed, and what is checked of changed ones.
pub type Stored = (&'static str, fn() -> Vec<Vec<u8>>, fn(&[u8]));

/// All of them.
pub const STORED: [Stored; 6] = [
    ("summary", summaries, check_summary),
    ("model", models, check_model),
    ("address", addresses, check_address),
    ("query", spoken::calls, spoken::check_call),
    ("embedding", spoken::embedding, spoken::check_embedding),
    ("columns", spoken::columns, spoken::check_columns),
];

/// Returns a few traces as they are read.
pub fn set() -> TraceSet {
    let options = Options { spans: 5, traces: 12, shape: Shape::Mixed, seed: 5, ..Options::default() };
    let mut json = Vec::new();
    write_jaeger(&options, &mut json).unwrap();
    let mut set = TraceSet::new();
    let mut reader = Reader::new("input", Reading::default());
    reader.feed(&json, &mut set).unwrap();
    reader.finish(&mut set);
    set.seal().unwrap();
    set
}

const SUMMARY: &[u8] = b"pathlight-summary 4\n";

/// Returns the inside of a summary: in the file it is packed, with a checksum that no change would pass.
fn summaries() -> Vec<Vec<u8>> {
    let settings = Settings::new(RootEndpoint::TraceRoots, PathSettings::default());
    let summary = Summary::observe(&set(), &settings);
    let file = pathlight::summary::write(&summary).unwrap();
    // Of another version, nothing of what is changed here would ever be read.
    assert_eq!(&file[..SUMMARY.len()], SUMMARY);
    let mut inside = Vec::new();
    flate2::read::GzDecoder::new(&file[SUMMARY.len()..]).read_to_end(&mut inside).unwrap();
    vec![inside]
}

fn check_summary(inside: &[u8]) {
    let mut packer = flate2::write::GzEncoder::new(SUMMARY.to_vec(), flate2::Compression::fast());
    packer.write_all(inside).unwrap();
    let Ok(summary) = pathlight::summary::read(&packer.finish().unwrap()) else { return };
    let again = pathlight::summary::read(&pathlight::summary::write(&summary).unwrap()).unwrap();
    compare(&summary, &again, None);
    Selected::of(&summary, None, PercentileRange::ALL);
    let choice = Choice::default();
    for parent in summary.flow_parents(&choice, None).unwrap_or_default() {
        let _ = summary.flow(&choice, &Endpoint::new(parent.service, parent.operation), 990_000);
    }
    let mut set = TraceSet::new();
    let (traces, spans, value) = (summary.traces, summary.spans, Box::new(again.clone()));
    set.summaries.push(LoadedSummary { name: String::new(), group: 0, traces, spans, value });
    let query = queries::AnomalyModel { train: Selection::default(), settings: AnomalySettings::default() };
    let _ = Pool::of(vec![set]).unwrap().run(query);
    let _ = Summary::merge(summary, again);
}

/// Returns models, each also as the format before the checksum, so that changes of the inside are read: the heads take
/// 26 bytes, the checksum 8.
fn models() -> Vec<Vec<u8>> {
    let query = queries::AnomalyModel { train: Selection::default(), settings: AnomalySettings::default() };
    let tree = Pool::of(vec![set()]).unwrap().run(query).unwrap();
    let vae = std::fs::read(project("tests/golden/upgrade/0.1/vae4.model")).unwrap();
    let inside = |model: &Vec<u8>| [b"pathlight anomaly model 2\n", &model[34..]].concat();
    vec![inside(&tree), inside(&vae), tree, vae]
}

fn check_model(bytes: &[u8]) {
    if pathlight::analysis::anomaly::Model::from_bytes(bytes).is_err() {
        return;
    }
    let settings = AnomalySettings { model: Some(bytes.to_vec()), ..AnomalySettings::default() };
    let (train, test) = (Selection::default(), Selection::default());
    let _ = Pool::of(vec![set()]).unwrap().run(queries::Anomalies { train, test, settings });
}

fn addresses() -> Vec<Vec<u8>> {
    let text = std::fs::read_to_string(project("tests/golden/upgrade/0.1/addresses.txt")).unwrap();
    text.lines().map(|line| line.as_bytes().to_vec()).collect()
}

fn check_address(bytes: &[u8]) {
    let written = |text: &str| Address::parse(text).to_fragment();
    // Once it is written it stays; what makes no sense, as a search without a service, may go before.
    let once = written(&written(&String::from_utf8_lossy(bytes)));
    assert_eq!(written(&once), once, "an address is not what it was");
}

/// Checks what fuzzing has kept, and seeded changes of what is kept until `more` says no; returns how many.
pub fn replay((name, texts, check): Stored, run: u64, mut more: impl FnMut(u64) -> bool) -> u64 {
    kept(name).iter().for_each(|text| check(text));
    let texts = texts();
    texts.iter().for_each(|text| check(text));
    let mut number = 0;
    while more(number) {
        let seed = run.wrapping_mul(0x9E37_79B9).wrapping_add(number);
        if let Err(panic) = std::panic::catch_unwind(|| check(&case(&texts, seed))) {
            println!("target {name}: PATHLIGHT_REPLAY={name}:{seed} repeats this case");
            std::panic::resume_unwind(panic);
        }
        number += 1;
    }
    number
}

/// Checks one case by its seed.
pub fn one((_, texts, check): Stored, seed: u64) {
    check(&case(&texts(), seed));
}

/// Returns the bytes of one case: one of the texts with some changes.
fn case(texts: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let mut text = texts[random.below(texts.len())].clone();
    for _ in 0..1 + random.skewed(5) {
        let other = &texts[random.below(texts.len())];
        match random.below(2) {
            0 if !text.is_empty() => {
                let at = random.below(text.len());
                text[at] = random.next() as u8;
            }
            _ => mutate(&mut text, other, &mut random),
        }
    }
    text
}
