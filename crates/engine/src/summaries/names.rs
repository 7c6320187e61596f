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

/// Returns the names of a set, and by endpoint of the set its place among them.
pub(crate) fn of_set(set: &TraceSet) -> (Vec<Endpoint>, Vec<u32>) {
    let names = set.endpoints().map(|(service, operation)| Endpoint::new(service, operation));
    let mut numbered: Vec<(Endpoint, u32)> = names.zip(0..).collect();
    numbered.compact_sort();
    let mut number_of = vec![0; numbered.len()];
    (0..).zip(&numbered).for_each(|(number, (_, endpoint))| number_of[*endpoint as usize] = number);
    (numbered.into_iter().map(|(name, _)| name).collect(), number_of)
}

/// Returns the names whose number is not [`NO_ROW`]; their numbers become their places.
pub(crate) fn used(names: Vec<Endpoint>, numbers: &mut [u32]) -> Vec<Endpoint> {
    let used = numbers.iter_mut().zip(names).filter(|(number, _)| **number != NO_ROW);
    (0..)
        .zip(used)
        .map(|(next, (number, name))| {
            *number = next;
            name
        })
        .collect()
}
