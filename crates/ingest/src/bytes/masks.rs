//! Masks of 64 bytes of JSON: one bit a byte for quotes, brackets, and bytes that cannot stand where they are.

/// Bytes a block describes.
pub(crate) const BLOCK: usize = 64;

/// One bit a byte, the lowest for the first.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    /// Quotes that open or close a string.
    pub quotes: u64,
    /// `{` and `[` outside strings.
    pub opens: u64,
    /// `}` and `]` outside strings.
    pub closes: u64,
    /// Bytes that no JSON has there: control characters in strings, backslashes outside.
    pub bad: u64,
    /// Those of `opens` that stand right after a control character: a line may begin there.
    pub lines: u64,
}

/// What a block must know of the bytes before it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Carry {
    /// All ones inside a string, else 0.
    in_string: u64,
    /// 1 if the first byte is escaped, else 0.
    escaped: u64,
    /// 1 if the byte before is a control character, else 0.
    after_control: u64,
}

/// The plain bits of 64 bytes, before strings are known.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Bits {
    pub quotes: u64,
    pub backslashes: u64,
    pub opens: u64,
    pub closes: u64,
    pub controls: u64,
}

/// How masks are made. All ways give the same; tests compare them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum Masks {
    /// As fast as this machine can: AVX2 where it is found, else what every machine of its kind has.
    #[default]
    Best,
    /// With what every machine of its kind has: SSE2, or simd128.
    Baseline,
    /// Without vectors, eight bytes at a time.
    Words,
    /// Byte by byte.
    Plain,
}

impl Masks {
    /// Appends the masks of blocks of text.
    pub(crate) fn extend(self, text: &[[u8; BLOCK]], carry: &mut Carry, out: &mut Vec<Block>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Masks::Best if avx2::is_here() => {
                // SAFETY: the machine has what the function needs.
                unsafe { avx2::extend(text, carry, out) }
            }
            Masks::Best | Masks::Baseline => out.extend(text.iter().map(|bytes| block(bits(bytes), carry))),
            #[cfg(not(target_arch = "wasm32"))]
            Masks::Words => out.extend(text.iter().map(|bytes| block(bits_in_words(bytes), carry))),
            _ => out.extend(text.iter().map(|bytes| block(bits_plain(bytes), carry))),
        }
    }
}

/// Twice the width, where the machine has it.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{BLOCK, Bits, Block, Carry, block_by};
    use std::arch::x86_64::*;

    #[inline]
    pub fn is_here() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("bmi1")
    }

    #[target_feature(enable = "avx2,pclmulqdq,bmi1")]
    pub fn extend(text: &[[u8; BLOCK]], carry: &mut Carry, out: &mut Vec<Block>) {
        out.reserve(text.len());
        for bytes in text {
            let bits = bits(bytes);
            out.push(block_by(bits, carry, |quotes| {
                // A product with all ones, without carries, is the parity of what stands below.
                let product = _mm_clmulepi64_si128(_mm_set_epi64x(0, quotes as i64), _mm_set1_epi8(-1), 0);
                _mm_cvtsi128_si64(product) as u64
            }));
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn bits(bytes: &[u8; BLOCK]) -> Bits {
        // SAFETY: the two loads of 32 bytes, of any alignment, stay within the 64 bytes.
        let v = unsafe {
            let at = bytes.as_ptr().cast::<__m256i>();
            [_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1))]
        };
        let join = |m: [__m256i; 2]| {
            let bits = |v| u64::from(_mm256_movemask_epi8(v) as u32);
            bits(m[0]) | bits(m[1]) << 32
        };
        let equal = |v: [__m256i; 2], byte: u8| v.map(|v| _mm256_cmpeq_epi8(v, _mm256_set1_epi8(byte as i8)));
        // `[` and `{`, `]` and `}` differ in this bit only.
        let folded = v.map(|v| _mm256_or_si256(v, _mm256_set1_epi8(0x20)));
        let controls = v.map(|v| _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1f)), v));
        Bits {
            quotes: join(equal(v, b'"')),
            backslashes: join(equal(v, b'\\')),
            opens: join(equal(folded, b'{')),
            closes: join(equal(folded, b'}')),
            controls: join(controls),
        }
    }
}

