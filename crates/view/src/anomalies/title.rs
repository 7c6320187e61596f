//! The title: how many requests are abnormal, against what, and what labels have taught.

use pathlight_base::format::{agreeing, count, counted, share};
use pathlight_engine::anomalies::{AnomalyReport, Detector, Taught, Thresholds, VerdictCounts};

/// Returns the title of the view.
pub fn title(report: &AnomalyReport) -> String {
    let words = verdicts(report);
    let words = match report.unexplained() as u64 {
        0 => words,
        left => format!("{words}; the reasons of {} are not worked out", count(left)),
    };
    words + &report.taught.as_ref().map_or(String::new(), |taught| format!("; {}", taught_words(taught)))
}

/// Returns what labels have taught the baseline, in words.
fn taught_words(taught: &Taught) -> String {
    let Taught { normal, like_normal, incident, left_out, unknown } = *taught;
    let mut words = Vec::new();
    if normal > 0 {
        let like = match like_normal {
            0 => String::new(),
            n => format!(" and {} like {}", count(n), agreeing(normal, "it", "them")),
        };
        let count_as = agreeing(normal + like_normal, "counts", "count");
        words.push(format!("{} labelled normal{like} {count_as} as baseline", counted(normal, "request")));
    }
    if incident > 0 {
        let are = agreeing(incident, "is", "are");
        words.push(format!("{} {are} labelled as part of the incident", counted(incident, "request")));
        let left = match left_out {
            0 => "no request of the baseline is like that".to_owned(),
            n => format!(
                "{} of the baseline like that {} left out",
                counted(n, "request"),
                agreeing(n, "is", "are")
            ),
        };
        words.push(left);
    }
    if unknown > 0 {
        words.push(format!("{} of requests that are not judged here", counted(unknown, "label")));
    }
    words.join("; ")
}

fn verdicts(report: &AnomalyReport) -> String {
    let (judged, abnormal) = (report.rows.len() as u64, report.abnormal() as u64);
    let learned = counted(report.trained, "request");
    let learned = format!("{learned} ({})", counted(report.features, "call path"));
    if !report.has_verdicts {
        return format!(
            "The most anomalous of {}, each compared with all others. This is only a ranking: a request can be \
             called abnormal only against a baseline",
            counted(judged, "request")
        );
    }
    let unknown = report.rows.iter().filter(|row| row.is_unknown).count() as u64;
    // Findings count by one test, so that both numbers can be found again.
    let one_test = report.abnormal_by_one_test() as u64;
    let by_one_test = (one_test != abnormal)
        .then(|| format!("; {} by both verdicts as one test, which Findings count", count(one_test)));
    let kinds = verdict_counts(report).map(|kinds| (kinds, by_one_test.unwrap_or_default()));
    let mut words = match report.has_drifted() {
        true => format!(
            "The load or the release has changed: {} of {} differ{} from the baseline of {learned}",
            count(abnormal),
            counted(judged, "request"),
            kinds.as_ref().map_or(String::new(), |(kinds, one)| format!(" ({kinds}{one})")),
        ),
        false => format!(
            "{} of {} abnormal{}; the baseline is {learned}",
            count(abnormal),
            count(judged),
            kinds.as_ref().map_or(String::new(), |(kinds, one)| format!(
                ": {kinds}, by chance about {} of each{one}",
                share(report.false_alarms())
            )),
        ),
    };
    if !matches!(report.detector, Detector::Vae(_)) && report.alpha > report.asked_alpha {
        words.push_str(&format!(
            "; with so few, the rate is raised to {} so that an alarm is possible",
            share(report.alpha)
        ));
    }
    if report.contaminated > 0.0 {
        words.push_str(&format!(
            "; since up to {} of the baseline may be abnormal, up to {} of normal requests may be called abnormal",
            share(report.contaminated),
            share(report.false_alarms())
        ));
    }
    if let Some(Thresholds { abnormal_held_out, held_out: Some(_), held_out_requests, .. }) =
        report.thresholds
    {
        let by = held_out_requests.map_or(String::new(), |requests| count(requests) + " ");
        words.push_str(&format!(
            "; {} abnormal by the threshold of {by}baseline requests held out of training",
            count(abnormal_held_out),
        ));
    }
    if unknown > 0 {
        let why = match report.detector {
            Detector::Vae(_) => agreeing(
                unknown,
                "has nothing in the 14 parts of time before it to learn from",
                "have nothing in the 14 parts of time before them to learn from",
            ),
            _ => agreeing(
                unknown,
                "has a root endpoint that the baseline lacks",
                "have a root endpoint that the baseline lacks",
            ),
        };
        words.push_str(&format!("; {} {why}: no verdict", count(unknown)));
    }
    words
}

/// Returns how many requests are delayed, different and both, in words; `None` where no delay is tested, or none is either.
pub fn verdict_counts(report: &AnomalyReport) -> Option<String> {
    let VerdictCounts { delayed, different, both } = report.verdicts();
    let of_both = match both {
        0 => String::new(),
        both => format!(", {} both", count(both)),
    };
    let words = format!("{} delayed, {} different{of_both}", count(delayed), count(different));
    (report.has_delays && delayed + different > 0).then_some(words)
}
