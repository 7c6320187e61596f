#![allow(dead_code, reason = "the tests use more of what is shared")]
//! What every target does with its bytes: the check of the replays in `tests/`.

#[path = "../../../tests/common/archives.rs"]
pub mod archives;
#[path = "../../../tests/common/stored.rs"]
pub mod stored;
#[path = "../../../tests/common/replay.rs"]
pub mod replay;
#[path = "../../../tests/common/spoken.rs"]
pub mod spoken;

/// Reads bytes in every way; chunk boundaries follow from the bytes, so that a finding repeats.
pub fn check(bytes: &[u8]) {
    let seed = bytes.iter().fold(bytes.len() as u64, |sum, &byte| sum.wrapping_mul(31) + u64::from(byte));
    replay::check(bytes, &mut replay::Random(seed));
}

/// Reads bytes as what is kept between runs or said between page, workers and hosts.
pub fn check_stored(name: &str, bytes: &[u8]) {
    stored::STORED.iter().filter(|(known, ..)| *known == name).for_each(|(_, _, check)| check(bytes));
}

/// Writes the seeds of a target into the folder it was started with, before libFuzzer looks there.
pub fn sow(target: &str) {
    let Some(folder) = std::env::args().skip(1).find(|word| !word.starts_with('-')) else { return };
    let texts = replay::TARGETS.iter().filter(|(name, _)| *name == target).map(|(_, texts)| texts);
    let stored = stored::STORED.iter().filter(|(name, ..)| *name == target).map(|(_, texts, _)| texts);
    let texts = texts.chain(stored).flat_map(|texts| texts());
    for (number, text) in texts.enumerate() {
        std::fs::write(format!("{folder}/seed-{number}"), text).expect("the folder of the seeds");
    }
}
