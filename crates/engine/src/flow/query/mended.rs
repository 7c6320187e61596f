//! The latency if a part of a service were as it should be.

use super::model;
use super::what_if::what_if;
use crate::EngineError;
use crate::flow::paper::FlowSettings;
use crate::flow::passes::FlowPass;
use crate::flow::{CallsOf, Changes, MendedLatency, PartLevels, PartTimes};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
use crate::verdict::ServicePart;
use futures_util::future::try_join;
use serde::{Deserialize, Serialize};

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
        mended(&workers, &selection, &reference, service, part).await
    }
}

/// Returns the latency of the selected requests as it is, and if a part of a service were as in the reference.
///
/// # Errors
/// [`EngineError::Summary`] if either selection is of a summary, which lacks single requests.
pub(crate) async fn mended(
    workers: &Workers,
    selection: &Selection,
    reference: &Selection,
    service: String,
    part: ServicePart,
) -> Result<MendedLatency, EngineError> {
    let times = async |of: &Selection| {
        let pass = FlowPass::PartTimes { service: service.clone(), part };
        Ok::<_, EngineError>(PartTimes::merge(workers.flow(of, pass).await?))
    };
    let (selected, reference) = try_join(times(selection), times(reference)).await?;
    let levels = PartLevels::learn((service.clone(), part), selected, reference);
    let model = model(workers, selection, FlowSettings::default()).await?;
    let changes = Changes { levels: vec![levels], ..Changes::default() };
    let report = what_if(workers, selection, model, changes, CallsOf::Nobody).await?.finish();
    Ok(MendedLatency { before_us: report.before_us, after_us: report.after_us, changed: report.changed })
}
