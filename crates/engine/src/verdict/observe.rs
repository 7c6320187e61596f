//! The part of one request: a value for each call between services, and one for each visit of a service.

use super::ServicesPartial;
use super::cells::{Cell, CellKey, EntryCounts, ServiceCounts, ServiceExemplar, TimeKey, reply_side_us};
use crate::flame::done::DonePath;
use crate::flame::{Observer, PathFinder, PathTable, Reusable};
use crate::requests::{RequestEntry, RequestRef, Weighing};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Sample, Weight, Weights};
use pathlight_base::touched::Touched;
use pathlight_trace::calls::callee;
use pathlight_trace::{EndpointId, Flags, Overlap, Role, TraceSet, Tree};
use rustc_hash::FxHashMap;
use std::mem::take;

/// A [`CellKey`] by numbers: the calling service or [`NO_CALLER`], the endpoint, whether a visit makes calls.
type Number = (u32, u32, bool);

/// The caller in the cells of visits.
pub(super) const NO_CALLER: u32 = u32::MAX;

/// The last call of visits that make none.
const NO_CALL: u32 = u32::MAX;

/// A cell of one worker, with the request and row of its greatest value.
#[derive(Default)]
struct Counted {
    cell: Cell,
    greatest: Option<(u64, RequestEntry, u32)>,
}

/// The spans of a service below one entry span.
pub(super) struct Visit {
    /// Number of the service.
    pub service: u32,
    /// Number of the visit that calls it, which comes before it; [`NO_CALLER`] for the request itself.
    pub caller: u32,
    pub entry: u32,
    /// Time on the path of the span that makes the call, outside this visit.
    pub outside_us: u64,
    pub own_us: u64,
    makes_calls: bool,
    has_failed: bool,
}

/// What is known of a span of the current request.
#[derive(Clone, Copy, Default)]
struct SpanState {
    visit: u32,
    /// Time on the path; 0 once it is counted.
    path_us: u64,
    /// Time on the path of the call that it answers, outside of it.
    outside_us: u64,
    /// It is the calling half of a call of another service.
    is_call: bool,
    /// A child of it is in error.
    has_error_below: bool,
}

/// Observes the requests of one worker.
pub struct ServicesObserver {
    overlap: Overlap,
    finder: PathFinder,
    /// Of paths until everything is done, what finds them.
    done: Option<DonePath>,
    /// Service number of every endpoint, and service names.
    service_of: Vec<u32>,
    names: Vec<String>,
    weighing: Weighing,
    /// Weight of the request at hand.
    weight: Weight,
    requests: Weights,
    latency_us: Sample,
    cells: FxHashMap<Number, Counted>,
    services: Touched<ServiceCounts>,
    /// Requests observed, of whatever root endpoint.
    number: u64,
    /// By service: the last request that used it, counted from 1.
    used_in: Vec<u64>,
    /// By caller, or [`NO_CALLER`] for own work, and service.
    by_request: FxHashMap<(u32, u32), Sample>,
    /// Whether it counts what visits call.
    counts_entries: bool,
    entries: FxHashMap<u32, CountedEntry>,
    spans: Vec<SpanState>,
    visits: Vec<Visit>,
    calls: Vec<VisitCall>,
    in_request_us: FxHashMap<(u32, u32), u64>,
}

/// [`EntryCounts`] of one worker, by numbers of endpoints.
#[derive(Default)]
struct CountedEntry {
    requests: Weights,
    /// The last request with such a visit, counted from 1.
    seen_in: u64,
    visits: Weights,
    last_calls: FxHashMap<u32, Weights>,
    calling: FxHashMap<u32, Weights>,
}

/// A call of another service in a visit of the current request; ordered by visit, then by endpoint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct VisitCall {
    visit: u32,
    endpoint: u32,
    start_us: u64,
}

impl ServicesObserver {
    /// Returns an observer of requests of this set.
    pub fn new(set: &TraceSet, overlap: Overlap) -> ServicesObserver {
        let (service_of, names) = set.service_numbers();
        ServicesObserver {
            overlap,
            finder: PathFinder::default(),
            done: None,
            service_of,
            weighing: Weighing::default(),
            weight: Weight::ONE,
            requests: Weights::default(),
            latency_us: Sample::default(),
            cells: FxHashMap::default(),
            services: Touched::default(),
            number: 0,
            used_in: vec![0; names.len()],
            names,
            by_request: FxHashMap::default(),
            counts_entries: false,
            entries: FxHashMap::default(),
            spans: Vec::new(),
            visits: Vec::new(),
            calls: Vec::new(),
            in_request_us: FxHashMap::default(),
        }
    }

