//! Findings as sentences, by kind.

use crate::compare;
use crate::deployments;
use crate::findings::pool_waits;
use crate::findings::reasons::{likewise, takes_longer};
use crate::flow::prediction::off_words;
use crate::queues;
use crate::say::LEAST_CHANGE;
use crate::say::sentence::Sentence;
use crate::say::subject::{longer_than_usual, takes};
use pathlight_base::format::{self, agreeing, count, counted, duration, share};
use pathlight_base::statistics::Interval;
use pathlight_engine::findings::{
    AbnormalFacts, BesideCall, BurstsFacts, CostFacts, CostInTail, ErrorsFacts, Finding, FindingFacts,
    FindingPlace, Gap, Halved, NotInstrumentedFacts, OneAfterTheOtherFacts, OutsideRequestsFacts, QueueFacts,
    ReadWithCareFacts, RedundantFacts, RetriesFacts, SharedTag, SinceWhenFacts, SlowTailFacts, TimeoutFacts,
    WhoFacts, WorkAfterFacts,
};
use pathlight_engine::flow::MendedLatency;
use pathlight_engine::verdict::one_set::ServiceCost;
use pathlight_engine::verdict::{Headline, ServicePart, ServicesReport};
use std::cmp::Ordering;

/// Half of a self time saves half of it, unless other work runs beside it: less than this part of it is little.
const LITTLE: f64 = 0.1;
/// What-ifs with a part of a service as usual are off by up to 3.5 % (section 4 of `docs/definitions/execution-flow.md`).
const SURELY: f64 = 0.05;
/// Services on the other side of waits that are named.
const OTHERS: usize = 3;

/// Writes both ends of an interval.
pub(super) fn between(interval: Interval, words: impl Fn(f64) -> String) -> String {
    format!("{} to {}", words(interval.low), words(interval.high))
}

/// Returns a factor: `2.4 times`, `12 times`.
pub(crate) fn times(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1} times") } else { format!("{ratio:.0} times") }
}

/// Returns what a finding says.
pub fn sentence(finding: &Finding) -> Sentence {
    let out = finding
        .explained()
        .fold(plain(finding), |out, (first, others)| likewise(out.text(" ").then(plain(first)), others));
    let is_of_sets = matches!(finding.facts, FindingFacts::Changed(_));
    let out = match (finding.hit, finding.subject()) {
        (Some(hit), Some(subject)) if hit.hit > 0 => longer_than_usual(out.text(" "), hit, &subject),
        (Some(hit), _) if is_of_sets && hit.judged == 0 => {
            out.text(" Too few requests are there to say which it hits.")
        }
        _ => out,
    };
    finding.mended.iter().fold(out, mended)
}

/// Returns what a finding says, without whom it hits and what would be if it were mended.
pub(super) fn plain(finding: &Finding) -> Sentence {
    let out = Sentence::default();
    match &finding.facts {
        FindingFacts::Changed(report) => changed(out, report),
        FindingFacts::Cost(facts) => cost(out, facts),
        FindingFacts::SlowTail(facts) => slow_tail(out, finding, facts),
        FindingFacts::Bursts(facts) => bursts(out, finding, facts),
        FindingFacts::WorthMakingFaster(halved) => worth_making_faster(out, finding, halved),
        FindingFacts::Abnormal(facts) => abnormal(out, finding, facts),
        FindingFacts::NotInstrumented(facts) => not_instrumented(out, finding, facts),
        FindingFacts::WorkAfter(facts) => work_after(out, finding, facts),
        FindingFacts::OutsideRequests(facts) => outside_requests(out, finding, facts),
        FindingFacts::OneAfterTheOther(facts) => one_after_the_other(out, finding, facts),
        FindingFacts::Timeout(facts) => timeout(out, finding, facts),
        FindingFacts::Retries(facts) => retries(out, finding, facts),
        FindingFacts::RedundantCalls(facts) => redundant_calls(out, finding, facts),
        FindingFacts::PoolWaits(facts) => pool_waits::waits(finding, facts),
        FindingFacts::Errors(facts) => errors(out, finding, facts),
        FindingFacts::SlowerPlace(slower) => deployments::slower_sentence(slower),
        FindingFacts::Who(facts) => who(out, finding, facts),
        FindingFacts::SinceWhen(facts) => since_when(out, finding, facts),
        FindingFacts::ReadWithCare(facts) => read_with_care(out, facts),
        FindingFacts::Queue(facts) => queue(out, facts),
    }
}

