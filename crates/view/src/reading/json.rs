//! Everything that is loaded, and its files.

use crate::json::parts::{Text, compact, public_json};
use crate::sampling::json::SamplingOf;
use pathlight_engine::findings::Tops;
use pathlight_engine::queries::OverviewReport;
use pathlight_engine::queues::LinkCounts;
use pathlight_ingest::FileReport;
use pathlight_trace::{ClockPair, Coverage, Endpoint, FoundCount, NameCount, Quality, SequenceTimes};
use std::collections::BTreeMap;

public_json! {
    /// Overview of the loaded traces and their files.
    Inspect<'a>(overview: &'a OverviewReport, files: &'a [FileReport]) {
        /// Traces over all files, merged by id.
        traces: u64 = overview.traces,
        /// Spans over all files, without copies.
        spans: u64 = overview.spans,
        /// Services.
        services: u64 = overview.services,
        /// Endpoints.
        endpoints: usize = overview.endpoints.len(),
        /// Size of the files as they are, packed.
        bytes: u64 = files.iter().map(|file| file.bytes).sum(),
        /// The files that could be opened, in the order given.
        files: &'a [FileReport] = files,
        /// Quality of the spans: what was wrong with them.
        quality: QualityOf<'a> = QualityOf::of(overview),
    }
}

public_json! {
    /// Quality of the spans: what was wrong with them.
    QualityOf<'a>(overview: &'a OverviewReport) {
        #[serde(flatten)]
        counts: &'a Quality = &overview.quality,
        /// `clipped_us` of `span_us`, 0 to 1.
        clipped_share: f64 = overview.quality.clipped_share(),
        /// Links between spans, by whether the span that they lead to is loaded.
        links: LinkCounts = overview.links,
        /// Coverage of the traces by all requests.
        coverage: &'a Coverage = &overview.outside.coverage,
        /// Spans at which work that no request holds begins: endpoints with most span time first, asynchronous work
        /// before what is unattached.
        outside: Vec<TopsOf<'a>> = [true, false].into_iter().flat_map(|kind| tops(overview, kind)).collect(),
        /// Overlaps of calls in sequence that pass for clock skew.
        accepted_overlaps: SequenceTimesOf<'a> = SequenceTimesOf::of(&overview.sequences.overlaps),
        /// Gaps between calls in sequence: from the end of the one before to the start.
        gaps: SequenceTimesOf<'a> = SequenceTimesOf::of(&overview.sequences.gaps),
        /// Findings of the rules for real traces, by `overlay`, `callees`, `several-callees`, `waiting`, `templates`,
        /// `nobody-waits`, `consumers` (whose parent is no producer), `clocks`, `gave-up` (callees that began after
        /// their caller gave up), `stopped-waiting` (callees that were cut at the end of their call), `roots` (roots
        /// beside the trace root that are requests of their own), `incomplete` (requests whose caller is not recorded),
        /// `several-roots` (all roots beside it) and `orphan-roots` (roots whose parent is missing); what was not found
        /// is left out.
        reading: BTreeMap<&'static str, FoundOf<'a>> = found(overview),
        /// Names with values in them that count as one.
        names: &'a NameCount = &overview.reading.names,
        /// Pairs of processes whose clocks were set, by caller and callee.
        clocks: Vec<ClockOf<'a>> =
            overview.reading.clocks.iter().map(|(pair, clock)| ClockOf::of(pair, clock)).collect(),
        /// How the traces were sampled, as they say it; left out if they say nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        sampling: Option<SamplingOf> = SamplingOf::of_any(&overview.sampling),
    }
}

public_json! {
    /// Overlaps of calls in sequence that pass for clock skew, or gaps between calls in sequence.
    SequenceTimesOf<'a>(times: &'a SequenceTimes) {
        #[serde(flatten)]
        counts: &'a SequenceTimes = times,
        /// Mean of these; 0 without any.
        mean_us: f64 = times.mean_us(),
    }
}

public_json! {
    /// Spans of an endpoint at which work that no request holds begins.
    TopsOf<'a>(endpoint: &'a Endpoint, tops: Tops, is_async: bool) {
        /// Service name.
        service: &'a str = &endpoint.service,
        /// Operation name.
        operation: &'a str = &endpoint.operation,
        /// Whether nobody waits for it; else spans above it are missing.
        asynchronous: bool = is_async,
        /// Such spans.
        spans: u64 = tops.spans,
        /// Their duration.
        us: u128 = tops.us,
        /// The duration of these and of all spans below them.
        span_us: u128 = tops.span_us,
    }
}

public_json! {
    /// Findings of one rule.
    FoundOf<'a>(count: &'a FoundCount, all_spans: u64) {
        /// Spans it was found in.
        spans: u64 = count.spans,
        /// Their share of all spans, 0 to 1.
        share: f64 = count.spans as f64 / all_spans.max(1) as f64,
        /// Id of one trace with such a span: the smallest.
        example: &'a str = &count.example,
    }
}

public_json! {
    /// The clocks of two processes.
    ClockOf<'a>(pair: &'a (String, String), clock: &'a ClockPair) {
        /// The calling process, `service` or `service@host`.
        caller: &'a str = &pair.0,
        /// The process it calls.
        callee: &'a str = &pair.1,
        /// Traces with such calls.
        traces: u64 = clock.traces,
        /// Traces in which the callee was moved.
        moved_traces: usize = clock.shifts_us.len(),
        /// Lower median of how far the callee was moved, over all of these traces; positive is later.
        median_shift_us: i64 = clock.median_us(),
        /// Whether nearly all traces show the same clock ahead or behind by more than 1 ms.
        is_fault: bool = clock.is_fault(),
    }
}

fn tops(overview: &OverviewReport, is_async: bool) -> impl Iterator<Item = TopsOf<'_>> {
    let rows = overview.outside.by_time(is_async);
    rows.into_iter().map(move |(endpoint, tops)| TopsOf::of(endpoint, tops, is_async))
}

fn found(overview: &OverviewReport) -> BTreeMap<&'static str, FoundOf<'_>> {
    let found = overview.reading.found.iter();
    found.map(|(found, count)| (found.key(), FoundOf::of(count, overview.spans))).collect()
}

/// Returns the JSON of `inspect`: what is loaded, and every file in the order given.
///
/// # Errors
/// Only if serde_json refuses a string, which it does not.
pub fn inspect(overview: &OverviewReport, files: &[FileReport]) -> Text {
    compact(&Inspect::of(overview, files))
}
