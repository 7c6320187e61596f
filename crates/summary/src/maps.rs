//! Joining maps of parts key by key.

use pathlight_model::ordered::OrderedMap;

/// Returns the values of each key in some maps.
pub(crate) fn by_key<K: Ord, V>(maps: impl Iterator<Item = OrderedMap<K, V>>) -> OrderedMap<K, Vec<V>> {
    let mut out: OrderedMap<K, Vec<V>> = OrderedMap::new();
    for (key, value) in maps.flatten() {
        out.entry(key).or_default().push(value);
    }
    out
}

/// Joins some maps; values of one key by `join`, which must not mind their order.
pub(crate) fn join_maps<K: Ord, V>(
    maps: impl Iterator<Item = OrderedMap<K, V>>,
    join: impl Fn(Vec<V>) -> V,
) -> OrderedMap<K, V> {
    by_key(maps).into_iter().map(|(key, values)| (key, join(values))).collect()
}
