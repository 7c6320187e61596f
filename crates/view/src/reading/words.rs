//! The effects of the rules for real traces, in words: for the notes of the page and for `inspect`.

use crate::address::Address;
use crate::sampling;
use pathlight_base::format::{self, agreeing, count, counted, duration, duration_us, share_of};
use pathlight_engine::queries::OverviewReport;
use pathlight_engine::queues::LinkCounts;
use pathlight_engine::requests::{RangeFacts, Until};
use pathlight_trace::{
    CallsInSequence, Coverage, NameCount, Quality, ReadingCounts, ReadingFinding, ReadingRule, SequenceTimes,
};
use std::borrow::Cow;

/// A peculiarity of the traces, and its meaning for the numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// A key, the same in every build.
    pub key: &'static str,
    /// Number of occurrences.
    pub count: u64,
    /// Name of the occurrences, as a noun in the plural.
    pub what: Cow<'static, str>,
    /// Treatment of the occurrences, in a sentence.
    pub meaning: String,
    /// Canonical id of a trace to look at; empty where there is no single one.
    pub example: String,
}

/// Beyond this share of span time, what orphan roots leave out is a red note.
const GRAVE_SHARE: f64 = 0.05;

/// Returns what says that much of all span time is in no request, as spans have no parent; `None` if it is little.
pub fn left_out(quality: &Quality) -> Option<String> {
    let share = quality.orphan_share();
    (share > GRAVE_SHARE).then(|| format!("{} of span time left out", format::share(share)))
}

/// Returns of what traces requests are, and what much of them they do not hold; empty where that is not known.
pub fn scope(coverage: &Coverage, requests: u64) -> String {
    scope_for(coverage, requests, "")
}

/// Returns the same with how many requests these stand for.
fn scope_for(coverage: &Coverage, requests: u64, stand_for: &str) -> String {
    if coverage.traces == 0 && coverage.left_out == 0 {
        return String::new();
    }
    let mut out = format!("of {}{stand_for}", counted(coverage.traces, "trace"));
    if coverage.incomplete > 0 && coverage.incomplete >= requests {
        out += " whose callers are not recorded";
    } else if coverage.incomplete > 0 {
        out += &format!(", {} of them without a recorded caller", count(coverage.incomplete));
    }
    for part in beside(coverage) {
        out += &format!("; {part}");
    }
    out
}

/// Returns the [scope] of the requests of a selection, and that they do not end with their answer if that is so: one text for
/// all views.
pub fn scope_of(facts: &RangeFacts) -> String {
    let mut out = scope_for(&facts.coverage, facts.all_requests, &sampling::words::stand_for(facts));
    if facts.until == Until::Done && !out.is_empty() {
        out += "; until everything is done that they lead to";
        if facts.cut > 0 {
            let lead = agreeing(facts.cut, "leads", "lead");
            out += &format!(
                ", of which {} {lead} to more than is followed (100 traces, 100,000 spans, 1,000 traces connected)",
                count(facts.cut)
            );
        }
    }
    out
}

/// Returns how many requests are in the percentile range, of how many, and what these stand for: as short as a bar needs it.
pub fn requests_in(facts: &RangeFacts) -> String {
    let of_all = if facts.requests == facts.all_requests {
        String::new()
    } else {
        format!("{} of ", count(facts.requests))
    };
    match sampling::words::stand_for(facts) {
        about if about.is_empty() => of_all + &counted(facts.all_requests, "request"),
        about => of_all + &count(facts.all_requests) + &about,
    }
}

/// Returns what follows the [scope](scope_of) in a view that knows nothing of what comes after the answer, while requests are
/// to end when everything is done.
pub fn not_followed(address: &Address) -> &'static str {
    if address.until == Until::Done && !address.follows_messages() {
        "; in this view until their answer"
    } else {
        ""
    }
}

/// Returns the lines above a text about requests: how many there are, their [scope](scope_of), and what weights change;
/// empty where nothing is known.
pub fn scope_lines(facts: &RangeFacts) -> String {
    let mut lines = match scope_of(facts) {
        scope if scope.is_empty() => scope,
        scope => format!("{} {scope}.\n", counted(facts.all_requests, "request")),
    };
    if let Some(note) = sampling::words::note(facts) {
        lines += &note;
        lines.push('\n');
    }
    lines
}

/// Returns a text under the lines that say over what its numbers are, of which there may be none.
pub fn under_scope(lines: &str, text: &str) -> String {
    if lines.is_empty() { text.to_owned() } else { format!("{lines}\n{text}") }
}

/// Returns what much of the recorded time requests do not hold, and why.
pub fn beside(coverage: &Coverage) -> Vec<String> {
    let parts = [
        (coverage.async_us, "runs asynchronously, and no request waits for it"),
        (coverage.unattached_us, "hangs below spans that are missing, and is in no request"),
        (coverage.dropped_us, "lies outside its parent and is left out"),
    ];
    let much = parts.into_iter().map(|(us, words)| (coverage.share(us), words));
    let much = much.filter(|(share, _)| *share > Coverage::MUCH);
    let much = much.map(|(share, words)| format!("{} of the recorded time {words}", format::share(share)));
    let left_out = (coverage.left_out > 0).then(|| {
        let requests = counted(coverage.left_out, "request");
        format!(
            "{requests} whose {} left out",
            agreeing(coverage.left_out, "caller is not recorded is", "callers are not recorded are")
        )
    });
    much.chain(left_out).collect()
}

