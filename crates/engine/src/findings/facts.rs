//! What was measured of each kind of finding.

use super::FindingTag;
use crate::deployments::{DeploymentFirst, SlowerPlace};
use crate::flow::SerialGroup;
use crate::queues::QueueExample;
use crate::requests::{PercentileRange, RequestRef, RequestType};
use crate::verdict::one_set::ServiceCost;
use crate::verdict::{Certainty, ServicePart, ServicesReport, Subject};
use pathlight_base::statistics::Interval;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};

/// A tag that the slow requests share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedTag {
    /// Tag key.
    pub key: String,
    /// Tag value.
    pub value: String,
    /// The endpoint on whose spans it is counted; `None`: on any span.
    pub at: Option<Endpoint>,
    /// Slow requests that have it.
    pub slow: u64,
    /// Other requests of the type that have it.
    pub others: u64,
    /// Other requests of the type.
    pub of_others: u64,
}

/// What requests would save if the self time of an endpoint were half as long, in microseconds; a what-if.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Halved {
    /// Saved of the mean latency, in microseconds.
    pub mean_us: f64,
    /// Saved of the 99th percentile, in microseconds.
    pub p99_us: f64,
    /// The 99th percentile as it is.
    pub p99_before_us: f64,
}

/// What was measured, by kind. Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FindingFacts {
    /// See [`FindingKind::Changed`](super::FindingKind::Changed).
    Changed(ServicesReport),
    /// See [`FindingKind::SlowTail`](super::FindingKind::SlowTail).
    SlowTail(SlowTailFacts),
    /// See [`FindingKind::Bursts`](super::FindingKind::Bursts).
    Bursts(BurstsFacts),
    /// See [`FindingKind::HotSpot`](super::FindingKind::HotSpot) and [`FindingKind::Waiting`](super::FindingKind::Waiting).
    Cost(Box<CostFacts>),
    /// See [`FindingKind::WorthMakingFaster`](super::FindingKind::WorthMakingFaster).
    WorthMakingFaster(Halved),
    /// See [`FindingKind::Abnormal`](super::FindingKind::Abnormal).
    Abnormal(AbnormalFacts),
    /// See [`FindingKind::NotInstrumented`](super::FindingKind::NotInstrumented).
    NotInstrumented(NotInstrumentedFacts),
    /// See [`FindingKind::OutsideRequests`](super::FindingKind::OutsideRequests); its place is the endpoint at which most of it begins.
    OutsideRequests(OutsideRequestsFacts),
    /// See [`FindingKind::WorkAfter`](super::FindingKind::WorkAfter); its place is the request type.
    WorkAfter(WorkAfterFacts),
    /// See [`FindingKind::OneAfterTheOther`](super::FindingKind::OneAfterTheOther).
    OneAfterTheOther(OneAfterTheOtherFacts),
    /// See [`FindingKind::Timeout`](super::FindingKind::Timeout).
    Timeout(TimeoutFacts),
    /// See [`FindingKind::Retries`](super::FindingKind::Retries).
    Retries(RetriesFacts),
    /// See [`FindingKind::RedundantCalls`](super::FindingKind::RedundantCalls).
    RedundantCalls(RedundantFacts),
    /// See [`FindingKind::Errors`](super::FindingKind::Errors).
    Errors(ErrorsFacts),
    /// See [`FindingKind::PoolWaits`](super::FindingKind::PoolWaits); its place is the service that calls.
    PoolWaits(PoolWaitsFacts),
    /// See [`FindingKind::SlowerPlace`](super::FindingKind::SlowerPlace); its place is the service that runs there, or is called.
    SlowerPlace(Box<SlowerPlace>),
    /// See [`FindingKind::Who`](super::FindingKind::Who).
    Who(WhoFacts),
    /// See [`FindingKind::SinceWhen`](super::FindingKind::SinceWhen).
    SinceWhen(SinceWhenFacts),
    /// See [`FindingKind::ReadWithCare`](super::FindingKind::ReadWithCare).
    ReadWithCare(ReadWithCareFacts),
    /// See [`FindingKind::Queue`](super::FindingKind::Queue); its place is the endpoint that receives.
    Queue(QueueFacts),
}

