//! Proposals of tags to split a time by: those whose values differ most (`docs/definitions/critical-path.md` section 5; paper 7.4).
//!
//! Keys are compared by ranks, so a few slow requests cannot make one look good, and by counts in fine bins, so that
//! millions of samples of hundreds of keys need little memory and merge exactly.

use super::SplitOf;
use super::observe::Sampler;
use crate::flame::done::DonePath;
use crate::flame::{Observer, PathTable};
use crate::requests::{PercentileRange, RangeFacts};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Effect, LogCounts, rank_effect};
use pathlight_trace::{Overlap, TagSetId, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A key with more values among the samples is left out: each has too few samples, and no picture shows them.
const MOST_VALUES: usize = 64;
/// A value with fewer samples says nothing and is left out.
const MIN_SAMPLES: u64 = 20;
/// An effect below this share is not worth a look, however certain.
const LEAST_SHARE: f64 = 0.01;

/// Samples of one key by its values; `None` if there are more than [`MOST_VALUES`].
type Values = Option<BTreeMap<String, LogCounts>>;

/// The accumulator: samples by key and value.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProposalsPart {
    samples: u64,
    keys: BTreeMap<String, Values>,
}

/// A value of a proposed key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProposedValue {
    /// The value.
    pub value: String,
    /// Samples.
    pub n: u64,
    /// Their median in microseconds, within 1 %.
    pub p50_us: f64,
}

/// A tag whose values differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TagProposal {
    /// The tag or process tag.
    pub key: String,
    /// Effect of its value: the part of the differences between samples that goes with it.
    pub effect: Effect,
    /// Values with enough samples, slowest median first (ties by value).
    pub values: Vec<ProposedValue>,
}

/// Reason why a key is not proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NotProposed {
    /// More than 64 values.
    TooManyValues,
    /// Fewer than two values with at least 20 samples each.
    TooFewSamples,
    /// Its values do not differ, or by too little to rule out chance.
    NoDifference,
}

/// Tags worth splitting by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProposalsReport {
    /// The percentile range of the report.
    pub range: Option<PercentileRange>,
    /// Requests and latencies of the range.
    pub facts: RangeFacts,
    /// The quantity that would be split.
    pub of: SplitOf,
    /// Requests, or with an endpoint those that have it on their path.
    pub samples: u64,
    /// By the lower end of the effect's interval, greatest first (ties: effect, then key).
    pub proposals: Vec<TagProposal>,
    /// The other keys that samples have, by name, and those that have too many values to store.
    pub left_out: Vec<(String, NotProposed)>,
}

impl ProposalsPart {
    /// Joins parts of disjoint requests and finishes.
    pub fn finish(
        parts: Vec<ProposalsPart>,
        of: SplitOf,
        range: PercentileRange,
        facts: RangeFacts,
    ) -> ProposalsReport {
        let mut report = ProposalsReport { range: Some(range), facts, of, ..ProposalsReport::default() };
        let mut keys: BTreeMap<String, Values> = BTreeMap::new();
        for part in parts {
            report.samples += part.samples;
            for (key, values) in part.keys {
                let into = keys.entry(key).or_insert_with(|| Some(BTreeMap::new()));
                match (into.as_mut(), values) {
                    (Some(all), Some(values)) => {
                        for (value, counts) in values {
                            all.entry(value).or_default().merge(&counts);
                        }
                    }
                    _ => *into = None,
                }
            }
        }
        for (key, values) in keys {
            match propose(&key, values) {
                Ok(proposal) => report.proposals.push(proposal),
                Err(why) => report.left_out.push((key, why)),
            }
        }
        // Stable: equal ones stay by key.
        let rank = |p: &TagProposal| (p.effect.interval.low, p.effect.share);
        report.proposals.compact_sort_by(|a, b| {
            let (a, b) = (rank(a), rank(b));
            b.0.total_cmp(&a.0).then_with(|| b.1.total_cmp(&a.1))
        });
        report
    }
}

fn propose(key: &str, values: Values) -> Result<TagProposal, NotProposed> {
    let values = values.filter(|values| values.len() <= MOST_VALUES).ok_or(NotProposed::TooManyValues)?;
    let enough: Vec<(String, LogCounts)> =
        values.into_iter().filter(|(_, counts)| counts.total() >= MIN_SAMPLES).collect();
    if enough.len() < 2 {
        return Err(NotProposed::TooFewSamples);
    }
    let effect = rank_effect(&enough.iter().map(|(_, counts)| counts).collect::<Vec<_>>())
        .filter(|effect| effect.is_certain && effect.share >= LEAST_SHARE)
        .ok_or(NotProposed::NoDifference)?;
    let mut values: Vec<ProposedValue> = (enough.into_iter())
        .map(|(value, counts)| ProposedValue { value, n: counts.total(), p50_us: counts.median_us() })
        .collect();
    values.compact_sort_by(|a, b| b.p50_us.total_cmp(&a.p50_us));
    Ok(TagProposal { key: key.to_owned(), effect, values })
}

