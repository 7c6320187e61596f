//! What is found of faults whose place is known.

use pathlight_base::format::{DASH, duration, share};
use pathlight_engine::anomalies::paper::FeatureEncoding;
use pathlight_engine::anomalies::{AlarmShare, Detector, FalseAlarmRow, FaultDetector, LabelledReport};

/// Of fewer requests that a fault hits, no mean is made.
const FEW: u64 = 5;

/// A fault whose place is known, and what is found of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelledCase {
    /// Name of its folder.
    pub name: String,
    /// The service at fault.
    pub service: String,
    /// Kind of the fault; may be empty.
    pub fault: String,
    /// What is found.
    pub report: LabelledReport,
}

/// Several such faults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelledCases {
    /// Accepted rate of false alarms that was asked for.
    pub asked_alpha: f64,
    /// By name of the folder.
    pub cases: Vec<LabelledCase>,
}

/// The heads of their table, and whether numbers stand below them.
pub const LABELLED: [(&str, bool); 11] = [
    ("Case", false),
    ("Fault", false),
    ("Service", false),
    ("Hit", true),
    ("Found", true),
    ("Delayed", true),
    ("Different", true),
    ("By one test", true),
    ("Rate", true),
    ("False: delayed", true),
    ("False: different", true),
];

/// What one detector finds of all cases, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct DetectorLine {
    /// The detector.
    pub detector: Detector,
    /// Content of its vectors; `None` of the detector that needs none.
    pub encoding: Option<FeatureEncoding>,
    /// Share of the requests hit that it calls abnormal, mean of the cases with enough of them.
    pub recall: Option<f64>,
    /// Share of normal requests that it calls abnormal, mean of the cases.
    pub false_alarms: Option<f64>,
    /// Milliseconds to train by 1,000 requests, over all cases.
    pub train_ms_per_1000: Option<f64>,
    /// Milliseconds to judge 1,000 requests, over all cases.
    pub score_ms_per_1000: Option<f64>,
}

/// The heads of the table of detectors, and whether numbers stand below them.
pub const DETECTORS: [(&str, bool); 6] = [
    ("Detector", false),
    ("Vectors", false),
    ("Found", true),
    ("False alarms", true),
    ("Training by 1 000", true),
    ("Judging 1 000", true),
];

/// Returns the mean of some numbers; `None` of none.
fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

impl LabelledCases {
    /// Returns the mean recall of the cases in which enough requests are hit; `None` without such a case.
    pub fn mean_recall(&self) -> Option<f64> {
        let cases = self.cases.iter().map(|case| &case.report).filter(|report| report.hit >= FEW);
        mean(&cases.filter_map(LabelledReport::recall).collect::<Vec<_>>())
    }

    /// Returns how many times the accepted rate the false alarms of a verdict are, mean of all cases.
    fn alarms(&self, of: fn(&FalseAlarmRow) -> AlarmShare) -> Option<f64> {
        let rows = self.cases.iter().filter_map(|case| case.report.false_alarms.as_ref());
        mean(&rows.map(|row| of(row).mean / row.alpha).collect::<Vec<_>>())
    }

    /// Returns each case with what its detector at this place finds.
    fn rows(&self, at: usize) -> impl Iterator<Item = (&LabelledReport, &FaultDetector)> {
        self.cases.iter().filter_map(move |case| Some((&case.report, case.report.detectors.get(at)?)))
    }

    /// Returns what each detector finds of all cases: the default one first, then those it is compared with.
    pub fn detectors(&self) -> Vec<DetectorLine> {
        let first = self.cases.first().map_or(&[][..], |case| &case.report.detectors);
        let line = |(at, row): (usize, &FaultDetector)| {
            let enough = self.rows(at).filter(|(report, _)| report.hit >= FEW);
            let recalls: Vec<f64> =
                enough.map(|(report, row)| row.found as f64 / report.hit as f64).collect();
            let alarms: Vec<f64> = self.rows(at).filter_map(|(_, row)| row.false_alarms).collect();
            let per_1000 = |ms: fn(&FaultDetector) -> Option<f64>, of: fn(&LabelledReport) -> u64| {
                let ms: Option<f64> = self.rows(at).map(|(_, row)| ms(row)).sum();
                let requests: u64 = self.rows(at).map(|(report, _)| of(report)).sum();
                ms.map(|ms| 1e3 * ms / requests.max(1) as f64)
            };
            DetectorLine {
                detector: row.detector,
                encoding: row.encoding,
                recall: mean(&recalls),
                false_alarms: mean(&alarms),
                train_ms_per_1000: per_1000(|row| row.train_ms, |report| report.trained),
                score_ms_per_1000: per_1000(|row| row.score_ms, |report| report.judged),
            }
        };
        first.iter().enumerate().map(line).collect()
    }

