//! The statements of a summary about the requests of one root endpoint, or of all; and what views say that need spans.

use crate::reading::quality::capital;
use crate::views::View;
use pathlight_base::format::{self, counted};
use pathlight_engine::anomalies::MOST_NORMAL;
use pathlight_engine::diagnosis::MOST_PLACES;
use pathlight_engine::endpoints::SummedEndpoint;
use pathlight_engine::errors::ErrorsReport;
use pathlight_engine::flame::{CriticalPathReport, NodePart};
use pathlight_engine::flow::{MOST_NODES, REPEATS};
use pathlight_engine::queries::SummaryFacts;
use pathlight_engine::requests::{PercentileRange, RequestRef, RootEndpoint};
use pathlight_engine::summaries::{
    Choice, LatencyBinRange, MOST_ROOTS, OTHERS, RELATIVE_ERROR, RootPart, Summary,
};
use pathlight_engine::verdict::ServicesPartial;
use pathlight_trace::{Endpoint, NO_ROW};
use std::collections::BTreeMap;

/// Returns what a view needs that summaries do not hold, in a sentence; `None` if it shows them. `compares_sets`: Compare
/// is about two sets and not about percentile ranges of one.
pub fn lacks(view: View, compares_sets: bool) -> Option<&'static str> {
    Some(match view {
        View::Findings
        | View::Flame
        | View::Endpoints
        | View::Errors
        | View::Flow
        | View::Diagnosis
        | View::Trend => {
            return None;
        }
        View::Compare if compares_sets => return None,
        View::Compare => {
            "Percentile ranges of one summary cannot be compared: it holds no sums of squares by latency. Open a second \
             summary, or traces, to compare with."
        }
        View::Heatmap => "The heat map shows single requests, and a summary holds sums over them.",
        View::Split => "Splitting needs the tags of spans, and a summary holds none.",
        View::Anomalies => {
            "Anomalies are single requests, and a summary holds what normal ones are like: open traces as a second set, and \
             judge them against it."
        }
        View::Requests => "A summary holds no list of requests, but an example of each call path by its id.",
        View::Trace => "The timeline shows the spans of a trace, and a summary knows it by its id only.",
    })
}

/// Words of Compare where a side is a summary and a percentile range is chosen.
pub const COMPARES_ALL: &str = "A summary compares over requests of any latency, and a percentile range is chosen: choose All on both sides.";

/// Returns what the list of findings says of summaries.
pub const NO_FINDINGS: &str = "Findings are looked for in single spans, and a summary holds sums over them. Compare two \
                               summaries to see what changed between them.";

/// Words in place of the panels below a flow that need spans.
pub const FLOW_ONLY: &str = "What if, targets, timeouts, predictions and savings need the spans of single requests: load \
                             the traces, or some of them.";

/// Limits of a diagnosis of a summary, in words.
pub const DIAGNOSIS_ONLY: &str = "From sums over requests of any latency: there are no groups of traces with their \
                                  aggregate traces, no percentiles and no intervals. Request types are root endpoints, \
                                  and the tail begins at the nearest latency bin.";

/// Words in place of the aggregate trace.
pub const NO_AGGREGATE: &str = "An aggregate trace stands for traces of one structure, and a summary holds sums over all. \
                                Below stand the parts of spans that take the time; the flame graph has an example of each \
                                call path by its id. Load the traces, or some of them, to see where in a trace they lie.";

/// Note instead of layers 3 and 4 of a diagnosis.
pub const NO_POSITIONS: &str = "Layers 3 and 4 are about traces of one structure, and a summary holds sums over all. Load the \
                                traces, or some of them, to see them.";

/// Words in place of where one more span would tell most.
pub const NO_STRETCHES: &str = "Where one more span would tell most is found in the spans of requests, and a summary holds sums \
                                over all. Load the traces, or some of them, to see it.";

/// Words in place of places that changed between two sides, one of which is a summary.
pub const NO_CHANGED_PLACES: &str = "Changed places and services are found in the spans of both sides, and a summary holds \
                                     sums over them. Compare shows what changed, service by service.";

/// Returns what is to be known of summaries that are looked at: how many there are, and what their numbers stand for.
pub fn facts(of: &SummaryFacts) -> String {
    let mut words = format!("From {}", counted(of.files, "summary file"));
    if let RootEndpoint::Endpoint(Endpoint { service, operation }) = &of.root {
        words += &format!(" of {}", format::endpoint(service, operation));
    }
    if of.percentile_error > 0.0 {
        words += &format!("; percentiles within {:.1}{}%", 100.0 * of.percentile_error, format::THIN);
    }
    if of.traces_left_out > 0 {
        words += &format!("; {} loaded besides left out", counted(of.traces_left_out, "trace"));
    }
    words
}