    /// Returns an observer of the same requests until everything is done, if there is something that finds their paths.
    pub(crate) fn until_done(self, done: Option<DonePath>) -> ServicesObserver {
        ServicesObserver { done, ..self }
    }

    /// Returns an observer that also counts what visits call, if its part is compared with another: only then is it asked
    /// which visits stop early. There is a count for each pair of endpoints that call each other.
    pub(crate) fn compared(self, is_compared: bool) -> ServicesObserver {
        ServicesObserver { counts_entries: is_compared, ..self }
    }

    /// Returns an observer of the same requests, each counted as this says.
    pub(crate) fn by(self, weighing: Weighing) -> ServicesObserver {
        ServicesObserver { weighing, ..self }
    }

    /// Returns the visits of the request observed last, callers first.
    pub(super) fn visits(&self) -> &[Visit] {
        &self.visits
    }

    /// Returns the names of services by number.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    fn service(&self, set: &TraceSet, tree: &Tree, span: u32) -> u32 {
        self.service_of[set.named_endpoint(tree.row(span)).0 as usize]
    }

    /// Takes over the time on the path of every span, and finds which spans have an error below.
    fn prepare(
        &mut self,
        set: &TraceSet,
        tree: &Tree,
        root: u32,
        path: Option<&PathFinder>,
        has_errors: bool,
    ) {
        let end = tree.subtree_end[root as usize];
        self.spans.clear();
        self.spans.resize((end - root) as usize, SpanState::default());
        for entry in path.into_iter().flat_map(PathFinder::entries) {
            self.spans[(entry.span - root) as usize].path_us += entry.exclusive_us;
        }
        if has_errors {
            for span in root + 1..end {
                let is_part = tree.role[span as usize] != Role::Dropped;
                if is_part && set.flags(tree.row(span)).has(Flags::ERROR) {
                    self.spans[(tree.parent[span as usize] - root) as usize].has_error_below = true;
                }
            }
        }
    }

    /// Opens a visit if the span enters a service; returns the visit the span is of.
    fn visit_of(&mut self, set: &TraceSet, tree: &Tree, root: u32, span: u32) -> u32 {
        let service = self.service(set, tree, span);
        let mut caller = NO_CALLER;
        if span != root {
            let parent = self.spans[(tree.parent[span as usize] - root) as usize];
            let visit = &mut self.visits[parent.visit as usize];
            if visit.service == service {
                return parent.visit;
            }
            caller = parent.visit;
            visit.makes_calls = true;
            self.calls.push(VisitCall {
                visit: parent.visit,
                endpoint: set.named_endpoint(tree.row(span)).0,
                start_us: tree.start_us[span as usize],
            });
            if !parent.is_call {
                self.services.at(visit.service).bare_calls += 1;
            }
        }
        let outside_us = self.spans[(span - root) as usize].outside_us;
        let visit = Visit {
            service,
            caller,
            entry: span,
            outside_us,
            own_us: 0,
            makes_calls: false,
            has_failed: false,
        };
        self.visits.push(visit);
        self.visits.len() as u32 - 1
    }

    /// Counts the visits of a request by what they call.
    fn count_entries(&mut self, set: &TraceSet, tree: &Tree, visits: &[Visit]) {
        for visit in visits {
            let entry = self.entries.entry(set.named_endpoint(tree.row(visit.entry)).0).or_default();
            entry.visits.add(self.weight);
            if entry.seen_in != self.requests.seen {
                entry.seen_in = self.requests.seen;
                entry.requests.add(self.weight);
            }
            if !visit.makes_calls {
                entry.last_calls.entry(NO_CALL).or_default().add(self.weight);
            }
        }
        self.calls.compact_sort();
        for calls in self.calls.chunk_by(|a, b| a.visit == b.visit) {
            let number = set.named_endpoint(tree.row(visits[calls[0].visit as usize].entry)).0;
            let entry = self.entries.entry(number).or_default();
            for alike in calls.chunk_by(|a, b| a.endpoint == b.endpoint) {
                entry.calling.entry(alike[0].endpoint).or_default().add(self.weight);
            }
            let name = |call: &VisitCall| set.endpoint_name(EndpointId(call.endpoint));
            let last =
                calls.iter().max_by(|a, b| a.start_us.cmp(&b.start_us).then_with(|| name(a).cmp(&name(b))));
            if let Some(last) = last {
                entry.last_calls.entry(last.endpoint).or_default().add(self.weight);
            }
        }
    }

    /// Adds a value to its cell, measured at a row of a request; of a call with its reply side.
    fn add(
        &mut self,
        set: &TraceSet,
        number: Number,
        (us, reply_us): (u64, Option<u64>),
        request: &RequestEntry,
        row: u32,
    ) {
        let counted = self.cells.entry(number).or_default();
        match reply_us {
            Some(reply_us) => counted.cell.add_call(us, reply_us, self.weight),
            None => counted.cell.add(us, self.weight),
        }
        let is_greater = counted.greatest.as_ref().is_none_or(|(kept_us, kept, kept_row)| {
            let trace = |request: &RequestEntry| set.traces()[request.trace as usize].id;
            let by_id = |a: u32, b: u32| set.span_id(a).compare(set.span_id(b), &set.id_texts);
            let order = us.cmp(kept_us);
            let order = order.then_with(|| trace(kept).compare(trace(request), &set.id_texts));
            order.then_with(|| by_id(kept.row, request.row)).then_with(|| by_id(*kept_row, row)).is_gt()
        });
        if us > 0 && is_greater {
            counted.greatest = Some((us, *request, row));
        }
    }

    /// Counts spans of a request that wait for each other: those below `root`, of which some are on a path.
    fn part(
        &mut self,
        set: &TraceSet,
        tree: &Tree,
        root: u32,
        path: Option<&PathFinder>,
        facts: &RequestEntry,
        has_errors: bool,
    ) {
        self.prepare(set, tree, root, path, has_errors);
        self.visits.clear();
        self.calls.clear();
        // What nobody waits for is no part of a visit.
        for span in tree.awaited(root) {
            let visit = self.visit_of(set, tree, root, span);
            let row = tree.row(span);
            let service = self.visits[visit as usize].service;
            let answers = answer_of_other_service(set, tree, span, &self.service_of);
            let state = &mut self.spans[(span - root) as usize];
            (state.visit, state.is_call) = (visit, answers.is_some());
            let (path_us, has_error_below) = (state.path_us, state.has_error_below);
            self.visits[visit as usize].has_failed |= !has_error_below && set.flags(row).has(Flags::ERROR);
            match answers {
                Some(answers) => {
                    self.spans[(answers - root) as usize].outside_us = path_us;
                    let number = (service, set.named_endpoint(tree.row(answers)).0, false);
                    let reply_us = reply_us(tree, span, answers, path_us);
                    self.add(set, number, (path_us, Some(reply_us)), facts, row);
                    let answering = self.service(set, tree, answers);
                    *self.in_request_us.entry((service, answering)).or_default() += path_us;
                }
                None => self.visits[visit as usize].own_us += path_us,
            }
        }
        let visits = take(&mut self.visits);
        for visit in &visits {
            let row = tree.row(visit.entry);
            let number = (NO_CALLER, set.named_endpoint(row).0, visit.makes_calls);
            self.add(set, number, (visit.own_us, None), facts, row);
            *self.in_request_us.entry((NO_CALLER, visit.service)).or_default() += visit.own_us;
            let counts = self.services.at(visit.service);
            counts.visits.add(self.weight);
            if visit.has_failed {
                counts.failed.add(self.weight);
            }
            let used_in = &mut self.used_in[visit.service as usize];
            if *used_in != self.number {
                *used_in = self.number;
                counts.latency_us.add(facts.latency_us, self.weight);
            }
        }
        if self.counts_entries {
            self.count_entries(set, tree, &visits);
        }
        self.visits = visits;
    }
}

