//! Reports as folded stacks, as flame graph tools read them.

use super::diff_report::DiffReport;
use super::report::CriticalPathReport;
use crate::ids::NodeId;
use std::fmt::{Display, Write as _};

impl CriticalPathReport {
    /// The contexts with exclusive time as folded stacks.
    pub fn to_folded(&self) -> String {
        fold(self.nodes.iter().map(|node| {
            let own_us = node.exclusive_us.sum;
            (node.parent, self.name(node.endpoint), (own_us > 0).then_some(own_us))
        }))
    }
}

impl DiffReport {
    /// Folded stacks of both sides, one line a context with own time in either, `[service] operation;... A B` in
    /// microseconds: what `difffolded.pl` writes and `flamegraph.pl` reads.
    pub fn to_folded(&self) -> String {
        fold(self.nodes.iter().map(|node| {
            let (a, b) = (node.a.exclusive.sum, node.b.exclusive.sum);
            (node.parent, self.name(node.endpoint), (a > 0 || b > 0).then(|| format!("{a} {b}")))
        }))
    }
}

/// Folded stacks of nodes in pre-order, each with its parent, (service, operation) and what stands behind its stack: one
/// line a node with something there, `[service] operation;[service] operation us`. A semicolon or a control character
/// within a name becomes a colon or a space, since the format cannot say it and a terminal would obey it.
pub fn fold<'a, T: Display>(
    nodes: impl Iterator<Item = (Option<NodeId>, (&'a str, &'a str), Option<T>)>,
) -> String {
    let mut out = String::new();
    // The way from the root to the node: numbers, and where the text of each ends.
    let mut way: Vec<(NodeId, usize)> = Vec::new();
    let mut text = String::new();
    for (number, (parent, (service, operation), own)) in nodes.enumerate() {
        while way.last().map(|&(number, _)| number) != parent && way.pop().is_some() {}
        text.truncate(way.last().map_or(0, |&(_, end)| end));
        let is_obeyed = |c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c);
        let clean = |name: &str| name.replace(';', ":").replace(is_obeyed, " ");
        let separator = if text.is_empty() { "" } else { ";" };
        // Writing to a String cannot fail.
        let _ = write!(text, "{separator}[{}] {}", clean(service), clean(operation));
        way.push((NodeId(number as u32), text.len()));
        if let Some(own) = own {
            let _ = writeln!(out, "{text} {own}");
        }
    }
    out
}
