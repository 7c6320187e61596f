//! The search for split points in one large file.
//!
//! The search says which bytes it wants to see next ([`SplitSearch::wanted`]), and its caller, who can read the file, shows
//! them ([`SplitSearch::show`]), until nothing more is wanted. First comes the head of the file, from which a
//! [`SplitFinder`] learns how traces are wrapped; then, from each of the given places on, some bytes in which the next trace
//! is looked for. If none begins there, the reader before that place reads on: a trace is read by one reader.
//!
//! Of a packed file only the head and the end are looked at: whether there are traces in it, and how long its text is. Where
//! they can be split its readers find out, who unpack it.

use flate2::read::GzDecoder;
use pathlight_ingest::{FIRST_LOOK_BYTES, HEAD_BYTES, SEARCH_BYTES, SplitFinder, SplitPoint};
use std::collections::VecDeque;
use std::io::Read as _;
use std::ops::Range;

/// A packed text has at least so many times the bytes of the file: else the length at its end says nothing, as where there
/// are several members.
const UNPACKED_TIMES: u64 = 2;

/// A search for split points; see the module.
#[derive(Debug)]
pub struct SplitSearch {
    /// Known once the head was shown.
    finder: Option<SplitFinder>,
    /// Byte offsets from which to look; the first one is being looked from.
    places: VecDeque<u64>,
    found: Vec<SplitPoint>,
    /// No trace begins for long after the last place: the next one is probably inside the same trace, where looking further
    /// costs more than chunks save.
    is_in_large: bool,
    wanted: Option<Range<u64>>,
    /// Size of a packed file.
    packed: Option<u64>,
}

impl SplitSearch {
    /// Starts a search for one split point after each of these byte offsets, which are in ascending order. `packed` is the size
    /// of the file if it is packed.
    pub fn new(places: Vec<u64>, packed: Option<u64>) -> SplitSearch {
        let wanted = (!places.is_empty()).then_some(0..HEAD_BYTES);
        let places = places.into();
        SplitSearch { finder: None, places, found: Vec::new(), is_in_large: false, wanted, packed }
    }

    /// Returns what the search will want to see if every place has a split point near, in that order; so it can be read
    /// at once.
    pub fn first_looks(&self) -> Vec<Range<u64>> {
        let looks: Vec<Range<u64>> = match self.packed {
            None => self.places.iter().map(|&place| first_look(place)).collect(),
            Some(bytes) => vec![length_at_end(bytes)],
        };
        self.wanted.iter().cloned().chain(looks).collect()
    }

    /// Returns the byte offsets of the file between which the search wants to see the bytes, or `None` when it has ended.
    /// The end may lie beyond that of the file.
    pub fn wanted(&self) -> Option<Range<u64>> {
        self.wanted.clone()
    }

    /// Shows the bytes that were wanted, as many as the file has.
    pub fn show(&mut self, bytes: &[u8]) {
        let Some(shown) = self.wanted.take() else { return };
        if let Some(packed) = self.packed {
            return self.show_packed(bytes, shown, packed);
        }
        let finder = match &self.finder {
            Some(finder) => finder,
            None => {
                self.finder = SplitFinder::of(bytes);
                return self.look_on();
            }
        };
        let is_first_look = shown.end - shown.start < SEARCH_BYTES;
        match finder.find(bytes, shown.start) {
            Some(point) => {
                self.places.retain(|&place| place > point.at);
                self.is_in_large = false;
                self.found.push(point);
                self.look_on();
            }
            None if is_first_look && !self.is_in_large => {
                self.wanted = Some(shown.start..shown.start + SEARCH_BYTES);
            }
            None => {
                self.places.pop_front();
                self.is_in_large = true;
                self.look_on();
            }
        }
    }

    /// Ends the search; returns the split points found, in ascending order. Without any the file is read in one piece.
    pub fn finish(self) -> Vec<SplitPoint> {
        self.found
    }

    /// Takes the head of a packed file, or the length of its text, which stands in the last four bytes modulo 2^32.
    fn show_packed(&mut self, bytes: &[u8], shown: Range<u64>, packed: u64) {
        if shown.start == 0 {
            let mut head = Vec::new();
            // The bytes end somewhere in the middle.
            let _ = GzDecoder::new(bytes).take(HEAD_BYTES).read_to_end(&mut head);
            self.finder = SplitFinder::of(&head);
            self.wanted = self.finder.is_some().then(|| length_at_end(packed));
            return;
        }
        let (Some(&length), Some(finder)) = (bytes.as_array::<4>(), &self.finder) else { return };
        let text = u64::from(u32::from_le_bytes(length));
        if text >= UNPACKED_TIMES * packed {
            let in_text = |place: u64| (u128::from(text) * u128::from(place) / u128::from(packed)) as u64;
            self.found.extend(self.places.drain(..).map(|at| SplitPoint::in_packed(at, in_text(at), finder)));
        }
    }

