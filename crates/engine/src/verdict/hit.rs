//! Requests that a subject hits: it takes longer in them than it usually does (section 9 of `docs/definitions/verdict.md`).

use super::subject::{Subject, SubjectTimes};
use crate::EngineError;
use crate::flame::{Observer, PathTable, pack_sorted, unpack_sorted};
use crate::requests::{Filter, PercentileRange, RequestRef, RequestType, RequestTypes, Selection};
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use futures_util::future::try_join;
use pathlight_base::statistics::percentile;
use pathlight_trace::{Overlap, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Of fewer requests it is not known what is usual.
const FEW: usize = 20;
/// Of fewer requests the greatest time is the limit, else the 99th percentile.
const MANY: usize = 100;
/// A hit takes this many times the median, and so much more than it, in microseconds.
const TIMES: f64 = 1.2;
const MORE_US: f64 = 1000.0;

/// How many requests a subject hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HitRequests {
    /// Requests in which it takes longer than it usually does.
    pub hit: u64,
    /// Requests that use it and are of a type of which enough is known.
    pub judged: u64,
    /// Requests that use it and are of a type of which too few are there to compare with.
    pub too_few: u64,
}

/// Times of a subject by request type, in microseconds, sorted.
type Times = BTreeMap<RequestType, Vec<u64>>;

/// Returns the greatest of sorted times that is usual, in whole microseconds; `None` without any.
pub(crate) fn hit_limit_us(sorted: &[u64]) -> Option<u64> {
    let &greatest = sorted.last()?;
    let top = if sorted.len() < MANY { greatest as f64 } else { percentile(sorted, 0.99) };
    let median = percentile(sorted, 0.5);
    Some(top.max(TIMES * median).max(median + MORE_US) as u64)
}

/// The greatest time of a subject that is usual, by request type, in microseconds. Types of which too little is known are
/// missing.
pub(crate) type Limits = BTreeMap<RequestType, u64>;

fn limits(times: Times) -> Limits {
    let known = times.into_iter().filter(|(_, sorted)| sorted.len() >= FEW);
    known.filter_map(|(name, sorted)| Some((name, hit_limit_us(&sorted)?))).collect()
}

impl HitRequests {
    fn count(limits: &Limits, times: Times) -> HitRequests {
        let mut out = HitRequests::default();
        for (name, sorted) in times {
            match limits.get(&name) {
                Some(limit_us) => {
                    out.judged += sorted.len() as u64;
                    out.hit += (sorted.len() - sorted.partition_point(|us| us <= limit_us)) as u64;
                }
                None => out.too_few += sorted.len() as u64,
            }
        }
        out
    }
}

/// Returns the requests that say what is usual: those given, or the faster half of each type of the selection. None of them
/// is chosen by being hit.
pub(crate) fn usual_requests(selection: &Selection, against: Option<&Selection>) -> Selection {
    let faster_half =
        || Selection { over_all: false, ..selection.with_range(PercentileRange::open(0, 50_000)) };
    against.cloned().unwrap_or_else(faster_half).without_hits()
}

/// Returns the times of some subjects in the requests of a selection.
async fn times(
    workers: &Workers,
    selection: &Selection,
    subjects: &[Subject],
) -> Result<Vec<Times>, EngineError> {
    let pass = HitsPass { subjects: subjects.to_vec() };
    let parts = workers.requests(selection).await?.partials(pass).await?;
    let mut joined = vec![Times::new(); subjects.len()];
    for (into, times) in parts.into_iter().flat_map(|part| (0..).zip(part)) {
        for (name, packed) in times {
            joined[into].entry(name).or_default().extend(unpack_sorted(packed));
        }
    }
    joined.iter_mut().flat_map(BTreeMap::values_mut).for_each(|times_us| times_us.sort_unstable());
    Ok(joined)
}

/// By request the time of each of some subjects in it, in microseconds; `None` where it does not use the subject.
pub(crate) type RequestTimes = BTreeMap<RequestRef, Vec<Option<u64>>>;

