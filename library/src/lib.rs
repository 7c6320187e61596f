//! Pathlight as a library for JavaScript: sets of traces, read from bytes, and the questions they answer.
//!
//! Answers are the public JSON as text, the same that `pathlight COMMAND --json` prints, so the package parses text and there
//! is no second way from a report to an object. What stands here runs natively too, where tests compare it with the binary;
//! `bindings` makes it callable, and the scripts of the package (`library/npm`) give it streams, workers and errors.

mod answers;
#[cfg(target_arch = "wasm32")]
mod bindings;
mod charts;
mod options;
mod sets;
mod trouble;
#[cfg(feature = "schema")]
pub mod types;

pub use answers::{QUESTIONS, Question, answer};
pub use charts::{CHARTS, draw};
pub use sets::{LoadedSet, SetReader};
pub use trouble::{Position, Trouble, TroubleKind};
