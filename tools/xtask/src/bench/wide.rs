//! How time and memory grow with what a set has many of: root endpoints, endpoints, services, keys of tags, depth, fan-out,
//! records of one trace, files.
//!
//! Each kind is made four times, each time four times as large, with spans in proportion: what is linear has the exponent 1.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::peers::processor_s;
use super::report::{Report, Row};
use super::{ROUNDS, median, release_binary};
use crate::{Outcome, sh};

/// Exponents above it are missed budgets.
const EXPONENT: &str = "< 1.15";
/// The largest of each kind has so many spans, about.
const SPANS: usize = 640_000;
/// Sizes of each kind: parts of the largest.
const PARTS: [usize; 4] = [64, 16, 4, 1];

/// What a set has; every number is at least 1.
#[derive(Clone, Copy)]
struct Shape {
    traces: usize,
    roots: usize,
    endpoints: usize,
    services: usize,
    keys: usize,
    /// Spans below each other, under the root.
    depth: usize,
    /// Spans side by side below the deepest.
    fan_out: usize,
    /// Records, each with some of its spans, that a trace is written as.
    records: usize,
    files: usize,
}

const SMALL: Shape = Shape {
    traces: 1,
    roots: 10,
    endpoints: 50,
    services: 20,
    keys: 10,
    depth: 2,
    fan_out: 7,
    records: 1,
    files: 1,
};

impl Shape {
    /// Returns it with as many traces as have so many spans.
    fn of_spans(self, spans: usize) -> Shape {
        Shape { traces: (spans / (1 + self.depth + self.fan_out)).max(1), ..self }
    }
}

