//! Interned tags: a tag is a (key, value) pair, a span points at one interned set of pairs.

use super::asked::{ASKED_KEYS, Asked};
use super::measures;
use super::set::with_slack;
use super::weights::WeightKey;
use super::{Interner, PEER_KEYS, Symbol, address_template, hash_text};
use hashbrown::HashTable;
use pathlight_base::sort::CompactSort as _;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Distinct values of one key that are stored; a key with more is "high cardinality".
pub const MAX_VALUES_PER_KEY: u32 = 4096;
/// Keys whose values are addresses: of one with more values than that, the templates of further paths are stored, if these
/// are not more, since routes follow from them.
pub const ADDRESS_KEYS: [&str; 3] = ["url.path", "http.target", "http.url"];
/// Longest stored value in bytes; a longer one is cut there and ends in an ellipsis.
pub const MAX_VALUE_BYTES: usize = 256;

/// An interned set of tags, valid for the [`TagTable`] that made it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct TagSetId(pub u32);

impl TagSetId {
    /// The set without tags; the same in every table.
    pub const EMPTY: TagSetId = TagSetId(0);
}

/// One key of a [`TagTable`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyFacts {
    /// Number of times the key was seen.
    pub occurrences: u64,
    /// Number of distinct values stored, those that stand for others not counted.
    pub values: u32,
    /// Whether more than [`MAX_VALUES_PER_KEY`] distinct values were seen, here or by all workers together.
    pub high_cardinality: bool,
}

/// Texts stored in place of the values of a key that has too many.
#[derive(Clone)]
enum StandIns {
    Nothing,
    /// That there is a value.
    Presence,
    /// Templates of addresses; hashes of those that the key has, noted once it has too many values. When there are more
    /// than [`MAX_VALUES_PER_KEY`] of them, nothing is stored any longer.
    Templates(FxHashSet<u64>),
    /// What a value says of the weight of its trace.
    Weight(WeightKey),
    /// The number that a value is, rounded.
    Measure,
}

/// Text for a value of which only the presence is stored.
const PRESENT: &str = "…";

impl StandIns {
    fn of(key: &str) -> StandIns {
        if ADDRESS_KEYS.contains(&key) {
            StandIns::Templates(FxHashSet::default())
        } else if PEER_KEYS.contains(&key) {
            StandIns::Presence
        } else {
            let other = if measures::is_measure(key) { StandIns::Measure } else { StandIns::Nothing };
            WeightKey::of(key).map_or(other, StandIns::Weight)
        }
    }
}

/// All tags of a trace set.
#[derive(Clone)]
pub struct TagTable {
    keys: Interner,
    facts: Vec<KeyFacts>,
    /// By key.
    stand_ins: Vec<StandIns>,
    values: Interner,
    pairs: Vec<(u32, u32)>,
    pair_table: HashTable<u32>,
    set_pairs: Vec<u32>,
    set_ends: Vec<u32>,
    set_table: HashTable<u32>,
    scratch: Vec<u32>,
    /// What is asked by values of the set begun that are not stored whole.
    scratch_asked: Asked,
    /// By key: its place among those of which a hash is kept of such values.
    asked_keys: Vec<Option<u8>>,
    generation: u32,
    /// The keys that say weights, of those seen.
    weight_keys: Vec<(u32, WeightKey)>,
}

impl Default for TagTable {
    fn default() -> TagTable {
        let mut table = TagTable {
            keys: Interner::default(),
            facts: Vec::new(),
            stand_ins: Vec::new(),
            values: Interner::default(),
            pairs: Vec::new(),
            pair_table: HashTable::new(),
            set_pairs: Vec::new(),
            set_ends: Vec::new(),
            set_table: HashTable::new(),
            scratch: Vec::new(),
            scratch_asked: Asked::default(),
            asked_keys: Vec::new(),
            generation: 0,
            weight_keys: Vec::new(),
        };
        table.begin();
        table.finish();
        table
    }
}

