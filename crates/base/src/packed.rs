//! Long lists of numbers between page and workers: as bytes, which are copied, not read one by one.
//!
//! `#[serde(with = "crate::packed")]` on a `Vec` of numbers; in JSON it stays a list.

use crate::steps::in_blocks;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// A number that is packed, the lowest byte first.
pub trait PackedNumber: Copy + Serialize + for<'de> Deserialize<'de> {
    /// Returns the bytes of the numbers.
    fn pack_all(numbers: &[Self]) -> Vec<u8>;

    /// Reads numbers from their bytes; `None` if the last is cut.
    fn unpack_all(bytes: &[u8]) -> Option<Vec<Self>>;
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl PackedNumber for $number {
            fn pack_all(numbers: &[$number]) -> Vec<u8> {
                let mut bytes = vec![0; size_of_val(numbers)];
                let (all, _) = bytes.as_chunks_mut();
                in_blocks(all.len(), &mut |block| {
                    for (bytes, number) in all[block.clone()].iter_mut().zip(&numbers[block]) {
                        *bytes = number.to_le_bytes();
                    }
                });
                bytes
            }

            fn unpack_all(bytes: &[u8]) -> Option<Vec<$number>> {
                let (all, rest) = bytes.as_chunks();
                let mut numbers = Vec::with_capacity(all.len());
                in_blocks(all.len(), &mut |block| {
                    numbers.extend(all[block].iter().map(|&bytes| <$number>::from_le_bytes(bytes)));
                });
                rest.is_empty().then_some(numbers)
            }
        })*
    };
}

numbers!(u32, u64);

impl PackedNumber for u8 {
    fn pack_all(numbers: &[u8]) -> Vec<u8> {
        numbers.to_vec()
    }

    fn unpack_all(bytes: &[u8]) -> Option<Vec<u8>> {
        Some(bytes.to_vec())
    }
}

/// Writes the numbers.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<T: PackedNumber, S: Serializer>(numbers: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        return numbers.serialize(serializer);
    }
    serializer.serialize_bytes(&T::pack_all(numbers))
}

/// Reads what [`serialize`] wrote.
///
/// # Errors
/// Those of the deserializer, and bytes that are no whole numbers.
pub fn deserialize<'de, T: PackedNumber, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    if deserializer.is_human_readable() {
        return Vec::deserialize(deserializer);
    }
    deserializer.deserialize_bytes(Bytes(PhantomData))
}

struct Bytes<T>(PhantomData<T>);

impl<T: PackedNumber> Visitor<'_> for Bytes<T> {
    type Value = Vec<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "numbers of {} bytes", size_of::<T>())
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
        T::unpack_all(bytes).ok_or_else(|| E::invalid_length(bytes.len(), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Columns {
        #[serde(with = "super")]
        long: Vec<u64>,
        #[serde(with = "super")]
        short: Vec<u8>,
    }

    fn columns() -> Columns {
        Columns { long: vec![0, 1, u64::MAX], short: vec![7, 0] }
    }

    #[test]
    fn numbers_come_back_from_bytes_and_from_json() {
        let bytes = encoding::write(&columns());
        assert_eq!(bytes.len(), 1 + 3 * 8 + 1 + 2);
        assert_eq!(encoding::read::<Columns>(&bytes).unwrap(), columns());
        let json = serde_json::to_string(&columns()).unwrap();
        assert_eq!(json, "{\"long\":[0,1,18446744073709551615],\"short\":[7,0]}");
        assert_eq!(serde_json::from_str::<Columns>(&json).unwrap(), columns());
    }

    #[test]
    fn numbers_of_several_blocks_come_back() {
        let long: Vec<u64> =
            (0..3 * crate::steps::BLOCK as u64 + 5).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let columns = Columns { short: long.iter().map(|&number| number as u8).collect(), long };
        assert_eq!(encoding::read::<Columns>(&encoding::write(&columns)).unwrap(), columns);
    }

    #[test]
    fn half_a_number_is_an_error() {
        assert!(encoding::read::<Columns>(&[3, 1, 2, 3, 0]).is_err());
        assert!(encoding::read::<Columns>(&[0, 0]).is_ok());
    }
}
