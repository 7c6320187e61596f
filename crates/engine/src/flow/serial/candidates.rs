//! Which calls could run side by side, as far as their order says; and of these the groups whose arguments do not follow from one
//! another.

use super::observe::{RUN, SerialSums, UnitSums};
use super::{ArgumentSums, SerialGroup};
use crate::flow::{CallsBeside, Saving};
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Fewer times that a call follows one of another endpoint show nothing: it may have been by chance, or what was asked.
const FEWEST_PAIRS: u64 = 20;
/// The same of calls of one endpoint, of which an invocation makes several.
const FEWEST: u64 = 5;
/// Endpoints in one group at most.
const LONGEST: usize = 8;

/// Two callees of a parent, or one twice: the second begins when the first has ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallPair {
    /// The endpoint that calls both.
    pub parent: Endpoint,
    /// The callee whose calls end first.
    pub first: Endpoint,
    /// The callee whose calls begin then.
    pub second: Endpoint,
}

/// Calls that always run one after the other.
pub struct Candidates<'a> {
    sums: &'a SerialSums,
    /// By parent and callee, the callee that it follows.
    before: BTreeMap<(&'a Endpoint, &'a Endpoint), &'a Endpoint>,
    /// Parents and callees of which the calls follow each other.
    runs: BTreeSet<(&'a Endpoint, &'a Endpoint)>,
    tau_ppm: u32,
}

fn are_nearly_all(n: u64, of: u64, tau_ppm: u32) -> bool {
    n > 0 && u128::from(n) * 1_000_000 >= u128::from(of) * u128::from(tau_ppm)
}

/// Returns from how many calls on an invocation counts: any that has several, if the number is always the same; else from a run
/// on, since of two or three calls of which the second is not always made it may depend on the first.
fn least_calls(unit: &UnitSums, tau_ppm: u32) -> u32 {
    let (calls, invocations) = unit.usual_number();
    let is_constant = calls > 1 && are_nearly_all(invocations, unit.invocations(), tau_ppm);
    if is_constant { 2 } else { RUN }
}

impl<'a> Candidates<'a> {
    /// Returns the calls that run one after the other in at least `tau_ppm` millionths of the invocations that make them.
    pub fn new(sums: &'a SerialSums, tau_ppm: u32) -> Candidates<'a> {
        let mut before = BTreeMap::new();
        for ((parent, first, second), follows) in &sums.follows {
            let [a, b] = [first, second].map(|callee| sums.units.get(&(parent.clone(), callee.clone())));
            let (Some(a), Some(b)) = (a, b) else { continue };
            let n = follows.gaps.len();
            // Both are there or neither: else whether the second is called may depend on the first. So may how often.
            let is_always = are_nearly_all(n, a.invocations().max(b.invocations()), tau_ppm)
                && are_nearly_all(b.usual_number().1, b.invocations(), tau_ppm);
            if n >= FEWEST_PAIRS && is_always && follows.gaps.are_usual() {
                before.insert((parent, second), first);
            }
        }
        let runs = sums.units.iter().filter(|(_, unit)| {
            let (n, serial, _) = unit.runs_from(least_calls(unit, tau_ppm));
            are_nearly_all(serial, n, tau_ppm) && unit.gaps.len() >= FEWEST && unit.gaps.are_usual()
        });
        let runs = runs.map(|((parent, callee), _)| (parent, callee)).collect();
        Candidates { sums, before, runs, tau_ppm }
    }

    /// Returns the callees that one follows, nearest first.
    fn ancestors(&self, parent: &'a Endpoint, callee: &'a Endpoint) -> impl Iterator<Item = &'a Endpoint> {
        let next = move |at: &&'a Endpoint| self.before.get(&(parent, *at)).copied();
        std::iter::successors(next(&callee), next).take(LONGEST - 1)
    }

    /// Returns the pairs of which it matters whether arguments follow from one another.
    pub fn pairs(&self) -> Vec<CallPair> {
        let pair = |parent: &Endpoint, first: &Endpoint, second: &Endpoint| CallPair {
            parent: parent.clone(),
            first: first.clone(),
            second: second.clone(),
        };
        let chained = self.before.keys().flat_map(|&(parent, second)| {
            self.ancestors(parent, second).map(move |first| pair(parent, first, second))
        });
        let runs = self.runs.iter().map(|&(parent, callee)| pair(parent, callee, callee));
        chained.chain(runs).collect()
    }

