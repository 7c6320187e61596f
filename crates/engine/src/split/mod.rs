//! Latency, or the time of one endpoint, by the values of a tag (`docs/definitions/critical-path.md` section 5; paper 7.4),
//! and the tags that are worth it.

mod observe;
mod proposals;
pub(crate) mod proposals_query;
pub(crate) mod query;
mod tag_values;
pub(crate) mod tag_values_query;

pub use observe::{Ratio, SplitObserver, SplitOf, SplitPart, SplitReport, SplitValue};
pub use proposals::{
    NotProposed, ProposalsObserver, ProposalsPart, ProposalsReport, ProposedValue, TagProposal,
};
pub use tag_values::{TagValueCount, TagValuesObserver, TagValuesPart, TagValuesReport};
