//! Fewer root endpoints: those that differ in the values in their names are one where they are many, and of more than
//! [`MOST_ROOTS`](super::MOST_ROOTS) those with the least time are summed together, service by service (`docs/definitions/summary.md`
//! section 4).

use super::by_weight::RootWeights;
use super::maps::join_maps;
use super::section::{ByRoot, Kind, OTHERS, Renaming};
use super::{Merger, OtherSettings, RootPart, Summary};
use pathlight_trace::{Endpoint, template};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Names of root endpoints of one service that differ in their values alone, up to which each stays.
pub(crate) const MOST_NAMES: usize = 100;

/// The section of the root endpoints that are summed together. A file has none where there are few.
pub(crate) const LESSER: Kind = Kind { name: "lesser", version: 1, words: "root endpoints summed together" };

/// A root endpoint that is summed together with others, and what is kept of it by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LesserRoot {
    /// Its requests.
    pub part: RootPart,
    /// The same by weight; `None` where each stands for itself.
    pub(crate) weights: Option<RootWeights>,
}

impl LesserRoot {
    fn join(parts: Vec<LesserRoot>) -> LesserRoot {
        let is_weighted = parts.iter().any(|of| of.weights.is_some());
        let of_ones = |of: &LesserRoot| RootWeights::of_ones(&of.part, None);
        let weights = |of: &LesserRoot| of.weights.clone().unwrap_or_else(|| of_ones(of));
        LesserRoot {
            weights: is_weighted.then(|| RootWeights::join(parts.iter().map(weights).collect())),
            part: RootPart::join(parts.into_iter().map(|of| of.part).collect()),
        }
    }
}

/// Returns what a root endpoint is called without the values in its name; `None` if it has none.
pub(crate) fn without_values(root: &Endpoint) -> Option<Endpoint> {
    match template(&root.operation) {
        Cow::Owned(template) => Some(Endpoint::new(root.service.as_str(), template)),
        Cow::Borrowed(_) => None,
    }
}

/// Returns the endpoint under which the lesser root endpoints of a service are summed.
pub(crate) fn others_of(root: &Endpoint) -> Endpoint {
    Endpoint::new(root.service.as_str(), OTHERS)
}

/// Returns the root endpoint under which a summary has a request that began at this one.
pub(crate) fn kept_as(roots: &ByRoot<RootPart>, root: &Endpoint) -> Endpoint {
    if roots.contains_key(root) {
        return root.clone();
    }
    without_values(root).filter(|name| roots.contains_key(name)).unwrap_or_else(|| others_of(root))
}

/// What becomes of root endpoints.
#[derive(Default)]
pub(crate) struct Plan {
    /// Names without values that take the place of those with values.
    folded: BTreeSet<Endpoint>,
    /// Names of those that are summed together with others of their service.
    lesser: BTreeSet<Endpoint>,
}

impl Plan {
    /// Decides over root endpoints with the sum of their latencies, and over lesser ones beside them.
    pub fn of(roots: &BTreeMap<Endpoint, u128>, lesser: &ByRoot<LesserRoot>, most: usize) -> Plan {
        let mut names: BTreeMap<Endpoint, usize> = BTreeMap::new();
        for template in roots.keys().chain(lesser.keys()).filter_map(without_values) {
            *names.entry(template).or_default() += 1;
        }
        names.retain(|template, names| {
            *names > MOST_NAMES || roots.contains_key(template) || lesser.contains_key(template)
        });
        let mut plan = Plan { folded: names.into_keys().collect(), lesser: BTreeSet::new() };
        plan.lesser = lesser.keys().map(|root| plan.name(root)).collect();
        let mut totals: BTreeMap<Endpoint, u128> = BTreeMap::new();
        for (root, us) in roots.iter().filter(|(root, _)| root.operation != OTHERS) {
            let total = totals.entry(plan.name(root)).or_default();
            *total = total.saturating_add(*us);
        }
        totals.retain(|name, _| !plan.lesser.contains(name));
        let mut ranked: Vec<(Reverse<u128>, Endpoint)> =
            totals.into_iter().map(|(name, us)| (Reverse(us), name)).collect();
        ranked.sort_unstable();
        plan.lesser.extend(ranked.into_iter().skip(most).map(|(_, name)| name));
        plan
    }