/// Returns the percentiles of the latency that would fall, by more than a what-if can be off, if a subject took what is
/// usual: name, now, then.
pub(super) fn falls(latency: &MendedLatency) -> impl Iterator<Item = (&'static str, f64, f64)> {
    let (now, then) = (&latency.before_us, &latency.after_us);
    let percentiles = [("p50", now.p50, then.p50), ("p95", now.p95, then.p95), ("p99", now.p99, then.p99)];
    percentiles.into_iter().filter(|(_, now, then)| now - then > SURELY * now)
}

/// Says which percentiles would fall.
fn mended(out: Sentence, latency: &MendedLatency) -> Sentence {
    let named = falls(latency).enumerate().fold(Sentence::default(), |out, (at, (name, now, then))| {
        let out = out.text(if at == 0 { " If it took what is usual, " } else { ", " });
        let out = out.text(name).text(if at == 0 { " would be " } else { " " });
        out.number(duration(then)).text(" (").number(duration(now)).text(" now)")
    });
    if named.parts.is_empty() { out } else { out.then(named).text(".") }
}

pub(super) fn place(sentence: Sentence, place: &FindingPlace) -> Sentence {
    match place {
        FindingPlace::Endpoint(endpoint) => sentence.name(endpoint),
        FindingPlace::RequestType(kind) => sentence.name(&kind.name()),
        FindingPlace::Service(service) => sentence.service(service),
        FindingPlace::Tag { key, value } => sentence.text(&format::printable(&format!("{key} = {value}"))),
        FindingPlace::Data => sentence.text("the data"),
    }
}

fn at(finding: &Finding, sentence: Sentence) -> Sentence {
    place(sentence, &finding.place)
}

/// Says how many of how many it is about.
fn some(finding: &Finding, out: Sentence, noun: &str) -> Sentence {
    out.number(count(finding.n)).text(" of ").number(counted(finding.of, noun))
}

/// Says which share of the latency a service takes.
pub(super) fn takes_share(out: Sentence, facts: &CostFacts) -> Sentence {
    let cost = &facts.cost;
    let out = match &cost.parts[..] {
        [part] => takes(out, &cost.service, part.part),
        _ => out.service(&cost.service).text(" takes "),
    };
    out.number(share(facts.share(cost.mean_us()))).text(" of the latency")
}

/// Says how much that is and where in the service it is, then what the slowest requests have to do with it, then where
/// nothing is recorded.
pub(super) fn share_details(facts: &CostFacts) -> Vec<Sentence> {
    let cost = &facts.cost;
    let out = Sentence::default().number(duration(cost.mean_us())).text(" of ");
    let out = out.number(duration(facts.latency_us)).text(" per request");
    let out = match &cost.parts[..] {
        [part] => part_words(out, facts, part.part),
        parts => parts.iter().enumerate().fold(out.text(":"), |out, (at, part)| {
            let out = out.text(if at > 0 { "; " } else { " " }).number(duration(part.mean_us));
            let out = out.text(match part.part {
                ServicePart::Own => " is its own work",
                ServicePart::In => " is waiting for it",
                ServicePart::Out => " is its calls of others",
            });
            part_words(out, facts, part.part)
        }),
    };
    let mut details = vec![out.text(".")];
    details.extend(facts.tail.as_ref().map(|tail| in_tail(Sentence::default(), tail)));
    details.extend(facts.gap.as_ref().map(|gap| {
        let words = "Before, between and after its calls nothing is recorded; longest gap: ";
        longest_gap(Sentence::default().text(words), gap).text(".")
    }));
    details
}

/// Says what a service costs all requests.
fn cost(out: Sentence, facts: &CostFacts) -> Sentence {
    let out = takes_share(out, facts).text(",");
    share_details(facts).into_iter().fold(out, |out, details| out.text(" ").then(details))
}

