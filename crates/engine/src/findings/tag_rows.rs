//! Tags by themselves: which tags, and which pairs of tags, tell slow requests from the others.

use super::tags::Grouping;
use super::{TagGroup, TagsPart};
use crate::flame::{Observer, PathTable};
use crate::requests::{RequestTypes, TypeCut};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{exp, false_discovery, fisher_p, normal_p};
use pathlight_trace::{Endpoint, EndpointId, Role, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows that are reported.
const MOST_ROWS: usize = 12;
/// Tags of which pairs are looked at.
const MOST_PAIRED: usize = 16;
/// A pair is reported if it explains this many times as much as each of its tags.
const BETTER: f64 = 1.1;
/// A row explains at least this part of the slow requests.
const LEAST: f64 = 0.02;
/// Up to so many expected requests the exact tail of a Poisson distribution tells chance, then the normal one.
const FEW: f64 = 20.0;

/// A tag with a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingTag {
    /// Tag key.
    pub key: String,
    /// Tag value.
    pub value: String,
}

/// A tag, or a pair of tags, that more of the slow requests have than chance would give them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TagRow {
    /// The tag, or both of a pair.
    pub tags: Vec<FindingTag>,
    /// Slow requests that have it.
    pub slow: u64,
    /// Other requests that have it.
    pub others: u64,
    /// At least this part of the slow requests has it beyond what their request types have anyway: the lower end of the
    /// 95 % interval.
    pub least: f64,
    /// Other tags with the same numbers.
    pub same: Vec<FindingTag>,
}

/// The tags that tell slow requests from the others, best first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TagsReport {
    /// Slow requests: the slowest tenth, rounded up and at least five, of each request type of ten or more; or those of the
    /// percentile range.
    pub slow: u64,
    /// The other requests of the same types.
    pub others: u64,
    /// Tags with a value that were looked at.
    pub tested: u64,
    /// Tags and pairs, at most twelve.
    pub rows: Vec<TagRow>,
}

/// What is counted of a tag in one group: requests of the group, slow ones, requests with the tag, slow ones with it.
type Stratum = [u64; 4];

/// How much more often slow requests have something than the others of their types.
#[derive(Clone, Copy)]
struct Evidence {
    slow: u64,
    others: u64,
    /// See [`TagRow::least`].
    least: f64,
    p: f64,
}

impl Evidence {
    /// Compares each group by itself, as Mantel and Haenszel do. `slow` is the number of all slow requests.
    fn of(strata: &[Stratum], slow: u64) -> Evidence {
        let (mut seen, mut with, mut expected, mut variance) = (0, 0, 0.0, 0.0);
        for &[n, slow, has, slow_has] in strata {
            seen += slow_has;
            with += has;
            let (n, slow, has) = (n as f64, slow as f64, has as f64);
            if n > 1.0 {
                expected += has * slow / n;
                variance += has * (n - has) * slow * (n - slow) / (n * n * (n - 1.0));
            }
        }
        let more = seen as f64 - expected;
        let p = match strata {
            _ if more <= 0.0 => 1.0,
            [[n, slow, has, slow_has]] => fisher_p(*slow_has, *slow, has - slow_has, n - slow),
            _ if expected < FEW => poisson_p(seen, expected),
            _ => normal_p((more - 0.5).max(0.0) / variance.sqrt().max(1e-9)) / 2.0,
        };
        let least = (more - 1.96 * variance.sqrt()) / slow.max(1) as f64;
        Evidence { slow: seen, others: with - seen, least, p }
    }
}

/// Returns how likely a Poisson variable is at least `n`.
fn poisson_p(n: u64, mean: f64) -> f64 {
    let mut term = exp(-mean);
    for k in 1..=n {
        term *= mean / k as f64;
    }
    let (mut sum, mut k) = (0.0, n);
    while term > sum * 1e-12 && term > 0.0 {
        sum += term;
        k += 1;
        term *= mean / k as f64;
    }
    sum.min(1.0)
}

