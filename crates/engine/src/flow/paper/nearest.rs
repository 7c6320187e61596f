//! The nearest-neighbour flow: invocations with identical graphs as clusters, the likeliest one's graph for a new
//! invocation (`docs/definitions/execution-flow.md` section 2).

use super::super::Order;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::ln;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Measure of the distance of a cluster from an invocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Metric {
    /// Sum of squared distances of latencies in standard deviations, as in the paper; a deviation is at least 5 % of the
    /// mean and 1 us.
    Paper,
    /// As [`Paper`](Self::Paper), without floors of deviations.
    PaperUnbounded,
    /// As [`Paper`](Self::Paper), but likely by a normal distribution: with the logarithm of the variances, and the share of the
    /// invocations that are in the cluster.
    Gaussian,
    /// Maximum a posteriori on logarithms of latencies; a deviation is at least 0.1.
    #[default]
    Likelihood,
}

/// Sort key of invocations: start, then trace id, then span id.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct InvocationKey {
    /// Sanitised start, microseconds since the epoch.
    pub start_us: u64,
    /// Canonical trace id.
    pub trace_id: String,
    /// Canonical id of the parent's span.
    pub span_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Members {
    first: InvocationKey,
    /// Latencies in microseconds by invocation (in no order), in each by node.
    latencies_us: Vec<u64>,
}

/// The clusters of training invocations: the accumulator. A key is, by node, the node and how many it waits for and how
/// many wait for it, which says the whole graph ([`Order::shape`]).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Clusters {
    by_graph: BTreeMap<Vec<(u32, u32, u32)>, Members>,
    #[serde(skip)]
    scratch: Scratch,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    shape: Vec<(u32, u32)>,
    graph: Vec<(u32, u32, u32)>,
    latencies: Vec<(u32, u64)>,
}

impl Clusters {
    /// Adds one invocation; `key` makes its key, its start is `start_us`.
    pub fn observe(&mut self, order: &Order, start_us: u64, key: impl FnOnce() -> InvocationKey) {
        let Scratch { shape, graph, latencies } = &mut self.scratch;
        order.shape(shape);
        graph.clear();
        graph.extend(order.children().iter().zip(&*shape).map(|(c, s)| (c.node, s.0, s.1)));
        graph.compact_sort();
        latencies.clear();
        latencies.extend(order.children().iter().map(|c| (c.node, c.latency_us())));
        latencies.compact_sort();
        let values = latencies.iter().map(|&(_, us)| us);
        match self.by_graph.get_mut(graph.as_slice()) {
            Some(members) => {
                members.latencies_us.extend(values);
                if start_us <= members.first.start_us {
                    let key = key();
                    if key < members.first {
                        members.first = key;
                    }
                }
            }
            None => {
                let members = Members { first: key(), latencies_us: values.collect() };
                self.by_graph.insert(graph.clone(), members);
            }
        }
    }

    /// Adds the clusters of other invocations; clusters of the same graph become one.
    pub fn merge(&mut self, other: Clusters) {
        for (graph, members) in other.by_graph {
            match self.by_graph.get_mut(&graph) {
                Some(into) => {
                    into.latencies_us.extend(members.latencies_us);
                    into.first = members.first.min(std::mem::take(&mut into.first));
                }
                None => {
                    self.by_graph.insert(graph, members);
                }
            }
        }
    }

    /// Returns the clusters of at least `min_traces` invocations, ready to be compared with.
    pub fn finish(&self, metric: Metric, min_traces: u32) -> Neighbours {
        let total: u64 =
            self.by_graph.iter().map(|(graph, m)| (m.latencies_us.len() / graph.len().max(1)) as u64).sum();
        let mut clusters: Vec<(&InvocationKey, Cluster)> = Vec::new();
        for (graph, members) in &self.by_graph {
            let count = members.latencies_us.len() / graph.len().max(1);
            if count < min_traces.max(1) as usize || graph.is_empty() {
                continue;
            }
            let mut cluster = Cluster {
                graph: graph.clone(),
                count: count as u64,
                constant: 0.0,
                means: Vec::with_capacity(graph.len()),
                variances: Vec::with_capacity(graph.len()),
            };
            for place in 0..graph.len() {
                let values = members.latencies_us.iter().skip(place).step_by(graph.len());
                let (mean, variance) = metric.moments(values.copied(), count as u64);
                cluster.means.push(mean);
                cluster.variances.push(variance);
                if metric.is_likelihood() {
                    cluster.constant += ln(variance);
                }
            }
            if metric.is_likelihood() {
                cluster.constant -= 2.0 * ln(count as f64 / total as f64);
            }
            clusters.push((&members.first, cluster));
        }
        // Of equally near ones the larger wins, then the one first seen: that is the order to try them in.
        clusters.compact_sort_by(|a, b| b.1.count.cmp(&a.1.count).then_with(|| a.0.cmp(b.0)));
        Neighbours { metric, clusters: clusters.into_iter().map(|(_, cluster)| cluster).collect() }
    }
}