/// Finds [`Bits`] byte by byte: what the fast ways must agree with.
pub(crate) fn bits_plain(bytes: &[u8; BLOCK]) -> Bits {
    let mut bits = Bits::default();
    for (i, &byte) in bytes.iter().enumerate() {
        let bit = 1u64 << i;
        match byte {
            b'"' => bits.quotes |= bit,
            b'\\' => bits.backslashes |= bit,
            b'{' | b'[' => bits.opens |= bit,
            b'}' | b']' => bits.closes |= bit,
            0..0x20 => bits.controls |= bit,
            _ => {}
        }
    }
    bits
}

/// Finds [`Bits`] the fast way of the machine.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn bits(bytes: &[u8; BLOCK]) -> Bits {
    use std::arch::x86_64::*;
    // SAFETY: SSE2 is part of x86_64, and the four loads of 16 bytes stay within the 64 bytes.
    unsafe {
        let at = bytes.as_ptr().cast::<__m128i>();
        let v = [
            _mm_loadu_si128(at),
            _mm_loadu_si128(at.add(1)),
            _mm_loadu_si128(at.add(2)),
            _mm_loadu_si128(at.add(3)),
        ];
        let join = |m: [__m128i; 4]| {
            let bits = |v| u64::from(_mm_movemask_epi8(v) as u32);
            bits(m[0]) | bits(m[1]) << 16 | bits(m[2]) << 32 | bits(m[3]) << 48
        };
        let any = |m: [__m128i; 4]| {
            _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(m[0], m[1]), _mm_or_si128(m[2], m[3]))) != 0
        };
        let equal = |v: [__m128i; 4], byte: u8| v.map(|v| _mm_cmpeq_epi8(v, _mm_set1_epi8(byte as i8)));
        // `[` and `{`, `]` and `}` differ in this bit only.
        let folded = v.map(|v| _mm_or_si128(v, _mm_set1_epi8(0x20)));
        let backslashes = equal(v, b'\\');
        let controls = v.map(|v| _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v));
        Bits {
            quotes: join(equal(v, b'"')),
            backslashes: if any(backslashes) { join(backslashes) } else { 0 },
            opens: join(equal(folded, b'{')),
            closes: join(equal(folded, b'}')),
            controls: if any(controls) { join(controls) } else { 0 },
        }
    }
}

/// Finds [`Bits`] the fast way of the machine.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[inline]
pub(crate) fn bits(bytes: &[u8; BLOCK]) -> Bits {
    use std::arch::wasm32::*;
    // SAFETY: the four loads of 16 bytes, of any alignment, stay within the 64 bytes.
    let v = unsafe {
        let at = bytes.as_ptr().cast::<v128>();
        [v128_load(at), v128_load(at.add(1)), v128_load(at.add(2)), v128_load(at.add(3))]
    };
    let join = |m: [v128; 4]| {
        let bits = |v| u64::from(i8x16_bitmask(v));
        bits(m[0]) | bits(m[1]) << 16 | bits(m[2]) << 32 | bits(m[3]) << 48
    };
    let any = |m: [v128; 4]| v128_any_true(v128_or(v128_or(m[0], m[1]), v128_or(m[2], m[3])));
    let equal = |v: [v128; 4], byte: u8| v.map(|v| i8x16_eq(v, u8x16_splat(byte)));
    // `[` and `{`, `]` and `}` differ in this bit only.
    let folded = v.map(|v| v128_or(v, u8x16_splat(0x20)));
    let backslashes = equal(v, b'\\');
    let controls = v.map(|v| u8x16_lt(v, u8x16_splat(0x20)));
    Bits {
        quotes: join(equal(v, b'"')),
        backslashes: if any(backslashes) { join(backslashes) } else { 0 },
        opens: join(equal(folded, b'{')),
        closes: join(equal(folded, b'}')),
        controls: if any(controls) { join(controls) } else { 0 },
    }
}

