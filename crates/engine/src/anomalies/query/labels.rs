//! What a reader teaches a baseline by labelling requests (`docs/definitions/anomaly.md` section 4).

use super::{Judgement, Learned};
use crate::EngineError;
use crate::anomalies::call_tree::{
    Calibrated, Explainer, RequestFacts, Scratch, Tables, TreeModel, TreeReason, TreeVerdict,
};
use crate::anomalies::sets::FOLDS;
use crate::anomalies::{AnomalyBaseline, ModelError, ReasonKind};
use crate::requests::RequestRef;
use pathlight_base::steps::Pace;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::repeat_n;

/// One in so many requests of a taught baseline is a request that is labelled normal, at least: five folds have each of
/// them once in a hundred.
const ONE_IN: usize = 20;
/// A time that is more than so many times another one is not like it.
const BEYOND: f64 = 2.0;

/// What a reader says of a judged request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestLabel {
    /// Trace of the request.
    pub trace_id: String,
    /// Span at its root; `None` for every request of the trace.
    pub root_span_id: Option<String>,
    /// Whether it is normal; otherwise it belongs to the incident.
    pub is_normal: bool,
}

impl RequestLabel {
    /// Returns whether it is about a request.
    pub fn names(&self, request: &RequestRef) -> bool {
        self.trace_id == request.trace_id
            && self.root_span_id.as_ref().is_none_or(|root| *root == request.root_span_id)
    }
}

/// What labels have taught a baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taught {
    /// Judged requests that are labelled normal: they count as training requests.
    pub normal: u64,
    /// Judged requests that are like those, and count as training requests too.
    pub like_normal: u64,
    /// Judged requests that are labelled as part of the incident.
    pub incident: u64,
    /// Training requests that are like those, and were left out.
    pub left_out: u64,
    /// Labels of requests that are not among the judged ones.
    pub unknown: u64,
}

/// Teaches a baseline what the labels say of judged requests; the auto-encoder learns nothing from them. `is_same_set` says
/// that those may be training requests.
pub(super) async fn teach<'a>(
    learned: Learned<'a>,
    judged: &RequestFacts,
    labels: &[RequestLabel],
    is_same_set: bool,
    pace: &mut Pace,
) -> Result<Learned<'a>, EngineError> {
    if labels.is_empty() || learned.model.vae.is_some() {
        return Ok(learned);
    }
    let by_request = of_requests(labels, judged);
    let rows_labelled = |is_normal: bool| -> BTreeSet<u32> {
        let label = |row: &u32| by_request.get(&judged.rows[*row as usize].facts.request);
        (0..judged.len() as u32).filter(|row| label(row) == Some(&is_normal)).collect()
    };
    let (normal, incident) = (rows_labelled(true), rows_labelled(false));
    let is_unknown = |label: &&RequestLabel| !by_request.keys().any(|request| label.names(request));
    let mut taught = Taught {
        normal: normal.len() as u64,
        incident: incident.len() as u64,
        unknown: labels.iter().filter(is_unknown).count() as u64,
        ..Taught::default()
    };
    let Learned { model: AnomalyBaseline { tree: mut model, .. }, tables, .. } = learned;
    if model.kept.rows.is_empty() && !model.is_empty() {
        return Err(ModelError::Unteachable.into());
    }
    let kept = model.kept_facts().ok_or(ModelError::Unsound)?;
    let request = |row: u32| &judged.rows[row as usize].facts.request;
    let known: BTreeSet<&RequestRef> = kept.rows.iter().map(|row| &row.facts.request).collect();
    let is_known = |request: &RequestRef| is_same_set && known.contains(request);

    let is_labelled = |row: u32| normal.contains(&row) || incident.contains(&row);
    let of_judged = Reasons::new(&model, &tables, (judged, false), is_labelled, pace).await;
    let incident_reasons: Vec<&TreeReason> =
        incident.iter().filter_map(|&row| of_judged.leading(row)).collect();
    let normal_reasons: Vec<&TreeReason> = normal.iter().flat_map(|&row| of_judged.of(row)).collect();
    // What differs in nothing but what a labelled request differs in is like it.
    let is_like_normal = |&row: &u32| {
        let reasons = of_judged.of(row);
        let is_like =
            |one: &TreeReason| normal_reasons.iter().any(|of| one.is_same(of) && !one.is_beyond(of));
        !reasons.is_empty() && !is_labelled(row) && !is_known(request(row)) && reasons.iter().all(is_like)
    };
    let like_normal: Vec<u32> = (0..judged.len() as u32).filter(is_like_normal).collect();
    taught.like_normal = like_normal.len() as u64;

    let mut leave: Vec<u32> = Vec::new();
    if !incident.is_empty() {
        let of_kept = Reasons::new(&model, &tables, (&kept, true), |_| false, pace).await;
        let is_like_incident = |&row: &u32| {
            let own = &kept.rows[row as usize].facts.request;
            let is_it = is_same_set && incident.iter().any(|&one| request(one) == own);
            let is_like =
                |one: &TreeReason| incident_reasons.iter().any(|of| one.is_same(of) && !of.is_beyond(one));
            is_it || of_kept.of(row).iter().any(is_like)
        };
        leave = (0..kept.len() as u32).filter(is_like_incident).collect();
    }
    taught.left_out = leave.len() as u64;

    // Of many training requests the facts of some are kept, and the scores of those are what others are compared with.
    let [in_counts, in_scores] =
        [model.learned() as usize, model.len()].map(|n| n.div_ceil(FOLDS * ONE_IN).max(1));
    let copies = |request: &RequestRef| FOLDS * in_scores - usize::from(is_known(request));
    let mut labelled = learn_from(judged, normal.iter().copied(), copies, pace).await;
    labelled.weigh(in_counts as u32);
    let like = learn_from(judged, like_normal.into_iter(), |_| 1, pace).await;
    model.forget(&kept, &leave);
    let all = vec![model, labelled, like];
    let Calibrated { model, tables, facts, trained } =
        TreeModel::merge(all, usize::MAX, pace).await.ok_or(ModelError::Unsound)?;
    let facts = Cow::Owned(facts);
    let model = AnomalyBaseline { tree: model, vae: None };
    Ok(Learned { model, tables, facts, trained, training: None, taught: Some(taught) })
}