fn hash_pair(key: u32, value: u32) -> u64 {
    (u64::from(key) << 32 | u64::from(value)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26)
}

fn hash_set(pairs: &[u32]) -> u64 {
    pairs.iter().fold(0x51_7C_C1_B7u64, |hash, &pair| {
        (hash.rotate_left(5) ^ u64::from(pair)).wrapping_mul(0x517C_C1B7_2722_0A95)
    })
}

impl TagTable {
    /// Starts a new set; add its tags with [`add`](Self::add), then call [`finish`](Self::finish).
    pub fn begin(&mut self) {
        self.scratch.clear();
        self.scratch_asked = Asked::default();
    }

    /// Returns the number of a key, for [`add_value`](Self::add_value): callers with few keys may remember it.
    pub fn key(&mut self, key: &str) -> u32 {
        let symbol = self.keys.intern(key).0;
        if symbol as usize == self.facts.len() {
            self.facts.push(KeyFacts::default());
            let stand_ins = StandIns::of(key);
            if let StandIns::Weight(of) = stand_ins {
                self.weight_keys.push((symbol, of));
            }
            self.stand_ins.push(stand_ins);
            let place = ASKED_KEYS.iter().position(|asked| *asked == key);
            self.asked_keys.push(place.map(|place| place as u8));
        }
        symbol
    }

    /// Adds a tag to the set begun. The value of a high-cardinality key is counted and not stored; of an address the
    /// template of its path is, of a [measure](super::is_measure) its rounded number, and of a name of a peer that there is
    /// one. Of a statement or an address that is not stored whole a hash is kept, see [`asked`](Self::asked).
    pub fn add(&mut self, key: &str, value: &str) {
        let key = self.key(key);
        self.add_value(key, value);
    }

    /// Adds a tag as [`add`](Self::add) does, by the number of the key. Returns the number of the pair for
    /// [`add_pair`](Self::add_pair), or `None` if the value is not stored, or if it is not all that is kept.
    pub fn add_value(&mut self, key: u32, value: &str) -> Option<u32> {
        let pair = self.add_stored(key, value);
        let is_whole = value.len() <= MAX_VALUE_BYTES && !self.facts[key as usize].high_cardinality;
        match self.asked_keys[key as usize].filter(|_| !is_whole) {
            Some(place) => {
                self.scratch_asked.add(place.into(), value);
                None
            }
            None => pair,
        }
    }

    /// Adds a tag of another table, which has stored this value of it and keeps of its set what it asks: then nothing that stands for
    /// a value is taken for one.
    pub(super) fn add_again(&mut self, key: &str, value: &str, asked: Asked) {
        let key = self.key(key);
        let stands_for_one = |place: u8| {
            asked.has(place.into())
                || value.ends_with('…')
                // A template, of an earlier version that kept no hashes.
                || self.is_address(key) && value.contains('{')
        };
        if self.asked_keys[key as usize].is_some_and(stands_for_one) {
            self.add_stored(key, value);
        } else {
            self.add_value(key, value);
        }
    }

    /// Adds what is stored of a value.
    fn add_stored(&mut self, key: u32, value: &str) -> Option<u32> {
        self.facts[key as usize].occurrences += 1;
        if self.stores_nothing(key) {
            return None;
        }
        let cut;
        let value = if value.len() > MAX_VALUE_BYTES {
            cut = self.cut(key, value);
            &cut
        } else {
            value
        };
        if !self.facts[key as usize].high_cardinality {
            let is_full = self.facts[key as usize].values >= MAX_VALUES_PER_KEY;
            if let Some((pair, is_new)) = self.known_or_new(key, value, is_full) {
                self.facts[key as usize].values += u32::from(is_new);
                return Some(pair);
            }
            self.stop_storing_values(key);
        }
        let stand_in = match &mut self.stand_ins[key as usize] {
            StandIns::Nothing => return None,
            StandIns::Presence => Cow::Borrowed(PRESENT),
            StandIns::Templates(seen) => {
                let template = address_template(value);
                seen.insert(hash_text(&template));
                if seen.len() > MAX_VALUES_PER_KEY as usize {
                    self.generation += 1;
                    return None;
                }
                template
            }
            StandIns::Weight(of) => Cow::Owned(of.stand_in(value)?),
            StandIns::Measure => Cow::Owned(measures::stand_in(value)?),
        };
        Some(self.known_or_new(key, &stand_in, false)?.0)
    }

