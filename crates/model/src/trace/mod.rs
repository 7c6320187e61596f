//! The columnar trace set: interned names, canonical ids, normalised trees, sanitised intervals, data quality.

pub mod calls;
mod clocks;
mod dump;
mod endpoint;
mod facts;
mod ids;
mod names;
mod normalise;
mod overlays;
mod portable;
mod quality;
mod reading;
mod reading_counts;
mod seal;
mod set;
mod span;
mod tags;
mod tree;

pub use dump::dump;
pub use endpoint::Endpoint;
pub use facts::{HOST_KEYS, SpanFacts};
pub use ids::{SpanId, TraceId};
pub use names::{Interner, Symbol, hash_bytes};
pub use normalise::TraceShape;
pub use overlays::PEER_KEYS;
pub use portable::Portable;
pub use quality::Quality;
pub use reading::{Overlap, PathSettings, Reading, Rule};
pub use reading_counts::{ClockPair, Found, FoundCount, ReadingCounts, ReadingObserver};
pub use seal::Sealing;
pub use set::{EndpointId, NO_ROW, Process, SetFull, TraceRow, TraceSet, UNKNOWN_SERVICE};
pub use span::{Flags, ProcessId, RawSpan, SpanKind};
pub use tags::{KeyFacts, MAX_VALUES_PER_KEY, TagSetId, TagTable};
pub use tree::{Role, Tree};
