//! The numbers of a tag, summed by endpoint or by the values of another tag (`docs/definitions/critical-path.md` section 10).

use crate::flame::{Observer, PathTable};
use crate::requests::{PercentileRange, RangeFacts};
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, EndpointId, Role, TagSetId, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What spans are summed by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SumPlace {
    /// Their endpoint.
    Endpoint(Endpoint),
    /// The value of a tag.
    Value(String),
    /// They have no such tag.
    NoValue,
}

impl SumPlace {
    /// Returns service and operation of an endpoint; of a value an empty one and the value.
    pub fn names(&self) -> (&str, &str) {
        match self {
            SumPlace::Endpoint(endpoint) => endpoint.names(),
            SumPlace::Value(value) => ("", value),
            SumPlace::NoValue => ("", ""),
        }
    }
}

/// Numbers by place, before they are summed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Numbers {
    requests: u64,
    /// Spans by the bits of their number: sums of floats depend on the order, so they wait until all are known.
    spans: BTreeMap<u64, u64>,
}

/// The accumulator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TagSumsPart {
    places: BTreeMap<SumPlace, Numbers>,
    is_unknown: bool,
    is_rounded: bool,
}

/// The numbers of a tag at one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TagSum {
    /// The place.
    pub place: SumPlace,
    /// Spans that have a number.
    pub spans: u64,
    /// Requests that have such a span.
    pub requests: u64,
    /// Sum of the numbers.
    pub sum: f64,
    /// Greatest of them.
    pub max: f64,
}

impl TagSum {
    /// Returns the mean of its spans.
    pub fn per_span(&self) -> f64 {
        self.sum / self.spans.max(1) as f64
    }

    /// Returns the mean of the requests that have it.
    pub fn when_present(&self) -> f64 {
        self.sum / self.requests.max(1) as f64
    }
}

impl TagSumsReport {
    /// Returns the mean of all requests.
    pub fn per_request(&self, row: &TagSum) -> f64 {
        row.sum / self.facts.requests.max(1) as f64
    }
}

/// The numbers of a tag in the requests of a percentile range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TagSumsReport {
    /// The percentile range.
    pub range: Option<PercentileRange>,
    /// Requests and latencies of the percentile range.
    pub facts: RangeFacts,
    /// The tag whose numbers are summed.
    pub key: String,
    /// The tag whose values they are summed by; `None`: by endpoint.
    pub by: Option<String>,
    /// The tag has too many values to store: nothing is known.
    pub is_unknown: bool,
    /// It has, and its numbers are rounded to three digits.
    pub is_rounded: bool,
    /// By sum, greatest first (ties by place).
    pub rows: Vec<TagSum>,
}

impl TagSumsPart {
    /// Joins parts of disjoint requests and finishes.
    pub fn finish(
        parts: Vec<TagSumsPart>,
        (key, by): (String, Option<String>),
        range: PercentileRange,
        facts: RangeFacts,
    ) -> TagSumsReport {
        let mut report = TagSumsReport { range: Some(range), facts, key, by, ..TagSumsReport::default() };
        let mut all: BTreeMap<SumPlace, Numbers> = BTreeMap::new();
        for part in parts {
            report.is_unknown |= part.is_unknown;
            report.is_rounded |= part.is_rounded;
            for (place, numbers) in part.places {
                let into = all.entry(place).or_default();
                into.requests += numbers.requests;
                numbers
                    .spans
                    .into_iter()
                    .for_each(|(bits, spans)| *into.spans.entry(bits).or_default() += spans);
            }
        }
        report.rows = all.into_iter().map(|(place, numbers)| numbers.sum(place)).collect();
        // Stable: equal sums stay by place.
        report.rows.compact_sort_by(|a, b| match b.sum.total_cmp(&a.sum) {
            Ordering::Equal => a.place.cmp(&b.place),
            order => order,
        });
        report
    }
}

