//! What the rules for real traces did, in words: for the notes of the page and for `inspect`.

use pathlight_model::trace::{Found, ReadingCounts, Rule};
use pathlight_text::format::{count, counted, duration_us};

/// What was found, and what it means for the numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadingNote {
    /// A key, the same in every build.
    pub key: &'static str,
    /// How many.
    pub count: u64,
    /// Of what.
    pub what: &'static str,
    /// What was done about it.
    pub meaning: String,
    /// Canonical id of a trace to look at; empty where there is no single one.
    pub example: String,
}

/// Clocks named one by one.
const CLOCKS_NAMED: usize = 5;

/// Returns a note for all that was found, in the order of the rules; clocks that are wrong come last.
pub fn notes(counts: &ReadingCounts) -> Vec<ReadingNote> {
    let mut notes: Vec<ReadingNote> = (counts.found.iter())
        .map(|(&found, of)| {
            let (what, meaning) = words(found);
            ReadingNote {
                key: found.key(),
                count: of.spans,
                what,
                meaning: meaning.to_owned(),
                example: of.example.clone(),
            }
        })
        .collect();
    let wrong: Vec<_> = counts.clocks.iter().filter(|(_, clock)| clock.is_fault()).collect();
    if !wrong.is_empty() {
        let mut named: Vec<String> = (wrong.iter().take(CLOCKS_NAMED))
            .map(|((caller, callee), clock)| {
                // A callee moved earlier has a clock that is ahead.
                let side = if clock.median_us() < 0 { "ahead of" } else { "behind" };
                let off = duration_us(clock.median_us().unsigned_abs());
                format!("{callee} is {off} {side} {caller} in {}", counted(clock.traces, "trace"))
            })
            .collect();
        if wrong.len() > CLOCKS_NAMED {
            named.push(format!("and {} more", count((wrong.len() - CLOCKS_NAMED) as u64)));
        }
        notes.push(ReadingNote {
            key: "wrong-clocks",
            count: wrong.len() as u64,
            what: "pairs of processes whose clocks differ",
            meaning: named.join("; ") + ".",
            example: String::new(),
        });
    }
    notes
}

fn words(found: Found) -> (&'static str, &'static str) {
    match found {
        Found::Overlay => (
            "spans that cover the calls beside them",
            "A second span for the same work: the critical path goes through the calls. Local work that runs beside calls \
             for as long as they take is hidden with them.",
        ),
        Found::Callees => (
            "calls that are named with what they call",
            "Their own name says too little: the same span name calls several services or operations. Where the callee was \
             not recorded, it is named by tags.",
        ),
        Found::Templates => (
            "spans with values in their names",
            "More than 100 names that differ in a number, an id or an address count as one.",
        ),
        Found::NobodyWaits => (
            "spans that outlive their parent in the same process",
            "Nobody waits for them: they are taken as asynchronous.",
        ),
        Found::Clocks => (
            "spans of processes whose clock was set",
            "Callees that lay outside their call are moved into it, with all below them.",
        ),
        Found::GaveUp => ("callees that began after their caller gave up", "They are taken as asynchronous."),
        Found::StoppedWaiting => (
            "callees that go on after their caller stopped waiting",
            "What a timeout looks like. They are cut at the end of the call.",
        ),
    }
}

/// Returns what a rule does, for a switch.
pub fn rule_words(rule: Rule) -> &'static str {
    match rule {
        Rule::Overlay => "Skip spans that only cover the calls beside them",
        Rule::Callees => "Name calls by what they call where the name says too little",
        Rule::Templates => "Take names that differ in values only as one",
        Rule::NobodyWaits => "Wait for nothing that outlives its parent in one process",
        Rule::Clocks => "Set clocks that differ between processes",
        Rule::Roots => "Take roots beside the first one of a trace as requests of their own",
    }
}
