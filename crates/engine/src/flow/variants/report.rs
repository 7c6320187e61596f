//! What comes out about the variants of an endpoint.

use super::decide::deciders;
use super::{Decider, FeatureCounts, VariantCallees, VariantKey};
use crate::flow::FlowReport;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A callee that the invocations of a variant call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VariantCall {
    /// The endpoint that is called, as `[service, operation]`.
    pub callee: Endpoint,
    /// Calls in each invocation; `null` where some invocation of the parent makes more than 3: then any number from 1 on.
    pub calls: Option<u32>,
}

/// A variant of an endpoint's flow: the invocations that make the same calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowVariant {
    /// Its invocations.
    pub invocations: u64,
    /// Whether they are in error.
    pub is_error: bool,
    /// Their calls, by name.
    pub calls: Vec<VariantCall>,
    /// What goes with it, the best first.
    pub deciders: Vec<Decider>,
    /// The flow of these invocations alone.
    pub flow: FlowReport,
}

/// The variants of the flow of a parent endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowVariantsReport {
    /// The parent.
    pub parent: Endpoint,
    /// Its invocations, those without a call too.
    pub invocations: u64,
    /// The variants with the most invocations, these first (ties: without error first, then by calls).
    pub variants: Vec<FlowVariant>,
    /// Number of variants that are not listed.
    pub others: u64,
    /// Invocations of these.
    pub other_invocations: u64,
}

impl FlowVariantsReport {
    /// Variants that are listed at most.
    pub const LISTED: usize = 8;

    /// Returns the variants that are listed: those with the most invocations, if they have at least so many.
    pub(crate) fn listed(counts: &BTreeMap<VariantKey, u64>, least: u32) -> Vec<(VariantKey, u64)> {
        let mut all: Vec<(VariantKey, u64)> = counts.iter().map(|(key, n)| (key.clone(), *n)).collect();
        all.retain(|(_, invocations)| *invocations >= u64::from(least));
        // Stable: equal ones stay by key.
        all.compact_sort_by(|a, b| b.1.cmp(&a.1));
        all.truncate(Self::LISTED);
        all
    }

    /// Returns the report of listed variants with the flow of each.
    pub(crate) fn new(
        callees: &VariantCallees,
        counts: &BTreeMap<VariantKey, u64>,
        listed: Vec<(VariantKey, u64)>,
        features: &FeatureCounts,
        flows: Vec<FlowReport>,
    ) -> FlowVariantsReport {
        let invocations: u64 = counts.values().sum();
        let other_invocations = invocations - listed.iter().map(|of| of.1).sum::<u64>();
        let others = (counts.len() - listed.len()) as u64;
        let numbers: Vec<u64> = listed.iter().map(|of| of.1).chain([other_invocations]).collect();
        let deciders = deciders(features, callees, &numbers);
        let call = |&(at, calls): &(u32, u32)| {
            let (callee, _) = callees.callees.get(at as usize)?;
            Some(VariantCall { callee: callee.clone(), calls: Some(calls).filter(|calls| *calls > 0) })
        };
        let variants =
            listed.into_iter().zip(deciders).zip(flows).map(|(((key, invocations), deciders), flow)| {
                let calls = key.calls.iter().filter_map(call).collect();
                FlowVariant { invocations, is_error: key.is_error, calls, deciders, flow }
            });
        FlowVariantsReport {
            parent: callees.parent.clone(),
            invocations,
            variants: variants.collect(),
            others,
            other_invocations,
        }
    }
}
