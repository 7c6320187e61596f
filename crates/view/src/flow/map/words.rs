//! The words of the map of services.

use super::MapTone;
use crate::say::tip::TipLine;
use crate::views::WORKING;
use pathlight_base::format::{self, count, counted, duration, printable, share};
use pathlight_engine::queries::most_time;
use pathlight_engine::verdict::service_map::{MapCall, MapService, MapTime, ServiceMapReport};
use pathlight_trace::Endpoint;

/// Returns the title of an exported picture.
pub fn chart_title() -> &'static str {
    "Map of services"
}

/// Returns the title of the view: what is drawn, and what its colours say.
pub fn title(report: &ServiceMapReport) -> String {
    let colours = match report.baseline_requests {
        Some(_) => "Orange: longer than in A; blue: less long",
        None if report.calls.iter().any(|call| call.failed > 0) => "Red: calls that fail",
        None => "No call fails",
    };
    format!(
        "{}, {} of {}. {colours}. Width: how long requests wait.",
        counted(report.services.len() as u64, "service"),
        counted(report.calls.len() as u64, "kind of call").replace("kind of calls", "kinds of calls"),
        counted(report.requests, "request"),
    )
}

/// Returns why nothing is drawn; empty if something is.
pub fn why_empty(report: Option<&ServiceMapReport>, is_waiting: bool) -> &'static str {
    match report {
        Some(report) if !report.services.is_empty() => "",
        Some(_) if !is_waiting => "No request is selected, so there is no service to draw.",
        _ => WORKING,
    }
}

/// Returns the services with most own work, with their shares of the latency (ties: by name).
pub fn services(report: &ServiceMapReport) -> Vec<(String, f64)> {
    most_time(report.services.iter().map(|one| (one.service.as_str(), one.own.mean_us as u64)))
}

fn of_latency(report: &ServiceMapReport, us: f64) -> String {
    share(us / report.latency.mean_us.max(f64::MIN_POSITIVE))
}

/// Says what a time was in the baseline, if there is one.
fn was(time: &MapTime) -> Option<String> {
    let before_us = time.baseline_us?;
    Some(match time.sure_change_us() {
        Some(us) => format!("In A {}: {} a request", duration(before_us), format::change(us)),
        None => format!("In A {}: no sure change", duration(before_us)),
    })
}

fn fails(failed: u64, of: u64, what: &str) -> Option<String> {
    let rate = share(failed as f64 / of.max(1) as f64);
    (failed > 0).then(|| format!("{} of {} fail ({rate})", count(failed), counted(of, what)))
}

/// Returns what the tip says of a service.
pub fn service_tip(report: &ServiceMapReport, service: &MapService) -> Vec<TipLine> {
    let own = format!(
        "Own work {} a request, {} of the latency",
        duration(service.own.mean_us),
        of_latency(report, service.own.mean_us)
    );
    let mut lines = vec![TipLine::Strong(printable(&service.service)), TipLine::Text(own)];
    lines.extend(was(&service.own).map(TipLine::Text));
    let begins = fails(service.failed, service.visits, "visit")
        .map(|words| words.replace(" fail ", " begin to fail here "));
    lines.push(TipLine::Muted(begins.unwrap_or_else(|| {
        format!("In {} of {}", count(service.requests), counted(report.requests, "request"))
    })));
    lines
}

/// Returns what the tip says of calls.
pub fn call_tip(report: &ServiceMapReport, call: &MapCall) -> Vec<TipLine> {
    let Some([caller, service]) = report.ends(call) else { return Vec::new() };
    let names = format!("{} calls {}", printable(&caller.service), printable(&service.service));
    let waits = format!(
        "Waited for {} a request, {} of the latency",
        duration(call.wait.mean_us),
        of_latency(report, call.wait.mean_us)
    );
    let mut lines = vec![TipLine::Strong(names), TipLine::Text(waits)];
    lines.extend(was(&call.wait).map(TipLine::Text));
    lines.push(TipLine::Muted(
        fails(call.failed, call.calls, "call").unwrap_or_else(|| counted(call.calls, "call")),
    ));
    lines
}

