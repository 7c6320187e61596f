//! The format that Next.js writes into `.next/trace`: spans of one program, by the clock of its machine.

use super::Format;
use super::jaeger::{number, plain, text, trace_id};
use super::rows::decimal_id;
use crate::clock::Clock;
use crate::json::node::{Bad, Node};
use crate::needs::Needs;
use crate::sink::{Fail, Sink};
use pathlight_trace::{ProcessId, RawSpan, SpanFacts, TagSetId, TraceSet};

/// The service of spans that name none.
const SERVICE: &str = "next.js";

/// What a span must have. Its clock begins when the machine does.
pub(crate) const NEEDS: Needs = Needs {
    what: "a span of Next.js",
    keys: &[&["traceId"], &["id"], &["name"], &["timestamp"], &["duration"]],
    start: &["timestamp"],
    duration: &["duration"],
    end: &[],
    clock: Clock::Plain,
};

/// Reads a span that stands by itself.
pub(crate) fn span(sink: &mut Sink, set: &mut TraceSet, node: Node<'_>) -> Result<(), Fail> {
    sink.saw(Format::NextTrace);
    let [trace, id, parent, name, start, duration, tags] =
        node.pick(["traceId", "id", "parentId", "name", "timestamp", "duration", "tags"])?;
    let trace = trace_id(sink, set, trace, "traceId")?;
    let id = decimal_id(sink, set, id, "id")?;
    let parent = decimal_id(sink, set, parent, "parentId")?;
    let name = text(sink, name, "name")?;
    let (start, duration) = (number(start, "timestamp")?, number(duration, "duration")?);
    let (tags, facts) = tags_of(sink, set, tags)?;
    let mut flags = facts.flags();
    let Some((start_us, duration_us)) = sink.times(node.at, start, duration, &mut flags) else {
        return Ok(());
    };
    let operation = set.operation(name.as_ref().map_or("", |n| &n.text));
    let process: ProcessId = set.process(SERVICE, "", TagSetId::EMPTY);
    let span = RawSpan { id, parent, start_us, duration_us, operation, process, tags, flags };
    sink.stage_or_leave(set, node.at, trace, span)?;
    Ok(())
}

fn tags_of(
    sink: &mut Sink,
    set: &mut TraceSet,
    node: Option<Node<'_>>,
) -> Result<(TagSetId, SpanFacts), Bad> {
    let mut facts = SpanFacts::default();
    set.tags.begin();
    for member in node.into_iter().flat_map(Node::members) {
        let (key, value) = member?;
        let shown = plain(sink, value)?;
        set.tags.add(&key, &shown.text);
        facts.observe(&key, &shown.text);
    }
    Ok((set.tags.finish(), facts))
}
