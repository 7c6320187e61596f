//! Sentences about places that are slower than others.

use crate::say::sentence::Sentence;
use crate::split::table::keys;
use pathlight_base::format::{self, counted, duration, printable};
use pathlight_engine::deployments::{
    DeploymentFirst, DeploymentKind, DeploymentOf, DeploymentRow, DeploymentsReport, SlowerPlace, kind_of,
};
use pathlight_engine::queries::OverviewReport;
use pathlight_trace::Endpoint;

/// Says what a comparison of places cannot know.
pub const LIMITS: &str = "Requests of the same root endpoint are compared in the same minutes. What sends requests to one place \
                          rather than another may still differ in what it asks.";

/// Says why the table is empty.
pub const EMPTY: &str =
    "No service runs in several versions, zones, hosts or other places that can be compared.";

/// Returns a place in words: `version 1.9.0`, `cloud.availability_zone zone-b`.
pub(super) fn place_words(key: &str, value: &str) -> String {
    let value = if value.is_empty() { "(empty)".to_owned() } else { printable(value) };
    match kind_of(key) {
        Some(DeploymentKind::Version) => format!("version {value}"),
        _ => format!("{} {value}", printable(key)),
    }
}

/// Returns the other places in words: the only one by name, else how many.
fn others_words(row: &DeploymentRow) -> String {
    match row.others.as_slice() {
        [] => String::new(),
        [only] => printable(only),
        others => format!("the {} others", others.len()),
    }
}

/// Says how much longer something takes, and the word before what it is compared with: `1.52 times as long`, `as`.
fn longer(out: Sentence, row: &DeploymentRow) -> (Sentence, &'static str) {
    match row.beside.times() {
        Some(times) => (out.number(format!("{times:.2} times")).text(" as long"), "as"),
        None => (out.text("longer"), "than"),
    }
}

/// Returns what a row says, in a sentence.
pub fn row_sentence(row: &DeploymentRow) -> Sentence {
    let (here, there) = (duration(row.beside.mean_us), duration(row.beside.other_mean_us));
    let out = Sentence::default();
    let (out, of) = match (&row.of, &row.value) {
        (DeploymentOf::Calls(caller, callee), _) => {
            let out = out.text("Calls from ").service(caller).text(" to ").service(callee).text(" spend ");
            let (out, _) = longer(out, row);
            (out.text(&format!(" in the network when they cross {}: ", printable(&row.key))), " per call.")
        }
        (of, value) => {
            let place = value.as_deref().map(|value| place_words(&row.key, value)).unwrap_or_default();
            let out = match of {
                DeploymentOf::Endpoint(endpoint) => out.name(endpoint),
                of => out.service(of.service()),
            };
            let (out, than) = longer(out.text(" takes "), row);
            (out.text(&format!(" in {place} {than} in {}: ", others_words(row))), " of own work per visit.")
        }
    };
    out.number(here).text(" against ").number(there).text(of)
}

/// Returns what is slower, in one or two sentences.
pub fn slower_sentence(SlowerPlace { row, pairs, .. }: &SlowerPlace) -> Sentence {
    if *pairs == 1 {
        return row_sentence(row);
    }
    let out = Sentence::default()
        .text(&format!("Calls that cross {} spend more time in the network, between ", printable(&row.key)));
    let out = out.number(counted(*pairs, "pair")).text(" of services. ");
    out.then(row_sentence(row))
}

/// Returns the answer of a report: what costs most, or that nothing is slower.
pub fn headline(report: &DeploymentsReport) -> Sentence {
    let out = Sentence::default();
    if report.facts.requests == 0 {
        return out.text("There is no request here.");
    }
    if report.keys.is_empty() {
        return out.text(&why_none(report));
    }
    let Some(worst) = report.slower().into_iter().next() else {
        let keys: Vec<String> = report.keys.iter().map(|key| printable(&key.key)).collect();
        return out.text(&format!(
            "No service, and no call between services, is surely slower in one place than in others by {}.",
            keys.join(", ")
        ));
    };
    let out = slower_sentence(&worst);
    if worst.cost_us < 1.0 {
        return out.text(" It costs the mean latency next to nothing.");
    }
    let of_all = format!(" of the mean latency of all {}.", counted(report.facts.requests, "request"));
    let out = out.text(if worst.pairs > 1 { " All of them cost " } else { " That costs " });
    out.number(duration(worst.cost_us)).text(&of_all)
}

/// Returns why nothing was compared.
pub fn why_none(report: &DeploymentsReport) -> String {
    match (&report.key, report.left_out.as_slice()) {
        (Some(key), []) => format!("No service runs with several values of {}.", printable(key)),
        (_, []) => "No service runs in several places, as far as its tags say: service.version, deployment.environment, \
                    cloud.availability_zone, host.name and the like. Another tag of processes may be chosen."
            .to_owned(),
        (_, keys) => {
            let keys: Vec<String> = keys.iter().map(|key| printable(key)).collect();
            format!("{} {} too many values to compare.", keys.join(", "), if keys.len() == 1 { "has" } else { "have" })
        }
    }
}

