//! From candidates to findings: what chance could explain goes, what names the same place becomes one, best first.

use super::candidates::{Sums, shared_tag, untested_finding};
use super::costs::{add_fact, is_part_of};
use super::outside::MOST_OF_IT;
use super::over_time::over_time;
use super::points::points;
use super::queues::{longest_queue, queues_on_path, slower_queues, with_queues};
use super::{
    Finding, FindingFacts, FindingKind, FindingPlace, FindingsPart, FindingsReport, OutsideRequestsFacts,
    SlowTailFacts, TagGroup, TagsPart,
};
use crate::queues::{QueueChange, QueuesPart};
use crate::requests::{RangeFacts, TypeCut, TypeLatencies};
use crate::verdict::one_set::times as service_times;
use crate::verdict::{Excess, Headline, ServicesPartial, ServicesReport};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Interval, false_discovery};

/// Findings that are reported.
pub(super) const MOST: usize = 10;
/// Request types whose tags are counted.
const TAG_TYPES: usize = 20;
/// False discoveries among the findings of a kind.
const RATE: f64 = 0.05;
/// A cause is worth a word if its stake is surely above this share of the mean latency.
pub(super) const WORTH_SHARE: f64 = 0.005;
/// The slowest requests of a type are worth a word if they take this many times the median, or half of them this many
/// times: where fewer than a tenth are slow, the fastest of the tail are as all are.
const SLOW_RATIO: f64 = 1.5;
const HALF_SLOW_RATIO: f64 = 2.0;

/// Returns the request types whose tags the third pass counts: those with most latency, each with the slow requests that
/// its finding is about.
pub fn tag_groups(
    types: &TypeLatencies,
    cuts: &[TypeCut],
    part: &FindingsPart,
    times: &ServicesPartial,
) -> Vec<TagGroup> {
    let tails = certain(Sums { types, cuts, part, times }.slow_tails().0);
    let group = |cut: &TypeCut| {
        let tail = tails
            .iter()
            .find(|tail| matches!(&tail.facts, FindingFacts::SlowTail(SlowTailFacts { root, .. }) if *root == cut.name));
        let with = tail.and_then(|tail| match (&tail.facts, &tail.place) {
            (
                FindingFacts::SlowTail(SlowTailFacts { is_only_in_tail: true, .. }),
                FindingPlace::Endpoint(endpoint),
            ) => Some(endpoint.clone()),
            _ => None,
        });
        TagGroup { root: cut.name.clone(), slow_from_us: tail.and(cut.tail_from_us), with }
    };
    cuts.iter().take(TAG_TYPES).map(group).collect()
}

/// What is known of the requests that others are compared with.
pub struct Before {
    /// What has changed since; it speaks first.
    pub change: ServicesReport,
    /// The findings of these requests.
    pub report: FindingsReport,
}

