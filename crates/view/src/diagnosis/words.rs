//! The diagnosis of tprof in words: its lines as a tree, as Markdown for a ticket and as CSV.

use crate::compare::{self, DESCRIPTIVE};
use crate::findings::words::sentence;
use crate::summaries;
use crate::timeline::chart::between;
use pathlight_base::format::{
    agreeing, change, count, counted, duration, markdown as marked, number, printable, sample, share_of,
};
use pathlight_base::statistics::Interval;
use pathlight_engine::diagnosis::{
    DiagnosedEndpoint, DiagnosedGroup, DiagnosedSpan, DiagnosedType, DiagnosisReport, GroupSubspan,
    MOST_PLACES, OfSummary, PlaceChange, PlacesReport, SetsReport, TailVerdict, TimeStatistics, TypeLeftOut,
    TypePlaces,
};
use pathlight_engine::findings::FindingsReport;
use pathlight_trace::Endpoint;
use std::fmt::Write as _;

/// Places of a request type that a ticket has.
const PLACES: usize = 5;

/// Traces of a request type that it takes to tell its tail.
pub(crate) const LEAST_SPLIT: u64 = 10;

/// Request types named of those that are left out.
const NAMED: usize = 3;

/// Note on how its order differs from those of other views, which rank the same places.
pub const RANKED_BY: &str = "Ranked by the own time of all calls, including those that run in parallel with others; Endpoints and Findings count only \
                             what requests wait for.";

/// A line of the report.
#[derive(Clone, Debug, PartialEq)]
pub struct DiagnosisLine {
    /// Level: 1 an endpoint, 2 a request type, 3 a part of a span, 4 a group of traces, 5 a subspan.
    pub level: u32,
    /// The words of the line.
    pub words: String,
    /// The endpoint it is about.
    pub endpoint: Endpoint,
    /// The value it is ranked by: microseconds in all; of a group its score, of a subspan its mean.
    pub value: f64,
    /// The number of its evidence: its aggregate trace, or the first of those below it.
    pub aggregate: Option<u32>,
    /// Of a subspan: it is the problematic one.
    pub is_problem: bool,
    /// Number of lines left out after this last one, at this level below its parent.
    pub more: u64,
}

/// Returns the request type as one name; without names, all of them.
pub fn type_name(service: &str, operation: &str) -> String {
    if service.is_empty() && operation.is_empty() {
        return "all request types".to_owned();
    }
    printable(&if service.is_empty() { operation.to_owned() } else { format!("{operation} in {service}") })
}

/// Returns how the slowness of an endpoint is spread over the traces of a request type.
fn spread(kind: &DiagnosedType) -> String {
    let verdict = match (kind.verdict, kind.tail_ratio) {
        (TailVerdict::Tail, Some(ratio)) => format!("mostly in the tail: {} times the normal", factor(ratio)),
        (TailVerdict::Tail | TailVerdict::New, _) => "new in the tail: none in normal traces".to_owned(),
        // One in twenty is what chance makes of it.
        (TailVerdict::Always, Some(ratio)) if (0.95..1.05).contains(&ratio) => {
            "as much so in normal traces".to_owned()
        }
        (TailVerdict::Always, Some(ratio)) => {
            format!("not only in the tail: {} times the normal", factor(ratio))
        }
        (TailVerdict::Always, None) => "without any time of its own".to_owned(),
        (TailVerdict::Unsplit, _) => "too few traces to tell a tail".to_owned(),
    };
    let share = share_of(kind.affected, kind.traces);
    format!("in {share} of {}, {verdict}", type_name(&kind.service, &kind.operation))
}

fn factor(ratio: f64) -> String {
    if ratio < 100.0 { format!("{ratio:.1}") } else { number(ratio) }
}

/// Returns where in a span a part lies, of children given as endpoints.
pub(crate) fn between_endpoints(previous: Option<&Endpoint>, next: Option<&Endpoint>) -> String {
    between(previous.map(|child| child.operation.as_str()), next.map(|child| child.operation.as_str()))
}

