//! A request beside the normal request that is most like it, with the difference of their latencies place by place
//! (`docs/definitions/critical-path.md` section 13).

use super::join::{JoinedTraces, side_by_side};
use super::query::{Trace, find_trace};
use crate::EngineError;
use crate::flame::{RequestNode, RequestPath, TraceReport};
use crate::requests::{PercentileRange, Selection};
use crate::requests_list::rows::path_of;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, Rows, RunningPass};
use crate::run::workers::Workers;
use pathlight_base::encoding;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, NO_ROW};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Reports a request beside the normal request of the same root endpoint that is most like it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NearestNormal {
    /// The trace and its request.
    pub of: Trace,
    /// The requests among which the other one is looked for; of any latency, whatever its filters keep.
    pub selection: Selection,
}

/// A request beside a normal one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NearestNormalReport {
    /// The request.
    pub request: RequestPath,
    /// The normal request that is most like it; `None` if no other begins at its root endpoint.
    pub normal: Option<RequestPath>,
    /// Other requests that begin at its root endpoint.
    pub others: u64,
    /// Least and greatest latency of the middle half of these, in microseconds: what is normal.
    pub normal_us: (u64, u64),
    /// The places of both; their differences sum to that of the latencies.
    pub places: Vec<PlaceDifference>,
    /// Both traces on one axis, on which both requests begin at the same time; the request's own first.
    pub joined: JoinedTraces,
}

/// A calling context of two requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceDifference {
    /// The place in the list of the context above; `None` of the root endpoint.
    pub parent: Option<u32>,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Its spans on the critical path: of the request, and of the normal one.
    pub spans: [u64; 2],
    /// Their self time there in microseconds, likewise.
    pub self_us: [u64; 2],
}

impl PlaceDifference {
    /// Returns how much longer it takes in the request than in the normal one, in microseconds.
    pub fn longer_us(&self) -> i64 {
        self.self_us[0] as i64 - self.self_us[1] as i64
    }
}

impl Query for NearestNormal {
    /// `None` if there is no such request.
    type Report = Option<NearestNormalReport>;

    async fn run(self, workers: Workers) -> Result<Option<NearestNormalReport>, EngineError> {
        let NearestNormal { of, selection } = self;
        let selection =
            Selection { filters: Vec::new(), range: PercentileRange::ALL, group: of.group, ..selection };
        let (trace_id, root_span_id) = (of.trace_id.clone(), of.root_span_id.clone());
        let pass = RequestOfPass { trace_id, root_span_id, group: of.group };
        let requests = workers.requests(&selection).await?;
        let found = requests.partials(pass).await?;
        // All of one trace: one worker holds it.
        let first = found.into_iter().flatten().min_by_key(|(place, _)| *place);
        let Some((_, request)) = first else { return Ok(None) };
        let Some(root) = request.nodes.first().map(RequestNode::endpoint) else { return Ok(None) };
        let parts = requests.partials(LatenciesOfPass { root: root.clone() }).await?;
        let mut latencies_us = parts.concat();
        latencies_us.compact_sort();
        // Its own is one of them.
        if let Ok(own) = latencies_us.binary_search(&request.latency_us) {
            latencies_us.remove(own);
        }
        let others = latencies_us.len();
        let mut report = NearestNormalReport { others: others as u64, ..NearestNormalReport::default() };
        let mut traces = vec![trace_report(&workers, &of).await?];
        if others > 0 {
            report.normal_us = (latencies_us[others / 4], latencies_us[others - 1 - others / 4]);
            let (like, normal_us) = (request.clone(), report.normal_us);
            let parts = requests.partials(NearestPass { root, like, normal_us }).await?;
            let nearest = parts.into_iter().flatten().min_by(|a, b| a.rank().cmp(&b.rank()));
            report.normal = nearest.map(|nearest| nearest.path);
        }
        if let Some(normal) = &report.normal {
            let (trace_id, root_span_id) = (normal.trace_id.clone(), Some(normal.root_span_id.clone()));
            traces.push(trace_report(&workers, &Trace { trace_id, root_span_id, ..of }).await?);
        }
        report.joined = side_by_side(traces.into_iter().flatten().collect());
        report.places = places(&request.nodes, report.normal.as_ref().map_or(&[], |normal| &normal.nodes));
        report.request = request;
        Ok(Some(report))
    }
}

async fn trace_report(workers: &Workers, of: &Trace) -> Result<Option<TraceReport>, EngineError> {
    Ok(encoding::read(&workers.only_partial(of.clone()).await?)?)
}

/// Joins the calling contexts of two requests by their names.
fn places(request: &[RequestNode], normal: &[RequestNode]) -> Vec<PlaceDifference> {
    let mut places: Vec<PlaceDifference> = Vec::new();
    let mut known: BTreeMap<(Option<u32>, Endpoint), u32> = BTreeMap::new();
    for (side, nodes) in [request, normal].into_iter().enumerate() {
        // The places of the nodes; parents come first.
        let mut of_node: Vec<u32> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let parent = node.parent.map(|parent| of_node[parent as usize]);
            let endpoint = node.endpoint();
            let place = *known.entry((parent, endpoint.clone())).or_insert_with(|| {
                places.push(PlaceDifference { parent, endpoint, spans: [0; 2], self_us: [0; 2] });
                places.len() as u32 - 1
            });
            of_node.push(place);
            let place = &mut places[place as usize];
            place.spans[side] += u64::from(node.spans);
            place.self_us[side] += node.exclusive_us;
        }
    }
    places
}

