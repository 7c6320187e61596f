//! Judged requests beside those that the verdict on two sets counts as hit: where both agree, and why not
//! (`docs/definitions/anomaly.md` section 3, *Delayed, and hit*).

use super::groups::GroupLine;
use super::sides;
use crate::address::Address;
use crate::anomalies::normal;
use crate::anomalies::settings::JudgedAgainst;
use crate::say::sentence::Sentence;
use crate::say::subject::{longer_than_usual, takes};
use pathlight_base::format::{agreeing, count, duration_us, printable, share};
use pathlight_engine::anomalies::{AnomalyReport, AnomalyRow, Detector};
use pathlight_engine::queries::VerdictHits;
use pathlight_engine::verdict::{ServicePart, SubjectHits, SubjectRow};

/// Returns the query for the requests that the verdict's subject hits, of those that are judged; `None` where no set A says
/// what is normal. `has_model` says whether a loaded baseline judges.
pub fn query(address: &Address, has_model: bool) -> Option<VerdictHits> {
    let is_of_sets = normal(address) == JudgedAgainst::SetA && !has_model && !address.anomaly.vae;
    is_of_sets.then(|| {
        let (a, b) = sides(address);
        VerdictHits { a, b }
    })
}

/// Returns the requests hit that there is something to say about: none where no delay was tested.
pub fn comparable<'a>(report: &AnomalyReport, hits: Option<&'a SubjectHits>) -> Option<&'a SubjectHits> {
    let is_judged = report.has_verdicts && report.has_delays && report.detector == Detector::Tree;
    hits.filter(|hits| is_judged && hits.rows.iter().any(|row| row.limit_us.is_some()))
}

/// Judged requests by whether they are hit and whether they are delayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HitRows {
    /// Rows of the report that are both.
    pub both: Vec<usize>,
    /// Those that are hit and not delayed.
    pub only_hit: Vec<usize>,
    /// Those that are delayed and not hit.
    pub only_delayed: Vec<usize>,
}

impl HitRows {
    /// Divides the rows of a report.
    pub fn of(report: &AnomalyReport, hits: &SubjectHits) -> HitRows {
        let mut out = HitRows::default();
        for (at, row) in report.rows.iter().enumerate() {
            let is_hit = hits.of(&row.request).is_some_and(SubjectRow::is_hit);
            match (is_hit, report.is_delayed(row)) {
                (true, true) => out.both.push(at),
                (true, false) => out.only_hit.push(at),
                (false, true) => out.only_delayed.push(at),
                (false, false) => {}
            }
        }
        out
    }
}

/// Returns how many requests are hit, how many of these are delayed, and why the others are not.
pub fn summary(report: &AnomalyReport, hits: &SubjectHits) -> String {
    let HitRows { both, only_hit, only_delayed } = HitRows::of(report, hits);
    let [both, only_hit, only_delayed] = [both, only_hit, only_delayed].map(|rows| rows.len() as u64);
    let mut words = longer_than_usual(Sentence::default(), hits.counts(), &hits.subject).to_text();
    if both + only_hit > 0 {
        words += &match (both, only_hit) {
            (_, 0) => " All of these are delayed.".to_owned(),
            (0, _) => " None of these is delayed".to_owned(),
            _ => format!(
                " Of these, {} delayed; {}",
                agreeing_count(both, "is", "are"),
                agreeing_count(only_hit, "is not", "are not")
            ),
        };
        if only_hit > 0 {
            words += &format!(
                ": {} self times are within what the baseline has, for any caller and request type, or no further beyond it \
                 than in some requests of the baseline.",
                agreeing(only_hit, "its", "their")
            );
        }
    }
    if only_delayed > 0 {
        words += &format!(
            " {} delayed and not hit: another place delays {}, or too few like {} are known.",
            agreeing_count(only_delayed, "other is", "others are"),
            agreeing(only_delayed, "it", "them"),
            agreeing(only_delayed, "it", "them"),
        );
    }
    words
}

fn agreeing_count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), agreeing(n, one, many))
}

