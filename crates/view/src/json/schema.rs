//! `docs/report-schema.md`: the keys of every report, from the JSON schemas that schemars derives. Natively only, for the
//! test that keeps the document up to date.

pub use super::parts::VERSION;
use crate::{
    anomalies, compare, deployments, diagnosis, endpoints, errors, findings, flame, flow, heatmap,
    instrument, queues, reading, split, summaries, trend,
};
use pathlight_engine::anomalies::paper::VectorsReport;
use pathlight_engine::diagnosis::AggregateTrace;
use pathlight_engine::flow::EvaluationReport;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const INTRODUCTION: &str = "# Reports as JSON

What the page exports as JSON and what `pathlight COMMAND --json` prints is the same text for the same input and settings. \
This document is written from the doc comments of the code by the test `report_schema`; `PATHLIGHT_BLESS=1 cargo test --test \
native report_schema` writes it again.

Every report begins with `version`, 1: it grows when a key goes or changes its meaning, so a program that knows this version \
can rely on the keys below. New keys may come without a new version.

Times are whole microseconds unless they are means or percentiles, which may have fractions. Percentiles interpolate linearly \
at (n - 1) p. Ids are canonical: lower-case hexadecimal, trace ids with 32 digits, span ids with 16; ids that are not \
hexadecimal stay as they are.

`a[].b` is key `b` of each entry of the list `a`; `a.*.b` that of each entry of the object `a`, whatever its key. Where a type \
is a link, the keys of that object stand below the report, or at the end of this document if several reports have it.
";

/// A command, and what it prints.
struct Report {
    heading: &'static str,
    schema: Value,
}

impl Report {
    fn new<T: JsonSchema>(heading: &'static str) -> Report {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        Report { heading, schema: generator.into_root_schema_for::<T>().to_value() }
    }

    /// Returns the definition that a schema refers to, with its name.
    fn definition<'a>(&'a self, schema: &'a Value) -> Option<(&'a str, &'a Value)> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        Some((name, self.schema.get("$defs")?.get(name)?))
    }
}

/// Returns the JSON schema of every report, under its heading in the document.
pub fn schemas() -> Vec<(&'static str, Value)> {
    reports().into_iter().map(|report| (report.heading, report.schema)).collect()
}

/// Returns every report, in the order of the document.
fn reports() -> Vec<Report> {
    vec![
        Report::new::<findings::json::Findings>("## findings"),
        Report::new::<heatmap::json::Summary>("## summary"),
        Report::new::<summaries::json::Show>("## show"),
        Report::new::<trend::json::TrendOf>("## trend"),
        Report::new::<summaries::check::Check>("## check --format json"),
        Report::new::<flame::json::CriticalPath>("## critical-path"),
        Report::new::<flame::json::PerRequest>("### critical-path --per-trace"),
        Report::new::<compare::json::Comparison>("## compare"),
        Report::new::<heatmap::json::Heatmap>("## heatmap"),
        Report::new::<endpoints::json::Endpoints>("## endpoints"),
        Report::new::<endpoints::json::TagSums>("### endpoints --sum"),
        Report::new::<endpoints::json::Histograms>("## histograms"),
        Report::new::<split::json::Split>("## split --tag"),
        Report::new::<split::json::Proposals>("## split, without a tag"),
        Report::new::<deployments::json::Deployments>("## deployments"),
        Report::new::<instrument::json::Instrument>("## instrument"),
        Report::new::<flow::json::Flow>("## flow"),
        Report::new::<flow::json::Parents>("### flow, without a parent"),
        Report::new::<flow::json::Variants>("### flow --variants"),
        Report::new::<EvaluationReport>("### flow --evaluate"),
        Report::new::<flow::json::WhatIf>("### flow --what-if"),
        Report::new::<flow::json::Savings>("### flow --savings"),
        Report::new::<flow::json::Parallelise>("### flow --parallelise"),
        Report::new::<flow::json::Target>("### flow --target"),
        Report::new::<flow::json::Cheapest>("### flow --target --option"),
        Report::new::<flow::json::Headroom>("### flow --headroom"),
        Report::new::<flow::json::Capacity>("### flow --capacity"),
        Report::new::<flow::json::Timeout>("### flow --timeout"),
        Report::new::<flow::json::ServiceMap>("### flow --services"),
        Report::new::<diagnosis::json::Diagnosis>("## diagnosis"),
        Report::new::<AggregateTrace>("### diagnosis --aggregate N"),
        Report::new::<diagnosis::json::Sets>("### diagnosis -a FILE... -b FILE..."),
        Report::new::<anomalies::json::Anomaly>("## anomaly"),
        Report::new::<anomalies::json::Evaluation>("### anomaly --evaluate"),
        Report::new::<anomalies::json::LabelledFaults>("### anomaly --evaluate --labels"),
        Report::new::<VectorsReport>("### anomaly --export-vectors"),
        Report::new::<errors::json::Errors>("## errors"),
        Report::new::<queues::json::Queues>("## queues"),
        Report::new::<reading::json::Inspect>("## inspect"),
    ]
}

