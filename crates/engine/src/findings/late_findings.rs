//! Findings that take longer than the others and join them later: what would help, and which requests are unlike
//! those of a baseline.

use super::candidates::untested_finding;
use super::rank::{MOST, WORTH_SHARE, sort_findings};
use super::{
    AbnormalFacts, ErrorsFacts, Finding, FindingFacts, FindingKind, FindingPlace, FindingTag, FindingsReport,
    GrowingCalls, Halved, OneAfterTheOtherFacts, PairsPart, SinceWhenFacts, SlowTailFacts, TagsReport,
    TakesLonger, WhoFacts,
};
use crate::anomalies::AnomalyReport;
use crate::deployments::{DeploymentFirst, DeploymentsReport, SlowerPlace};
use crate::errors::ErrorsReport;
use crate::flow::{EvaluationReport, MendedLatency, ParalleliseReport, SavingsReport, SerialGroup};
use crate::requests::{OnlyFilter, RequestType};
use crate::verdict::{HitRequests, Subject};
use pathlight_base::statistics::Interval;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};

/// A saving of the mean is worth a word from this share of the mean latency on, one of the 99th percentile from this
/// share of that.
const WORTH_MEAN: f64 = 0.01;
const WORTH_P99: f64 = 0.05;
/// Groups of calls one after the other that are reported, and slower places.
const MOST_GROUPS: usize = 3;
/// What is new so soon before or after a change may be its reason: ten minutes.
const RELEASE_NEAR_US: u64 = 600_000_000;
/// Reasons that are reported.
const REASONS: usize = 2;
/// More requests than chance explains are reported if they are at least this many times as many.
const BEYOND_CHANCE: f64 = 2.0;

/// What is found out of a slow tail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LateTail {
    /// Request type of the tail.
    pub root: RequestType,
    /// Where the slow requests have the tag that they share, and how many other requests have it there.
    pub tag_at: Option<(Endpoint, u64)>,
    /// See [`FindingFacts::SlowTail`].
    pub p99_us: Option<(f64, f64)>,
}

impl LateTail {
    /// Says where all `slow` slow requests of a group have a tag of a list.
    pub fn place_tag(&mut self, pairs: &PairsPart, (group, tag): (u32, u32), slow: u64) {
        let place = pairs.place(group, tag, slow);
        self.tag_at = place.map(|(place, requests)| (place.clone(), requests - slow));
    }
}

/// What is found out of a part of a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LateSubject {
    /// The part of a service.
    pub subject: Subject,
    /// The requests it hits.
    pub hit: HitRequests,
    /// The latency if it took what is usual.
    pub mended: MendedLatency,
}

/// What an endpoint would save if its self time were half as long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Time that requests would save.
    pub halved: Halved,
    /// The 95 % interval of what they would save of the mean.
    pub interval: Option<Interval>,
    /// Requests that would be faster.
    pub requests: u64,
    /// Most of its spans are calls that another service answers.
    pub is_waiting: bool,
}

/// What takes longer to find out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LateFindings {
    /// What is known later of slow tails.
    pub tails: Vec<LateTail>,
    /// How much less all latency would be without the spans in error, 0 to 1.
    pub without_errors: Option<f64>,
    /// Endpoints by what they would save of the mean, most first.
    pub savings: Vec<Saved>,
    /// Requests unlike those of the baseline.
    pub abnormal: Option<Finding>,
    /// Request types of which much is done after the answer.
    pub after: Vec<Finding>,
    /// Calls one after the other that would save most side by side, no call in two groups.
    pub serial: Vec<Finding>,
    /// By caller how far its flow is off on held-out requests.
    pub model_errors: Vec<(Endpoint, f64)>,
    /// Callees that services wait for before they call.
    pub pool_waits: Vec<Finding>,
    /// Places that cost most.
    pub places: Vec<Finding>,
    /// Versions, flags and environments that are new, by time.
    pub releases: Vec<DeploymentFirst>,
    /// What takes longer in requests of a type since its change.
    pub since: Vec<(RequestType, TakesLonger)>,
    /// By request type and tag what takes longer with it.
    pub with_tag: Vec<(RequestType, FindingTag, TakesLonger)>,
    /// By request type and tag the other tag that it needs to be slow, and what part of the tail both explain.
    pub pairs: Vec<(RequestType, FindingTag, (FindingTag, f64))>,
    /// What is known later of subjects.
    pub subjects: Vec<LateSubject>,
}

