//! Bytes of Blobs in order, always one read ahead of who takes them.

use std::collections::VecDeque;

use js_sys::{Array, ArrayBuffer, Promise, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, ReadableStreamByobReader, ReadableStreamReadResult};

use pathlight_base::format;
use pathlight_wire::words;

/// Bytes asked for at a time from a large Blob. The browser fills a buffer while the one before it is parsed, at a price
/// for each.
const BLOCK: u32 = 2 << 20;
/// The same where it cannot be read as a stream of bytes.
const PART: f64 = (4 << 20) as f64;
/// Blobs up to this size are read together with their neighbours: what a read costs beside its bytes counts there.
const SMALL: f64 = (256 << 10) as f64;
/// Bytes of one such reading together.
const TOGETHER: f64 = (1 << 20) as f64;
/// Number of those under way at a time: files are opened one after the other, far from here.
const AHEAD: usize = 4;

/// Some bytes of one piece, still outside of wasm memory.
pub struct Block {
    /// Number of the piece, in the order given.
    pub piece: usize,
    /// The bytes.
    pub bytes: Uint8Array,
    /// Whether the piece ends here.
    pub is_last: bool,
}

/// A piece that cannot be read, and the reason.
pub struct Unreadable {
    /// Number of the piece; nothing of it follows.
    pub piece: usize,
    /// The browser's words.
    pub reason: String,
}

/// A read under way. As futures, the promises have handlers: one that fails after it was dropped is no error.
enum Read {
    /// One read of a stream, or of a part of a Blob.
    Part { piece: usize, bytes: JsFuture },
    /// Neighbours read as one, as (piece, size).
    Together { pieces: Vec<(usize, u32)>, bytes: JsFuture },
}

struct Open {
    piece: usize,
    blob: Blob,
    size: f64,
    /// Bytes taken; with parts, bytes asked for.
    at: f64,
    /// Bytes that arrived.
    arrived: f64,
    /// `None`: read in parts, for browsers without byte streams of Blobs.
    reader: Option<ReadableStreamByobReader>,
}

/// The Blobs of one call.
pub struct BlobSource {
    blobs: Vec<Blob>,
    next: usize,
    open: Option<Open>,
    /// Reads that were asked for and not yet taken, in order.
    ahead: VecDeque<Read>,
    ready: VecDeque<Result<Block, Unreadable>>,
    /// A buffer to read into again.
    spare: Option<ArrayBuffer>,
}

impl BlobSource {
    /// Takes the Blobs and asks for the first bytes at once.
    pub fn new(blobs: Vec<Blob>) -> BlobSource {
        let mut source = BlobSource {
            blobs,
            next: 0,
            open: None,
            ahead: VecDeque::new(),
            ready: VecDeque::new(),
            spare: None,
        };
        source.read_ahead();
        source
    }

    /// Returns the next bytes; `None` after the last. `done` is the block got before, whose memory may be used again.
    pub async fn next(&mut self, done: Option<Block>) -> Option<Result<Block, Unreadable>> {
        if let Some(block) = done
            && self.open.as_ref().is_some_and(|open| open.reader.is_some())
        {
            let buffer = block.bytes.buffer();
            if buffer.byte_length() == BLOCK {
                self.spare = buffer.dyn_into().ok();
            }
        }
        loop {
            if let Some(block) = self.ready.pop_front() {
                return Some(block);
            }
            self.read_ahead();
            match self.ahead.pop_front()? {
                Read::Part { piece, bytes } => {
                    let result = bytes.await;
                    self.take_part(piece, result);
                }
                Read::Together { pieces, bytes } => match bytes.await {
                    Ok(buffer) => self.take_together(&pieces, &buffer),
                    Err(_) => self.one_by_one(&pieces).await,
                },
            }
            self.read_ahead();
        }
    }

    /// Returns the bytes of a piece.
    pub fn size(&self, piece: usize) -> u64 {
        self.blobs.get(piece).map_or(0, |blob| blob.size() as u64)
    }

    /// Leaves the rest of this piece unread.
    pub fn skip(&mut self, piece: usize) {
        if self.open.as_ref().is_some_and(|open| open.piece == piece) {
            self.close();
            self.ahead.clear();
        }
    }

    fn close(&mut self) {
        if let Some(Open { reader: Some(reader), .. }) = self.open.take() {
            // Frees what the browser has read ahead; how that went is nobody's concern.
            drop(JsFuture::from(reader.cancel()));
        }
    }

