//! Bytes to spans.

mod report;
mod whole;

pub use report::{Ended, ErrorKind, Example, FileReport, IngestError, Problem, ProblemKind, Progress};
pub use whole::{Options, Reader};