/// Returns a note on links: how many there are, and how many of them lead to nothing.
pub fn links(counts: LinkCounts) -> Note {
    let LinkCounts { resolved, unresolved } = counts;
    let meaning = match unresolved {
        0 => "All of them lead to spans that are loaded.".to_owned(),
        _ => format!(
            "{} {} to spans that are not loaded, so nothing is known of what these have to do with them.",
            count(unresolved),
            agreeing(unresolved, "leads", "lead")
        ),
    };
    Note {
        key: "links",
        count: resolved + unresolved,
        what: "links between spans".into(),
        meaning,
        example: String::new(),
    }
}

/// Clocks named one by one.
const CLOCKS_NAMED: usize = 5;

/// Returns a note for all that was found, in the order of the rules; clocks that are wrong come last.
pub fn notes(counts: &ReadingCounts) -> Vec<Note> {
    // Of roots the notes on what was odd speak.
    let mut notes: Vec<Note> = (counts.found.iter().filter(|(found, _)| found.rule() != ReadingRule::Roots))
        .map(|(&found, of)| {
            let (what, meaning) = words(found);
            let (mut count, mut what, mut meaning) = (of.spans, what.into(), meaning.to_owned());
            if found == ReadingFinding::Templates {
                (count, what) = (counts.names.names, names_words(counts.names).into());
                let spans = counted(of.spans, "span");
                meaning = format!("{meaning} They are those of {spans}.");
            }
            Note { key: found.key(), count, what, meaning, example: of.example.clone() }
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
        notes.push(Note {
            key: "wrong-clocks",
            count: wrong.len() as u64,
            what: "pairs of processes whose clocks differ".into(),
            meaning: named.join("; ") + ".",
            example: String::new(),
        });
    }
    notes
}

/// Says what became of so many names.
fn names_words(of: NameCount) -> String {
    let more = if of.is_at_least { "or more " } else { "" };
    format!("{more}names became {}", counted(of.templates, "template"))
}

fn words(found: ReadingFinding) -> (&'static str, &'static str) {
    match found {
        ReadingFinding::Overlay => (
            "spans that cover the calls beside them",
            "A second span for the same work: the critical path goes through the calls. Local work that runs beside calls \
             for as long as they take is hidden too.",
        ),
        ReadingFinding::Callees => (
            "calls that are named with what they call",
            "Their own name says too little: the same span name calls several services or operations. Where the callee was \
             not recorded, it is named by tags.",
        ),
        ReadingFinding::SeveralCallees => {
            ("calls with several callees", "The first of them is taken for what the call waits for.")
        }
        ReadingFinding::Waiting => (
            "calls that take longer than their callee",
            "What they take on the critical path before it starts and after it ends is shown as waiting for its service: network \
             or queue, not work of the caller.",
        ),
        // [`names_words`] says of how many.
        ReadingFinding::Templates => {
            ("names", "More than 100 names that differ in a number, an id or an address count as one.")
        }
        ReadingFinding::NobodyWaits => (
            "spans that outlive their parent in the same process",
            "Nobody waits for them: they count as asynchronous.",
        ),
        ReadingFinding::Consumers => (
            "consumers whose parent is no producer",
            "Whoever sends a message does not wait until it is handled: they count as asynchronous. Choose their endpoint \
             as root endpoint to look at them.",
        ),
        ReadingFinding::Clocks => (
            "spans of processes whose clock was corrected",
            "Callees that lay outside their call are moved into it, with all below them.",
        ),
        ReadingFinding::GaveUp => {
            ("callees that began after their caller gave up", "They count as asynchronous.")
        }
        ReadingFinding::StoppedWaiting => (
            "callees that go on after their caller stopped waiting",
            "That is what a timeout looks like. They are cut at the end of the call.",
        ),
        ReadingFinding::Roots
        | ReadingFinding::Incomplete
        | ReadingFinding::SeveralRoots
        | ReadingFinding::OrphanRoots => ("", ""),
    }
}

/// Returns what a rule does, for a switch.
pub fn rule_words(rule: ReadingRule) -> &'static str {
    match rule {
        ReadingRule::Overlay => "Skip spans that only cover the calls beside them",
        ReadingRule::Callees => "Name calls by what they call where the name says too little",
        ReadingRule::Waiting => "Show what calls take outside their callee as waiting for it",
        ReadingRule::Templates => "Treat names that differ only in values as one",
        ReadingRule::NobodyWaits => "Do not wait for spans that outlive their parent in the same process",
        ReadingRule::Consumers => "Do not wait for consumers, whatever their parent",
        ReadingRule::Clocks => "Correct clocks that differ between processes",
        ReadingRule::Roots => {
            "Treat further roots of a trace, and spans whose caller is missing, as requests of their own"
        }
    }
}

