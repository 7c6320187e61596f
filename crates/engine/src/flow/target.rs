//! Changes that bring a percentile of the latency down to a target: the inverse of a what-if.

use super::{
    CallTimes, ChangeOf, Changes, EndpointSaving, LatencyChange, Saving, SavingsReport, SubjectChange,
    SubjectTime,
};
use crate::verdict::{ServicePart, Subject};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Percentiles, percentile};
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A percentile of a latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Quantile {
    /// The median.
    P50,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    #[default]
    P99,
}

impl Quantile {
    /// All quantiles.
    pub const ALL: [Quantile; 3] = [Quantile::P50, Quantile::P95, Quantile::P99];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Quantile::P50 => "p50",
            Quantile::P95 => "p95",
            Quantile::P99 => "p99",
        }
    }

    /// Returns this quantile of latencies, in microseconds.
    pub fn of(self, latency_us: &Percentiles) -> f64 {
        match self {
            Quantile::P50 => latency_us.p50,
            Quantile::P95 => latency_us.p95,
            Quantile::P99 => latency_us.p99,
        }
    }

    /// Returns this quantile of sorted values.
    fn of_sorted(self, values: &[u64]) -> f64 {
        let share = match self {
            Quantile::P50 => 0.5,
            Quantile::P95 => 0.95,
            Quantile::P99 => 0.99,
        };
        percentile(values, share)
    }

    /// Returns what it loses by a saving, in microseconds.
    pub fn saved_us(self, saved: &Saving) -> f64 {
        match self {
            Quantile::P50 => saved.p50,
            Quantile::P95 => saved.p95,
            Quantile::P99 => saved.p99,
        }
    }
}

/// Endpoints whose own work becomes faster, all by the same share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetWay {
    /// The endpoints as `[service, operation]`.
    pub endpoints: Vec<Endpoint>,
    /// The least whole percentage by which they have to be faster to reach the target; `null` if even 100 does not.
    pub faster_percent: Option<u32>,
    /// The percentile if their own work took no time, in microseconds.
    pub at_best_us: f64,
}

/// A part of a service that takes less time, at all of its endpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetPart {
    /// Name of the service.
    pub service: String,
    /// Its own work, or all calls into it: what these take outside its spans.
    pub part: ServicePart,
    /// The least whole percentage by which it has to take less time to reach the target; `null` if even 100 does not.
    pub less_percent: Option<u32>,
    /// The percentile if it took no time, in microseconds.
    pub at_best_us: f64,
    /// The percentile if it took what is usual, in microseconds: in the baseline, or without one in the faster half of each
    /// request type.
    pub usual_us: f64,
}

impl TargetPart {
    /// Returns the subject.
    pub fn subject(&self) -> Subject {
        Subject { service: self.service.clone(), part: self.part }
    }

    /// Returns the change with which it takes so many percent less.
    pub fn changes(&self, percent: u32) -> Changes {
        self.changed(SubjectTime::By { share_ppm: -10_000 * i64::from(percent), add_us: 0 })
    }

    /// Returns the change with which it takes what is usual.
    pub fn usual(&self) -> Changes {
        self.changed(SubjectTime::Usual)
    }

    fn changed(&self, time: SubjectTime) -> Changes {
        let subjects = vec![SubjectChange { subject: self.subject(), time }];
        Changes { subjects, ..Changes::default() }
    }
}

/// A way to a target: endpoints together, or a part of a service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnyWay<'a> {
    /// Endpoints.
    Endpoints(&'a TargetWay),
    /// A part of a service.
    Part(&'a TargetPart),
}

impl AnyWay<'_> {
    /// Returns the least whole percentage that reaches the target; `None` if even 100 does not.
    pub fn percent(self) -> Option<u32> {
        match self {
            AnyWay::Endpoints(way) => way.faster_percent,
            AnyWay::Part(part) => part.less_percent,
        }
    }

    /// Returns the percentile if it took no time, in microseconds.
    pub fn at_best_us(self) -> f64 {
        match self {
            AnyWay::Endpoints(way) => way.at_best_us,
            AnyWay::Part(part) => part.at_best_us,
        }
    }

    /// Returns the change that makes it so many percent faster.
    pub fn changes(self, percent: u32) -> Changes {
        match self {
            AnyWay::Endpoints(way) => way.changes(percent),
            AnyWay::Part(part) => part.changes(percent),
        }
    }
}

/// Time that the calls of an endpoint may take at the percentile once the target is reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallBudget {
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Its calls in the requests, but those that nothing waits for; a request is a call of its root endpoint.
    pub calls: u64,
    /// The percentile of their latency as it is, in microseconds.
    pub before_us: f64,
    /// The same once the target is reached, in microseconds.
    pub budget_us: f64,
}

impl TargetWay {
    /// Returns the change that makes its endpoints so many percent faster.
    pub fn changes(&self, percent: u32) -> Changes {
        let latencies = self.endpoints.iter().map(|endpoint| LatencyChange {
            service: endpoint.service.clone(),
            operation: endpoint.operation.clone(),
            of: ChangeOf::OwnWork,
            share_ppm: -10_000 * i64::from(percent),
            add_us: 0,
        });
        Changes { latencies: latencies.collect(), ..Changes::default() }
    }

