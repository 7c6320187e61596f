//! What spans ask whom they call, where the text that says it is not stored: a hash of it.

use super::hash_text;
use pathlight_base::statistics::mix;

/// Keys of statements and of addresses, in the order of their bits. Of their values that are cut, or that are too many, a hash is
/// kept.
pub const ASKED_KEYS: [&str; 4] = ["db.query.text", "db.statement", "url.full", "http.url"];
/// The first keys are of statements.
const STATEMENTS: usize = 2;
/// First words of statements that only read.
const READING: [&str; 22] = [
    "select",
    "with",
    "show",
    "describe",
    "explain",
    "find",
    "aggregate",
    "count",
    "distinct",
    "get",
    "mget",
    "hget",
    "hmget",
    "hgetall",
    "exists",
    "ttl",
    "llen",
    "lrange",
    "smembers",
    "sismember",
    "zrange",
    "zscore",
];

/// What the values of [`ASKED_KEYS`] say, in one number: a hash, then whether a statement writes and whether it has all its values,
/// whether an address has a path, and a bit for each key that it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Asked(pub(super) u64);

const KEYS: u64 = (1 << ASKED_KEYS.len()) - 1;
const HAS_PATH: u64 = KEYS + 1;
const IS_WHOLE: u64 = HAS_PATH << 1;
const WRITES: u64 = IS_WHOLE << 1;
const HASH: u64 = !(KEYS | HAS_PATH | IS_WHOLE | WRITES);

impl Asked {
    /// Adds the value of a key, given by its place among [`ASKED_KEYS`]. The order does not matter.
    pub fn add(&mut self, key: usize, value: &str) {
        let hash = mix(hash_text(value) ^ mix(key as u64 + 1));
        let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
        let flags = match key < STATEMENTS {
            true => flag(!reads(value), WRITES) | flag(is_whole(value), IS_WHOLE),
            false => flag(has_path(value), HAS_PATH),
        };
        self.merge(Asked(hash & HASH | flags | 1 << key));
    }

    /// Adds what another one says.
    pub fn merge(&mut self, other: Asked) {
        self.0 = (self.0 & HASH).wrapping_add(other.0 & HASH) & HASH | (self.0 | other.0) & !HASH;
    }

    /// Returns whether it is about no key.
    pub fn is_nothing(self) -> bool {
        self.0 & KEYS == 0
    }

    /// Returns whether it is about a key, given by its place.
    pub fn has(self, key: usize) -> bool {
        self.0 >> key & 1 == 1 && key < ASKED_KEYS.len()
    }

    /// Returns whether it is about a statement.
    pub fn has_statement(self) -> bool {
        (0..STATEMENTS).any(|key| self.has(key))
    }

    /// Returns whether a statement does not only read.
    pub fn writes(self) -> bool {
        self.0 & WRITES != 0
    }

    /// Returns whether a statement has all its values.
    pub fn is_whole(self) -> bool {
        self.0 & IS_WHOLE != 0
    }

    /// Returns whether an address says more than whom it asks.
    pub fn has_path(self) -> bool {
        self.0 & HAS_PATH != 0
    }

    /// Returns a hash of the values.
    pub fn hash(self) -> u64 {
        self.0
    }
}

/// Returns whether an address says more than whom it asks.
fn has_path(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split_once('/').is_some_and(|(_, path)| !path.is_empty())
}

/// Returns whether a statement begins with a word that only reads.
fn reads(statement: &str) -> bool {
    let word = statement.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word = word.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    READING.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns whether a statement has all its values: nothing in it stands for a parameter.
fn is_whole(statement: &str) -> bool {
    let bytes = statement.as_bytes();
    let next = |at: usize| bytes.get(at + 1).copied().unwrap_or(b' ');
    let stands = |(at, byte): (usize, &u8)| match byte {
        b'?' => true,
        b'$' => next(at).is_ascii_digit(),
        b'%' => next(at) == b's' || next(at) == b'(',
        b':' | b'@' => {
            let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
            next(at).is_ascii_alphabetic() && !before.is_ascii_alphanumeric() && before != *byte
        }
        _ => false,
    };
    !bytes.iter().enumerate().any(stands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_with_parameters_elsewhere_is_not_whole() {
        for (statement, expected) in [
            ("SELECT * FROM rows WHERE id = 17", true),
            ("GET user:17", true),
            ("SELECT '2024-01-01 10:30:00'::date", true),
            ("SELECT * FROM rows WHERE id = ?", false),
            ("SELECT * FROM rows WHERE id = $1", false),
            ("SELECT * FROM rows WHERE id = :id", false),
            ("SELECT * FROM rows WHERE id = @id", false),
            ("SELECT * FROM rows WHERE id = %s", false),
        ] {
            assert_eq!(is_whole(statement), expected, "{statement}");
        }
    }

    #[test]
    fn whom_is_asked_is_not_what_is_asked() {
        for (address, expected) in [
            ("0.0.0.0:8083", false),
            ("http://shop:80/", false),
            ("http://shop/item?id=7", true),
            ("/route?to=7", true),
        ] {
            assert_eq!(has_path(address), expected, "{address}");
        }
    }

    #[test]
    fn what_writes_does_not_read() {
        for (statement, expected) in [
            ("select 1", true),
            ("(SELECT 1) UNION (SELECT 2)", true),
            ("HGETALL user:17", true),
            ("INSERT INTO rows SELECT 1", false),
            ("SET user:17 1", false),
            ("", false),
        ] {
            assert_eq!(reads(statement), expected, "{statement}");
        }
    }
}
