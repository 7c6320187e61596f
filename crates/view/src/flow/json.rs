//! Execution flows, how well they predict, and what-if.

use crate::flow::capacity::Capacities;
use crate::json::parts::{Text, pretty, public_json};
use pathlight_base::statistics::Percentiles;
use pathlight_engine::flow::{
    CheapestReport, Decider, ErrorQuantiles, EvaluationReport, FlowEdge, FlowNode, FlowParent, FlowReport,
    FlowVariant, FlowVariantsReport, HeadroomReport, HeadroomRow, ParalleliseReport, Quantile, Saving,
    SavingsReport, SerialGroup, ServiceCapacity, Slower, SyncNode, TargetReport, TimeoutReport, VariantCall,
    WhatIfReport,
};
use pathlight_engine::verdict::service_map::{MapCall, MapService, MapTime, ServiceMapReport};
use pathlight_trace::Endpoint;

public_json! {
    /// With `--service` and `--operation`: the execution flow of that parent endpoint, learned from all its spans that wait
    /// for some call (with filters: those within the requests that pass).
    Flow<'a>(report: &'a FlowReport) {
        /// The parent endpoint as `[service, operation]`.
        parent: &'a Endpoint = &report.parent,
        /// Its spans that wait for some call.
        invocations: u64 = report.invocations,
        /// Its spans that wait for none.
        childless: u64 = report.childless,
        /// Latency of the invocations.
        latency_us: Percentiles = report.latency_us,
        /// Time from the end of the last call to the end of the invocation.
        return_us: Percentiles = report.return_us,
        /// Repeats of a callee above this one are folded into one node `#rest`; `null` if nothing is. A flow has at most 512
        /// nodes: first the repeats above #8 fold, then those above #1, then all calls of a callee; beyond that the rarest
        /// callees share the node `(other callees)`.
        repeats_kept: Option<u32> = report.repeats_kept,
        /// The nodes, sorted by (service, operation, index).
        nodes: Vec<Node<'a>> = report.nodes.iter().map(Node::of).collect(),
        /// The transitive reduction by (from, to).
        edges: Vec<Edge<'a>> = report.edges.iter().map(|edge| Edge::of(report, edge)).collect(),
        /// Groups of edges that a drawing replaces by one synchronisation node.
        sync_nodes: Vec<Sync<'a>> = report.sync_nodes.iter().map(|sync| Sync::of(report, sync)).collect(),
    }
}

public_json! {
    /// One callee, or one of its repeats.
    Node<'a>(node: &'a FlowNode) {
        /// `service:operation`, with `#k` where the callee repeats (numbered by start), `#rest` for folded repeats.
        name: &'a str = &node.label,
        /// Service name.
        service: &'a str = &node.service,
        /// Operation name.
        operation: &'a str = &node.operation,
        /// Number of the call among those of the callee, from 1; 0 is a folded node.
        index: u32 = node.index,
        /// Invocations that have it.
        invocations: u64 = node.invocations,
        /// Latencies of the node.
        latency_us: Percentiles = node.latency_us,
        /// Time to its start from the latest end before it (or from the parent's start).
        wait_us: Percentiles = node.wait_us,
        /// Share of the invocations that have it in which it is on the parent's critical path.
        critical_share: f64 = node.critical_share(),
    }
}

public_json! {
    /// One node waits for another.
    Edge<'a>(report: &'a FlowReport, edge: &FlowEdge) {
        /// Name of a node, or `start`.
        from: &'a str = report.labels(edge)[0],
        /// Name of a node, or `return`.
        to: &'a str = report.labels(edge)[1],
        /// Share of the invocations with both ends in which `from` ends before `to` starts (overlaps that pass for clock skew
        /// included), 0 to 1.
        support: f64 = edge.support(),
        /// Invocations with both ends.
        invocations: u64 = edge.both,
        /// Share of them in which `from` ends last of all that `to` waits for.
        binding_share: f64 = edge.binding_share(),
    }
}

