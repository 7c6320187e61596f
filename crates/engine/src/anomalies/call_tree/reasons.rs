//! Reasons why a request is anomalous, in terms of calls (`docs/definitions/anomaly.md` section 5).

use super::super::PartOfRequest;
use super::categories::Counts;
use super::facts::Dictionary;
use super::model::State;
use super::tails::{Histogram, amount, join, percentile};
use super::{FactKind, Located, RequestFacts, Scratch, Tables, TreeModel, TreeVerdict};
use crate::anomalies::examples::ExampleSearch;
use crate::anomalies::paper::FeatureCell;
use crate::anomalies::sets::FOLDS;
use crate::requests::RequestRef;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, NO_ROW};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The least surprise of a fact that is named.
const NAMED: f64 = 3.0;
/// Reasons of a request.
const REASONS: usize = 3;
/// Of structure, facts with at least this surprise are equally good reasons: no call of training had them.
const CERTAIN: f64 = 5.0;
/// A delay is named if it adds at least this share of what the greatest of the request adds.
const WORTH_NAMING: f64 = 0.05;
/// An endpoint is missing or new if at most this share of calls is without or with it.
const RARE: f64 = 0.05;

/// Kind of a reason. The order is that of reasons of structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// A call that nearly all make is missing.
    MissingCall,
    /// A call that hardly any makes.
    NewCall,
    /// The calls of a span are each normal, and not together.
    Combination,
    /// A span fails, or does not where nearly all do.
    Error,
    /// A call is made more or less often.
    CallCount,
    /// A call begins after another one than is normal.
    Order,
    /// A call is on the critical path, or off it, where nearly all are not.
    CriticalPath,
    /// Self time of a span.
    SelfTime,
    /// Time of a call whose own self time is normal.
    TotalTime,
    /// Latency of the request, where no call explains it.
    Latency,
    /// Time before a call.
    Wait,
    /// Calls reach beyond the span that makes them.
    Outside,
    /// Self time of a span on the critical path is longer than that of any training call of its endpoint that makes the same
    /// calls, whoever called.
    Delay,
}

/// One reason.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeReason {
    /// Kind of the reason.
    pub kind: ReasonKind,
    /// The part of the request it is about.
    pub part: PartOfRequest,
    /// The call path it is about, from the root.
    pub path: Vec<Endpoint>,
    /// Of an order what the call begins after; `None` for the start of its span.
    pub after: Option<Endpoint>,
    /// Of a delay the endpoint that the span calls; `None` if it calls none or several.
    pub callee: Option<Endpoint>,
    /// Training calls compared with.
    pub calls: u32,
    /// Those of them that are like this one.
    pub alike: u32,
    /// Microseconds; of a number of calls that number; of an error and the critical path 1 for yes.
    pub value: u64,
    /// 5th and 95th percentile of training; `None` of categories and delays.
    pub range: Option<(f64, f64)>,
    /// Of a delay the longest self time of training, in microseconds.
    pub longest_us: Option<f64>,
    /// Microseconds beyond that range.
    pub beyond_us: f64,
    surprise: f64,
}

/// Reasons for the verdict on a request.
pub struct Reasons {
    /// Delays first, the greatest first; then structure, then other times.
    pub reasons: Vec<TreeReason>,
    /// The part that leads: that of the verdict, or [`PartOfRequest::Covering`] if it is off the path and a span with an anomalous
    /// time covers a sibling.
    pub part: PartOfRequest,
}

/// Explainer of verdicts, made once for a model and the facts it judges.
pub struct Explainer<'a> {
    model: &'a TreeModel,
    tables: &'a Tables,
    located: &'a Located,
    facts: &'a RequestFacts,
    /// Of each call path of the facts its number in the model.
    paths: Vec<u32>,
}

fn chain(dictionary: &Dictionary, context: u32) -> Vec<Endpoint> {
    let chain = dictionary.paths.chain(context);
    chain.into_iter().map(|endpoint| dictionary.paths.endpoints[endpoint as usize].clone()).collect()
}

fn total(counts: &Counts) -> u32 {
    counts.iter().sum()
}

