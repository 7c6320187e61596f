//! An overview of what is loaded: counts, request types, data quality.

use crate::EngineError;
use crate::findings::{Outside, OutsidePart};
use crate::flame::{pack_sorted, unpack_sorted};
use crate::queues::LinkCounts;
use crate::queues::links::LinksPart;
use crate::requests::chosen::{ChosenPart, ChosenSigns, RootCounts};
use crate::requests::{GroupBy, RequestType, RequestTypes, RootEndpoint, TypeNames};
use crate::run::query::Query;
use crate::run::set_pass::{OverSet, RunningSetPass, SetPass};
use crate::run::workers::Workers;
use crate::summaries::Summary;
use pathlight_base::encoding;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{LogHistogram, Percentiles, Weight, sort_weighted, weighted_sum_us};
use pathlight_trace::{
    CallsInSequence, Endpoint, Flags, MAX_VALUES_PER_KEY, PathSettings, Quality, ReadingCounts,
    ReadingObserver, RequestRoots, Role, SamplingCounts, SequenceSweep, TraceSet, Tree, is_measure, number,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const HISTOGRAM_BINS: u32 = 96;
const SPARK_BINS: u32 = 24;
/// Services in [`OverviewReport::most_time`] and in a legend: more than a dozen colours nobody tells apart.
pub const MOST_TIME: usize = 12;
/// Traces between two looks at the clock.
const CHUNK: usize = 64;

/// Reports what is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// The set looked at: 0, or 1 for the set to compare with.
    pub group: u8,
    /// Settings by which it is read.
    pub settings: PathSettings,
    /// Grouping of requests into types.
    pub by: GroupBy,
    /// Whether requests whose caller is not recorded count, although enough traces have their root.
    pub incomplete: bool,
    /// Whether each request counts once, even if its trace stands for several.
    pub unweighted: bool,
}

impl Query for Overview {
    type Report = OverviewReport;

    async fn run(self, workers: Workers) -> Result<OverviewReport, EngineError> {
        let summaries = workers.summaries().await?;
        let Overview { group, settings, by, incomplete, unweighted } = self;
        let other = 1 - group.min(1);
        let pass = OverviewPass { group, settings, by, incomplete, unweighted };
        let mut partial = OverviewPartial::merge(workers.partials(pass).await?);
        let links = std::mem::take(&mut partial.links).counts(&workers).await?;
        let mut report = partial.finish();
        report.links = links;
        if let Some(joined) = summaries {
            if let Some(summary) = joined.group(group)? {
                let files = joined.groups.get(&group).map_or(0, |(files, _)| *files);
                report.take_summary(summary, files);
            }
            if let Some(summary) = joined.group(other)? {
                (report.other_traces, report.other_spans) = (summary.traces, summary.spans);
                report.is_other_summary = true;
            }
        }
        Ok(report)
    }
}

/// The requests of one type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypeRow {
    /// The type.
    pub kind: RequestType,
    /// Number of requests.
    pub requests: u64,
    /// Requests whose root span is an error.
    pub errors: u64,
    /// Their latency in microseconds, by weight where requests stand for several.
    pub latency_us: Percentiles,
    /// A small histogram of their latency, for a spark line.
    pub spark: LogHistogram,
}

/// An endpoint with its spans, for search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointCount {
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Number of spans.
    pub spans: u64,
}

/// A tag key, for filters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagKey {
    /// The key.
    pub key: String,
    /// Distinct values, sorted; empty if there are more than [`TagKey::LISTED`].
    pub values: Vec<String>,
    /// Whether there are too many to list or split by.
    pub high_cardinality: bool,
    /// Whether all are numbers, which are known: see [`TagSums`](crate::queries::TagSums).
    pub is_number: bool,
}

impl TagKey {
    /// Most values listed.
    pub const LISTED: usize = 256;
}

