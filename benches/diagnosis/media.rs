//! The same for real traces: delays put into recorded ones of a media service (DeathStarBench, from TraceWeaver), where
//! they are at hand.
//!
//! The own work of one endpoint takes longer: each of its spans waits for so long before its k-th call, or before its end
//! if it makes fewer. What waits for it moves along, what runs beside it does not: an event of a span keeps its distance
//! from what it came after, that is, from the span's event before it or from the end of a call that had ended by then,
//! whichever is later now. The text that is read is the recorded one with other starts and durations.
//!
//! Places are drawn at random among all pairs of an endpoint and a k that occur, however rarely, without those whose delay
//! no request waits for.

use super::{GROUP, Ranks, head, mean, tail_head};
use crate::shared::{read, row};
use flate2::read::GzDecoder;
use pathlight::base::statistics::Random;
use pathlight::engine::diagnosis::{DiagnosisReport, DiagnosisSettings};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::Session;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::io::{Error, Read as _};

/// Where the traces lie in the folder of real traces.
const FILE: &str = "traceweaver-media/media_load25.json.gz";
/// Places drawn.
const CASES: usize = 20;
/// Delays of all traces in thousandths of the mean latency, and what has to come first.
const DELAYS: [(u64, &str); 4] = [(50, ""), (100, ""), (200, "> 15"), (500, "> 18")];
/// Share of the traces with a rare delay, and what has to come first.
const RARE: (f64, &str) = (0.07, "> 18");

/// An endpoint, and before which of its calls it waits.
type Place = ([String; 2], usize);

/// A span as it was recorded.
struct Span {
    endpoint: [String; 2],
    parent: Option<usize>,
    children: Vec<usize>,
    start_us: u64,
    end_us: u64,
}

/// A trace: its text, its spans in the order of the text, and parents before their children.
struct Trace {
    text: Value,
    spans: Vec<Span>,
    order: Vec<usize>,
}

/// Starts and ends by span.
type Times = Vec<(u64, u64)>;

/// Returns the rows, if the traces are at hand; says on stderr if not.
pub fn run() -> std::io::Result<Vec<String>> {
    let data = std::env::var("PATHLIGHT_DATA").unwrap_or_else(|_| "../shared/data".to_owned());
    let file = std::path::Path::new(&data).join(FILE);
    if !file.is_file() {
        eprintln!("skipped: delays in recorded traces, as there is no {FILE} in PATHLIGHT_DATA");
        return Ok(Vec::new());
    }
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(file)?).read_to_string(&mut text)?;
    let traces: Vec<Trace> = match serde_json::from_str(&text)? {
        Value::Object(mut whole) => whole.remove("data").and_then(|data| match data {
            Value::Array(traces) => Some(traces),
            _ => None,
        }),
        Value::Array(traces) => Some(traces),
        _ => None,
    }
    .ok_or_else(|| Error::other("no traces"))?
    .into_iter()
    .map(Trace::new)
    .collect::<Option<_>>()
    .ok_or_else(|| Error::other("not the Jaeger JSON that this bench knows"))?;
    let without = |trace: &Trace| {
        let place = trace.places().next();
        place.is_none_or(|place| trace.delayed(&place, 0) == trace.times())
    };
    if !traces.iter().all(without) {
        return Err(Error::other("no delay changes times"));
    }
    let latency = |trace: &Trace, times: &Times| {
        trace.order.first().map_or(0, |&root| times[root].1.saturating_sub(times[root].0))
    };
    let plain: Vec<Times> = traces.iter().map(Trace::times).collect();
    let mean_us = mean(traces.iter().zip(&plain).map(|(trace, times)| latency(trace, times)));
    let costs = |place: &Place| {
        let delayed = traces.iter().map(|trace| latency(trace, &trace.delayed(place, mean_us)));
        mean(delayed) > mean_us
    };
    let all: BTreeSet<Place> = traces.iter().flat_map(Trace::places).collect();
    let all: Vec<Place> = all.into_iter().filter(costs).collect();
    let mut draw = Random::new(15, 0, 0);
    let mut places: Vec<&Place> = Vec::new();
    while places.len() < CASES.min(all.len()) {
        let place = &all[draw.below(all.len() as u64) as usize];
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let tally = |delay_us: u64, share: f64| {
        let (mut first, mut with_part, mut in_tail, mut ranks) = (0, 0, 0, Ranks::default());
        for (case, place) in places.iter().enumerate() {
            let mut chance = Random::new(case as u64, 1, 0);
            let times = traces.iter().zip(&plain).map(|(trace, plain)| match chance.unit() < share {
                true => trace.delayed(place, delay_us),
                false => plain.clone(),
            });
            let texts: Vec<String> =
                traces.iter().zip(times).map(|(trace, times)| trace.with(&times)).collect();
            let report = diagnose(&texts)?;
            let ([service, operation], at) = place;
            ranks.add(&report, service, operation);
            let top = report.report.first();
            let is_first = top.is_some_and(|top| (&top.service, &top.operation) == (service, operation));
            let part = top.and_then(|top| top.types.first()?.spans.first());
            let of_tail = report.tail.lists().next().and_then(|list| list.places.first());
            let is_tail =
                of_tail.is_some_and(|first| (&first.service, &first.operation) == (service, operation));
            first += usize::from(is_first);
            with_part += usize::from(
                is_first
                    && part.is_some_and(|part| {
                        part.subspan == part.children.map(|children| children.min(*at as u32))
                    }),
            );
            in_tail += usize::from(is_tail);
            if !if share < 1.0 { is_tail } else { is_first } {
                eprintln!(
                    "{service} {operation} before call {at}, {delay_us} us in {share}: {}; {}",
                    head(&report),
                    tail_head(&report)
                );
            }
        }
        Ok::<_, Error>((first, with_part, in_tail, ranks))
    };
    let mut rows = Vec::new();
    let mut put = |what: String, found: usize, budget: &str| {
        rows.push(row(
            GROUP,
            &format!("recorded traces, {what}"),
            found as f64,
            &format!("of {}", places.len()),
            budget,
        ));
    };
    let mut further = Vec::new();
    for (permille, budget) in DELAYS {
        let (first, with_part, _, ranks) = tally(mean_us * permille / 1000, 1.0)?;
        let what =
            format!("in every trace, {} x the mean latency: first in the report", permille as f64 / 1e3);
        put(format!("{what}, and its part of the span first below it"), with_part, "");
        put(what, first, budget);
        if permille == 200 {
            further = ranks.rows("recorded traces, in every trace, 0.2 x the mean latency");
        }
    }
    let (first, _, in_tail, _) = tally(mean_us, RARE.0)?;
    let what = "in 7 % of the traces, 1 x the mean latency: first in";
    put(format!("{what} the report"), first, "");
    put(format!("{what} the list of the tail"), in_tail, RARE.1);
    rows.extend(further);
    Ok(rows)
}

