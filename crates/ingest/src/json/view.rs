//! JSON read in place, without masks made before: strings, numbers and ids. Whatever is odd is a surprise.

use crate::bytes::masks::{BLOCK, Carry, bits, block, string_stops};
use pathlight_trace::TraceId;

/// Brackets that may be open in a value that is passed over; deeper ones are left to the reference reader.
const MAX_OPEN: u32 = 64;

/// Text that is read in place; it may end anywhere.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub text: &'a [u8],
}

impl<'a> View<'a> {
    /// Returns the quote that ends the string whose inside begins at a place.
    #[inline]
    pub fn quote(&self, from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            let stops = match self.text.get(at..)?.first_chunk::<16>() {
                Some(bytes) => string_stops(bytes),
                None => {
                    let mut bytes = [b'"'; 16];
                    let rest = &self.text[at..];
                    bytes[..rest.len()].copy_from_slice(rest);
                    string_stops(&bytes)
                }
            };
            if stops == 0 {
                at += 16;
                continue;
            }
            at += stops.trailing_zeros() as usize;
            match *self.text.get(at)? {
                b'"' => return Some(at),
                // What is escaped must not be a control character; all else is judged by who decodes it.
                b'\\' if *self.text.get(at + 1)? >= b' ' => at += 2,
                _ => return None,
            }
        }
    }

    /// Returns one past the bracket that closes the one at a place; and how many objects stand directly in it.
    pub fn skip_brackets(&self, from: usize) -> Option<(usize, u64)> {
        let (mut depth, mut objects) = (0u32, 0);
        let mut carry = Carry::default();
        let mut place = from;
        loop {
            let masks = match self.text.get(place..)?.first_chunk::<BLOCK>() {
                Some(bytes) => block(bits(bytes), &mut carry),
                None if place >= self.text.len() => return None,
                None => {
                    let mut bytes = [b' '; BLOCK];
                    let rest = &self.text[place..];
                    bytes[..rest.len()].copy_from_slice(rest);
                    block(bits(&bytes), &mut carry)
                }
            };
            let mut left = masks.opens | masks.closes | masks.bad;
            while left != 0 {
                let bit = left & left.wrapping_neg();
                left ^= bit;
                let at = place + bit.trailing_zeros() as usize;
                if masks.opens & bit != 0 {
                    if masks.lines & bit != 0 && self.begins_line(at) {
                        return None;
                    }
                    objects += u64::from(depth == 1 && *self.text.get(at)? == b'{');
                    depth += 1;
                    if depth > MAX_OPEN {
                        return None;
                    }
                } else if masks.bad & bit != 0 {
                    return None;
                } else {
                    depth -= 1;
                    if depth == 0 {
                        return Some((at + 1, objects));
                    }
                }
            }
            place += BLOCK;
        }
    }

    /// Returns one past an object that holds no other and no array, as tags are.
    #[inline]
    pub fn skip_flat(&self, from: usize) -> Option<usize> {
        let mut at = self.space(from + 1)?;
        loop {
            let (_, value) = self.key(at)?;
            at = match *self.text.get(value)? {
                b'"' => self.quote(value + 1)? + 1,
                _ => self.skip_scalar(value)?,
            };
            match self.next(at, b'}')? {
                Ok(next) => at = next,
                Err(after) => return Some(after),
            }
        }
    }

    /// Returns the first place from `from` on that is no space. A bracket that begins a line is a surprise: the text may
    /// be one of many lines, of which one is broken.
    #[inline]
    pub fn space(&self, from: usize) -> Option<usize> {
        match self.text.get(from)? {
            b' ' | b'\n' | b'\r' | b'\t' => self.after_space(from + 1),
            _ => Some(from),
        }
    }

    /// Kept apart: [`next`](Self::next) stays small enough to be part of its callers, which is 2 % of reading Jaeger JSON.
    #[cold]
    fn after_space(&self, mut at: usize) -> Option<usize> {
        loop {
            match self.text.get(at)? {
                b' ' | b'\n' | b'\r' | b'\t' => at += 1,
                b'{' | b'[' if self.begins_line(at) => return None,
                _ => return Some(at),
            }
        }
    }

    /// Returns whether a line break stands right before a place.
    #[inline]
    fn begins_line(&self, at: usize) -> bool {
        at.checked_sub(1).and_then(|before| self.text.get(before)) == Some(&b'\n')
    }

    /// Returns one past a value nobody asked for.
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

    /// Returns a string's inside and the place after it.
    #[inline]
    pub fn string(&self, at: usize) -> Option<(&'a [u8], usize)> {
        if *self.text.get(at)? != b'"' {
            return None;
        }
        let end = self.quote(at + 1)?;
        Some((self.text.get(at + 1..end)?, end + 1))
    }

    /// Returns the number of a string of hexadecimal digits and the place after it; quick if there are 16.
    #[inline]
    pub fn hex_string(&self, at: usize) -> Option<(u64, usize)> {
        if let Some([b'"', digits @ .., b'"']) = self.text.get(at..)?.first_chunk::<18>()
            && let Some(number) = hex(digits)
        {
            return Some((number, at + 18));
        }
        let (text, after) = self.string(at)?;
        Some((hex(text)?, after))
    }

    /// Returns a key, and the place of its value.
    #[inline(always)]
    pub fn key(&self, at: usize) -> Option<(&'a [u8], usize)> {
        let (key, at) = self.string(at)?;
        let at = self.space(at)?;
        (*self.text.get(at)? == b':').then_some(())?;
        Some((key, self.space(at + 1)?))
    }

    /// Returns after a member or element the place of the next one, or the place after the end.
    #[inline(always)]
    pub fn next(&self, at: usize, close: u8) -> Option<Result<usize, usize>> {
        let at = self.space(at)?;
        match self.text[at] {
            b',' => Some(Ok(self.space(at + 1)?)),
            byte if byte == close => Some(Err(at + 1)),
            _ => None,
        }
    }

    /// Returns a number of at most 19 digits and the place after it.
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

