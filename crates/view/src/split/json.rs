//! Times split by the values of a tag, and the tags worth splitting by.

use crate::endpoints::json::Sum;
use crate::json::parts::{Text, ends, percent, pretty, public_json};
use pathlight_base::statistics::Percentiles;
use pathlight_engine::split::{
    NotProposed, ProposalsReport, ProposedValue, Ratio, SplitOf, SplitReport, SplitValue, TagProposal,
};
use pathlight_trace::Endpoint;

public_json! {
    /// `--tag K` splits the latency of requests by the tag of their root span; with `--endpoint SERVICE:OPERATION` the
    /// exclusive time on the critical path of one endpoint, by the tag of its spans: each call is a sample, or with
    /// `--per request` all calls of a request that have one value. A tag of the span goes before one of its process.
    Split<'a>(report: &'a SplitReport) {
        /// Number of requests in the percentile range.
        requests: u64 = report.facts.requests,
        /// The percentile range as `[from, to]`, in percent.
        band: [f64; 2] = percent(report.range),
        /// The tag or process tag.
        tag: &'a str = &report.key,
        /// The time that is split: `"latency"`, or the exclusive time of an endpoint.
        of: Of<'a> = Of::new(&report.of),
        /// Meaning of one sample: `"request"` or `"call"`.
        per: &'static str = report.of.sample(),
        /// Samples without the tag.
        missing: u64 = report.missing,
        /// Whether the key has too many values to store; all samples then count as missing.
        high_cardinality: bool = report.high_cardinality,
        /// Values left out because 20 others have more samples.
        other_values: u64 = report.others.0,
        /// Samples of the values left out.
        other_samples: u64 = report.others.1,
        /// The points of a logarithmic axis at which the densities stand.
        points_us: &'a [f64] = &report.points_us,
        /// By number of samples, most first (ties by value); the first is what the others are compared with. Times are in
        /// microseconds.
        values: Vec<Value<'a>> = report.values.iter().map(Value::of).collect(),
        /// The tag whose numbers are summed (`--sum`); `null` without.
        sum_of: Option<&'a str> = report.sums.as_ref().map(|sums| sums.key.as_str()),
        /// Whether that tag has too many values to store, so that its sums are not known.
        sum_unknown: bool = report.sums.as_ref().is_some_and(|sums| sums.is_unknown),
        /// Whether it has, and each of its numbers is rounded to three digits.
        sum_rounded: bool = report.sums.as_ref().is_some_and(|sums| sums.is_rounded),
    }
}

/// `"latency"`, or the endpoint whose time is split.
#[derive(serde::Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) enum Of<'a> {
    Latency(&'static str),
    Endpoint {
        /// Service name.
        service: &'a str,
        /// Operation name.
        operation: &'a str,
    },
}

impl Of<'_> {
    fn new(of: &SplitOf) -> Of<'_> {
        match of.endpoint() {
            None => Of::Latency("latency"),
            Some(Endpoint { service, operation }) => Of::Endpoint { service, operation },
        }
    }
}

public_json! {
    /// One value of the tag.
    Value<'a>(value: &'a SplitValue) {
        /// The value.
        value: &'a str = &value.value,
        /// Number of samples.
        n: u64 = value.n,
        #[serde(flatten)]
        times: Percentiles = value.us,
        /// Its percentiles over those of the first value.
        ratio: Ratios = Ratios::of(value.ratios),
        /// The violin: densities at `points_us`, a Gaussian kernel on the logarithms (Silverman's rule), the greatest being 1.
        density: &'a [f64] = &value.density,
        /// With `--sum`: the numbers of that tag on spans with this value, which is the span's own, else of its process, else
        /// of the request's root; `null` if there are none.
        sum: Option<Sum> = value.sum.as_ref().map(Sum::of),
    }
}

public_json! {
    /// Percentiles of one value over those of the first.
    Ratios(ratios: [Ratio; 3]) {
        /// Ratio of the medians.
        p50: RatioTo = RatioTo::of(ratios[0]),
        /// Ratio of the 95th percentiles.
        p95: RatioTo = RatioTo::of(ratios[1]),
        /// Ratio of the 99th percentiles.
        p99: RatioTo = RatioTo::of(ratios[2]),
    }
}

public_json! {
    /// A percentile over that of the first value.
    RatioTo(ratio: Ratio) {
        /// The ratio; `null` where there is nothing to divide by.
        ratio: Option<f64> = ratio.ratio,
        /// Its seeded 95 % bootstrap interval over 2,000 resamples as `[low, high]`; `null` with fewer than two samples on a
        /// side.
        interval: Option<[f64; 2]> = ratio.interval.map(ends),
    }
}

public_json! {
    /// Without `--tag`: the tags whose values differ most. Samples are compared by rank, so that single slow requests do not
    /// decide.
    Proposals<'a>(report: &'a ProposalsReport) {
        /// Number of requests in the percentile range.
        requests: u64 = report.facts.requests,
        /// The percentile range as `[from, to]`, in percent.
        band: [f64; 2] = percent(report.range),
        /// The time that would be split: `"latency"`, or the exclusive time of an endpoint.
        of: Of<'a> = Of::new(&report.of),
        /// Meaning of one sample: `"request"` or `"call"`.
        per: &'static str = report.of.sample(),
        /// Requests; with `--endpoint` its calls on critical paths, or with `--per request` the requests that have one.
        samples: u64 = report.samples,
        /// By the lower end of the interval, greatest first: keys with an effect of at least 0.01 that the test of Kruskal and
        /// Wallis finds at 0.1 %.
        proposals: Vec<Proposal<'a>> = report.proposals.iter().map(Proposal::of).collect(),
        /// The other keys that samples have, by name.
        left_out: Vec<LeftOut<'a>> = report.left_out.iter().map(|(tag, why)| LeftOut::of(tag, *why)).collect(),
    }
}

public_json! {
    /// A tag whose values differ.
    Proposal<'a>(proposal: &'a TagProposal) {
        /// The tag or process tag.
        tag: &'a str = &proposal.key,
        /// Share of the variance of the ranks between the values, corrected for their number (epsilon squared), 0 to 1.
        effect: f64 = proposal.effect.share,
        /// Its 95 % interval by the delta method as `[low, high]`.
        interval: [f64; 2] = ends(proposal.effect.interval),
        /// Values with at least 20 samples, slowest median first.
        values: &'a [ProposedValue] = &proposal.values,
    }
}

public_json! {
    /// A tag that is not proposed.
    LeftOut<'a>(tag: &'a str, why: NotProposed) {
        /// The tag or process tag.
        tag: &'a str = tag,
        /// The reason.
        why: NotProposed = why,
    }
}

/// Returns the JSON of `split --tag`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn split(report: &SplitReport) -> Text {
    pretty(&Split::of(report))
}

/// Returns the JSON of `split` without a tag.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn proposals(report: &ProposalsReport) -> Text {
    pretty(&Proposals::of(report))
}
