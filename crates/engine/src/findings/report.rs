//! The findings as plain data, from which crate `view` makes sentences.

use super::{FindingTag, TagGroup};
use crate::requests::{PercentileRange, RangeFacts, RequestRef, RequestType};
use crate::verdict::{ServicePart, ServicesReport};
use pathlight_base::statistics::Interval;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};

/// What costs this many times what it did before is new.
const TWICE: f64 = 2.0;

/// Findings of a kind of which more is found out: each takes passes of its own.
const MOST_FOLLOW_UPS: usize = 3;

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// What explains that a set differs from its baseline.
    Changed,
    /// The slowest requests of a type spend their time in one place.
    SlowTail,
    /// Calls wait for a service far longer than usual.
    Waiting,
    /// Many calls of one endpoint run one after the other.
    OneAfterTheOther,
    /// Calls end at one and the same long duration.
    Timeout,
    /// A call is made again after an error.
    Retries,
    /// Errors begin in one place.
    Errors,
    /// Requests with a tag are slower than those with other values of it.
    Who,
    /// Requests of a type are slower or faster from some time on.
    SinceWhen,
    /// An endpoint, or a service, has a large part of all latency.
    HotSpot,
    /// An endpoint whose self time is worth making shorter.
    WorthMakingFaster,
    /// Requests are unlike those they are compared with.
    Abnormal,
    /// Slow requests start close together.
    Bursts,
    /// Most of that part is time in which nothing is recorded.
    NotInstrumented,
    /// Much of what was recorded is work that no request waits for.
    OutsideRequests,
    /// The data itself is incomplete.
    ReadWithCare,
}

impl FindingKind {
    /// Returns whether a finding names a cause; the others describe where time goes or what the data lacks.
    pub fn is_causal(self) -> bool {
        self < FindingKind::HotSpot
    }
}

