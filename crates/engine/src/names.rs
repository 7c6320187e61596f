//! Names as numbers. What goes between workers has each name once, in an ascending list, and means it by its place there: so
//! numbers are in the order of names.

use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, NO_ROW, TraceSet};

/// Numbers some endpoints of a set by their names. Returns the names, ascending, and the number of each endpoint of the set;
/// [`NO_ROW`] of one that is not wanted.
pub(crate) fn numbered(set: &TraceSet, wanted: impl IntoIterator<Item = u32>) -> (Vec<Endpoint>, Vec<u32>) {
    let mut is_wanted = vec![false; set.endpoints().len()];
    wanted.into_iter().for_each(|endpoint| is_wanted[endpoint as usize] = true);
    let mut wanted: Vec<((&str, &str), u32)> = set.endpoints().zip(0..).collect();
    wanted.retain(|(_, endpoint)| is_wanted[*endpoint as usize]);
    wanted.compact_sort();
    let mut number_of = vec![NO_ROW; is_wanted.len()];
    wanted.iter().zip(0..).for_each(|((_, endpoint), number)| number_of[*endpoint as usize] = number);
    let names = wanted.iter().map(|((service, operation), _)| Endpoint::new(*service, *operation));
    (names.collect(), number_of)
}

/// Joins lists of names. Returns all names, ascending, and for each list the numbers that its names have there.
pub(crate) fn join_names<'a>(
    lists: impl IntoIterator<Item = &'a [Endpoint]>,
) -> (Vec<Endpoint>, Vec<Vec<u32>>) {
    let (mut numbers, mut all) = (Vec::new(), Vec::new());
    for (list, names) in lists.into_iter().enumerate() {
        numbers.push(vec![0u32; names.len()]);
        all.extend(names.iter().enumerate().map(|(at, name)| (name, list, at)));
    }
    all.compact_sort();
    let mut joined: Vec<Endpoint> = Vec::new();
    for same in all.chunk_by(|a, b| a.0 == b.0) {
        same.iter().for_each(|&(_, list, at)| numbers[list][at] = joined.len() as u32);
        joined.push(same[0].0.clone());
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
        let lists: Vec<Vec<Endpoint>> = vec![names(&["b", "d"]), names(&["c", "a", "b"]), names(&[])];
        let (joined, numbers) = join_names(lists.iter().map(Vec::as_slice));
        assert_eq!(joined, names(&["a", "b", "c", "d"]));
        for (list, numbers) in lists.iter().zip(&numbers) {
            let found: Vec<&Endpoint> = numbers.iter().map(|number| &joined[*number as usize]).collect();
            assert_eq!(found, list.iter().collect::<Vec<_>>());
        }
    }
}
