//! The calling contexts of one request, summed by endpoint.

use super::PathTable;
use pathlight_trace::{EndpointId, NO_ROW, TraceSet};

/// Times of one request in one endpoint, over all call paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointEntry {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Exclusive time on the path in microseconds.
    pub exclusive_us: u64,
    /// Sanitised duration of its spans on the path in microseconds, without those below another of the same endpoint: their
    /// time is in that of the upper one.
    pub inclusive_us: u64,
    /// Spans on the path.
    pub spans: u64,
    /// Errors among them.
    pub errors: u64,
}

/// Sums the contexts of a request by endpoint; keeps its memory from request to request.
pub struct Collapser {
    /// By context: whether none above it is of the same endpoint. Of the first table that is seen, which is complete then.
    topmost: Vec<bool>,
    /// By endpoint: its place in `entries`, [`NO_ROW`] if not there.
    place: Vec<u32>,
    entries: Vec<EndpointEntry>,
}

impl Collapser {
    /// Returns a collapser for tables of this set.
    pub fn new(set: &TraceSet) -> Collapser {
        Collapser { topmost: Vec::new(), place: vec![NO_ROW; set.endpoints().len()], entries: Vec::new() }
    }

    /// Returns the endpoints of a request.
    pub fn collapse(&mut self, table: &PathTable, request: u32) -> &[EndpointEntry] {
        for entry in self.entries.drain(..) {
            self.place[entry.endpoint.0 as usize] = NO_ROW;
        }
        if self.topmost.len() != table.contexts().len() {
            self.topmost =
                topmost(&table.contexts().iter().map(|context| (context.0, context.1.0)).collect::<Vec<_>>());
        }
        for context in table.entries(request) {
            let endpoint = table.contexts()[context.context as usize].1;
            let place = &mut self.place[endpoint.0 as usize];
            if *place == NO_ROW {
                *place = self.entries.len() as u32;
                self.entries.push(EndpointEntry {
                    endpoint,
                    exclusive_us: 0,
                    inclusive_us: 0,
                    spans: 0,
                    errors: 0,
                });
            }
            let entry = &mut self.entries[*place as usize];
            entry.exclusive_us += context.exclusive_us;
            if self.topmost[context.context as usize] {
                entry.inclusive_us = entry.inclusive_us.saturating_add(context.inclusive_us);
            }
            entry.spans += u64::from(context.spans);
            entry.errors += u64::from(context.errors);
        }
        &self.entries
    }
}

/// Returns for each node of a forest whether none above it is of the same kind: endpoint, or service. Nodes are (parent or
/// [`NO_ROW`], kind), parents first.
pub fn topmost(nodes: &[(u32, u32)]) -> Vec<bool> {
    // Of each node its last child, and the child of its parent that is before it.
    let (mut child, mut before) = (vec![NO_ROW; nodes.len()], vec![NO_ROW; nodes.len()]);
    for (number, &(parent, _)) in (0..).zip(nodes) {
        if let Some(last) = child.get_mut(parent as usize) {
            before[number as usize] = std::mem::replace(last, number);
        }
    }
    let kinds = nodes.iter().map(|node| node.1 as usize + 1).max().unwrap_or(0);
    // How many nodes of each kind the walk is in.
    let mut open = vec![0u32; kinds];
    let mut topmost = vec![false; nodes.len()];
    for root in (0..nodes.len()).filter(|&number| nodes[number].0 == NO_ROW) {
        let mut next = root as u32;
        while next != NO_ROW {
            let mut at = next as usize;
            let count = &mut open[nodes[at].1 as usize];
            topmost[at] = *count == 0;
            *count += 1;
            next = child[at];
            while next == NO_ROW {
                open[nodes[at].1 as usize] -= 1;
                next = before[at];
                if at == root {
                    break;
                }
                if next == NO_ROW {
                    at = nodes[at].0 as usize;
                }
            }
        }
    }
    topmost
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt as _, SeedableRng as _};

    #[test]
    fn topmost_agrees_with_looking_at_every_node_above() {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(7);
        for _ in 0..50 {
            let nodes: Vec<(u32, u32)> = (0..200u32)
                .map(|number| {
                    let is_root = number == 0 || random.random_ratio(1, 10);
                    let parent = if is_root { NO_ROW } else { random.random_range(0..number) };
                    (parent, random.random_range(0..12))
                })
                .collect();
            let above = |number: u32| Some(nodes[number as usize].0).filter(|&parent| parent != NO_ROW);
            for (number, is_topmost) in (0..).zip(topmost(&nodes)) {
                let mut all = std::iter::successors(above(number), |&number| above(number));
                let kind = nodes[number as usize].1;
                assert_eq!(is_topmost, all.all(|at| nodes[at as usize].1 != kind), "node {number}");
            }
        }
    }
}