/// Returns the requests about which both disagree, to be kept in all views.
pub fn lines(report: &AnomalyReport, hits: &SubjectHits) -> Vec<GroupLine> {
    let HitRows { only_hit, only_delayed, .. } = HitRows::of(report, hits);
    let line = |(rows, words): (Vec<usize>, &str)| {
        let requests = rows.len() as u64;
        GroupLine { requests, words: format!("{} {words}", count(requests)), rows }
    };
    let lines = [(only_hit, "hit, not delayed"), (only_delayed, "delayed, not hit")].map(line);
    lines.into_iter().filter(|line| line.requests > 0).collect()
}

/// Returns whether a request is hit; `None` where it does not use the subject, or too few of its type are known.
pub fn is_hit(hits: &SubjectHits, row: &AnomalyRow) -> Option<bool> {
    hits.of(&row.request).filter(|found| found.limit_us.is_some()).map(SubjectRow::is_hit)
}

/// Returns whether a request is hit and delayed, and why if only one of them; `None` if it is neither.
pub fn words(report: &AnomalyReport, hits: &SubjectHits, row: &AnomalyRow) -> Option<String> {
    let (found, is_delayed) = (hits.of(&row.request), report.is_delayed(row));
    let is_hit = found.is_some_and(SubjectRow::is_hit);
    let times = || times_words(hits, found);
    match (is_hit, is_delayed) {
        (true, true) => Some(format!("Hit, and delayed: {}.", times())),
        (true, false) => Some(format!("Hit, but not delayed: {}; {}.", times(), why_not_delayed(row))),
        (false, true) => Some(format!("Delayed, but not hit: {}.", times())),
        (false, false) => None,
    }
}