    /// Returns what a root endpoint is called, without the values in its name where many differ in these alone.
    pub fn name(&self, root: &Endpoint) -> Endpoint {
        without_values(root).filter(|name| self.folded.contains(name)).unwrap_or_else(|| root.clone())
    }

    /// Returns the name under which a root endpoint is kept by itself, if it is summed together with others.
    pub fn lesser(&self, root: &Endpoint) -> Option<Endpoint> {
        let name = self.name(root);
        self.lesser.contains(&name).then_some(name)
    }

    /// Returns the name under which the requests of a root endpoint are summed, if that is another one.
    pub fn to(&self, root: &Endpoint) -> Option<Endpoint> {
        let name = self.name(root);
        match self.lesser.contains(&name) {
            true => Some(others_of(root)),
            false => (name != *root).then_some(name),
        }
    }

    /// Joins summaries of one root endpoint each, as it says; `lesser` are those that were summed together before. Those to
    /// sum together come service by service, so that one service's wait at a time.
    fn join(
        &self,
        parts: impl Iterator<Item = (Endpoint, Summary)>,
        lesser: ByRoot<LesserRoot>,
    ) -> Result<Summary, OtherSettings> {
        let mut by_itself: Vec<(Endpoint, LesserRoot)> =
            lesser.into_iter().map(|(root, of)| (self.name(&root), of)).collect();
        let (mut joined, mut together) = (Vec::new(), Merger::default());
        let mut last: Option<Endpoint> = None;
        for (root, mut part) in parts {
            if let Some(name) = self.lesser(&root)
                && let Some(of) = part.roots.get(&root)
            {
                let weights = part.by_weight.get(&root).map(RootWeights::without_endpoints);
                by_itself.push((name, LesserRoot { part: of.clone(), weights }));
            }
            let Some(to) = self.to(&root) else {
                joined.push(part);
                continue;
            };
            part = part.renamed(Renaming { from: &root, to: &to });
            if last.as_ref().is_some_and(|last| *last != to) {
                joined.push(std::mem::take(&mut together).finish()?);
            }
            last = Some(to);
            together.add(part)?;
        }
        joined.push(together.finish()?);
        let lesser = join_maps(std::iter::once(by_itself), LesserRoot::join);
        Ok(Summary { lesser, ..Summary::join(joined)? })
    }
}

impl Summary {
    pub(crate) fn renamed(self, renaming: Renaming<'_>) -> Summary {
        Summary {
            roots: self.roots.into_iter().map(|(root, part)| (renaming.name(root), part)).collect(),
            by_weight: (self.by_weight.into_iter())
                .map(|(root, of)| (renaming.name(root), of.renamed(renaming)))
                .collect(),
            sections: self.sections.renamed(renaming),
            ..self
        }
    }

    /// Returns it with all sums of at most so many root endpoints: those with the most time. The others are summed
    /// together, service by service, and have their latencies and errors by themselves. Root endpoints of one service that
    /// differ in the values in their names alone are one if they are more than a hundred.
    ///
    /// # Errors
    /// [`OtherSettings`] never, as all is of one summary.
    pub fn with_roots(self, most: usize) -> Result<Summary, OtherSettings> {
        let totals = self.roots.iter().map(|(root, part)| (root.clone(), part.latency_us.sum)).collect();
        let plan = Plan::of(&totals, &self.lesser, most);
        self.planned(&plan)
    }

    /// Returns it as a plan says.
    ///
    /// # Errors
    /// [`OtherSettings`] never, as all is of one summary.
    pub(crate) fn planned(mut self, plan: &Plan) -> Result<Summary, OtherSettings> {
        if !self.is_changed_by(plan) {
            return Ok(self);
        }
        let (traces, spans) = (self.traces, self.spans);
        let (start_us, lesser) = (self.start_us, std::mem::take(&mut self.lesser));
        Ok(Summary { traces, spans, start_us, ..plan.join(self.into_roots(), lesser)? })
    }