impl<'a> Explainer<'a> {
    /// Gets ready to explain.
    pub fn new(
        model: &'a TreeModel,
        tables: &'a Tables,
        located: &'a Located,
        facts: &'a RequestFacts,
    ) -> Explainer<'a> {
        let paths = facts.dictionary.paths.numbers_in(&model.dictionary.paths);
        Explainer { model, tables, located, facts, paths }
    }

    /// Returns why a row has its verdict. A row that training has seen is explained by the other folds.
    pub fn explain(
        &self,
        row: usize,
        verdict: &TreeVerdict,
        is_trained: bool,
        scratch: &mut Scratch,
    ) -> Reasons {
        let folds = match is_trained {
            true => vec![usize::from(self.facts.folds[row])],
            false => (0..FOLDS).collect(),
        };
        self.facts.row(row, &mut scratch.facts);
        let amounts: Vec<u64> =
            scratch.facts.iter().map(|fact| PartOfRequest::unmark(fact.value).1).collect();
        self.tables.read(self.model, self.located, self.facts, row, scratch);
        // The most surprising fact of each kind and call path.
        let mut most: BTreeMap<(FactKind, u32), (f64, usize)> = BTreeMap::new();
        let mut strongest: Option<(f64, usize)> = None;
        for (at, fact) in scratch.facts.iter().enumerate() {
            let place = &self.located.cells[fact.cell as usize];
            let sum: f64 =
                folds.iter().map(|&fold| self.tables.surprise(self.model, self.located, fact, fold)).sum();
            let s = sum / folds.len() as f64;
            let is_leading = Tables::part(place.kind, fact.value).place() == verdict.part.place();
            if is_leading && s > 1.0 && strongest.is_none_or(|(most, _)| s > most) {
                strongest = Some((s, at));
            }
            if s > NAMED {
                let best =
                    most.entry(self.facts.dictionary.cells[fact.cell as usize].key()).or_insert((s, at));
                if s > best.0 {
                    *best = (s, at);
                }
            }
        }
        let mut facts: Vec<(f64, usize)> = most.into_values().collect();
        if facts.is_empty() {
            facts.extend(strongest);
        }
        // Of all facts: those that are said may be others.
        let covers = facts.iter().any(|&(_, at)| {
            let fact = scratch.facts[at];
            Tables::part(self.located.cells[fact.cell as usize].kind, fact.value) == PartOfRequest::Covering
        });
        let mut reasons: Vec<(u32, TreeReason)> = Vec::new();
        for (s, at) in facts {
            let fact = scratch.facts[at];
            let cell = self.facts.dictionary.cells[fact.cell as usize];
            let part = Tables::part(cell.kind, fact.value);
            let found = match cell.kind.is_category() || cell.kind == FactKind::Count {
                true => self.of_structure(fact.cell, amounts[at]),
                false => self.of_time(fact.cell, amounts[at]).into_iter().collect(),
            };
            reasons.extend(
                found.into_iter().map(|reason| (cell.context, TreeReason { part, surprise: s, ..reason })),
            );
        }
        let delays = self.delays(&amounts, is_trained.then_some(folds[0]), scratch);
        let mut reasons = self.without_echoes(reasons);
        let strength = |reason: &TreeReason| {
            let certainty = (10.0 * reason.surprise.min(CERTAIN)) as u64;
            let beyond_us = reason.beyond_us as u64;
            let order = if reason.part == PartOfRequest::Structure { Some(reason.kind) } else { None };
            (
                reason.part.place(),
                Reverse(beyond_us),
                order.map(|kind| (Reverse(certainty), kind)),
                reason.path.len(),
            )
        };
        reasons.compact_sort_by(|a, b| strength(a).cmp(&strength(b)).then_with(|| a.path.cmp(&b.path)));
        reasons.truncate(REASONS);
        reasons.splice(0..0, delays);
        let part = if verdict.part == PartOfRequest::OffPath && covers {
            PartOfRequest::Covering
        } else {
            verdict.part
        };
        Reasons { reasons, part }
    }

    /// Returns the self times that delay a request whose facts were read, the greatest delay first; `amounts` are those before
    /// they were read.
    fn delays(&self, amounts: &[u64], left_out: Option<usize>, scratch: &Scratch) -> Vec<TreeReason> {
        let longest = &self.tables.longest;
        if !self.tables.has_delays() {
            return Vec::new();
        }
        // The greatest of each group: who called is not said.
        let mut by_group: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
        for (at, fact) in scratch.facts.iter().enumerate() {
            let place = &self.located.cells[fact.cell as usize];
            let (part, q) = PartOfRequest::unmark(fact.value);
            if place.group == NO_ROW || part != PartOfRequest::OnPath {
                continue;
            }
            let beyond_us = longest.beyond_us(place.group, q as u16, left_out);
            let most = by_group.entry(place.group).or_insert((beyond_us, at));
            if beyond_us > most.0 {
                *most = (beyond_us, at);
            }
        }
        let mut found: Vec<(f64, usize)> = by_group.into_values().filter(|(us, _)| *us > 0.0).collect();
        found.compact_sort_by(|a, b| b.0.total_cmp(&a.0));
        let least_us = WORTH_NAMING * found.first().map_or(0.0, |(us, _)| *us);
        let mut reasons: Vec<TreeReason> = Vec::new();
        for &(beyond_us, at) in found.iter().filter(|(us, _)| *us > least_us) {
            let fact = scratch.facts[at];
            let Some((q, calls)) = longest.longest(self.located.cells[fact.cell as usize].group, left_out)
            else {
                continue;
            };
            let dictionary = &self.facts.dictionary;
            let cell = dictionary.cells[fact.cell as usize];
            let callee = match dictionary.sets[cell.condition as usize].as_slice() {
                [callee] => Some(dictionary.paths.endpoints[*callee as usize].clone()),
                _ => None,
            };
            reasons.push(TreeReason {
                kind: ReasonKind::Delay,
                part: PartOfRequest::OnPath,
                path: chain(dictionary, cell.context),
                after: None,
                callee,
                calls,
                alike: 0,
                value: amounts[at],
                range: None,
                longest_us: Some(longest.us(q)),
                beyond_us,
                surprise: 0.0,
            });
        }
        // Numbers of call paths must not decide among equals.
        reasons.compact_sort_by(|a, b| b.beyond_us.total_cmp(&a.beyond_us).then_with(|| a.path.cmp(&b.path)));
        reasons.truncate(REASONS);
        reasons
    }

    /// Leaves out the time of a call or request that something in it explains.
    fn without_echoes(&self, reasons: Vec<(u32, TreeReason)>) -> Vec<TreeReason> {
        let paths = &self.facts.dictionary.paths;
        let is_below = |mut context: u32, above: u32| {
            while context != NO_ROW && context != above {
                context = paths.nodes[context as usize].parent;
            }
            context == above
        };
        let is_sum = |kind| matches!(kind, ReasonKind::TotalTime | ReasonKind::Latency);
        let is_echo = |(context, reason): &(u32, TreeReason)| {
            is_sum(reason.kind)
                && reasons.iter().any(|(other, inner)| {
                    let is_inner =
                        if is_sum(inner.kind) { other != context } else { inner.kind != ReasonKind::Outside };
                    is_inner && is_below(*other, *context) && 2.0 * inner.beyond_us >= reason.beyond_us
                })
        };
        let kept: Vec<bool> = reasons.iter().map(|reason| !is_echo(reason)).collect();
        let kept = reasons.into_iter().zip(kept).filter(|(_, is_kept)| *is_kept);
        kept.map(|((_, reason), _)| reason).collect()
    }

    /// Returns the call path, in the model, of the root of a row; [`NO_ROW`] if training has none.
    pub fn root(&self, row: usize) -> u32 {
        self.paths[self.facts.rows[row].root as usize]
    }

    /// Returns the normal request most like that of a row. One that training has seen is not like itself.
    pub fn nearest<'e>(
        &self,
        row: usize,
        is_trained: bool,
        examples: &ExampleSearch<'e>,
        scratch: &mut Scratch,
    ) -> Option<&'e RequestRef> {
        self.facts.row(row, &mut scratch.facts);
        let times = self.facts.self_times(&scratch.facts);
        let known = times.iter().filter_map(|cell| {
            let path = self.paths[cell.path as usize];
            (path != NO_ROW).then_some(FeatureCell { path, ..*cell })
        });
        let known: Vec<FeatureCell> = known.collect();
        let unknown = (times.len() - known.len()) as u32;
        let not = is_trained.then_some(&self.facts.rows[row].facts.request);
        examples.nearest(&known, unknown, not)
    }

    /// Returns the cells of the model that have the kind and call path of one of the facts.
    fn alike(&self, cell: u32) -> std::ops::Range<usize> {
        self.tables.cells_of(self.located.cells[cell as usize].key)
    }

    fn counts(&self, cell: usize) -> u32 {
        self.model.states[cell].calls()
    }

    fn of_structure(&self, number: u32, value: u64) -> Vec<TreeReason> {
        let dictionary = &self.facts.dictionary;
        let cell = dictionary.cells[number as usize];
        let same = self.alike(number);
        let calls = same.clone().map(|at| self.counts(at)).sum();
        let own = self.located.cells[number as usize].cell;
        let plain = TreeReason {
            kind: ReasonKind::Combination,
            part: PartOfRequest::Structure,
            path: chain(dictionary, cell.context),
            after: None,
            callee: None,
            longest_us: None,
            calls,
            alike: if own == NO_ROW { 0 } else { self.counts(own as usize) },
            value: u64::from(cell.condition == 1),
            range: None,
            beyond_us: 0.0,
            surprise: 0.0,
        };
        match cell.kind {
            FactKind::Calls => self.of_calls(cell.condition, same, plain),
            FactKind::After => {
                let after = dictionary.paths.endpoints.get(cell.condition as usize).cloned();
                vec![TreeReason { kind: ReasonKind::Order, after, ..plain }]
            }
            FactKind::Error => vec![TreeReason { kind: ReasonKind::Error, ..plain }],
            FactKind::Critical => vec![TreeReason { kind: ReasonKind::CriticalPath, ..plain }],
            _ => {
                let histogram = self.histogram(same);
                let number_of = |q: u16| amount(q).round();
                let alike = histogram.iter().filter(|(q, _)| number_of(*q) == value as f64);
                let alike = alike.map(|(_, counts)| total(counts)).sum();
                let range = range(&histogram).map(|(low, high)| (low.round(), high.round()));
                // What is said to be normal is no reason.
                if range.is_some_and(|(low, high)| (low..=high).contains(&(value as f64))) {
                    return Vec::new();
                }
                vec![TreeReason { kind: ReasonKind::CallCount, value, alike, range, ..plain }]
            }
        }
    }

    /// Returns what is missing or new among the calls of a span.
    fn of_calls(&self, set: u32, same: std::ops::Range<usize>, plain: TreeReason) -> Vec<TreeReason> {
        let judged = &self.facts.dictionary;
        let known = &self.model.dictionary;
        let has: Vec<&Endpoint> = judged.sets[set as usize]
            .iter()
            .map(|&endpoint| &judged.paths.endpoints[endpoint as usize])
            .collect();
        let mut with: BTreeMap<&Endpoint, u32> = has.iter().map(|&endpoint| (endpoint, 0)).collect();
        for at in same {
            let cell = known.cells[at];
            for &endpoint in self.model.members(cell.kind, cell.condition) {
                *with.entry(&known.paths.endpoints[endpoint as usize]).or_default() += self.counts(at);
            }
        }
        let rare = RARE * f64::from(plain.calls);
        let mut found: Vec<(u32, TreeReason)> = Vec::new();
        for (endpoint, calls) in with {
            let is_in = has.contains(&endpoint);
            let like = if is_in { calls } else { plain.calls - calls };
            if f64::from(like) <= rare {
                let kind = if is_in { ReasonKind::NewCall } else { ReasonKind::MissingCall };
                let path = [plain.path.as_slice(), std::slice::from_ref(endpoint)].concat();
                found.push((like, TreeReason { kind, path, alike: like, ..plain.clone() }));
            }
        }
        if found.is_empty() {
            return vec![plain];
        }
        found.compact_sort_by_key(|(like, _)| *like);
        found.into_iter().map(|(_, reason)| reason).collect()
    }

    fn histogram(&self, same: std::ops::Range<usize>) -> Histogram {
        join(self.model.states[same].iter().filter_map(State::numbers))
    }

    fn of_time(&self, number: u32, us: u64) -> Option<TreeReason> {
        let cell = self.facts.dictionary.cells[number as usize];
        let kind = match cell.kind {
            FactKind::SelfTime => ReasonKind::SelfTime,
            FactKind::TotalTime => ReasonKind::TotalTime,
            FactKind::Latency => ReasonKind::Latency,
            FactKind::Wait => ReasonKind::Wait,
            _ => ReasonKind::Outside,
        };
        let own = self.located.cells[number as usize].cell as usize;
        let is_apart = own != NO_ROW as usize && self.counts(own) >= super::model::ENOUGH;
        let same = if is_apart { own..own + 1 } else { self.alike(number) };
        let histogram = self.histogram(same);
        let offset_us = self.model.offset_us as f64;
        let (low, high) = range(&histogram)?;
        let (low, high) = ((low - offset_us).max(0.0), (high - offset_us).max(0.0));
        let us_f = us as f64;
        Some(TreeReason {
            kind,
            part: PartOfRequest::OnPath,
            path: chain(&self.facts.dictionary, cell.context),
            after: None,
            callee: None,
            longest_us: None,
            calls: histogram.iter().map(|(_, counts)| total(counts)).sum(),
            alike: 0,
            value: us,
            range: Some((low, high)),
            beyond_us: (us_f - high).max(low - us_f).max(0.0),
            surprise: 0.0,
        })
    }
}

fn range(histogram: &Histogram) -> Option<(f64, f64)> {
    Some((percentile(histogram, 0.05)?, percentile(histogram, 0.95)?))
}
