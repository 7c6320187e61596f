//! Cutting a percentile range out of the requests of a selection: filters, then ranks of latency.

use super::{Filter, OnlyFilter, RequestEntry, RequestKey, RequestType, RequestTypes, Selection};
use crate::flame::PathTable;
use crate::requests::search::{RequestSearch, SpanTests};
use crate::verdict::subject::SubjectTimes;
use pathlight_base::encoding::{Damaged, Packed};
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Coverage, Endpoint, EndpointId, Overlap, Role, TagSetId, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A percentile range as keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cut {
    /// Over all requests together.
    OverAll(Ends),
    /// Within each request type; nothing of a type that is not there.
    ByType(Arc<Packed<BTreeMap<RequestType, Ends>>>),
}

impl Default for Cut {
    fn default() -> Cut {
        Cut::OverAll(Ends::default())
    }
}

/// From `from` (inclusive) to `to` (exclusive); `None` is open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// First key inside.
    pub from: Option<RequestKey>,
    /// First key past the end.
    pub to: Option<RequestKey>,
    /// Nothing is inside.
    pub is_empty: bool,
}

impl Ends {
    /// Returns whether a request lies inside.
    pub fn contains(&self, set: &TraceSet, request: &RequestEntry) -> bool {
        let against = |key: &RequestKey| {
            request.latency_us.cmp(&key.latency_us).then_with(|| {
                let own = RequestKey::of(set, request);
                (&own.trace_id, &own.root_span_id).cmp(&(&key.trace_id, &key.root_span_id))
            })
        };
        !self.is_empty
            && self.from.as_ref().is_none_or(|key| against(key) != Ordering::Less)
            && self.to.as_ref().is_none_or(|key| against(key) == Ordering::Less)
    }
}

/// The requests of a [`PathTable`] that pass the filters, fastest first.
#[derive(Clone, Debug, Default)]
pub struct SelectedRequests {
    /// Request numbers, by latency; of equal ones in the order of the table.
    pub requests: Vec<u32>,
    /// The types of all requests of the table; none if nobody asked.
    types: Option<Arc<RequestTypes>>,
    /// Coverage of their traces.
    coverage: Coverage,
}

impl SelectedRequests {
    /// Chooses from all requests of a worker those of the selection's group that pass its filters.
    pub fn new(
        set: &TraceSet,
        table: &PathTable,
        selection: &Selection,
        types: Option<Arc<RequestTypes>>,
    ) -> SelectedRequests {
        let all = &table.requests;
        let matcher = |filter| Matcher::new(set, filter, types.as_deref(), selection.overlap);
        let matchers: Vec<Matcher> = selection.filters.iter().map(matcher).collect();
        let mut tree = Tree::default();
        let mut loaded = None;
        let mut passes = |number: u32| {
            let request = &all[number as usize];
            set.traces()[request.trace as usize].id.group == selection.group
                && matchers.iter().all(|matcher| {
                    if matcher.needs_tree() && loaded != Some(request.trace) {
                        tree.load_for(set, request.trace, selection.settings(), table.roots);
                        loaded = Some(request.trace);
                    }
                    let kind = || types.as_ref().map(|types| types.of(number));
                    matcher.matches(set, &tree, request, &kind)
                })
        };
        let mut requests: Vec<u32> = (0..all.len() as u32).filter(|&r| passes(r)).collect();
        let coverage = table.coverage(set, selection.group, &requests);
        requests.compact_sort_by_key(|&r| all[r as usize].latency_us);
        SelectedRequests { requests, types, coverage }
    }

    /// Returns how the requests cover their traces.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Returns the types of the requests, if they were asked for.
    pub fn types(&self) -> Option<&Arc<RequestTypes>> {
        self.types.as_ref()
    }

    /// Returns the selected requests by type, or all as one type without a name.
    pub fn by_type<T: Default>(
        &self,
        is_by_type: bool,
        mut add: impl FnMut(&mut T, u32),
    ) -> BTreeMap<RequestType, T> {
        let Some(types) = self.types.as_ref().filter(|_| is_by_type) else {
            let mut all = T::default();
            self.requests.iter().for_each(|&request| add(&mut all, request));
            return BTreeMap::from([(RequestType::default(), all)]);
        };
        let mut by_number: BTreeMap<u32, T> = BTreeMap::new();
        for &request in &self.requests {
            add(by_number.entry(types.of(request)).or_default(), request);
        }
        by_number.into_iter().map(|(number, of)| (types.names()[number as usize].clone(), of)).collect()
    }

