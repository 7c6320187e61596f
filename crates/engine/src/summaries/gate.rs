//! Rules that a candidate must keep against a baseline, and what breaks them (`docs/definitions/summary.md` section 7).

use super::by_weight::{RootTimes, Times};
use super::{Lacks, Statistic, Summary};
use crate::endpoints::summed::SummedEndpoints;
use pathlight_base::statistics::{Weights, false_discovery, fisher_p, normal_p};
use pathlight_trace::Endpoint;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Fewer values on a side are not judged, unless a rule says so.
const LEAST: u64 = 30;
/// At most this share of the regressions reported is expected to be chance. Where nothing changed it is also how often a
/// check finds a difference: a job that runs a hundred times a day would fail for nothing five times at 5 %.
const FALSE_DISCOVERIES: f64 = 0.01;

/// A number that a rule limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measured {
    /// The latency of the requests of each root endpoint.
    Latency,
    /// The self time of each endpoint on the critical paths of each root endpoint's requests.
    EndpointSelf,
    /// The share of requests with an error, of each root endpoint.
    Errors,
}

/// A rule, as text `p95>10%`, `endpoint self p95>20% n>=30` or `errors>1%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateRule {
    /// The number that the rule limits.
    pub measured: Measured,
    /// Which number of it; unused for errors.
    pub statistic: Statistic,
    /// It is broken by growth of more than this share of the baseline (of errors: of the requests).
    pub limit: f64,
    /// Fewer values on either side are not judged.
    pub least: u64,
}

/// One comparison that a rule asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct GateResult {
    /// The rule.
    pub rule: GateRule,
    /// The root endpoint of the requests.
    pub root: Endpoint,
    /// The endpoint, if the rule is about endpoints.
    pub endpoint: Option<Endpoint>,
    /// Values of the baseline and of the candidate.
    pub n: [u64; 2],
    /// Their effective numbers: below `n` where they have weights that differ.
    pub effective: [f64; 2],
    /// The number before and after: microseconds, or a share from 0 to 1.
    pub values: [f64; 2],
    /// How likely growth this large is by chance.
    pub p: f64,
    /// It grew by more than the rule allows, and by more than noise.
    pub is_broken: bool,
}

impl GateResult {
    /// Returns the growth as a share of the baseline; of errors in the share of requests.
    pub fn growth(&self) -> f64 {
        let [before, after] = self.values;
        match self.rule.measured {
            Measured::Errors => after - before,
            _ if before == after => 0.0,
            _ => (after - before) / before,
        }
    }
}

impl FromStr for GateRule {
    type Err = String;

    fn from_str(text: &str) -> Result<GateRule, String> {
        let wrong = || {
            format!(
                "{text:?} is no rule: write `p95>10%`, `mean>5% n>=100`, `endpoint self p95>20%` or `errors>1%`"
            )
        };
        let mut least = LEAST;
        let mut words: Vec<&str> = text.split_whitespace().collect();
        if let Some(number) = words.last().and_then(|word| word.strip_prefix("n>=")) {
            least = number.parse().map_err(|_| wrong())?;
            words.pop();
        }
        let (measured, rest) = match words.as_slice() {
            ["endpoint", "self", rest] => (Measured::EndpointSelf, *rest),
            ["latency", rest] | [rest] => (Measured::Latency, *rest),
            _ => return Err(wrong()),
        };
        let (name, limit) = rest.split_once('>').ok_or_else(wrong)?;
        let limit: f64 = limit.strip_suffix('%').and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
        if !(limit.is_finite() && limit >= 0.0) {
            return Err(wrong());
        }
        let (measured, statistic) = match (name, measured) {
            ("errors", Measured::Latency) => (Measured::Errors, Statistic::Mean),
            _ => (measured, name.parse().map_err(|()| wrong())?),
        };
        Ok(GateRule { measured, statistic, limit: limit / 100.0, least: least.max(2) })
    }
}

impl fmt::Display for GateRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.measured {
            Measured::Latency => write!(f, "{}", self.statistic)?,
            Measured::EndpointSelf => write!(f, "endpoint self {}", self.statistic)?,
            Measured::Errors => write!(f, "errors")?,
        }
        // Rounded, as 100 times 0.07 is 7.000000000000001.
        write!(f, ">{}%", (1e8 * self.limit).round() / 1e6)?;
        if self.least == LEAST { Ok(()) } else { write!(f, " n>={}", self.least) }
    }
}

impl GateRule {
    fn judge(
        &self,
        root: &Endpoint,
        endpoint: Option<&Endpoint>,
        weights: [Weights; 2],
        test: impl FnOnce() -> ([f64; 2], f64),
    ) -> Option<GateResult> {
        let enough = self.least.max(self.statistic.least()) as f64;
        let (n, effective) = (weights.map(|of| of.seen), weights.map(|of| of.effective()));
        if effective.iter().any(|&effective| effective < enough) {
            return None;
        }
        let (values, p) = test();
        let (root, endpoint) = (root.clone(), endpoint.cloned());
        Some(GateResult { rule: *self, root, endpoint, n, effective, values, p, is_broken: false })
    }

