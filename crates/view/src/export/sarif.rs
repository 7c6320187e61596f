//! Findings and broken rules as SARIF 2.1.0, which code hosts show beside the code.
//!
//! A rule is a kind of finding, a result one finding. Its fingerprint stays the same from run to run, so that a host knows
//! what is new. A result stands where the spans say that their code is (`code.file.path`, `code.line.number`); where they do
//! not, at its service and operation.

use crate::findings::fingerprint::fingerprint;
use crate::findings::words::{kind_name, sentence};
use pathlight_engine::findings::{Finding, FindingFacts, FindingKind, FindingPlace};
use pathlight_engine::verdict::ServicePart;
use pathlight_trace::Endpoint;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Version of what makes a fingerprint; another one makes other fingerprints.
pub const FINGERPRINT: &str = "pathlight/v1";

/// A place in code, as OpenTelemetry's attributes of a span have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodePlace {
    /// `code.file.path`, or `code.filepath` of earlier conventions.
    pub file: String,
    /// `code.line.number`, or `code.lineno`.
    pub line: Option<u64>,
    /// `code.function.name`, or `code.function`.
    pub function: Option<String>,
}

/// Something to report.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// Key of its rule.
    pub rule: String,
    /// What the rule is called.
    pub rule_name: String,
    /// `error`, `warning` or `note`.
    pub level: &'static str,
    /// It in words.
    pub text: String,
    /// The same in every run in which it is found.
    pub fingerprint: String,
    /// The service, or service and operation, that it is about.
    pub place: Option<Endpoint>,
    /// The endpoint whose code to look at: the place, or of a service where in it most of the time is.
    pub code_of: Option<Endpoint>,
    /// Numbers of it, by their keys in public JSON.
    pub properties: Map<String, Value>,
    /// Reason why it is accepted; `None` if it is not.
    pub accepted: Option<String>,
}

/// Returns the service and operation that a place names; all of a service has no operation.
pub fn endpoint_of(place: &FindingPlace) -> Option<Endpoint> {
    match place {
        FindingPlace::Endpoint(endpoint) => Some(endpoint.clone()),
        FindingPlace::RequestType(kind) => Some(kind.root.clone()),
        FindingPlace::Service(service) => Some(Endpoint::new(service, "")),
        FindingPlace::Tag { .. } | FindingPlace::Data => None,
    }
}

/// Returns the endpoint whose code a finding leads to.
fn code_of(finding: &Finding) -> Option<Endpoint> {
    match &finding.facts {
        FindingFacts::Cost(facts) => facts.largest.as_ref().map(|(endpoint, _)| endpoint.clone()),
        FindingFacts::Changed(report) => {
            let change = report.culprit()?;
            // Calls into a service are named by the operation that answers, own work by where it was entered.
            let place = change.places.first()?;
            let service =
                if place.part == ServicePart::Out { place.other.as_ref()? } else { &change.service };
            Some(Endpoint::new(service, &place.operation))
        }
        _ => endpoint_of(&finding.place),
    }
}

/// Returns the key of a kind of finding, as in public JSON.
pub fn kind_key(kind: FindingKind) -> String {
    match serde_json::to_value(kind) {
        Ok(Value::String(key)) => key,
        _ => String::new(),
    }
}

impl Alert {
    /// Returns a finding as an alert. What names a cause is a warning, what describes is a note.
    pub fn of(finding: &Finding, accepted: Option<String>) -> Alert {
        let kind = finding.kind();
        let mut properties = Map::new();
        properties.insert("stake_us".to_owned(), json!(finding.stake_us));
        properties.insert("interval".to_owned(), json!(finding.interval.map(|of| [of.low, of.high])));
        properties.insert("n".to_owned(), json!(finding.n));
        properties.insert("of".to_owned(), json!(finding.of));
        properties.insert("evidence".to_owned(), json!(finding.example));
        Alert {
            rule: kind_key(kind),
            rule_name: kind_name(kind).to_owned(),
            level: if kind.is_causal() && !finding.is_as_before { "warning" } else { "note" },
            text: sentence(finding).to_text(),
            fingerprint: fingerprint(finding),
            place: endpoint_of(&finding.place),
            code_of: code_of(finding),
            properties,
            accepted,
        }
    }

    fn result(&self, rules: &[&str], code: &BTreeMap<Endpoint, CodePlace>, home: Option<&str>) -> Value {
        let mut location = Map::new();
        if let Some(place) = &self.place {
            let Endpoint { service, operation } = place;
            let name = if operation.is_empty() { service.clone() } else { operation.clone() };
            let code = self.code_of.as_ref().and_then(|endpoint| code.get(endpoint));
            let function = code.and_then(|code| code.function.clone());
            location.insert(
                "logicalLocations".to_owned(),
                json!([{
                    "name": function.unwrap_or(name),
                    "fullyQualifiedName": if operation.is_empty() { service.clone() } else { format!("{service}/{operation}") },
                    "kind": if operation.is_empty() { "module" } else { "function" },
                }]),
            );
            if let Some(code) = code.filter(|code| !code.file.is_empty()) {
                location.insert("physicalLocation".to_owned(), physical(&code.file, code.line));
            }
        }
        if let Some(home) = home.filter(|_| !location.contains_key("physicalLocation")) {
            location.insert("physicalLocation".to_owned(), physical(home, Some(1)));
        }
        let mut result = json!({
            "ruleId": self.rule,
            "ruleIndex": rules.iter().position(|rule| *rule == self.rule),
            "level": self.level,
            "message": { "text": self.text },
            "partialFingerprints": { (FINGERPRINT): self.fingerprint },
            "properties": self.properties,
        });
        if !location.is_empty() {
            result["locations"] = json!([location]);
        }
        if let Some(reason) = &self.accepted {
            result["suppressions"] =
                json!([{ "kind": "external", "status": "accepted", "justification": reason }]);
        }
        result
    }
}

