//! A file that grows while the page follows it: which part to ask for, and which part of an answer is new and whole.
//!
//! Other programs write such a file at their own pace, stop in the middle of a line, and now and then put another file in
//! its place. So only whole documents are taken, and with every question the last bytes that were taken are asked for once
//! more: another file has others there.

/// Bytes of what was taken last that are asked for again.
const MARK: u64 = 256;

/// What was taken of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The offset up to which it was taken.
    pub next: u64,
    /// The length of the file at the last look.
    pub seen: u64,
    /// The last bytes that were taken, at most [`MARK`].
    mark: Vec<u8>,
    /// Every line of it is a document.
    has_lines: bool,
}

/// Where the new part of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The bytes of the answer that must be those taken last, as from and to; empty if they need no comparison.
    pub mark: (u64, u64),
    /// The first new byte of the answer.
    pub new: u64,
    /// The offset in the file of the first byte of the answer.
    pub start: u64,
}

impl Placed {
    /// Returns whether no bytes need be compared.
    pub fn is_unmarked(&self) -> bool {
        self.mark.0 == self.mark.1
    }
}

/// The answer to a question for a part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Status of the answer.
    pub status: u16,
    /// Its `Content-Range`; may be empty.
    pub content_range: &'a str,
    /// Bytes of its body.
    pub bytes: u64,
}

impl Part<'_> {
    /// Returns the offset of the first byte and the length of the file, as far as the answer says them.
    fn range(&self) -> (Option<u64>, Option<u64>) {
        let range = self.content_range.trim_start_matches("bytes").trim_start();
        let Some((bytes, total)) = range.split_once('/') else { return (None, None) };
        (bytes.split('-').next().and_then(|start| start.parse().ok()), total.parse().ok())
    }
}

impl Taken {
    /// Returns the offset from which to ask.
    fn from(&self) -> u64 {
        self.next - self.mark.len() as u64
    }

    /// Returns the value of `Range` to ask with.
    pub fn range(&self) -> String {
        format!("bytes={}-", self.from())
    }

    /// Returns where the new part of a good answer is; `None` if the file is shorter than what was taken of it, so that it
    /// is another one.
    pub fn place(&self, part: Part<'_>) -> Option<Placed> {
        if part.status == 416 {
            return (self.next == 0).then_some(Placed { mark: (0, 0), new: 0, start: 0 });
        }
        // Without ranges all of it comes.
        let start = if part.status == 206 { part.range().0.unwrap_or(self.from()) } else { 0 };
        if start > self.from() {
            // A stream whose oldest part is gone.
            let new = self.next.saturating_sub(start).min(part.bytes);
            return Some(Placed { mark: (0, 0), new, start });
        }
        let new = self.next - start;
        (new <= part.bytes).then_some(Placed { mark: (self.from() - start, new), new, start })
    }

    /// Returns whether bytes are those that were taken last.
    pub fn is_same(&self, mark: &[u8]) -> bool {
        mark == self.mark
    }

    /// Returns the bytes of an answer that become the mark once `taken` of its new bytes are taken, as from and to.
    pub fn next_mark(&self, placed: Placed, taken: u64) -> (u64, u64) {
        let to = placed.new + taken;
        (to.saturating_sub(MARK), to)
    }

    /// Returns how many new bytes of an answer may be taken, of which `documents` has seen all. Where they hold no end of
    /// a document, that is nothing, and the next look asks for them again.
    pub fn whole(&mut self, placed: Placed, part: Part<'_>, documents: &Documents) -> u64 {
        let is_still = placed.start + part.bytes == self.seen;
        self.has_lines |= documents.has_lines || is_still && documents.has_whole_line;
        documents.whole(self.has_lines)
    }

    /// Notes that `taken` new bytes of an answer were taken; `mark` is what [`Taken::next_mark`] names. Returns whether
    /// there is more to ask for at once.
    pub fn take(&mut self, placed: Placed, part: Part<'_>, taken: u64, mark: Vec<u8>) -> bool {
        let end = placed.start + part.bytes;
        let has_more = part.range().1.is_some_and(|total| end < total);
        let only_mark = has_more && placed.new == part.bytes && !self.mark.is_empty();
        self.next = placed.start + placed.new + taken;
        self.seen = end;
        // Where nothing but the mark fitted into the answer, the next one has to do without.
        self.mark = if only_mark { Vec::new() } else { mark };
        only_mark || has_more && taken > 0
    }
}

/// How a file that grows may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growing {
    /// Packed: at any place, since nobody sees where documents end.
    Packed,
    /// JSON: after a whole document.
    Json,
    /// Anything else: nowhere, until it no longer grows.
    Other,
}

