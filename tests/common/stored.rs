//! Checks of what is kept between runs besides traces: summaries, models, addresses; and with [`spoken`] what is said between page,
//! workers and hosts. Whatever the bytes, reading them fails in words or gives something that every command can use.

use super::replay::{Random, kept, mutate, project};
use super::{spoken, times};
use pathlight::base::encoding;
use pathlight::engine::anomalies::AnomalySettings;
use pathlight::engine::compare::compare;
use pathlight::engine::diagnosis::DiagnosisSettings;
use pathlight::engine::queries;
use pathlight::engine::requests::{PercentileRange, RootEndpoint, Selection};
use pathlight::engine::run::Session;
use pathlight::engine::run::native::NativePool;
use pathlight::engine::summaries::{Choice, LoadedSummary, Summary, SummarySettings, read, write};
use pathlight::engine::trend::{TrendAxis, TrendOfSummaries};
use pathlight::generate::{GenerateOptions, Shape, write_jaeger};
use pathlight::ingest::{ReadOptions, Reader};
use pathlight::trace::{Endpoint, PathSettings, TraceSet};
use pathlight::view::address::Address;
use pathlight::view::summaries::Selected;
use std::io::{Read as _, Write as _};
use std::sync::LazyLock;

/// A kind of thing that is kept: its name, bytes that are changed, and what is checked of changed ones.
pub type Stored = (&'static str, fn() -> Vec<Vec<u8>>, fn(&[u8]));

/// All of them.
pub const STORED: [Stored; 7] = [
    ("summary", summaries, check_summary),
    ("model", models, check_model),
    ("address", addresses, check_address),
    ("query", spoken::calls, spoken::check_call),
    ("embedding", spoken::embedding, spoken::check_embedding),
    ("columns", spoken::columns, spoken::check_columns),
    ("times", times::texts, times::check),
];

/// Returns a few traces as Jaeger exports them.
pub fn json() -> Vec<u8> {
    let options =
        GenerateOptions { spans: 5, traces: 12, shape: Shape::Mixed, seed: 5, ..GenerateOptions::default() };
    let mut json = Vec::new();
    write_jaeger(&options, &mut json).unwrap();
    json
}

/// Returns them as they are read.
pub fn set() -> TraceSet {
    loaded(&json())
}

/// Returns generated traces read from a file: sets made without one have no tags.
pub fn read_generated(options: &GenerateOptions) -> TraceSet {
    let mut bytes = Vec::new();
    write_jaeger(options, &mut bytes).unwrap();
    loaded(&bytes)
}

/// Returns what is read of an input.
pub fn loaded(bytes: &[u8]) -> TraceSet {
    let mut set = TraceSet::new();
    let mut reader = Reader::new("input", ReadOptions::default());
    // What is wrong stands in the report.
    let _ = reader.feed(bytes, &mut set);
    reader.finish(&mut set);
    set.seal().unwrap();
    set
}

/// What a summary begins with, of the version of today, which has sections, and of the one before.
const HEADS: [&[u8]; 2] = [b"pathlight-summary 5\n", b"pathlight-summary 4\n"];

/// The sections of a summary: name, version and bytes of each.
type Sections = Vec<(String, u32, Vec<u8>)>;

/// Returns the inside of a summary: in the file it is packed, with a checksum that no change would pass.
pub fn inside(file: &[u8]) -> Vec<u8> {
    // Of another version, nothing of what is changed here would ever be read.
    let packed = file.strip_prefix(HEADS[0]).unwrap();
    let mut inside = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut inside).unwrap();
    inside
}

/// Returns a file with this inside.
fn packed(head: &[u8], inside: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(head.to_vec(), flate2::Compression::fast());
    packer.write_all(inside).unwrap();
    packer.finish().unwrap()
}

/// Returns a file of today with this inside.
pub fn of_inside(inside: &[u8]) -> Vec<u8> {
    packed(HEADS[0], inside)
}

/// Returns the sections of a file.
pub fn sections(file: &[u8]) -> Sections {
    encoding::read(&inside(file)).unwrap()
}

