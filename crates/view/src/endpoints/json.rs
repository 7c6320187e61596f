//! Endpoints ranked over all root endpoints, and histograms.

use crate::json::parts::{Text, ends, percent, pretty, public_json};
use pathlight_base::statistics::Distribution;
use pathlight_engine::endpoints::{Affected, ImpactReport, ImpactRow, RootRow, TagSum, TagSumsReport};
use pathlight_engine::flame::HistogramsReport;
use std::collections::BTreeMap;

public_json! {
    /// Endpoints over all root endpoints at once: first those that occur below some root, by impact; then those that are only
    /// roots.
    Endpoints<'a>(report: &'a ImpactReport, faster: f64) {
        /// Number of requests in the percentile range.
        requests: u64 = report.facts.requests,
        /// The percentile range as `[from, to]`, in percent.
        band: [f64; 2] = percent(report.range),
        /// Sum of their latencies.
        latency_sum_us: u128 = report.facts.latency_sum_us,
        /// Assumed speedup of an endpoint (`--faster`), in percent.
        faster_percent: f64 = faster,
        /// Root endpoints, the one with the greatest sum of latencies first.
        roots: Vec<Root<'a>> =
            report.roots.iter().enumerate().map(|(id, root)| Root::of(report, id, root)).collect(),
        /// Endpoints.
        rows: Vec<Row<'a>> =
            report.rows.iter().enumerate().map(|(place, row)| Row::of(report, place, row, faster)).collect(),
    }
}

public_json! {
    /// One root endpoint.
    Root<'a>(report: &'a ImpactReport, id: usize, root: &RootRow) {
        /// Number of the root endpoint.
        id: usize = id,
        /// Service name.
        service: &'a str = report.name(root.endpoint).0,
        /// Operation name.
        operation: &'a str = report.name(root.endpoint).1,
        /// Number of requests.
        requests: u64 = root.requests,
        /// Sum of their latencies.
        latency_us: u128 = root.latency_us,
    }
}

public_json! {
    /// One endpoint.
    Row<'a>(report: &'a ImpactReport, place: usize, row: &ImpactRow, faster: f64) {
        /// Place in the list, from 1.
        rank: usize = place + 1,
        /// Service name.
        service: &'a str = report.name(row.endpoint).0,
        /// Operation name.
        operation: &'a str = report.name(row.endpoint).1,
        /// Whether it occurs below the root of any request.
        interior: bool = row.is_interior,
        /// Exclusive time on the critical paths of all requests; of a service `own_us` and `waiting_us`. The impacts add up to
        /// `latency_sum_us`.
        impact_us: u128 = row.time_us(),
        /// Of a service: its own work on the critical paths of all requests; else `null`.
        own_us: Option<u128> = row.service_us.map(|(own_us, _)| own_us),
        /// Of a service: what calls into it take outside its own spans, over all callers; else `null`.
        waiting_us: Option<u128> = row.service_us.map(|(_, waiting_us)| waiting_us),
        /// The part of it below the roots of requests; the rest is time of requests of this endpoint itself.
        interior_us: u128 = row.interior_us,
        /// `impact_us` of `latency_sum_us`.
        share: f64 = report.share(row),
        /// The 95 % bootstrap interval of `share` over the requests, as `[low, high]`; `null` from 1,000 requests on, where it
        /// is narrow.
        share_interval: Option<[f64; 2]> = row.share_interval.map(ends),
        /// Requests that have it on their critical path.
        traces: u64 = row.requests,
        /// Spans of the endpoint on critical paths; left out of a service, of a summary, and where they are not counted.
        #[serde(skip_serializing_if = "Option::is_none")]
        calls_on_path: Option<u64> = row.calls.map(|(on_path, _)| on_path),
        /// All other spans of the endpoint, likewise.
        #[serde(skip_serializing_if = "Option::is_none")]
        calls_off_path: Option<u64> = row.calls.map(|(_, off_path)| off_path),
        /// Number of root endpoints it takes time of.
        root_endpoints: usize = row.affected.len(),
        /// `faster_percent` of `impact_us`: the upper bound of what that would save. What is really saved is less wherever
        /// other work then becomes the last to finish.
        saving_at_most_us: f64 = report.saving_at_most_us(row, faster),
        /// By root endpoint, most time first.
        affected: Vec<AffectedRoot> =
            row.affected.iter().map(|of| AffectedRoot::of(of, report.share_in(of), faster)).collect(),
    }
}

