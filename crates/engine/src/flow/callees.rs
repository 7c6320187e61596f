//! The callees of parents: what a flow's first pass finds.

use super::savings::merge_sorted;
use super::walk::{answering, handed_to};
use super::{NodeTable, NodeTables, Visit, Within};
use crate::flame::{pack_sorted, unpack_sorted};
use crate::names::{join_names, join_sums, numbered};
use hashbrown::HashMap;
use pathlight_trace::{Endpoint, Role, TraceRow, TraceSet, Tree};
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

/// Facts about one callee before any flow is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callee {
    /// Most calls in one invocation.
    pub most: u32,
    /// Invocations that call it.
    pub invocations: u64,
    /// Whether it waits for calls of its own anywhere.
    pub has_calls: bool,
}

/// The callees of one parent endpoint over all its invocations: the accumulator of the first pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callees<Name = Endpoint> {
    /// Invocations: spans of the endpoint that wait for some call.
    pub invocations: u64,
    /// Spans of the endpoint that wait for none.
    pub childless: u64,
    /// Most calls in one invocation.
    pub most: u32,
    /// Time in which some call runs, summed over the invocations; 0 unless the flow is for drawing.
    pub calls_us: u64,
    /// The part of it that goes if the calls of each invocation all run side by side; 0 likewise.
    pub recoverable_us: u64,
    /// Sums of each callee, by name ascending.
    pub callees: Vec<(Name, Callee)>,
}

impl Callee {
    /// Adds what other invocations say of it.
    pub(super) fn merge(&mut self, other: Callee) {
        self.most = self.most.max(other.most);
        self.invocations += other.invocations;
        self.has_calls |= other.has_calls;
    }
}

impl Callees<u32> {
    /// Adds the callees of other invocations of the same endpoint.
    fn merge(&mut self, other: Callees<u32>) {
        self.invocations += other.invocations;
        self.childless += other.childless;
        self.most = self.most.max(other.most);
        self.calls_us += other.calls_us;
        self.recoverable_us += other.recoverable_us;
        self.callees.extend(other.callees);
        join_sums(&mut self.callees, Callee::merge);
    }
}

/// One parent among many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Its callees.
    pub callees: Callees<u32>,
    /// Starts of its invocations, in the form of `pack_sorted`; none unless asked for.
    starts_us: Vec<u64>,
}

impl Parent {
    /// Returns the starts of its invocations, ascending.
    pub fn starts_us(&self) -> Vec<u64> {
        unpack_sorted(self.starts_us.clone())
    }

    /// Returns how many nodes its flow has.
    pub fn nodes(&self) -> u32 {
        // Whatever the number of its name.
        NodeTable::new(0, &self.callees).len
    }

    fn merge(&mut self, other: Parent) {
        self.callees.merge(other.callees);
        merge_sorted(&mut self.starts_us, other.starts_us);
    }
}

/// The callees of many parents. Names are numbers in one list, since an endpoint has many callers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalleesByParent {
    /// The names of parents and callees, ascending.
    names: Vec<Endpoint>,
    /// The parents by number of their name, ascending.
    parents: Vec<(u32, Parent)>,
}

impl CalleesByParent {
    /// Joins those of disjoint invocations, without parents that call nothing; the result does not depend on their order.
    pub fn merge(parts: Vec<CalleesByParent>) -> CalleesByParent {
        let (names, places) = join_names(parts.iter().map(|part| part.names.as_slice()));
        let mut parents: Vec<(u32, Parent)> = Vec::new();
        for (part, places) in parts.into_iter().zip(&places) {
            let place = |name: u32| places[name as usize];
            parents.extend(part.parents.into_iter().map(|(name, mut parent)| {
                parent.callees.callees.iter_mut().for_each(|(name, _)| *name = place(*name));
                (place(name), parent)
            }));
        }
        join_sums(&mut parents, Parent::merge);
        parents.retain(|(_, parent)| parent.callees.invocations > 0);
        CalleesByParent { names, parents }
    }

    /// Returns the parents, by name ascending.
    pub fn parents(&self) -> impl Iterator<Item = (&Endpoint, &Parent)> {
        self.parents.iter().map(|(name, parent)| (&self.names[*name as usize], parent))
    }

    /// Returns the callees of the only parent.
    pub fn only(self) -> Callees {
        let Some((_, Parent { callees: of, .. })) = self.parents.into_iter().next() else {
            return Callees::default();
        };
        let named = of.callees.into_iter().map(|(name, callee)| (self.names[name as usize].clone(), callee));
        Callees {
            callees: named.collect(),
            invocations: of.invocations,
            childless: of.childless,
            most: of.most,
            calls_us: of.calls_us,
            recoverable_us: of.recoverable_us,
        }
    }

    /// Returns the nodes of the parents that `wants` takes.
    pub fn tables(self, mut wants: impl FnMut(&Parent) -> bool) -> NodeTables {
        let parents = self.parents.iter().filter(|(_, parent)| wants(parent));
        let of = parents.map(|(name, parent)| NodeTable::new(*name, &parent.callees)).collect();
        NodeTables { names: self.names, of }
    }
}

/// What callees are counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CalleesFor {
    /// A model, which knows every span.
    Model,
    /// Predictions, which need the starts of invocations too.
    Prediction,
    /// A drawing, which leaves out spans that only hand on to another span of their endpoint.
    Drawing,
}

