//! Traces by ids that mean the same in every worker, and those that links connect with so many others that they are not
//! brought together in one.

use super::connected::{MOST_TRACES, components};
use super::set_pass::{OverSet, RunningSetPass, SetPass, at_once};
use pathlight_base::encoding;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{TraceId, TraceSet, hash_bytes};
use serde::{Deserialize, Serialize};

/// A trace id that means the same in every set: group and id.
pub(crate) type Key = (u8, Name);

/// A trace id without its group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Name {
    /// A hexadecimal one.
    Hex(u128),
    /// Any other.
    Text(String),
}

/// Returns the key of a trace of a set.
pub(super) fn key(set: &TraceSet, id: TraceId) -> Key {
    (id.group, if id.text { Name::Text(id.to_text(&set.id_texts)) } else { Name::Hex(id.bits) })
}

/// Returns a hash of the id of a trace, the same in both groups.
pub(super) fn hash(key: &Key) -> u64 {
    match &key.1 {
        Name::Hex(bits) => hash_bytes(&bits.to_le_bytes()),
        Name::Text(text) => hash_bytes(text.as_bytes()),
    }
}

/// Returns the pairs of traces that a link connects, whether the second is loaded or not.
pub(super) fn connections(set: &TraceSet) -> Vec<(Key, Key)> {
    let mut links = set.links().peekable();
    let mut pairs = Vec::new();
    for trace in set.traces() {
        while let Some(link) = links.next_if(|link| link.from < trace.end) {
            if link.trace != trace.id {
                pairs.push((trace.id, link.trace));
            }
        }
    }
    pairs.compact_sort();
    pairs.dedup();
    pairs.into_iter().map(|(from, to)| (key(set, from), key(set, to))).collect()
}

/// The pairs of traces that links connect.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ConnectionsPass;

impl SetPass for ConnectionsPass {
    type Part = (bool, Vec<(Key, Key)>);

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        at_once(move |set| encoding::write(&(set.links().next().is_some(), connections(set))))
    }
}

/// Facts about the links of all that is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Connections {
    /// Whether there are links.
    pub has_links: bool,
    /// Hashes, ascending, of the traces that links connect with so many others that no worker holds all of these.
    pub apart: Vec<u64>,
}

impl Connections {
    /// Returns what all workers have found.
    pub fn of(parts: Vec<(bool, Vec<(Key, Key)>)>) -> Connections {
        let has_links = parts.iter().any(|part| part.0);
        let components = components(parts.into_iter().flat_map(|part| part.1));
        let large = components.iter().filter(|keys| keys.len() > MOST_TRACES);
        let mut apart: Vec<u64> = large.flatten().map(hash).collect();
        apart.sort_unstable();
        Connections { has_links, apart }
    }
}

/// Returns the traces of a set whose hashes are among these, ascending.
pub(super) fn traces_of(set: &TraceSet, hashes: &[u64]) -> Vec<u32> {
    if hashes.is_empty() {
        return Vec::new();
    }
    let is_one = |trace: &u32| {
        let id = set.traces()[*trace as usize].id;
        hashes.binary_search(&hash(&key(set, id))).is_ok()
    };
    (0..set.traces().len() as u32).filter(is_one).collect()
}