    /// Adds root endpoints that are summed together in it, and are not listed yet.
    pub(super) fn with_lesser(self, lesser: Vec<(Endpoint, LesserRoot)>) -> Summary {
        let listed: Vec<(Endpoint, LesserRoot)> = self.lesser.into_iter().collect();
        Summary { lesser: join_maps([listed, lesser].into_iter(), LesserRoot::join), ..self }
    }

    fn is_changed_by(&self, plan: &Plan) -> bool {
        self.roots.keys().any(|root| plan.to(root).is_some())
            || self.lesser.keys().any(|root| plan.name(root) != *root)
    }

    /// Returns how many root endpoints there are, with those that are summed together.
    pub fn root_endpoints(&self) -> u64 {
        let together = if self.lesser.is_empty() {
            0
        } else {
            self.roots.keys().filter(|root| root.operation == OTHERS).count()
        };
        (self.roots.len() - together + self.lesser.len()) as u64
    }

    /// Returns how many root endpoints are summed together, and what share of the latency of all requests they have.
    pub fn lesser_share(&self) -> (u64, f64) {
        // A file made by hand may hold any sums.
        let sum = |sum: u128, part: &RootPart| sum.saturating_add(part.latency_us.sum);
        let all = self.roots.values().fold(0, sum);
        let lesser = self.lesser.values().map(|of| &of.part).fold(0, sum);
        (self.lesser.len() as u64, if all == 0 { 0.0 } else { lesser as f64 / all as f64 })
    }

    /// Returns summaries in which a root endpoint that one of them sums together with others is so in all, and names are
    /// without values where they are in one: only then what is beside each other is of the same requests.
    pub(crate) fn alike<'a>(of: &[&'a Summary]) -> Vec<Cow<'a, Summary>> {
        let lesser: BTreeSet<&Endpoint> = of.iter().flat_map(|part| part.lesser.keys()).collect();
        let known: BTreeSet<&Endpoint> =
            of.iter().flat_map(|part| part.roots.keys()).chain(lesser.iter().copied()).collect();
        let templates = known.iter().filter_map(|root| without_values(root));
        let mut plan =
            Plan { folded: templates.filter(|name| known.contains(name)).collect(), ..Plan::default() };
        plan.lesser = lesser.into_iter().map(|root| plan.name(root)).collect();
        let alike = |part: &&'a Summary| {
            // The parts of one summary have the same settings.
            let planned = part.is_changed_by(&plan).then(|| (*part).clone().planned(&plan).ok()).flatten();
            planned.map_or(Cow::Borrowed(*part), Cow::Owned)
        };
        of.iter().map(alike).collect()
    }
}

/// Takes the lesser root endpoints out of some summaries, so that those of one are so in all; returns them joined.
pub(crate) fn lesser_of_all(parts: &mut [Summary]) -> Result<ByRoot<LesserRoot>, OtherSettings> {
    let names: BTreeSet<Endpoint> = parts.iter().flat_map(|part| part.lesser.keys().cloned()).collect();
    if names.is_empty() {
        return Ok(ByRoot::new());
    }
    let plan = Plan { folded: BTreeSet::new(), lesser: names };
    for part in parts.iter_mut() {
        *part = std::mem::take(part).planned(&plan)?;
    }
    Ok(join_maps(parts.iter_mut().map(|part| std::mem::take(&mut part.lesser)), LesserRoot::join))
}

/// Takes out the lesser root endpoints that are summed under this one.
pub(crate) fn of_others(lesser: &mut ByRoot<LesserRoot>, root: &Endpoint) -> ByRoot<LesserRoot> {
    if root.operation != OTHERS {
        return ByRoot::new();
    }
    lesser.extract_if(.., |name, _| name.service == root.service).collect()
}
