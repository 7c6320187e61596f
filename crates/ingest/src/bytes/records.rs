//! Inputs that hold spans as records, which can be looked at before they are read: text, and OTLP as protobuf.

use super::masks::Masks;
use super::sniff::Kind;
use super::window::Window;
use crate::context::{Context, How, PIECE, Stop, WalkEnd};
use crate::formats::otlp_protobuf::Protobuf;
use crate::formats::rows::{RowReader, Table};
use crate::json::walk::Walker;
use pathlight_trace::SetFull;
use std::sync::Arc;

/// Records being read, or looked at.
pub(crate) enum Records {
    Text(Box<Text>),
    Protobuf(Box<Protobuf>),
}

impl Records {
    /// Returns a reader of an input of this kind, of which nothing is read yet; by a table if there is one.
    pub fn of(kind: Kind, table: Option<&Arc<Table>>, cx: &mut Context<'_>) -> Records {
        if let Kind::Protobuf(framing) = kind {
            return Records::Protobuf(Box::new(Protobuf::new(framing)));
        }
        // A byte order mark counts in offsets.
        let at = kind.mark() as u64;
        let window = cx.scratch.windows.pop().unwrap_or_default();
        let mut text = Text::new(window, at, Walker::new(at), cx.how);
        text.walker.rows = table.map(|table| RowReader::new(Arc::clone(table)));
        Records::Text(Box::new(text))
    }

    /// Looks at the records of the object that the input has not ended yet.
    pub fn look_at_rest(&mut self, cx: &mut Context<'_>) {
        if let Records::Text(text) = self {
            text.walker.look_at_rest(&text.window, cx);
        }
    }

    /// Takes bytes.
    pub fn feed(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        match self {
            Records::Text(text) => Ok(text.feed(bytes, cx)?),
            Records::Protobuf(protobuf) => protobuf.feed(bytes, cx),
        }
    }

    /// Ends the input.
    pub fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, Stop> {
        match self {
            Records::Text(text) => Ok(text.finish(cx)?),
            Records::Protobuf(protobuf) => protobuf.finish(cx),
        }
    }
}

/// A text being read.
pub(crate) struct Text {
    pub window: Window,
    pub walker: Walker,
}

impl Text {
    /// Returns a text from an offset on, which a walk is through; `window` is memory for it.
    pub fn new(mut window: Window, at: u64, mut walker: Walker, how: How) -> Text {
        window.reset(at);
        window.masks = if how.reference { Masks::Plain } else { how.masks };
        walker.reference = how.reference;
        Text { window, walker }
    }

    fn feed(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), SetFull> {
        for piece in bytes.chunks(PIECE) {
            let room = self.window.room(piece.len()).ok_or(SetFull)?;
            room.copy_from_slice(piece);
            self.commit(piece.len(), cx)?;
        }
        Ok(())
    }

    /// Takes so many bytes that were written into the room of the window.
    pub fn commit(&mut self, bytes: usize, cx: &mut Context<'_>) -> Result<(), SetFull> {
        self.window.commit(bytes);
        self.walker.run(&mut self.window, cx)?;
        self.window.forget(self.walker.keep_from());
        Ok(())
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, SetFull> {
        let end = self.walker.finish(&mut self.window, cx);
        cx.scratch.windows.push(std::mem::take(&mut self.window));
        end
    }
}