impl LateFindings {
    /// Takes over what errors cost.
    pub fn take_errors(&mut self, report: &ErrorsReport) {
        let all_us = report.facts.latency_sum_us;
        self.without_errors = (all_us > 0).then(|| report.totals.saved_us as f64 / all_us as f64);
    }

    /// Takes over what endpoints would save.
    pub fn take_savings(&mut self, report: &SavingsReport) {
        let saved = report.endpoints.iter().map(|row| Saved {
            endpoint: Endpoint::new(&row.service, &row.operation),
            halved: Halved {
                mean_us: row.saved_us.faster_50.mean,
                p99_us: row.saved_us.faster_50.p99,
                p99_before_us: report.latency_us.p99,
            },
            interval: row.saved_us.faster_50.mean_interval,
            requests: row.affected,
            is_waiting: 2 * row.waiting_spans > row.spans,
        });
        self.savings = saved.collect();
    }

    /// Takes over which calls run one after the other, and whether they did before.
    pub fn take_serial(&mut self, report: &ParalleliseReport, before: Option<&ParalleliseReport>) {
        let found = |report: &ParalleliseReport| -> Vec<Finding> {
            report.groups.iter().filter_map(|group| serial_finding(report, group)).collect()
        };
        let known = before.map(found).unwrap_or_default();
        for mut finding in found(report) {
            let is_known = self.serial.iter().any(|known| do_share_calls(known, &finding));
            if !is_known && self.serial.len() < MOST_GROUPS {
                finding.is_as_before = known.iter().any(|known| !finding.is_new_to(known));
                self.serial.push(finding);
            }
        }
    }

    /// Returns the callers of these calls.
    pub fn serial_callers(&self) -> Vec<Endpoint> {
        let caller = |finding: &Finding| match &finding.facts {
            FindingFacts::OneAfterTheOther(facts) => Some(facts.group.calls.parent.clone()),
            _ => None,
        };
        let mut callers: Vec<Endpoint> = self.serial.iter().filter_map(caller).collect();
        callers.sort();
        callers.dedup();
        callers
    }

    /// Takes over how far the flow of a caller is off.
    pub fn take_model_error(&mut self, caller: Endpoint, report: &EvaluationReport) {
        let error = report.flow_error().map(|error| error.p50).filter(|error| error.is_finite());
        self.model_errors.extend(error.map(|error| (caller, error)));
    }

    /// Takes over which places are slower than others, if they cost the mean latency enough to be worth a word.
    pub fn take_deployments(&mut self, report: &DeploymentsReport) {
        self.releases.clone_from(&report.firsts);
        let worth_us = WORTH_MEAN * report.facts.latency_us.mean;
        let finding = |slower: SlowerPlace| {
            let place = FindingPlace::Service(slower.row.of.service().to_owned());
            let (stake_us, n, p) = (slower.cost_us, slower.row.beside.requests, slower.row.beside.p);
            let facts = FindingFacts::SlowerPlace(Box::new(slower));
            Finding { stake_us, p: Some(p), ..untested_finding(place, n, report.facts.requests, facts) }
        };
        let worth = report.slower().into_iter().filter(|slower| slower.cost_us >= worth_us);
        self.places = worth.take(MOST_GROUPS).map(finding).collect();
    }

    /// Returns what is new at about a time, the nearest first; of a service if something of it is.
    fn release_near(&self, at_us: u64, service: Option<&str>) -> Option<DeploymentFirst> {
        let near = || self.releases.iter().filter(|first| first.first_us.abs_diff(at_us) <= RELEASE_NEAR_US);
        let nearest = |of: &&DeploymentFirst| of.first_us.abs_diff(at_us);
        let of_service = near().filter(|first| Some(first.service.as_str()) == service).min_by_key(nearest);
        of_service.or_else(|| near().min_by_key(nearest)).cloned()
    }

    /// Takes over which other tag a tag of a request type needs to be slow: that of the best pair, if the pair
    /// explains more than the tag does alone.
    pub fn take_pair(&mut self, root: RequestType, tag: FindingTag, report: &TagsReport) {
        let pair = report.rows.iter().find(|row| row.tags.len() == 2 && row.tags.contains(&tag));
        let other =
            pair.and_then(|row| Some((row.tags.iter().find(|other| **other != tag)?.clone(), row.least)));
        self.pairs.extend(other.map(|other| (root, tag, other)));
    }

