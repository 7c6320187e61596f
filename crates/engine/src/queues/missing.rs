//! Traces that spans link to and that are not loaded.

use crate::EngineError;
use crate::run::query::Query;
use crate::run::set_pass::{OverSet, RunningSetPass, SetPass, at_once};
use crate::run::workers::Workers;
use pathlight_base::encoding;
use pathlight_trace::TraceSet;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Ids that are named at most.
pub const MOST_NAMED: usize = 1000;

/// Reports which traces spans link to and that are not loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingTraces {
    /// The set of traces, see [`Selection::group`](crate::requests::Selection::group).
    pub group: u8,
}

/// Traces that are linked to and not loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingTracesReport {
    /// How many they are.
    pub traces: u64,
    /// Canonical ids of those with most links (ties: by id), at most [`MOST_NAMED`].
    pub trace_ids: Vec<String>,
}

impl MissingTracesReport {
    /// Makes it of how many links lead to each trace.
    pub fn of(links: BTreeMap<String, u64>) -> MissingTracesReport {
        let traces = links.len() as u64;
        let mut by_links: Vec<(String, u64)> = links.into_iter().collect();
        // Stable: equal ones stay by id.
        by_links.sort_by_key(|(_, links)| std::cmp::Reverse(*links));
        by_links.truncate(MOST_NAMED);
        let trace_ids = by_links.into_iter().map(|(id, _)| id).collect();
        MissingTracesReport { traces, trace_ids }
    }
}

impl Query for MissingTraces {
    type Report = MissingTracesReport;

    async fn run(self, workers: Workers) -> Result<MissingTracesReport, EngineError> {
        let mut links: BTreeMap<String, u64> = BTreeMap::new();
        for part in workers.partials(self.clone()).await? {
            for (id, of_worker) in part {
                *links.entry(id).or_default() += of_worker;
            }
        }
        let ids: Vec<String> = links.keys().cloned().collect();
        let pass = HeldTracesPass { trace_ids: ids, group: self.group };
        let held = if links.is_empty() { Vec::new() } else { workers.partials(pass).await? };
        for id in held.iter().flatten() {
            links.remove(id);
        }
        Ok(MissingTracesReport::of(links))
    }
}

impl SetPass for MissingTraces {
    /// Links by canonical id of the trace that they lead to and the worker does not hold.
    type Part = BTreeMap<String, u64>;

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        at_once(move |set| encoding::write(&missing_of(set, self.group)))
    }
}

/// Returns how many links of a group lead to each trace that a set does not hold, by canonical id.
pub fn missing_of(set: &TraceSet, group: u8) -> BTreeMap<String, u64> {
    let mut links = BTreeMap::new();
    for link in set.links().filter(|link| link.trace.group == group && set.find_trace(link.trace).is_none()) {
        *links.entry(link.trace.to_text(&set.id_texts)).or_default() += 1;
    }
    links
}

/// Which of some traces a worker holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HeldTracesPass {
    pub trace_ids: Vec<String>,
    pub group: u8,
}

impl SetPass for HeldTracesPass {
    type Part = BTreeSet<String>;

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        at_once(move |set| {
            let is_held = |id: &&String| crate::timeline::query::find_trace(set, id, self.group).is_some();
            let held: BTreeSet<String> = self.trace_ids.iter().filter(is_held).cloned().collect();
            encoding::write(&held)
        })
    }
}
