//! Zip archives as a stream: members are read as they come, from their local headers, without the directory at the end.
//!
//! The `zip` crate wants to seek, or to pull from a blocking reader and then knows no data descriptors; here bytes are
//! pushed, in the browser too, and archives written to a pipe are common.

use super::nested::{Nested, pass_over_unknown};
use crate::context::{Context, PIECE, Stop, WalkEnd};
use crate::report::ProblemKind;
use flate2::{Crc, Decompress, FlushDecompress, Status};

const LOCAL_HEADER: u32 = 0x0403_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
/// What may follow the last member: directory, its ends, extra data.
const AFTER_MEMBERS: [u32; 4] = [0x0201_4b50, 0x0605_4b50, 0x0606_4b50, 0x0806_4b50];
/// Fixed part of a local header.
const HEADER: usize = 30;
/// Longest data descriptor, and the two letters after it.
const DESCRIPTOR_ROOM: usize = 26;

/// An archive being read.
pub(crate) struct Zip<S> {
    state: State,
    /// Bytes of a header or descriptor, until it is whole.
    held: Vec<u8>,
    member: Member,
    inflate: Decompress,
    crc: Crc,
    out: Vec<u8>,
    pub inner: Option<S>,
    layer: u32,
    /// Bytes of the archive taken.
    taken: u64,
    /// Where the last member's header begins: the place problems name.
    at: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Header,
    /// Deflated data.
    Deflate,
    /// Stored or unreadable data: so many bytes are left.
    Bytes(u64),
    Descriptor,
    /// All members are read, or nothing more can be.
    Done,
}

/// What a local header says.
#[derive(Clone, Default, Debug)]
struct Member {
    name: String,
    crc: u32,
    packed: u64,
    /// Lengths and checksum come after the data.
    has_descriptor: bool,
    /// Bytes of packed data taken so far.
    taken: u64,
    made: u64,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u16::from_le_bytes(*b))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

impl<S: Nested> Zip<S> {
    /// Returns an archive inside `layer` others.
    pub fn new(layer: u32) -> Zip<S> {
        Zip {
            state: State::Header,
            held: Vec::new(),
            member: Member::default(),
            inflate: Decompress::new(false),
            crc: Crc::new(),
            out: Vec::new(),
            inner: None,
            layer,
            taken: 0,
            at: 0,
        }
    }

    pub fn feed(&mut self, mut bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        while !bytes.is_empty() && self.state != State::Done {
            let used = match self.state {
                State::Header => self.header(bytes, cx),
                State::Deflate => self.deflated(bytes, cx)?,
                State::Bytes(left) => {
                    let now = (bytes.len() as u64).min(left) as usize;
                    self.pass(&bytes[..now], cx)?;
                    self.member.taken += now as u64;
                    self.state = State::Bytes(left - now as u64);
                    if left == now as u64 {
                        self.end_data(cx)?;
                    }
                    now
                }
                State::Descriptor => self.descriptor(bytes, cx),
                State::Done => break,
            };
            bytes = &bytes[used..];
            self.taken += used as u64;
        }
        Ok(())
    }

    /// Moves bytes to `held` until it has `want`; how many were moved.
    fn hold(&mut self, bytes: &[u8], want: usize) -> usize {
        let more = want.saturating_sub(self.held.len()).min(bytes.len());
        self.held.extend_from_slice(&bytes[..more]);
        more
    }

