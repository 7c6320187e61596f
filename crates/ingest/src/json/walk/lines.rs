//! Texts of many documents: one a line, or one after the other. A document that is damaged costs itself, and the walk goes
//! on with the next.
//!
//! What is damaged may swallow what follows: a line that was cut lacks brackets, and the lines after it seem to lie inside.
//! So wherever a bracket begins a line inside a document, the walk looks whether a document of its own begins there.

use super::{Expect, Frame, Step, Walker};
use crate::bytes::window::{Framed, MAX_STRING, Scan, Window};
use crate::context::Context;
use crate::report::ProblemKind;

/// The byte order mark of UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A look for the next line that begins a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resync {
    /// Offset of the bad syntax.
    pub at: u64,
    /// Whether it must be the very next line.
    pub is_strict: bool,
}

/// Whether a text begins with a byte order mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    None,
    Whole,
    /// More text is needed to tell.
    Begun,
}

/// Returns whether a text begins with a byte order mark; `is_all` says that no text follows it.
pub(crate) fn byte_order_mark(text: &[u8], is_all: bool) -> Mark {
    match text {
        _ if text.starts_with(BYTE_ORDER_MARK) => Mark::Whole,
        [0xef, ..] if !is_all && BYTE_ORDER_MARK.starts_with(text) => Mark::Begun,
        _ => Mark::None,
    }
}

/// Returns how many bytes of byte order mark a line has that begins like a document, or `None` if it begins otherwise;
/// `is_all` says that no text follows.
///
/// # Errors
/// [`Short`] if more text is needed to tell.
fn document_start(line: &[u8], is_all: bool) -> Result<Option<usize>, Short> {
    let marks = match byte_order_mark(line, is_all) {
        Mark::None => 0,
        Mark::Whole => BYTE_ORDER_MARK.len(),
        Mark::Begun => return Err(Short),
    };
    match line.get(marks) {
        Some(b'{' | b'[') => Ok(Some(marks)),
        None if !is_all => Err(Short),
        _ => Ok(None),
    }
}

/// More text is needed.
struct Short;

/// Returns the next byte that is no space, from `at` on; moves `at` there.
pub(crate) fn next_byte(window: &Window, at: &mut u64) -> Option<u8> {
    loop {
        match window.byte(*at)? {
            b' ' | b'\n' | b'\r' | b'\t' => *at += 1,
            byte => return Some(byte),
        }
    }
}

impl Walker {
    /// Moves to the next byte that is no space.
    pub(crate) fn skip_space(&mut self, window: &Window) -> Option<u8> {
        loop {
            match window.byte(self.pos)? {
                b'\n' => {
                    self.pass_line();
                    self.line = Some(self.pos + 1);
                }
                b' ' | b'\r' | b'\t' => {}
                byte => return Some(byte),
            }
            self.pos += 1;
        }
    }

    /// Takes note that the line that was entered last belongs to what is read.
    pub(crate) fn pass_line(&mut self) {
        if self.line.take().is_some() {
            self.one_line = self.frames.is_empty();
        }
    }

    /// Looks what stands where a line inside a document begins, before that is read. `None`: it belongs to the document.
    pub(super) fn begin_line(
        &mut self,
        frame: Frame,
        byte: u8,
        window: &mut Window,
        cx: &mut Context<'_>,
    ) -> Option<Step> {
        let line = self.line?;
        if line == self.pos && matches!(byte, b'{' | b'[') {
            let may_stand_here = frame.is_array() && self.expect != Some(Expect::Comma);
            let begins = match may_stand_here || self.documents <= 1 && !self.one_line {
                true => self.begins_document(line, window),
                false => Some(true),
            };
            match begins {
                None => return Some(Step::Starved),
                Some(true) => {
                    self.broken_line(line, cx);
                    return Some(Step::On);
                }
                Some(false) => {}
            }
        }
        self.pass_line();
        None
    }

