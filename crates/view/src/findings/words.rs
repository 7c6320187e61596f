//! Findings as sentences; and what else cards, texts and Markdown say of them.

use crate::compare;
use crate::findings::links::show_words;
pub use crate::findings::why::why;
use crate::flow::prediction::off_words;
use crate::say::sentence::Sentence;
use pathlight_base::format::{self, agreeing, count, counted, duration, share};
use pathlight_base::statistics::Interval;
use pathlight_engine::findings::{
    BesideCall, Finding, FindingFacts, FindingKind, FindingPlace, FindingsReport, Gap, Halved, SharedTag,
};
use pathlight_engine::verdict::{ServicePart, ServicesReport};
use std::cmp::Ordering;

/// Writes both ends of an interval.
fn between(interval: Interval, words: impl Fn(f64) -> String) -> String {
    format!("{} to {}", words(interval.low), words(interval.high))
}

/// Returns a factor: `2.4 times`, `12 times`.
fn times(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1} times") } else { format!("{ratio:.0} times") }
}

/// Returns what a kind is called, on a card and as a heading.
pub fn kind_name(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Changed => "What changed",
        FindingKind::SlowTail => "Slow tail",
        FindingKind::Waiting => "Waiting for a service",
        FindingKind::Bursts => "Bursts",
        FindingKind::OneAfterTheOther => "One after the other",
        FindingKind::Timeout => "Looks like a timeout",
        FindingKind::Retries => "Retries",
        FindingKind::Errors => "Errors",
        FindingKind::Who => "Who is affected",
        FindingKind::SinceWhen => "Since when",
        FindingKind::HotSpot => "Hot spot",
        FindingKind::WorthMakingFaster => "Worth making faster",
        FindingKind::Abnormal => "Abnormal requests",
        FindingKind::NotInstrumented => "Not instrumented",
        FindingKind::OutsideRequests => "Outside these requests",
        FindingKind::ReadWithCare => "Read with care",
    }
}

fn place(sentence: Sentence, place: &FindingPlace) -> Sentence {
    match place {
        FindingPlace::Endpoint(endpoint) => sentence.name(endpoint),
        FindingPlace::RequestType(kind) => sentence.name(&kind.name()),
        FindingPlace::Service(service) => sentence.service(service),
        FindingPlace::Tag { key, value } => sentence.text(&format::printable(&format!("{key} = {value}"))),
        FindingPlace::Data => sentence.text("the data"),
    }
}

