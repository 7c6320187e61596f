//! A map and a set in the order of their keys, in little code.
//!
//! The standard library's `BTreeMap` brings some 5 KB of code for every pair of types it is used with, which was a tenth
//! of the packed page. This one keeps sorted runs of entries: finding a place is one function shared by all types, and
//! what is done per type is a `Vec`'s own insertion. Reading in order is as fast as reading a list; a new key moves at
//! most one run.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::{Flatten, Map};
use std::marker::PhantomData;
use std::ops::{Bound, Index, RangeBounds};
use std::{slice, vec};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// Entries of a run at the most; a longer one is halved.
const MOST: usize = 128;

/// A map whose entries are read in the order of their keys; the methods are those of `BTreeMap`.
pub struct OrderedMap<K, V> {
    /// None is empty; every key of a run is below those of the next.
    runs: Vec<Vec<(K, V)>>,
    len: usize,
}

/// Returns the key and value of an entry, the value to be changed.
fn apart<K, V>(entry: &mut (K, V)) -> (&K, &mut V) {
    (&entry.0, &mut entry.1)
}

/// A place: the run and the entry in it. Behind the last entry of a run stands the first of the next.
type RunSlot = (usize, usize);

/// What is looked for in the runs of a map, whatever its types.
trait Sought {
    /// Returns how many entries a run has.
    fn entries(&self, run: usize) -> usize;

    /// Returns how the key of an entry compares with the one looked for.
    fn compare(&self, place: RunSlot) -> Ordering;
}

struct Key<'a, K, V, Q: ?Sized> {
    runs: &'a [Vec<(K, V)>],
    key: &'a Q,
}

impl<K: Borrow<Q>, V, Q: Ord + ?Sized> Sought for Key<'_, K, V, Q> {
    fn entries(&self, run: usize) -> usize {
        self.runs[run].len()
    }

    fn compare(&self, (run, at): RunSlot) -> Ordering {
        self.runs[run][at].0.borrow().cmp(self.key)
    }
}

/// Returns where among so many runs the thing looked for is (`Ok`), or would be inserted (`Err`).
#[inline(never)]
fn find(runs: usize, sought: &dyn Sought) -> Result<RunSlot, RunSlot> {
    let run = match search(runs, |run| sought.compare((run, 0))) {
        Ok(run) => return Ok((run, 0)),
        Err(0) => return Err((0, 0)),
        Err(after) => after - 1,
    };
    let at = search(sought.entries(run), |at| sought.compare((run, at)));
    at.map(|at| (run, at)).map_err(|at| (run, at))
}

/// Returns where among `len` sorted things the wanted one is (`Ok`) or would be (`Err`); `compare` says how the thing
/// at a place compares with the wanted one.
fn search(len: usize, compare: impl Fn(usize) -> Ordering) -> Result<usize, usize> {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = (low + high) / 2;
        match compare(middle) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return Ok(middle),
            Ordering::Greater => high = middle,
        }
    }
    Err(low)
}

impl<K, V> OrderedMap<K, V> {
    /// Returns an empty map.
    pub const fn new() -> OrderedMap<K, V> {
        OrderedMap { runs: Vec::new(), len: 0 }
    }

    /// Returns how many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes every entry.
    pub fn clear(&mut self) {
        *self = OrderedMap::new();
    }

    /// Returns the entries in order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { runs: &self.runs, from: (0, 0), to: (self.runs.len(), 0) }
    }

    /// Returns the entries in order; values can be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        self.runs.iter_mut().flatten().map(apart)
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// Returns the values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// Returns the values in the order of their keys, to be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.iter_mut().map(|(_, value)| value)
    }

    /// Returns the keys in order; the map is used up.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> {
        self.into_iter().map(|(key, _)| key)
    }

    /// Returns the values in the order of their keys; the map is used up.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> {
        self.into_iter().map(|(_, value)| value)
    }

    /// Returns the entry with the least key.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// Returns the entry with the greatest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }

    /// Takes out the entry with the least key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (self.len > 0).then(|| self.remove_at((0, 0)))
    }

    /// Takes out the entry with the greatest key.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        let run = self.runs.len().checked_sub(1)?;
        Some(self.remove_at((run, self.runs[run].len() - 1)))
    }

    /// Keeps the entries for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.extract(|key, value| !keep(key, value));
    }

    /// Takes out the entries that `picked` names; these, in order.
    pub fn extract(&mut self, mut picked: impl FnMut(&K, &mut V) -> bool) -> Vec<(K, V)> {
        let mut out = Vec::new();
        for run in &mut self.runs {
            out.extend(run.extract_if(.., |(key, value)| picked(key, value)));
        }
        self.runs.retain(|run| !run.is_empty());
        self.len -= out.len();
        out
    }

    /// Inserts an entry at its place; the value as it now stands.
    fn insert_at(&mut self, (mut run, mut at): RunSlot, key: K, value: V) -> &mut V {
        if self.runs.is_empty() {
            self.runs.push(Vec::new());
        }
        if self.runs[run].len() == MOST {
            // What comes in order fills its runs.
            let half = if at == MOST && run + 1 == self.runs.len() { MOST } else { MOST / 2 };
            let upper = self.runs[run].split_off(half);
            self.runs.insert(run + 1, upper);
            if at >= half {
                (run, at) = (run + 1, at - half);
            }
        }
        self.len += 1;
        self.runs[run].insert(at, (key, value));
        &mut self.runs[run][at].1
    }

    fn remove_at(&mut self, (run, at): RunSlot) -> (K, V) {
        self.len -= 1;
        let entry = self.runs[run].remove(at);
        if self.runs[run].is_empty() {
            self.runs.remove(run);
        }
        entry
    }
}