/// Returns the groups in which slow requests are distinguished from the others: of all types with a tail, or whatever their latency
/// if a percentile range says which are slow.
pub fn tail_groups(cuts: &[TypeCut], is_of_range: bool) -> Vec<TagGroup> {
    let cuts = cuts.iter().filter(|cut| is_of_range || cut.tail_from_us.is_some());
    let group =
        |cut: &TypeCut| TagGroup { root: cut.name.clone(), slow_from_us: cut.tail_from_us, with: None };
    cuts.map(group)
        .map(|group| match is_of_range {
            true => TagGroup { slow_from_us: None, ..group },
            false => group,
        })
        .collect()
}

/// A tag that may be reported, with how many requests have its key.
struct Candidate {
    tag: FindingTag,
    coverage: u64,
    evidence: Evidence,
}

impl TagsPart {
    /// Returns the groups that have slow requests and others.
    fn strata(&self) -> impl Iterator<Item = (u32, &super::tags::GroupSums)> {
        let has_both = |group: &super::tags::GroupSums| group.slow > 0 && group.slow < group.requests;
        self.groups.iter().map(|(number, group)| (*number, group)).filter(move |(_, group)| has_both(group))
    }

    fn slow(&self) -> u64 {
        self.strata().map(|(_, group)| group.slow).sum()
    }

    /// Returns all tags with a value, the best first.
    fn candidates(&self) -> Vec<Candidate> {
        let mut strata: BTreeMap<(&str, &str), Vec<Stratum>> = BTreeMap::new();
        let mut coverage: BTreeMap<&str, u64> = BTreeMap::new();
        for (_, group) in self.strata() {
            for (key, values) in group.keys.iter().filter_map(|(key, values)| Some((key, values.as_ref()?))) {
                for (value, sums) in values {
                    *coverage.entry(key).or_default() += sums.requests;
                    let stratum = [group.requests, group.slow, sums.requests, sums.slow];
                    strata.entry((key, value)).or_default().push(stratum);
                }
            }
        }
        let slow = self.slow();
        let candidate = |((key, value), strata): ((&str, &str), Vec<Stratum>)| Candidate {
            tag: FindingTag { key: key.to_owned(), value: value.to_owned() },
            coverage: coverage.get(key).copied().unwrap_or(0),
            evidence: Evidence::of(&strata, slow),
        };
        let mut found: Vec<Candidate> = strata.into_iter().map(candidate).collect();
        // Stable: equal ones stay by key and value. Of tags with the same numbers that comes first whose key most have.
        found.compact_sort_by(|a, b| {
            let by_evidence = b.evidence.least.total_cmp(&a.evidence.least);
            by_evidence.then_with(|| b.coverage.cmp(&a.coverage))
        });
        found
    }

    /// Returns the tags of which pairs are looked at: the best, and of those with the same numbers one.
    pub fn paired(&self) -> Vec<FindingTag> {
        let mut seen: Vec<(u64, u64)> = Vec::new();
        let mut out = Vec::new();
        for Candidate { tag, evidence, .. } in self.candidates() {
            let numbers = (evidence.slow, evidence.others);
            let is_more = evidence.p < 0.2 && evidence.slow > 1;
            if is_more && out.len() < MOST_PAIRED && !seen.contains(&numbers) {
                seen.push(numbers);
                out.push(tag);
            }
        }
        out
    }

