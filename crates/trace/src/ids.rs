//! Canonical trace and span ids (`docs/definitions/critical-path.md` section 1).
//!
//! An id is lower-case hexadecimal without its leading zeros, held as a number; anything else is kept as it is, as a
//! [`Symbol`] of the set's id texts. Empty and all-zero ids mean "absent".

use super::names::mix;
use super::{Interner, Symbol, hash_text};
use serde::{Deserialize, Serialize};

/// A span id, valid for the [`TraceSet`](super::TraceSet) whose `id_texts` interned it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SpanId {
    /// The number, or the symbol of a textual id.
    pub bits: u64,
    /// Whether `bits` is a symbol of the set's id texts.
    pub text: bool,
}

/// A trace id, valid for the [`TraceSet`](super::TraceSet) whose `id_texts` interned it.
///
/// Two sets of traces that are compared both lie in one `TraceSet`; the same id in both is two traces, so the group is
/// part of the id. It is no part of its text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TraceId {
    /// The number, or the symbol of a textual id.
    pub bits: u128,
    /// Whether `bits` is a symbol of the set's id texts.
    pub text: bool,
    /// The set of traces it belongs to: 0 is the set looked at (A), 1 the one it is compared with (B).
    pub group: u8,
}

impl SpanId {
    /// The absent id.
    pub const NONE: SpanId = SpanId { bits: 0, text: false };

    /// Returns the id of a number; 0 is absent.
    pub const fn hex(bits: u64) -> SpanId {
        SpanId { bits, text: false }
    }

    /// Returns whether there is no id.
    pub const fn is_none(self) -> bool {
        self.bits == 0 && !self.text
    }

    /// Returns the canonical id of a text as an exporter wrote it.
    pub fn parse(text: &str, texts: &mut Interner) -> SpanId {
        match parse_hex(text, 16) {
            Some(bits) => SpanId::hex(bits as u64),
            None => SpanId { bits: u64::from(texts.intern(text).0), text: true },
        }
    }

    /// Returns the id of a canonical text, if it is hexadecimal or a text that was interned.
    pub fn find(text: &str, texts: &Interner) -> Option<SpanId> {
        match parse_hex(text, 16) {
            Some(bits) => Some(SpanId::hex(bits as u64)),
            None => texts.find(text).map(|symbol| SpanId { bits: u64::from(symbol.0), text: true }),
        }
    }

    /// Returns the canonical text: 16 hexadecimal digits, or the text itself; empty if absent.
    pub fn to_text(self, texts: &Interner) -> String {
        text_of(u128::from(self.bits), self.text, 16, texts)
    }

    /// Returns the canonical text of an id that a person or another program has written.
    pub fn canonical(text: &str) -> String {
        let mut texts = Interner::default();
        SpanId::parse(text, &mut texts).to_text(&texts)
    }

    /// Orders two ids of one set by their canonical texts.
    pub fn compare(self, other: SpanId, texts: &Interner) -> std::cmp::Ordering {
        if self.text || other.text {
            self.to_text(texts).cmp(&other.to_text(texts))
        } else {
            self.bits.cmp(&other.bits)
        }
    }
}

impl TraceId {
    /// The absent id.
    pub const NONE: TraceId = TraceId::hex(0);

    /// Returns the id of a number in group 0; 0 is absent.
    pub const fn hex(bits: u128) -> TraceId {
        TraceId { bits, text: false, group: 0 }
    }

    /// Returns the same id in another group.
    pub const fn in_group(self, group: u8) -> TraceId {
        TraceId { group, ..self }
    }

    /// Returns whether there is no id.
    pub const fn is_none(self) -> bool {
        self.bits == 0 && !self.text
    }

    /// Returns the canonical id, in group 0, of a text as an exporter wrote it.
    pub fn parse(text: &str, texts: &mut Interner) -> TraceId {
        match parse_hex(text, 32) {
            Some(bits) => TraceId::hex(bits),
            None => TraceId::text(texts.intern(text)),
        }
    }

    /// Returns the id, in group 0, of a canonical text, if it is hexadecimal or a text that was interned.
    pub fn find(text: &str, texts: &Interner) -> Option<TraceId> {
        match parse_hex(text, 32) {
            Some(bits) => Some(TraceId::hex(bits)),
            None => texts.find(text).map(TraceId::text),
        }
    }

    const fn text(symbol: Symbol) -> TraceId {
        TraceId { bits: symbol.0 as u128, text: true, group: 0 }
    }

