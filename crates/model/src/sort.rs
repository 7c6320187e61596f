//! One sort for everything that is not sorted in a hot loop.
//!
//! The standard library's sorts are fast because each type and each comparison gets a copy of its own, 5 KB and more; for
//! the rows of some hundred reports that was a sixth of the page's code. Here a comparison sorts places, by one shared
//! sort, and only moving the items is done per type. It costs an indirect call a comparison and four bytes an item, so
//! numbers and the loops over spans keep the standard sorts.

use std::cmp::Ordering;

/// Stable sorts of slices; as `sort_by` and `sort_by_key` of the standard library, in less code.
pub trait Arrange<T> {
    /// Sorts by a comparison.
    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts in the order of the items.
    fn arrange(&mut self)
    where
        T: Ord,
    {
        self.arrange_by(T::cmp);
    }

    /// Sorts by a key.
    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.arrange_by(|a, b| key(a).cmp(&key(b)));
    }
}

impl<T> Arrange<T> for [T] {
    fn arrange_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        if self.len() < 2 {
            return;
        }
        let places = sorted(self.len(), &mut |a, b| compare(&self[a as usize], &self[b as usize]));
        settle(self, places);
    }
}

/// For each place the item that belongs there.
#[inline(never)]
fn sorted(len: usize, compare: &mut dyn FnMut(u32, u32) -> Ordering) -> Vec<u32> {
    let mut places: Vec<u32> = (0..len as u32).collect();
    places.sort_by(|&a, &b| compare(a, b));
    places
}

/// Moves every item to its place, one cycle of the permutation after the other.
#[inline(never)]
fn settle<T>(items: &mut [T], mut places: Vec<u32>) {
    for start in 0..places.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut places[at], at as u32) as usize;
            if from == start || from == at {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_stable_sort(items in prop::collection::vec((0..20_u8, any::<u8>()), 0..200)) {
            let (mut here, mut there) = (items.clone(), items);
            here.arrange_by_key(|&(key, _)| key);
            there.sort_by_key(|&(key, _)| key);
            prop_assert_eq!(&here, &there);
            here.arrange_by(|a, b| b.cmp(a));
            there.sort_by(|a, b| b.cmp(a));
            prop_assert_eq!(here, there);
        }
    }
}