impl<K: Ord, V> OrderedMap<K, V> {
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<RunSlot, RunSlot>
    where
        K: Borrow<Q>,
    {
        find(self.runs.len(), &Key { runs: &self.runs, key })
    }

    /// Returns the value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let (run, at) = self.find(key).ok()?;
        Some(&self.runs[run][at].1)
    }

    /// Returns the value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let (run, at) = self.find(key).ok()?;
        Some(&mut self.runs[run][at].1)
    }

    /// Returns whether there is an entry with this key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Sets the value of a key; the value it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        // Most come in order, above all out of a file.
        if let Some(run) = self.runs.last()
            && run.last().is_some_and(|(last, _)| *last < key)
        {
            self.insert_at((self.runs.len() - 1, run.len()), key, value);
            return None;
        }
        match self.find(&key) {
            Ok((run, at)) => Some(std::mem::replace(&mut self.runs[run][at].1, value)),
            Err(place) => {
                self.insert_at(place, key, value);
                None
            }
        }
    }

    /// Takes out the entry of a key; its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        Some(self.remove_at(place).1)
    }

    /// Returns the entry of a key, whether it is there or not.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        match self.find(&key) {
            Ok((run, at)) => Entry::Occupied(&mut self.runs[run][at].1),
            Err(place) => Entry::Vacant(VacantEntry { map: self, key, place }),
        }
    }

    /// Returns the entries whose keys lie in a range, in order.
    pub fn range(&self, range: impl RangeBounds<K>) -> Iter<'_, K, V> {
        let at = |key: &K| self.find(key);
        let behind = |(run, at): RunSlot| (run, at + 1);
        let (Ok(start) | Err(start)) = match range.start_bound() {
            Bound::Unbounded => Ok((0, 0)),
            Bound::Included(key) => at(key),
            Bound::Excluded(key) => at(key).map(behind),
        };
        let (Ok(end) | Err(end)) = match range.end_bound() {
            Bound::Unbounded => Ok((self.runs.len(), 0)),
            Bound::Included(key) => at(key).map(behind),
            Bound::Excluded(key) => at(key),
        };
        Iter { runs: &self.runs, from: start, to: end.max(start) }
    }
}

/// An entry that is there, or the place where it would be.
pub enum Entry<'a, K, V> {
    /// The value of the key.
    Occupied(&'a mut V),
    /// There is no such key yet.
    Vacant(VacantEntry<'a, K, V>),
}

/// The place of a key that a map does not hold.
pub struct VacantEntry<'a, K, V> {
    map: &'a mut OrderedMap<K, V>,
    key: K,
    place: RunSlot,
}

impl<'a, K, V> VacantEntry<'a, K, V> {
    /// Inserts the key with a value.
    pub fn insert(self, value: V) -> &'a mut V {
        self.map.insert_at(self.place, self.key, value)
    }
}

impl<'a, K, V> Entry<'a, K, V> {
    /// Returns the value, first made by `value` if there is none.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Entry::Occupied(known) => known,
            Entry::Vacant(vacant) => vacant.insert(value()),
        }
    }

    /// Returns the value, which is `value` if there was none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// Returns the value, which is the default one if there was none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value if there is one.
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let Entry::Occupied(known) = &mut self {
            change(known);
        }
        self
    }
}

/// The entries of a map, or of a part of it, in order.
pub struct Iter<'a, K, V> {
    runs: &'a [Vec<(K, V)>],
    from: RunSlot,
    to: RunSlot,
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Iter { ..*self }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        while self.from < self.to {
            let run = self.runs.get(self.from.0)?;
            if let Some((key, value)) = run.get(self.from.1) {
                self.from.1 += 1;
                return Some((key, value));
            }
            self.from = (self.from.0 + 1, 0);
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = |to: usize| self.runs[self.from.0.min(to)..to].iter().map(Vec::len).sum::<usize>();
        let len = (len(self.to.0) + self.to.1).saturating_sub(self.from.1);
        (len, Some(len))
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        while self.from < self.to {
            if self.to.1 == 0 {
                self.to.0 -= 1;
                self.to.1 = self.runs[self.to.0].len();
                continue;
            }
            self.to.1 -= 1;
            let (key, value) = &self.runs[self.to.0][self.to.1];
            return Some((key, value));
        }
        None
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

/// The entries of a map in order; values can be changed.
pub type IterMut<'a, K, V> =
    Map<Flatten<slice::IterMut<'a, Vec<(K, V)>>>, fn(&'a mut (K, V)) -> (&'a K, &'a mut V)>;

