//! The part of a text that is held: what has come and is not read yet, with the masks of its bytes.

use super::masks::{BLOCK, Block, Carry, Masks, bits_plain, block};

/// Longest string that is read; a longer one costs its trace.
pub(crate) const MAX_STRING: u64 = 64 << 20;
/// Longest text of one span, process or resource.
pub(crate) const MAX_UNIT: u64 = 256 << 20;
/// What is said of a value beyond one of these limits.
pub(crate) const TOO_LONG: &str = "a text above 64 MiB, or one span above 256 MiB";
/// Deepest nesting that is read, counted from the document.
pub(crate) const MAX_DEPTH: u32 = 128;
/// What is said of deeper nesting.
pub(crate) const TOO_DEEP: &str = "nesting deeper than 128";
/// Masks are made this many bytes at a time at most, and fewer where they begin anew: much of the text needs none, and
/// starting over after bad syntax must stay cheap.
const STRIDE: usize = 4096;

/// Bytes of a text with their masks; places are byte offsets in the text.
#[derive(Default)]
pub(crate) struct Window {
    /// The text, and after it memory that text is yet to come into.
    buf: Vec<u8>,
    /// Bytes of text.
    len: usize,
    /// Offset of `buf[0]`.
    base: u64,
    /// Where in `buf` block 0 begins.
    origin: usize,
    blocks: Vec<Block>,
    /// Bytes of `buf` from `origin` that have masks.
    masked: usize,
    /// What comes after the last block, or if that is not full, before it.
    carry: Carry,
    /// How masks are made.
    pub masks: Masks,
}

/// A value whose end is looked for, possibly over many calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan {
    /// Offset of its first byte.
    pub start: u64,
    /// Everything before is looked at.
    pub next: u64,
    /// Open brackets; in a string 1.
    depth: u32,
    /// Deepest allowed.
    max_depth: u32,
    first: u8,
    last_quote: u64,
    /// The last bracket at the beginning of a line that belongs to the value; at first the value's own.
    passed_line: u64,
}

/// How a look for the end of a value ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framed {
    /// The value ends before this offset.
    Whole(u64),
    /// More text is needed.
    More,
    /// Bad syntax at this offset.
    Bad(u64),
    /// Inside the value a bracket begins a line, at this offset. Looking on is possible after [`Scan::pass_line`].
    Line(u64),
    /// Deeper than allowed here. Looking on is possible after [`Scan::unlimited`].
    TooDeep(u64),
    /// A string or the whole is too long. Looking on is possible.
    TooLong,
}

impl Scan {
    /// Looks from a value's first byte; `depth` is the number of brackets open around it.
    pub fn new(start: u64, first: u8, depth: u32) -> Scan {
        Scan {
            start,
            next: start,
            depth: 0,
            max_depth: MAX_DEPTH.saturating_sub(depth),
            first,
            last_quote: start,
            passed_line: start,
        }
    }

    /// Takes note that a bracket at the beginning of a line belongs to the value.
    pub fn pass_line(&mut self, at: u64) {
        self.passed_line = at;
    }

    /// Lifts all limits: the value is left, not read.
    pub fn unlimited(&mut self) {
        self.max_depth = u32::MAX;
    }

    /// Returns whether nothing limits this look.
    pub fn is_unlimited(&self) -> bool {
        self.max_depth == u32::MAX
    }
}

impl Window {
    /// Starts anew at offset 0 of another text, keeping memory.
    pub fn reset(&mut self, base: u64) {
        self.len = 0;
        self.blocks.clear();
        self.base = base;
        self.origin = 0;
        self.masked = 0;
        self.carry = Carry::default();
    }

