//! From what stands where a record should be to single records: lists within it, spans within spans, tables with columns.

use super::read;
use super::record::{Record, Scope};
use super::table::{Table, Word};
use crate::context::Context;
use crate::json::node::{Bad, Node};
use crate::report::ProblemKind;
use crate::sink::{Fail, Sink};
use pathlight_trace::{SpanId, TraceSet};
use std::borrow::Cow;
use std::sync::Arc;

/// Spans within spans, at most.
const MAX_DEPTH: usize = 128;

/// Reads the records of one text by one table.
pub(crate) struct RowReader {
    pub table: Arc<Table>,
    /// The text of the record that says what is common to those after it.
    context: Vec<u8>,
}

impl RowReader {
    /// Returns a reader by this table.
    pub fn new(table: Arc<Table>) -> RowReader {
        RowReader { table, context: Vec::new() }
    }

    /// Returns whether what stands under a key holds records, or objects that do.
    pub fn is_within(&self, key: &[u8]) -> bool {
        self.table.list(Word::Within).iter().any(|within| within.as_bytes() == key)
    }

    /// Returns whether an object holds records under one of its keys.
    pub fn holds_records(&self, node: Node<'_>) -> bool {
        let is_container = |value: Node<'_>| value.is_array() || value.is_object();
        node.members().map_while(Result::ok).any(|(key, value)| self.is_within(key.as_bytes()) && is_container(value))
            // Bad syntax may hide a container behind it; walking finds out.
            || node.members().any(|member| member.is_err())
    }

    /// Takes an object; whether it was a span or held some.
    pub fn take(&mut self, cx: &mut Context<'_>, node: Node<'_>) -> Result<bool, Fail> {
        let table = Arc::clone(&self.table);
        let unit = Record::of(node)?;
        if has_any(&unit, table.list(Word::Context)) {
            self.context = node.text.to_vec();
            return Ok(false);
        }
        if has_any(&unit, table.list(Word::Skip)) {
            return Ok(false);
        }
        let context = match self.context.is_empty() {
            true => None,
            false => Some(Record::of(Node { text: &self.context, at: node.at })?),
        };
        let mut found = 0;
        each_top(&table, node, &unit, &mut |top| {
            found += 1;
            take_nested(cx, &table, top, [Some(&unit), context.as_ref()])
        })?;
        if found == 0 {
            cx.note_other(node.at, || no_record(&unit));
        }
        Ok(found > 0)
    }

    /// Looks at the records of an object whose text is cut off, if somebody asks what they are.
    pub fn look_at_part(&mut self, cx: &mut Context<'_>, node: Node<'_>) {
        // What is missing at its end is no news.
        let members = node.members().map_while(Result::ok).collect();
        let unit = Record { members, at: node.at };
        let table = Arc::clone(&self.table);
        let Some((key, list)) = unfinished(node) else { return };
        if table.list(Word::Each).contains(&key) {
            for element in list.elements().map_while(Result::ok) {
                let _ = take_nested(cx, &table, Top::Node(element), [Some(&unit), None]);
            }
        }
    }
}

/// Returns the last member of an object that is cut off, with its key: a list of which the end is missing.
fn unfinished(node: Node<'_>) -> Option<(String, Node<'_>)> {
    let mut at = 1;
    for member in node.members() {
        match member {
            Ok((_, value)) => at = (value.at - node.at) as usize + value.text.len(),
            Err(_) => break,
        }
    }
    let rest = node.text.get(at..)?;
    let key = memchr::memchr(b'"', rest)? + 1;
    let end = key + memchr::memchr(b'"', rest.get(key..)?)?;
    let list = end + memchr::memchr(b'[', rest.get(end..)?)?;
    let is_key = rest[end + 1..list].iter().all(|&byte| byte == b':' || byte.is_ascii_whitespace());
    let name = String::from_utf8_lossy(&rest[key..end]).into_owned();
    is_key.then(|| (name, Node { text: &rest[list..], at: node.at + (at + list) as u64 }))
}

/// Reads an object that stands by itself among records of other formats.
pub(crate) fn single(sink: &mut Sink, set: &mut TraceSet, table: &Table, node: Node<'_>) -> Result<(), Fail> {
    let record = Record::of(node)?;
    let scope = Scope { record: &record, around: [None; 3] };
    read::span(sink, set, table, scope, SpanId::NONE).map(|_| ())
}

fn has_any(record: &Record<'_>, keys: &[String]) -> bool {
    record.members.iter().any(|(key, _)| keys.iter().any(|known| *known == **key))
}

fn no_record(unit: &Record<'_>) -> String {
    let keys: Vec<&str> = unit.members.iter().take(6).map(|(key, _)| &**key).collect();
    match keys.is_empty() {
        true => "an empty object".into(),
        false => format!("an object with the keys {}", keys.join(", ")),
    }
}

