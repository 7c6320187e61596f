//! Requests that are not like the normal ones. Keys are in alphabetical order.

use crate::anomalies::hits::{self, HitRows};
use crate::anomalies::labelled::{DetectorLine, LabelledCase, LabelledCases};
use crate::anomalies::severity::label_key;
use crate::json::parts::{Text, compact, pretty, public_json};
use pathlight_base::format::duration;
use pathlight_engine::anomalies::paper::{FeatureEncoding, VectorsReport};
use pathlight_engine::anomalies::{
    AlarmShare, AnomalyReport, AnomalyRow, EvaluationRow, EvaluationTable, FalseAlarmRow, FaultDetector,
    PartOfRequest, ReasonGroup, ReasonKind, ReasonRow, Taught, Thresholds,
};
use pathlight_engine::verdict::SubjectHits;

public_json! {
    /// Judged requests, and why they are abnormal.
    ///
    /// With the auto-encoder (`--vae`) `score` is minus the log-likelihood, and `p` the share of the density of training
    /// log-likelihoods at or below that of the request; 0 where a call path was never seen in training.
    Anomaly<'a>(report: &'a AnomalyReport, hits: Option<&'a SubjectHits>) {
        /// Number of `traces` that are abnormal.
        abnormal: usize = report.abnormal(),
        /// Number of `traces` that are abnormal by both verdicts as one test, by `p`: `--fail-on` counts these.
        abnormal_by_one_test: usize = report.abnormal_by_one_test(),
        /// The accepted rate of false alarms that requests are judged by, 0 to 1. It is greater than `asked_alpha` where so
        /// few training requests could raise no alarm at that. With the auto-encoder 0.001, the p-value of the paper.
        alpha: f64 = report.alpha,
        /// The accepted rate of false alarms asked for.
        asked_alpha: f64 = report.asked_alpha,
        /// Number of `traces` that are both delayed and different.
        both: u64 = report.verdicts().both,
        /// Share of the training requests that may be abnormal, 0 to 1: so many of the most anomalous were left out
        /// (`--contaminated`). Up to `alpha` + `contaminated` of normal requests may be called abnormal.
        contaminated: f64 = report.contaminated,
        /// Number of `traces` that are delayed: some self time is longer than any that training has seen; `null` where no
        /// delay is tested (`--vae`, baselines of earlier versions).
        delayed: Option<u64> = report.has_delays.then(|| report.verdicts().delayed),
        /// `whole tree` or `VAE`.
        detector: &'static str = report.detector.name(),
        /// Number of `traces` that are different: in structure, errors, or times as ratios.
        different: u64 = report.verdicts().different,
        /// Whether more requests are abnormal than chance explains: then the load or the release has changed.
        drifted: bool = report.has_drifted(),
        /// Call paths that the training requests have.
        features: u64 = report.features,
        /// The abnormal requests by their first reason, the largest group first. Without verdicts all that have a reason.
        groups: Vec<Group> = report.groups().iter().map(Group::of).collect(),
        /// What the verdict on both sides is about, and how many of `traces` it hits, which `delayed` does not count: hit is about
        /// one part of one service, beyond what is usual; delayed about any place, beyond all that was seen. `null` where the
        /// verdict names no service, and without `--train` and `--test` of traces.
        hits: Option<Hits<'a>> = hits.map(|hits| Hits::of(report, hits)),
        /// What labels have taught the baseline (`--normal`, `--incident`); `null` without any.
        taught: Option<TaughtCounts> = report.taught.as_ref().map(TaughtCounts::of),
        /// The least score that is abnormal, as far as the training requests tell.
        threshold: f64 = report.threshold(),
        /// Of the auto-encoder: its two thresholds; of a sliding window those of the last network. Else `null`.
        thresholds: Option<Densities> = report.thresholds.as_ref().map(Densities::of),
        /// The judged requests, the most anomalous first.
        traces: Vec<Row<'a>> = report.rows.iter().map(|row| Row::of(report, hits, row)).collect(),
        /// Training requests.
        trained: u64 = report.trained,
        /// Number of `traces` that are abnormal (without verdicts: lead the list) and are not explained, see
        /// `--explain`.
        unexplained: usize = report.unexplained(),
        /// Whether there are verdicts. Each request against all others (no `--test`) has none, only a rank.
        verdicts: bool = report.has_verdicts,
    }
}