/// What grows, and its sets: made from their number of spans.
type Kind = (&'static str, fn(usize) -> Shape);

fn kinds() -> [Kind; 8] {
    [
        ("root endpoints", |spans| Shape { roots: spans / 16, ..SMALL.of_spans(spans) }),
        ("endpoints", |spans| Shape { endpoints: spans / 16, ..SMALL.of_spans(spans) }),
        ("services", |spans| Shape { services: spans / 128, endpoints: spans / 16, ..SMALL.of_spans(spans) }),
        ("keys of tags", |spans| Shape { keys: spans / 64, ..SMALL.of_spans(spans) }),
        ("depth", |spans| Shape { depth: spans / 16, traces: 16, ..SMALL }),
        ("fan-out", |spans| Shape { fan_out: spans / 16, traces: 16, ..SMALL }),
        ("records of one trace", |spans| Shape {
            fan_out: spans / 16,
            traces: 16,
            records: spans / 160,
            ..SMALL
        }),
        ("files", |spans| Shape { files: spans / 640, ..SMALL.of_spans(spans) }),
    ]
}

/// What is measured: the words before the files, and whether it writes a file of its own.
const COMMANDS: [(&str, &[&str]); 2] =
    [("summarise", &["summarise", "--threads", "1", "--out"]), ("findings", &["findings", "--threads", "1"])];

pub fn run(quick: bool, report: &mut Report) -> Outcome {
    let binary = release_binary()?;
    let largest = if quick { SPANS / 16 } else { SPANS };
    for (kind, shape) in kinds() {
        let mut measured: Vec<(usize, Vec<(f64, f64)>)> = Vec::new();
        for part in PARTS {
            let spans = largest / part;
            let folder = sh::target().join("bench/wide").join(format!("{}-{spans}", kind.replace(' ', "-")));
            let _ = std::fs::remove_dir_all(&folder);
            sh::on(&folder, std::fs::create_dir_all(&folder))?;
            write(&folder, shape(spans))?;
            let mut of_commands = Vec::new();
            for (_, words) in COMMANDS {
                let mut command = sh::command(&binary);
                command.args(words);
                if words.contains(&"--out") {
                    command.arg(folder.with_extension("pathlight"));
                }
                command.arg(&folder);
                let rounds = (0..ROUNDS).map(|_| measure(&mut command)).collect::<Outcome<Vec<_>>>()?;
                let (seconds, megabytes) = rounds.into_iter().unzip();
                of_commands.push((median(seconds), median(megabytes)));
            }
            measured.push((spans, of_commands));
            sh::on(&folder, std::fs::remove_dir_all(&folder))?;
        }
        for (number, (name, _)) in COMMANDS.iter().enumerate() {
            // The smallest is mostly the start of the program.
            let [.., (few, small), _, (many, large)] = measured.as_slice() else { continue };
            let exponent = |small: f64, large: f64| (large / small).ln() / (*many as f64 / *few as f64).ln();
            let (small, large) = (small[number], large[number]);
            let what = |of: &str| format!("{name} against {kind}: {of}");
            let mut add = |of: &str, value: f64, unit: &str, budget: &str| {
                report.add(Row::new("Many of each", &what(of), value, unit, budget));
            };
            add("exponent of time", exponent(small.0, large.0), "", EXPONENT);
            add("exponent of memory", exponent(small.1, large.1), "", EXPONENT);
            add(&format!("processor time of {many} spans"), large.0, "s", "");
            add(&format!("memory of {many} spans"), large.1, "MB", "");
        }
    }
    Ok(())
}

/// Runs a command; returns the seconds of the processor it took, and its most memory in MB.
fn measure(command: &mut Command) -> Outcome<(f64, f64)> {
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut most_kb = 0.0_f64;
    let seconds = processor_s(|| {
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        loop {
            let peak = std::fs::read_to_string(&status).unwrap_or_default();
            let line = peak.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kb = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            most_kb = most_kb.max(kb.unwrap_or(0.0));
            match child.try_wait().map_err(|error| error.to_string())? {
                Some(ended) if ended.success() => return Ok(()),
                Some(ended) => return Err(format!("it ended with {ended}")),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    })?;
    Ok((seconds, most_kb / 1e3))
}

/// Writes a set as Jaeger JSON.
fn write(folder: &Path, shape: Shape) -> Outcome {
    let per_file = shape.traces.div_ceil(shape.files.max(1));
    for (file, first) in (0..shape.traces).step_by(per_file).enumerate() {
        let mut out = String::from("{\"data\":[");
        for trace in first..shape.traces.min(first + per_file) {
            write_trace(&mut out, trace, shape);
        }
        if out.ends_with(',') {
            out.pop();
        }
        out.push_str("]}");
        let path = folder.join(format!("{file}.json"));
        sh::on(&path, std::fs::write(&path, out))?;
    }
    Ok(())
}

/// Microseconds that each leaf takes.
const LEAF_US: usize = 100;

fn write_trace(out: &mut String, trace: usize, shape: Shape) {
    let spans = 1 + shape.depth + shape.fan_out;
    let per_record = spans.div_ceil(shape.records);
    let (begin_us, whole_us) = (1_700_000_000_000_000 + trace * 1000, LEAF_US * (shape.fan_out + 1));
    for first in (0..spans).step_by(per_record) {
        let mut services = Vec::new();
        let _ = write!(out, "{{\"traceID\":\"{:032x}\",\"spans\":[", trace + 1);
        for span in first..spans.min(first + per_record) {
            let (service, operation) = if span == 0 {
                (trace % shape.roots % shape.services, format!("open {}", word(trace % shape.roots)))
            } else {
                // Numbers that come in no order, and each of them.
                let endpoint = (trace * spans + span) * 31 % shape.endpoints;
                (endpoint % shape.services, format!("call {}", word(endpoint)))
            };
            let leaf = span.checked_sub(shape.depth + 1);
            let (start_us, took_us) = leaf.map_or((begin_us, whole_us), |leaf| {
                (begin_us + leaf * LEAF_US, LEAF_US / 2 + (trace * 7 + leaf * 13) % (LEAF_US / 2))
            });
            let parent = if leaf.is_some() { shape.depth } else { span.saturating_sub(1) };
            let _ = write!(out, "{{\"traceID\":\"{:032x}\",\"spanID\":\"{:016x}\"", trace + 1, span + 1);
            if span > 0 {
                let _ = write!(
                    out,
                    ",\"references\":[{{\"refType\":\"CHILD_OF\",\"spanID\":\"{:016x}\"}}]",
                    parent + 1
                );
            }
            let _ = write!(
                out,
                ",\"operationName\":\"{operation}\",\"startTime\":{start_us},\"duration\":{took_us},\
                 \"processID\":\"p{service}\",\"tags\":[{{\"key\":\"{}\",\"type\":\"string\",\"value\":\"{}\"}}]}},",
                word((trace + span) % shape.keys),
                word(trace % 5)
            );
            services.push(service);
        }
        out.pop();
        services.sort_unstable();
        services.dedup();
        out.push_str("],\"processes\":{");
        for service in services {
            let _ = write!(out, "\"p{service}\":{{\"serviceName\":\"service {}\"}},", word(service));
        }
        out.pop();
        out.push_str("}},");
    }
}

/// Returns a number in letters: digits might be taken for an id.
fn word(mut number: usize) -> String {
    let mut letters = String::new();
    for _ in 0..4 {
        letters.push((b'a' + (number % 26) as u8) as char);
        number /= 26;
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_json_with_about_as_many_spans() {
        for (kind, shape) in kinds() {
            let shape = shape(1280);
            let mut text = String::from("[");
            (0..shape.traces).for_each(|trace| write_trace(&mut text, trace, shape));
            text.pop();
            text.push(']');
            let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
            let records = parsed.as_array().unwrap();
            let spans: usize = records.iter().map(|record| record["spans"].as_array().unwrap().len()).sum();
            assert!((640..=2560).contains(&spans), "{kind}: {spans}");
        }
    }
}
