//! A share of a packed text: several readers unpack the same input, and each reads the traces of its own share.
//!
//! Bytes in the middle of a packed input say nothing without those before, so each reader unpacks all that comes before its
//! share, which takes less time than reading it. Shares begin and end at the first split point after a given place of
//! the text; both readers beside such a place look for it, in the same bytes.

use super::nested::Nested;
use super::source::Source;
use crate::context::{Context, Stop, WalkEnd};
use crate::json::walk::split::{FIRST_LOOK_BYTES, PackedPlace, SEARCH_BYTES, SplitFinder};

/// What a reader does with the text that comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Leaves it: others read it.
    Before,
    /// Keeps it, and looks for the split point at which its share begins.
    Begins,
    /// Reads it.
    Inside,
    /// Keeps it, and looks for the split point at which its share ends.
    Ends,
    /// Leaves it: its share was read to its end.
    Done,
    /// There is no split point near: the input must be read by one reader.
    Lost,
}

/// A share of the text in a packed input; see the module.
pub(crate) struct Share {
    /// Places in the text after which it begins and ends; `None` is the start or the end of the text.
    from: Option<u64>,
    until: Option<u64>,
    state: State,
    /// Finds the split points of the text.
    finder: Option<SplitFinder>,
    /// Text that is kept, and the offset of what comes after it.
    held: Vec<u8>,
    at: u64,
    /// Bytes that the next look for a split point covers.
    look: u64,
    inner: Source,
}

impl Share {
    /// Returns a share between two places of the text inside `layer` containers.
    pub fn new(from: Option<&PackedPlace>, until: Option<&PackedPlace>, layer: u32) -> Share {
        let place = |packed: &PackedPlace| packed.place;
        Share {
            from: from.map(place),
            until: until.map(place),
            state: if from.is_some() { State::Before } else { State::Inside },
            finder: from.or(until).map(|packed| packed.finder.clone()),
            held: Vec::new(),
            at: 0,
            look: 0,
            inner: Source::inside(layer),
        }
    }

    /// Returns whether nothing of what follows is read.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Done | State::Lost)
    }

    /// Returns whether the whole share was read.
    pub fn agrees(&self) -> bool {
        self.state == State::Done
    }

    /// Looks for a split point in what there is, since no more text comes; returns whether the share [is over](Self::is_over).
    pub fn end_looks(&mut self, cx: &mut Context<'_>) -> Result<bool, Stop> {
        if matches!(self.state, State::Begins | State::Ends) {
            self.look_at_held(cx)?;
        }
        Ok(self.is_over())
    }

    /// Takes what a state can use of some text; returns how much that is.
    fn take(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<usize, Stop> {
        let up_to = |place: Option<u64>| {
            let left = place.map_or(u64::MAX, |place| place.saturating_sub(self.at));
            bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))
        };
        let taken = match self.state {
            State::Before => up_to(self.from),
            State::Inside => up_to(self.until),
            State::Begins | State::Ends => {
                bytes.len().min((self.look as usize).saturating_sub(self.held.len()))
            }
            State::Done | State::Lost => bytes.len(),
        };
        self.at += taken as u64;
        let is_at = |place: Option<u64>| place == Some(self.at);
        match self.state {
            State::Before if is_at(self.from) => self.search(State::Begins),
            State::Inside => {
                self.inner.feed(&bytes[..taken], cx)?;
                if is_at(self.until) {
                    self.search(State::Ends);
                }
            }
            State::Begins | State::Ends => {
                self.held.extend_from_slice(&bytes[..taken]);
                if self.held.len() as u64 == self.look {
                    self.look_at_held(cx)?;
                }
            }
            _ => {}
        }
        Ok(taken)
    }

    fn search(&mut self, state: State) {
        (self.state, self.look) = (state, FIRST_LOOK_BYTES);
    }

    /// Looks at the text that is kept, and passes it on if that was enough.
    fn look_at_held(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        let begin = self.at - self.held.len() as u64;
        let point = self.finder.as_ref().and_then(|finder| finder.find(&self.held, begin));
        let Some(point) = point else {
            if self.look < SEARCH_BYTES {
                self.look = SEARCH_BYTES;
            } else {
                self.state = State::Lost;
            }
            return Ok(());
        };
        let before = (point.at - begin) as usize;
        if self.state == State::Begins {
            if self.until.is_some_and(|until| until < point.at) {
                // The share lies within one trace.
                self.state = State::Lost;
                return Ok(());
            }
            self.inner = Source::from_split_point(&point, cx.how);
            self.state = State::Inside;
            self.at = point.at;
            let held = std::mem::take(&mut self.held);
            return self.feed(&held[before..], cx);
        }
        self.inner.feed(&self.held[..before], cx)?;
        self.state = if self.inner.meets(&point) { State::Done } else { State::Lost };
        self.held = Vec::new();
        Ok(())
    }
}

impl Nested for Share {
    fn inside(layer: u32) -> Share {
        Share::new(None, None, layer)
    }

    fn feed(&mut self, mut bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        while !bytes.is_empty() {
            let taken = self.take(bytes, cx)?;
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    fn stop(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        self.inner.stop(cx)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, Stop> {
        if self.state == State::Inside && self.until.is_none() {
            self.state = State::Done;
            return self.inner.finish(cx);
        }
        Ok(WalkEnd::Whole)
    }
}
