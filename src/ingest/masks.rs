//! What 64 bytes of JSON look like: one bit a byte for quotes, brackets, and bytes that cannot stand where they are.

/// Bytes a block describes.
pub(super) const BLOCK: usize = 64;

/// One bit a byte, the lowest for the first.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Block {
    /// Quotes that open or close a string.
    pub quotes: u64,
    /// `{` and `[` outside strings.
    pub opens: u64,
    /// `}` and `]` outside strings.
    pub closes: u64,
    /// Bytes that no JSON has there: control characters in strings, backslashes outside.
    pub bad: u64,
}

/// What a block must know of the bytes before it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Carry {
    /// All ones inside a string, else 0.
    in_string: u64,
    /// 1 if the first byte is escaped, else 0.
    escaped: u64,
}

/// The plain bits of 64 bytes, before strings are known.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Bits {
    pub quotes: u64,
    pub backslashes: u64,
    pub opens: u64,
    pub closes: u64,
    pub controls: u64,
}

/// [`Bits`] byte by byte: what the fast ways must agree with.
pub(super) fn bits_plain(bytes: &[u8; BLOCK]) -> Bits {
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

/// Tells strings from the rest and carries over to the next block.
pub(super) fn block(bits: Bits, carry: &mut Carry) -> Block {
    let escaped = escaped(bits.backslashes, &mut carry.escaped);
    let quotes = bits.quotes & !escaped;
    let in_string = prefix_xor(quotes) ^ carry.in_string;
    carry.in_string = ((in_string as i64) >> 63) as u64;
    Block {
        quotes,
        opens: bits.opens & !in_string,
        closes: bits.closes & !in_string,
        bad: (bits.controls & in_string) | (bits.backslashes & !in_string),
    }
}

/// The bytes that a backslash escapes.
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

/// Bit i of the result: the parity of the bits 0..=i.
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

    /// The definition, byte by byte over the whole text.
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
                b'{' | b'[' if !in_string => block.opens |= bit,
                b'}' | b']' if !in_string => block.closes |= bit,
                0..0x20 if in_string => block.bad |= bit,
                _ => {}
            }
        }
        out
    }

    #[test]
    fn blocks_agree_with_a_walk_byte_by_byte() {
        let mut state = 7u32;
        for round in 0..400 {
            let text: Vec<u8> = (0..64 * (1 + round % 4))
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    b"\"\\{}[]a,:\n \\\\\"x\xff"[(state >> 16) as usize % 16]
                })
                .collect();
            let mut carry = Carry::default();
            let fast: Vec<Block> = text
                .as_chunks::<BLOCK>()
                .0
                .iter()
                .map(|bytes| block(bits_plain(bytes), &mut carry))
                .collect();
            assert_eq!(fast, slow(&text), "{:?}", String::from_utf8_lossy(&text));
        }
    }
}
