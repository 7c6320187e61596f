//! Times at the ends of what is read, through every query and into summaries that merge and are read again.

use super::replay::Random;
use super::spoken::{MESSAGES, drive};
use super::stored::{json, loaded};
use pathlight::engine::compare::compare;
use pathlight::engine::queries;
use pathlight::engine::requests::{RootEndpoint, Selection};
use pathlight::engine::run::Session;
use pathlight::engine::run::native::NativePool;
use pathlight::engine::summaries::{Summary, SummarySettings};
use pathlight::trace::{LATEST_US, LONGEST_US, PathSettings, TraceSet};

/// Numbers at which something ends: what is read, what 32, 48, 53, 63 and 64 bits hold, days and years.
const ENDS: [u64; 16] = [
    0,
    1,
    999,
    1 << 32,
    (1 << 48) - 1,
    1 << 48,
    1 << 53,
    (1 << 63) - 1,
    u64::MAX,
    86_400_000_000,
    31_557_600_000_000,
    LONGEST_US - 1,
    LONGEST_US,
    LONGEST_US + 1,
    LATEST_US - LONGEST_US,
    LATEST_US,
];

/// Returns a few traces as JSON, of which more and more times are at an end.
pub fn texts() -> Vec<Vec<u8>> {
    let text = String::from_utf8(json()).unwrap();
    (1..=8).map(|part| with_ends(&text, part, &mut Random(part as u64)).into_bytes()).collect()
}

/// Puts ends in place of `part` of eight times.
fn with_ends(text: &str, part: usize, random: &mut Random) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((key, at)) = ["\"startTime\":", "\"duration\":"]
        .iter()
        .filter_map(|key| rest.find(key).map(|at| (key, at)))
        .min_by_key(|(_, at)| *at)
    {
        let (before, number) = rest.split_at(at + key.len());
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        out += before;
        match random.below(8) < part {
            true => out += &ENDS[random.below(ENDS.len())].to_string(),
            false => out += &number[..end],
        }
        rest = &number[end..];
    }
    out + rest
}

/// Checks that every query of traces with these times gives a report, and that their summary can be read and merged.
pub fn check(bytes: &[u8]) {
    check_sets(|| loaded(bytes));
}

/// Checks the same of the set that is made.
pub fn check_sets(make: impl Fn() -> TraceSet) {
    let set = make();
    if set.traces().is_empty() {
        return;
    }
    let settings = SummarySettings::new(RootEndpoint::TraceRoots, PathSettings::default());
    let summary = Summary::observe(&set, &settings);
    let again = pathlight::engine::summaries::read(&pathlight::engine::summaries::write(&summary).unwrap());
    let again = again.expect("what was written is read");
    assert!(compare(&summary, &again, None).is_ok());
    let merged = Summary::merge(summary, again).unwrap();
    assert!(
        pathlight::engine::summaries::read(&pathlight::engine::summaries::write(&merged).unwrap()).is_ok()
    );
    let baseline =
        queries::Findings { selection: Selection::default(), baseline: Some(Selection::default()) };
    NativePool::of(vec![set]).unwrap().run(baseline).unwrap();
    let mut session = Session::of(make());
    for message in MESSAGES.iter() {
        // What asks for a trace or an endpoint that is not there is refused in words.
        drive(&mut session, message.clone(), &mut |_, _, _| {});
    }
}
