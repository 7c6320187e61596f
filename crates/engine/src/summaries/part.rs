//! The contents of a summary.

use super::by_weight::{RootWeights, WEIGHTS};
use super::fewer::LESSER;
use super::section::{ByRoot, Kind};
use super::sections::Sections;
use super::sketch::MOST;
use super::{Lacks, LatencyBin, LesserRoot, Sketch};
use crate::requests::RootEndpoint;
use pathlight_base::statistics::{Moments, Percentiles};
use pathlight_trace::{Endpoint, PathSettings, ReadingRule};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How requests were told apart and read: summaries merge and compare only if these are equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummarySettings {
    /// The root endpoint, whose latency is summed.
    pub root: RootEndpoint,
    /// Settings with which paths were found.
    pub path: PathSettings,
}

impl Default for SummarySettings {
    fn default() -> SummarySettings {
        SummarySettings::new(RootEndpoint::default(), PathSettings::default())
    }
}

impl SummarySettings {
    /// Makes settings without the rules that a summary does not follow: names of places are decided over all that is
    /// loaded, which a summary never is, and it holds no waiting.
    pub fn new(root: RootEndpoint, path: PathSettings) -> SummarySettings {
        let decided = [ReadingRule::Callees, ReadingRule::Templates, ReadingRule::Waiting];
        let reading = decided.iter().fold(path.reading, |reading, &rule| reading.with(rule, false));
        SummarySettings { root, path: PathSettings { reading, by_service: false, ..path } }
    }
}

/// An accumulator over whole traces: latencies, which every query needs, and a section for each analysis.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Settings with which requests were read.
    pub settings: SummarySettings,
    /// Traces.
    pub traces: u64,
    /// Spans.
    pub spans: u64,
    /// When the first and the last request begin, in microseconds since the epoch; `None` without requests.
    pub start_us: Option<(u64, u64)>,
    /// Latencies of the requests of each root endpoint.
    pub roots: BTreeMap<Endpoint, RootPart>,
    pub(crate) sections: Sections,
    /// Times by weight, of root endpoints with requests that stand for several.
    pub(crate) by_weight: ByRoot<RootWeights>,
    /// Root endpoints that are kept by themselves without what the sections hold, which has them under the
    /// [others](super::OTHERS) of their service.
    pub lesser: BTreeMap<Endpoint, LesserRoot>,
    /// Names of sections that this program does not know and has left out: a newer one has written the file.
    pub unknown: BTreeSet<String>,
}

/// The section of latencies.
pub(crate) const LATENCIES: Kind = Kind { name: "latencies", version: 1, words: "latencies" };

/// The requests of one root endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RootPart {
    /// Requests in which some span is an error.
    pub failed: u64,
    /// Spans of these requests.
    pub spans: u64,
    /// Latencies.
    pub latency: Sketch,
    /// Exact sums of the latencies.
    pub latency_us: Moments,
    /// Latencies by bin.
    pub bins: Vec<LatencyBin>,
}

impl RootPart {
    /// Returns the requests.
    pub fn requests(&self) -> u64 {
        self.latency.n()
    }

    /// Returns the mean and percentiles of the latency; percentiles within [`Sketch::error`].
    pub fn percentiles(&self) -> Percentiles {
        let [p50, p95, p99] = self.latency.quantiles([0.50, 0.95, 0.99]);
        let mean = self.latency_us.mean(self.requests());
        Percentiles { mean, p50, p95, p99, max: self.latency.max_us() }
    }

    /// Joins parts of disjoint requests.
    pub(crate) fn join(parts: Vec<RootPart>) -> RootPart {
        let mut out = RootPart {
            latency: Sketch::sum(parts.iter().map(|part| &part.latency)),
            bins: LatencyBin::join(parts.iter().map(|part| part.bins.as_slice())),
            ..RootPart::default()
        };
        for part in parts {
            out.failed += part.failed;
            out.spans += part.spans;
            out.latency_us.merge(part.latency_us);
        }
        out
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.latency.is_sound()
            && self.spans.max(self.failed) <= MOST
            && LatencyBin::are_sound(&self.bins)
            && self.bins.iter().map(|bin| bin.requests).sum::<u64>() == self.requests()
    }
}

impl Summary {
    /// Returns the requests of all root endpoints.
    pub fn requests(&self) -> u64 {
        self.roots.values().map(RootPart::requests).sum()
    }

    /// Returns the latencies of the requests of one root endpoint, or of all together; `None` if there are none.
    pub fn root(&self, root: Option<&Endpoint>) -> Option<RootPart> {
        let Some(root) = root else {
            let all = RootPart::join(self.roots.values().cloned().collect());
            return (all.requests() > 0).then_some(all);
        };
        self.part(root).cloned()
    }

    /// Returns the latencies of the requests of a root endpoint, which may be one of the lesser ones.
    pub(crate) fn part(&self, root: &Endpoint) -> Option<&RootPart> {
        self.roots.get(root).or_else(|| Some(&self.lesser.get(root)?.part))
    }

    /// Returns what it does not hold that this program could read of one: a version before wrote a file of it, or a newer
    /// one.
    pub fn lacks(&self) -> Vec<Lacks> {
        self.sections.lacks()
    }

    /// Returns the name of a section whose numbers contradict each other: somebody may have made the file by hand.
    pub(crate) fn unsound(&self) -> Option<&'static str> {
        let is_sound = self.traces.max(self.spans) <= MOST && self.roots.values().all(RootPart::is_sound);
        let is_weight = |(root, of): (&Endpoint, &RootWeights)| {
            self.roots.get(root).is_some_and(|part| of.is_sound(part))
        };
        let is_lesser = |(root, of): (&Endpoint, &LesserRoot)| {
            !self.roots.contains_key(root)
                && of.part.is_sound()
                && of.weights.as_ref().is_none_or(|weights| weights.is_sound(&of.part))
        };
        match is_sound {
            false => Some(LATENCIES.name),
            true if !self.lesser.iter().all(is_lesser) => Some(LESSER.name),
            true if !self.by_weight.iter().all(is_weight) => Some(WEIGHTS.name),
            true => self.sections.unsound(),
        }
    }
}
