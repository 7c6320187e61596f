//! Links of the page from a finding to its evidence.

use crate::address::Address;
use crate::address::comparing::{Against, ComparedSide, Comparison};
use crate::deployments;
use crate::findings::sentences::falls;
use crate::flame::chart::waiting_label;
use crate::flow::choice::FlowPanel;
use crate::queues;
use crate::views::View;
use pathlight_base::format::counted;
use pathlight_engine::deployments::SlowerPlace;
use pathlight_engine::findings::{
    AbnormalFacts, BurstsFacts, Finding, FindingFacts, FindingKind, FindingPlace, OneAfterTheOtherFacts,
    SinceWhenFacts, SlowTailFacts, WhoFacts,
};
use pathlight_engine::flow::{Changes, SubjectChange, SubjectTime};
use pathlight_engine::requests::search::quoted;
use pathlight_engine::requests::{Filter, OnlyFilter, PercentileRange, RequestType, Until};
use pathlight_engine::split::SplitOf;
use pathlight_engine::verdict::ServicePart;
use pathlight_engine::verdict::one_set::PartCost;

/// Returns what stands on the button that leads to the evidence of a finding.
pub fn show_words(finding: &Finding) -> &'static str {
    match finding.kind() {
        FindingKind::Changed => "Compare both sets",
        FindingKind::SlowTail => "Compare slow with fast",
        FindingKind::OneAfterTheOther => "Show what could run side by side",
        FindingKind::Errors | FindingKind::Retries => "Show errors",
        FindingKind::RedundantCalls => "Show the endpoint",
        FindingKind::SlowerPlace => "Show what runs slower where",
        FindingKind::Who => "Split by this tag",
        FindingKind::SinceWhen => "Show requests since then",
        FindingKind::Bursts => "Show the first of them",
        FindingKind::WorthMakingFaster => "Show what endpoints would save",
        FindingKind::Abnormal => "Show these requests",
        FindingKind::ReadWithCare => "Show requests",
        FindingKind::WorkAfter => "Show until done",
        FindingKind::OutsideRequests => "Look at these requests",
        FindingKind::Queue => "Show queues",
        _ => "Show in flame graph",
    }
}

/// Returns what stands on the button that leads to the requests that the subject of a finding hits; `None` if it hits none,
/// and while that is not known.
pub fn hit_words(finding: &Finding) -> Option<String> {
    let hit = finding.hit.filter(|hit| hit.hit > 0)?;
    Some(format!("The {}", counted(hit.hit, "request")))
}

/// Sets the page up for the requests that the subject of a finding hits.
pub fn show_hit(finding: &Finding, address: &mut Address) {
    address.search.clear();
    if address.has_baseline() {
        address.speak_of(ComparedSide::B);
    }
    if let Some(filter) = finding.subject().map(Filter::hit) {
        address.filters.retain(|known| !matches!(known, Filter::Hit(_)));
        address.filters.push(filter);
    }
    address.view = View::Requests;
}

/// Returns what stands on the button that leads to the what-if of a finding; `None` if no percentile would fall, and while
/// that is not known.
pub fn what_if_words(finding: &Finding) -> Option<&'static str> {
    match &finding.facts {
        FindingFacts::OneAfterTheOther(_) => return Some(TRY),
        FindingFacts::SlowerPlace(facts) => return mends(facts).map(|_| TRY),
        _ => {}
    }
    let mended = finding.mended.as_ref().filter(|_| finding.subject().is_some())?;
    falls(mended).next().map(|_| TRY)
}

const TRY: &str = "Show in What if";

/// Returns what would mend a place that is slower; of calls all that go from one place to another.
fn mends(facts: &SlowerPlace) -> Option<Changes> {
    let mut changes = deployments::changes(&facts.row)?;
    if facts.pairs > 1 {
        changes.waits.iter_mut().for_each(|wait| (wait.calls.caller, wait.calls.callee) = (None, None));
    }
    Some(changes)
}

/// Sets the page up for the what-if in which the subject of a finding takes what is usual, or its calls run side by side.
pub fn show_what_if(finding: &Finding, address: &mut Address) {
    address.search.clear();
    if address.has_baseline() {
        address.speak_of(ComparedSide::B);
    }
    let flow = &mut address.choices.flow;
    flow.panel = FlowPanel::WhatIf;
    if let FindingFacts::OneAfterTheOther(OneAfterTheOtherFacts { group, .. }) = &finding.facts {
        (flow.parents, flow.changes) = (vec![group.calls.parent.clone()], group.changes());
    } else if let FindingFacts::SlowerPlace(facts) = &finding.facts {
        flow.changes = mends(facts).unwrap_or_default();
    } else {
        let usual = finding.subject().map(|subject| SubjectChange { subject, time: SubjectTime::Usual });
        flow.changes = Changes { subjects: usual.into_iter().collect(), ..Changes::default() };
    }
    address.view = View::Flow;
}

