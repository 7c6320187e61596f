//! A worker's part: the facts or the vectors of its requests, or of abnormal copies of them.

use crate::anomalies::call_tree::{FactObserver, FactPart};
use crate::anomalies::paper::{
    FeatureEncoding, FeaturePart, Injected, Injection, StvObserver, Victims, inject,
};
use crate::flame::{PathTable, TableBuilder, Walk};
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use pathlight_base::encoding;
use pathlight_trace::{PathSettings, RequestRoots, TraceSet, Tree};
use serde::{Deserialize, Serialize};

/// Kind of the vector recorded of each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum VectorKind {
    /// A vector.
    Vectors(FeatureEncoding),
    /// The facts of its whole tree.
    Facts,
}

/// Plan of making requests abnormal: in which way, by which seed, and which ones.
pub(crate) type InjectionPlan = (Injection, u64, Victims);

/// Looks at one worker's requests, in steps.
pub(crate) struct VectorRun {
    kind: VectorKind,
    settings: PathSettings,
    plan: Option<InjectionPlan>,
    requests: Vec<u32>,
    at: usize,
    tree: Tree,
    /// Abnormal copies, with their table being built.
    copies: Option<Box<TraceSet>>,
    builder: Option<TableBuilder>,
    table: Option<PathTable>,
    vectors: Option<Walk<StvObserver>>,
    facts: Option<Walk<FactObserver>>,
    /// Of each copy what was done, and the spans it had.
    injected: Vec<(Injected, u32)>,
    done: Vec<u8>,
}

impl VectorRun {
    /// Returns a pass over some requests, or over abnormal copies of those that are to be made abnormal.
    pub fn new(
        set: &TraceSet,
        kind: VectorKind,
        plan: Option<InjectionPlan>,
        settings: PathSettings,
        requests: Vec<u32>,
    ) -> VectorRun {
        VectorRun {
            kind,
            settings,
            plan,
            requests,
            at: 0,
            tree: Tree::default(),
            copies: plan.map(|_| Box::new(set.without_traces())),
            builder: None,
            table: None,
            vectors: None,
            facts: None,
            injected: Vec::new(),
            done: Vec::new(),
        }
    }

    /// Makes abnormal copies of requests; true when all are made.
    fn inject(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        let (Some((how, seed, victims)), Some(copies)) = (self.plan, &mut self.copies) else { return true };
        while let Some(&request) = self.requests.get(self.at) {
            if self.at.is_multiple_of(16) && time_is_up() {
                return false;
            }
            self.at += 1;
            let entry = &table.requests[request as usize];
            if !victims.has(seed, &set.trace_id_text(entry.trace)) {
                continue;
            }
            self.tree.load_for(set, entry.trace, self.settings, table.roots);
            let root = entry.row - self.tree.first;
            // Where memory ends, the evaluation stands on the copies made so far.
            let Ok(made) = inject(set, &self.tree, root, how, seed, copies) else { return true };
            let spans = self.tree.subtree_end[root as usize] - root;
            self.injected.extend(made.map(|made| (made, spans)));
        }
        true
    }

    /// Looks at requests; true when all are seen.
    fn look(
        &mut self,
        set: &TraceSet,
        table: &PathTable,
        requests: Vec<u32>,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> bool {
        let lost = self
            .injected
            .iter()
            .fold((0, 0), |(lost, of), (made, spans)| (lost + u64::from(made.lost), of + u64::from(*spans)));
        match self.kind {
            VectorKind::Vectors(FeatureEncoding::Scpv) => {
                let mut part = FeaturePart::observe(set, table, &requests);
                part.lost = lost;
                self.done = encoding::write(&part);
            }
            VectorKind::Vectors(FeatureEncoding::Stv) => {
                let walk = self.vectors.take();
                let mut walk = walk.unwrap_or_else(|| Walk::new(StvObserver::new(), self.settings, requests));
                if !walk.step(set, table, time_is_up) {
                    self.vectors = Some(walk);
                    return false;
                }
                let mut part = walk.finish(set);
                part.lost = lost;
                self.done = encoding::write(&part);
            }
            VectorKind::Facts => {
                let walk = self.facts.take();
                let mut walk = walk.unwrap_or_else(|| {
                    Walk::new(FactObserver::new(self.settings.overlap), self.settings, requests)
                });
                if !walk.step(set, table, time_is_up) {
                    self.facts = Some(walk);
                    return false;
                }
                let mut part = walk.finish(set);
                part.lost = lost;
                // Each copy is a trace of its own.
                for (row, request) in part.rows.iter_mut().zip(&table.requests) {
                    let made = self.injected.get(request.trace as usize);
                    row.injected = made.map(|(made, _)| {
                        made.places.iter().map(|&endpoint| set.owned_endpoint(endpoint)).collect()
                    });
                }
                self.done = encoding::write(&part);
            }
        }
        true
    }
}

impl RunningPass for VectorRun {
    fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        if self.copies.is_none() {
            let requests = std::mem::take(&mut self.requests);
            // A vector of bytes takes all that is written to it.
            return self.look(set, table, requests, time_is_up);
        }
        if !self.inject(set, table, time_is_up) {
            return false;
        }
        let Some(copies) = self.copies.take() else { return true };
        if self.table.is_none() {
            let settings = self.settings;
            let mut builder =
                self.builder.take().unwrap_or_else(|| TableBuilder::new(Some(RequestRoots::All), settings));
            if builder.step(&copies, time_is_up) {
                self.table = Some(builder.finish());
            } else {
                (self.builder, self.copies) = (Some(builder), Some(copies));
                return false;
            }
        }
        let Some(own) = self.table.take() else { return true };
        let all = (0..own.requests.len() as u32).collect();
        let is_done = self.look(&copies, &own, all, time_is_up);
        (self.table, self.copies) = (Some(own), Some(copies));
        is_done
    }

    fn progress(&self) -> (u64, u64) {
        (self.at as u64, self.requests.len() as u64)
    }

    fn finish(self: Box<Self>, _: &TraceSet) -> Vec<Vec<u8>> {
        vec![self.done]
    }
}

/// Facts of the whole trees of requests, or of abnormal copies of some.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FactsPass {
    pub plan: Option<InjectionPlan>,
}

impl RequestPass for FactsPass {
    type Part = FactPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        Box::new(VectorRun::new(over.set, VectorKind::Facts, self.plan, over.settings, over.requests))
    }
}

/// Vectors of requests, or of abnormal copies of some.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct VectorsPass {
    pub encoding: FeatureEncoding,
    pub plan: Option<InjectionPlan>,
}

impl RequestPass for VectorsPass {
    type Part = FeaturePart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let kind = VectorKind::Vectors(self.encoding);
        Box::new(VectorRun::new(over.set, kind, self.plan, over.settings, over.requests))
    }
}
