//! Requests that are not like the normal ones. Keys are in alphabetical order.

use super::{Text, pretty, public_json};
use pathlight_analysis::anomaly::{
    AnomalyReport, AnomalyRow, Encoding, EvaluationRow, EvaluationTable, ReasonKind, ReasonRow,
};
use pathlight_text::format::duration;

public_json! {
    /// Judged requests, and why they are abnormal.
    ///
    /// With the auto-encoder (`--vae`) `p_structure` is 0 where a call path was never seen in training and 1 elsewhere, and
    /// `p_time` is the share of the density of training log-likelihoods at or below that of the request.
    Anomaly<'a>(report: &'a AnomalyReport) {
        /// How many of `traces` are abnormal.
        abnormal: usize = report.abnormal(),
        /// The accepted rate of false alarms that requests are judged by, 0 to 1. It is greater than `asked_alpha` where so
        /// few training requests could raise no alarm at that. With the auto-encoder 0.001, the p-value of the paper.
        alpha: f64 = report.alpha,
        /// The accepted rate of false alarms asked for.
        asked_alpha: f64 = report.asked_alpha,
        /// `rule` or `VAE`.
        detector: &'static str = report.detector.name(),
        /// Call paths that the training requests have.
        features: u64 = report.features,
        /// The judged requests, the most anomalous first.
        traces: Vec<Row<'a>> = report.rows.iter().map(|row| Row::of(report, row)).collect(),
        /// Training requests.
        trained: u64 = report.trained,
    }
}

public_json! {
    /// One judged request.
    Row<'a>(report: &'a AnomalyReport, row: &'a AnomalyRow) {
        /// Whether it is abnormal.
        abnormal: bool = row.is_abnormal,
        /// Its latency.
        latency_us: u64 = row.request.latency_us,
        /// The normal request most like it; `null` if none was looked for.
        nearest_trace_id: Option<&'a str> = row.nearest.as_ref().map(|nearest| nearest.trace_id.as_str()),
        /// p-value of its structure, 0 to 1.
        p_structure: f64 = row.p_structure,
        /// p-value of its times, 0 to 1.
        p_time: f64 = row.p_time,
        /// Why; of the most anomalous requests only.
        reasons: Vec<Reason<'a>> = row.reasons.iter().map(|reason| Reason::of(report, reason)).collect(),
        /// Canonical id of the request's root span.
        root_span_id: &'a str = &row.request.root_span_id,
        /// Start, microseconds since the epoch.
        start_us: u64 = row.start_us,
        /// Canonical trace id.
        trace_id: &'a str = &row.request.trace_id,
    }
}

public_json! {
    /// One reason.
    Reason<'a>(report: &'a AnomalyReport, reason: &ReasonRow) {
        /// Time over the median of training. Of times only.
        #[serde(skip_serializing_if = "Option::is_none")]
        factor: Option<f64> = of_times(reason, reason.factor),
        /// What it says.
        kind: ReasonKind = reason.kind,
        /// The call path, from the root.
        path: Vec<Endpoint<'a>> = report.path(reason.path).map(Endpoint::of).collect(),
        /// Training requests it stands on.
        requests: u32 = reason.requests,
        /// The reason in words.
        text: String = report.words(reason, duration),
        /// Time on the critical path. Of times only.
        #[serde(skip_serializing_if = "Option::is_none")]
        us: Option<u64> = of_times(reason, reason.us),
        /// 5th and 95th percentile of training. Of times only.
        #[serde(skip_serializing_if = "Option::is_none")]
        usual_us: Option<(f64, f64)> = of_times(reason, reason.usual_us),
    }
}

/// Returns the value if the reason is about a time, and not about a call path that is new or missing.
fn of_times<T>(reason: &ReasonRow, value: T) -> Option<T> {
    matches!(reason.kind, ReasonKind::Slower | ReasonKind::Faster).then_some(value)
}

public_json! {
    /// One endpoint.
    Endpoint<'a>(name: (&'a str, &'a str)) {
        /// Operation name.
        operation: &'a str = name.1,
        /// Service name.
        service: &'a str = name.0,
    }
}

public_json! {
    /// With `--evaluate`: detectors and vectors side by side, on held-out requests some of which were made abnormal.
    Evaluation(table: &EvaluationTable) {
        /// The accepted rate of false alarms, 0 to 1.
        alpha: f64 = table.alpha,
        /// Share of all spans that "spans dropped" really takes away, subtrees included, 0 to 1.
        dropped_share: f64 = table.dropped_share,
        /// Normal requests held out.
        held_out: u64 = table.held_out,
        /// By detector, vectors and injection.
        rows: Vec<EvaluatedRow> = table.rows.iter().map(EvaluatedRow::of).collect(),
        /// Requests trained on.
        trained: u64 = table.trained,
    }
}

public_json! {
    /// One detector on one injection.
    EvaluatedRow(row: &EvaluationRow) {
        /// Abnormal requests judged.
        abnormal: u64 = row.accuracy.abnormal,
        /// Area under the curve of precision over recall (average precision), 0 to 1.
        auprc: f64 = row.accuracy.auprc,
        /// Share of the training requests that were abnormal too, 0 to 1.
        contaminated: f64 = row.contaminated,
        /// `whole tree`, `rule` or `VAE`.
        detector: &'static str = row.detector.name(),
        /// Normal requests called abnormal.
        false_alarms: u64 = row.accuracy.false_alarms,
        /// Call paths that the training requests have.
        features: u64 = row.features,
        /// How requests were made abnormal, in words.
        injection: String = row.injection.name(),
        /// Of the abnormal requests called so, the share whose first reason names the endpoint at which they were made
        /// abnormal; `null` without such a place, or without reasons.
        named: Option<f64> = row.named,
        /// Normal requests judged.
        normal: u64 = row.accuracy.normal,
        /// Of the requests called abnormal, the share that is, 0 to 1.
        precision: f64 = row.accuracy.precision,
        /// Of the abnormal requests, the share that is called so, 0 to 1.
        recall: f64 = row.accuracy.recall,
        /// Time to judge all requests; `null` without a clock.
        score_ms: Option<f64> = row.score_ms,
        /// Time to train; `null` without a clock.
        train_ms: Option<f64> = row.train_ms,
        /// What the vectors hold: `SCPV` or `STV`; `null` of the whole tree.
        vectors: Option<&'static str> = row.encoding.map(Encoding::name),
    }
}

/// Returns the JSON of `anomaly`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn anomaly(report: &AnomalyReport) -> Text {
    pretty(&Anomaly::of(report))
}

/// Returns the JSON of `anomaly --evaluate`.
///
/// # Errors
/// Only if serde_json refuses a number, which no table holds.
pub fn anomaly_evaluation(table: &EvaluationTable) -> Text {
    pretty(&Evaluation::of(table))
}
