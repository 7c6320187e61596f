//! The diagnosis of tprof in words: its lines as a tree, as Markdown for a ticket and as CSV.

use crate::culprit;
use pathlight_analysis::tprof::{
    AggregateTrace, DiagnosedEndpoint, DiagnosedGroup, DiagnosedSpan, DiagnosedType, Verdict,
};
use pathlight_model::sort::Arrange;
use pathlight_query::{Endpoint, Interval, PlaceChange, TprofReport, TypePlaces};
use pathlight_text::format::markdown as marked;
use pathlight_text::format::{change, count, counted, duration, number, printable, sample, share_of};
use std::fmt::Write as _;

/// Subspans listed on each side of the problematic one.
const NEIGHBOURS: usize = 10;
/// Places of a request type that a ticket has.
const PLACES: usize = 5;

/// A line of the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// How deep it stands: 1 an endpoint, 2 a request type, 3 a part of a span, 4 a group of traces, 5 a subspan.
    pub level: u32,
    /// What it says.
    pub words: String,
    /// The endpoint it is about.
    pub endpoint: Endpoint,
    /// What it is ranked by: microseconds in all; of a group its score, of a subspan its mean.
    pub value: f64,
    /// The number of its evidence: its aggregate trace, or the first of those below it.
    pub aggregate: Option<u32>,
    /// Of a subspan: it is the problematic one.
    pub is_problem: bool,
    /// How many more there are of what this is the last of, at this level below its parent.
    pub more: u64,
}

/// The request type as one name; without names, all of them.
pub fn type_name(service: &str, operation: &str) -> String {
    if service.is_empty() && operation.is_empty() {
        return "all request types".to_owned();
    }
    printable(&if service.is_empty() { operation.to_owned() } else { format!("{operation} in {service}") })
}

/// How the slowness of an endpoint is spread over the traces of a request type.
fn spread(kind: &DiagnosedType) -> String {
    let verdict = match (kind.verdict, kind.tail_ratio) {
        (Verdict::Tail, Some(ratio)) => format!("mostly in the tail: {} times the normal", factor(ratio)),
        (Verdict::Tail | Verdict::New, _) => "new in the tail: none in normal traces".to_owned(),
        (Verdict::Always, Some(ratio)) => {
            format!("not only in the tail: {} times the normal", factor(ratio))
        }
        (Verdict::Always, None) => "without any time of its own".to_owned(),
        (Verdict::Unsplit, _) => "too few traces to tell a tail".to_owned(),
    };
    let share = share_of(kind.affected, kind.traces);
    format!("in {share} of {}, {verdict}", type_name(&kind.service, &kind.operation))
}

fn factor(ratio: f64) -> String {
    if ratio < 100.0 { format!("{ratio:.1}") } else { number(ratio) }
}

/// Where in a span its subspan lies: between which of its children, by their names if `names` are those of all of them.
fn place(subspan: u32, children: u32, names: &[String]) -> String {
    let name = |at: u32| match names.get(at as usize).filter(|_| names.len() == children as usize) {
        Some(name) => format!("\u{201c}{}\u{201d}", printable(name)),
        None => format!("child {}", at + 1),
    };
    match (subspan, children) {
        (_, 0) => "itself, calling nothing".to_owned(),
        (0, _) => format!("before {}", name(0)),
        (at, n) if at >= n => format!("after {}", name(n - 1)),
        (at, _) => format!("between {} and {}", name(at - 1), name(at)),
    }
}

/// The names of the children of a span in an aggregate trace, in the order they start.
fn child_names(trace: &AggregateTrace, span: u32) -> Vec<String> {
    let mut children: Vec<_> = trace.spans.iter().filter(|child| child.parent == Some(span)).collect();
    children.arrange_by(|a, b| a.start_us.total_cmp(&b.start_us));
    children.into_iter().map(|child| child.name.clone()).collect()
}

/// The names of the children of the span that an aggregate trace is about.
fn problem_children(trace: Option<&AggregateTrace>) -> Vec<String> {
    let problem = trace.and_then(|trace| Some((trace, trace.problem?)));
    problem.map(|(trace, problem)| child_names(trace, problem.span)).unwrap_or_default()
}

/// The place of a change in words.
pub fn place_name(place: &PlaceChange) -> String {
    printable(&match (&place.gap_to, place.subspan) {
        (Some(to), _) => format!("the network between {} and {} in {to}", place.service, place.operation),
        (None, None | Some(0)) => format!("{} in {} before its first child", place.operation, place.service),
        (None, Some(i)) => {
            format!("{} in {} after the start of child {i}", place.operation, place.service)
        }
    })
}

/// An interval of changes.
pub fn range(interval: Interval) -> String {
    format!("{} to {}", change(interval.low), change(interval.high))
}

fn endpoint_words(row: &DiagnosedEndpoint) -> String {
    format!(
        "{} in {} takes {} of its own per call, {} in all ({})",
        printable(&row.operation),
        printable(&row.service),
        duration(row.self_us),
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
        duration(kind.self_us),
        duration(kind.total_us as f64),
        sample(kind.count)
    )
}

fn span_words(service: &str, kind: &DiagnosedType, span: &DiagnosedSpan, names: &[String]) -> String {
    format!(
        "{} in {} is slow {}, {}; {} on average ({})",
        printable(&span.name),
        printable(service),
        place(span.subspan, span.children, names),
        spread(kind),
        duration(span.mean_us),
        sample(span.count)
    )
}

