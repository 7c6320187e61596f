//! The effect of a timeout of calls.

use super::model;
use super::what_if::what_if;
use crate::EngineError;
use crate::flow::paper::FlowSettings;
use crate::flow::{CallTarget, CallTimes, CallsOf, Changes, TimeoutReport};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports what a timeout of calls cuts, and what the selected requests take if such calls fail fast or are
/// made once more: learned and computed as by a what-if.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeout {
    /// The selected requests.
    pub selection: Selection,
    /// Set A, whose calls say which timeout is suggested; `None`: those of the selected requests do.
    pub baseline: Option<Selection>,
    /// Settings by which flows are learned.
    pub settings: FlowSettings,
    /// Target whose calls get the timeout.
    pub of: CallTarget,
    /// The timeout in microseconds; `None`: the one that cuts 0.1 % of the calls, or of those of the baseline.
    pub timeout_us: Option<u64>,
}

impl Query for Timeout {
    type Report = TimeoutReport;

    async fn run(self, workers: Workers) -> Result<TimeoutReport, EngineError> {
        let Timeout { selection, baseline, settings, of, timeout_us } = self;
        let model = model(&workers, &selection, settings).await?;
        let as_it_is = async |selection: &Selection| {
            let calls = CallsOf::Target(of.clone());
            let mut before = what_if(&workers, selection, model.clone(), Changes::default(), calls).await?;
            let calls = CallTimes::joined(before.take_calls().into_values());
            Ok::<_, EngineError>((before.finish(), calls))
        };
        let (before, calls) = as_it_is(&selection).await?;
        let usual = match &baseline {
            Some(baseline) => Some(as_it_is(baseline).await?.1),
            None => None,
        };
        let mut report = TimeoutReport::new(of.clone(), timeout_us, &before, &calls, usual.as_ref());
        if report.calls == 0 {
            return Ok(report);
        }
        let with = async |is_retried: bool| {
            let changes = Changes { timeouts: vec![report.change(is_retried)], ..Changes::default() };
            let after = what_if(&workers, &selection, model.clone(), changes, CallsOf::Nobody).await?;
            Ok::<_, EngineError>((after.cut(), after.finish().after_us))
        };
        let (failing_fast, (_, retried_us)) = (with(false).await?, with(true).await?);
        ((report.cut_calls, report.cut_requests), report.failing_fast_us) = failing_fast;
        report.retried_us = retried_us;
        Ok(report)
    }
}
