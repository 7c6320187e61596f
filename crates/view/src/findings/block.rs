//! A finding at a glance: one sentence, its cost beside the whole, and a few facts.

use crate::compare::services::{callers, in_short};
use crate::findings::sentences::{between, falls, plain, share_details, takes_share, times};
use crate::say::sentence::Sentence;
use pathlight_base::format::{self, change, count, counted, duration, printable, share};
use pathlight_base::statistics::LogHistogram;
use pathlight_engine::findings::{
    Finding, FindingFacts, FindingKind, FindingPlace, FindingsReport, SinceWhenFacts,
};
use pathlight_engine::verdict::ServicePart;

/// A fact: a few digits or words, and what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Said large.
    pub value: String,
    /// Said below it.
    pub words: String,
    /// Whether it is the latency if the subject took what is usual, which a what-if shows.
    pub is_mended: bool,
}

/// What a finding costs, beside the whole of it.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingCost {
    /// The cost per request.
    pub amount: String,
    /// What it is a part of, and which.
    pub of: String,
    /// The part, 0 to 1.
    pub share: f64,
    /// Whether time is waited, not worked.
    pub is_waiting: bool,
}

/// Facts of a finding at most.
const MOST: usize = 4;
/// Names that are listed in a fact.
const NAMED: usize = 3;

/// Returns the finding as one sentence, and what else it says, in paragraphs.
pub fn headline(finding: &Finding) -> (Sentence, Vec<Sentence>) {
    let (first, rest) = match &finding.facts {
        FindingFacts::Changed(report) => match in_short(report) {
            Some(said) => said,
            // That B is slower, and why, are two sentences.
            None => first_two(finding),
        },
        FindingFacts::Cost(facts) => {
            return (takes_share(Sentence::default(), facts).text("."), share_details(facts));
        }
        // When the answer comes says nothing without how long work goes on.
        FindingFacts::WorkAfter(_) => first_two(finding),
        _ => plain(finding).split(),
    };
    (first, vec![rest])
}

/// Returns the first two sentences of a finding as one, and the rest.
fn first_two(finding: &Finding) -> (Sentence, Sentence) {
    let (first, rest) = plain(finding).split();
    let (second, rest) = rest.split();
    (first.text(" ").then(second), rest)
}

/// Returns what a finding costs beside the mean latency, or beside the change of it; `None` where time is not what it is about.
pub fn cost(finding: &Finding, report: &FindingsReport) -> Option<FindingCost> {
    if finding.stake_us <= 0.0 {
        return None;
    }
    let is_waiting = finding.subject().is_some_and(|subject| subject.part != ServicePart::Own)
        || matches!(
            finding.kind(),
            FindingKind::Timeout
                | FindingKind::Retries
                | FindingKind::RedundantCalls
                | FindingKind::PoolWaits
        );
    let (amount, of_us, of) = match &finding.facts {
        FindingFacts::Changed(report) => {
            let whole_us = report.mean_us[1] - report.mean_us[0];
            (change(finding.stake_us), whole_us, change(whole_us))
        }
        _ => {
            let whole_us = report.facts.latency_us.mean;
            (duration(finding.stake_us), whole_us, duration(whole_us))
        }
    };
    let part = finding.stake_us / of_us.max(f64::MIN_POSITIVE);
    let of = match (of_us > 0.0, part <= 1.0) {
        (true, true) => format!("of {of} per request, {}", share(part)),
        (true, false) => format!("per request; in all {of}"),
        (false, _) => "per request".to_owned(),
    };
    Some(FindingCost { amount, of, share: part.clamp(0.0, 1.0), is_waiting })
}

