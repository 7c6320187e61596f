//! One file for each format: what its spans look like, and how they are told from others.

pub mod columns;
pub(crate) mod foreign;
pub(crate) mod jaeger;
pub(crate) mod jaeger_fast;
pub(crate) mod next;
mod otel;
pub(crate) mod otlp;
pub(crate) mod otlp_protobuf;
pub(crate) mod rows;
pub(crate) mod saved_report;
pub(crate) mod stdout;
pub(crate) mod zipkin;
