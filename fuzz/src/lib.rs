//! What every target does with its bytes: the check of the replays in `tests/`.

#[path = "../../tests/common/archives.rs"]
pub mod archives;
#[path = "../../tests/common/replay.rs"]
pub mod replay;

/// Reads bytes in every way; chunk boundaries follow from the bytes, so that a finding repeats.
pub fn check(bytes: &[u8]) {
    let seed = bytes.iter().fold(bytes.len() as u64, |sum, &byte| sum.wrapping_mul(31) + u64::from(byte));
    replay::check(bytes, &mut replay::Random(seed));
}