/// A record that is nested in no other.
enum Top<'r, 'a> {
    Node(Node<'a>),
    /// A row of values, with its columns.
    Row(&'r Record<'a>),
}

/// Shows every record of a unit to `on`.
fn each_top<'a>(
    table: &Table,
    node: Node<'a>,
    unit: &Record<'a>,
    on: &mut dyn FnMut(Top<'_, 'a>) -> Result<(), Fail>,
) -> Result<(), Fail> {
    if let [names, rows, ..] = table.list(Word::Columns) {
        let (Some(names), Some(rows)) = (unit.get(names)?, unit.get(rows)?) else { return Ok(()) };
        let mut columns = Vec::new();
        for name in names.elements() {
            let name = name?;
            let [inner] = name.pick(["name"])?;
            columns.push(inner.unwrap_or(name).plain()?.text);
        }
        if table.list(Word::Columns).len() > 2 {
            return each_row_down(&columns, rows, on);
        }
        for row in rows.elements() {
            let row = row?;
            let values = row.elements().collect::<Result<Vec<_>, _>>()?;
            let record = Record { members: columns.iter().cloned().zip(values).collect(), at: row.at };
            on(Top::Row(&record))?;
        }
        return Ok(());
    }
    if table.list(Word::Each).is_empty() {
        return on(Top::Node(node));
    }
    for path in table.list(Word::Each) {
        if path == "." {
            on(Top::Node(node))?;
            continue;
        }
        let Some(list) = unit.get(path)? else { continue };
        for element in list.elements() {
            on(Top::Node(element?))?;
        }
        for member in list.members() {
            on(Top::Node(member?.1))?;
        }
    }
    Ok(())
}

/// Shows every row of a table to `on` of which each column is a list.
fn each_row_down<'a>(
    columns: &[Cow<'a, str>],
    lists: Node<'a>,
    on: &mut dyn FnMut(Top<'_, 'a>) -> Result<(), Fail>,
) -> Result<(), Fail> {
    let mut lists: Vec<_> =
        lists.elements().map(|list| list.map(Node::elements)).collect::<Result<_, _>>()?;
    loop {
        let mut members = Vec::new();
        for (name, list) in columns.iter().zip(&mut lists) {
            // A column may be shorter.
            if let Some(value) = list.next() {
                members.push((name.clone(), value?));
            }
        }
        let Some(at) = members.first().map(|(_, value)| value.at) else { return Ok(()) };
        on(Top::Row(&Record { members, at }))?;
    }
}

/// Takes a record and all that is nested in it.
fn take_nested(
    cx: &mut Context<'_>,
    table: &Table,
    top: Top<'_, '_>,
    around: [Option<&Record<'_>>; 2],
) -> Result<(), Fail> {
    let [unit, context] = around;
    let node = match top {
        Top::Node(node) => node,
        Top::Row(record) => {
            let scope = Scope { record, around: [None, unit, context] };
            return take_one(cx, table, scope, SpanId::NONE).map(|_| ());
        }
    };
    let text = match embedded(table, node)? {
        Some(text) => text,
        None => return walk(cx, table, node, around),
    };
    walk(cx, table, Node { text: text.trim().as_bytes(), at: node.at }, around)
}

/// Returns the JSON that stands as a text in a record.
fn embedded(table: &Table, node: Node<'_>) -> Result<Option<String>, Bad> {
    for path in table.list(Word::Json) {
        if let Some(inner) = Record::of(node)?.get(path)?
            && let Some(text) = inner.string()?
        {
            return Ok(Some(text.text.into_owned()));
        }
    }
    Ok(None)
}

fn walk(
    cx: &mut Context<'_>,
    table: &Table,
    node: Node<'_>,
    [unit, context]: [Option<&Record<'_>>; 2],
) -> Result<(), Fail> {
    let top = Record::of(node)?;
    let mut todo = vec![(node, SpanId::NONE, 0)];
    while let Some((node, above, depth)) = todo.pop() {
        let record = Record::of(node)?;
        let scope = Scope { record: &record, around: [Some(&top), unit, context] };
        let id = take_one(cx, table, scope, above)?;
        for path in table.list(Word::Children) {
            for child in record.get(path)?.into_iter().flat_map(Node::elements) {
                let child = child?;
                if depth + 1 >= MAX_DEPTH {
                    let problems = &mut cx.sink.problems;
                    problems.note(ProblemKind::TooDeep, child.at, || "spans nested deeper than 128".into());
                    break;
                }
                todo.push((child, id, depth + 1));
            }
        }
    }
    Ok(())
}

/// Reads a record, or looks at it, if somebody asks what it is.
fn take_one<'s, 'a: 's>(
    cx: &mut Context<'_>,
    table: &'s Table,
    scope: Scope<'s, 'a>,
    above: SpanId,
) -> Result<SpanId, Fail> {
    if let Some(judge) = &mut cx.judge {
        judge.looked(scope.record.at, read::look(table, scope)?);
        return Ok(SpanId::NONE);
    }
    let is_span = |word| Ok::<bool, Bad>(scope.first(table.list(word))?.is_some());
    if !is_span(Word::Trace)? && !is_span(Word::Span)? {
        cx.sink.note_other(scope.record.at, || no_record(scope.record));
        return Ok(SpanId::NONE);
    }
    match read::span(cx.sink, cx.set, table, scope, above) {
        // One bad span of several in an object costs itself.
        Err(Fail::Bad(bad)) if !bad.is_syntax => {
            cx.sink.problems.note(ProblemKind::WrongType, bad.at, || bad.what.clone());
            Ok(SpanId::NONE)
        }
        other => other,
    }
}
