//! A row of a block as OTLP JSON. Columns are found by name: versions of the schema differ in which there are, and in whether
//! values are alone or in lists.

use parquet::record::{Field, Row};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Attributes of resources with a column of their own in every block: column and name.
const OF_RESOURCE: [(&str, &str); 9] = [
    ("ServiceName", "service.name"),
    ("Cluster", "cluster"),
    ("Namespace", "namespace"),
    ("Pod", "pod"),
    ("Container", "container"),
    ("K8sClusterName", "k8s.cluster.name"),
    ("K8sNamespaceName", "k8s.namespace.name"),
    ("K8sPodName", "k8s.pod.name"),
    ("K8sContainerName", "k8s.container.name"),
];
/// Those of spans.
const OF_SPAN: [(&str, &str); 3] =
    [("HttpMethod", "http.method"), ("HttpUrl", "http.url"), ("HttpStatusCode", "http.status_code")];

/// Values of a row by the names of their columns; of another type or missing, they are empty.
pub(super) trait Columns {
    /// The value as it was read.
    fn value(&self, column: &str) -> Option<&Field>;

    /// A group of columns.
    fn row(&self, column: &str) -> Option<&Row> {
        self.value(column).and_then(row_of)
    }

    /// Rows of a list.
    fn rows<'a>(&'a self, column: &str) -> impl Iterator<Item = &'a Row> {
        list_of(self.value(column)).iter().filter_map(row_of)
    }

    /// A text.
    fn text(&self, column: &str) -> &str {
        match self.value(column) {
            Some(Field::Str(text)) => text,
            _ => "",
        }
    }

    /// A number that is not negative.
    fn whole(&self, column: &str) -> u64 {
        match self.value(column) {
            Some(Field::ULong(number)) => *number,
            Some(Field::Long(number)) => (*number).try_into().unwrap_or(0),
            _ => 0,
        }
    }

    /// Bytes in hexadecimal digits.
    fn id(&self, column: &str) -> String {
        let mut text = String::new();
        if let Some(Field::Bytes(bytes)) = self.value(column) {
            for byte in bytes.data() {
                // Writing to a String cannot fail.
                let _ = write!(text, "{byte:02x}");
            }
        }
        text
    }
}

impl Columns for Row {
    fn value(&self, column: &str) -> Option<&Field> {
        self.get_column_iter().find(|(name, _)| *name == column).map(|(_, value)| value)
    }
}

fn row_of(value: &Field) -> Option<&Row> {
    match value {
        Field::Group(row) => Some(row),
        _ => None,
    }
}

fn list_of(value: Option<&Field>) -> &[Field] {
    match value {
        Some(Field::ListInternal(list)) => list.elements(),
        _ => &[],
    }
}

/// Names of the attributes that a block keeps in columns without a name of their own: column and name.
#[derive(Default)]
pub(super) struct Names {
    resource: Vec<(String, String)>,
    span: Vec<(String, String)>,
    event: Vec<(String, String)>,
}

impl Names {
    /// Reads a block's `meta.json`. Columns are numbered by scope and type, in the order in which it lists them.
    pub(super) fn read(meta: &[u8]) -> serde_json::Result<Names> {
        #[derive(Deserialize)]
        struct Meta {
            #[serde(rename = "dedicatedColumns")]
            columns: Option<Vec<Column>>,
        }
        #[derive(Deserialize)]
        struct Column {
            #[serde(rename = "s")]
            scope: Option<String>,
            #[serde(rename = "n")]
            name: String,
            #[serde(rename = "t")]
            kind: Option<String>,
        }
        let meta: Meta = serde_json::from_slice(meta)?;
        let mut names = Names::default();
        for Column { scope, name, kind } in meta.columns.unwrap_or_default() {
            let list = match scope.as_deref().unwrap_or("span") {
                "resource" => &mut names.resource,
                "event" => &mut names.event,
                _ => &mut names.span,
            };
            let kind = if kind.as_deref() == Some("int") { "Int" } else { "String" };
            let number = list.iter().filter(|(column, _)| column.starts_with(kind)).count() + 1;
            list.push((format!("{kind}{number:02}"), name));
        }
        Ok(names)
    }
}

/// A trace as a document of OTLP JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Trace<'a> {
    resource_spans: Vec<ResourceSpans<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: Resource<'a>,
    scope_spans: Vec<ScopeSpans<'a>>,
}

#[derive(Serialize)]
struct Resource<'a> {
    attributes: Vec<Attribute<'a>>,
}

#[derive(Serialize)]
struct ScopeSpans<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<Scope<'a>>,
    spans: Vec<Span<'a>>,
}

#[derive(Serialize)]
struct Scope<'a> {
    name: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<Attribute<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Span<'a> {
    trace_id: &'a str,
    span_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    parent_span_id: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    trace_state: &'a str,
    name: &'a str,
    kind: u64,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<Event<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<Link<'a>>,
    status: Status<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    time_unix_nano: String,
    name: &'a str,
    attributes: Vec<Attribute<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Link<'a> {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    trace_state: &'a str,
    attributes: Vec<Attribute<'a>>,
}

#[derive(Serialize)]
struct Status<'a> {
    code: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
}

#[derive(Serialize)]
struct Attribute<'a> {
    key: &'a str,
    value: Value<'a>,
}

