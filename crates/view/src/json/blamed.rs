//! The part of a service that is to blame, as `findings` and `compare` have it.

use super::parts::{ends, public_json};
use crate::compare::services_json::Place;
use pathlight_base::statistics::Percentiles;
use pathlight_engine::findings::{
    Finding, FindingFacts, FindingPlace, FindingsReport, SinceWhenFacts, WhoFacts,
};
use pathlight_engine::requests::{RequestRef, RequestType};
use pathlight_engine::verdict::{Certainty, Excess, HitRequests, ServicePart, ServicesReport};

/// The part of a service that is to blame. `findings` and `compare` have the same object; what `compare` does not find out is
/// `null` there.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Blamed<'a> {
    /// Service name.
    pub service: &'a str,
    /// Its own work (`own`), waiting for it (`in`), or its calls of others (`out`).
    pub part: &'static str,
    /// How sure it is: `certain`, `likely`, or `weak` (small, or maybe chance).
    pub certainty: Option<&'static str>,
    /// Mean time per request, in microseconds; of two sets what it takes longer.
    pub time_us: f64,
    /// What chance, and of two sets drift, leave of that, as `[low, high]`.
    pub interval: Option<[f64; 2]>,
    /// What verdicts are ordered by, microseconds per request: what is surely at stake.
    pub score_us: f64,
    /// Share of the mean latency; of two sets of what that grew, `null` if it did not.
    pub share: Option<f64>,
    /// Requests that use the service.
    pub n: u64,
    /// Requests in all.
    pub of: u64,
    /// Requests in which it takes longer than usual.
    pub hit: Option<HitRequests>,
    /// Of waiting: the services that wait, the one with most first.
    pub callers: Vec<&'a str>,
    /// Since when the service takes longer, in whichever part, where requests of a type are slower since then for this reason.
    pub since: Option<Since<'a>>,
    /// With which tag the service takes longer, in whichever part, where requests with that tag are slower for this reason.
    pub with_tag: Option<WithTag<'a>>,
    /// The latency of the requests if it took what is usual, by the flows of all traces.
    pub mended_us: Option<Percentiles>,
    /// Of two sets: where in it, what explains most first; at most 10.
    pub places: Vec<Place<'a>>,
    /// The slowest request that it is about.
    pub evidence: Option<&'a RequestRef>,
}

impl<'a> Blamed<'a> {
    /// Returns the verdict of two sides; `None` if no service surely explains that B is slower.
    pub fn of_change(report: &'a ServicesReport) -> Option<Blamed<'a>> {
        let row = report.culprit()?;
        let lead = row.lead.as_ref()?;
        let Excess { excess_us, uncertainty_us } = lead.excess;
        let grew_us = report.mean_us[1] - report.mean_us[0];
        let of_lead = row.places.iter().filter(|place| place.part == lead.part);
        let mut callers: Vec<&str> = Vec::new();
        for caller in
            of_lead.clone().filter(|_| lead.part == ServicePart::In).filter_map(|of| of.other.as_deref())
        {
            if !callers.contains(&caller) {
                callers.push(caller);
            }
        }
        Some(Blamed {
            service: &row.service,
            part: lead.part.key(),
            certainty: row.certainty().map(Certainty::key),
            time_us: excess_us,
            interval: Some([excess_us - uncertainty_us, excess_us + uncertainty_us]),
            score_us: row.score_us,
            share: (grew_us > 0.0).then(|| excess_us / grew_us),
            n: row.requests,
            of: report.requests[1],
            hit: None,
            callers,
            since: None,
            with_tag: None,
            mended_us: None,
            places: row.places.iter().map(Place::of).collect(),
            evidence: of_lead
                .filter_map(|place| place.exemplar.as_ref())
                .map(|longest| &longest.request)
                .next(),
        })
    }

    /// Returns the verdict of a finding; `None` if it blames no part of a service.
    pub(crate) fn of_finding(report: &'a FindingsReport, finding: &'a Finding) -> Option<Blamed<'a>> {
        finding.subject()?;
        let mut verdict = match &finding.facts {
            FindingFacts::Changed(services) => Blamed::of_change(services)?,
            FindingFacts::Cost(facts) => {
                let lead = facts.cost.parts.first()?;
                let callers = facts.cost.others.iter().filter(|_| lead.part == ServicePart::In);
                Blamed {
                    service: &facts.cost.service,
                    part: lead.part.key(),
                    certainty: finding.certainty().map(Certainty::key),
                    time_us: lead.mean_us,
                    interval: Some(ends(lead.interval)),
                    score_us: facts.cost.cost_us(),
                    share: Some(facts.share(lead.mean_us)),
                    n: facts.cost.requests,
                    of: report.facts.requests,
                    callers: callers.map(|(caller, _)| caller.as_str()).collect(),
                    places: Vec::new(),
                    hit: None,
                    since: None,
                    with_tag: None,
                    mended_us: None,
                    evidence: None,
                }
            }
            _ => return None,
        };
        verdict.hit = finding.hit;
        verdict.mended_us = finding.mended.map(|mended| mended.after_us);
        verdict.since = finding.explains.iter().find_map(since);
        verdict.with_tag = finding.explains.iter().find_map(WithTag::of_finding);
        verdict.evidence = finding.example.as_ref().or(verdict.evidence);
        Some(verdict)
    }
}

public_json! {
    /// Since when requests of a type are slower or faster.
    Since<'a>(root: &'a RequestType, facts: &'a SinceWhenFacts) {
        /// Service name of the root endpoint.
        service: &'a str = &root.root.service,
        /// Operation name of the root endpoint.
        operation: &'a str = &root.root.operation,
        /// The first start after the change, microseconds since the epoch.
        from_us: u64 = facts.from_us,
        /// Median latency before and after, in microseconds.
        p50_us: [f64; 2] = facts.p50_us.into(),
        /// Requests before and after.
        requests: [u64; 2] = facts.requests.into(),
    }
}

/// Returns since when requests are slower, of a finding that says so.
pub(crate) fn since(finding: &Finding) -> Option<Since<'_>> {
    match (&finding.facts, &finding.place) {
        (FindingFacts::SinceWhen(facts), FindingPlace::RequestType(root)) => Some(Since::of(root, facts)),
        _ => None,
    }
}

public_json! {
    /// The tag with which requests of a type are slower.
    WithTag<'a>(tag: [&'a str; 2], facts: &'a WhoFacts) {
        /// Tag key and value.
        tag: [&'a str; 2] = tag,
        /// Service name of the root endpoint.
        service: &'a str = &facts.root.root.service,
        /// Operation name of the root endpoint.
        operation: &'a str = &facts.root.root.operation,
        /// How many times as long requests with it take, as those with other values.
        ratio: f64 = facts.ratio,
        /// The 95 % interval of the ratio as `[low, high]`.
        ratio_interval: [f64; 2] = ends(facts.ratio_interval),
    }
}

impl<'a> WithTag<'a> {
    fn of_finding(finding: &'a Finding) -> Option<WithTag<'a>> {
        match (&finding.facts, &finding.place) {
            (FindingFacts::Who(facts), FindingPlace::Tag { key, value }) => {
                Some(WithTag::of([key.as_str(), value.as_str()], facts))
            }
            _ => None,
        }
    }
}