public_json! {
    /// What labels have taught a baseline.
    TaughtCounts(taught: &Taught) {
        /// Judged requests labelled as part of the incident.
        incident: u64 = taught.incident,
        /// Training requests that are like those, and were left out.
        left_out: u64 = taught.left_out,
        /// Judged requests that are like those labelled normal, and count as training requests too.
        like_normal: u64 = taught.like_normal,
        /// Judged requests labelled normal, which count as training requests.
        normal: u64 = taught.normal,
        /// Labels of requests that are not among the judged ones.
        unknown: u64 = taught.unknown,
    }
}

public_json! {
    /// The thresholds of the auto-encoder.
    Densities(thresholds: &Thresholds) {
        /// Judged requests that are abnormal by `held_out`; `abnormal` of each request goes by `learned`.
        abnormal_held_out: u64 = thresholds.abnormal_held_out,
        /// The score above which a request is abnormal by training requests that were held out; `null` if none were.
        held_out: Option<f64> = thresholds.held_out,
        /// Training requests that were held out.
        held_out_requests: Option<u64> = thresholds.held_out_requests,
        /// The score above which a request is abnormal by the requests learned from, as in the paper.
        learned: f64 = thresholds.learned,
    }
}

public_json! {
    /// Judged requests by whether the subject of the verdict hits them, and whether they are delayed.
    Hits<'a>(report: &'a AnomalyReport, hits: &'a SubjectHits) {
        /// Requests that are hit and delayed.
        both: usize = HitRows::of(report, hits).both.len(),
        /// Requests in which it takes longer than is usual.
        hit: u64 = hits.counts().hit,
        /// Requests that use it and are of a type of which enough is known.
        judged: u64 = hits.counts().judged,
        /// Requests that are delayed and not hit.
        only_delayed: usize = HitRows::of(report, hits).only_delayed.len(),
        /// Requests that are hit and not delayed.
        only_hit: usize = HitRows::of(report, hits).only_hit.len(),
        /// The part of the service: `own` for its own work, `in` for waiting for it, `out` for its calls of others.
        part: &'static str = hits.subject.part.key(),
        /// The service.
        service: &'a str = &hits.subject.service,
        /// The same in words.
        text: String = hits::summary(report, hits),
        /// Requests that use it and are of a type of which too few are there to compare with.
        too_few: u64 = hits.counts().too_few,
    }
}

public_json! {
    /// Requests with one leading reason.
    Group(group: &ReasonGroup) {
        /// Number of requests.
        requests: usize = group.rows.len(),
        /// The reason in words.
        text: String = group.words.clone(),
    }
}

