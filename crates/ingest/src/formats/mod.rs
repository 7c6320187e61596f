//! One file for each format: what its spans look like, and how they are distinguished from others.

pub mod columns;
pub(crate) mod foreign;
pub(crate) mod jaeger;
pub(crate) mod jaeger_fast;
mod links;
mod names;
pub(crate) mod next;
mod otel;
pub(crate) mod otlp;
pub(crate) mod otlp_protobuf;
mod parent_choice;
pub(crate) mod rows;
pub(crate) mod saved_report;
pub(crate) mod stdout;
pub(crate) mod zipkin;

pub(crate) use links::LinkList;
pub(crate) use names::{FORMATS, Format};
pub(crate) use parent_choice::ParentChoice;