public_json! {
    /// Each node of `to` waits for each node of `from`.
    Sync<'a>(report: &'a FlowReport, sync: &'a SyncNode) {
        /// Names of nodes that end.
        from: Vec<&'a str> = sync.from.iter().map(|&node| report.label(node)).collect(),
        /// Names of nodes that start.
        to: Vec<&'a str> = sync.to.iter().map(|&node| report.label(node)).collect(),
    }
}

public_json! {
    /// With `--variants`: which calls the invocations of the parent make, how many make the same ones, the flow of each, and what
    /// decides which.
    Variants<'a>(report: &'a FlowVariantsReport) {
        /// The parent endpoint as `[service, operation]`.
        parent: &'a Endpoint = &report.parent,
        /// Its invocations, those that make no call too.
        invocations: u64 = report.invocations,
        /// The variants with the most invocations, these first: at most 8, of at least 5 invocations each.
        variants: Vec<Variant<'a>> = report.variants.iter().map(Variant::of).collect(),
        /// Number of variants that are not listed.
        others: u64 = report.others,
        /// Invocations of these.
        other_invocations: u64 = report.other_invocations,
    }
}

public_json! {
    /// Invocations that make the same calls.
    Variant<'a>(variant: &'a FlowVariant) {
        /// Their number.
        invocations: u64 = variant.invocations,
        /// Whether they are in error.
        error: bool = variant.is_error,
        /// Their calls, by name.
        calls: &'a [VariantCall] = &variant.calls,
        /// What nearly all of these invocations have and few others, the best first, at most 3.
        decided_by: &'a [Decider] = &variant.deciders,
        /// The flow of these invocations alone.
        flow: Flow<'a> = Flow::of(&variant.flow),
    }
}

public_json! {
    /// Without a parent: every endpoint that waits for some call.
    Parents<'a>(parents: &'a [FlowParent]) {
        /// The parents, sorted by name.
        parents: &'a [FlowParent] = parents,
    }
}

public_json! {
    /// With `--what-if 'service:operation=-50%'` (also `+500us`, `-2ms`, `+1s`; several at once) or `--parallel PARENT A B`:
    /// the selected requests, every tree recomputed bottom-up with flows learned from all traces.
    WhatIf<'a>(report: &'a WhatIfReport, back_test: Option<&EvaluationReport>) {
        #[serde(flatten)]
        report: &'a WhatIfReport = report,
        /// Error of the aggregate flow on held-out invocations, pooled as by `--evaluate`; `null` if there are none.
        model_error: Option<ErrorQuantiles> = back_test.and_then(EvaluationReport::flow_error),
    }
}

public_json! {
    /// With `--savings`: where work is best spent.
    Savings<'a>(report: &'a SavingsReport, back_test: Option<&EvaluationReport>) {
        #[serde(flatten)]
        report: &'a SavingsReport = report,
        /// Error of the aggregate flow on held-out invocations, pooled as by `--evaluate`; `null` if there are none.
        model_error: Option<ErrorQuantiles> = back_test.and_then(EvaluationReport::flow_error),
    }
}

public_json! {
    /// With `--parallelise`: calls that always run one after the other though nothing in the traces says that they must, and what
    /// the selected requests would save if they ran side by side.
    Parallelise<'a>(report: &'a ParalleliseReport, back_test: Option<&EvaluationReport>) {
        /// Selected requests.
        requests: u64 = report.requests,
        /// Latencies of these requests as they are.
        latency_us: Percentiles = report.latency_us,
        /// Groups that would save something, the greatest saving of the mean first.
        groups: Vec<Serial<'a>> = report.groups.iter().map(Serial::of).collect(),
        /// Groups found.
        found: u64 = report.found,
        /// Those that could save most, at most 40: these were tried.
        tried: u64 = report.tried,
        /// Pairs of calls one after the other that are left out because an argument of the second was seen to follow from the
        /// first.
        dependent: u64 = report.dependent,
        /// Error of the aggregate flow on held-out invocations, pooled as by `--evaluate`; `null` if there are none.
        model_error: Option<ErrorQuantiles> = back_test.and_then(EvaluationReport::flow_error),
    }
}

