//! Sorts beside the standard library's: in little code, in steps for what may be a million items while a worker has to hear
//! messages, and by number in linear time.

use crate::steps::{BLOCK, Pace};
use std::cmp::Ordering;

/// Stable sorts in little code, for crates that run in the worker.
///
/// The standard library compiles its stable sort anew for each type and comparison. In the worker's module these 198 copies
/// took 264 of 1,402 kB (gzip), of which 1,200 are its budget (docs/dependencies.md). Here a comparison sorts places, by one
/// shared function, and only moving the items is done per type. It costs an indirect call a comparison and four bytes an
/// item, so numbers and the loops over spans keep the standard sorts.
pub trait CompactSort<T> {
    /// Sorts as `sort_by` does.
    fn compact_sort_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts as `sort` does.
    fn compact_sort(&mut self)
    where
        T: Ord,
    {
        self.compact_sort_by(T::cmp);
    }

    /// Sorts as `sort_by_key` does.
    fn compact_sort_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.compact_sort_by(|a, b| key(a).cmp(&key(b)));
    }
}

impl<T> CompactSort<T> for [T] {
    fn compact_sort_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        permute(self, sorted_places(self.len(), &mut |a, b| compare(&self[a as usize], &self[b as usize])));
    }
}

/// Returns, for each place, the item that belongs there; two items are compared by their places.
#[inline(never)]
fn sorted_places(len: usize, compare: &mut dyn FnMut(u32, u32) -> Ordering) -> Vec<u32> {
    let mut places: Vec<u32> = (0..len as u32).collect();
    places.sort_by(|&a, &b| compare(a, b));
    places
}

/// Moves every item to its place; `places` says for each place the item that belongs there.
pub fn permute<T>(items: &mut [T], places: Vec<u32>) {
    for (a, b) in Swaps::new(places) {
        items.swap(a, b);
    }
}

/// The swaps that put every item in its place, one cycle of the permutation after the other.
struct Swaps {
    /// Returns, for each place, the item that belongs there; its own number once it is there.
    places: Vec<u32>,
    /// Start of the cycle under way, and the position it has reached.
    start: usize,
    at: usize,
}

impl Swaps {
    fn new(places: Vec<u32>) -> Swaps {
        Swaps { places, start: 0, at: 0 }
    }
}

impl Iterator for Swaps {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        while self.start < self.places.len() {
            let at = self.at;
            let from = std::mem::replace(&mut self.places[at], at as u32) as usize;
            if from != self.start && from != at {
                self.at = from;
                return Some((at, from));
            }
            self.start += 1;
            self.at = self.start;
        }
        None
    }
}

/// Comparisons in one step of a [`Sorting`], about.
const STEP: usize = 1 << 16;

/// A stable sort in steps, for what may be a million items: a step takes some milliseconds at most.
pub struct Sorting {
    /// Sorted in runs of `width`.
    places: Vec<u32>,
    /// Space in which two runs are merged.
    spare: Vec<u32>,
    /// Items in a run sorted at once, and outputs of a step of merging.
    at_once: usize,
    /// Items of a run; 0 as long as runs are being sorted.
    width: usize,
    /// Start of the runs under way, and the number of items merged of each.
    at: usize,
    taken: [usize; 2],
}

impl Sorting {
    /// Returns a sort of so many items, each comparison of which takes about `cost` units of work.
    pub fn new(len: usize, cost: usize) -> Sorting {
        let cost = cost.max(1);
        // A run takes a comparison per item and level.
        let at_once = (STEP / cost / 12).clamp(8, 1 << 13);
        Sorting {
            places: (0..len as u32).collect(),
            spare: Vec::new(),
            at_once,
            width: 0,
            at: 0,
            taken: [0; 2],
        }
    }

    /// Works for a step; true when done. A comparison of two items is asked for by their places.
    pub fn step(&mut self, mut compare: impl FnMut(u32, u32) -> Ordering) -> bool {
        let n = self.places.len();
        if self.width == 0 {
            let to = n.min(self.at + self.at_once);
            self.places[self.at..to].sort_by(|&a, &b| compare(a, b));
            self.at = to;
            if to == n {
                (self.width, self.at) = (self.at_once, 0);
                self.spare = if n > self.width { vec![0; n] } else { Vec::new() };
            }
            return self.width >= n;
        }
        let mut left = 8 * self.at_once;
        while left > 0 {
            let middle = n.min(self.at + self.width);
            let end = n.min(middle + self.width);
            if self.taken == [0; 2] && middle < end {
                let [x, y] = [self.places[middle - 1], self.places[middle]];
                if compare(x, y).is_le() {
                    // In order already.
                    self.spare[self.at..end].copy_from_slice(&self.places[self.at..end]);
                    self.taken = [middle - self.at, end - middle];
                    left = left.saturating_sub((end - self.at) / 16);
                }
            }
            let [mut a, mut b] = [self.at + self.taken[0], middle + self.taken[1]];
            let mut to = self.at + self.taken[0] + self.taken[1];
            while to < end && left > 0 {
                let (x, y) = (self.places.get(a).copied(), self.places.get(b).copied());
                let is_first = match (x.filter(|_| a < middle), y.filter(|_| b < end)) {
                    (Some(x), Some(y)) => compare(x, y).is_le(),
                    (x, _) => x.is_some(),
                };
                let from = if is_first { &mut a } else { &mut b };
                self.spare[to] = self.places[*from];
                *from += 1;
                to += 1;
                left -= 1;
            }
            self.taken = [a - self.at, b - middle];
            if to == end {
                (self.at, self.taken) = (end, [0; 2]);
                if end == n {
                    std::mem::swap(&mut self.places, &mut self.spare);
                    (self.width, self.at) = (2 * self.width, 0);
                    return self.width >= n;
                }
            }
        }
        false
    }

