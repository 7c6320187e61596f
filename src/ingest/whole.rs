//! Reads a whole Jaeger document at once. Stands in until the incremental reader lands, which replaces this file.

use super::report::{Ended, ErrorKind, FileReport, IngestError, Progress};
use crate::trace::{Flags, HOST_KEYS, ProcessId, RawSpan, SpanFacts, SpanId, TagSetId, TraceId, TraceSet};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read as _;

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct Options {}

/// One input.
pub struct Reader {
    name: String,
    bytes: Vec<u8>,
}

impl Reader {
    /// A reader of an input of this name.
    pub fn new(name: &str, _options: Options) -> Reader {
        Reader { name: name.to_owned(), bytes: Vec::new() }
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    /// None.
    pub fn feed(&mut self, bytes: &[u8], _set: &mut TraceSet) -> Result<(), IngestError> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        Progress { bytes: self.bytes.len() as u64, traces: 0, spans: 0 }
    }

    /// Reads it all.
    pub fn finish(self, set: &mut TraceSet) -> FileReport {
        let mut text = Vec::new();
        let bytes = self.bytes.len() as u64;
        if self.bytes.starts_with(&[0x1f, 0x8b]) {
            let _ = flate2::read::MultiGzDecoder::new(self.bytes.as_slice()).read_to_end(&mut text);
        } else {
            text = self.bytes;
        }
        let mut report = FileReport {
            name: self.name.clone(),
            format: "jaeger".to_owned(),
            bytes,
            traces: 0,
            spans: 0,
            problems: Vec::new(),
            ended: Ended::Whole,
            slice: None,
        };
        let value: Value = serde_json::from_slice(&text).unwrap_or(Value::Null);
        let list = match &value["data"] {
            Value::Array(list) => list.clone(),
            Value::Object(_) => vec![value["data"].clone()],
            _ => match &value {
                Value::Array(list) => list.clone(),
                Value::Object(_) => vec![value.clone()],
                _ => Vec::new(),
            },
        };
        for trace in &list {
            if let Some(spans) = trace["spans"].as_array()
                && !spans.is_empty()
            {
                report.traces += 1;
                report.spans += spans.len() as u64;
                add(set, trace, spans);
            }
        }
        if report.traces == 0 {
            report.ended = Ended::Failed(IngestError {
                kind: ErrorKind::NotRecognised,
                file: self.name,
                offset: 0,
                reason: "no Jaeger trace was found in it".to_owned(),
                next: "Drop a Jaeger JSON export.".to_owned(),
            });
        }
        report
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn tags(set: &mut TraceSet, list: &Value, facts: &mut SpanFacts) -> TagSetId {
    set.tags.begin();
    for tag in list.as_array().into_iter().flatten() {
        let value = text(&tag["value"]);
        facts.observe(tag["key"].as_str().unwrap_or(""), &value);
        set.tags.add(tag["key"].as_str().unwrap_or(""), &value);
    }
    set.tags.finish()
}

fn add(set: &mut TraceSet, trace: &Value, spans: &[Value]) {
    let mut processes: BTreeMap<&str, ProcessId> = BTreeMap::new();
    for (key, process) in trace["processes"].as_object().into_iter().flatten() {
        let tags = tags(set, &process["tags"], &mut SpanFacts::default());
        let host = HOST_KEYS.iter().find_map(|key| set.tags.value(tags, key).map(str::to_owned));
        let id = set.process(process["serviceName"].as_str().unwrap_or(""), &host.unwrap_or_default(), tags);
        processes.insert(key, id);
    }
    let trace_text = trace["traceID"].as_str().or(spans[0]["traceID"].as_str()).unwrap_or("");
    let trace_id = TraceId::parse(trace_text, &mut set.id_texts);
    let mut rows = Vec::with_capacity(spans.len());
    for span in spans {
        let mut facts = SpanFacts::default();
        let tags = tags(set, &span["tags"], &mut facts);
        let mut flags = facts.flags();
        let mut parent = SpanId::NONE;
        let reference = |kind: &str| {
            span["references"].as_array().into_iter().flatten().find(|r| {
                r["refType"] == kind
                    && r["traceID"].as_str().is_none_or(|id| id.is_empty() || id == trace_text)
            })
        };
        if let Some(found) = reference("CHILD_OF") {
            parent = SpanId::parse(found["spanID"].as_str().unwrap_or(""), &mut set.id_texts);
        } else if let Some(id) = span["parentSpanID"].as_str().filter(|id| !id.is_empty()) {
            parent = SpanId::parse(id, &mut set.id_texts);
        } else if let Some(found) = reference("FOLLOWS_FROM") {
            parent = SpanId::parse(found["spanID"].as_str().unwrap_or(""), &mut set.id_texts);
            flags.set(Flags::FOLLOWS_FROM, true);
        }
        flags.set(Flags::START_MISSING, span["startTime"].is_null());
        let process = span["processID"].as_str().and_then(|key| processes.get(key)).copied();
        rows.push(RawSpan {
            id: SpanId::parse(span["spanID"].as_str().unwrap_or(""), &mut set.id_texts),
            parent,
            start_us: span["startTime"].as_u64().unwrap_or(0),
            duration_us: span["duration"].as_u64().filter(|&d| d < 1 << 63).unwrap_or(0),
            operation: set.names.intern(span["operationName"].as_str().unwrap_or("")),
            process: process.unwrap_or_else(|| set.process("", "", TagSetId::EMPTY)),
            tags,
            flags,
        });
    }
    // A set that is full keeps what it has.
    let _ = set.add_trace(trace_id, &mut rows);
}