    /// Appends text; false if memory ended.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        let Some(room) = self.room(bytes.len()) else { return false };
        room.copy_from_slice(bytes);
        self.commit(bytes.len());
        true
    }

    /// Returns memory of this many bytes, to be filled with what comes next; `None` if memory ended.
    pub fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        let end = self.len + bytes;
        if end > self.buf.len() {
            self.buf.try_reserve(end - self.buf.len()).ok()?;
            self.buf.resize(end, 0);
        }
        self.buf.get_mut(self.len..end)
    }

    /// Appends so many bytes of the memory that [`room`](Self::room) gave.
    pub fn commit(&mut self, bytes: usize) {
        self.len = self.buf.len().min(self.len + bytes);
    }

    /// Returns the text that is held.
    fn held(&self) -> &[u8] {
        &self.buf[..self.len]
    }

    /// Returns the offset after the last byte.
    pub fn end(&self) -> u64 {
        self.base + self.len as u64
    }

    /// Returns the byte at an offset, if it has come.
    pub fn byte(&self, at: u64) -> Option<u8> {
        self.held().get((at - self.base) as usize).copied()
    }

    /// Returns the bytes in a range of offsets, which must be held.
    pub fn text(&self, start: u64, end: u64) -> &[u8] {
        let range = (start - self.base) as usize..(end - self.base) as usize;
        self.held().get(range).unwrap_or_default()
    }

    /// Returns all bytes from an offset on.
    pub fn rest(&self, start: u64) -> &[u8] {
        self.held().get((start.max(self.base) - self.base) as usize..).unwrap_or_default()
    }

    /// Returns whether a line break stands right before an offset.
    pub fn begins_line(&self, at: u64) -> bool {
        at.checked_sub(1).is_some_and(|before| before >= self.base && self.byte(before) == Some(b'\n'))
    }

    /// Forgets what lies before an offset, as far as whole blocks allow.
    pub fn forget(&mut self, before: u64) {
        let before = before.clamp(self.base, self.end());
        self.pass(before);
        let keep = (before - self.base) as usize;
        let whole = keep.saturating_sub(self.origin).min(self.masked) / BLOCK;
        let bytes = keep.min(self.origin + whole * BLOCK);
        if bytes < 8 * BLOCK && keep < self.len {
            return;
        }
        // What is held moves to the front; the memory behind it stays as it is.
        self.buf.copy_within(bytes..self.len, 0);
        self.len -= bytes;
        self.blocks.drain(..whole);
        self.base += bytes as u64;
        self.masked -= whole * BLOCK;
        self.origin = self.origin.saturating_sub(bytes);
        if self.buf.capacity() > 4 << 20 && self.len < 64 << 10 {
            self.buf.truncate(256 << 10);
            self.buf.shrink_to(256 << 10);
            self.blocks.shrink_to(4096);
        }
    }

    /// Reads on from an offset as if a text began there: outside any string.
    pub fn restart(&mut self, at: u64) {
        self.origin = (at - self.base) as usize;
        self.blocks.clear();
        self.masked = 0;
        self.carry = Carry::default();
    }

    /// Takes note that what comes before a place outside of strings is read: if it has no masks, it needs none.
    pub fn pass(&mut self, at: u64) {
        if at > self.base + (self.origin + self.masked) as u64 {
            self.restart(at);
        }
    }

    /// Makes more masks; false if all bytes have theirs.
    fn mask_more(&mut self) -> bool {
        let have = self.len - self.origin;
        if self.masked == have {
            return false;
        }
        if !self.masked.is_multiple_of(BLOCK) {
            self.blocks.pop();
            self.masked -= self.masked % BLOCK;
        }
        let to = have.min(self.masked + self.masked.clamp(4 * BLOCK, STRIDE));
        let text = &self.buf[self.origin + self.masked..self.origin + to];
        let (whole, tail) = text.as_chunks::<BLOCK>();
        self.masks.extend(whole, &mut self.carry, &mut self.blocks);
        if !tail.is_empty() {
            let mut padded = [b' '; BLOCK];
            padded[..tail.len()].copy_from_slice(tail);
            let mut carry = self.carry;
            self.blocks.push(block(bits_plain(&padded), &mut carry));
        }
        self.masked = to;
        true
    }

    /// Looks for the end of a value.
    pub fn frame(&mut self, scan: &mut Scan) -> Framed {
        match scan.first {
            b'{' | b'[' => self.frame_brackets(scan),
            b'"' => self.frame_string(scan),
            _ => self.frame_scalar(scan),
        }
    }

    /// Returns whether masks reach beyond an offset, made now if need be.
    fn is_masked(&mut self, at: u64) -> bool {
        let at = (at - self.base) as usize - self.origin;
        while at >= self.masked {
            if !self.mask_more() {
                return false;
            }
        }
        true
    }

    fn frame_brackets(&mut self, scan: &mut Scan) -> Framed {
        while self.is_masked(scan.next) {
            let zero = self.base + self.origin as u64;
            let mut index = ((scan.next - zero) / BLOCK as u64) as usize;
            let mut from = !0u64 << ((scan.next - zero) % BLOCK as u64);
            while let Some(block) = self.blocks.get(index) {
                let place = zero + (index * BLOCK) as u64;
                if block.quotes & from != 0 {
                    let quotes = block.quotes & from;
                    let first = place + u64::from(quotes.trailing_zeros());
                    let last = place + 63 - u64::from(quotes.leading_zeros());
                    // A look that goes on in a block it has seen has seen later quotes too.
                    let gap = first.saturating_sub(scan.last_quote);
                    scan.last_quote = last;
                    if gap > MAX_STRING + 1 && !scan.is_unlimited() {
                        scan.next = place.max(scan.next);
                        return Framed::TooLong;
                    }
                }
                let (opens, closes, bad) = (block.opens & from, block.closes & from, block.bad & from);
                let (more, less) = (opens.count_ones(), closes.count_ones());
                let is_crossing = less >= scan.depth || scan.depth.saturating_add(more) > scan.max_depth;
                if is_crossing || bad | block.lines & from != 0 {
                    let mut left = opens | closes | bad;
                    while left != 0 {
                        let bit = left & left.wrapping_neg();
                        let at = place + u64::from(left.trailing_zeros());
                        left ^= bit;
                        if block.lines & bit != 0 && at > scan.passed_line && self.begins_line(at) {
                            scan.next = at;
                            return Framed::Line(at);
                        }
                        scan.next = at + 1;
                        if opens & bit != 0 {
                            scan.depth += 1;
                            if scan.depth > scan.max_depth {
                                return Framed::TooDeep(at);
                            }
                        } else if closes & bit != 0 {
                            scan.depth -= 1;
                            if scan.depth == 0 {
                                return Framed::Whole(at + 1);
                            }
                        } else {
                            scan.next = at;
                            return Framed::Bad(at);
                        }
                    }
                } else {
                    scan.depth = scan.depth + more - less;
                }
                index += 1;
                from = !0;
            }
            scan.next = zero + self.masked as u64;
            if scan.next - scan.start > MAX_UNIT && !scan.is_unlimited() {
                return Framed::TooLong;
            }
        }
        Framed::More
    }

    fn frame_string(&mut self, scan: &mut Scan) -> Framed {
        if scan.next == scan.start {
            if !self.is_masked(scan.start) {
                return Framed::More;
            }
            scan.next = scan.start + 1;
        }
        while self.is_masked(scan.next) {
            let zero = self.base + self.origin as u64;
            let mut index = ((scan.next - zero) / BLOCK as u64) as usize;
            let mut from = !0u64 << ((scan.next - zero) % BLOCK as u64);
            while let Some(block) = self.blocks.get(index) {
                let stop = (block.quotes | block.bad) & from;
                if stop != 0 {
                    let at = zero + (index * BLOCK) as u64 + u64::from(stop.trailing_zeros());
                    if block.bad & (stop & stop.wrapping_neg()) != 0 {
                        return Framed::Bad(at);
                    }
                    if at - scan.start > MAX_STRING + 1 && !scan.is_unlimited() {
                        scan.next = at;
                        return Framed::TooLong;
                    }
                    scan.next = at + 1;
                    return Framed::Whole(at + 1);
                }
                index += 1;
                from = !0;
            }
            scan.next = zero + self.masked as u64;
            if scan.next - scan.start > MAX_STRING + 1 && !scan.is_unlimited() {
                return Framed::TooLong;
            }
        }
        Framed::More
    }

    fn frame_scalar(&mut self, scan: &mut Scan) -> Framed {
        while let Some(byte) = self.byte(scan.next) {
            match byte {
                b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t' if scan.next > scan.start => {
                    return Framed::Whole(scan.next);
                }
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'+' | b'.' => scan.next += 1,
                _ => return Framed::Bad(scan.next),
            }
            if scan.next - scan.start > MAX_STRING && !scan.is_unlimited() {
                return Framed::TooLong;
            }
        }
        Framed::More
    }
}
