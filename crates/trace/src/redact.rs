//! Redaction: leaves out or replaces parts of traces and names that are given away.
//!
//! A pseudonym is the place of a name among all names of its kind, sorted, over all that is loaded: so the same name has the
//! same pseudonym in everything made of the same traces, and whoever has only that learns nothing of the name but its place.

use super::{
    Endpoint, EndpointId, Interner, PlaceFacts, Portable, Reading, ReadingRule, SpanId, Symbol, TraceId,
    TraceRow, TraceSet, template,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// All names that are loaded; an accumulator over all sets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedNames {
    endpoints: BTreeSet<Endpoint>,
    services: BTreeSet<String>,
    hosts: BTreeSet<String>,
}

impl LoadedNames {
    /// Returns the names of a set, as recorded.
    pub fn of(set: &TraceSet) -> LoadedNames {
        let mut is_recorded = vec![false; set.endpoints().len()];
        for trace in set.traces() {
            for row in trace.rows() {
                is_recorded[set.recorded_endpoint(row).0 as usize] = true;
            }
        }
        let recorded = (0..).zip(is_recorded).filter(|(_, is_recorded)| *is_recorded);
        let name = |symbol: Symbol| (symbol != Symbol::NONE).then(|| set.names.get(symbol).to_owned());
        LoadedNames {
            endpoints: recorded.map(|(number, _)| set.owned_endpoint(EndpointId(number))).collect(),
            services: set.processes.rows.iter().filter_map(|process| name(process.service)).collect(),
            hosts: set.processes.rows.iter().filter_map(|process| name(process.host)).collect(),
        }
    }

    /// Adds the names of another set.
    pub fn merge(&mut self, other: LoadedNames) {
        self.endpoints.extend(other.endpoints);
        self.services.extend(other.services);
        self.hosts.extend(other.hosts);
    }

    /// Returns their pseudonyms; `places` are the facts of the same sets.
    pub fn pseudonyms(self, places: &PlaceFacts) -> Pseudonyms {
        let mut out = Pseudonyms { folded: places.folded(), ..Pseudonyms::default() };
        let operations: BTreeSet<String> = self
            .endpoints
            .iter()
            .map(|Endpoint { service, operation }| out.base(service, operation).into_owned())
            .collect();
        let mut services = self.services;
        services.extend(self.endpoints.into_iter().map(|endpoint| endpoint.service));
        services.extend(places.peers().map(str::to_owned));
        out.operations = operations.into_iter().collect();
        out.services = services.into_iter().collect();
        out.hosts = self.hosts.into_iter().collect();
        out
    }
}

/// All names, sorted: the pseudonym of a name is its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pseudonyms {
    /// Services, and what tags name as called.
    services: Vec<String>,
    /// Operations; of names with values in them that stand for one, their template.
    operations: Vec<String>,
    hosts: Vec<String>,
    /// Templates that stand for their names.
    folded: BTreeSet<Endpoint>,
}

fn numbered(kind: &str, names: &[String], name: &str) -> Option<String> {
    let place = names.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
    Some(format!("{kind}-{}", place + 1))
}

