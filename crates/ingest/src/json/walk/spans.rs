//! Spans of a Jaeger trace, read without looking for their ends first.

use super::{Expect, Use, Walker};
use crate::bytes::window::{MAX_STRING, Window};
use crate::context::Context;
use crate::sink::Fail;
use pathlight_trace::SetFull;

/// Containers around spans that the fast reader reads; it counts brackets in them only up to a limit of its own.
const MAX_FRAMES: usize = 32;

impl Walker {
    /// Returns whether the fast reader may be asked: it reads no times in another unit.
    pub(crate) fn may_be_fast(&self, cx: &Context<'_>) -> bool {
        !self.reference && cx.sink.unit.is_none()
    }

    /// Reads spans one after the other without looking for their ends first. Returns whether the one at the current place
    /// must be read otherwise, because it is incomplete or odd.
    pub(crate) fn spans(&mut self, window: &mut Window, cx: &mut Context<'_>) -> Result<bool, SetFull> {
        // Within these limits none of those is passed that hold where ends are looked for.
        if cx.sink.building.is_bad || self.frames.len() > MAX_FRAMES || !self.may_be_fast(cx) {
            return Ok(true);
        }
        loop {
            let text = window.rest(self.pos);
            if text.len() as u64 > MAX_STRING {
                break;
            }
            let fast = match cx.judge.as_deref_mut() {
                Some(judge) => cx.scratch.fast.times(text, self.pos).map(|(length, times)| {
                    judge.looked(self.pos, Ok(times));
                    (length, Ok(()))
                }),
                None => cx.scratch.fast.span_of_trace(cx.sink, cx.set, text, self.pos),
            };
            let Some((length, read)) = fast else { break };
            let follows = text.get(length..length + 2).is_some_and(|next| next == b",{");
            self.pos += length as u64;
            self.expect = Some(Expect::Comma);
            if let Err(bad) = read {
                self.note_failure(Err::<(), _>(Fail::Bad(bad)), Use::Span, cx)?;
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
