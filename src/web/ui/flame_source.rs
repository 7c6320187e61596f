//! What a flame graph can be drawn of.

use super::dom::{El, div, el, span};
use super::names;
use super::tree::Calls;
use crate::chart::flame::{FlameTree, FlameWords};
use crate::chart::format;
use crate::engine::{CriticalPathReport, Weight};

/// A tree of calling contexts that can be drawn as a flame graph.
pub trait FlameSource: Calls + 'static {
    /// The tree; its nodes are those of [`Calls`].
    fn tree(&self) -> FlameTree;

    /// What stands upside down where callers are asked for; `None` if that means nothing.
    fn callers(&self) -> Option<&CriticalPathReport> {
        None
    }

    /// The tip of a node.
    fn tip(&self, tree: &FlameTree, node: u32) -> Vec<El>;

    /// The words of an exported picture; `whose` says whose requests it shows.
    fn words<'a>(&'a self, tree: &'a FlameTree, whose: &str) -> FlameWords<'a>;
}

impl FlameSource for CriticalPathReport {
    fn tree(&self) -> FlameTree {
        FlameTree::of_report(self)
    }

    fn callers(&self) -> Option<&CriticalPathReport> {
        Some(self)
    }

    fn tip(&self, tree: &FlameTree, node: u32) -> Vec<El> {
        let Some(found) = self.nodes.get(node as usize) else { return Vec::new() };
        let (service, operation) = self.name(found.endpoint);
        let share = format::share(tree.share(node));
        let requests = self.facts.requests;
        let lines = div("").text(&format!(
            "{share} of the latency of these requests with what it calls, {} its own",
            format::share_of(found.exclusive_us.sum, self.facts.latency_sum_us)
        ));
        let row = |name: &str, weight: &Weight| {
            [weight.mean, weight.p50, weight.p95, weight.p99]
                .iter()
                .fold(el("tr").child(&el("th").attr("scope", "row").text(name)), |row, us| {
                    row.child(&el("td").text(&format::duration(*us)))
                })
        };
        let head = ["", "mean", "p50", "p95", "p99"]
            .iter()
            .fold(el("tr"), |row, title| row.child(&el("th").attr("scope", "col").text(title)));
        let table = el("table")
            .child(&head)
            .child(&row("own", &found.exclusive_us))
            .child(&row("whole", &found.inclusive_us));
        let mut words = format!(
            "in {} of {} requests ({})",
            format::count(found.requests),
            format::count(requests),
            format::share_of(found.requests, requests)
        );
        if found.requests < 30 {
            words.push_str(&format!("; {}", format::sample(found.requests)));
        }
        vec![names::endpoint(service, operation), lines, table, span("muted", &words)]
    }

    fn words<'a>(&'a self, tree: &'a FlameTree, whose: &str) -> FlameWords<'a> {
        FlameWords::of_times(tree, &format!("{whose}: critical path"))
    }
}