/// Returns at most four facts: who is hit, since when, callers, how sure, and what if it were mended.
pub fn facts(finding: &Finding) -> Vec<Fact> {
    let fact = |value: String, words: String| Fact { value, words, is_mended: false };
    let of = |n: u64, of: u64| format!("{} of {}", count(n), count(of));
    let mut out = Vec::new();
    match (finding.hit, &finding.facts) {
        (Some(hit), _) if hit.judged > 0 => {
            let more = match hit.too_few {
                0 => String::new(),
                more => format!("; {} too rare to say", count(more)),
            };
            out.push(fact(of(hit.hit, hit.judged), format!("requests are hit{more}")));
        }
        (
            _,
            FindingFacts::SlowTail(_)
            | FindingFacts::Retries(_)
            | FindingFacts::RedundantCalls(_)
            | FindingFacts::PoolWaits(_)
            | FindingFacts::OneAfterTheOther(_)
            | FindingFacts::SlowerPlace(_),
        ) => {
            out.push(fact(of(finding.n, finding.of), "requests".to_owned()));
        }
        (_, FindingFacts::Timeout(_)) => out.push(fact(of(finding.n, finding.of), "calls".to_owned())),
        (_, FindingFacts::Errors(facts)) => {
            out.push(fact(of(facts.requests, finding.of), "requests have errors".to_owned()));
        }
        _ => {}
    }
    for (first, others) in finding.explained() {
        let and = match others.len() as u64 {
            0 => String::new(),
            more if first.kind() == FindingKind::Who => format!("; {} too", counted(more, "other tag")),
            more => format!("; {} too", counted(more, "other type")),
        };
        match (&first.facts, &first.place) {
            (FindingFacts::SinceWhen(SinceWhenFacts { from_us, p50_us, .. }), _) => {
                let moment = format::moment(*from_us);
                let to_second = moment.split('.').next().unwrap_or_default();
                let (before, after) = (duration(p50_us.0), duration(p50_us.1));
                let words = format!("UTC, p50 {before} \u{2192} {after}{and}");
                out.push(fact(format!("since {to_second}"), words));
            }
            (FindingFacts::Who(facts), FindingPlace::Tag { key, value }) => {
                let words = printable(&format!("as long with {key} = {value}{and}"));
                out.push(fact(times(facts.ratio), words));
            }
            _ => {}
        }
    }
    let callers = match &finding.facts {
        FindingFacts::Changed(report) => report.culprit().map(callers).unwrap_or_default(),
        FindingFacts::Cost(facts) if facts.cost.lead() == ServicePart::In => {
            facts.cost.others.iter().map(|(name, _)| name.clone()).collect()
        }
        _ => Vec::new(),
    };
    if !callers.is_empty() {
        let names: Vec<String> = callers.iter().take(NAMED).map(|name| printable(name)).collect();
        let more = if callers.len() > NAMED { "\u{2026}" } else { "" };
        out.push(fact(counted(callers.len() as u64, "caller"), names.join(", ") + more));
    }
    if let Some(interval) = finding.interval.filter(|_| finding.stake_us > 0.0) {
        out.push(fact(between(interval, duration), "per request, 95\u{202f}% sure".to_owned()));
    }
    let mended = finding.mended.as_ref().and_then(|mended| falls(mended).last());
    // What is known of these requests comes before how sure the mean is.
    out.truncate(MOST - usize::from(mended.is_some()));
    if let Some((name, now, then)) = mended {
        out.push(Fact {
            value: format!("{name} {} \u{2192} {}", duration(now), duration(then)),
            words: "if it took what is usual".to_owned(),
            is_mended: true,
        });
    }
    out
}

/// Latencies of both sides as two pictures of one size: filled areas as the data of SVG paths, A and B, and the least and
/// greatest latency.
#[derive(Clone, Debug, PartialEq)]
pub struct PairOfAreas {
    /// The areas of A and B.
    pub paths: [String; 2],
    /// What stands below the left and the right end.
    pub ends: [String; 2],
}

