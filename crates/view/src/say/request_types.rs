//! The grouping of requests into types: what may be chosen, and why it is as it is.

use crate::split::table::keys;
use pathlight_base::format;
use pathlight_engine::queries::OverviewReport;
use pathlight_engine::requests::GroupBy;

/// Services that are offered: a menu of more is no choice.
const MOST_SERVICES: usize = 200;

/// Returns what may tell request types apart, as the word of the address and in words: first the ways that need no tag, then
/// tags, then services. The chosen way is one of them, even if these traces do not have its tag or service.
pub fn choices(overview: &OverviewReport, chosen: &GroupBy) -> Vec<(String, String)> {
    let plain = [GroupBy::Automatic, GroupBy::Root, GroupBy::Route, GroupBy::Shape];
    let mut choices: Vec<GroupBy> = plain.to_vec();
    choices.extend(keys(overview, None).into_iter().map(GroupBy::Tag));
    let services = overview.service_names();
    if services.len() > 1 {
        choices.extend(services.into_iter().take(MOST_SERVICES).map(GroupBy::Through));
    }
    if !choices.contains(chosen) {
        choices.push(chosen.clone());
    }
    choices.iter().map(|by| (by.key().into_owned(), name(by))).collect()
}

/// Returns what a way to group requests is called.
pub fn name(by: &GroupBy) -> String {
    match by {
        GroupBy::Automatic => "Automatic".to_owned(),
        GroupBy::Root => "Root endpoint".to_owned(),
        GroupBy::Route => "Route".to_owned(),
        GroupBy::Shape => "What they call".to_owned(),
        GroupBy::Tag(key) => format!("Tag {}", format::printable(key)),
        GroupBy::Through(service) => format!("Through {}", format::printable(service)),
    }
}

/// Returns how requests are grouped, and why; `chosen` is what the address says, and `is_kept` whether that is as it was
/// for what was loaded first.
pub fn why(overview: &OverviewReport, chosen: &GroupBy, is_kept: bool) -> &'static str {
    match (chosen, &overview.by) {
        (GroupBy::Automatic, GroupBy::Route) if is_kept => {
            "Grouped by route, as the traces that were loaded first."
        }
        (GroupBy::Automatic, GroupBy::Shape) if is_kept => {
            "Grouped by what they call, as the traces that were loaded first."
        }
        (GroupBy::Automatic, _) if is_kept => {
            "Grouped by root endpoint, as the traces that were loaded first."
        }
        (GroupBy::Automatic, GroupBy::Route) => {
            "Grouped by route: a root endpoint has requests of several routes, each with at least 5 % of them."
        }
        (GroupBy::Automatic, GroupBy::Shape) => {
            "Grouped by what they call: a root endpoint has requests that call different endpoints, each kind with at \
             least 5 % of them."
        }
        (GroupBy::Automatic, _) => {
            "Grouped by root endpoint: neither routes nor what requests call tell them apart better."
        }
        (_, GroupBy::Route) => "Grouped by root endpoint and route.",
        (_, GroupBy::Shape) => "Grouped by root endpoint and what they call.",
        (_, GroupBy::Tag(_)) => "Grouped by root endpoint and the value of a tag.",
        (_, GroupBy::Through(_)) => "Grouped by root endpoint and whether they pass through a service.",
        _ => "Grouped by root endpoint.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::queries::EndpointCount;

    #[test]
    fn every_way_can_be_chosen_and_the_chosen_tag_is_offered() {
        let overview = OverviewReport::default();
        let chosen = GroupBy::Tag("host".to_owned());
        let offered = choices(&overview, &chosen);
        assert_eq!(offered.len(), 5);
        assert_eq!(offered[4], ("tag=host".to_owned(), "Tag host".to_owned()));
        assert!(offered.iter().all(|(key, _)| GroupBy::parse(key).is_some()));
        let endpoint = |service: &str| EndpointCount {
            service: service.to_owned(),
            operation: "GET".to_owned(),
            spans: 1,
        };
        let endpoints = ["web", "cart", "web"].map(endpoint).to_vec();
        let overview = OverviewReport { endpoints, ..overview };
        let offered = choices(&overview, &GroupBy::Through("gone".to_owned()));
        let words: Vec<&str> = offered[4..].iter().map(|(_, words)| words.as_str()).collect();
        assert_eq!(words, ["Through cart", "Through web", "Through gone"]);
        assert_eq!(offered[4].0, "through=cart");
        assert!(why(&overview, &GroupBy::Automatic, false).starts_with("Grouped by root endpoint"));
    }
}
