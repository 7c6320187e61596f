//! Single records of public JSON, for answers that hold only as many of them as there is room for.
//!
//! Keys and meanings are those of the report that a record comes from. A record leaves out what repeats its sentence, what
//! another question answers, what is not known (`null`) and empty lists; of numbers with a fraction it keeps four digits.

use super::parts::public_json;
use pathlight_engine::anomalies::{AnomalyReport, AnomalyRow};
use pathlight_engine::diagnosis::{DiagnosedEndpoint, TypePlaces};
use pathlight_engine::endpoints::ImpactReport;
use pathlight_engine::findings::{Finding, FindingsReport};
use pathlight_engine::flame::{RequestNode, RequestRow};
use pathlight_engine::flow::{CallBudget, EvaluationReport, ShareChange, TargetWay, WhatIfReport};
use pathlight_engine::queries::TypeRow;
use pathlight_engine::verdict::{ServiceChange, ServicesReport};
use pathlight_ingest::FileReport;
use serde::Serialize;
use serde_json::{Number, Value};

/// A kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordKind {
    /// One of `findings` of `findings`.
    Finding,
    /// One of `services` of `compare`.
    Service,
    /// `headline` of `compare`.
    Headline,
    /// One of `rows` of `endpoints`.
    Place,
    /// A request in a list.
    Request,
    /// One of `nodes` of a request of `critical-path --per-trace`.
    PathNode,
    /// One of `traces` of `anomaly`.
    Abnormal,
    /// What `flow --what-if` has but its lists.
    WhatIf,
    /// One of `endpoints` of `flow --what-if`.
    ShareChange,
    /// One of `single` or `together` of `flow --target`.
    Way,
    /// One of `budgets` of `flow --target`.
    Budget,
    /// One of `report` of `diagnosis`.
    Diagnosed,
    /// One of `tail.types` of `diagnosis`.
    Tail,
    /// One of `files` of `inspect`.
    File,
    /// The requests of one type.
    RequestType,
}

impl RecordKind {
    /// Returns the keys that are left out, wherever in the record they stand.
    fn without(self) -> &'static [&'static str] {
        match self {
            RecordKind::Finding => &["parts", "costs"],
            RecordKind::Service => &["places", "places_in_all"],
            RecordKind::Place => {
                &["affected", "interior", "interior_us", "root_endpoints", "saving_at_most_us"]
            }
            RecordKind::Abnormal => &[
                "after",
                "alike",
                "baseline",
                "callee",
                "calls",
                "longest_us",
                "path",
                "value",
                "start_us",
                "unexplained",
                "score",
            ],
            RecordKind::WhatIf => &["before_curve", "after_curve", "endpoints"],
            RecordKind::Diagnosed => &["types"],
            RecordKind::Tail => &["places", "places_in_all"],
            RecordKind::File => &["keep", "chunk"],
            RecordKind::Request => &["is_incomplete"],
            RecordKind::Headline
            | RecordKind::PathNode
            | RecordKind::ShareChange
            | RecordKind::Way
            | RecordKind::Budget
            | RecordKind::RequestType => &[],
        }
    }

    /// Returns a value of this kind as a record.
    fn of(self, value: &impl Serialize) -> Value {
        // Only a map whose keys are no text could not be written, and no report has one.
        let mut record = serde_json::to_value(value).unwrap_or_default();
        slim(&mut record, self.without());
        record
    }
}

/// Takes out of a value what a record does not hold.
fn slim(value: &mut Value, without: &[&str]) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                map.retain(|key, value| {
                    let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
                    !is_empty && !without.contains(&key.as_str())
                });
                open.extend(map.values_mut());
            }
            Value::Array(list) => open.extend(list),
            Value::Number(number) if number.is_f64() => {
                if let Some(rounded) = number.as_f64().and_then(rounded) {
                    *number = rounded;
                }
            }
            _ => {}
        }
    }
}

/// Returns a number with four digits, and all of those before the point.
fn rounded(number: f64) -> Option<Number> {
    if number.abs() >= 1000.0 {
        return Some(Number::from(number.round() as i64));
    }
    Number::from_f64(format!("{number:.3e}").parse().ok()?)
}

public_json! {
    /// The requests of one type.
    RequestTypeOf<'a>(row: &'a TypeRow) {
        /// Service of the root endpoint.
        service: &'a str = &row.kind.root.service,
        /// Operation of the root endpoint.
        operation: &'a str = &row.kind.root.operation,
        /// Which part of the root endpoint's requests it is; `null` if it is all of them.
        part: Option<&'a str> = Some(row.kind.part.as_str()).filter(|part| !part.is_empty()),
        /// Number of requests.
        requests: u64 = row.requests,
        /// Requests whose root span is an error.
        errors: u64 = row.errors,
        /// Their latency.
        latency_us: pathlight_base::statistics::Percentiles = row.latency_us,
    }
}

/// Returns a finding of a report.
pub fn finding(report: &FindingsReport, finding: &Finding) -> Value {
    RecordKind::Finding.of(&crate::findings::json::Finding::of(report, finding))
}

/// Returns a service of two sets.
pub fn service(report: &ServicesReport, row: &ServiceChange) -> Value {
    RecordKind::Service.of(&crate::compare::services_json::Service::of(report, row))
}