/// Finds the callees of one parent or of all.
pub struct CalleeCounter {
    /// By endpoint of the set, without their callees.
    counts: Vec<Callees<u32>>,
    wanted: Option<u32>,
    is_empty: bool,
    callees: HashMap<(u32, u32), Callee, FxBuildHasher>,
    /// By endpoint: the invocation that saw it last, and how often.
    seen: Vec<(u64, u32)>,
    invocation: u64,
    called: Vec<u32>,
    /// By endpoint: sanitised starts of its invocations, if asked for.
    starts: Option<Vec<Vec<u64>>>,
    is_drawn: bool,
    /// The calls of an invocation: start and end.
    calls: Vec<(u64, u64)>,
    within: Within,
}

impl CalleeCounter {
    /// Counts the callees of one parent, or of all.
    pub fn new(
        set: &TraceSet,
        parent: Option<&Endpoint>,
        within: Within,
        wanted_for: CalleesFor,
    ) -> CalleeCounter {
        let n = set.endpoints().len();
        let wanted = parent.map(|Endpoint { service, operation }| set.find_endpoint(service, operation));
        CalleeCounter {
            counts: vec![Callees::default(); n],
            wanted: wanted.flatten().map(|e| e.0),
            is_empty: wanted == Some(None),
            callees: HashMap::default(),
            seen: vec![(0, 0); n],
            invocation: 0,
            called: Vec::new(),
            starts: (wanted_for == CalleesFor::Prediction).then(|| vec![Vec::new(); n]),
            is_drawn: wanted_for == CalleesFor::Drawing,
            calls: Vec::new(),
            within,
        }
    }

    /// Adds the time in which calls of an invocation run, and what of it side by side would spare.
    fn add_times(&mut self, tree: &Tree, span: u32, endpoint: u32) {
        let interval = |child: u32| (tree.start_us[child as usize], tree.end_us[child as usize]);
        self.calls.clear();
        self.calls.extend(tree.sync_children(span).map(interval));
        self.calls.sort_unstable();
        let (mut busy_us, mut longest_us, mut until_us) = (0, 0, 0);
        for &(start_us, end_us) in &self.calls {
            busy_us += end_us.saturating_sub(start_us.max(until_us));
            longest_us = longest_us.max(end_us - start_us);
            until_us = until_us.max(end_us);
        }
        let counts = &mut self.counts[endpoint as usize];
        counts.calls_us += busy_us;
        counts.recoverable_us += busy_us - longest_us;
    }

    /// Returns the callees. An endpoint whose spans call nothing here may be a parent in another set.
    pub fn finish(mut self, set: &TraceSet) -> CalleesByParent {
        let has_spans = |counts: &Callees<u32>| counts.invocations + counts.childless > 0;
        let parents =
            (0..).zip(&self.counts).filter(|(_, counts)| has_spans(counts)).map(|(parent, _)| parent);
        let (names, number_of) = numbered(set, parents.chain(self.callees.keys().map(|(_, callee)| *callee)));
        for ((parent, callee), facts) in self.callees {
            self.counts[parent as usize].callees.push((number_of[callee as usize], facts));
        }
        let mut parents = Vec::new();
        for (endpoint, (mut callees, name)) in self.counts.into_iter().zip(number_of).enumerate() {
            if !has_spans(&callees) {
                continue;
            }
            callees.callees.sort_unstable_by_key(|callee| callee.0);
            let starts = self.starts.as_mut().map(|starts| std::mem::take(&mut starts[endpoint]));
            let mut starts = starts.unwrap_or_default();
            starts.sort_unstable();
            parents.push((name, Parent { callees, starts_us: pack_sorted(starts) }));
        }
        parents.sort_unstable_by_key(|(name, _)| *name);
        CalleesByParent { names, parents }
    }
}

impl Visit for CalleeCounter {
    fn wants(&mut self, set: &TraceSet, trace: &TraceRow) -> bool {
        match self.wanted {
            Some(wanted) => trace.rows().any(|row| set.endpoint(row).0 == wanted),
            None => !self.is_empty,
        }
    }

    fn span(&mut self, set: &TraceSet, tree: &Tree, span: u32) -> Option<usize> {
        let endpoint = set.endpoint(tree.row(span)).0;
        if self.wanted.is_some_and(|wanted| wanted != endpoint)
            || tree.role[span as usize] == Role::Dropped
            || !self.within.has(tree, span)
            || self.is_drawn && handed_to(set, tree, span).is_some()
        {
            return None;
        }
        self.invocation += 1;
        self.called.clear();
        let mut calls = 0;
        for child in tree.sync_children(span) {
            let callee = set.endpoint(tree.row(child)).0;
            let seen = &mut self.seen[callee as usize];
            if seen.0 != self.invocation {
                *seen = (self.invocation, 0);
                self.called.push(callee);
            }
            seen.1 += 1;
            calls += 1;
            let child = if self.is_drawn { answering(set, tree, child) } else { child };
            if tree.sync_children(child).next().is_some() {
                self.callees.entry((endpoint, callee)).or_default().has_calls = true;
            }
        }
        let counts = &mut self.counts[endpoint as usize];
        if calls == 0 {
            counts.childless += 1;
            return None;
        }
        counts.invocations += 1;
        counts.most = counts.most.max(calls);
        for &callee in &self.called {
            let facts = self.callees.entry((endpoint, callee)).or_default();
            facts.most = facts.most.max(self.seen[callee as usize].1);
            facts.invocations += 1;
        }
        if self.is_drawn {
            self.add_times(tree, span, endpoint);
        }
        if let Some(starts) = &mut self.starts {
            starts[endpoint as usize].push(tree.start_us[span as usize]);
        }
        Some(calls as usize)
    }
}
