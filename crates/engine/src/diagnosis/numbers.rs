//! Values numbered as they come, and put in order at the end.

use pathlight_base::sort::{order_in_steps, permute};
use pathlight_base::steps::Pace;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

/// Values numbered in the order they came.
pub(super) struct Numbers<T> {
    /// By hash; of values with one hash the later ones by the next free hash.
    of: FxHashMap<u64, u32>,
    pub list: Vec<T>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers { of: FxHashMap::default(), list: Vec::new() }
    }
}

impl<T: Eq + Hash + Ord + Send + Sync> Numbers<T> {
    pub fn number<Q: ?Sized + Eq + Hash + ToOwned<Owned = T>>(&mut self, value: &Q) -> u32
    where
        T: Borrow<Q>,
    {
        let mut hash = FxBuildHasher.hash_one(value);
        while let Some(&number) = self.of.get(&hash) {
            if self.list[number as usize].borrow() == value {
                return number;
            }
            hash = hash.wrapping_add(1);
        }
        let number = self.list.len() as u32;
        self.list.push(value.to_owned());
        self.of.insert(hash, number);
        number
    }

    /// Returns the numbers in the order of their values; two of these take about `cost` units to compare.
    async fn order(&self, cost: usize, pace: &mut Pace) -> Vec<u32> {
        let list = &self.list;
        order_in_steps(list.len(), cost, &|a, b| list[a as usize].cmp(&list[b as usize]), pace).await
    }

    /// Returns, for each number, its place in the order of the values; two of these take about `cost` units to compare.
    pub async fn ranks(&self, cost: usize, pace: &mut Pace) -> Vec<u32> {
        ranks(&self.order(cost, pace).await)
    }

    /// Returns the values in order, and for each number its place there.
    pub async fn sorted(mut self, pace: &mut Pace) -> (Vec<T>, Vec<u32>) {
        let order = self.order(4, pace).await;
        let ranks = ranks(&order);
        permute(&mut self.list, order);
        (self.list, ranks)
    }
}

/// Returns, for each number, its place in an order.
pub(super) fn ranks(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    for (place, &number) in (0..).zip(order) {
        ranks[number as usize] = place;
    }
    ranks
}
