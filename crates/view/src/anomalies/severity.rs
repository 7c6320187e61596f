//! The verdict on one judged request: whether it is abnormal, in which part of it, and why.

use pathlight_base::format::{DASH, count, duration, printable, share};
use pathlight_engine::anomalies::{
    AnomalyReport, AnomalyRow, Detector, EXPLAINED_P, PartOfRequest, ReasonRow,
};
use std::cmp::Ordering;

/// Words for a request that has reasons, but not more of them than an accepted share of the baseline.
const NOT_ALONE: &str = "as far from the rest as some of the baseline";

/// Returns how the times that reasons of a part tell of are to the baseline's: as the first that lies beyond it, else equal;
/// `None` without a reason of the part.
fn times(row: &AnomalyRow, part: PartOfRequest) -> Option<Ordering> {
    let is_of_part = |reason: &&ReasonRow| !reason.is_delay() && reason.part.place() == part.place();
    let reasons = row.reasons.iter().filter(is_of_part);
    let order = |reason: &ReasonRow| match reason.baseline {
        Some((_, high)) if reason.value as f64 > high => Ordering::Greater,
        Some((low, _)) if (reason.value as f64) < low => Ordering::Less,
        _ => Ordering::Equal,
    };
    reasons.map(order).reduce(|first, next| if first == Ordering::Equal { next } else { first })
}

/// Returns whether a request has the longest latency of all that are judged.
fn is_longest(report: &AnomalyReport, row: &AnomalyRow) -> bool {
    report.rows.iter().all(|other| other.request.latency_us <= row.request.latency_us)
}

/// Returns the word for a label: whether a request is normal.
pub(super) fn label_key(is_normal: bool) -> &'static str {
    if is_normal { "normal" } else { "incident" }
}

/// Returns what was said of a request; else whether it is abnormal: delayed, different (then in which part of it) or both. Without verdicts it says
/// which of them it is rather, if it has reasons. It never contradicts a reason that stands beside it.
pub fn severity(report: &AnomalyReport, row: &AnomalyRow) -> &'static str {
    match row.label {
        Some(true) => return "normal, you said",
        Some(false) => return "the incident, you said",
        None => {}
    }
    let is_vae = matches!(report.detector, Detector::Vae(_));
    if row.is_unknown {
        return if is_vae { "no verdict: too early" } else { "no verdict: unknown root" };
    }
    match (report.has_verdicts, report.is_abnormal(row)) {
        // Never "within" beside a reason such as "60 ms; 1.24 to 4.36 ms is normal".
        (true, false) if !row.reasons.is_empty() => return NOT_ALONE,
        (true, false) if row.is_unexplained => return "not abnormal",
        (true, false) => return "within the baseline",
        (false, _) if row.reasons.is_empty() => return DASH,
        _ => {}
    }
    let is_told = |is_delay: bool| report.reasons(row).iter().any(|reason| reason.is_delay() == is_delay);
    let is_delayed = report.is_delayed(row) || !report.has_verdicts && is_told(true);
    let is_different = report.is_different(row) || !report.has_verdicts && is_told(false);
    match (is_delayed, is_different) {
        (true, false) => return "delayed",
        (true, true) if row.part == PartOfRequest::Structure => return "delayed, and other calls",
        (true, true) => return "delayed, and different",
        _ => {}
    }
    let part = match (is_vae && row.part != PartOfRequest::Structure, row.reasons.first()) {
        (false, _) => row.part,
        // A likelihood is that of a whole request.
        (true, Some(reason)) => reason.part,
        (true, None) => return "unlikely to the auto-encoder",
    };
    // Whether a span covers a sibling is only known of requests that are explained.
    let covers = row.part == PartOfRequest::Covering
        || row.reasons.is_empty()
        || row.reasons.iter().any(|reason| reason.part == PartOfRequest::Covering);
    let is_slower = times(row, PartOfRequest::OnPath) == Some(Ordering::Greater);
    match (part, times(row, part)) {
        (PartOfRequest::Structure, _) => "other calls",
        (_, Some(Ordering::Equal)) => "other times",
        // Some of its calls are faster, and it is not.
        (_, Some(Ordering::Less)) if is_longest(report, row) && report.rows.len() > 1 => "other times",
        (PartOfRequest::OnPath, Some(Ordering::Less)) => "faster",
        // Whether it is delayed is another verdict.
        (PartOfRequest::OnPath, _) if report.has_delays => "slower",
        (PartOfRequest::OnPath, _) => "delayed",
        (_, Some(Ordering::Less)) => "fast calls",
        _ if covers || is_slower => "slow calls",
        _ => "slow, but not delayed",
    }
}

/// Returns the severity of a request behind a comma; empty where there is none.
pub(super) fn severity_behind(report: &AnomalyReport, row: &AnomalyRow) -> String {
    match severity(report, row) {
        DASH => String::new(),
        words => format!(", {words}"),
    }
}

