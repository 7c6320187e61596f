//! Keys of tags with too many values, decided over all workers: what an analysis says must not depend on how the
//! traces lie in them.

use super::places::Places;
use super::{MAX_VALUES_PER_KEY, TagTable, TraceSet, address_template, hash_text};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The values of a key in one worker, as hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyValues {
    key: String,
    /// `None`: too many for one worker.
    values: Option<Vec<u64>>,
    /// Of an address the templates of its values; `None`: nothing stands for further values.
    templates: Option<Vec<u64>>,
}

/// The keys that have too many values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HighCardinalityKeys {
    /// By key: whether nothing stands for further values, as where the templates of an address are too many too.
    keys: BTreeMap<String, bool>,
}

impl TagTable {
    /// Returns all keys with their values.
    pub fn key_values(&self) -> Vec<KeyValues> {
        let mut all: Vec<KeyValues> = (0..self.key_count() as u32)
            .map(|key| KeyValues {
                key: self.key_name(key).to_owned(),
                values: (!self.is_high_cardinality(key)).then(Vec::new),
                templates: (!self.stores_nothing(key)).then(Vec::new),
            })
            .collect();
        for (key, value) in (0..self.pairs() as u32).map(|pair| self.pair(pair)) {
            let KeyValues { values, templates, .. } = &mut all[key as usize];
            if let Some(values) = values {
                values.push(hash_text(value));
            }
            if let Some(templates) = templates.as_mut().filter(|_| self.is_address(key)) {
                templates.push(hash_text(&address_template(value)));
            }
        }
        all
    }
}

impl HighCardinalityKeys {
    /// Returns the keys with too many values in all workers together.
    pub fn of(workers: impl IntoIterator<Item = Vec<KeyValues>>) -> HighCardinalityKeys {
        let mut all: BTreeMap<String, [Option<FxHashSet<u64>>; 2]> = BTreeMap::new();
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
        let high_cardinality = all.into_iter().filter(|(_, [values, _])| values.is_none());
        HighCardinalityKeys {
            keys: high_cardinality.map(|(key, [_, templates])| (key, templates.is_none())).collect(),
        }
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl TraceSet {
    /// Takes over which keys have too many values in all workers together.
    pub fn mark_high_cardinality(&mut self, high_cardinality: &HighCardinalityKeys) {
        for (key, stores_nothing) in &high_cardinality.keys {
            self.tags.mark_high_cardinality(key);
            if *stores_nothing {
                self.tags.stop_storing_templates(key);
            }
        }
        // Names of places follow from tags.
        self.places = Places::default();
    }
}
