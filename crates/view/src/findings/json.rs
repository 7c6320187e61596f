//! Findings: what is slow, where, why and for whom.

use crate::findings::words::sentence;
use crate::json::blamed::{Blamed, Since, since};
use crate::json::parts::{Text, ends, percent, pretty, public_json};
use crate::say::sentence::Part;
use pathlight_base::statistics::Percentiles;
use pathlight_engine::findings::{
    Burst, Finding as Found, FindingFacts, FindingKind, FindingPlace, FindingsReport, PoolWaitsFacts,
    TagsReport, TimeBin,
};
use pathlight_engine::queues::QueueExample;
use pathlight_engine::requests::{PercentileRange, RequestRef};
use pathlight_engine::verdict::HitRequests;
use pathlight_engine::verdict::one_set::{PartCost, ServiceTime};

public_json! {
    /// Findings about slow requests: where, why and for whom they are slow, best first.
    Findings<'a>(report: &'a FindingsReport, tags: &'a TagsReport, range: PercentileRange) {
        /// Number of requests in the percentile range.
        requests: u64 = report.facts.requests,
        /// The percentile range as `[from, to]`, in percent.
        band: [f64; 2] = percent(Some(range)),
        /// Latencies of the requests.
        latency_us: Percentiles = report.facts.latency_us,
        /// At most ten findings; empty if nothing stands out.
        findings: Vec<Finding<'a>> = report.findings.iter().map(|finding| Finding::of(report, finding)).collect(),
        /// The time of each service on critical paths, by name; over all services it sums to the mean latency.
        services: &'a [ServiceTime] = &report.services,
        /// Differences that were tested.
        tested: u64 = report.tested,
        /// Findings that hold too, but are not among the ten that are listed.
        left_out: u64 = report.left_out,
        /// Latency over time, in at most 60 bins of equal length.
        over_time: &'a [TimeBin] = &report.over_time,
        /// The same of the baseline; empty without one.
        over_time_before: &'a [TimeBin] = &report.over_time_before,
        /// The tags that tell slow requests from the others.
        tags: &'a TagsReport = tags,
    }
}

public_json! {
    /// One finding.
    Finding<'a>(report: &'a FindingsReport, finding: &'a Found) {
        /// The kind of finding.
        kind: FindingKind = finding.kind(),
        /// The finding in words.
        text: String = sentence(finding).to_text(),
        /// The same, with names and numbers apart.
        parts: Vec<Part> = sentence(finding).parts,
        /// Cost per request, in microseconds on average; 0 where time is not what it is about.
        stake_us: f64 = finding.stake_us,
        /// The 95 % interval of the stake as `[low, high]`.
        interval: Option<[f64; 2]> = finding.interval.map(ends),
        /// Number of requests, calls or spans it is about.
        n: u64 = finding.n,
        /// Number of them in all.
        of: u64 = finding.of,
        /// The place that the finding names.
        place: Place<'a> = Place::of(&finding.place),
        /// Of a hot spot, of waiting, and of what changed: the part of a service that it blames; `null` for other kinds, and if no
        /// service is certain.
        blamed: Option<Blamed<'a>> = Blamed::of_finding(report, finding),
        /// Of what is so since some time: since when; `null` for other kinds.
        since: Option<Since<'a>> = since(finding),
        /// Of bursts: the stretches of time, by time; else empty.
        bursts: &'a [Burst] = match &finding.facts {
            FindingFacts::Bursts(facts) => &facts.bursts,
            _ => &[],
        },
        /// Of a hot spot and of waiting: the parts of the service that it is about, the one that costs most first; else empty.
        costs: Vec<Cost> = match &finding.facts {
            FindingFacts::Cost(facts) => facts.cost.parts.iter().map(Cost::of).collect(),
            _ => Vec::new(),
        },
        /// Of a hot spot, of waiting and of what changed: the requests in which it takes longer than usual; `null` for other kinds.
        hit: Option<HitRequests> = finding.hit,
        /// Of the same kinds: the latency of the requests if it took what is usual, by the flows of all traces; `null` for other kinds.
        mended_us: Option<Percentiles> = finding.mended.map(|mended| mended.after_us),
        /// Probability that it is chance; `null` for what is only described.
        p: Option<f64> = finding.p,
        /// The slowest request that it is about.
        evidence: Option<&'a RequestRef> = finding.example.as_ref(),
        /// Of a queue, the message that waited longest; `null` for other kinds.
        message: Option<&'a QueueExample> = match &finding.facts {
            FindingFacts::Queue(facts) => Some(&facts.longest),
            _ => None,
        },
        /// Of waiting before a call: whom is called, how many calls run at once, and how many wait; `null` for other kinds.
        pool: Option<PoolWait<'a>> = match &finding.facts {
            FindingFacts::PoolWaits(facts) => Some(PoolWait::of(facts)),
            _ => None,
        },
        /// Other kinds of findings that name the same place.
        also: &'a [FindingKind] = &finding.also,
        /// Whether it is as much so in the baseline.
        as_before: bool = finding.is_as_before,
    }
}

public_json! {
    /// Calls that wait before they begin, of the service that the finding names.
    PoolWait<'a>(facts: &'a PoolWaitsFacts) {
        /// The service that is called, or the peer that tags name, or the operation.
        callee: &'a str = &facts.callee,
        /// Calls of one process that run at once at most.
        at_once: u64 = facts.at_once,
        /// Processes that have this limit.
        processes: u64 = facts.processes,
        /// Calls of all these processes.
        calls: u64 = facts.calls,
        /// Those of them that wait.
        waiting: u64 = facts.waiting,
        /// Mean time that these wait, in microseconds.
        mean_us: f64 = facts.mean_us,
    }
}

public_json! {
    /// What a part of a service takes of each request.
    Cost(part: &PartCost) {
        /// Its own work (`own`), waiting for it (`in`), or its calls of others (`out`).
        part: &'static str = part.part.key(),
        /// Mean time per request in microseconds.
        mean_us: f64 = part.mean_us,
        /// The 95 % interval of the mean as `[low, high]`.
        interval: [f64; 2] = ends(part.interval),
        /// What it would surely save, microseconds per request: own work halved, or the service's share of waits gone. Findings
        /// are ordered by this.
        cost_us: f64 = part.cost_us,
    }
}

public_json! {
    /// The names in a finding; those that it has not are `null`.
    Place<'a>(place: &'a FindingPlace) {
        /// Service name.
        service: Option<&'a str> = match place {
            FindingPlace::Endpoint(endpoint) => Some(&endpoint.service),
            FindingPlace::RequestType(kind) => Some(&kind.root.service),
            FindingPlace::Service(service) => Some(service),
            FindingPlace::Tag { .. } | FindingPlace::Data => None,
        },
        /// Operation name.
        operation: Option<&'a str> = match place {
            FindingPlace::Endpoint(endpoint) => Some(&endpoint.operation),
            FindingPlace::RequestType(kind) => Some(&kind.root.operation),
            _ => None,
        },
        /// Of a request type that is a part of a root endpoint's requests: which.
        part: Option<&'a str> = match place {
            FindingPlace::RequestType(kind) => Some(kind.part.as_str()).filter(|part| !part.is_empty()),
            _ => None,
        },
        /// Tag as `[key, value]`.
        tag: Option<[&'a str; 2]> = match place {
            FindingPlace::Tag { key, value } => Some([key, value]),
            _ => None,
        },
    }
}

/// Returns the JSON of `findings`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn findings(report: &FindingsReport, tags: &TagsReport, range: PercentileRange) -> Text {
    pretty(&Findings::of(report, tags, range))
}