/// The facts of [`FindingKind::Queue`](super::FindingKind::Queue).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueFacts {
    /// The endpoint that sends.
    pub sender: Endpoint,
    /// The endpoint that receives.
    pub receiver: Endpoint,
    /// Name of the queue or topic; empty if none was recorded.
    pub destination: String,
    /// Number of messages.
    pub messages: u64,
    /// Mean time in the queue of a message, in microseconds.
    pub mean_us: f64,
    /// The same before; `None` without requests to compare with.
    pub before_us: Option<f64>,
    /// Mean latency of the requests, in microseconds.
    pub latency_us: f64,
    /// What it takes of the latency of requests until everything is done, or takes longer: microseconds per request; `None` if
    /// requests end with their answer.
    pub path_us: Option<f64>,
    /// The message that waited longest.
    pub longest: QueueExample,
}

/// Below this share of the latency a cost is weak, whatever chance says.
const WEAK: f64 = 0.05;

/// The facts of [`FindingKind::SlowTail`](super::FindingKind::SlowTail). Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowTailFacts {
    /// The request type.
    pub root: RequestType,
    /// Least and greatest latency of the slow requests.
    pub latency_us: (u64, u64),
    /// Median latency of the type.
    pub p50_us: u64,
    /// Percentile ranges of the tail and of the faster half.
    pub ranges: (PercentileRange, PercentileRange),
    /// Whether the faster half never calls the place.
    pub is_only_in_tail: bool,
    /// How much more time on the path the slow requests spend in the place than the faster half, per request.
    pub excess_us: f64,
    /// The 95 % interval of it.
    pub excess_interval: Interval,
    /// Mean excess of latency of the slow requests.
    pub latency_excess_us: f64,
    /// Median latency of the tail.
    pub tail_p50_us: u64,
    /// Other request types of which the tail spends most more in the same place; the stake is that of all.
    pub other_types: u64,
    /// The service that calls of the place wait for, where that is most of their time.
    pub waits_for: Option<String>,
    /// The share of all latency that the place's service takes, 0 to 1, where that is a finding of its own.
    pub share: Option<f64>,
    /// A tag that tells them from the others.
    pub tag: Option<SharedTag>,
    /// The 99th percentile of the type as it is, and as it would be without the calls of the place; `None` while that
    /// is not known, and where the faster half has such calls too.
    pub p99_us: Option<(f64, f64)>,
}

/// The facts of [`FindingKind::Bursts`](super::FindingKind::Bursts). Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BurstsFacts {
    /// The stretches of time, by time.
    pub bursts: Vec<Burst>,
    /// Requests in all.
    pub requests: u64,
}

/// The facts of [`FindingKind::Abnormal`](super::FindingKind::Abnormal). Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbnormalFacts {
    /// How many would be abnormal by chance.
    pub by_chance: f64,
    /// Requests that were learned from.
    pub trained: u64,
    /// Whether there are so many that the load or the release has changed.
    pub has_drifted: bool,
    /// The most frequent first reasons, each with its requests.
    pub reasons: Vec<(u64, String)>,
    /// The abnormal requests, if they are few enough to be kept in all views.
    pub requests: Vec<RequestRef>,
}

/// The facts of [`FindingKind::NotInstrumented`](super::FindingKind::NotInstrumented). Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotInstrumentedFacts {
    /// Share of all latency.
    pub share: f64,
    /// Between which of its calls it is longest alone.
    pub gap: Option<Gap>,
}

/// The facts of [`FindingKind::OutsideRequests`](super::FindingKind::OutsideRequests); its place is the endpoint at which most of it begins. Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutsideRequestsFacts {
    /// Share of the span time of the traces, 0 to 1.
    pub share: f64,
    /// Duration of these spans.
    pub us: u128,
    /// Missing spans below which it hangs; `None`: it is asynchronous.
    pub missing: Option<u64>,
    /// Spans of the endpoint at which it begins.
    pub tops: u64,
    /// Mean duration of these.
    pub mean_us: f64,
}

/// The facts of [`FindingKind::WorkAfter`](super::FindingKind::WorkAfter). Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkAfterFacts {
    /// Mean latency until the answer.
    pub answer_us: f64,
    /// Mean latency until everything is done.
    pub done_us: f64,
    /// The endpoint that takes most of the time in between, how much per request, and whether it is a queue.
    pub largest: Option<(Endpoint, f64, bool)>,
}