#[derive(Serialize)]
enum Value<'a> {
    #[serde(rename = "stringValue")]
    Text(&'a str),
    #[serde(rename = "intValue")]
    Whole(String),
    #[serde(rename = "doubleValue")]
    Number(f64),
    #[serde(rename = "boolValue")]
    Is(bool),
    #[serde(rename = "arrayValue")]
    Array { values: Vec<Value<'a>> },
    /// What has no column of its type, as Tempo has written it: OTLP JSON.
    #[serde(untagged)]
    Written(serde_json::Value),
}

impl<'a> Trace<'a> {
    /// Returns the trace of a row; `id` is its id in hexadecimal digits.
    pub(super) fn of(row: &'a Row, id: &'a str, names: &'a Names) -> Trace<'a> {
        let resource_spans = row.rows("rs").map(|spans| ResourceSpans {
            resource: Resource {
                attributes: spans
                    .row("Resource")
                    .map_or_else(Vec::new, |resource| attributes(resource, &OF_RESOURCE, &names.resource)),
            },
            scope_spans: spans.rows("ss").map(|spans| scope_spans(spans, id, names)).collect(),
        });
        Trace { resource_spans: resource_spans.collect() }
    }
}

fn scope_spans<'a>(row: &'a Row, id: &'a str, names: &'a Names) -> ScopeSpans<'a> {
    let scope = row.row("Scope").filter(|scope| !scope.text("Name").is_empty());
    ScopeSpans {
        scope: scope.map(|scope| Scope {
            name: scope.text("Name"),
            version: scope.text("Version"),
            attributes: attributes(scope, &[], &[]),
        }),
        spans: row.rows("Spans").map(|row| span(row, id, names)).collect(),
    }
}

fn span<'a>(row: &'a Row, id: &'a str, names: &'a Names) -> Span<'a> {
    let start_ns = row.whole("StartTimeUnixNano");
    Span {
        trace_id: id,
        span_id: row.id("SpanID"),
        parent_span_id: row.id("ParentSpanID"),
        trace_state: row.text("TraceState"),
        name: row.text("Name"),
        kind: row.whole("Kind"),
        start_time_unix_nano: start_ns.to_string(),
        end_time_unix_nano: start_ns.saturating_add(row.whole("DurationNano")).to_string(),
        attributes: attributes(row, &OF_SPAN, &names.span),
        events: row.rows("Events").map(|row| event(row, start_ns, names)).collect(),
        // Older blocks have bytes there, which are left out.
        links: row.rows("Links").map(link).collect(),
        status: Status { code: row.whole("StatusCode"), message: row.text("StatusMessage") },
    }
}

fn event<'a>(row: &'a Row, start_ns: u64, names: &'a Names) -> Event<'a> {
    // Older blocks have the moment itself.
    let moment_ns = match row.value("TimeUnixNano") {
        Some(_) => row.whole("TimeUnixNano"),
        // From before the span, the distance wraps around.
        None => start_ns.wrapping_add(row.whole("TimeSinceStartNano")),
    };
    Event {
        time_unix_nano: moment_ns.to_string(),
        name: row.text("Name"),
        attributes: attributes(row, &[], &names.event),
    }
}

fn link(row: &Row) -> Link<'_> {
    Link {
        trace_id: row.id("TraceID"),
        span_id: row.id("SpanID"),
        trace_state: row.text("TraceState"),
        attributes: attributes(row, &[], &[]),
    }
}

/// Returns the attributes of a row: those with a column in every block, those with one in this block, and the others.
fn attributes<'a>(
    row: &'a Row,
    fixed: &[(&str, &'static str)],
    named: &'a [(String, String)],
) -> Vec<Attribute<'a>> {
    let own = |row: &'a Row, column: &str, key: &'a str| {
        let value = value(row.value(column)?, false)?;
        let is_missing = matches!(value, Value::Text(""));
        (!is_missing).then_some(Attribute { key, value })
    };
    let fixed = fixed.iter().filter_map(|(column, key)| own(row, column, key));
    let dedicated = row.row("DedicatedAttributes").into_iter();
    let named = dedicated.flat_map(|row| named.iter().filter_map(move |(column, key)| own(row, column, key)));
    let others =
        row.rows("Attrs").filter_map(|row| Some(Attribute { key: row.text("Key"), value: any_value(row)? }));
    fixed.chain(named).chain(others).collect()
}

/// Returns the value of a row that is an attribute: that of the only column that has one.
fn any_value(row: &Row) -> Option<Value<'_>> {
    let is_array = matches!(row.value("IsArray"), Some(Field::Bool(true)));
    let typed = ["Value", "ValueInt", "ValueDouble", "ValueBool"];
    let written = ["ValueUnsupported", "ValueDropped", "ValueArray", "ValueKVList"];
    let typed = typed.iter().find_map(|column| value(row.value(column)?, is_array));
    typed
        .or_else(|| {
            written.iter().find_map(|column| serde_json::from_str(row.text(column)).ok().map(Value::Written))
        })
        .or_else(|| is_array.then(|| Value::Array { values: Vec::new() }))
}

/// Returns the value of a column, alone or in a list.
fn value(field: &Field, is_array: bool) -> Option<Value<'_>> {
    match field {
        Field::Str(text) => Some(Value::Text(text)),
        Field::Long(number) => Some(Value::Whole(number.to_string())),
        Field::Double(number) if number.is_finite() => Some(Value::Number(*number)),
        // JSON has no such number; OTLP says it as text.
        Field::Double(number) => {
            Some(Value::Written(serde_json::json!({ "doubleValue": number.to_string() })))
        }
        Field::Bool(is) => Some(Value::Is(*is)),
        Field::ListInternal(list) => {
            let mut values: Vec<Value> =
                list.elements().iter().filter_map(|field| value(field, false)).collect();
            match values.len() {
                0 => None,
                1 if !is_array => values.pop(),
                _ => Some(Value::Array { values }),
            }
        }
        _ => None,
    }
}