    /// Returns whether a document of its own begins with the bracket at the beginning of this line, though it stands inside
    /// a document: the line is whole by itself, and another one that begins like a document follows, or nothing. In one
    /// document a comma or a bracket would follow. `None`: more text is needed to tell.
    pub(crate) fn begins_document(&mut self, line: u64, window: &mut Window) -> Option<bool> {
        if self.is_probe {
            return Some(false);
        }
        let from = line.max(self.looked);
        let end = match memchr::memchr(b'\n', window.rest(from)) {
            Some(newline) => from + newline as u64,
            None => window.end(),
        };
        if end - line > MAX_STRING {
            return Some(false);
        }
        if end == window.end() && !self.is_ended {
            self.looked = end;
            return None;
        }
        let text = window.text(line, end).trim_ascii_end();
        let (Some(&first), Some(b'}' | b']')) = (text.first(), text.last()) else { return Some(false) };
        let last = line + text.len() as u64;
        let after = window.rest(end);
        let space = after.len() - after.trim_ascii_start().len();
        // The byte before is a line break, or the text ends.
        let is_next = match after[space..].first() {
            None if !self.is_ended => return None,
            // A text that ends here may be a list that is cut off, with one element a line.
            None => self.documents > 1 || self.one_line,
            Some(_) => match document_start(&after[space..], self.is_ended) {
                Ok(start) => start.is_some() && after[..space].ends_with(b"\n"),
                Err(Short) => return None,
            },
        };
        let mut scan = Scan::new(line, first, 0);
        scan.unlimited();
        Some(is_next && window.frame(&mut scan) == Framed::Whole(last))
    }

    /// Handles a line that begins a document though the one before has not ended: that one was cut.
    pub(crate) fn broken_line(&mut self, line: u64, cx: &mut Context<'_>) {
        cx.sink.has_false_start |= line == self.start;
        self.leave(line - 1, "the line ends in the middle of a document", false, cx);
    }

    /// Handles bad syntax: in a text of several documents the line is left, else nothing after it is read.
    pub(crate) fn syntax_error(&mut self, at: u64, what: &str, cx: &mut Context<'_>) {
        let is_first = self.documents <= 1;
        self.leave(at, what, is_first, cx);
        if is_first && !self.one_line {
            self.resync = None;
            self.dead = Some(at);
        }
    }

    /// Takes note of bad syntax, gives up what is open, and looks for the next line.
    fn leave(&mut self, at: u64, what: &str, is_strict: bool, cx: &mut Context<'_>) {
        cx.sink.problems.note(ProblemKind::BadSyntax, at, || what.to_owned());
        if let Some(judge) = &mut cx.judge {
            judge.forget_from(self.first_of_line);
        }
        self.resync = Some(Resync { at, is_strict });
        self.frames.clear();
        self.line = None;
        self.unit = None;
        self.undecided = None;
        self.guess = false;
        cx.sink.building.begin(0);
        self.pos = at;
    }

    /// Looks for a line that begins like a document; in a first line that failed, only the very next counts.
    pub(super) fn find_line(&mut self, resync: Resync, window: &mut Window) -> Step {
        let rest = window.rest(self.pos);
        // What is wrong may be that a line begins here.
        if self.pos == resync.at && self.pos > self.document && window.begins_line(self.pos) {
            match document_start(rest, self.is_ended) {
                Ok(Some(marks)) => return self.begin_at(self.pos + marks as u64, window),
                Ok(None) => {}
                Err(Short) => return Step::Starved,
            }
        }
        for newline in memchr::memchr_iter(b'\n', rest) {
            let line = self.pos + newline as u64 + 1;
            match document_start(&rest[newline + 1..], self.is_ended) {
                Ok(Some(marks)) => return self.begin_at(line + marks as u64, window),
                Ok(None) => {
                    let is_blank = rest.get(newline + 1).is_none_or(u8::is_ascii_whitespace);
                    if resync.is_strict && !is_blank {
                        self.dead = Some(resync.at);
                        return Step::On;
                    }
                }
                Err(Short) => {
                    self.pos = line - 1;
                    return Step::Starved;
                }
            }
        }
        self.pos += rest.len() as u64;
        Step::Starved
    }

    /// Goes on with the document at an offset.
    fn begin_at(&mut self, at: u64, window: &mut Window) -> Step {
        window.restart(at);
        self.pos = at;
        self.first_of_line = at;
        self.resync = None;
        Step::On
    }
}
