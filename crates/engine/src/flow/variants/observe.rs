//! The passes over invocations: which variants there are, what each is like, and which edges bind in each.

use super::features::FeatureCounter;
use super::key::KeyReader;
use super::{FeatureCounts, VariantCallees, VariantKey};
use crate::flow::{
    Bindings, Child, FlowGraph, FlowSample, NodeIndex, NodeTable, Observe as _, Order, Visit, Within,
};
use hashbrown::HashMap;
use pathlight_trace::{Overlap, TraceRow, TraceSet, Tree};
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a pass does with the invocations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum VariantStep {
    /// Counts the variants.
    Count,
    /// Samples these variants, with the nodes of each, and counts what their invocations have.
    Sample(Vec<(VariantKey, NodeTable)>),
    /// Counts the edges that bind in the flows of these.
    Bind(Vec<(VariantKey, NodeTable, FlowGraph)>),
}

/// Counts the invocations of every variant.
pub(crate) struct VariantCounter {
    reader: KeyReader,
    counts: HashMap<VariantKey, u64, FxBuildHasher>,
}

impl VariantCounter {
    pub fn new(set: &TraceSet, of: &VariantCallees, within: Within) -> VariantCounter {
        VariantCounter { reader: KeyReader::new(set, of, within), counts: HashMap::default() }
    }

    /// Returns the invocations of every variant.
    pub fn finish(self) -> BTreeMap<VariantKey, u64> {
        self.counts.into_iter().collect()
    }
}

impl Visit for VariantCounter {
    fn wants(&mut self, set: &TraceSet, trace: &TraceRow) -> bool {
        self.reader.wants(set, trace.rows())
    }

    fn span(&mut self, set: &TraceSet, tree: &Tree, span: u32) -> Option<usize> {
        let key = self.reader.read(set, tree, span)?;
        match self.counts.get_mut(key) {
            Some(count) => *count += 1,
            None => drop(self.counts.insert(key.clone(), 1)),
        }
        Some(self.reader.first_calls().len())
    }
}

/// Reads the invocations of listed variants, each with the nodes of its variant.
struct Listed {
    reader: KeyReader,
    /// By key, its number.
    numbers: HashMap<VariantKey, usize, FxBuildHasher>,
    indices: Vec<NodeIndex>,
    overlap: Overlap,
    order: Order,
    children: Vec<Child>,
}

impl Listed {
    fn new<'a>(
        (set, of): (&TraceSet, &VariantCallees),
        within: Within,
        overlap: Overlap,
        variants: impl Iterator<Item = (&'a VariantKey, &'a NodeTable)> + Clone,
    ) -> Listed {
        Listed {
            reader: KeyReader::new(set, of, within),
            numbers: variants.clone().enumerate().map(|(at, (key, _))| (key.clone(), at)).collect(),
            indices: variants.map(|(_, table)| NodeIndex::new(set, [table])).collect(),
            overlap,
            order: Order::default(),
            children: Vec::new(),
        }
    }

    /// Reads a span; returns the number of its variant, or one more than the last if it is not listed.
    fn read(&mut self, set: &TraceSet, tree: &Tree, span: u32) -> Option<usize> {
        let key = self.reader.read(set, tree, span)?;
        let Some(&at) = self.numbers.get(key) else { return Some(self.indices.len()) };
        self.indices[at].read(set, tree, span, 0, &mut self.children);
        let (start_us, end_us) = (tree.start_us[span as usize], tree.end_us[span as usize]);
        self.order.set(start_us, end_us, &self.children, Some(self.overlap));
        Some(at)
    }
}

/// What listed variants are like: the accumulator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct VariantSample {
    /// By variant.
    pub flows: Vec<FlowSample>,
    /// What invocations have.
    pub features: FeatureCounts,
}

impl VariantSample {
    /// Creates a sample of no invocations yet, of variants with these nodes.
    pub fn new<'a>(tables: impl Iterator<Item = &'a NodeTable>) -> VariantSample {
        let flows = tables.map(|table| FlowSample::new(table.len)).collect();
        VariantSample { flows, features: FeatureCounts::default() }
    }

    /// Adds other invocations, which are packed.
    pub fn merge(&mut self, other: VariantSample) {
        for (into, mut from) in self.flows.iter_mut().zip(other.flows) {
            from.unpack();
            into.merge(from);
        }
        self.features.merge(other.features);
    }
}

/// Samples listed variants.
pub(crate) struct VariantSampler {
    listed: Listed,
    flows: Vec<FlowSample>,
    features: FeatureCounter,
}

impl VariantSampler {
    pub fn new(
        (set, of): (&TraceSet, &VariantCallees),
        within: Within,
        overlap: Overlap,
        variants: &[(VariantKey, NodeTable)],
    ) -> VariantSampler {
        let listed =
            Listed::new((set, of), within, overlap, variants.iter().map(|(key, table)| (key, table)));
        VariantSampler {
            listed,
            flows: VariantSample::new(variants.iter().map(|of| &of.1)).flows,
            features: FeatureCounter::new(variants.len() + 1),
        }
    }

    /// Returns the sample, packed.
    pub fn finish(self, set: &TraceSet, of: &VariantCallees) -> VariantSample {
        let mut flows = self.flows;
        flows.iter_mut().for_each(FlowSample::pack);
        VariantSample { flows, features: self.features.finish(set, of) }
    }
}

impl Visit for VariantSampler {
    fn wants(&mut self, set: &TraceSet, trace: &TraceRow) -> bool {
        self.listed.reader.wants(set, trace.rows())
    }

    fn span(&mut self, set: &TraceSet, tree: &Tree, span: u32) -> Option<usize> {
        let at = self.listed.read(set, tree, span)?;
        if let Some(flow) = self.flows.get_mut(at) {
            flow.observe(set, tree, 0, span, &self.listed.order);
        }
        let calls = self.listed.reader.first_calls();
        self.features.observe(set, tree, span, calls, at);
        Some(calls.len())
    }
}

/// Counts the edges that bind in listed variants.
pub(crate) struct VariantBinder {
    listed: Listed,
    bindings: Vec<Bindings>,
}

impl VariantBinder {
    pub fn new(
        (set, of): (&TraceSet, &VariantCallees),
        within: Within,
        overlap: Overlap,
        variants: &[(VariantKey, NodeTable, FlowGraph)],
    ) -> VariantBinder {
        let keys = variants.iter().map(|(key, table, _)| (key, table));
        VariantBinder {
            listed: Listed::new((set, of), within, overlap, keys),
            bindings: variants.iter().map(|(_, _, flow)| Bindings::new(flow.clone())).collect(),
        }
    }

    /// Returns by variant how often each edge binds.
    pub fn finish(self) -> Vec<BTreeMap<(u32, u32), u64>> {
        self.bindings.into_iter().map(|of| of.counts).collect()
    }
}

impl Visit for VariantBinder {
    fn wants(&mut self, set: &TraceSet, trace: &TraceRow) -> bool {
        self.listed.reader.wants(set, trace.rows())
    }

    fn span(&mut self, set: &TraceSet, tree: &Tree, span: u32) -> Option<usize> {
        let at = self.listed.read(set, tree, span)?;
        if let Some(bindings) = self.bindings.get_mut(at) {
            bindings.observe(set, tree, 0, span, &self.listed.order);
        }
        Some(self.listed.reader.first_calls().len())
    }
}
