//! `fetch --blocks` of blocks that are written here, as the schemas vParquet4 (lists in groups) and vParquet5 (repeated groups,
//! dedicated columns in lists) have them.

use super::super::common::Scratch;
use super::fetch::{fetch_from, lines};
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::Type;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

const META: &str = r#"{"format":"vParquet4","dedicatedColumns":[
    {"s":"resource","n":"region"},{"n":"db.statement"},{"n":"retries","t":"int"},{"n":"tenant"},{"s":"event","n":"kind"}]}"#;

/// Returns the schema of a block, in which lists are repeated groups or groups with a repeated one inside.
fn schema(is_flat: bool) -> String {
    let list = |name: &str, fields: &str| {
        if is_flat {
            format!("repeated group {name} {{ {fields} }}")
        } else {
            format!(
                "required group {name} (LIST) {{ repeated group list {{ required group element {{ {fields} }} }} }}"
            )
        }
    };
    let values = |name: &str, kind: &str| {
        let (kind, note) = kind.split_once(' ').unwrap_or((kind, ""));
        if is_flat {
            format!("repeated {kind} {name} {note};")
        } else {
            format!(
                "required group {name} (LIST) {{ repeated group list {{ required {kind} element {note}; }} }}"
            )
        }
    };
    let attributes = list(
        "Attrs",
        &format!(
            "required binary Key (UTF8); required boolean IsArray; {} {} {} {} optional binary ValueUnsupported (UTF8);",
            values("Value", "binary (UTF8)"),
            values("ValueInt", "int64 (INT_64)"),
            values("ValueDouble", "double"),
            values("ValueBool", "boolean"),
        ),
    );
    let own = if is_flat { "repeated" } else { "optional" };
    let dedicated = format!(
        "required group DedicatedAttributes {{ {own} binary String01 (UTF8); {own} binary String02 (UTF8); {own} int64 Int01; }}"
    );
    let event = format!(
        "required int64 TimeSinceStartNano (UINT_64); required binary Name (UTF8); {attributes} {dedicated}"
    );
    let link = format!(
        "required binary TraceID; required binary SpanID; required binary TraceState (UTF8); {attributes}"
    );
    let span = format!(
        "required binary SpanID; required binary ParentSpanID; required int32 NestedSetLeft; required binary Name (UTF8);
         required int64 Kind; required binary TraceState (UTF8); required int64 StartTimeUnixNano (UINT_64);
         required int64 DurationNano (UINT_64); required int64 StatusCode; required binary StatusMessage (UTF8);
         {attributes} {} {} optional binary HttpMethod (UTF8); optional binary HttpUrl (UTF8);
         optional int64 HttpStatusCode; {dedicated}",
        list("Events", &event),
        list("Links", &link),
    );
    let scope = format!(
        "required group Scope {{ required binary Name (UTF8); required binary Version (UTF8); {attributes} }}"
    );
    let resource = format!(
        "required group Resource {{ required binary ServiceName (UTF8); optional binary K8sPodName (UTF8); {attributes} {dedicated} }}"
    );
    let scopes = list("ss", &format!("{scope} {} required int32 SpanCount;", list("Spans", &span)));
    format!(
        "message Trace {{ required binary TraceID; required int64 StartTimeUnixNano (UINT_64); required binary RootSpanName (UTF8); {} }}",
        list("rs", &format!("{resource} {scopes}"))
    )
}

/// Values of a column with their levels: how deep they are defined, and which list they go on with.
#[derive(Default)]
struct Column {
    values: Vec<Value>,
    defined: Vec<i16>,
    repeated: Vec<i16>,
}

/// Takes rows of JSON apart into columns. Ids are hexadecimal there; what a row lacks is empty.
#[derive(Default)]
struct Columns(BTreeMap<String, Column>);

impl Columns {
    /// Puts the value of a field; `defined` and `repeated` are the levels of what it stands in, `depth` that of its lists.
    fn put(&mut self, field: &Type, value: &Value, path: &str, (defined, repeated, depth): (i16, i16, i16)) {
        let path = format!("{path}{}", field.name());
        match field.get_basic_info().repetition() {
            Repetition::REQUIRED => self.put_one(field, value, &path, (defined, repeated, depth)),
            Repetition::OPTIONAL if value.is_null() => self.put_none(field, &path, defined, repeated),
            Repetition::OPTIONAL => self.put_one(field, value, &path, (defined + 1, repeated, depth)),
            Repetition::REPEATED => {
                let items = value.as_array().cloned().unwrap_or_default();
                if items.is_empty() {
                    self.put_none(field, &path, defined, repeated);
                }
                for (number, item) in items.iter().enumerate() {
                    let repeated = if number == 0 { repeated } else { depth + 1 };
                    self.put_one(field, item, &path, (defined + 1, repeated, depth + 1));
                }
            }
        }
    }

