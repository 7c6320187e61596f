//! Abnormal requests, and why: what is learned from, groups of reasons, the table, the detector's own report card.

use crate::address::{Address, TraceChoice};
use crate::anomalies::hits;
use crate::anomalies::settings::{AnomalyChoice, JudgedAgainst};
use crate::anomalies::severity::{label_key, severity_behind};
pub use crate::anomalies::severity::{reasons, severity};
use crate::say::tip::TipLine;
use crate::table::{Column, Table, Unit, write_line};
use pathlight_base::format::{DASH, count, counted, duration, duration_us, moment, number, printable, share};
use pathlight_engine::anomalies::paper::vae::TrainingProgress;
use pathlight_engine::anomalies::paper::{FeatureEncoding, VectorsReport};
use pathlight_engine::anomalies::{
    AnomalyReport, AnomalyRow, AnomalySettings, Detector, EXPLAINED, EvaluationRow, EvaluationTable,
    FalseAlarmRow,
};
use pathlight_engine::requests::{Filter, Selection};
use pathlight_engine::verdict::SubjectHits;
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// Rates of false alarms to choose from, in millionths.
pub const RATES: [u32; 8] = [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000];

/// Choices of what is normal: value and label. The last takes a second set.
pub const NORMALS: [(&str, &str); 3] = [
    ("others", "Each request against all others"),
    ("before", "The later half against the earlier"),
    ("a", "Set B against set A"),
];

/// The choice in force while a baseline from a file judges: value and label.
pub const LOADED: (&str, &str) = ("loaded", "A loaded baseline");

/// Words in place of a trace that is not loaded: of the chosen request, and of the normal one most like it.
pub const NOT_LOADED: [&str; 2] = [
    "This request is no longer loaded.",
    "It is not loaded: the detector has learned from other traces. Open them too to see it here.",
];

/// Returns what requests are judged against: what was chosen, else set A where set B is compared with it.
pub fn normal(address: &Address) -> JudgedAgainst {
    match address.anomaly.normal {
        JudgedAgainst::Default if address.compares_sets() => JudgedAgainst::SetA,
        JudgedAgainst::Default => {
            address.compares_since().map_or(JudgedAgainst::Others, JudgedAgainst::Before)
        }
        chosen => chosen,
    }
}

/// Returns the requests to learn from, and those to judge.
pub fn sides(address: &Address) -> (Selection, Selection) {
    // What is before and since a time is said below.
    let selection = match address.compares_since() {
        Some(_) => Address { comparison: None, ..address.clone() }.selection(),
        None => address.selection(),
    };
    // Choosing some of the requests that were judged changes no verdict.
    let selection = selection.without_only();
    let (mut train, mut test) = (selection.clone(), selection);
    match normal(address) {
        JudgedAgainst::Default | JudgedAgainst::Others => {}
        JudgedAgainst::SetA => {
            (train.group, test.group) = (0, 1);
            // How long subjects usually take is what they take in A, which is not filtered by that.
            (train, test) = train.as_baseline_of(test);
        }
        JudgedAgainst::Before(us) => {
            train.filters.push(Filter::Time { from_us: 0, to_us: us });
            test.filters.push(Filter::Time { from_us: us, to_us: u64::MAX });
        }
    }
    (train, test)
}

/// Returns how requests are judged, by a saved baseline if there is one. The accepted rate of false alarms is not asked
/// for: [`AnomalyReport::at`] takes any without judging again.
pub fn settings(choice: &AnomalyChoice, model: Option<Vec<u8>>) -> AnomalySettings {
    let detector = if choice.vae { Detector::Vae(choice.network) } else { Detector::Tree };
    let AnomalyChoice { contaminated_ppm, explain, .. } = *choice;
    let labels = choice.labels.clone();
    AnomalySettings { detector, model, contaminated_ppm, explain, labels, ..AnomalySettings::default() }
}

