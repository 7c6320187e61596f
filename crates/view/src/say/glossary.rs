//! The words of the page and what they mean, in the order that one explains the next; `docs/definitions` says it exactly.

use std::ops::Range;

/// A word and what it means.
pub const WORDS: [(&str, &str); 22] = [
    ("Span", "A named piece of work with a start and a duration. A trace is the spans of one trace id."),
    ("Endpoint", "A service together with an operation."),
    ("Request", "One root span and all below it. Its latency is the duration of the root span."),
    (
        "Percentile range",
        "The requests between two percentiles of latency: P95\u{2013}99 is the slow tail but for the slowest hundredth.",
    ),
    ("p95", "95 of 100 values are at most this large."),
    (
        "Critical path",
        "What the end of a request waits for at each moment. Shortening anything else makes it no faster.",
    ),
    ("Self time", "Time on the critical path in a span itself, not in what it calls."),
    ("Total time", "Self time together with that of all it calls."),
    ("Calling context", "An endpoint with its callers up to the root: a frame of the flame graph."),
    (
        "Per request",
        "Summed over the selected requests and divided by all of them, with those that lack the endpoint.",
    ),
    ("When present", "Over the requests only in which the endpoint is on the critical path."),
    ("Drag", "How much earlier the request would end without the span and all below it."),
    ("Slack", "How much longer the span may take before the request ends later."),
    ("What-if", "The latency the requests would have with a change, by the flows learned from them."),
    (
        "Own work",
        "The self time of an endpoint in a what-if, wherever it is called: all of it, on the critical path or not. What it calls takes what it took.",
    ),
    ("Whole call", "The total time of a call in a what-if: its own work and all that happens below it."),
    (
        "Budget",
        "What the calls of an endpoint may take at a percentile once the requests reach their target.",
    ),
    ("Failing fast", "A call that takes too long is given up, and its caller goes on as if it had returned."),
    ("Aggregate trace", "The mean of traces of one shape: every span at its mean start and end."),
    (
        "Subspan",
        "A part of a span between the starts of two of its calls, before the first, or after the last.",
    ),
    (
        "Own time",
        "What a span does before, between and after its calls, also while one still runs: all its subspans. Diagnosis only.",
    ),
    ("Baseline", "What is taken for normal: other requests, or another set of traces."),
];

/// Short forms that titles have of some words, in lower case, each with its word.
const SHORT: [(&str, &str); 2] = [("self", "Self time"), ("total", "Total time")];

/// Returns the words that stand in a title, each where it first stands: bytes of the title, and the place in [`WORDS`].
pub fn terms(title: &str) -> Vec<(Range<usize>, usize)> {
    let lower = title.to_ascii_lowercase();
    let names = WORDS.iter().map(|(word, _)| (*word, *word)).chain(SHORT);
    let mut found: Vec<(Range<usize>, usize)> = Vec::new();
    // The longer ones first: "per request" is no "request".
    for is_long in [true, false] {
        for (name, word) in names.clone().filter(|(name, _)| name.contains(' ') == is_long) {
            let place = WORDS.iter().position(|(known, _)| *known == word).unwrap_or_default();
            for (start, name) in lower.match_indices(&name.to_ascii_lowercase()) {
                let end = start + name.len();
                let end = end + usize::from(lower[end..].starts_with('s'));
                let is_apart = |(range, known): &(Range<usize>, usize)| {
                    *known != place && (range.end <= start || end <= range.start)
                };
                if is_edge(lower[..start].chars().next_back())
                    && is_edge(lower[end..].chars().next())
                    && found.iter().all(is_apart)
                {
                    found.push((start..end, place));
                }
            }
        }
    }
    found.sort_by_key(|(range, _)| range.start);
    found
}

/// Returns whether a word may end beside this: in `GET /request` there is none.
fn is_edge(beside: Option<char>) -> bool {
    beside.is_none_or(|letter| !letter.is_alphanumeric() && !"/_-.".contains(letter))
}

/// Returns the id of what explains a word in the help.
pub fn id(word: &str) -> String {
    format!("word-{}", word.to_ascii_lowercase().replace(' ', "-"))
}

#[cfg(test)]
mod tests {
    use super::{WORDS, id, terms};

    #[test]
    fn words_are_found_in_titles_where_they_first_stand() {
        let found = |title| -> Vec<(&str, &str)> {
            terms(title).into_iter().map(|(range, at)| (&title[range], WORDS[at].0)).collect()
        };
        assert_eq!(found("Self p95"), [("Self", "Self time"), ("p95", "p95")]);
        assert_eq!(
            found("Self time per request"),
            [("Self time", "Self time"), ("per request", "Per request")]
        );
        assert_eq!(found("Share of latency, total"), [("total", "Total time")]);
        assert_eq!(
            found("All requests: mean critical path 5 ms per request"),
            [("requests", "Request"), ("critical path", "Critical path"), ("per request", "Per request")]
        );
        assert_eq!(found("Requests of requests"), [("Requests", "Request")]);
        // Names of services and operations are none, and other letters stay whole.
        assert_eq!(found("GET /request of total-span, \u{130}p50"), []);
        for (word, _) in WORDS {
            assert_eq!(found(word).first(), Some(&(word, word)));
            assert!(!id(word).contains(' '), "{word}");
        }
    }

    #[test]
    fn each_word_is_explained_once_in_a_sentence() {
        for (at, (word, meaning)) in WORDS.iter().enumerate() {
            assert!(meaning.ends_with('.') && meaning.len() > 20, "{word}");
            assert!(WORDS[..at].iter().all(|(known, _)| known != word), "{word}");
        }
    }
}