/// Returns notes on the numbers of summaries: what they are of, each in a sentence.
pub fn notes(of: &SummaryFacts) -> Vec<String> {
    let mut notes = vec![
        "Calls and names stand as they were recorded: rules that look at all traces at once do not apply to summaries."
            .to_owned(),
        "A percentile range ends at the nearest latency bin, 6 to 12.5 % wide: its button says how many requests it holds."
            .to_owned(),
        "In a percentile range, self time and requests are those of the range; percentiles, total time, spans and errors \
         of call paths and endpoints are over requests of any latency, and so is all of Errors, Flow and Diagnosis."
            .to_owned(),
        format!(
            "In Flow, calls of a callee above the {REPEATS}th share a node, endpoints with more than {MOST_NODES} different \
             calls have none, percentiles are within 0.8 %, and how often an edge binds is a lower bound."
        ),
        format!(
            "Anomalies of another set are judged against at most {MOST_NORMAL} of its requests, of any latency, chosen by \
             their trace ids."
        ),
        format!(
            "In Diagnosis, parts of spans are distinguished by what stands before and after them, over all traces; \
             endpoints with more than {MOST_PLACES} of them in a request type have none."
        ),
        "Errors of a request type are its requests with a span in error; spans and errors of endpoints are those on \
         critical paths. Of a request with errors of more than 64 endpoints there, only the 64 with the most time were \
         taken out alone; how many such requests there are, a summary does not count."
            .to_owned(),
    ];
    notes.extend(together(of.lesser));
    notes.extend(lacking(&of.lacks, &of.unknown));
    if of.percentile_error > 0.0 {
        notes.push(format!(
            "Percentiles of more than 10,000 values are within {:.1} % of the exact ones; sums and counts are exact.",
            100.0 * of.percentile_error
        ));
    }
    if of.traces_left_out > 0 {
        notes.push(format!(
            "{} loaded into the same set are left out. Open them as a set of their own to compare with, or add them \
             with pathlight summarise.",
            counted(of.traces_left_out, "trace")
        ));
    }
    notes
}

/// Returns how many root endpoints are summed together, and how much time they have; `None` if none is.
pub fn together((roots, share): (u64, f64)) -> Option<String> {
    (roots > 0).then(|| {
        format!(
            "All sums are there of the {} root endpoints with the most time only. {} more have {:.1} % of the time: they are \
             summed together, service by service, under {OTHERS}; by itself each has its latencies and errors.",
            format::count(MOST_ROOTS as u64), format::count(roots), 100.0 * share
        )
    })
}

/// Returns what a summary does not hold, each in a sentence: `lacks` in words, `unknown` by the names of sections.
pub fn lacking(lacks: &[String], unknown: &[String]) -> Vec<String> {
    let mut sentences: Vec<String> = lacks.iter().map(|words| capital(words) + ".").collect();
    if !unknown.is_empty() {
        let names = unknown.join(", ");
        sentences.push(format!("It also has sections of a newer Pathlight, which are left out: {names}."));
    }
    sentences
}

/// A request that a summary knows by its ids, to be looked up where the traces are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The endpoint at its root.
    pub root: Endpoint,
    /// Canonical trace id.
    pub trace_id: String,
    /// Latency of the request in microseconds.
    pub latency_us: u64,
}

/// Returns the slowest request of each root endpoint, slowest first (ties: by name).
pub fn known_requests(report: &CriticalPathReport) -> Vec<Known> {
    let roots = report.nodes.iter().filter(|node| node.parent.is_none());
    let known = roots.filter_map(|node| {
        let (request, _) = report.examples_of(node).next()?;
        let (service, operation) = report.name(node.endpoint);
        let root = Endpoint::new(service, operation);
        Some(Known { root, trace_id: request.trace_id.clone(), latency_us: request.latency_us })
    });
    let mut known: Vec<Known> = known.collect();
    known.sort_by(|a, b| b.latency_us.cmp(&a.latency_us).then_with(|| a.root.cmp(&b.root)));
    known
}

/// The requests of a summary that somebody looks at.
pub struct Selected<'a> {
    /// Their root endpoint; `None` for all.
    pub root: Option<&'a Endpoint>,
    /// Sums of them, whatever their latency.
    pub part: RootPart,
    /// The latency bins that come nearest to the percentile range asked for.
    pub cut: LatencyBinRange,
    /// Requests in these bins.
    pub requests: u64,
    /// Calling contexts of the requests in these bins, in pre-order, siblings by name; `None` if the summary lacks them.
    pub nodes: Option<Vec<Node<'a>>>,
    /// Endpoints on critical paths of the requests of any latency; likewise.
    pub endpoints: Option<BTreeMap<Endpoint, SummedEndpoint>>,
    /// Calls between services and visits of services, likewise.
    pub services: Option<ServicesPartial>,
    /// Errors in the requests of any latency; likewise.
    pub errors: Option<ErrorsReport>,
}

/// A calling context.
pub struct Node<'a> {
    /// Place of the parent in the list.
    pub parent: Option<usize>,
    /// Endpoint of the context.
    pub endpoint: &'a Endpoint,
    /// Requests of the bins that have it.
    pub requests: u64,
    /// Sum of its self time on their critical paths, in microseconds.
    pub self_us: u128,
    /// The same with all below it.
    pub total_us: u128,
    /// Its sums over requests of any latency.
    pub part: &'a NodePart,
    /// Sum of its self time over these, in microseconds.
    pub exclusive_all_us: u128,
    /// The request in which it and all below it took longest.
    pub exemplar: Option<&'a RequestRef>,
}

