//! The timeline of one trace: its chart, the tips of its spans, the table of all of them; a request beside a normal one.

pub mod chart;
pub mod jaeger_path;
pub mod like;
pub mod messages;
pub mod nearest;
mod table;

pub use table::{
    SpanRow, Title, callee, longest_span, services, spans_csv, summary, table, tip, title, why_empty,
};