/// Returns the latencies of both sides on one logarithmic axis in a picture of this size; `None` if a side has no request.
pub fn pair_of_areas(a: &LogHistogram, b: &LogHistogram, (width, height): (f64, f64)) -> Option<PairOfAreas> {
    let ends = |of: &LogHistogram| Some((*of.edges_us.first()?, *of.edges_us.last()?));
    let ((a_low, a_high), (b_low, b_high)) = (ends(a)?, ends(b)?);
    let (low, high) = (a_low.min(b_low), a_high.max(b_high));
    let place = |us: u64| (us as f64 + 1.0).ln();
    let x = |us: u64| (place(us) - place(low)) / (place(high) - place(low)).max(f64::MIN_POSITIVE) * width;
    let path = |of: &LogHistogram| {
        let most = of.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let mut out = String::new();
        for (edges, &n) in of.edges_us.windows(2).zip(&of.counts).filter(|(_, n)| **n > 0) {
            let (from, to, up) = (x(edges[0]), x(edges[1]), (n as f64 / most * height).max(1.0));
            out += &format!("M{from:.1} {height:.1}v-{up:.1}h{:.1}v{up:.1}z", (to - from).max(1.0));
        }
        out
    };
    Some(PairOfAreas { paths: [path(a), path(b)], ends: [low, high].map(format::duration_us) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::charts;
    use crate::findings::words::sentence;
    use pathlight_base::statistics::{Interval, Percentiles};
    use pathlight_engine::findings::{ErrorsFacts, FindingPlace, WorkAfterFacts};
    use pathlight_engine::flow::MendedLatency;
    use pathlight_engine::requests::RangeFacts;
    use pathlight_engine::verdict::one_set::{PartCost, ServiceCost};
    use pathlight_engine::verdict::{Excess, HitRequests, Lead, ServiceChange, ServicesReport};

    fn finding(facts: FindingFacts, stake_us: f64) -> Finding {
        Finding {
            place: FindingPlace::Service("cart".to_owned()),
            stake_us,
            interval: Some(Interval { low: 5000.0, high: 20_000.0 }),
            points: Vec::new(),
            ..charts::tests::finding(facts)
        }
    }

    fn changed() -> ServicesReport {
        let lead = Lead {
            part: ServicePart::In,
            excess: Excess { excess_us: 80_000.0, uncertainty_us: 1000.0 },
            per_call_us: [2000.0, 52_000.0],
            calls: [100, 100],
            slower: None,
            is_whole: false,
            slower_callees: None,
            only_caller: None,
            only_callee: None,
        };
        let service = "cart".to_owned();
        let row = ServiceChange {
            service,
            score_us: 1.0,
            rank: Some(1),
            lead: Some(lead),
            ..ServiceChange::default()
        };
        ServicesReport {
            requests: [50, 50],
            mean_us: [50_000.0, 150_000.0],
            services: vec![row],
            ..ServicesReport::default()
        }
    }

    #[test]
    fn an_answer_is_not_said_without_the_work_after_it() {
        let facts = WorkAfterFacts { answer_us: 18_000.0, done_us: 1_118_000.0, largest: None };
        let words = headline(&finding(FindingFacts::WorkAfter(facts), 0.0)).0.to_text();
        assert!(words.contains("comes after 18") && words.contains("ork goes on for 1.1"), "{words}");
    }

    #[test]
    fn what_changed_is_one_sentence_with_its_cost_of_the_change() {
        let found = finding(FindingFacts::Changed(changed()), 80_000.0);
        let (first, rest) = headline(&found);
        assert_eq!(
            first.to_text(),
            "B is 3.0 times slower: calls wait 52.0\u{202f}ms for cart to answer, 2.00\u{202f}ms before."
        );
        assert!(rest[0].to_text().contains("connection pools of its callers"), "{}", rest[0].to_text());
        let cost = cost(&found, &FindingsReport::default()).unwrap();
        assert_eq!((cost.amount.as_str(), cost.is_waiting), ("+80.0\u{202f}ms", true));
        assert_eq!(cost.of, "of +100\u{202f}ms per request, 80.0\u{202f}%");
        // A set that is faster all the same says so in full.
        let faster = ServicesReport { mean_us: [150_000.0, 50_000.0], ..changed() };
        let (first, _) = headline(&finding(FindingFacts::Changed(faster), 80_000.0));
        assert!(first.to_text().starts_with("B is faster"), "{}", first.to_text());
    }

    #[test]
    fn facts_are_at_most_four_and_the_last_is_what_would_be() {
        let mut found = finding(FindingFacts::Changed(changed()), 80_000.0);
        found.hit = Some(HitRequests { hit: 40, judged: 50, too_few: 0 });
        let (before, after) = (
            Percentiles { p50: 10.0, p95: 1e6, p99: 2e6, ..Percentiles::default() },
            Percentiles { p50: 10.0, p95: 5e5, p99: 1e6, ..Percentiles::default() },
        );
        found.mended = Some(MendedLatency { before_us: before, after_us: after, changed: 40 });
        let said = facts(&found);
        assert!(said.len() <= 4, "{said:?}");
        assert_eq!((said[0].value.as_str(), said[0].words.as_str()), ("40 of 50", "requests are hit"));
        let last = said.last().unwrap();
        assert_eq!((last.value.as_str(), last.is_mended), ("p99 2.00\u{202f}s \u{2192} 1.00\u{202f}s", true));
    }

    #[test]
    fn a_cost_is_said_of_the_mean_latency_and_errors_without_time_have_none() {
        let part = PartCost {
            part: ServicePart::Own,
            mean_us: 25_000.0,
            interval: Interval { low: 20_000.0, high: 30_000.0 },
            cost_us: 10_000.0,
        };
        let service =
            ServiceCost { service: "cart".to_owned(), parts: vec![part], others: Vec::new(), requests: 9 };
        let facts = pathlight_engine::findings::CostFacts {
            cost: service,
            latency_us: 100_000.0,
            is_certain: true,
            endpoints: 1,
            largest: None,
            halved: None,
            beside: Vec::new(),
            gap: None,
            tail: None,
        };
        let found = finding(FindingFacts::Cost(Box::new(facts)), 25_000.0);
        assert_eq!(headline(&found).0.to_text(), "The own work of cart takes 25.0\u{202f}% of the latency.");
        let latency_us = Percentiles { mean: 100_000.0, ..Percentiles::default() };
        let of = FindingsReport {
            facts: RangeFacts { latency_us, ..RangeFacts::default() },
            ..FindingsReport::default()
        };
        let said = cost(&found, &of).unwrap();
        assert_eq!((said.share, said.is_waiting), (0.25, false));
        let errors = ErrorsFacts { requests: 1, ratio: None, saved: None };
        assert_eq!(cost(&finding(FindingFacts::Errors(errors), 0.0), &of), None);
    }

    #[test]
    fn requests_with_errors_that_take_as_long_as_others_are_said_to() {
        let said = |ratio| {
            let errors = ErrorsFacts { requests: 1, ratio: Some(ratio), saved: None };
            sentence(&finding(FindingFacts::Errors(errors), 0.0)).to_text()
        };
        assert!(said(1.04).contains(" They take as long as requests of "), "{}", said(1.04));
        assert!(said(1.06).contains(" They take 1.1 times as long as requests of "));
    }

    #[test]
    fn both_sides_are_drawn_on_one_axis() {
        let fast = LogHistogram::of_sorted(&[1_000, 1_100], 10);
        let slow = LogHistogram::of_sorted(&[1_000_000], 10);
        let pair = pair_of_areas(&fast, &slow, (300.0, 60.0)).unwrap();
        assert!(pair.paths[0].starts_with("M0.0 60.0v-60.0"), "{:?}", pair.paths);
        assert!(
            pair.paths[1].starts_with("M300.0 ") || pair.paths[1].starts_with("M299"),
            "{:?}",
            pair.paths
        );
        assert_eq!(pair_of_areas(&fast, &LogHistogram::default(), (300.0, 60.0)), None);
    }
}
