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
#[path = "../../../tests/common/times.rs"]
pub mod times;

pub use replay::check_alone as check;

/// Reads bytes as what is kept between runs or said between page, workers and hosts.
///
/// # Panics
/// If `name` is none of [`stored::STORED`], since such a target would check nothing; and if the bytes break something.
pub fn check_stored(name: &str, bytes: &[u8]) {
    match stored::STORED.iter().find(|(known, ..)| *known == name) {
        Some((_, _, check)) => check(bytes),
        None => panic!("{name} is no target of tests/common/stored.rs"),
    }
}

/// Writes the seeds of a target into the folder it was started with, before libFuzzer looks there.
///
/// # Panics
/// If `target` is none of [`replay::TARGETS`] and [`stored::STORED`], since it would start without seeds.
pub fn sow(target: &str) {
    let texts = replay::TARGETS.iter().map(|(name, texts)| (*name, *texts));
    let stored = stored::STORED.iter().map(|(name, texts, _)| (*name, *texts));
    let Some((_, texts)) = texts.chain(stored).find(|(name, _)| *name == target) else {
        panic!("{target} is no target of tests/common/replay.rs or tests/common/stored.rs")
    };
    let Some(folder) = std::env::args().skip(1).find(|word| !word.starts_with('-')) else { return };
    for (number, text) in texts().into_iter().enumerate() {
        std::fs::write(format!("{folder}/seed-{number}"), text).expect("the folder of the seeds");
    }
}