fn diagnose(texts: &[String]) -> std::io::Result<DiagnosisReport> {
    let mut session = Session::of(read(format!("{{\"data\":[{}]}}", texts.join(",")).as_bytes()));
    let settings = DiagnosisSettings { top: [u32::MAX, 1, 1, 1], ..DiagnosisSettings::default() };
    let report = session.run(queries::Diagnosis { selection: Selection::default(), settings });
    report.map_err(|error| Error::other(error.to_string()))
}

impl Trace {
    /// Reads a trace of Jaeger JSON with one reference a span; `None` if it is anything else.
    fn new(text: Value) -> Option<Trace> {
        let listed = text["spans"].as_array()?;
        let number: HashMap<&str, usize> = listed
            .iter()
            .enumerate()
            .map(|(at, span)| Some((span["spanID"].as_str()?, at)))
            .collect::<Option<_>>()?;
        let mut spans = Vec::with_capacity(listed.len());
        for span in listed {
            let process = &text["processes"][span["processID"].as_str()?];
            let start_us = span["startTime"].as_u64()?;
            let parent = span["references"][0]["spanID"].as_str();
            spans.push(Span {
                endpoint: [
                    process["serviceName"].as_str()?.to_owned(),
                    span["operationName"].as_str()?.to_owned(),
                ],
                parent: parent.and_then(|parent| number.get(parent).copied()),
                children: Vec::new(),
                start_us,
                end_us: start_us + span["duration"].as_u64()?,
            });
        }
        for at in 0..spans.len() {
            if let Some(parent) = spans[at].parent {
                spans[parent].children.push(at);
            }
        }
        let mut order: Vec<usize> = (0..spans.len()).filter(|&at| spans[at].parent.is_none()).collect();
        let mut next = 0;
        while next < order.len() {
            order.extend(&spans[order[next]].children);
            next += 1;
        }
        Some(Trace { text, spans, order })
    }

    fn times(&self) -> Times {
        self.spans.iter().map(|span| (span.start_us, span.end_us)).collect()
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        self.spans.iter().flat_map(|span| (0..=span.children.len()).map(|at| (span.endpoint.clone(), at)))
    }

    /// Starts and ends with a delay at a place.
    fn delayed(&self, (endpoint, at): &Place, delay_us: u64) -> Times {
        // By span, since the start of its parent its start, and its duration.
        let mut since = vec![(0, 0); self.spans.len()];
        for &own in self.order.iter().rev() {
            let span = &self.spans[own];
            // A call that begins before its caller, as clocks differ, moves with the caller's start.
            let start_of = |child: usize| self.spans[child].start_us.max(span.start_us);
            let mut events: Vec<(u64, Option<usize>)> =
                span.children.iter().map(|&child| (start_of(child), Some(child))).collect();
            events.sort_unstable();
            events.push((span.end_us, None));
            let waits = (span.endpoint == *endpoint).then(|| *at.min(&span.children.len()));
            // The event before: when it was, and when it now is since the start.
            let (mut before, mut now) = (span.start_us, 0);
            for (index, &(time, child)) in events.iter().enumerate() {
                let ended = events[..index].iter().filter_map(|&(_, child)| {
                    let child = child.filter(|&child| self.spans[child].end_us <= time)?;
                    Some((self.spans[child].end_us, since[child].0 + since[child].1))
                });
                let (was, is) =
                    ended.fold((before, now), |(was, is), (end, moved)| (was.max(end), is.max(moved)));
                now = is + time.saturating_sub(was) + if waits == Some(index) { delay_us } else { 0 };
                before = before.max(time);
                match child {
                    Some(child) => since[child].0 = now,
                    None => since[own].1 = now,
                }
            }
        }
        let mut out: Times = vec![(0, 0); self.spans.len()];
        for &own in &self.order {
            let span = &self.spans[own];
            let start = match span.parent {
                None => span.start_us,
                // What began before its caller still does.
                Some(parent) => (out[parent].0 + since[own].0)
                    .saturating_sub(self.spans[parent].start_us.saturating_sub(span.start_us)),
            };
            out[own] = (start, start + since[own].1);
        }
        out
    }

    /// Returns the text with these times.
    fn with(&self, times: &Times) -> String {
        let mut text = self.text.clone();
        if let Some(spans) = text["spans"].as_array_mut() {
            for (span, (start, end)) in spans.iter_mut().zip(times) {
                span["startTime"] = (*start).into();
                span["duration"] = (end - start).into();
            }
        }
        text.to_string()
    }
}