impl Numbers {
    fn sum(self, place: SumPlace) -> TagSum {
        let mut numbers: Vec<(f64, u64)> =
            self.spans.into_iter().map(|(bits, spans)| (f64::from_bits(bits), spans)).collect();
        numbers.compact_sort_by(|a, b| a.0.total_cmp(&b.0));
        TagSum {
            place,
            spans: numbers.iter().map(|(_, spans)| spans).sum(),
            requests: self.requests,
            // What is not finite is no JSON.
            sum: numbers
                .iter()
                .map(|&(number, spans)| number * spans as f64)
                .sum::<f64>()
                .clamp(f64::MIN, f64::MAX),
            max: numbers.last().map_or(0.0, |(number, _)| *number),
        }
    }
}

/// Sums in the requests of one worker.
pub struct TagSumsObserver {
    /// By tag set: its number; empty where nobody knows.
    number_of: Vec<Option<f64>>,
    /// By tag set: the value of the tag that is summed by; `None`: it is summed by endpoint.
    value_of: Option<Vec<Option<u32>>>,
    /// By number of the endpoint or of the value; the last is of no value.
    places: Vec<(Numbers, Option<u32>)>,
    values: Vec<String>,
    is_rounded: bool,
}

impl TagSumsObserver {
    /// Returns an observer of requests of this set.
    pub fn new(set: &TraceSet, key: &str, by: Option<&str>) -> TagSumsObserver {
        let mut values: Vec<String> = Vec::new();
        let value_of = by.map(|by| {
            let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
            let of = |tags| {
                set.tags.value(TagSetId(tags), by).map(|value| {
                    *numbers.entry(value).or_insert_with(|| {
                        values.push(value.to_owned());
                        values.len() as u32 - 1
                    })
                })
            };
            (0..set.tags.sets() as u32).map(of).collect()
        });
        let places = if by.is_some() { values.len() + 1 } else { set.endpoints().len() };
        TagSumsObserver {
            number_of: set.tags.numbers(key).unwrap_or_default(),
            value_of,
            places: vec![Default::default(); places],
            values,
            is_rounded: set.tags.is_rounded(key),
        }
    }

    /// Returns the place of a span: its endpoint; else the value that it has, or its process, or the root of its request.
    fn place(&self, set: &TraceSet, row: u32, root: u32) -> usize {
        let Some(value_of) = &self.value_of else { return set.endpoint(row).0 as usize };
        let own_first = [row, root].into_iter().flat_map(|row| [set.tag_set(row), set.process_of(row).tags]);
        let value = own_first.filter_map(|tags| value_of[tags.0 as usize]).next();
        value.map_or(self.values.len(), |value| value as usize)
    }
}

impl Observer for TagSumsObserver {
    type Part = TagSumsPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        if self.number_of.is_empty() {
            return;
        }
        let root_row = table.requests[request as usize].row;
        let root = root_row - tree.first;
        for i in root..tree.subtree_end[root as usize] {
            let row = tree.row(i);
            let number = self.number_of[set.tag_set(row).0 as usize];
            let Some(number) = number.filter(|_| tree.role[i as usize] != Role::Dropped) else { continue };
            let place = self.place(set, row, root_row);
            let (numbers, last) = &mut self.places[place];
            *numbers.spans.entry(number.to_bits()).or_default() += 1;
            numbers.requests += u64::from(last.replace(request) != Some(request));
        }
    }

    fn finish(self, set: &TraceSet) -> TagSumsPart {
        let mut values = self.values.into_iter();
        let mut place = |at: usize| match &self.value_of {
            None => {
                let (service, operation) = set.endpoint_name(EndpointId(at as u32));
                SumPlace::Endpoint(Endpoint::new(service, operation))
            }
            Some(_) => values.next().map_or(SumPlace::NoValue, SumPlace::Value),
        };
        let places = self.places.into_iter().enumerate().map(|(at, (numbers, _))| (place(at), numbers));
        TagSumsPart {
            is_unknown: self.number_of.is_empty(),
            is_rounded: self.is_rounded,
            places: places.filter(|(_, numbers)| numbers.requests > 0).collect(),
        }
    }
}