    /// Returns what is stored of a value that is too long: of one that says a weight, that weight.
    fn cut(&self, key: u32, value: &str) -> String {
        let weight = match &self.stand_ins[key as usize] {
            StandIns::Weight(of) => of.stand_in(value),
            _ => None,
        };
        weight.unwrap_or_else(|| format!("{}…", &value[..value.floor_char_boundary(MAX_VALUE_BYTES)]))
    }

    /// Adds the pair of a key and a value to the set begun, unless it would be new and `is_full`. Returns its number and
    /// whether it is new.
    fn known_or_new(&mut self, key: u32, value: &str, is_full: bool) -> Option<(u32, bool)> {
        let symbol = self.values.intern(value).0;
        let TagTable { pairs, pair_table, scratch, .. } = self;
        let hash = hash_pair(key, symbol);
        if let Some(&pair) = pair_table.find(hash, |&i| pairs[i as usize] == (key, symbol)) {
            scratch.push(pair);
            return Some((pair, false));
        }
        if is_full {
            return None;
        }
        let pair = pairs.len() as u32;
        pairs.push((key, symbol));
        pair_table.insert_unique(hash, pair, |&i| hash_pair(pairs[i as usize].0, pairs[i as usize].1));
        scratch.push(pair);
        Some((pair, true))
    }

    /// Stops storing values of a key; of an address notes the templates of those stored.
    fn stop_storing_values(&mut self, key: u32) {
        self.generation += 1;
        if self.facts[key as usize].high_cardinality {
            return;
        }
        self.facts[key as usize].high_cardinality = true;
        if let StandIns::Templates(seen) = &mut self.stand_ins[key as usize] {
            let of_key = self.pairs.iter().filter(|pair| pair.0 == key);
            let values = of_key.map(|&(_, value)| self.values.get(Symbol(value)));
            seen.extend(values.map(|value| hash_text(&address_template(value))));
        }
    }

    /// Adds a pair whose number [`add_value`](Self::add_value) returned. The result is that of [`add`](Self::add) with
    /// its key and value, without looking them up.
    pub fn add_pair(&mut self, pair: u32) {
        let (key, value) = self.pairs[pair as usize];
        if !self.facts[key as usize].high_cardinality {
            self.facts[key as usize].occurrences += 1;
            self.scratch.push(pair);
        } else if self.is_skipped(key) {
            self.facts[key as usize].occurrences += 1;
        } else {
            let value = self.values.get(Symbol(value)).to_owned();
            self.add_value(key, &value);
        }
    }

    /// Adds the tags of a finished set to the set begun.
    pub fn add_set(&mut self, set: TagSetId) {
        for at in 0..self.pairs_of(set).len() {
            self.add_pair(self.pairs_of(set)[at]);
        }
        self.scratch_asked.merge(self.asked(set));
    }

    /// Counts a key without a value of it.
    pub fn count_key(&mut self, key: u32) {
        self.count_key_times(key, 1);
    }

    /// Counts a key `times` times without a value of it.
    pub fn count_key_times(&mut self, key: u32, times: u64) {
        self.facts[key as usize].occurrences += times;
    }

    /// Returns the number of the key of a pair.
    pub fn key_of_pair(&self, pair: u32) -> u32 {
        self.pairs[pair as usize].0
    }

