//! What normal requests are like, in a summary: the facts of some of them, to learn a baseline of anomalies from.

use super::part::{Settings, Summary};
use pathlight_analysis::anomaly::whole::{FactObserver, FactPart, sample_key};
use pathlight_analysis::critical_path::{PathTable, Walk};
use pathlight_model::sort::Arrange;
use pathlight_model::trace::{Endpoint, TraceSet};
use serde::{Deserialize, Serialize};

/// Requests of a summary whose facts are kept: those whose trace ids have the smallest hashes. With so many, no p-value
/// is below 1/101.
pub const MOST_NORMAL: usize = 100;

/// Some requests by the facts that anomalies are judged by.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Normal {
    /// Some file was written by a version that did not keep them.
    pub is_missing: bool,
    /// The requests.
    pub(crate) facts: FactPart,
}

impl Normal {
    /// Those of a file that has none.
    pub(crate) fn missing() -> Normal {
        Normal { is_missing: true, ..Normal::default() }
    }

    /// Looks at the requests of a set.
    pub(crate) fn observe(set: &TraceSet, settings: &Settings, table: &PathTable) -> Normal {
        let key = |request: u32| sample_key(&set.trace_id_text(table.requests[request as usize].trace));
        let mut keys: Vec<(u64, u32)> = (0..table.requests.len() as u32).map(|r| (key(r), r)).collect();
        keys.arrange();
        // Requests of one trace have the same hash, and which of them are kept is for the ids of their roots to say.
        let last = keys.get(MOST_NORMAL - 1).map_or(u64::MAX, |last| last.0);
        let requests = keys.into_iter().take_while(|(key, _)| *key <= last).map(|(_, request)| request);
        let observer = FactObserver::new(settings.path.overlap);
        let mut walk = Walk::new(observer, settings.path, requests.collect());
        while !walk.step(set, table, &mut || false) {}
        Normal { is_missing: false, facts: FactPart::sample(vec![walk.finish(set)], MOST_NORMAL) }
    }

    /// Joins those of disjoint traces.
    pub(crate) fn join(parts: Vec<Normal>) -> Normal {
        Normal {
            is_missing: parts.iter().any(|part| part.is_missing),
            facts: FactPart::sample(parts.into_iter().map(|part| part.facts).collect(), MOST_NORMAL),
        }
    }

    pub(crate) fn of_root(&self, root: &Endpoint) -> Normal {
        Normal { is_missing: self.is_missing, facts: self.facts.of_roots(|name| name == root) }
    }
}

impl Summary {
    /// The facts of some requests of a root endpoint, or of all, of any latency; `None` if a file was written by a version
    /// that did not keep them.
    pub fn normal(&self, root: Option<&Endpoint>) -> Option<FactPart> {
        let known = &self.normal;
        (!known.is_missing).then(|| match root {
            Some(root) => known.of_root(root).facts,
            None => known.facts.clone(),
        })
    }
}