/// Finds [`Bits`] on machines without a way of their own: eight bytes at a time.
#[cfg(not(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128"))))]
#[inline]
pub(crate) fn bits(bytes: &[u8; BLOCK]) -> Bits {
    bits_in_words(bytes)
}

/// Finds [`Bits`] eight bytes at a time, in plain words.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
fn bits_in_words(bytes: &[u8; BLOCK]) -> Bits {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // The high bit of every byte that is zero; exact, since no carry leaves a byte.
    let zeros = |word: u64| !(((word & !HIGH) + !HIGH) | word) & HIGH;
    // One bit a byte, the lowest for the first.
    let gather = |high: u64| (high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let mut bits = Bits::default();
    for (i, bytes) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_le_bytes(*bytes);
        let folded = word | (0x20 * ONES);
        let equal = |word: u64, byte: u8| gather(zeros(word ^ (u64::from(byte) * ONES))) << (8 * i);
        bits.quotes |= equal(word, b'"');
        bits.backslashes |= equal(word, b'\\');
        bits.opens |= equal(folded, b'{');
        bits.closes |= equal(folded, b'}');
        bits.controls |= gather(zeros(word & (0xe0 * ONES))) << (8 * i);
    }
    bits
}

/// Returns one bit a byte for what may end a string: quotes, backslashes, control characters.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn string_stops(bytes: &[u8; 16]) -> u32 {
    use std::arch::x86_64::*;
    // SAFETY: SSE2 is part of x86_64, and 16 bytes are loaded.
    unsafe {
        let v = _mm_loadu_si128(bytes.as_ptr().cast());
        let marks = _mm_or_si128(
            _mm_cmpeq_epi8(v, _mm_set1_epi8(b'"' as i8)),
            _mm_cmpeq_epi8(v, _mm_set1_epi8(b'\\' as i8)),
        );
        let controls = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
        _mm_movemask_epi8(_mm_or_si128(marks, controls)) as u32
    }
}

/// Returns one bit a byte for what may end a string: quotes, backslashes, control characters.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[inline(always)]
pub(crate) fn string_stops(bytes: &[u8; 16]) -> u32 {
    use std::arch::wasm32::*;
    // SAFETY: 16 bytes are loaded, of any alignment.
    let v = unsafe { v128_load(bytes.as_ptr().cast()) };
    let marks = v128_or(i8x16_eq(v, u8x16_splat(b'"')), i8x16_eq(v, u8x16_splat(b'\\')));
    u32::from(i8x16_bitmask(v128_or(marks, u8x16_lt(v, u8x16_splat(0x20)))))
}

/// Returns one bit a byte for what may end a string: quotes, backslashes, control characters.
#[cfg(not(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128"))))]
#[inline]
pub(crate) fn string_stops(bytes: &[u8; 16]) -> u32 {
    string_stops_plain(bytes)
}

/// Returns the bits byte by byte, with which the fast ways must agree.
#[cfg(any(test, not(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128")))))]
fn string_stops_plain(bytes: &[u8; 16]) -> u32 {
    let is_stop = |byte: u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    bytes.iter().rev().fold(0, |bits, &byte| bits << 1 | u32::from(is_stop(byte)))
}

/// Tells strings from the rest and carries over to the next block.
#[inline]
pub(crate) fn block(bits: Bits, carry: &mut Carry) -> Block {
    block_by(bits, carry, prefix_xor)
}

#[inline(always)]
fn block_by(bits: Bits, carry: &mut Carry, prefix_xor: impl Fn(u64) -> u64) -> Block {
    let escaped = escaped(bits.backslashes, &mut carry.escaped);
    let quotes = bits.quotes & !escaped;
    let in_string = prefix_xor(quotes) ^ carry.in_string;
    carry.in_string = ((in_string as i64) >> 63) as u64;
    let opens = bits.opens & !in_string;
    let lines = opens & (bits.controls << 1 | carry.after_control);
    carry.after_control = bits.controls >> 63;
    Block {
        quotes,
        opens,
        closes: bits.closes & !in_string,
        bad: (bits.controls & in_string) | (bits.backslashes & !in_string),
        lines,
    }
}

