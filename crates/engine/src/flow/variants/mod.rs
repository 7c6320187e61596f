//! The variants of an endpoint's flow: which calls its invocations make, how often each set of calls occurs, and what decides which
//! (`docs/definitions/execution-flow.md` section 8).

mod decide;
mod features;
mod key;
mod observe;
mod report;

pub use decide::Decider;
pub use features::{Feature, FeatureCounts, FeatureOf};
pub use key::{VariantCallees, VariantKey};
pub(crate) use observe::{VariantBinder, VariantCounter, VariantSample, VariantSampler, VariantStep};
pub use report::{FlowVariant, FlowVariantsReport, VariantCall};
