//! The words of the data-quality panel: what was found in the traces, and how the reading of each file ended.

use super::words::{self, Note};
use crate::sampling;
use pathlight_base::format::{self, agreeing, counted};
use pathlight_engine::queries::OverviewReport;
use pathlight_ingest::{Ended, FileReport};
use pathlight_trace::{FoundCount, ReadingFinding};

/// Sums over requests are of 128 bits. What one request spends in one endpoint is of 64: exact, unless all spans together
/// last longer than this.
const MOST_OF_ONE_US: u128 = u64::MAX as u128;

/// Returns a note for every fact that is not zero, the weightiest first.
pub fn facts(overview: &OverviewReport) -> Vec<Note> {
    let quality = &overview.quality;
    let clipped = format!(
        "They begin or end outside their parent. {} were cut off, {} of all span time; above 5 % the clocks deserve a look.",
        format::duration_us(quality.clipped_us),
        format::share(quality.clipped_share())
    );
    let dropped = format!(
        "{} {}.",
        counted(quality.dropped_subtrees, "subtree"),
        agreeing(
            quality.dropped_subtrees,
            "lies wholly outside its parent and counts nowhere",
            "lie wholly outside their parent and count nowhere"
        )
    );
    let orphans = format!(
        "Each begins a separate tree, which is on no critical path but its own. This leaves out {} of all span time.",
        format::share(quality.orphan_share())
    );
    let found = |found| overview.reading.found.get(&found);
    let example = |of| found(of).map_or("", |of: &FoundCount| &of.example);
    let fact = |key, count, what: &'static str, meaning: &str| Note {
        key,
        count,
        what: what.into(),
        meaning: meaning.to_owned(),
        example: match key {
            "orphan-roots" => example(ReadingFinding::OrphanRoots).to_owned(),
            "multi-root-traces" => example(ReadingFinding::SeveralRoots).to_owned(),
            _ => String::new(),
        },
    };
    let several = format!(
        "The root that starts first is a request; the others are if the rule for roots applies and they stand for \
         themselves: {} of them. Any endpoint can be chosen as root endpoint.",
        format::count(found(ReadingFinding::Roots).map_or(0, |of| of.spans))
    );
    let requests = found(ReadingFinding::Incomplete).map_or(0, |of| of.spans);
    let incomplete = match (requests, overview.outside.coverage.left_out) {
        (0, 0) => {
            "Every span names a parent, so they have no root; their longest part stands for the whole trace."
                .to_owned()
        }
        (0, left_out) => format!(
            "Every span names a parent, so they have no root. {} in them, whose callers are not recorded, are left out of all \
             requests, since enough traces have their root.",
            counted(left_out, "request")
        ),
        (requests, _) => format!(
            "Every span names a parent, so they have no root. Each of their parts is a request whose caller is not recorded: \
             {}.",
            counted(requests, "request")
        ),
    };
    let mut all = vec![
        fact("clipped-spans", quality.clipped_spans, "spans clipped to their parent", &clipped),
        fact("dropped-spans", quality.dropped_spans, "spans dropped", &dropped),
        Note {
            example: example(ReadingFinding::Incomplete).to_owned(),
            ..fact("incomplete-traces", quality.incomplete_traces, "incomplete traces", &incomplete)
        },
        fact("orphan-roots", quality.orphan_roots, "spans whose parent is missing", &orphans),
        fact("multi-root-traces", quality.multi_root_traces, "traces with several roots", &several),
        fact("cycles", quality.cycles, "cycles among parents", "Each is cut at its earliest span."),
        fact("duplicate-spans", quality.duplicate_spans, "spans seen twice", "One of each is kept."),
        fact(
            "unknown-service",
            quality.unknown_service_spans,
            "spans of an unknown service",
            "Their service is shown as unknown-service.",
        ),
        fact(
            "start-missing",
            quality.start_missing_spans,
            "spans without a start",
            "They are placed at their parent's start.",
        ),
        fact(
            "async-spans",
            quality.async_spans,
            "asynchronous spans",
            "Their parents do not wait for them; this is no fault.",
        ),
        words::links(overview.links),
        fact(
            "time-sums",
            u64::from(quality.span_us > MOST_OF_ONE_US),
            "time that may be too small",
            "All spans together last more than 584,000 years: what a single request spends in tens of thousands of calls of one endpoint may be too small. Leave out the longest spans.",
        ),
    ];
    all.extend(words::notes(&overview.reading));
    all.extend(sampling::words::notes(&overview.sampling));
    all.extend(sampling::words::chosen(&overview.chosen));
    all.retain(|fact| fact.count > 0);
    all
}

