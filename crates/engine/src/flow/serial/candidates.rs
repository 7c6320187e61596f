//! Which calls could run side by side, as far as their order says; and of these the groups whose arguments do not follow from one
//! another.

use super::observe::{RUN, SerialSums, UnitSums, find};
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

/// Calls that always run one after the other. Names are numbers, those of the sums.
pub struct Candidates<'a> {
    sums: &'a SerialSums,
    /// By parent and callee, the callee that it follows.
    before: BTreeMap<[u32; 2], u32>,
    /// Parents and callees of which the calls follow each other.
    runs: BTreeSet<[u32; 2]>,
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
        for ([parent, first, second], follows) in &sums.follows {
            let [a, b] = [first, second].map(|callee| find(&sums.units, [*parent, *callee]));
            let (Some(a), Some(b)) = (a, b) else { continue };
            let n = follows.gaps.len();
            // Both are there or neither: else whether the second is called may depend on the first. So may how often.
            let is_always = are_nearly_all(n, a.invocations().max(b.invocations()), tau_ppm)
                && are_nearly_all(b.usual_number().1, b.invocations(), tau_ppm);
            if n >= FEWEST_PAIRS && is_always && follows.gaps.are_usual() {
                before.insert([*parent, *second], *first);
            }
        }
        let runs = sums.units.iter().filter(|(_, unit)| {
            let (n, serial, _) = unit.runs_from(least_calls(unit, tau_ppm));
            are_nearly_all(serial, n, tau_ppm) && unit.gaps.len() >= FEWEST && unit.gaps.are_usual()
        });
        let runs = runs.map(|(key, _)| *key).collect();
        Candidates { sums, before, runs, tau_ppm }
    }

    fn name(&self, number: u32) -> Endpoint {
        self.sums.names[number as usize].clone()
    }

    /// Returns the callees that one follows, nearest first.
    fn ancestors(&self, parent: u32, callee: u32) -> impl Iterator<Item = u32> {
        let next = move |at: &u32| self.before.get(&[parent, *at]).copied();
        std::iter::successors(next(&callee), next).take(LONGEST - 1)
    }

    /// Returns the pairs of which it matters whether arguments follow from one another.
    pub fn pairs(&self) -> Vec<CallPair> {
        let pair = |parent: u32, first: u32, second: u32| CallPair {
            parent: self.name(parent),
            first: self.name(first),
            second: self.name(second),
        };
        let chained = self.before.keys().flat_map(|&[parent, second]| {
            self.ancestors(parent, second).map(move |first| pair(parent, first, second))
        });
        let runs = self.runs.iter().map(|&[parent, callee]| pair(parent, callee, callee));
        chained.chain(runs).collect()
    }

    /// Returns the pairs of which the arguments of one follow from the other: parent, first, second.
    fn following(&self, arguments: &BTreeMap<CallPair, ArgumentSums>) -> BTreeSet<[u32; 3]> {
        let number = |name: &Endpoint| self.sums.names.binary_search(name).ok().map(|number| number as u32);
        let following = arguments.iter().filter(|(_, sums)| sums.do_follow());
        let numbers =
            |pair: &CallPair| Some([number(&pair.parent)?, number(&pair.first)?, number(&pair.second)?]);
        following.filter_map(|(pair, _)| numbers(pair)).collect()
    }

    /// Returns the groups whose arguments do not follow from one another, those that could save most first.
    pub fn groups(&self, arguments: &BTreeMap<CallPair, ArgumentSums>) -> Vec<SerialGroup> {
        let following = self.following(arguments);
        let follows = |parent: u32, first: u32, second: u32| following.contains(&[parent, first, second]);
        // By parent, ascending.
        let mut chains: Vec<(u32, Vec<u32>)> = Vec::new();
        for &[parent, last] in self.before.keys() {
            if follows(parent, last, last) {
                continue;
            }
            let mut chain = vec![last];
            for first in self.ancestors(parent, last) {
                if follows(parent, first, first) || chain.iter().any(|&second| follows(parent, first, second))
                {
                    break;
                }
                chain.push(first);
            }
            if chain.len() > 1 {
                chain.reverse();
                chains.push((parent, chain));
            }
        }
        // A group that a longer one contains says nothing more.
        let is_contained = |(parent, chain): &(u32, Vec<u32>)| {
            let from = chains.partition_point(|other| other.0 < *parent);
            let mut of_parent = chains[from..].iter().take_while(|other| other.0 == *parent);
            of_parent.any(|(_, other)| {
                other.len() > chain.len() && chain.iter().all(|callee| other.contains(callee))
            })
        };
        let chained = chains.iter().filter(|chain| !is_contained(chain)).cloned();
        let runs = self.runs.iter().filter(|&&[parent, callee]| !follows(parent, callee, callee));
        let runs = runs.map(|&[parent, callee]| (parent, vec![callee]));
        let mut groups: Vec<(u128, SerialGroup)> =
            chained.chain(runs).map(|(parent, callees)| self.group(parent, &callees)).collect();
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
        let is_adjacent = |&[parent, first, second]: &[u32; 3]| {
            first == second || self.before.get(&[parent, second]) == Some(&first)
        };
        self.following(arguments).iter().filter(|pair| is_adjacent(pair)).count() as u64
    }

    /// Returns a group without its savings, and what it could save at most, in microseconds over all requests.
    fn group(&self, parent: u32, callees: &[u32]) -> (u128, SerialGroup) {
        let (mut most_us, mut calls, mut numbers) = (0, 0.0, (0, 0));
        for (at, &callee) in callees.iter().enumerate() {
            if let Some(before) = at.checked_sub(1).map(|before| callees[before]) {
                let follows = find(&self.sums.follows, [parent, before, callee]);
                most_us += follows.map_or(0, |follows| follows.most_us);
            }
            let Some(unit) = find(&self.sums.units, [parent, callee]) else { continue };
            most_us += unit.most_us;
            let least = if callees.len() > 1 { 1 } else { least_calls(unit, self.tau_ppm) };
            let (n, _, all) = unit.runs_from(least);
            calls += all as f64 / n.max(1) as f64;
            let mut range = unit.runs.range(least..).map(|(&calls, _)| u64::from(calls));
            let first = range.next().unwrap_or(0);
            numbers = (numbers.0 + first, numbers.1 + range.next_back().unwrap_or(first));
        }
        let callees = callees.iter().map(|callee| self.name(*callee)).collect();
        let group = SerialGroup {
            calls: CallsBeside { parent: self.name(parent), callees },
            mean_calls: calls,
            numbers,
            affected: 0,
            saved_us: Saving::default(),
        };
        (most_us, group)
    }
}
