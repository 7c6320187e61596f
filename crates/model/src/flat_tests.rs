use super::*;
use crate::trace::Interner;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
enum Kind {
    #[default]
    Plain,
    Of(Option<u32>),
    Two(i64, char),
    Named {
        text: String,
        map: BTreeMap<u64, Vec<Kind>>,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Id(u128);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct All {
    flag: bool,
    small: (u8, i8, u16, i16),
    large: (u32, i32, u64, usize),
    floats: [f64; 2],
    single: f32,
    unit: (),
    id: (Id, u8),
    kinds: Vec<Kind>,
    #[serde(with = "crate::packed")]
    packed: Vec<u64>,
    text: Box<str>,
}

fn kind() -> impl Strategy<Value = Kind> {
    let leaf = prop_oneof![
        Just(Kind::Plain),
        any::<Option<u32>>().prop_map(Kind::Of),
        any::<(i64, char)>().prop_map(|(number, letter)| Kind::Two(number, letter)),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let map = prop::collection::vec((any::<u64>(), prop::collection::vec(inner, 0..3)), 0..3);
        (any::<String>(), map).prop_map(|(text, map)| Kind::Named { text, map: map.into_iter().collect() })
    })
}

prop_compose! {
    fn all()(
        flag: bool,
        small: (u8, i8, u16, i16),
        large: (u32, i32, u64, u32),
        floats in prop::array::uniform2(-1e300..1e300),
        single in -1e30_f32..1e30,
        id: (u128, u8),
        kinds in prop::collection::vec(kind(), 0..5),
        packed: Vec<u64>,
        text: String,
    ) -> All {
        let large = (large.0, large.1, large.2, large.3 as usize);
        All { flag, small, large, floats, single, unit: (), id: (Id(id.0), id.1), kinds, packed, text: text.into() }
    }
}

proptest! {
    #[test]
    fn bytes_are_those_of_postcard_and_are_read_back(value in all()) {
        let bytes = write(&value);
        prop_assert_eq!(&bytes, &postcard::to_allocvec(&value).unwrap());
        prop_assert_eq!(read::<All>(&bytes), Ok(value));
    }

    /// What it does refuse, and that nothing panics or takes memory that is not there.
    #[test]
    fn what_postcard_refuses_is_damaged(value in all(), at: prop::sample::Index, byte: u8, cut: bool) {
        let mut bytes = write(&value);
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        // As text: a number that is none differs from itself.
        let shown = |value: Option<All>| format!("{value:?}");
        prop_assert_eq!(shown(read(&bytes).ok()), shown(postcard::from_bytes(&bytes).ok()));
    }
}

#[test]
fn a_list_longer_than_its_bytes_is_damaged_and_read_at_once() {
    let mut bytes = write(&u64::MAX);
    bytes.extend([0; 3]);
    assert_eq!(read::<Vec<()>>(&write(&3_u8)), Ok(vec![(); 3]));
    assert_eq!(read::<Vec<u8>>(&bytes), Err(Damaged));
    assert_eq!(read::<BTreeMap<u8, String>>(&bytes), Err(Damaged));
    assert_eq!(read::<String>(&bytes), Err(Damaged));
    assert_eq!(read::<u8>(&[7]), Ok(7), "damage is that of one value");
}

#[test]
fn a_number_of_too_many_bits_is_damaged() {
    assert_eq!(read::<u16>(&write(&70_000_u32)), Err(Damaged));
    assert_eq!(read::<u64>(&[0xff; 11]), Err(Damaged));
    assert_eq!(read::<u64>(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), Err(Damaged));
    assert_eq!(read::<bool>(&[2]), Err(Damaged));
    assert_eq!(read::<Kind>(&[9]), Err(Damaged));
}

#[test]
fn types_that_refuse_values_say_so() {
    // An arena of two letters in which a string would end at the third, and a list of numbers whose last is cut.
    assert!(read::<Interner>(&write(&("ab", vec![1_u32, 2]))).is_ok());
    assert_eq!(read::<Interner>(&write(&("ab", vec![1_u32, 3]))).err(), Some(Damaged));
}

#[test]
fn a_field_that_json_leaves_out_is_read_as_its_default() {
    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Sparse {
        before: u8,
        #[serde(default, skip_serializing_if = "is_default")]
        kind: Kind,
        #[serde(skip_serializing_if = "Option::is_none")]
        may: Option<String>,
        after: u8,
    }
    fn is_default(kind: &Kind) -> bool {
        *kind == Kind::Plain
    }
    for value in [
        Sparse { before: 1, after: 2, ..Sparse::default() },
        Sparse { kind: Kind::Of(Some(3)), may: Some("text".to_owned()), ..Sparse::default() },
    ] {
        assert_eq!(read(&write(&value)), Ok(value));
    }
}