/// Returns the number that eight bytes of digits say.
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

/// Returns the number that eight hexadecimal digits say, the first in the lowest byte.
#[inline]
fn eight_hex(word: u64) -> Option<u64> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // One for each byte that may be a letter, which bit 6 tells.
    let letters = (word >> 6) & ONES;
    let folded = word | (letters << 5);
    let value = (word & (0x0f * ONES)) + 9 * letters;
    // Digits have 3 above, letters 6; a letter is worth 10 to 15, a digit at most 9.
    let is_other = (folded & (0xf0 * ONES)) ^ (0x30 * ONES + 0x30 * letters);
    let is_beyond = ((value + 0x06 * ONES) & (0x10 * ONES)) ^ (letters << 4);
    if is_other | is_beyond | (value & (0x10 * ONES)) != 0 {
        return None;
    }
    let value = value.swap_bytes();
    let pairs = (value | (value >> 4)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | (pairs >> 8)) & 0x0000_ffff_0000_ffff;
    Some((fours | (fours >> 16)) & 0xffff_ffff)
}

/// Returns whether two texts are the same; the ends first, since texts that are alike mostly differ there. In words,
/// because a call costs more than most of the texts compared here.
#[inline(always)]
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let (Some(end_a), Some(end_b)) = (a.last_chunk::<8>(), b.last_chunk::<8>()) else {
        return a.iter().zip(b).all(|(x, y)| x == y);
    };
    u64::from_le_bytes(*end_a) == u64::from_le_bytes(*end_b)
        && (a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0))
            .all(|(x, y)| u64::from_le_bytes(*x) == u64::from_le_bytes(*y))
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