    /// Returns the groups whose arguments do not follow from one another, those that could save most first.
    pub fn groups(&self, arguments: &BTreeMap<CallPair, ArgumentSums>) -> Vec<SerialGroup> {
        let follows = |parent: &Endpoint, first: &Endpoint, second: &Endpoint| {
            let pair = CallPair { parent: parent.clone(), first: first.clone(), second: second.clone() };
            arguments.get(&pair).is_some_and(ArgumentSums::do_follow)
        };
        let mut groups: Vec<(u128, SerialGroup)> = Vec::new();
        for &(parent, last) in self.before.keys() {
            if follows(parent, last, last) {
                continue;
            }
            let mut chain = vec![last];
            for first in self.ancestors(parent, last) {
                if follows(parent, first, first) || chain.iter().any(|second| follows(parent, first, second))
                {
                    break;
                }
                chain.push(first);
            }
            if chain.len() > 1 {
                chain.reverse();
                groups.push(self.group(parent, &chain));
            }
        }
        // A group that a longer one contains says nothing more.
        let all: Vec<CallsBeside> = groups.iter().map(|(_, group)| group.calls.clone()).collect();
        groups.retain(|(_, group)| {
            let calls = &group.calls;
            !all.iter().any(|other| {
                other.parent == calls.parent
                    && other.callees.len() > calls.callees.len()
                    && calls.callees.iter().all(|callee| other.callees.contains(callee))
            })
        });
        let runs = self.runs.iter().filter(|(parent, callee)| !follows(parent, callee, callee));
        groups.extend(runs.map(|&(parent, callee)| self.group(parent, &[callee])));
        // Stable: equal ones stay by name.
        groups.compact_sort_by(|a, b| {
            b.0.cmp(&a.0).then_with(|| {
                (&a.1.calls.parent, &a.1.calls.callees).cmp(&(&b.1.calls.parent, &b.1.calls.callees))
            })
        });
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// Returns how many of the pairs are left out because the arguments of one follow from the other.
    pub fn dependent(&self, arguments: &BTreeMap<CallPair, ArgumentSums>) -> u64 {
        let adjacent = |pair: &CallPair| {
            pair.first == pair.second || self.before.get(&(&pair.parent, &pair.second)) == Some(&&pair.first)
        };
        arguments.iter().filter(|(pair, sums)| adjacent(pair) && sums.do_follow()).count() as u64
    }

    /// Returns a group without its savings, and what it could save at most, in microseconds over all requests.
    fn group(&self, parent: &Endpoint, callees: &[&Endpoint]) -> (u128, SerialGroup) {
        let unit = |callee: &Endpoint| self.sums.units.get(&(parent.clone(), callee.clone()));
        let (mut most_us, mut calls, mut numbers) = (0, 0.0, (0, 0));
        for (at, callee) in callees.iter().enumerate() {
            if let Some(before) = at.checked_sub(1).map(|before| callees[before]) {
                let key = (parent.clone(), before.clone(), (*callee).clone());
                most_us += self.sums.follows.get(&key).map_or(0, |follows| follows.most_us);
            }
            let Some(unit) = unit(callee) else { continue };
            most_us += unit.most_us;
            let least = if callees.len() > 1 { 1 } else { least_calls(unit, self.tau_ppm) };
            let (n, _, all) = unit.runs_from(least);
            calls += all as f64 / n.max(1) as f64;
            let mut range = unit.runs.range(least..).map(|(&calls, _)| u64::from(calls));
            let first = range.next().unwrap_or(0);
            numbers = (numbers.0 + first, numbers.1 + range.next_back().unwrap_or(first));
        }
        let calls_of =
            CallsBeside { parent: parent.clone(), callees: callees.iter().map(|c| (*c).clone()).collect() };
        let group = SerialGroup {
            calls: calls_of,
            mean_calls: calls,
            numbers,
            affected: 0,
            saved_us: Saving::default(),
        };
        (most_us, group)
    }
}
