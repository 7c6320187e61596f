//! The timeline of one trace: its title, the tips of its spans, the table of all of them.

use crate::say::sentence::Sentence;
use crate::say::subject::takes;
use crate::say::tip::TipLine;
use crate::table::{Attributes, Column, Number, Table};
use crate::timeline::chart::{Timeline, marks};
use crate::timeline::like;
use crate::timeline::messages::received_words;
use crate::views::WORKING;
use pathlight_backend::source::jaeger_id;
use pathlight_base::format::{
    DASH, counted, duration_us, endpoint as endpoint_words, moment, printable, share,
};
use pathlight_engine::flame::{SpanWaiting, TraceReport};
use pathlight_engine::queries::{LikeRank, most_time};
use pathlight_engine::verdict::TimedSubject;
use pathlight_trace::Endpoint;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The words above the timeline.
pub struct Title {
    /// The endpoint of the request; `None` for a trace without spans.
    pub endpoint: Option<Endpoint>,
    /// Latency of the request in microseconds.
    pub latency_us: u64,
    /// The latency and the number of spans.
    pub words: String,
    /// The id of the trace without leading zeros.
    pub id: String,
    /// Hint of the id beside the pointer.
    pub hint: String,
}

/// Returns what stands above the timeline of a trace.
pub fn title(report: &TraceReport) -> Title {
    let root = report.request_root as usize;
    let endpoint = report.endpoint.get(root).and_then(|at| report.endpoints.get(*at as usize));
    let latency_us = latency_us(report);
    Title {
        endpoint: endpoint.cloned(),
        latency_us,
        words: format!("{}, {}", duration_us(latency_us), counted(report.endpoint.len() as u64, "span")),
        id: jaeger_id(&report.trace_id),
        hint: format!("Trace {}, {} UTC", report.trace_id, moment(report.start_us)),
    }
}

fn latency_us(report: &TraceReport) -> u64 {
    report.duration_us.get(report.request_root as usize).copied().unwrap_or(0)
}

/// Returns the services with the most time on the critical path, with their shares of it (ties: by name).
pub fn services(report: &TraceReport) -> Vec<(String, f64)> {
    let service = |span: u32| {
        let endpoint = *report.endpoint.get(span as usize)?;
        Some(report.endpoints.get(endpoint as usize)?.service.as_str())
    };
    let segments = report.segment_span.iter().zip(report.segment_start_us.iter().zip(&report.segment_end_us));
    most_time(segments.filter_map(|(span, (start, end))| Some((service(*span)?, end.saturating_sub(*start)))))
}

/// Returns the subject that takes the most time on the critical path of the request, and the endpoint with the most self time
/// there (ties: by name); `None` if the path takes no time, and of a trace of one span.
pub fn summary(report: &TraceReport) -> Option<Sentence> {
    let mut sums = vec![0; report.endpoints.len()];
    let times = report.segment_start_us.iter().zip(&report.segment_end_us);
    for (span, (start_us, end_us)) in report.segment_span.iter().zip(times) {
        let endpoint = *report.endpoint.get(*span as usize)?;
        *sums.get_mut(endpoint as usize)? += end_us.saturating_sub(*start_us);
    }
    let named = report.endpoints.iter().zip(sums).enumerate();
    let (endpoint, (name, us)) =
        named.max_by(|(_, (a, a_us)), (_, (b, b_us))| a_us.cmp(b_us).then(b.cmp(a)))?;
    let largest = report.largest.as_ref().filter(|_| us > 0 && report.endpoint.len() > 1)?;
    let is_of_it = |span: &u32| report.endpoint[*span as usize] as usize == endpoint;
    let mut spans: Vec<u32> = report.segment_span.iter().copied().filter(is_of_it).collect();
    spans.sort_unstable();
    spans.dedup();
    let TimedSubject { subject, time_us } = largest;
    let latency_us = latency_us(report);
    let words = takes(Sentence::default(), &subject.service, subject.part).number(duration_us(*time_us));
    let words = words.text(" of ").number(duration_us(latency_us)).text(" (");
    let words = words.number(share(*time_us as f64 / latency_us.max(1) as f64));
    let words = words.text(") on the critical path. Most self time there: ").name(name).text(", ");
    let words = words.number(duration_us(us)).text(" in ");
    let words = words.number(counted(spans.len() as u64, "span")).text(".");
    let work = report.work;
    if work.percent() <= 100 {
        return Some(words);
    }
    let words = words.text(" Its spans work for ").number(duration_us(work.work_us)).text(" in all, ");
    Some(words.number(format!("{:.1}", work.parallelism())).text(" of them at once on average."))
}