fn physical(file: &str, line: Option<u64>) -> Value {
    let mut place = json!({ "artifactLocation": { "uri": uri(file) } });
    if let Some(line) = line.filter(|line| *line > 0) {
        place["region"] = json!({ "startLine": line });
    }
    place
}

/// Returns the path of a file as a reference of an address.
fn uri(file: &str) -> String {
    let file = file.replace('\\', "/");
    let mut out = String::with_capacity(file.len());
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte))
            }
            // A drive is no scheme.
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Returns a SARIF log of one run. `code` says where the code of endpoints is; what has none stands at the file `home`, if
/// there is one, since some hosts show nothing without a file.
///
/// # Errors
/// Only if serde_json refuses a number, which no alert holds.
pub fn log(
    alerts: &[Alert],
    code: &BTreeMap<Endpoint, CodePlace>,
    home: Option<&str>,
) -> serde_json::Result<String> {
    let rules: BTreeMap<&str, &str> =
        alerts.iter().map(|alert| (alert.rule.as_str(), alert.rule_name.as_str())).collect();
    let keys: Vec<&str> = rules.keys().copied().collect();
    let rule = |(key, name): (&&str, &&str)| json!({ "id": key, "name": name, "shortDescription": { "text": name } });
    let mut said = BTreeSet::new();
    // Two results of one fingerprint would be one to a host: the first is the one with the most at stake.
    let alerts = alerts.iter().filter(|alert| said.insert(&alert.fingerprint));
    let log = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Pathlight",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": alerts.map(|alert| alert.result(&keys, code, home)).collect::<Vec<_>>(),
        }],
    });
    serde_json::to_string_pretty(&log)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alert(rule: &str, place: Option<Endpoint>) -> Alert {
        Alert {
            rule: rule.to_owned(),
            rule_name: rule.to_owned(),
            level: "warning",
            text: "slow".to_owned(),
            fingerprint: format!("{rule}{place:?}"),
            code_of: place.clone(),
            place,
            properties: Map::new(),
            accepted: None,
        }
    }

    #[test]
    fn a_result_stands_at_its_code_else_at_its_service_and_at_home_where_there_is_one() {
        let cart = Endpoint::new("cart", "GET /cart");
        let at =
            CodePlace { file: "src\\a b.rs".to_owned(), line: Some(7), function: Some("get".to_owned()) };
        let code = BTreeMap::from([(cart.clone(), at)]);
        let alerts =
            [alert("b", Some(cart.clone())), alert("a", Some(Endpoint::new("pay", ""))), alert("a", None)];
        let run = |home| {
            let log: Value = serde_json::from_str(&log(&alerts, &code, home).unwrap()).unwrap();
            log["runs"][0].clone()
        };
        let [alone, at_home] = [run(None), run(Some(".pathlight.toml"))];
        let place = |run: &Value, at: usize| run["results"][at]["locations"][0].clone();
        let physical = &place(&alone, 0)["physicalLocation"];
        assert_eq!(physical["artifactLocation"]["uri"], "src/a%20b.rs");
        assert_eq!(physical["region"]["startLine"], 7);
        assert_eq!(place(&alone, 0)["logicalLocations"][0]["name"], "get");
        assert_eq!(place(&alone, 0)["logicalLocations"][0]["fullyQualifiedName"], "cart/GET /cart");
        assert_eq!(place(&alone, 1)["logicalLocations"][0]["fullyQualifiedName"], "pay");
        assert!(place(&alone, 1).get("physicalLocation").is_none());
        assert!(alone["results"][2].get("locations").is_none());
        assert_eq!(place(&at_home, 2)["physicalLocation"]["artifactLocation"]["uri"], ".pathlight.toml");
        let index = |at: usize| alone["results"][at]["ruleIndex"].clone();
        assert_eq!([index(0), index(1)], [json!(1), json!(0)]);
    }

    #[test]
    fn one_fingerprint_is_one_result_and_what_is_accepted_is_suppressed() {
        let mut accepted = alert("a", None);
        accepted.accepted = Some("known".to_owned());
        let log = log(&[accepted.clone(), accepted], &BTreeMap::new(), None).unwrap();
        let log: Value = serde_json::from_str(&log).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        assert_eq!(results.len(), 1);
        assert_eq!(results[0]["suppressions"][0]["justification"], "known");
    }
}
