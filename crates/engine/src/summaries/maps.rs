//! Joining maps of parts key by key.

use std::collections::BTreeMap;

/// Returns the values of each key in some maps, or lists.
pub(crate) fn by_key<K: Ord, V>(
    maps: impl Iterator<Item = impl IntoIterator<Item = (K, V)>>,
) -> BTreeMap<K, Vec<V>> {
    let mut out: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in maps.flatten() {
        out.entry(key).or_default().push(value);
    }
    out
}

/// Joins some maps; values of one key by `join`, which must not mind their order.
pub(crate) fn join_maps<K: Ord, V>(
    maps: impl Iterator<Item = impl IntoIterator<Item = (K, V)>>,
    join: impl Fn(Vec<V>) -> V,
) -> BTreeMap<K, V> {
    // What only one of them has stays as it is.
    let joined = |values: Vec<V>| <[V; 1]>::try_from(values).map_or_else(&join, |[only]| only);
    by_key(maps).into_iter().map(|(key, values)| (key, joined(values))).collect()
}