/// An object that several keys have: it is described once.
struct Shared<'a> {
    name: &'a str,
    definition: &'a Value,
    report: &'a Report,
    /// The objects that have it, each with the key.
    sites: BTreeSet<(String, &'a str)>,
    /// Headings of the reports that have it.
    reports: BTreeSet<&'static str>,
}

/// Returns the text of `docs/report-schema.md`.
pub fn document() -> String {
    let reports = reports();
    let shared = shared(&reports);
    let mut out = INTRODUCTION.to_owned();
    for report in &reports {
        section(&mut out, report.heading, report, &report.schema, &shared);
        let only_here = |of: &&Shared| of.reports.len() == 1 && of.reports.contains(report.heading);
        for object in shared.iter().filter(only_here) {
            section(&mut out, &format!("#### {} object", object.name), report, object.definition, &shared);
        }
    }
    out.push_str("\n## Objects of several reports\n");
    for object in shared.iter().filter(|of| of.reports.len() > 1) {
        section(&mut out, &format!("### {} object", object.name), object.report, object.definition, &shared);
    }
    out
}

/// Finds the objects that stand at more than one place, by name.
fn shared(reports: &[Report]) -> Vec<Shared<'_>> {
    let mut found: BTreeMap<(&str, String), Shared> = BTreeMap::new();
    for report in reports {
        let definitions = report.schema.get("$defs").and_then(Value::as_object);
        for object in definitions.into_iter().flat_map(Map::values).chain([&report.schema]) {
            let properties = object.get("properties").and_then(Value::as_object);
            for (key, schema) in properties.into_iter().flatten() {
                for (name, definition) in referred(report, schema) {
                    let shared = found.entry((name, definition.to_string())).or_insert_with(|| Shared {
                        name,
                        definition,
                        report,
                        sites: BTreeSet::new(),
                        reports: BTreeSet::new(),
                    });
                    shared
                        .sites
                        .insert((object.get("properties").map(Value::to_string).unwrap_or_default(), key));
                    shared.reports.insert(report.heading);
                }
            }
        }
    }
    found.into_values().filter(|of| of.sites.len() > 1).collect()
}

/// Returns the objects that a schema refers to, with their names.
fn referred<'a>(report: &'a Report, schema: &'a Value) -> Vec<(&'a str, &'a Value)> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        found.extend(report.definition(schema).filter(|(_, of)| of.get("properties").is_some()));
        match schema {
            Value::Object(map) => open.extend(map.values()),
            Value::Array(list) => open.extend(list),
            _ => {}
        }
    }
    found
}

/// Returns a link to an object, if it is described once.
fn link(shared: &[Shared], name: &str, definition: &Value) -> Option<String> {
    let is_shared = shared.iter().any(|of| of.name == name && of.definition == definition);
    is_shared.then(|| format!("[{name}](#{}-object)", name.to_lowercase()))
}

fn section(out: &mut String, heading: &str, report: &Report, schema: &Value, shared: &[Shared]) {
    let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "\n{heading}\n\n{}\n\n| key | type | unit | meaning |\n|---|---|---|---|",
        prose(about)
    );
    // Keys yet to be written: the path before them, their name, their schema.
    let mut open = keys(String::new(), schema);
    open.reverse();
    while let Some((path, key, schema)) = open.pop() {
        let shape = Shape::of(report, schema, shared);
        let unit = unit(key);
        let _ =
            writeln!(out, "| `{path}{key}{}` | {} | {unit} | {} |", shape.entries, shape.kind, shape.meaning);
        let mut inner: Vec<_> = shape
            .inner
            .into_iter()
            .flat_map(|object| keys(format!("{path}{key}{}.", shape.entries), object))
            .collect();
        inner.reverse();
        open.append(&mut inner);
    }
}

/// Returns the keys of an object in the order in which they are written, each with the path before it and its schema.
fn keys(path: String, object: &Value) -> Vec<(String, &str, &Value)> {
    let Some(properties) = object.get("properties").and_then(Value::as_object) else { return Vec::new() };
    // Only `required` has the order of the fields.
    let required = object.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut names: Vec<&str> = required.filter_map(Value::as_str).collect();
    names
        .extend(properties.keys().map(String::as_str).filter(|key| !names.contains(key)).collect::<Vec<_>>());
    let known = names.into_iter().filter_map(|name| properties.get_key_value(name));
    known
        .filter(|(_, of)| of.get("const").is_none())
        .map(|(key, of)| (path.clone(), key.as_str(), of))
        .collect()
}

/// Content of the row of a key.
struct Shape<'a> {
    /// Suffix of the key where its entries are objects: `[]` of a list, `.*` of an object with keys of its own.
    entries: &'static str,
    kind: String,
    meaning: String,
    /// Objects whose keys follow.
    inner: Vec<&'a Value>,
}