/// Finds a request by its ids.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RequestOfPass {
    trace_id: String,
    /// `None`: the first request of the trace.
    root_span_id: Option<String>,
    group: u8,
}

impl RequestPass for RequestOfPass {
    /// The first of the requests found, with the place of its root span in the set.
    type Part = Option<(u32, RequestPath)>;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let mut done = over.done_path();
        over.sweep(move |rows| {
            let set = rows.set;
            let trace = find_trace(set, &self.trace_id, self.group)?;
            let is_it = |request: &u32| {
                let facts = &rows.table.requests[*request as usize];
                let is_root = |root: &String| set.span_id_text(facts.row) == *root;
                facts.trace == trace && self.root_span_id.as_ref().is_none_or(is_root)
            };
            let place = |request: u32| rows.table.requests[request as usize].row;
            let request = rows.numbers().filter(is_it).min_by_key(|&request| place(request))?;
            Some((place(request), path_of(set, rows.table, request, rows.settings, done.as_mut())))
        })
    }
}

/// Returns the requests that begin at an endpoint.
fn beginning_at<'a>(rows: &'a Rows<'_>, root: &'a Endpoint) -> impl Iterator<Item = u32> + 'a {
    let endpoint = rows.set.find_endpoint(&root.service, &root.operation);
    let root_of = |request: u32| rows.set.endpoint(rows.table.requests[request as usize].row);
    rows.numbers().filter(move |&request| endpoint == Some(root_of(request)))
}

/// Collects the latencies of the requests that begin at an endpoint, in microseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LatenciesOfPass {
    root: Endpoint,
}

impl RequestPass for LatenciesOfPass {
    type Part = Vec<u64>;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        over.sweep(move |rows| {
            let latency = |request: u32| rows.table.requests[request as usize].latency_us;
            beginning_at(rows, &self.root).map(latency).collect::<Vec<_>>()
        })
    }
}

/// Finds the request with a normal latency that is most like another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NearestPass {
    root: Endpoint,
    like: RequestPath,
    normal_us: (u64, u64),
}

/// A request with its distance from another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NearRequest {
    /// Spans of calling contexts that only one of them has on its path.
    spans: u64,
    /// Differences of self times by calling context in microseconds.
    us: u64,
    path: RequestPath,
}

impl NearRequest {
    /// Returns what the nearest one has least of; ids decide between equal ones.
    fn rank(&self) -> (u64, u64, &str, &str) {
        (self.spans, self.us, &self.path.trace_id, &self.path.root_span_id)
    }
}

/// By calling context of a worker, the spans and the self time that the other request has there; and of contexts that no
/// request of the worker has, together.
#[derive(Default)]
struct Wanted {
    of_context: FxHashMap<u32, (u64, u64)>,
    elsewhere: (u64, u64),
}

impl Wanted {
    fn of(rows: &Rows<'_>, nodes: &[RequestNode]) -> Wanted {
        let mut out = Wanted::default();
        let mut contexts: Vec<u32> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let above = node.parent.map(|parent| contexts[parent as usize]);
            let endpoint = rows.set.find_endpoint(&node.service, &node.operation);
            let context = match (above, endpoint) {
                (Some(NO_ROW), _) | (_, None) => NO_ROW,
                // An endpoint that calls itself is a context of its own, also where no request of this worker does so.
                (above, Some(endpoint)) => rows.table.own_context(above.unwrap_or(NO_ROW), endpoint, NO_ROW),
            };
            contexts.push(context);
            let sums = if context == NO_ROW {
                &mut out.elsewhere
            } else {
                out.of_context.entry(context).or_default()
            };
            *sums = (sums.0 + u64::from(node.spans), sums.1 + node.exclusive_us);
        }
        out
    }

    /// Returns how far a request is from the other one, in spans and in microseconds.
    fn distance(&self, rows: &Rows<'_>, request: u32) -> (u64, u64) {
        let (mut spans, mut us) = self.elsewhere;
        let (mut shared_spans, mut shared_us) = (0, 0);
        for entry in rows.table.entries(request) {
            let wanted = self.of_context.get(&entry.context).copied();
            let (has_spans, has_us) = wanted.unwrap_or_default();
            spans += u64::from(entry.spans).abs_diff(has_spans);
            us += entry.exclusive_us.abs_diff(has_us);
            (shared_spans, shared_us) = (shared_spans + has_spans, shared_us + has_us);
        }
        // What the other one has and this one does not.
        let (all_spans, all_us) =
            self.of_context.values().fold((0, 0), |all, of| (all.0 + of.0, all.1 + of.1));
        (spans + all_spans - shared_spans, us + all_us - shared_us)
    }
}