    /// Asks for what comes next, as far as it may be asked for now.
    fn read_ahead(&mut self) {
        while self.ahead.len() < AHEAD {
            if let Some(open) = &mut self.open {
                // The answer to one read of a stream tells whether there is another.
                if !self.ahead.is_empty() || open.at >= open.size {
                    return;
                }
                let promise = match &open.reader {
                    Some(reader) => {
                        let buffer = self.spare.take().unwrap_or_else(|| ArrayBuffer::new(BLOCK));
                        reader.read_with_array_buffer_view(&Uint8Array::new(&buffer))
                    }
                    None => {
                        let end = (open.at + PART).min(open.size);
                        let part = open.blob.slice_with_f64_and_f64(open.at, end);
                        open.at = end;
                        part.map_or_else(|error| Promise::reject(&error), |part| part.array_buffer())
                    }
                };
                self.ahead.push_back(Read::Part { piece: open.piece, bytes: JsFuture::from(promise) });
                return;
            }
            let Some(blob) = self.blobs.get(self.next) else { return };
            if blob.size() > SMALL {
                if !self.ahead.is_empty() {
                    return;
                }
                let (piece, blob) = (self.next, blob.clone());
                self.next += 1;
                let size = blob.size();
                // A reader into buffers of ours spares the browser an allocation a block; not every one has it.
                let reader = ReadableStreamByobReader::new(&blob.stream()).ok();
                self.open = Some(Open { piece, blob, size, at: 0.0, arrived: 0.0, reader });
            } else {
                self.read_together();
            }
        }
    }

    fn read_together(&mut self) {
        let parts = Array::new();
        let mut pieces = Vec::new();
        let mut total = 0.0;
        while let Some(blob) = self.blobs.get(self.next) {
            let size = blob.size();
            if size > SMALL || (total > 0.0 && total + size > TOGETHER) {
                break;
            }
            total += size;
            parts.push(blob);
            pieces.push((self.next, size as u32));
            self.next += 1;
        }
        let promise = Blob::new_with_blob_sequence(&parts)
            .map_or_else(|error| Promise::reject(&error), |blob| blob.array_buffer());
        self.ahead.push_back(Read::Together { pieces, bytes: JsFuture::from(promise) });
    }

    fn take_part(&mut self, piece: usize, result: Result<JsValue, JsValue>) {
        let Some(open) = self.open.as_mut().filter(|open| open.piece == piece) else { return };
        let bytes = match result {
            Ok(value) if open.reader.is_some() => {
                let read: ReadableStreamReadResult = value.unchecked_into();
                let bytes = read
                    .get_value()
                    .dyn_into::<Uint8Array>()
                    .unwrap_or_else(|_| Uint8Array::new_with_length(0));
                open.at += f64::from(bytes.length());
                if read.get_done().unwrap_or(false) {
                    open.at = open.size;
                }
                bytes
            }
            Ok(buffer) => Uint8Array::new(&buffer),
            Err(error) => {
                self.close();
                self.ready.push_back(Err(Unreadable { piece, reason: words(&error) }));
                return;
            }
        };
        open.arrived += f64::from(bytes.length());
        let is_last = open.arrived >= open.size;
        if !is_last && open.reader.is_some() && open.at >= open.size {
            let reason = format!(
                "it ended after {} of {} bytes",
                format::count(open.arrived as u64),
                format::count(open.size as u64)
            );
            self.close();
            self.ready.push_back(Err(Unreadable { piece, reason }));
            return;
        }
        if is_last {
            self.close();
        }
        self.ready.push_back(Ok(Block { piece, bytes, is_last }));
    }

    fn take_together(&mut self, pieces: &[(usize, u32)], buffer: &JsValue) {
        let all = Uint8Array::new(buffer);
        let mut at = 0;
        for &(piece, size) in pieces {
            let bytes = all.subarray(at, at + size);
            at += size;
            self.ready.push_back(Ok(Block { piece, bytes, is_last: true }));
        }
    }

    async fn one_by_one(&mut self, pieces: &[(usize, u32)]) {
        for &(piece, _) in pieces {
            let read = JsFuture::from(self.blobs[piece].array_buffer()).await;
            self.ready.push_back(match read {
                Ok(buffer) => Ok(Block { piece, bytes: Uint8Array::new(&buffer), is_last: true }),
                Err(error) => Err(Unreadable { piece, reason: words(&error) }),
            });
        }
    }
}

impl Drop for BlobSource {
    fn drop(&mut self) {
        self.close();
    }
}
