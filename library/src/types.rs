//! The types of the package, written from the JSON schemas of options and reports. Natively only, for the test that keeps
//! `library/npm/reports.d.ts` up to date.

use crate::answers::{
    CapacityOptions, CheapestOptions, CompareOptions, DeploymentsOptions, EndpointsOptions, HeatmapOptions,
    NoOptions, Other, QUESTIONS, SplitOptions, TargetOptions, VariantsOptions, WhatIfOptions,
};
use crate::charts::{CHARTS, ChartOptions};
use crate::options::{ReadSettings, RequestOptions};
use crate::sets::SetFacts;
use crate::trouble::Trouble;
use pathlight_view::json::schema;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const INTRODUCTION: &str = "\
// Options and answers of the library, written from the structs that read and write them by the test
// `the_types_are_those_of_the_structs`; PATHLIGHT_BLESS=1 writes it again. docs/report-schema.md says the same of answers.

import type { TraceSet } from \"./pathlight.js\";
";

/// The heading of the report of a question in `docs/report-schema.md`, and the schema of its options.
fn of_question(name: &str) -> (&'static str, Value) {
    let requests = schema_of::<RequestOptions>(false);
    match name {
        "findings" => ("## findings", requests),
        "summary" => ("## summary", requests),
        "criticalPath" => ("## critical-path", requests),
        "perRequest" => ("### critical-path --per-trace", requests),
        "compare" => ("## compare", schema_of::<CompareOptions>(false)),
        "heatmap" => ("## heatmap", schema_of::<HeatmapOptions>(false)),
        "endpoints" => ("## endpoints", schema_of::<EndpointsOptions>(false)),
        "histograms" => ("## histograms", requests),
        "split" => ("## split --tag", schema_of::<SplitOptions>(false)),
        "proposals" => ("## split, without a tag", requests),
        "deployments" => ("## deployments", schema_of::<DeploymentsOptions>(false)),
        "instrument" => ("## instrument", requests),
        "serviceMap" => ("### flow --services", requests),
        "savings" => ("### flow --savings", requests),
        "capacity" => ("### flow --capacity", schema_of::<CapacityOptions>(false)),
        "whatIf" => ("### flow --what-if", schema_of::<WhatIfOptions>(false)),
        "target" => ("### flow --target", schema_of::<TargetOptions>(false)),
        "cheapest" => ("### flow --target --option", schema_of::<CheapestOptions>(false)),
        "variants" => ("### flow --variants", schema_of::<VariantsOptions>(false)),
        "diagnosis" => ("## diagnosis", requests),
        "anomaly" => ("## anomaly", requests),
        "errors" => ("## errors", requests),
        "queues" => ("## queues", requests),
        "inspect" => ("## inspect", schema_of::<NoOptions>(false)),
        _ => ("", Value::Null),
    }
}

