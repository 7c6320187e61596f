//! That the map and the set are those of the standard library.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn bounds() -> impl Strategy<Value = (Bound<u16>, Bound<u16>)> {
    let bound =
        || prop_oneof![any::<u16>().prop_map(Bound::Included), any::<u16>().prop_map(Bound::Excluded)];
    (prop_oneof![bound(), Just(Bound::Unbounded)], prop_oneof![bound(), Just(Bound::Unbounded)])
}

/// Returns whether `BTreeMap` takes the range.
fn is_range(range: (Bound<u16>, Bound<u16>)) -> bool {
    match range {
        (Bound::Excluded(from), Bound::Excluded(to)) => from < to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => {
            from <= to
        }
        _ => true,
    }
}

proptest! {
    #[test]
    fn it_is_the_standard_map(
        steps in prop::collection::vec((0..6_u8, any::<u16>(), any::<u8>()), 0..1500),
        shift in 0..14_u32,
        range in bounds(),
    ) {
        let (mut here, mut there) = (OrderedMap::new(), BTreeMap::new());
        for (step, key, value) in steps {
            let key = key >> shift;
            match step {
                0..=2 => prop_assert_eq!(here.insert(key, value), there.insert(key, value)),
                3 => {
                    let change = |old: &mut u8| *old ^= 1;
                    here.entry(key).and_modify(change).or_insert(value);
                    there.entry(key).and_modify(change).or_insert(value);
                }
                4 => prop_assert_eq!(here.remove(&key), there.remove(&key)),
                _ if value == 0 => {
                    here.retain(|key, _| key % 3 > 0);
                    there.retain(|key, _| key % 3 > 0);
                }
                _ if value < 3 => prop_assert_eq!(here.pop_first(), there.pop_first()),
                _ if value < 5 => prop_assert_eq!(here.pop_last(), there.pop_last()),
                _ => prop_assert_eq!(here.get(&key), there.get(&key)),
            }
            prop_assert_eq!(here.len(), there.len());
        }
        prop_assert!(here.iter().eq(&there));
        prop_assert!(here.iter().rev().eq(there.iter().rev()));
        prop_assert_eq!(here.iter().len(), there.len());
        prop_assert_eq!(here.last_key_value(), there.last_key_value());
        if is_range(range) {
            prop_assert!(here.range(range).eq(there.range(range)));
            prop_assert!(here.range(range).rev().eq(there.range(range).rev()));
            prop_assert_eq!(here.range(range).len(), there.range(range).count());
        }
        here.values_mut().for_each(|value| *value = value.wrapping_add(1));
        there.values_mut().for_each(|value| *value = value.wrapping_add(1));
        prop_assert_eq!(&here, &there.iter().map(|(&key, &value)| (key, value)).collect());
        let text = serde_json::to_string(&here).unwrap();
        prop_assert_eq!(&text, &serde_json::to_string(&there).unwrap());
        prop_assert_eq!(&here, &serde_json::from_str(&text).unwrap());
        let (names, known): (OrderedSet<u16>, BTreeSet<u16>) = (here.keys().copied().collect(), there.keys().copied().collect());
        prop_assert!(names.iter().eq(&known));
        let text = serde_json::to_string(&names).unwrap();
        prop_assert_eq!(&text, &serde_json::to_string(&known).unwrap());
        prop_assert_eq!(names, serde_json::from_str(&text).unwrap());
        prop_assert!(here.into_iter().eq(there));
    }
}
