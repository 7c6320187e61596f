//! Findings, diagnoses and addresses as they are saved and copied: without tags, or with pseudonyms of names. Traces are redacted
//! where they are copied ([`Portable::redact`](pathlight_trace::Portable::redact)), by the same [`Pseudonyms`].

use crate::address::choices::Choices;
use crate::address::{Address, SplitChoice};
use crate::flow::choice::FlowChoice;
use pathlight_backend::source::{FetchSource, Wanted};
use pathlight_engine::deployments::DeploymentOf;
use pathlight_engine::diagnosis::{DiagnosisReport, GroupSubspan, PlacesReport, SetsReport};
use pathlight_engine::findings::{
    AbnormalFacts, CostFacts, Finding, FindingFacts, FindingPlace, FindingsReport, Gap, GrowingCalls,
    NotInstrumentedFacts, OneAfterTheOtherFacts, QueueFacts, ReadWithCareFacts, SinceWhenFacts,
    SlowTailFacts, TagsReport, TakesLonger, WhoFacts, WorkAfterFacts,
};
use pathlight_engine::heatmap::ColumnOrder;
use pathlight_engine::queues::QueueExample;
use pathlight_engine::requests::{Filter, GroupBy, RequestType, RootEndpoint};
use pathlight_engine::split::SplitOf;
use pathlight_engine::verdict::ServicesReport;
use pathlight_trace::{Endpoint, Pseudonyms, Redaction};
use std::collections::BTreeSet;

