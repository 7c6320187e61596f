//! Anomaly detection: facts of both sides, then training, judging and explaining in small steps.

mod evaluation;
mod labelled;
mod labels;
mod training;
mod vectors;

pub use evaluation::AnomalyEvaluation;
pub use labelled::{FaultDetector, LabelledFault, LabelledReport};
pub use labels::{RequestLabel, Taught};
pub(crate) use vectors::{FactsPass, InjectionPlan, VectorsPass};

use self::training::{Parts, judge_by_vae, train_vae};
use crate::EngineError;
use crate::anomalies::call_tree::{
    Explainer, FACTS_KEPT, FactPart, FactRow, RequestFacts, Scratch, Tables, Trained, TreeModel, TreeVerdict,
    one_p,
};
use crate::anomalies::examples::Examples;
use crate::anomalies::paper::vae::{P_VALUE, TrainingProgress, VaeVerdict};
use crate::anomalies::paper::{FeatureEncoding, Features, RowFacts, VectorsReport};
use crate::anomalies::{
    AnomalyBaseline, AnomalyReport, AnomalyRow, AnomalySettings, Detector, EXPLAINED_P, PartOfRequest,
    ReasonNames, Thresholds,
};
use crate::requests::{RequestRef, RootEndpoint, Selection};
use crate::run::query::Query;
use crate::run::workers::Workers;
use crate::summaries::SummarySettings;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::steps::Pace;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Units of work of an explanation.
const EXPLAIN_UNITS: usize = 20_000;

/// Reports which requests are abnormal, and why: learns a baseline from one side, unless one is given, and judges the
/// other. Where both sides are the same requests, each is ranked against all others, and none is called abnormal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomalies {
    /// The normal requests to learn from.
    pub train: Selection,
    /// The requests to judge.
    pub test: Selection,
    /// Settings of the training.
    pub settings: AnomalySettings,
}

/// A judged request: the score to rank it by, its p-values, and what the default detector says.
struct Judgement {
    score: f64,
    p_different: f64,
    p_delayed: Option<f64>,
    verdict: TreeVerdict,
    is_trained: bool,
}

/// A baseline, ready to judge.
struct Learned<'a> {
    model: AnomalyBaseline,
    tables: Tables,
    /// The facts of the training requests; none of a saved baseline.
    facts: Cow<'a, RequestFacts>,
    /// The verdicts on them, by request.
    trained: Vec<Trained>,
    /// How the training of the auto-encoder went.
    training: Option<TrainingProgress>,
    /// What labels have taught it.
    taught: Option<Taught>,
}

impl Learned<'_> {
    /// Returns the training requests, ascending, and their verdicts by the other folds.
    fn requests(&self) -> impl Iterator<Item = (&RowFacts, &TreeVerdict)> {
        self.trained.iter().map(|one| (&self.facts.rows[one.row as usize].facts, &one.verdict))
    }

    /// Returns of each judged request the verdict that it has as a training request.
    fn own_verdicts(&self, judged: &RequestFacts) -> Vec<Option<TreeVerdict>> {
        // Both ascend.
        let mut trained = self.requests().peekable();
        let of = |row: &FactRow| {
            let request = &row.facts.request;
            while trained.next_if(|(one, _)| one.request < *request).is_some() {}
            trained.next_if(|(one, _)| one.request == *request).map(|(_, verdict)| *verdict)
        };
        judged.rows.iter().map(of).collect()
    }
}

impl Judgement {
    fn of(verdict: &TreeVerdict) -> Judgement {
        Judgement {
            score: verdict.rank(),
            p_different: verdict.different.p,
            p_delayed: verdict.delayed.map(|delayed| delayed.p),
            verdict: *verdict,
            is_trained: false,
        }
    }

    fn p(&self) -> f64 {
        one_p(self.p_different, self.p_delayed)
    }