impl Growing {
    /// Returns how a file may be cut whose new part begins with these bytes.
    pub fn of(head: &[u8]) -> Growing {
        if head.starts_with(&[0x1f, 0x8b]) {
            return Growing::Packed;
        }
        let text = head.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(head);
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            // Only white space came.
            None | Some(b'{' | b'[') => Growing::Json,
            Some(_) => Growing::Other,
        }
    }
}

/// Nesting of JSON, as far as it was read.
#[derive(Clone, Copy, Debug, Default)]
struct Nesting {
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// A document has ended, and nothing but white space has come since.
    is_closed: bool,
}

impl Nesting {
    fn step(&mut self, byte: u8) {
        if self.in_string {
            let ends = byte == b'"' && !self.escaped;
            self.escaped = byte == b'\\' && !self.escaped;
            self.in_string = !ends;
            return;
        }
        match byte {
            b'"' => (self.in_string, self.is_closed) = (true, false),
            b'{' | b'[' => (self.depth, self.is_closed) = (self.depth + 1, false),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.is_closed = self.depth == 0;
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.is_closed = false,
        }
    }
}

/// Looks for the ends of documents in the new bytes of a file. The work is proportional to them.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    at: u64,
    /// Nesting since the first byte, and since the beginning of the line: one damaged line makes the first useless.
    all: Nesting,
    line: Nesting,
    /// The line begins with a bracket, and the first byte of it is the first of a document.
    begins_document: bool,
    is_bracket: bool,
    line_start: u64,
    /// Ends of the last line, and of the last document.
    line_end: u64,
    document_end: u64,
    /// A line was a document, between documents.
    has_lines: bool,
    /// A line was a document by itself.
    has_whole_line: bool,
}

