//! The time of each step of the diagnosis of one large trace: a worker hears nothing before one ends.

use crate::shared::{read, row};
use pathlight::engine::diagnosis::{Aggregates, DiagnosisSettings};
use pathlight::engine::queries::{self, Query};
use pathlight::engine::requests::Selection;
use pathlight::engine::run::{Cuts, Plan, PlanStep, Session};
use pathlight::trace::TraceSet;
use std::fmt::Write as _;
use std::io::Error;
use std::time::Instant;

const SPANS: u64 = 1_000_000;
/// How long a worker works before it yields, in milliseconds, as the page's do.
const STEP_MS: f64 = 12.0;

/// The number of a span's parent, from its own.
type ParentOf = fn(u64) -> u64;

/// Returns one row for what each shape's worker does, and one for the plan.
pub fn steps() -> std::io::Result<Vec<String>> {
    let group = "Steps of the diagnosis of one trace of 1,000,000 spans (native)";
    let mut rows = Vec::new();
    let shapes: [(&str, ParentOf); 3] = [
        ("a chain", |i| i - 1),
        ("one span with all others below it", |_| 0),
        ("ten calls each", |i| (i - 1) / 10),
    ];
    for (name, parent) in shapes {
        let mut session = Session::of(a_trace(parent));
        let (selection, settings) = (Selection::default(), DiagnosisSettings::default());
        let report = queries::Diagnosis { selection: selection.clone(), settings: settings.clone() };
        let wanted = Aggregates::Drawn(0);
        let aggregate = queries::AggregateTraces { selection, settings, wanted };
        // Requests are found and cut before.
        session.run(report.clone()).map_err(failed)?;
        let mut put = |what: &str, value: f64, unit: &str, budget: &str| {
            rows.push(row(group, &format!("{name}: {what}"), value, unit, budget));
        };
        let (longest, bytes, all) = longest(&mut session, report)?;
        put("longest step of a worker", longest[0], "ms", "< 30");
        put("longest step of the plan", longest[1], "ms", "< 30");
        put("all steps", all, "ms", "");
        put("report", bytes as f64 / 1e6, "MB", "");
        let (longest, bytes, _) = self::longest(&mut session, aggregate)?;
        put("longest step of the plan for its aggregate trace", longest[1], "ms", "< 30");
        put("aggregate trace to be drawn", bytes as f64 / 1e6, "MB", "");
    }
    Ok(rows)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::other(error.to_string())
}

/// Returns the longest step in milliseconds of the worker and of the plan, the bytes of the report, and all the time.
fn longest(session: &mut Session, query: impl Query) -> std::io::Result<([f64; 2], usize, f64)> {
    let cuts = Cuts::default();
    let mut plan = Plan::of_message(&query.to_message(), &cuts).map_err(failed)?;
    let (mut longest, mut partials, begun) = ([0.0_f64; 2], Vec::new(), Instant::now());
    loop {
        let start = Instant::now();
        let next = plan.next(std::mem::take(&mut partials)).map_err(failed)?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        if ms > 10.0 && std::env::var_os("STEPS").is_some() {
            eprintln!("plan {ms:.1} ms, {:.0} ms after the beginning", begun.elapsed().as_secs_f64() * 1e3);
        }
        longest[1] = longest[1].max(ms);
        match next {
            PlanStep::Pass(pass) => {
                let start = Instant::now();
                let mut task = session.start(&pass).map_err(failed)?;
                let mut took = start.elapsed().as_secs_f64() * 1e3;
                loop {
                    let start = Instant::now();
                    let mut is_over = || start.elapsed().as_secs_f64() * 1e3 >= STEP_MS;
                    let partial = task.step(session, &mut is_over).map_err(failed)?;
                    took += start.elapsed().as_secs_f64() * 1e3;
                    if took > 14.0 && std::env::var_os("STEPS").is_some() {
                        eprintln!(
                            "worker {took:.1} ms, {:.0} ms after the beginning, progress {:?}",
                            begun.elapsed().as_secs_f64() * 1e3,
                            task.progress()
                        );
                    }
                    longest[0] = longest[0].max(std::mem::take(&mut took));
                    if let Some(partial) = partial {
                        partials = vec![partial];
                        break;
                    }
                }
            }
            PlanStep::Working(_) => {}
            PlanStep::Waiting => return Err(failed("nobody else works")),
            PlanStep::Done(bytes) => return Ok((longest, bytes.len(), begun.elapsed().as_secs_f64() * 1e3)),
        }
    }
}

/// Makes a trace in which span `i` is below span `parent(i)`; calls overlap.
fn a_trace(parent: fn(u64) -> u64) -> TraceSet {
    let mut times = vec![(1_000_000, 8 * SPANS)];
    let mut text = String::from("{\"data\":[{\"traceID\":\"1\",\"processes\":{");
    for service in 0..20 {
        let comma = if service > 0 { "," } else { "" };
        let _ = write!(text, "{comma}\"p{service}\":{{\"serviceName\":\"service-{service}\"}}");
    }
    text.push_str("},\"spans\":[");
    for i in 0..SPANS {
        if i > 0 {
            let (start, duration) = times[parent(i) as usize];
            let after = (i * 7919) % (duration / 2).max(1);
            times.push((start + after, (duration - after) * 9 / 10));
        }
        let (start, duration) = times[i as usize];
        let references = match i {
            0 => String::new(),
            _ => format!("{{\"refType\":\"CHILD_OF\",\"traceID\":\"1\",\"spanID\":\"{:x}\"}}", parent(i) + 1),
        };
        let _ = write!(
            text,
            "{}{{\"traceID\":\"1\",\"spanID\":\"{:x}\",\"operationName\":\"call-{}\",\"references\":[{references}],\
             \"startTime\":{start},\"duration\":{duration},\"processID\":\"p{}\",\"tags\":[]}}",
            if i > 0 { "," } else { "" },
            i + 1,
            i * 31 % 97,
            i * 17 % 20,
        );
    }
    text.push_str("]}]}");
    read(text.as_bytes())
}