/// Returns a report at the chosen rate of false alarms; the auto-encoder has a threshold of its own.
pub fn chosen(report: &Rc<AnomalyReport>, choice: &AnomalyChoice) -> Rc<AnomalyReport> {
    let alpha = f64::from(choice.alpha_ppm) / 1e6;
    match report.detector {
        Detector::Vae(_) => report.clone(),
        _ if report.asked_alpha == alpha => report.clone(),
        _ => Rc::new(report.at(alpha)),
    }
}

/// Returns the place of the chosen request among the judged ones. Another view may have chosen a trace without saying which
/// request of it; then it is the first.
pub fn place(report: &AnomalyReport, chosen: &TraceChoice) -> Option<usize> {
    report.rows.iter().position(|AnomalyRow { request, .. }| {
        let is_root = |id: &String| *id == request.root_span_id;
        request.trace_id == chosen.trace_id && chosen.root_span_id.as_ref().is_none_or(is_root)
    })
}

/// Returns what the accepted rate of false alarms means, and what is said of it beside the pointer.
pub fn rate_words(choice: &AnomalyChoice) -> (String, String) {
    let rate = f64::from(choice.alpha_ppm) / 1e6;
    let words = if choice.vae {
        "Threshold: p below 0.001".to_owned()
    } else {
        format!("{} false alarms in 1 000", number(1000.0 * rate))
    };
    (words, format!("{} of normal requests will be called abnormal", share(rate)))
}

/// Returns what is said of requests whose reasons were not looked for, and up to how many requests the next step explains;
/// `None` if there are none. `explain` is how many are explained.
pub fn unexplained(report: &AnomalyReport, explain: u32) -> Option<(String, u32)> {
    let left = report.unexplained() as u64;
    let next = explain.saturating_add(EXPLAINED);
    let words =
        format!("Explain {} more of {} without reasons", count(left.min(EXPLAINED.into())), count(left));
    (left > 0).then_some((words, next))
}

/// Returns the vectors of requests as comma-separated values: a column for each call path, empty where a request does not have
/// it. 0 is a time.
pub fn vectors_csv(report: &VectorsReport) -> String {
    let chain = |path: &Vec<Endpoint>| {
        let names = path.iter().map(|Endpoint { service, operation }| format!("{service}: {operation}"));
        names.collect::<Vec<_>>().join(" > ")
    };
    let mut fields: Vec<String> =
        ["set", "trace_id", "root_span_id", "start_us", "latency_us"].map(str::to_owned).into();
    fields.extend(report.paths.iter().map(chain));
    let mut out = String::new();
    write_line(&fields, &mut out);
    for row in &report.requests {
        fields.clear();
        fields.extend([&row.set, &row.trace_id, &row.root_span_id].map(String::clone));
        fields.extend([row.start_us, row.latency_us].map(|number| number.to_string()));
        let first = fields.len();
        fields.resize(first + report.paths.len(), String::new());
        for &(path, us) in &row.cells {
            fields[first + path as usize] = us.to_string();
        }
        write_line(&fields, &mut out);
    }
    out
}

/// Files that the vectors can be saved as: in words, the end of the file's name, their content, and whether as JSON.
pub const VECTORS: [(&str, &str, FeatureEncoding, bool); 4] = [
    ("SCPV as CSV: time on the critical path by call path", "scpv.csv", FeatureEncoding::Scpv, false),
    ("SCPV as sparse JSON", "scpv.json", FeatureEncoding::Scpv, true),
    ("STV as CSV: self time by call path", "stv.csv", FeatureEncoding::Stv, false),
    ("STV as sparse JSON", "stv.json", FeatureEncoding::Stv, true),
];

/// Returns why no request is judged; empty if one is.
pub fn why_empty(normal: JudgedAgainst, report: &AnomalyReport) -> &'static str {
    match (report.trained, normal) {
        (0, JudgedAgainst::Before(_)) => "No request began in the earlier half; choose what is normal.",
        (0, _) => {
            "There is no normal request to learn from; change the root endpoint, the percentile range or the filters."
        }
        _ if report.rows.is_empty() => "There is no request to judge.",
        _ => "",
    }
}

fn p_words(p: f64) -> String {
    if p >= 0.1 { format!("{p:.2}") } else { format!("{p:.4}") }
}