/// An endpoint on critical paths, over requests of any latency.
pub struct SummedEndpointRow<'a> {
    /// Service and operation.
    pub endpoint: &'a Endpoint,
    /// Mean self time per request, in microseconds.
    pub mean_us: f64,
    /// Its part of the latency, 0 to 1.
    pub share: f64,
    /// 50th, 95th and 99th percentile of its self time, over the requests that have it.
    pub percentiles: [f64; 3],
    /// Its sums.
    pub part: &'a SummedEndpoint,
}

impl<'a> Selected<'a> {
    /// Returns the requests of a root endpoint in a percentile range; `None` if the summary has none of that endpoint.
    pub fn of(
        summary: &'a Summary,
        root: Option<&'a Endpoint>,
        range: PercentileRange,
    ) -> Option<Selected<'a>> {
        let part = summary.root(root)?;
        let cut = LatencyBinRange::of(&part.bins, range);
        let requests = cut.sum(&part.bins).0;
        let choice = Choice { root: root.cloned(), ..Choice::default() };
        Some(Selected {
            root,
            part,
            requests,
            nodes: nodes(summary, root, &cut),
            cut,
            endpoints: summary.endpoint_parts(root).ok(),
            services: summary.services(root).ok(),
            errors: summary.errors(&choice).ok(),
        })
    }

    /// Returns the endpoints, the one with the most self time first (ties: by name); `None` if the summary lacks them.
    pub fn endpoint_rows(&self) -> Option<Vec<SummedEndpointRow<'_>>> {
        let requests = self.part.requests();
        let row =
            |(endpoint, part)| SummedEndpointRow::of(endpoint, part, requests, self.part.latency_us.sum);
        let mut rows: Vec<SummedEndpointRow> = self.endpoints.as_ref()?.iter().map(row).collect();
        rows.sort_by(|a, b| {
            b.part.self_us.sum.cmp(&a.part.self_us.sum).then_with(|| a.endpoint.cmp(b.endpoint))
        });
        Some(rows)
    }

    /// Returns what stands behind percentiles that are not exact; empty if they are.
    pub fn error_words(&self) -> String {
        if self.part.latency.error() == 0.0 {
            return String::new();
        }
        format!(" (percentiles within {:.1} %)", 100.0 * RELATIVE_ERROR)
    }

    /// Says which percentile range the calling contexts are of; `None` if of all requests.
    pub fn cut_words(&self) -> Option<String> {
        let range = self.cut.range();
        let percent = |ppm: u32| f64::from(ppm) / 1000.0;
        (!range.is_all()).then(|| {
            format!(
                "call paths below: P{}-{}, {} requests (latency bins end there)",
                percent(range.lo),
                percent(range.hi),
                self.requests
            )
        })
    }
}

/// Returns the calling contexts of the requests of a root endpoint, or of all, in some latency bins; `None` if the summary
/// lacks them.
fn nodes<'a>(summary: &'a Summary, root: Option<&Endpoint>, cut: &LatencyBinRange) -> Option<Vec<Node<'a>>> {
    let (contexts, examples) = (summary.contexts().ok()?, summary.examples().ok()?);
    let mut place_of: Vec<Option<usize>> = vec![None; contexts.nodes.len()];
    let mut nodes: Vec<Node> = Vec::new();
    for (number, context) in contexts.nodes.iter().enumerate() {
        let is_tree = context.parent == NO_ROW;
        let parent = if is_tree { None } else { place_of[context.parent as usize] };
        let endpoint = &contexts.endpoints[context.endpoint as usize];
        let is_root = is_tree && root.is_none_or(|root| endpoint == root);
        let (requests, self_us) = cut.sum(&context.value.bins);
        // A request has with a context all those above it.
        if (parent.is_some() || is_root) && requests > 0 {
            place_of[number] = Some(nodes.len());
            let part = &context.value;
            nodes.push(Node {
                parent,
                endpoint,
                requests,
                self_us,
                total_us: self_us,
                part,
                exclusive_all_us: part.bins.iter().fold(0, |sum: u128, bin| sum.saturating_add(bin.us)),
                exemplar: examples.get(number).copied().flatten().map(|(request, _)| request),
            });
        }
    }
    for number in (0..nodes.len()).rev() {
        if let Some(parent) = nodes[number].parent {
            nodes[parent].total_us = nodes[parent].total_us.saturating_add(nodes[number].total_us);
        }
    }
    Some(nodes)
}

impl<'a> SummedEndpointRow<'a> {
    fn of(
        endpoint: &'a Endpoint,
        part: &'a SummedEndpoint,
        requests: u64,
        latency_sum_us: u128,
    ) -> SummedEndpointRow<'a> {
        SummedEndpointRow {
            endpoint,
            mean_us: part.self_us.mean(requests),
            share: if latency_sum_us == 0 { 0.0 } else { part.self_us.sum as f64 / latency_sum_us as f64 },
            percentiles: part.self_time.quantiles([0.50, 0.95, 0.99]),
            part,
        }
    }
}
