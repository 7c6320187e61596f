//! Names as numbers. What goes between workers has each name once, in an ascending list, and means it by its place there: so
//! numbers are in the order of names.

use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, EndpointId, NO_ROW, TraceSet};

/// Numbers some endpoints of a set by their names. Returns the names, ascending, and the number of each endpoint of the set;
/// [`NO_ROW`] of one that is not wanted.
pub(crate) fn numbered(set: &TraceSet, is_wanted: impl Fn(EndpointId) -> bool) -> (Vec<Endpoint>, Vec<u32>) {
    let mut wanted: Vec<((&str, &str), u32)> = set.endpoints().zip(0..).collect();
    wanted.retain(|(_, endpoint)| is_wanted(EndpointId(*endpoint)));
    wanted.compact_sort();
    let mut number_of = vec![NO_ROW; set.endpoints().len()];
    wanted.iter().zip(0..).for_each(|((_, endpoint), number)| number_of[*endpoint as usize] = number);
    let names = wanted.iter().map(|((service, operation), _)| Endpoint::new(*service, *operation));
    (names.collect(), number_of)
}

/// Joins ascending lists of names. Also returns, for each list, the numbers of its names in the whole.
pub(crate) fn join_names(lists: Vec<Vec<Endpoint>>) -> (Vec<Endpoint>, Vec<Vec<u32>>) {
    let mut numbers: Vec<Vec<u32>> = lists.iter().map(|names| vec![0; names.len()]).collect();
    let mut all: Vec<(Endpoint, usize, usize)> = Vec::new();
    for (list, names) in lists.into_iter().enumerate() {
        all.extend(names.into_iter().enumerate().map(|(at, name)| (name, list, at)));
    }
    all.compact_sort_by(|a, b| a.0.cmp(&b.0));
    let mut joined: Vec<Endpoint> = Vec::new();
    for (name, list, at) in all {
        if joined.last() != Some(&name) {
            joined.push(name);
        }
        numbers[list][at] = joined.len() as u32 - 1;
    }
    (joined, numbers)
}

/// Puts sums in the order of their keys, and joins those of equal keys.
pub(crate) fn join_sums<K: Ord + Copy, T: Default>(all: &mut Vec<(K, T)>, mut merge: impl FnMut(&mut T, T)) {
    all.compact_sort_by_key(|(key, _)| *key);
    all.dedup_by(|(key, sums), (into_key, into)| {
        let is_same = key == into_key;
        if is_same {
            merge(into, std::mem::take(sums));
        }
        is_same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_names_stand_once_and_numbers_lead_to_them() {
        let names = |operations: &[&str]| operations.iter().map(|of| Endpoint::new("s", *of)).collect();
        let lists: Vec<Vec<Endpoint>> = vec![names(&["b", "d"]), names(&["a", "b", "c"]), names(&[])];
        let (joined, numbers) = join_names(lists.clone());
        assert_eq!(joined, names(&["a", "b", "c", "d"]));
        for (list, numbers) in lists.iter().zip(&numbers) {
            let found: Vec<&Endpoint> = numbers.iter().map(|number| &joined[*number as usize]).collect();
            assert_eq!(found, list.iter().collect::<Vec<_>>());
        }
    }
}
