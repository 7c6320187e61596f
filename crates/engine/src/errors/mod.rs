//! The cost of errors: where they start and end, and the requests without them (`docs/definitions/critical-path.md` section 7).
//!
//! [`Without`] takes spans out of one request; [`ErrorsObserver`] looks at the requests of a worker, [`ErrorsPart`]
//! merges and finishes into an [`ErrorsReport`].

mod messages;
mod observe;
mod part;
pub(crate) mod query;
mod report;
pub(crate) mod summed;
mod without;

pub use messages::{ErrorMessage, ErrorMessages};
pub use observe::ErrorsObserver;
pub use part::ErrorsPart;
pub use report::{ErrorNode, ErrorRow, ErrorTotals, ErrorsReport, Untried};
pub use without::Without;
