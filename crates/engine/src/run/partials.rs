//! The bytes between a plan and its workers: several parts in one, and a seal that shows damage.

use crate::EngineError;
use pathlight_base::encoding::Damaged;
use pathlight_trace::hash_bytes;

/// Bytes of the checksum behind a pass and a partial.
const SEAL: usize = 8;

/// Returns a pass or a partial with its checksum. They are full of places in each other's lists, so a reader would
/// have to doubt every number of a damaged one.
pub(crate) fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let hash = hash_bytes(&bytes);
    bytes.reserve_exact(SEAL);
    bytes.extend_from_slice(&hash.to_le_bytes());
    bytes
}

/// Returns what [`sealed`] was given; an error if it is not that any more.
pub(crate) fn opened(bytes: &[u8]) -> Result<&[u8], EngineError> {
    match bytes.split_last_chunk::<SEAL>() {
        Some((inside, seal)) if hash_bytes(inside) == u64::from_le_bytes(*seal) => Ok(inside),
        _ => Err(Damaged.into()),
    }
}

/// Returns one partial of several parts: before each its length in bytes, 8 of them, the lowest first.
pub(crate) fn frame(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(SEAL + parts.iter().map(|part| part.len() + 8).sum::<usize>());
    for part in parts {
        out.extend_from_slice(&(part.len() as u64).to_le_bytes());
        out.extend_from_slice(part);
    }
    out
}

/// Returns the parts of all partials that [`frame`] made.
pub(crate) fn parts<B: AsRef<[u8]>>(partials: &[B]) -> Result<Vec<&[u8]>, EngineError> {
    let cut = || EngineError::from(Damaged);
    let mut parts = Vec::new();
    for mut rest in partials.iter().map(AsRef::as_ref) {
        while let Some((length, after)) = rest.split_first_chunk() {
            let (part, after) = usize::try_from(u64::from_le_bytes(*length))
                .ok()
                .and_then(|length| after.split_at_checked(length))
                .ok_or_else(cut)?;
            parts.push(part);
            rest = after;
        }
        if !rest.is_empty() {
            return Err(cut());
        }
    }
    Ok(parts)
}
