//! Two summaries side by side, as two sets of traces.

use crate::compare::{ComparePart, CompareReport, CompareSide, FrameSums};
use crate::flame::Contexts;
use crate::requests::{RequestRef, RootEndpoint, Selection};
use crate::summaries::{Choice, Lacks, Summary};
use crate::verdict::{ServicesPartial, ServicesReport};
use pathlight_base::statistics::{Moments, Sample};
use pathlight_trace::Endpoint;
use serde::Deserialize;

/// The frames of a summary that was written without weights.
#[derive(Deserialize)]
pub(crate) struct Frames1 {
    contexts: Contexts<FrameSums1>,
    examples: Vec<RequestRef>,
}

#[derive(Clone, Deserialize)]
struct FrameSums1 {
    requests: u64,
    exclusive: Moments,
    subtree: Moments,
    example: Option<u32>,
    example_us: u64,
}

impl From<Frames1> for ComparePart {
    fn from(frames: Frames1) -> ComparePart {
        let sums = |of: FrameSums1| FrameSums {
            requests: of.requests,
            exclusive: Sample::counted(of.requests, of.exclusive),
            subtree: Sample::counted(of.requests, of.subtree),
            example: of.example,
            example_us: of.example_us,
        };
        ComparePart::of(frames.contexts.map(sums), frames.examples)
    }
}

impl Summary {
    /// Returns one side of a comparison: its frames, and its times by service. Both are of requests of any latency.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn side(
        &self,
        choice: &Choice,
        group: u8,
    ) -> Result<((CompareSide, ComparePart), ServicesPartial), Lacks> {
        let root = choice.root.as_ref();
        let selection = Selection {
            group,
            root: root
                .map_or_else(|| self.settings.root.clone(), |root| RootEndpoint::Endpoint(root.clone())),
            overlap: self.settings.path.overlap,
            reading: self.settings.path.reading,
            ..Selection::default()
        };
        let mut facts = self.facts(choice);
        // Frames and times of services are summed by weight.
        facts.weighted.iter_mut().for_each(|weighted| weighted.is_off = false);
        let facts = facts.by_weight();
        Ok(((CompareSide { selection, facts }, self.frames(root)?), self.services(root)?))
    }
}

/// Compares the requests of one root endpoint, or of all, as two sets of traces are compared: means, intervals and the
/// ranking of services are the same numbers.
///
/// # Errors
/// [`Lacks`].
pub fn compare(a: &Summary, b: &Summary, root: Option<&Endpoint>) -> Result<CompareReport, Lacks> {
    let choice = Choice { root: root.cloned(), ..Choice::default() };
    let both = [a, b];
    let alike = Summary::alike(&both);
    let [a, b] = [&alike[0], &alike[1]];
    let ((a_side, a_times), (b_side, b_times)) = (a.side(&choice, 0)?, b.side(&choice, 1)?);
    Ok(ComparePart::finish(a_side, b_side, ServicesReport::of(&a_times, &b_times)))
}