/// Returns whether something of a file was left out or could not be read.
pub fn has_problems(file: &FileReport) -> bool {
    !file.problems.is_empty() || file.ended != Ended::Whole || !file.keep.is_all()
}

/// Returns whether a fact deserves attention; asynchronous spans, links, and that traces were sampled are no fault.
pub fn is_odd(fact: &Note) -> bool {
    !matches!(fact.key, "async-spans" | "links") && !sampling::words::is_calm(fact)
}

/// Returns how many notes deserve attention: kinds of facts about the traces, and files with problems.
pub fn count(overview: &OverviewReport, files: &[FileReport]) -> usize {
    let odd = facts(overview).iter().filter(|fact| is_odd(fact)).count();
    odd + files.iter().filter(|file| has_problems(file)).count()
}

/// Returns how the reading of a file ended, unless it was read whole.
pub fn ending(file: &FileReport) -> Option<String> {
    match &file.ended {
        Ended::Whole => None,
        Ended::Cut { offset } => Some(format!(
            "Ends at byte {} in the middle; everything complete is kept.",
            format::count(*offset)
        )),
        Ended::Stopped => Some("Reading was stopped here.".to_owned()),
        Ended::Failed(error) => Some(format!("{}. {}", capital(&error.reason), error.next)),
    }
}

pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::file_errors::tests::file;
    use pathlight_ingest::{ErrorKind, IngestError, KeptTraces};

    #[test]
    fn facts_are_those_that_are_not_zero() {
        let mut overview = OverviewReport::default();
        assert!(facts(&overview).is_empty());
        let quality = &mut overview.quality;
        (quality.clipped_spans, quality.clipped_us, quality.span_us) = (3, 1_500, 100_000);
        (quality.dropped_spans, quality.dropped_subtrees) = (4, 2);
        quality.orphan_roots = 2;
        quality.orphan_us = 10_000;
        quality.async_spans = 7;
        let orphans = FoundCount { spans: 2, example: "ab".to_owned() };
        overview.reading.found.insert(ReadingFinding::OrphanRoots, orphans);
        let found = facts(&overview);
        let examples: Vec<&str> = found.iter().map(|fact| &*fact.example).collect();
        assert_eq!(examples, ["", "", "ab", ""]);
        let said: Vec<(&str, u64, &str)> =
            found.iter().map(|f| (f.key, f.count, f.meaning.as_str())).collect();
        let space = format::THIN;
        assert_eq!(
            said,
            [
                (
                    "clipped-spans",
                    3,
                    &*format!(
                        "They begin or end outside their parent. 1.50{space}ms were cut off, 1.5{space}% of all span \
                         time; above 5 % the clocks deserve a look."
                    )
                ),
                ("dropped-spans", 4, "2 subtrees lie wholly outside their parent and count nowhere."),
                (
                    "orphan-roots",
                    2,
                    &*format!(
                        "Each begins a separate tree, which is on no critical path but its own. This leaves out \
                         10.0{space}% of all span time."
                    )
                ),
                ("async-spans", 7, "Their parents do not wait for them; this is no fault."),
            ]
        );
        // Asynchronous spans are no fault.
        assert_eq!(count(&overview, &[]), 3);
        let keys = |span_us| {
            let mut overview = OverviewReport::default();
            overview.quality.span_us = span_us;
            facts(&overview).iter().map(|fact| fact.key).collect::<Vec<_>>()
        };
        assert_eq!((keys(u64::MAX.into()), keys(1 << 64)), (vec![], vec!["time-sums"]));
    }

    #[test]
    fn files_that_were_not_read_whole_count_and_say_why() {
        let whole = file("a.json", Ended::Whole);
        let cut = file("b.json", Ended::Cut { offset: 12_345 });
        let stopped = file("c.json", Ended::Stopped);
        let error = IngestError {
            kind: ErrorKind::Empty,
            file: "d.json".to_owned(),
            offset: 0,
            reason: "it is empty".to_owned(),
            next: "Export it again.".to_owned(),
        };
        let failed = file("d.json", Ended::Failed(error));
        let sampled = FileReport { keep: KeptTraces::Sample(4), ..whole.clone() };
        assert_eq!(ending(&whole), None);
        let words =
            format!("Ends at byte {} in the middle; everything complete is kept.", format::count(12_345));
        assert_eq!(ending(&cut), Some(words));
        assert_eq!(ending(&stopped).as_deref(), Some("Reading was stopped here."));
        assert_eq!(ending(&failed).as_deref(), Some("It is empty. Export it again."));
        assert_eq!(count(&OverviewReport::default(), &[whole, cut, stopped, failed, sampled]), 4);
    }
}