impl Observer for ServicesObserver {
    type Part = ServicesPartial;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let facts = &table.requests[request as usize];
        let root = facts.row - tree.first;
        self.weight = self.weighing.weight(set, facts);
        self.number += 1;
        self.requests.add(self.weight);
        self.latency_us.add(facts.latency_us, self.weight);
        if let Some(mut done) = self.done.take() {
            done.find(set, tree, root);
            for unit in done.units(tree) {
                let has_errors = unit.top != root || facts.errors > 0;
                self.part(set, unit.tree, unit.top, unit.finder, facts, has_errors);
            }
            self.done = Some(done);
        } else {
            let mut finder = take(&mut self.finder);
            finder.find(set, tree, root, self.overlap);
            self.part(set, tree, root, Some(&finder), facts, facts.errors > 0);
            self.finder = finder;
        }
        for (key, us) in self.in_request_us.drain().filter(|(_, us)| *us > 0) {
            self.by_request.entry(key).or_default().add(us, self.weight);
        }
    }

    fn finish(mut self, set: &TraceSet) -> ServicesPartial {
        self.take(set)
    }
}

impl Reusable for ServicesObserver {
    fn take(&mut self, set: &TraceSet) -> ServicesPartial {
        let endpoint = |number: u32| set.owned_endpoint(EndpointId(number));
        let cells = self.cells.drain().map(|((caller, to, makes_calls), counted)| {
            let key = match self.names.get(caller as usize) {
                Some(caller) => CellKey::Edge { caller: caller.clone(), callee: endpoint(to) },
                None => CellKey::Own { entry: endpoint(to), makes_calls },
            };
            let exemplar = counted.greatest.map(|(time_us, request, row)| ServiceExemplar {
                request: RequestRef::of(set, &request),
                span_id: set.span_id_text(row),
                time_us,
            });
            (key, Box::new(Cell { exemplar, ..counted.cell }))
        });
        let name = |service: u32| self.names[service as usize].clone();
        let by_request = self.by_request.drain().map(|((caller, service), us)| match caller {
            NO_CALLER => (TimeKey::Work(name(service)), Box::new(us)),
            caller => (TimeKey::Wait(name(caller), name(service)), Box::new(us)),
        });
        let entries = self.entries.drain().map(|(number, entry)| {
            let call = |number| (number != NO_CALL).then(|| endpoint(number));
            let last_calls = entry.last_calls.into_iter().map(|(number, visits)| (call(number), visits));
            let calling = entry.calling.into_iter().map(|(number, visits)| (endpoint(number), visits));
            let counts = EntryCounts {
                requests: entry.requests,
                visits: entry.visits,
                last_calls: last_calls.collect(),
                calling: calling.collect(),
            };
            (endpoint(number), Box::new(counts))
        });
        let (by_request, entries) = (by_request.collect(), entries.collect());
        let services = self.services.take().into_iter().filter(|(_, counts)| counts.visits.seen > 0);
        ServicesPartial {
            by_request,
            entries,
            is_coarse: false,
            requests: take(&mut self.requests),
            latency_us: take(&mut self.latency_us),
            cells: cells.collect(),
            services: services.map(|(service, counts)| (name(service), Box::new(counts))).collect(),
        }
    }
}

/// Returns the span of another service that answers a call, if `span` is such a call and waits for it: the self time of the
/// call is then waiting for that service, and that of any other span is own work of its service. `service_of` has the
/// service of every endpoint of the set.
pub(crate) fn answer_of_other_service<S: PartialEq>(
    set: &TraceSet,
    tree: &Tree,
    span: u32,
    service_of: &[S],
) -> Option<u32> {
    let service = |span: u32| &service_of[set.named_endpoint(tree.row(span)).0 as usize];
    callee(set, tree, span)
        .filter(|&answer| tree.role[answer as usize] == Role::Sync && service(answer) != service(span))
}

/// Returns the reply side of what a call takes outside its answer. Where clocks were set, it is not known when the answer
/// began: all of it counts as reply, so that nothing is concluded from it.
fn reply_us(tree: &Tree, call: u32, answers: u32, us: u64) -> u64 {
    if tree.clock_shift_us(call) != tree.clock_shift_us(answers) {
        return us;
    }
    let (call, answers) = (call as usize, answers as usize);
    let before_us = tree.start_us[answers].saturating_sub(tree.start_us[call]);
    reply_side_us(us, before_us, tree.end_us[call].saturating_sub(tree.end_us[answers]))
}
