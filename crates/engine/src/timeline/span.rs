//! One span with its tags.

use super::query::find_trace;
use crate::EngineError;
use crate::run::query::Query;
use crate::run::set_pass::{OverSet, RunningSetPass, SetPass, at_once};
use crate::run::workers::Workers;
use pathlight_base::encoding;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{TagSetId, TraceSet};
use serde::{Deserialize, Serialize};

/// Reports the tags and times of one span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Canonical trace id.
    pub trace_id: String,
    /// The span of the trace.
    pub span: SpanKey,
    /// The set of traces, see [`Selection::group`](crate::requests::Selection::group).
    pub group: u8,
}

/// Key that names a span of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SpanKey {
    /// By its index as in [`TraceReport`](crate::flame::TraceReport).
    Index(u32),
    /// By its canonical id; of several, the first.
    Id(String),
}

/// One span in full.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanReport {
    /// Canonical trace id.
    pub trace_id: String,
    /// Index of the span within the trace as in [`TraceReport`](crate::flame::TraceReport).
    pub index: u32,
    /// Canonical span id, empty if absent.
    pub span_id: String,
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Kind as exporters write it, empty if unknown.
    pub kind: String,
    /// Host, empty if unknown.
    pub host: String,
    /// Start, microseconds since the epoch.
    pub start_us: u64,
    /// Duration in microseconds.
    pub duration_us: u64,
    /// Own tags, sorted.
    pub tags: Vec<(String, String)>,
    /// Process tags, sorted.
    pub process_tags: Vec<(String, String)>,
}

impl Query for Span {
    /// `None` if no such span is loaded.
    type Report = Option<SpanReport>;

    async fn run(self, workers: Workers) -> Result<Option<SpanReport>, EngineError> {
        Ok(encoding::read(&self.run_to_bytes(workers).await?)?)
    }

    async fn run_to_bytes(self, workers: Workers) -> Result<Vec<u8>, EngineError> {
        workers.only_partial(self).await
    }
}

impl SetPass for Span {
    type Part = Option<SpanReport>;

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        at_once(move |set| encoding::write(&span(set, &self.trace_id, &self.span, self.group)))
    }
}

/// Returns what a worker tells of a span; `None` if it has none such.
fn span(set: &TraceSet, trace_id: &str, key: &SpanKey, group: u8) -> Option<SpanReport> {
    let number = find_trace(set, trace_id, group)?;
    let trace = set.traces()[number as usize];
    let row = match key {
        SpanKey::Index(index) => trace.first.checked_add(*index).filter(|&row| row < trace.end)?,
        SpanKey::Id(id) => trace.rows().find(|&row| set.span_id_text(row) == *id)?,
    };
    let process = set.process_of(row);
    let (service, operation) = set.endpoint_name(set.recorded_endpoint(row));
    let tags = |tags: TagSetId| {
        let mut tags: Vec<(String, String)> =
            set.tags.get(tags).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        tags.compact_sort();
        tags
    };
    Some(SpanReport {
        trace_id: set.trace_id_text(number),
        index: row - trace.first,
        span_id: set.span_id_text(row),
        service: service.to_owned(),
        operation: operation.to_owned(),
        kind: set.kind(row).name().to_owned(),
        host: set.names.get(process.host).to_owned(),
        start_us: set.start_us(row),
        duration_us: set.duration_us(row),
        tags: tags(set.tag_set(row)),
        process_tags: tags(process.tags),
    })
}