/// Returns the span of an endpoint with most self time on the critical path of a trace; `None` if it has none there.
pub fn longest_span(report: &TraceReport, of: &Endpoint) -> Option<u32> {
    let is_of_it = |span: &u32| {
        let endpoint = report.endpoint.get(*span as usize).and_then(|at| report.endpoints.get(*at as usize));
        endpoint == Some(of)
    };
    let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
    let times = report.segment_start_us.iter().zip(&report.segment_end_us);
    for (span, (start_us, end_us)) in report.segment_span.iter().zip(times).filter(|(span, _)| is_of_it(span))
    {
        *sums.entry(*span).or_default() += end_us.saturating_sub(*start_us);
    }
    // The first of equal ones.
    sums.into_iter().max_by(|(a, a_us), (b, b_us)| a_us.cmp(b_us).then(b.cmp(a))).map(|(span, _)| span)
}

/// Returns why there is no timeline; empty if one is shown. `is_chosen` is whether it is known which trace to show.
pub fn why_empty(is_shown: bool, is_waiting: bool, is_chosen: bool) -> &'static str {
    match (is_shown, is_waiting) {
        (true, _) => "",
        (_, true) => WORKING,
        _ if is_chosen => "No trace with this id is loaded.",
        _ => "No request to show: the percentile range is empty.",
    }
}

/// Returns what the tip says of a span.
pub fn tip(timeline: &Timeline, at: u32) -> Vec<TipLine> {
    let report = timeline.report();
    let endpoint = report.endpoint.get(at as usize).and_then(|at| report.endpoints.get(*at as usize));
    let Some(endpoint) = endpoint.cloned() else { return Vec::new() };
    let (start, end) = timeline.interval_us(at);
    let mut lines = vec![
        TipLine::Endpoint(endpoint),
        TipLine::Text(format!("{} from +{}", duration_us(end - start), duration_us(start))),
    ];
    let marks: Vec<&str> = marks(report, at).map(|mark| mark.words).collect();
    if !marks.is_empty() {
        lines.push(TipLine::Muted(marks.join(", ")));
    }
    if let Some(Endpoint { service, operation }) = callee(report, at) {
        lines.push(TipLine::Text(format!("calls {}", endpoint_words(service, operation))));
    }
    for wait in report.waiting.iter().filter(|wait| wait.span == at) {
        lines.push(TipLine::Text(waiting_words(wait)));
    }
    lines.extend(received_words(report, timeline.received(at)).map(TipLine::Text));
    lines.extend(timeline.sign(at).map(|sign| TipLine::Strong(sign.words.clone())));
    lines.extend(timeline.pressure_us(at).map(|(drag_us, slack_us)| {
        TipLine::Text(if drag_us > 0 {
            format!("Drag {}: the request would end that much earlier without it", duration_us(drag_us))
        } else {
            format!(
                "Slack {}: it may take that much longer before the request ends later",
                duration_us(slack_us)
            )
        })
    }));
    if timeline.is_closed(at) {
        let folded = counted(timeline.descendants(at).into(), "span");
        lines.push(TipLine::Muted(format!("{folded} folded below it")));
    }
    lines
}

