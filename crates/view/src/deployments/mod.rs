//! Versions, zones, hosts and other places that are slower than the others: sentences, table and JSON.

pub(crate) mod json;
mod table;
mod words;

pub(crate) use table::changes;
pub use table::{DeploymentLine, table};
pub use words::{
    EMPTY, LIMITS, SplitProposal, headline, key_options, release, row_sentence, slower_sentence,
    split_proposal, why_none,
};