    fn put_one(&mut self, field: &Type, value: &Value, path: &str, levels: (i16, i16, i16)) {
        if field.is_primitive() {
            let column = self.0.entry(path.to_owned()).or_default();
            column.values.push(value.clone());
            column.defined.push(levels.0);
            column.repeated.push(levels.1);
            return;
        }
        let is_list = field.get_basic_info().converted_type() == ConvertedType::LIST;
        for child in field.get_fields() {
            let wrapped = |items: &Vec<Value>| items.iter().map(|item| json!({ "element": item })).collect();
            let of_child =
                if is_list { value.as_array().map(wrapped) } else { value.get(child.name()).cloned() };
            self.put(child, &of_child.unwrap_or_default(), &format!("{path}."), levels);
        }
    }

    fn put_none(&mut self, field: &Type, path: &str, defined: i16, repeated: i16) {
        if field.is_primitive() {
            let column = self.0.entry(path.to_owned()).or_default();
            column.defined.push(defined);
            column.repeated.push(repeated);
            return;
        }
        for child in field.get_fields() {
            self.put_none(child, &format!("{path}.{}", child.name()), defined, repeated);
        }
    }
}

fn write_typed<T: DataType>(
    writer: &mut SerializedColumnWriter,
    column: &Column,
    value: impl Fn(&Value) -> T::T,
) {
    let values: Vec<T::T> = column.values.iter().map(value).collect();
    let levels = (Some(column.defined.as_slice()), Some(column.repeated.as_slice()));
    writer.typed::<T>().write_batch(&values, levels.0, levels.1).unwrap();
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// Writes a file with these rows, two in a row group.
fn write(path: &Path, schema: &str, rows: &[Value]) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema.clone(), Arc::new(properties.build())).unwrap();
    for rows in rows.chunks(2) {
        let mut columns = Columns::default();
        for row in rows {
            for field in schema.get_fields() {
                columns.put(field, &row[field.name()], "", (0, 0, 0));
            }
        }
        let mut group = writer.next_row_group().unwrap();
        let paths: Vec<_> = parquet::schema::types::SchemaDescriptor::new(schema.clone()).columns().to_vec();
        for description in paths {
            let column = &columns.0[&description.path().string()];
            let mut writer = group.next_column().unwrap().unwrap();
            let is_text = description.converted_type() == ConvertedType::UTF8;
            match description.physical_type() {
                Physical::BOOLEAN => {
                    write_typed::<BoolType>(&mut writer, column, |v| v.as_bool().unwrap_or_default())
                }
                Physical::INT32 => {
                    write_typed::<Int32Type>(&mut writer, column, |v| v.as_i64().unwrap_or_default() as i32)
                }
                Physical::INT64 => {
                    write_typed::<Int64Type>(&mut writer, column, |v| v.as_i64().unwrap_or_default())
                }
                Physical::DOUBLE => {
                    write_typed::<DoubleType>(&mut writer, column, |v| v.as_f64().unwrap_or(f64::NAN))
                }
                _ => write_typed::<ByteArrayType>(&mut writer, column, |v| {
                    let text = v.as_str().unwrap_or_default();
                    ByteArray::from(if is_text { text.as_bytes().to_vec() } else { bytes(text) })
                }),
            }
            writer.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

const START_NS: u64 = 1_700_000_000_000_000_000;

fn trace_id(number: u64) -> String {
    format!("{number:032x}")
}

/// A trace of one span, in which only the service shop takes part.
fn small_row(number: u64) -> Value {
    let span = json!({
        "SpanID": format!("{number:016x}"), "ParentSpanID": "", "Name": "small", "Kind": 2, "StartTimeUnixNano": START_NS + number,
        "DurationNano": 5_000_000, "StatusCode": 0,
    });
    json!({
        "TraceID": trace_id(number), "StartTimeUnixNano": START_NS + number, "RootSpanName": "small",
        "rs": [{ "Resource": { "ServiceName": "shop" }, "ss": [{ "Spans": [span] }] }],
    })
}

fn small_trace(number: u64) -> Value {
    let start = (START_NS + number).to_string();
    let span = json!({
        "traceId": trace_id(number), "spanId": format!("{number:016x}"), "name": "small", "kind": 2, "startTimeUnixNano": start,
        "endTimeUnixNano": (START_NS + number + 5_000_000).to_string(), "attributes": [], "status": { "code": 0 },
    });
    let shop = json!({ "attributes": [{ "key": "service.name", "value": { "stringValue": "shop" } }] });
    json!({ "resourceSpans": [{ "resource": shop, "scopeSpans": [{ "spans": [span] }] }] })
}

/// A trace of two services with all that a block keeps of a span.
fn large_row(is_flat: bool) -> Value {
    let own = |value: Value| if is_flat { json!([value]) } else { value };
    let attributes = json!([
        { "Key": "text", "Value": ["a \"quoted\" word"] },
        { "Key": "whole", "ValueInt": [-9_007_199_254_740_993_i64] },
        { "Key": "part", "ValueDouble": [0.5] },
        { "Key": "none", "ValueDouble": [null] },
        { "Key": "is", "ValueBool": [true] },
        { "Key": "texts", "IsArray": true, "Value": ["a", "b"] },
        { "Key": "one", "IsArray": true, "ValueInt": [7] },
        { "Key": "empty", "IsArray": true },
        { "Key": "mixed", "ValueUnsupported": r#"{"kvlistValue":{"values":[{"key":"k","value":{"intValue":"1"}}]}}"# },
    ]);
    let root = json!({
        "SpanID": "00000000000000aa", "ParentSpanID": "", "NestedSetLeft": 1, "Name": "GET /", "Kind": 2, "TraceState": "ot=th:8",
        "StartTimeUnixNano": START_NS, "DurationNano": 40_000_000, "StatusCode": 2, "StatusMessage": "no", "Attrs": attributes,
        "HttpMethod": "GET", "HttpUrl": "/cart", "HttpStatusCode": 503,
        "DedicatedAttributes": { "String01": own(json!("SELECT 1")), "String02": own(json!("acme")), "Int01": own(json!(3)) },
        "Events": [{
            "TimeSinceStartNano": 1_000, "Name": "retry", "Attrs": [{ "Key": "n", "ValueInt": [1] }],
            "DedicatedAttributes": { "String01": own(json!("timeout")) },
        }],
        "Links": [{ "TraceID": trace_id(99), "SpanID": "00000000000000bb", "TraceState": "a=b", "Attrs": [{ "Key": "l", "Value": ["x"] }] }],
    });
    let child = json!({
        "SpanID": "00000000000000ab", "ParentSpanID": "00000000000000aa", "Name": "query", "Kind": 3, "StartTimeUnixNano": START_NS + 10_000_000,
        "DurationNano": 20_000_000,
    });
    json!({
        "TraceID": trace_id(1), "StartTimeUnixNano": START_NS, "RootSpanName": "GET /",
        "rs": [
            {
                "Resource": {
                    "ServiceName": "shop", "K8sPodName": "shop-1", "Attrs": [{ "Key": "host.name", "Value": ["h"] }],
                    "DedicatedAttributes": { "String01": own(json!("eu")) },
                },
                "ss": [{ "Scope": { "Name": "http", "Version": "1.2", "Attrs": [{ "Key": "s", "ValueBool": [false] }] }, "Spans": [root] }],
            },
            { "Resource": { "ServiceName": "stock" }, "ss": [{ "Spans": [] }, { "Spans": [child] }] },
        ],
    })
}

fn large_trace() -> Value {
    let root = json!({
        "traceId": trace_id(1), "spanId": "00000000000000aa", "traceState": "ot=th:8", "name": "GET /", "kind": 2,
        "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000040000000",
        "attributes": [
            { "key": "http.method", "value": { "stringValue": "GET" } },
            { "key": "http.url", "value": { "stringValue": "/cart" } },
            { "key": "http.status_code", "value": { "intValue": "503" } },
            { "key": "db.statement", "value": { "stringValue": "SELECT 1" } },
            { "key": "retries", "value": { "intValue": "3" } },
            { "key": "tenant", "value": { "stringValue": "acme" } },
            { "key": "text", "value": { "stringValue": "a \"quoted\" word" } },
            { "key": "whole", "value": { "intValue": "-9007199254740993" } },
            { "key": "part", "value": { "doubleValue": 0.5 } },
            { "key": "none", "value": { "doubleValue": "NaN" } },
            { "key": "is", "value": { "boolValue": true } },
            { "key": "texts", "value": { "arrayValue": { "values": [{ "stringValue": "a" }, { "stringValue": "b" }] } } },
            { "key": "one", "value": { "arrayValue": { "values": [{ "intValue": "7" }] } } },
            { "key": "empty", "value": { "arrayValue": { "values": [] } } },
            { "key": "mixed", "value": { "kvlistValue": { "values": [{ "key": "k", "value": { "intValue": "1" } }] } } },
        ],
        "events": [{
            "timeUnixNano": "1700000000000001000", "name": "retry",
            "attributes": [{ "key": "kind", "value": { "stringValue": "timeout" } }, { "key": "n", "value": { "intValue": "1" } }],
        }],
        "links": [{
            "traceId": trace_id(99), "spanId": "00000000000000bb", "traceState": "a=b",
            "attributes": [{ "key": "l", "value": { "stringValue": "x" } }],
        }],
        "status": { "code": 2, "message": "no" },
    });
    let child = json!({
        "traceId": trace_id(1), "spanId": "00000000000000ab", "parentSpanId": "00000000000000aa", "name": "query", "kind": 3,
        "startTimeUnixNano": "1700000000010000000", "endTimeUnixNano": "1700000000030000000", "attributes": [], "status": { "code": 0 },
    });
    let shop = json!({ "attributes": [
        { "key": "service.name", "value": { "stringValue": "shop" } },
        { "key": "k8s.pod.name", "value": { "stringValue": "shop-1" } },
        { "key": "region", "value": { "stringValue": "eu" } },
        { "key": "host.name", "value": { "stringValue": "h" } },
    ] });
    let stock = json!({ "attributes": [{ "key": "service.name", "value": { "stringValue": "stock" } }] });
    let http = json!({ "name": "http", "version": "1.2", "attributes": [{ "key": "s", "value": { "boolValue": false } }] });
    json!({ "resourceSpans": [
        { "resource": shop, "scopeSpans": [{ "scope": http, "spans": [root] }] },
        { "resource": stock, "scopeSpans": [{ "spans": [] }, { "spans": [child] }] },
    ] })
}

/// Writes a block into a folder below this one: a trace with everything, and two small ones.
fn block(folder: &Path, name: &str, is_flat: bool) {
    let folder = folder.join(name);
    fs::create_dir_all(&folder).unwrap();
    write(&folder.join("data.parquet"), &schema(is_flat), &[large_row(is_flat), small_row(2), small_row(3)]);
    fs::write(folder.join("meta.json"), META).unwrap();
}

fn fetch(folder: &Path, place: &str, args: &[&str]) -> (Output, i32, String) {
    let (output, status) = fetch_from(folder, ["--blocks", place], args, "");
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    (output, status, text)
}

fn parsed(lines: &[String]) -> Vec<Value> {
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn rows_of_blocks_are_otlp_json_whatever_their_lists_look_like() {
    let folder = Scratch::new("blocks");
    for is_flat in [false, true] {
        block(folder.path(), "tenant/one", is_flat);
        let (_, status, text) = fetch(folder.path(), "tenant", &["-o", "a.gz"]);
        assert_eq!((status, text.as_str()), (0, "pathlight: 3 traces of 1 block\n"), "flat: {is_flat}");
        let written = parsed(&lines(&folder.path().join("a.gz")));
        assert_eq!(written, [large_trace(), small_trace(2), small_trace(3)], "flat: {is_flat}");
    }
}

#[test]
fn attributes_in_columns_without_a_name_need_the_file_that_names_them() {
    let folder = Scratch::new("blocks-unnamed");
    block(folder.path(), "one", false);
    fs::remove_file(folder.path().join("one/meta.json")).unwrap();
    let (output, status, text) = fetch(folder.path(), "one/data.parquet", &["-o", "-"]);
    let line = String::from_utf8(output.stdout).unwrap();
    assert_eq!(status, 0, "{text}");
    assert!(text.starts_with("pathlight: no meta.json is beside one/data.parquet: "), "{text}");
    assert!(line.contains("http.status_code") && !line.contains("SELECT 1"), "{line}");
    fs::write(folder.path().join("one/meta.json"), "{").unwrap();
    let (_, status, text) = fetch(folder.path(), "one", &["-o", "-"]);
    assert!(status == 2 && text.contains("cannot read one/meta.json: EOF"), "{status} {text}");
}

#[test]
fn traces_of_a_service_or_of_the_last_hours_are_picked_out() {
    let folder = Scratch::new("blocks-some");
    block(folder.path(), "one", false);
    let (_, status, text) = fetch(folder.path(), "one", &["--service", "stock", "-o", "a.gz"]);
    assert_eq!(status, 0, "{text}");
    assert_eq!(parsed(&lines(&folder.path().join("a.gz"))), [large_trace()]);
    let since_2023 = fetch(folder.path(), "one", &["--since", "1000000h", "-o", "b.gz"]);
    assert_eq!(since_2023.2, "pathlight: 3 traces of 1 block\n");
    fs::write(folder.path().join("c.gz"), "old").unwrap();
    let (_, status, text) = fetch(folder.path(), "one", &["--since", "1h", "-o", "c.gz"]);
    assert!(status == 1 && text.contains("no trace of one is wanted: a larger --since"), "{status} {text}");
    assert_eq!(fs::read(folder.path().join("c.gz")).unwrap(), b"old", "what was there stays");
}

fn summarise(folder: &Path, args: &[&str], stdin: Stdio) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathlight"));
    let output = command.current_dir(folder).arg("summarise").args(args).stdin(stdin).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stderr
}

#[test]
fn a_summary_of_blocks_through_a_pipe_is_that_of_their_traces_and_a_copy_counts_once() {
    let folder = Scratch::new("blocks-summary");
    block(folder.path(), "tenant/one", false);
    block(folder.path(), "tenant/two", true);
    let mut fetching = Command::new(env!("CARGO_BIN_EXE_pathlight"))
        .current_dir(folder.path())
        .args(["fetch", "--blocks", "tenant", "-o", "-"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    summarise(folder.path(), &["-", "-o", "blocks.pathlight"], fetching.stdout.take().unwrap().into());
    assert!(fetching.wait().unwrap().success());
    let traces = [large_trace(), small_trace(2), small_trace(3)].map(|trace| format!("{trace}\n"));
    fs::write(folder.path().join("traces.json"), traces.concat()).unwrap();
    summarise(folder.path(), &["traces.json", "-o", "traces.pathlight"], Stdio::null());
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("blocks.pathlight") == read("traces.pathlight"), "the summaries differ");
}

#[test]
fn what_is_no_block_is_said_before_anything_is_written() {
    let folder = Scratch::new("blocks-refused");
    let refused = |place: &str| {
        let (output, status, text) = fetch(folder.path(), place, &["-o", "-"]);
        assert_eq!((status, output.stdout.len()), (2, 0), "{text}");
        text
    };
    fs::create_dir(folder.path().join("empty")).unwrap();
    assert!(refused("empty").contains("no block of Tempo is in empty: no file there is called data.parquet"));
    assert!(refused("nowhere").contains("cannot read nowhere"));
    block(folder.path(), "tenant/a", false);
    block(folder.path(), "tenant/b", false);
    let second = folder.path().join("tenant/b/data.parquet");
    write(
        &second,
        "message t { required binary TraceID; required int32 rs; }",
        &[json!({ "TraceID": "00" })],
    );
    let text = refused("tenant");
    assert!(
        text.contains("data.parquet is no block of Tempo that this program reads (vParquet2 to 5)"),
        "{text}"
    );
    let good = fs::read(folder.path().join("tenant/a/data.parquet")).unwrap();
    fs::write(&second, &good[..good.len() / 2]).unwrap();
    let text = refused("tenant");
    assert!(
        text.contains("cannot read tenant/b/data.parquet: ") && text.contains("Corrupt footer"),
        "{text}"
    );
    let (_, status, text) = fetch(folder.path(), "tenant/a", &["-o", "tenant/a/data.parquet"]);
    assert!(status == 2 && text.contains("would be overwritten"), "{status} {text}");
}

#[test]
fn damage_in_the_middle_of_a_block_is_said_in_words() {
    let folder = Scratch::new("blocks-damaged");
    block(folder.path(), "one", false);
    let path = folder.path().join("one/data.parquet");
    let good = fs::read(&path).unwrap();
    let footer = u32::from_le_bytes(good[good.len() - 8..good.len() - 4].try_into().unwrap()) as usize;
    let (mut refused, step) = (0, 151);
    for at in (4..good.len() - footer - 8).step_by(step) {
        let mut bytes = good.clone();
        bytes[at..at + 4].iter_mut().for_each(|byte| *byte = !*byte);
        fs::write(&path, bytes).unwrap();
        let (_, status, text) = fetch(folder.path(), "one", &["-o", "a.gz"]);
        assert!(!text.contains("panicked"), "at {at}: {text}");
        assert!(
            status == 0 || status == 2 && text.contains("cannot read one/data.parquet: "),
            "at {at}: {status} {text}"
        );
        assert_eq!(folder.path().join("a.gz").exists(), status == 0, "at {at}");
        let _ = fs::remove_file(folder.path().join("a.gz"));
        refused += u64::from(status == 2);
    }
    assert!(refused > 10, "{refused}");
}
