//! Latency, or the exclusive time of one endpoint, split by the values of a tag (`docs/definitions/critical-path.md` section 5; paper 7.4).

use crate::endpoints::{SumPlace, TagSum, TagSumsReport};
use crate::flame::TimeColumn;
use crate::flame::done::DonePath;
use crate::flame::{Observer, PathFinder, PathTable};
use crate::requests::{PercentileRange, RangeFacts, Weighing};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Interval, LogAxis, Percentiles, Weight, ratio, ratio_interval};
use pathlight_trace::{Endpoint, EndpointId, Overlap, TagSetId, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Values that have a part of their own; those with fewer samples are left out and counted.
const MOST_VALUES: usize = 20;

/// A quantity that is split.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SplitOf {
    /// The latency of requests, by the tag of their root span.
    #[default]
    Latency,
    /// The exclusive time on the path of each single call of one endpoint, by the tag of its span (paper Fig. 21). So a
    /// value is not slower because its requests make more calls.
    Calls(Endpoint),
    /// The same, summed in each request: where its spans have several values, one sample for each.
    Sums(Endpoint),
}

impl SplitOf {
    /// Returns the endpoint whose time is split.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            SplitOf::Latency => None,
            SplitOf::Calls(endpoint) | SplitOf::Sums(endpoint) => Some(endpoint),
        }
    }

    /// Returns what one sample is, as a key of files.
    pub fn sample(&self) -> &'static str {
        if matches!(self, SplitOf::Calls(_)) { "call" } else { "request" }
    }

    /// Returns what one sample is, in words.
    pub fn sample_words(&self) -> &'static str {
        match self {
            SplitOf::Latency => "latency of one request, by the tag of its root span",
            SplitOf::Calls(_) => "self time of one call on the critical path, by the tag of its span",
            SplitOf::Sums(_) => {
                "self time on the critical path, all calls of one request together, by the tags of their spans"
            }
        }
    }
}

/// The accumulator: samples by value.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SplitPart {
    /// Packed.
    values: BTreeMap<String, TimeColumn>,
    missing: u64,
    high_cardinality: bool,
}

/// A percentile of one value against that of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The ratio; `None` where the first has nothing to divide by.
    pub ratio: Option<f64>,
    /// Its seeded 95 % bootstrap interval; `None` with fewer than two samples on a side.
    pub interval: Option<Interval>,
}

/// One value of the tag.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SplitValue {
    /// The value.
    pub value: String,
    /// Whether a sample is a call, not a request.
    pub is_of_calls: bool,
    /// Samples.
    pub n: u64,
    /// Mean and percentiles of the samples.
    pub us: Percentiles,
    /// Ratios of p50, p95 and p99 to those of the first value; for the first itself all 1.
    pub ratios: [Ratio; 3],
    /// Density at [`SplitReport::points_us`], the greatest being 1.
    pub density: Vec<f64>,
    /// The numbers of the tag that is summed.
    pub sum: Option<TagSum>,
}

/// Times split by the values of a tag.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SplitReport {
    /// The percentile range of the report.
    pub range: Option<PercentileRange>,
    /// Requests and latencies of the range.
    pub facts: RangeFacts,
    /// The quantity that is split.
    pub of: SplitOf,
    /// The tag or process tag.
    pub key: String,
    /// Samples without the tag.
    pub missing: u64,
    /// The key has too many values to store; all samples count as missing.
    pub high_cardinality: bool,
    /// Values left out, and their samples.
    pub others: (u64, u64),
    /// Points of the densities, microseconds on a logarithmic axis.
    pub points_us: Vec<f64>,
    /// By number of samples, most first (ties by value): the first is what the others are compared with.
    pub values: Vec<SplitValue>,
    /// The sums of the numbers of another tag, which stand at the values too.
    pub sums: Option<TagSumsReport>,
}

impl SplitReport {
    /// Takes the sums of the numbers of another tag.
    pub(crate) fn take_sums(&mut self, sums: TagSumsReport) {
        let mut by_value: BTreeMap<String, TagSum> = BTreeMap::new();
        for sum in &sums.rows {
            if let SumPlace::Value(value) = &sum.place {
                by_value.insert(value.clone(), sum.clone());
            }
        }
        self.values.iter_mut().for_each(|value| value.sum = by_value.remove(&value.value));
        self.sums = Some(sums);
    }
}