/// A split that shows a place that is slower: what it says, the tag, and the endpoint whose time is split.
pub struct SplitProposal {
    /// What is slower where.
    pub sentence: Sentence,
    /// The tag to split by.
    pub key: String,
    /// The endpoint whose calls are split.
    pub endpoint: Endpoint,
}

/// Returns the split that shows the slower place that costs most, of those with one endpoint: versions, flags and environments
/// first.
pub fn split_proposal(report: &DeploymentsReport) -> Option<SplitProposal> {
    let is_released = |key: &str| kind_of(key).is_some_and(DeploymentKind::is_released);
    let of_endpoint = |row: &'_ DeploymentRow| match &row.of {
        DeploymentOf::Endpoint(endpoint) => Some(SplitProposal {
            sentence: row_sentence(row),
            key: row.key.clone(),
            endpoint: endpoint.clone(),
        }),
        DeploymentOf::Service(_) | DeploymentOf::Calls(..) => None,
    };
    let released = report.sure().filter(|row| is_released(&row.key)).find_map(of_endpoint);
    released.or_else(|| report.sure().find_map(of_endpoint))
}

/// Returns the tags to choose from, as value and words; nothing chosen is all that are known to say where something runs. `chosen`
/// is one that a link has, which these traces may not have.
pub fn key_options(overview: &OverviewReport, chosen: Option<&str>) -> Vec<(String, String)> {
    let all = (String::new(), "Versions, zones, hosts and the like".to_owned());
    let mut keys = keys(overview, None);
    let unknown = chosen.map(str::to_owned).filter(|chosen| !keys.contains(chosen));
    keys.extend(unknown);
    [all].into_iter().chain(keys.into_iter().map(|key| (key.clone(), printable(&key)))).collect()
}

/// Returns that a value is new, for what begins at about that time.
pub fn release(first: &DeploymentFirst) -> Sentence {
    let out = Sentence::default().text(&release_words(first)).text(" at ");
    out.number(format!("{} UTC", format::moment(first.first_us))).text(".")
}

/// Returns the same without its time.
fn release_words(first: &DeploymentFirst) -> String {
    format!("{} first runs in {}", printable(&first.service), place_words(&first.key, &first.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::deployments::Beside;

    fn row(of: DeploymentOf, key: &str, value: Option<&str>, others: &[&str]) -> DeploymentRow {
        DeploymentRow {
            key: key.to_owned(),
            of,
            value: value.map(str::to_owned),
            others: others.iter().map(|&other| other.to_owned()).collect(),
            beside: Beside { mean_us: 3_000.0, other_mean_us: 2_000.0, slot_minutes: 1, ..Beside::default() },
            is_sure: true,
            cost_us: 250.0,
        }
    }

    #[test]
    fn a_row_says_what_is_slower_where_and_than_what() {
        let cart = || DeploymentOf::Service("cart".to_owned());
        let said = |row: DeploymentRow| row_sentence(&row).to_text();
        assert_eq!(
            said(row(cart(), "service.version", Some("1.8"), &["1.7"])),
            "cart takes 1.50 times as long in version 1.8 as in 1.7: 3.00\u{202f}ms against 2.00\u{202f}ms of own work per visit."
        );
        let mut from_nothing = row(cart(), "version", Some("1.8"), &["1.7"]);
        from_nothing.beside.other_mean_us = 0.0;
        assert!(
            said(from_nothing)
                .starts_with("cart takes longer in version 1.8 than in 1.7: 3.00\u{202f}ms against 0")
        );
        let others = row(cart(), "host.name", Some("h1"), &["h2", "h3"]);
        assert!(
            said(others).starts_with("cart takes 1.50 times as long in host.name h1 as in the 2 others: ")
        );
        let calls = DeploymentOf::Calls("web".to_owned(), "cart".to_owned());
        let calls = row(calls, "zone", None, &[]);
        let one = "Calls from web to cart spend 1.50 times as long in the network when they cross zone: 3.00\u{202f}ms against \
                   2.00\u{202f}ms per call.";
        assert_eq!(said(calls.clone()), one);
        let all = "Calls that cross zone spend more time in the network, between 3 pairs of services. ";
        let border = SlowerPlace { row: calls, pairs: 3, cost_us: 0.0 };
        assert_eq!(slower_sentence(&border).to_text(), format!("{all}{one}"));
    }

    #[test]
    fn the_answer_is_what_costs_most() {
        let mut report = DeploymentsReport::default();
        assert_eq!(headline(&report).to_text(), "There is no request here.");
        report.facts.requests = 40;
        assert!(headline(&report).to_text().starts_with("No service runs in several places"));
        report.key = Some("sku".to_owned());
        assert_eq!(headline(&report).to_text(), "No service runs with several values of sku.");
        report.keys = vec![pathlight_engine::deployments::DeploymentKey {
            key: "sku".to_owned(),
            alike: vec![],
            services: 1,
        }];
        assert!(
            headline(&report).to_text().ends_with("is surely slower in one place than in others by sku.")
        );
        report.rows = vec![row(DeploymentOf::Service("cart".to_owned()), "sku", Some("small"), &["large"])];
        assert!(
            headline(&report)
                .to_text()
                .ends_with(" That costs 250\u{202f}\u{b5}s of the mean latency of all 40 requests."),
            "{}",
            headline(&report).to_text()
        );
    }
}