/// Returns what the tip says of a request.
pub fn tip(report: &AnomalyReport, at: usize) -> Vec<TipLine> {
    let Some(row) = report.rows.get(at) else { return Vec::new() };
    let latency = duration_us(row.request.latency_us);
    let mut lines = vec![
        TipLine::Strong(format!("{latency}{}; score {:.1}", severity_behind(report, row), row.score)),
        TipLine::Hint(moment(row.start_us)),
    ];
    let first = report.reasons(row).into_iter().next();
    lines.extend(first.map(|reason| TipLine::Text(printable(&report.words(reason, duration)))));
    lines
}

/// A judged request.
pub struct AnomalyLine {
    at: usize,
    /// The first reason; empty for ordinary ones.
    why: String,
    report: Rc<AnomalyReport>,
    /// Whether the subject of the verdict hits it, and what is said of that.
    hit: (Option<bool>, Option<String>),
}

impl AnomalyLine {
    /// Returns the lines of a report, the most anomalous first, beside the requests that the subject of the verdict hits.
    pub fn of(report: &Rc<AnomalyReport>, hits: Option<&SubjectHits>) -> Vec<AnomalyLine> {
        let hits = hits::comparable(report, hits);
        let hit = |row: &AnomalyRow| match hits {
            Some(found) => (hits::is_hit(found, row), hits::words(report, found, row)),
            None => (None, None),
        };
        let why = |row: &AnomalyRow| {
            let first = report.reasons(row).into_iter().next();
            first.map(|reason| report.words(reason, duration))
        };
        let line = |(at, row)| {
            let why = why(row).unwrap_or_default();
            AnomalyLine { at, why, report: report.clone(), hit: hit(row) }
        };
        report.rows.iter().enumerate().map(line).collect()
    }

    /// Returns what was found of it.
    pub fn row(&self) -> &AnomalyRow {
        &self.report.rows[self.at]
    }

    /// Returns whether it is hit and delayed, and why if only one of them; `None` if it is neither, or that is not known.
    pub fn hit_words(&self) -> Option<&str> {
        self.hit.1.as_deref()
    }

    fn what(&self) -> &'static str {
        severity(&self.report, self.row())
    }

    fn is_abnormal(&self) -> bool {
        self.report.is_abnormal(self.row())
    }

    fn all_reasons(&self) -> String {
        let reasons = self.report.reasons(self.row()).into_iter();
        let reasons = reasons.map(|reason| self.report.words(reason, duration));
        reasons.collect::<Vec<_>>().join("; ")
    }
}