/// Sets the page up for the evidence of a finding.
pub fn show(finding: &Finding, address: &mut Address) {
    let search = |address: &mut Address, view| {
        address.view = view;
        address.focus.clear();
        address.search = match &finding.place {
            FindingPlace::Endpoint(endpoint) => endpoint.operation.clone(),
            FindingPlace::RequestType(kind) => kind.root.operation.clone(),
            FindingPlace::Service(service) => service.clone(),
            FindingPlace::Tag { value, .. } => value.clone(),
            FindingPlace::Data => String::new(),
        };
    };
    // What was searched for before is not what this is about.
    address.search.clear();
    // Findings of two sets are of side B.
    let is_of_sets = address.has_baseline();
    if is_of_sets && !matches!(finding.facts, FindingFacts::Changed(_)) {
        address.speak_of(ComparedSide::B);
    }
    match &finding.facts {
        FindingFacts::SlowTail(SlowTailFacts { root, ranges, .. }) if is_of_sets => {
            address.look_at_type(root);
            (address.range, address.over_all) = (ranges.0, false);
            search(address, View::Flame);
        }
        FindingFacts::Changed(_) => {
            if !is_of_sets {
                address.compare_sets();
            }
            address.view = View::Compare;
        }
        FindingFacts::SlowTail(SlowTailFacts { root, ranges, .. }) => {
            address.look_at_type(root);
            (address.range, address.over_all) = (ranges.0, false);
            address.comparison = Some(Comparison {
                against: Against::Range,
                side: ComparedSide::B,
                other: ranges.1,
                swapped: false,
            });
            search(address, View::Compare);
        }
        FindingFacts::OneAfterTheOther(OneAfterTheOtherFacts { group, .. }) => {
            address.choices.flow.parents = vec![group.calls.parent.clone()];
            address.choices.flow.panel = FlowPanel::Parallelise;
            address.view = View::Flow;
        }
        FindingFacts::SlowerPlace(_) => {
            address.choices.flow.panel = FlowPanel::Deployments;
            address.view = View::Flow;
        }
        FindingFacts::Errors(_) | FindingFacts::Retries(_) => search(address, View::Errors),
        FindingFacts::Who(WhoFacts { root, .. }) => {
            address.look_at_type(root);
            if let FindingPlace::Tag { key, .. } = &finding.place {
                address.split.key = Some(key.clone());
                address.split.of = SplitOf::default();
            }
            address.view = View::Split;
        }
        FindingFacts::SinceWhen(SinceWhenFacts { from_us, .. }) => {
            if let FindingPlace::RequestType(kind) = &finding.place {
                address.look_at_type(kind);
            }
            address.add_filter(Filter::Time { from_us: *from_us, to_us: u64::MAX });
            address.range = PercentileRange::ALL;
            address.view = View::Requests;
        }
        FindingFacts::ReadWithCare(_) => address.view = View::Requests,
        FindingFacts::Bursts(BurstsFacts { bursts, .. }) => {
            address.filters.retain(|filter| !matches!(filter, Filter::Time { .. }));
            let first = bursts.first();
            address.filters.extend(first.map(|b| Filter::Time { from_us: b.from_us, to_us: b.to_us }));
            address.view = View::Requests;
        }
        FindingFacts::OutsideRequests(_) => {
            if let FindingPlace::Endpoint(endpoint) = &finding.place {
                address.look_at_type(&RequestType::whole(endpoint.clone()));
            }
            (address.range, address.over_all) = (PercentileRange::ALL, false);
            address.focus.clear();
            address.view = View::Flame;
        }
        FindingFacts::Queue(_) => queues::show(address),
        FindingFacts::WorkAfter(_) => {
            if let FindingPlace::RequestType(kind) = &finding.place {
                address.look_at_type(kind);
            }
            (address.range, address.over_all) = (PercentileRange::ALL, false);
            address.focus.clear();
            address.until = Until::Done;
            address.view = View::Flame;
        }
        FindingFacts::WorthMakingFaster(_) | FindingFacts::RedundantCalls(_) => {
            search(address, View::Endpoints)
        }
        FindingFacts::Abnormal(AbnormalFacts { requests, .. }) => {
            address.compare_sets();
            if !requests.is_empty() {
                address.add_filter(Filter::Only(OnlyFilter::of(address.group(), requests)));
            }
            address.view = View::Anomalies;
        }
        FindingFacts::Cost(facts) => {
            search(address, View::Flame);
            if let [PartCost { part: ServicePart::In, .. }] = facts.cost.parts[..] {
                // So all frames in which it is waited for begin.
                address.search = quoted(&waiting_label(&facts.cost.service, true));
            }
        }
        FindingFacts::NotInstrumented(_) | FindingFacts::Timeout(_) | FindingFacts::PoolWaits(_) => {
            search(address, View::Flame);
        }
    }
}