fn schema_of<T: JsonSchema>(is_written: bool) -> Value {
    let settings = SchemaSettings::draft2020_12();
    let settings = if is_written { settings.for_serialize() } else { settings.for_deserialize() };
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Returns the text of `reports.d.ts`.
pub fn typescript() -> String {
    let reports: BTreeMap<&str, Value> = schema::schemas().into_iter().collect();
    let mut types = Types::default();
    for root in [schema_of::<Trouble>(true), schema_of::<SetFacts>(true)] {
        types.add(root);
    }
    for root in [schema_of::<ReadSettings>(false), schema_of::<ChartOptions>(false)] {
        types.add(root);
    }
    let mut methods = String::new();
    for question in QUESTIONS {
        let (heading, options) = of_question(question.name);
        let report = versioned(reports.get(heading).cloned().unwrap_or_default());
        let (given, answered) = (types.add(options), types.add(report));
        let parameters = match question.other {
            Other::None => format!("options?: {given}"),
            Other::Baseline => format!("options?: {given} & Against"),
            Other::Argument => format!("other?: TraceSet | null, options?: {given}"),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            methods,
            "\n  /** {} */\n  {}({parameters}): Promise<{answered}>;\n",
            question.about, question.name
        );
    }
    let mut out = INTRODUCTION.to_owned();
    let _ = write!(out, "\n/** What a set answers. */\nexport interface Questions {{{methods}}}\n");
    out.push_str(
        "\n/** A set to compare with. */\nexport interface Against {\n  /** Traces of before, or normal ones, read in the same place */\n  baseline?: TraceSet | null | undefined;\n}\n",
    );
    let charts: Vec<String> = CHARTS.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let meanings: Vec<String> =
        CHARTS.iter().map(|(name, about)| format!(" * - `{name}`: {about}\n")).collect();
    let _ = write!(
        out,
        "\n/**\n * Charts:\n{} */\nexport type Chart = {};\n",
        meanings.concat(),
        charts.join(" | ")
    );
    out + &types.declarations()
}

/// Returns the schema of a report with the key that every report begins with.
fn versioned(mut report: Value) -> Value {
    report["properties"]["version"] = json!({
        "const": schema::VERSION, "description": "It grows when a key goes or changes its meaning.",
    });
    if let Some(required) = report["required"].as_array_mut() {
        required.insert(0, "version".into());
    }
    report
}

/// Schemas by the name of their type, each once.
#[derive(Default)]
struct Types {
    /// Root and definitions of each schema: its own name, and its definitions by name.
    roots: Vec<(String, Map<String, Value>)>,
}

impl Types {
    /// Adds a schema with its definitions; returns the name of its type.
    fn add(&mut self, mut root: Value) -> String {
        let name = root["title"].as_str().unwrap_or("Unknown").to_owned();
        let mut definitions = match root.get_mut("$defs").map(Value::take) {
            Some(Value::Object(definitions)) => definitions,
            _ => Map::new(),
        };
        if let Some(object) = root.as_object_mut() {
            object.retain(|key, _| !["$defs", "$schema", "title"].contains(&key.as_str()));
        }
        definitions.insert(name.clone(), root);
        if self.roots.iter().all(|(known, _)| *known != name) {
            self.roots.push((name.clone(), definitions));
        }
        name
    }

    /// Returns the names that stand for different things in different reports, also through what they refer to.
    fn differing(&self) -> BTreeSet<String> {
        let mut texts: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        let all = || self.roots.iter().flat_map(|(_, definitions)| definitions);
        for (name, definition) in all() {
            texts.entry(name).or_default().insert(definition.to_string());
        }
        let mut found: BTreeSet<String> =
            texts.iter().filter(|(_, texts)| texts.len() > 1).map(|(name, _)| (*name).to_owned()).collect();
        loop {
            let refers = |definition: &Value| {
                let text = definition.to_string();
                found.iter().any(|name| text.contains(&format!("\"#/$defs/{name}\"")))
            };
            let more: Vec<String> = all()
                .filter(|(name, of)| {
                    !found.contains(*name) && refers(of) && self.roots.iter().all(|(root, _)| root != *name)
                })
                .map(|(name, _)| name.clone())
                .collect();
            if more.is_empty() {
                return found;
            }
            found.extend(more);
        }
    }

    fn declarations(&self) -> String {
        let differing = self.differing();
        let mut declared: BTreeMap<String, String> = BTreeMap::new();
        for (root, definitions) in &self.roots {
            // A root keeps its own name.
            let named = |name: &str| match name != root && differing.contains(name) {
                true => format!("{root}{name}"),
                false => name.to_owned(),
            };
            for (name, definition) in definitions {
                declared.entry(named(name)).or_insert_with(|| declaration(&named(name), definition, &named));
            }
        }
        declared.into_values().collect()
    }
}

/// Returns a name for a definition.
type Named<'a> = &'a dyn Fn(&str) -> String;

fn declaration(name: &str, schema: &Value, named: Named) -> String {
    let about = comment(schema, "");
    let is_object = schema.get("properties").is_some()
        && ["oneOf", "anyOf", "allOf", "additionalProperties"].iter().all(|key| {
            schema.get(key).is_none_or(|value| *key == "additionalProperties" && value.is_boolean())
        });
    match is_object {
        true => format!("\n{about}export interface {name} {}\n", object(schema, "", named)),
        false => format!("\n{about}export type {name} = {};\n", of(schema, "", named)),
    }
}

/// Returns the doc comment of a schema as one of TypeScript.
fn comment(schema: &Value, indent: &str) -> String {
    let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let about = about.replace("*/", "* /").replace("[`", "`").replace("`]", "`").replace("`None`", "`null`");
    let lines: Vec<&str> = about.lines().collect();
    match lines.as_slice() {
        [] => String::new(),
        [line] => format!("{indent}/** {line} */\n"),
        lines => {
            let lines: String =
                lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n").collect();
            format!("{indent}/**\n{lines}{indent} */\n")
        }
    }
}

fn object(schema: &Value, indent: &str, named: Named) -> String {
    let inner = format!("{indent}  ");
    let keys = schema.get("properties").and_then(Value::as_object);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut out = "{\n".to_owned();
    let all = keys.into_iter().flatten();
    // Only `required` has the order of the fields.
    let first = required.iter().filter_map(|name| keys?.get_key_value(*name));
    for (key, of_key) in first.chain(all.filter(|(key, _)| !required.contains(&key.as_str()))) {
        let optional = if required.contains(&key.as_str()) { "" } else { "?" };
        let is_plain = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let key = if is_plain { key.clone() } else { format!("\"{key}\"") };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{}{inner}{key}{optional}: {};",
            comment(of_key, &inner),
            of(of_key, &inner, named)
        );
    }
    out + indent + "}"
}