    /// Returns the number of a key that was seen.
    pub fn find_key(&self, key: &str) -> Option<u32> {
        Some(self.keys.find(key)?.0)
    }

    /// Returns a number that changes when the same tags may make another set than before, because a key stops storing
    /// values.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns whether neither values of a key, by its number, nor what stands for them are stored any longer.
    pub fn stores_nothing(&self, key: u32) -> bool {
        self.facts[key as usize].high_cardinality
            && match &self.stand_ins[key as usize] {
                StandIns::Nothing => true,
                StandIns::Presence | StandIns::Weight(_) | StandIns::Measure => false,
                StandIns::Templates(seen) => seen.len() > MAX_VALUES_PER_KEY as usize,
            }
    }

    /// Returns whether values of a key, by its number, need not be read any longer: neither they nor what stands for them, nor hashes
    /// of them are kept.
    pub fn is_skipped(&self, key: u32) -> bool {
        self.asked_keys[key as usize].is_none() && self.stores_nothing(key)
    }

    /// Returns whether a key has more values than are stored.
    pub fn has_too_many_values(&self, key: &str) -> bool {
        self.find_key(key).is_some_and(|key| self.is_high_cardinality(key))
    }

    /// Returns the same of a key by its number.
    pub fn is_high_cardinality(&self, key: u32) -> bool {
        self.facts[key as usize].high_cardinality
    }

    /// Ends the set begun and returns its id.
    pub fn finish(&mut self) -> TagSetId {
        self.scratch.sort_unstable();
        self.scratch.dedup();
        let set = self.intern_scratch();
        if self.scratch_asked.is_nothing() {
            return set;
        }
        let Asked(asked) = self.scratch_asked;
        self.scratch.clear();
        self.scratch.extend([WITH_ASKED, set.0, (asked >> 32) as u32, asked as u32]);
        self.intern_scratch()
    }

    fn intern_scratch(&mut self) -> TagSetId {
        let TagTable { set_pairs, set_ends, set_table, scratch, .. } = self;
        let hash = hash_set(scratch);
        if let Some(&set) = set_table.find(hash, |&i| set_pairs[set_range(set_ends, i)] == **scratch) {
            return TagSetId(set);
        }
        let set = set_ends.len() as u32;
        set_pairs.extend_from_slice(scratch);
        set_ends.push(set_pairs.len() as u32);
        set_table.insert_unique(hash, set, |&i| hash_set(&set_pairs[set_range(set_ends, i)]));
        TagSetId(set)
    }

    /// Returns the set with the tags of both.
    pub fn union(&mut self, a: TagSetId, b: TagSetId) -> TagSetId {
        if a == b || b == TagSetId::EMPTY {
            return a;
        }
        self.begin();
        self.scratch.extend_from_slice(set_slice(&self.set_pairs, &self.set_ends, a.0));
        self.scratch.extend_from_slice(set_slice(&self.set_pairs, &self.set_ends, b.0));
        let [asked_a, asked_b] = [a, b].map(|set| self.asked(set));
        self.scratch_asked = if asked_a.is_nothing() { asked_b } else { asked_a };
        self.finish()
    }

    /// Returns what the statements and addresses of a set ask that are not stored whole, since they are too long or too many.
    pub fn asked(&self, set: TagSetId) -> Asked {
        match self.set_pairs[set_range(&self.set_ends, set.0)] {
            [WITH_ASKED, _, high, low] => Asked(u64::from(high) << 32 | u64::from(low)),
            _ => Asked::default(),
        }
    }

    /// Adds what a set of another table asks to the set begun.
    pub(super) fn add_asked(&mut self, asked: Asked) {
        self.scratch_asked.merge(asked);
    }

    /// Returns the tags of a set as (key, value), in no particular order.
    pub fn get(&self, set: TagSetId) -> impl Iterator<Item = (&str, &str)> {
        set_slice(&self.set_pairs, &self.set_ends, set.0).iter().map(|&pair| {
            let (key, value) = self.pairs[pair as usize];
            (self.keys.get(Symbol(key)), self.values.get(Symbol(value)))
        })
    }