    /// Returns the tags that tell slow requests from the others; `pairs` has the requests by which of `paired` they have.
    pub fn rows(&self, paired: &[FindingTag], pairs: &PairsPart) -> TagsReport {
        let slow = self.slow();
        let singles = self.candidates();
        let tested = singles.len() as u64;
        let others = self.strata().map(|(_, group)| group.requests - group.slow).sum();
        let least_of = |tag: &FindingTag| {
            let known = singles.iter().find(|known| known.tag == *tag);
            known.map_or(0.0, |known| known.evidence.least)
        };
        let mut rows: Vec<(Vec<FindingTag>, Evidence)> = Vec::new();
        for (a, first) in paired.iter().enumerate() {
            for (b, second) in paired.iter().enumerate().skip(a + 1) {
                if first.key == second.key {
                    continue;
                }
                let evidence = Evidence::of(&pairs.strata(self, 1 << a | 1 << b), slow);
                if evidence.least >= BETTER * least_of(first).max(least_of(second)) {
                    rows.push((vec![first.clone(), second.clone()], evidence));
                }
            }
        }
        rows.splice(0..0, singles.into_iter().map(|one| (vec![one.tag], one.evidence)));
        let p: Vec<f64> = rows.iter().map(|row| row.1.p).collect();
        let mut certain = false_discovery(&p, 0.05).into_iter();
        rows.retain(|row| certain.next() == Some(true) && row.1.least >= LEAST);
        // Stable: of equal ones single tags come first.
        rows.compact_sort_by(|a, b| b.1.least.total_cmp(&a.1.least));
        let mut out: Vec<TagRow> = Vec::new();
        for (tags, Evidence { slow, others, least, .. }) in rows {
            let is_pair = tags.len() > 1;
            if let Some(known) = out.iter_mut().find(|row| (row.slow, row.others) == (slow, others)) {
                if !is_pair {
                    known.same.extend(tags);
                }
                continue;
            }
            if out.len() < MOST_ROWS {
                out.push(TagRow { tags, slow, others, least, same: Vec::new() });
            }
        }
        TagsReport { slow, others, tested, rows: out }
    }
}

/// Requests and slow requests.
type Counts = [u64; 2];

/// Requests by which of some tags they have, one bit each; and by tag those that have it on a span of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairsPart {
    groups: BTreeMap<u32, BTreeMap<u32, Counts>>,
    at: BTreeMap<(u32, u32), BTreeMap<Endpoint, Counts>>,
}

fn add(into: &mut Counts, from: Counts) {
    into[0] += from[0];
    into[1] += from[1];
}

impl PairsPart {
    /// Joins parts of disjoint requests.
    pub fn merge(parts: Vec<PairsPart>) -> PairsPart {
        let mut all = PairsPart::default();
        for part in parts {
            for (number, masks) in part.groups {
                let into = all.groups.entry(number).or_default();
                masks.into_iter().for_each(|(mask, counts)| add(into.entry(mask).or_default(), counts));
            }
            for (key, places) in part.at {
                let into = all.at.entry(key).or_default();
                places.into_iter().for_each(|(place, counts)| add(into.entry(place).or_default(), counts));
            }
        }
        all
    }

    /// Returns these counts with the requests of a part of them as the slow ones.
    #[must_use]
    pub fn with_slow(mut self, part: &PairsPart) -> PairsPart {
        for (number, masks) in &mut self.groups {
            let slow = part.groups.get(number);
            for (mask, counts) in masks {
                counts[1] = slow.and_then(|slow| slow.get(mask)).map_or(0, |slow| slow[0]);
            }
        }
        self
    }

    /// Returns what is counted of the requests that have all tags of a mask, in the groups of `tags`.
    fn strata(&self, tags: &TagsPart, wanted: u32) -> Vec<Stratum> {
        let stratum = |(number, group): (u32, &super::tags::GroupSums)| {
            let mut has = [0, 0];
            let masks = self.groups.get(&number).into_iter().flatten();
            masks
                .filter(|(mask, _)| **mask & wanted == wanted)
                .for_each(|(_, counts)| add(&mut has, *counts));
            [group.requests, group.slow, has[0], has[1]]
        };
        tags.strata().map(stratum).collect()
    }

    /// Returns the endpoint on whose spans all `slow` slow requests of a group have a tag, and how many requests have it
    /// there: of several the one with the fewest; `None` if there is none.
    pub(super) fn place(&self, group: u32, tag: u32, slow: u64) -> Option<(&Endpoint, u64)> {
        let places = self.at.get(&(group, tag))?.iter().filter(|(_, counts)| counts[1] == slow);
        places
            .map(|(place, counts)| (place, counts[0]))
            .reduce(|best, next| if next.1 < best.1 { next } else { best })
    }
}