/// Returns the number of at most 16 hexadecimal digits.
#[inline]
pub(crate) fn hex(text: &[u8]) -> Option<u64> {
    if let Ok(bytes) = <&[u8; 16]>::try_from(text) {
        let [high, low] = [0, 8].map(|from| u64::from_le_bytes(std::array::from_fn(|i| bytes[from + i])));
        return Some(eight_hex(high)? << 32 | eight_hex(low)?);
    }
    let (mut number, mut all) = (0u64, 0u8);
    for &byte in text {
        let digit = HEX[byte as usize];
        all |= digit;
        number = number << 4 | u64::from(digit & 15);
    }
    (all < 16 && text.len() <= 16).then_some(number)
}

/// Returns the trace id of at most 32 hexadecimal digits.
pub(crate) fn trace_hex(text: &[u8]) -> Option<TraceId> {
    let (high, low) = text.split_at(text.len().saturating_sub(16));
    Some(TraceId::hex(u128::from(hex(high)?) << 64 | u128::from(hex(low)?)))
}

/// Returns a text without escapes that is UTF-8.
#[inline]
pub(crate) fn plain(text: &[u8]) -> Option<&str> {
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
    fn a_string_ends_at_its_quote_wherever_the_text_is_cut() {
        let text = br#"a string of some length with \" and \\\\ and \u00e9, then: " 1"#;
        let end = text.len() - 3;
        for cut in 0..=text.len() {
            let view = View { text: &text[..cut] };
            assert_eq!(view.quote(0), (cut > end).then_some(end), "{cut}");
        }
        for odd in ["tab \t here\"", "escaped \\\n\"", "0123456789abcdef\u{1f}\""] {
            assert_eq!(View { text: odd.as_bytes() }.quote(0), None, "{odd}");
        }
    }

    #[test]
    fn brackets_are_left_behind_wherever_the_text_is_cut() {
        let text =
            br#"[{"a":"]}\"","b":[{},{}]},{"c":{"d":"0123456789012345678901234567890123456789"}},7] ,"#;
        let end = text.len() - 2;
        for cut in 1..=text.len() {
            let view = View { text: &text[..cut] };
            assert_eq!(view.skip_brackets(0), (cut >= end).then_some((end, 2)), "{cut}");
        }
        assert_eq!(View { text: b"[\"a\tb\"]" }.skip_brackets(0), None);
        assert_eq!(View { text: b"[\\]" }.skip_brackets(0), None);
        assert_eq!(View { text: &[[b'['; 70], [b']'; 70]].concat() }.skip_brackets(0), None);
        assert_eq!(View { text: br#"{"key":"a","value":-1.5e3 } "# }.skip_flat(0), Some(27));
        assert_eq!(View { text: br#"{"key":{}} "# }.skip_flat(0), None);
    }

    #[test]
    fn same_texts_are_distinguished_from_others() {
        for len in 0..40 {
            let a = vec![b'x'; len];
            assert!(same(&a, &a) && !same(&a, &vec![b'x'; len + 1]));
            for at in 0..len {
                let mut b = a.clone();
                b[at] = b'y';
                assert!(!same(&a, &b), "{len} {at}");
            }
        }
    }

    #[test]
    fn hexadecimal_ids_are_read_in_place() {
        assert_eq!(hex(b"00fF"), Some(255));
        assert_eq!(hex(b"0123456789abCDEF"), Some(0x0123_4567_89ab_cdef));
        for byte in 0..=255 {
            let slow = (byte as char).to_digit(16).filter(|_| byte < 128);
            for at in 0..16 {
                let mut text = [b'0'; 16];
                text[at] = byte;
                assert_eq!(hex(&text), slow.map(|digit| u64::from(digit) << (4 * (15 - at))), "{byte}");
            }
        }
        assert_eq!(hex(b""), Some(0));
        assert_eq!(hex(b"12345678901234567"), None);
        assert_eq!(hex(b"xyz"), None);
        assert_eq!(trace_hex(b"10000000000000000"), Some(TraceId::hex(1 << 64)));
    }
}
