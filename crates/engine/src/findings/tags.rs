//! The third pass: how tags go with latency, for the request types that matter.

use crate::flame::{Observer, PathTable};
use crate::requests::{RequestType, RequestTypes, Weighing};
use pathlight_base::statistics::Sample;
use pathlight_trace::{Endpoint, EndpointId, NO_ROW, Role, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A key with more values in a type tells single requests apart, not groups of them.
const MOST_VALUES: usize = 64;

/// A request type whose tags are counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagGroup {
    /// The type.
    pub root: RequestType,
    /// Slow requests take at least this long; `None` if only tags of all requests are wanted.
    pub slow_from_us: Option<u64>,
    /// Slow requests have this endpoint on their critical path.
    pub with: Option<Endpoint>,
}

/// Requests with one tag and value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ValueSums {
    pub requests: u64,
    pub slow: u64,
    pub latency: Sample,
}

impl ValueSums {
    pub(super) fn merge(&mut self, other: &ValueSums) {
        self.requests += other.requests;
        self.slow += other.slow;
        self.latency.merge(&other.latency);
    }
}

/// Requests of one type by the values of a key; `None` if there are too many values.
pub(super) type Values = Option<BTreeMap<String, ValueSums>>;

/// One group of the third pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GroupSums {
    pub requests: u64,
    pub slow: u64,
    pub keys: BTreeMap<String, Values>,
}

/// The accumulator: by number of the group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagsPart {
    pub(super) groups: BTreeMap<u32, GroupSums>,
}

impl TagsPart {
    /// Joins parts of disjoint requests.
    pub fn merge(parts: Vec<TagsPart>) -> TagsPart {
        let mut all = TagsPart::default();
        for part in parts {
            for (number, group) in part.groups {
                let into = all.groups.entry(number).or_default();
                into.requests += group.requests;
                into.slow += group.slow;
                for (key, values) in group.keys {
                    let known = into.keys.entry(key).or_insert_with(|| Some(BTreeMap::new()));
                    match (known.as_mut(), values) {
                        (Some(all), Some(values)) => {
                            for (value, sums) in values {
                                all.entry(value).or_default().merge(&sums);
                            }
                            if all.len() > MOST_VALUES {
                                *known = None;
                            }
                        }
                        _ => *known = None,
                    }
                }
            }
        }
        all
    }

    /// Returns these counts with the requests of a part of them, as a percentile range cuts it out, as the slow ones.
    #[must_use]
    pub fn with_slow(mut self, part: &TagsPart) -> TagsPart {
        for (number, group) in &mut self.groups {
            let slow = part.groups.get(number);
            group.slow = slow.map_or(0, |slow| slow.requests);
            for (key, values) in &mut group.keys {
                let slow = slow.and_then(|slow| slow.keys.get(key)?.as_ref());
                for (value, sums) in values.iter_mut().flatten() {
                    sums.slow = slow.and_then(|slow| slow.get(value)).map_or(0, |slow| slow.requests);
                }
            }
        }
        self
    }
}

/// Tells of which group a request is, and whether it is a slow one.
pub(super) struct Grouping {
    groups: Vec<(TagGroup, Option<EndpointId>)>,
    types: Arc<RequestTypes>,
    /// By number of the type: its group, [`NO_ROW`] if none.
    group_of: Vec<u32>,
}

impl Grouping {
    pub fn new(set: &TraceSet, types: Arc<RequestTypes>, groups: &[TagGroup]) -> Grouping {
        let place = |name: &RequestType| groups.iter().position(|group| group.root == *name);
        let group_of = types.names().iter().map(|name| place(name).map_or(NO_ROW, |place| place as u32));
        let group_of = group_of.collect();
        let find = |endpoint: &Endpoint| set.find_endpoint(&endpoint.service, &endpoint.operation);
        let groups = groups.iter().map(|group| (group.clone(), group.with.as_ref().and_then(find)));
        Grouping { groups: groups.collect(), types, group_of }
    }

    /// Returns the number of the request's group, and whether the request is slow; `None` if it is of no group.
    pub fn of(&self, table: &PathTable, request: u32) -> Option<(u32, bool)> {
        let number = self.group_of[self.types.of(request) as usize];
        let (group, with) = self.groups.get(number as usize)?;
        let has_it = || match (&group.with, with) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(_), Some(endpoint)) => {
                table.entries(request).iter().any(|e| table.contexts()[e.context as usize].1 == *endpoint)
            }
        };
        let latency_us = table.requests[request as usize].latency_us;
        Some((number, group.slow_from_us.is_some_and(|from| latency_us >= from) && has_it()))
    }
}

/// Counts the requests of one worker.
pub struct TagsObserver {
    weighing: Weighing,
    grouping: Grouping,
    sums: FxHashMap<(u32, u32), ValueSums>,
    /// By pair: the request that counted it last, from 1 on.
    counted: Vec<u64>,
    /// Number of the request looked at, from 1 on.
    number: u64,
    part: TagsPart,
}

impl TagsObserver {
    /// Returns an observer of requests of this set, which are of these types.
    pub fn new(
        set: &TraceSet,
        types: Arc<RequestTypes>,
        groups: &[TagGroup],
        weighing: Weighing,
    ) -> TagsObserver {
        TagsObserver {
            weighing,
            grouping: Grouping::new(set, types, groups),
            sums: FxHashMap::default(),
            counted: vec![0; set.tags.pairs()],
            number: 0,
            part: TagsPart::default(),
        }
    }
}

impl Observer for TagsObserver {
    type Part = TagsPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let facts = &table.requests[request as usize];
        let Some((number, is_slow)) = self.grouping.of(table, request) else { return };
        self.number += 1;
        let weight = self.weighing.weight(set, facts);
        let sums = self.part.groups.entry(number).or_default();
        sums.requests += 1;
        sums.slow += u64::from(is_slow);
        let root = facts.row - tree.first;
        for i in root..tree.subtree_end[root as usize] {
            if tree.role[i as usize] == Role::Dropped {
                continue;
            }
            let row = tree.row(i);
            for tags in [set.tag_set(row), set.process_of(row).tags] {
                for &pair in set.tags.pairs_of(tags) {
                    if std::mem::replace(&mut self.counted[pair as usize], self.number) != self.number {
                        let sums = self.sums.entry((number, pair)).or_default();
                        sums.requests += 1;
                        sums.slow += u64::from(is_slow);
                        sums.latency.add(facts.latency_us, weight);
                    }
                }
            }
        }
    }

    fn finish(self, set: &TraceSet) -> TagsPart {
        let mut part = self.part;
        for ((number, pair), sums) in self.sums {
            let (key, value) = set.tags.pair(pair);
            let Some(group) = part.groups.get_mut(&number) else { continue };
            let values =
                group.keys.entry(set.tags.key_name(key).to_owned()).or_insert_with(|| Some(BTreeMap::new()));
            let Some(known) = values else { continue };
            known.insert(value.to_owned(), sums);
            if known.len() > MOST_VALUES || set.tags.is_high_cardinality(key) {
                *values = None;
            }
        }
        part
    }
}
