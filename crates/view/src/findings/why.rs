//! The method behind a finding, in two lines at most.

use crate::deployments;
use crate::flow::parallelise;
use pathlight_base::format::{count, counted, duration, share};
use pathlight_engine::findings::{
    AbnormalFacts, BurstsFacts, CostFacts, Finding, FindingFacts, OutsideRequestsFacts, SlowTailFacts,
    TimeoutFacts,
};
use pathlight_engine::verdict::ServicePart;

/// Says how a saving is estimated. It begins with a space, since it follows another sentence.
const WHAT_IF: &str =
    " What would be saved is a what-if: every request is run again by what its calls wait for.";

/// Returns how a finding was found, in two lines at most.
pub fn why(finding: &Finding) -> Vec<String> {
    let how = match &finding.facts {
        FindingFacts::Changed(report) => format!(
            "Own work, calls into and calls out of each service, at B's own numbers of calls, beyond the drift of sets in \
             which nothing is wrong: {} against {}.",
            counted(report.requests[1], "request"),
            count(report.requests[0])
        ),
        FindingFacts::SlowTail(SlowTailFacts { latency_excess_us, p50_us, p99_us, .. }) => format!(
            "The slowest tenth of each request type, at least five requests, is compared with its faster half by time \
             on the critical path, endpoint by endpoint. These requests take {} more than the median of {}.{}",
            duration(*latency_excess_us),
            duration(*p50_us as f64),
            if p99_us.is_some() { WHAT_IF } else { "" }
        ),
        FindingFacts::Bursts(BurstsFacts { requests, .. }) => format!(
            "Starts of the slowest tenth of each request type among those of all {}: windows of at most a twentieth of the \
             time that hold more of them than chance would put there.",
            counted(*requests, "request")
        ),
        FindingFacts::Cost(facts) => cost(facts),
        FindingFacts::WorthMakingFaster(_) => format!(
            "Of all endpoints the one that saves most of the mean, or of the 99th percentile, if its self time is half as \
             long.{WHAT_IF} The interval is that of requests; how far such what-ifs are off, Flow says."
        ),
        FindingFacts::Abnormal(AbnormalFacts { trained, .. }) => format!(
            "Each request is judged by its whole tree of calls against {} of A: calls that are missing, new, repeated or in \
             another order, errors, times on and off the critical path; and by whether a self time on the critical path is \
             longer than any of A. One of a hundred normal requests would be called abnormal.",
            counted(*trained, "request")
        ),
        FindingFacts::NotInstrumented(_) => {
            "Self time on the critical path of spans that make calls, while none of the calls runs.".to_owned()
        }
        FindingFacts::OutsideRequests(OutsideRequestsFacts { missing, .. }) => format!(
            "Duration of spans before anything is cut, {}, of that of all spans of these traces. From 5 % on it is reported.",
            if missing.is_some() { "below spans whose parent is missing" } else { "at or below spans that nobody waits for" }
        ),
        FindingFacts::WorkAfter(_) => {
            "From the start of the request to the end of all that it leads to: asynchronous spans, and what received its \
             messages. It is reported where all is done more than 1.5 times as late as the answer. All are means."
                .to_owned()
        }
        FindingFacts::OneAfterTheOther(_) => {
            format!(
                "In nearly all spans of the caller each call begins, within its usual gap, when the one before has ended; it is \
                 always made, and no tag of it is seen to follow from the one before. What side by side would save is a what-if; \
                 its model is the flow of the caller, learned from the earlier half of its spans and tested on the others. {}",
                parallelise::LIMITS
            )
        }
        FindingFacts::SlowerPlace(_) => format!(
            "Mean self times of visits or calls, compared where both places have requests, and weighed by how many: each row is a test, \
             and of all that are reported at most 5 % are so by chance. The cost is what they take longer on critical paths, over all \
             requests. {}",
            deployments::LIMITS
        ),
        FindingFacts::Timeout(TimeoutFacts { is_round, .. }) => format!(
            "At least five calls, and 2 % of all, lie within 2 % of this duration, four times as densely as around it, \
             at three times the median or more{}.",
            if *is_round { "; it is a round number" } else { "; calls are made again after an error" }
        ),
        FindingFacts::PoolWaits(_) => {
            "Calls of one process, by its own clock: at least 30 find that many others running when they could begin, after the usual \
             gap, and hardly any when it begins, which is when another ends. The cost is what such calls on the critical path begin \
             later than usual."
                .to_owned()
        }
        FindingFacts::RedundantCalls(_) => {
            "Calls of one endpoint below one request, none in error, with the same statement or address and the same parameters, as \
             their tags have them; only what reads. The cost is the time of all but the first, at most what the calls take on the \
             critical path."
                .to_owned()
        }
        FindingFacts::Retries(_) => {
            "A call of the same endpoint by the same span starts after one that ended in an error. The cost is the \
             time from start to start, at most what the calls take on the critical path."
                .to_owned()
        }
        FindingFacts::Errors(_) => {
            "An error begins in a span of which no child is in error. Requests with errors are compared with those of \
             the same type without."
                .to_owned()
        }
        FindingFacts::Who(_) => "Mean latency of the requests of a type with this value of the tag on any span, against \
                              those with another value (Welch's test)."
            .to_owned(),
        FindingFacts::SinceWhen(_) => {
            "Requests of a type in the order of their start; the place where the ranks of latency change most (Pettitt \
             1979). What changed is what explains the difference of the requests before and after, beyond usual drift."
                .to_owned()
        }
        FindingFacts::Queue(facts) if facts.path_us.is_some() => {
            "Start of the span that receives less the end of the one that sends, as far as it is on the way until everything \
             is done: per request, by the same rules as times of services. Of one set it is reported if it surely takes 5 % \
             of the latency."
                .to_owned()
        }
        FindingFacts::Queue(facts) => match facts.before_us {
            Some(_) => "Start of the span that receives less the end of the one that sends, over the messages that requests \
                        send, against those of A: by the same rules as times of services. Per request it is all the \
                        messages of one; they wait after the answer, or beside it."
                .to_owned(),
            None => "Start of the span that receives less the end of the one that sends. It is reported if the messages of a \
                     queue wait at least as long, per request, as the answer takes: then nothing takes longer until a request \
                     is done."
                .to_owned(),
        },
        FindingFacts::ReadWithCare(_) => {
            "Counted when the trees of spans are built; data quality has the details. Clocks disagree where a callee begins \
             a millisecond before its call, or lies outside it, after they were set."
                .to_owned()
        }
    };
    let chance = finding.p.map(|p| {
        let p = if p < 0.001 { "less than 0.1 %".to_owned() } else { share(p) };
        format!(
            "By chance such a difference would be seen in {p} of cases; false discoveries are kept to 5 % of a kind."
        )
    });
    std::iter::once(how).chain(chance).collect()
}

/// Says how a cost is measured, and what its place in the list rests on.
fn cost(facts: &CostFacts) -> String {
    let has = |part: ServicePart| facts.cost.parts.iter().any(|of| of.part == part);
    let waits = match (has(ServicePart::In) || has(ServicePart::Out), facts.is_certain) {
        (false, _) => "",
        (true, true) => " Waits are network or queue.",
        (true, false) => " Waits are network, queue or work of the caller: not all spans say their kind.",
    };
    format!(
        "Time on the critical path of every request: the service's own work, and what calls take before their callee starts \
         and after it ends.{waits} Findings are ordered by what is surely saved: half of own work, all of a wait.{}{}",
        if facts.halved.is_some() { WHAT_IF } else { "" },
        if facts.beside.is_empty() {
            ""
        } else {
            " Beside a call runs what overlaps it below the same caller."
        }
    )
}