/// What a finding names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FindingPlace {
    /// An endpoint.
    Endpoint(Endpoint),
    /// A service.
    Service(String),
    /// The requests of a type.
    RequestType(RequestType),
    /// A tag with a value.
    Tag {
        /// Tag key.
        key: String,
        /// Tag value.
        value: String,
    },
    /// The data as a whole.
    Data,
}

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
    /// See [`FindingKind::Changed`].
    Changed(ServicesReport),
    /// See [`FindingKind::SlowTail`].
    SlowTail {
        /// The request type.
        root: RequestType,
        /// Least and greatest latency of the slow requests.
        latency_us: (u64, u64),
        /// Median latency of the type.
        p50_us: u64,
        /// Percentile ranges of the tail and of the faster half.
        ranges: (PercentileRange, PercentileRange),
        /// Whether the faster half never calls the place.
        is_only_in_tail: bool,
        /// How much more time on the path the slow requests spend in the place than the faster half, per request.
        excess_us: f64,
        /// The 95 % interval of it.
        excess_interval: Interval,
        /// Mean excess of latency of the slow requests.
        latency_excess_us: f64,
        /// Median latency of the tail.
        tail_p50_us: u64,
        /// Other request types of which the tail spends most more in the same place; the stake is that of all.
        other_types: u64,
        /// A tag that tells them from the others.
        tag: Option<SharedTag>,
        /// The 99th percentile of the type as it is, and as it would be without the calls of the place; `None` while that
        /// is not known, and where the faster half has such calls too.
        p99_us: Option<(f64, f64)>,
    },
    /// See [`FindingKind::Waiting`].
    Waiting {
        /// The service that is waited for.
        callee: String,
        /// Mean of the long waits per request.
        wait_us: f64,
        /// Median wait of all requests that have such calls.
        p50_us: f64,
        /// Whether spans say their kind: else it may be work of the caller.
        is_certain: bool,
    },
    /// See [`FindingKind::Bursts`].
    Bursts {
        /// The stretches of time, by time.
        bursts: Vec<Burst>,
        /// Requests in all.
        requests: u64,
    },
    /// See [`FindingKind::HotSpot`].
    HotSpot {
        /// Share of all latency, 0 to 1.
        share: f64,
        /// Time per request.
        mean_us: f64,
        /// Mean latency.
        latency_us: f64,
        /// Whether all this is of the requests outside the tails of their types, since the tails have most of the latency.
        is_without_tails: bool,
        /// Endpoints of the service on the critical path; 1 for an endpoint.
        endpoints: u64,
        /// Of a service the endpoint with most time, and its share of all latency.
        largest: Option<(Endpoint, f64)>,
        /// What half of its self time would save; `None` while that is not known, and of a service.
        halved: Option<Halved>,
        /// What its calls run beside, by when that begins.
        beside: Vec<BesideCall>,
        /// Where it is not instrumented too: between which of its calls it is longest alone.
        gap: Option<Gap>,
    },
    /// See [`FindingKind::WorthMakingFaster`].
    WorthMakingFaster(Halved),
    /// See [`FindingKind::Abnormal`].
    Abnormal {
        /// How many would be abnormal by chance.
        by_chance: f64,
        /// Requests that were learned from.
        trained: u64,
        /// Whether there are so many that the load or the release has changed.
        has_drifted: bool,
        /// The most frequent first reasons, each with its requests.
        reasons: Vec<(u64, String)>,
    },
    /// See [`FindingKind::NotInstrumented`].
    NotInstrumented {
        /// Share of all latency.
        share: f64,
        /// Between which of its calls it is longest alone.
        gap: Option<Gap>,
    },
    /// See [`FindingKind::OutsideRequests`]; its place is the endpoint at which most of it begins.
    OutsideRequests {
        /// Share of the span time of the traces, 0 to 1.
        share: f64,
        /// Duration of these spans.
        us: u128,
        /// Missing spans below which it hangs; `None`: it is asynchronous.
        missing: Option<u64>,
        /// Spans of the endpoint at which it begins.
        tops: u64,
        /// Mean duration of these.
        mean_us: f64,
    },
    /// See [`FindingKind::OneAfterTheOther`].
    OneAfterTheOther {
        /// The endpoint that calls.
        caller: Endpoint,
        /// Mean number of calls one after the other, where they are at least four.
        calls: f64,
        /// What calling side by side would save at most, per request that has them.
        saving_us: f64,
        /// The 95th percentile of that.
        saving_p95_us: f64,
        /// How far the flow of the caller is off on held-out requests: the median of its error, 0 to 1; `None` while that is
        /// not known.
        model_error: Option<f64>,
        /// Least and greatest number of calls of those callers that make several.
        numbers: (u64, u64),
        /// What the number of calls grows with.
        grows_with: Option<GrowsWith>,
    },
    /// See [`FindingKind::Timeout`].
    Timeout {
        /// The duration.
        duration_us: f64,
        /// Median duration of all calls.
        p50_us: f64,
        /// Whether it is a round number.
        is_round: bool,
        /// Whether that is the longest stretch in which none of their own calls runs, not all of a call.
        is_stretch: bool,
        /// Long calls for which the caller stopped waiting, so that they are cut at its end.
        stopped: u64,
    },
    /// See [`FindingKind::Retries`].
    Retries {
        /// Calls made again.
        calls: u64,
        /// Time from the start of a failed call to the start of the next, mean per repeated call.
        cost_us: f64,
    },
    /// See [`FindingKind::Errors`].
    Errors {
        /// Requests with an error anywhere.
        requests: u64,
        /// How many times as long as others of their type they take; `None` if there are no others.
        ratio: Option<f64>,
        /// How much less all latency would be without the spans in error, 0 to 1; `None` while that is not known.
        saved: Option<f64>,
    },
    /// See [`FindingKind::Who`].
    Who {
        /// The request type.
        root: RequestType,
        /// How many times as long requests with it take, as those with other values.
        ratio: f64,
        /// The 95 % interval of the ratio.
        ratio_interval: Interval,
        /// Mean latency with and without it.
        means_us: (f64, f64),
        /// A second tag that it needs to be slow, and what part of the tail both explain; `None` while that is not known, and
        /// where there is none.
        only_with: Option<(FindingTag, f64)>,
    },
    /// See [`FindingKind::SinceWhen`].
    SinceWhen {
        /// The first start after the change, in microseconds since the epoch.
        from_us: u64,
        /// Median latency before and after.
        p50_us: (f64, f64),
        /// Requests before and after.
        requests: (u64, u64),
        /// What changed then; `None` while that is not known, and where no service explains it.
        change: Option<ChangedThen>,
    },
    /// See [`FindingKind::ReadWithCare`].
    ReadWithCare {
        /// Spans whose parent is missing.
        orphans: u64,
        /// Spans left out since they lie outside their parent.
        dropped: u64,
        /// Spans cut to their parent.
        clipped: u64,
        /// Spans in all.
        spans: u64,
        /// Traces of which every root lacks its parent, and traces in all.
        rootless: (u64, u64),
        /// Spans whose clock disagrees with that of their caller although clocks were set, between which two processes most
        /// of them are, and how many these are.
        skew: Option<(u64, [String; 2], u64)>,
    },
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