/// Returns the findings about requests, best first. With a baseline, what changed comes first, and what is as it was
/// before comes last.
pub fn rank(
    facts: RangeFacts,
    types: &TypeLatencies,
    cuts: &[TypeCut],
    (part, times, sent): (&FindingsPart, &ServicesPartial, &QueuesPart),
    (groups, tags): (&[TagGroup], &TagsPart),
    before: Option<Before>,
) -> FindingsReport {
    let sums = Sums { types, cuts, part, times };
    let (mut tails, other_tails) = sums.slow_tails();
    for tail in &mut tails {
        let FindingFacts::SlowTail(SlowTailFacts { root, tag, .. }) = &mut tail.facts else { continue };
        let number = groups.iter().position(|group| group.root == *root);
        *tag = number.and_then(|number| shared_tag(tags.groups.get(&(number as u32))?));
    }
    let by_kind = [
        tails,
        sums.timeouts(),
        sums.retries(),
        sums.redundant_calls(),
        sums.errors(),
        sums.who(groups, tags),
        sums.since_when(),
        sums.costs(),
        sums.bursts(),
        sums.not_instrumented(),
        sums.outside_requests(),
        sums.read_with_care(),
    ];
    let tested = by_kind.iter().flatten().filter(|finding| finding.p.is_some()).count() as u64;
    let mean_us = part.latency.mean();
    let is_worth = |finding: &Finding| finding.least_us() >= WORTH_SHARE * mean_us;
    let mut all: Vec<Finding> = by_kind.into_iter().flat_map(certain).collect();
    // What is repeated without costing anything is no finding; errors always are.
    let is_tail = |finding: &&Finding| finding.kind() == FindingKind::SlowTail;
    // What makes one type clearly slow also counts in those that it makes a little slower.
    let slow: Vec<FindingPlace> =
        all.iter().filter(is_tail).filter(|tail| is_slow(tail)).map(|tail| tail.place.clone()).collect();
    all.retain(|finding| !is_tail(&finding) || slow.contains(&finding.place));
    let mut all = join_tails(all);
    for other in certain(other_tails) {
        if let Some(known) = all.iter_mut().find(|known| is_tail(&&**known) && known.place == other.place) {
            add_tail(known, &other);
        }
    }
    all.retain(|finding| match finding.kind() {
        FindingKind::Errors => true,
        kind => !kind.is_causal() || is_worth(finding),
    });
    let (change, over_time_before, known) = match before {
        Some(Before { change, report }) => (Some(change), report.over_time, report.findings),
        None => (None, Vec::new(), Vec::new()),
    };
    for finding in &mut all {
        finding.is_as_before = known.iter().any(|known| !finding.is_new_to(known));
    }
    all.extend(match &change {
        Some(change) => slower_queues(change, mean_us),
        None if sent.is_on_path() => queues_on_path(sent, (part.latency.n(), mean_us)),
        None => longest_queue(sent, (part.latency.n(), mean_us)).into_iter().collect(),
    });
    sort_findings(&mut all);
    let mut findings: Vec<Finding> = change.map(changed).into_iter().collect();
    for finding in all {
        match findings.iter_mut().find(|known| is_same(known, &finding)) {
            Some(known) => {
                add_fact(known, &finding);
                let kind = finding.kind();
                if kind != known.kind() && !known.also.contains(&kind) {
                    known.also.push(kind);
                }
            }
            None => findings.push(finding),
        }
    }
    let left_out = findings.len().saturating_sub(MOST) as u64;
    findings.truncate(MOST);
    for finding in &mut findings {
        finding.points = points(finding, types);
    }
    let (all_types, type_times) = types.sums();
    FindingsReport {
        facts,
        findings,
        services: with_queues(service_times(times), sent, part.latency.n()),
        types: type_times,
        all_types,
        tested,
        left_out,
        growing: sums.growing(),
        over_time: over_time(types),
        over_time_before,
    }
}

/// Puts findings into order: what changed first, then what is more than all requests, then by the lower end of their stake.
pub(super) fn sort_findings(findings: &mut [Finding]) {
    let class = |finding: &Finding| match finding.kind() {
        FindingKind::Changed => 0,
        FindingKind::ReadWithCare => 4,
        // All others speak of the smaller part.
        _ if matches!(finding.facts, FindingFacts::OutsideRequests(OutsideRequestsFacts { share, .. }) if share >= MOST_OF_IT) => {
            0
        }
        _ if finding.is_as_before => 3,
        // It changed; or else no answer waits for it.
        FindingKind::Queue if matches!(&finding.facts, FindingFacts::Queue(facts) if facts.before_us.or(facts.path_us).is_some()) => {
            1
        }
        FindingKind::Queue
        | FindingKind::NotInstrumented
        | FindingKind::WorkAfter
        | FindingKind::OutsideRequests
        | FindingKind::Bursts
        | FindingKind::Abnormal => 2,
        // Of calls of different endpoints each may need data of the one before that no trace shows.
        FindingKind::OneAfterTheOther if matches!(&finding.facts, FindingFacts::OneAfterTheOther(facts) if facts.group.calls.callees.len() > 1) => {
            2
        }
        // Errors are always reported.
        FindingKind::Errors if finding.least_us() <= 0.0 => 2,
        _ => 1,
    };
    // Stable: equal ones stay by kind, then by name. Of what is not sure, as of few requests, the greatest comes first.
    findings.compact_sort_by(|a, b| {
        let by = |of: fn(&Finding) -> f64| of(b).total_cmp(&of(a));
        class(a)
            .cmp(&class(b))
            .then_with(|| by(Finding::least_us))
            .then_with(|| by(|finding| finding.stake_us))
    });
}

