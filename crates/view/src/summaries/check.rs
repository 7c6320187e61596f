//! `pathlight check --format json`: what was compared and what broke a rule.

use crate::json::parts::{Text, pretty, public_json};
use pathlight_engine::summaries::GateResult;
use pathlight_trace::Endpoint;

/// What `check` found.
pub struct Checked<'a> {
    /// Every comparison.
    pub results: &'a [GateResult],
    /// Requests of the baseline and of the candidate.
    pub requests: [u64; 2],
    /// Where requests changed most, in one sentence.
    pub explanation: String,
    /// What broke a rule and is accepted, with the reason.
    pub accepted: &'a [String],
}

impl Checked<'_> {
    fn broken(&self) -> impl Iterator<Item = &GateResult> {
        self.results.iter().filter(|result| result.is_broken)
    }
}

public_json! {
    /// Whether the candidate breaks a rule; what `--notify` sends.
    Check<'a>(checked: &'a Checked<'a>) {
        /// No rule is broken, but for what is accepted.
        passed: bool = checked.broken().next().is_none(),
        /// Requests of the baseline and of the candidate.
        requests: [u64; 2] = checked.requests,
        /// How many comparisons the rules asked for.
        comparisons: usize = checked.results.len(),
        /// Those that broke a rule.
        broken: Vec<BrokenRule<'a>> = checked.broken().map(BrokenRule::of).collect(),
        /// What broke a rule and is accepted in `.pathlight.toml`, with the reason.
        accepted: &'a [String] = checked.accepted,
        /// Where the requests of the worst root endpoint changed, in one sentence.
        explanation: &'a str = &checked.explanation,
    }
}

public_json! {
    /// A comparison that broke a rule.
    BrokenRule<'a>(result: &'a GateResult) {
        /// The rule, such as `p95>10%`.
        rule: String = result.rule.to_string(),
        /// Root endpoint of the requests.
        root: &'a Endpoint = &result.root,
        /// The endpoint, if the rule is about endpoints.
        endpoint: Option<&'a Endpoint> = result.endpoint.as_ref(),
        /// Values compared, of the baseline and of the candidate.
        n: [u64; 2] = result.n,
        /// Their effective numbers: below `n` where requests stand for unequally many.
        effective: [f64; 2] = result.effective,
        /// The number of the baseline and of the candidate: microseconds; of a rule about errors a share from 0 to 1.
        values: [f64; 2] = result.values,
        /// How much it grew, as a share of the baseline; of a rule about errors the difference of the shares.
        growth: f64 = result.growth(),
        /// How likely growth this large is by chance.
        p: f64 = result.p,
    }
}

/// Returns what `check` found as JSON.
///
/// # Errors
/// Only if serde_json refuses a value, which no result holds.
pub fn check(checked: &Checked<'_>) -> Text {
    pretty(&Check::of(checked))
}
