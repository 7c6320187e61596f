//! Which variant an invocation is: the calls it makes, and whether it is in error.

use crate::flow::walk::handed_to;
use crate::flow::{Callee, Callees, NodeTable, Within};
use pathlight_trace::{Endpoint, Flags, Role, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// A callee of which some invocation makes more calls counts as called or not: how often it is called depends on what was asked for.
pub const MOST_COUNTED: u32 = 3;

/// A parent endpoint with its callees, as the passes know them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantCallees {
    /// The endpoint that calls.
    pub parent: Endpoint,
    /// The callees by name, and whether the number of their calls makes a variant.
    pub callees: Vec<(Endpoint, bool)>,
}

/// A variant: the accumulator's key. Invocations with one key make the same calls, whatever the order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VariantKey {
    /// Whether the invocation is in error.
    pub is_error: bool,
    /// The callees that are called, as places in [`VariantCallees::callees`], with the number of calls; 0 where it does not matter.
    pub calls: Vec<(u32, u32)>,
}

impl VariantCallees {
    /// Returns those of an endpoint of which all callees are known.
    pub fn new(parent: Endpoint, known: &Callees) -> VariantCallees {
        let callees = known.callees.iter().map(|(name, callee)| (name.clone(), callee.most <= MOST_COUNTED));
        VariantCallees { parent, callees: callees.collect() }
    }

    /// Returns the callees of the invocations of one variant.
    pub fn of(&self, key: &VariantKey, known: &Callees, invocations: u64) -> Callees {
        let callee = |&(at, calls): &(u32, u32)| {
            let (name, all) = known.callees.get(at as usize)?;
            let most = if calls > 0 { calls } else { all.most };
            Some((name.clone(), Callee { most, invocations, has_calls: all.has_calls }))
        };
        let callees = key.calls.iter().filter_map(callee).collect();
        Callees { invocations, callees, ..Callees::default() }
    }

    /// Returns the nodes of the flow of one variant.
    pub fn table(&self, key: &VariantKey, known: &Callees, invocations: u64) -> NodeTable {
        NodeTable::new(self.parent.clone(), &self.of(key, known, invocations))
    }
}

/// Finds the variants of invocations in one set.
pub(super) struct KeyReader {
    parent: Option<u32>,
    within: Within,
    /// By endpoint of the set: its place among the callees, and whether its calls are counted.
    callees: FxHashMap<u32, (u32, bool)>,
    key: VariantKey,
    /// The first call of each callee of the invocation read last: its place among the callees, and the span.
    first: Vec<(u32, u32)>,
}

impl KeyReader {
    pub fn new(set: &TraceSet, of: &VariantCallees, within: Within) -> KeyReader {
        let number = |name: &Endpoint| set.find_endpoint(&name.service, &name.operation).map(|of| of.0);
        let callees = of.callees.iter().zip(0..);
        let callees = callees.filter_map(|((name, counts), at)| Some((number(name)?, (at, *counts))));
        KeyReader {
            parent: number(&of.parent),
            within,
            callees: callees.collect(),
            key: VariantKey::default(),
            first: Vec::new(),
        }
    }

    /// Returns whether a trace has spans of the parent.
    pub fn wants(&self, set: &TraceSet, mut rows: std::ops::Range<u32>) -> bool {
        self.parent.is_some_and(|parent| rows.any(|row| set.endpoint(row).0 == parent))
    }

    /// Reads a span; returns its variant if it is an invocation of the parent.
    pub fn read(&mut self, set: &TraceSet, tree: &Tree, span: u32) -> Option<&VariantKey> {
        let row = tree.row(span);
        let is_parent = self.parent == Some(set.endpoint(row).0);
        if !is_parent || tree.role[span as usize] == Role::Dropped || !self.within.has(tree, span) {
            return None;
        }
        if handed_to(set, tree, span).is_some() {
            return None;
        }
        self.first.clear();
        self.key.calls.clear();
        self.key.is_error = set.flags(row).has(Flags::ERROR);
        for child in tree.sync_children(span) {
            let Some(&(at, counts)) = self.callees.get(&set.endpoint(tree.row(child)).0) else { continue };
            self.first.push((at, child));
            self.key.calls.push((at, u32::from(counts)));
        }
        self.key.calls.sort_unstable();
        self.key.calls.dedup_by(|from, into| {
            let is_same = from.0 == into.0;
            into.1 += if is_same { from.1 } else { 0 };
            is_same
        });
        // Of the calls of a callee the one that starts first; of equal starts the first of the canonical order.
        self.first.sort_by_key(|&(at, child)| (at, tree.start_us[child as usize], child));
        self.first.dedup_by_key(|of| of.0);
        Some(&self.key)
    }

    /// Returns the first call of each callee of the invocation read last: (place among the callees, span).
    pub fn first_calls(&self) -> &[(u32, u32)] {
        &self.first
    }
}
