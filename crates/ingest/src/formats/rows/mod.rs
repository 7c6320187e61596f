//! Rows of anything (`docs/definitions/ingest.md` section 5): one reader for all formats that are lists of records, driven by
//! a [`Table`] that says what the fields are called.

mod builtin;
mod read;
mod record;
mod table;
mod tags;
mod values;
mod walk;

pub(crate) use builtin::{cassandra, jaeger_protobuf, tables};
pub(crate) use table::{Table, UNITS, Word};
pub(crate) use values::{decimal_id, of_text as time_of_text, said};
pub(crate) use walk::{RowReader, single};

use crate::clock::Clock;
use crate::needs::Needs;

/// What a span must have as Jaeger's queues and stores write it, which may stand beside other formats.
pub(crate) const NEEDS: Needs = Needs {
    what: "a span as Jaeger stores it",
    keys: &[&["traceId", "trace_id"], &["spanId", "span_id"], &["operationName", "operation_name"]],
    start: &["startTime", "start_time"],
    duration: &["duration"],
    end: &[],
    clock: Clock::Plain,
};

/// Returns whether an object with `spanId` or `span_id` is such a span, by its other keys.
pub(crate) fn is_key_of_span(key: &str) -> bool {
    matches!(key, "operationName" | "operation_name" | "process")
}