fn near(subspan: &GroupSubspan) -> String {
    between(subspan.after.as_deref(), subspan.before.as_deref())
}

/// Returns where the part lies in the traces of a group.
fn place(span: &DiagnosedSpan, group: &DiagnosedGroup) -> String {
    let own = group.subspans.iter().find(|subspan| subspan.is_problem);
    own.map_or_else(|| between_endpoints(span.previous.as_ref(), span.next.as_ref()), near)
}

/// Returns the place of a change in words.
pub fn place_name(place: &PlaceChange) -> String {
    let (service, operation) = (printable(&place.service), printable(&place.operation));
    match &place.gap_to {
        Some(to) => {
            let to = printable(to);
            format!("waiting for {to}: the network or a queue between {service} and {operation}")
        }
        None => {
            format!(
                "{operation} in {service} {}",
                between_endpoints(place.previous.as_ref(), place.next.as_ref())
            )
        }
    }
}

/// Returns an interval of changes.
pub fn range(interval: Interval) -> String {
    format!("{} to {}", change(interval.low), change(interval.high))
}

fn endpoint_words(row: &DiagnosedEndpoint) -> String {
    format!(
        "{} in {} takes {} of its own per call, {} in all ({})",
        printable(&row.operation),
        printable(&row.service),
        duration(row.own_us),
        duration(row.total_us as f64),
        sample(row.count)
    )
}

fn type_words(kind: &DiagnosedType) -> String {
    format!(
        "{} ({} of {}); {} per call, {} in all ({})",
        spread(kind),
        count(kind.affected),
        counted(kind.traces, "trace"),
        duration(kind.own_us),
        duration(kind.total_us as f64),
        sample(kind.count)
    )
}

fn span_words(service: &str, kind: &DiagnosedType, span: &DiagnosedSpan) -> String {
    format!(
        "{} in {} is slow {}{}, {}; {} on average ({})",
        printable(&span.name),
        printable(service),
        between_endpoints(span.previous.as_ref(), span.next.as_ref()),
        match (span.is_over_shapes, span.subspan) {
            (false, _) => "",
            (true, Some(_)) => " (over traces of all shapes, since the shapes differ)",
            // A summary knows of no shapes.
            (true, None) => "",
        },
        spread(kind),
        duration(span.mean_us),
        sample(span.count)
    )
}

fn group_words(span: &DiagnosedSpan, group: &DiagnosedGroup) -> String {
    let alike = if group.is_local {
        "of one shape, in which only the calls of this span keep their order"
    } else {
        "of one shape and order"
    };
    format!(
        "{} takes {} of its {} {}, on average, in {} {alike}",
        printable(&span.name),
        duration(group.subspan_us),
        duration(group.span_us),
        place(span, group),
        counted(group.traces, "trace")
    )
}

/// Returns what stands under a group: the subspans of its span, around the problematic one.
fn subspan_lines(group: &DiagnosedGroup, endpoint: &Endpoint) -> impl Iterator<Item = DiagnosisLine> {
    group.subspans.iter().map(|subspan| {
        let us = &subspan.duration_us;
        let is_problem = subspan.is_problem;
        DiagnosisLine {
            level: 5,
            words: format!(
                "{}, {}: {}{}",
                printable(&subspan.name),
                near(subspan),
                statistic_words(us),
                if is_problem { ": the problematic subspan" } else { "" }
            ),
            endpoint: endpoint.clone(),
            value: us.mean,
            aggregate: Some(group.aggregate_trace),
            is_problem,
            more: 0,
        }
    })
}