    /// Returns the requests inside a cut.
    ///
    /// # Errors
    /// [`Damaged`] if the cut is.
    pub fn inside(&self, set: &TraceSet, all: &[RequestEntry], cut: &Cut) -> Result<Vec<u32>, Damaged> {
        let contains = |ends: &Ends, request: u32| ends.contains(set, &all[request as usize]);
        let of = match cut {
            Cut::OverAll(ends) => {
                return Ok(self.requests.iter().copied().filter(|&r| contains(ends, r)).collect());
            }
            Cut::ByType(packed) => packed.read()?,
        };
        let Some(types) = self.types.as_deref() else { return Ok(Vec::new()) };
        let ends: Vec<Option<&Ends>> = types.names().iter().map(|name| of.get(name)).collect();
        let is_inside = |&r: &u32| ends[types.of(r) as usize].is_some_and(|ends| contains(ends, r));
        Ok(self.requests.iter().copied().filter(is_inside).collect())
    }
}

enum Matcher {
    /// By tag set: whether it has the tag.
    Tag(Vec<bool>),
    Time(u64, u64),
    HasError,
    Contains(Option<EndpointId>),
    Search(SpanTests),
    /// The type with this number.
    Type(Option<u32>),
    /// A subject, and by number of the type the greatest time that is usual.
    Hit(Box<RefCell<SubjectTimes>>, Vec<Option<u64>>),
    /// Requests of a group by trace and root span.
    Only(OnlyFilter),
}

impl Matcher {
    fn new(set: &TraceSet, filter: &Filter, types: Option<&RequestTypes>, overlap: Overlap) -> Matcher {
        match filter {
            Filter::Tag { key, value } => {
                let sets = 0..set.tags.sets() as u32;
                Matcher::Tag(sets.map(|s| set.tags.contains(TagSetId(s), key, value)).collect())
            }
            Filter::Time { from_us, to_us } => Matcher::Time(*from_us, *to_us),
            Filter::HasError => Matcher::HasError,
            Filter::Contains(Endpoint { service, operation }) => {
                Matcher::Contains(set.find_endpoint(service, operation))
            }
            Filter::Search(search) => Matcher::Search(SpanTests::new(set, search)),
            Filter::Type(wanted) => {
                let place = types.and_then(|types| types.names().iter().position(|name| name == wanted));
                Matcher::Type(place.map(|place| place as u32))
            }
            Filter::Hit(hit) => {
                let limit = |name| Some(hit.limits_us.iter().find(|(of, _)| of == name)?.1);
                let limits = types.iter().flat_map(|types| types.names()).map(limit).collect();
                let times = SubjectTimes::new(set, [&hit.subject], overlap);
                Matcher::Hit(Box::new(RefCell::new(times)), limits)
            }
            Filter::Only(only) => {
                let mut requests = only.requests.clone();
                requests.sort_unstable();
                Matcher::Only(OnlyFilter { requests, ..*only })
            }
        }
    }

    fn needs_tree(&self) -> bool {
        matches!(self, Matcher::Tag(_) | Matcher::Contains(Some(_)) | Matcher::Search(_) | Matcher::Hit(..))
    }

    fn matches(
        &self,
        set: &TraceSet,
        tree: &Tree,
        request: &RequestEntry,
        kind: &dyn Fn() -> Option<u32>,
    ) -> bool {
        let rows = || {
            let root = request.row - tree.first;
            let spans = root..tree.subtree_end[root as usize];
            spans.filter(|i| tree.role[*i as usize] != Role::Dropped).map(|i| tree.row(i))
        };
        let any = |test: &dyn Fn(u32) -> bool| rows().any(test);
        match self {
            Matcher::Tag(has) => {
                any(&|row| has[set.tag_set(row).0 as usize] || has[set.process_of(row).tags.0 as usize])
            }
            Matcher::Time(from_us, to_us) => (*from_us..*to_us).contains(&request.start_us),
            Matcher::HasError => request.errors > 0,
            Matcher::Contains(None) | Matcher::Type(None) => false,
            Matcher::Type(wanted) => kind() == *wanted,
            Matcher::Hit(times, limits) => {
                let limit = kind().and_then(|kind| limits.get(kind as usize).copied().flatten());
                limit.is_some_and(|limit_us| {
                    let mut times = times.borrow_mut();
                    let [time_us] = *times.measure(set, tree, request.row - tree.first) else { return false };
                    time_us.is_some_and(|us| us > limit_us)
                })
            }
            Matcher::Only(only) => {
                set.traces()[request.trace as usize].id.group != only.group || {
                    let id = (set.trace_id_text(request.trace), set.span_id_text(request.row));
                    only.requests.binary_search(&id).is_ok()
                }
            }
            Matcher::Contains(Some(endpoint)) => any(&|row| set.is_of(row, *endpoint)),
            Matcher::Search(tests) => {
                let mut whole = RequestSearch::new(tests);
                rows().for_each(|row| whole.observe(tests, set, row));
                whole.is_found(tests)
            }
        }
    }
}
