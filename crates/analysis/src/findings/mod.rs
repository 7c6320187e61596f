//! What is slow, where, why and for whom: candidates for one-sentence answers, tested and ranked
//! (`docs/definitions/findings.md`).
//!
//! Three passes over the requests of a selection: [`TypesPart`] has the latencies by request type, from which
//! [`TypesPart::cuts`] takes the slowest requests and the faster half of each; [`FindingsPart`] has what these spend where,
//! and what is odd about their structure; [`TagsPart`] has the tags of the types that matter. [`rank()`] makes findings of
//! them.

mod candidates;
mod part;
mod rank;
mod report;
mod structure;
mod tags;
mod types;

pub use part::{FindingsObserver, FindingsPart};
pub use rank::{rank, tag_groups};
pub use report::{Facts, Finding, FindingKind, FindingsReport, Place, SharedTag, TimeBin};
pub use tags::{TagGroup, TagsObserver, TagsPart};
pub use types::{TypeCut, TypesPart};