    /// Takes over which requests are abnormal, if they are more than chance explains.
    pub fn take_abnormal(&mut self, report: &AnomalyReport) {
        let judged = report.rows.iter().filter(|row| !row.is_unknown).count() as u64;
        // A finding is one answer, so both verdicts are one test.
        let n = report.abnormal_by_one_test() as u64;
        let by_chance = report.one_alpha() * judged as f64;
        if !report.has_verdicts || n == 0 || (n as f64) < BEYOND_CHANCE * by_chance {
            return;
        }
        let groups = report.groups_of(|row| report.is_abnormal_by_one_test(row));
        let reasons = groups.iter().take(REASONS);
        // The most anomalous come first.
        let abnormal = report.rows.iter().filter(|row| report.is_abnormal_by_one_test(row));
        let requests = abnormal.map(|row| row.request.clone());
        let example = requests.clone().next();
        let facts = FindingFacts::Abnormal(AbnormalFacts {
            by_chance,
            trained: report.trained,
            has_drifted: report.has_drifted(),
            reasons: reasons.map(|group| (group.rows.len() as u64, group.words.clone())).collect(),
            requests: if n > OnlyFilter::MOST as u64 { Vec::new() } else { requests.collect() },
        });
        self.abnormal = Some(Finding { example, ..untested_finding(FindingPlace::Data, n, judged, facts) });
    }
}

/// Returns the finding about calls one after the other, if what side by side surely saves is worth a word.
fn serial_finding(report: &ParalleliseReport, group: &SerialGroup) -> Option<Finding> {
    let saved = group.saved_us;
    let least_us = saved.mean_interval.map_or(saved.mean, |interval| interval.low);
    if least_us < WORTH_SHARE * report.latency_us.mean {
        return None;
    }
    // Of several endpoints the one that would begin sooner.
    let place = FindingPlace::Endpoint(group.calls.callees.last()?.clone());
    let facts = OneAfterTheOtherFacts { group: group.clone(), model_error: None, grows_with: None };
    let facts = FindingFacts::OneAfterTheOther(facts);
    Some(Finding {
        stake_us: saved.mean,
        interval: saved.mean_interval,
        ..untested_finding(place, group.affected, report.requests, facts)
    })
}

/// Returns whether two findings are about calls of one endpoint by one caller, one after the other.
fn do_share_calls(a: &Finding, b: &Finding) -> bool {
    let (FindingFacts::OneAfterTheOther(a), FindingFacts::OneAfterTheOther(b)) = (&a.facts, &b.facts) else {
        return false;
    };
    let (a, b) = (&a.group.calls, &b.group.calls);
    a.parent == b.parent && a.callees.iter().any(|callee| b.callees.contains(callee))
}

impl SlowTailFacts {
    fn take_late(&mut self, late: &LateFindings) {
        let Some(known) = late.tails.iter().find(|tail| tail.root == self.root) else { return };
        self.p99_us = known.p99_us;
        if let (Some(tag), Some((place, others))) = (&mut self.tag, &known.tag_at) {
            (tag.at, tag.others) = (Some(place.clone()), *others);
        }
    }
}

/// Makes what is slower since some time or with a tag a fact of the finding about the service that is the reason, where there
/// is one.
fn explained(findings: Vec<Finding>) -> Vec<Finding> {
    let (others, mut out): (Vec<Finding>, Vec<Finding>) =
        findings.into_iter().partition(|finding| finding.reason().is_some());
    for other in others {
        let is_it = |finding: &&mut Finding| {
            let (subject, reason) = (finding.subject(), other.reason());
            subject.zip(reason).is_some_and(|(subject, reason)| reason.is_of(&subject))
        };
        match out.iter_mut().find(is_it) {
            Some(known) => known.explain(other),
            None => out.push(other),
        }
    }
    out
}

