//! Where the page leads from a finding: to its evidence.

use crate::address::Address;
use crate::address::comparing::{Against, Comparison, Side};
use crate::views::View;
use pathlight_engine::findings::{Facts, Finding, FindingKind, Place};
use pathlight_engine::requests::{Filter, PercentileRange, RequestType};
use pathlight_engine::split::SplitOf;

/// Returns what stands on the button that leads to the evidence of a finding.
pub fn show_words(finding: &Finding) -> &'static str {
    match finding.kind() {
        FindingKind::Changed => "Compare both sets",
        FindingKind::SlowTail => "Compare slow with fast",
        FindingKind::OneAfterTheOther => "Show the flow",
        FindingKind::Errors | FindingKind::Retries => "Show errors",
        FindingKind::Who => "Split by this tag",
        FindingKind::SinceWhen => "Show requests since then",
        FindingKind::Bursts => "Show the first of them",
        FindingKind::WorthMakingFaster => "Show what endpoints would save",
        FindingKind::Abnormal => "Show these requests",
        FindingKind::ReadWithCare => "Show requests",
        FindingKind::OutsideRequests => "Look at these requests",
        _ => "Show in flame graph",
    }
}

/// Sets the page up for the evidence of a finding.
pub fn show(finding: &Finding, address: &mut Address) {
    let search = |address: &mut Address, view| {
        address.view = view;
        address.focus.clear();
        address.search = match &finding.place {
            Place::Endpoint(endpoint) => endpoint.operation.clone(),
            Place::RequestType(kind) => kind.root.operation.clone(),
            Place::Service(service) => service.clone(),
            Place::Tag { value, .. } => value.clone(),
            Place::Data => String::new(),
        };
    };
    // Findings of two sets are of side B.
    let is_of_sets = address.compares_sets();
    if is_of_sets && !matches!(finding.facts, Facts::Changed(_)) {
        address.speak_of(Side::B);
    }
    match &finding.facts {
        Facts::SlowTail { root, ranges, .. } if is_of_sets => {
            address.look_at_type(root);
            (address.range, address.over_all) = (ranges.0, false);
            search(address, View::Flame);
        }
        Facts::Changed(_) => {
            address.compare_sets();
            address.view = View::Compare;
        }
        Facts::SlowTail { root, ranges, .. } => {
            address.look_at_type(root);
            (address.range, address.over_all) = (ranges.0, false);
            address.comparison =
                Some(Comparison { against: Against::Range, side: Side::B, other: ranges.1, swapped: false });
            search(address, View::Compare);
        }
        Facts::OneAfterTheOther { caller, .. } => {
            address.choices.flow.parents = vec![caller.clone()];
            address.view = View::Flow;
        }
        Facts::Errors { .. } | Facts::Retries { .. } => search(address, View::Errors),
        Facts::Who { root, .. } => {
            address.look_at_type(root);
            if let Place::Tag { key, .. } = &finding.place {
                address.split.key = Some(key.clone());
                address.split.of = SplitOf::default();
            }
            address.view = View::Split;
        }
        Facts::SinceWhen { from_us, .. } => {
            if let Place::RequestType(kind) = &finding.place {
                address.look_at_type(kind);
            }
            address.filters.retain(|filter| !matches!(filter, Filter::Time { .. }));
            address.filters.push(Filter::Time { from_us: *from_us, to_us: u64::MAX });
            address.range = PercentileRange::ALL;
            address.view = View::Requests;
        }
        Facts::ReadWithCare { .. } => address.view = View::Requests,
        Facts::Bursts { bursts, .. } => {
            address.filters.retain(|filter| !matches!(filter, Filter::Time { .. }));
            let first = bursts.first();
            address.filters.extend(first.map(|b| Filter::Time { from_us: b.from_us, to_us: b.to_us }));
            address.view = View::Requests;
        }
        Facts::OutsideRequests { .. } => {
            if let Place::Endpoint(endpoint) = &finding.place {
                address.look_at_type(&RequestType::whole(endpoint.clone()));
            }
            (address.range, address.over_all) = (PercentileRange::ALL, false);
            address.focus.clear();
            address.view = View::Flame;
        }
        Facts::WorthMakingFaster(_) => search(address, View::Endpoints),
        Facts::Abnormal { .. } => {
            address.compare_sets();
            address.view = View::Anomalies;
        }
        Facts::HotSpot { .. }
        | Facts::Waiting { .. }
        | Facts::NotInstrumented { .. }
        | Facts::Timeout { .. } => {
            search(address, View::Flame);
        }
    }
}