/// Says where in a service a part of its time is.
fn part_words(out: Sentence, facts: &CostFacts, part: ServicePart) -> Sentence {
    let cost = &facts.cost;
    if part == ServicePart::Own {
        return largest(out, facts);
    }
    if part != cost.lead() {
        return out;
    }
    match (part, &cost.others[..]) {
        (ServicePart::Out, [(other, _)]) => {
            out.text(", before ").service(other).text(" begins, whose work and replies are short")
        }
        (ServicePart::Out, _) => others(out.text(", outside the services that answer"), cost, "in calls of"),
        _ => others(out.text(", outside its own spans"), cost, "in calls by"),
    }
}

/// Says what a place takes more in the slowest requests of a type.
fn in_tail(out: Sentence, tail: &CostInTail) -> Sentence {
    let CostInTail { at, n, of, facts } = tail;
    let out = slow_requests(out, (*n, *of), facts).text("; there ").name(at).text(" takes ");
    let out = excess(out, facts).text(".");
    let out = match &facts.tag {
        Some(tag) => shared(out, tag, *n),
        None => out,
    };
    let out = without(out, &FindingPlace::Endpoint(at.clone()), facts.p99_us);
    in_other_types(out, facts)
}

/// Names the endpoint with most of the own work, and says what half of that would save.
fn largest(out: Sentence, facts: &CostFacts) -> Sentence {
    let Some((endpoint, of_it)) = &facts.largest else { return out };
    let own_us = facts.cost.parts.first().map_or(0.0, |part| part.mean_us);
    let out = match facts.endpoints {
        1 => out.text(", all of it in ").name(endpoint),
        n => {
            let out = out.text(", over ").number(counted(n, "endpoint")).text("; the largest is ");
            out.name(endpoint).text(" with ").number(share(*of_it)).text(" of it")
        }
    };
    match &facts.halved {
        None => out,
        Some(halved) if halved.mean_us < LITTLE * of_it * own_us => {
            let out = out.text(", but halving its self time would save ");
            let out = match halved.mean_us < 1.0 {
                true => out.text("less than ").number(duration(1.0)),
                false => out.text("only ").number(duration(halved.mean_us)),
            };
            runs_beside(out, &facts.beside)
        }
        Some(halved) => saved(out.text("; halving that"), halved),
    }
}

/// Names the services on the other side of waits.
fn others(out: Sentence, cost: &ServiceCost, word: &str) -> Sentence {
    let named = &cost.others[..cost.others.len().min(OTHERS)];
    match named {
        [] => out,
        [(other, _)] if cost.others.len() == 1 => out.text(&format!(", all of it {word} ")).service(other),
        _ => named.iter().enumerate().fold(out.text(", "), |out, (at, (other, of_it))| {
            let out = if at > 0 { out.text(", ") } else { out };
            out.number(share(*of_it)).text(&format!(" {word} ")).service(other)
        }),
    }
}

/// Says in which place the slowest requests of a type spend their time.
fn slow_tail(out: Sentence, finding: &Finding, facts: &SlowTailFacts) -> Sentence {
    let SlowTailFacts { is_only_in_tail, tag, p99_us, waits_for, share: of_all, .. } = facts;
    let out = slow_requests(out, (finding.n, finding.of), facts);
    let out = if *is_only_in_tail {
        at(finding, out.text(". They wait for ")).text(", which no request of the faster half does: ")
    } else {
        let out = out.text(". The difference to the faster half is mostly ");
        let out = match waits_for {
            Some(callee) => out.text("waiting for ").service(callee).text(" in calls of "),
            None => out,
        };
        at(finding, out).text(": ")
    };
    let out = excess(out, facts).text(".");
    let out = match tag {
        Some(tag) => shared(out, tag, finding.n),
        None => out,
    };
    let out = without(out, &finding.place, *p99_us);
    let out = match of_all {
        Some(of_all) => {
            let service = match (waits_for, &finding.place) {
                (Some(callee), _) => out.text(" Over all requests, waiting for ").service(callee),
                (None, FindingPlace::Endpoint(endpoint)) => {
                    out.text(" Over all requests, the own work of ").service(&endpoint.service)
                }
                (None, _) => out.text(" Over all requests, it"),
            };
            service.text(" takes ").number(share(*of_all)).text(" of the latency.")
        }
        None => out,
    };
    in_other_types(out, facts)
}