/// Returns the times of some subjects in each request of a selection.
pub(crate) async fn request_times(
    workers: &Workers,
    selection: &Selection,
    subjects: &[Subject],
) -> Result<RequestTimes, EngineError> {
    let pass = RequestTimesPass { subjects: subjects.to_vec() };
    let parts = workers.requests(selection).await?.partials(pass).await?;
    Ok(parts.into_iter().flatten().collect())
}

/// Returns how many requests of a selection each of some subjects hits.
pub(crate) async fn hits(
    workers: &Workers,
    selection: &Selection,
    against: Option<&Selection>,
    subjects: &[Subject],
) -> Result<Vec<HitRequests>, EngineError> {
    let usual = usual_requests(selection, against);
    let (usual, found) =
        try_join(times(workers, &usual, subjects), times(workers, selection, subjects)).await?;
    Ok(usual.into_iter().zip(found).map(|(usual, found)| HitRequests::count(&limits(usual), found)).collect())
}

/// Returns what is usual of a subject in requests of a selection, by the requests that say so.
pub(crate) async fn usual_limits(
    workers: &Workers,
    selection: &Selection,
    against: Option<&Selection>,
    subject: &Subject,
) -> Result<Limits, EngineError> {
    let usual = usual_requests(selection, against);
    let find = async || {
        let usual = times(workers, &usual, std::slice::from_ref(subject)).await?;
        Ok(usual.into_iter().next().map(limits).unwrap_or_default())
    };
    workers.once(&workers.cuts().limits, (subject.clone(), usual.clone()), find).await
}

/// Returns a selection whose filters know what is usual.
pub(crate) async fn with_limits(workers: &Workers, selection: &Selection) -> Result<Selection, EngineError> {
    let mut with_limits = selection.clone();
    for filter in &mut with_limits.filters {
        if let Filter::Hit(hit) = filter {
            let known = usual_limits(workers, selection, hit.against.as_ref(), &hit.subject).await?;
            (hit.against, hit.limits_us) = (None, known.into_iter().collect());
        }
    }
    Ok(with_limits)
}

/// Times of some subjects by request. In its parts those of a type are sorted, as differences.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HitsPass {
    pub subjects: Vec<Subject>,
}

impl RequestPass for HitsPass {
    type Part = Vec<Times>;
    const IS_BY_TYPE: bool = true;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = HitsObserver::new(over.set, &self.subjects, over.types.clone(), over.settings.overlap);
        over.walk(observer)
    }
}

struct HitsObserver {
    measure: SubjectTimes,
    types: Arc<RequestTypes>,
    /// By subject and number of the type, in microseconds.
    times_us: Vec<BTreeMap<u32, Vec<u64>>>,
}

impl HitsObserver {
    fn new(set: &TraceSet, subjects: &[Subject], types: Arc<RequestTypes>, overlap: Overlap) -> HitsObserver {
        let measure = SubjectTimes::new(set, subjects, overlap);
        HitsObserver { measure, types, times_us: vec![BTreeMap::new(); subjects.len()] }
    }
}

impl Observer for HitsObserver {
    type Part = Vec<Times>;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let root = table.requests[request as usize].row - tree.first;
        let times = self.measure.measure(set, tree, root);
        for (by_type, time_us) in self.times_us.iter_mut().zip(times) {
            by_type.entry(self.types.of(request)).or_default().extend(time_us);
        }
    }

    fn finish(self, _: &TraceSet) -> Vec<Times> {
        let types = self.types;
        let sorted = |(number, mut times_us): (u32, Vec<u64>)| {
            times_us.sort_unstable();
            (types.names()[number as usize].clone(), pack_sorted(times_us))
        };
        self.times_us.into_iter().map(|by_type| by_type.into_iter().map(sorted).collect()).collect()
    }
}

/// Times of some subjects by request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RequestTimesPass {
    pub subjects: Vec<Subject>,
}

impl RequestPass for RequestTimesPass {
    type Part = RequestTimes;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let measure = SubjectTimes::new(over.set, &self.subjects, over.settings.overlap);
        over.walk(RequestTimesObserver { measure, times: RequestTimes::new() })
    }
}

