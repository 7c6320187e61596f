//! Summaries (`.pathlight`): their statements in words, and what views say that need spans.

pub(crate) mod check;
pub(crate) mod json;
mod words;

pub use words::{
    COMPARES_ALL, DIAGNOSIS_ONLY, FLOW_ONLY, Known, NO_AGGREGATE, NO_CHANGED_PLACES, NO_FINDINGS,
    NO_POSITIONS, NO_STRETCHES, Node, Selected, SummedEndpointRow, facts, known_requests, lacking, lacks,
    notes, together,
};