fn in_other_types(out: Sentence, facts: &SlowTailFacts) -> Sentence {
    match facts.other_types {
        0 => out,
        n => out.text(" The same holds in ").number(counted(n, "other request type")).text("."),
    }
}

/// Says which requests are slow, how slow, and what the median is.
fn slow_requests(out: Sentence, (n, of): (u64, u64), facts: &SlowTailFacts) -> Sentence {
    let SlowTailFacts { root, latency_us, p50_us, is_only_in_tail, tail_p50_us, .. } = facts;
    let out = if *is_only_in_tail { out } else { out.text("The slowest ") };
    let out = out
        .number(count(n))
        .text(" of ")
        .number(counted(of, "request"))
        .text(" ")
        .name(&root.name())
        .text(if n == 1 { " takes " } else { " take " })
        .number(duration(latency_us.0 as f64))
        .text(" to ")
        .number(duration(latency_us.1 as f64));
    // Where fewer than a tenth are slow, the fastest of the tail says little.
    let out = if !is_only_in_tail && 3 * latency_us.0 < 2 * tail_p50_us {
        out.text(", half of them at least ").number(duration(*tail_p50_us as f64))
    } else {
        out
    };
    out.text("; the median is ").number(duration(*p50_us as f64))
}

/// Says how much more time slow requests spend in a place.
fn excess(out: Sentence, facts: &SlowTailFacts) -> Sentence {
    out.number(format::change(facts.excess_us))
        .text(" (")
        .number(between(facts.excess_interval, format::change))
        .text(")")
}

/// Says in which stretches of time slow requests start.
fn bursts(out: Sentence, finding: &Finding, facts: &BurstsFacts) -> Sentence {
    let BurstsFacts { bursts, .. } = facts;
    let lengths: Vec<String> =
        bursts.iter().map(|burst| format::duration_us(burst.to_us - burst.from_us - 1)).collect();
    let windows = match lengths.split_last() {
        Some((last, [])) => format!("one window of {last}"),
        Some((last, others)) => {
            format!("{} windows of {} and {last}", lengths.len(), others.join(", "))
        }
        None => String::new(),
    };
    let out = out.number(count(finding.n)).text(" of the ").number(counted(finding.of, "slowest request"));
    let held: u64 = bursts.iter().map(|burst| burst.requests).sum();
    out.text(" started within ")
        .number(windows)
        .text(", in which only ")
        .number(counted(held, "request"))
        .text(" of all started.")
}

/// Says what half of a self time would save.
fn worth_making_faster(out: Sentence, finding: &Finding, halved: &Halved) -> Sentence {
    let out = saved(at(finding, out.text("Halving the self time of ")), halved);
    some(finding, out.text("; "), "request").text(" would be faster.")
}

/// Says how many requests are unlike those of the baseline.
fn abnormal(out: Sentence, finding: &Finding, facts: &AbnormalFacts) -> Sentence {
    let AbnormalFacts { by_chance, has_drifted, reasons, .. } = facts;
    let out = if *has_drifted { out.text("The load or the release has changed: ") } else { out };
    let out = some(finding, out, "request").text(if *has_drifted {
        " are unlike those of A; by chance, "
    } else {
        " are abnormal; by chance, "
    });
    let out = out.number(few(*by_chance)).text(" would be");
    let said = reasons.iter().zip(["; in ", ", in "]);
    said.fold(out, |out, ((n, words), before)| {
        out.text(before).number(count(*n)).text(": ").text(&format::printable(words))
    })
    .text(".")
}

