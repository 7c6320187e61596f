//! SARIF logs of commands: which code their places are in, what is accepted, what is said beside the log.

use super::Failure;
use super::config::{Config, Known};
use pathlight_engine::run::native::NativePool;
use pathlight_trace::{Endpoint, TagSetId, TraceSet};
use pathlight_view::export::sarif::{Alert, CodePlace, log};
use std::collections::BTreeMap;

/// Attributes of a span that say where its code is, by the conventions of now and before.
const FILE: [&str; 2] = ["code.file.path", "code.filepath"];
const LINE: [&str; 2] = ["code.line.number", "code.lineno"];
const FUNCTION: [&str; 2] = ["code.function.name", "code.function"];

/// Returns where the code of endpoints is, as far as their spans say so; of several places the first by name.
pub fn code_places<'a>(
    pool: &NativePool,
    endpoints: impl IntoIterator<Item = &'a Endpoint>,
) -> BTreeMap<Endpoint, CodePlace> {
    let mut places: BTreeMap<Endpoint, CodePlace> = BTreeMap::new();
    let endpoints: Vec<&Endpoint> = endpoints.into_iter().collect();
    for set in pool.sessions().iter().map(|session| &session.set) {
        let wanted: BTreeMap<_, _> = endpoints
            .iter()
            .filter_map(|endpoint| {
                Some((set.find_endpoint(&endpoint.service, &endpoint.operation)?, *endpoint))
            })
            .collect();
        for row in set.traces().iter().flat_map(|trace| trace.rows()) {
            let Some(endpoint) = wanted.get(&set.endpoint(row)) else { continue };
            let Some(place) = code_place(set, set.tag_set(row)) else { continue };
            let known = places.entry((*endpoint).clone()).or_insert_with(|| place.clone());
            if place < *known {
                *known = place;
            }
        }
    }
    places
}

fn code_place(set: &TraceSet, tags: TagSetId) -> Option<CodePlace> {
    let value = |keys: [&str; 2]| keys.iter().find_map(|key| set.tags.value(tags, key)).map(str::to_owned);
    let place = CodePlace {
        file: value(FILE).unwrap_or_default(),
        line: value(LINE).and_then(|text| text.parse().ok()),
        function: value(FUNCTION),
    };
    (place != CodePlace::default()).then_some(place)
}

/// Returns why an alert is accepted; says on standard error that it was, if the day is past.
pub fn accepted(known: Option<Known>, text: &str) -> Option<String> {
    match known? {
        Known::Accepted(reason) => Some(reason),
        Known::Expired(reason) => {
            eprintln!("pathlight: no longer accepted: {} {reason}", pathlight_base::format::harmless(text));
            None
        }
    }
}

/// Returns the log of alerts.
///
/// # Errors
/// Only if serde_json refuses a number, which no alert holds.
pub fn write(
    alerts: &[Alert],
    code: &BTreeMap<Endpoint, CodePlace>,
    config: &Config,
) -> Result<String, Failure> {
    Ok(log(alerts, code, config.home())? + "\n")
}