/// Returns the table.
pub fn table() -> Table<AnomalyLine> {
    let columns = vec![
        Column::said(
            "score",
            "Score",
            "How anomalous it is; requests are ranked by it",
            |line: &AnomalyLine| line.row().score.into(),
            |line| format!("{:.1}", line.row().score),
        )
        .by(|a, b| b.at.cmp(&a.at)),
        Column::said(
            "p_delayed",
            "p delayed",
            "Share of baseline requests at least as delayed",
            |line: &AnomalyLine| line.row().p_delayed.unwrap_or(1.0).into(),
            |line| line.row().p_delayed.map_or(DASH.to_owned(), p_words),
        )
        .low(2),
        Column::said(
            "p",
            "p different",
            "Share of baseline requests at least as different",
            |line: &AnomalyLine| line.row().p_different.into(),
            |line| p_words(line.row().p_different),
        )
        .low(2),
        Column::text("what", "What", "Whether it is abnormal, and in what", |line: &AnomalyLine| {
            line.what().into()
        })
        .low(2)
        .unsorted(),
        Column::text("why", "Why", "The strongest reason", |line: &AnomalyLine| printable(&line.why).into())
            .by(|a, b| a.why.cmp(&b.why))
            .wide(),
        Column::text_field("trace_id", |line: &AnomalyLine| line.row().request.trace_id.as_str().into()),
        Column::text_field("root_span_id", |line| line.row().request.root_span_id.as_str().into()),
        Column::field("start_us", |line| line.row().start_us.into()),
        Column::duration("latency", "Latency", "Duration of the request", |line: &AnomalyLine| {
            line.row().request.latency_us.into()
        })
        .csv(&["latency_us"]),
        Column::number(Unit::Moment, "start", "Start (UTC)", "When it began", |line: &AnomalyLine| {
            line.row().start_us.into()
        })
        .low(3),
        Column::field("score", |line| line.row().score.into()),
        Column::field("p", |line| line.row().p.into()),
        Column::text_field("abnormal", |line| line.is_abnormal().to_string().into()),
        Column::text_field("reasons", |line| line.all_reasons().into()),
        Column::text_field("nearest_trace_id", |line| {
            line.row().nearest.as_ref().map_or("", |nearest| &nearest.trace_id).into()
        }),
        Column::text_field("delayed", |line| line.report.is_delayed(line.row()).to_string().into()),
        Column::text_field("different", |line| line.report.is_different(line.row()).to_string().into()),
        Column::text_field("p_delayed", |line| {
            line.row().p_delayed.map_or(String::new(), |p| p.to_string()).into()
        }),
        Column::field("p_different", |line| line.row().p_different.into()),
        Column::text_field("hit", |line| line.hit.0.map_or(String::new(), |is| is.to_string()).into()),
        Column::text_field("label", |line| line.row().label.map_or("", label_key).into()),
    ];
    Table::new("anomaly-table", "Requests, the most anomalous first", ("score", true), columns)
        .with_attributes(|line| {
            vec![
                ("data-test", "anomaly".to_owned()),
                ("data-trace", line.row().request.trace_id.clone()),
                ("data-abnormal", line.is_abnormal().to_string()),
            ]
        })
        .search(|line, finder| {
            let request = &line.row().request;
            finder.fits_request(&request.trace_id, &request.root_span_id, &[&line.why, &request.trace_id])
        })
}

/// The heads of the evaluation, and whether numbers stand below them.
pub const EVALUATION: [(&str, bool); 14] = [
    ("Detector", false),
    ("Vectors", false),
    ("Made abnormal by", false),
    ("AUPRC", true),
    ("Precision", true),
    ("Recall", true),
    ("False alarms", true),
    ("Place named", true),
    ("Features", true),
    ("Training", true),
    ("Scoring", true),
    ("Recall of one test", true),
    ("AUPRC, delayed", true),
    ("AUPRC, different", true),
];

/// Returns what the evaluation was made of, and its lines below [`EVALUATION`].
pub fn evaluation(table: &EvaluationTable) -> (String, Vec<[String; 14]>) {
    let words = format!(
        "Trained on {} requests. The {} held out are judged twice: as they are, and made abnormal. In the tests that drop spans, {} of all spans are dropped.",
        count(table.trained),
        count(table.held_out),
        share(table.dropped_share)
    );
    let ms = |ms: Option<f64>| ms.map_or(DASH.to_owned(), |ms| duration(ms * 1e3));
    let alone = |row: &EvaluationRow, verdict: usize| {
        row.auprc_alone.map_or(DASH.to_owned(), |auprc| format!("{:.4}", auprc[verdict]))
    };
    let lines = table.rows.iter().map(|row| {
        let accuracy = &row.accuracy;
        let detector = match row.contaminated > 0.0 {
            true => format!("{}, {} of training abnormal", row.detector.name(), share(row.contaminated)),
            false => row.detector.name().to_owned(),
        };
        [
            detector,
            row.encoding.map_or(DASH, |encoding| encoding.name()).to_owned(),
            row.injection.name(),
            format!("{:.4}", accuracy.auprc),
            format!("{:.3}", accuracy.precision),
            format!("{:.3}", accuracy.recall),
            format!("{} of {}", count(accuracy.false_alarms), count(accuracy.normal)),
            row.named.map_or(DASH.to_owned(), share),
            count(row.features),
            ms(row.train_ms),
            ms(row.score_ms),
            row.one_test_recall.map_or(DASH.to_owned(), |recall| format!("{recall:.3}")),
            alone(row, 0),
            alone(row, 1),
        ]
    });
    (words, lines.collect())
}