public_json! {
    /// One judged request.
    Row<'a>(report: &'a AnomalyReport, hits: Option<&SubjectHits>, row: &'a AnomalyRow) {
        /// Whether it is abnormal, delayed or different; `null` without a verdict: no baseline, or a root that training has
        /// never seen.
        abnormal: Option<bool> = (report.has_verdicts && !row.is_unknown).then(|| report.is_abnormal(row)),
        /// Whether it is delayed; `null` without a verdict, and where no delay is tested.
        delayed: Option<bool> = (report.has_verdicts && row.p_delayed.is_some()).then(|| report.is_delayed(row)),
        /// Whether it is different; `null` without a verdict.
        different: Option<bool> = (report.has_verdicts && !row.is_unknown).then(|| report.is_different(row)),
        /// Whether the subject of `hits` takes longer in it than is usual; `null` where it does not use the subject, or that is
        /// not known.
        hit: Option<bool> = hits.and_then(|hits| hits::is_hit(hits, row)),
        /// Whether it is hit and delayed, and why if only one of them, in words; `null` if it is neither, or that is not known.
        hit_text: Option<String> = hits.and_then(|hits| hits::words(report, hits, row)),
        /// What was said of it: `normal` or `incident`; `null` if nothing.
        label: Option<&'static str> = row.label.map(label_key),
        /// Its latency.
        latency_us: u64 = row.request.latency_us,
        /// The normal request most like it; `null` if none was looked for.
        nearest_trace_id: Option<&'a str> = row.nearest.as_ref().map(|nearest| nearest.trace_id.as_str()),
        /// The p-value of both verdicts as one test: twice the smaller one, at most 1. Where no delay is tested that of the
        /// only verdict.
        p: f64 = row.p,
        /// Share of training requests at least as delayed, 0 to 1; `null` where no delay is tested.
        p_delayed: Option<f64> = row.p_delayed,
        /// Share of training requests at least as different, 0 to 1.
        p_different: f64 = row.p_different,
        /// The part of the request that leads: `structure`, `on_path` or `off_path`.
        part: &'static str = part(row.part),
        /// Reasons of the verdict, those of a delay first; of the most anomalous requests only.
        reasons: Vec<Reason<'a>> = report.reasons(row).into_iter().map(|reason| Reason::of(report, reason)).collect(),
        /// Canonical id of the request's root span.
        root_span_id: &'a str = &row.request.root_span_id,
        /// Score of anomaly, the higher the more anomalous; without a bound. It is the surprise of the stronger verdict: -ln of
        /// its p-value, and more beyond all training requests.
        score: f64 = row.score,
        /// Start, microseconds since the epoch.
        start_us: u64 = row.start_us,
        /// Canonical trace id.
        trace_id: &'a str = &row.request.trace_id,
        /// Whether it may have reasons that were not looked for, as it is not among the first that `--explain` asks for.
        unexplained: bool = row.is_unexplained,
    }
}

public_json! {
    /// One reason.
    Reason<'a>(report: &'a AnomalyReport, reason: &ReasonRow) {
        /// Of an order the endpoint that the call begins after; `null` for none.
        after: Option<Endpoint<'a>> = reason.after.map(|endpoint| Endpoint::of(report.endpoints[endpoint as usize].names())),
        /// Training calls that are like this one; of structure.
        alike: u32 = reason.alike,
        /// 5th and 95th percentile of training, microseconds or a number of calls; `null` of what is neither.
        baseline: Option<(f64, f64)> = reason.baseline,
        /// Training calls compared with.
        calls: u32 = reason.calls,
        /// Of a delay the one endpoint that the span calls; `null` if it calls none or several, and of other reasons.
        callee: Option<Endpoint<'a>> = reason.callee.map(|endpoint| Endpoint::of(report.endpoints[endpoint as usize].names())),
        /// Kind of deviation.
        kind: ReasonKind = reason.kind,
        /// Of a delay the longest self time of the training calls, microseconds; else `null`.
        longest_us: Option<f64> = reason.longest_us,
        /// The call path, from the root.
        path: Vec<Endpoint<'a>> = report.path(reason.path).map(Endpoint::of).collect(),
        /// The reason in words.
        text: String = report.words(reason, duration),
        /// Microseconds; of `call_count` a number of calls; of `error` and `critical_path` 1 for yes and 0 for no.
        value: u64 = reason.value,
    }
}

/// Returns the name of a part of a request.
fn part(part: PartOfRequest) -> &'static str {
    match part {
        PartOfRequest::Structure => "structure",
        PartOfRequest::OnPath => "on_path",
        PartOfRequest::OffPath | PartOfRequest::Covering => "off_path",
    }
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
        /// Normal requests that the whole-tree detector calls abnormal, by the number of training requests.
        false_alarms: Vec<FalseAlarms> = table.false_alarms.iter().map(FalseAlarms::of).collect(),
        /// Normal requests held out.
        held_out: u64 = table.held_out,
        /// By detector, vectors and injection.
        rows: Vec<EvaluatedRow> = table.rows.iter().map(EvaluatedRow::of).collect(),
        /// Requests trained on.
        trained: u64 = table.trained,
    }
}

public_json! {
    /// Normal requests called abnormal, over several ways to halve all of them (`--splits`).
    FalseAlarms(row: &FalseAlarmRow) {
        /// The accepted rate of false alarms, 0 to 1; raised where so few training requests could raise no alarm.
        alpha: f64 = row.alpha,
        /// Those that are called delayed.
        delayed: Alarms = Alarms::of(&row.delayed),
        /// Those that are called different.
        different: Alarms = Alarms::of(&row.different),
        /// The greatest share of any split, 0 to 1.
        greatest: f64 = row.abnormal.greatest,
        /// Share of the normal requests held out that is called abnormal, 0 to 1, mean of the splits.
        mean: f64 = row.abnormal.mean,
        /// Number of splits.
        splits: u32 = row.splits,
        /// Requests trained on, mean of the splits.
        trained: f64 = row.trained,
    }
}