impl RequestPass for NearestPass {
    type Part = Option<NearRequest>;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let mut done = over.done_path();
        over.sweep(move |rows| {
            let wanted = Wanted::of(rows, &self.like.nodes);
            let (set, table) = (rows.set, rows.table);
            let is_candidate = |request: &u32| {
                let facts = &table.requests[*request as usize];
                (self.normal_us.0..=self.normal_us.1).contains(&facts.latency_us)
                    && !(set.span_id_text(facts.row) == self.like.root_span_id
                        && set.trace_id_text(facts.trace) == self.like.trace_id)
            };
            let candidates = beginning_at(rows, &self.root).filter(is_candidate);
            let ranked = candidates.map(|request| (wanted.distance(rows, request), request));
            let nearest = ranked.min_by(|(a, first), (b, second)| {
                a.cmp(b).then_with(|| table.compare_ids(set, *first, *second))
            });
            let ((spans, us), request) = nearest?;
            Some(NearRequest { spans, us, path: path_of(set, table, request, rows.settings, done.as_mut()) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_spans::{Span, pool, span, trace_of};
    use pathlight_trace::SpanKind::{Client, Server};

    /// Of traces 1 to 6, GET takes 100 and the number of the trace, of which a query takes all but 60; that of 7 takes 300 with a
    /// query and another one, and 8 has only another endpoint.
    fn spans() -> Vec<Span> {
        let of = |trace: u128| {
            let (first, us) = (10 * trace as u64, 100 + trace as u64);
            [
                span(trace, first + 1, 0, Server, (0, us), "GET"),
                span(trace, first + 2, first + 1, Client, (10, us - 50), "query"),
            ]
        };
        let mut spans: Vec<Span> = (1..=6).flat_map(of).collect();
        spans.push(span(7, 71, 0, Server, (1000, 1300), "GET"));
        spans.push(span(7, 72, 71, Client, (1010, 1200), "query"));
        spans.push(span(7, 73, 71, Client, (1200, 1250), "again"));
        spans.push(span(8, 81, 0, Server, (0, 7), "other"));
        spans
    }

    fn nearest(trace: u64, workers: usize) -> Option<NearestNormalReport> {
        let of = trace_of(trace);
        pool(&spans(), workers).run(NearestNormal { of, selection: Selection::default() }).unwrap()
    }

    #[test]
    fn the_differences_of_places_sum_to_that_of_the_latencies() {
        for workers in [1, 2, 3] {
            let report = nearest(7, workers).unwrap();
            assert_eq!((report.others, report.normal_us), (6, (102, 105)), "{workers}");
            let normal = report.normal.as_ref().unwrap();
            assert_eq!((normal.latency_us, report.request.latency_us), (105, 300), "{workers}");
            let places: Vec<(&str, [u64; 2], i64)> = (report.places.iter())
                .map(|of| (of.endpoint.operation.as_str(), of.self_us, of.longer_us()))
                .collect();
            assert_eq!(
                places,
                [("GET", [60, 60], 0), ("again", [50, 0], 50), ("query", [190, 45], 145)],
                "{workers}"
            );
            assert_eq!(report.places.iter().map(PlaceDifference::longer_us).sum::<i64>(), 300 - 105);
        }
    }

    #[test]
    fn both_requests_begin_at_the_same_time_and_keep_their_paths() {
        let joined = nearest(7, 2).unwrap().joined;
        assert_eq!(joined.trace.span_start_us, [0, 10, 200, 0, 10]);
        assert_eq!((joined.trace.request_root, joined.trace.end_us), (0, 300));
        assert!(joined.trace.bits.iter().all(|bits| bits & TraceReport::ON_PATH != 0));
        assert_eq!(joined.traces.iter().map(|trace| trace.first).collect::<Vec<_>>(), [0, 3]);
        assert!(joined.trace.segment_span.contains(&4) && joined.trace.segment_end_us.contains(&105));
    }

    #[test]
    fn an_endpoint_that_calls_itself_is_as_far_from_others_in_any_number_of_workers() {
        // In trace 1 GET takes 60 itself, and 40 in a call of GET; in 2 and 3 it calls nothing.
        let spans = [
            span(1, 11, 0, Server, (0, 100), "GET"),
            span(1, 12, 11, Server, (0, 40), "GET"),
            span(2, 21, 0, Server, (0, 100), "GET"),
            span(3, 31, 0, Server, (0, 70), "GET"),
        ];
        for workers in [1, 2, 3] {
            let query = NearestNormal { of: trace_of(1), selection: Selection::default() };
            let report = pool(&spans, workers).run(query).unwrap().unwrap();
            // 10 and 40 of trace 3, 40 and 40 of trace 2.
            assert_eq!(report.normal.unwrap().latency_us, 70, "{workers}");
        }
    }

    #[test]
    fn of_the_only_request_there_is_no_normal_one() {
        let report = nearest(8, 2).unwrap();
        assert_eq!((report.others, report.normal), (0, None));
        assert_eq!(report.joined.traces.len(), 1);
        assert_eq!(nearest(9, 2), None);
    }
}
