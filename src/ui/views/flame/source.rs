//! What a flame graph can be drawn of.

use crate::ui::widgets::tree::Calls;
use pathlight_chart::flame::{FlameTree, FlameWords};
use pathlight_query::CriticalPathReport;

/// A tree of calling contexts that can be drawn as a flame graph.
pub trait FlameSource: Calls + 'static {
    /// The tree; its nodes are those of [`Calls`].
    fn tree(&self) -> FlameTree;

    /// What stands upside down where callers are asked for; `None` if that means nothing.
    fn callers(&self) -> Option<&CriticalPathReport> {
        None
    }

    /// The words of an exported picture of this title.
    fn words<'a>(&'a self, tree: &'a FlameTree, title: &str) -> FlameWords<'a> {
        FlameWords::of_times(tree, title)
    }
}

impl FlameSource for CriticalPathReport {
    fn tree(&self) -> FlameTree {
        FlameTree::of_report(self)
    }

    fn callers(&self) -> Option<&CriticalPathReport> {
        Some(self)
    }
}