impl SplitPart {
    /// Joins parts of disjoint requests and finishes.
    pub fn finish(
        parts: Vec<SplitPart>,
        (of, key): (SplitOf, String),
        range: PercentileRange,
        facts: RangeFacts,
    ) -> SplitReport {
        let is_of_calls = matches!(of, SplitOf::Calls(_));
        let facts = facts.by_weight();
        let mut report = SplitReport { range: Some(range), facts, of, key, ..SplitReport::default() };
        let mut all: BTreeMap<String, Vec<TimeColumn>> = BTreeMap::new();
        for part in parts {
            report.missing += part.missing;
            report.high_cardinality |= part.high_cardinality;
            for (value, samples) in part.values {
                all.entry(value).or_default().push(samples);
            }
        }
        let joined = |(value, parts): (String, Vec<TimeColumn>)| (value, TimeColumn::joined(parts.iter()));
        let mut values: Vec<(String, Vec<(u64, Weight)>)> = all.into_iter().map(joined).collect();
        // Stable: equally common values stay by name.
        values.compact_sort_by_key(|(_, samples)| std::cmp::Reverse(samples.len()));
        let left_out = values.split_off(values.len().min(MOST_VALUES));
        let samples = left_out.iter().map(|(_, samples)| samples.len() as u64).sum();
        report.others = (left_out.len() as u64, samples);
        let all = || values.iter().flat_map(|(_, samples)| samples.iter().map(|sample| sample.0));
        let (min, max) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        let axis = LogAxis::new(min, max);
        if let Some((_, first)) = values.first() {
            report.points_us = axis.points();
            for (number, (value, samples)) in values.iter().enumerate() {
                let against = |(place, p): (u64, f64)| match number {
                    0 => Ratio { ratio: Some(1.0), interval: Some(Interval { low: 1.0, high: 1.0 }) },
                    _ => Ratio {
                        ratio: ratio(first, samples, p),
                        interval: ratio_interval(first, samples, p, number as u64 * 3 + place),
                    },
                };
                report.values.push(SplitValue {
                    value: value.clone(),
                    is_of_calls,
                    n: samples.len() as u64,
                    us: Percentiles::of_weighted(samples),
                    ratios: [(0, 0.50), (1, 0.95), (2, 0.99)].map(against),
                    density: axis.weighted_density(samples.iter().copied()),
                    sum: None,
                });
            }
        }
        report
    }
}

/// Finds what is split in one request after the other: times with the spans whose tags they go by.
pub(crate) struct Sampler {
    /// `None`: latency.
    endpoint: Option<EndpointId>,
    is_latency: bool,
    overlap: Overlap,
    finder: PathFinder,
    /// Of paths until everything is done, what finds them.
    done: Option<DonePath>,
}

impl Sampler {
    pub fn new(set: &TraceSet, of: &SplitOf, (overlap, done): (Overlap, Option<DonePath>)) -> Sampler {
        let named = of.endpoint();
        let endpoint =
            named.and_then(|Endpoint { service, operation }| set.find_endpoint(service, operation));
        let is_latency = *of == SplitOf::Latency;
        Sampler { endpoint, is_latency, overlap, finder: PathFinder::default(), done }
    }

    /// Appends (row, microseconds) of the spans of a request that what is split lies in.
    pub fn sample(
        &mut self,
        set: &TraceSet,
        table: &PathTable,
        tree: &Tree,
        request: u32,
        out: &mut Vec<(u32, u64)>,
    ) {
        let facts = &table.requests[request as usize];
        if self.is_latency {
            out.push((facts.row, facts.latency_us));
            return;
        }
        let is_it = |c: u32| Some(table.contexts()[c as usize].1) == self.endpoint;
        let entries = table.entries(request).iter().filter(|entry| is_it(entry.context));
        if entries.clone().all(|entry| entry.spans == 1) {
            out.extend(entries.map(|entry| (entry.row, entry.exclusive_us)));
        } else {
            // Several spans of one context: their times stand in the path only.
            let root = facts.row - tree.first;
            let mut add = |tree: &Tree, path: &PathFinder| {
                let rows = path.entries().iter().map(|entry| (tree.row(entry.span), entry.exclusive_us));
                out.extend(rows.filter(|&(row, _)| Some(set.endpoint(row)) == self.endpoint));
            };
            if let Some(done) = &mut self.done {
                done.find(set, tree, root);
                done.parts(tree).for_each(|part| add(part.tree, part.finder));
            } else {
                self.finder.find(set, tree, root, self.overlap);
                add(tree, &self.finder);
            }
        }
    }
}