/// Says how much time passes in which nothing is recorded.
fn not_instrumented(out: Sentence, finding: &Finding, facts: &NotInstrumentedFacts) -> Sentence {
    let NotInstrumentedFacts { share: of_all, gap } = facts;
    let out = at(finding, out.number(share(*of_all)).text(" of the latency is self time of "));
    let out = out.text(" before, between and after its calls: nothing is recorded there");
    match gap {
        Some(gap) => longest_gap(out.text("; longest gap: "), gap).text("."),
        None => out.text("."),
    }
}

/// Says how long work goes on after the answer, and which takes most of that time.
fn work_after(out: Sentence, finding: &Finding, facts: &WorkAfterFacts) -> Sentence {
    let WorkAfterFacts { answer_us, done_us, largest } = facts;
    let out = at(finding, out.text("The answer of ")).text(" comes after ").number(duration(*answer_us));
    let out = out.text("; work goes on for ").number(duration(done_us - answer_us));
    match largest {
        None => out.text("."),
        Some((endpoint, us, is_queue)) => {
            let out = out.text(": ").number(duration(*us));
            let out = out.text(if *is_queue { " are waiting in " } else { " are " });
            out.name(endpoint).text(".")
        }
    }
}

/// Says how much of what was recorded no request waits for.
fn outside_requests(out: Sentence, finding: &Finding, facts: &OutsideRequestsFacts) -> Sentence {
    let OutsideRequestsFacts { share: of_all, us, missing, tops, mean_us } = facts;
    let out = out.number(share(*of_all)).text(" of the recorded time ");
    let out = match missing {
        None => out.text("is work that no request waits for: "),
        Some(missing) => {
            let out = out.text("hangs below ").number(counted(*missing, "span"));
            out.text(agreeing(*missing, " that is missing", " that are missing"))
                .text(" and is in no request: ")
        }
    };
    let out = out.number(counted(finding.n, "span")).text(" over ").number(format::duration_us(*us));
    let out = at(finding, out.text(". Most of it begins in ")).text(" (").number(counted(*tops, "span"));
    let out = out.text(" of ").number(duration(*mean_us)).text(" on average)");
    match missing {
        None => out.text(". Chosen as the root endpoint, these are requests of their own."),
        Some(_) => out.text(". Export whole traces, or choose it as root endpoint."),
    }
}

/// Says which calls run one after the other.
fn one_after_the_other(out: Sentence, finding: &Finding, facts: &OneAfterTheOtherFacts) -> Sentence {
    let OneAfterTheOtherFacts { group, model_error, grows_with } = facts;
    let out = match &group.calls.callees[..] {
        [only] => out.number(format!("{:.0} calls", group.mean_calls)).text(" of ").name(only),
        several => several.iter().enumerate().fold(out, |out, (at, callee)| {
            if at > 0 { out.text(", then ").name(callee) } else { out.name(callee) }
        }),
    };
    let out = out.text(" by ").name(&group.calls.parent).text(
        " always run one after the other, though nothing in the traces says \
                 that they must; side by side they would make ",
    );
    let out = some(finding, out, "request")
        .text(" faster and save ")
        .number(duration(group.saved_us.mean))
        .text(" of the mean");
    let out = match group.saved_us.p99.max(0.0) {
        us if us < 1.0 => out.text(", and nothing at p99"),
        us => out.text(" and ").number(duration(us)).text(" of p99"),
    };
    let out = match model_error {
        Some(error) => out.text(" (the model is ").number(off_words(*error)).text(" on held-out requests)."),
        None => out.text("."),
    };
    let (least, most) = group.numbers;
    match grows_with {
        _ if group.calls.callees.len() > 1 => out.text(
            " Look in the code whether one needs what the one before returns: traces cannot show that.",
        ),
        _ if least >= most => out,
        Some(grows) => {
            let out = out.text(" N+1: their number, ").number(format!("{least} to {most}"));
            let out = out.text(", grows with ");
            let out = match &grows.tag {
                Some(tag) => out.text(&format::printable(tag)).text(" of "),
                None => out.text("the duration of "),
            };
            out.name(&grows.endpoint)
                .text(", the call before them (r = ")
                .number(format!("{:.2}", grows.correlation))
                .text(").")
        }
        None => out.text(" Such runs have ").number(format!("{least} to {most}")).text(" calls."),
    }
}