/// Logarithms in integers, so that their sums do not depend on an order.
const LOG_UNIT: f64 = (1u64 << 32) as f64;

impl Metric {
    /// Returns whether the nearest cluster is the likeliest one, and not only the one whose means are least deviations away: by
    /// these alone clusters with great deviations are near to everything.
    fn is_likelihood(self) -> bool {
        matches!(self, Metric::Gaussian | Metric::Likelihood)
    }

    fn log(us: u64) -> f64 {
        ln(us.max(1) as f64)
    }

    /// Returns the mean and population variance, from exact sums, with the metric's floor.
    fn moments(self, values: impl Iterator<Item = u64>, count: u64) -> (f64, f64) {
        let (mut sum, mut squares) = (0i128, 0i128);
        let unit = if self == Metric::Likelihood { LOG_UNIT } else { 1.0 };
        for us in values {
            let value = match self {
                Metric::Likelihood => (Metric::log(us) * LOG_UNIT).round() as i128,
                Metric::Paper | Metric::PaperUnbounded | Metric::Gaussian => i128::from(us),
            };
            sum += value;
            squares += value * value;
        }
        let n = i128::from(count);
        let mean = sum as f64 / count as f64 / unit;
        let variance = (n * squares - sum * sum) as f64 / (count as f64 * count as f64) / (unit * unit);
        let floor = match self {
            Metric::Paper | Metric::Gaussian => (0.05 * mean).max(1.0),
            Metric::PaperUnbounded => 0.0,
            Metric::Likelihood => 0.1,
        };
        (mean, variance.max(floor * floor))
    }
}

/// Invocations with one graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Cluster {
    /// (node, how many it waits for, how many wait for it) by node.
    graph: Vec<(u32, u32, u32)>,
    count: u64,
    /// Part of the distance besides the squares.
    constant: f64,
    means: Vec<f64>,
    variances: Vec<f64>,
}

/// The clusters of one parent endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Neighbours {
    metric: Metric,
    /// Preferred ones first.
    clusters: Vec<Cluster>,
}

impl Neighbours {
    /// Returns the number of clusters.
    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// Returns the distance of every cluster that has exactly these nodes, preferred ones first. `latencies` are
    /// (node, us) by node.
    pub fn distances<'a>(&'a self, latencies: &'a [(u32, u64)]) -> impl Iterator<Item = (usize, f64)> + 'a {
        let same = move |cluster: &Cluster| {
            cluster.graph.len() == latencies.len()
                && cluster.graph.iter().zip(latencies).all(|(g, l)| g.0 == l.0)
        };
        self.clusters.iter().enumerate().filter(move |(_, cluster)| same(cluster)).map(
            move |(at, cluster)| {
                let squares: f64 = latencies
                    .iter()
                    .zip(cluster.means.iter().zip(&cluster.variances))
                    .map(|(&(_, us), (mean, variance))| {
                        let value =
                            if self.metric == Metric::Likelihood { Metric::log(us) } else { us as f64 };
                        let away = value - mean;
                        if away == 0.0 { 0.0 } else { away * away / variance }
                    })
                    .sum();
                (at, squares + cluster.constant)
            },
        )
    }

    /// Returns when the parent returns by the nearest cluster's graph; `None` if no cluster has these nodes. `taken`
    /// are P + L by node, in the order of `latencies`.
    pub fn completion_us(&self, latencies: &[(u32, u64)], taken: &[u64], return_gap_us: u64) -> Option<u64> {
        let nearest =
            self.distances(latencies).fold(None, |best: Option<(usize, f64)>, (at, distance)| {
                best.filter(|b| b.1 <= distance).or(Some((at, distance)))
            })?;
        Some(completion_us(&self.clusters[nearest.0].graph, taken, return_gap_us))
    }

    /// Returns when the parent returns by the graph of one cluster.
    pub fn completion_by_us(&self, cluster: usize, taken: &[u64], return_gap_us: u64) -> u64 {
        completion_us(&self.clusters[cluster].graph, taken, return_gap_us)
    }
}

/// Sweeps over an interval order given by its counts: whoever is waited for by more ends earlier.
fn completion_us(graph: &[(u32, u32, u32)], taken: &[u64], return_gap_us: u64) -> u64 {
    let mut starts: Vec<u32> = (0..graph.len() as u32).collect();
    let mut ends = starts.clone();
    starts.compact_sort_by_key(|&i| graph[i as usize].1);
    ends.compact_sort_by_key(|&i| std::cmp::Reverse(graph[i as usize].2));
    let mut complete = vec![0u64; graph.len()];
    let (mut at, mut latest, mut last) = (0, 0, 0);
    for &i in &starts {
        while at < graph[i as usize].1 {
            latest = latest.max(complete[ends[at as usize] as usize]);
            at += 1;
        }
        complete[i as usize] = latest + taken[i as usize];
        last = last.max(complete[i as usize]);
    }
    last + return_gap_us
}