public_json! {
    /// Calls that always run one after the other.
    Serial<'a>(group: &'a SerialGroup) {
        /// The endpoint that makes them as `[service, operation]`.
        parent: &'a Endpoint = &group.calls.parent,
        /// The endpoints that are called, in the order in which they run; one alone is called several times.
        callees: &'a [Endpoint] = &group.calls.callees,
        /// Mean number of these calls in an invocation that makes them.
        mean_calls: f64 = group.mean_calls,
        /// Requests that would be faster if they all ran side by side.
        affected: u64 = group.affected,
        /// What the latency of the requests would lose.
        saved_us: Saving = group.saved_us,
    }
}

public_json! {
    /// With `--target p99=300ms` (also p50, p95): how much faster the own work of endpoints has to be for it, or how much less
    /// time parts of services have to take. What is usual is that in the files of `--baseline`.
    Target<'a>(report: &'a TargetReport, back_test: Option<&EvaluationReport>) {
        #[serde(flatten)]
        report: &'a TargetReport = report,
        /// Error of the aggregate flow on held-out invocations, pooled as by `--evaluate`; `null` if there are none.
        model_error: Option<ErrorQuantiles> = back_test.and_then(EvaluationReport::flow_error),
    }
}

public_json! {
    /// With `--target p99=300ms` and `--option 'in:cart=-50% costs 3'`, which may be repeated: the cheapest set of these changes that
    /// brings the percentile down to the target.
    Cheapest<'a>(report: &'a CheapestReport, back_test: Option<&EvaluationReport>) {
        #[serde(flatten)]
        report: &'a CheapestReport = report,
        /// Error of the aggregate flow on held-out invocations, pooled as by `--evaluate`; `null` if there are none.
        model_error: Option<ErrorQuantiles> = back_test.and_then(EvaluationReport::flow_error),
    }
}

public_json! {
    /// With `--headroom p99=300ms` (also p50, p95): how much slower the own work of services, and the whole calls of endpoints, may
    /// become before that percentile exceeds the limit: each alone.
    Headroom<'a>(report: &'a HeadroomReport, back_test: Option<&EvaluationReport>) {
        /// Selected requests.
        requests: u64 = report.requests,
        /// The percentile of the limit.
        quantile: Quantile = report.quantile,
        /// The limit in microseconds.
        limit_us: u64 = report.limit_us,
        /// The percentile as it is, in microseconds.
        before_us: f64 = report.before_us,
        /// Services and endpoints, the least headroom first; empty if the limit is exceeded as it is.
        rows: Vec<Room<'a>> = report.rows.iter().map(Room::of).collect(),
        /// Error of the aggregate flow on held-out invocations, pooled as by `--evaluate`; `null` if there are none.
        model_error: Option<ErrorQuantiles> = back_test.and_then(EvaluationReport::flow_error),
    }
}

public_json! {
    /// How much slower one thing may become.
    Room<'a>(row: &'a HeadroomRow) {
        /// Service name.
        service: &'a str = match &row.of {
            Slower::Service(service) => service,
            Slower::Calls(endpoint) => &endpoint.service,
        },
        /// Operation of the calls that become slower; `null` if it is the own work of the service.
        operation: Option<&'a str> = match &row.of {
            Slower::Service(_) => None,
            Slower::Calls(endpoint) => Some(&endpoint.operation),
        },
        /// How many times as long as now it may take, to a hundredth; `null` beyond 11 times.
        times: Option<f64> = row.times(),
        /// The percentile then, in microseconds; if `times` is `null`, at 11 times.
        then_us: f64 = row.then_us,
    }
}