/// Says at which duration calls end.
fn timeout(out: Sentence, finding: &Finding, facts: &TimeoutFacts) -> Sentence {
    let TimeoutFacts { duration_us, p50_us, is_stretch, stopped, .. } = facts;
    let out = at(finding, some(finding, out, "call").text(" of "));
    let out = out.text(if *is_stretch { " work or wait, with no call of their own, " } else { " take " });
    let out = out.number(duration(*duration_us));
    let out = if *p50_us > 0.0 {
        out.text(" within 2 %; the median is ").number(duration(*p50_us))
    } else {
        out.text(" within 2 %; half of all calls take less than ").number(duration(50_000.0))
    };
    let out = match stopped {
        0 => out,
        _ => out.text("; the caller stopped waiting for ").number(counted(*stopped, "call")),
    };
    out.text(". That looks like a timeout, or the delay of a retry.")
}

/// Says which calls repeat others.
fn redundant_calls(out: Sentence, finding: &Finding, facts: &RedundantFacts) -> Sentence {
    let RedundantFacts { repeats, by_same_caller, cost_us } = *facts;
    let out = some(finding, at(finding, out).text(" is called with what it was asked before in "), "request");
    let out = out
        .text("; each of the ")
        .number(counted(repeats, "repeat"))
        .text(" costs ")
        .number(duration(cost_us));
    match by_same_caller {
        0 => out.text(". Other callers ask than before: the answer could be cached for the request."),
        some if some == repeats => out.text(". The same span asks each time: it could be one call."),
        some => out
            .text(". In ")
            .number(count(some))
            .text(" of them the same span asks as before, which could be one call; the others could be cached for the request."),
    }
}

/// Says which calls are made again.
fn retries(out: Sentence, finding: &Finding, facts: &RetriesFacts) -> Sentence {
    let RetriesFacts { calls, cost_us } = facts;
    let out = some(finding, at(finding, out).text(" is called again after an error in "), "request");
    out.text("; each of the ")
        .number(counted(*calls, "repeat"))
        .text(" costs ")
        .number(duration(*cost_us))
        .text(".")
}

/// Says where errors begin and what they cost.
fn errors(out: Sentence, finding: &Finding, facts: &ErrorsFacts) -> Sentence {
    let ErrorsFacts { requests, ratio, saved } = facts;
    let out = out.number(count(*requests)).text(" of ").number(counted(finding.of, "request"));
    let out = match requests {
        1 => out.text(" contains errors; one begins in "),
        _ => out.text(" contain errors; in ").number(count(finding.n)).text(" of them one begins in "),
    };
    let out = at(finding, out).text(".");
    let out = match ratio {
        Some(ratio) => {
            let out = match times(*ratio) {
                same if same == times(1.0) => out.text(" They take as long"),
                other => out.text(" They take ").number(other).text(" as long"),
            };
            out.text(" as requests of their type without errors.")
        }
        None => out,
    };
    match saved {
        Some(saved) if *saved <= 0.0 => out.text(" The error spans cost no time."),
        Some(saved) => out.text(" The error spans cost ").number(share(*saved)).text(" of the latency."),
        None => out,
    }
}

/// Says how much slower requests with a tag are.
fn who(out: Sentence, finding: &Finding, facts: &WhoFacts) -> Sentence {
    let WhoFacts { root, ratio, ratio_interval, means_us, only_with, longer } = facts;
    let out = at(finding, out.text("Requests ").name(&root.name()).text(" with "))
        .text(" take ")
        .number(times(*ratio));
    let out = out
        .text(" as long as those with other values (")
        .number(between(*ratio_interval, |ratio| format!("{ratio:.1}")))
        .text("): ")
        .number(duration(means_us.0))
        .text(" against ")
        .number(duration(means_us.1))
        .text(" on average");
    let out = match only_with {
        Some((tag, explains)) => out
            .text(&format::printable(&format!(", only with {} = {}", tag.key, tag.value)))
            .text(": that pair explains at least ")
            .number(share(*explains))
            .text(" of the tail"),
        None => out,
    };
    takes_longer(out, longer.as_ref(), "; what takes longer with it is ").text(".")
}