    /// Returns, for each place, the item that belongs there, once it is done.
    pub fn places(self) -> Vec<u32> {
        self.places
    }

    /// Units of work of a step, at most.
    pub const UNITS: usize = 2 * STEP;
}

/// Sorts items in steps, as `sort_by` does at once. A comparison takes about `cost` units of work.
pub async fn sort_in_steps<T: Send + Sync>(
    items: &mut [T],
    cost: usize,
    compare: impl Fn(&T, &T) -> Ordering + Send + Sync,
    pace: &mut Pace,
) {
    let compare = |a, b| compare(&items[a as usize], &items[b as usize]);
    let places = order_in_steps(items.len(), cost, &compare, pace).await;
    for (a, b) in Swaps::new(places) {
        items.swap(a, b);
        pace.spend(4).await;
    }
}

/// Returns, for each place, the item that belongs there, found in steps; two items are compared by their numbers.
pub async fn order_in_steps(
    len: usize,
    cost: usize,
    compare: &(dyn Fn(u32, u32) -> Ordering + Send + Sync),
    pace: &mut Pace,
) -> Vec<u32> {
    if len * cost.max(1) <= FEW {
        pace.spend(len * cost).await;
        return sorted_places(len, &mut |a, b| compare(a, b));
    }
    let mut sorting = Sorting::new(len, cost);
    while !sorting.step(compare) {
        pace.spend(Sorting::UNITS).await;
    }
    sorting.places()
}

/// Fewer items are sorted by comparison.
const FEW: usize = 1 << 10;
/// Bits of the number that one pass looks at.
const PASS_BITS: u32 = 11;

/// Sorts by the first number, then the second; in linear time where there are many items. They must come in the order of
/// their second number where the first is the same.
pub fn sort_by_number(items: &mut [(u64, u32)]) {
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
    let (mut from, mut to) = (&mut *items, &mut *spare);
    let mut is_moved = false;
    for shift in (0..bits).step_by(PASS_BITS as usize) {
        let mut places = [0u32; 1 << PASS_BITS];
        for block in from.chunks(BLOCK) {
            count_digits(block, least, shift, &mut places);
        }
        let mut before = 0;
        for place in &mut places {
            before += std::mem::replace(place, before);
        }
        for block in from.chunks(BLOCK) {
            place_by_digit(block, least, shift, &mut places, to);
        }
        std::mem::swap(&mut from, &mut to);
        is_moved = !is_moved;
    }
    if is_moved {
        items.copy_from_slice(&spare);
    }
    debug_assert!(items.is_sorted());
}

/// Counts, then places, by the value of a digit.
type Digits = [u32; 1 << PASS_BITS];

fn digit(number: u64, least: u64, shift: u32) -> usize {
    ((number - least) >> shift) as usize & ((1 << PASS_BITS) - 1)
}

#[inline(never)]
fn count_digits(items: &[(u64, u32)], least: u64, shift: u32, counts: &mut Digits) {
    for item in items {
        counts[digit(item.0, least, shift)] += 1;
    }
}

#[inline(never)]
fn place_by_digit(items: &[(u64, u32)], least: u64, shift: u32, places: &mut Digits, out: &mut [(u64, u32)]) {
    for &item in items {
        let place = &mut places[digit(item.0, least, shift)];
        out[*place as usize] = item;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::all_at_once;
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
        fn compact_it_is_the_stable_sort(items in prop::collection::vec((0..20_u8, any::<u8>()), 0..200)) {
            let (mut here, mut there) = (items.clone(), items);
            here.compact_sort_by_key(|&(key, _)| key);
            there.sort_by_key(|&(key, _)| key);
            prop_assert_eq!(&here, &there);
            here.compact_sort_by(|a, b| b.cmp(a));
            there.sort_by(|a, b| b.cmp(a));
            prop_assert_eq!(here, there);
        }

        #[test]
        fn in_steps_it_is_the_stable_sort(
            items in prop::collection::vec((0..50_u32, any::<u8>()), 0..3000),
            cost in prop::sample::select(vec![1, 100, 5000]),
        ) {
            let (mut here, mut there) = (items.clone(), items);
            there.sort_by_key(|item| item.0);
            all_at_once(async {
                sort_in_steps(&mut here, cost, |a, b| a.0.cmp(&b.0), &mut Pace::default()).await;
            });
            prop_assert_eq!(here, there);
        }
    }
}