impl<'a> Shape<'a> {
    fn of(report: &'a Report, schema: &'a Value, shared: &[Shared]) -> Shape<'a> {
        let mut shape = Shape { entries: "", kind: String::new(), meaning: String::new(), inner: Vec::new() };
        let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let mut choices = Vec::new();
        let mut kinds = Vec::new();
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            if let Some((name, definition)) = report.definition(schema) {
                match link(shared, name, definition) {
                    Some(link) => kinds.push(link),
                    None => open.push(definition),
                }
            } else if let Some(list) = alternatives(schema) {
                choices.extend(list.iter().filter_map(choice));
                open.extend(list.iter().rev());
            } else if let Some(items) = schema.get("items").filter(|_| schema.get("maxItems").is_none()) {
                let (name, object) = Shape::of_items(report, items, shared);
                kinds.push(format!("list of {name}"));
                kinds.extend(is_nullable(schema).then(|| "null".to_owned()));
                shape.entries = object.map_or("", |_| "[]");
                shape.inner.extend(object);
            } else if let Some(value) = schema.get("additionalProperties").filter(|of| of.is_object()) {
                let (name, object) = Shape::of_items(report, value, shared);
                kinds.push(format!("object of {name}s"));
                shape.entries = object.map_or("", |_| ".*");
                shape.inner.extend(object);
            } else {
                shape.inner.extend(schema.get("properties").map(|_| schema));
                kinds.push(plain(schema));
            }
        }
        let mut distinct: Vec<String> = Vec::new();
        for kind in kinds {
            if !distinct.contains(&kind) {
                distinct.push(kind);
            }
        }
        shape.kind = distinct.join(" or ");
        shape.meaning = prose(about);
        if !choices.is_empty() {
            shape.meaning = format!("{}<br>{}", shape.meaning, choices.join("<br>"));
        }
        shape.meaning = shape.meaning.replace('|', "\\|");
        shape
    }

    /// Returns the name of the type of the entries of a list, and the object whose keys follow.
    fn of_items(report: &'a Report, items: &'a Value, shared: &[Shared]) -> (String, Option<&'a Value>) {
        let Some((name, definition)) = report.definition(items) else { return (plain(items), None) };
        match link(shared, name, definition) {
            Some(link) => (link, None),
            None => (plain(definition), definition.get("properties").map(|_| definition)),
        }
    }
}

fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()
}

fn is_nullable(schema: &Value) -> bool {
    let types = schema.get("type").and_then(Value::as_array);
    types.is_some_and(|types| types.iter().any(|of| of == "null"))
}

/// Returns one of the values of an enum, with what it means.
fn choice(schema: &Value) -> Option<String> {
    let about = schema.get("description").and_then(Value::as_str).map(prose).unwrap_or_default();
    let value = match schema.get("const") {
        Some(value) => value.to_string(),
        None => {
            let properties: &Map<String, Value> = schema.get("properties")?.as_object()?;
            let mut tagged = properties.iter().filter_map(|(key, of)| Some((key, of.get("const")?)));
            match tagged.next() {
                Some((key, value)) => format!("{{\"{key}\": {value}}}"),
                None => format!("{{\"{}\": ...}}", properties.keys().next()?),
            }
        }
    };
    (!about.is_empty()).then(|| format!("`{value}`: {about}"))
}

/// Returns the name of a type that refers to no other.
fn plain(schema: &Value) -> String {
    let name = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let array = |schema: &Value| {
        let parts: Vec<String> = match schema.get("prefixItems").and_then(Value::as_array) {
            Some(parts) => parts.iter().map(|part| name(&part["type"])).collect(),
            None if schema.get("maxItems").is_some() => vec![name(&schema["items"]["type"]); 2],
            None => return format!("list of {}", name(&schema["items"]["type"])),
        };
        format!("[{}]", parts.join(", "))
    };
    let one = |of: &Value| if of == "array" { array(schema) } else { name(of) };
    match &schema["type"] {
        Value::Array(types) => types.iter().map(one).collect::<Vec<_>>().join(" or "),
        of => one(of),
    }
}

/// Returns the unit that a key's name says.
fn unit(key: &str) -> &'static str {
    match key {
        "band" => "%",
        "bytes" | "offset" => "bytes",
        _ if key.ends_with("_us") || key == "us" => "us",
        _ if key.ends_with("_ms") => "ms",
        _ if key.ends_with("percent") => "%",
        _ if key.ends_with("share") => "0 to 1",
        _ => "",
    }
}

/// Returns a doc comment as Markdown of one line a paragraph; lines of tables stay lines. Links of rustdoc become
/// plain text, and `None` what JSON says for it.
fn prose(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let is_row = line.starts_with('|');
        match line {
            "" => out.push_str("\n\n"),
            _ => {
                if !out.is_empty() && !out.ends_with('\n') {
                    out.push(if is_row { '\n' } else { ' ' });
                }
                out.push_str(line);
            }
        }
    }
    out.replace("[`", "`").replace("`]", "`").replace("`None`", "`null`")
}