/// Data of one worker about a key.
#[derive(Clone, Copy, Default)]
struct KeySlot {
    /// The number of the span looked at last that has it, the tag set it was found in, and its pair there.
    span: u64,
    tags: TagSetId,
    pair: u32,
    /// Values among the samples, counted up to one more than [`MOST_VALUES`].
    values: usize,
}

/// Samples the requests of one worker, by every tag at once.
pub struct ProposalsObserver {
    sampler: Sampler,
    /// Every call is a sample.
    is_of_calls: bool,
    sampled: Vec<(u32, u64)>,
    samples: u64,
    /// Number of the span looked at, from 1 on.
    span: u64,
    /// One per key, by its number.
    keys: Vec<KeySlot>,
    /// Keys of the span looked at.
    found: Vec<u32>,
    /// (pair, time) of the spans of the current request.
    current: Vec<(u32, u64)>,
    /// One per pair of key and value, by its number.
    counts: Vec<LogCounts>,
}

impl ProposalsObserver {
    /// Returns an observer of requests of this set.
    pub(crate) fn new(set: &TraceSet, of: &SplitOf, paths: (Overlap, Option<DonePath>)) -> ProposalsObserver {
        ProposalsObserver {
            sampler: Sampler::new(set, of, paths),
            is_of_calls: matches!(of, SplitOf::Calls(_)),
            sampled: Vec::new(),
            samples: 0,
            span: 0,
            keys: vec![KeySlot::default(); set.tags.key_count()],
            found: Vec::new(),
            current: Vec::new(),
            counts: vec![LogCounts::default(); set.tags.pairs()],
        }
    }

    /// Lists the pairs that a span, else its process, has; of several values of a key the smallest.
    fn list_pairs(&mut self, set: &TraceSet, row: u32, us: u64) {
        self.span += 1;
        self.found.clear();
        for tags in [set.tag_set(row), set.process_of(row).tags] {
            for &pair in set.tags.pairs_of(tags) {
                let (key, value) = set.tags.pair(pair);
                let slot = &mut self.keys[key as usize];
                if slot.span != self.span {
                    (slot.span, slot.tags, slot.pair) = (self.span, tags, pair);
                    self.found.push(key);
                } else if slot.tags == tags && value < set.tags.pair(slot.pair).1 {
                    slot.pair = pair;
                }
            }
        }
        self.current.extend(self.found.iter().map(|&key| (self.keys[key as usize].pair, us)));
    }

    fn count(&mut self, set: &TraceSet, pair: u32, us: u64) {
        let key = &mut self.keys[set.tags.pair(pair).0 as usize];
        let counts = &mut self.counts[pair as usize];
        key.values += usize::from(counts.is_empty() && key.values <= MOST_VALUES);
        if key.values <= MOST_VALUES {
            counts.add(us);
        }
    }
}

impl Observer for ProposalsObserver {
    type Part = ProposalsPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        self.sampler.sample(set, table, tree, request, &mut self.sampled);
        let mut sampled = std::mem::take(&mut self.sampled);
        let several = sampled.len() > 1 && !self.is_of_calls;
        self.samples += if self.is_of_calls { sampled.len() } else { sampled.len().min(1) } as u64;
        for (row, us) in sampled.drain(..) {
            self.list_pairs(set, row, us);
        }
        self.sampled = sampled;
        let mut current = std::mem::take(&mut self.current);
        if several {
            // One sample for each value, as a split has it.
            current.compact_sort_by_key(|&(pair, _)| pair);
            current.dedup_by(|from, into| {
                let is_same = from.0 == into.0;
                into.1 += if is_same { from.1 } else { 0 };
                is_same
            });
        }
        for (pair, us) in current.drain(..) {
            self.count(set, pair, us);
        }
        self.current = current;
    }

    fn finish(self, set: &TraceSet) -> ProposalsPart {
        let mut part = ProposalsPart { samples: self.samples, ..ProposalsPart::default() };
        for (number, slot) in self.keys.iter().enumerate() {
            // Values of such a key are not stored, so no worker can say which samples have it.
            let is_unknown = set.tags.is_high_cardinality(number as u32);
            if slot.values > 0 || is_unknown {
                let values = (!is_unknown && slot.values <= MOST_VALUES).then(BTreeMap::new);
                part.keys.insert(set.tags.key_name(number as u32).to_owned(), values);
            }
        }
        for (pair, counts) in self.counts.into_iter().enumerate().filter(|(_, counts)| !counts.is_empty()) {
            let (key, value) = set.tags.pair(pair as u32);
            if let Some(Some(values)) = part.keys.get_mut(set.tags.key_name(key)) {
                values.insert(value.to_owned(), counts);
            }
        }
        part
    }
}