impl<K, V> IntoIterator for OrderedMap<K, V> {
    type Item = (K, V);
    type IntoIter = Flatten<vec::IntoIter<Vec<(K, V)>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.runs.into_iter().flatten()
    }
}

impl<'a, K, V> IntoIterator for &'a OrderedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut OrderedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> IterMut<'a, K, V> {
        self.iter_mut()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for OrderedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = OrderedMap::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for OrderedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: Ord, V> Extend<(K, V)> for OrderedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> Self {
        OrderedMap::new()
    }
}

impl<K: Clone, V: Clone> Clone for OrderedMap<K, V> {
    fn clone(&self) -> Self {
        OrderedMap { runs: self.runs.clone(), len: self.len }
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for OrderedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other)
    }
}

impl<K: Eq, V: Eq> Eq for OrderedMap<K, V> {}

impl<K: Hash, V: Hash> Hash for OrderedMap<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len);
        self.iter().for_each(|entry| entry.hash(state));
    }
}

impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> Index<&Q> for OrderedMap<K, V> {
    type Output = V;

    /// Returns the value of a key that is there, as the caller knows.
    fn index(&self, key: &Q) -> &V {
        match self.get(key) {
            Some(value) => value,
            None => panic!("the map has no such key"),
        }
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for OrderedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Serialize, V: Serialize> Serialize for OrderedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, K: Ord + Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for OrderedMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<K, V>(PhantomData<(K, V)>);
        impl<'de, K: Ord + Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for Entries<K, V> {
            type Value = OrderedMap<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut map = OrderedMap::new();
                while let Some((key, value)) = entries.next_entry()? {
                    map.insert(key, value);
                }
                Ok(map)
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// A set whose items are read in order; the methods are those of `BTreeSet`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OrderedSet<T>(OrderedMap<T, ()>);

impl<T> OrderedSet<T> {
    /// Returns an empty set.
    pub const fn new() -> OrderedSet<T> {
        OrderedSet(OrderedMap::new())
    }

    /// Returns how many items there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the items in order.
    pub fn iter(&self) -> SetIter<'_, T> {
        self.0.iter().map(|(item, ())| item)
    }

    /// Takes out the least item.
    pub fn pop_first(&mut self) -> Option<T> {
        self.0.pop_first().map(|(item, ())| item)
    }

    /// Takes out the greatest item.
    pub fn pop_last(&mut self) -> Option<T> {
        self.0.pop_last().map(|(item, ())| item)
    }

    /// Removes every item.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Keeps the items for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|item, ()| keep(item));
    }
}

impl<T: Ord> OrderedSet<T> {
    /// Returns whether the item is there.
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(item)
    }

    /// Inserts an item; whether it was not there.
    pub fn insert(&mut self, item: T) -> bool {
        self.0.insert(item, ()).is_none()
    }

    /// Takes out an item; whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(item).is_some()
    }
}

/// The items of a set in order.
pub type SetIter<'a, T> = Map<Iter<'a, T, ()>, fn((&'a T, &'a ())) -> &'a T>;

impl<T> IntoIterator for OrderedSet<T> {
    type Item = T;
    type IntoIter = Map<<OrderedMap<T, ()> as IntoIterator>::IntoIter, fn((T, ())) -> T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(item, ())| item)
    }
}

impl<'a, T> IntoIterator for &'a OrderedSet<T> {
    type Item = &'a T;
    type IntoIter = SetIter<'a, T>;

    fn into_iter(self) -> SetIter<'a, T> {
        self.iter()
    }
}

impl<T: Ord> FromIterator<T> for OrderedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        OrderedSet(items.into_iter().map(|item| (item, ())).collect())
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for OrderedSet<T> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Ord> Extend<T> for OrderedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        self.0.extend(items.into_iter().map(|item| (item, ())));
    }
}

impl<T> Default for OrderedSet<T> {
    fn default() -> Self {
        OrderedSet::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OrderedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<T: Serialize> Serialize for OrderedSet<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de, T: Ord + Deserialize<'de>> Deserialize<'de> for OrderedSet<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(|items| items.into_iter().collect())
    }
}

#[cfg(test)]
#[path = "ordered_tests.rs"]
mod tests;