/// Returns why a request is anomalous, a sentence for each reason.
pub fn reasons(report: &AnomalyReport, row: &AnomalyRow) -> Vec<String> {
    if row.is_unexplained {
        let explained = report.rows.iter().take_while(|row| !row.is_unexplained).count() as u64;
        return vec![format!(
            "Its reasons are not worked out: it is not among the {} most anomalous requests.",
            count(explained)
        )];
    }
    if row.reasons.is_empty() {
        return vec![without_reasons(report, row)];
    }
    report.reasons(row).into_iter().map(|reason| printable(&report.words(reason, duration))).collect()
}

/// Returns the p-value of the stronger verdict.
fn least_p(row: &AnomalyRow) -> f64 {
    row.p_delayed.map_or(row.p_different, |p| p.min(row.p_different))
}

/// Returns what is said of a request that has no reason and for which reasons were looked for, if it needed any.
fn without_reasons(report: &AnomalyReport, row: &AnomalyRow) -> String {
    let is_vae = matches!(report.detector, Detector::Vae(_));
    let is_abnormal = report.is_abnormal(row);
    match (row.is_unknown, is_vae) {
        (true, true) => "The 14 parts of time before it have no request to learn from.".to_owned(),
        (true, false) => {
            "The baseline has no request of its root endpoint, so there is nothing to compare it with."
                .to_owned()
        }
        (false, true) if is_abnormal && row.part == PartOfRequest::Structure => {
            "It has a call path that no request of the baseline has.".to_owned()
        }
        _ if is_abnormal || !report.has_verdicts && least_p(row) <= EXPLAINED_P => {
            "No single fact explains it.".to_owned()
        }
        _ => {
            let of = if report.has_verdicts { "requests of the baseline" } else { "other requests" };
            format!("{} of the {of} are at least as anomalous.", share(least_p(row)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::anomalies::ReasonKind;
    use pathlight_engine::requests::RequestRef;

    fn reason(part: PartOfRequest, value: u64) -> ReasonRow {
        let is_time = part != PartOfRequest::Structure;
        ReasonRow {
            kind: if is_time { ReasonKind::SelfTime } else { ReasonKind::MissingCall },
            part,
            path: 0,
            after: None,
            callee: None,
            calls: 20,
            alike: 0,
            value,
            baseline: is_time.then_some((10.0, 20.0)),
            longest_us: None,
        }
    }

    fn row(part: PartOfRequest, p: f64, reasons: &[ReasonRow]) -> AnomalyRow {
        AnomalyRow {
            request: RequestRef { trace_id: "ab".into(), root_span_id: "1".into(), latency_us: 60 },
            start_us: 5,
            score: 7.5,
            p,
            p_different: p,
            p_delayed: None,
            part,
            is_unknown: false,
            is_unexplained: false,
            label: None,
            reasons: reasons.to_vec(),
            nearest: None,
        }
    }

    fn report(has_verdicts: bool) -> AnomalyReport {
        AnomalyReport { has_verdicts, alpha: 0.02, ..AnomalyReport::default() }
    }

    #[test]
    fn severity_is_that_of_the_leading_part_and_no_reason_contradicts_it() {
        let (on, off) = (PartOfRequest::OnPath, PartOfRequest::OffPath);
        let missing = reason(PartOfRequest::Structure, 0);
        let [slow, fast, same] = [60, 1, 15].map(|us| reason(on, us));
        let [slow_off, fast_off, same_off] = [60, 1, 15].map(|us| reason(off, us));
        let covering = reason(PartOfRequest::Covering, 60);
        let on_critical = ReasonRow { kind: ReasonKind::CriticalPath, baseline: None, ..same };
        let said = [
            (PartOfRequest::Structure, vec![missing, slow], "other calls"),
            (on, vec![slow], "delayed"),
            (on, vec![slow, fast], "delayed"),
            (on, vec![missing], "delayed"),
            (on, vec![fast], "faster"),
            (on, vec![same], "other times"),
            (on, vec![on_critical], "other times"),
            (on, vec![on_critical, slow], "delayed"),
            (off, vec![slow_off], "slow, but not delayed"),
            (off, vec![missing, slow_off], "slow, but not delayed"),
            (off, vec![missing], "slow, but not delayed"),
            (off, vec![fast, slow_off], "slow, but not delayed"),
            // A reason of the critical path is a delay.
            (off, vec![slow, slow_off], "slow calls"),
            (off, vec![fast_off], "fast calls"),
            // The first reason stands beside it.
            (off, vec![fast_off, slow_off], "fast calls"),
            (off, vec![same_off], "other times"),
            // A span that covers a sibling may have delayed the request, whatever reason comes first.
            (off, vec![covering], "slow calls"),
            (off, vec![missing, slow_off, covering], "slow calls"),
            (PartOfRequest::Covering, vec![missing, slow_off], "slow calls"),
            // As may one that nobody has looked for.
            (off, vec![], "slow calls"),
            (on, vec![], "delayed"),
        ];
        for (part, reasons, words) in said {
            let anomalous = row(part, 0.01, &reasons);
            assert_eq!(severity(&report(true), &anomalous), words, "{part:?} {reasons:?}");
            // Within the accepted rate, parts say nothing.
            let other = row(part, 0.05, &reasons);
            let expected = if reasons.is_empty() { "within the baseline" } else { NOT_ALONE };
            assert_eq!(severity(&report(true), &other), expected);
            // Without verdicts a request without reasons has no severity, however small p is.
            for p in [0.01, 0.99] {
                let ranked = row(part, p, &reasons);
                let expected = if reasons.is_empty() { DASH } else { words };
                assert_eq!(severity(&report(false), &ranked), expected, "{part:?} {reasons:?}");
            }
        }
        let unexplained = AnomalyRow { is_unexplained: true, ..row(on, 0.05, &[]) };
        assert_eq!(severity(&report(true), &unexplained), "not abnormal");
    }

    #[test]
    fn a_request_is_delayed_different_or_both_and_the_longest_is_never_faster() {
        let on = PartOfRequest::OnPath;
        let delay =
            ReasonRow { kind: ReasonKind::Delay, baseline: None, longest_us: Some(20.0), ..reason(on, 60) };
        let of = |part, p_delayed, p_different, others: &[ReasonRow]| AnomalyRow {
            p_delayed: Some(p_delayed),
            ..row(part, p_different, &[&[delay], others].concat())
        };
        let judged = AnomalyReport { has_delays: true, ..report(true) };
        let (slow, fast, missing) = (reason(on, 60), reason(on, 1), reason(PartOfRequest::Structure, 0));
        assert_eq!(severity(&judged, &of(on, 0.01, 0.5, &[])), "delayed");
        assert_eq!(
            severity(&judged, &of(PartOfRequest::Structure, 0.01, 0.01, &[missing])),
            "delayed, and other calls"
        );
        assert_eq!(severity(&judged, &of(on, 0.01, 0.01, &[fast])), "delayed, and different");
        assert_eq!(severity(&judged, &of(on, 0.3, 0.01, &[slow])), "slower");
        assert_eq!(severity(&judged, &of(on, 0.3, 0.01, &[fast])), "faster");
        assert_eq!(severity(&judged, &of(on, 0.3, 0.3, &[slow])), NOT_ALONE);
        // Ranks say what is stronger.
        let ranked = AnomalyReport { has_verdicts: false, ..judged.clone() };
        assert_eq!(severity(&ranked, &of(on, 0.1, 0.2, &[slow])), "delayed");
        assert_eq!(severity(&ranked, &of(on, 0.2, 0.1, &[slow])), "slower");
        let longest = of(on, 0.3, 0.01, &[fast]);
        let mut other = longest.clone();
        other.request.latency_us -= 1;
        let several = AnomalyReport { rows: vec![longest, other], ..judged };
        assert_eq!([0, 1].map(|at| severity(&several, &several.rows[at])), ["other times", "faster"]);
    }

    #[test]
    fn a_request_without_reasons_is_not_said_to_be_normal() {
        let said = |has_verdicts, row: AnomalyRow| reasons(&report(has_verdicts), &row).join(" ");
        let plain = |p| row(PartOfRequest::OnPath, p, &[]);
        assert_eq!(said(true, plain(0.01)), "No single fact explains it.");
        assert_eq!(said(false, plain(0.1)), "No single fact explains it.");
        assert_eq!(
            said(true, plain(0.1)),
            "10.0\u{202f}% of the requests of the baseline are at least as anomalous."
        );
        assert_eq!(
            said(true, plain(0.75)),
            "75.0\u{202f}% of the requests of the baseline are at least as anomalous."
        );
        assert_eq!(
            said(false, plain(0.75)),
            "75.0\u{202f}% of the other requests are at least as anomalous."
        );
        let unknown = AnomalyRow { is_unknown: true, ..plain(1.0) };
        assert_eq!(severity(&report(true), &unknown), "no verdict: unknown root");
        assert_eq!(
            said(true, unknown),
            "The baseline has no request of its root endpoint, so there is nothing to compare it with."
        );
    }

    #[test]
    fn the_auto_encoder_does_not_say_which_part_it_is() {
        let report = AnomalyReport { detector: Detector::Vae(Default::default()), ..report(true) };
        let slow_off = reason(PartOfRequest::OffPath, 60);
        let said = |row: &AnomalyRow| (severity(&report, row), reasons(&report, row).join(" "));
        let alone = said(&row(PartOfRequest::OnPath, 0.01, &[]));
        assert_eq!(alone, ("unlikely to the auto-encoder", "No single fact explains it.".to_owned()));
        let unseen = said(&row(PartOfRequest::Structure, 0.0, &[]));
        assert_eq!(
            unseen,
            ("other calls", "It has a call path that no request of the baseline has.".to_owned())
        );
        assert_eq!(
            severity(&report, &row(PartOfRequest::OnPath, 0.01, &[slow_off])),
            "slow, but not delayed"
        );
        let early = AnomalyRow { is_unknown: true, ..row(PartOfRequest::Structure, 1.0, &[]) };
        let words = "The 14 parts of time before it have no request to learn from.";
        assert_eq!(said(&early), ("no verdict: too early", words.to_owned()));
    }
}
