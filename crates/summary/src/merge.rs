//! Joining summaries of disjoint traces.

use super::part::{NodePart, Summary};
use pathlight_analysis::critical_path::{Contexts, DiffPart};

/// Summaries that were made with other settings cannot be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the summaries were made with different settings (root endpoint, --preset, --overlap-us, --overlap-share or --reading)"
)]
pub struct OtherSettings;

impl Summary {
    /// Joins two summaries of disjoint traces. Which is first makes no difference, and neither does grouping.
    ///
    /// # Errors
    /// [`OtherSettings`] if they were made with other settings; one without traces joins with any.
    pub fn merge(a: Summary, b: Summary) -> Result<Summary, OtherSettings> {
        if a.traces == 0 || b.traces == 0 {
            return Ok(if a.traces == 0 { b } else { a });
        }
        if a.settings != b.settings {
            return Err(OtherSettings);
        }
        let start_us = match (a.start_us, b.start_us) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        let mut roots = a.roots;
        for (root, part) in b.roots {
            roots.entry(root).or_default().merge(part);
        }
        Ok(Summary {
            settings: a.settings,
            traces: a.traces + b.traces,
            spans: a.spans + b.spans,
            start_us,
            contexts: Contexts::merge(vec![a.contexts, b.contexts], |into: &mut NodePart, from| {
                into.merge(&from)
            }),
            frames: DiffPart::merge(vec![a.frames, b.frames]),
            roots,
        })
    }
}

/// Joins many summaries, each with one of about as many, so that the work is proportional to what is added.
#[derive(Default)]
pub struct Merger {
    /// At place i the sum of 2^i summaries.
    sums: Vec<Option<Summary>>,
}

impl Merger {
    /// Adds a summary.
    ///
    /// # Errors
    /// [`OtherSettings`] if it was made with other settings than those before.
    pub fn add(&mut self, summary: Summary) -> Result<(), OtherSettings> {
        let mut sum = summary;
        for place in &mut self.sums {
            match place.take() {
                Some(other) => sum = Summary::merge(other, sum)?,
                None => {
                    *place = Some(sum);
                    return Ok(());
                }
            }
        }
        self.sums.push(Some(sum));
        Ok(())
    }

    /// The sum of all; an empty one if nothing was added.
    ///
    /// # Errors
    /// [`OtherSettings`] as [`add`](Self::add).
    pub fn finish(self) -> Result<Summary, OtherSettings> {
        self.sums.into_iter().flatten().try_fold(Summary::default(), Summary::merge)
    }
}
