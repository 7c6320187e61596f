//! Which places are slower than the others.

use super::compared::{Beside, compare};
use super::keys::{DeploymentKind, kind_of, rank};
use super::observe::{ByPlace, DeploymentsPart, MINUTE_US, Seen, Where};
use crate::requests::{PercentileRange, RangeFacts};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::false_discovery;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Share of the rows called sure that may be so by chance.
const FALSE_RATE: f64 = 0.05;
/// What takes longer by less than this share is not worth a look, however certain.
const LEAST_SHARE: f64 = 0.05;

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeploymentOf {
    /// Own work of a service, all that enter it together.
    Service(String),
    /// Own work of a service where it is entered at an endpoint, as `[service, operation]`.
    Endpoint(Endpoint),
    /// Time of calls of one service by another outside of what answers: `[caller, callee]`.
    Calls(String, String),
}

impl DeploymentOf {
    /// Returns the service that runs there; of calls the one that is called.
    pub fn service(&self) -> &str {
        match self {
            DeploymentOf::Service(service) | DeploymentOf::Calls(_, service) => service,
            DeploymentOf::Endpoint(endpoint) => &endpoint.service,
        }
    }
}

/// One place that is slower than the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeploymentRow {
    /// The tag of processes.
    pub key: String,
    /// What is slower there.
    pub of: DeploymentOf,
    /// The value of the tag there; `None`: calls that go from one value to another.
    pub value: Option<String>,
    /// The values that it is compared with, by name; none for calls, which are compared with those that stay within one value.
    pub others: Vec<String>,
    /// Times there and elsewhere.
    pub beside: Beside,
    /// Whether it is slower by more than chance: at most 5 % of the rows that are called so are not.
    pub is_sure: bool,
    /// What the mean latency of all requests loses to it, in microseconds.
    pub cost_us: f64,
}

/// One place that is slower, or all calls across one border.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowerPlace {
    /// The place that is slower; of calls the two services that lose most to it.
    pub row: DeploymentRow,
    /// Of calls how many pairs of services lose to the border, this one among them; else 1.
    pub pairs: u64,
    /// What the mean latency of all requests loses to it, all pairs together, in microseconds.
    pub cost_us: f64,
}

/// A tag by which something was compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeploymentKey {
    /// The tag of processes.
    pub key: String,
    /// Other tags that divide the requests in the same way.
    pub alike: Vec<String>,
    /// Services that run with several of its values.
    pub services: u64,
}

/// The first request with a value that others came before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeploymentFirst {
    /// The tag of processes: a version, a flag or an environment.
    pub key: String,
    /// The service.
    pub service: String,
    /// Its new value.
    pub value: String,
    /// Start of the first request with it, microseconds since the epoch.
    pub first_us: u64,
}

/// Times by where services run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeploymentsReport {
    /// The percentile range.
    pub range: Option<PercentileRange>,
    /// Requests and latencies of the range.
    pub facts: RangeFacts,
    /// The tag that was asked for; `None`: all that are known to say where something runs.
    pub key: Option<String>,
    /// Tags by which something was compared, the best known first (ties by name).
    pub keys: Vec<DeploymentKey>,
    /// Tags with too many values to compare, by name.
    pub left_out: Vec<String>,
    /// Places that are slower: first the sure ones; of these services and calls, then endpoints; the greatest cost first.
    pub rows: Vec<DeploymentRow>,
    /// New values, by time.
    pub firsts: Vec<DeploymentFirst>,
}

/// A value is new if it is this unlikely that requests before had it too and none was seen.
const NEW_BY_CHANCE: f64 = 1e-3;

/// How a key divides requests: of each thing requests and times of every place, whatever that is called.
type Division = Vec<Vec<(u64, u128)>>;

/// One thing by place.
type Places = BTreeMap<Where, Seen>;

impl DeploymentsPart {
    /// Returns the report.
    pub fn finish(self, range: PercentileRange, facts: RangeFacts, key: Option<String>) -> DeploymentsReport {
        let mut report = DeploymentsReport { range: Some(range), facts, key, ..DeploymentsReport::default() };
        let requests = self.requests.requests().max(1.0);
        let mut keys: Vec<(&String, &ByPlace)> = Vec::new();
        for (key, by_place) in &self.keys {
            match by_place {
                Some(by_place) => keys.push((key, by_place)),
                None => report.left_out.push(key.clone()),
            }
        }
        // Stable: equal ones stay by name.
        keys.compact_sort_by_key(|(key, _)| rank(key));
        let mut divisions: Vec<(Division, usize)> = Vec::new();
        for (key, by_place) in keys {
            let several: BTreeMap<&DeploymentOf, &Places> =
                by_place.iter().filter(|(_, places)| places.len() > 1).collect();
            let is_service = |of: &&&DeploymentOf| matches!(of, DeploymentOf::Service(_));
            let services = several.keys().filter(is_service).count() as u64;
            if several.is_empty() {
                continue;
            }
            let division = division(&several);
            if let Some((_, known)) = divisions.iter().find(|(known, _)| *known == division) {
                report.keys[*known].alike.push(key.clone());
                continue;
            }
            divisions.push((division, report.keys.len()));
            report.keys.push(DeploymentKey { key: key.clone(), alike: Vec::new(), services });
            for (of, places) in &several {
                report.rows.extend(rows(key, of, places, requests));
                report.firsts.extend(firsts(key, of, places));
            }
        }
        report.firsts.compact_sort_by(|a, b| {
            let of = |first: &DeploymentFirst| (first.first_us, first.key.clone(), first.service.clone());
            of(a).cmp(&of(b))
        });
        report.judge();
        report
    }
}