public_json! {
    /// Share of the normal requests held out that has a verdict.
    Alarms(share: &AlarmShare) {
        /// The greatest share of any split, 0 to 1.
        greatest: f64 = share.greatest,
        /// Mean of the splits, 0 to 1.
        mean: f64 = share.mean,
    }
}

public_json! {
    /// With `--evaluate --labels`: what is found of faults whose place is known.
    LabelledFaults(faults: &LabelledCases) {
        /// The accepted rate of false alarms asked for, 0 to 1.
        asked_alpha: f64 = faults.asked_alpha,
        /// By fault, in the order of the folders.
        cases: Vec<LabelledFault> = faults.cases.iter().map(LabelledFault::of).collect(),
        /// The whole-tree detector, and the paper's, over all cases; the auto-encoder with `--vae`.
        detectors: Vec<ComparedDetector> = faults.detectors().iter().map(ComparedDetector::of).collect(),
        /// Mean recall of the cases in which the fault hits at least five requests, 0 to 1; `null` without such a case.
        mean_recall: Option<f64> = faults.mean_recall(),
    }
}

public_json! {
    /// What is found of one fault.
    LabelledFault(case: &LabelledCase) {
        /// The accepted rate of false alarms, 0 to 1; raised where so few training requests could raise no alarm.
        alpha: f64 = case.report.alpha,
        /// Requests hit that are both delayed and different.
        both: u64 = case.report.found.both,
        /// The folder of the case.
        case: String = case.name.clone(),
        /// Requests hit that are called delayed.
        delayed: u64 = case.report.found.delayed,
        /// What the whole-tree detector finds, and the paper's.
        detectors: Vec<CaseDetector> = case.report.detectors.iter().map(CaseDetector::of).collect(),
        /// Requests hit that are called different.
        different: u64 = case.report.found.different,
        /// Normal requests called abnormal; `null` where they cannot be halved.
        false_alarms: Option<FalseAlarms> = case.report.false_alarms.as_ref().map(FalseAlarms::of),
        /// Kind of the fault, as the label says.
        fault: String = case.fault.clone(),
        /// Requests that the fault hits strongly.
        hit: u64 = case.report.hit,
        /// Requests judged while the fault was there.
        judged: u64 = case.report.judged,
        /// Of the requests hit the share that is abnormal, delayed or different, 0 to 1; `null` if none is hit.
        recall: Option<f64> = case.report.recall(),
        /// Of the requests hit those that are abnormal by both verdicts as one test.
        recalled_by_one_test: u64 = case.report.found_by_one_test,
        /// The service at fault.
        service: String = case.service.clone(),
        /// Requests trained on.
        trained: u64 = case.report.trained,
    }
}

public_json! {
    /// What one detector finds of one fault.
    CaseDetector(row: &FaultDetector) {
        /// `whole tree`, `rule`, `VAE` or `VAE, held-out threshold`.
        detector: &'static str = row.detector.name(),
        /// Share of the normal requests held out that it calls abnormal, 0 to 1, mean of the splits; `null` where they cannot be
        /// halved.
        false_alarms: Option<f64> = row.false_alarms,
        /// Call paths that the training requests have.
        features: u64 = row.features,
        /// Of the requests hit those that it calls abnormal.
        found: u64 = row.found,
        /// Time to judge all requests while the fault was there; `null` without a clock.
        score_ms: Option<f64> = row.score_ms,
        /// Time to train; `null` without a clock.
        train_ms: Option<f64> = row.train_ms,
        /// Content of the vectors: `SCPV` or `STV`; `null` of the whole tree.
        vectors: Option<&'static str> = row.encoding.map(FeatureEncoding::name),
    }
}