/// Returns how many normal requests were called abnormal, a line for each number of training requests.
pub fn false_alarms(table: &EvaluationTable) -> Vec<String> {
    let line = |row: &FalseAlarmRow| {
        format!(
            "With {} training requests, {} of the held-out normal requests are called abnormal (mean of {}, at most {}): {} \
             delayed, {} different; accepted rate of each: {}",
            count(row.trained.round() as u64),
            share(row.abnormal.mean),
            counted(row.splits.into(), "split"),
            share(row.abnormal.greatest),
            share(row.delayed.mean),
            share(row.different.mean),
            share(row.alpha),
        )
    };
    table.false_alarms.iter().map(line).collect()
}

/// Returns how far the training of the auto-encoder is, in percent.
pub fn training_percent(progress: &TrainingProgress) -> f64 {
    100.0 * progress.done as f64 / progress.of.max(1) as f64
}

/// Returns the same in words.
pub fn training_words(progress: &TrainingProgress) -> String {
    let done = training_percent(progress);
    let loss = progress.losses.last().map_or_else(String::new, |loss| format!(", loss {loss:.2}"));
    format!("Training the auto-encoder: {done:.0} %, epoch {}{loss}", progress.losses.len() + 1)
}

/// Returns a curve of losses as a path of SVG in a square of 16 by 16; `None` where there is no curve yet.
pub fn loss_curve(losses: &[f32]) -> Option<String> {
    let (least, most) = losses.iter().fold((f32::MAX, f32::MIN), |(a, b), loss| (a.min(*loss), b.max(*loss)));
    if losses.len() < 2 || most <= least {
        return None;
    }
    let points = losses.iter().enumerate().map(|(at, loss)| {
        let x = 1.0 + 14.0 * at as f32 / (losses.len() - 1) as f32;
        format!("{x:.2} {:.2}", 15.0 - 14.0 * (loss - least) / (most - least))
    });
    Some(format!("M{}", points.collect::<Vec<_>>().join("L")))
}

#[cfg(test)]
mod tests {
    use super::super::title::title;
    use super::*;
    use crate::anomalies::{keep_only, request_words, verdict_lines};
    use crate::search::finder::Finder;
    use crate::table::{CellText, Rows as _};
    use pathlight_engine::anomalies::{PartOfRequest, ReasonKind, ReasonRow};
    use pathlight_engine::requests::{OnlyFilter, RequestRef};

    fn report() -> AnomalyReport {
        let row = |trace_id: &str, score, p| AnomalyRow {
            request: RequestRef {
                trace_id: trace_id.to_owned(),
                root_span_id: "1".to_owned(),
                latency_us: 60,
            },
            start_us: 5,
            score,
            p,
            p_different: p,
            p_delayed: None,
            part: PartOfRequest::OnPath,
            is_unknown: false,
            is_unexplained: false,
            label: None,
            reasons: Vec::new(),
            nearest: None,
        };
        AnomalyReport {
            has_verdicts: true,
            rows: vec![row("ab", 7.5, 0.0012), row("cd", 0.5, 0.75)],
            trained: 1_000,
            features: 7,
            baseline: vec![0.0; 1_000],
            alpha: 0.02,
            asked_alpha: 0.01,
            ..AnomalyReport::default()
        }
    }

