//! The cost of errors for requests.

use crate::errors::ErrorsPart;
use crate::summaries::Sketch;
use crate::summaries::section::{Kind, RootSums};
use crate::summaries::sketch::MOST;
use serde::{Deserialize, Serialize};

/// Costs of errors in the requests of one root endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ErrorSums {
    /// Sums of where errors start and stop.
    pub part: ErrorsPart,
    /// Latencies without the erroring spans.
    pub without: Sketch,
}

impl RootSums for ErrorSums {
    const KIND: Kind = Kind { name: "errors", version: 1, words: "errors" };

    fn join(parts: Vec<ErrorSums>) -> ErrorSums {
        ErrorSums {
            without: Sketch::sum(parts.iter().map(|part| &part.without)),
            part: ErrorsPart::merge(parts.into_iter().map(|part| part.part).collect()),
        }
    }

    fn is_sound(&self) -> bool {
        self.without.is_sound() && self.part.is_sound(MOST)
    }
}
