//! Remembers what pieces of text turned out to be, so that a piece seen before costs a hash and a comparison.

use super::view::same;

/// Most text and most pieces that are remembered; then all is forgotten.
const MAX_TEXT: usize = 1 << 20;
const MAX_PIECES: usize = 1 << 14;
/// Longer pieces are not remembered.
const MAX_PIECE: usize = 4096;

/// A bounded map from pieces of text.
pub(crate) struct Memo<T> {
    /// Open addressing: upper half of the hash, number of the piece + 1.
    slots: Vec<(u32, u32)>,
    pieces: Vec<(u32, u32, T)>,
    text: Vec<u8>,
}

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo { slots: Vec::new(), pieces: Vec::new(), text: Vec::new() }
    }
}

/// Returns a hash of a piece of text: two lanes of eight bytes.
#[inline]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let (mut a, mut b) = (bytes.len() as u64, K);
    let (pairs, rest) = bytes.as_chunks::<16>();
    let word = |bytes: &[u8]| u64::from_le_bytes(std::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0)));
    for pair in pairs {
        a = (a ^ word(&pair[..8])).wrapping_mul(K).rotate_left(29);
        b = (b ^ word(&pair[8..])).wrapping_mul(K).rotate_left(31);
    }
    if !rest.is_empty() {
        // The last 16 bytes, overlapping what is done; short pieces are padded.
        let mut tail = [0; 16];
        match bytes.last_chunk::<16>() {
            Some(last) => tail = *last,
            None => tail[..rest.len()].copy_from_slice(rest),
        }
        a = (a ^ word(&tail[..8])).wrapping_mul(K).rotate_left(29);
        b = (b ^ word(&tail[8..])).wrapping_mul(K).rotate_left(31);
    }
    let hash = (a ^ b.rotate_left(17)).wrapping_mul(K);
    hash ^ (hash >> 32)
}

impl<T: Copy> Memo<T> {
    /// Returns what was remembered of a piece.
    #[inline]
    pub fn find(&self, hash: u64, piece: &[u8]) -> Option<T> {
        self.number(hash, piece).map(|number| self.value(number))
    }

    /// Returns the number of a piece, for [`value`](Self::value) and [`range`](Self::range).
    #[inline]
    pub fn number(&self, hash: u64, piece: &[u8]) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = hash as usize & mask;
        loop {
            let (tag, number) = self.slots[slot];
            if number == 0 {
                return None;
            }
            if tag == (hash >> 32) as u32 {
                let (start, end, _) = self.pieces[number as usize - 1];
                if same(&self.text[start as usize..end as usize], piece) {
                    return Some(number - 1);
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Returns what a piece is, by its number.
    #[inline]
    pub fn value(&self, number: u32) -> T {
        self.pieces[number as usize].2
    }

    /// Returns where the text of a piece stands in [`all_text`](Self::all_text).
    pub fn range(&self, number: u32) -> (u32, u32) {
        let (start, end, _) = self.pieces[number as usize];
        (start, end)
    }

    /// Returns the texts of all pieces, one after the other.
    #[inline]
    pub fn all_text(&self) -> &[u8] {
        &self.text
    }

    /// Remembers a piece that [`find`](Self::find) does not know; if there are too many, instead of all others.
    pub fn insert(&mut self, hash: u64, piece: &[u8], value: T) {
        if self.is_full() {
            self.clear();
        }
        self.try_insert(hash, piece, value);
    }

    /// Returns whether nothing more is remembered by [`try_insert`](Self::try_insert).
    pub fn is_full(&self) -> bool {
        self.pieces.len() >= MAX_PIECES || self.text.len() > MAX_TEXT - MAX_PIECE
    }

    /// Remembers a piece that [`find`](Self::find) does not know, and returns its number; `None` if it is too long or
    /// there is no room.
    pub fn try_insert(&mut self, hash: u64, piece: &[u8], value: T) -> Option<u32> {
        if piece.len() > MAX_PIECE || self.is_full() {
            return None;
        }
        if self.slots.len() < 2 * (self.pieces.len() + 1) {
            let size = (4 * self.slots.len()).max(64);
            let old = std::mem::replace(&mut self.slots, vec![(0, 0); size]);
            // Lower hash bits are not kept: find them again.
            for (_, number) in old.into_iter().filter(|&(_, number)| number != 0) {
                let (start, end, _) = self.pieces[number as usize - 1];
                let hash = self::hash(&self.text[start as usize..end as usize]);
                self.place(hash, number);
            }
        }
        let start = self.text.len() as u32;
        self.text.extend_from_slice(piece);
        self.pieces.push((start, self.text.len() as u32, value));
        self.place(hash, self.pieces.len() as u32);
        Some(self.pieces.len() as u32 - 1)
    }

    fn place(&mut self, hash: u64, number: u32) {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot].1 != 0 {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = ((hash >> 32) as u32, number);
    }

    /// Forgets all pieces and their values.
    pub fn clear(&mut self) {
        self.slots.fill((0, 0));
        self.pieces.clear();
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_found_again_until_all_is_forgotten() {
        let mut memo = Memo::default();
        for i in 0..100_000u32 {
            let piece = format!("{{\"key\":\"k\",\"value\":{i}}}");
            let hash = hash(piece.as_bytes());
            assert_eq!(memo.find(hash, piece.as_bytes()), None);
            memo.insert(hash, piece.as_bytes(), i);
            assert_eq!(memo.find(hash, piece.as_bytes()), Some(i));
            assert!(memo.text.len() <= MAX_TEXT && memo.pieces.len() <= MAX_PIECES);
        }
    }

    #[test]
    fn the_hash_sees_every_byte() {
        for len in 1..70 {
            let bytes = vec![b'x'; len];
            for at in 0..len {
                let mut other = bytes.clone();
                other[at] = b'y';
                assert_ne!(hash(&bytes), hash(&other), "{len} {at}");
            }
        }
    }
}
