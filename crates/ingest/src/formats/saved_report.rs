//! Saved reports as files: of the page that a report carries only its data blocks are read, each an input of its own.
//!
//! A block is `<script type="application/octet-stream;CODING" class="report-part">DATA</script>`, where DATA is text of the
//! bytes in one of two codings:
//!
//! - `base64`, in a page in UTF-8,
//! - `dense`, in a page in UTF-16, little endian, with its mark. A character up to U+FFFF is two bytes, little endian. One
//!   above stands for a pair of bytes that cannot be a character of a script (half of a surrogate pair, NUL, CR, `<`), and
//!   the byte behind it; or for a single byte.
//!
//! A page that has no block is no saved report, which is known at its end only.

use super::Format;
use crate::bytes::nested::{Nested, pass_over_unknown};
use crate::bytes::protobuf::DIGITS;
use crate::context::{Context, PIECE, Stop, WalkEnd};
use crate::report::ProblemKind;

/// What blocks begin with.
const BLOCKS: [(&[u8], Coding); 2] = [
    (
        b"<script type=\"application/octet-stream;base64\" class=\"report-part\">",
        Coding::Base64 { bits: 0, held: 0, is_padded: false },
    ),
    (b"<script type=\"application/octet-stream;dense\" class=\"report-part\">", Coding::Dense { high: None }),
];

/// An HTML page being read.
pub(crate) struct SavedReport<S> {
    is_utf16: bool,
    /// The first byte of a character in UTF-16 whose second byte has not come.
    low: Option<u8>,
    /// The tag under way, outside blocks; longer than any of [`BLOCKS`] if it is another one.
    tag: Vec<u8>,
    /// How the block under way is written; `None` outside blocks.
    coding: Option<Coding>,
    /// What the block under way holds; `None` outside blocks, and if it is passed over.
    inner: Option<S>,
    /// Bytes of the block that [`inner`](Self::inner) has not taken.
    out: Vec<u8>,
    /// The first bytes of the page and what they may be, until a block has come.
    unknown: Option<(Vec<u8>, &'static str)>,
    end: WalkEnd,
    layer: u32,
    taken: u64,
}

impl<S: Nested> SavedReport<S> {
    /// Returns a page inside `layer` archives, of which nothing is taken yet; `None` if `head`, its first bytes, begins no
    /// page. `what` is what it may be if it turns out to be no saved report.
    pub fn of(head: &[u8], what: &'static str, layer: u32) -> Option<SavedReport<S>> {
        let is_utf16 = head.starts_with(b"\xff\xfe");
        let text: Vec<u8> = match is_utf16 {
            true => head[2..].iter().copied().step_by(2).collect(),
            false => head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).to_vec(),
        };
        let tag = text.trim_ascii_start().strip_prefix(b"<").and_then(<[u8]>::first);
        let is_page = tag.is_some_and(|&byte| byte == b'!' || byte.is_ascii_alphabetic());
        is_page.then(|| SavedReport {
            is_utf16,
            low: None,
            tag: Vec::new(),
            coding: None,
            inner: None,
            out: Vec::new(),
            unknown: Some((head.to_vec(), what)),
            end: WalkEnd::Whole,
            layer,
            taken: 0,
        })
    }

    /// Takes bytes.
    pub fn feed(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        for piece in bytes.chunks(PIECE) {
            for &byte in piece {
                self.taken += 1;
                let unit = match (self.is_utf16, self.low.take()) {
                    (false, _) => u16::from(byte),
                    (true, Some(low)) => u16::from_le_bytes([low, byte]),
                    (true, None) => {
                        self.low = Some(byte);
                        continue;
                    }
                };
                self.unit(unit, cx)?;
            }
            self.pass(cx)?;
        }
        Ok(())
    }