/// Says since when a type is slower.
fn since_when(out: Sentence, finding: &Finding, facts: &SinceWhenFacts) -> Sentence {
    let SinceWhenFacts { from_us, p50_us, requests, longer, release } = facts;
    let out = at(finding, out.text("Since ").number(format!("{} UTC", format::moment(*from_us))).text(" "))
        .text(" takes ")
        .number(duration(p50_us.1))
        .text(" instead of ")
        .number(duration(p50_us.0))
        .text(&format!(" (medians of {} and {} requests)", count(requests.1), count(requests.0)));
    let out = takes_longer(out, longer.as_ref(), "; what takes longer then is ").text(".");
    release.iter().fold(out, |out, first| out.text(" ").then(deployments::release(first)))
}

/// Says what the data lacks.
fn read_with_care(out: Sentence, facts: &ReadWithCareFacts) -> Sentence {
    let ReadWithCareFacts { orphans, dropped, clipped, spans, rootless, skew } = facts;
    let out = out.text("Of ").number(counted(*spans, "span"));
    let facts = [
        (orphans, ["lacks its parent", "lack their parent"]),
        (dropped, ["lies outside its parent and is left out", "lie outside their parent and are left out"]),
        (clipped, ["is cut to its parent", "are cut to their parent"]),
    ];
    let part = |out: Sentence, n: u64, of: u64| {
        let out = out.number(count(n)).text(" (").number(share(n as f64 / of.max(1) as f64));
        out.text(")")
    };
    let out = (facts.into_iter().filter(|(n, _)| **n > 0)).fold(out, |out, (n, [one, many])| {
        part(out.text(", "), *n, *spans).text(" ").text(agreeing(*n, one, many))
    });
    let out = match skew {
        Some((skewed, [caller, callee], most)) => {
            let out = part(out.text("; clocks disagree, and could not be set, in "), *skewed, *spans);
            let out = out.text(if most == skewed { ", all between " } else { ", most between " });
            let out = out.text(&format::printable(caller)).text(" and ");
            out.text(&format::printable(callee))
        }
        None => out,
    };
    let out = match *rootless {
        (0, _) => out,
        (n, of) => {
            let out = part(out.text(". Of ").number(counted(of, "trace")).text(", "), n, of);
            out.text(agreeing(n, " lacks its root", " lack their root"))
        }
    };
    out.text(". All numbers are less certain for it.")
}

/// Returns which work runs beside that of a hot spot, if any was seen.
fn runs_beside(out: Sentence, beside: &[BesideCall]) -> Sentence {
    let Some(last) = beside.len().checked_sub(1) else { return out };
    let out = out.text(": ");
    let out = beside.iter().enumerate().fold(out, |out, (at, call)| {
        let out = match (at, call.is_after) {
            (0, _) => out,
            (_, true) => out.text(" \u{2192} "),
            (at, false) => out.text(if at == last { " and " } else { ", " }),
        };
        out.name(&call.endpoint)
    });
    // One way, or several at once.
    let is_one = beside.iter().skip(1).all(|call| call.is_after);
    out.text(if is_one { " runs beside it" } else { " run beside it" })
}

/// Says between which calls nothing is recorded longest.
fn longest_gap(out: Sentence, gap: &Gap) -> Sentence {
    let out = match &gap.between {
        [Some(before), Some(after)] if before == after => out.text("between two calls of ").name(before),
        [Some(before), Some(after)] => out.text("between ").name(before).text(" and ").name(after),
        [None, Some(after)] => out.text("before ").name(after),
        [Some(before), None] => out.text("after ").name(before),
        [None, None] => out.text("all of it"),
    };
    out.text(", ").number(duration(gap.mean_us as f64)).text(" on average")
}

/// Returns the tag that slow requests share.
fn shared(out: Sentence, tag: &SharedTag, n: u64) -> Sentence {
    let out = out.text(&format::printable(&format!(" They share {} = {}", tag.key, tag.value)));
    let out = match &tag.at {
        Some(place) => out.text(" on ").name(place),
        None => out,
    };
    out.text(": ")
        .number(format!("{} of {}", count(tag.slow), count(n)))
        .text(", ")
        .number(format!("{} of {}", count(tag.others), count(tag.of_others)))
        .text(" others.")
}