/// What explains that requests are slower from some time on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangedThen {
    /// The service.
    pub service: String,
    /// The part of the service.
    pub part: ServicePart,
    /// How much longer it takes, in microseconds per request of after.
    pub excess_us: f64,
}

/// One answer: what, where, what it costs, how sure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The place that the finding names.
    pub place: FindingPlace,
    /// What it costs per request of the selection, in microseconds on average; 0 where time is not what it is about.
    pub stake_us: f64,
    /// The 95 % interval of the stake; `None` if there is none.
    pub interval: Option<Interval>,
    /// How many it is about: requests, or calls for a timeout.
    pub n: u64,
    /// How many of them there are in all.
    pub of: u64,
    /// The measured facts, by kind.
    pub facts: FindingFacts,
    /// How likely this is by chance; `None` for what is only described.
    pub p: Option<f64>,
    /// The slowest request it is about.
    pub example: Option<RequestRef>,
    /// Other kinds that name the same place.
    pub also: Vec<FindingKind>,
    /// Whether it is as much so in the requests they are compared with.
    pub is_as_before: bool,
    /// Some requests by start, for a picture; of kinds that are about some requests of others by latency or start.
    pub points: Vec<FindingPoint>,
}

/// A request as a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingPoint {
    /// Its start in microseconds since the epoch.
    pub start_us: u64,
    /// Latency of the request in microseconds.
    pub latency_us: u64,
    /// Whether the finding is about it.
    pub is_meant: bool,
}

impl Finding {
    /// Returns its kind.
    pub fn kind(&self) -> FindingKind {
        match &self.facts {
            FindingFacts::Changed(_) => FindingKind::Changed,
            FindingFacts::SlowTail { .. } => FindingKind::SlowTail,
            FindingFacts::Waiting { .. } => FindingKind::Waiting,
            FindingFacts::Bursts { .. } => FindingKind::Bursts,
            FindingFacts::HotSpot { .. } => FindingKind::HotSpot,
            FindingFacts::WorthMakingFaster(_) => FindingKind::WorthMakingFaster,
            FindingFacts::Abnormal { .. } => FindingKind::Abnormal,
            FindingFacts::NotInstrumented { .. } => FindingKind::NotInstrumented,
            FindingFacts::OutsideRequests { .. } => FindingKind::OutsideRequests,
            FindingFacts::OneAfterTheOther { .. } => FindingKind::OneAfterTheOther,
            FindingFacts::Timeout { .. } => FindingKind::Timeout,
            FindingFacts::Retries { .. } => FindingKind::Retries,
            FindingFacts::Errors { .. } => FindingKind::Errors,
            FindingFacts::Who { .. } => FindingKind::Who,
            FindingFacts::SinceWhen { .. } => FindingKind::SinceWhen,
            FindingFacts::ReadWithCare { .. } => FindingKind::ReadWithCare,
        }
    }

    /// Returns what a slow tail costs in its own request type, per request of it.
    pub(super) fn own_us(&self) -> f64 {
        match &self.facts {
            FindingFacts::SlowTail { excess_us, .. } => excess_us * self.n as f64,
            _ => 0.0,
        }
    }

