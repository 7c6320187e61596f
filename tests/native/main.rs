//! Native tests of what several crates do together: worked examples, invariants on random traces, real traces.
//!
//! They are one program, because linking costs more than compiling them. A test that compares whole outputs with stored
//! ones is a golden case: `tests/golden/`.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, reason = "the lint sees only functions marked as tests, not their helpers")]

#[path = "../common/mod.rs"]
mod common;

mod analysis {
    mod adversaries;
    mod anomalies;
    mod auto_encoder;
    mod capacity;
    mod cheapest;
    mod compare;
    mod compare_services;
    mod defects;
    mod deployments;
    mod diagnosis;
    mod diagnosis_report;
    mod diagnosis_steps;
    mod errors;
    mod filters;
    mod findings;
    mod flame;
    mod flow;
    mod flow_queries;
    mod headroom;
    mod hits;
    mod impact;
    mod instrument;
    mod invariance;
    mod labels;
    mod long_sums;
    mod mended;
    mod parallelise;
    mod places;
    mod pool_waits;
    mod queue_verdicts;
    mod queue_what_if;
    mod reading_cases;
    mod real_traces;
    mod redundant;
    mod sampling;
    mod savings;
    mod sections;
    mod selection;
    mod service_map;
    mod split;
    mod summaries;
    mod summary_queries;
    mod tables;
    mod tag_sums;
    mod timeouts;
    mod trend;
    mod variants;
}
mod cases;
mod chart;
mod cli {
    #[cfg(feature = "blocks")]
    mod blocks;
    mod clickhouse;
    mod fetch;
    mod files;
    mod gate;
    mod inspect;
    mod listen;
    mod mcp;
    mod redaction;
    mod refused;
    mod sarif;
    mod shell;
    mod summarise;
}
mod generate;
mod hostile;
mod ingest {
    mod archives;
    mod chunks;
    mod damaged;
    mod formats;
    mod jaeger;
    mod paths;
    mod recognition;
    mod rows;
    mod saved_reports;
}
mod page {
    mod documents;
    mod packages;
    mod sinks;
    mod style;
    mod www;
}
mod library;
mod real;
mod view {
    mod report_schema;
    mod saved;
}