/// Returns what a finding says.
pub fn sentence(finding: &Finding) -> Sentence {
    let out = Sentence::default();
    let at = |out: Sentence| place(out, &finding.place);
    let some = |out: Sentence, noun: &str| {
        out.number(count(finding.n)).text(" of ").number(counted(finding.of, noun))
    };
    match &finding.facts {
        FindingFacts::Changed(report) => changed(out, report),
        FindingFacts::SlowTail {
            root,
            latency_us,
            p50_us,
            is_only_in_tail,
            excess_us,
            excess_interval,
            tag,
            p99_us,
            tail_p50_us,
            other_types,
            ..
        } => {
            let out = if *is_only_in_tail { out } else { out.text("The slowest ") };
            let out = some(out, "request")
                .text(" ")
                .name(&root.name())
                .text(if finding.n == 1 { " takes " } else { " take " })
                .number(duration(latency_us.0 as f64))
                .text(" to ")
                .number(duration(latency_us.1 as f64));
            // Where fewer than a tenth are slow, the fastest of the tail says little.
            let out = if !is_only_in_tail && 3 * latency_us.0 < 2 * tail_p50_us {
                out.text(", half of them at least ").number(duration(*tail_p50_us as f64))
            } else {
                out
            };
            let out = out.text("; the median is ").number(duration(*p50_us as f64));
            let out = if *is_only_in_tail {
                at(out.text(". They wait for ")).text(", which no request of the faster half does: ")
            } else {
                at(out.text(". The difference to the faster half is mostly ")).text(": ")
            };
            let out = out
                .number(format::change(*excess_us))
                .text(" (")
                .number(between(*excess_interval, format::change))
                .text(").");
            let out = match tag {
                Some(tag) => shared(out, tag, finding.n),
                None => out,
            };
            let out = without(out, finding, *p99_us);
            match other_types {
                0 => out,
                n => out.text(" The same holds in ").number(counted(*n, "other request type")).text("."),
            }
        }
        FindingFacts::Waiting { callee, wait_us, p50_us, .. } => {
            let out = at(out.text("Calls of ")).text(" wait ").number(duration(*wait_us)).text(" for ");
            let out = some(out.service(callee).text(" to begin or to answer, in "), "request");
            out.text("; the median is ").number(duration(*p50_us)).text(".")
        }
        FindingFacts::Bursts { bursts, .. } => {
            let lengths: Vec<String> =
                bursts.iter().map(|burst| format::duration_us(burst.to_us - burst.from_us - 1)).collect();
            let windows = match lengths.split_last() {
                Some((last, [])) => format!("one window of {last}"),
                Some((last, others)) => {
                    format!("{} windows of {} and {last}", lengths.len(), others.join(", "))
                }
                None => String::new(),
            };
            let out =
                out.number(count(finding.n)).text(" of the ").number(counted(finding.of, "slowest request"));
            let held: u64 = bursts.iter().map(|burst| burst.requests).sum();
            out.text(" started within ")
                .number(windows)
                .text(", in which only ")
                .number(counted(held, "request"))
                .text(" of all started.")
        }
        FindingFacts::WorthMakingFaster(halved) => {
            let out = saved(at(out.text("Halving the self time of ")), halved);
            some(out.text("; "), "request").text(" would be faster.")
        }
        FindingFacts::Abnormal { by_chance, has_drifted, reasons, .. } => {
            let out = if *has_drifted { out.text("The load or the release has changed: ") } else { out };
            let out = some(out, "request").text(if *has_drifted {
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
        FindingFacts::HotSpot {
            share: of_all,
            mean_us,
            latency_us,
            is_without_tails,
            endpoints,
            largest,
            halved,
            beside,
            gap,
        } => {
            let out = at(out).text(if largest.is_some() { " holds " } else { " takes " });
            let out = out
                .number(share(*of_all))
                .text(match is_without_tails {
                    true => " of the latency of all but the slowest requests of each type, ",
                    false => " of the latency, ",
                })
                .number(duration(*mean_us))
                .text(" of ")
                .number(duration(*latency_us))
                .text(" per request");
            let out = match largest {
                Some((endpoint, share_of_it)) => out
                    .text(", over ")
                    .number(counted(*endpoints, "endpoint"))
                    .text("; the largest is ")
                    .name(endpoint)
                    .text(" with ")
                    .number(share(*share_of_it))
                    .text("."),
                None => match halved {
                    None => out.text("."),
                    Some(halved) if halved.mean_us < LITTLE * mean_us => {
                        let out = out.text(", but halving its self time would save ");
                        let out = match halved.mean_us < 1.0 {
                            true => out.text("less than ").number(duration(1.0)),
                            false => out.text("only ").number(duration(halved.mean_us)),
                        };
                        runs_beside(out, beside)
                    }
                    Some(halved) => saved(out.text("; halving it"), halved).text("."),
                },
            };
            match gap {
                Some(gap) => {
                    let out =
                        out.text(" Before, between and after its calls nothing is recorded; longest gap: ");
                    longest_gap(out, gap).text(".")
                }
                None => out,
            }
        }
        FindingFacts::NotInstrumented { share: of_all, gap } => {
            let out = at(out.number(share(*of_all)).text(" of the latency is self time of "));
            let out = out.text(" before, between and after its calls: nothing is recorded there");
            match gap {
                Some(gap) => longest_gap(out.text("; longest gap: "), gap).text("."),
                None => out.text("."),
            }
        }
        FindingFacts::OutsideRequests { share: of_all, us, missing, tops, mean_us } => {
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
            let out = at(out.text(". Most of it begins in ")).text(" (").number(counted(*tops, "span"));
            let out = out.text(" of ").number(duration(*mean_us)).text(" on average)");
            match missing {
                None => out.text(". Chosen as the root endpoint, these are requests of their own."),
                Some(_) => out.text(". Export whole traces, or choose it as root endpoint."),
            }
        }
        FindingFacts::OneAfterTheOther {
            caller,
            calls,
            saving_us,
            saving_p95_us,
            model_error,
            numbers,
            grows_with,
        } => {
            let out = at(out.number(format!("{calls:.0} calls")).text(" of ")).text(" by ").name(caller);
            let out = some(out.text(" run one after the other in "), "request")
                .text("; side by side they would save up to ")
                .number(duration(*saving_us))
                .text(" each time (p95 ")
                .number(duration(*saving_p95_us));
            let out = match model_error {
                Some(error) => {
                    out.text("; the model is ").number(off_words(*error)).text(" on held-out requests).")
                }
                None => out.text(")."),
            };
            let (least, most) = *numbers;
            match grows_with {
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
        FindingFacts::Timeout { duration_us, p50_us, is_stretch, stopped, .. } => {
            let out = at(some(out, "call").text(" of "));
            let out =
                out.text(if *is_stretch { " work or wait, with no call of their own, " } else { " take " });
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
        FindingFacts::Retries { calls, cost_us } => {
            let out = some(at(out).text(" is called again after an error in "), "request");
            out.text("; each of the ")
                .number(counted(*calls, "repeat"))
                .text(" costs ")
                .number(duration(*cost_us))
                .text(".")
        }
        FindingFacts::Errors { requests, ratio, saved } => {
            let out = out.number(count(*requests)).text(" of ").number(counted(finding.of, "request"));
            let out = match requests {
                1 => out.text(" contains errors; one begins in "),
                _ => {
                    out.text(" contain errors; in ").number(count(finding.n)).text(" of them one begins in ")
                }
            };
            let out = at(out).text(".");
            let out = match ratio {
                Some(ratio) => out
                    .text(" They take ")
                    .number(times(*ratio))
                    .text(" as long as requests of their type without errors."),
                None => out,
            };
            match saved {
                Some(saved) if *saved <= 0.0 => out.text(" The error spans cost no time."),
                Some(saved) => {
                    out.text(" The error spans cost ").number(share(*saved)).text(" of the latency.")
                }
                None => out,
            }
        }
        FindingFacts::Who { root, ratio, ratio_interval, means_us, only_with } => {
            let out = at(out.text("Requests ").name(&root.name()).text(" with "))
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
            match only_with {
                Some((tag, explains)) => out
                    .text(&format::printable(&format!(", only with {} = {}", tag.key, tag.value)))
                    .text(": that pair explains at least ")
                    .number(share(*explains))
                    .text(" of the tail."),
                None => out.text("."),
            }
        }
        FindingFacts::SinceWhen { from_us, p50_us, requests, change } => {
            let out = at(out.text("Since ").number(format!("{} UTC", format::moment(*from_us))).text(" "))
                .text(" takes ")
                .number(duration(p50_us.1))
                .text(" instead of ")
                .number(duration(p50_us.0))
                .text(&format!(" (medians of {} and {} requests)", count(requests.1), count(requests.0)));
            match change {
                Some(change) => {
                    let out = out.text("; what changed then is ");
                    let out = match change.part {
                        ServicePart::Own => out.service(&change.service).text("'s own work: "),
                        ServicePart::In => out.text("calls into ").service(&change.service).text(": "),
                        ServicePart::Out => out.text("calls that ").service(&change.service).text(" makes: "),
                    };
                    out.number(format::change(change.excess_us)).text(" per request.")
                }
                None => out.text("."),
            }
        }
        FindingFacts::ReadWithCare { orphans, dropped, clipped, spans, rootless, skew } => {
            let out = out.text("Of ").number(counted(*spans, "span"));
            let facts = [
                (orphans, ["lacks its parent", "lack their parent"]),
                (
                    dropped,
                    ["lies outside its parent and is left out", "lie outside their parent and are left out"],
                ),
                (clipped, ["is cut to its parent", "are cut to their parent"]),
            ];
            let some = |out: Sentence, n: u64, of: u64| {
                let out = out.number(count(n)).text(" (").number(share(n as f64 / of.max(1) as f64));
                out.text(")")
            };
            let out = (facts.into_iter().filter(|(n, _)| **n > 0)).fold(out, |out, (n, [one, many])| {
                some(out.text(", "), *n, *spans).text(" ").text(agreeing(*n, one, many))
            });
            let out = match skew {
                Some((skewed, [caller, callee], most)) => {
                    let out = some(out.text("; clocks disagree, and could not be set, in "), *skewed, *spans);
                    let out = out.text(if most == skewed { ", all between " } else { ", most between " });
                    let out = out.text(&format::printable(caller)).text(" and ");
                    out.text(&format::printable(callee))
                }
                None => out,
            };
            let out = match *rootless {
                (0, _) => out,
                (n, of) => {
                    let out = some(out.text(". Of ").number(counted(of, "trace")).text(", "), n, of);
                    out.text(agreeing(n, " lacks its root", " lack their root"))
                }
            };
            out.text(". All numbers are less certain for it.")
        }
    }
}

/// Half of a self time saves half of it, unless other work runs beside it: less than this part of it is little.
const LITTLE: f64 = 0.1;

/// Returns which work runs beside that of a hot spot, if any was seen.
fn runs_beside(out: Sentence, beside: &[BesideCall]) -> Sentence {
    let Some(last) = beside.len().checked_sub(1) else { return out.text(".") };
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
    out.text(if is_one { " runs beside it." } else { " run beside it." })
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
fn without(out: Sentence, finding: &Finding, p99_us: Option<(f64, f64)>) -> Sentence {
    let Some((before, after)) = p99_us.filter(|(before, after)| after < before) else { return out };
    place(out.text(" Without "), &finding.place)
        .text(" p99 of this request type would fall by ")
        .number(duration(before - after))
        .text(" to ")
        .number(duration(after))
        .text(".")
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
    halved.p99_us >= 0.005 * halved.p99_before_us
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
    let out = out.text(match change {
        Ordering::Greater => "B is slower",
        Ordering::Less if looks_faster => "B looks faster because calls vanish",
        Ordering::Less => "B is faster",
        Ordering::Equal => "The mean latency of B differs from that of A by no more than chance",
    });
    let ratio = b.max(a) / b.min(a).max(f64::MIN_POSITIVE);
    let is_clear = change.is_ne() && a.min(b) > 0.0 && ratio >= 1.05;
    let out = if is_clear { out.text(", ").number(times(ratio)) } else { out };
    let out = out.text(": mean ").number(compare::services::means(report)).text(". ");
    let out = match (report.vanished.is_empty(), looks_faster) {
        (true, _) => out.then(compare::services::explanation(report)),
        (false, true) => {
            let words = out.then(compare::services::vanished_words(report));
            words
                .text(". These are probably failures, not an improvement. ")
                .then(compare::services::explanation(report))
        }
        (false, false) => {
            let words = out.then(compare::services::explanation(report)).text(" Calls vanish: ");
            words.then(compare::services::vanished_words(report)).text(".")
        }
    };
    let failing = compare::services::failing_words(report);
    failing.into_iter().fold(out, |out, words| out.text(" ").then(words))
}

/// Returns what a finding costs, in a few words; empty where time is not what it is about.
pub fn stake(finding: &Finding) -> String {
    if finding.stake_us <= 0.0 {
        return String::new();
    }
    let each = format!("{} per request", duration(finding.stake_us));
    match finding.interval {
        Some(interval) => format!("{each} ({})", between(interval, duration)),
        None => each,
    }
}

/// Returns the first finding in words, which stands above all in a saved report; empty without requests.
pub fn headline(report: &FindingsReport) -> String {
    match report.findings.first() {
        Some(first) => format!("{}: {}", kind_name(first.kind()), sentence(first).to_text()),
        None if report.facts.requests == 0 => String::new(),
        None => nothing(report),
    }
}

/// Returns what is said where nothing stands out.
pub fn nothing(report: &FindingsReport) -> String {
    format!(
        "Nothing stands out in {}: no difference beyond chance, and no place with 5 % of the latency.",
        counted(report.facts.requests, "request")
    )
}

/// Returns the note about findings that are not listed; empty if all are.
pub fn left_out(report: &FindingsReport) -> String {
    match report.left_out {
        0 => String::new(),
        more => format!("{} with less at stake not listed.", counted(more, "other finding")),
    }
}

/// Returns which requests the findings are about, with their latency.
pub fn about(report: &FindingsReport) -> String {
    let latency = &report.facts.latency_us;
    format!(
        "{}, latency p50 {}, p95 {}, p99 {}",
        counted(report.facts.requests, "request"),
        duration(latency.p50),
        duration(latency.p95),
        duration(latency.p99)
    )
}

/// Returns the findings as plain text, numbered.
pub fn to_text(report: &FindingsReport) -> String {
    let mut out = about(report) + "\n\n";
    for (number, finding) in report.findings.iter().enumerate() {
        let cost = stake(finding);
        let cost = if cost.is_empty() { cost } else { format!(" [{cost}]") };
        let name = kind_name(finding.kind());
        let before = if finding.is_as_before { " The same holds in A." } else { "" };
        out.push_str(&format!("{:2}. {name}: {}{before}{cost}\n", number + 1, sentence(finding).to_text()));
    }
    if report.left_out > 0 {
        out.push_str(&format!("    {}\n", left_out(report)));
    }
    if report.findings.is_empty() {
        out.push_str(&nothing(report));
        out.push('\n');
    }
    out
}

/// Files named one by one in a note.
const FILES: usize = 5;

/// Returns the names of files as a list; of many the first few.
pub fn files(names: &[&str]) -> String {
    let more = names.len().saturating_sub(FILES) as u64;
    let named = names[..names.len().min(FILES)].join(", ");
    if more > 0 { format!("{named} and {} more", count(more)) } else { named }
}

/// Gives the address of the page that shows the evidence of a finding, or all findings.
pub type LinkTo<'a> = dyn Fn(Option<&Finding>) -> String + 'a;

/// Returns the findings as an incident note in Markdown: what was found, how sure, where to look. `loaded` says what was
/// looked at; `link` gives the address of the page that shows the evidence of a finding, or all findings.
pub fn to_markdown(report: &FindingsReport, loaded: &str, link: Option<&LinkTo>) -> String {
    let mut out = format!("## Findings\n\n{}\n\n", about(report));
    if !loaded.is_empty() {
        out.push_str(&format!("Loaded: {}\n\n", format::printable(loaded).replace('<', "&lt;")));
    }
    // Brackets would end a link of Markdown.
    let link = link
        .map(|link| move |finding: Option<&Finding>| link(finding).replace('(', "%28").replace(')', "%29"));
    for finding in &report.findings {
        out.push_str(&format!("1. *{}.* {}", kind_name(finding.kind()), sentence(finding).to_markdown()));
        if finding.is_as_before {
            out.push_str(" The same holds in A.");
        }
        let cost = stake(finding);
        if !cost.is_empty() {
            out.push_str(&format!(" Costs {cost}."));
        }
        if let Some(example) = &finding.example {
            out.push_str(&format!(" Example: trace `{}`.", example.trace_id));
        }
        if let Some(link) = &link {
            out.push_str(&format!(" [{}]({})", show_words(finding), link(Some(finding))));
        }
        out.push('\n');
    }
    if report.left_out > 0 {
        out.push_str(&format!("\n{}\n", left_out(report)));
    }
    if report.findings.is_empty() {
        out.push_str(&nothing(report));
        out.push('\n');
    }
    if let Some(link) = link {
        out.push_str(&format!("\n[Open in Pathlight]({})\n", link(None)));
    }
    out
}
