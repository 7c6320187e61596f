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

pub use replay::check_alone as check;

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
