//! Numbers of a summary with their standard errors.

use super::{RootPart, Sketch};
use crate::endpoints::SummedEndpoint;
use pathlight_base::statistics::Moments;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One number of some times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Statistic {
    /// Arithmetic mean.
    Mean,
    /// Median.
    P50,
    /// 90th percentile.
    P90,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
}

/// A number and how far chance may have moved it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Values it stands on.
    pub n: u64,
    /// The number.
    pub value: f64,
    /// Standard error of the number.
    pub error: f64,
}

impl Estimate {
    pub(crate) fn of_mean(moments: Moments, n: u64) -> Estimate {
        Estimate { n, value: moments.mean(n), error: (moments.variance(n) / n.max(1) as f64).sqrt() }
    }

    fn of_quantile(sketch: &Sketch, p: f64) -> Estimate {
        let value = sketch.quantiles([p])[0];
        // Bins hide differences smaller than themselves.
        let error = sketch.quantile_error(p).max(sketch.error() * value);
        // Of many equal values the quantile has no spread, but it is no surer than the clock ticks.
        let error = error.max(sketch.tick_us() as f64 / 2.0);
        Estimate { n: sketch.n(), value, error }
    }
}

impl Statistic {
    /// All statistics.
    pub const ALL: [Statistic; 5] =
        [Statistic::Mean, Statistic::P50, Statistic::P90, Statistic::P95, Statistic::P99];

    /// Returns the share of values below it; `None` for the mean.
    pub(crate) fn p(self) -> Option<f64> {
        match self {
            Statistic::Mean => None,
            Statistic::P50 => Some(0.50),
            Statistic::P90 => Some(0.90),
            Statistic::P95 => Some(0.95),
            Statistic::P99 => Some(0.99),
        }
    }

    /// Returns the least number of values that says anything of it: ten lie beyond a percentile.
    pub fn least(self) -> u64 {
        match self {
            Statistic::Mean => 2,
            Statistic::P50 => 20,
            Statistic::P90 => 100,
            Statistic::P95 => 200,
            Statistic::P99 => 1000,
        }
    }

    fn of(self, sketch: &Sketch, moments: Moments) -> Estimate {
        match self.p() {
            None => Estimate::of_mean(moments, sketch.n()),
            Some(p) => Estimate::of_quantile(sketch, p),
        }
    }

    /// Returns the statistic of the latencies of requests.
    pub fn of_latency(self, part: &RootPart) -> Estimate {
        self.of(&part.latency, part.latency_us)
    }

    /// Returns the mean self time of an endpoint over so many requests; those without it count as 0.
    pub(crate) fn mean_self(part: &SummedEndpoint, requests: u64) -> Estimate {
        Estimate::of_mean(part.self_us, requests)
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Statistic::Mean => "mean",
            Statistic::P50 => "p50",
            Statistic::P90 => "p90",
            Statistic::P95 => "p95",
            Statistic::P99 => "p99",
        })
    }
}

impl FromStr for Statistic {
    type Err = ();

    fn from_str(text: &str) -> Result<Statistic, ()> {
        Statistic::ALL.into_iter().find(|statistic| statistic.to_string() == text).ok_or(())
    }
}
