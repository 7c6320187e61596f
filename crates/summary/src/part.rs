//! The contents of a summary.

use super::diagnosis::DiagnosisSums;
use super::flow::FlowSums;
use super::latency_bin::LatencyBin;
use super::maps::join_maps;
use super::normal::Normal;
use super::sketch::Sketch;
use pathlight_analysis::anomaly::call_tree::FactPart;
use pathlight_analysis::critical_path::{Contexts, DiffPart};
use pathlight_analysis::culprit::CulpritPart;
use pathlight_analysis::errors::ErrorsPart;
use pathlight_analysis::requests::{PathSettings, RequestRef, RootEndpoint, Rule};
use pathlight_model::stats::{Moments, Summary as Percentiles};
use pathlight_model::trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How requests were told apart and read: summaries merge and compare only if these are equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The root endpoint, whose latency is summed.
    pub root: RootEndpoint,
    /// Settings with which paths were found.
    pub path: PathSettings,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::new(RootEndpoint::default(), PathSettings::default())
    }
}

impl Settings {
    /// Makes settings without the rules that a summary does not follow: names of places are decided over all that is
    /// loaded, which a summary never is, and it holds no waiting.
    pub fn new(root: RootEndpoint, path: PathSettings) -> Settings {
        let decided = [Rule::Callees, Rule::Templates, Rule::Waiting];
        let reading = decided.iter().fold(path.reading, |reading, &rule| reading.with(rule, false));
        Settings { root, path: PathSettings { reading, by_service: false, ..path } }
    }
}

/// An accumulator over whole traces.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Settings with which requests were read.
    pub settings: Settings,
    /// Traces.
    pub traces: u64,
    /// Spans.
    pub spans: u64,
    /// When the first and the last request begin, in microseconds since the epoch; `None` without requests.
    pub start_us: Option<(u64, u64)>,
    /// Calling contexts on critical paths: a tree for each root endpoint.
    pub contexts: Contexts<NodePart>,
    /// The same contexts with exact sums, for comparisons.
    pub(crate) frames: DiffPart,
    /// What is summed of the requests of each root endpoint.
    pub roots: BTreeMap<Endpoint, RootPart>,
    /// Sample of normal requests.
    pub(crate) normal: Normal,
}

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
    /// Endpoints on their critical paths.
    pub endpoints: BTreeMap<Endpoint, EndpointPart>,
    /// Calls between services and visits of services.
    pub culprit: CulpritPart,
    /// Sums of where errors start and stop.
    pub errors: ErrorSums,
    /// Sums of the flows: what waits for what.
    pub flows: FlowSums,
    /// Where time is spent, also off critical paths.
    pub diagnosis: DiagnosisSums,
}

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

/// What errors cost the requests of one root endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorSums {
    /// Some file was written by a version that did not sum errors.
    pub is_missing: bool,
    /// Sums of where errors start and stop.
    pub part: ErrorsPart,
    /// Latencies without the erroring spans.
    pub without: Sketch,
}

impl ErrorSums {
    fn join(parts: Vec<ErrorSums>) -> ErrorSums {
        ErrorSums {
            is_missing: parts.iter().any(|part| part.is_missing),
            without: Sketch::sum(parts.iter().map(|part| &part.without)),
            part: ErrorsPart::merge(parts.into_iter().map(|part| part.part).collect()),
        }
    }
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

    /// Returns a copy for whoever asks for the rest: flows and what a diagnosis needs are most of it.
    fn without_flows(&self) -> RootPart {
        RootPart {
            failed: self.failed,
            spans: self.spans,
            latency: self.latency.clone(),
            latency_us: self.latency_us,
            endpoints: self.endpoints.clone(),
            culprit: self.culprit.clone(),
            errors: self.errors.clone(),
            flows: FlowSums::default(),
            diagnosis: DiagnosisSums::default(),
        }
    }

    /// Joins parts of disjoint requests.
    pub(crate) fn join(mut parts: Vec<RootPart>) -> RootPart {
        if parts.len() == 1 {
            return parts.pop().unwrap_or_default();
        }
        let mut out =
            RootPart { latency: Sketch::sum(parts.iter().map(|part| &part.latency)), ..RootPart::default() };
        let (mut endpoints, mut culprits) = (Vec::new(), Vec::new());
        let (mut errors, mut flows, mut diagnoses) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            out.failed += part.failed;
            out.spans += part.spans;
            out.latency_us.merge(part.latency_us);
            endpoints.push(part.endpoints);
            culprits.push(part.culprit);
            errors.push(part.errors);
            flows.push(part.flows);
            diagnoses.push(part.diagnosis);
        }
        out.endpoints = join_maps(endpoints.into_iter(), EndpointPart::join);
        out.culprit = CulpritPart::merge(culprits);
        out.errors = ErrorSums::join(errors);
        out.flows = FlowSums::join(flows);
        out.diagnosis = DiagnosisSums::join(diagnoses);
        out
    }
}

impl EndpointPart {
    fn join(mut parts: Vec<EndpointPart>) -> EndpointPart {
        if parts.len() == 1 {
            return parts.pop().unwrap_or_default();
        }
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

impl NodePart {
    pub(crate) fn join(mut parts: Vec<NodePart>) -> NodePart {
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

    /// Returns the requests that have it.
    pub fn requests(&self) -> u64 {
        self.exclusive.n()
    }
}

impl Summary {
    /// Returns the facts of some requests of a root endpoint, or of all, of any latency; `None` if a file was written
    /// by a version that did not keep them.
    pub fn normal(&self, root: Option<&Endpoint>) -> Option<FactPart> {
        let (is_missing, facts) = self.normal.facts();
        (!is_missing).then(|| match root {
            Some(root) => facts.into_roots().remove(root).unwrap_or_default(),
            None => facts,
        })
    }

    /// Returns the requests of all root endpoints.
    pub fn requests(&self) -> u64 {
        self.roots.values().map(RootPart::requests).sum()
    }

    /// Returns the requests of one root endpoint, or of all together, but for their flows; `None` if there are none.
    pub fn root(&self, root: Option<&Endpoint>) -> Option<RootPart> {
        let Some(root) = root else {
            let all = RootPart::join(self.roots.values().map(RootPart::without_flows).collect());
            return (all.requests() > 0).then_some(all);
        };
        self.roots.get(root).map(RootPart::without_flows)
    }

    /// Returns for each calling context the request in which it and all below it took longest.
    pub fn exemplars(&self) -> Vec<Option<&RequestRef>> {
        self.frames.examples().map(|example| Some(example?.0)).collect()
    }

    /// Returns what [`exemplars`](Self::exemplars) returns, with the time that the request takes there in microseconds.
    pub fn examples(&self) -> Vec<Option<(&RequestRef, u64)>> {
        self.frames.examples().collect()
    }

    /// Returns the frames of one root endpoint, or of all.
    pub fn frames(&self, root: Option<&Endpoint>) -> DiffPart {
        match root {
            Some(root) => self.frames.of_root(root),
            None => self.frames.clone(),
        }
    }
}
