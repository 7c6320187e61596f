//! A worker's part: the vectors of its requests, or of abnormal copies of them.

use crate::EngineError;
use crate::request_pass::TreePass;
use pathlight_analysis::anomaly::{Encoding, FeaturePart, Injection, StvObserver, inject, is_held_out};
use pathlight_analysis::critical_path::{PathTable, TableBuilder, Walk};
use pathlight_analysis::requests::{Overlap, RootEndpoint};
use pathlight_model::trace::{TraceSet, Tree};

/// Makes the vectors of one worker's requests, in steps.
pub(crate) struct VectorPass {
    encoding: Encoding,
    overlap: Overlap,
    injection: Option<(Injection, u64)>,
    requests: Vec<u32>,
    at: usize,
    tree: Tree,
    /// Abnormal copies, with their table being built.
    copies: Option<Box<TraceSet>>,
    builder: Option<TableBuilder>,
    table: Option<PathTable>,
    walk: Option<Walk<StvObserver>>,
    lost: (u64, u64),
    done: Option<FeaturePart>,
}

impl VectorPass {
    /// Vectors of some requests, or of abnormal copies of those that are held out.
    pub fn new(
        set: &TraceSet,
        encoding: Encoding,
        injection: Option<(Injection, u64)>,
        overlap: Overlap,
        requests: Vec<u32>,
    ) -> VectorPass {
        VectorPass {
            encoding,
            overlap,
            injection,
            requests,
            at: 0,
            tree: Tree::default(),
            copies: injection.map(|_| Box::new(set.without_traces())),
            builder: None,
            table: None,
            walk: None,
            lost: (0, 0),
            done: None,
        }
    }

    /// Makes abnormal copies of the held-out requests; true when all are made.
    fn inject(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        let (Some((how, seed)), Some(copies)) = (self.injection, &mut self.copies) else { return true };
        while let Some(&request) = self.requests.get(self.at) {
            if self.at.is_multiple_of(16) && time_is_up() {
                return false;
            }
            self.at += 1;
            let entry = &table.requests[request as usize];
            if !is_held_out(seed, &set.trace_id_text(entry.trace)) {
                continue;
            }
            self.tree.load(set, entry.trace);
            let root = entry.row - self.tree.first;
            // Where memory ends, the evaluation stands on the copies made so far.
            let Ok(made) = inject(set, &self.tree, root, how, seed, copies) else { return true };
            if let Some(lost) = made {
                let spans = self.tree.subtree_end[root as usize] - root;
                self.lost = (self.lost.0 + u64::from(lost), self.lost.1 + u64::from(spans));
            }
        }
        true
    }

    fn vectors(
        &mut self,
        set: &TraceSet,
        table: &PathTable,
        requests: Vec<u32>,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> bool {
        if self.encoding == Encoding::Scpv {
            self.done = Some(FeaturePart::observe(set, table, &requests));
            return true;
        }
        let mut walk = self.walk.take().unwrap_or_else(|| Walk::new(StvObserver::new(), requests));
        if walk.step(set, table, time_is_up) {
            self.done = Some(walk.finish(set));
            return true;
        }
        self.walk = Some(walk);
        false
    }
}

impl TreePass for VectorPass {
    fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        if self.copies.is_none() {
            let requests = std::mem::take(&mut self.requests);
            return self.vectors(set, table, requests, time_is_up);
        }
        if !self.inject(set, table, time_is_up) {
            return false;
        }
        let Some(copies) = self.copies.take() else { return true };
        if self.table.is_none() {
            let overlap = self.overlap;
            let mut builder = self
                .builder
                .take()
                .unwrap_or_else(|| TableBuilder::new(&copies, &RootEndpoint::TraceRoots, overlap));
            if builder.step(&copies, time_is_up) {
                self.table = Some(builder.finish());
            } else {
                (self.builder, self.copies) = (Some(builder), Some(copies));
                return false;
            }
        }
        let Some(own) = self.table.take() else { return true };
        let all = (0..own.requests.len() as u32).collect();
        let is_done = self.vectors(&copies, &own, all, time_is_up);
        (self.table, self.copies) = (Some(own), Some(copies));
        is_done
    }

    fn progress(&self) -> (u64, u64) {
        (self.at as u64, self.requests.len() as u64)
    }

    fn finish(self: Box<Self>, _: &TraceSet) -> Result<Vec<Vec<u8>>, EngineError> {
        let mut part = self.done.unwrap_or_default();
        part.lost = self.lost;
        Ok(vec![postcard::to_allocvec(&part)?])
    }
}
