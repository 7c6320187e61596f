//! Columns as a saved report holds them: [`MAGIC`], then records, each its length (u32, little endian) and that many bytes
//! of a [`Portable`] as [`encoding`] writes it. Records stand for themselves, so they are read as they come.

use super::Format;
use crate::context::{Context, Stop, WalkEnd};
use crate::report::ProblemKind;
use pathlight_base::encoding;
use pathlight_trace::Portable;

/// What the columns begin with; its last digit is the version.
pub const MAGIC: &[u8; 8] = b"\x93PLCOL3\n";

/// What they began with before spans had links, and before hashes were kept of what they ask: each with the lists that the end of a
/// record lacks.
const EARLIER: [(&[u8; 8], usize); 2] = [(b"\x93PLCOL1\n", 2), (b"\x93PLCOL2\n", 1)];

/// Returns whether columns begin with these bytes.
pub(crate) fn begin_with(head: &[u8]) -> bool {
    head.starts_with(MAGIC) || lacks(head) > 0
}

/// Returns how many lists the end of a record lacks in columns that begin with these bytes.
fn lacks(head: &[u8]) -> usize {
    EARLIER.iter().find(|(magic, _)| head.starts_with(*magic)).map_or(0, |(_, lists)| *lists)
}

/// A record longer than this is damaged; one has 8,192 spans or a single trace.
const LONGEST: usize = 1 << 30;

/// Appends traces to `out` as one record: its length in four bytes, then its bytes.
pub fn write(portable: &Portable, out: &mut Vec<u8>) {
    let record = encoding::write(portable);
    out.extend_from_slice(&(record.len() as u32).to_le_bytes());
    out.extend_from_slice(&record);
}

/// Columns being read.
pub(crate) struct Columns {
    lacks: usize,
    /// The length and bytes of the record under way.
    held: Vec<u8>,
    taken: u64,
    is_damaged: bool,
}

impl Columns {
    /// Returns columns of the version that [`head`](begin_with) says, of which nothing is read yet.
    pub fn of(head: &[u8]) -> Columns {
        Columns { lacks: lacks(head), held: Vec::new(), taken: 0, is_damaged: false }
    }

    /// Takes bytes, those after [`MAGIC`] first.
    pub fn feed(&mut self, mut bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        cx.sink.saw(Format::Columns);
        while !bytes.is_empty() && !self.is_damaged {
            let want = self.wanted();
            let (now, rest) = bytes.split_at(want.min(bytes.len()));
            if self.held.try_reserve(now.len()).is_err() {
                return Err(Stop::Full(pathlight_trace::SetFull));
            }
            self.held.extend_from_slice(now);
            self.taken += now.len() as u64;
            bytes = rest;
            if self.held.len() >= 4 && self.wanted() == 0 {
                self.record(cx)?;
            }
        }
        Ok(())
    }

    /// Returns the bytes missing of what is read next: the length, then the record.
    fn wanted(&self) -> usize {
        match self.held.first_chunk::<4>() {
            None => 4 - self.held.len(),
            Some(length) => (u32::from_le_bytes(*length) as usize + 4).saturating_sub(self.held.len()),
        }
    }

    fn record(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        // Empty ones.
        self.held.resize(self.held.len() + self.lacks, 0);
        let read = encoding::read::<Portable>(&self.held[4..]).ok();
        match read.filter(|_| self.held.len() < LONGEST) {
            Some(mut portable) => {
                let left_out = portable.bound_times();
                cx.sink.problems.note_many(ProblemKind::TimeOutOfRange, left_out, self.taken, || {
                    "a span in columns".to_owned()
                });
                // Loaded to be compared with something, all of it belongs to the other side.
                if cx.set.loading_group != 0 {
                    portable.regroup(cx.set.loading_group);
                }
                let sink = &mut *cx.sink;
                portable.add_some_to(cx.set, |id, spans, set| {
                    let wants = sink.wants_trace(id, spans, set);
                    if wants {
                        sink.count(set, id, spans.len() as u64);
                    }
                    wants
                })?;
            }
            None => {
                self.is_damaged = true;
                cx.sink
                    .problems
                    .note(ProblemKind::BadSyntax, self.taken, || "a damaged record of columns".to_owned());
            }
        }
        self.held.clear();
        Ok(())
    }

    /// Returns whether the input ended whole, else after how many bytes it is cut.
    pub fn finish(&self) -> WalkEnd {
        if self.is_damaged || !self.held.is_empty() { WalkEnd::Cut(self.taken) } else { WalkEnd::Whole }
    }
}
