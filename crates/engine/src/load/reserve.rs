//! Room for the analyses, kept free while files are read.

/// Memory held while files are read and given back at their end, so that there is room for the analyses however much
/// memory a browser grants: a quarter of all that the worker has beside it. Nobody writes to it, so it costs addresses only.
#[derive(Default)]
pub struct Reserve {
    blocks: Vec<Vec<u8>>,
    bytes: usize,
}

impl Reserve {
    /// So much is taken at once, at least.
    const LEAST_BYTES: usize = 1 << 20;

    /// Holds a quarter of what the worker has by now, which is so much with it; returns whether memory has that much.
    pub fn keep_up(&mut self, memory_bytes: u64) -> bool {
        let beside = usize::try_from(memory_bytes).unwrap_or(usize::MAX).saturating_sub(self.bytes);
        let missing = (beside / 4).saturating_sub(self.bytes);
        if missing < Reserve::LEAST_BYTES {
            return true;
        }
        let mut block = Vec::new();
        let has_room = block.try_reserve_exact(missing).is_ok();
        self.bytes += block.capacity();
        self.blocks.push(block);
        has_room
    }
}