    /// Returns whether it is of the same endpoints, in any order.
    pub fn is_of(&self, endpoints: &[Endpoint]) -> bool {
        self.endpoints.len() == endpoints.len() && endpoints.iter().all(|of| self.endpoints.contains(of))
    }

    /// Returns what the better way has less of: the percentage by which it has to be faster, if it reaches the target, then the
    /// percentile at best.
    pub fn rank(&self) -> (u32, f64) {
        (self.faster_percent.unwrap_or(u32::MAX), self.at_best_us)
    }
}

/// Ways to bring a percentile of the latency to a target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetReport {
    /// Selected requests.
    pub requests: u64,
    /// The percentile of the target.
    pub quantile: Quantile,
    /// The percentile as it is, in microseconds.
    pub before_us: f64,
    /// The target value, in microseconds.
    pub target_us: u64,
    /// Number of single endpoints that reach the target if their own work takes no time.
    pub reaching: u64,
    /// The single endpoints that bring it down most, the greatest effect first (ties by name): all that reach the target, and
    /// others up to 10.
    pub single: Vec<TargetWay>,
    /// The best two and the best three endpoints that were found, together; none that is no better than fewer. They need not be
    /// among `single`: of two calls side by side each alone may change nothing.
    pub together: Vec<TargetWay>,
    /// Parts of services, at all endpoints of a service at once, the greatest effect first (ties by name): of the parts that
    /// take most time on the critical paths those that bring the percentile down. Own work of a service with one endpoint is
    /// in `single`.
    pub parts: Vec<TargetPart>,
    /// Time that each call may take then, by the first of `single`, `together` and `parts` that reaches the target: the greatest
    /// loss first (ties by name); empty if nothing reaches it.
    pub budgets: Vec<CallBudget>,
}

impl TargetReport {
    /// Single endpoints that are listed, if not more reach the target.
    pub const LISTED: usize = 10;

    /// Starts from what each endpoint would save; how much faster it has to be is not known yet.
    pub fn new(savings: &SavingsReport, quantile: Quantile, target_us: u64) -> TargetReport {
        let before_us = quantile.of(&savings.latency_us);
        let mut endpoints: Vec<&EndpointSaving> = savings.endpoints.iter().collect();
        let saved_us = |of: &EndpointSaving| quantile.saved_us(&of.saved_us.faster_100);
        endpoints.retain(|endpoint| saved_us(endpoint) > 0.0);
        endpoints.compact_sort_by(|a, b| {
            let order = saved_us(b).total_cmp(&saved_us(a));
            order.then_with(|| (&a.service, &a.operation).cmp(&(&b.service, &b.operation)))
        });
        let way = |of: &EndpointSaving| TargetWay {
            endpoints: vec![Endpoint::new(&of.service, &of.operation)],
            faster_percent: None,
            // Quantiles have six digits: what is exactly at the target is not to miss it by a rounding error.
            at_best_us: ((before_us - saved_us(of)) * 1e6).round() / 1e6,
        };
        let mut single: Vec<TargetWay> = endpoints.into_iter().map(way).collect();
        let is_reached = before_us <= target_us as f64;
        let reaching = if is_reached {
            0
        } else {
            single.iter().filter(|way| way.at_best_us <= target_us as f64).count()
        };
        single.truncate(reaching.max(TargetReport::LISTED));
        TargetReport {
            requests: savings.requests,
            quantile,
            before_us,
            target_us,
            reaching: reaching as u64,
            single,
            together: Vec::new(),
            parts: Vec::new(),
            budgets: Vec::new(),
        }
    }

    /// Returns the single endpoints, then the two and the three, then the parts of services.
    pub fn ways(&self) -> impl Iterator<Item = AnyWay<'_>> {
        let endpoints = self.single.iter().chain(&self.together).map(AnyWay::Endpoints);
        endpoints.chain(self.parts.iter().map(AnyWay::Part))
    }

    /// Returns the first way that reaches the target, to which the budgets belong.
    pub fn reaching_way(&self) -> Option<AnyWay<'_>> {
        self.ways().find(|way| way.percent().is_some())
    }

    /// Returns the way that leaves the least, were it gone.
    pub fn best_way(&self) -> Option<AnyWay<'_>> {
        self.ways().min_by(|a, b| a.at_best_us().total_cmp(&b.at_best_us()))
    }

    /// Takes the budgets from the latencies of single calls before and after the change.
    pub fn set_budgets(&mut self, calls: BTreeMap<Endpoint, CallTimes>) {
        let quantile = self.quantile;
        let budget = |(Endpoint { service, operation }, times): (Endpoint, CallTimes)| CallBudget {
            service,
            operation,
            calls: times.before_us.len() as u64,
            before_us: quantile.of_sorted(&times.before_us),
            budget_us: quantile.of_sorted(&times.after_us),
        };
        self.budgets = calls.into_iter().map(budget).collect();
        let loss = |of: &CallBudget| of.before_us - of.budget_us;
        // Stable: equal ones stay by name.
        self.budgets.compact_sort_by(|a, b| loss(b).total_cmp(&loss(a)));
    }

    /// Returns whether there is nothing to do.
    pub fn is_reached(&self) -> bool {
        self.before_us <= self.target_us as f64
    }
}