/// Overview of the loaded traces. All but `heap_bytes`, `quality` of repeated spans, `logs` and the other set is about the
/// set looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverviewReport {
    /// Number of traces.
    pub traces: u64,
    /// Number of spans.
    pub spans: u64,
    /// Traces of the other set.
    pub other_traces: u64,
    /// Spans of the other set.
    pub other_spans: u64,
    /// Number of services.
    pub services: u64,
    /// Spans that are errors.
    pub error_spans: u64,
    /// Log records.
    pub logs: u64,
    /// Earliest start, microseconds since the epoch.
    pub start_us: u64,
    /// Latest end.
    pub end_us: u64,
    /// Bytes of worker heap that hold it.
    pub heap_bytes: u64,
    /// Data quality.
    pub quality: Quality,
    /// Overlaps of calls in sequence that pass for clock skew, and gaps between calls in sequence.
    pub sequences: CallsInSequence,
    /// Counts of the findings of the rules for real traces.
    pub reading: ReadingCounts,
    /// Links between spans, and whether what they lead to is loaded.
    pub links: LinkCounts,
    /// The part of their traces that no request holds.
    pub outside: OutsidePart,
    /// What the traces say of how they were sampled.
    pub sampling: SamplingCounts,
    /// What those of the other set say.
    pub other_sampling: SamplingCounts,
    /// Signs that the traces were chosen, where they say no weights.
    pub chosen: ChosenSigns,
    /// Latency of all requests.
    pub latency_us: Percentiles,
    /// Histogram of these latencies.
    pub histogram: LogHistogram,
    /// Grouping of requests into types; never automatic.
    pub by: GroupBy,
    /// Request types, most total time first.
    pub request_types: Vec<TypeRow>,
    /// Endpoints by (service, operation).
    pub endpoints: Vec<EndpointCount>,
    /// The services with the most self time that somebody waits for, at most 12 (ties: by name).
    pub most_time: Vec<String>,
    /// Tag keys by name.
    pub tag_keys: Vec<TagKey>,
    /// Facts about the summaries if summaries of traces are looked at.
    pub summary: Option<SummaryFacts>,
    /// Whether the other set is of summaries.
    pub is_other_summary: bool,
}

/// Facts about the summaries that are looked at, beside those known of traces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryFacts {
    /// Summaries that were joined.
    pub files: u64,
    /// Greatest error of percentiles of latency, as a share of themselves; 0 if they are exact.
    pub percentile_error: f64,
    /// The root endpoint whose latency was summed.
    pub root: RootEndpoint,
    /// Traces that were loaded with them and are left out.
    pub traces_left_out: u64,
    /// Root endpoints that are summed together, and the share of the latency of all requests that they have.
    pub lesser: (u64, f64),
    /// Parts that they lack, each in words.
    pub lacks: Vec<String>,
    /// Names of sections of a newer Pathlight that are left out.
    pub unknown: Vec<String>,
}

impl OverviewReport {
    /// Returns the names of all services, sorted.
    pub fn service_names(&self) -> Vec<String> {
        let names: BTreeSet<&String> = self.endpoints.iter().map(|endpoint| &endpoint.service).collect();
        names.into_iter().cloned().collect()
    }

    /// Returns the keys of tags whose values are all numbers, by name.
    pub fn number_keys(&self) -> impl Iterator<Item = &str> {
        self.tag_keys.iter().filter(|tag| tag.is_number).map(|tag| tag.key.as_str())
    }

