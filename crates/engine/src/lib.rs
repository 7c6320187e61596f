//! Typed queries over one algebra.
//!
//! A [`Query`](queries::Query) is a plain struct that names its report: [`queries::CriticalPath`] gives a
//! [`CriticalPathReport`](flame::CriticalPathReport) and nothing else. Every query is about a
//! [`Selection`](requests::Selection), the requests it looks at.
//!
//! Each analysis has a folder, and most have the same files in it: `observe.rs` looks at requests one by one, `report.rs`
//! is what comes out, `query.rs` asks for it, and `summed.rs` gives it of a `.pathlight` file.
//!
//! ```
//! use pathlight_ingest::{ReadOptions, Reader};
//! use pathlight_trace::TraceSet;
//! use pathlight_engine::queries;
//! use pathlight_engine::requests::Selection;
//! use pathlight_engine::run::Session;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let json = br#"{"data": [{
//!     "traceID": "1",
//!     "processes": {"p1": {"serviceName": "shop"}},
//!     "spans": [
//!         {"traceID": "1", "spanID": "a", "processID": "p1", "operationName": "checkout",
//!          "startTime": 1000, "duration": 100},
//!         {"traceID": "1", "spanID": "b", "processID": "p1", "operationName": "pay",
//!          "startTime": 1020, "duration": 60,
//!          "references": [{"refType": "CHILD_OF", "traceID": "1", "spanID": "a"}]}
//!     ]
//! }]}"#;
//! let mut set = TraceSet::new();
//! let mut reader = Reader::new("traces.json", ReadOptions::default());
//! reader.feed(json, &mut set)?;
//! reader.finish(&mut set);
//! set.seal()?;
//!
//! let mut session = Session::of(set);
//! let report = session.run(queries::CriticalPath { selection: Selection::default() })?;
//!
//! // The request takes 100 us, 60 of them in `pay`.
//! assert_eq!(report.facts.latency_sum_us, 100);
//! let pay = &report.nodes[1];
//! assert_eq!(report.name(pay.endpoint), ("shop", "pay"));
//! assert_eq!(pay.exclusive_us.sum, 60);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Session`](run::Session) holds the traces of one worker. With several of them, threads ([`run::native::NativePool`]) or workers of a page
//! ([`pool`]), the [`Plan`](run::Plan) of a query has each run one *pass* after the other over its own traces (a [`Task`](run::Task), resumable
//! in small steps). A pass gives a compact *partial*; the plan *merges* the partials in any order and goes on, until it
//! has the report. The report is the same for any number of workers.
//!
//! Between a page and its workers a query travels as a message ([`Query::to_message`](queries::Query::to_message)): its number and its bytes. Plans
//! over the same data share what they find out, such as the ends of percentile ranges ([`Cuts`](run::Cuts)).

pub mod anomalies;
pub mod compare;
pub mod deployments;
pub mod diagnosis;
pub mod endpoints;
pub mod errors;
pub mod findings;
pub mod flame;
pub mod flow;
pub mod heatmap;
pub mod ids;
pub mod instrument;
pub mod load;
mod names;
mod passes;
pub mod pool;
pub mod queries;
pub mod queues;
pub mod requests;
pub mod requests_list;
pub mod run;
pub mod split;
pub mod summaries;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod test_spans;
pub mod timeline;
pub mod trend;
pub mod verdict;

/// Reason why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A message between workers is not what it should be.
    #[error("a message between workers is damaged ({0}); load the files again")]
    Message(#[from] pathlight_base::encoding::Damaged),
    /// A file that is no model of a detector.
    #[error(transparent)]
    Model(#[from] anomalies::ModelError),
    /// The query is not answered by a summary, or summaries do not go together; in words.
    #[error("{0}")]
    Summary(String),
    /// A summary lacks what is asked.
    #[error(transparent)]
    Lacks(#[from] summaries::Lacks),
    /// A summary has no flow of a parent.
    #[error(transparent)]
    NoFlow(#[from] flow::NoFlow),
    /// Memory ended.
    #[error(transparent)]
    Full(#[from] pathlight_trace::SetFull),
    /// The query has its report already, or its worker ended.
    #[error("the worker that ran the query has ended; run it again")]
    Ended,
}