/// Overlaps of calls in sequence, or gaps between them, as words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceNote {
    /// Calls it is about.
    pub calls: u64,
    /// What they are, behind their number.
    pub what: &'static str,
    /// How long the times are, and what they mean.
    pub words: String,
    /// The distribution: from and to, and how many.
    pub bins: Vec<(String, u64)>,
    /// Name in tests.
    pub test: &'static str,
}

/// Returns what is said of the overlaps of calls in sequence that pass for clock skew, and of the gaps between calls in
/// sequence; what there is none of is left out.
pub fn sequences(overview: &OverviewReport) -> Vec<SequenceNote> {
    let times = |times: &SequenceTimes| {
        format!(
            "{} on average, {} at most, in {} of the traces",
            duration(times.mean_us()),
            duration_us(times.max_us),
            share_of(times.traces, overview.traces)
        )
    };
    let note = |of: &SequenceTimes, (what, test): (&'static str, &'static str), words: String| {
        let bins = of
            .bins()
            .map(|(from, to, count)| (format!("{} to below {}", duration_us(from), duration_us(to)), count));
        SequenceNote { calls: of.calls, what, words, bins: bins.collect(), test }
    };
    let CallsInSequence { overlaps, gaps } = &overview.sequences;
    let overlaps = note(
        overlaps,
        ("overlap the one before", "quality-overlaps"),
        format!(
            "They begin before the call that they come after has ended, by so little that clocks explain it: {}. Such calls \
             count as one after the other.",
            times(overlaps)
        ),
    );
    let gaps = note(
        gaps,
        ("begin after the one before has ended", "quality-gaps"),
        format!("From the end of the call that they come after to their start: {}.", times(gaps)),
    );
    [overlaps, gaps].into_iter().filter(|note| note.calls > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_trace::FoundCount;

    #[test]
    fn much_that_is_left_out_is_said_with_its_share() {
        let words = |orphan_us| left_out(&Quality { orphan_us, span_us: 1000, ..Quality::default() });
        assert_eq!((words(0), words(50)), (None, None));
        assert_eq!(words(874), Some(format!("{} of span time left out", format::share(0.874))));
    }

    #[test]
    fn what_requests_do_not_hold_is_said_with_its_share() {
        let of = |async_us, unattached_us, dropped_us| Coverage {
            traces: 4,
            span_us: 1000,
            async_us,
            unattached_us,
            dropped_us,
            ..Coverage::default()
        };
        assert_eq!(scope(&Coverage::default(), 0), "", "a summary");
        assert_eq!(scope(&of(50, 50, 50), 7), "of 4 traces");
        let share = |of| format::share(of);
        assert_eq!(
            scope(&of(874, 60, 51), 7),
            format!(
                "of 4 traces; {} of the recorded time runs asynchronously, and no request waits for it; {} of the recorded time hangs \
                 below spans that are missing, and is in no request; {} of the recorded time lies outside its parent and is left \
                 out",
                share(0.874),
                share(0.06),
                share(0.051)
            )
        );
        let incomplete = Coverage { incomplete: 7, left_out: 1, ..of(0, 0, 0) };
        assert_eq!(
            scope(&incomplete, 7),
            "of 4 traces whose callers are not recorded; 1 request whose caller is not recorded is left out"
        );
        assert!(scope(&incomplete, 9).starts_with("of 4 traces, 7 of them without a recorded caller;"));
    }

    #[test]
    fn names_with_values_are_counted_by_what_became_of_them() {
        let note = |names, templates, is_at_least| {
            let mut counts = ReadingCounts::default();
            counts
                .found
                .insert(ReadingFinding::Templates, FoundCount { spans: 20_000, example: "1".to_owned() });
            counts.names = NameCount { names, templates, is_at_least };
            let note = notes(&counts).remove(0);
            assert!(note.meaning.ends_with(&format!("those of {}.", counted(20_000, "span"))), "{note:?}");
            format!("{} {}", note.count, note.what)
        };
        assert_eq!(note(12_041, 18, false), "12041 names became 18 templates");
        assert_eq!(note(16_384, 1, true), "16384 or more names became 1 template");
    }

    #[test]
    fn a_scope_says_where_requests_do_not_end_with_their_answer() {
        let coverage = Coverage { traces: 4, span_us: 1000, ..Coverage::default() };
        let mut facts = RangeFacts { all_requests: 7, coverage, ..RangeFacts::default() };
        assert_eq!(scope_of(&facts), "of 4 traces");
        facts.until = Until::Done;
        assert_eq!(scope_of(&facts), "of 4 traces; until everything is done that they lead to");
        facts.cut = 1;
        assert!(scope_of(&facts).contains(", of which 1 leads to more than is followed (100 traces, "));
        facts.cut = 1200;
        assert!(scope_lines(&facts).starts_with("7 requests of 4 traces; until everything is done"));
        assert!(scope_lines(&facts).contains("lead to more"));
        let said = |fragment: &str| not_followed(&Address::parse(fragment));
        assert_eq!(said("until=done&view=flow"), "; in this view until their answer");
        assert_eq!((said("until=done&view=flame"), said("view=flow")), ("", ""));
    }
}