impl Pseudonyms {
    fn base<'a>(&self, service: &str, operation: &'a str) -> Cow<'a, str> {
        match template(operation) {
            Cow::Owned(template) if self.folded.contains(&Endpoint::new(service, template.as_str())) => {
                Cow::Owned(template)
            }
            _ => Cow::Borrowed(operation),
        }
    }

    /// Returns the pseudonym of a service: `service-1`.
    pub fn service(&self, name: &str) -> String {
        numbered("service", &self.services, name).unwrap_or_else(|| "another service".to_owned())
    }

    /// Returns the pseudonym of a host: `host-1`.
    fn host(&self, name: &str) -> String {
        numbered("host", &self.hosts, name).unwrap_or_else(|| "another host".to_owned())
    }

    /// Returns the pseudonym of an operation as it was recorded or is shown: `operation-1`, of a call that is named
    /// with what it calls `operation-1 -> service-2`.
    pub fn operation(&self, service: &str, name: &str) -> String {
        self.known_operation(service, name).unwrap_or_else(|| {
            // By the name of a service alone, as where places are services.
            if name.is_empty() { String::new() } else { "another operation".to_owned() }
        })
    }

    /// Returns the pseudonym of an operation as [`operation`](Self::operation) does; `None` if no operation of a span
    /// has this name.
    pub fn known_operation(&self, service: &str, name: &str) -> Option<String> {
        let known = |name: &str| numbered("operation", &self.operations, name);
        known(&self.base(service, name)).or_else(|| self.call(&known, name))
    }

    /// Returns a call that is named with its callee, see [`TraceSet::name_places`].
    fn call(&self, known: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<String> {
        const ARROW: &str = " -> ";
        const LACKS: &str = " (not instrumented)";
        name.match_indices(ARROW).find_map(|(at, _)| {
            let operation = known(&name[..at])?;
            let called = &name[at + ARROW.len()..];
            let (callee, lacks) = called.strip_suffix(LACKS).map_or((called, ""), |callee| (callee, LACKS));
            let callee = numbered("service", &self.services, callee).or_else(|| {
                called.match_indices(' ').find_map(|(at, _)| {
                    let service = numbered("service", &self.services, &called[..at])?;
                    Some(format!("{service} {}", known(&called[at + 1..])?))
                })
            })?;
            Some(format!("{operation}{ARROW}{callee}{lacks}"))
        })
    }

    /// Returns the pseudonyms of an endpoint.
    pub fn endpoint(&self, endpoint: &Endpoint) -> Endpoint {
        let Endpoint { service, operation } = endpoint;
        Endpoint::new(self.service(service), self.operation(service, operation))
    }
}

/// Parts left out of a copy of traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redaction {
    /// Tags and tags of processes are left out; hosts, which such tags name, have pseudonyms.
    pub tags: bool,
    /// Services and operations have pseudonyms, ids and hosts too.
    pub names: bool,
}

impl Redaction {
    /// Returns whether nothing is left out.
    pub fn is_nothing(self) -> bool {
        self == Redaction::default()
    }

    /// Returns how traces are read after it: in pseudonyms there are no values to look for.
    pub fn reading(self, reading: Reading) -> Reading {
        if self.names { reading.with(ReadingRule::Templates, false) } else { reading }
    }
}

impl Portable {
    /// Leaves out tags and replaces names, as chosen. `set` is the one they were copied from. If ids are replaced, `first` is
    /// the number of the set's first trace, and links to traces of other sets lead nowhere.
    pub fn redact(&mut self, redaction: Redaction, pseudonyms: &Pseudonyms, set: &TraceSet, first: u64) {
        if redaction.is_nothing() {
            return;
        }
        let mut old = std::mem::take(&mut self.names);
        let mut names = Interner::default();
        if redaction.tags {
            set.tags.keep_weights(&mut self.tag_sets, &mut old);
            self.high_cardinality.clear();
            self.asked.clear();
        }
        for (key, value) in self.tag_sets.iter_mut().flatten() {
            (*key, *value) = (names.intern(old.get(*key)), names.intern(old.get(*value)));
        }
        let mut operations: BTreeMap<(u32, u32), Symbol> = BTreeMap::new();
        for span in &mut self.spans {
            let service = self.processes.get(span.process as usize).map_or(Symbol::NONE, |process| process.0);
            span.operation = *operations.entry((service.0, span.operation.0)).or_insert_with(|| {
                let (service, operation) = (old.get(service), old.get(span.operation));
                if redaction.names {
                    names.intern(&pseudonyms.operation(service, operation))
                } else {
                    names.intern(operation)
                }
            });
        }
        for (service, host, _) in &mut self.processes {
            let name = old.get(*service);
            *service =
                if redaction.names { names.intern(&pseudonyms.service(name)) } else { names.intern(name) };
            *host = host.map(|host| names.intern(&pseudonyms.host(old.get(host))));
        }
        self.names = names;
        if redaction.names {
            self.number_ids(set, first);
        }
    }

