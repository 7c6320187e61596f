//! A framed piece of text with its masks: strings, numbers and ids are found and read in place.

use super::masks::{BLOCK, Block};
use pathlight_model::trace::TraceId;

/// Text with its masks; places are relative to the first byte.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub text: &'a [u8],
    pub blocks: &'a [Block],
}

impl<'a> View<'a> {
    /// The next quote from a place on.
    #[inline]
    pub fn quote(&self, from: usize) -> Option<usize> {
        let mut block = from / BLOCK;
        let mut mask = self.blocks.get(block)?.quotes & (!0 << (from % BLOCK));
        while mask == 0 {
            block += 1;
            mask = self.blocks.get(block)?.quotes;
        }
        Some(block * BLOCK + mask.trailing_zeros() as usize)
    }

    /// The next bracket outside strings from a place on.
    #[inline]
    pub fn bracket(&self, from: usize) -> Option<usize> {
        let mut block = from / BLOCK;
        let both = |b: &Block| b.opens | b.closes;
        let mut mask = both(self.blocks.get(block)?) & (!0 << (from % BLOCK));
        while mask == 0 {
            block += 1;
            mask = both(self.blocks.get(block)?);
        }
        Some(block * BLOCK + mask.trailing_zeros() as usize)
    }

    /// One past the bracket that closes the one at a place; and how many objects stand directly in it.
    pub fn skip_brackets(&self, from: usize) -> Option<(usize, u64)> {
        let (mut depth, mut objects) = (0u32, 0);
        let mut block = from / BLOCK;
        let mut mask = !0u64 << (from % BLOCK);
        loop {
            let masks = self.blocks.get(block)?;
            let mut left = (masks.opens | masks.closes) & mask;
            while left != 0 {
                let bit = left & left.wrapping_neg();
                left ^= bit;
                let at = block * BLOCK + bit.trailing_zeros() as usize;
                if masks.opens & bit != 0 {
                    objects += u64::from(depth == 1 && self.text[at] == b'{');
                    depth += 1;
                } else {
                    depth -= 1;
                    if depth == 0 {
                        return Some((at + 1, objects));
                    }
                }
            }
            block += 1;
            mask = !0;
        }
    }

    /// The first place from `at` on that is no space.
    #[inline]
    pub fn space(&self, mut at: usize) -> Option<usize> {
        loop {
            match self.text.get(at)? {
                b' ' | b'\n' | b'\r' | b'\t' => at += 1,
                _ => return Some(at),
            }
        }
    }

    /// One past a value nobody asked for.
    #[inline]
    pub fn skip_value(&self, at: usize) -> Option<usize> {
        match self.text.get(at)? {
            b'"' => Some(self.quote(at + 1)? + 1),
            b'{' | b'[' => Some(self.skip_brackets(at)?.0),
            _ => self.skip_scalar(at),
        }
    }

    #[inline]
    pub fn skip_scalar(&self, from: usize) -> Option<usize> {
        let mut at = from;
        while let b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'+' | b'.' = self.text.get(at)? {
            at += 1;
        }
        (at > from).then_some(at)
    }

    /// A string's inside and the place after it.
    #[inline]
    pub fn string(&self, at: usize) -> Option<(&'a [u8], usize)> {
        if *self.text.get(at)? != b'"' {
            return None;
        }
        let end = self.quote(at + 1)?;
        Some((self.text.get(at + 1..end)?, end + 1))
    }

    /// A key, and the place of its value.
    #[inline]
    pub fn key(&self, at: usize) -> Option<(&'a [u8], usize)> {
        let (key, at) = self.string(at)?;
        let at = self.space(at)?;
        (self.text[at] == b':').then_some(())?;
        Some((key, self.space(at + 1)?))
    }

