//! Which keys of tags have too many values, decided over all workers: what an analysis says must not depend on how the
//! traces lie in them.

use super::names::hash_bytes;
use super::places::Places;
use super::set::TraceSet;
use super::tags::{MAX_VALUES_PER_KEY, TagTable};
use super::templates::address_template;
use crate::ordered::OrderedMap;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

/// A key with fewer values in every worker has not too many in all of them: there are not so many workers.
const LEAST_VALUES: u32 = MAX_VALUES_PER_KEY / 256;

/// The values of a key in one worker, as hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyValues {
    key: String,
    /// `None`: too many for one worker.
    values: Option<Vec<u64>>,
    /// Of an address the templates of its values; `None`: too many of these too.
    templates: Option<Vec<u64>>,
}

/// The keys that have too many values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrowdedKeys {
    /// By key: whether even the templates of its values are too many.
    keys: OrderedMap<String, bool>,
}

fn hash_of(text: &str) -> u64 {
    hash_bytes(text.as_bytes())
}

impl TagTable {
    /// Returns the keys that may have too many values together with those of other workers.
    pub fn key_values(&self) -> Vec<KeyValues> {
        let may_be = |key: &u32| self.values_stored(*key) >= LEAST_VALUES || self.is_high_cardinality(*key);
        let keys: Vec<u32> = (0..self.key_count() as u32).filter(may_be).collect();
        let mut found: Vec<[FxHashSet<u64>; 2]> = vec![Default::default(); keys.len()];
        // One sweep, and none where keys have few values.
        for pair in 0..if keys.is_empty() { 0 } else { self.pairs() as u32 } {
            let (key, value) = self.pair(pair);
            let Ok(at) = keys.binary_search(&key) else { continue };
            let [values, templates] = &mut found[at];
            values.insert(hash_of(value));
            if self.is_address(key) {
                templates.insert(hash_of(&address_template(value)));
            }
        }
        let of = |(&key, [values, templates]): (&u32, [FxHashSet<u64>; 2])| KeyValues {
            key: self.key_name(key).to_owned(),
            values: (!self.is_high_cardinality(key)).then(|| values.into_iter().collect()),
            // Where there are no addresses there are no templates.
            templates: (!self.is_address(key) || !self.stores_nothing(key))
                .then(|| templates.into_iter().collect()),
        };
        keys.iter().zip(found).map(of).collect()
    }
}

impl CrowdedKeys {
    /// Returns the keys with too many values in all workers together.
    pub fn of(workers: impl IntoIterator<Item = Vec<KeyValues>>) -> CrowdedKeys {
        let mut all: OrderedMap<String, [Option<FxHashSet<u64>>; 2]> = OrderedMap::new();
        for KeyValues { key, values, templates } in workers.into_iter().flatten() {
            let known =
                all.entry(key).or_insert_with(|| [Some(FxHashSet::default()), Some(FxHashSet::default())]);
            for (into, from) in known.iter_mut().zip([values, templates]) {
                match (&mut *into, from) {
                    (Some(into), Some(from)) => into.extend(from),
                    _ => *into = None,
                }
                into.take_if(|values| values.len() > MAX_VALUES_PER_KEY as usize);
            }
        }
        let crowded = all.into_iter().filter(|(_, [values, _])| values.is_none());
        CrowdedKeys { keys: crowded.map(|(key, [_, templates])| (key, templates.is_none())).collect() }
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl TraceSet {
    /// Takes over which keys have too many values in all workers together.
    pub fn mark_crowded(&mut self, crowded: &CrowdedKeys) {
        for (key, has_too_many_templates) in &crowded.keys {
            self.tags.mark_high_cardinality(key);
            if *has_too_many_templates {
                self.tags.stop_storing(key);
            }
        }
        // Names of places follow from tags.
        self.places = Places::default();
    }
}