    /// Returns the lines below [`DETECTORS`].
    pub fn detector_lines(&self) -> Vec<[String; 6]> {
        let of = |number: Option<f64>, words: fn(f64) -> String| number.map_or(DASH.to_owned(), words);
        let line = |row: DetectorLine| {
            [
                row.detector.name().to_owned(),
                row.encoding.map_or(DASH, FeatureEncoding::name).to_owned(),
                of(row.recall, share),
                of(row.false_alarms, share),
                of(row.train_ms_per_1000, |ms| duration(1e3 * ms)),
                of(row.score_ms_per_1000, |ms| duration(1e3 * ms)),
            ]
        };
        self.detectors().into_iter().map(line).collect()
    }

    /// Returns the lines below [`LABELLED`].
    pub fn lines(&self) -> Vec<[String; 11]> {
        let line = |case: &LabelledCase| {
            let LabelledReport { judged, hit, found, found_by_one_test, alpha, false_alarms, .. } =
                &case.report;
            let alarms = |of: fn(&FalseAlarmRow) -> AlarmShare| {
                false_alarms.as_ref().map_or(DASH.to_owned(), |row| share(of(row).mean))
            };
            [
                case.name.clone(),
                case.fault.clone(),
                case.service.clone(),
                format!("{hit} of {judged}"),
                case.report.recall().map_or(DASH.to_owned(), share),
                found.delayed.to_string(),
                found.different.to_string(),
                found_by_one_test.to_string(),
                share(*alpha),
                alarms(|row| row.delayed),
                alarms(|row| row.different),
            ]
        };
        self.cases.iter().map(line).collect()
    }

    /// Returns the means of all cases in words.
    pub fn summary(&self) -> String {
        let recall = self.mean_recall().map_or(DASH.to_owned(), share);
        let times = |times: Option<f64>| times.map_or(DASH.to_owned(), |times| format!("{times:.2}"));
        let [delayed, different] =
            [self.alarms(|row| row.delayed), self.alarms(|row| row.different)].map(times);
        format!(
            "Of the requests hit (over 3 times the longest of normal at the service, and 20 ms) {recall} are found, mean of \
             the cases with at least {FEW}. False alarms as multiples of the accepted rate, mean of the cases: {delayed} \
             delayed, {different} different."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::anomalies::VerdictCounts;

    #[test]
    fn the_mean_is_of_cases_in_which_enough_requests_are_hit() {
        let case = |hit, delayed| LabelledCase {
            report: LabelledReport {
                hit,
                judged: 50,
                alpha: 0.02,
                found: VerdictCounts { delayed, ..VerdictCounts::default() },
                false_alarms: Some(FalseAlarmRow {
                    alpha: 0.02,
                    splits: 20,
                    delayed: AlarmShare { mean: 0.01, greatest: 0.02 },
                    ..FalseAlarmRow::default()
                }),
                ..LabelledReport::default()
            },
            ..LabelledCase::default()
        };
        let faults =
            LabelledCases { asked_alpha: 0.01, cases: vec![case(10, 9), case(5, 3), case(4, 0), case(0, 0)] };
        assert_eq!(faults.mean_recall(), Some(0.75));
        assert!(faults.summary().ends_with("0.50 delayed, 0.00 different."), "{}", faults.summary());
        let lines = faults.lines();
        assert_eq!((lines[0][3].as_str(), lines[3][4].as_str()), ("10 of 50", DASH));
        assert_eq!(LabelledCases::default().mean_recall(), None);
    }

    #[test]
    fn detectors_are_compared_over_all_cases_and_cost_what_1000_requests_cost() {
        let case = |hit, found, trained, train_ms: f64| LabelledCase {
            report: LabelledReport {
                hit,
                trained,
                judged: 50,
                detectors: vec![FaultDetector {
                    detector: Detector::Rule,
                    encoding: Some(FeatureEncoding::Scpv),
                    found,
                    false_alarms: Some(0.02),
                    features: 7,
                    train_ms: Some(train_ms),
                    score_ms: None,
                }],
                ..LabelledReport::default()
            },
            ..LabelledCase::default()
        };
        let cases = vec![case(10, 9, 100, 1.0), case(5, 3, 300, 3.0), case(4, 0, 600, 16.0)];
        let faults = LabelledCases { asked_alpha: 0.01, cases };
        let lines = faults.detector_lines();
        assert_eq!(lines.len(), 1);
        let expected = ["rule", "SCPV", &share(0.75), &share(0.02), &duration(20_000.0), DASH];
        assert_eq!(lines[0].each_ref().map(String::as_str), expected);
        assert!(LabelledCases::default().detectors().is_empty());
    }
}
