//! Long lists of numbers between page and workers: as bytes, which are copied, not read one by one.
//!
//! `#[serde(with = "crate::packed")]` on a `Vec` of numbers; in JSON it stays a list.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// A number that is packed, the lowest byte first.
pub trait Number: Copy + Serialize + for<'de> Deserialize<'de> {
    /// Bytes of one.
    const BYTES: usize;

    /// Appends the bytes of the number to `into`.
    fn pack(self, into: &mut Vec<u8>);

    /// Reads it; `None` unless there are [`BYTES`](Self::BYTES) bytes.
    fn unpack(bytes: &[u8]) -> Option<Self>;

    /// Reads all of them; `None` if the last is cut.
    fn unpack_all(bytes: &[u8]) -> Option<Vec<Self>> {
        let mut numbers = Vec::with_capacity(bytes.len() / Self::BYTES);
        for bytes in bytes.chunks(Self::BYTES) {
            numbers.push(Self::unpack(bytes)?);
        }
        Some(numbers)
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl Number for $number {
            const BYTES: usize = size_of::<$number>();

            fn pack(self, into: &mut Vec<u8>) {
                into.extend_from_slice(&self.to_le_bytes());
            }

            fn unpack(bytes: &[u8]) -> Option<$number> {
                bytes.try_into().ok().map(<$number>::from_le_bytes)
            }
        })*
    };
}

numbers!(u32, u64);

impl Number for u8 {
    const BYTES: usize = 1;

    fn pack(self, into: &mut Vec<u8>) {
        into.push(self);
    }

    fn unpack(bytes: &[u8]) -> Option<u8> {
        if let [byte] = *bytes { Some(byte) } else { None }
    }

    fn unpack_all(bytes: &[u8]) -> Option<Vec<u8>> {
        Some(bytes.to_vec())
    }
}

/// Writes the numbers.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<T: Number, S: Serializer>(numbers: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        return numbers.serialize(serializer);
    }
    let mut bytes = Vec::with_capacity(numbers.len() * T::BYTES);
    numbers.iter().for_each(|number| number.pack(&mut bytes));
    serializer.serialize_bytes(&bytes)
}

/// Reads what [`serialize`] wrote.
///
/// # Errors
/// Those of the deserializer, and bytes that are no whole numbers.
pub fn deserialize<'de, T: Number, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    if deserializer.is_human_readable() {
        return Vec::deserialize(deserializer);
    }
    deserializer.deserialize_bytes(Bytes(PhantomData))
}

struct Bytes<T>(PhantomData<T>);

impl<T: Number> Visitor<'_> for Bytes<T> {
    type Value = Vec<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "numbers of {} bytes", T::BYTES)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
        Ok(T::unpack_all(bytes).unwrap_or_else(|| {
            crate::flat::damaged();
            Vec::new()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flat;

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
        let bytes = flat::write(&columns());
        assert_eq!(bytes.len(), 1 + 3 * 8 + 1 + 2);
        assert_eq!(flat::read::<Columns>(&bytes).unwrap(), columns());
        let json = serde_json::to_string(&columns()).unwrap();
        assert_eq!(json, "{\"long\":[0,1,18446744073709551615],\"short\":[7,0]}");
        assert_eq!(serde_json::from_str::<Columns>(&json).unwrap(), columns());
    }

    #[test]
    fn half_a_number_is_an_error() {
        assert!(flat::read::<Columns>(&[3, 1, 2, 3, 0]).is_err());
        assert!(flat::read::<Columns>(&[0, 0]).is_ok());
    }
}