/// Returns what a subject takes in a request, and what is usual.
fn times_words(hits: &SubjectHits, found: Option<&SubjectRow>) -> String {
    let (service, part) = (&hits.subject.service, hits.subject.part);
    let Some(SubjectRow { time_us, limit_us, .. }) = found else {
        let service = printable(service);
        return match part {
            ServicePart::Own => format!("{service} does no work in it, so another place delays it"),
            ServicePart::In => format!("it does not wait for {service}, so another place delays it"),
            ServicePart::Out => format!("{service} makes no calls in it, so another place delays it"),
        };
    };
    let takes = lower_first(&takes(Sentence::default(), service, part).to_text());
    let takes = format!("{takes}{} in it", duration_us(*time_us));
    match limit_us {
        Some(limit_us) => format!("{takes}, and up to {} is usual for its type", duration_us(*limit_us)),
        None => format!("{takes}, and too few requests of its type are known to say what is usual"),
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn why_not_delayed(row: &AnomalyRow) -> String {
    match row.p_delayed {
        // Every request of the baseline has at least no delay.
        Some(p) if p < 1.0 => format!("{} of the requests of the baseline are as delayed", share(p)),
        _ => "none of its self times is longer than the same work took in the baseline, for any caller"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::anomalies::PartOfRequest;
    use pathlight_engine::requests::RequestRef;
    use pathlight_engine::verdict::Subject;

    fn request(trace_id: &str) -> RequestRef {
        RequestRef { trace_id: trace_id.into(), root_span_id: "1".into(), latency_us: 9 }
    }

    fn report() -> AnomalyReport {
        let row = |(trace_id, p_delayed): (&str, f64)| AnomalyRow {
            request: request(trace_id),
            start_us: 0,
            score: 9.0,
            p: 0.5,
            p_different: 0.5,
            p_delayed: Some(p_delayed),
            part: PartOfRequest::OnPath,
            is_unknown: false,
            is_unexplained: false,
            label: None,
            reasons: Vec::new(),
            nearest: None,
        };
        let rows = [("a", 0.01), ("b", 1.0), ("c", 0.04), ("d", 0.01), ("e", 0.01), ("f", 1.0), ("g", 0.01)];
        AnomalyReport {
            has_verdicts: true,
            has_delays: true,
            alpha: 0.01,
            asked_alpha: 0.01,
            baseline: vec![0.0; 999],
            rows: rows.map(row).into(),
            ..AnomalyReport::default()
        }
    }

    fn hits(rows: &[(&str, u64, Option<u64>)]) -> SubjectHits {
        let row = |&(trace_id, time_us, limit_us): &(&str, u64, Option<u64>)| SubjectRow {
            request: request(trace_id),
            time_us,
            limit_us,
        };
        let subject = Subject { service: "payment".into(), part: ServicePart::In };
        SubjectHits { subject, rows: rows.iter().map(row).collect() }
    }

    #[test]
    fn a_request_that_is_hit_and_not_delayed_or_the_other_way_round_is_explained() {
        let limit = Some(40_000);
        let report = report();
        let hits = hits(&[
            ("a", 320_000, limit),
            ("b", 320_000, limit),
            ("c", 320_000, limit),
            ("d", 12_000, limit),
            ("e", 12_000, None),
            ("f", 12_000, limit),
        ]);
        let said = |at: usize| words(&report, &hits, &report.rows[at]).unwrap_or_default();
        let [long, short, usual] = [320_000, 12_000, 40_000_u64].map(duration_us);
        assert_eq!(
            said(0),
            format!(
                "Hit, and delayed: waiting for payment takes {long} in it, and up to {usual} is usual for its type."
            )
        );
        assert!(said(1).ends_with(
            "; none of its self times is longer than the same work took in the baseline, for any caller."
        ));
        assert!(
            said(2).ends_with("; 4.0\u{202f}% of the requests of the baseline are as delayed."),
            "{}",
            said(2)
        );
        assert_eq!(
            said(3),
            format!(
                "Delayed, but not hit: waiting for payment takes {short} in it, and up to {usual} is usual for its type."
            )
        );
        assert!(said(4).ends_with(", and too few requests of its type are known to say what is usual."));
        assert_eq!(said(5), "");
        assert_eq!(
            said(6),
            "Delayed, but not hit: it does not wait for payment, so another place delays it."
        );
        assert_eq!(
            summary(&report, &hits),
            "Waiting for payment takes longer than usual in 3 of 5 requests; of 1 more it cannot be said. Of these, 1 is \
             delayed; 2 are not: their self times are within what the baseline has, for any caller and request type, or no \
             further beyond it than in some requests of the baseline. 3 others are delayed and not hit: another place delays \
             them, or too few like them are known."
        );
        let lines = lines(&report, &hits);
        let lines: Vec<_> = lines.iter().map(|line| (line.words.as_str(), line.rows.clone())).collect();
        assert_eq!(lines, [("2 hit, not delayed", vec![1, 2]), ("3 delayed, not hit", vec![3, 4, 6])]);
    }

    #[test]
    fn where_both_agree_nothing_is_explained() {
        let mut report = report();
        report.rows.truncate(1);
        let all = hits(&[("a", 9_000, Some(10))]);
        assert!(
            summary(&report, &all).ends_with(" 1 of 1 request. All of these are delayed."),
            "{}",
            summary(&report, &all)
        );
        assert!(lines(&report, &all).is_empty());
        let counts = |report: &AnomalyReport, hits: &SubjectHits| comparable(report, Some(hits)).is_some();
        assert!(counts(&report, &all));
        assert!(!counts(&report, &hits(&[("a", 9_000, None)])), "nothing is known");
        assert!(!counts(&AnomalyReport { has_delays: false, ..report.clone() }, &all), "no delay is tested");
        assert!(!counts(&AnomalyReport { has_verdicts: false, ..report }, &all), "a ranking");
    }

    #[test]
    fn hits_are_asked_for_where_a_set_says_what_is_normal() {
        let mut address = Address::default();
        assert_eq!(query(&address, false), None);
        address.compare_sets();
        let asked = query(&address, false).map(|query| (query.a.group, query.b.group));
        assert_eq!((asked, query(&address, true)), (Some((0, 1)), None));
        address.anomaly.vae = true;
        assert_eq!(query(&address, false), None);
    }
}