    /// Returns the numbers of the (key, value) pairs of a set, for [`pair`](Self::pair).
    pub fn pairs_of(&self, set: TagSetId) -> &[u32] {
        set_slice(&self.set_pairs, &self.set_ends, set.0)
    }

    /// Returns the number of the key, and the value, of a pair by its number.
    pub fn pair(&self, pair: u32) -> (u32, &str) {
        let (key, value) = self.pairs[pair as usize];
        (key, self.values.get(Symbol(value)))
    }

    /// Returns how many distinct pairs there are.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Returns a key by its number.
    pub fn key_name(&self, key: u32) -> &str {
        self.keys.get(Symbol(key))
    }

    /// Returns how many keys there are.
    pub fn key_count(&self) -> usize {
        self.facts.len()
    }

    /// Returns the value of `key` in a set; of several, the smallest. Of a key with too many values none: which of them
    /// are stored depends on what was read before.
    pub fn value(&self, set: TagSetId, key: &str) -> Option<&str> {
        let number = self.keys.find(key)?.0;
        if self.is_high_cardinality(number) { None } else { self.stored_values(set, key).min() }
    }

    /// Returns what is stored of `key` in a set: values, or what stands for them where there are too many.
    pub fn stored_values(&self, set: TagSetId, key: &str) -> impl Iterator<Item = &str> {
        let found = self.keys.find(key).map(|key| (key.0, set_slice(&self.set_pairs, &self.set_ends, set.0)));
        let pairs = found.into_iter().flat_map(|(key, pairs)| pairs.iter().map(move |&pair| (key, pair)));
        let values = pairs.map(|(key, pair)| (key, self.pairs[pair as usize]));
        values.filter(|(key, pair)| pair.0 == *key).map(|(_, (_, value))| self.values.get(Symbol(value)))
    }

    /// Returns whether a pair of a key and a value was stored.
    pub(super) fn has_pair(&self, key: &str, value: &str) -> bool {
        let found = self.keys.find(key).zip(self.values.find(value));
        found.is_some_and(|(key, value)| {
            let pair = (key.0, value.0);
            self.pair_table.find(hash_pair(key.0, value.0), |&i| self.pairs[i as usize] == pair).is_some()
        })
    }

    /// Returns whether the set has `key` = `value`; with a key of too many values it never has.
    pub fn contains(&self, set: TagSetId, key: &str, value: &str) -> bool {
        let (Some(key), Some(value)) = (self.keys.find(key), self.values.find(value)) else { return false };
        if self.is_high_cardinality(key.0) {
            return false;
        }
        let TagTable { pairs, .. } = self;
        match self.pair_table.find(hash_pair(key.0, value.0), |&i| pairs[i as usize] == (key.0, value.0)) {
            Some(pair) => set_slice(&self.set_pairs, &self.set_ends, set.0).binary_search(pair).is_ok(),
            None => false,
        }
    }

    /// Returns all keys with what is known of them, sorted by key.
    pub fn keys(&self) -> Vec<(&str, KeyFacts)> {
        let mut keys: Vec<_> = self.keys.iter().zip(self.facts.iter().copied()).collect();
        keys.compact_sort_by(|a, b| a.0.cmp(b.0));
        keys
    }

    /// Returns all keys with what is known of them and their stored values, both sorted. One sweep over all of it:
    /// there may be as many keys as there are values.
    pub fn keys_with_values(&self) -> Vec<(&str, KeyFacts, Vec<&str>)> {
        let keys = self.keys.iter().zip(self.facts.iter().copied());
        let mut all: Vec<_> = keys.map(|(key, facts)| (key, facts, Vec::new())).collect();
        for &(key, value) in &self.pairs {
            all[key as usize].2.push(self.values.get(Symbol(value)));
        }
        all.iter_mut().for_each(|(_, _, values)| values.compact_sort());
        all.compact_sort_by(|a, b| a.0.cmp(b.0));
        all
    }

