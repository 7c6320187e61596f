//! Whether the arguments of a call follow from the call before it, as far as tags show it: the second pass.

use super::CallPair;
use super::observe::{calls_of, is_fine};
use crate::flow::{Child, Visit, Within};
use hashbrown::HashMap;
use pathlight_trace::{TraceRow, TraceSet, Tree, hash_text};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Calls of one endpoint in an invocation that are looked at.
const MOST_CALLS: usize = 4;
/// Spans of a call that are looked at: itself, what answers it, and what that does first.
const MOST_SPANS: u32 = 8;
/// Calls before a pair whose values count as known before.
const MOST_BEFORE: usize = 32;
/// A value follows if the tag has it in at least this share of the invocations...
const SHARE: f64 = 0.5;
/// ...and if it is one of at least so many: what is always the same follows from nothing.
const VALUES: usize = 4;
/// Values that are kept of those seen: the least hashes.
const KEPT: usize = 8;
/// Parts of a value that are compared, too, have a digit and at least so many characters.
const SHORTEST: usize = 3;

/// How often a value of the first call stands in the second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Equal {
    invocations: u64,
    /// The least hashes of the values.
    values: BTreeSet<u64>,
}

impl Equal {
    fn merge(&mut self, other: Equal) {
        self.invocations += other.invocations;
        self.values.extend(other.values);
        while self.values.len() > KEPT {
            self.values.pop_last();
        }
    }
}

/// What the tags of two calls have in common, over the invocations that make both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgumentSums {
    invocations: u64,
    /// By the key of the first call and that of the second.
    equal: BTreeMap<(String, String), Equal>,
}

impl ArgumentSums {
    /// Adds other invocations of the same pair.
    pub fn merge(&mut self, other: ArgumentSums) {
        self.invocations += other.invocations;
        other.equal.into_iter().for_each(|(keys, equal)| self.equal.entry(keys).or_default().merge(equal));
    }

    /// Returns whether an argument of the second call is seen to follow from the first: in most invocations a value of it, not
    /// always the same one, is one of the first call, and nobody had it before.
    pub fn do_follow(&self) -> bool {
        let is_most = |equal: &Equal| equal.invocations as f64 >= SHARE * self.invocations as f64;
        self.equal.values().any(|equal| is_most(equal) && equal.values.len() >= VALUES)
    }
}