/// Returns a baseline of some requests alone, each of which it keeps so many times.
async fn learn_from(
    judged: &RequestFacts,
    rows: impl Iterator<Item = u32>,
    copies: impl Fn(&RequestRef) -> usize,
    pace: &mut Pace,
) -> TreeModel {
    let facts = RequestFacts::merge(vec![judged.sample(&rows.collect::<Vec<u32>>(), usize::MAX)]);
    let rows: Vec<u32> = (0..facts.len() as u32).collect();
    let (mut model, _, _) = TreeModel::train(&facts, &rows, 0, pace).await;
    let request = |row: u32| &facts.rows[row as usize].facts.request;
    let repeated: Vec<u32> = rows.iter().flat_map(|&row| repeat_n(row, copies(request(row)))).collect();
    model.keep(&facts, &repeated, usize::MAX);
    model
}

/// The reasons of those requests that are anomalous, or labelled.
struct Reasons {
    by_row: BTreeMap<u32, (TreeVerdict, Vec<TreeReason>)>,
}

impl Reasons {
    /// Explains requests by a baseline, whatever their verdict those that are asked for too; if it has learned from them, by the
    /// other folds.
    async fn new(
        model: &TreeModel,
        tables: &Tables,
        (facts, is_trained): (&RequestFacts, bool),
        is_wanted: impl Fn(u32) -> bool,
        pace: &mut Pace,
    ) -> Reasons {
        let located = if is_trained { tables.own(model) } else { tables.locate(model, &facts.dictionary) };
        let explainer = Explainer::new(model, tables, &located, facts);
        let (mut scratch, mut by_row) = (Scratch::default(), BTreeMap::new());
        for row in 0..facts.len() {
            let verdict = match is_trained {
                true => tables.judge_trained(model, &located, facts, row, &mut scratch),
                false => tables.judge(model, &located, facts, row, &mut scratch),
            };
            pace.spend(1_000).await;
            if Judgement::of(&verdict).is_explained() || is_wanted(row as u32) {
                let reasons = explainer.explain(row, &verdict, is_trained, &mut scratch).reasons;
                by_row.insert(row as u32, (verdict, reasons));
                pace.spend(super::EXPLAIN_UNITS).await;
            }
        }
        Reasons { by_row }
    }

    /// Returns the reasons of a request; none if it is not anomalous.
    fn of(&self, row: u32) -> &[TreeReason] {
        self.by_row.get(&row).map_or(&[], |(_, reasons)| reasons)
    }

    /// Returns the first reason of the stronger verdict on a request.
    fn leading(&self, row: u32) -> Option<&TreeReason> {
        let (verdict, reasons) = self.by_row.get(&row)?;
        let is_delayed = verdict.delayed.is_some_and(|delayed| delayed.p < verdict.different.p);
        let is_delay = |reason: &&TreeReason| (reason.kind == ReasonKind::Delay) == is_delayed;
        reasons.iter().find(is_delay).or(reasons.first())
    }
}

impl TreeReason {
    /// Returns whether it is about the same as another one: of the same kind and call path.
    fn is_same(&self, other: &TreeReason) -> bool {
        // A delay is a self time.
        let kind =
            |of: &TreeReason| if of.kind == ReasonKind::Delay { ReasonKind::SelfTime } else { of.kind };
        kind(self) == kind(other) && self.path == other.path && self.after == other.after
    }

    /// Returns whether its time, or its number of calls, is more than twice that of another one.
    fn is_beyond(&self, other: &TreeReason) -> bool {
        self.value as f64 > BEYOND * other.value as f64
    }
}

/// Returns the label of each request that has one; of several the last.
pub(super) fn of_requests(labels: &[RequestLabel], judged: &RequestFacts) -> BTreeMap<RequestRef, bool> {
    let requests = || judged.rows.iter().map(|row| &row.facts.request);
    let labelled = labels.iter().flat_map(|label| {
        let named = requests().filter(move |request| label.names(request));
        named.map(|request| (request.clone(), label.is_normal))
    });
    labelled.collect()
}
