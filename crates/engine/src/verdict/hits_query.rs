//! Which requests of a side the subject of the verdict hits (section 9 of `docs/definitions/verdict.md`), one by one.

use super::hit::{HitRequests, Limits, usual_limits};
use super::query::ServiceChanges;
use super::subject::{Subject, SubjectTimes};
use crate::EngineError;
use crate::flame::{Observer, PathTable};
use crate::requests::{RequestRef, RequestTypes, Selection};
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Overlap, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Reports which requests of side B the subject of the verdict hits; nothing where the verdict names no service, or a side is
/// a summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictHits {
    /// The requests of side A, which say what is usual.
    pub a: Selection,
    /// The requests of side B.
    pub b: Selection,
}

/// The requests that use a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectHits {
    /// The subject of the verdict.
    pub subject: Subject,
    /// Requests that use it, ascending.
    pub rows: Vec<SubjectRow>,
}

/// A request that uses a subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SubjectRow {
    /// The request.
    pub request: RequestRef,
    /// Time of the subject on its critical path, in microseconds.
    pub time_us: u64,
    /// The greatest time that is usual in requests of its type, in microseconds; `None` if too few are known.
    pub limit_us: Option<u64>,
}

impl SubjectRow {
    /// Returns whether the subject takes longer than is usual.
    pub fn is_hit(&self) -> bool {
        self.limit_us.is_some_and(|limit_us| self.time_us > limit_us)
    }
}

impl SubjectHits {
    /// Returns the row of a request; `None` if it does not use the subject.
    pub fn of(&self, request: &RequestRef) -> Option<&SubjectRow> {
        let at = self.rows.binary_search_by(|row| row.request.cmp(request)).ok()?;
        self.rows.get(at)
    }

    /// Returns how many requests are hit, as findings count them.
    pub fn counts(&self) -> HitRequests {
        let mut counts = HitRequests::default();
        for row in &self.rows {
            counts.hit += u64::from(row.is_hit());
            counts.judged += u64::from(row.limit_us.is_some());
            counts.too_few += u64::from(row.limit_us.is_none());
        }
        counts
    }
}

impl Query for VerdictHits {
    type Report = Option<SubjectHits>;

    async fn run(self, workers: Workers) -> Result<Option<SubjectHits>, EngineError> {
        let VerdictHits { a, b } = self;
        for side in [&a, &b] {
            if workers.summary_of(side).await?.is_some() {
                return Ok(None);
            }
        }
        let changes = ServiceChanges { a: a.clone(), b: b.clone() }.run(workers.clone()).await?;
        let Some(subject) = changes.subject() else { return Ok(None) };
        let limits = usual_limits(&workers, &b, Some(&a), &subject).await?;
        let pass = SubjectRowsPass { subject: subject.clone(), limits };
        let parts = workers.requests(&b).await?.partials(pass).await?;
        let mut rows = parts.concat();
        rows.compact_sort();
        Ok(Some(SubjectHits { subject, rows }))
    }
}

/// The requests that use a subject.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SubjectRowsPass {
    subject: Subject,
    limits: Limits,
}

impl RequestPass for SubjectRowsPass {
    type Part = Vec<SubjectRow>;
    const IS_BY_TYPE: bool = true;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let overlap: Overlap = over.settings.overlap;
        let measure = SubjectTimes::new(over.set, [&self.subject], overlap);
        let observer =
            SubjectRowsObserver { measure, types: over.types.clone(), limits: self.limits, rows: Vec::new() };
        over.walk(observer)
    }
}

struct SubjectRowsObserver {
    measure: SubjectTimes,
    types: Arc<RequestTypes>,
    limits: Limits,
    rows: Vec<SubjectRow>,
}

impl Observer for SubjectRowsObserver {
    type Part = Vec<SubjectRow>;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let entry = &table.requests[request as usize];
        let time_us = self.measure.measure(set, tree, entry.row - tree.first).first().copied().flatten();
        let kind = &self.types.names()[self.types.of(request) as usize];
        let limit_us = self.limits.get(kind).copied();
        let row = |time_us| SubjectRow { request: RequestRef::of(set, entry), time_us, limit_us };
        self.rows.extend(time_us.map(row));
    }

    fn finish(self, _: &TraceSet) -> Vec<SubjectRow> {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::ServicePart;

    #[test]
    fn a_request_is_hit_above_what_is_usual_and_not_judged_where_too_few_are_known() {
        let row = |trace_id: &str, time_us, limit_us| SubjectRow {
            request: RequestRef { trace_id: trace_id.into(), root_span_id: "1".into(), latency_us: 9 },
            time_us,
            limit_us,
        };
        let rows = vec![row("a", 11, Some(10)), row("b", 10, Some(10)), row("c", 99, None)];
        let subject = Subject { service: "a".into(), part: ServicePart::In };
        let hits = SubjectHits { subject, rows };
        assert_eq!(hits.counts(), HitRequests { hit: 1, judged: 2, too_few: 1 });
        let of = |id: &str| hits.of(&row(id, 0, None).request).map(SubjectRow::is_hit);
        assert_eq!([of("a"), of("b"), of("c"), of("d")], [Some(true), Some(false), Some(false), None]);
    }
}
