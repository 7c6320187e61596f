//! Spans of a Jaeger trace, read without looking for their ends first.

use super::{Expect, Use, Walker};
use crate::bytes::window::{MAX_STRING, Window};
use crate::formats::jaeger_fast as fast;
use crate::state::{Fail, State};
use pathlight_trace::{SetFull, TraceSet};

/// Containers around spans that the fast reader reads; it counts brackets in them only up to a limit of its own.
const MAX_FRAMES: usize = 32;

impl Walker {
    /// Reads spans one after the other without looking for their ends first. Returns whether the one at the current place
    /// must be read otherwise, because it is incomplete or odd.
    pub(crate) fn spans(
        &mut self,
        window: &mut Window,
        state: &mut State,
        set: &mut TraceSet,
    ) -> Result<bool, SetFull> {
        // Within these limits none of those is passed that hold where ends are looked for.
        if self.reference || state.building.is_bad || self.frames.len() > MAX_FRAMES {
            return Ok(true);
        }
        loop {
            let text = window.rest(self.pos);
            if text.len() as u64 > MAX_STRING {
                break;
            }
            let Some((length, read)) = fast::span_of_trace(state, set, text, self.pos) else { break };
            let follows = text.get(length..length + 2).is_some_and(|next| next == b",{");
            self.pos += length as u64;
            self.expect = Some(Expect::Comma);
            if let Err(bad) = read {
                self.settle(Err::<(), _>(Fail::Bad(bad)), Use::Span, state)?;
                return Ok(false);
            }
            if !follows {
                window.pass(self.pos);
                return Ok(false);
            }
            self.pos += 1;
            self.expect = Some(Expect::Another);
        }
        window.pass(self.pos);
        self.surprise = (self.pos, window.end());
        Ok(true)
    }
}
