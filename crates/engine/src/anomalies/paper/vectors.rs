//! Vectors of requests as a table, for models of others.

use super::{FeatureEncoding, Features};
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The vectors that the paper's detectors learn from (`--export-vectors`): a request is a row, a call path a column, and a cell
/// the microseconds of the request there. A call path that a request does not have has no cell; 0 is a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VectorsReport {
    /// `SCPV`: exclusive time on the critical path by critical call path. `STV`: self time by call path, critical or not.
    pub encoding: String,
    /// The call paths, each from the root, by name.
    pub paths: Vec<Vec<Endpoint>>,
    /// The requests to learn from, then those to judge, each by trace id and root span id.
    pub requests: Vec<VectorRow>,
}

/// A request as a vector.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VectorRow {
    /// `train` or `test`.
    pub set: String,
    /// Canonical trace id.
    pub trace_id: String,
    /// Canonical id of the request's root span.
    pub root_span_id: String,
    /// Start, microseconds since the epoch.
    pub start_us: u64,
    /// Latency in microseconds.
    pub latency_us: u64,
    /// `[path, us]`: number of the call path in `paths`, ascending, and microseconds.
    pub cells: Vec<(u32, u64)>,
}

impl VectorsReport {
    /// Makes the report of sets of vectors, each with its name, over the call paths that any of them has.
    pub fn of(encoding: FeatureEncoding, sets: Vec<(&str, Features)>) -> VectorsReport {
        let chains = |features: &Features| -> Vec<Vec<Endpoint>> {
            let paths = &features.paths;
            let chain =
                |path: u32| paths.chain(path).into_iter().map(|e| paths.endpoints[e as usize].clone());
            (0..paths.nodes.len() as u32).map(|path| chain(path).collect()).collect()
        };
        let chains: Vec<Vec<Vec<Endpoint>>> = sets.iter().map(|(_, features)| chains(features)).collect();
        let mut numbers: BTreeMap<Vec<Endpoint>, u32> = BTreeMap::new();
        for chain in chains.iter().flatten() {
            numbers.entry(chain.clone()).or_insert(0);
        }
        numbers.values_mut().zip(0..).for_each(|(number, next)| *number = next);
        let mut requests = Vec::new();
        for ((set, features), chains) in sets.iter().zip(&chains) {
            let number: Vec<u32> =
                chains.iter().map(|chain| numbers.get(chain).copied().unwrap_or_default()).collect();
            for (row, facts) in features.rows.iter().enumerate() {
                // By name a path stands before those that go on from it, as in the features: numbers ascend.
                let cells = features.row(row).iter().map(|cell| (number[cell.path as usize], cell.us));
                requests.push(VectorRow {
                    set: (*set).to_owned(),
                    trace_id: facts.request.trace_id.clone(),
                    root_span_id: facts.request.root_span_id.clone(),
                    start_us: facts.start_us,
                    latency_us: facts.request.latency_us,
                    cells: cells.collect(),
                });
            }
        }
        VectorsReport { encoding: encoding.name().to_owned(), paths: numbers.into_keys().collect(), requests }
    }
}