/// The facts of [`FindingKind::OneAfterTheOther`](super::FindingKind::OneAfterTheOther). Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OneAfterTheOtherFacts {
    /// The calls, and what running them side by side would save.
    pub group: SerialGroup,
    /// How far the flow of the caller is off on held-out requests: the median of its error, 0 to 1; `None` if that is not
    /// known.
    pub model_error: Option<f64>,
    /// What the number of calls grows with, of calls of one endpoint.
    pub grows_with: Option<GrowsWith>,
}

/// The facts of [`FindingKind::RedundantCalls`](super::FindingKind::RedundantCalls). Times are microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RedundantFacts {
    /// Calls that repeat an earlier one of their request.
    pub repeats: u64,
    /// Those of them that the span makes that made the earlier one.
    pub by_same_caller: u64,
    /// Mean time on the critical path that each repeat costs.
    pub cost_us: f64,
}

/// The facts of [`FindingKind::PoolWaits`](super::FindingKind::PoolWaits). Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolWaitsFacts {
    /// The service that is called, or the peer that tags name, or the operation.
    pub callee: String,
    /// Calls of one process that run at once at most.
    pub at_once: u64,
    /// Processes of the caller that have this limit.
    pub processes: u64,
    /// Calls of these processes.
    pub calls: u64,
    /// Those of them that wait.
    pub waiting: u64,
    /// Mean time that these wait before they begin.
    pub mean_us: f64,
}

/// The facts of [`FindingKind::Timeout`](super::FindingKind::Timeout). Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeoutFacts {
    /// The duration.
    pub duration_us: f64,
    /// Median duration of all calls.
    pub p50_us: f64,
    /// Whether it is a round number.
    pub is_round: bool,
    /// Whether that is the longest stretch in which none of their own calls runs, not all of a call.
    pub is_stretch: bool,
    /// Long calls for which the caller stopped waiting, so that they are cut at its end.
    pub stopped: u64,
}

/// The facts of [`FindingKind::Retries`](super::FindingKind::Retries). Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetriesFacts {
    /// Calls made again.
    pub calls: u64,
    /// Time from the start of a failed call to the start of the next, mean per repeated call.
    pub cost_us: f64,
}

/// The facts of [`FindingKind::Errors`](super::FindingKind::Errors). Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorsFacts {
    /// Requests with an error anywhere.
    pub requests: u64,
    /// How many times as long as others of their type they take; `None` if there are no others.
    pub ratio: Option<f64>,
    /// How much less all latency would be without the spans in error, 0 to 1; `None` while that is not known.
    pub saved: Option<f64>,
}

/// The facts of [`FindingKind::Who`](super::FindingKind::Who). Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhoFacts {
    /// The request type.
    pub root: RequestType,
    /// How many times as long requests with it take, as those with other values.
    pub ratio: f64,
    /// The 95 % interval of the ratio.
    pub ratio_interval: Interval,
    /// Mean latency with and without it.
    pub means_us: (f64, f64),
    /// A second tag that it needs to be slow, and what part of the tail both explain; `None` while that is not known, and
    /// where there is none.
    pub only_with: Option<(FindingTag, f64)>,
    /// What takes longer with it; `None` while that is not known, and where no service explains it.
    pub longer: Option<TakesLonger>,
}

/// The facts of [`FindingKind::SinceWhen`](super::FindingKind::SinceWhen). Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SinceWhenFacts {
    /// The first start after the change, in microseconds since the epoch.
    pub from_us: u64,
    /// Median latency before and after.
    pub p50_us: (f64, f64),
    /// Requests before and after.
    pub requests: (u64, u64),
    /// What takes longer since then; `None` while that is not known, and where no service explains it.
    pub longer: Option<TakesLonger>,
    /// The version, flag or environment of a service that is new at about that time; `None` while that is not known, and if there is
    /// none.
    pub release: Option<DeploymentFirst>,
}

/// The facts of [`FindingKind::ReadWithCare`](super::FindingKind::ReadWithCare). Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadWithCareFacts {
    /// Spans whose parent is missing.
    pub orphans: u64,
    /// Spans left out since they lie outside their parent.
    pub dropped: u64,
    /// Spans cut to their parent.
    pub clipped: u64,
    /// Spans in all.
    pub spans: u64,
    /// Traces of which every root lacks its parent, and traces in all.
    pub rootless: (u64, u64),
    /// Spans whose clock disagrees with that of their caller although clocks were set, between which two processes most
    /// of them are, and how many these are.
    pub skew: Option<(u64, [String; 2], u64)>,
}