    /// Returns whether it has reasons at the greatest rate of false alarms that the page offers.
    fn is_explained(&self) -> bool {
        // A p-value is a ratio of whole numbers; rounding must not decide.
        self.p_different.min(self.p_delayed.unwrap_or(1.0)) <= EXPLAINED_P * (1.0 + 1e-9)
    }
}

impl Query for Anomalies {
    type Report = AnomalyReport;

    async fn run(self, workers: Workers) -> Result<AnomalyReport, EngineError> {
        let Anomalies { train: normal, test, settings } = self;
        let settings = settings.bounded();
        let (normal, test) = workers.read_alike(normal, test).await?;
        if settings.model.is_none() && !matches!(settings.detector, Detector::Tree) {
            workers.needs_traces(&normal, LEARNS).await?;
        }
        workers.needs_traces(&test, "judging needs").await?;
        // With a sliding window, the networks are trained as their time comes.
        let windowed = match settings.detector {
            Detector::Vae(sizes) if sizes.parts > 0 && settings.model.is_none() => {
                Some((normal.clone(), sizes.with_whole_window()))
            }
            _ => None,
        };
        let settings = AnomalySettings {
            detector: if windowed.is_some() { Detector::Tree } else { settings.detector },
            labels: if windowed.is_some() { Vec::new() } else { settings.labels },
            ..settings
        };
        let judged = facts(&workers, &test).await?;
        let is_same_set = normal.group == test.group;
        let own_facts = (normal == test).then_some(&judged);
        let learned = learn(&workers, &normal, own_facts, &settings, 0).await?;
        let learned =
            labels::teach(learned, &judged, &settings.labels, is_same_set, &mut Pace::default()).await?;
        let Learned { model, tables, .. } = &learned;
        let asked_alpha = f64::from(settings.alpha_ppm) / 1e6;
        let detector = match (&model.vae, settings.detector, &windowed) {
            (_, _, Some((_, sizes))) => Detector::Vae(*sizes),
            (None, _, _) => Detector::Tree,
            (Some(_), Detector::Vae(settings), _) => Detector::Vae(settings),
            (Some(_), _, _) => Detector::Vae(Default::default()),
        };
        let mut report = AnomalyReport {
            has_verdicts: settings.model.is_some() || normal != test || windowed.is_some(),
            alpha: if matches!(detector, Detector::Vae(_)) {
                P_VALUE
            } else {
                model.tree.possible_alpha(asked_alpha)
            },
            asked_alpha,
            contaminated: match detector {
                Detector::Tree => f64::from(model.tree.contaminated_ppm) / 1e6,
                _ => 0.0,
            },
            has_delays: tables.has_delays() && detector == Detector::Tree,
            detector,
            trained: model.tree.learned(),
            features: model.tree.dictionary.paths.nodes.len() as u64,
            baseline: tables.baseline(),
            learned: match is_same_set || model.vae.is_some() || windowed.is_some() {
                true => Vec::new(),
                false => learned.requests().map(|(one, verdict)| (one.start_us, verdict.rank())).collect(),
            },
            training: learned.training.clone(),
            taught: learned.taught,
            ..AnomalyReport::default()
        };
        let (located, mut scratch, mut pace) =
            (tables.locate(&model.tree, &judged.dictionary), Scratch::default(), Pace::default());
        let mut judgements: Vec<Judgement> = Vec::with_capacity(judged.len());
        let own = if is_same_set { learned.own_verdicts(&judged) } else { vec![None; judged.len()] };
        for (row, own) in own.into_iter().enumerate() {
            // Requests that were learned from are judged by the other folds.
            let other = || tables.judge(&model.tree, &located, &judged, row, &mut scratch);
            let verdict = own.unwrap_or_else(other);
            judgements.push(Judgement { is_trained: own.is_some(), ..Judgement::of(&verdict) });
            pace.spend(1_000).await;
        }
        let is_windowed = windowed.is_some();
        let found = if let Some((normal, sizes)) = windowed {
            let learned = vectors(&workers, &normal, settings.encoding).await?;
            let judged = vectors(&workers, &test, settings.encoding).await?;
            let parts = Parts::new(&[&learned, &judged], sizes.parts);
            let (found, last) = parts.judge(&workers, (&learned, &judged), sizes).await;
            report.training = last.as_ref().map(|(_, went)| went.clone());
            report.baseline.clear();
            Some((found, last.map(|(vae, _)| vae)))
        } else if let Some((encoding, vae)) = &model.vae {
            let vectors = vectors(&workers, &test, *encoding).await?;
            let found = judge_by_vae(&workers, vae, &vectors).await;
            Some((found.into_iter().map(Some).collect(), Some(vae.clone())))
        } else {
            None
        };
        if let Some((found, vae)) = found {
            // Both come by id.
            for (found, into) in found.iter().zip(&mut judgements) {
                (into.verdict.is_unknown, into.p_delayed) = (found.is_none(), None);
                let Some(found) = found else {
                    (into.score, into.p_different) = (0.0, 1.0);
                    continue;
                };
                into.score = -found.log_likelihood;
                into.p_different = if found.is_unseen { 0.0 } else { found.p };
                into.verdict.part =
                    if found.is_unseen { PartOfRequest::Structure } else { PartOfRequest::OnPath };
            }
            if let Some(vae) = vae {
                report.baseline = vae.likelihoods().iter().rev().map(|l| -f64::from(*l)).collect();
                let [learned, held_out] = vae.thresholds().map(|threshold| threshold.map(|ll| -ll));
                let is_abnormal = |found: &&VaeVerdict| found.is_abnormal_held_out() == Some(true);
                report.thresholds = Some(Thresholds {
                    learned: learned.unwrap_or_default(),
                    held_out,
                    abnormal_held_out: found.iter().flatten().filter(is_abnormal).count() as u64,
                    held_out_requests: (!is_windowed).then(|| vae.held_out().len() as u64),
                });
            }
        }
        let labels = labels::of_requests(&settings.labels, &judged);
        let order = rank(&mut report, &judged, &judgements, &labels);
        let explainer = Explainer::new(&model.tree, tables, &located, &judged);
        let mut names = ReasonNames::default();
        let mut explained: Vec<(usize, usize)> = Vec::new();
        for (place, row) in order.into_iter().enumerate() {
            let Judgement { verdict, is_trained, .. } = &judgements[row];
            if !judgements[row].is_explained() {
                continue;
            }
            if place >= settings.explain as usize {
                report.rows[place].is_unexplained = true;
                continue;
            }
            let why = explainer.explain(row, verdict, *is_trained, &mut scratch);
            let reasons = why.reasons.iter().map(|reason| names.name(&mut report, reason)).collect();
            (report.rows[place].reasons, report.rows[place].part) = (reasons, why.part);
            explained.push((place, row));
            pace.spend(EXPLAIN_UNITS).await;
        }
        let mut examples = Cow::Borrowed(&model.tree.examples);
        if examples.is_empty() {
            // Those of other roots have nothing in common with what is explained.
            let roots: BTreeSet<u32> = explained.iter().map(|&(_, row)| explainer.root(row)).collect();
            let is_wanted = |root| roots.contains(&root);
            let Learned { facts, trained, .. } = &learned;
            examples = Cow::Owned(Examples::of_normal(facts, trained, is_wanted, &mut pace).await);
        }
        let examples = examples.search(model.tree.dictionary.paths.nodes.len());
        for (place, row) in explained {
            let is_trained = judgements[row].is_trained;
            let nearest = explainer.nearest(row, is_trained, &examples, &mut scratch);
            report.rows[place].nearest = nearest.cloned();
        }
        Ok(report)
    }
}

