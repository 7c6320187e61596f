//! Reports as folded stacks, as flame graph tools read them.

use super::CriticalPathReport;
use crate::compare::CompareReport;
use crate::ids::NodeId;
use pathlight_base::format::harmless;
use std::fmt::{Display, Write as _};

/// Bytes of folded stacks, at most. A line names all callers, so a chain of 10,000 calls would take some 2 GB.
const MOST_FOLDED_BYTES: u64 = 256 << 20;

/// Folded stacks would be too long.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "calls are nested so deeply that folded stacks, which name all callers in every line, would take {} MB; JSON names \
     each calling context once",
    bytes >> 20
)]
pub struct TooDeep {
    /// Bytes that they would take, nearly.
    pub bytes: u64,
}

impl CriticalPathReport {
    /// Returns the contexts with exclusive time as folded stacks.
    ///
    /// # Errors
    /// [`TooDeep`].
    pub fn to_folded(&self) -> Result<String, TooDeep> {
        fold(self.nodes.iter().map(|node| {
            let own_us = node.exclusive_us.sum;
            (node.parent, self.name(node.endpoint), (own_us > 0).then_some(own_us))
        }))
    }
}

impl CompareReport {
    /// Returns the folded stacks of both sides, one line a context with own time in either, `[service] operation;... A
    /// B` in microseconds: what `difffolded.pl` writes and `flamegraph.pl` reads.
    ///
    /// # Errors
    /// [`TooDeep`].
    pub fn to_folded(&self) -> Result<String, TooDeep> {
        fold(self.nodes.iter().map(|node| {
            let (a, b) = (node.a.exclusive.sum(), node.b.exclusive.sum());
            (node.parent, self.name(node.endpoint), (a > 0 || b > 0).then(|| format!("{a} {b}")))
        }))
    }
}

/// Returns the folded stacks of nodes in pre-order, each with its parent, (service, operation) and what stands behind
/// its stack: one line a node with something there, `[service] operation;[service] operation us`. A semicolon within a
/// name becomes a colon, since the format cannot say it, and names are made [`harmless`], since a terminal would obey them.
///
/// # Errors
/// [`TooDeep`].
pub fn fold<'a, T: Display>(
    nodes: impl Iterator<Item = (Option<NodeId>, (&'a str, &'a str), Option<T>)> + Clone,
) -> Result<String, TooDeep> {
    let mut bytes = 0;
    let mut ends: Vec<u64> = Vec::new();
    for (parent, (service, operation), own) in nodes.clone() {
        let callers = parent.map_or(0, |parent| ends[parent.index()] + 1);
        let end = callers + (service.len() + operation.len() + 3) as u64;
        ends.push(end);
        bytes += if own.is_some() { end } else { 0 };
    }
    if bytes > MOST_FOLDED_BYTES {
        return Err(TooDeep { bytes });
    }
    let mut out = String::new();
    // The way from the root to the node: numbers, and where the text of each ends.
    let mut way: Vec<(NodeId, usize)> = Vec::new();
    let mut text = String::new();
    for (number, (parent, (service, operation), own)) in nodes.enumerate() {
        while way.last().map(|&(number, _)| number) != parent && way.pop().is_some() {}
        text.truncate(way.last().map_or(0, |&(_, end)| end));
        let clean = |name: &str| harmless(name).replace(';', ":");
        let separator = if text.is_empty() { "" } else { ";" };
        // Writing to a String cannot fail.
        let _ = write!(text, "{separator}[{}] {}", clean(service), clean(operation));
        way.push((NodeId(number as u32), text.len()));
        if let Some(own) = own {
            let _ = writeln!(out, "{text} {own}");
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_that_would_take_gigabytes_are_refused() {
        let chain = |levels: u32| {
            let node = |level: u32| (level.checked_sub(1).map(NodeId), ("service", "operation"), Some(level));
            fold((0..levels).map(node))
        };
        assert_eq!(chain(2).unwrap(), "[service] operation 0\n[service] operation;[service] operation 1\n");
        assert!(chain(200).is_ok());
        let refused = chain(100_000).unwrap_err();
        assert_eq!(refused.bytes, 19 * 100_000 * 100_001 / 2 + 99_999 * 100_000 / 2);
        assert!(refused.to_string().contains("would take 95"), "{refused}");
    }
}
