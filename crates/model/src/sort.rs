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

/// Fewer items are sorted by comparison.
const FEW: usize = 1 << 10;
/// Bits of the number that one pass looks at.
const PASS_BITS: u32 = 11;

/// Sorts by the first number; in linear time where there are many items.
pub fn sort_by_number(items: &mut Vec<(u64, u32)>) {
    if items.is_sorted() {
        return;
    }
    if items.len() < FEW {
        return items.sort_unstable();
    }
    let least = items.iter().fold(u64::MAX, |least, item| least.min(item.0));
    let greatest = items.iter().fold(0, |greatest, item| greatest.max(item.0));
    let bits = u64::BITS - (greatest - least).leading_zeros();
    let mut spare = vec![(0, 0); items.len()];
    for shift in (0..bits).step_by(PASS_BITS as usize) {
        let digit = |number: u64| ((number - least) >> shift) as usize & ((1 << PASS_BITS) - 1);
        let mut places = vec![0u32; 1 << PASS_BITS];
        for item in items.iter() {
            places[digit(item.0)] += 1;
        }
        let mut before = 0;
        for place in &mut places {
            before += std::mem::replace(place, before);
        }
        for &item in items.iter() {
            let place = &mut places[digit(item.0)];
            spare[*place as usize] = item;
            *place += 1;
        }
        std::mem::swap(items, &mut spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_sorted_whatever_their_range(
            numbers in prop::collection::vec(any::<u64>(), 0..3000),
            bits in 0..64u32,
        ) {
            let mut here: Vec<_> = (0..).zip(numbers).map(|(i, number)| (number >> bits, i)).collect();
            let mut there = here.clone();
            sort_by_number(&mut here);
            there.sort_by_key(|item| item.0);
            prop_assert_eq!(here, there);
        }

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