    fn judge_times(
        &self,
        root: &Endpoint,
        endpoint: Option<&Endpoint>,
        [a, b]: [Times; 2],
    ) -> Option<GateResult> {
        self.judge(root, endpoint, [a.weights(), b.weights()], || match self.statistic.p() {
            None => {
                let [a, b] = [&a, &b].map(|times| self.statistic.of(times));
                let (change, error) = (b.value - a.value, a.error.hypot(b.error));
                let p = if change <= 0.0 {
                    1.0
                } else if error > 0.0 {
                    normal_p(change / error) / 2.0
                } else {
                    0.0
                };
                ([a.value, b.value], p)
            }
            Some(quantile) => {
                let [of_a, of_b] = Times::above([&a, &b], quantile);
                let values = [a, b].map(|times| times.quantile(quantile).0);
                (values, fisher_p(of_b.0, of_b.1, of_a.0, of_a.1))
            }
        })
    }

    fn judge_root(&self, root: &Endpoint, [a, b]: [RootTimes; 2]) -> Option<GateResult> {
        if self.measured != Measured::Errors {
            return self.judge_times(root, None, [a.latency(), b.latency()]);
        }
        self.judge(root, None, [a.weights(), b.weights()], || {
            let [of_a, of_b] = [a, b].map(|side| side.weights().effective_counts(&side.failed()));
            let values = [a, b].map(|side| side.weights().share(&side.failed()));
            (values, fisher_p(of_b.0, of_b.1, of_a.0, of_a.1))
        })
    }

    fn judge_endpoints(
        &self,
        root: &Endpoint,
        [a, b]: [RootTimes; 2],
        [of_a, of_b]: [&SummedEndpoints; 2],
    ) -> Vec<GateResult> {
        let both = of_b.iter().filter_map(|(endpoint, of_b)| {
            let sides = [a.self_time(endpoint, of_a.get(endpoint)?), b.self_time(endpoint, of_b)];
            self.judge_times(root, Some(endpoint), sides)
        });
        both.collect()
    }
}

/// Judges a candidate by some rules; returns every comparison, the broken ones first, then in the order of the rules, the
/// most growth of each first (ties: by names).
///
/// # Errors
/// [`Lacks`] if a rule is about endpoints and a side lacks them.
pub fn check(baseline: &Summary, candidate: &Summary, rules: &[GateRule]) -> Result<Vec<GateResult>, Lacks> {
    let both = [baseline, candidate];
    let alike = Summary::alike(&both);
    let [baseline, candidate] = [&alike[0], &alike[1]].map(AsRef::<Summary>::as_ref);
    let mut verdicts: Vec<GateResult> = Vec::new();
    let times = |root: &Endpoint| Some([baseline.times(root)?, candidate.times(root)?]);
    for rule in rules {
        if rule.measured == Measured::EndpointSelf {
            let [a, b] = [baseline, candidate].map(|side| side.sections.endpoints.get());
            let both = in_both(a?, b?).filter_map(|(root, a, b)| Some((root, times(root)?, [a, b])));
            verdicts.extend(both.flat_map(|(root, times, sums)| rule.judge_endpoints(root, times, sums)));
        } else {
            let roots = candidate.roots.keys().chain(candidate.lesser.keys());
            verdicts.extend(roots.filter_map(|root| rule.judge_root(root, times(root)?)));
        }
    }
    let p: Vec<f64> = verdicts.iter().map(|verdict| verdict.p).collect();
    for (verdict, is_certain) in verdicts.iter_mut().zip(false_discovery(&p, FALSE_DISCOVERIES)) {
        verdict.is_broken = is_certain && verdict.growth() > verdict.rule.limit;
    }
    // Growth is a share of the latency or points of the error rate, which are not compared.
    let place = |rule: &GateRule| rules.iter().position(|other| other == rule);
    verdicts.sort_by(|x, y| {
        (y.is_broken.cmp(&x.is_broken))
            .then_with(|| place(&x.rule).cmp(&place(&y.rule)))
            .then_with(|| y.growth().total_cmp(&x.growth()))
            .then_with(|| (&x.root, &x.endpoint).cmp(&(&y.root, &y.endpoint)))
    });
    Ok(verdicts)
}

/// Returns what both sides have of each root endpoint that both have, by name.
fn in_both<'a, T>(
    a: &'a BTreeMap<Endpoint, T>,
    b: &'a BTreeMap<Endpoint, T>,
) -> impl Iterator<Item = (&'a Endpoint, &'a T, &'a T)> {
    b.iter().filter_map(|(root, b)| Some((root, a.get(root)?, b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_written() {
        for text in [
            "p95>10%",
            "mean>5% n>=100",
            "endpoint self p95>20%",
            "errors>1%",
            "endpoint self mean>0.5% n>=3",
        ] {
            assert_eq!(text.parse::<GateRule>().unwrap().to_string(), text);
        }
        assert_eq!("latency p50>7%".parse::<GateRule>(), "p50>7%".parse());
        for text in [
            "",
            "p95",
            "p95>10",
            "p95>-1%",
            "p95>x%",
            "p42>1%",
            "endpoint p95>1%",
            "self errors>1%",
            "p95>1% n>=x",
            "p95>NaN%",
        ] {
            assert!(text.parse::<GateRule>().unwrap_err().contains("is no rule"), "{text}");
        }
    }
}
