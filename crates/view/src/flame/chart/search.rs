//! Search in a flame graph.

use super::{FlameTree, Frame};

/// The nodes that a search found.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    hit: Vec<bool>,
    /// For each place in the tree's rows, how many nodes before it were found.
    before: Vec<u32>,
    found: Vec<u32>,
    matched_us: u64,
}

impl Matches {
    /// Returns the nodes whose frame is meant.
    pub fn find(tree: &FlameTree, is_meant: impl Fn(&Frame) -> bool) -> Matches {
        let wanted: Vec<bool> = tree.frames().iter().map(is_meant).collect();
        let n = tree.len();
        let mut hit = vec![false; n];
        // Whether the node or something above it was found.
        let mut covered = vec![false; n];
        let mut matched_us = 0;
        for node in 0..n {
            let above = tree.parent(node as u32).is_some_and(|parent| covered[parent as usize]);
            hit[node] = wanted.get(tree.frame_index(node as u32) as usize) == Some(&true);
            covered[node] = above || hit[node];
            if hit[node] && !above {
                matched_us += tree.interval_us(node as u32).1;
            }
        }
        let mut before = Vec::with_capacity(tree.rows.len() + 1);
        let mut count = 0;
        before.push(0);
        for &node in &tree.rows {
            count += u32::from(hit[node as usize]);
            before.push(count);
        }
        let mut found: Vec<u32> = tree.rows.iter().copied().filter(|&node| hit[node as usize]).collect();
        found.sort_by_key(|&node| (std::cmp::Reverse(tree.interval_us(node).1), node));
        Matches { hit, before, found, matched_us }
    }

    /// Returns whether a node was found.
    pub fn contains(&self, node: u32) -> bool {
        self.hit.get(node as usize) == Some(&true)
    }

    /// Returns whether any of these places in the tree's rows holds a node that was found.
    pub(crate) fn any(&self, places: std::ops::Range<usize>) -> bool {
        match (self.before.get(places.start), self.before.get(places.end)) {
            (Some(a), Some(b)) => a < b,
            _ => false,
        }
    }

    /// Returns what was found, the widest first, without what has no width: the order to step through.
    pub fn found(&self) -> &[u32] {
        &self.found
    }

    /// Returns the time in what was found and below it, each microsecond once.
    pub fn matched_us(&self) -> u64 {
        self.matched_us
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{large, report};
    use super::*;

    #[test]
    fn a_match_below_a_match_is_not_counted_twice() {
        // op1 calls op2 calls op1 again.
        let tree = FlameTree::of_report(&report(&[
            (None, 0, 10),
            (Some(0), 1, 5),
            (Some(1), 2, 3),
            (Some(2), 1, 2),
        ]));
        let matches = Matches::find(&tree, |frame| frame.label.contains("op1"));
        assert_eq!(matches.matched_us(), 10);
        assert_eq!(matches.found(), [1, 3]);
        assert!(matches.contains(3) && !matches.contains(2) && !matches.contains(99));
        assert_eq!(Matches::find(&tree, |_| false).found(), [] as [u32; 0]);
        assert_eq!(Matches::find(&tree, |frame| frame.label.contains("service0")).matched_us(), 20);
    }

    #[test]
    fn everything_matched_is_the_whole() {
        let tree = FlameTree::of_report(&large(5_000));
        let matches = Matches::find(&tree, |_| true);
        assert_eq!(matches.matched_us(), tree.total_us());
        assert_eq!(matches.found().len(), tree.rows.len());
    }

    #[test]
    fn a_range_of_places_knows_whether_it_holds_a_match() {
        let tree = FlameTree::of_report(&large(3_000));
        let matches = Matches::find(&tree, |frame| frame.label.contains("op7"));
        for start in (0..tree.rows.len()).step_by(37) {
            let end = (start + 50).min(tree.rows.len());
            let want = tree.rows[start..end].iter().any(|&node| matches.contains(node));
            assert_eq!(matches.any(start..end), want);
        }
    }
}