impl FindingsReport {
    /// Returns these findings with what was found out later.
    #[must_use]
    pub fn with(&self, late: &LateFindings) -> FindingsReport {
        let mut report = self.clone();
        let lead = report.findings.first().map(|finding| (finding.kind(), finding.place.clone()));
        for finding in &mut report.findings {
            let subject = finding.subject();
            let known = late.subjects.iter().find(|known| Some(&known.subject) == subject.as_ref());
            finding.hit = known.map(|known| known.hit);
            finding.mended = known.map(|known| known.mended);
            match (&mut finding.facts, &finding.place) {
                (FindingFacts::SlowTail(tail), _) => tail.take_late(late),
                (FindingFacts::Errors(ErrorsFacts { saved, .. }), _) => *saved = late.without_errors,
                (
                    FindingFacts::SinceWhen(SinceWhenFacts { longer, release, from_us, .. }),
                    FindingPlace::RequestType(root),
                ) => {
                    let known = late.since.iter().find(|known| known.0 == *root);
                    *longer = known.map(|known| known.1.clone());
                    let service = longer.as_ref().map(|longer| longer.service.as_str());
                    *release = late.release_near(*from_us, service);
                }
                (
                    FindingFacts::Who(WhoFacts { root, only_with, longer, .. }),
                    FindingPlace::Tag { key, value },
                ) => {
                    let is_it = |tag: &FindingTag| tag.key == *key && tag.value == *value;
                    let known = late.pairs.iter().find(|known| known.0 == *root && is_it(&known.1));
                    *only_with = known.map(|known| known.2.clone());
                    let known = late.with_tag.iter().find(|known| known.0 == *root && is_it(&known.1));
                    *longer = known.map(|known| known.2.clone());
                }
                (FindingFacts::Cost(cost), _) => {
                    let at = cost.largest.as_ref().map(|(endpoint, _)| endpoint);
                    let known = late.savings.iter().find(|saved| Some(&saved.endpoint) == at);
                    cost.halved = known.map(|saved| saved.halved);
                    if let Some(tail) = &mut cost.tail {
                        tail.facts.take_late(late);
                    }
                }
                _ => {}
            }
        }
        report.findings = explained(report.findings);
        let latency = &report.facts.latency_us;
        // What a call waits for a service is said of that service.
        let own: Vec<&Saved> = late.savings.iter().filter(|saved| !saved.is_waiting).collect();
        let of_mean = own.first().filter(|s| s.halved.mean_us >= WORTH_MEAN * latency.mean);
        let most = |best: &'_ Saved, next: &'_ Saved| next.halved.p99_us > best.halved.p99_us;
        let of_p99 = own.iter().copied().reduce(|best, next| if most(best, next) { next } else { best });
        let of_p99 = of_p99.filter(|saved| saved.halved.p99_us >= WORTH_P99 * latency.p99);
        let mut reported: Vec<&Saved> = of_mean.copied().into_iter().chain(of_p99).collect();
        reported.dedup();
        for saved in reported {
            let place = FindingPlace::Endpoint(saved.endpoint.clone());
            let is_there = |finding: &&mut Finding| {
                let largest = match &finding.facts {
                    FindingFacts::Cost(cost) => cost.largest.as_ref().map(|(endpoint, _)| endpoint),
                    _ => None,
                };
                finding.place == place || largest == Some(&saved.endpoint)
            };
            match report.findings.iter_mut().find(is_there) {
                Some(known) if !known.also.contains(&FindingKind::WorthMakingFaster) => {
                    known.also.push(FindingKind::WorthMakingFaster);
                }
                Some(_) => {}
                None => {
                    let facts = FindingFacts::WorthMakingFaster(saved.halved);
                    let found = untested_finding(place, saved.requests, report.facts.requests, facts);
                    report.findings.push(Finding {
                        stake_us: saved.halved.mean_us,
                        interval: saved.interval,
                        ..found
                    });
                }
            }
        }
        report.findings.extend(late.pool_waits.iter().chain(&late.places).cloned());
        for mut finding in late.serial.clone() {
            if let FindingFacts::OneAfterTheOther(facts) = &mut finding.facts {
                let calls = &facts.group.calls;
                let known = late.model_errors.iter().find(|known| known.0 == calls.parent);
                facts.model_error = known.map(|known| known.1);
                let is_it = |known: &&GrowingCalls| {
                    known.caller == calls.parent
                        && calls.callees.as_slice() == std::slice::from_ref(&known.callee)
                };
                facts.grows_with = self.growing.iter().find(is_it).map(|known| known.with.clone());
            }
            report.findings.push(finding);
        }
        report.findings.extend(late.abnormal.clone());
        report.findings.extend(late.after.iter().cloned());
        sort_findings(&mut report.findings);
        // What was the answer before stays it: every view shows the first finding, and most never ask for more.
        let is_lead = |finding: &Finding| {
            Some((finding.kind(), &finding.place)) == lead.as_ref().map(|lead| (lead.0, &lead.1))
        };
        if let Some(at) = report.findings.iter().position(is_lead) {
            report.findings[..=at].rotate_right(1);
        }
        report.left_out += report.findings.len().saturating_sub(MOST) as u64;
        report.findings.truncate(MOST);
        report
    }
}
