//! The slow requests of one set against its fast ones, each within its own request type: else the tail of a mixture is
//! mostly its larger pages.

use super::cells::CulpritPart;
use super::observe::CulpritObserver;
use crate::critical_path::{Observer, PathTable};
use crate::requests::{Overlap, RequestTypes, TypeCut};
use pathlight_model::ordered::OrderedMap;
use pathlight_model::trace::{TraceSet, Tree};
use std::sync::Arc;

/// Observes the faster half of every type as side A and its slowest tenth as side B.
pub struct TailObserver {
    types: Arc<RequestTypes>,
    /// By number of the type: where the faster half ends and the slowest tenth begins; `None` where all are about as fast.
    ends: Vec<Option<(u64, u64)>>,
    sides: [CulpritObserver; 2],
}

impl TailObserver {
    /// Returns an observer of requests of this set, which are of these types, cut like this.
    pub fn new(set: &TraceSet, overlap: Overlap, types: Arc<RequestTypes>, cuts: &[TypeCut]) -> TailObserver {
        let sides = [CulpritObserver::new(set, overlap), CulpritObserver::new(set, overlap)];
        let cuts: OrderedMap<_, &TypeCut> = cuts.iter().map(|cut| (&cut.name, cut)).collect();
        let ends = types.names().iter().map(|name| {
            let cut = cuts.get(name)?;
            Some((cut.fast_to_us, cut.tail_from_us?))
        });
        TailObserver { ends: ends.collect(), types, sides }
    }
}

impl Observer for TailObserver {
    type Part = [CulpritPart; 2];

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let latency_us = table.requests[request as usize].latency_us;
        let Some((fast_us, slow_us)) = self.ends[self.types.of(request) as usize] else { return };
        if latency_us <= fast_us {
            self.sides[0].observe(set, table, tree, request);
        } else if latency_us >= slow_us {
            self.sides[1].observe(set, table, tree, request);
        }
    }

    fn finish(self, set: &TraceSet) -> [CulpritPart; 2] {
        self.sides.map(|side| side.finish(set))
    }
}