    #[test]
    fn judged_requests_are_lines_with_their_scores() {
        let mut table = table();
        table.set_rows(AnomalyLine::of(&Rc::new(report()), None));
        assert_eq!(
            table.csv(),
            "trace_id,root_span_id,start_us,latency_us,score,p,abnormal,reasons,nearest_trace_id,delayed,different,\
             p_delayed,p_different,hit,label\r\n\
             ab,1,5,60,7.5,0.0012,true,,,false,true,,0.0012,,\r\n\
             cd,1,5,60,0.5,0.75,false,,,false,false,,0.75,,\r\n"
        );
        assert_eq!(table.cell(0, 0), CellText::Number("7.5".to_owned(), "7.5".to_owned()));
        assert_eq!(table.cell(2, 1), CellText::Number("0.75".to_owned(), "0.75".to_owned()));
        assert_eq!(table.cell(3, 0), CellText::Text("delayed".to_owned()));
        assert_eq!(table.cell(3, 1), CellText::Text("within the baseline".to_owned()));
        // A reason is no thing to stand beside "within".
        let mut unusual = report();
        let reason = ReasonRow {
            kind: ReasonKind::SelfTime,
            part: PartOfRequest::OnPath,
            path: 0,
            after: None,
            callee: None,
            calls: 20,
            alike: 0,
            value: 60_000,
            baseline: Some((1_240.0, 4_360.0)),
            longest_us: None,
        };
        (unusual.rows[1].p_different, unusual.rows[1].reasons) = (0.05, vec![reason]);
        assert_eq!(severity(&unusual, &unusual.rows[1]), "as far from the rest as some of the baseline");
        assert_eq!(table.find(&Finder::of_text("AB")).matches, 1);
        let chosen = TraceChoice::of_request("cd", "");
        assert_eq!(
            (place(&report(), &chosen), place(&report(), &TraceChoice::of_request("cd", "2"))),
            (Some(1), None)
        );
    }

    #[test]
    fn the_title_says_that_the_rate_was_raised_and_words_say_why_nothing_is_judged() {
        let mut report = report();
        assert_eq!(
            title(&report),
            "1 of 2 abnormal; the baseline is 1\u{202f}000 requests (7 call paths); with so few, the rate is raised to \
             2.0\u{202f}% so that an alarm is possible"
        );
        let mixed = AnomalyReport { contaminated: 0.05, alpha: 0.01, ..report.clone() };
        assert_eq!(
            title(&mixed),
            "1 of 2 abnormal; the baseline is 1\u{202f}000 requests (7 call paths); since up to 5.0\u{202f}% of the baseline \
             may be abnormal, up to 6.0\u{202f}% of normal requests may be called abnormal"
        );
        let alone = AnomalyReport { trained: 1, features: 1, ..report.clone() };
        assert!(title(&alone).contains("the baseline is 1 request (1 call path);"));
        assert_eq!(why_empty(JudgedAgainst::Others, &report), "");
        assert_eq!(reasons(&report, &report.rows[0]), ["No single fact explains it."]);
        assert_eq!(
            tip(&report, 0)[0],
            TipLine::Strong(format!("{}, delayed; score 7.5", duration_us(60_u64)))
        );
        let several = AnomalyReport { rows: vec![report.rows[0].clone(); 9], ..report.clone() };
        assert!(title(&several).starts_with("The load or the release has changed: 9 of 9"));
        report.has_verdicts = false;
        assert!(title(&report).starts_with("The most anomalous of 2 requests"));
        assert_eq!((report.abnormal(), severity(&report, &report.rows[0])), (0, DASH));
        assert_eq!(tip(&report, 0)[0], TipLine::Strong(format!("{}; score 7.5", duration_us(60_u64))));
        report.has_verdicts = true;
        report.rows.clear();
        assert_eq!(why_empty(JudgedAgainst::Others, &report), "There is no request to judge.");
        report.trained = 0;
        assert!(why_empty(JudgedAgainst::Others, &report).starts_with("There is no normal request"));
        assert!(why_empty(JudgedAgainst::Before(1), &report).starts_with("No request began"));
    }

    #[test]
    fn requests_of_a_verdict_can_be_kept_and_are_judged_as_before() {
        let mut report = AnomalyReport { has_delays: true, ..report() };
        (report.rows[0].p_delayed, report.rows[1].p_delayed) = (Some(0.01), Some(0.01));
        let lines = verdict_lines(&report);
        let words: Vec<&str> = lines.iter().map(|line| line.words.as_str()).collect();
        assert_eq!(words, ["\u{25b2} 1 delayed", "\u{25c6} 1 delayed and different"]);
        let mut address = Address::default();
        let before = sides(&address);
        for line in &lines {
            keep_only(&mut address, &report, &line.rows, 0);
        }
        let requests = vec![("ab".to_owned(), "1".to_owned())];
        assert_eq!(address.filters, [Filter::Only(OnlyFilter { group: 0, requests })]);
        assert_eq!(sides(&address), before);
        assert!(request_words(&report, 1).contains(", delayed; "), "{}", request_words(&report, 1));
        assert!(verdict_lines(&AnomalyReport { has_delays: false, ..report }).is_empty());
    }

