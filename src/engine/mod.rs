//! One request and response protocol over the one algebra.
//!
//! A [`Request`] becomes a [`Chain`] of passes. Each [`Pass`] is run by every worker over its own traces (a [`Task`],
//! resumable in small steps) and gives a compact partial; the chain merges the partials in any order and asks for the
//! next pass or gives the [`Report`]. A browser's pool of workers, native threads and a single test use just this.

pub mod address;
mod protocol;
pub mod words;

pub use protocol::*;