/// Returns the type of a schema.
fn of(schema: &Value, indent: &str, named: Named) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return named(name.trim_start_matches("#/$defs/"));
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    if let Some(values) = list("enum") {
        return united(values.iter().map(Value::to_string));
    }
    let mut parts = Vec::new();
    if let Some(some) = list("oneOf").or(list("anyOf")) {
        parts.push(united(some.iter().map(|one| of(one, indent, named))));
    }
    parts.extend(list("allOf").into_iter().flatten().map(|one| of(one, indent, named)));
    if schema.get("properties").is_some() {
        parts.push(object(schema, indent, named));
    } else if parts.is_empty() {
        parts.push(match &schema["type"] {
            Value::Array(types) => {
                united(types.iter().map(|one| plain(one.as_str().unwrap_or_default(), schema, indent, named)))
            }
            one => plain(one.as_str().unwrap_or_default(), schema, indent, named),
        });
    }
    match parts.as_slice() {
        [one] => one.clone(),
        several => several
            .iter()
            .map(|part| if part.contains(" | ") { format!("({part})") } else { part.clone() })
            .collect::<Vec<_>>()
            .join(" & "),
    }
}

fn united(parts: impl Iterator<Item = String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for part in parts {
        if !distinct.contains(&part) {
            distinct.push(part);
        }
    }
    distinct.join(" | ")
}

fn plain(name: &str, schema: &Value, indent: &str, named: Named) -> String {
    match name {
        "string" | "boolean" | "null" => name.to_owned(),
        "integer" | "number" => "number".to_owned(),
        "object" => match schema.get("additionalProperties").filter(|value| value.is_object()) {
            Some(value) => format!("Record<string, {}>", of(value, indent, named)),
            None if schema["additionalProperties"] == false => "Record<string, never>".to_owned(),
            None => "Record<string, unknown>".to_owned(),
        },
        "array" => {
            if let Some(parts) = schema.get("prefixItems").and_then(Value::as_array) {
                let parts: Vec<String> = parts.iter().map(|part| of(part, indent, named)).collect();
                return format!("[{}]", parts.join(", "));
            }
            let item = schema.get("items").map_or("unknown".to_owned(), |items| of(items, indent, named));
            match (
                schema.get("minItems").and_then(Value::as_u64),
                schema.get("maxItems").and_then(Value::as_u64),
            ) {
                (Some(least), Some(most)) if least == most && most <= 8 => {
                    format!("[{}]", vec![item; most as usize].join(", "))
                }
                _ if item.contains([' ', '{']) => format!("Array<{item}>"),
                _ => format!("{item}[]"),
            }
        }
        _ => "unknown".to_owned(),
    }
}
