//! The cost of errors for requests.

use crate::errors::ErrorsPart;
use crate::errors::part::Part1;
use crate::summaries::Sketch;
use crate::summaries::section::{ByRoot, Kind, Renaming, RootSums};
use crate::summaries::sketch::MOST;
use pathlight_base::encoding::{self, Damaged};
use serde::{Deserialize, Serialize};

/// Costs of errors in the requests of one root endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ErrorSums {
    /// Sums of where errors start and stop.
    pub part: ErrorsPart,
    /// Latencies without the erroring spans.
    pub without: Sketch,
}

/// The same as it was kept beside a list of latencies, which was always empty.
#[derive(Deserialize)]
pub(crate) struct ErrorSums1 {
    part: Part1,
    without: Sketch,
}

impl From<ErrorSums1> for ErrorSums {
    fn from(sums: ErrorSums1) -> ErrorSums {
        ErrorSums { part: sums.part.into(), without: sums.without }
    }
}

impl RootSums for ErrorSums {
    const KIND: Kind = Kind { name: "errors", version: 2, words: "errors" };

    fn join(parts: Vec<ErrorSums>) -> ErrorSums {
        ErrorSums {
            without: Sketch::sum(parts.iter().map(|part| &part.without)),
            part: ErrorsPart::merge(parts.into_iter().map(|part| part.part).collect()),
        }
    }

    fn renamed(mut self, renaming: Renaming<'_>) -> ErrorSums {
        self.part.rename(renaming);
        self.part = ErrorsPart::merge(vec![self.part]);
        self
    }

    fn of_stored(version: u32, bytes: &[u8]) -> Result<ByRoot<ErrorSums>, Damaged> {
        if version >= 2 {
            return encoding::read(bytes);
        }
        let roots: ByRoot<ErrorSums1> = encoding::read(bytes)?;
        Ok(roots.into_iter().map(|(root, sums)| (root, sums.into())).collect())
    }

    fn is_sound(&self) -> bool {
        self.without.is_sound() && self.part.is_sound(MOST)
    }
}