    #[test]
    fn the_title_counts_each_verdict() {
        let mut report = AnomalyReport { has_delays: true, asked_alpha: 0.02, ..report() };
        (report.rows[0].p_delayed, report.rows[1].p_delayed) = (Some(0.01), Some(0.02));
        report.rows.extend(vec![report.rows[1].clone(); 98]);
        report.rows[2..].iter_mut().for_each(|row| row.p_delayed = Some(0.9));
        assert_eq!(
            title(&report),
            "2 of 100 abnormal: 2 delayed, 1 different, 1 both, by chance about 2.0\u{202f}% of each; 1 by \
             both verdicts as one test, which Findings count; the baseline is 1\u{202f}000 requests (7 call paths)"
        );
    }

    #[test]
    fn another_rate_of_false_alarms_needs_no_other_report() {
        let report = Rc::new(AnomalyReport { asked_alpha: 0.01, ..report() });
        let at = |alpha_ppm| chosen(&report, &AnomalyChoice { alpha_ppm, ..AnomalyChoice::default() });
        assert!(Rc::ptr_eq(&at(10_000), &report));
        assert_eq!((at(1_000).abnormal(), at(2_000).abnormal(), at(800_000).abnormal()), (0, 1, 2));
        // Of 1,000 training requests none has a p-value below 1 / 1,001; of more, whose scores are not there, neither.
        assert!(at(100).alpha > 0.000_99);
        let merged = AnomalyReport { trained: 9_000, ..(*report).clone() };
        assert!(merged.at(0.0001).alpha > 0.000_99);
    }

    #[test]
    fn what_is_normal_is_learned_from() {
        let mut address = Address::default();
        let of = |address: &Address| sides(address);
        assert_eq!(of(&address).0, of(&address).1);
        // Once there is a set B, it is judged by A, unless something else is chosen.
        address.compare_sets();
        assert_eq!((of(&address).0.group, of(&address).1.group), (0, 1));
        address.anomaly.normal = JudgedAgainst::Others;
        assert_eq!(of(&address).0, of(&address).1);
        address.anomaly.normal = JudgedAgainst::SetA;
        assert_eq!((of(&address).0.group, of(&address).1.group), (0, 1));
        address.anomaly.normal = JudgedAgainst::Before(7);
        assert_eq!(of(&address).0.filters, [Filter::Time { from_us: 0, to_us: 7 }]);
        assert_eq!(of(&address).1.filters, [Filter::Time { from_us: 7, to_us: u64::MAX }]);
        let mut choice = AnomalyChoice { vae: true, alpha_ppm: 50_000, ..AnomalyChoice::default() };
        choice.contaminate(Some(2.5));
        choice.contaminate(None);
        assert_eq!(settings(&choice, None).contaminated_ppm, 25_000);
        assert_eq!(settings(&choice, None).alpha_ppm, AnomalySettings::default().alpha_ppm);
        assert_eq!(rate_words(&AnomalyChoice { vae: false, ..choice }).0, "50 false alarms in 1 000");
    }

    #[test]
    fn a_training_has_words_and_a_curve() {
        let progress = TrainingProgress { done: 1, of: 4, losses: vec![3.0, 1.0] };
        assert_eq!(training_words(&progress), "Training the auto-encoder: 25 %, epoch 3, loss 1.00");
        assert_eq!(loss_curve(&progress.losses).as_deref(), Some("M1.00 1.00L15.00 15.00"));
        assert_eq!(loss_curve(&[1.0, 1.0]), None);
        let (words, lines) = evaluation(&EvaluationTable { trained: 3, ..EvaluationTable::default() });
        assert!(words.starts_with("Trained on 3 requests. The 0 held out") && lines.is_empty());
    }
}
