//! Calling contexts on critical paths: what a flame graph and a comparison need.

use crate::compare::ComparePart;
use crate::compare::summed::Frames1;
use crate::flame::Contexts;
use crate::requests::RequestRef;
use crate::summaries::section::{Kind, Renaming, Section};
use crate::summaries::sketch::MOST;
use crate::summaries::{Lacks, LatencyBin, Sketch, Summary};
use pathlight_base::encoding::{self, Damaged};
use pathlight_trace::{Endpoint, NO_ROW};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// A calling context on critical paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodePart {
    /// Number of spans.
    pub spans: u64,
    /// Errors among them.
    pub errors: u64,
    /// Self time on the critical path, of each request that has the context.
    pub exclusive: Sketch,
    /// Duration of its spans, likewise.
    pub inclusive: Sketch,
    /// Self time by bin of the request's latency.
    pub bins: Vec<LatencyBin>,
}

/// Calling contexts: a tree for each root endpoint.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FlameSums {
    pub contexts: Contexts<NodePart>,
    /// The same contexts with exact sums, for comparisons, and with an example each.
    pub frames: ComparePart,
}

impl NodePart {
    fn join(mut parts: Vec<NodePart>) -> NodePart {
        if parts.len() == 1 {
            return parts.pop().unwrap_or_default();
        }
        NodePart {
            spans: parts.iter().map(|part| part.spans).sum(),
            errors: parts.iter().map(|part| part.errors).sum(),
            exclusive: Sketch::sum(parts.iter().map(|part| &part.exclusive)),
            inclusive: Sketch::sum(parts.iter().map(|part| &part.inclusive)),
            bins: LatencyBin::join(parts.iter().map(|part| part.bins.as_slice())),
        }
    }

    fn is_sound(&self) -> bool {
        self.exclusive.is_sound()
            && self.inclusive.is_sound()
            && LatencyBin::are_sound(&self.bins)
            && self.spans.max(self.errors) <= MOST
    }

    /// Returns the requests that have it.
    pub fn requests(&self) -> u64 {
        self.exclusive.n()
    }
}

impl FlameSums {
    /// Returns by root endpoint the numbers of its nodes, the first of which is the root.
    pub fn trees(&self) -> BTreeMap<&Endpoint, Range<usize>> {
        let nodes = &self.contexts.nodes;
        let mut starts: Vec<usize> = (0..nodes.len()).filter(|&n| nodes[n].parent == NO_ROW).collect();
        starts.push(nodes.len());
        let root = |start: usize| &self.contexts.endpoints[nodes[start].endpoint as usize];
        starts.windows(2).map(|ends| (root(ends[0]), ends[0]..ends[1])).collect()
    }
}

impl Section for FlameSums {
    const KIND: Kind = Kind { name: "flame", version: 2, words: "calling contexts" };

    fn join(parts: Vec<FlameSums>) -> FlameSums {
        let (contexts, frames) =
            parts.into_iter().map(|part| (part.contexts.map(|node| vec![node]), part.frames)).unzip();
        let contexts = Contexts::merge(contexts, |into, from| into.extend(from)).map(NodePart::join);
        FlameSums { contexts, frames: ComparePart::merge(frames) }
    }

    fn is_sound(&self) -> bool {
        self.contexts.is_sound()
            && self.frames.is_sound()
            && self.frames.examples().len() == self.contexts.nodes.len()
            && self.contexts.nodes.iter().all(|node| node.value.is_sound())
    }

    fn renamed(mut self, renaming: Renaming<'_>) -> FlameSums {
        renaming.names(&mut self.contexts.endpoints);
        self.frames.rename(renaming);
        // Names are in order again, and siblings of one name are one.
        FlameSums::join(vec![self])
    }

    fn of_stored(version: u32, bytes: &[u8]) -> Result<FlameSums, Damaged> {
        if version >= 2 {
            return encoding::read(bytes);
        }
        let (contexts, frames): (_, Frames1) = encoding::read(bytes)?;
        Ok(FlameSums { contexts, frames: frames.into() })
    }

    fn into_roots(self) -> BTreeMap<Endpoint, FlameSums> {
        let mut frames = self.frames.into_roots();
        let of_root = |(root, contexts)| {
            let frames = frames.remove(&root).unwrap_or_default();
            (root, FlameSums { contexts, frames })
        };
        self.contexts.into_roots().into_iter().map(of_root).collect()
    }
}

impl Summary {
    /// Returns the calling contexts on critical paths: a tree for each root endpoint.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn contexts(&self) -> Result<&Contexts<NodePart>, Lacks> {
        Ok(&self.sections.flame.get()?.contexts)
    }

    /// Returns for each calling context the request in which it and all below it took longest, and the time that the
    /// request takes there in microseconds.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn examples(&self) -> Result<Vec<Option<(&RequestRef, u64)>>, Lacks> {
        Ok(self.sections.flame.get()?.frames.examples().collect())
    }

    /// Returns the frames of one root endpoint, or of all.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn frames(&self, root: Option<&Endpoint>) -> Result<ComparePart, Lacks> {
        let frames = &self.of_root(&self.sections.flame, root)?.frames;
        Ok(match root {
            Some(root) => frames.of_root(root),
            None => frames.clone(),
        })
    }
}