    /// Returns the canonical text: 32 hexadecimal digits, or the text itself; empty if absent.
    pub fn to_text(self, texts: &Interner) -> String {
        text_of(self.bits, self.text, 32, texts)
    }

    /// Returns the canonical text of an id that a person or another program has written.
    pub fn canonical(text: &str) -> String {
        let mut texts = Interner::default();
        TraceId::parse(text, &mut texts).to_text(&texts)
    }

    /// Returns a hash of the canonical text, the same in every set and in every build, all 64 bits of which depend on all of
    /// the id (`hash_bytes` has 32 on wasm); groups share it.
    pub fn content_hash(self, texts: &Interner) -> u64 {
        match self.text {
            true => hash_text(texts.get(Symbol(self.bits as u32))),
            false => mix(self.bits as u64 ^ mix((self.bits >> 64) as u64)),
        }
    }

    /// Orders two ids of one set by their canonical texts, then by group.
    pub fn compare(self, other: TraceId, texts: &Interner) -> std::cmp::Ordering {
        let by_text = if self.text || other.text {
            self.to_text(texts).cmp(&other.to_text(texts))
        } else {
            self.bits.cmp(&other.bits)
        };
        by_text.then(self.group.cmp(&other.group))
    }
}

/// Returns the canonical text of an id with so many digits.
fn text_of(bits: u128, is_text: bool, digits: usize, texts: &Interner) -> String {
    match bits {
        symbol if is_text => texts.get(Symbol(symbol as u32)).to_owned(),
        0 => String::new(),
        // By hand: reports have millions of them.
        bits => {
            let digit = |i| b"0123456789abcdef"[(bits >> (4 * i)) as usize & 15] as char;
            let length = digits.max(bits.ilog2() as usize / 4 + 1);
            let mut text = String::with_capacity(length);
            text.extend((0..length).rev().map(digit));
            text
        }
    }
}

/// Returns the number of a hexadecimal text with at most `digits` significant digits; `Some(0)` for an empty or
/// all-zero text.
fn parse_hex(text: &str, digits: usize) -> Option<u128> {
    let significant = text.trim_start_matches('0');
    if significant.len() > digits {
        return None;
    }
    let mut bits = 0u128;
    for byte in significant.bytes() {
        let digit = (byte as char).to_digit(16)?;
        bits = bits << 4 | u128::from(digit);
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_padded_lower_case_hex_or_kept() {
        let mut texts = Interner::default();
        assert_eq!(SpanId::parse("A", &mut texts).to_text(&texts), "000000000000000a");
        assert_eq!(TraceId::parse("00AB", &mut texts).to_text(&texts), format!("{:0>32}", "ab"));
        assert_eq!(SpanId::parse("span-X", &mut texts).to_text(&texts), "span-X");
        assert_eq!(SpanId::canonical("00AB"), "00000000000000ab");
        assert_eq!(SpanId::canonical("span-X"), "span-X");
        assert!(SpanId::parse("0000", &mut texts).is_none());
        assert!(SpanId::parse("", &mut texts).is_none());
        let long = "1234567890abcdef0";
        assert_eq!(SpanId::parse(long, &mut texts).to_text(&texts), long);
    }

    #[test]
    fn both_halves_of_the_hash_are_those_of_chance() {
        let mut texts = Interner::default();
        let mut counts = [0_u32; 6];
        for number in 0..30_000_u32 {
            for (at, text) in [format!("{number:x}"), format!("trace {number}")].iter().enumerate() {
                let hash = TraceId::parse(text, &mut texts).content_hash(&texts);
                counts[3 * at] += u32::from((hash >> 32).is_multiple_of(3));
                counts[3 * at + 1] += u32::from((hash as u32).is_multiple_of(3));
                counts[3 * at + 2] += u32::from(hash >> 32 == 0);
            }
        }
        // A third of them, six standard errors wide, and none without an upper half.
        for (count, expected) in counts.into_iter().zip([10_000, 10_000, 0, 10_000, 10_000, 0]) {
            assert!(count.abs_diff(expected) < 500, "{counts:?}");
        }
        // The same number in the page and in the binary.
        let known = ["4bf92f3577b34da6a3ce929d0e0e4736", "checkout 17"];
        let hashes = known.map(|text| TraceId::parse(text, &mut texts).content_hash(&texts));
        assert_eq!(hashes, [0x7bc1_eca1_b669_634b, 0x364d_da8f_6b79_a3a4]);
    }
}