    /// After a member or element: the place of the next one, or the place after the end.
    #[inline]
    pub fn next(&self, at: usize, close: u8) -> Option<Result<usize, usize>> {
        let at = self.space(at)?;
        match self.text[at] {
            b',' => Some(Ok(self.space(at + 1)?)),
            byte if byte == close => Some(Err(at + 1)),
            _ => None,
        }
    }

    /// A number of at most 19 digits and the place after it.
    #[inline]
    pub fn integer(&self, from: usize) -> Option<(u64, usize)> {
        let mut at = from;
        let mut number = 0u64;
        while let Some(bytes) = self.text.get(at..).and_then(|t| t.first_chunk::<8>())
            && at < from + 16
            && let Some(eight) = eight_digits(u64::from_le_bytes(*bytes))
        {
            number = number * 100_000_000 + eight;
            at += 8;
        }
        while let byte @ b'0'..=b'9' = *self.text.get(at)? {
            if at - from == 19 {
                return None;
            }
            number = number * 10 + u64::from(byte - b'0');
            at += 1;
        }
        let is_number = at > from && (self.text[from] != b'0' || at == from + 1);
        let ends = matches!(self.text[at], b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
        (is_number && ends).then_some((number, at))
    }
}

/// The number that eight bytes of digits say.
#[inline]
fn eight_digits(word: u64) -> Option<u64> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let high = word & (0xf0 * ONES);
    let above_nine = (word.wrapping_add(0x06 * ONES) & (0xf0 * ONES)) >> 4;
    if high | above_nine != 0x33 * ONES {
        return None;
    }
    let digits = word & (0x0f * ONES);
    let pairs = (digits.wrapping_mul(2561) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(6_553_601) >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(42_949_672_960_001) >> 32)
}

const NO_DIGIT: u8 = 0xff;
const HEX: [u8; 256] = {
    let mut table = [NO_DIGIT; 256];
    let mut i = 0;
    while i < 16 {
        table[b"0123456789abcdef"[i] as usize] = i as u8;
        table[b"0123456789ABCDEF"[i] as usize] = i as u8;
        i += 1;
    }
    table
};

/// The number of at most 16 hexadecimal digits.
#[inline]
pub(super) fn hex(text: &[u8]) -> Option<u64> {
    let (mut number, mut all) = (0u64, 0u8);
    for &byte in text {
        let digit = HEX[byte as usize];
        all |= digit;
        number = number << 4 | u64::from(digit & 15);
    }
    (all < 16 && text.len() <= 16).then_some(number)
}

/// The same of at most 32.
pub(super) fn trace_hex(text: &[u8]) -> Option<TraceId> {
    let (high, low) = text.split_at(text.len().saturating_sub(16));
    Some(TraceId::hex(u128::from(hex(high)?) << 64 | u128::from(hex(low)?)))
}

/// A text without escapes that is UTF-8.
#[inline]
pub(super) fn plain(text: &[u8]) -> Option<&str> {
    if memchr::memchr(b'\\', text).is_some() {
        return None;
    }
    std::str::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_are_read_at_once() {
        for number in [0u64, 1, 12_345_678, 99_999_999, 10_000_000] {
            let text = format!("{number:08}");
            let word = u64::from_le_bytes(text.as_bytes().try_into().expect("eight bytes"));
            assert_eq!(eight_digits(word), Some(number));
        }
        for text in ["1234567a", "1234567:", "/2345678", "1234 678", "\u{e9}345678"] {
            let word = u64::from_le_bytes(text.as_bytes()[..8].try_into().expect("eight bytes"));
            assert_eq!(eight_digits(word), None, "{text}");
        }
    }

    #[test]
    fn hexadecimal_ids_are_read_in_place() {
        assert_eq!(hex(b"00fF"), Some(255));
        assert_eq!(hex(b""), Some(0));
        assert_eq!(hex(b"12345678901234567"), None);
        assert_eq!(hex(b"xyz"), None);
        assert_eq!(trace_hex(b"10000000000000000"), Some(TraceId::hex(1 << 64)));
    }
}