    /// Collects a local header and begins its member.
    fn header(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> usize {
        let mut used = self.hold(bytes, 4);
        if self.held.len() < 4 {
            return used;
        }
        // What is held may have come in several parts; it began where the first of it did.
        self.at = self.taken + used as u64 - self.held.len() as u64;
        let signature = u32_at(&self.held, 0);
        if AFTER_MEMBERS.contains(&signature) {
            self.state = State::Done;
            return used;
        }
        if signature != LOCAL_HEADER {
            self.damaged("something that is no member stands between the members", cx);
            return used;
        }
        used += self.hold(&bytes[used..], HEADER);
        if self.held.len() < HEADER {
            return used;
        }
        let name_len = usize::from(u16_at(&self.held, 26));
        let whole = HEADER + name_len + usize::from(u16_at(&self.held, 28));
        used += self.hold(&bytes[used..], whole);
        if self.held.len() == whole {
            let header = std::mem::take(&mut self.held);
            self.begin(&header, name_len, cx);
            self.held = header;
            self.held.clear();
        }
        used
    }

    fn begin(&mut self, header: &[u8], name_len: usize, cx: &mut Context<'_>) {
        let (flags, method) = (u16_at(header, 6), u16_at(header, 8));
        let (mut packed, unpacked) = (u64::from(u32_at(header, 18)), u32_at(header, 22));
        let mut extra = header.get(HEADER + name_len..).unwrap_or_default();
        while extra.len() >= 4 {
            let (id, len) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
            if id == 1 && packed == u64::from(u32::MAX) {
                // Zip64: the lengths that did not fit, the unpacked one first.
                packed = u64_at(extra, if unpacked == u32::MAX { 12 } else { 4 });
            }
            extra = extra.get(4 + len..).unwrap_or_default();
        }
        let name = header.get(HEADER..HEADER + name_len).unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        let has_descriptor = flags & 8 != 0;
        self.member = Member { crc: u32_at(header, 14), packed, has_descriptor, name, ..Member::default() };
        self.crc = Crc::new();
        cx.sink.problems.member = Some(self.member.name.clone());
        let name = &self.member.name;
        let is_noise = name.ends_with('/') || name.starts_with("__MACOSX/") || name.ends_with(".DS_Store");
        let unreadable = match method {
            _ if flags & 1 != 0 => Some("it is encrypted".to_owned()),
            0 | 8 => None,
            _ => Some(format!("its compression method {method} is not supported")),
        };
        if let Some(why) = &unreadable {
            cx.sink.problems.note(ProblemKind::BadMember, self.at, || format!("not read: {why}"));
        }
        self.inner = (!is_noise && unreadable.is_none()).then(|| S::inside(self.layer + 1));
        self.state = match method {
            8 if unreadable.is_none() => {
                self.inflate.reset(false);
                State::Deflate
            }
            _ if has_descriptor && packed == 0 && !is_noise => {
                self.damaged("its length is written after it, which only works for deflated members", cx);
                State::Done
            }
            _ => State::Bytes(packed),
        };
        if self.state == State::Bytes(0) {
            // An empty member has no data that could end it.
            self.inner = None;
            self.state = if has_descriptor { State::Descriptor } else { State::Header };
        }
    }

    /// Unpacks deflated bytes; returns how many were used.
    fn deflated(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<usize, Stop> {
        self.out.resize(PIECE, 0);
        let mut bytes = bytes;
        if !self.member.has_descriptor {
            let left = self.member.packed - self.member.taken;
            bytes = &bytes[..(bytes.len() as u64).min(left) as usize];
        }
        let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(bytes, &mut self.out, FlushDecompress::None);
        let used = (self.inflate.total_in() - before_in) as usize;
        let made = (self.inflate.total_out() - before_out) as usize;
        self.member.taken += used as u64;
        let out = std::mem::take(&mut self.out);
        let passed = self.pass(&out[..made], cx);
        self.out = out;
        passed?;
        match status {
            Ok(Status::StreamEnd) => {
                if self.member.has_descriptor || self.member.taken == self.member.packed {
                    self.end_data(cx)?;
                } else {
                    self.damaged("its data is shorter than its header says", cx);
                }
            }
            Ok(_) if used == 0 && made == 0 => {
                self.damaged("its data does not end where its header says", cx)
            }
            Ok(_) => {}
            Err(_) => self.damaged("its data is damaged", cx),
        }
        Ok(used)
    }

    /// Passes unpacked bytes on; what a member holds that is nothing known is passed over.
    fn pass(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        self.crc.update(bytes);
        self.member.made += bytes.len() as u64;
        let Some(inner) = &mut self.inner else { return Ok(()) };
        let result = inner.feed(bytes, cx);
        pass_over_unknown(&mut self.inner, result, cx)
    }

    /// Ends the data of a member.
    fn end_data(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        if let Some(mut inner) = self.inner.take() {
            let result = inner.finish(cx).map(|_| ());
            pass_over_unknown(&mut self.inner, result, cx)?;
            if !self.member.has_descriptor {
                self.check(self.member.crc, cx);
            }
        }
        self.state = if self.member.has_descriptor { State::Descriptor } else { State::Header };
        Ok(())
    }

    fn check(&self, crc: u32, cx: &mut Context<'_>) {
        if crc != self.crc.sum() {
            cx.sink.problems.note(ProblemKind::BadMember, self.at, || {
                "its checksum differs: what was read from it may be wrong".into()
            });
        }
    }

    /// Collects a data descriptor: with or without a signature, lengths of 4 or 8 bytes. Which, its own lengths tell.
    fn descriptor(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> usize {
        let before = self.held.len();
        let used = self.hold(bytes, DESCRIPTOR_ROOM);
        if self.held.len() < DESCRIPTOR_ROOM {
            return used;
        }
        let held = &self.held;
        let (packed, made) = (self.member.taken, self.member.made);
        let start = if u32_at(held, 0) == DESCRIPTOR { 4 } else { 0 };
        let fits = |start: usize, is_long: bool| {
            let (lengths, end) = match is_long {
                true => (u64_at(held, start + 4) == packed && u64_at(held, start + 12) == made, start + 20),
                false => (
                    u32_at(held, start + 4) == packed as u32 && u32_at(held, start + 8) == made as u32,
                    start + 12,
                ),
            };
            (lengths && held.get(end..end + 2) == Some(b"PK")).then_some((start, end))
        };
        let found = fits(start, false).or_else(|| fits(start, true)).or_else(|| fits(0, false));
        let Some((start, end)) = found.or_else(|| fits(0, true)) else {
            self.damaged("its length, written after it, is another one", cx);
            return used;
        };
        let crc = u32_at(held, start);
        // What was held beyond the descriptor is the next header's; some of it may be of an earlier part.
        let beyond = self.held.split_off(end);
        self.held = beyond;
        self.state = State::Header;
        self.check(crc, cx);
        debug_assert!(before <= DESCRIPTOR_ROOM);
        used
    }

    fn damaged(&mut self, what: &str, cx: &mut Context<'_>) {
        self.state = State::Done;
        self.inner = None;
        cx.sink
            .problems
            .note(ProblemKind::BadMember, self.at, || format!("{what}; the archive is not read further"));
    }

    pub fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, Stop> {
        let end = match self.state {
            State::Done => WalkEnd::Whole,
            state => {
                // A whole archive ends with its directory.
                let is_between = state == State::Header && self.held.is_empty();
                let (at, text) = match is_between {
                    true => (self.taken, "the archive ends without its directory: members may be missing"),
                    false => (self.at, "the archive ends in the middle; what was complete is kept"),
                };
                if is_between {
                    cx.sink.problems.member = None;
                }
                cx.sink.problems.note(ProblemKind::Truncated, at, || text.into());
                if let Some(mut inner) = self.inner.take() {
                    let result = inner.finish(cx).map(|_| ());
                    pass_over_unknown(&mut self.inner, result, cx)?;
                }
                WalkEnd::Cut(self.taken)
            }
        };
        cx.sink.problems.member = None;
        Ok(end)
    }
}
