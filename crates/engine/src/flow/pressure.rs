//! Drag and slack of the spans of one request (`docs/definitions/critical-path.md` section 8).

use super::{Child, Order};
use crate::flame::{PathFinder, TraceReport};
use pathlight_base::steps::in_blocks;
use pathlight_trace::{NO_ROW, Overlap, Role, Tree};
use serde::{Deserialize, Serialize};

/// Drag and slack by local index of the span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPressure {
    /// Time by which the request would end earlier if the span and all below it took no time; 0 off the critical path.
    #[serde(with = "pathlight_base::packed")]
    pub drag_us: Vec<u64>,
    /// Time by which the span may take longer before the request ends later; 0 on the critical path.
    #[serde(with = "pathlight_base::packed")]
    pub slack_us: Vec<u64>,
}

impl RequestPressure {
    /// Both columns of a span the request does not wait for: asynchronous, dropped, or not below the request's root.
    pub const NONE: u64 = TraceReport::NOT_WAITED;

    /// Returns the drags and slacks of the request whose root is span `root`; `finder` holds its path, found with
    /// `overlap`.
    pub fn of(tree: &Tree, root: u32, overlap: Overlap, finder: &PathFinder) -> RequestPressure {
        let n = tree.len();
        let mut out = RequestPressure { drag_us: vec![Self::NONE; n], slack_us: vec![Self::NONE; n] };
        if tree.role[root as usize] == Role::Dropped {
            return out;
        }
        let on_path_us = subtree_path_us(tree, finder);
        let (mut order, mut children, mut pressures) = (Order::default(), Vec::new(), Vec::new());
        out.drag_us[root as usize] = tree.duration_us(root);
        out.slack_us[root as usize] = 0;
        let spans = (tree.subtree_end[root as usize] - root) as usize;
        in_blocks(spans, &mut |block| {
            for parent in block.map(|i| root + i as u32) {
                let (drag, slack) = (out.drag_us[parent as usize], out.slack_us[parent as usize]);
                if slack == Self::NONE {
                    continue;
                }
                children.clear();
                children.extend(tree.sync_children(parent).map(|span| Child::of(tree, span)));
                match *children.as_slice() {
                    [] => continue,
                    // Nothing runs beside an only child.
                    [Child { span, .. }] => {
                        let span = span as usize;
                        out.drag_us[span] = tree.duration_us(span as u32).min(drag).min(on_path_us[span]);
                        out.slack_us[span] = slack;
                        continue;
                    }
                    _ => {}
                }
                let (start_us, end_us) = (tree.start_us[parent as usize], tree.end_us[parent as usize]);
                order.set(start_us, end_us, &children, Some(overlap));
                order.pressures(&mut pressures);
                for (child, local) in order.children().iter().zip(&pressures) {
                    let span = child.span as usize;
                    out.drag_us[span] = local.drag_us.min(drag).min(on_path_us[span]);
                    out.slack_us[span] = local.slack_us.saturating_add(slack);
                }
            }
        });
        out
    }
}

/// Returns, by span, the length of the path's segments in it and below it.
fn subtree_path_us(tree: &Tree, finder: &PathFinder) -> Vec<u64> {
    let mut out = vec![0; tree.len()];
    let entries = finder.entries();
    in_blocks(entries.len(), &mut |block| {
        entries[block].iter().for_each(|entry| out[entry.span as usize] = entry.exclusive_us);
    });
    // Entries stand parent before child.
    in_blocks(entries.len(), &mut |block| {
        let backwards = block.map(|i| &entries[entries.len() - 1 - i]);
        for entry in backwards.filter(|entry| entry.parent != NO_ROW) {
            let parent = entries[entry.parent as usize].span;
            out[parent as usize] += out[entry.span as usize];
        }
    });
    out
}
