//! Bytes as text of a page in UTF-16, which takes hardly more room than they do. A byte of a page in UTF-8 holds seven bits
//! at the most, and six in base64.
//!
//! A page that begins with [`BOM`] is UTF-16, whatever encoding its host declares: browsers look there first.
//!
//! A script element holds any character but NUL and CR, which the browser replaces, and `<`, which might end it; and half
//! of a surrogate pair is no character. A pair of bytes that would be one of these comes together with the byte behind it,
//! as a character above U+FFFF, and so does a byte that is left at the end. `tools/xtask/src/unpack.js` reads it.

/// What a page in UTF-16 begins with.
pub const BOM: [u8; 2] = [0xff, 0xfe];

/// Characters above U+FFFF for each pair of bytes that cannot stand as it is: one for each byte behind it.
const FOLLOWING: u32 = 256;

/// Returns the number of a pair of bytes among those that cannot stand as they are.
fn barred(pair: u32) -> Option<u32> {
    match pair {
        0xd800..=0xdfff => Some(pair - 0xd800),
        0 => Some(2048),
        0x0d => Some(2049),
        0x3c => Some(2050),
        _ => None,
    }
}

/// How many pairs [`barred`] numbers; a single byte at the end comes behind them.
const BARRED: u32 = 2051;

/// Returns text in UTF-16, without [`BOM`].
pub fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Returns bytes as text in UTF-16 for a script element.
pub fn dense(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 50);
    let above = |number: u32, byte: u8| 0x1_0000 + number * FOLLOWING + u32::from(byte);
    let mut rest = bytes;
    while let Some(&first) = rest.first() {
        let pair = rest.first_chunk().map(|pair| u32::from(u16::from_le_bytes(*pair)));
        let (code, taken) = match (pair.map(|pair| (pair, barred(pair))), rest.get(2)) {
            (Some((pair, None)), _) => (pair, 2),
            (Some((_, Some(number))), Some(&next)) => (above(number, next), 3),
            // At the end, by itself.
            _ => (above(BARRED, first), 1),
        };
        let character = char::from_u32(code).unwrap_or_default();
        for unit in character.encode_utf16(&mut [0; 2]) {
            out.extend_from_slice(&unit.to_le_bytes());
        }
        rest = &rest[taken..];
    }
    out
}

/// Returns the bytes that [`dense`] made this text of, as `unpack.js` does; `None` if it is no such text.
pub fn loose(text: &[u8]) -> Option<Vec<u8>> {
    let units = text.chunks(2).map(|unit| Some(u16::from_le_bytes(unit.try_into().ok()?)));
    let units: Option<Vec<u16>> = units.collect();
    let mut bytes = Vec::with_capacity(text.len());
    for character in char::decode_utf16(units?) {
        let code = u32::from(character.ok()?);
        let Some(above) = code.checked_sub(0x1_0000) else {
            bytes.extend_from_slice(&(code as u16).to_le_bytes());
            continue;
        };
        let last = above as u8;
        match above / FOLLOWING {
            number @ 0..2048 => bytes.extend_from_slice(&(0xd800 + number as u16).to_le_bytes()),
            number @ 2048..BARRED => bytes.extend_from_slice(&[[0, 0x0d, 0x3c][number as usize - 2048], 0]),
            BARRED => {}
            _ => return None,
        }
        bytes.push(last);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of bytes, at even and at odd places.
    fn pairs() -> Vec<u8> {
        let pairs = (0..=u16::MAX).flat_map(u16::to_le_bytes);
        pairs.clone().chain([7]).chain(pairs).collect()
    }

    #[test]
    fn it_holds_nothing_that_a_script_element_does_not_and_loses_nothing() {
        let all = pairs();
        let ends = [&all[..], &[0x3c, 0], &[0, 0, 0], &[0xd8], &[0, 0xd8, 0, 0xd8, 1], &[1, 2]];
        for bytes in ends.into_iter().chain((0..9).map(|end| &all[0xd800 * 2..][..end])) {
            let text = dense(bytes);
            let units: Vec<u16> = text.chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
            let read = String::from_utf16(&units).unwrap();
            assert!(!read.contains(['\0', '\r', '<']));
            assert_eq!(loose(&text).unwrap(), bytes);
        }
    }

    #[test]
    fn it_takes_hardly_more_than_the_bytes() {
        assert_eq!(dense(b"ab"), b"ab");
        // Of random bytes every 32nd pair is a surrogate.
        let all = pairs();
        assert!(dense(&all).len() * 60 < all.len() * 61);
        assert_eq!(utf16("<p>"), [0x3c, 0, 0x70, 0, 0x3e, 0]);
    }

    #[test]
    fn other_text_is_refused() {
        for text in [&[1][..], &[0, 0xd8], &utf16("\u{10ffff}")] {
            assert_eq!(loose(text), None);
        }
    }
}
