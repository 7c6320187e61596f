//! Interned strings.

use hashbrown::HashTable;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use std::hash::Hasher as _;

/// A string of an [`Interner`]; numbered from 0 in the order of first sight, so never a key to sort output by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Symbol(pub u32);

impl Symbol {
    /// "No string".
    pub const NONE: Symbol = Symbol(u32::MAX);
}

/// A set of strings, each stored once in one arena.
#[derive(Clone, Default)]
pub struct Interner {
    text: String,
    ends: Vec<u32>,
    table: HashTable<u32>,
}

/// Returns the hash that all tables of interned things use. It has 32 bits on wasm, 64 elsewhere: nothing that page and binary
/// must agree on may come of it.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// Returns a hash of a text, the same in every build, all bits of which depend on all of it: FNV-1a of 64 bits, mixed
/// as MurmurHash3 does at its end.
pub fn hash_text(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    mix(text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Returns a number all bits of which depend on all of another one, the same in every build, as MurmurHash3 does at its
/// end.
pub(super) fn mix(number: u64) -> u64 {
    let step = |hash: u64, factor: u64| (hash ^ hash >> 33).wrapping_mul(factor);
    let hash = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53].into_iter().fold(number, step);
    hash ^ hash >> 33
}

impl Interner {
    /// Returns the symbol of `text`, new if it was never seen.
    pub fn intern(&mut self, text: &str) -> Symbol {
        let hash = hash_bytes(text.as_bytes());
        let Interner { text: arena, ends, table } = self;
        if let Some(&found) = table.find(hash, |&i| slice(arena, ends, i) == text) {
            return Symbol(found);
        }
        let symbol = ends.len() as u32;
        arena.push_str(text);
        ends.push(arena.len() as u32);
        table.insert_unique(hash, symbol, |&i| hash_bytes(slice(arena, ends, i).as_bytes()));
        Symbol(symbol)
    }

    /// Returns the symbol of `text`, if it was ever interned.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.table
            .find(hash_bytes(text.as_bytes()), |&i| slice(&self.text, &self.ends, i) == text)
            .copied()
            .map(Symbol)
    }

    /// Returns the string of a symbol of this interner; empty for [`Symbol::NONE`] and for a foreign symbol.
    pub fn get(&self, symbol: Symbol) -> &str {
        if (symbol.0 as usize) < self.ends.len() { slice(&self.text, &self.ends, symbol.0) } else { "" }
    }

    /// Returns how many strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is no string yet.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns all strings, by symbol.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len() as u32).map(|i| slice(&self.text, &self.ends, i))
    }

    /// Returns the bytes of heap held.
    pub fn heap_bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 4 + self.table.capacity() * 5
    }
}

fn slice<'a>(arena: &'a str, ends: &[u32], i: u32) -> &'a str {
    let i = i as usize;
    let start = if i == 0 { 0 } else { ends[i - 1] as usize };
    &arena[start..ends[i] as usize]
}

impl Serialize for Interner {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.text, &self.ends).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Interner {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (text, ends) = <(String, Vec<u32>)>::deserialize(deserializer)?;
        let mut out = Interner::default();
        let mut start = 0;
        for end in ends {
            let piece = text.get(start..end as usize);
            let piece = piece.ok_or_else(|| D::Error::custom("a string that ends outside of its text"))?;
            out.intern(piece);
            start = end as usize;
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::encoding;

    #[test]
    fn strings_are_stored_once_and_found_again() {
        let mut names = Interner::default();
        let a = names.intern("alpha");
        let empty = names.intern("");
        assert_eq!(names.intern("alpha"), a);
        assert_eq!((names.get(a), names.get(empty), names.get(Symbol::NONE)), ("alpha", "", ""));
        assert_eq!(names.find("beta"), None);
        for i in 0..1000 {
            names.intern(&i.to_string());
        }
        assert_eq!(names.find("777").map(|s| names.get(s)), Some("777"));
    }

    #[test]
    fn stored_names_that_end_outside_their_text_are_damaged() {
        // An arena of two letters in which a string would end at the third.
        assert!(encoding::read::<Interner>(&encoding::write(&("ab", vec![1_u32, 2]))).is_ok());
        assert_eq!(
            encoding::read::<Interner>(&encoding::write(&("ab", vec![1_u32, 3]))).err(),
            Some(encoding::Damaged)
        );
    }
}
