//! What decides which variant an invocation is: the features that nearly all invocations of it have, and few others.

use super::{Feature, FeatureCounts, FeatureOf, VariantCallees};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::fisher_p;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};

/// Deciders that are listed of one variant.
const LISTED: usize = 3;
/// Least share of the invocations of the variant that have it, less that of the others.
const LEAST_SHARE: f64 = 0.5;
/// Greatest chance that any feature looks like this though none has to do with the variant.
const CHANCE: f64 = 0.01;
/// A feature of fewer invocations is not looked at.
const LEAST_COUNT: u64 = 5;

/// Something that goes with a variant: a tag of the span or of a call, or a call in error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decider {
    /// The call that has it, as `[service, operation]`: the first one of its endpoint, or what answers it; `null`: the span itself, or
    /// its process.
    pub call: Option<Endpoint>,
    /// Key and value of the tag; `null`: the call is in error.
    pub tag: Option<(String, String)>,
    /// Invocations of the variant that have it.
    pub here: u64,
    /// Invocations of the variant that could have it: all, or those that make the call.
    pub of_here: u64,
    /// Other invocations that have it.
    pub elsewhere: u64,
    /// Other invocations that could have it.
    pub of_elsewhere: u64,
}

impl Decider {
    /// Returns the share of the invocations of the variant that have it.
    pub fn share_here(&self) -> f64 {
        self.here as f64 / self.of_here.max(1) as f64
    }

    /// Returns the share of the other invocations that have it.
    pub fn share_elsewhere(&self) -> f64 {
        self.elsewhere as f64 / self.of_elsewhere.max(1) as f64
    }

    fn difference(&self) -> f64 {
        self.share_here() - self.share_elsewhere()
    }

    /// Returns what comes first of deciders that are as good: a call in error, then what a call answers, then tags of the span.
    fn rank(&self) -> u8 {
        match (&self.call, &self.tag) {
            (Some(_), None) => 0,
            (Some(_), Some(_)) => 1,
            _ => 2,
        }
    }
}

/// Tags that say in other words that a span is in error.
fn is_error_tag(key: &str, value: &str) -> bool {
    key == "error" || matches!(key, "otel.status_code" | "status.code") && value.eq_ignore_ascii_case("error")
}

/// Returns the best deciders of every variant. `invocations` are those of each, and of those that are not listed.
pub(super) fn deciders(
    counts: &FeatureCounts,
    callees: &VariantCallees,
    invocations: &[u64],
) -> Vec<Vec<Decider>> {
    let all = |counts: &[u64]| counts.iter().sum::<u64>();
    let is_looked_at = |(feature, counts): &(&Feature, &Vec<u64>)| {
        let is_error = matches!(&feature.of, FeatureOf::Tag(key, value) if is_error_tag(key, value));
        feature.of != FeatureOf::Made && !is_error && all(counts) >= LEAST_COUNT
    };
    let features: Vec<(&Feature, &Vec<u64>)> = counts.0.iter().filter(is_looked_at).collect();
    let of_variant = |variant: usize| {
        let decider = |(feature, having): &(&Feature, &Vec<u64>)| {
            // Of a call only those who make it can say something.
            let could = match feature.call {
                Some(_) => counts.0.get(&Feature { call: feature.call, of: FeatureOf::Made })?,
                None => invocations,
            };
            let (here, of_here) = (*having.get(variant)?, *could.get(variant)?);
            let (elsewhere, of_elsewhere) = (all(having) - here, all(could).saturating_sub(of_here));
            let call = feature.call.and_then(|at| callees.callees.get(at as usize));
            let tag = match &feature.of {
                FeatureOf::Tag(key, value) => Some((key.clone(), value.clone())),
                FeatureOf::Made | FeatureOf::Error => None,
            };
            let call = call.map(|(name, _)| name.clone());
            let found = Decider { call, tag, here, of_here, elsewhere, of_elsewhere };
            // What half of the variant does not do decides nothing of it.
            let is_common = 2 * of_here > invocations.get(variant).copied().unwrap_or(0);
            let is_large = is_common && found.difference() >= LEAST_SHARE;
            let p = || fisher_p(here, of_here, elsewhere, of_elsewhere) * features.len() as f64;
            (is_large && of_elsewhere > 0 && p() <= CHANCE).then_some(found)
        };
        let mut found: Vec<Decider> = features.iter().filter_map(decider).collect();
        // Stable: equal ones stay in the order of features.
        found.compact_sort_by(|a, b| {
            b.difference().total_cmp(&a.difference()).then_with(|| a.rank().cmp(&b.rank()))
        });
        found.truncate(LISTED);
        found
    };
    (0..invocations.len().saturating_sub(1)).map(of_variant).collect()
}
