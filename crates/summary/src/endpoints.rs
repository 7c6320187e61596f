//! Endpoints on critical paths.

use super::Lacks;
use super::Sketch;
use super::Summary;
use super::maps::join_maps;
use super::sections::{Kind, RootSums};
use super::sketch::MOST;
use pathlight_base::statistics::Moments;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An endpoint on the critical paths of the requests of a root endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EndpointPart {
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
pub(crate) type EndpointParts = BTreeMap<Endpoint, EndpointPart>;

impl EndpointPart {
    fn join(parts: Vec<EndpointPart>) -> EndpointPart {
        let self_time = Sketch::sum(parts.iter().map(|part| &part.self_time));
        let mut out = EndpointPart { self_time, ..EndpointPart::default() };
        for part in parts {
            out.spans += part.spans;
            out.errors += part.errors;
            out.self_us.merge(part.self_us);
        }
        out
    }
}

impl RootSums for EndpointParts {
    const KIND: Kind = Kind { name: "endpoints", version: 1, words: "times of endpoints" };

    fn join(parts: Vec<EndpointParts>) -> EndpointParts {
        join_maps(parts.into_iter(), EndpointPart::join)
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
    pub fn endpoint_parts(&self, root: Option<&Endpoint>) -> Result<BTreeMap<Endpoint, EndpointPart>, Lacks> {
        self.sections.endpoints.of(root)
    }
}