public_json! {
    /// With `--capacity`: drag and slack of services; with `--utilisation FILE` also where to add capacity and where to take it.
    Capacity<'a>(of: &'a Capacities, what_if: Option<&'a WhatIfReport>, back_test: Option<&EvaluationReport>) {
        /// Selected requests.
        requests: u64 = of.report.requests,
        /// Their latencies, summed, in microseconds.
        latency_us: u128 = of.report.latency_us,
        /// Services with own work, the greatest drag first.
        services: Vec<CapacityOf<'a>> = (0..of.report.services.len()).map(|at| CapacityOf::of(of, at)).collect(),
        /// The service to add to first, which has most drag times use; `null` without a table, or if there is none.
        first_to_add: Option<&'a str> = of.first_to_add().map(|at| of.report.services[at].service.as_str()),
        /// The service to take from first, which of the others has most slack times what is unused.
        first_to_take: Option<&'a str> = of.first_to_take().map(|at| of.report.services[at].service.as_str()),
        /// Names in the table that no service has.
        unknown: &'a [String] = of.matched.as_ref().map_or(&[], |matched| matched.unknown.as_slice()),
        /// How the table was read, in sentences.
        notes: &'a [String] = &of.notes,
        /// The requests before and after the own work of the first becomes 20 % faster and that of the second 20 % slower.
        what_if: Option<&'a WhatIfReport> = what_if,
        /// Error of the aggregate flow on held-out invocations, pooled as by `--evaluate`; `null` if there are none.
        model_error: Option<ErrorQuantiles> = back_test.and_then(EvaluationReport::flow_error),
    }
}

public_json! {
    /// Drag, slack and use of a service.
    CapacityOf<'a>(of: &'a Capacities, at: usize) {
        #[serde(flatten)]
        service: &'a ServiceCapacity = &of.report.services[at],
        /// Used share of its processors, the mean of its rows in the table; 1 is all of them.
        cpu: Option<f64> = of.used(at).and_then(|used| Some(used.cpu?.0)),
        /// The greatest of its rows.
        cpu_max: Option<f64> = of.used(at).and_then(|used| Some(used.cpu?.1)),
        /// Used share of its memory, the mean of its rows.
        memory: Option<f64> = of.used(at).and_then(|used| Some(used.memory?.0)),
        /// The greatest of its rows.
        memory_max: Option<f64> = of.used(at).and_then(|used| Some(used.memory?.1)),
        /// Drag per request times use, in microseconds.
        add_us: Option<f64> = of.add_us(at),
        /// Slack per request in which it works, times what is unused, in microseconds.
        take_us: Option<f64> = of.take_us(at),
    }
}

public_json! {
    /// With `--timeout 'service:operation=200ms'`, `in:service=200ms`, or without a time: what a timeout of the calls of an
    /// endpoint, or of all calls into a service, would cut, and what the requests would take then.
    Timeout<'a>(report: &'a TimeoutReport, back_test: Option<&EvaluationReport>) {
        #[serde(flatten)]
        report: &'a TimeoutReport = report,
        /// Error of the aggregate flow on held-out invocations, pooled as by `--evaluate`; `null` if there are none.
        model_error: Option<ErrorQuantiles> = back_test.and_then(EvaluationReport::flow_error),
    }
}

public_json! {
    /// With `--services`: the services that the requests use and the calls between them, against the files of `--baseline` if there
    /// are some.
    ServiceMap<'a>(report: &'a ServiceMapReport) {
        /// Requests looked at.
        requests: u64 = report.requests,
        /// Requests of the baseline; `null` without one.
        baseline_requests: Option<u64> = report.baseline_requests,
        /// The latency of the requests.
        latency: MapTime = report.latency,
        /// The services, most own work first.
        services: Vec<MappedService<'a>> = report.services.iter().map(MappedService::of).collect(),
        /// Calls of one service by another one, longest waits first.
        calls: Vec<MappedCall<'a>> = report.calls.iter().filter_map(|call| {
            let [caller, service] = report.ends(call)?;
            Some(MappedCall::of(call, caller, service))
        }).collect(),
    }
}

public_json! {
    /// A service of the map.
    MappedService<'a>(service: &'a MapService) {
        /// Service name.
        service: &'a str = &service.service,
        /// Its own work on critical paths.
        own: MapTime = service.own,
        /// Requests that use it.
        requests: u64 = service.requests,
        /// How often it was entered.
        visits: u64 = service.visits,
        /// Visits with an error that begins in it.
        failed: u64 = service.failed,
        /// `certain`, `likely` or `weak`, if the comparison of services has it slower than in the baseline; else `null`.
        slower: Option<&'static str> = service.slower.map(pathlight_engine::verdict::Certainty::key),
    }
}