/// Returns a file of these sections.
pub fn of_sections(sections: &Sections) -> Vec<u8> {
    of_inside(&encoding::write(sections))
}

/// The sections that are changed.
static SECTIONS: LazyLock<Sections> = LazyLock::new(|| {
    let settings = SummarySettings::new(RootEndpoint::TraceRoots, PathSettings::default());
    sections(&write(&Summary::observe(&set(), &settings)).unwrap())
});

/// Returns the inside of a summary as it is, with sections that a newer Pathlight would write, and with one left out; then
/// of each section its number and its bytes, so that changes of it meet no other one.
fn summaries() -> Vec<Vec<u8>> {
    let (mut newer, mut fewer) = (SECTIONS.clone(), SECTIONS.clone());
    newer[1].0 = "tomorrow".to_owned();
    newer[2].1 += 1;
    fewer.remove(3);
    let whole = [SECTIONS.clone(), newer, fewer].map(|sections| encoding::write(&sections));
    let alone = (0..).zip(&*SECTIONS).map(|(number, (_, _, bytes))| [&[number], bytes.as_slice()].concat());
    whole.into_iter().chain(alone).collect()
}

fn check_summary(bytes: &[u8]) {
    HEADS.iter().for_each(|head| check_file(&packed(head, bytes)));
    if let Some((number, bytes)) = bytes.split_first() {
        let mut sections = SECTIONS.clone();
        let changed = usize::from(*number) % sections.len();
        sections[changed].2 = bytes.to_vec();
        check_file(&of_sections(&sections));
    }
}

fn check_file(file: &[u8]) {
    let Ok(summary) = read(file) else { return };
    let again = read(&write(&summary).unwrap()).unwrap();
    let _ = compare(&summary, &again, None);
    Selected::of(&summary, None, PercentileRange::ALL);
    let choice = Choice::default();
    let _ = (summary.critical_path(&choice), summary.endpoints(&choice), summary.bottom_up(&choice));
    let _ = (summary.histograms(&choice), summary.diagnosis(&choice, &DiagnosisSettings::default()));
    let _ = TrendOfSummaries::of(&[summary.clone(), again.clone()], TrendAxis::Days);
    again.clone().into_roots().for_each(|(_, part)| drop(write(&part)));
    for parent in summary.flow_parents(&choice, None).unwrap_or_default() {
        let _ = summary.flow(&choice, &Endpoint::new(parent.service, parent.operation), 990_000);
    }
    let mut session = Session::new();
    session.summaries.add(LoadedSummary { name: String::new(), group: 0, summary: again.clone() });
    let query = queries::AnomalyModel {
        train: Selection::default(),
        test: Selection::default(),
        settings: AnomalySettings::default(),
    };
    let _ = NativePool::of_sessions(vec![session]).unwrap().run(query);
    let _ = Summary::merge(summary, again);
}

/// Returns models, each also as the format before the checksum, so that changes of the inside are read: the heads take
/// 26 bytes, the checksum 8.
fn models() -> Vec<Vec<u8>> {
    let query = queries::AnomalyModel {
        train: Selection::default(),
        test: Selection::default(),
        settings: AnomalySettings::default(),
    };
    let tree = NativePool::of(vec![set()]).unwrap().run(query).unwrap();
    let vae = std::fs::read(project("tests/golden/upgrade/0.1/vae4.model")).unwrap();
    let inside = |model: &Vec<u8>| [b"pathlight anomaly model 2\n", &model[34..]].concat();
    vec![inside(&tree), inside(&vae), tree, vae]
}

fn check_model(bytes: &[u8]) {
    if pathlight::engine::anomalies::AnomalyBaseline::from_bytes(bytes).is_err() {
        return;
    }
    let settings = AnomalySettings { model: Some(bytes.to_vec()), ..AnomalySettings::default() };
    let (train, test) = (Selection::default(), Selection::default());
    let _ = NativePool::of(vec![set()]).unwrap().run(queries::Anomalies { train, test, settings });
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