/// Tells which of some tags each request has.
pub struct PairsObserver {
    grouping: Grouping,
    /// By number of the pair of key and value: its place among the tags from 1 on, 0 if it is none of them.
    place_of: Vec<u8>,
    masks: FxHashMap<(u32, u32), Counts>,
    at: FxHashMap<(u32, u32, u32), Counts>,
    /// Tag and endpoint of the request looked at.
    here: Vec<(u32, u32)>,
}

impl PairsObserver {
    /// Returns an observer of requests of this set, which are of these types; at most 32 tags count.
    pub fn new(
        set: &TraceSet,
        types: Arc<RequestTypes>,
        groups: &[TagGroup],
        tags: &[FindingTag],
    ) -> PairsObserver {
        let place = |pair: usize| {
            let (key, value) = set.tags.pair(pair as u32);
            let is_it = |tag: &FindingTag| tag.value == value && tag.key == set.tags.key_name(key);
            tags.iter().take(32).position(is_it).map_or(0, |place| place as u8 + 1)
        };
        PairsObserver {
            grouping: Grouping::new(set, types, groups),
            place_of: (0..set.tags.pairs()).map(place).collect(),
            masks: FxHashMap::default(),
            at: FxHashMap::default(),
            here: Vec::new(),
        }
    }
}

impl Observer for PairsObserver {
    type Part = PairsPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let Some((number, is_slow)) = self.grouping.of(table, request) else { return };
        let counts = [1, u64::from(is_slow)];
        let root = table.requests[request as usize].row - tree.first;
        let mut mask = 0;
        self.here.clear();
        for i in root..tree.subtree_end[root as usize] {
            if tree.role[i as usize] == Role::Dropped {
                continue;
            }
            let row = tree.row(i);
            let own = set.tag_set(row);
            for tags in [own, set.process_of(row).tags] {
                for &pair in set.tags.pairs_of(tags) {
                    let Some(place) = self.place_of[pair as usize].checked_sub(1) else { continue };
                    mask |= 1 << place;
                    if tags == own {
                        self.here.push((u32::from(place), set.endpoint(row).0));
                    }
                }
            }
        }
        add(self.masks.entry((number, mask)).or_default(), counts);
        self.here.sort_unstable();
        self.here.dedup();
        for &(place, endpoint) in &self.here {
            add(self.at.entry((number, place, endpoint)).or_default(), counts);
        }
    }

    fn finish(self, set: &TraceSet) -> PairsPart {
        let mut part = PairsPart::default();
        for ((number, mask), counts) in self.masks {
            part.groups.entry(number).or_default().insert(mask, counts);
        }
        for ((number, place, endpoint), counts) in self.at {
            let (service, operation) = set.endpoint_name(EndpointId(endpoint));
            let places = part.at.entry((number, place)).or_default();
            places.insert(Endpoint::new(service, operation), counts);
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_computed_group_by_group() {
        // In a small type half of the requests are slow: its own tag tells nothing.
        let evidence = Evidence::of(&[[10, 5, 10, 5], [400, 40, 0, 0]], 45);
        assert!(evidence.p > 0.4 && evidence.least <= 0.0, "{} {}", evidence.p, evidence.least);
        let evidence = Evidence::of(&[[37, 4, 5, 4]], 4);
        assert!((evidence.p - 5.0 / 66_045.0).abs() < 1e-9, "{}", evidence.p);
        assert_eq!((evidence.slow, evidence.others), (4, 1));
        let evidence = Evidence::of(&[[400, 40, 100, 40], [400, 40, 100, 38]], 80);
        assert!(evidence.p < 1e-9 && evidence.least > 0.5, "{} {}", evidence.p, evidence.least);
    }

    #[test]
    fn poisson_tails_are_those_of_the_books() {
        for (n, mean, expected) in [(0, 2.0, 1.0), (4, 0.5, 0.001_752), (10, 5.0, 0.031_828)] {
            assert!((poisson_p(n, mean) - expected).abs() < 1e-6, "{n} {mean} {}", poisson_p(n, mean));
        }
    }
}