/// A name in a report.
enum Named<'a> {
    Endpoint(&'a mut Endpoint),
    Service(&'a mut String),
    Type(&'a mut RequestType),
    /// Of the operation of a service.
    Operation(&'a str, &'a mut String),
}

/// Returns findings without what is left out. Those about a tag are left out with the tags, and reasons of anomalies,
/// which are sentences with names, with the names.
pub fn findings(report: &FindingsReport, redaction: Redaction, pseudonyms: &Pseudonyms) -> FindingsReport {
    let mut out = report.clone();
    if redaction.is_nothing() {
        return out;
    }
    let is_about_tag = |finding: &Finding| {
        matches!(finding.place, FindingPlace::Tag { .. })
            || matches!(finding.facts, FindingFacts::SlowerPlace(_))
    };
    if redaction.tags {
        out.findings.retain(|finding| !is_about_tag(finding));
        out.growing.retain(|growing| growing.with.tag.is_none());
    }
    for finding in &mut out.findings {
        if redaction.tags {
            finding.explains.retain(|finding| !is_about_tag(finding));
        }
        finding.explains.iter_mut().for_each(|other| leave_out(other, redaction));
        leave_out(finding, redaction);
    }
    // Parts of request types are routes, calls or tags: they have numbers among themselves.
    let mut parts = BTreeSet::default();
    walk(&mut out, &mut |named| {
        if let Named::Type(kind) = named
            && !kind.part.is_empty()
        {
            parts.insert(kind.part.clone());
        }
    });
    let parts: Vec<String> = parts.into_iter().collect();
    walk(&mut out, &mut |named| match named {
        Named::Endpoint(endpoint) if redaction.names => *endpoint = pseudonyms.endpoint(endpoint),
        Named::Service(service) if redaction.names => *service = pseudonyms.service(service),
        Named::Operation(service, operation) if redaction.names => {
            *operation = pseudonyms.operation(service, operation);
        }
        Named::Type(kind) => {
            if let Ok(place) = parts.binary_search(&kind.part) {
                kind.part = format!("type-{}", place + 1);
            }
            if redaction.names {
                kind.root = pseudonyms.endpoint(&kind.root);
            }
        }
        Named::Endpoint(_) | Named::Service(_) | Named::Operation(..) => {}
    });
    out
}

/// Leaves out of a finding what is not a name.
fn leave_out(finding: &mut Finding, redaction: Redaction) {
    if redaction.tags {
        drop_tags(&mut finding.facts);
    }
    if redaction.names {
        finding.example = None;
    }
    match &mut finding.facts {
        // Requests are named by ids.
        FindingFacts::Abnormal(AbnormalFacts { reasons, requests, .. }) if redaction.names => {
            reasons.clear();
            requests.clear();
        }
        // Processes are named by host.
        FindingFacts::ReadWithCare(ReadWithCareFacts { skew: Some((_, names, _)), .. }) => {
            *names = ["one process".to_owned(), "another".to_owned()];
        }
        // Examples are named by ids.
        FindingFacts::Changed(change) if redaction.names => {
            change.services.iter_mut().flat_map(|row| &mut row.places).for_each(|of| of.exemplar = None);
        }
        // Queues are named by tags, and messages by ids.
        FindingFacts::Queue(facts) => {
            facts.destination.clear();
            facts.longest = QueueExample::default();
        }
        _ => {}
    }
}

/// Returns the tags of a report, none of them if they are left out.
pub fn tags(report: &TagsReport, redaction: Redaction) -> TagsReport {
    let mut out = report.clone();
    if redaction.tags {
        (out.tested, out.rows) = (0, Vec::new());
    }
    out
}

fn drop_tags(facts: &mut FindingFacts) {
    match facts {
        FindingFacts::SlowTail(tail) => tail.tag = None,
        FindingFacts::Cost(cost) => {
            if let Some(tail) = &mut cost.tail {
                tail.facts.tag = None;
            }
        }
        FindingFacts::Who(WhoFacts { only_with, .. }) => *only_with = None,
        FindingFacts::SinceWhen(SinceWhenFacts { release, .. }) => *release = None,
        FindingFacts::OneAfterTheOther(OneAfterTheOtherFacts { grows_with, .. }) => {
            grows_with.take_if(|grows| grows.tag.is_some());
        }
        _ => {}
    }
}

fn walk_tail(tail: &mut SlowTailFacts, see: &mut dyn FnMut(Named<'_>)) {
    see(Named::Type(&mut tail.root));
    tail.waits_for.iter_mut().for_each(|callee| see(Named::Service(callee)));
    tail.tag.iter_mut().filter_map(|tag| tag.at.as_mut()).for_each(|at| see(Named::Endpoint(at)));
}

fn walk_longer(longer: &mut Option<TakesLonger>, see: &mut dyn FnMut(Named<'_>)) {
    if let Some(longer) = longer {
        see(Named::Service(&mut longer.service));
        longer.other.iter_mut().for_each(|other| see(Named::Service(other)));
    }
}

fn walk_gap(gap: &mut Option<Gap>, see: &mut dyn FnMut(Named<'_>)) {
    let between = gap.iter_mut().flat_map(|gap| gap.between.iter_mut().flatten());
    between.for_each(|endpoint| see(Named::Endpoint(endpoint)));
}

/// Goes to everything that a report names.
fn walk(report: &mut FindingsReport, see: &mut dyn FnMut(Named<'_>)) {
    report.services.iter_mut().for_each(|time| see(Named::Service(&mut time.service)));
    report.types.iter_mut().for_each(|time| see(Named::Type(&mut time.kind)));
    for growing in &mut report.growing {
        let GrowingCalls { caller, callee, with } = growing;
        [caller, callee, &mut with.endpoint].into_iter().for_each(|of| see(Named::Endpoint(of)));
    }
    for finding in &mut report.findings {
        finding.explains.iter_mut().for_each(|other| walk_finding(other, see));
        walk_finding(finding, see);
    }
}

fn walk_finding(finding: &mut Finding, see: &mut dyn FnMut(Named<'_>)) {
    match &mut finding.place {
        FindingPlace::Endpoint(endpoint) => see(Named::Endpoint(endpoint)),
        FindingPlace::Service(service) => see(Named::Service(service)),
        FindingPlace::RequestType(kind) => see(Named::Type(kind)),
        FindingPlace::Tag { .. } | FindingPlace::Data => {}
    }
    match &mut finding.facts {
        FindingFacts::Changed(report) => walk_culprit(report, see),
        FindingFacts::SlowTail(tail) => walk_tail(tail, see),
        FindingFacts::Cost(facts) => {
            let CostFacts { cost, largest, beside, gap, tail, .. } = &mut **facts;
            if let Some(tail) = tail {
                see(Named::Endpoint(&mut tail.at));
                walk_tail(&mut tail.facts, see);
            }
            see(Named::Service(&mut cost.service));
            cost.others.iter_mut().for_each(|(other, _)| see(Named::Service(other)));
            largest.iter_mut().for_each(|(endpoint, _)| see(Named::Endpoint(endpoint)));
            beside.iter_mut().for_each(|call| see(Named::Endpoint(&mut call.endpoint)));
            walk_gap(gap, see);
        }
        FindingFacts::NotInstrumented(NotInstrumentedFacts { gap, .. }) => {
            walk_gap(gap, see);
        }
        FindingFacts::OneAfterTheOther(OneAfterTheOtherFacts { group, grows_with, .. }) => {
            see(Named::Endpoint(&mut group.calls.parent));
            group.calls.callees.iter_mut().for_each(|callee| see(Named::Endpoint(callee)));
            grows_with.iter_mut().for_each(|grows| see(Named::Endpoint(&mut grows.endpoint)));
        }
        FindingFacts::Who(WhoFacts { root, longer, .. }) => {
            see(Named::Type(root));
            walk_longer(longer, see);
        }
        FindingFacts::SinceWhen(SinceWhenFacts { longer, release, .. }) => {
            walk_longer(longer, see);
            release.iter_mut().for_each(|first| see(Named::Service(&mut first.service)));
        }
        FindingFacts::SlowerPlace(facts) => match &mut facts.row.of {
            DeploymentOf::Service(service) => see(Named::Service(service)),
            DeploymentOf::Endpoint(endpoint) => see(Named::Endpoint(endpoint)),
            DeploymentOf::Calls(caller, callee) => {
                [caller, callee].into_iter().for_each(|service| see(Named::Service(service)));
            }
        },
        FindingFacts::Queue(QueueFacts { sender, receiver, .. }) => {
            [sender, receiver].into_iter().for_each(|of| see(Named::Endpoint(of)));
        }
        FindingFacts::PoolWaits(facts) => see(Named::Service(&mut facts.callee)),
        FindingFacts::WorkAfter(WorkAfterFacts { largest, .. }) => {
            largest.iter_mut().for_each(|(endpoint, ..)| see(Named::Endpoint(endpoint)));
        }
        FindingFacts::Bursts(_)
        | FindingFacts::WorthMakingFaster(_)
        | FindingFacts::OutsideRequests(_)
        | FindingFacts::Abnormal(_)
        | FindingFacts::Timeout(_)
        | FindingFacts::Retries(_)
        | FindingFacts::RedundantCalls(_)
        | FindingFacts::Errors(_)
        | FindingFacts::ReadWithCare(_) => {}
    }
}

fn walk_culprit(report: &mut ServicesReport, see: &mut dyn FnMut(Named<'_>)) {
    for row in &mut report.services {
        for place in &mut row.places {
            // The operation that answers is of the other side.
            see(Named::Operation(place.other.as_deref().unwrap_or(&row.service), &mut place.operation));
            place.other.iter_mut().for_each(|service| see(Named::Service(service)));
        }
        if let Some(lead) = &mut row.lead {
            lead.slower_callees.iter_mut().flatten().for_each(|service| see(Named::Service(service)));
            lead.only_caller.iter_mut().for_each(|service| see(Named::Service(service)));
            lead.only_callee.iter_mut().for_each(|service| see(Named::Service(service)));
        }
        see(Named::Service(&mut row.service));
    }
    report.vanished.iter_mut().for_each(|row| see(Named::Service(&mut row.service)));
    report.failing.iter_mut().for_each(|row| see(Named::Service(&mut row.service)));
    for queue in &mut report.queues {
        // Queues are named by tags, and messages by ids.
        queue.destination.clear();
        queue.longest = QueueExample::default();
        see(Named::Endpoint(&mut queue.sender));
        see(Named::Endpoint(&mut queue.receiver));
    }
    for row in &mut report.stops {
        see(Named::Service(&mut row.service));
        see(Named::Endpoint(&mut row.entry));
        row.last_call.iter_mut().for_each(|call| see(Named::Endpoint(call)));
    }
}

/// Returns what the words of a diagnosis are made of, without what is left out.
pub fn diagnosis(report: &DiagnosisReport, redaction: Redaction, pseudonyms: &Pseudonyms) -> DiagnosisReport {
    let mut out = report.clone();
    if redaction.is_nothing() {
        return out;
    }
    out.layers.clear();
    let mut parts = Vec::new();
    for row in &mut out.report {
        let recorded = row.service.clone();
        let operation = |name: &mut String| {
            if redaction.names {
                *name = position(pseudonyms, &recorded, name);
            }
        };
        operation(&mut row.operation);
        for kind in &mut row.types {
            request_type((&mut kind.service, &mut kind.operation), redaction, pseudonyms, &mut parts);
            for span in &mut kind.spans {
                operation(&mut span.name);
                let around = span.previous.iter_mut().chain(&mut span.next);
                around.filter(|_| redaction.names).for_each(|child| *child = pseudonyms.endpoint(child));
                for group in &mut span.groups {
                    group.exemplars.clear();
                    for GroupSubspan { subspan, name, after, before, .. } in &mut group.subspans {
                        let number = format!(" {subspan}");
                        name.truncate(name.strip_suffix(&number).map_or(name.len(), str::len));
                        operation(name);
                        name.push_str(&number);
                        after.iter_mut().chain(before).for_each(operation);
                    }
                }
            }
        }
        if redaction.names {
            row.service = pseudonyms.service(&recorded);
        }
    }
    places(&mut out.tail, redaction, pseudonyms, parts);
    out
}

/// Replaces names in what changed between two sets.
pub fn sets(report: &SetsReport, redaction: Redaction, pseudonyms: &Pseudonyms) -> SetsReport {
    let mut out = report.clone();
    if redaction.names {
        walk_culprit(&mut out.culprit, &mut |named| match named {
            Named::Endpoint(endpoint) => *endpoint = pseudonyms.endpoint(endpoint),
            Named::Service(service) => *service = pseudonyms.service(service),
            Named::Operation(service, name) => *name = pseudonyms.operation(service, name),
            Named::Type(_) => {}
        });
    }
    places(&mut out.places, redaction, pseudonyms, Vec::new());
    out
}

fn places(report: &mut PlacesReport, redaction: Redaction, pseudonyms: &Pseudonyms, mut parts: Vec<String>) {
    if redaction.is_nothing() {
        return;
    }
    for kind in &mut report.left_out {
        request_type((&mut kind.service, &mut kind.operation), redaction, pseudonyms, &mut parts);
    }
    for kind in report.all.iter_mut().chain(&mut report.types) {
        request_type((&mut kind.service, &mut kind.operation), redaction, pseudonyms, &mut parts);
        for place in kind.places.iter_mut().filter(|_| redaction.names) {
            // Of a gap the operation is the callee's.
            let own = place.gap_to.as_ref().unwrap_or(&place.service);
            place.operation = pseudonyms.operation(own, &place.operation);
            let services = std::iter::once(&mut place.service).chain(&mut place.gap_to);
            services.for_each(|service| *service = pseudonyms.service(service));
            let around = place.previous.iter_mut().chain(&mut place.next);
            around.for_each(|child| *child = pseudonyms.endpoint(child));
        }
    }
}

/// Returns the pseudonym of a span's position, `operation#2`.
fn position(pseudonyms: &Pseudonyms, service: &str, name: &str) -> String {
    let number = name.rsplit_once('#').filter(|(_, number)| number.parse::<u32>().is_ok());
    match (pseudonyms.known_operation(service, name), number) {
        (None, Some((operation, number))) => {
            format!("{}#{number}", pseudonyms.operation(service, operation))
        }
        (known, _) => known.unwrap_or_else(|| pseudonyms.operation(service, name)),
    }
}

/// Replaces the name of a request type: service, and operation with what tells the type from others of its root, which may
/// be the value of a tag. Such parts have numbers, as they come.
fn request_type(
    (service, name): (&mut String, &mut String),
    redaction: Redaction,
    pseudonyms: &Pseudonyms,
    parts: &mut Vec<String>,
) {
    let mut ends = name.match_indices(' ').map(|(at, _)| at).chain([name.len()]);
    let known = ends.rfind(|&end| pseudonyms.known_operation(service, &name[..end]).is_some());
    let part = name.split_off(known.unwrap_or(0));
    if redaction.names {
        *name = pseudonyms.operation(service, name);
        // All request types as one have no name.
        *service = if service.is_empty() { String::new() } else { pseudonyms.service(service) };
    }
    if !part.is_empty() {
        let number = parts.iter().position(|known| *known == part).unwrap_or_else(|| {
            parts.push(part);
            parts.len() - 1
        });
        name.push_str(&format!("{}type-{}", if name.is_empty() { "" } else { " " }, number + 1));
    }
}

/// Returns an address that names nothing that is left out: choices stay, what was searched for goes.
pub fn address(address: &Address, redaction: Redaction) -> Address {
    if redaction.is_nothing() {
        return address.clone();
    }
    let Redaction { tags, names } = redaction;
    // Every field by its name, so that a new field does not compile until somebody decides whether it is left out.
    let Address {
        view,
        source,
        root,
        range,
        over_all,
        incomplete,
        unweighted,
        weight_key,
        by,
        chosen: _,
        comparison,
        filters,
        overlap,
        reading,
        until,
        by_service,
        trace,
        focus,
        inverted,
        search: _,
        choices,
        sort,
        split,
        sum,
        anomaly,
        theme,
        embed,
        allow: _,
        unknown: _,
    } = address.clone();
    let filters = filters.into_iter().filter(|filter| match filter {
        Filter::HasError | Filter::Time { .. } => true,
        Filter::Tag { .. } => !tags,
        Filter::Contains(_) | Filter::Hit(_) => !names,
        // Ids may be names.
        Filter::Only(_) => false,
        // The first may be any text, the second a route or the value of a tag.
        Filter::Search(_) | Filter::Type(_) => false,
    });
    let mut source = if names && !source.is_demo() { FetchSource::default() } else { source };
    if let Wanted::Search(search) = &mut source.wanted {
        search.tags.clear();
    }
    let Choices {
        flame_bands,
        diff,
        row_time,
        row_stat,
        alike_rows,
        columns,
        alike_columns,
        flow,
        trend,
        diagnosis,
    } = choices;
    let choices = Choices {
        flame_bands,
        diff,
        row_time,
        trend,
        row_stat,
        alike_rows,
        alike_columns,
        columns: if names && matches!(columns, ColumnOrder::Row(_)) {
            ColumnOrder::default()
        } else {
            columns
        },
        flow: flow_choice(flow, names, tags),
        diagnosis,
    };
    let of = if names { SplitOf::default() } else { split.of };
    Address {
        view,
        source,
        root: if names { RootEndpoint::default() } else { root },
        range,
        over_all,
        incomplete,
        unweighted,
        // Without tags, weights stand under a name that is known.
        weight_key: weight_key.filter(|_| !tags),
        by: match by {
            GroupBy::Tag(_) if tags => GroupBy::default(),
            GroupBy::Through(_) if names => GroupBy::default(),
            by => by,
        },
        chosen: None,
        comparison,
        filters: filters.collect(),
        overlap,
        reading,
        until,
        by_service,
        trace: trace.filter(|_| !names),
        focus: if names { Vec::new() } else { focus },
        inverted,
        search: String::new(),
        choices,
        sort: sort.filter(|_| !names),
        split: SplitChoice { key: split.key.filter(|_| !tags), of, linear: split.linear },
        sum: sum.filter(|_| !tags),
        anomaly,
        theme,
        embed,
        allow: Vec::new(),
        unknown: Vec::new(),
    }
}

/// Returns the address that a saved report opens with.
pub fn report_address(shown: &Address, redaction: Redaction) -> Address {
    let mut out = address(shown, redaction);
    out.reading = redaction.reading(out.reading);
    out
}

/// Kind of what is saved, copied or linked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareKind {
    /// A saved report.
    Report,
    /// An incident note.
    Note,
    /// A diagnosis in words.
    List,
    /// A summary in words: it has no tags.
    Summary,
    /// A link.
    Link,
}

/// Returns what it will contain, in one line.
pub fn contents(share: ShareKind, redaction: Redaction) -> String {
    let Redaction { tags, names } = redaction;
    let always = match share {
        ShareKind::Report => "times and errors of every span",
        ShareKind::Note => "what was found, with numbers",
        ShareKind::List | ShareKind::Summary => "times and numbers of calls",
        ShareKind::Link => "the address of this page and its view",
    };
    let named = match (share, names) {
        (ShareKind::Link, true) => "",
        (_, true) => ", services and operations as service-1 and operation-1",
        (ShareKind::Report, false) => ", names of services and operations, ids",
        (ShareKind::Note, false) => {
            ", names of services and operations, ids, names of files, and links to this page"
        }
        (ShareKind::List | ShareKind::Summary, false) => ", names of services and operations",
        (ShareKind::Link, false) => {
            ", names of services and operations that were chosen, where traces come from"
        }
    };
    let tagged = match (share, tags) {
        (_, true) | (ShareKind::Summary, _) => "",
        (ShareKind::Report, false) => ", all tags with their values",
        (ShareKind::Note, false) => ", tags that findings name",
        (ShareKind::List, false) => ", tags that request types are named by",
        (ShareKind::Link, false) => ", tags that were filtered by",
    };
    let is_searched = redaction.is_nothing() && matches!(share, ShareKind::Report | ShareKind::Link);
    let searched = if is_searched { ", what was searched for" } else { "" };
    let warned =
        if names && !tags && share != ShareKind::Summary { " Tags may hold the same names." } else { "" };
    format!("Contains: {always}{named}{tagged}{searched}.{warned}")
}

/// Returns the choices of the flow view without names, or without places, which are tags.
fn flow_choice(mut flow: FlowChoice, names: bool, tags: bool) -> FlowChoice {
    if names {
        return FlowChoice { map: flow.map, ..FlowChoice::default() };
    }
    if tags {
        flow.place_key = None;
        flow.changes.moves.clear();
        flow.changes.waits.retain(|wait| wait.calls.across.is_none());
    }
    flow
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "v=1&view=flame&api=%2Fjaegerx&service=alfax&operation=bravox&tags=%7B%22charliex%22%3A%22deltax%22%7D\
         &rootEndpoint=%5B%22alfax%22%2C%22bravox%22%5D&tag.charliex=deltax&contains.alfax=bravox&where=echox\
         &type.alfax=%5B%22bravox%22%2C%22foxtrotx%22%5D&traceID=golfx&root=hotelx&span=indiax&focus=%5B%22alfax%22%2C%22bravox%22%5D\
         &search=juliettx&columns=%5B%22alfax%22%2C%22bravox%22%5D&parent=%5B%22alfax%22%2C%22bravox%22%5D&sort=kilox&split=charliex\
         &of=%5B%22alfax%22%2C%22bravox%22%5D&allow=limax&mikex=novemberx&by=tag%3Dcharliex&range=P95-99&error=1";

    #[test]
    fn a_redacted_address_names_nothing_that_is_left_out() {
        let whole = Address::parse(SECRET);
        assert_eq!(address(&whole, Redaction::default()), whole);
        let all = address(&whole, Redaction { tags: true, names: true }).to_fragment();
        assert_eq!(all, "v=1&view=flame&range=P95-99&error=1");
        let tags = address(&whole, Redaction { tags: true, names: false }).to_fragment();
        assert!(tags.contains("alfax") && tags.contains("golfx"), "{tags}");
        for word in ["charliex", "deltax", "echox", "foxtrotx", "juliettx", "novemberx", "limax"] {
            assert!(!tags.contains(word), "{word} in {tags}");
        }
        let names = address(&whole, Redaction { tags: false, names: true }).to_fragment();
        assert!(names.contains("tag.charliex=deltax"), "{names}");
        for word in ["alfax", "bravox", "golfx", "hotelx", "indiax", "jaegerx", "echox", "juliettx", "kilox"]
        {
            assert!(!names.contains(word), "{word} in {names}");
        }
        let report = report_address(&whole, Redaction { tags: true, names: true }).to_fragment();
        assert_eq!(report, "v=1&view=flame&range=P95-99&error=1&reading=real,-templates");
    }

    #[test]
    fn the_contents_are_said_in_one_line() {
        let all = Redaction { tags: true, names: true };
        for share in [ShareKind::Report, ShareKind::Note, ShareKind::List, ShareKind::Link] {
            let (whole, none) = (contents(share, Redaction::default()), contents(share, all));
            assert!(whole.contains("tags") && whole.contains("names"), "{whole}");
            assert!(!none.contains("tags") && !none.contains("names"), "{none}");
            assert!(contents(share, Redaction { tags: false, names: true }).contains("Tags may hold"));
        }
        for names in [false, true] {
            let words = contents(ShareKind::Summary, Redaction { tags: false, names });
            assert!(!words.to_lowercase().contains("tags"), "{words}");
        }
    }
}