/// What the parts of a service cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostFacts {
    /// The service with its parts.
    pub cost: ServiceCost,
    /// Mean latency in microseconds.
    pub latency_us: f64,
    /// Whether spans say their kind: else what calls wait may be work of the caller.
    pub is_certain: bool,
    /// Endpoints of the service that have own work on the critical path.
    pub endpoints: u64,
    /// The endpoint with most of the own work, and its share of it.
    pub largest: Option<(Endpoint, f64)>,
    /// What half of the self time of that endpoint would save; `None` while that is not known.
    pub halved: Option<Halved>,
    /// What calls of that endpoint run beside, by when that begins.
    pub beside: Vec<BesideCall>,
    /// Where that endpoint is not instrumented too: between which of its calls it is longest alone.
    pub gap: Option<Gap>,
    /// What it takes more in a slow tail, where that is a finding of its own.
    pub tail: Option<CostInTail>,
}

impl CostFacts {
    /// Returns how sure the cost is: certain if at least half of the mean of its part that leads is beyond chance, weak if
    /// nothing is, or if it is less than a twentieth of the latency.
    pub fn certainty(&self) -> Certainty {
        let Some(part) = self.cost.parts.first() else { return Certainty::Weak };
        if part.interval.low <= 0.0 || self.share(part.mean_us) < WEAK {
            Certainty::Weak
        } else if part.interval.low >= part.mean_us / 2.0 {
            Certainty::Certain
        } else {
            Certainty::Likely
        }
    }

    /// Returns the share of all latency that a time per request is, 0 to 1.
    pub fn share(&self, us: f64) -> f64 {
        us / self.latency_us.max(f64::MIN_POSITIVE)
    }
}

/// A slow tail that has its time where all requests have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostInTail {
    /// The endpoint in which the tail spends most more.
    pub at: Endpoint,
    /// The slow requests.
    pub n: u64,
    /// Requests of their type.
    pub of: u64,
    /// The facts of the tail.
    pub facts: SlowTailFacts,
}

/// Calls that run beside others of the same caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BesideCall {
    /// The endpoint of the calls.
    pub endpoint: Endpoint,
    /// Whether they begin when those named before them have ended, on average.
    pub is_after: bool,
}

/// The longest stretch of spans in which none of their calls runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The calls before and after it; `None`: start or end of the span.
    pub between: [Option<Endpoint>; 2],
    /// How long it is, on average, in microseconds.
    pub mean_us: u64,
    /// Of how many spans it is the longest.
    pub spans: u64,
}

/// What the number of calls grows with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrowsWith {
    /// The call right before them.
    pub endpoint: Endpoint,
    /// The tag of that call; `None`: its duration.
    pub tag: Option<String>,
    /// Pearson's correlation.
    pub correlation: f64,
}

/// Calls of one endpoint by another of which the number grows with something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrowingCalls {
    /// The endpoint that calls.
    pub caller: Endpoint,
    /// The endpoint that is called.
    pub callee: Endpoint,
    /// What their number grows with.
    pub with: GrowsWith,
}

/// What explains that some requests of a type are slower than others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TakesLonger {
    /// The service.
    pub service: String,
    /// The part of the service.
    pub part: ServicePart,
    /// The only service on the other side of the calls, if they are calls and there is one.
    pub other: Option<String>,
    /// How much longer it takes, in microseconds per slower request.
    pub excess_us: f64,
}

impl TakesLonger {
    /// Returns whether it is a part of the service of a subject, or the same waits seen from the other side.
    pub(super) fn is_of(&self, subject: &Subject) -> bool {
        let waits = [ServicePart::In, ServicePart::Out];
        let is_other = || self.other.as_ref() == Some(&subject.service) && self.part != subject.part;
        self.service == subject.service
            || waits.contains(&self.part) && waits.contains(&subject.part) && is_other()
    }
}

/// A stretch of time in which slow requests start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Burst {
    /// Its first microsecond since the epoch.
    pub from_us: u64,
    /// End in microseconds since the epoch, exclusive.
    pub to_us: u64,
    /// Slow requests that start in it.
    pub slow: u64,
    /// All requests that start in it.
    pub requests: u64,
}
