//! Endpoints on critical paths.

use crate::summaries::maps::join_maps;
use crate::summaries::section::{Kind, Renaming, RootSums};
use crate::summaries::sketch::MOST;
use crate::summaries::{Lacks, Sketch, Summary};
use pathlight_base::statistics::Moments;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An endpoint on the critical paths of the requests of a root endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummedEndpoint {
    /// Spans on critical paths.
    pub spans: u64,
    /// Errors among them.
    pub errors: u64,
    /// Self time on the critical path, of each request that has the endpoint there.
    pub self_time: Sketch,
    /// Exact sums of these times.
    pub self_us: Moments,
}

/// The endpoints on the critical paths of the requests of a root endpoint.
pub(crate) type SummedEndpoints = BTreeMap<Endpoint, SummedEndpoint>;

impl SummedEndpoint {
    fn join(parts: Vec<SummedEndpoint>) -> SummedEndpoint {
        let self_time = Sketch::sum(parts.iter().map(|part| &part.self_time));
        let mut out = SummedEndpoint { self_time, ..SummedEndpoint::default() };
        for part in parts {
            out.spans += part.spans;
            out.errors += part.errors;
            out.self_us.merge(part.self_us);
        }
        out
    }
}

impl RootSums for SummedEndpoints {
    const KIND: Kind = Kind { name: "endpoints", version: 1, words: "times of endpoints" };

    fn join(parts: Vec<SummedEndpoints>) -> SummedEndpoints {
        join_maps(parts.into_iter(), SummedEndpoint::join)
    }

    fn renamed(mut self, renaming: Renaming<'_>) -> SummedEndpoints {
        renaming
            .key(&mut self, |known, part| *known = SummedEndpoint::join(vec![std::mem::take(known), part]));
        self
    }

    fn is_sound(&self) -> bool {
        self.values().all(|part| part.self_time.is_sound() && part.spans.max(part.errors) <= MOST)
    }
}

impl Summary {
    /// Returns the endpoints on the critical paths of the requests of one root endpoint, or of all together.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn endpoint_parts(
        &self,
        root: Option<&Endpoint>,
    ) -> Result<BTreeMap<Endpoint, SummedEndpoint>, Lacks> {
        self.sums(&self.sections.endpoints, root)
    }
}
