//! What went wrong, as `PathlightError` says it.

use pathlight_engine::EngineError;
use pathlight_ingest::{ErrorKind, IngestError};
use serde::Serialize;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TroubleKind {
    /// Nothing that was read is a trace.
    NoTraces,
    /// There are traces, and no request is as the options want it.
    NoRequests,
    /// An option is not known, or not written as it should be.
    BadOption,
    /// The input is a summary of traces, which does not hold what is asked.
    NotInSummary,
    /// Memory ended.
    Memory,
    /// The input itself failed, a stream or a file for instance; `cause` has its own error.
    Unreadable,
    /// The set was freed.
    Freed,
    /// Two sets that are in different workers cannot be compared.
    Elsewhere,
    /// The module broke off, or its worker ended: its sets are gone.
    Broken,
}

/// A place in an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Position {
    /// Name of the input.
    pub input: String,
    /// Byte offset in it; of what is packed, in the unpacked text.
    pub offset: u64,
}

/// An error: what, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    /// The kind.
    pub kind: TroubleKind,
    /// What is wrong, a sentence.
    pub message: String,
    /// Where in the input, if it is about a place.
    pub position: Option<Position>,
    /// What to do, a sentence.
    pub next_step: String,
}

impl Trouble {
    /// Returns an error that is about no place.
    pub fn new(kind: TroubleKind, message: impl Into<String>, next_step: &str) -> Trouble {
        Trouble { kind, message: message.into(), position: None, next_step: next_step.to_owned() }
    }

    /// Returns the error of an option that is not understood.
    pub fn option(message: impl Into<String>) -> Trouble {
        Trouble::new(
            TroubleKind::BadOption,
            message,
            "Write the option as the types and docs/javascript.md say it.",
        )
    }

    /// Returns the error of memory that ended.
    pub fn memory() -> Trouble {
        Trouble::new(
            TroubleKind::Memory,
            "Memory ended: a set takes 3.1 GiB at most.",
            "Read a sample with the option sample, or free sets that are no longer needed.",
        )
    }

    /// Returns the error of an input.
    pub fn of_input(error: &IngestError) -> Trouble {
        if error.kind == ErrorKind::Memory {
            return Trouble::memory();
        }
        Trouble {
            kind: TroubleKind::NoTraces,
            message: format!("{}: {}.", error.file, error.reason.trim_end_matches('.')),
            position: Some(Position { input: error.file.clone(), offset: error.offset }),
            next_step: error.next.clone(),
        }
    }
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Trouble {
        match error {
            EngineError::Full(_) => Trouble::memory(),
            EngineError::Summary(_) | EngineError::Lacks(_) | EngineError::NoFlow(_) => Trouble::new(
                TroubleKind::NotInSummary,
                error.to_string(),
                "Read the traces that the summary was made of.",
            ),
            EngineError::Message(_) | EngineError::Model(_) | EngineError::Ended => {
                Trouble::new(TroubleKind::Broken, error.to_string(), "Read the traces again.")
            }
        }
    }
}

impl From<serde_json::Error> for Trouble {
    fn from(error: serde_json::Error) -> Trouble {
        Trouble::option(error.to_string())
    }
}
