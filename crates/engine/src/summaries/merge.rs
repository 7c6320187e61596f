//! Joining summaries of disjoint traces.

use super::by_weight;
use super::fewer;
use super::maps::join_maps;
use super::sections::Sections;
use super::{RootPart, Summary};

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
        Summary::join(vec![a, b])
    }

    /// Joins summaries of disjoint traces, as [`merge`](Self::merge) does two: in one go, which for many small ones is
    /// several times as fast as one by one.
    ///
    /// # Errors
    /// As [`merge`](Self::merge).
    pub fn join(mut parts: Vec<Summary>) -> Result<Summary, OtherSettings> {
        let empty = parts.pop_if(|part| part.traces == 0);
        parts.retain(|part| part.traces > 0);
        if parts.len() < 2 {
            return Ok(parts.pop().or(empty).unwrap_or_default());
        }
        let settings = parts[0].settings.clone();
        if parts.iter().any(|part| part.settings != settings) {
            return Err(OtherSettings);
        }
        let lesser = fewer::lesser_of_all(&mut parts)?;
        let by_weight = by_weight::join(&parts);
        let mut out = Summary { settings, by_weight, lesser, ..Summary::default() };
        let (mut roots, mut sections) = (Vec::new(), Vec::new());
        for part in parts {
            out.traces += part.traces;
            out.spans += part.spans;
            out.start_us = match (out.start_us, part.start_us) {
                (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
                (a, b) => a.or(b),
            };
            out.unknown.extend(part.unknown);
            roots.push(part.roots);
            sections.push(part.sections);
        }
        out.roots = join_maps(roots.into_iter(), RootPart::join);
        out.sections = Sections::join(sections);
        Ok(out)
    }
}

/// Summaries that wait to be joined at the most, and calling contexts beyond which they wait only until they have as many as
/// the sum: what is in memory beside the sum is at most that, or as much as the sum, and each of its contexts is joined only
/// so often.
const MOST_WAITING: (usize, usize) = (64, 100_000);

/// Joins many summaries, in groups.
#[derive(Default)]
pub struct Merger {
    /// The sum first.
    parts: Vec<Summary>,
    /// Calling contexts of all but the sum.
    contexts: usize,
    /// Those of the sum.
    summed: usize,
}

impl Merger {
    /// Adds a summary.
    ///
    /// # Errors
    /// [`OtherSettings`] if it was made with other settings than those before.
    pub fn add(&mut self, summary: Summary) -> Result<(), OtherSettings> {
        let contexts_of = |of: &Summary| of.contexts().map_or(0, |contexts| contexts.nodes.len());
        self.contexts += contexts_of(&summary);
        self.parts.push(summary);
        if self.parts.len() > MOST_WAITING.0 || self.contexts > MOST_WAITING.1.max(self.summed) {
            let sum = Summary::join(std::mem::take(&mut self.parts))?;
            (self.contexts, self.summed) = (0, contexts_of(&sum));
            self.parts.push(sum);
        }
        Ok(())
    }

    /// Returns the sum of all; an empty one if nothing was added.
    ///
    /// # Errors
    /// [`OtherSettings`] as [`add`](Self::add).
    pub fn finish(self) -> Result<Summary, OtherSettings> {
        Summary::join(self.parts)
    }
}
