//! Numbers of a summary with their standard errors.

use super::by_weight::Times;
use pathlight_base::statistics::{Sample, Weights};
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
    /// The effective number of values: below `n` where they have weights that differ.
    pub effective: f64,
    /// The number.
    pub value: f64,
    /// Standard error of the number.
    pub error: f64,
}

impl Estimate {
    fn of_mean(sums: &Sample, all: &Weights) -> Estimate {
        let spread = sums.among(all);
        let error = spread.squared_error().sqrt();
        Estimate { n: all.seen, effective: spread.n, value: spread.mean, error }
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

    /// Returns the statistic of some times.
    pub(crate) fn of(self, times: &Times<'_>) -> Estimate {
        let weights = times.weights();
        let Some(p) = self.p() else { return Estimate::of_mean(times.sums(), &weights) };
        let (value, error) = times.quantile(p);
        Estimate { n: weights.seen, effective: weights.effective(), value, error }
    }

    /// Returns the mean of some times over all of these requests; those without one count as 0.
    pub(crate) fn mean_over(times: &Times<'_>, all: &Weights) -> Estimate {
        Estimate::of_mean(times.sums(), all)
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