    /// Puts numbers in place of ids: that of a trace is `first` and its place in the set, those of its spans follow the order
    /// of their ids.
    fn number_ids(&mut self, set: &TraceSet, first: u64) {
        self.number_links(set, first);
        let texts = std::mem::take(&mut self.id_texts);
        let mut rest = self.spans.as_mut_slice();
        for (id, spans) in &mut self.traces {
            *id = match id_in(set, *id, &texts).and_then(|id| set.find_trace(id)) {
                Some(trace) => numbered_trace(first, trace, id.group),
                None => TraceId::NONE,
            };
            let (own, others) = rest.split_at_mut((*spans as usize).min(rest.len()));
            rest = others;
            let numbers = SpanNumbers::of(own.iter().flat_map(|span| [span.id, span.parent]), &texts);
            for span in own {
                (span.id, span.parent) = (numbers.of_id(span.id), numbers.of_id(span.parent));
            }
        }
    }

    /// Puts the same numbers into links. Those that lead to nothing in the set still do, and stay different ones.
    fn number_links(&mut self, set: &TraceSet, first: u64) {
        if self.links.is_empty() {
            return;
        }
        let mut duplicates: BTreeMap<TraceId, Vec<SpanId>> = BTreeMap::new();
        for (id, span) in &set.duplicates {
            duplicates.entry(*id).or_default().extend([span.id, span.parent]);
        }
        let mut by_trace: BTreeMap<u32, SpanNumbers> = BTreeMap::new();
        let texts = &self.id_texts;
        let mut numbered = |trace: TraceId, span: SpanId| {
            let trace = set.find_trace(id_in(set, trace, texts)?)?;
            let TraceRow { id, first: row, end, .. } = set.traces()[trace as usize];
            let span = if span.text { SpanId::find(&span.to_text(texts), &set.id_texts)? } else { span };
            let numbers = by_trace.entry(trace).or_insert_with(|| {
                let rows = (row..end).map(|row| set.raw(row)).flat_map(|span| [span.id, span.parent]);
                SpanNumbers::of(rows.chain(duplicates.get(&id).into_iter().flatten().copied()), &set.id_texts)
            });
            let span = Some(numbers.of_id(span)).filter(|span| !span.is_none())?;
            Some((numbered_trace(first, trace, id.group), span))
        };
        for (link, nothing) in self.links.iter_mut().zip(1..) {
            let nothing = (TraceId::NONE, SpanId::hex(nothing));
            (link.trace, link.span) = numbered(link.trace, link.span).unwrap_or(nothing);
            (link.to_trace, link.to_span) = numbered(link.to_trace, link.to_span).unwrap_or(nothing);
        }
    }
}

/// Returns the id in a set of a trace that was copied from it.
fn id_in(set: &TraceSet, id: TraceId, texts: &Interner) -> Option<TraceId> {
    match id.text {
        true => TraceId::find(&id.to_text(texts), &set.id_texts).map(|found| found.in_group(id.group)),
        false => Some(id),
    }
}

fn numbered_trace(first: u64, trace: u32, group: u8) -> TraceId {
    TraceId::hex(u128::from(first) + u128::from(trace)).in_group(group)
}

/// Numbers of the spans of a trace, from 1 on, by the order of their ids.
struct SpanNumbers(BTreeMap<SpanId, u64>);

impl SpanNumbers {
    /// Numbers some ids, which may be there several times.
    fn of(ids: impl Iterator<Item = SpanId>, texts: &Interner) -> SpanNumbers {
        let order: BTreeSet<(String, SpanId)> =
            ids.filter(|id| !id.is_none()).map(|id| (id.to_text(texts), id)).collect();
        SpanNumbers(order.into_iter().zip(1..).map(|((_, id), number)| (id, number)).collect())
    }

    fn of_id(&self, id: SpanId) -> SpanId {
        self.0.get(&id).map_or(SpanId::NONE, |&number| SpanId::hex(number))
    }
}