    /// Puts summaries in the place of traces of the set looked at.
    pub fn take_summary(&mut self, summary: &Summary, files: u64) {
        let traces_left_out = std::mem::replace(&mut self.traces, summary.traces);
        self.spans = summary.spans;
        (self.start_us, self.end_us) = summary.start_us.unwrap_or_default();
        let all = summary.root(None).unwrap_or_default();
        self.latency_us = all.percentiles();
        self.histogram = LogHistogram::of_counts(&all.latency.counts(), HISTOGRAM_BINS);
        self.by = GroupBy::Root;
        self.request_types = (summary.roots.iter())
            .map(|(root, part)| TypeRow {
                kind: RequestType::whole(root.clone()),
                requests: part.requests(),
                errors: part.failed,
                latency_us: part.percentiles(),
                spark: LogHistogram::of_counts(&part.latency.counts(), SPARK_BINS),
            })
            .collect();
        let total = |row: &TypeRow| summary.roots.get(&row.kind.root).map_or(0, |part| part.latency_us.sum);
        // Stable: equal totals stay by name.
        self.request_types.compact_sort_by_key(|row| std::cmp::Reverse(total(row)));
        // Where these are lacking, the facts say so.
        let parts = summary.endpoint_parts(None).unwrap_or_default();
        let endpoints = parts.iter().map(|(endpoint, part)| EndpointCount {
            service: endpoint.service.clone(),
            operation: endpoint.operation.clone(),
            spans: part.spans,
        });
        self.endpoints = endpoints.collect();
        self.error_spans = parts.values().map(|part| part.errors).sum();
        let services: BTreeSet<&str> = parts.keys().map(|of| of.service.as_str()).collect();
        self.services = services.len() as u64;
        let own = parts.iter().map(|(of, part)| (of.service.as_str(), part.self_time.sum_us()));
        self.most_time = most_time(own).into_iter().map(|(service, _)| service).collect();
        self.tag_keys.clear();
        self.summary = Some(SummaryFacts {
            files,
            percentile_error: all.latency.error(),
            root: summary.settings.root.clone(),
            traces_left_out,
            lesser: summary.lesser_share(),
            lacks: summary.lacks().iter().map(ToString::to_string).collect(),
            unknown: summary.unknown.iter().cloned().collect(),
        });
    }
}

/// The accumulator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct OverviewPartial {
    traces: u64,
    spans: u64,
    other_traces: u64,
    other_spans: u64,
    error_spans: u64,
    logs: u64,
    start_us: Option<u64>,
    end_us: u64,
    heap_bytes: u64,
    quality: Quality,
    sequences: CallsInSequence,
    reading: ReadingCounts,
    links: LinksPart,
    outside: OutsidePart,
    sampling: SamplingCounts,
    other_sampling: SamplingCounts,
    chosen: ChosenPart,
    by: GroupBy,
    /// By type: errors, and latencies sorted and packed.
    types: BTreeMap<RequestType, (u64, Vec<u64>)>,
    /// By type, in the same order: weights; of a type that is not here they are 1.
    weights: BTreeMap<RequestType, Vec<Weight>>,
    /// By endpoint: spans, and the time in which somebody waits for them and for none of their calls.
    endpoints: BTreeMap<Endpoint, (u64, u128)>,
    tag_keys: BTreeMap<String, (bool, BTreeSet<String>)>,
}

/// Returns the services with the most time, at most [`MOST_TIME`], with their shares of all of it (ties: by name).
pub fn most_time(times: impl Iterator<Item = (impl Into<String>, impl Into<u128>)>) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<String, u128> = BTreeMap::new();
    let mut whole = 0;
    for (service, us) in times {
        let us = us.into();
        *sums.entry(service.into()).or_default() += us;
        whole += us;
    }
    let mut services: Vec<(String, u128)> = sums.into_iter().collect();
    // Stable: equal times stay by name.
    services.compact_sort_by_key(|(_, us)| std::cmp::Reverse(*us));
    services.truncate(MOST_TIME);
    services.into_iter().map(|(service, us)| (service, us as f64 / whole.max(1) as f64)).collect()
}