/// Returns what the 99th percentile of a request type would be without calls that only slow requests make.
fn without(out: Sentence, at: &FindingPlace, p99_us: Option<(f64, f64)>) -> Sentence {
    let Some((before, after)) = p99_us.filter(|(before, after)| after < before) else { return out };
    place(out.text(" Without "), at)
        .text(" p99 of this request type would fall by ")
        .number(duration(before - after))
        .text(" to ")
        .number(duration(after))
        .text(".")
}

/// Says how long messages wait, and of those of one set how long answers take.
fn queue(out: Sentence, facts: &QueueFacts) -> Sentence {
    let QueueFacts { sender, receiver, destination, mean_us, before_us, latency_us, .. } = facts;
    let out = queues::wait(out, (sender, receiver, destination), *mean_us, *before_us);
    let out = out.text("; ").number(counted(facts.messages, "message"));
    match (facts.path_us, before_us) {
        (Some(path_us), before) => {
            let more = if before.is_some() { " more" } else { "" };
            let out = out.text(". Until everything is done that is ").number(duration(path_us));
            out.text(&format!("{more} per request."))
        }
        (None, Some(_)) => out.text(". No answer waits for them."),
        (None, None) => out
            .text(". The answers come after ")
            .number(duration(*latency_us))
            .text(" and do not wait for them."),
    }
}

/// Returns what half of a self time would save.
fn saved(out: Sentence, halved: &Halved) -> Sentence {
    let out = out.text(" would save ").number(duration(halved.mean_us)).text(" per request");
    if !reaches_p99(halved) {
        return out.text(", and nothing at p99");
    }
    let out = out.text(", and ").number(duration(halved.p99_us)).text(" of ");
    out.number(duration(halved.p99_before_us)).text(" at p99")
}

/// Returns whether a saving is seen in the percentile.
pub(crate) fn reaches_p99(halved: &Halved) -> bool {
    halved.p99_us >= LEAST_CHANGE * halved.p99_before_us
}

/// Returns an expected number of requests.
fn few(n: f64) -> String {
    if n < 9.95 { format!("{n:.1}") } else { count(n.round() as u64) }
}

/// Returns how the second set differs from the first, and which service explains it.
fn changed(out: Sentence, report: &ServicesReport) -> Sentence {
    let [a, b] = report.mean_us;
    let change = report.mean_change();
    let looks_faster = report.looks_faster() && change.is_lt();
    // That visits end early is said with the reason: then it need not be said twice.
    let stops = matches!(report.headline(), Headline::Stops(_));
    let out = out.text(match change {
        Ordering::Greater => "B is slower",
        Ordering::Less if looks_faster && stops => "B looks faster",
        Ordering::Less if looks_faster => "B looks faster because calls vanish",
        Ordering::Less => "B is faster",
        Ordering::Equal => "The mean latency of B differs from that of A by no more than chance",
    });
    let ratio = b.max(a) / b.min(a).max(f64::MIN_POSITIVE);
    let is_clear = change.is_ne() && a.min(b) > 0.0 && ratio >= 1.05;
    let out = if is_clear { out.text(", ").number(times(ratio)) } else { out };
    let out = out.text(": mean ").number(compare::services::means(report)).text(". ");
    let vanished = compare::services::vanished_words(report);
    let out = match (report.vanished.is_empty(), looks_faster) {
        (true, _) => out.then(compare::services::explanation(report)),
        (false, true) if !stops => out
            .then(vanished)
            .text(". These are probably failures, not an improvement. ")
            .then(compare::services::explanation(report)),
        (false, _) => {
            let words = out.then(compare::services::explanation(report));
            let words = words.text(if stops { " " } else { " Calls vanish: " }).then(vanished);
            words.text(if looks_faster { ": probably failures, not an improvement." } else { "." })
        }
    };
    let failing = compare::services::failing_words(report);
    failing.into_iter().fold(out, |out, words| out.text(" ").then(words))
}