/// Returns every line of the report, parents before what stands below them.
pub fn lines(report: &DiagnosisReport) -> Vec<DiagnosisLine> {
    let mut out = Vec::new();
    let rest = |in_all: u64, at: usize, listed: usize| {
        if at + 1 == listed { in_all.saturating_sub(listed as u64) } else { 0 }
    };
    for (at, row) in report.report.iter().enumerate() {
        let endpoint = Endpoint::new(&row.service, &row.operation);
        let line = |level, words, value, aggregate, more| DiagnosisLine {
            level,
            words,
            endpoint: endpoint.clone(),
            value,
            aggregate,
            is_problem: false,
            more,
        };
        let first = |span: &DiagnosedSpan| span.groups.first().map(|group| group.aggregate_trace);
        let of_type = |kind: &DiagnosedType| kind.spans.iter().find_map(first);
        let more = rest(report.endpoints_in_all, at, report.report.len());
        let evidence = row.types.iter().find_map(of_type);
        out.push(line(1, endpoint_words(row), row.total_us as f64, evidence, more));
        for (at, kind) in row.types.iter().enumerate() {
            let more = rest(row.types_in_all, at, row.types.len());
            out.push(line(2, type_words(kind), kind.total_us as f64, of_type(kind), more));
            for (at, span) in kind.spans.iter().enumerate() {
                let more = rest(kind.spans_in_all, at, kind.spans.len());
                let words = span_words(&row.service, kind, span);
                out.push(line(3, words, span.total_us as f64, first(span), more));
                for (at, group) in span.groups.iter().enumerate() {
                    let more = rest(span.groups_in_all, at, span.groups.len());
                    let number = Some(group.aggregate_trace);
                    out.push(line(4, group_words(span, group), group.score, number, more));
                    out.extend(subspan_lines(group, &endpoint));
                }
            }
        }
    }
    out
}

/// Returns a change of a place in words, of a request type's tail against the rest or of set B against set A.
pub fn change_words(place: &PlaceChange) -> String {
    let range =
        place.interval.map_or_else(String::new, |interval| format!(", 95 % interval {}", range(interval)));
    format!(
        "{}: {} ({} against {}{range})",
        place_name(place),
        change(place.change_us),
        duration(place.b_us),
        duration(place.a_us)
    )
}

/// Returns what makes the tail of a request type slow, as a heading.
pub fn tail_heading(kind: &TypePlaces) -> String {
    format!(
        "What makes the tail of {} slow: {} against {}",
        type_name(&kind.service, &kind.operation),
        counted(kind.b_traces, "slow trace"),
        counted(kind.a_traces, "normal one")
    )
}

/// Returns the report as sentences: its tree without subspans, then what makes the tail of each request type slow and
/// what is to be known of that.
pub fn sentences(report: &DiagnosisReport) -> Vec<String> {
    let tree = lines(report).into_iter().filter(|line| line.level < 5).map(|line| line.words);
    let tails = report.tail.lists().filter(|kind| !kind.places.is_empty());
    let tails = tails.flat_map(|kind| place_sentences(tail_heading(kind), kind));
    tree.chain(tails).chain(tail_notes(&report.tail)).collect()
}

/// Returns two sets as sentences: what changed in each request type.
pub fn sets_sentences(report: &SetsReport) -> Vec<String> {
    let kinds = report.places.lists().filter(|kind| !kind.places.is_empty());
    kinds.flat_map(|kind| place_sentences(type_name(&kind.service, &kind.operation), kind)).collect()
}

/// Returns a heading, and the first places below it.
fn place_sentences(heading: String, kind: &TypePlaces) -> impl Iterator<Item = String> {
    std::iter::once(heading).chain(kind.places.iter().take(PLACES).map(change_words))
}