impl OverviewPartial {
    pub fn merge(parts: Vec<OverviewPartial>) -> OverviewPartial {
        let mut sum = OverviewPartial::default();
        for mut part in parts {
            sum.traces += part.traces;
            sum.spans += part.spans;
            sum.other_traces += part.other_traces;
            sum.other_spans += part.other_spans;
            sum.error_spans += part.error_spans;
            sum.logs += part.logs;
            sum.start_us = [sum.start_us, part.start_us].into_iter().flatten().min();
            sum.end_us = sum.end_us.max(part.end_us);
            sum.heap_bytes += part.heap_bytes;
            sum.quality.merge(&part.quality);
            sum.sequences.merge(&part.sequences);
            sum.reading.merge(part.reading);
            sum.links.merge(part.links);
            sum.outside.merge(part.outside);
            sum.sampling.merge(&part.sampling);
            sum.other_sampling.merge(&part.other_sampling);
            sum.chosen.merge(part.chosen);
            sum.by = part.by;
            for (name, (errors, latencies)) in part.types {
                let into = sum.types.entry(name.clone()).or_default();
                into.0 += errors;
                let mut values = unpack_sorted(std::mem::take(&mut into.1));
                let mut more = unpack_sorted(latencies);
                let weights = [sum.weights.remove(&name), part.weights.remove(&name)];
                if weights.iter().any(Option::is_some) {
                    let ones = |n: usize| vec![Weight::ONE; n];
                    let [here, there] = weights;
                    let mut pairs: Vec<(u64, Weight)> =
                        values.iter().copied().zip(here.unwrap_or_else(|| ones(values.len()))).collect();
                    let there = there.unwrap_or_else(|| ones(more.len()));
                    pairs.extend(more.into_iter().zip(there));
                    sort_weighted(&mut pairs);
                    let (sorted, weights): (Vec<u64>, Vec<Weight>) = pairs.into_iter().unzip();
                    into.1 = pack_sorted(sorted);
                    sum.weights.insert(name, weights);
                    continue;
                }
                values.append(&mut more);
                values.sort();
                into.1 = pack_sorted(values);
            }
            for (name, of) in part.endpoints {
                let into = sum.endpoints.entry(name).or_default();
                *into = (into.0 + of.0, into.1 + of.1);
            }
            for (key, (high, values)) in part.tag_keys {
                let into = sum.tag_keys.entry(key).or_default();
                into.0 |= high;
                into.1.extend(values);
            }
        }
        sum
    }

    pub fn finish(mut self) -> OverviewReport {
        self.reading.finish();
        let mut all = Vec::with_capacity(self.traces as usize);
        let mut by_type: Vec<(RequestType, Vec<u64>)> = Vec::new();
        let has_weights = !self.weights.is_empty();
        let mut weighted: Vec<(u64, Weight)> = Vec::new();
        let mut request_types: Vec<(u128, TypeRow)> = Vec::new();
        for (kind, (errors, latencies)) in self.types {
            let sorted = unpack_sorted(latencies);
            let requests = sorted.len() as u64;
            let (total, latency_us, spark) = match self.weights.remove(&kind) {
                None => (
                    sorted.iter().map(|&v| u128::from(v)).sum(),
                    Percentiles::of_sorted(&sorted),
                    LogHistogram::of_sorted(&sorted, SPARK_BINS),
                ),
                Some(weights) => {
                    let pairs: Vec<(u64, Weight)> = sorted.iter().copied().zip(weights).collect();
                    let numbers = (
                        weighted_sum_us(&pairs) / u128::from(Weight::UNITS),
                        Percentiles::of_weighted(&pairs),
                        LogHistogram::of_weighted(&pairs, SPARK_BINS),
                    );
                    weighted.extend(pairs);
                    numbers
                }
            };
            if has_weights && weighted.len() < all.len() + sorted.len() {
                weighted.extend(sorted.iter().map(|&us| (us, Weight::ONE)));
            }
            request_types.push((total, TypeRow { kind: kind.clone(), requests, errors, latency_us, spark }));
            all.extend_from_slice(&sorted);
            by_type.push((kind, sorted));
        }
        let chosen = match self.sampling.has_weights() {
            true => ChosenSigns::default(),
            false => self.chosen.finish(by_type.iter().map(|(kind, sorted)| (kind, sorted.as_slice()))),
        };
        // Stable: equal totals stay by name.
        request_types.compact_sort_by_key(|&(total, _)| std::cmp::Reverse(total));
        all.sort_unstable();
        sort_weighted(&mut weighted);
        let (latency_us, histogram) = match has_weights {
            false => (Percentiles::of_sorted(&all), LogHistogram::of_sorted(&all, HISTOGRAM_BINS)),
            true => {
                (Percentiles::of_weighted(&weighted), LogHistogram::of_weighted(&weighted, HISTOGRAM_BINS))
            }
        };
        let services: BTreeSet<&str> =
            self.endpoints.keys().map(|Endpoint { service, .. }| service.as_str()).collect();
        let services = services.len() as u64;
        let most_time = most_time(self.endpoints.iter().map(|(of, sums)| (of.service.as_str(), sums.1)));
        let tag_keys = self.tag_keys.into_iter().map(|(key, (high, values))| {
            let high_cardinality = high || values.len() > MAX_VALUES_PER_KEY as usize;
            let is_number = match high_cardinality {
                true => is_measure(&key),
                false => !values.is_empty() && values.iter().all(|value| number(value).is_some()),
            };
            let listed = !high_cardinality && values.len() <= TagKey::LISTED;
            let values = if listed { values.into_iter().collect() } else { Vec::new() };
            TagKey { key, values, high_cardinality, is_number }
        });
        OverviewReport {
            traces: self.traces,
            spans: self.spans,
            other_traces: self.other_traces,
            other_spans: self.other_spans,
            services,
            error_spans: self.error_spans,
            logs: self.logs,
            start_us: self.start_us.unwrap_or(0),
            end_us: self.end_us,
            heap_bytes: self.heap_bytes,
            quality: self.quality,
            sequences: self.sequences,
            reading: self.reading,
            links: LinkCounts::default(),
            outside: self.outside,
            sampling: self.sampling,
            other_sampling: self.other_sampling,
            chosen,
            latency_us,
            histogram,
            by: self.by,
            request_types: request_types.into_iter().map(|(_, t)| t).collect(),
            endpoints: self
                .endpoints
                .into_iter()
                .map(|(Endpoint { service, operation }, (spans, _))| EndpointCount {
                    service,
                    operation,
                    spans,
                })
                .collect(),
            most_time: most_time.into_iter().map(|(service, _)| service).collect(),
            tag_keys: tag_keys.collect(),
            summary: None,
            is_other_summary: false,
        }
    }
}

