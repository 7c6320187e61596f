//! Findings, that is, what is slow, where, why and for whom: candidates for one-sentence answers, tested and ranked
//! (`docs/definitions/findings.md`).
//!
//! Three passes over the requests of a selection: [`TypeLatencies`](crate::requests::TypeLatencies) has the latencies by
//! request type, of which its cuts are the slowest requests and the faster half of each; [`FindingsPart`] has what these spend where,
//! and what is odd about their structure; [`TagsPart`] has the tags of the types that matter. [`rank()`] makes findings of
//! them. What takes longer to find comes later, as [`LateFindings`]: what-ifs, and requests unlike those of a baseline.

mod bursts;
mod candidates;
mod costs;
mod facts;
mod late_findings;
pub(crate) mod late_query;
mod outside;
mod over_time;
mod part;
mod points;
pub(crate) mod pool_calls;
mod pool_waits;
pub(crate) mod query;
mod queues;
mod rank;
mod redundant;
mod report;
mod sibling_facts;
mod siblings;
mod structure;
mod tag_rows;
mod tags;
pub(crate) mod tags_query;
pub(crate) mod work_after;

pub use facts::{
    AbnormalFacts, BesideCall, Burst, BurstsFacts, CostFacts, CostInTail, ErrorsFacts, FindingFacts, Gap,
    GrowingCalls, GrowsWith, Halved, NotInstrumentedFacts, OneAfterTheOtherFacts, OutsideRequestsFacts,
    PoolWaitsFacts, QueueFacts, ReadWithCareFacts, RedundantFacts, RetriesFacts, SharedTag, SinceWhenFacts,
    SlowTailFacts, TakesLonger, TimeoutFacts, WhoFacts, WorkAfterFacts,
};
pub use late_findings::{LateFindings, LateSubject, LateTail, Saved};
pub use late_query::ask_findings;
pub use outside::{Outside, OutsidePart, Tops};
pub use part::{FindingsObserver, FindingsPart};
pub use rank::{Before, rank, tag_groups};
pub use report::{
    Finding, FindingKind, FindingPlace, FindingPoint, FindingsReport, FollowUpTail, FollowUps, TimeBin,
};
pub use tag_rows::{FindingTag, PairsObserver, PairsPart, TagRow, TagsReport, tail_groups};
pub use tags::{TagGroup, TagsObserver, TagsPart};
