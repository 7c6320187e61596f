//! Instrument next: where one more span would tell most about what requests wait for
//! (`docs/definitions/instrument.md`).
//!
//! The critical path of a request is cut into stretches by the spans that it passes through. Of what happens within a stretch
//! nothing is known but whose it is. A place is a stretch of an endpoint by the calls before and after it.

mod observe;
pub(crate) mod query;
mod report;

pub use observe::{InstrumentObserver, InstrumentPart};
pub use report::{InstrumentReport, InstrumentRow};