/// Returns what a span calls: the endpoint of its only child of another service; `None` if there is none, or several.
pub fn callee(report: &TraceReport, at: u32) -> Option<&Endpoint> {
    let name = |span: usize| report.endpoints.get(*report.endpoint.get(span)? as usize);
    let (from, depth) = (at as usize, *report.depth.get(at as usize)?);
    let caller = name(from)?;
    // Pre-order: what lies deeper right after a span is below it.
    let below = (from + 1..report.depth.len()).take_while(|&span| report.depth[span] > depth);
    let mut callees = below
        .filter(|&span| report.depth[span] == depth + 1)
        .filter_map(name)
        .filter(|endpoint| endpoint.service != caller.service);
    callees.next().filter(|_| callees.next().is_none())
}

/// Returns what a call waits for, in words.
fn waiting_words(wait: &SpanWaiting) -> String {
    let or = if wait.is_certain { "network or queue" } else { "network, queue or work of the caller" };
    let halves = wait.halves_us.map_or_else(String::new, |(before, after)| {
        format!(", {} before it starts and {} after it ends", duration_us(before), duration_us(after))
    });
    format!("{} of it waiting for {}: {or}{halves}", duration_us(wait.us), printable(&wait.callee))
}

/// A span of a trace.
pub struct SpanRow {
    /// Index of the span.
    pub at: u32,
    /// Time of its own segments of the critical path in microseconds.
    own_us: u64,
    /// How slow it is among those like it, once that is known.
    rank: LikeRank,
    trace: Rc<TraceReport>,
}

impl SpanRow {
    /// Returns the spans of a trace, with how slow each is among those like it as far as that is known.
    pub fn of(trace: &Rc<TraceReport>, ranks: &[LikeRank]) -> Vec<SpanRow> {
        let rank = |at: u32| ranks.get(at as usize).copied().unwrap_or_default();
        let row = |at| SpanRow { at, own_us: 0, rank: rank(at), trace: trace.clone() };
        let mut rows: Vec<SpanRow> = (0..trace.endpoint.len() as u32).map(row).collect();
        let times = trace.segment_start_us.iter().zip(&trace.segment_end_us);
        for (at, (start, end)) in trace.segment_span.iter().zip(times) {
            if let Some(row) = rows.get_mut(*at as usize) {
                row.own_us += end.saturating_sub(*start);
            }
        }
        rows
    }

    fn name(&self) -> (&str, &str) {
        let endpoint = self.of_column(&self.trace.endpoint);
        let name = endpoint.and_then(|at| self.trace.endpoints.get(at as usize));
        name.map_or(("", ""), Endpoint::names)
    }

    fn of_column<T: Copy>(&self, column: &[T]) -> Option<T> {
        column.get(self.at as usize).copied()
    }

    /// Returns drag or slack; none if the request does not wait for the span.
    fn pressure(&self, column: &[u64]) -> Number {
        self.of_column(column).filter(|us| *us != TraceReport::NOT_WAITED).into()
    }

    fn words(&self) -> String {
        marks(&self.trace, self.at).map(|mark| mark.word).collect::<Vec<_>>().join(", ")
    }

    fn attributes(&self) -> Attributes {
        let (service, operation) = self.name();
        vec![
            ("data-test", "span".to_owned()),
            ("data-span", self.at.to_string()),
            ("data-service", service.to_owned()),
            ("data-operation", operation.to_owned()),
            ("data-value", self.own_us.to_string()),
        ]
    }
}

/// Returns all spans as comma-separated values.
pub fn spans_csv(trace: &Rc<TraceReport>, ranks: &[LikeRank]) -> String {
    let mut table = table();
    table.set_rows(SpanRow::of(trace, ranks));
    table.csv()
}