/// Facts of the map about one of its services, for the detail panel.
pub struct MapFacts {
    /// Names and values.
    pub pairs: Vec<(&'static str, String)>,
}

/// Returns what the map says of a service, given as an endpoint without an operation; `None` if it has no such service.
pub fn facts(report: &ServiceMapReport, of: &Endpoint) -> Option<MapFacts> {
    let at = report.services.iter().position(|one| one.service == of.service && of.operation.is_empty())?;
    let service = &report.services[at];
    let mut pairs = vec![
        ("Own work", format!("{} a request", duration(service.own.mean_us))),
        ("Of the latency", of_latency(report, service.own.mean_us)),
    ];
    pairs.extend(was(&service.own).map(|words| ("Before", words)));
    pairs.push(("Requests", format!("{} of {}", count(service.requests), count(report.requests))));
    pairs.extend(fails(service.failed, service.visits, "visit").map(|words| ("Errors begin here", words)));
    let names = |calls: Vec<&MapCall>, of: fn(&MapCall) -> u32| {
        let words = calls.iter().filter_map(|call| {
            let name = printable(&report.services.get(of(call) as usize)?.service);
            Some(format!("{name} ({})", duration(call.wait.mean_us)))
        });
        words.collect::<Vec<String>>().join(", ")
    };
    let calls = |is_meant: fn(&MapCall) -> u32| {
        report.calls.iter().filter(|call| is_meant(call) as usize == at).collect::<Vec<&MapCall>>()
    };
    let (from, to) = (calls(|call| call.service), calls(|call| call.caller));
    if !from.is_empty() {
        pairs.push(("Called by (wait)", names(from, |call| call.caller)));
    }
    if !to.is_empty() {
        pairs.push(("Calls (wait)", names(to, |call| call.service)));
    }
    Some(MapFacts { pairs })
}

/// Returns the map as text: a line for each kind of call, longest waits first; `rows` at most.
pub fn to_text(report: &ServiceMapReport, rows: usize) -> String {
    let mut out = format!("{}\n\n", title(report));
    for call in report.calls.iter().take(rows) {
        let Some([caller, service]) = report.ends(call) else { continue };
        let mut line = format!(
            "{:>10}  {} -> {}: {}",
            duration(call.wait.mean_us),
            printable(&caller.service),
            printable(&service.service),
            counted(call.calls, "call"),
        );
        if call.failed > 0 {
            line += &format!(", {} failed", count(call.failed));
        }
        if let Some(us) = call.wait.sure_change_us() {
            line += &format!(", {} against A", format::change(us));
        }
        out += &line;
        out.push('\n');
    }
    let left = report.calls.len().saturating_sub(rows);
    if left > 0 {
        out += &format!("and {} more\n", count(left as u64));
    }
    out
}

/// Returns the line in a service's box below its name.
pub(super) fn below_name(report: &ServiceMapReport, service: &MapService) -> String {
    let own = duration(service.own.mean_us);
    let wait_us = || sure_wait_us(report, service);
    match (MapTone::of_service(report, service), service.own.sure_change_us()) {
        (MapTone::Fails(rate), _) => format!("{own}, {} fail", share(rate)),
        // It has this colour for what its callers wait.
        (MapTone::Slower(_), own_us) if own_us.is_none_or(|us| us <= 0.0) && wait_us() > 0.0 => {
            format!("calls wait {}", format::change(wait_us()))
        }
        (MapTone::Slower(_) | MapTone::Faster(_), Some(us)) => format!("{own}, {}", format::change(us)),
        _ => format!("{own} own work"),
    }
}

/// Returns by how much the waits for calls into a service surely changed, microseconds per request.
fn sure_wait_us(report: &ServiceMapReport, service: &MapService) -> f64 {
    let is_into = |call: &&MapCall| {
        report.services.get(call.service as usize).is_some_and(|one| one.service == service.service)
    };
    report.calls.iter().filter(is_into).filter_map(|call| call.wait.sure_change_us()).sum()
}
