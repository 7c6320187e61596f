//! How traces were sampled, as JSON.

use crate::json::parts::public_json;
use pathlight_base::statistics::Percentiles;
use pathlight_engine::requests::WeightedFacts;
use pathlight_trace::SamplingCounts;
use std::collections::BTreeMap;

public_json! {
    /// How the traces were sampled, as they say it.
    SamplingOf(counts: &SamplingCounts) {
        /// Requests that the traces stand for: the sum of their weights.
        weight: f64 = counts.weights.requests(),
        /// Effective number of traces, (sum w)^2 / sum w^2.
        effective: f64 = counts.weights.effective(),
        /// Least and greatest weight of a trace.
        weights: Option<[f64; 2]> = counts.weights.range.map(|(least, most)| [least.requests(), most.requests()]),
        /// Traces by what says their weight.
        sources: BTreeMap<&'static str, u64> =
            counts.sources.iter().map(|(source, traces)| (source.name(), *traces)).collect(),
        /// Traces of which nothing says it: their weight is 1.
        without: u64 = counts.without,
        /// Traces of which the source is no weight: theirs is 1.
        invalid: u64 = counts.invalid,
        /// Traces whose weight was capped at 2^24.
        capped: u64 = counts.capped,
        /// Traces whose root has sources that disagree.
        disagreeing: u64 = counts.disagreeing,
        /// Traces of which another span says otherwise than the root.
        varying: u64 = counts.varying,
        /// Traces of a rate limiter, which says no weight.
        rate_limited: u64 = counts.rate_limited,
    }
}

public_json! {
    /// The requests that sampled ones stand for.
    WeightedOf(facts: &WeightedFacts) {
        /// Their number: the sum of the weights of the requests in the percentile range.
        requests: f64 = facts.inside.requests(),
        /// Effective number of requests, (sum w)^2 / sum w^2.
        effective: f64 = facts.inside.effective(),
        /// Least and greatest weight.
        weights: Option<[f64; 2]> = facts.inside.range.map(|(least, most)| [least.requests(), most.requests()]),
        /// Their latencies by weight.
        latency_us: Percentiles = facts.latency_us,
        /// Whether the numbers of this report are by weight; else each request counts once in them.
        is_applied: bool = facts.is_applied,
    }
}

impl SamplingOf {
    /// Returns what traces say, if they say anything.
    pub(crate) fn of_any(counts: &SamplingCounts) -> Option<SamplingOf> {
        (!counts.sources.is_empty() || counts.rate_limited > 0).then(|| SamplingOf::of(counts))
    }
}
