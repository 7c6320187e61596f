//! Text in UTF-16, as programs on Windows write it: it is read as the same text in UTF-8, in which places are then counted.

use super::nested::Nested;
use super::sniff::ByteOrder;
use crate::context::{Context, PIECE, Stop, WalkEnd};

/// A text being read.
pub(crate) struct Utf16<S> {
    order: ByteOrder,
    pub inner: S,
    /// The first byte of a unit whose second has not come.
    half: Option<u8>,
    /// The first half of a character of two units.
    surrogate: Option<u16>,
    out: String,
}

impl<S: Nested> Utf16<S> {
    /// Returns a text inside `layer` archives.
    pub fn new(order: ByteOrder, layer: u32) -> Utf16<S> {
        Utf16 { order, inner: S::inside(layer), half: None, surrogate: None, out: String::new() }
    }

    /// Takes bytes.
    pub fn feed(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        for piece in bytes.chunks(PIECE) {
            for &byte in piece {
                match self.half.take() {
                    None => self.half = Some(byte),
                    Some(first) => self.unit(match self.order {
                        ByteOrder::LowFirst => u16::from_le_bytes([first, byte]),
                        ByteOrder::HighFirst => u16::from_be_bytes([first, byte]),
                    }),
                }
            }
            self.pass(cx)?;
        }
        Ok(())
    }

    /// Appends the character that a unit ends; what is none becomes a replacement character.
    fn unit(&mut self, unit: u16) {
        let first = self.surrogate.take();
        if let (Some(first), 0xdc00..=0xdfff) = (first, unit) {
            let bits = u32::from(first & 0x3ff) << 10 | u32::from(unit & 0x3ff);
            return self.push(0x1_0000 + bits);
        }
        if first.is_some() {
            self.out.push(char::REPLACEMENT_CHARACTER);
        }
        match unit {
            0xd800..=0xdbff => self.surrogate = Some(unit),
            _ => self.push(unit.into()),
        }
    }

    fn push(&mut self, code: u32) {
        self.out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    }

    fn pass(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        let fed = self.inner.feed(self.out.as_bytes(), cx);
        self.out.clear();
        fed
    }

    /// Ends the text.
    pub fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, Stop> {
        if self.half.take().is_some() || self.surrogate.take().is_some() {
            self.out.push(char::REPLACEMENT_CHARACTER);
        }
        self.pass(cx)?;
        self.inner.finish(cx)
    }
}