    fn look_on(&mut self) {
        let next = self.places.front().filter(|_| self.finder.is_some());
        self.wanted = next.map(|&place| first_look(place));
    }
}

fn length_at_end(packed: u64) -> Range<u64> {
    packed.saturating_sub(4)..packed
}

fn first_look(place: u64) -> Range<u64> {
    place..place + FIRST_LOOK_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search over a text; returns the offsets found and how many bytes were shown.
    fn search(text: &[u8], places: &[u64]) -> (Vec<u64>, u64) {
        let (mut search, mut shown) = (SplitSearch::new(places.to_vec(), None), 0);
        while let Some(wanted) = search.wanted() {
            let end = text.len().min(wanted.end as usize);
            let bytes = &text[(wanted.start as usize).min(end)..end];
            shown += bytes.len() as u64;
            search.show(bytes);
        }
        (search.finish().iter().map(|point| point.at).collect(), shown)
    }

    fn trace(id: u32, padding: usize) -> String {
        format!(
            r#"{{"traceID":"{id}","spans":[{{"traceID":"{id}","spanID":"1","operationName":"{}","references":[],"startTime":1,"duration":1,"tags":[],"logs":[],"processID":"p"}}],"processes":{{}}}}"#,
            "x".repeat(padding)
        )
    }

    #[test]
    fn one_split_point_is_found_after_each_place() {
        let text = format!("[{}]", (0..50).map(|id| trace(id, 100)).collect::<Vec<_>>().join(","));
        let third = text.len() as u64 / 3;
        let (found, _) = search(text.as_bytes(), &[third, 2 * third]);
        assert_eq!(found.len(), 2);
        for (at, from) in found.iter().zip([third, 2 * third]) {
            assert!((from..from + 500).contains(at), "{at} is not right after {from}");
            assert!(text[*at as usize..].starts_with("{\"traceID\""));
        }
        // All that was wanted had been reported before.
        let mut all = SplitSearch::new(vec![third, 2 * third], None);
        let looks = all.first_looks();
        let mut wanted = Vec::new();
        while let Some(range) = all.wanted() {
            all.show(
                &text.as_bytes()[text.len().min(range.start as usize)..text.len().min(range.end as usize)],
            );
            wanted.push(range);
        }
        assert_eq!(wanted, looks);
        assert!(SplitSearch::new(vec![], None).first_looks().is_empty());
        // Two places before one split point give that one once.
        let (found, _) = search(text.as_bytes(), &[third, third + 1, 2 * third]);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_trace_that_goes_on_is_never_split_and_what_follows_it_is() {
        let span = |id: u32| {
            format!(
                r#"{{"traceID":"9","spanID":"{id:x}","operationName":"","startTime":1,"duration":1,"processID":"p"}}"#
            )
        };
        let spans: Vec<String> = (1..120_000).map(span).collect();
        let huge = format!(r#"{{"traceID":"9","spans":[{}],"processes":{{}}}}"#, spans.join(","));
        assert!(huge.len() as u64 > SEARCH_BYTES);
        let alone = format!("[{huge}]");
        assert!(search(alone.as_bytes(), &[1 << 20, 2 << 20, 3 << 20]).0.is_empty());
        let text = format!("[{},{huge},{},{}]", trace(1, 10), trace(3, 10), trace(4, 10));
        let places = [1 << 10, 1 << 20, 2 << 20, huge.len() as u64, text.len() as u64 - 200];
        let (found, _) = search(text.as_bytes(), &places);
        let begins: Vec<&str> = found.iter().map(|&at| &text[at as usize..][..13]).collect();
        assert_eq!(begins, [r#"{"traceID":"3"#, r#"{"traceID":"4"#]);
    }

    #[test]
    fn what_is_no_text_of_traces_is_given_up_after_its_head() {
        let text = vec![b'x'; 3 << 20];
        assert_eq!(search(&text, &[1 << 20, 2 << 20]), (vec![], HEAD_BYTES));
        assert_eq!(search(&text, &[]), (vec![], 0));
    }

    #[test]
    fn a_large_trace_is_looked_through_further_but_a_very_large_one_only_once() {
        let traces = [trace(1, 10), trace(2, 1 << 20), trace(3, 10), trace(4, 30 << 20), trace(5, 10)];
        let text = format!("[{}]", traces.join(","));
        let places = [1000, 2 << 20, 4 << 20, 12 << 20, 20 << 20, text.len() as u64 - 300];
        let (found, shown) = search(text.as_bytes(), &places);
        let begins: Vec<&str> = found.iter().map(|&at| &text[at as usize..][..13]).collect();
        assert_eq!(begins, [r#"{"traceID":"3"#, r#"{"traceID":"5"#]);
        // Once each through what is left of the second and the fourth trace; else a first look from every place.
        assert!(shown <= HEAD_BYTES + 2 * SEARCH_BYTES + places.len() as u64 * FIRST_LOOK_BYTES, "{shown}");
    }
}
