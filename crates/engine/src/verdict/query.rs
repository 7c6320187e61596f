//! The service that explains the difference of two sides.

use crate::EngineError;
use crate::queues::query::sent;
use crate::queues::{QueuesPart, changes};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::range_requests::RangeRequests;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use crate::verdict::{ServicesObserver, ServicesPartial, ServicesReport};
use futures_util::future::try_join;
use serde::{Deserialize, Serialize};

/// Reports which service explains that one side is slower than the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceChanges {
    /// The requests of side A.
    pub a: Selection,
    /// The selected requests of side B.
    pub b: Selection,
}

impl Query for ServiceChanges {
    type Report = ServicesReport;

    async fn run(self, workers: Workers) -> Result<ServicesReport, EngineError> {
        let side = async |selection: &Selection| {
            let requests = workers.requests(selection).await?;
            try_join(times(&requests, true), sent(&requests)).await
        };
        let (a, b) = try_join(side(&self.a), side(&self.b)).await?;
        Ok(culprit((&self.a, &a.0, &a.1), (&self.b, &b.0, &b.1)))
    }
}

/// Returns the times of some requests, which may be compared with those of others.
pub(crate) async fn times(
    requests: &RangeRequests<'_>,
    is_compared: bool,
) -> Result<ServicesPartial, EngineError> {
    Ok(ServicesPartial::merge(requests.partials(ServicesPass { is_compared }).await?))
}

/// What is compared of one side: its selection, the times of its services, the messages that it sends.
pub(crate) type ComparedSide<'a> = (&'a Selection, &'a ServicesPartial, &'a QueuesPart);

/// Returns the ranking of two sides.
pub(crate) fn culprit(a: ComparedSide<'_>, b: ComparedSide<'_>) -> ServicesReport {
    let report = ServicesReport::of(a.1, b.1);
    let queues = changes(a.2, b.2, report.requests[1]);
    // What queues of the latency explain is no longer what other calls explain.
    let of_queues = queues.iter().filter(|queue| queue.is_in_latency);
    let mix_us = report.mix_us - of_queues.map(|queue| queue.excess.excess_us).sum::<f64>();
    ServicesReport { is_of_one_set: is_of_one_set(a.0, b.0), queues, mix_us, ..report }
}

/// Returns whether two sides are slow and fast requests of one set: the same filters, other percentile ranges. What other
/// filters choose of a set, before and after a time for example, are sets of their own.
fn is_of_one_set(a: &Selection, b: &Selection) -> bool {
    (a.group, &a.root, &a.filters) == (b.group, &b.root, &b.filters) && a.range != b.range
}

/// Times of calls and visits by service.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ServicesPass {
    pub is_compared: bool,
}

impl RequestPass for ServicesPass {
    type Part = ServicesPartial;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = services_observer(&over, self.is_compared);
        over.walk(observer)
    }
}

/// Returns what takes these times, which may be compared with others.
pub(crate) fn services_observer(over: &Over<'_>, is_compared: bool) -> ServicesObserver {
    let observer = ServicesObserver::new(over.set, over.settings.overlap).compared(is_compared);
    observer.until_done(over.done_path()).by(over.weighing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::{Filter, PercentileRange};

    #[test]
    fn only_percentile_ranges_of_the_same_requests_are_sides_of_one_set() {
        let all = Selection::default();
        let slow = all.with_range(PercentileRange::TAIL);
        let fast = all.with_range(PercentileRange::open(0, 50_000));
        assert!(is_of_one_set(&fast, &slow));
        assert!(is_of_one_set(&all, &Selection { over_all: true, ..slow.clone() }));
        assert!(!is_of_one_set(&all, &all), "the same requests");
        assert!(!is_of_one_set(&fast, &Selection { group: 1, ..slow.clone() }), "another set");
        let at = |from_us, to_us| Selection { filters: vec![Filter::Time { from_us, to_us }], ..all.clone() };
        assert!(!is_of_one_set(&at(0, 5), &at(5, u64::MAX)), "before and after");
        assert!(!is_of_one_set(&at(0, 5), &Selection { range: slow.range, ..at(5, 9) }), "other filters");
        assert!(is_of_one_set(&at(0, 5), &Selection { range: slow.range, ..at(0, 5) }));
    }
}