struct RequestTimesObserver {
    measure: SubjectTimes,
    times: RequestTimes,
}

impl Observer for RequestTimesObserver {
    type Part = RequestTimes;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let entry = &table.requests[request as usize];
        let times = self.measure.measure(set, tree, entry.row - tree.first);
        self.times.insert(RequestRef::of(set, entry), times.to_vec());
    }

    fn finish(self, _: &TraceSet) -> RequestTimes {
        self.times
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::queries::Requests;
    use crate::test_spans::{Span, pool, span};
    use crate::verdict::ServicePart;
    use pathlight_trace::SpanKind;

    fn sorted(n: u64, us: u64) -> Vec<u64> {
        (0..n).map(|number| us + number).collect()
    }

    #[test]
    fn what_is_usual_is_the_greatest_of_few_and_a_percentile_of_many() {
        assert_eq!(hit_limit_us(&[]), None);
        // 1 ms above the median of 109.5; then 1.2 times those of 5,009.5 and 50,010.
        assert_eq!(hit_limit_us(&sorted(20, 100)), Some(1109));
        assert_eq!(hit_limit_us(&sorted(20, 5000)), Some(6011));
        assert_eq!(hit_limit_us(&sorted(21, 50_000)), Some(60_012));
        let with_slow = |n: u64| [sorted(n, 1000), vec![90_000]].concat();
        assert_eq!(hit_limit_us(&with_slow(98)), Some(90_000));
        assert!(hit_limit_us(&with_slow(300)).is_some_and(|us| us < 3000), "one of many is not usual");
    }

    #[test]
    fn usual_are_the_faster_half_of_each_type_or_the_requests_that_are_given() {
        let over_all = Selection { over_all: true, ..Selection::default() };
        let faster = Selection::default().with_range(PercentileRange::open(0, 50_000));
        assert_eq!(usual_requests(&over_all, None), faster);
        assert_eq!(usual_requests(&faster, Some(&over_all)), over_all);
    }

    #[test]
    fn a_filter_keeps_the_requests_in_which_its_subject_takes_longer_than_in_the_faster_half() {
        use SpanKind::Server;
        // B takes 1001 to 1038 us, and 90,000 in the last two; 1 ms above the median of the faster half is the limit.
        let time_us = |trace: u128| if trace > 38 { 90_000 } else { 1000 + trace as u64 };
        let request = |trace| {
            let us = time_us(trace);
            [span(trace, 1, 0, Server, (0, us + 20), "A"), span(trace, 2, 1, Server, (10, us + 10), "B")]
        };
        let spans: Vec<Span> = (1..=40).flat_map(request).collect();
        for workers in [1, 3] {
            let subject = Subject { service: "B".into(), part: ServicePart::Own };
            let selection = Selection { filters: vec![Filter::hit(subject)], ..Selection::default() };
            let report = pool(&spans, workers).run(Requests { selection, limit: 50 }).unwrap();
            let mut ids: Vec<String> = report.rows.into_iter().map(|row| row.trace_id).collect();
            ids.sort_unstable();
            assert_eq!(ids, [39, 40].map(|trace| format!("{trace:032x}")), "{workers}");
        }
    }

    #[test]
    fn requests_of_types_that_are_not_known_are_not_judged() {
        let kind = |name: &str| RequestType::whole(pathlight_trace::Endpoint::new("shop", name));
        let limits = Limits::from([(kind("buy"), 10)]);
        let usual = Times::from([(kind("buy"), sorted(19, 5000)), (kind("look"), sorted(20, 5000))]);
        assert_eq!(super::limits(usual), Limits::from([(kind("look"), 6011)]), "too few to say");
        let times = Times::from([(kind("buy"), vec![9, 10, 11, 12]), (kind("look"), vec![50, 60])]);
        assert_eq!(HitRequests::count(&limits, times), HitRequests { hit: 2, judged: 4, too_few: 2 });
    }
}