impl Documents {
    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.at == self.line_start {
                self.is_bracket = matches!(byte, b'{' | b'[');
                self.begins_document = self.is_bracket && self.all.depth == 0 && !self.all.in_string;
                self.line = Nesting::default();
            }
            self.at += 1;
            self.all.step(byte);
            self.line.step(byte);
            if self.all.is_closed && matches!(byte, b'}' | b']') {
                self.document_end = self.at;
            }
            if byte == b'\n' {
                // Of a text of many lines the last may look like a document, and so may the only one.
                self.has_whole_line |= self.is_whole_line();
                self.has_lines |= self.is_whole_line() && self.begins_document;
                (self.line_start, self.line_end) = (self.at, self.at);
            }
        }
    }

    fn is_whole_line(&self) -> bool {
        self.is_bracket && self.line.is_closed
    }

    /// Returns how many of the bytes are whole documents.
    fn whole(&self, has_lines: bool) -> u64 {
        match has_lines {
            true if self.at > self.line_start && self.is_whole_line() => self.at,
            true => self.line_end,
            false => self.document_end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file on a server, and the page that follows it.
    struct Follower {
        taken: Taken,
        came: Vec<u8>,
        replaced: usize,
    }

    impl Follower {
        fn new() -> Follower {
            Follower { taken: Taken::default(), came: Vec::new(), replaced: 0 }
        }

        /// Looks at a file as `src/fetch.rs` does, on a server that gives ranges of at most so many bytes, or none.
        fn look(&mut self, file: &[u8], most: Option<usize>) {
            loop {
                let from: usize =
                    self.taken.range().trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap();
                let (status, body, range) = match most {
                    None => (200, file, String::new()),
                    Some(_) if from >= file.len() => (416, &file[..0], format!("bytes */{}", file.len())),
                    Some(most) => {
                        let to = file.len().min(from.saturating_add(most));
                        (206, &file[from..to], format!("bytes {from}-{}/{}", to - 1, file.len()))
                    }
                };
                let part = Part { status, content_range: &range, bytes: body.len() as u64 };
                let at = |(from, to): (u64, u64)| &body[from as usize..to as usize];
                let placed = self
                    .taken
                    .place(part)
                    .filter(|placed| placed.is_unmarked() || self.taken.is_same(at(placed.mark)));
                let Some(placed) = placed else {
                    self.replaced += 1;
                    self.taken = Taken::default();
                    continue;
                };
                let new = at((placed.new, part.bytes));
                let mut taken = part.bytes - placed.new;
                if Growing::of(new) == Growing::Json {
                    let mut documents = Documents::default();
                    new.chunks(5).for_each(|chunk| documents.feed(chunk));
                    taken = self.taken.whole(placed, part, &documents);
                }
                self.came.extend_from_slice(&new[..taken as usize]);
                let mark = at(self.taken.next_mark(placed, taken)).to_vec();
                let has_more = self.taken.take(placed, part, taken, mark);
                if !has_more {
                    return;
                }
            }
        }
    }

    fn lines(name: &str, count: usize) -> Vec<u8> {
        (0..count)
            .flat_map(|at| format!("{{\"{name}\":{at},\"pad\":\"{}\"}}\n", "x".repeat(at)).into_bytes())
            .collect()
    }

    #[test]
    fn lines_are_taken_whole_whatever_pauses_their_writer_makes() {
        let file = lines("a", 40);
        for most in [None, Some(usize::MAX), Some(700)] {
            for step in [1, 7, 40, 300, file.len()] {
                let mut follower = Follower::new();
                for to in (0..file.len()).step_by(step).chain([file.len()]) {
                    // A long pause: it is looked at three times.
                    (0..3).for_each(|_| follower.look(&file[..to], most));
                    let came = &follower.came;
                    assert!(
                        file.starts_with(came) && came.last().is_none_or(|&end| end == b'\n' || end == b'}')
                    );
                }
                // The last line break may be left, where its line was a document before it.
                assert!(follower.came.len() + 1 >= file.len() && follower.replaced == 0, "{most:?} {step}");
            }
        }
    }

    #[test]
    fn a_document_of_many_lines_is_taken_once_it_is_whole() {
        let file = b"{\n \"data\": [\n {\"x\": 1},\n {\"x\": 2}\n ]\n}";
        let mut follower = Follower::new();
        for to in [0, 10, 20, 27, 37] {
            (0..3).for_each(|_| follower.look(&file[..to], Some(1000)));
            assert!(follower.came.is_empty(), "{to}");
        }
        follower.look(file, Some(1000));
        assert_eq!(follower.came, file);
        // What follows it goes on from there.
        let more = [&file[..], b"\n{\n}"].concat();
        follower.look(&more[..40], Some(1000));
        follower.look(&more, Some(1000));
        assert_eq!(follower.came, more);
    }

    #[test]
    fn a_line_that_was_cut_holds_up_no_other() {
        for at in 0..3 {
            let mut file: Vec<Vec<u8>> =
                (0..6).map(|line| format!("{{\"a\":[{line}]}}\n").into_bytes()).collect();
            file[at] = b"{\"a\":[\"\n".to_vec();
            let file = file.concat();
            let mut follower = Follower::new();
            for to in 0..=file.len() {
                (0..2).for_each(|_| follower.look(&file[..to], Some(1000)));
                assert!(file.starts_with(&follower.came));
            }
            follower.look(&file, Some(1000));
            assert_eq!(follower.came.len(), file.len(), "{at}");
        }
    }

    #[test]
    fn a_file_in_the_place_of_another_is_read_from_its_beginning() {
        let (old, mut shorter) = (lines("a", 40), lines("b", 3));
        let (mut longer, mut same) = (lines("b", 80), lines("a", 40));
        same.reverse();
        same.insert(0, b'{');
        same.pop();
        for new in [&mut shorter, &mut longer, &mut same] {
            for most in [None, Some(usize::MAX)] {
                let mut follower = Follower::new();
                follower.look(&old, most);
                follower.came.clear();
                (0..3).for_each(|_| follower.look(new, most));
                assert_eq!(follower.replaced, 1, "{} {most:?}", new.len());
                assert!(!follower.came.is_empty() && new.starts_with(&follower.came));
            }
        }
        // An empty one, of which the rest is still to come.
        let mut follower = Follower::new();
        follower.look(&old, Some(usize::MAX));
        follower.came.clear();
        follower.look(b"", Some(usize::MAX));
        follower.look(&longer, Some(usize::MAX));
        assert_eq!((follower.came, follower.replaced), (longer, 1));
    }

    #[test]
    fn a_stream_that_gives_no_more_than_the_mark_is_asked_without_it() {
        let file = [&[0x1f, 0x8b][..], &[7; 5000]].concat();
        let mut follower = Follower::new();
        follower.look(&file[..3000], Some(256));
        follower.look(&file, Some(256));
        assert_eq!((follower.came, follower.replaced), (file, 0));
    }

    #[test]
    fn what_is_no_longer_kept_is_passed_over() {
        let taken = Taken { next: 500, seen: 500, mark: vec![1; 256], has_lines: true };
        let part = Part { status: 206, content_range: "bytes 800-899/900", bytes: 100 };
        assert_eq!(taken.place(part), Some(Placed { mark: (0, 0), new: 0, start: 800 }));
        let part = Part { status: 206, content_range: "bytes 480-899/900", bytes: 420 };
        assert_eq!(taken.place(part), Some(Placed { mark: (0, 0), new: 20, start: 480 }));
    }
}