/// Reports a baseline learned from normal requests, to be kept as a file; one that is given comes back, with what labels
/// teach it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnomalyModel {
    /// The normal requests to learn from.
    pub train: Selection,
    /// The requests that labels are about.
    pub test: Selection,
    /// Settings of the training.
    pub settings: AnomalySettings,
}

impl Query for AnomalyModel {
    /// The file.
    type Report = Vec<u8>;

    async fn run(self, workers: Workers) -> Result<Vec<u8>, EngineError> {
        let AnomalyModel { train: normal, test, settings } = self;
        let settings = settings.bounded();
        let (normal, test) = workers.read_alike(normal, test).await?;
        if settings.model.is_none() && !matches!(settings.detector, Detector::Tree) {
            workers.needs_traces(&normal, LEARNS).await?;
        }
        let mut learned = learn(&workers, &normal, None, &settings, FACTS_KEPT).await?;
        if !settings.labels.is_empty() {
            workers.needs_traces(&test, "labels are about").await?;
            let judged = facts(&workers, &test).await?;
            let is_same_set = normal.group == test.group;
            let pace = &mut Pace::default();
            learned = labels::teach(learned, &judged, &settings.labels, is_same_set, pace).await?;
            let tree = &mut learned.model.tree;
            tree.kept = FactPart::sample(vec![std::mem::take(&mut tree.kept)], FACTS_KEPT);
        }
        Ok(learned.model.to_bytes())
    }
}