    /// Returns how many distinct sets there are.
    pub fn sets(&self) -> usize {
        self.set_ends.len()
    }

    /// Says that a key has too many values, as another table found.
    pub fn mark_high_cardinality(&mut self, key: &str) {
        let key = self.key(key);
        self.stop_storing_values(key);
    }

    /// Says that a key has too many templates too, as several tables together found.
    pub(super) fn stop_storing_templates(&mut self, key: &str) {
        let key = self.key(key);
        self.stop_storing_values(key);
        if let StandIns::Templates(seen) = &mut self.stand_ins[key as usize] {
            // As many as make it too many.
            seen.extend(0..=u64::from(MAX_VALUES_PER_KEY));
        }
    }

    /// Names the key that says weights before all others.
    pub(super) fn choose_weight_key(&mut self, key: &str) {
        let key = self.key(key);
        self.weight_keys.retain(|(of, _)| *of != key);
        self.weight_keys.push((key, WeightKey::CHOSEN));
        self.stand_ins[key as usize] = StandIns::Weight(WeightKey::CHOSEN);
    }

    /// Returns the keys that say weights, of those seen, by number.
    pub(super) fn weight_keys(&self) -> &[(u32, WeightKey)] {
        &self.weight_keys
    }

    /// Returns whether the values of a key, by its number, are addresses.
    pub fn is_address(&self, key: u32) -> bool {
        matches!(self.stand_ins[key as usize], StandIns::Templates(_))
    }

    /// Gives back most of what growing has reserved ahead.
    pub(super) fn shrink(&mut self) {
        self.set_pairs.shrink_to(with_slack(self.set_pairs.len()));
        self.set_ends.shrink_to(with_slack(self.set_ends.len()));
        self.pairs.shrink_to(with_slack(self.pairs.len()));
    }

    /// Returns the bytes of heap held.
    pub fn heap_bytes(&self) -> usize {
        self.keys.heap_bytes()
            + self.values.heap_bytes()
            + self.pairs.capacity() * 8
            + (self.pair_table.capacity() + self.set_table.capacity()) * 5
            + (self.set_pairs.capacity() + self.set_ends.capacity()) * 4
    }
}

/// In the place of the first pair: a set like another one, of which the number follows, with what its spans ask, in two halves.
const WITH_ASKED: u32 = u32::MAX;

fn set_range(ends: &[u32], set: u32) -> std::ops::Range<usize> {
    let set = set as usize;
    (if set == 0 { 0 } else { ends[set - 1] as usize })..ends[set] as usize
}

