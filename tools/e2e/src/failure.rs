//! Why a test failed, in words.

use std::fmt;

/// What a step ends with.
pub type Outcome<T = ()> = Result<T, Failure>;

/// A sentence for whoever reads the test's output.
#[derive(Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<fantoccini::error::CmdError> for Failure {
    fn from(error: fantoccini::error::CmdError) -> Self {
        Self(format!("browser: {error}"))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<png::DecodingError> for Failure {
    fn from(error: png::DecodingError) -> Self {
        Self(format!("PNG: {error}"))
    }
}

impl From<png::EncodingError> for Failure {
    fn from(error: png::EncodingError) -> Self {
        Self(format!("PNG: {error}"))
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self(format!("JSON: {error}"))
    }
}

/// Ends the step with this sentence.
pub fn fail<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Failure(text.into()))
}

/// Ends the step with this sentence unless the condition holds.
pub fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(Failure(otherwise())) }
}

/// Ends the step unless both are equal; `what` says what was compared.
pub fn same<T: PartialEq + fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    ensure(found == expected, || format!("{what}: found {found:?}, expected {expected:?}"))
}