/// Returns what the verdict of two sets leads with.
pub fn headline(report: &ServicesReport) -> Value {
    RecordKind::Headline.of(&crate::compare::services_json::Leading::of(report.headline()))
}

/// Returns a place of a ranking: an endpoint, or a service. `faster` is a percentage as for `endpoints`.
pub fn place(report: &ImpactReport, place: usize, faster: f64) -> Option<Value> {
    let row = report.rows.get(place)?;
    Some(RecordKind::Place.of(&crate::endpoints::json::Row::of(report, place, row, faster)))
}

/// Returns a request in a list.
pub fn request(row: &RequestRow) -> Value {
    RecordKind::Request.of(row)
}

/// Returns a node of the critical path of a request.
pub fn path_node(node: &RequestNode) -> Value {
    RecordKind::PathNode.of(node)
}

/// Returns a judged request.
pub fn abnormal(report: &AnomalyReport, row: &AnomalyRow) -> Value {
    RecordKind::Abnormal.of(&crate::anomalies::json::Row::of(report, None, row))
}

/// Returns what a what-if does to the latency.
pub fn what_if(report: &WhatIfReport, back_test: &EvaluationReport) -> Value {
    RecordKind::WhatIf.of(&crate::flow::json::WhatIf::of(report, Some(back_test)))
}

/// Returns the share of the latency that an endpoint has before and after a what-if.
pub fn share_change(share: &ShareChange) -> Value {
    RecordKind::ShareChange.of(share)
}

/// Returns endpoints that have to be faster for a target.
pub fn way(way: &TargetWay) -> Value {
    RecordKind::Way.of(way)
}

/// Returns what the calls of an endpoint may take for a target.
pub fn budget(budget: &CallBudget) -> Value {
    RecordKind::Budget.of(budget)
}

/// Returns an endpoint of a diagnosis.
pub fn diagnosed(row: &DiagnosedEndpoint) -> Value {
    RecordKind::Diagnosed.of(row)
}

/// Returns a request type whose tail is diagnosed.
pub fn tail(kind: &TypePlaces) -> Value {
    RecordKind::Tail.of(kind)
}

/// Returns what a file holds.
pub fn file(report: &FileReport) -> Value {
    RecordKind::File.of(report)
}

/// Returns the requests of one type.
pub fn request_type(row: &TypeRow) -> Value {
    RecordKind::RequestType.of(&RequestTypeOf::of(row))
}

#[cfg(feature = "schema")]
mod schemas {
    use super::*;
    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;

    impl RecordKind {
        /// Returns the JSON schema of a record; what it refers to is within it.
        pub fn schema(self) -> Value {
            let mut schema = match self {
                RecordKind::Finding => of::<crate::findings::json::Finding>(),
                RecordKind::Service => of::<crate::compare::services_json::Service>(),
                RecordKind::Headline => of::<crate::compare::services_json::Leading>(),
                RecordKind::ShareChange => of::<ShareChange>(),
                RecordKind::Place => of::<crate::endpoints::json::Row>(),
                RecordKind::Request => of::<RequestRow>(),
                RecordKind::PathNode => of::<RequestNode>(),
                RecordKind::Abnormal => of::<crate::anomalies::json::Row>(),
                RecordKind::WhatIf => of::<crate::flow::json::WhatIf>(),
                RecordKind::Way => of::<TargetWay>(),
                RecordKind::Budget => of::<CallBudget>(),
                RecordKind::Diagnosed => of::<DiagnosedEndpoint>(),
                RecordKind::Tail => of::<TypePlaces>(),
                RecordKind::File => of::<FileReport>(),
                RecordKind::RequestType => of::<RequestTypeOf>(),
            };
            slim_schema(&mut schema, self.without());
            schema
        }
    }

    /// Returns the schema of a type, with all that it refers to in its place.
    fn of<T: JsonSchema>() -> Value {
        let mut settings = SchemaSettings::draft2020_12().for_serialize();
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.into_generator().into_root_schema_for::<T>().to_value()
    }

    /// Takes the keys out that records leave out, and says of none that it is always there. What keys mean stands in
    /// `docs/report-schema.md`.
    fn slim_schema(schema: &mut Value, without: &[&str]) {
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            let Value::Object(map) = schema else { continue };
            for key in ["required", "description", "title", "format", "minimum"] {
                if map.get(key).is_some_and(|value| !value.is_object()) {
                    map.remove(key);
                }
            }
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        properties.retain(|key, _| !without.contains(&key.as_str()));
                        open.extend(properties.values_mut());
                    }
                    (_, Value::Array(list)) => open.extend(list),
                    (_, value) => open.push(value),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_leaves_out_what_is_not_known_and_rounds_what_has_a_fraction() {
        let mut record = serde_json::json!({
            "a": null, "b": [], "c": [{"d": 1.23456, "e": null, "parts": [1]}], "f": 123_456.7, "g": 1.0e-9, "h": 12, "i": -0.12345
        });
        slim(&mut record, &["parts"]);
        let wanted =
            serde_json::json!({"c": [{"d": 1.235}], "f": 123_457, "g": 1.0e-9, "h": 12, "i": -0.1235});
        assert_eq!(record, wanted);
    }
}
