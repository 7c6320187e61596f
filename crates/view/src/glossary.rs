//! The words of the page and what they mean, in the order that one explains the next; `docs/definitions` says it exactly.

/// A word and what it means.
pub const WORDS: [(&str, &str); 19] = [
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
        "Budget",
        "What the calls of an endpoint may take at a percentile once the requests reach their target.",
    ),
    ("Failing fast", "A call that takes too long is given up, and its caller goes on as if it had returned."),
    ("Aggregate trace", "The mean of traces of one shape: every span at its mean start and end."),
    (
        "Subspan",
        "A part of a span between the starts of two of its calls, before the first, or after the last.",
    ),
    ("Baseline", "What is taken for normal: other requests, or another set of traces."),
];

#[cfg(test)]
mod tests {
    use super::WORDS;

    #[test]
    fn each_word_is_explained_once_in_a_sentence() {
        for (at, (word, meaning)) in WORDS.iter().enumerate() {
            assert!(meaning.ends_with('.') && meaning.len() > 20, "{word}");
            assert!(WORDS[..at].iter().all(|(known, _)| known != word), "{word}");
        }
    }
}
