//! Texts of rows: the shape around records that a table says.

use super::{Frame, Use, Walker};
use crate::bytes::window::{Scan, Window};
use crate::context::Context;
use crate::json::node::Node;

impl Walker {
    /// Walks into what holds documents.
    pub(super) fn descend_into_wrapper(&mut self, first: u8, cx: &mut Context<'_>) {
        self.undecided = None;
        cx.sink.is_known = true;
        if first == b'[' {
            return self.descend(Frame::Documents, cx);
        }
        self.undecided = Some(self.pos);
        self.descend(Frame::Document, cx);
    }

    /// Chooses what is done with a member of an object in a text of rows.
    pub(super) fn choose_in_rows(&mut self, is_within: bool, first: u8, cx: &mut Context<'_>) {
        if is_within {
            return self.descend_into_wrapper(first, cx);
        }
        let what = if self.undecided.is_some() { Use::Member } else { Use::Skip };
        self.unit = Some((what, Scan::new(self.pos, first, self.frames.len() as u32)));
    }

    /// Looks at the records of the object that the text has not ended, if somebody asks what they are.
    pub fn look_at_rest(&mut self, window: &Window, cx: &mut Context<'_>) {
        let start = match self.unit {
            Some((Use::Guess, scan)) => Some(scan.start),
            _ => self.undecided,
        };
        if let (Some(rows), Some(start)) = (&mut self.rows, start) {
            rows.look_at_part(cx, Node { text: window.rest(start), at: start });
        }
    }
}