/// Returns how a key divides requests.
fn division(several: &BTreeMap<&DeploymentOf, &Places>) -> Division {
    let of = |places: &Places| {
        let mut sums: Vec<(u64, u128)> = (places.values())
            .map(|seen| {
                let samples = seen.cells.values().map(|cell| &cell.us);
                samples.fold((0, 0), |sum, sample| (sum.0 + sample.n(), sum.1 + sample.sum()))
            })
            .collect();
        sums.compact_sort();
        sums
    };
    let works = several.iter().filter(|(of, _)| !matches!(of, DeploymentOf::Calls(..)));
    works.map(|(_, places)| of(places)).collect()
}

/// Returns the places that are slower than the others of one thing.
fn rows(key: &str, of: &DeploymentOf, places: &Places, requests: f64) -> Vec<DeploymentRow> {
    let mut rows = Vec::new();
    for (at, seen) in places {
        let value = match at {
            Where::Value(value) => Some(value.clone()),
            Where::Within => continue,
            Where::Across => None,
        };
        let elsewhere: Vec<&Seen> =
            places.iter().filter(|(other, _)| *other != at).map(|(_, seen)| seen).collect();
        let slower = compare(seen, &elsewhere).filter(|beside| beside.mean_us > beside.other_mean_us);
        let Some(beside) = slower else { continue };
        let others = places.keys().filter(|other| *other != at).filter_map(|other| match other {
            Where::Value(value) => Some(value.clone()),
            Where::Within | Where::Across => None,
        });
        let there: f64 = seen.cells.values().map(|cell| cell.us.weights().requests()).sum();
        rows.push(DeploymentRow {
            key: key.to_owned(),
            of: of.clone(),
            value,
            others: others.collect(),
            cost_us: (beside.path_us * there / requests).max(0.0),
            beside,
            is_sure: false,
        });
    }
    rows
}

/// Returns the values of a service that come after others and not by chance, if they may change with a release.
fn firsts(key: &str, of: &DeploymentOf, places: &Places) -> Vec<DeploymentFirst> {
    let DeploymentOf::Service(service) = of else { return Vec::new() };
    if !kind_of(key).is_some_and(DeploymentKind::is_released) {
        return Vec::new();
    }
    // Requests in some minutes, all or those in one place.
    let count = |place: Option<&Where>, minutes: &dyn Fn(u64) -> bool| -> f64 {
        let here = places.iter().filter(|(at, _)| place.is_none_or(|place| place == *at));
        let cells = here.flat_map(|(_, seen)| &seen.cells).filter(|((_, minute), _)| minutes(*minute));
        cells.map(|(_, cell)| cell.us.n() as f64).sum()
    };
    let new = |at: &Where, seen: &Seen| {
        let Where::Value(value) = at else { return None };
        let first_us = seen.first_us;
        let minute = first_us / MINUTE_US;
        let since = count(Some(at), &|of| of >= minute) / count(None, &|of| of >= minute);
        // So many requests without it, if it had had its share of them too, are by chance this rarely.
        let chance = (1.0 - since).max(0.0).powf(count(None, &|of| of < minute));
        (chance < NEW_BY_CHANCE).then(|| DeploymentFirst {
            key: key.to_owned(),
            service: service.clone(),
            value: value.clone(),
            first_us,
        })
    };
    places.iter().filter_map(|(at, seen)| new(at, seen)).collect()
}

impl DeploymentsReport {
    /// Says which rows are sure, among those of the same kind, and puts them in order.
    fn judge(&mut self) {
        let kind = |row: &DeploymentRow| match row.of {
            DeploymentOf::Service(_) => 0,
            DeploymentOf::Endpoint(_) => 1,
            DeploymentOf::Calls(..) => 2,
        };
        // Stable: equal ones stay by key and name.
        self.rows.compact_sort_by_key(kind);
        for alike in self.rows.chunk_by_mut(|a, b| kind(a) == kind(b)) {
            // Slower is one of the two sides of a test that knows both.
            let p: Vec<f64> = alike.iter().map(|row| row.beside.p).collect();
            for (row, is_rare) in alike.iter_mut().zip(false_discovery(&p, FALSE_RATE)) {
                let Beside { mean_us, other_mean_us, .. } = row.beside;
                row.is_sure = is_rare && mean_us >= (1.0 + LEAST_SHARE) * other_mean_us;
            }
        }
        // An endpoint says again what its service does.
        let rank = |row: &DeploymentRow| (!row.is_sure, matches!(row.of, DeploymentOf::Endpoint(_)));
        self.rows.compact_sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| b.cost_us.total_cmp(&a.cost_us)));
    }

    /// Returns what is slower by more than chance, the greatest cost first: services, and all calls across one border together.
    pub fn slower(&self) -> Vec<SlowerPlace> {
        let mut found: Vec<SlowerPlace> = Vec::new();
        for row in self.sure() {
            let is_border = |known: &&mut SlowerPlace| known.row.value.is_none() && known.row.key == row.key;
            match &row.of {
                // Its service says the same.
                DeploymentOf::Endpoint(_) => {}
                // Calls across one border have one cause.
                DeploymentOf::Calls(..) if let Some(known) = found.iter_mut().find(is_border) => {
                    known.pairs += 1;
                    known.cost_us += row.cost_us;
                }
                DeploymentOf::Calls(..) | DeploymentOf::Service(_) => {
                    found.push(SlowerPlace { row: row.clone(), pairs: 1, cost_us: row.cost_us });
                }
            }
        }
        // Stable: equal ones stay as the rows are.
        found.compact_sort_by(|a, b| b.cost_us.total_cmp(&a.cost_us));
        found
    }

    /// Returns the rows that are slower by more than chance.
    pub fn sure(&self) -> impl Iterator<Item = &DeploymentRow> {
        self.rows.iter().filter(|row| row.is_sure)
    }
}