public_json! {
    /// The cost of an endpoint to one root endpoint.
    AffectedRoot(affected: &Affected, share: f64, faster: f64) {
        /// `id` of the root endpoint in `roots`.
        root: u32 = affected.root,
        /// Exclusive time on the critical paths of its requests.
        exclusive_us: u128 = affected.exclusive_us,
        /// Share of the root endpoint's latency.
        share: f64 = share,
        /// Its requests that have the endpoint on their critical path.
        traces: u64 = affected.requests,
        /// `faster_percent` of `share`.
        saving_at_most_share: f64 = share * faster.clamp(0.0, 100.0) / 100.0,
    }
}

public_json! {
    /// Size, depth and parallelism of the requests.
    ///
    /// | key of `histograms` | values |
    /// |---|---|
    /// | `spans`, `endpoints` | spans, distinct endpoints of each request; what lies outside its parent does not count |
    /// | `latency_us` | latency of each request, in microseconds |
    /// | `longest_call_chain` | spans on the longest call chain of each request, its root included |
    /// | `max_concurrency` | most spans of each request that overlap in time; spans that touch do not |
    /// | `work_us` | self times of the root and of all spans that it waits for, of each request, in microseconds |
    /// | `parallelism_percent` | work of each request in percent of the duration of its root span |
    /// | `critical_path_spans`, `critical_path_endpoints` | spans, distinct endpoints on the critical path of each request |
    /// | `callers_per_endpoint` | distinct endpoints that call each endpoint |
    /// | `spans_per_endpoint`, `critical_path_spans_per_endpoint` | spans of each endpoint over all requests, and those of them on critical paths |
    Histograms<'a>(report: &'a HistogramsReport) {
        /// Number of requests in the percentile range.
        requests: u64 = report.facts.requests,
        /// The percentile range as `[from, to]`, in percent.
        band: [f64; 2] = percent(report.range),
        /// By key, in its own unit.
        histograms: BTreeMap<&'static str, &'a Distribution> =
            report.distributions.iter().map(|(quantity, of)| (quantity.key(), of)).collect(),
    }
}

public_json! {
    /// `--sum KEY`: the numbers of a tag by endpoint, on the critical path or not, such as tokens or cost of calls of a language
    /// model. Only a span's own tag counts, and each trace once, whatever it stands for. A span may repeat what those below it
    /// have, so sums of several endpoints say nothing together.
    TagSums<'a>(report: &'a TagSumsReport) {
        /// Number of requests in the percentile range.
        requests: u64 = report.facts.requests,
        /// The percentile range as `[from, to]`, in percent.
        band: [f64; 2] = percent(report.range),
        /// The tag whose numbers are summed.
        sum_of: &'a str = &report.key,
        /// Whether the tag has too many values to store, so that nothing is known of its numbers.
        unknown: bool = report.is_unknown,
        /// Whether the tag has too many values to store, and its numbers are known with three digits.
        rounded: bool = report.is_rounded && !report.is_unknown,
        /// By sum, greatest first.
        rows: Vec<SumRow<'a>> = report.rows.iter().map(|row| SumRow::of(report, row)).collect(),
    }
}

public_json! {
    /// The numbers of a tag at one endpoint.
    SumRow<'a>(report: &'a TagSumsReport, row: &'a TagSum) {
        /// Service name.
        service: &'a str = row.place.names().0,
        /// Operation name.
        operation: &'a str = row.place.names().1,
        /// Sum over all requests divided by their number, also of those that do not have it.
        per_request: f64 = report.per_request(row),
        #[serde(flatten)]
        sum: Sum = Sum::of(row),
    }
}

public_json! {
    /// Sum of the numbers of a tag.
    Sum(row: &TagSum) {
        /// Sum of the numbers, in the unit of the tag.
        sum: f64 = row.sum,
        /// The sum divided by the requests that have it.
        when_present: f64 = row.when_present(),
        /// Mean of the spans that have a number.
        per_span: f64 = row.per_span(),
        /// Greatest number.
        max: f64 = row.max,
        /// Spans that have a number.
        spans: u64 = row.spans,
        /// Requests with such a span.
        traces: u64 = row.requests,
    }
}

/// Returns the JSON of `endpoints --sum`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn tag_sums(report: &TagSumsReport) -> Text {
    pretty(&TagSums::of(report))
}

/// Returns the JSON of `endpoints`, with what could be saved at most if an endpoint took `faster` percent less time.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn endpoints(report: &ImpactReport, faster: f64) -> Text {
    pretty(&Endpoints::of(report, faster))
}

/// Returns the JSON of `histograms`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn histograms(report: &HistogramsReport) -> Text {
    pretty(&Histograms::of(report))
}