    /// Returns whether it costs, or where time is not what it is about, happens, twice as much as another, which is of
    /// other requests; of another kind or place it does.
    pub(super) fn is_new_to(&self, other: &Finding) -> bool {
        let share = |finding: &Finding| finding.n as f64 / finding.of.max(1) as f64;
        let is_same = self.kind() == other.kind() && self.place == other.place;
        let more = match self.stake_us > 0.0 {
            true => self.stake_us > TWICE * other.stake_us,
            false => share(self) > TWICE * share(other),
        };
        !is_same || more
    }

    /// Returns the lower end of the stake's interval: what findings are ranked by.
    pub fn least_us(&self) -> f64 {
        self.interval.map_or(self.stake_us, |interval| interval.low)
    }
}

/// A stretch of time in which slow requests start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// Requests that started in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeBin {
    /// Its first microsecond since the epoch.
    pub from_us: u64,
    /// End in microseconds since the epoch, exclusive.
    pub to_us: u64,
    /// Requests that started in it.
    pub requests: u64,
    /// Median latency of these requests in microseconds.
    pub p50_us: f64,
    /// Greatest latency of these requests in microseconds.
    pub max_us: u64,
}

/// The findings about a selection, best first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindingsReport {
    /// Requests and latencies of the percentile range.
    pub facts: RangeFacts,
    /// At most ten.
    pub findings: Vec<Finding>,
    /// Differences that were tested.
    pub tested: u64,
    /// Findings that hold too, but are not among the ten that are told.
    pub left_out: u64,
    /// Latency over time.
    pub over_time: Vec<TimeBin>,
    /// The same of the requests they are compared with.
    pub over_time_before: Vec<TimeBin>,
}

impl FindingsReport {
    /// Returns what [`LateFindings`](super::LateFindings) questions these findings raise.
    pub fn follow_ups(&self) -> FollowUps {
        let mut out = FollowUps { tails: self.slow_tails(), ..FollowUps::default() };
        for finding in &self.findings {
            match (&finding.facts, &finding.place) {
                (FindingFacts::Errors { .. }, _) => out.has_errors = true,
                (FindingFacts::OneAfterTheOther { caller, .. }, _) => out.callers.push(caller.clone()),
                (FindingFacts::SinceWhen { from_us, .. }, FindingPlace::RequestType(root)) => {
                    out.changes.push((root.clone(), *from_us));
                }
                (FindingFacts::Who { root, .. }, FindingPlace::Tag { key, value }) => {
                    out.tags.push((root.clone(), FindingTag { key: key.clone(), value: value.clone() }));
                }
                _ => {}
            }
        }
        out.callers.dedup();
        out.callers.truncate(MOST_FOLLOW_UPS);
        out.changes.truncate(MOST_FOLLOW_UPS);
        out.tags.truncate(MOST_FOLLOW_UPS);
        out
    }

    /// Returns the slow tails to ask more about.
    fn slow_tails(&self) -> Vec<FollowUpTail> {
        let follow_up = |finding: &Finding| {
            let (
                FindingFacts::SlowTail { root, latency_us, is_only_in_tail, tag, .. },
                FindingPlace::Endpoint(place),
            ) = (&finding.facts, &finding.place)
            else {
                return None;
            };
            let with = is_only_in_tail.then(|| place.clone());
            let group = TagGroup { root: root.clone(), slow_from_us: Some(latency_us.0), with };
            let value =
                |tag: &SharedTag| (FindingTag { key: tag.key.clone(), value: tag.value.clone() }, tag.slow);
            let tag = tag.as_ref().map(value);
            Some(FollowUpTail { group, tag })
        };
        self.findings.iter().filter_map(follow_up).collect()
    }
}

/// What the query for late findings is about: it takes longer than the findings that raise it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowUps {
    /// Slow tails.
    pub tails: Vec<FollowUpTail>,
    /// Whether to find out what errors cost.
    pub has_errors: bool,
    /// Callers: how far their flow is off.
    pub callers: Vec<Endpoint>,
    /// Request types that change: what changed then.
    pub changes: Vec<(RequestType, u64)>,
    /// Tags of request types: which other tag they need to be slow.
    pub tags: Vec<(RequestType, FindingTag)>,
}

/// A slow tail to ask more about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowUpTail {
    /// Its request type and its slow requests.
    pub group: TagGroup,
    /// The tag that they share, and how many of them have it.
    pub tag: Option<(FindingTag, u64)>,
}
