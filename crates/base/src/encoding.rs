//! Values as bytes, by postcard: messages between page and workers, summaries, models and saved columns.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// The bytes are no such value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("its bytes are cut or changed")]
pub struct Damaged;

/// Writes a value as bytes.
pub fn write<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    write_after(Vec::new(), value)
}

/// Writes a value after some bytes.
///
/// # Panics
/// If the type refuses to be written, as a list that does not know its length: a mistake in the code.
pub fn write_after<T: Serialize + ?Sized>(bytes: Vec<u8>, value: &T) -> Vec<u8> {
    match postcard::to_extend(value, bytes) {
        Ok(bytes) => bytes,
        Err(error) => panic!("a value cannot be written as bytes: {error}"),
    }
}

/// Returns the value that [`write()`] wrote; what follows it is ignored.
///
/// # Errors
/// [`Damaged`] unless the bytes are such a value.
pub fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Damaged> {
    postcard::from_bytes(bytes).map_err(|_| Damaged)
}

/// What was found out once and travels in many messages, as bytes: whoever gets it reads the same ones once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed<T> {
    #[serde(with = "crate::packed")]
    bytes: Vec<u8>,
    of: PhantomData<T>,
}

impl<T: Serialize + DeserializeOwned> Packed<T> {
    /// Packs what was found.
    pub fn of(found: &T) -> Packed<T> {
        Packed { bytes: write(found), of: PhantomData }
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads what was packed.
    ///
    /// # Errors
    /// [`Damaged`] if the bytes are.
    pub fn read(&self) -> Result<T, Damaged> {
        read(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_list_longer_than_its_bytes_is_damaged_and_read_at_once() {
        let mut bytes = write(&u64::MAX);
        bytes.extend([0; 3]);
        assert_eq!(read::<Vec<u8>>(&bytes), Err(Damaged));
        assert_eq!(read::<BTreeMap<u8, String>>(&bytes), Err(Damaged));
        assert_eq!(read::<String>(&bytes), Err(Damaged));
    }

    #[test]
    fn a_number_of_too_many_bits_is_damaged() {
        assert_eq!(read::<u16>(&write(&70_000_u32)), Err(Damaged));
        assert_eq!(read::<u64>(&[0xff; 11]), Err(Damaged));
        assert_eq!(read::<bool>(&[2]), Err(Damaged));
    }
}