    /// Takes a character of the page, in UTF-16 a half of one maybe.
    fn unit(&mut self, unit: u16, cx: &mut Context<'_>) -> Result<(), Stop> {
        let is_less = unit == u16::from(b'<');
        if let Some(coding) = &mut self.coding {
            let is_sound = if is_less { coding.is_complete() } else { coding.decode(unit, &mut self.out) };
            if is_sound && !is_less {
                return Ok(());
            }
            if !is_sound {
                // What comes before is said before.
                self.pass(cx)?;
                self.cut();
                cx.sink.problems.note(ProblemKind::BadSyntax, self.taken, || {
                    "damaged data of a saved report; what comes before in its block is kept".to_owned()
                });
            }
            self.close(cx)?;
        }
        if is_less {
            self.tag.clear();
        } else if self.tag.is_empty() || self.tag.len() > BLOCKS[0].0.len() {
            return Ok(());
        }
        self.tag.push(u8::try_from(unit).unwrap_or(0));
        if let Some((_, coding)) = BLOCKS.iter().find(|(tag, _)| *tag == self.tag) {
            self.tag.clear();
            self.coding = Some(*coding);
            self.inner = Some(S::inside(self.layer + 1));
            self.unknown = None;
            cx.sink.saw(Format::Columns);
        }
        Ok(())
    }

    /// Passes on what was decoded.
    fn pass(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        if let Some(inner) = &mut self.inner {
            let fed = inner.feed(&self.out, cx);
            pass_over_unknown(&mut self.inner, fed, cx)?;
        }
        self.out.clear();
        Ok(())
    }

    /// Ends the block under way.
    fn close(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        self.pass(cx)?;
        self.coding = None;
        if let Some(mut inner) = self.inner.take() {
            let finished = inner.finish(cx);
            if matches!(finished, Ok(WalkEnd::Cut(_))) {
                self.cut();
            }
            pass_over_unknown(&mut self.inner, finished.map(|_| ()), cx)?;
        }
        Ok(())
    }

    /// Remembers that something is missing from here on.
    fn cut(&mut self) {
        if matches!(self.end, WalkEnd::Whole) {
            self.end = WalkEnd::Cut(self.taken);
        }
    }

    /// Finishes reading; returns whether all blocks were complete.
    pub fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, Stop> {
        if let Some((head, what)) = self.unknown.take() {
            return Err(Stop::Unknown(head, what));
        }
        if self.coding.is_some() {
            cx.sink.problems.note(ProblemKind::Truncated, self.taken, || {
                "the saved report ends in the middle; what was complete is kept".to_owned()
            });
            self.close(cx)?;
            self.cut();
        }
        Ok(self.end)
    }
}

/// How a block is written, and what it takes to go on decoding after any character.
#[derive(Clone, Copy)]
enum Coding {
    Base64 {
        /// The last bits, of which the lowest so many are of no byte yet.
        bits: u32,
        held: u32,
        /// Whether `=` has come, after which nothing may.
        is_padded: bool,
    },
    Dense {
        /// The first half of a surrogate pair.
        high: Option<u16>,
    },
}

/// What is no digit of base64.
const NO_DIGIT: u8 = 255;

/// The value of each digit of base64, by its byte.
const VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < DIGITS.len() {
        values[DIGITS[value] as usize] = value as u8;
        value += 1;
    }
    values
};

impl Coding {
    /// Appends to `out` the bytes that are complete with the next unit of text; false if it cannot stand there.
    fn decode(&mut self, unit: u16, out: &mut Vec<u8>) -> bool {
        match self {
            Coding::Base64 { bits, held, is_padded } => {
                let digit = u8::try_from(unit).unwrap_or(0);
                let value = VALUES[usize::from(digit)];
                if value == NO_DIGIT {
                    *is_padded |= digit == b'=';
                    return digit == b'=' || digit.is_ascii_whitespace();
                }
                if *is_padded {
                    return false;
                }
                *bits = *bits << 6 | u32::from(value);
                *held += 6;
                if *held >= 8 {
                    *held -= 8;
                    out.push((*bits >> *held) as u8);
                }
                true
            }
            Coding::Dense { high } => match (high.take(), unit) {
                (None, 0xd800..0xdc00) => {
                    *high = Some(unit);
                    true
                }
                (None, 0xdc00..0xe000) => false,
                (None, _) => {
                    out.extend_from_slice(&unit.to_le_bytes());
                    true
                }
                (Some(high), 0xdc00..0xe000) => {
                    // From 0 on, what stands above U+FFFF.
                    let above = u32::from(high - 0xd800) << 10 | u32::from(unit - 0xdc00);
                    let pair = match above >> 8 {
                        number @ 0..2048 => Some(0xd800 + number as u16),
                        2048 => Some(0),
                        2049 => Some(0x0d),
                        2050 => Some(0x3c),
                        2051 => None,
                        _ => return false,
                    };
                    out.extend(pair.map(u16::to_le_bytes).into_iter().flatten());
                    out.push(above as u8);
                    true
                }
                (Some(_), _) => false,
            },
        }
    }

