//! Matching of a search with a span or a request.
//!
//! On a span a condition is about the span and its process. On a request it is about all its spans: one of them has the
//! tag or the name; with `-` none has. A filter asks the second.

use super::{Condition, SERVICE, SpanSearch};
use pathlight_trace::{TagSetId, TraceSet, number};

/// A condition, looked up in one set of traces; lists of what it is not about are empty.
struct Test {
    /// By endpoint: whether its name holds the word, or its service is meant.
    named: Vec<bool>,
    /// By tag set: whether it has the tag.
    tagged: Vec<bool>,
}

impl Test {
    /// Creates the test of a condition; `None` where nobody knows: the key has so many values that not all of them were
    /// stored.
    fn new(set: &TraceSet, condition: &Condition) -> Option<Test> {
        Some(match condition {
            Condition::Word(word) => {
                let word = word.to_lowercase();
                let holds = |(service, operation): (&str, &str)| {
                    format!("{operation} @ {service}").to_lowercase().contains(&word)
                };
                Test { named: set.endpoints().map(holds).collect(), tagged: Vec::new() }
            }
            Condition::Tag { key, value } => {
                let is_meant = |service: &str| value.as_deref().is_none_or(|value| value == service);
                let named: Vec<bool> = match key.as_str() {
                    SERVICE => set.endpoints().map(|(service, _)| is_meant(service)).collect(),
                    _ => Vec::new(),
                };
                if set.tags.has_too_many_values(key) {
                    return Some(Test { named, tagged: Vec::new() }).filter(|test| !test.named.is_empty());
                }
                let has = |tags| match value {
                    Some(value) => set.tags.contains(tags, key, value),
                    None => set.tags.value(tags, key).is_some(),
                };
                Test { named, tagged: (0..set.tags.sets() as u32).map(|tags| has(TagSetId(tags))).collect() }
            }
            Condition::Compare { key, is, number: other } => {
                let other = number(other)?;
                let holds = |number: Option<f64>| number.is_some_and(|number| is.holds(number, other));
                Test { named: Vec::new(), tagged: set.tags.numbers(key)?.into_iter().map(holds).collect() }
            }
        })
    }

    /// Returns whether it holds for a row of the set.
    fn holds(&self, set: &TraceSet, row: u32) -> bool {
        let is_in = |list: &[bool], at: u32| list.get(at as usize).copied().unwrap_or(false);
        is_in(&self.named, set.endpoint(row).0)
            || is_in(&self.named, set.recorded_endpoint(row).0)
            || is_in(&self.tagged, set.tag_set(row).0)
            || is_in(&self.tagged, set.process_of(row).tags.0)
    }
}

/// A search, looked up in one set of traces.
pub(crate) struct SpanTests {
    /// As in the search, without those that nobody can tell of: whether it is negated, and the test.
    alternatives: Vec<Vec<(bool, Test)>>,
}

impl SpanTests {
    /// Looks up the names and tags of a search in a set and returns the tests of its spans.
    pub(crate) fn new(set: &TraceSet, search: &SpanSearch) -> SpanTests {
        let terms = |terms: &Vec<super::Term>| {
            terms.iter().map(|term| Some((term.negated, Test::new(set, &term.condition)?))).collect()
        };
        SpanTests { alternatives: search.alternatives.iter().filter_map(terms).collect() }
    }

    /// Returns whether a span is found.
    pub(crate) fn finds(&self, set: &TraceSet, row: u32) -> bool {
        let all = |terms: &Vec<(bool, Test)>| terms.iter().all(|(not, test)| test.holds(set, row) != *not);
        self.alternatives.iter().any(all)
    }
}

/// The same search about a request, whose spans are shown one after the other.
pub(crate) struct RequestSearch {
    /// For every test, whether a span met it.
    met: Vec<bool>,
}

impl RequestSearch {
    /// Returns a request of which nothing is known yet.
    pub(crate) fn new(tests: &SpanTests) -> RequestSearch {
        RequestSearch { met: vec![false; tests.alternatives.iter().map(Vec::len).sum()] }
    }

    /// Takes note of a span.
    pub(crate) fn observe(&mut self, tests: &SpanTests, set: &TraceSet, row: u32) {
        for ((_, test), met) in tests.alternatives.iter().flatten().zip(&mut self.met) {
            *met = *met || test.holds(set, row);
        }
    }

    /// Returns whether the request is found, all its spans being known.
    pub(crate) fn is_found(&self, tests: &SpanTests) -> bool {
        let mut met = self.met.iter();
        tests.alternatives.iter().any(|terms| {
            // All of them are taken, so that those of the next alternative follow.
            let missing = terms.iter().zip(met.by_ref()).filter(|((not, _), met)| **met == *not).count();
            missing == 0
        })
    }
}

/// Returns the indices within a trace of the spans that are found, ascending.
pub fn found_spans(set: &TraceSet, trace: u32, search: &SpanSearch) -> Vec<u32> {
    let tests = SpanTests::new(set, search);
    let rows = set.traces()[trace as usize];
    (rows.first..rows.end).filter(|&row| tests.finds(set, row)).map(|row| row - rows.first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_trace::{RawSpan, SpanId, TraceId};

    #[test]
    fn a_tag_with_too_many_values_is_neither_there_nor_missing() {
        let mut set = TraceSet::new();
        for id in 1..=5000 {
            set.tags.begin();
            set.tags.add("id", &id.to_string());
            set.tags.add("zone", "eu");
            set.tags.add("gen_ai.usage.input_tokens", &id.to_string());
            let raw = RawSpan {
                id: SpanId::hex(id),
                parent: SpanId::hex(u64::from(id > 1)),
                start_us: 1000,
                duration_us: 100,
                operation: set.names.intern("op"),
                tags: set.tags.finish(),
                process: set.process("service", "", TagSetId::EMPTY),
                flags: Default::default(),
            };
            set.stage(TraceId::hex(1), raw).unwrap();
        }
        set.seal().unwrap();
        let found = |text: &str| found_spans(&set, 0, &SpanSearch::parse(text)).len();
        for text in ["id=", "-id=", "id=1", "-id=1", "zone=eu -id=1"] {
            assert_eq!(found(text), 0, "{text}");
        }
        assert_eq!((found("zone="), found("zone=eu OR id=1")), (5000, 5000));
        // Of tokens the numbers are known, with three digits: 4995 and more are 5000.
        let tokens = |text: &str| found(&format!("gen_ai.usage.input_tokens{text}"));
        assert_eq!(
            (found("id>5"), found("-id>5"), tokens(">4990"), tokens("<=10"), tokens(">=5001")),
            (0, 0, 6, 10, 0)
        );
    }
}
