//! Work and parallelism of a request (`docs/definitions/critical-path.md` section 6).

use super::Tree;
use serde::{Deserialize, Serialize};

/// What a request does, by how long it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestWork {
    /// Self times of all spans that the request waits for, and of its root, in microseconds.
    pub work_us: u64,
    /// Duration of the request until its answer in microseconds, which is the length of its critical path.
    pub root_us: u64,
}

impl RequestWork {
    /// Sums the work of the request with this root; `calls` is scratch space.
    pub fn of(tree: &Tree, root: u32, calls: &mut Vec<(u64, u64)>) -> RequestWork {
        let work = tree
            .awaited(root)
            .map(|span| tree.duration_us(span).saturating_sub(covered_us(tree, span, calls)));
        RequestWork { work_us: work.fold(0, u64::saturating_add), root_us: tree.duration_us(root) }
    }

    /// Returns its parallelism, work by duration: how many spans work at once on average. 1 of a request of zero length.
    pub fn parallelism(self) -> f64 {
        if self.root_us == 0 { 1.0 } else { self.work_us as f64 / self.root_us as f64 }
    }

    /// Returns the parallelism in percent, rounded half up.
    pub fn percent(self) -> u64 {
        let (work, root) = (u128::from(self.work_us), u128::from(self.root_us));
        if root == 0 { 100 } else { u64::try_from((work * 200 + root) / (2 * root)).unwrap_or(u64::MAX) }
    }
}

/// Returns how long at least one of the calls runs that a span waits for.
fn covered_us(tree: &Tree, span: u32, calls: &mut Vec<(u64, u64)>) -> u64 {
    calls.clear();
    calls.extend(tree.sync_children(span).map(|c| (tree.start_us[c as usize], tree.end_us[c as usize])));
    // They stand by start as it was recorded; clocks that were set may have changed their order.
    calls.sort_unstable();
    let (mut covered_us, mut until_us) = (0, tree.start_us[span as usize]);
    for &(start_us, end_us) in calls.iter() {
        covered_us += end_us.saturating_sub(start_us.max(until_us));
        until_us = until_us.max(end_us);
    }
    covered_us
}
