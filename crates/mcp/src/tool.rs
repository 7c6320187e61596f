//! The tools: name, words, schemas, and the question behind each.

use crate::answer::Answer;
use crate::args::{About, Compare, Load, Page, Request, Time, WhatIf};
use crate::data::Data;
use crate::tools::{self, Asked};
use pathlight_view::json::records::RecordKind;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Runs the question of a tool with its arguments.
type Run = fn(&mut Data, Value) -> Asked;

/// A tool.
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    title: &'static str,
    about: &'static str,
    input: fn() -> JsonObject,
    /// Lists of the structured answer.
    lists: &'static [(&'static str, RecordKind)],
    /// Objects of the structured answer.
    objects: &'static [(&'static str, RecordKind)],
    /// `None` for `load`, which needs no loaded traces.
    pub run: Option<Run>,
}

fn read<A: DeserializeOwned>(arguments: Value) -> Result<A, String> {
    serde_json::from_value(arguments).map_err(|error| format!("the arguments are wrong: {error}"))
}

macro_rules! asks {
    ($question:path) => {
        Some(|data, arguments| $question(data, &read(arguments)?))
    };
}

/// Every tool, in the order of a conversation.
pub const TOOLS: [Entry; 10] = [
    Entry {
        name: "load",
        title: "Load traces",
        about: "Loads traces, in place of those loaded before: files or folders (Jaeger, OTLP, Zipkin, Tempo; any size), with \
                a baseline to compare with, or traces fetched from a Jaeger or Tempo that this server may ask.",
        input: schema::<Load>,
        lists: &[("files", RecordKind::File)],
        objects: &[],
        run: None,
    },
    Entry {
        name: "overview",
        title: "Overview",
        about: "Says what is loaded: traces, services, latency, request types with n and percentiles, and the first finding.",
        input: schema::<About>,
        lists: &[("request_types", RecordKind::RequestType)],
        objects: &[],
        run: asks!(tools::overview),
    },
    Entry {
        name: "findings",
        title: "Findings",
        about: "Says what is slow, where, why and for whom, best first: slow tails, waiting, retries, timeouts, errors, tags, \
                since when; with a baseline what changed. Each has its cost per request with interval, n, and a handle.",
        input: schema::<About>,
        lists: &[("findings", RecordKind::Finding)],
        objects: &[],
        run: asks!(tools::findings),
    },
    Entry {
        name: "compare",
        title: "Compare",
        about: "Names the service that explains why the traces are slower than the baseline, or that none does beyond drift and \
                chance; without a baseline compares the slowest requests with the faster half.",
        input: schema::<Compare>,
        lists: &[("services", RecordKind::Service)],
        objects: &[("headline", RecordKind::Headline)],
        run: asks!(tools::compare),
    },
    Entry {
        name: "where_time_goes",
        title: "Where time goes",
        about: "Lists services (own work, and waiting for them) or endpoints (self time) by their part of the critical path.",
        input: schema::<Time>,
        lists: &[("rows", RecordKind::Place)],
        objects: &[],
        run: asks!(tools::time),
    },
    Entry {
        name: "what_if",
        title: "What if",
        about: "Predicts the latency if something were faster, by the flows learned from these traces, with the tested error of \
                the prediction; or with target which endpoints have to be how much faster to reach it.",
        input: schema::<WhatIf>,
        lists: &[
            ("endpoints", RecordKind::ShareChange),
            ("ways", RecordKind::Way),
            ("budgets", RecordKind::Budget),
        ],
        objects: &[("what_if", RecordKind::WhatIf)],
        run: asks!(tools::what_if),
    },
    Entry {
        name: "search",
        title: "Search",
        about: "Lists requests, slowest first: by tags and words, percentiles, the handle of a finding, or what takes longer than \
                usual in them.",
        input: schema::<About>,
        lists: &[("rows", RecordKind::Request)],
        objects: &[],
        run: asks!(tools::search),
    },
    Entry {
        name: "request",
        title: "One request",
        about: "Shows the critical path of one request as a tree of at most 40 lines with self times.",
        input: schema::<Request>,
        lists: &[("nodes", RecordKind::PathNode)],
        objects: &[],
        run: asks!(tools::request),
    },
    Entry {
        name: "diagnose",
        title: "Diagnose",
        about: "Says in which spans, and between which calls, most time of their own is spent, in all requests and in the tail.",
        input: schema::<About>,
        lists: &[("report", RecordKind::Diagnosed), ("tail", RecordKind::Tail)],
        objects: &[],
        run: asks!(tools::diagnose),
    },
    Entry {
        name: "abnormal",
        title: "Abnormal requests",
        about: "Judges each request against the baseline: which are abnormal, with p-value and reasons. Without a baseline it \
                only ranks them.",
        input: schema::<About>,
        lists: &[("traces", RecordKind::Abnormal)],
        objects: &[],
        run: asks!(tools::abnormal),
    },
];