/// Returns the pairs of a set.
fn set_slice<'a>(pairs: &'a [u32], ends: &[u32], set: u32) -> &'a [u32] {
    match &pairs[set_range(ends, set)] {
        [WITH_ASKED, set, ..] => &pairs[set_range(ends, *set)],
        pairs => pairs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(table: &mut TagTable, tags: &[(&str, &str)]) -> TagSetId {
        table.begin();
        for (key, value) in tags {
            table.add(key, value);
        }
        table.finish()
    }

    #[test]
    fn equal_sets_are_one_in_any_order() {
        let mut table = TagTable::default();
        let a = set(&mut table, &[("region", "eu"), ("zone", "a")]);
        assert_eq!(set(&mut table, &[("zone", "a"), ("region", "eu")]), a);
        assert_eq!(set(&mut table, &[]), TagSetId::EMPTY);
        assert_eq!(table.value(a, "zone"), Some("a"));
        assert!(table.contains(a, "region", "eu") && !table.contains(a, "region", "a"));
        let b = set(&mut table, &[("region", "us")]);
        let both = table.union(a, b);
        assert_eq!(table.get(both).count(), 3);
    }

    #[test]
    fn a_key_with_too_many_values_keeps_counting() {
        let mut table = TagTable::default();
        for i in 0..5000 {
            set(&mut table, &[("id", &i.to_string()), ("fixed", "x")]);
        }
        let keys = table.keys();
        assert_eq!(keys[1], ("id", KeyFacts { occurrences: 5000, values: 4096, high_cardinality: true }));
        assert_eq!(keys[0].1.values, 1);
    }

    #[test]
    fn of_an_address_with_too_many_values_the_templates_of_paths_stay() {
        let mut table = TagTable::default();
        let address = |i: usize, word: &str| format!("http://shop:80/{word}/{i}?page=2");
        let first = set(&mut table, &[("http.url", &address(1, "cart"))]);
        for i in 0..5000 {
            set(&mut table, &[("http.url", &address(i, "cart"))]);
        }
        let later = set(&mut table, &[("http.url", &address(1, "cart"))]);
        assert_eq!(table.value(first, "http.url"), None);
        assert_eq!(table.stored_values(first, "http.url").next(), Some("http://shop:80/cart/1?page=2"));
        assert_eq!(table.stored_values(later, "http.url").next(), Some("/cart/{n}"));
        // A pair that is remembered becomes the same set as its text.
        let key = table.key("http.url");
        let pair = table.pairs_of(first)[0];
        table.begin();
        table.add_pair(pair);
        assert_eq!(table.finish(), later);
        assert_eq!(table.keys()[0].1, KeyFacts { occurrences: 5003, values: 4096, high_cardinality: true });
        assert!(!table.stores_nothing(key));
        for i in 0..5000 {
            let word: String = i.to_string().bytes().map(|digit| char::from(digit + 49)).collect();
            set(&mut table, &[("http.url", &address(i, &word))]);
        }
        assert!(table.stores_nothing(key));
        // Only what was asked is kept.
        let none = set(&mut table, &[("http.url", &address(1, "cart"))]);
        assert_eq!((table.pairs_of(none), table.asked(none)), (&[][..], table.asked(later)));
    }

    #[test]
    fn of_peers_with_too_many_names_it_stays_that_there_is_one() {
        let mut table = TagTable::default();
        let sets: Vec<TagSetId> =
            (0..5000).map(|i| set(&mut table, &[("server.address", &format!("10.0.0.{i}"))])).collect();
        let stored = |at: usize| table.stored_values(sets[at], "server.address").next();
        assert_eq!([stored(0), stored(4096), stored(4999)], [Some("10.0.0.0"), Some("…"), Some("…")]);
        assert_eq!(table.value(sets[0], "server.address"), None);
    }

    #[test]
    fn a_long_value_is_cut_at_a_character() {
        let mut table = TagTable::default();
        let long = "ü".repeat(300);
        let id = set(&mut table, &[("k", &long)]);
        assert_eq!(table.value(id, "k").map(|v| v.chars().count()), Some(129));
        assert!(table.asked(id).is_nothing());
    }

    #[test]
    fn of_long_statements_a_hash_tells_whether_they_are_the_same() {
        let mut table = TagTable::default();
        let long = |end: &str| format!("SELECT {}{end}", "a, ".repeat(100));
        let [a, b, again, short] = [&long("b"), &long("c"), &long("b"), "SELECT a"]
            .map(|statement| set(&mut table, &[("db.statement", statement), ("db.system", "mysql")]));
        assert_eq!(a, again);
        assert!(a != b && table.pairs_of(a) == table.pairs_of(b));
        assert!(table.asked(a) != table.asked(b) && table.asked(short).is_nothing());
        assert_eq!(table.value(a, "db.system"), Some("mysql"));
        let other = set(&mut table, &[("zone", "a")]);
        let both = table.union(other, a);
        assert_eq!((table.asked(both), table.get(both).count()), (table.asked(a), 3));
    }
}
