//! What invocations have that may decide their variant: tags of theirs, and what their calls answer.

use super::VariantCallees;
use crate::flow::walk::answering;
use pathlight_trace::{Flags, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One thing that a span may have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FeatureOf {
    /// The call is made.
    Made,
    /// It is in error.
    Error,
    /// Key and value of a tag, of the span or else of its process.
    Tag(String, String),
}

/// A feature of an invocation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Feature {
    /// The callee whose first call has it, as a place in [`VariantCallees::callees`]; `None`: the invocation itself.
    pub call: Option<u32>,
    /// What it is.
    pub of: FeatureOf,
}

/// Invocations with each feature, by the number of their variant; those of variants that are not listed come last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureCounts(pub BTreeMap<Feature, Vec<u64>>);

impl FeatureCounts {
    /// Adds the counts of other invocations.
    pub fn merge(&mut self, other: FeatureCounts) {
        for (feature, counts) in other.0 {
            let into = self.0.entry(feature).or_insert_with(|| vec![0; counts.len()]);
            into.iter_mut().zip(counts).for_each(|(into, from)| *into += from);
        }
    }
}

/// Stands for the invocation itself among places of callees.
const ITSELF: u32 = u32::MAX;
/// Stand for what is no tag among pairs of key and value.
const MADE: u32 = u32::MAX;
const ERROR: u32 = u32::MAX - 1;

/// Counts the features of the invocations of one set.
pub(super) struct FeatureCounter {
    /// Number of classes.
    classes: usize,
    /// By place of the callee and pair of key and value.
    counts: FxHashMap<(u32, u32), Vec<u64>>,
    pairs: Vec<u32>,
    keys: Vec<u32>,
}

impl FeatureCounter {
    pub fn new(classes: usize) -> FeatureCounter {
        FeatureCounter { classes, counts: FxHashMap::default(), pairs: Vec::new(), keys: Vec::new() }
    }

    fn count(&mut self, call: u32, pair: u32, class: usize) {
        let counts = self.counts.entry((call, pair)).or_insert_with(|| vec![0; self.classes]);
        counts[class] += 1;
    }

    /// Adds the tags of a span to those of the place at hand: its own, and those of its process under other keys.
    fn read(&mut self, set: &TraceSet, row: u32) {
        let own = set.tags.pairs_of(set.tag_set(row));
        self.keys.clear();
        self.keys.extend(own.iter().map(|&pair| set.tags.pair(pair).0));
        self.pairs.extend(own);
        let of_process = set.tags.pairs_of(set.process_of(row).tags).iter().copied();
        self.pairs.extend(of_process.filter(|&pair| !self.keys.contains(&set.tags.pair(pair).0)));
    }

    fn add(&mut self, call: u32, class: usize) {
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.sort_unstable();
        pairs.dedup();
        pairs.iter().for_each(|&pair| self.count(call, pair, class));
        pairs.clear();
        self.pairs = pairs;
    }

    /// Adds one invocation of a class, with the first call of each callee.
    pub fn observe(&mut self, set: &TraceSet, tree: &Tree, span: u32, calls: &[(u32, u32)], class: usize) {
        self.read(set, tree.row(span));
        self.add(ITSELF, class);
        for &(at, call) in calls {
            // What answers may stand in the call itself, or in the one span below it that takes it.
            let answer = answering(set, tree, call);
            let mut below = tree.sync_children(answer);
            let taken = below.next().filter(|_| below.next().is_none());
            let spans = [Some(call), Some(answer).filter(|of| *of != call), taken];
            let mut has_failed = false;
            for span in spans.into_iter().flatten() {
                self.read(set, tree.row(span));
                has_failed |= Some(span) != taken && set.flags(tree.row(span)).has(Flags::ERROR);
            }
            self.add(at, class);
            self.count(at, MADE, class);
            if has_failed {
                self.count(at, ERROR, class);
            }
        }
    }

    pub fn finish(self, set: &TraceSet, of: &VariantCallees) -> FeatureCounts {
        let feature = |((call, pair), counts): ((u32, u32), Vec<u64>)| {
            let call = Some(call).filter(|call| (*call as usize) < of.callees.len());
            let of = match pair {
                MADE => FeatureOf::Made,
                ERROR => FeatureOf::Error,
                pair => {
                    let (key, value) = set.tags.pair(pair);
                    FeatureOf::Tag(set.tags.key_name(key).to_owned(), value.to_owned())
                }
            };
            (Feature { call, of }, counts)
        };
        FeatureCounts(self.counts.into_iter().map(feature).collect())
    }
}