/// The requests of one type of a worker.
#[derive(Clone, Default)]
struct OfType {
    errors: u64,
    latencies_us: Vec<u64>,
    rows: Vec<u32>,
}

/// Returns, by type, the weights of the requests in the order of their latencies, sorted.
fn weights_of(
    types: &RequestTypes,
    weights: &[Weight],
    by_type: &[OfType],
) -> BTreeMap<RequestType, Vec<Weight>> {
    let mut pairs: Vec<Vec<(u64, Weight)>> = vec![Vec::new(); by_type.len()];
    for (request, weight) in (0..).zip(weights) {
        let of = types.of(request) as usize;
        let at = pairs[of].len();
        pairs[of].push((by_type[of].latencies_us[at], *weight));
    }
    pairs.iter_mut().for_each(|pairs| sort_weighted(pairs));
    let weights = pairs.into_iter().map(|pairs| pairs.into_iter().map(|(_, weight)| weight).collect());
    types.names().iter().cloned().zip(weights).collect()
}

/// All traces: counts, request types, data quality.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OverviewPass {
    pub group: u8,
    pub settings: PathSettings,
    pub by: GroupBy,
    pub incomplete: bool,
    pub unweighted: bool,
}

impl SetPass for OverviewPass {
    type Part = OverviewPartial;

    fn settings(&self) -> Option<PathSettings> {
        Some(self.settings)
    }

    fn by(&self) -> Option<&GroupBy> {
        Some(&self.by)
    }

    fn incomplete(&self) -> Option<bool> {
        Some(self.incomplete)
    }

    fn start(self, over: OverSet) -> Box<dyn RunningSetPass> {
        let types = over.types.unwrap_or_default();
        Box::new(OverviewRun {
            group: self.group,
            unweighted: self.unweighted,
            ..OverviewRun::new(self.settings, types, over.incomplete)
        })
    }
}