/// Reports the vectors that the paper's detectors learn from, for models of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnomalyVectors {
    /// The requests to learn from.
    pub train: Selection,
    /// Those to judge.
    pub test: Option<Selection>,
    /// Encoding of the vectors.
    pub encoding: FeatureEncoding,
}

impl Query for AnomalyVectors {
    type Report = VectorsReport;

    async fn run(self, workers: Workers) -> Result<VectorsReport, EngineError> {
        let AnomalyVectors { train, test, encoding } = self;
        let train = train.with_recorded_calls();
        let test = test.map(|test| test.with_recorded_calls()).filter(|test| *test != train);
        let mut sets = vec![("train", vectors(&workers, &train, encoding).await?)];
        if let Some(test) = test {
            sets.push(("test", vectors(&workers, &test, encoding).await?));
        }
        Ok(VectorsReport::of(encoding, sets))
    }
}

/// Returns the saved model of these settings.
fn saved_model(settings: &AnomalySettings) -> Result<Option<AnomalyBaseline>, EngineError> {
    Ok(settings.model.as_ref().map(|bytes| AnomalyBaseline::from_bytes(bytes)).transpose()?)
}

/// Learns from all requests of a selection, whose facts may be known, unless the settings have a saved model. The facts of
/// so many of them are kept.
async fn learn<'a>(
    workers: &Workers,
    selection: &Selection,
    known: Option<&'a RequestFacts>,
    settings: &AnomalySettings,
    keep: usize,
) -> Result<Learned<'a>, EngineError> {
    let mut pace = Pace::default();
    if let Some(model) = saved_model(settings)? {
        let tables = model.tree.tables(&mut pace).await;
        let facts = Cow::default();
        return Ok(Learned { model, tables, facts, trained: Vec::new(), training: None, taught: None });
    }
    let facts = match known {
        Some(facts) => Cow::Borrowed(facts),
        None => Cow::Owned(facts(workers, selection).await?),
    };
    let rows: Vec<u32> = (0..facts.len() as u32).collect();
    let (mut tree, tables, trained) =
        TreeModel::train(&facts, &rows, settings.contaminated_ppm, &mut pace).await;
    let (mut vae, mut training) = (None, None);
    if let Detector::Vae(sizes) = settings.detector {
        let mut vectors = vectors(workers, selection, settings.encoding).await?;
        if sizes.parts > 0 {
            vectors = Parts::new(&[&vectors], sizes.parts).last(&vectors);
        }
        if !vectors.is_empty() {
            let (trained, went) = train_vae(workers, &vectors, sizes, (0, 1)).await;
            (vae, training) = (Some((settings.encoding, trained)), Some(went));
        }
    }
    // Labels may take any of them away.
    let keep = if settings.labels.is_empty() { keep } else { usize::MAX };
    if keep > 0 {
        let rows: Vec<u32> = trained.iter().map(|one| one.row).collect();
        tree.keep(&facts, &rows, keep);
        tree.examples = Examples::of_normal(&facts, &trained, |_| true, &mut pace).await;
    }
    Ok(Learned { model: AnomalyBaseline { tree, vae }, tables, facts, trained, training, taught: None })
}

