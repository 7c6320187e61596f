//! The columnar trace set: interned names, canonical ids, normalised trees, sanitised intervals, data quality.

mod ids;
mod names;
mod span;
mod tags;

pub use ids::{SpanId, TraceId};
pub use names::{Interner, Symbol, hash_bytes};
pub use span::{Flags, ProcessId, RawSpan, SpanKind};
pub use tags::{KeyFacts, MAX_VALUES_PER_KEY, TagSetId, TagTable, hash_raw};