public_json! {
    /// Calls of one service by another one.
    MappedCall<'a>(call: &MapCall, caller: &'a MapService, service: &'a MapService) {
        /// The calling service.
        caller: &'a str = &caller.service,
        /// The service that answers.
        service: &'a str = &service.service,
        /// How long requests wait for the answers, with all these wait for.
        wait: MapTime = call.wait,
        /// What of that passes outside the spans that answer, microseconds per request.
        outside_us: f64 = call.outside_us,
        /// Number of calls that someone waits for.
        calls: u64 = call.calls,
        /// The same in the baseline; `null` without one.
        baseline_calls: Option<u64> = call.baseline_calls,
        /// Calls whose answer is an error.
        failed: u64 = call.failed,
    }
}

/// Returns the JSON of `flow --services`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn service_map(report: &ServiceMapReport) -> Text {
    pretty(&ServiceMap::of(report))
}

/// Returns the JSON of `flow` with a parent.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn flow(report: &FlowReport) -> Text {
    pretty(&Flow::of(report))
}

/// Returns the JSON of `flow --variants`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn flow_variants(report: &FlowVariantsReport) -> Text {
    pretty(&Variants::of(report))
}

/// Returns the JSON of `flow` without a parent.
///
/// # Errors
/// Only if serde_json refuses a string, which it does not.
pub fn flow_parents(parents: &[FlowParent]) -> Text {
    pretty(&Parents::of(parents))
}

/// Returns the JSON of `flow --evaluate`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn flow_evaluation(report: &EvaluationReport) -> Text {
    pretty(report)
}

/// Returns the JSON of `flow --what-if`; `back_test` is an evaluation on held-out traces, whose aggregate flow is the model.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn what_if(report: &WhatIfReport, back_test: Option<&EvaluationReport>) -> Text {
    pretty(&WhatIf::of(report, back_test))
}

/// Returns the JSON of `flow --savings`; `back_test` as for [`what_if`].
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn savings(report: &SavingsReport, back_test: Option<&EvaluationReport>) -> Text {
    pretty(&Savings::of(report, back_test))
}

/// Returns the JSON of `flow --parallelise`; `back_test` as for [`what_if`].
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn parallelise(report: &ParalleliseReport, back_test: Option<&EvaluationReport>) -> Text {
    pretty(&Parallelise::of(report, back_test))
}

/// Returns the JSON of `flow --target`; `back_test` as for [`what_if`].
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn flow_target(report: &TargetReport, back_test: Option<&EvaluationReport>) -> Text {
    pretty(&Target::of(report, back_test))
}

/// Returns the JSON of `flow --target` with `--option`; `back_test` as for [`what_if`].
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn flow_cheapest(report: &CheapestReport, back_test: Option<&EvaluationReport>) -> Text {
    pretty(&Cheapest::of(report, back_test))
}

/// Returns the JSON of `flow --headroom`; `back_test` as for [`what_if`].
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn flow_headroom(report: &HeadroomReport, back_test: Option<&EvaluationReport>) -> Text {
    pretty(&Headroom::of(report, back_test))
}

/// Returns the JSON of `flow --capacity` and `flow --utilisation`; `what_if` is that of [`Capacities::changes`], `back_test` as for
/// [`what_if`].
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn flow_capacity(
    of: &Capacities,
    what_if: Option<&WhatIfReport>,
    back_test: Option<&EvaluationReport>,
) -> Text {
    pretty(&Capacity::of(of, what_if, back_test))
}

/// Returns the JSON of `flow --timeout`; `back_test` as for [`what_if`].
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn flow_timeout(report: &TimeoutReport, back_test: Option<&EvaluationReport>) -> Text {
    pretty(&Timeout::of(report, back_test))
}
