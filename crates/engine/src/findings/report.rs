//! The findings as plain data, from which crate `view` makes sentences.

use super::facts::{
    FindingFacts, GrowingCalls, SharedTag, SinceWhenFacts, SlowTailFacts, TakesLonger, WhoFacts,
};
use super::{FindingTag, TagGroup};
use crate::flow::MendedLatency;
use crate::requests::{RangeFacts, RequestRef, RequestType, TypeTime};
use crate::verdict::one_set::ServiceTime;
use crate::verdict::{Certainty, HitRequests, ServicePart, Subject};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::Interval;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};

/// What costs this many times what it did before is new.
const TWICE: f64 = 2.0;

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// What explains that a set differs from its baseline.
    Changed,
    /// The slowest requests of a type spend their time in one place.
    SlowTail,
    /// Calls always run one after the other though nothing in the traces says that they must.
    OneAfterTheOther,
    /// Calls end at one and the same long duration.
    Timeout,
    /// A call is made again after an error.
    Retries,
    /// Calls repeat, within a request, what was asked before.
    RedundantCalls,
    /// Calls wait before they begin while as many others run as ever do at once.
    PoolWaits,
    /// Errors begin in one place.
    Errors,
    /// One version, zone, host or the like of a service is slower than its others, or calls that go from one to another are.
    SlowerPlace,
    /// Requests with a tag are slower than those with other values of it.
    Who,
    /// Requests of a type are slower or faster from some time on.
    SinceWhen,
    /// The own work of a service takes a large part of all latency.
    HotSpot,
    /// Waiting for a service, or calls out of it, take a large part of all latency.
    Waiting,
    /// An endpoint whose self time is worth making shorter.
    WorthMakingFaster,
    /// Requests are unlike those they are compared with.
    Abnormal,
    /// Slow requests start close together.
    Bursts,
    /// Most of that part is time in which nothing is recorded.
    NotInstrumented,
    /// Work goes on for long after requests have answered.
    WorkAfter,
    /// Much of what was recorded is work that no request waits for.
    OutsideRequests,
    /// The data itself is incomplete.
    ReadWithCare,
    /// Messages wait in a queue.
    Queue,
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
    /// Findings for which its service is the reason: since when requests are slower, and with which tag.
    pub explains: Vec<Finding>,
    /// Whether it is as much so in the requests they are compared with.
    pub is_as_before: bool,
    /// How many requests its subject hits; `None` while that is not known, and without a subject.
    pub hit: Option<HitRequests>,
    /// The latency if its subject took what is usual; `None` while that is not known, and without a subject.
    pub mended: Option<MendedLatency>,
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
            FindingFacts::SlowTail(_) => FindingKind::SlowTail,
            FindingFacts::Bursts(_) => FindingKind::Bursts,
            FindingFacts::Cost(facts) => match facts.cost.lead() {
                ServicePart::Own => FindingKind::HotSpot,
                ServicePart::In | ServicePart::Out => FindingKind::Waiting,
            },
            FindingFacts::WorthMakingFaster(_) => FindingKind::WorthMakingFaster,
            FindingFacts::Abnormal(_) => FindingKind::Abnormal,
            FindingFacts::NotInstrumented(_) => FindingKind::NotInstrumented,
            FindingFacts::OutsideRequests(_) => FindingKind::OutsideRequests,
            FindingFacts::WorkAfter(_) => FindingKind::WorkAfter,
            FindingFacts::OneAfterTheOther(_) => FindingKind::OneAfterTheOther,
            FindingFacts::Timeout(_) => FindingKind::Timeout,
            FindingFacts::Retries(_) => FindingKind::Retries,
            FindingFacts::RedundantCalls(_) => FindingKind::RedundantCalls,
            FindingFacts::PoolWaits(_) => FindingKind::PoolWaits,
            FindingFacts::Errors(_) => FindingKind::Errors,
            FindingFacts::SlowerPlace(_) => FindingKind::SlowerPlace,
            FindingFacts::Who(_) => FindingKind::Who,
            FindingFacts::SinceWhen(_) => FindingKind::SinceWhen,
            FindingFacts::ReadWithCare(_) => FindingKind::ReadWithCare,
            FindingFacts::Queue(_) => FindingKind::Queue,
        }
    }

    /// Returns the part of a service that it is about, if it is about one.
    pub fn subject(&self) -> Option<Subject> {
        match &self.facts {
            FindingFacts::Changed(report) => report.subject(),
            FindingFacts::Cost(facts) => {
                Some(Subject { service: facts.cost.service.clone(), part: facts.cost.lead() })
            }
            _ => None,
        }
    }

    /// Returns how sure it is; `None` unless it is about a part of a service.
    pub fn certainty(&self) -> Option<Certainty> {
        match &self.facts {
            FindingFacts::Changed(report) => report.culprit()?.certainty(),
            FindingFacts::Cost(facts) => Some(facts.certainty()),
            _ => None,
        }
    }

    /// Returns the slow tail that it is, or that has its time in the same place; with the endpoint.
    fn slow_tail(&self) -> Option<(&Endpoint, &SlowTailFacts)> {
        match (&self.facts, &self.place) {
            (FindingFacts::SlowTail(facts), FindingPlace::Endpoint(at)) => Some((at, facts)),
            (FindingFacts::Cost(cost), _) => cost.tail.as_ref().map(|tail| (&tail.at, &tail.facts)),
            _ => None,
        }
    }

    /// Returns what a slow tail costs in its own request type, per request of it.
    pub(super) fn own_us(&self) -> f64 {
        match &self.facts {
            FindingFacts::SlowTail(SlowTailFacts { excess_us, .. }) => excess_us * self.n as f64,
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

    /// Returns the service that takes longer in the requests it is about, where these are those since some time or with a
    /// tag, and that is known.
    pub fn reason(&self) -> Option<&TakesLonger> {
        match &self.facts {
            FindingFacts::SinceWhen(facts) => facts.longer.as_ref(),
            FindingFacts::Who(facts) => facts.longer.as_ref(),
            _ => None,
        }
    }

    /// Returns what is surely at stake, microseconds per request: what findings are ranked by. It is the lower end of the
    /// interval; of own work half of that, since nobody can do without it. Of several findings for one reason the greatest
    /// counts.
    pub fn least_us(&self) -> f64 {
        let least_us = match &self.facts {
            FindingFacts::Cost(facts) => facts.cost.cost_us(),
            _ => self.interval.map_or(self.stake_us, |interval| interval.low),
        };
        self.explains.iter().map(Finding::least_us).fold(least_us, f64::max)
    }

    /// Returns the findings that it explains, by kind: the one with most at stake, and the others.
    pub fn explained(&self) -> impl Iterator<Item = (&Finding, &[Finding])> {
        self.explains.chunk_by(|a, b| a.kind() == b.kind()).filter_map(<[Finding]>::split_first)
    }

    /// Makes another finding, of which its service is the reason, a fact of it.
    pub(super) fn explain(&mut self, other: Finding) {
        if !self.also.contains(&other.kind()) {
            self.also.push(other.kind());
        }
        self.is_as_before &= other.is_as_before;
        self.explains.push(other);
        self.explains.compact_sort_by_key(Finding::kind);
    }
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
    /// Those of them with a span in error.
    pub with_errors: u64,
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
    /// The time of each service, by name.
    pub services: Vec<ServiceTime>,
    /// The latency of the request types that hold most of it, most first.
    pub types: Vec<TypeTime>,
    /// Number of request types.
    pub all_types: u64,
    /// Differences that were tested.
    pub tested: u64,
    /// Findings that hold too, but are not among the ten that are reported.
    pub left_out: u64,
    /// Calls of which the number grows with something.
    pub growing: Vec<GrowingCalls>,
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
                (FindingFacts::Errors(_), _) => out.has_errors = true,
                (
                    FindingFacts::SinceWhen(SinceWhenFacts { from_us, .. }),
                    FindingPlace::RequestType(root),
                ) => {
                    out.changes.push((root.clone(), *from_us));
                }
                (FindingFacts::Who(WhoFacts { root, .. }), FindingPlace::Tag { key, value }) => {
                    out.tags.push((root.clone(), FindingTag { key: key.clone(), value: value.clone() }));
                }
                _ => {}
            }
        }
        out.subjects = self.findings.iter().filter_map(Finding::subject).collect();
        out
    }

    /// Returns the slow tails to ask more about.
    fn slow_tails(&self) -> Vec<FollowUpTail> {
        let follow_up = |finding: &Finding| {
            let (place, SlowTailFacts { root, latency_us, is_only_in_tail, tag, .. }) =
                finding.slow_tail()?;
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
    /// Request types that change: what changed then.
    pub changes: Vec<(RequestType, u64)>,
    /// Tags of request types: which other tag they need to be slow, and what takes longer with them.
    pub tags: Vec<(RequestType, FindingTag)>,
    /// Subjects: which requests they hit.
    pub subjects: Vec<Subject>,
}

/// A slow tail to ask more about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowUpTail {
    /// Its request type and its slow requests.
    pub group: TagGroup,
    /// The tag that they share, and how many of them have it.
    pub tag: Option<(FindingTag, u64)>,
}