fn group_words(span: &DiagnosedSpan, group: &DiagnosedGroup, names: &[String]) -> String {
    let alike = if group.is_local {
        "of one shape, whose order varies but for the calls of this span"
    } else {
        "of one shape and order"
    };
    format!(
        "{} takes {} of its {} {}, on average, in {} {alike}",
        printable(&span.name),
        duration(group.subspan_us),
        duration(group.span_us),
        place(span.subspan, span.children, names),
        counted(group.traces, "trace")
    )
}

/// What of an aggregate trace stands under a group: the subspans of its problematic span, around the problematic one.
fn subspan_lines(trace: &AggregateTrace, number: u32, endpoint: &Endpoint, out: &mut Vec<Line>) {
    let Some(problem) = trace.problem else { return };
    let Some(span) = trace.spans.get(problem.span as usize) else { return };
    let (children, at) = (span.subspans.len().saturating_sub(1) as u32, problem.subspan as usize);
    let names = child_names(trace, problem.span);
    let from = at.saturating_sub(NEIGHBOURS);
    for (index, subspan) in span.subspans.iter().enumerate().skip(from).take(at - from + NEIGHBOURS + 1) {
        let us = &subspan.duration_us;
        let is_problem = index == at;
        out.push(Line {
            level: 5,
            words: format!(
                "{}, {}: {} on average, p50 {}, p99 {} ({}){}",
                printable(&subspan.name),
                place(index as u32, children, &names),
                duration(us.mean),
                duration(us.p50),
                duration(us.p99),
                sample(us.count),
                if is_problem { ": the problematic subspan" } else { "" }
            ),
            endpoint: endpoint.clone(),
            value: us.mean,
            aggregate: Some(number),
            is_problem,
            more: 0,
        });
    }
}

/// Every line of the report, parents before what stands below them.
pub fn lines(report: &TprofReport) -> Vec<Line> {
    let mut out = Vec::new();
    let rest = |in_all: u64, at: usize, listed: usize| {
        if at + 1 == listed { in_all.saturating_sub(listed as u64) } else { 0 }
    };
    for (at, row) in report.report.iter().enumerate() {
        let endpoint = Endpoint::new(&row.service, &row.operation);
        let line = |level, words, value, aggregate, more| Line {
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
                let trace = |number: u32| report.aggregate_traces.get(number as usize);
                let names = problem_children(first(span).and_then(trace));
                let words = span_words(&row.service, kind, span, &names);
                out.push(line(3, words, span.total_us as f64, first(span), more));
                for (at, group) in span.groups.iter().enumerate() {
                    let more = rest(span.groups_in_all, at, span.groups.len());
                    let number = group.aggregate_trace;
                    out.push(line(
                        4,
                        group_words(span, group, &problem_children(trace(number))),
                        group.score,
                        Some(number),
                        more,
                    ));
                    if let Some(trace) = trace(number) {
                        subspan_lines(trace, number, &endpoint, &mut out);
                    }
                }
            }
        }
    }
    out
}

/// A change of a place in words, of a request type's tail against the rest or of set B against set A.
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

/// What makes the tail of a request type slow, as a heading.
pub fn tail_heading(kind: &TypePlaces) -> String {
    format!(
        "What makes the tail of {} slow: {} against {}",
        type_name(&kind.service, &kind.operation),
        counted(kind.b_traces, "slow trace"),
        counted(kind.a_traces, "normal one")
    )
}

/// The report as Markdown for a ticket: the tree as a list without its subspans, then what makes the tail slow.
pub fn markdown(report: &TprofReport) -> String {
    // Writing to a String cannot fail.
    let mut out = format!("# Diagnosis of {}\n\n", counted(report.traces, "trace"));
    if report.has_orphans > 0 {
        let _ = writeln!(
            out,
            "{} more have spans without their parent and are left out.\n",
            count(report.has_orphans)
        );
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
        for place in kind.places.iter().take(PLACES) {
            let _ = writeln!(out, "- {}", marked(&change_words(place)));
        }
    }
    out
}

/// Two sets in words: services, then places of every request type, what grew most first.
pub fn sets_markdown(report: &pathlight_query::SetsReport) -> String {
    let mut out = String::from("# What changed from A to B\n\n");
    let _ = writeln!(out, "{}\n", marked(&culprit::summary(&report.culprit)));
    let ranked = report.culprit.services.iter().filter(|row| row.score_us != 0.0);
    for row in ranked.take(PLACES) {
        let words = marked(&culprit::service_words(&report.culprit, row).to_text());
        let _ = writeln!(out, "{}. {words}", row.rank.unwrap_or_default());
    }
    for kind in report.places.lists().filter(|kind| !kind.places.is_empty()) {
        let name = marked(&type_name(&kind.service, &kind.operation));
        let _ = writeln!(out, "\n## {name}\n");
        for place in kind.places.iter().take(PLACES) {
            let _ = writeln!(out, "- {}", marked(&change_words(place)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_subspan_is_named_by_what_stands_before_and_after_it() {
        let names = ["cache get".to_owned(), "SELECT".to_owned()];
        let words = |at| place(at, 2, &names);
        assert_eq!(words(0), "before \u{201c}cache get\u{201d}");
        assert_eq!(words(1), "between \u{201c}cache get\u{201d} and \u{201c}SELECT\u{201d}");
        assert_eq!(words(2), "after \u{201c}SELECT\u{201d}");
        assert_eq!(place(0, 0, &[]), "itself, calling nothing");
        assert_eq!(place(1, 3, &names), "between child 1 and child 2", "names of other children say nothing");
    }
}