impl RunningSetPass for OverviewRun {
    fn step(&mut self, set: &TraceSet, time_is_up: &mut dyn FnMut() -> bool) -> Option<Vec<u8>> {
        self.look(set, time_is_up).then(|| encoding::write(&self.partial))
    }

    fn progress(&self, set: &TraceSet) -> (u64, u64) {
        (u64::from(self.trace), set.traces().len() as u64)
    }
}

/// Builds the partial of one set in resumable steps.
struct OverviewRun {
    partial: OverviewPartial,
    group: u8,
    tree: Tree,
    settings: PathSettings,
    request_roots: RequestRoots,
    trace: u32,
    /// Whether a tree is half loaded.
    is_loading: bool,
    types: Arc<TypeNames>,
    /// By endpoint number, as in the partial.
    endpoints: Vec<(u64, u128)>,
    /// By span of the trace under way: until when its calls have covered it.
    covered_us: Vec<u64>,
    /// Row, latency, and whether it is an error, of the root of every request.
    roots: Vec<(u32, u64, bool)>,
    /// Their weights, if they count.
    weights: Vec<Weight>,
    reading: ReadingObserver,
    outside: Outside,
    sweep: SequenceSweep,
    root_counts: RootCounts,
    unweighted: bool,
    /// Requests of the trace under way.
    requests: Vec<u32>,
}

impl OverviewRun {
    /// Returns the pass; without `incomplete` requests whose caller is not recorded do not count.
    pub fn new(settings: PathSettings, types: Arc<TypeNames>, incomplete: bool) -> OverviewRun {
        OverviewRun {
            request_roots: if incomplete { RequestRoots::All } else { RequestRoots::Complete },
            types,
            partial: OverviewPartial::default(),
            group: 0,
            tree: Tree::default(),
            settings,
            trace: 0,
            is_loading: false,
            endpoints: Vec::new(),
            covered_us: Vec::new(),
            roots: Vec::new(),
            weights: Vec::new(),
            reading: ReadingObserver::default(),
            outside: Outside::default(),
            sweep: SequenceSweep::default(),
            root_counts: RootCounts::default(),
            unweighted: false,
            requests: Vec::new(),
        }
    }

    /// Works on for a while; returns true when done: then the partial is complete.
    fn look(&mut self, set: &TraceSet, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        let mut left = CHUNK;
        // Names may have come.
        self.endpoints.resize(set.endpoints().len(), (0, 0));
        while (self.trace as usize) < set.traces().len() {
            if left == 0 {
                if time_is_up() {
                    return false;
                }
                left = CHUNK;
            }
            left -= 1;
            let trace = set.traces()[self.trace as usize];
            if trace.id.group != self.group {
                self.partial.other_traces += 1;
                self.partial.other_sampling.observe(set, self.trace);
                self.root_counts.observe(set, &trace);
                self.partial.other_spans += trace.len() as u64;
                self.trace += 1;
                continue;
            }
            if !self.is_loading {
                self.tree.begin(set, self.trace, self.settings, self.request_roots);
                self.is_loading = true;
            }
            if !self.tree.step(set, 1 << 16) {
                left = 0;
                continue;
            }
            self.is_loading = false;
            self.partial.quality.observe_trace(set, &self.tree);
            self.partial.sequences.observe_trace(&self.tree, &mut self.sweep);
            self.reading.observe(set, &self.tree);
            self.observe(set);
            self.trace += 1;
        }
        self.finish(set);
        true
    }

    fn observe(&mut self, set: &TraceSet) {
        let partial = &mut self.partial;
        partial.traces += 1;
        partial.sampling.observe(set, self.trace);
        self.root_counts.observe(set, &set.traces()[self.trace as usize]);
        partial.spans += self.tree.len() as u64;
        for i in 0..self.tree.len() as u32 {
            let row = self.tree.row(i);
            self.endpoints[set.endpoint(row).0 as usize].0 += 1;
            partial.error_spans += u64::from(set.flags(row).has(Flags::ERROR));
            let start = set.start_us(row);
            partial.start_us = Some(partial.start_us.map_or(start, |s| s.min(start)));
            partial.end_us = partial.end_us.max(start + set.duration_us(row));
        }
        self.observe_self_time(set);
        self.tree.requests(set, &mut self.requests);
        self.outside.look(set, &self.tree);
        for &request in &self.requests {
            let row = self.tree.row(request);
            self.roots.push((row, self.tree.duration_us(request), set.flags(row).has(Flags::ERROR)));
        }
        if set.has_weights() && !self.unweighted {
            self.weights.resize(self.roots.len(), set.weight(self.trace));
        }
    }