/// Returns the table of all spans.
pub fn table() -> Table<SpanRow> {
    let columns = vec![
        Column::field("span", |row: &SpanRow| row.at.into()),
        Column::field("parent", |row| {
            row.of_column(&row.trace.parent).filter(|parent| *parent != u32::MAX).into()
        }),
        Column::endpoint("Span", "Operation and service, in the order of the timeline", SpanRow::name)
            .key("span")
            .tip(|row| (String::new(), row.of_column(&row.trace.depth).unwrap_or(0)))
            .by(|a, b| a.at.cmp(&b.at))
            .csv(&["service", "operation"]),
        Column::duration("start", "Start", "From the start of the trace", |row: &SpanRow| {
            row.of_column(&row.trace.span_start_us).unwrap_or(0).into()
        })
        .low(2)
        .csv(&["start_us"]),
        Column::duration("duration", "Duration", "As reported", |row: &SpanRow| {
            row.of_column(&row.trace.duration_us).unwrap_or(0).into()
        })
        .csv(&["duration_us"]),
        Column::text("like", "Among like", like::HINT, |row: &SpanRow| like::rank_words(row.rank).into())
            .by(|a, b| a.rank.percentile().cmp(&b.rank.percentile()))
            .low(1)
            .if_any()
            .csv_as(&["like", "like_shorter"], |row| {
                let is_known = row.rank.like > 0;
                let text = |spans: u64| if is_known { spans.to_string() } else { String::new() };
                vec![text(row.rank.like), text(row.rank.shorter)]
            }),
        Column::share(
            "own",
            "Self on path",
            "Self time of the span on the critical path of the request",
            |row: &SpanRow| (row.own_us as f64 / latency_us(&row.trace).max(1) as f64).into(),
        )
        .bar_words(|row| if row.own_us > 0 { duration_us(row.own_us) } else { DASH.to_owned() })
        .csv_as(&["own_path_us"], |row| vec![row.own_us.to_string()]),
        Column::duration(
            "drag",
            "Drag",
            "How much earlier the request would end without the span and all below it",
            |row: &SpanRow| row.pressure(&row.trace.drag_us),
        )
        .low(2)
        .csv(&["drag_us"]),
        Column::duration(
            "slack",
            "Slack",
            "How much longer the span may take before the request ends later",
            |row: &SpanRow| row.pressure(&row.trace.slack_us),
        )
        .low(3)
        .csv(&["slack_us"]),
        Column::text(
            "what",
            "What",
            "On the critical path, error, asynchronous, outlives its parent, its caller gave up, clipped, its caller stopped \
             waiting, dropped, orphan",
            |row: &SpanRow| row.words().into(),
        )
        .by(|a, b| a.of_column(&a.trace.bits).cmp(&b.of_column(&b.trace.bits)))
        .low(3)
        .csv(&["what"]),
    ];
    Table::new("span-table", "Spans of the trace", ("span", false), columns)
        .with_attributes(SpanRow::attributes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{CellText, Rows as _};
    use pathlight_engine::verdict::{ServicePart, Subject};
    use pathlight_trace::RequestWork;

    fn report() -> TraceReport {
        let endpoint = |operation: &str| Endpoint::new("shop", operation);
        TraceReport {
            trace_id: "00ab".to_owned(),
            endpoints: vec![endpoint("GET /cart"), endpoint("query")],
            endpoint: vec![0, 1],
            parent: vec![u32::MAX, 0],
            depth: vec![0, 1],
            span_start_us: vec![0, 10],
            duration_us: vec![100, 60],
            bits: vec![TraceReport::ON_PATH, TraceReport::ERROR | TraceReport::ASYNC],
            segment_span: vec![0, 0],
            segment_start_us: vec![0, 70],
            segment_end_us: vec![10, 100],
            drag_us: vec![100, TraceReport::NOT_WAITED],
            slack_us: vec![0, TraceReport::NOT_WAITED],
            largest: Some(TimedSubject {
                subject: Subject { service: "cart".to_owned(), part: ServicePart::In },
                time_us: 86,
            }),
            end_us: 100,
            ..TraceReport::default()
        }
    }

    #[test]
    fn every_span_is_a_line_with_its_time_on_the_path() {
        let mut table = table();
        table.set_rows(SpanRow::of(&Rc::new(report()), &[]));
        assert_eq!(
            table.csv(),
            "span,parent,service,operation,start_us,duration_us,like,like_shorter,own_path_us,drag_us,slack_us,what\r\n\
             0,,shop,GET /cart,0,100,,,40,100,0,path\r\n\
             1,0,shop,query,10,60,,,0,,,\"error, async\"\r\n"
        );
        let cells: Vec<CellText> = [6, 7].map(|column| table.cell(column, 0)).to_vec();
        assert_eq!(cells[0], CellText::Bar(0.4, duration_us(40_u64)));
        assert_eq!(table.cell(6, 1), CellText::Bar(0.0, DASH.to_owned()));
        assert_eq!(table.cell(7, 1), CellText::Text(DASH.to_owned()));
        assert_eq!(table.order(None, None), [0, 1]);
    }

    #[test]
    fn the_subject_and_the_endpoint_with_most_of_the_path_are_named() {
        let words = |report: &TraceReport| summary(report).map(|words| words.to_text());
        let space = pathlight_base::format::THIN;
        let named = |name: &str, us: u64, spans: &str| {
            let [largest, us, all] = [86, us, 100].map(|us: u64| duration_us(us));
            let first =
                format!("Waiting for cart takes {largest} of {all} (86.0{space}%) on the critical path.");
            Some(format!("{first} Most self time there: {name}, {us} in {spans}."))
        };
        assert_eq!(words(&report()), named("GET /cart @ shop", 40, "1 span"));
        let own = TraceReport { segment_span: vec![1, 1, 0], segment_start_us: vec![0, 40, 70], ..report() };
        let own = TraceReport { segment_end_us: vec![40, 70, 100], ..own };
        assert_eq!(words(&own), named("query @ shop", 70, "1 span"));
        assert_eq!(words(&TraceReport::default()), None);
        let wide = TraceReport { work: RequestWork { work_us: 240, root_us: 100 }, ..report() };
        let said = words(&wide).unwrap();
        let works =
            format!("Its spans work for {} in all, 2.4 of them at once on average.", duration_us(240_u64));
        assert!(said.ends_with(&works), "{said}");
    }

    #[test]
    fn title_and_tip_say_what_a_trace_and_its_spans_are() {
        let title = title(&report());
        assert_eq!(title.endpoint, Some(Endpoint::new("shop", "GET /cart")));
        assert_eq!((title.latency_us, title.id.as_str()), (100, "00000000000000ab"));
        assert_eq!(title.words, format!("{}, 2 spans", duration_us(100_u64)));
        let timeline = Timeline::new(report());
        let lines = tip(&timeline, 1);
        assert_eq!(lines[0], TipLine::Endpoint(Endpoint::new("shop", "query")));
        let words = "error, asynchronous: its parent does not wait for it";
        assert_eq!(lines[2], TipLine::Muted(words.to_owned()));
        assert!(matches!(tip(&timeline, 0).last(), Some(TipLine::Text(words)) if words.starts_with("Drag ")));
        assert_eq!(tip(&timeline, 2), []);
        let mut timeline = timeline;
        timeline.toggle(0);
        let folded = TipLine::Muted("1 span folded below it".to_owned());
        assert_eq!(tip(&timeline, 0).last(), Some(&folded));
    }

    #[test]
    fn a_span_whose_caller_stopped_waiting_is_not_one_of_a_wrong_clock() {
        let clipped = TraceReport { bits: vec![0, TraceReport::CLIPPED], ..report() };
        let said = |report: &TraceReport| {
            let row = SpanRow { at: 1, own_us: 0, rank: LikeRank::default(), trace: Rc::new(report.clone()) };
            (tip(&Timeline::new(report.clone()), 1)[2].clone(), row.words())
        };
        let muted = |words: &str| TipLine::Muted(words.to_owned());
        assert_eq!(said(&clipped), (muted("clipped: partly outside its parent"), "clipped".to_owned()));
        let stopped = TraceReport { caller_stopped: vec![1], ..clipped };
        assert_eq!(
            said(&stopped),
            (muted("the caller stopped waiting; cut at its end"), "caller stopped waiting".to_owned())
        );
    }

    #[test]
    fn a_span_that_nobody_waits_for_says_why() {
        let said = |report: &TraceReport| {
            let row = SpanRow { at: 1, own_us: 0, rank: LikeRank::default(), trace: Rc::new(report.clone()) };
            (tip(&Timeline::new(report.clone()), 1)[2].clone(), row.words())
        };
        let muted = |words: &str| TipLine::Muted(words.to_owned());
        let bits = vec![0, TraceReport::ASYNC];
        let declared = TraceReport { bits, ..report() };
        assert_eq!(
            said(&declared),
            (muted("asynchronous: its parent does not wait for it"), "async".to_owned())
        );
        let outlives = TraceReport { outlives_parent: vec![1], ..declared.clone() };
        assert_eq!(
            said(&outlives),
            (
                muted(
                    "asynchronous: it goes on after its parent has ended, so that one does not wait for it"
                ),
                "outlives its parent".to_owned()
            )
        );
        let late = TraceReport { caller_gave_up: vec![1], ..declared };
        assert_eq!(
            said(&late),
            (muted("asynchronous: it began after its caller gave up"), "caller gave up".to_owned())
        );
        let overlay = TraceReport { bits: vec![0, TraceReport::OVERLAY], ..report() };
        assert!(
            matches!(&said(&overlay).0, TipLine::Muted(words) if words.contains("or is local work beside them"))
        );
    }

    #[test]
    fn waiting_is_split_where_the_report_does() {
        let wait = |is_certain, halves_us| {
            let wait = SpanWaiting { span: 0, callee: "b".to_owned(), us: 25_000, is_certain, halves_us };
            waiting_words(&wait).replace(['\u{202f}', '\u{a0}'], " ")
        };
        assert_eq!(wait(false, None), "25.0 ms of it waiting for b: network, queue or work of the caller");
        assert_eq!(
            wait(true, Some((20_000, 5_000))),
            "25.0 ms of it waiting for b: network or queue, 20.0 ms before it starts and 5.00 ms after it ends"
        );
    }

    #[test]
    fn a_call_says_the_operation_that_answers() {
        let report = TraceReport {
            endpoints: vec![
                Endpoint::new("shop", "HTTP GET"),
                Endpoint::new("shop", "connect"),
                Endpoint::new("order", "GET /orders"),
                Endpoint::new("db", "query"),
            ],
            endpoint: vec![0, 1, 2, 3],
            parent: vec![u32::MAX, 0, 0, 2],
            depth: vec![0, 1, 1, 2],
            span_start_us: vec![0; 4],
            duration_us: vec![9; 4],
            bits: vec![0; 4],
            ..report()
        };
        let name = |report: &TraceReport, at| callee(report, at).map(|callee| callee.operation.clone());
        assert_eq!(name(&report, 0).as_deref(), Some("GET /orders"), "not what that calls in turn");
        assert_eq!(name(&report, 1), None);
        assert_eq!(name(&report, 2).as_deref(), Some("query"));
        assert!(
            tip(&Timeline::new(report.clone()), 0)
                .contains(&TipLine::Text("calls GET /orders @ order".to_owned()))
        );
        let two = TraceReport { depth: vec![0, 1, 1, 1], parent: vec![u32::MAX, 0, 0, 0], ..report };
        assert_eq!(name(&two, 0), None, "several");
    }

    #[test]
    fn without_a_trace_it_says_why() {
        assert_eq!(why_empty(true, true, true), "");
        assert_eq!(why_empty(false, true, false), WORKING);
        assert!(why_empty(false, false, true).starts_with("No trace with this id"));
        assert!(why_empty(false, false, false).starts_with("No request to show"));
    }
}