/// Samples the requests of one worker.
pub struct SplitObserver {
    sampler: Sampler,
    /// Every call is a sample.
    is_of_calls: bool,
    sampled: Vec<(u32, u64)>,
    key: String,
    /// By tag set, once it was looked at: the number of its value of the key.
    value_of: Vec<Option<Option<u32>>>,
    numbers: BTreeMap<String, u32>,
    samples: Vec<TimeColumn>,
    weighing: Weighing,
    missing: u64,
    high_cardinality: bool,
    /// Time by value in the current request; `None` is no value.
    current: BTreeMap<Option<u32>, u64>,
}

impl SplitObserver {
    /// Returns an observer of requests of this set.
    pub(crate) fn new(
        set: &TraceSet,
        of: &SplitOf,
        key: &str,
        paths: (Overlap, Option<DonePath>),
        weighing: Weighing,
    ) -> SplitObserver {
        SplitObserver {
            sampler: Sampler::new(set, of, paths),
            is_of_calls: matches!(of, SplitOf::Calls(_)),
            sampled: Vec::new(),
            key: key.to_owned(),
            value_of: vec![None; set.tags.sets()],
            numbers: BTreeMap::new(),
            samples: Vec::new(),
            weighing,
            missing: 0,
            high_cardinality: set.tags.has_too_many_values(key),
            current: BTreeMap::new(),
        }
    }

    /// Returns the value of the key on a span, else on its process.
    fn value(&mut self, set: &TraceSet, row: u32) -> Option<u32> {
        let own = self.value_of_set(set, set.tag_set(row));
        own.or_else(|| self.value_of_set(set, set.process_of(row).tags))
    }

    fn value_of_set(&mut self, set: &TraceSet, tags: TagSetId) -> Option<u32> {
        if let Some(known) = self.value_of[tags.0 as usize] {
            return known;
        }
        let found = set.tags.value(tags, &self.key).map(|value| {
            let next = self.numbers.len() as u32;
            *self.numbers.entry(value.to_owned()).or_insert(next)
        });
        self.value_of[tags.0 as usize] = Some(found);
        self.samples.resize(self.numbers.len(), TimeColumn::default());
        found
    }

    fn count(&mut self, value: Option<u32>, us: u64, weight: Weight) {
        match value {
            Some(value) => self.samples[value as usize].push(us, weight),
            None => self.missing += 1,
        }
    }
}

impl Observer for SplitObserver {
    type Part = SplitPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let weight = self.weighing.weight(set, &table.requests[request as usize]);
        self.sampler.sample(set, table, tree, request, &mut self.sampled);
        while let Some((row, us)) = self.sampled.pop() {
            let value = self.value(set, row);
            if self.is_of_calls {
                self.count(value, us, weight);
            } else {
                let sum = self.current.entry(value).or_default();
                *sum = sum.saturating_add(us);
            }
        }
        while let Some((value, us)) = self.current.pop_first() {
            self.count(value, us, weight);
        }
    }

    fn finish(self, _: &TraceSet) -> SplitPart {
        let SplitObserver { numbers, mut samples, .. } = self;
        let values =
            numbers.into_iter().map(|(name, number)| (name, std::mem::take(&mut samples[number as usize])));
        let values = values.filter(|(_, samples)| samples.requests() > 0);
        let values = values.map(|(name, samples)| (name, samples.packed()));
        SplitPart { values: values.collect(), missing: self.missing, high_cardinality: self.high_cardinality }
    }
}
