//! The latency if a part of a service were as it should be.

use super::model;
use super::what_if::{learn_usual, what_if};
use crate::EngineError;
use crate::flow::paper::FlowSettings;
use crate::flow::{CallsOf, Changes, FlowModel, MendedLatency, SubjectChange, SubjectTime};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
use crate::verdict::{ServicePart, Subject};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Reports the latency of the selected requests if a part of a service took what it takes in other requests: learned and
/// computed as by a what-if.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mended {
    /// The selected requests.
    pub selection: Selection,
    /// Requests in which the service is as it should be.
    pub reference: Selection,
    /// Name of the service.
    pub service: String,
    /// The part of it.
    pub part: ServicePart,
}

impl Query for Mended {
    type Report = MendedLatency;

    async fn run(self, workers: Workers) -> Result<MendedLatency, EngineError> {
        let Mended { selection, reference, service, part } = self;
        let model = model(&workers, &selection, FlowSettings::default()).await?;
        let found = mended(&workers, &selection, &reference, &[Subject { service, part }], model).await?;
        Ok(found.into_iter().next().unwrap_or_default())
    }
}

/// Returns the latency of requests if each of some subjects took what it takes in other requests, the others being as they
/// are; by a model of their group.
pub(crate) async fn mended(
    workers: &Workers,
    selection: &Selection,
    reference: &Selection,
    subjects: &[Subject],
    model: Arc<FlowModel>,
) -> Result<Vec<MendedLatency>, EngineError> {
    let mut found = Vec::with_capacity(subjects.len());
    for subject in subjects {
        let usual = SubjectChange { subject: subject.clone(), time: SubjectTime::Usual };
        let mut changes = Changes { subjects: vec![usual], ..Changes::default() };
        learn_usual(workers, selection, reference, &mut changes).await?;
        let report = what_if(workers, selection, model.clone(), changes, CallsOf::Nobody).await?.finish();
        let (before_us, after_us) = (report.before_us, report.after_us);
        found.push(MendedLatency { before_us, after_us, changed: report.changed });
    }
    Ok(found)
}