/// Returns the report as Markdown for a ticket: the tree as a list without its subspans, then what makes the tail
/// slow. With the findings about the same requests it begins with the first of them, as the page does above every view.
pub fn markdown(report: &DiagnosisReport, findings: Option<&FindingsReport>) -> String {
    // Writing to a String cannot fail.
    let mut out = format!("# Diagnosis of {}\n\n", counted(report.traces, "trace"));
    if let Some(first) = findings.and_then(|findings| findings.findings.first()) {
        let _ = writeln!(out, "In short: {}\n", marked(&sentence(first).to_text()));
    }
    if report.has_orphans > 0 {
        let _ = writeln!(
            out,
            "{} more have spans without their parent and are left out.\n",
            count(report.has_orphans)
        );
    }
    for sentence in of_summary(report) {
        let _ = writeln!(out, "{}\n", marked(&sentence));
    }
    if !report.report.is_empty() {
        let _ = writeln!(out, "{RANKED_BY}\n");
    }
    let mut place = 0;
    for line in lines(report).iter().filter(|line| line.level < 5) {
        let indent = 3 * (line.level as usize - 1);
        if line.level == 1 {
            place += 1;
            let _ = writeln!(out, "{place}. {}", marked(&line.words));
        } else {
            let _ = writeln!(out, "{:indent$}- {}", "", marked(&line.words));
        }
    }
    for kind in report.tail.lists().filter(|kind| !kind.places.is_empty()) {
        let _ = writeln!(out, "\n## {}\n", marked(&tail_heading(kind)));
        let _ = write!(out, "{}", places_words(kind));
    }
    for sentence in tail_notes(&report.tail) {
        let _ = writeln!(out, "\n{}", marked(&sentence));
    }
    out
}

/// Returns the places of a request type that a ticket has, and how many more there are.
fn places_words(kind: &TypePlaces) -> String {
    let mut out = String::new();
    for place in kind.places.iter().take(PLACES) {
        let _ = writeln!(out, "- {}", marked(&change_words(place)));
    }
    match kind.places_in_all.saturating_sub(PLACES as u64) {
        0 => {}
        more => _ = writeln!(out, "- and {}", counted(more, "other place")),
    }
    out
}

/// Returns two sets in words: services, then places of every request type, what grew most first.
pub fn sets_markdown(report: &SetsReport) -> String {
    let mut out = String::from("# What changed from A to B\n\n");
    let _ = writeln!(out, "{}\n", marked(&compare::services::summary(&report.culprit)));
    let ranked = report.culprit.services.iter().filter(|row| row.score_us != 0.0);
    for row in ranked.take(PLACES) {
        let words = marked(&compare::services::service_words(&report.culprit, row).to_text());
        let _ = writeln!(out, "{}. {words}", row.rank.unwrap_or_default());
    }
    for kind in report.places.lists().filter(|kind| !kind.places.is_empty()) {
        let name = marked(&type_name(&kind.service, &kind.operation));
        let _ = writeln!(out, "\n## {name}\n");
        let _ = write!(out, "{}", places_words(kind));
    }
    for sentence in left_out(&report.places, true) {
        let _ = writeln!(out, "\n{}", marked(&sentence));
    }
    out
}

/// Returns what is to be known of a diagnosis of a summary, a sentence each.
pub fn of_summary(report: &DiagnosisReport) -> Vec<String> {
    let Some(OfSummary { too_wide, has_roots }) = report.summary else { return Vec::new() };
    let mut out = vec![summaries::DIAGNOSIS_ONLY.to_owned()];
    if too_wide > 0 {
        out.push(format!(
            "{} with more than {MOST_PLACES} parts in a request type: a summary does not tell them apart.",
            counted(too_wide, "endpoint")
        ));
    }
    if has_roots > 0 {
        out.push(format!("{} of traces with several roots are left out.", counted(has_roots, "request")));
    }
    out
}

/// Returns what is to be known of the lists of what makes the tail slow, a sentence each: what their intervals are, and
/// what they leave out.
pub fn tail_notes(report: &PlacesReport) -> Vec<String> {
    let has_interval = report.lists().any(|kind| kind.places.iter().any(|place| place.interval.is_some()));
    let intervals = has_interval.then(|| DESCRIPTIVE.to_owned());
    intervals.into_iter().chain(left_out(report, false)).collect()
}

