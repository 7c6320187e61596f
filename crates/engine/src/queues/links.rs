//! Links over all workers: most lead to a span of the same worker, for traces that links connect lie in one; the others are
//! looked for everywhere.

use crate::EngineError;
use crate::run::set_pass::{OverSet, RunningSetPass, SetPass, at_once};
use crate::run::workers::Workers;
use pathlight_base::encoding;
use pathlight_trace::{Link, SpanId, TraceId, TraceSet};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Links by whether the span that they lead to is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkCounts {
    /// Links to a span that is loaded.
    pub resolved: u64,
    /// Links to a span that is not.
    pub unresolved: u64,
}

/// A span by names that mean the same in every worker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct SpanAddress {
    group: u8,
    trace_id: String,
    span_id: String,
}

impl SpanAddress {
    /// Returns the span that a link of a set leads to.
    pub fn of_target(set: &TraceSet, link: &Link) -> SpanAddress {
        SpanAddress {
            group: link.trace.group,
            trace_id: link.trace.to_text(&set.id_texts),
            span_id: link.span.to_text(&set.id_texts),
        }
    }

    /// Returns its ids in a set; `None` if these are texts that the set does not know.
    fn ids(&self, set: &TraceSet) -> Option<(TraceId, SpanId)> {
        let trace = TraceId::find(&self.trace_id, &set.id_texts)?.in_group(self.group);
        Some((trace, SpanId::find(&self.span_id, &set.id_texts)?))
    }

    /// Returns the rows of those that a set holds, by their places in the list.
    pub fn find(addresses: &[SpanAddress], set: &TraceSet) -> Vec<Option<u32>> {
        let ids: Vec<Option<(TraceId, SpanId)>> = addresses.iter().map(|address| address.ids(set)).collect();
        let rows = set.find_spans(ids.iter().flatten().copied());
        ids.into_iter().map(|ids| rows.get(&ids?).copied()).collect()
    }
}

/// Links of one worker.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LinksPart {
    resolved: u64,
    /// Spans that are not in this worker, with the number of links that lead to each.
    elsewhere: BTreeMap<SpanAddress, u64>,
}

impl LinksPart {
    /// Counts the links of a group.
    pub fn of(set: &TraceSet, group: u8) -> LinksPart {
        let mut out = LinksPart::default();
        let rows = rows_of_targets(set);
        for link in set.links().filter(|link| link.trace.group == group) {
            if rows.contains_key(&(link.trace, link.span)) {
                out.resolved += 1;
            } else {
                *out.elsewhere.entry(SpanAddress::of_target(set, &link)).or_default() += 1;
            }
        }
        out
    }

    /// Adds those of another worker.
    pub fn merge(&mut self, other: LinksPart) {
        self.resolved += other.resolved;
        for (address, links) in other.elsewhere {
            *self.elsewhere.entry(address).or_default() += links;
        }
    }

    /// Returns the counts over all workers, which are asked for what one of them lacks.
    pub async fn counts(self, workers: &Workers) -> Result<LinkCounts, EngineError> {
        let mut counts = LinkCounts { resolved: self.resolved, unresolved: 0 };
        let (addresses, links): (Vec<SpanAddress>, Vec<u64>) = self.elsewhere.into_iter().unzip();
        for (is_held, links) in held(workers, addresses).await?.into_iter().zip(links) {
            *if is_held { &mut counts.resolved } else { &mut counts.unresolved } += links;
        }
        Ok(counts)
    }
}

/// Returns where the spans are that links of a set lead to, of those that it holds.
pub(super) fn rows_of_targets(set: &TraceSet) -> FxHashMap<(TraceId, SpanId), u32> {
    set.find_spans(set.links().map(|link| (link.trace, link.span)))
}

/// Returns which spans some worker holds, by their places in the list.
pub(super) async fn held(workers: &Workers, addresses: Vec<SpanAddress>) -> Result<Vec<bool>, EngineError> {
    let mut held = vec![false; addresses.len()];
    if addresses.is_empty() {
        return Ok(held);
    }
    for part in workers.partials(HeldPass { addresses }).await? {
        for place in part {
            if let Some(is_held) = held.get_mut(place as usize) {
                *is_held = true;
            }
        }
    }
    Ok(held)
}

/// Which of some spans a worker holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HeldPass {
    addresses: Vec<SpanAddress>,
}

impl SetPass for HeldPass {
    type Part = BTreeSet<u32>;

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        at_once(move |set| {
            let rows = SpanAddress::find(&self.addresses, set);
            let held: BTreeSet<u32> =
                (0..).zip(rows).filter(|(_, row)| row.is_some()).map(|(place, _)| place).collect();
            encoding::write(&held)
        })
    }
}
