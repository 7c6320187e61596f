//! Lists of names that parts of a summary number their endpoints by: sorted, so that numbers have the order of names.

use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, NO_ROW, TraceSet};
use std::collections::BTreeMap;

/// Returns all names of some lists, and by list the number there of each of its names.
pub(crate) fn join<'a>(
    lists: impl Iterator<Item = &'a [Endpoint]> + Clone,
) -> (Vec<Endpoint>, Vec<Vec<u32>>) {
    let mut all: BTreeMap<&Endpoint, u32> = lists.clone().flatten().map(|name| (name, 0)).collect();
    all.values_mut().zip(0..).for_each(|(number, next)| *number = next);
    let numbers = lists.map(|list| list.iter().map(|name| all[name]).collect()).collect();
    (all.into_keys().cloned().collect(), numbers)
}

/// The names of a set, sorted.
pub(crate) struct SetNames {
    pub names: Vec<Endpoint>,
    /// By endpoint of the set its place among the names.
    pub number_of: Vec<u32>,
    /// By name: its place among those that a part uses.
    places: Vec<u32>,
}

impl SetNames {
    pub fn of(set: &TraceSet) -> SetNames {
        let names = set.endpoints().map(|(service, operation)| Endpoint::new(service, operation));
        let mut numbered: Vec<(Endpoint, u32)> = names.zip(0..).collect();
        numbered.compact_sort();
        let mut number_of = vec![0; numbered.len()];
        (0..).zip(&numbered).for_each(|(number, (_, endpoint))| number_of[*endpoint as usize] = number);
        let places = vec![NO_ROW; numbered.len()];
        SetNames { names: numbered.into_iter().map(|(name, _)| name).collect(), number_of, places }
    }

    /// Returns the names with these numbers, and by number the places that they have among them: equal requests give an
    /// equal part, whatever else is in their set. Places of other numbers mean nothing.
    pub fn used(&mut self, mut numbers: Vec<u32>) -> (Vec<Endpoint>, &[u32]) {
        numbers.compact_sort();
        numbers.dedup();
        (0..).zip(&numbers).for_each(|(place, &number)| self.places[number as usize] = place);
        (numbers.iter().map(|&number| self.names[number as usize].clone()).collect(), &self.places)
    }
}