/// Returns the bytes that a backslash escapes.
fn escaped(backslashes: u64, carry: &mut u64) -> u64 {
    if backslashes == 0 {
        return std::mem::take(carry);
    }
    let mut out = *carry;
    let mut left = backslashes & !*carry;
    *carry = 0;
    while left != 0 {
        let at = left.trailing_zeros();
        if at == 63 {
            *carry = 1;
            break;
        }
        let next = 1u64 << (at + 1);
        out |= next;
        left &= !(next | (next >> 1));
    }
    out
}

/// Returns bits of which bit i is the parity of the bits 0..=i.
fn prefix_xor(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^ (bits << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the definition, byte by byte over the whole text.
    fn slow(text: &[u8]) -> Vec<Block> {
        let mut out = vec![Block::default(); text.len().div_ceil(BLOCK)];
        let (mut in_string, mut escaped) = (false, false);
        for (i, &byte) in text.iter().enumerate() {
            let (block, bit) = (&mut out[i / BLOCK], 1u64 << (i % BLOCK));
            let was_escaped = std::mem::take(&mut escaped);
            match byte {
                b'"' if !was_escaped => {
                    block.quotes |= bit;
                    in_string = !in_string;
                }
                b'\\' => {
                    escaped = !was_escaped;
                    if !in_string {
                        block.bad |= bit;
                    }
                }
                b'{' | b'[' if !in_string => {
                    block.opens |= bit;
                    let is_first = i.checked_sub(1).is_some_and(|before| text[before] < 0x20);
                    block.lines |= if is_first { bit } else { 0 };
                }
                b'}' | b']' if !in_string => block.closes |= bit,
                0..0x20 if in_string => block.bad |= bit,
                _ => {}
            }
        }
        out
    }

    /// Returns how many random texts are tried: miri takes minutes for what takes a processor milliseconds.
    const fn rounds(usual: usize) -> usize {
        if cfg!(miri) { usual / 100 } else { usual }
    }

    #[test]
    fn the_fast_ways_agree_with_the_plain_one() {
        let mut state = 1u64;
        for _ in 0..rounds(2000) {
            let bytes: [u8; BLOCK] = std::array::from_fn(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let byte = (state >> 40) as u8;
                if byte & 1 == 0 { b"\"\\{}[]\x1f\x20"[(byte >> 5) as usize] } else { byte }
            });
            assert_eq!(bits(&bytes), bits_plain(&bytes));
            assert_eq!(bits_in_words(&bytes), bits_plain(&bytes));
            for bytes in bytes.as_chunks::<16>().0 {
                assert_eq!(string_stops(bytes), string_stops_plain(bytes));
            }
        }
        for byte in 0..=255 {
            assert_eq!(bits(&[byte; BLOCK]), bits_plain(&[byte; BLOCK]));
            assert_eq!(bits_in_words(&[byte; BLOCK]), bits_plain(&[byte; BLOCK]));
            assert_eq!(string_stops(&[byte; 16]), string_stops_plain(&[byte; 16]));
        }
    }

    #[test]
    fn blocks_agree_with_a_walk_byte_by_byte() {
        let mut state = 7u32;
        for round in 0..rounds(400) {
            let text: Vec<u8> = (0..64 * (1 + round % 4))
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    b"\"\\{}[]a,:\n \\\\\"x\xff"[(state >> 16) as usize % 16]
                })
                .collect();
            for masks in [Masks::Best, Masks::Baseline, Masks::Words, Masks::Plain] {
                let mut fast = Vec::new();
                masks.extend(text.as_chunks::<BLOCK>().0, &mut Carry::default(), &mut fast);
                assert_eq!(fast, slow(&text), "{masks:?} {:?}", String::from_utf8_lossy(&text));
            }
        }
    }
}
