//! The values of a tag with the requests that have them: what a filter may ask for.

use crate::flame::{Observer, PathTable};
use crate::requests::RangeFacts;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Role, TagSetId, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Values listed; of more, the most common ones.
const MOST_VALUES: usize = 200;

/// The accumulator: requests by value.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TagValuesPart {
    values: BTreeMap<String, u64>,
    high_cardinality: bool,
}

/// A value and how many requests would pass a [`Filter::Tag`](crate::requests::Filter::Tag) of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagValueCount {
    /// The value.
    pub value: String,
    /// Requests with it on some span or its process.
    pub requests: u64,
}

/// The values of a tag in the requests of a percentile range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TagValuesReport {
    /// Requests and latencies of the percentile range.
    pub facts: RangeFacts,
    /// The tag or process tag.
    pub key: String,
    /// Most common first (ties by value), at most 200.
    pub values: Vec<TagValueCount>,
    /// Values left out.
    pub others: u64,
    /// The key has too many values to store: none of them can be filtered by.
    pub high_cardinality: bool,
}

impl TagValuesPart {
    /// Joins parts of disjoint requests and finishes.
    pub fn finish(parts: Vec<TagValuesPart>, key: String, facts: RangeFacts) -> TagValuesReport {
        let mut report = TagValuesReport { facts, key, ..TagValuesReport::default() };
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        for part in parts {
            report.high_cardinality |= part.high_cardinality;
            for (value, requests) in part.values {
                *all.entry(value).or_default() += requests;
            }
        }
        report.values = all.into_iter().map(|(value, requests)| TagValueCount { value, requests }).collect();
        // Stable: equally common values stay by name.
        report.values.compact_sort_by_key(|row| std::cmp::Reverse(row.requests));
        report.others = report.values.len().saturating_sub(MOST_VALUES) as u64;
        report.values.truncate(MOST_VALUES);
        report
    }
}

/// Counts the requests of one worker.
pub struct TagValuesObserver {
    /// By tag set: the numbers of its values of the key.
    values_of: Vec<Vec<u32>>,
    names: Vec<String>,
    /// By value: requests, and the last request counted.
    counts: Vec<(u64, Option<u32>)>,
    high_cardinality: bool,
}

impl TagValuesObserver {
    /// Returns an observer of requests of this set.
    pub fn new(set: &TraceSet, key: &str) -> TagValuesObserver {
        let high_cardinality = set.tags.has_too_many_values(key);
        let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
        let mut names = Vec::new();
        let values_of = (0..set.tags.sets() as u32).map(|tags| {
            let values = set.tags.get(TagSetId(tags)).filter(|(k, _)| *k == key && !high_cardinality);
            let number = |(_, value)| {
                *numbers.entry(value).or_insert_with(|| {
                    names.push(String::from(value));
                    names.len() as u32 - 1
                })
            };
            values.map(number).collect()
        });
        let values_of = values_of.collect();
        TagValuesObserver { values_of, counts: vec![(0, None); names.len()], names, high_cardinality }
    }
}

impl Observer for TagValuesObserver {
    type Part = TagValuesPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let root = table.requests[request as usize].row - tree.first;
        for i in root..tree.subtree_end[root as usize] {
            if tree.role[i as usize] == Role::Dropped {
                continue;
            }
            let row = tree.row(i);
            for tags in [set.tag_set(row), set.process_of(row).tags] {
                for &value in &self.values_of[tags.0 as usize] {
                    let (requests, last) = &mut self.counts[value as usize];
                    if last.replace(request) != Some(request) {
                        *requests += 1;
                    }
                }
            }
        }
    }

    fn finish(self, _: &TraceSet) -> TagValuesPart {
        let counts = self.names.into_iter().zip(self.counts);
        let values = counts.filter(|(_, count)| count.0 > 0).map(|(value, count)| (value, count.0));
        TagValuesPart { values: values.collect(), high_cardinality: self.high_cardinality }
    }
}
