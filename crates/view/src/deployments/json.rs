//! Places that are slower than others, as JSON.

use crate::json::parts::{Text, percent, pretty, public_json};
use pathlight_base::statistics::Interval;
use pathlight_engine::deployments::{
    DeploymentFirst, DeploymentKey, DeploymentOf, DeploymentRow, DeploymentsReport,
};

public_json! {
    /// Which versions, zones, hosts and the like of a service are slower than its others, and which calls between services from
    /// one place to another. Like requests are compared in the same slots of time.
    Deployments<'a>(report: &'a DeploymentsReport) {
        /// Number of requests in the percentile range.
        requests: u64 = report.facts.requests,
        /// The percentile range as `[from, to]`, in percent.
        band: [f64; 2] = percent(report.range),
        /// The tag that was asked for; `null`: all that are known to say where something runs.
        key: Option<&'a str> = report.key.as_deref(),
        /// Tags by which something was compared.
        keys: &'a [DeploymentKey] = &report.keys,
        /// Tags with too many values to compare.
        left_out: &'a [String] = &report.left_out,
        /// Places that are slower: first the sure ones; of these services and calls between services, then endpoints; the greatest
        /// cost first.
        slower: Vec<Slower<'a>> = report.rows.iter().map(Slower::of).collect(),
        /// Versions, flags and environments that begin after others, by time.
        firsts: &'a [DeploymentFirst] = &report.firsts,
    }
}

public_json! {
    /// A place that is slower.
    Slower<'a>(row: &'a DeploymentRow) {
        /// The tag of processes.
        key: &'a str = &row.key,
        /// What is slower there: `{"service": name}`, `{"endpoint": [service, operation]}` or `{"calls": [caller, callee]}`.
        of: &'a DeploymentOf = &row.of,
        /// The value of the tag there; `null`: calls that go from one value to another.
        value: Option<&'a str> = row.value.as_deref(),
        /// The values that it is compared with; none for calls, which are compared with those that stay within one value.
        others: &'a [String] = &row.others,
        /// Mean there, microseconds: of own work per visit, or of what a call takes outside of what answers.
        mean_us: f64 = row.beside.mean_us,
        /// Mean elsewhere.
        other_mean_us: f64 = row.beside.other_mean_us,
        /// How many times as long it takes there; `null` if it takes no time elsewhere.
        times: Option<f64> = row.beside.times(),
        /// The 95 % interval of the difference of the means; `null` if nothing varies.
        longer_us: Option<Interval> = row.beside.longer_us,
        /// How likely such a difference is by chance alone.
        p: f64 = row.beside.p,
        /// Whether it is slower by more than chance: at most 5 % of those called so are not.
        sure: bool = row.is_sure,
        /// What the mean latency of all requests loses to it on critical paths, microseconds.
        cost_us: f64 = row.cost_us,
        /// Requests there that are compared.
        requests: u64 = row.beside.requests,
        /// Requests elsewhere that are compared with them.
        other_requests: u64 = row.beside.other_requests,
        /// Width of the slots of time in which they are compared, minutes.
        slot_minutes: u64 = row.beside.slot_minutes,
    }
}

/// Returns the JSON of `deployments`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn deployments(report: &DeploymentsReport) -> Text {
    pretty(&Deployments::of(report))
}