    /// Adds the time of each span that none of its calls covers, of those that somebody waits for: calls that lie within
    /// the time of another one beside them are left out with all below them, which is nearly what critical paths leave out.
    fn observe_self_time(&mut self, set: &TraceSet) {
        const NOBODY: u64 = u64::MAX;
        let tree = &self.tree;
        // Parents come before their children, and those by start, the longer ones first.
        self.covered_us.clone_from(&tree.start_us);
        for i in 0..tree.len() as u32 {
            let (role, duration_us) = (tree.role[i as usize], tree.duration_us(i));
            let more_us = match tree.parent_of(i) {
                None => duration_us,
                Some(parent) if role == Role::Sync && self.covered_us[parent as usize] != NOBODY => {
                    let covered_us = &mut self.covered_us[parent as usize];
                    let end_us = tree.end_us[i as usize];
                    let more_us = end_us.saturating_sub(tree.start_us[i as usize].max(*covered_us));
                    *covered_us = end_us.max(*covered_us);
                    let of_parent = &mut self.endpoints[set.endpoint(tree.row(parent)).0 as usize].1;
                    *of_parent = of_parent.saturating_sub(more_us.into());
                    more_us
                }
                Some(_) => 0,
            };
            if more_us == 0 {
                self.covered_us[i as usize] = NOBODY;
            } else {
                self.endpoints[set.endpoint(tree.row(i)).0 as usize].1 += u128::from(duration_us);
            }
        }
    }

    fn finish(&mut self, set: &TraceSet) {
        let partial = &mut self.partial;
        partial.logs = set.logs;
        partial.heap_bytes = set.heap_bytes() as u64;
        partial.quality.observe_set(set);
        partial.reading = std::mem::take(&mut self.reading).finish(set);
        partial.links = LinksPart::of(set, self.group);
        partial.outside = std::mem::take(&mut self.outside).finish(set);
        for (number, (service, operation)) in set.endpoints().enumerate() {
            if self.endpoints[number].0 > 0 {
                partial.endpoints.insert(Endpoint::new(service, operation), self.endpoints[number]);
            }
        }
        let of = (self.request_roots, self.settings.reading);
        let types = RequestTypes::new(set, self.roots.iter().map(|root| root.0), &self.types, of);
        let mut by_type = vec![OfType::default(); types.names().len()];
        for (request, (row, latency_us, is_error)) in (0..).zip(self.roots.drain(..)) {
            let of = &mut by_type[types.of(request) as usize];
            of.errors += u64::from(is_error);
            of.latencies_us.push(latency_us);
            of.rows.push(row);
        }
        partial.chosen.take_roots(set, &self.root_counts);
        if !self.weights.is_empty() {
            partial.weights = weights_of(&types, &self.weights, &by_type);
        }
        for (name, of) in types.names().iter().zip(by_type) {
            let OfType { errors, latencies_us: mut latencies, rows } = of;
            partial.chosen.observe_type(name, rows.into_iter().map(|row| set.start_us(row)));
            latencies.sort_unstable();
            partial.types.insert(name.clone(), (errors, pack_sorted(latencies)));
        }
        partial.by = self.types.by.clone();
        for (key, facts, mut values) in set.tags.keys_with_values() {
            // A tag may be named to say weights that no span has.
            if facts.occurrences == 0 {
                continue;
            }
            if facts.high_cardinality {
                values.clear();
            }
            let values = values.into_iter().map(str::to_owned).collect();
            partial.tag_keys.insert(key.to_owned(), (facts.high_cardinality, values));
        }
    }
}