/// Returns the JSON schema of the arguments of a tool, with those that every tool has.
fn schema<A: JsonSchema>() -> JsonObject {
    let mut schema = arguments::<A>();
    let of_page = arguments::<Page>().remove("properties");
    if let (Some(properties), Some(Value::Object(of_page))) =
        (schema.get_mut("properties").and_then(Value::as_object_mut), of_page)
    {
        properties.extend(of_page);
    }
    schema
}

fn arguments<A: JsonSchema>() -> JsonObject {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    // A program needs the meaning of each argument; of the whole its tool says enough.
    let mut map = schema.as_object_mut().map(std::mem::take).unwrap_or_default();
    map.remove("title");
    map.remove("description");
    let properties = map.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut) {
        let Some(property) = property.as_object_mut() else { continue };
        // What is absent stands for `null`.
        property.retain(|key, _| !["default", "format", "minimum"].contains(&key.as_str()));
        if let Some(Value::Array(types)) = property.get("type").cloned() {
            property.extend(types.into_iter().next().map(|first| ("type".to_owned(), first)));
        }
    }
    map.insert("additionalProperties".to_owned(), false.into());
    map
}

impl Entry {
    /// Returns the tool of a name.
    pub fn named(name: &str) -> Option<&'static Entry> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// Returns the tool as a client sees it.
    pub fn tool(&self) -> Tool {
        let mut properties = Map::new();
        properties.insert("answer".to_owned(), json!({"type": "string"}));
        properties.insert("left_out".to_owned(), json!({"type": "integer"}));
        properties.insert("cursor".to_owned(), json!({"type": "string"}));
        for (key, kind) in self.lists {
            properties.insert((*key).to_owned(), json!({"type": "array", "items": kind.schema()}));
        }
        for (key, kind) in self.objects {
            properties.insert((*key).to_owned(), kind.schema());
        }
        let output = json!({"type": "object", "properties": properties, "required": ["answer"]});
        let output = output.as_object().cloned().unwrap_or_default();
        let annotations = ToolAnnotations::with_title(self.title)
            .read_only(self.run.is_some())
            .destructive(false)
            .idempotent(true)
            .open_world(self.run.is_none());
        Tool::new(self.name, self.about, Arc::new((self.input)()))
            .with_title(self.title)
            .with_raw_output_schema(Arc::new(output))
            .with_annotations(annotations)
    }

    /// Checks that a tool has all arguments it is given.
    ///
    /// # Errors
    /// It has not; the words say which it has.
    pub fn check(&self, arguments: &JsonObject) -> Result<(), String> {
        let schema = (self.input)();
        let known = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        match arguments.keys().find(|key| !known.contains_key(*key)) {
            None => Ok(()),
            Some(key) => {
                let known: Vec<&str> = known.keys().map(String::as_str).collect();
                Err(format!("{} has no argument {key:?}; it has {}", self.name, known.join(", ")))
            }
        }
    }
}

/// Returns the answer of `load`, with files from a place on.
pub fn loaded(data: &Data, from: usize) -> Answer {
    use pathlight_base::format::{code, counted, harmless};
    let traces = |group: u8| {
        let sessions = data.pool.sessions().iter();
        sessions.flat_map(|session| session.set.traces()).filter(|trace| trace.id.group == group).count()
            as u64
    };
    let [set, baseline] = [crate::data::SET, crate::data::BASELINE].map(traces);
    let mut lead = counted(set, "trace");
    if data.has_baseline {
        lead += &format!(", and {} of a baseline", counted(baseline, "trace"));
    }
    lead += &format!(", from {}", counted(data.files.len() as u64, "file"));
    let files = data.files.iter().map(|file| {
        let mut text = format!(
            "- {}: {}, {}, {}",
            code(&file.name),
            if file.format.is_empty() { "unknown format" } else { &file.format },
            counted(file.traces, "trace"),
            counted(file.spans, "span")
        );
        for problem in &file.problems {
            text += &format!("; {} {}", problem.count, harmless(problem.kind.explain()));
        }
        (text, pathlight_view::json::records::file(file))
    });
    let mut answer = Answer::of(format!("{lead}."), from)
        .with("traces", set)
        .with("baseline_traces", baseline)
        .each("files", files);
    answer.next = "Next: overview, findings; compare with a baseline.".to_owned();
    answer
}