public_json! {
    /// What one detector finds of all faults.
    ComparedDetector(row: &DetectorLine) {
        /// `whole tree`, `rule`, `VAE` or `VAE, held-out threshold`.
        detector: &'static str = row.detector.name(),
        /// Share of the normal requests held out that it calls abnormal, 0 to 1, mean of the cases; `null` where none can be
        /// halved.
        false_alarms: Option<f64> = row.false_alarms,
        /// Of the requests hit the share that it calls abnormal, 0 to 1, mean of the cases in which the fault hits at least five;
        /// `null` without such a case.
        recall: Option<f64> = row.recall,
        /// Time to judge 1,000 requests, mean of all cases; `null` without a clock.
        score_ms: Option<f64> = row.score_ms_per_1000,
        /// Time to train by 1,000 requests, mean of all cases; `null` without a clock.
        train_ms: Option<f64> = row.train_ms_per_1000,
        /// Content of the vectors: `SCPV` or `STV`; `null` of the whole tree.
        vectors: Option<&'static str> = row.encoding.map(FeatureEncoding::name),
    }
}

public_json! {
    /// One detector on one injection.
    EvaluatedRow(row: &EvaluationRow) {
        /// Abnormal requests judged.
        abnormal: u64 = row.accuracy.abnormal,
        /// Area under the curve of precision over recall (average precision), 0 to 1.
        auprc: f64 = row.accuracy.auprc,
        /// The same where requests are ranked by how delayed they are alone; `null` of detectors with one verdict.
        auprc_delayed: Option<f64> = row.auprc_alone.map(|[delayed, _]| delayed),
        /// The same where requests are ranked by how different they are alone; `null` of detectors with one verdict.
        auprc_different: Option<f64> = row.auprc_alone.map(|[_, different]| different),
        /// Share of the training requests that were abnormal too, 0 to 1.
        contaminated: f64 = row.contaminated,
        /// `whole tree`, `rule`, `VAE` or `VAE, held-out threshold`.
        detector: &'static str = row.detector.name(),
        /// Normal requests called abnormal.
        false_alarms: u64 = row.accuracy.false_alarms,
        /// Call paths that the training requests have.
        features: u64 = row.features,
        /// The way requests were made abnormal, in words.
        injection: String = row.injection.name(),
        /// Of the abnormal requests called so, the share whose first reason names the endpoint at which they were made
        /// abnormal; `null` without such a place, or without reasons.
        named: Option<f64> = row.named,
        /// Normal requests judged.
        normal: u64 = row.accuracy.normal,
        /// Of the abnormal requests, the share that both verdicts as one test call so, 0 to 1; `null` of detectors with one
        /// verdict.
        one_test_recall: Option<f64> = row.one_test_recall,
        /// Of the requests called abnormal, the share that is, 0 to 1.
        precision: f64 = row.accuracy.precision,
        /// Of the abnormal requests, the share that is called so, 0 to 1.
        recall: f64 = row.accuracy.recall,
        /// Time to judge all requests; `null` without a clock.
        score_ms: Option<f64> = row.score_ms,
        /// Time to train; `null` without a clock.
        train_ms: Option<f64> = row.train_ms,
        /// Content of the vectors: `SCPV` or `STV`; `null` of the whole tree.
        vectors: Option<&'static str> = row.encoding.map(FeatureEncoding::name),
    }
}

/// Returns the JSON of `anomaly`, beside the requests that the subject of the verdict hits.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn anomaly(report: &AnomalyReport, hits: Option<&SubjectHits>) -> Text {
    pretty(&Anomaly::of(report, hits::comparable(report, hits)))
}

/// Returns the JSON of `anomaly --evaluate`.
///
/// # Errors
/// Only if serde_json refuses a number, which no table holds.
pub fn anomaly_evaluation(table: &EvaluationTable) -> Text {
    pretty(&Evaluation::of(table))
}

/// Returns the JSON of `anomaly --evaluate --labels`.
///
/// # Errors
/// Only if serde_json refuses a number, which no table holds.
pub fn labelled_faults(faults: &LabelledCases) -> Text {
    pretty(&LabelledFaults::of(faults))
}

/// Returns the JSON of `anomaly --export-vectors`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn vectors(report: &VectorsReport) -> Text {
    compact(report)
}
