//! Differential flame graph: the sums of one side, and both sides together (`docs/definitions/critical-path.md` section 4; paper Fig. 12).

use super::{CompareNode, CompareReport, CompareSide, FrameSums};
use crate::flame::{Context, Contexts, PathTable};
use crate::ids::{NodeId, ReportEndpoint};
use crate::requests::{RequestRef, Weighing};
use crate::summaries::section::Renaming;
use crate::verdict::ServicesReport;
use pathlight_trace::{Endpoint, NO_ROW, TraceSet};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The frames of one side: an accumulator over requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ComparePart {
    contexts: Contexts<FrameSums>,
    /// The requests that [`FrameSums::example`] points to.
    examples: Vec<RequestRef>,
}

/// What a worker knows of one context while it looks at its requests.
#[derive(Clone, Default)]
struct Found {
    sums: FrameSums,
    /// Request of the greatest subtree time and that time.
    greatest: (u32, u64),
}

impl ComparePart {
    /// Sums some requests of a worker's table.
    pub fn observe(
        set: &TraceSet,
        table: &PathTable,
        requests: impl Iterator<Item = u32>,
        weighing: Weighing,
    ) -> ComparePart {
        let mut found: Vec<Found> = vec![Found::default(); table.contexts().len()];
        // By context: subtree time in the current request; nothing is left behind by a request.
        let mut subtree = vec![0u64; found.len()];
        for request in requests {
            let entries = table.entries(request);
            let weight = weighing.weight(set, &table.requests[request as usize]);
            for entry in entries {
                subtree[entry.context as usize] += entry.exclusive_us;
            }
            // Parents come before their children, so backwards every subtree is complete before it is added.
            for entry in entries.iter().rev() {
                let c = entry.context as usize;
                let total = std::mem::take(&mut subtree[c]);
                let parent = table.contexts()[c].0;
                if parent != NO_ROW {
                    subtree[parent as usize] += total;
                }
                let Found { sums, greatest } = &mut found[c];
                sums.requests += 1;
                sums.exclusive.add(entry.exclusive_us, weight);
                sums.subtree.add(total, weight);
                let order = total.cmp(&greatest.1).then_with(|| table.compare_ids(set, greatest.0, request));
                if sums.requests == 1 || order == Ordering::Greater {
                    *greatest = (request, total);
                }
            }
        }
        let mut examples = Vec::new();
        let mut example_of = vec![NO_ROW; table.requests.len()];
        let values = found.into_iter().map(|found| {
            let mut sums = found.sums;
            if sums.requests == 0 {
                return None;
            }
            let place = &mut example_of[found.greatest.0 as usize];
            if *place == NO_ROW {
                *place = examples.len() as u32;
                examples.push(RequestRef::of(set, &table.requests[found.greatest.0 as usize]));
            }
            (sums.example, sums.example_us) = (Some(*place), found.greatest.1);
            Some(sums)
        });
        let values = values.collect();
        ComparePart { contexts: Contexts::of_table(set, table, values), examples }
    }

    /// Returns these frames with the requests that they point to.
    pub(super) fn of(contexts: Contexts<FrameSums>, examples: Vec<RequestRef>) -> ComparePart {
        ComparePart { contexts, examples }
    }

    /// Joins the parts of one side.
    pub fn merge(parts: Vec<ComparePart>) -> ComparePart {
        let mut examples = Vec::new();
        let mut forests = Vec::new();
        for mut part in parts {
            let moved = examples.len() as u32;
            for node in &mut part.contexts.nodes {
                node.value.example = node.value.example.map(|example| example + moved);
            }
            examples.append(&mut part.examples);
            forests.push(part.contexts);
        }
        let contexts = Contexts::merge(forests, |into, from| into.join(&from, &examples));
        ComparePart::with_used_examples(contexts, &examples)
    }

    /// Returns for each frame the request with its greatest subtree time, and that time in microseconds.
    pub fn examples(&self) -> impl ExactSizeIterator<Item = Option<(&RequestRef, u64)>> {
        self.contexts.nodes.iter().map(|node| {
            let example = node.value.example?;
            Some((&self.examples[example as usize], node.value.example_us))
        })
    }

    /// Returns the frames of the requests with one root endpoint.
    pub fn of_root(&self, root: &Endpoint) -> ComparePart {
        ComparePart::with_used_examples(self.contexts.of_root(root), &self.examples)
    }

    /// Returns the frames by root endpoint.
    pub fn into_roots(self) -> BTreeMap<Endpoint, ComparePart> {
        let roots = self.contexts.into_roots().into_iter();
        roots.map(|(root, frames)| (root, ComparePart::with_used_examples(frames, &self.examples))).collect()
    }

    /// Renames a root endpoint; what it leaves has to be merged.
    pub(crate) fn rename(&mut self, renaming: Renaming<'_>) {
        renaming.names(&mut self.contexts.endpoints);
    }

    /// Returns whether all numbers in it exist: of a part that came from elsewhere.
    pub fn is_sound(&self) -> bool {
        let is_known = |node: &Context<FrameSums>| {
            node.value.example.is_none_or(|example| (example as usize) < self.examples.len())
        };
        self.contexts.is_sound() && self.contexts.nodes.iter().all(is_known)
    }

    /// Keeps only the examples that some frame points to, numbered in the order of frames.
    fn with_used_examples(contexts: Contexts<FrameSums>, all: &[RequestRef]) -> ComparePart {
        let mut examples: Vec<RequestRef> = Vec::new();
        let mut place_of: FxHashMap<u32, u32> = FxHashMap::default();
        let contexts = contexts.map(|mut sums| {
            sums.example = sums.example.map(|example| {
                *place_of.entry(example).or_insert_with(|| {
                    examples.push(all[example as usize].clone());
                    examples.len() as u32 - 1
                })
            });
            sums
        });
        ComparePart { contexts, examples }
    }

    /// Returns the report of both sides, merged, with their services ranked.
    pub fn finish(
        a: (CompareSide, ComparePart),
        b: (CompareSide, ComparePart),
        culprit: ServicesReport,
    ) -> CompareReport {
        let (a_side, a_part) = a;
        let (b_side, b_part) = b;
        let mut names: Vec<RequestRef> = Vec::new();
        let mut forests = Vec::new();
        for (is_b, part) in [(false, a_part), (true, b_part)] {
            let moved = names.len() as u32;
            names.extend(part.examples);
            forests.push(part.contexts.map(|mut sums| {
                sums.example = sums.example.map(|example| example + moved);
                if is_b { (FrameSums::default(), sums) } else { (sums, FrameSums::default()) }
            }));
        }
        let joined = Contexts::merge(forests, |into, from| {
            // Either side stands on one of both only.
            if from.1.requests > 0 { into.1 = from.1 } else { into.0 = from.0 }
        });
        let nodes = joined.nodes.into_iter().map(|node| CompareNode {
            parent: (node.parent != NO_ROW).then_some(NodeId(node.parent)),
            endpoint: ReportEndpoint(node.endpoint),
            a: node.value.0,
            b: node.value.1,
        });
        let report = CompareReport {
            a: a_side,
            b: b_side,
            nodes: nodes.collect(),
            endpoints: joined.endpoints,
            examples: names,
            culprit,
            ..CompareReport::default()
        };
        report.judged()
    }
}