/// Returns the finding that says what changed, of the service that leads the verdict; with the services that explain
/// something.
fn changed(mut report: ServicesReport) -> Finding {
    // Calls that vanish or fail cost no time; a suspicion has no stake, and what may be chance is one.
    let suspect = report.services.iter().find(|service| service.score_us > 0.0);
    let (service, excess) = match report.headline() {
        Headline::Stops(row) => (Some(&row.service), None),
        Headline::Fails(row) => (Some(&row.service), None),
        Headline::Slower(row) => (Some(&row.service), row.lead.as_ref().map(|lead| lead.excess)),
        Headline::Queue(queue) => return changed_queue(report.clone(), queue.clone()),
        Headline::Suspect(_) | Headline::InProportion(_) | Headline::Nothing => {
            (suspect.map(|row| &row.service), None)
        }
    };
    let row = report.services.iter().find(|row| Some(&row.service) == service).or(report.services.first());
    let (n, of) = (row.map_or(0, |row| row.requests), report.requests[1]);
    let interval = excess.map(Excess::interval);
    let stake_us = excess.map_or(0.0, |excess| excess.excess_us);
    let place = service.map_or(FindingPlace::Data, |service| FindingPlace::Service(service.clone()));
    report.services.truncate(MOST);
    Finding { stake_us, interval, ..untested_finding(place, n, of, FindingFacts::Changed(report)) }
}

/// Returns the same where what changed first is that messages wait longer.
fn changed_queue(mut report: ServicesReport, queue: QueueChange) -> Finding {
    report.services.truncate(MOST);
    let (n, of) = (queue.requests, report.requests[1]);
    let (stake_us, interval) = (queue.excess.excess_us, Some(queue.excess.interval()));
    let place = FindingPlace::Endpoint(queue.receiver);
    Finding { stake_us, interval, ..untested_finding(place, n, of, FindingFacts::Changed(report)) }
}

/// Returns whether a tail is clearly slower than the median: some requests always are the slowest. Where half of them
/// are, and one place alone surely takes as much longer on average, that is as clear.
fn is_slow(finding: &Finding) -> bool {
    matches!(finding.facts, FindingFacts::SlowTail(SlowTailFacts { latency_us, p50_us, tail_p50_us, excess_interval, .. })
        if latency_us.0 as f64 >= SLOW_RATIO * p50_us as f64
            || tail_p50_us as f64 >= HALF_SLOW_RATIO * p50_us as f64
            || tail_p50_us as f64 >= SLOW_RATIO * p50_us as f64
                && excess_interval.low >= (SLOW_RATIO - 1.0) * p50_us as f64)
}

/// Puts slow tails of one place together: they are of other requests, so what they cost adds up. The one that costs most
/// speaks.
fn join_tails(findings: Vec<Finding>) -> Vec<Finding> {
    let mut out: Vec<Finding> = Vec::new();
    for mut finding in findings {
        let is_tail = |finding: &Finding| finding.kind() == FindingKind::SlowTail;
        let known = out.iter_mut().find(|known| is_tail(known) && known.place == finding.place);
        let Some(known) = known.filter(|_| is_tail(&finding)) else {
            out.push(finding);
            continue;
        };
        if finding.own_us() > known.own_us() {
            std::mem::swap(known, &mut finding);
        }
        add_tail(known, &finding);
    }
    out
}

/// Adds what the tails of other types cost at the same place.
fn add_tail(known: &mut Finding, other: &Finding) {
    let stake_us = known.stake_us + other.stake_us;
    // Means of different requests: their variances add up.
    known.interval = known.interval.zip(other.interval).map(|(a, b)| {
        let reach = (a.high - a.low).hypot(b.high - b.low) / 2.0;
        Interval { low: (stake_us - reach).max(0.0), high: stake_us + reach }
    });
    known.stake_us = stake_us;
    let others = if let FindingFacts::SlowTail(SlowTailFacts { other_types, .. }) = &other.facts {
        other_types + 1
    } else {
        0
    };
    if let FindingFacts::SlowTail(SlowTailFacts { other_types, .. }) = &mut known.facts {
        *other_types += others;
    }
}

/// Returns whether two findings name the same place; of tags, those of the same key are one. Where work outside requests
/// begins, or messages are received, is not where requests spend their time.
fn is_same(a: &Finding, b: &Finding) -> bool {
    let is_beside =
        |finding: &Finding| matches!(finding.kind(), FindingKind::OutsideRequests | FindingKind::Queue);
    match (&a.place, &b.place) {
        _ if is_beside(a) || is_beside(b) => false,
        _ if is_part_of(a, b) || is_part_of(b, a) => true,
        (FindingPlace::Tag { key: a, .. }, FindingPlace::Tag { key: b, .. }) => a == b,
        (a, b) => a == b,
    }
}

/// Returns the candidates of one kind that chance does not explain.
fn certain(candidates: Vec<Finding>) -> Vec<Finding> {
    let p: Vec<f64> = candidates.iter().filter_map(|finding| finding.p).collect();
    let mut passes = false_discovery(&p, RATE).into_iter();
    candidates.into_iter().filter(|finding| finding.p.is_none() || passes.next() == Some(true)).collect()
}
