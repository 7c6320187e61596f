//! Traces that links connect (`docs/definitions/real-traces.md` section 9): they are to lie in one worker.

use std::collections::BTreeMap;

/// Components of more traces stay where they are: they could be all there is.
pub(super) const MOST_TRACES: usize = 1000;

/// Returns the components of things that pairs connect, of two and more things each: the things sorted, components by
/// their least.
pub(super) fn components<K: Ord + Clone>(pairs: impl Iterator<Item = (K, K)>) -> Vec<Vec<K>> {
    let mut places: BTreeMap<K, usize> = BTreeMap::new();
    // By place one of the same component, ever nearer to the one that stands for all.
    let mut above: Vec<usize> = Vec::new();
    for pair in pairs {
        let [a, b] = [pair.0, pair.1].map(|key| {
            let place = *places.entry(key).or_insert_with(|| {
                above.push(above.len());
                above.len() - 1
            });
            top(&mut above, place)
        });
        above[a.max(b)] = a.min(b);
    }
    let mut by_top: BTreeMap<usize, Vec<K>> = BTreeMap::new();
    for (key, place) in places {
        by_top.entry(top(&mut above, place)).or_default().push(key);
    }
    let mut components: Vec<Vec<K>> = by_top.into_values().filter(|keys| keys.len() > 1).collect();
    components.sort();
    components
}

fn top(above: &mut [usize], mut place: usize) -> usize {
    while above[place] != place {
        above[place] = above[above[place]];
        place = above[place];
    }
    place
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn components_are_what_pairs_connect() {
        let pairs = [(5, 6), (1, 2), (9, 9), (3, 1), (6, 7), (2, 3)];
        let expected = vec![vec![1, 2, 3], vec![5, 6, 7]];
        assert_eq!(components(pairs.into_iter()), expected);
        assert_eq!(components(pairs.into_iter().rev().map(|(a, b)| (b, a))), expected);
    }
}