    /// Returns whether the text may end here.
    fn is_complete(&self) -> bool {
        match self {
            Coding::Base64 { held, .. } => *held != 6,
            Coding::Dense { high } => high.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::protobuf::write_base64;

    /// Returns bytes as units of text in one of the [`BLOCKS`]; for `dense`, pairs begin at the first byte.
    fn encode(bytes: &[u8], is_dense: bool) -> Vec<u16> {
        if !is_dense {
            let mut quoted = Vec::new();
            write_base64(bytes, &mut quoted);
            return quoted[1..quoted.len() - 1].iter().copied().map(u16::from).collect();
        }
        let mut out = Vec::new();
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            let pair = rest.first_chunk().map(|pair| u16::from_le_bytes(*pair));
            let barred = pair.and_then(|pair| match pair {
                0xd800..=0xdfff => Some(u32::from(pair - 0xd800)),
                0 | 0x0d | 0x3c => {
                    Some(2048 + [0, 0x0d, 0x3c].iter().position(|&it| it == pair).unwrap() as u32)
                }
                _ => None,
            });
            let (code, taken) = match (pair, barred, rest.get(2)) {
                (Some(pair), None, _) => (u32::from(pair), 2),
                (Some(_), Some(number), Some(&next)) => (0x1_0000 + (number << 8) + u32::from(next), 3),
                _ => (0x1_0000 + (2051 << 8) + u32::from(first), 1),
            };
            let character = char::from_u32(code).unwrap();
            assert!(!"\0\r<".contains(character));
            out.extend_from_slice(character.encode_utf16(&mut [0; 2]));
            rest = &rest[taken..];
        }
        out
    }

    /// Returns the bytes of a text; `None` if it is damaged.
    fn decode(text: &[u16], mut coding: Coding) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let is_sound = text.iter().all(|&unit| coding.decode(unit, &mut out)) && coding.is_complete();
        is_sound.then_some(out)
    }

    #[test]
    fn both_codings_lose_nothing() {
        // Every pair of bytes, at even and at odd places, and every length of what is left at the end.
        let pairs = (0..=u16::MAX).flat_map(u16::to_le_bytes);
        let all: Vec<u8> = pairs.clone().chain([7]).chain(pairs).collect();
        let ends =
            [&all[..], &all[1..], &all[2..], &[0x3c, 0], &[0, 0, 0], &[0xd8], &[0, 0xd8, 0, 0xd8, 1], &[]];
        for (is_dense, (_, coding)) in [false, true].into_iter().zip(BLOCKS) {
            for bytes in ends {
                assert!(decode(&encode(bytes, is_dense), coding).unwrap() == bytes);
            }
        }
    }

    #[test]
    fn text_that_nobody_wrote_is_damaged() {
        let [base64, dense] = BLOCKS.map(|(_, coding)| coding);
        for text in ["QUJDRA==", "QUJDRA", " QUJD\nRA==\n"] {
            let text: Vec<u16> = text.encode_utf16().collect();
            assert_eq!(decode(&text, base64).unwrap(), b"ABCD", "{text:?}");
        }
        for text in ["QUJDR", "QUJD!A==", "QUJD-A==", "QUJDRA==QUJD", "QUJD\u{151}"] {
            let text: Vec<u16> = text.encode_utf16().collect();
            assert_eq!(decode(&text, base64), None, "{text:?}");
        }
        for text in [&[0xd800][..], &[0xdc00], &[0xd800, 0x61], &[0xd800, 0xd800], &[0xdbff, 0xdfff]] {
            assert_eq!(decode(text, dense), None, "{text:?}");
        }
    }
}