/// Returns what layer 2 leaves out.
pub fn types_left_out(report: &DiagnosisReport) -> Option<String> {
    let layer = report.layers.iter().find(|layer| layer.layer == 2)?;
    let (listed, of) = (layer.groups.len() as u64, layer.groups_in_all);
    (listed < of).then(|| {
        format!("Layer 2 has the {} with the most time, of {}.", counted(listed, "request type"), count(of))
    })
}

/// Returns what the lists of places leave out, a sentence each: places beyond those listed, and request types that are not
/// compared, in the tail or between two sets.
pub fn left_out(report: &PlacesReport, are_sets: bool) -> Vec<String> {
    let mut out = Vec::new();
    let cut = |kind: &&TypePlaces| kind.places_in_all > kind.places.len() as u64;
    let places: u64 =
        report.lists().filter(cut).map(|kind| kind.places_in_all - kind.places.len() as u64).sum();
    if places > 0 {
        let types = report.lists().filter(cut).count() as u64;
        out.push(format!(
            "{} in {} not shown: each list has only the 50 that grew most.",
            counted(places, "place"),
            counted(types, "list")
        ));
    }
    let mut types = |traces: fn(&TypeLeftOut) -> u64, [one, many]: [&str; 2]| {
        let mut of: Vec<&TypeLeftOut> = report.left_out.iter().filter(|kind| traces(kind) > 0).collect();
        let Some(in_all) = of.iter().map(|kind| traces(kind)).reduce(|a, b| a + b) else { return };
        of.sort_by_key(|kind| std::cmp::Reverse(traces(kind)));
        let named = of.iter().take(NAMED).map(|kind| type_name(&kind.service, &kind.operation));
        let more = if of.len() > NAMED { ", \u{2026}" } else { "" };
        out.push(format!(
            "{} with {} {} {}: {}{more}.",
            counted(of.len() as u64, "request type"),
            counted(in_all, "trace"),
            agreeing(of.len() as u64, "is", "are"),
            agreeing(of.len() as u64, one, many),
            named.collect::<Vec<_>>().join(", ")
        ));
    };
    if are_sets {
        types(
            |kind| if kind.b_traces == 0 { kind.a_traces } else { 0 },
            ["only in A and cannot be compared"; 2],
        );
        types(
            |kind| if kind.a_traces == 0 { kind.b_traces } else { 0 },
            ["only in B and cannot be compared"; 2],
        );
    } else {
        fn is_small(kind: &TypeLeftOut) -> bool {
            kind.a_traces < LEAST_SPLIT
        }
        types(
            |kind| if is_small(kind) { kind.a_traces } else { 0 },
            ["left out, since a type needs 10 traces to tell its tail"; 2],
        );
        types(
            |kind| if is_small(kind) { 0 } else { kind.a_traces },
            [
                "left out, since all its latencies lie in one latency bin of a summary",
                "left out, since all latencies of each lie in one latency bin of a summary",
            ],
        );
    }
    out
}

/// Returns the mean and percentiles of some times; a summary knows no percentiles.
pub(crate) fn statistic_words(us: &TimeStatistics) -> String {
    let percentiles = us.p50.zip(us.p99);
    let percentiles = percentiles.map(|(p50, p99)| format!(", p50 {}, p99 {}", duration(p50), duration(p99)));
    format!("{} on average{} ({})", duration(us.mean), percentiles.unwrap_or_default(), sample(us.count))
}

#[cfg(test)]
mod tests {
    use crate::timeline::chart::between;

    #[test]
    fn a_part_is_named_by_what_stands_before_and_after_it() {
        assert_eq!(between(None, Some("cache get")), "before \u{201c}cache get\u{201d}");
        assert_eq!(
            between(Some("cache get"), Some("SELECT")),
            "between \u{201c}cache get\u{201d} and \u{201c}SELECT\u{201d}"
        );
        assert_eq!(between(Some("SELECT"), None), "after \u{201c}SELECT\u{201d}");
        assert_eq!(between(None, None), "itself, calling nothing");
    }
}