/// Start of the sentences about the input of the auto-encoder.
const LEARNS: &str = "the auto-encoder learns from";

impl Workers {
    /// Reads both sides without the rule that names calls; if the normal ones are those of a summary, the others as it
    /// was read.
    async fn read_alike(
        &self,
        normal: Selection,
        test: Selection,
    ) -> Result<(Selection, Selection), EngineError> {
        let (normal, mut test) = (normal.with_recorded_calls(), test.with_recorded_calls());
        if let Some((summary, _)) = self.summary_of(&normal).await? {
            let SummarySettings { root, path } = &summary.settings;
            (test.overlap, test.reading) = (path.overlap, path.reading);
            if matches!(test.root, RootEndpoint::TraceRoots) {
                test.root = root.clone();
            }
        }
        Ok((normal, test))
    }

    /// Refuses a summary in place of traces.
    pub(crate) async fn needs_traces(&self, selection: &Selection, what: &str) -> Result<(), EngineError> {
        match self.summary_of(selection).await? {
            None => Ok(()),
            Some(_) => Err(EngineError::Summary(format!(
                "{what} the spans of single requests, which a summary does not hold: load the traces"
            ))),
        }
    }
}

/// Returns the facts of the requests of a selection; of a summary those of the requests that it keeps.
async fn facts(workers: &Workers, selection: &Selection) -> Result<RequestFacts, EngineError> {
    if let Some((summary, choice)) = workers.summary_of(selection).await? {
        return Ok(RequestFacts::merge(vec![summary.normal(choice.root.as_ref())?]));
    }
    // Of all requests none are cut out by type.
    let over_all = selection.over_all || selection.range.is_all();
    let requests = workers.requests(&Selection { over_all, ..selection.clone() }).await?;
    Ok(RequestFacts::merge(requests.partials(FactsPass { plan: None }).await?))
}

async fn vectors(
    workers: &Workers,
    selection: &Selection,
    encoding: FeatureEncoding,
) -> Result<Features, EngineError> {
    let pass = VectorsPass { encoding, plan: None };
    let parts = workers.requests(selection).await?.partials(pass).await?;
    Ok(Features::merge(parts))
}

/// Writes the judged requests, the most anomalous first; returns the row of the facts of each.
fn rank(
    report: &mut AnomalyReport,
    facts: &RequestFacts,
    judgements: &[Judgement],
    labels: &BTreeMap<RequestRef, bool>,
) -> Vec<usize> {
    let mut order: Vec<usize> = (0..judgements.len()).collect();
    // What the auto-encoder has never seen comes first, what has no verdict last. Stable: the rows come by id.
    let key = |row: usize| {
        let Judgement { score, p_different, verdict, .. } = &judgements[row];
        (verdict.is_unknown, *p_different > 0.0, [-score, -verdict.score])
    };
    order.compact_sort_by(|&a, &b| {
        let (a, b) = (key(a), key(b));
        let [score, different] = [0, 1].map(|at| a.2[at].total_cmp(&b.2[at]));
        (a.0, a.1).cmp(&(b.0, b.1)).then(score).then(different)
    });
    for &row in &order {
        let Judgement { score, p_different, p_delayed, verdict, .. } = &judgements[row];
        let facts = &facts.rows[row].facts;
        report.rows.push(AnomalyRow {
            request: facts.request.clone(),
            start_us: facts.start_us,
            score: *score,
            p: judgements[row].p(),
            p_different: *p_different,
            p_delayed: *p_delayed,
            part: verdict.part,
            is_unknown: verdict.is_unknown,
            is_unexplained: false,
            label: labels.get(&facts.request).copied(),
            reasons: Vec::new(),
            nearest: None,
        });
    }
    order
}