/// The hashes of a value and of its parts that could be arguments: those with a digit.
fn hashes(value: &str) -> Vec<u64> {
    let is_part = |part: &&str| part.len() >= SHORTEST && part.bytes().any(|byte| byte.is_ascii_digit());
    let parts = value.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').filter(is_part);
    let mut out: Vec<u64> = std::iter::once(value).chain(parts).map(hash_text).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Returns the spans of a call that are looked at.
fn spans_of(tree: &Tree, call: u32) -> impl Iterator<Item = u32> + use<> {
    call..tree.subtree_end[call as usize].min(call + MOST_SPANS)
}

#[derive(Default)]
struct Sums {
    invocations: u64,
    equal: FxHashMap<(u32, u32), Equal>,
}

/// Compares the tags of pairs of calls in every trace of a set.
pub struct ArgumentRun {
    within: Within,
    pairs: Vec<CallPair>,
    /// By endpoint of the parent: pairs with both callees.
    of_parent: HashMap<u32, Vec<(usize, u32, u32)>, FxBuildHasher>,
    children: Vec<Child>,
    /// By pair of key and value.
    hashes: FxHashMap<u32, Vec<u64>>,
    sums: Vec<Sums>,
}

impl ArgumentRun {
    /// Returns a run over the traces `set` holds now.
    pub fn new(set: &TraceSet, within: Within, pairs: &[CallPair]) -> ArgumentRun {
        let mut of_parent: HashMap<u32, Vec<_>, FxBuildHasher> = HashMap::default();
        for (at, pair) in pairs.iter().enumerate() {
            let number = |of: &pathlight_trace::Endpoint| set.find_endpoint(&of.service, &of.operation);
            let numbers = (number(&pair.parent), number(&pair.first), number(&pair.second));
            if let (Some(parent), Some(first), Some(second)) = numbers {
                of_parent.entry(parent.0).or_default().push((at, first.0, second.0));
            }
        }
        ArgumentRun {
            within,
            pairs: pairs.to_vec(),
            of_parent,
            children: Vec::new(),
            hashes: FxHashMap::default(),
            sums: pairs.iter().map(|_| Sums::default()).collect(),
        }
    }

    /// Finishes the run; returns its sums.
    pub fn finish(self, set: &TraceSet) -> BTreeMap<CallPair, ArgumentSums> {
        let named = |sums: Sums| ArgumentSums {
            invocations: sums.invocations,
            equal: (sums.equal.into_iter())
                .map(|((a, b), equal)| {
                    ((set.tags.key_name(a).to_owned(), set.tags.key_name(b).to_owned()), equal)
                })
                .collect(),
        };
        self.pairs.into_iter().zip(self.sums.into_iter().map(named)).collect()
    }

    fn learn(&mut self, set: &TraceSet, row: u32) {
        for &pair in set.tags.pairs_of(set.tag_set(row)) {
            self.hashes.entry(pair).or_insert_with(|| hashes(set.tags.pair(pair).1));
        }
    }

    /// Gives the key and the hashes of each tag of a span to `each`.
    fn each_tag(&self, set: &TraceSet, row: u32, each: &mut impl FnMut(u32, &[u64])) {
        for &pair in set.tags.pairs_of(set.tag_set(row)) {
            let hashes = self.hashes.get(&pair).map_or(&[][..], Vec::as_slice);
            each(set.tags.key_of_pair(pair), hashes);
        }
    }

    /// Does the same of a call with what it leads to.
    fn each_tag_of_call(&self, set: &TraceSet, tree: &Tree, call: u32, mut each: impl FnMut(u32, &[u64])) {
        spans_of(tree, call).for_each(|span| self.each_tag(set, tree.row(span), &mut each));
    }

    fn compare(&mut self, set: &TraceSet, tree: &Tree, parent: u32, (at, first, second): (usize, u32, u32)) {
        let calls = |endpoint: u32| -> Vec<Child> {
            let is_it = |child: &&Child| set.endpoint(tree.row(child.span)).0 == endpoint;
            self.children.iter().filter(is_it).take(MOST_CALLS).copied().collect()
        };
        let (firsts, seconds) = (calls(first), calls(second));
        let (Some(begin), false) = (firsts.first(), seconds.is_empty()) else { return };
        let mut known = FxHashSet::default();
        let before =
            self.children.iter().filter(|child| child.end_us <= begin.start_us && child.span != begin.span);
        for call in before.take(MOST_BEFORE) {
            self.each_tag_of_call(set, tree, call.span, |_, hashes| known.extend(hashes.iter().copied()));
        }
        self.each_tag(set, parent, &mut |_, hashes: &[u64]| known.extend(hashes.iter().copied()));
        // By value, the keys under which the calls of the first have it.
        let mut found: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for (number, later) in seconds.iter().enumerate() {
            let earlier = if first == second {
                // Of one endpoint the call right before.
                &firsts[number.saturating_sub(1)..number]
            } else {
                &firsts[..]
            };
            let mut values: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
            for call in earlier {
                self.each_tag_of_call(set, tree, call.span, |key, hashes| {
                    for hash in hashes.iter().filter(|hash| !known.contains(hash)) {
                        values.entry(*hash).or_default().push(key);
                    }
                });
            }
            self.each_tag_of_call(set, tree, later.span, |key, hashes| {
                for hash in hashes {
                    for &from in values.get(hash).into_iter().flatten() {
                        // A call that repeats the arguments of the one before follows from whatever gave them to both.
                        if first != second || from != key {
                            let least = found.entry((from, key)).or_insert(*hash);
                            *least = (*least).min(*hash);
                        }
                    }
                }
            });
        }
        let sums = &mut self.sums[at];
        sums.invocations += 1;
        for (keys, hash) in found {
            let equal = Equal { invocations: 1, values: [hash].into() };
            sums.equal.entry(keys).or_default().merge(equal);
        }
    }
}

impl Visit for ArgumentRun {
    fn wants(&mut self, set: &TraceSet, trace: &TraceRow) -> bool {
        trace.rows().any(|row| self.of_parent.contains_key(&set.endpoint(row).0))
    }

    fn span(&mut self, set: &TraceSet, tree: &Tree, span: u32) -> Option<usize> {
        let row = tree.row(span);
        let pairs = self.of_parent.get(&set.endpoint(row).0)?.clone();
        let are_some = calls_of(tree, &self.within, span, &mut self.children)
            && (is_fine(set, tree, span, &self.children) || pairs.iter().any(|pair| pair.1 == pair.2));
        if !are_some {
            return None;
        }
        // Siblings stand by start as it was recorded; clocks that were set may have changed their order.
        self.children.sort_unstable_by_key(|child| (child.start_us, child.end_us, child.span));
        self.learn(set, row);
        for at in 0..self.children.len() {
            spans_of(tree, self.children[at].span).for_each(|span| self.learn(set, tree.row(span)));
        }
        pairs.iter().for_each(|&pair| self.compare(set, tree, row, pair));
        Some(self.children.len() * (1 + pairs.len()))
    }
}
